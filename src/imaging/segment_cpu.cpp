#include <algorithm>
#include <array>
#include <chrono>
#include <utility>

#include "core/instruction_sets.hpp"
#include "imaging/segment_backend.hpp"
#include "imaging/segment_rows.hpp"
#include "warploom/core/progress.hpp"
#include "warploom/core/threads.hpp"

namespace warploom::imaging {
namespace {

using Sums = std::array<double, kStepSums>;

// Rows are shared out in pieces of about so many voxels, whatever the number of threads.
constexpr std::int64_t kPieceVoxels = 1 << 14;

class Evolution {
 public:
  explicit Evolution(const SegmentProblem& problem)
      : problem_(problem),
        rows_(problem.grid.ny * problem.grid.nz),
        rows_per_piece_(std::max<std::int64_t>(1, kPieceVoxels / problem.grid.nx)),
        sums_(static_cast<std::size_t>((rows_ + rows_per_piece_ - 1) / rows_per_piece_)) {}

  Sums step(const RunState& state, const float* before, float* after) {
    parallel_for(static_cast<std::int64_t>(sums_.size()), [&](std::int64_t piece) {
      Sums& sums = sums_[static_cast<std::size_t>(piece)];
      sums = {};
      const std::int64_t end = std::min((piece + 1) * rows_per_piece_, rows_);
      for (std::int64_t row = piece * rows_per_piece_; row < end; ++row)
        update_row_(problem_.constants.step, static_cast<float>(state.mean_in),
                    static_cast<float>(state.mean_out), problem_.grid.nz > 1 ? 3 : 2,
                    around(row, before, after), sums.data());
    });
    Sums total{};
    for (const Sums& piece : sums_)
      for (std::size_t s = 0; s < total.size(); ++s) total[s] += piece[s];
    return total;
  }

 private:
  SegmentRow around(std::int64_t row, const float* before, float* after) const {
    const auto [nx, ny, nz, spacing] = problem_.grid;
    const std::int64_t y = row % ny, z = row / ny;
    const float* here = before + row * nx;
    return {nx,
            problem_.image + row * nx,
            here,
            {y > 0 ? here - nx : here, z > 0 ? here - nx * ny : here},
            {y + 1 < ny ? here + nx : here, z + 1 < nz ? here + nx * ny : here},
            after + row * nx};
  }

  const SegmentProblem& problem_;
  UpdateRow update_row_ = WARPLOOM_PICK(update_segment_row);
  std::int64_t rows_, rows_per_piece_;
  std::vector<Sums> sums_;  // a piece each
};

}  // namespace

SegmentOutcome evolve_cpu(const SegmentProblem& problem, float* level_set) {
  const std::size_t voxels = static_cast<std::size_t>(problem.grid.voxels());
  std::vector<float> other(voxels);
  Evolution evolution(problem);
  SegmentOutcome outcome{.end = problem.begin, .energy = {}};
  const auto start = std::chrono::steady_clock::now();
  float *before = level_set, *after = other.data();
  Progress progress("segmenting", static_cast<std::uint64_t>(problem.constants.max_iterations), "iterations");
  while (outcome.end.done == 0) {
    const Sums sums = evolution.step(outcome.end, before, after);
    advance(outcome.end, sums.data(), problem.constants);
    outcome.energy.push_back(outcome.end.energy);
    std::swap(before, after);
    progress.advance();
  }
  if (before != level_set) std::copy_n(before, voxels, level_set);
  outcome.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return outcome;
}

}  // namespace warploom::imaging
