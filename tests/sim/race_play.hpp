#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "sim/races.hpp"

namespace warploom::sim {

inline constexpr std::string_view kHead = R"(.version 8.0
.target sm_80
.address_size 64
.visible .entry k() { .shared .align 16 .b8 tile[4096];
)";
inline constexpr std::string_view kWhole = "bar.sync 0;\nbar.warp.sync -1;\n";
inline constexpr std::string_view kPartial = "bar.sync 1, 64;\n";

/// Blocks of a launch whose accesses and synchronisations a test plays. Step i stands at PTX line 5 + i.
class Play {
 public:
  struct Options {
    std::string_view syncs = kWhole;  ///< decides what the detector must be ready for
    bool communicates = false;
    std::uint8_t cell = 4;
    std::uint32_t warps = 4;
    std::uint64_t blocks = 4;
  };
  static constexpr std::uint32_t kSteps = 40;

  explicit Play(const Options& options) : options_(options) {
    std::string text(kHead);
    for (std::uint32_t i = 0; i < kSteps; ++i) text += "membar.cta;\n";
    module_ = ptx::parse(text + std::string(options.syncs) + "ret;\n}\n", "k.ptx");
    program_.module = &module_;
    program_.kernel = module_.find_function("k");
    program_.steps.resize(program_.kernel->instructions.size());
    for (std::uint32_t i = 0; i < program_.steps.size(); ++i) program_.steps[i].instruction = i;
    program_.shared = {{0, 0, 4096}};
    program_.communicates = options.communicates;
    program_.shared_cell = program_.global_cell = options.cell;
    global = memory_.allocate(1 << 17, "out", false).begin;
    detector = std::make_unique<RaceDetector>(program_, memory_, findings_);
  }

  Block& block(std::uint64_t number) {
    std::unique_ptr<Block>& b = blocks_[number];
    if (b) return *b;
    b = std::make_unique<Block>();
    b->program = &program_;
    b->number = number;
    b->index = {static_cast<std::uint32_t>(number), 0, 0};
    b->grid = {static_cast<std::uint32_t>(options_.blocks), 1, 1};
    b->size = {32, options_.warps, 1};
    b->threads = 32 * options_.warps;
    b->shared.resize(4096);
    b->warps.resize(options_.warps);
    for (std::uint32_t w = 0; w < options_.warps; ++w) {
      b->warps[w].block = b.get();
      b->warps[w].index = w;
      b->warps[w].alive = kAllLanes;
    }
    detector->begin(*b);
    return *b;
  }
  void end(std::uint64_t number) {
    detector->end(*blocks_.at(number));
    blocks_.erase(number);
  }

  struct To {
    std::uint64_t address = 0;
    bool shared = true;
    std::uint32_t bytes = 4, stride = 0;  ///< lane i at address + i * stride
  };
  void access(std::uint64_t b, std::uint32_t warp, Mask lanes, std::uint32_t step, Access::Kind kind, To to,
              Strength strength = Strength::weak, Scope scope = Scope::none, Mask silent = 0) {
    std::uint64_t address[kLanes];
    for (unsigned i = 0; i < kLanes; ++i) address[i] = to.address + i * to.stride;
    Access a;
    a.kind = kind;
    a.shared = to.shared;
    a.strength = strength;
    a.scope = scope;
    a.bytes = to.bytes;
    a.lanes = lanes;
    a.address = address;
    a.silent = silent;
    a.step = &program_.steps[step];
    detector->access(block(b).warps[warp], a);
  }
  /// One thread of block 0.
  void read(std::uint32_t thread, std::uint32_t step, To to) {
    access(0, thread / 32, Mask{1} << thread % 32, step, Access::read, to);
  }
  void write(std::uint32_t thread, std::uint32_t step, To to) {
    access(0, thread / 32, Mask{1} << thread % 32, step, Access::write, to);
  }
  void barrier(std::uint64_t b = 0) {
    std::vector<Mask> all;
    for (const Warp& w : block(b).warps) all.push_back(w.alive);
    detector->barrier(block(b), all, std::vector<Mask>(all.size()), 0);
  }
  void announce(std::uint64_t b, std::uint32_t warp, Mask lanes) {
    announced_[b].resize(options_.warps);
    announced_[b][warp] |= lanes;
    detector->announce(block(b).warps[warp], lanes, 1);
  }
  /// Barrier 1 of those, and of all that were announced since the last.
  void barrier(std::uint64_t b, std::vector<Mask> waiting) {
    waiting.resize(options_.warps);
    announced_[b].resize(options_.warps);
    detector->barrier(block(b), waiting, announced_[b], 1);
    announced_.erase(b);
  }
  void warp_sync(std::uint64_t b, std::uint32_t warp, Mask lanes = kAllLanes) {
    detector->warp_sync(block(b).warps[warp], lanes);
  }
  void fence(std::uint64_t b, std::uint32_t thread, Scope scope = Scope::gpu,
             Strength sides = Strength::acquire_release) {
    detector->fence(block(b).warps[thread / 32], Mask{1} << thread % 32, scope, sides);
  }

  /// "line/line": later and earlier instruction of each race found since the last call.
  std::vector<std::string> races() {
    std::vector<std::string> lines;
    found = findings_.take();
    for (const Finding& f : found)
      lines.push_back(std::to_string(f.site.ptx_line) + "/" + std::to_string(f.other->ptx_line));
    return lines;
  }

  std::unique_ptr<RaceDetector> detector;
  Address global = 0;
  std::vector<Finding> found;

 private:
  Options options_;
  ptx::Module module_;
  Program program_;
  Memory memory_;
  Findings findings_;
  std::map<std::uint64_t, std::unique_ptr<Block>> blocks_;
  std::map<std::uint64_t, std::vector<Mask>> announced_;
};

}  // namespace warploom::sim
