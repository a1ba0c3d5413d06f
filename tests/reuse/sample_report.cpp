#include "reuse/sample_report.hpp"

#include <numeric>
#include <string>
#include <string_view>
#include <vector>

namespace warploom::reuse::sample {
namespace {

SourcePosition at(std::string file, std::uint32_t line, std::uint32_t ptx_line) {
  return {std::move(file), line, ptx_line};
}

void add_occupancy(KernelReport& kernel) {
  for (const std::string_view name : {"sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_100", "sm_120"}) {
    const auto on = [&](std::uint64_t bytes, std::uint32_t registers) {
      return hw::occupancy(
          hw::architecture(name),
          {.threads_per_block = kernel.threads, .registers_per_thread = registers, .shared_static = bytes});
    };
    kernel.occupancy.push_back({std::string(name), on(kernel.bytes_before, kernel.registers_before),
                                on(kernel.bytes_after, kernel.registers_after)});
  }
}

/// shares and shares_with from the partitions: here every member overlaps every other.
void share_within_partitions(KernelReport& kernel) {
  for (const std::vector<std::uint32_t>& members : kernel.partitions)
    for (const std::uint32_t i : members)
      for (const std::uint32_t j : members)
        if (i != j) {
          kernel.objects[i].shares = true;
          kernel.objects[i].shares_with.push_back(j);
        }
}

}  // namespace

KernelReport cub() {
  const std::string file = "/src/project/sort_scan_reduce.cu";
  KernelReport kernel;
  kernel.name = "demo<256, 8>";
  kernel.symbol = "_Z4demoILi256ELi8EEvPKiPiS2_";
  kernel.at = at(file, 21, 40);
  kernel.verdict = Verdict::rewritten;
  kernel.reason = "1,232 bytes a block are saved (--when always)";
  kernel.block = {256, 1, 1};
  kernel.threads = 256;
  kernel.bytes_before = 10512;
  kernel.bytes_after = kernel.bytes_possible = kernel.pool_bytes = 9280;
  kernel.registers_before = kernel.registers_after = 40;
  kernel.first_line = 52;
  kernel.last_line = 960;
  const auto object = [&](std::string name, std::uint64_t bytes, std::uint32_t alignment,
                          std::uint32_t line) {
    ObjectReport o;
    o.name = name;
    o.symbol = "_ZZ4demoILi256ELi8EEvPKiPiS2_E" + std::to_string(name.size()) + name;
    o.bytes = bytes;
    o.alignment = alignment;
    o.declared = at(file, line, 54 + line);
    o.offset = 0;
    kernel.objects.push_back(std::move(o));
  };
  object("a", 9280, 16, 26);
  object("b", 1184, 16, 27);
  object("c", 44, 4, 28);
  kernel.objects[0].live_lines = {{131, 402}, {417, 566}};
  kernel.objects[0].store_lines = {131, 140, 146, 152, 420, 431};
  kernel.objects[0].load_lines = {233, 240, 247, 401, 512, 540, 565};
  kernel.objects[0].reason = "dead after line 37, where the sort's last exchange is read";
  kernel.objects[0].reason_at = at(file, 37, 565);
  kernel.objects[1].live_lines = {{604, 733}};
  kernel.objects[1].store_lines = {604, 618};
  kernel.objects[1].load_lines = {655, 690, 732};
  kernel.objects[1].reason = "alive only between line 39 and line 41";
  kernel.objects[2].live_lines = {{801, 902}};
  kernel.objects[2].store_lines = {801, 866};
  kernel.objects[2].load_lines = {870, 880, 901};
  kernel.objects[2].reason = "alive only from line 42 on";
  kernel.partitions = {{0, 1, 2}};
  share_within_partitions(kernel);
  kernel.barriers = {{at(file, 39, 598), true, {{0, 1}}}, {at(file, 42, 770), false, {{1, 2}, {0, 2}}}};
  kernel.assumptions = {{"no uninitialised shared memory is read: 'a' is taken to be dead at the loop's head",
                         at(file, 34, 417)}};
  kernel.certificate = {
      "a / b: no path from a store to a over a store to b to a load of a; barrier at PTX line 598",
      "b / c: barrier at PTX line 770"};
  kernel.lines = {at(file, 33, 60),  at(file, 36, 131), at(file, 37, 417),
                  at(file, 39, 598), at(file, 42, 770), at(file, 44, 902)};
  add_occupancy(kernel);
  return kernel;
}

KernelReport curvature() {
  const std::string file = "curvature3d.cuh";
  KernelReport kernel;
  kernel.name = "curvature3d_16x16";
  kernel.symbol = "curvature3d_16x16";
  kernel.at = at(file, 131, 20);
  kernel.verdict = Verdict::rewritten;
  kernel.reason = "residency rises on sm_90";
  kernel.block = {16, 16, 1};
  kernel.threads = 256;
  kernel.bytes_before = 39936;
  kernel.bytes_after = kernel.bytes_possible = kernel.pool_bytes = 18432;
  kernel.registers_before = 32;
  kernel.registers_after = 34;
  kernel.first_line = 62;
  kernel.last_line = 2180;
  const std::vector<std::uint32_t> step = {240,  345,  491,  711,  988,
                                           1202, 1477, 1687, 1961, 2120};  // PTX lines
  struct Row {
    const char* name;
    std::size_t first, last, slot;
  };
  const std::vector<Row> rows = {{"u", 0, 1, 3},    {"ux", 1, 6, 0},    {"uy", 1, 6, 1},    {"uz", 1, 7, 2},
                                 {"Ly_x", 2, 3, 3}, {"Lz_x", 2, 3, 4},  {"normx", 3, 4, 5}, {"Lx_y", 4, 5, 3},
                                 {"Lz_y", 4, 5, 4}, {"normy", 5, 6, 5}, {"Lx_z", 6, 7, 3},  {"Ly_z", 6, 7, 4},
                                 {"normz", 7, 8, 5}};
  kernel.partitions.resize(6);
  for (std::uint32_t i = 0; i < rows.size(); ++i) {
    const Row& row = rows[i];
    ObjectReport o;
    o.name = row.name;
    o.symbol = std::string("_ZZN5bench9curvatureEvE") + std::to_string(o.name.size()) + o.name;
    o.bytes = 3072;
    o.alignment = 16;
    o.declared = at(file, 66 + i / 4, 62 + 2 * i);
    o.offset = row.slot * 3072;
    o.live_lines = {{step[row.first] + 40, step[row.last + 1] - 20}};
    o.store_lines = {step[row.first] + 40, step[row.first] + 60};
    for (std::uint32_t line = step[row.last] + 20; line < step[row.last + 1] - 20; line += 30)
      o.load_lines.push_back(line);
    o.reason = row.slot < 3 ? "alive together with every other array"
                            : "its readers are done before the partner's first store";
    o.reason_at = at(file, 80 + 3 * i, step[row.last]);
    kernel.partitions[row.slot].push_back(i);
    kernel.objects.push_back(std::move(o));
  }
  share_within_partitions(kernel);
  for (std::uint32_t k = 1; k < 9; ++k)
    kernel.barriers.push_back({at(file, 80 + 8 * k, step[k]), k == 6, {{4, 7}, {5, 8}}});
  for (std::uint32_t k = 0; k < step.size(); ++k) kernel.lines.push_back(at(file, 81 + 8 * k, step[k]));
  kernel.interference = {{1, 2, "both alive at line 96", at(file, 96, 530)},
                         {4, 5, "both alive at line 99", at(file, 99, 730)}};
  add_occupancy(kernel);
  return kernel;
}

KernelReport refused() {
  KernelReport kernel;
  kernel.name = "cluster_sum";
  kernel.symbol = "_Z11cluster_sumPf";
  kernel.verdict = Verdict::refused;
  kernel.reason = "mapa reaches into other blocks' shared memory";
  kernel.reason_at = at("cluster.cu", 17, 1210);
  kernel.threads = 128;
  kernel.bytes_before = kernel.bytes_after = kernel.bytes_possible = 512;
  ObjectReport o;
  o.name = "partial";
  o.symbol = "_ZZ11cluster_sumPfE7partial";
  o.bytes = 512;
  o.alignment = 16;
  o.live_lines = {{1190, 1240}};
  o.reason = "the kernel is refused";
  kernel.objects = {o};
  kernel.first_line = 1180;
  kernel.last_line = 1260;
  add_occupancy(kernel);
  return kernel;
}

KernelReport unchanged() {
  KernelReport kernel = refused();
  kernel.name = "block_sum<float>";
  kernel.symbol = "_Z9block_sumIfEvPf";
  kernel.verdict = Verdict::unchanged;
  kernel.reason = "one array only: nothing to share";
  kernel.reason_at = {};
  kernel.objects[0].reason = "no other object";
  kernel.objects[0].symbol = "_ZZ9block_sumIfEvPfE7partial";
  return kernel;
}

KernelReport two_inside_a_third() {
  KernelReport kernel = cub();
  kernel.name = kernel.symbol = "two_inside_a_third";
  kernel.objects[0].shares_with = {1, 2};
  kernel.objects[1].shares_with = kernel.objects[2].shares_with = {0};
  kernel.objects[1].offset = 0;
  kernel.objects[2].offset = 1184;
  return kernel;
}

Report only(KernelReport kernel) { return {"k.ptx", "sm_90", "", {std::move(kernel)}}; }

Report report() {
  Report out;
  out.file = "all.ptx";
  out.architecture = "sm_90";
  out.kernels = {cub(), curvature(), refused(), unchanged(), two_inside_a_third()};
  return out;
}

}  // namespace warploom::reuse::sample
