#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "simulate_kernels.hpp"
#include "tile_cases.hpp"

/// Nests that one pattern takes, through parallelise() and map_to_gpu(), run in the simulator against
/// interpret().
namespace warploom::tile::test {

struct KernelCase {
  std::string name;  ///< the function's
  std::string text;
  std::string patterns;  ///< of the kernels, "row reduction, column reduction, sum of parts"
  std::vector<std::map<std::string, std::int64_t>> sizes;
  bool keep_order = false;
  std::vector<SizeRange> known = {};
  TimeTiles time_tiles = TimeTiles::best;
};
inline std::ostream& operator<<(std::ostream& out, const KernelCase& one) { return out << one.name; }

inline GpuProgram program_of(const Nest& nest, bool keep_order = false,
                             TimeTiles time_tiles = TimeTiles::best) {
  GpuOptions options;
  options.reorder_reductions = !keep_order;
  options.time_tiles = time_tiles;
  return map_to_gpu(nest, parallelise(nest), options);
}
inline GpuProgram program_of(const std::string& text, bool keep_order = false,
                             TimeTiles time_tiles = TimeTiles::best) {
  return program_of(analyse(text), keep_order, time_tiles);
}

inline std::string patterns_of(const GpuProgram& program) {
  std::string patterns;
  for (const Kernel& kernel : program.kernels) patterns += (patterns.empty() ? "" : ", ") + kernel.pattern;
  return patterns;
}

/// All cases compiled together, once.
class CompiledCases {
 public:
  explicit CompiledCases(const std::vector<KernelCase>& cases) {
    for (const KernelCase& one : cases) {
      nests_.push_back(analyse(one.text, one.known));
      programs_.push_back(program_of(nests_.back(), one.keep_order, one.time_tiles));
    }
    if (have_kernel_compiler()) kernels_ = std::make_unique<SimulatedKernels>(programs_);
  }

  /// Patterns, and results for all sizes. Sums of at most 1000 values near 1 are within 1e-5 in any order.
  void check(const std::vector<KernelCase>& cases, std::size_t index) const {
    EXPECT_EQ(patterns_of(programs_[index]), cases[index].patterns);
    if (!kernels_) GTEST_SKIP() << "no nvcc";
    for (const auto& sizes : cases[index].sizes) {
      std::vector<std::string> findings;
      const double difference = kernels_->difference(nests_[index], programs_[index], sizes, findings);
      EXPECT_LE(difference, cases[index].keep_order ? 1e-6 : 1e-5) << testing::PrintToString(sizes);
      EXPECT_THAT(findings, testing::IsEmpty()) << testing::PrintToString(sizes);
    }
  }

 private:
  std::vector<Nest> nests_;
  std::vector<GpuProgram> programs_;
  std::unique_ptr<SimulatedKernels> kernels_;
};

}  // namespace warploom::tile::test
