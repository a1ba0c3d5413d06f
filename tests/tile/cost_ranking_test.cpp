// What cost() predicts, beside what was measured on an H200.
#include <gtest/gtest.h>

#include <algorithm>

#include "example_nests.hpp"
#include "warploom/json/json.hpp"
#include "warploom/tile/gpu.hpp"

namespace warploom::tile {
namespace {

struct Row {
  double measured = 0, predicted = 0;
};

std::vector<Row> rows() {
  const std::filesystem::path root = std::filesystem::path(WARPLOOM_TESTS_DIR).parent_path();
  const Json file =
      Json::parse(test::file_text(root / "bench/results/2026-11-22-NVIDIA-H200/gpu_bench_loops.json"));
  std::map<std::string, Nest> nests;
  for (const auto& folder :
       {root / "examples/tile/polybench", root / "examples/tile/lecture", root / "bench/tile/nests"})
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
      const Region region = read_source(test::file_text(entry.path()), entry.path().filename(), {}).at(0);
      nests.emplace(region.function, Nest::analyse(region));
    }
  std::vector<Row> rows;
  for (const auto& record : file.at("nests").elements()) {
    const Nest& nest = nests.at(record.at("nest").get<std::string>());
    std::map<std::string, std::int64_t> sizes;
    for (std::size_t k = 0; k < nest.region().sizes.size(); ++k)
      record.at("sizes").at(k).to(sizes[nest.region().sizes[k]]);
    Row row{record.at("ms").get<double>(), 0};
    const GpuProgram program = map_to_gpu(nest, parallelise(nest), {});
    // Patterns that there were not when this was measured.
    if (std::ranges::any_of(program.kernels, [](const Kernel& kernel) {
          return kernel.pattern == "closure" || kernel.pattern.ends_with("time tiles");
        }))
      continue;
    for (const Cost& one : cost(nest, program, {}, sizes)) row.predicted += one.milliseconds;
    rows.push_back(row);
  }
  return rows;
}

std::vector<double> ranks(const std::vector<Row>& rows, double Row::*value) {
  std::vector<double> ranks;
  for (const Row& row : rows) {
    double below = 0;
    for (const Row& other : rows)
      below += other.*value < row.*value ? 1 : other.*value == row.*value ? .5 : 0;
    ranks.push_back(below);
  }
  return ranks;
}

TEST(CostRanking, AgreesWithWhatWasMeasured) {
  const std::vector<Row> all = rows();
  ASSERT_GE(all.size(), 20u);
  const std::vector<double> measured = ranks(all, &Row::measured), predicted = ranks(all, &Row::predicted);
  const auto count = static_cast<double>(all.size());
  double apart = 0;
  for (std::size_t k = 0; k < all.size(); ++k)
    apart += (measured[k] - predicted[k]) * (measured[k] - predicted[k]);
  const double spearman = 1 - 6 * apart / (count * (count * count - 1));
  RecordProperty("spearmans_rho", std::to_string(spearman));
  EXPECT_GE(spearman, .97);
}

}  // namespace
}  // namespace warploom::tile
