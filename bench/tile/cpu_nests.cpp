// How much faster is the C that `warploom tile --auto` writes than the C it was given? Both compiled alike,
// one thread.
//   study_loops_cpu [--benchmark_out=FILE] [--size=2048]
#include <chrono>
#include <cstdio>
#include <cstring>
#include <string>

#include "../json_records.hpp"
#include "tile/case_memory.hpp"
#include "warploom/core/error.hpp"
#include "warploom/core/file.hpp"

namespace warploom::tile {
namespace {

constexpr std::size_t repetitions = 3;
constexpr double enough = 10;  // seconds: what takes longer is measured once

/// Median seconds.
double measure(CaseMemory& memory, CaseCall call) {
  std::vector<double> all;
  while (all.size() < repetitions && (all.empty() || all.back() < enough)) {
    const auto begin = std::chrono::steady_clock::now();
    if (memory.call(call) != 0) throw Internal("a nest failed");
    all.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
  }
  std::sort(all.begin(), all.end());
  return all[all.size() / 2];
}

int run(int count, char** words) {
  std::string out;
  std::int64_t size = 2048;
  for (int k = 1; k < count; ++k) {
    if (!std::strncmp(words[k], "--benchmark_out=", 16))
      out = words[k] + 16;
    else if (!std::strncmp(words[k], "--size=", 7))
      size = std::stol(words[k] + 7);
    else
      throw BadInput(std::string(words[k]) + ": options are --benchmark_out=FILE and --size=N");
  }
  JsonRecords records;
  records.list("nests");
  for (const Case& nest : cases()) {
    const std::string name = nest.name;
    if (name != "matmul" && name != "gemm" && name != "syrk" && name != "mvt" && name != "column_sums")
      continue;
    const Region region = read_source(nest.text, nest.name, {}).front();
    std::map<std::string, std::int64_t> sizes;
    for (const std::string& one : region.sizes) sizes[one] = size;
    CaseMemory memory(region, make_memory(region, sizes, 1));
    const double source = measure(memory, nest.source), transformed = measure(memory, nest.cpu);
    records.add("{\"nest\": \"" + name + "\", \"size\": " + std::to_string(size) + ", \"source_s\": " +
                json_number(source) + ", \"transformed_s\": " + json_number(transformed) +
                ", \"ratio\": " + json_number(source / transformed) + "}");
  }
  if (!out.empty()) write_file_atomically(out, records.text());
  return 0;
}

}  // namespace
}  // namespace warploom::tile

int main(int count, char** words) {
  try {
    return warploom::tile::run(count, words);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "study_loops_cpu: %s\n", error.what());
    return 1;
  }
}
