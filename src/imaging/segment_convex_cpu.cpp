#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "core/instruction_sets.hpp"
#include "imaging/seconds_spent.hpp"
#include "imaging/segment_convex.hpp"
#include "imaging/segment_convex_rows.hpp"
#include "warploom/core/progress.hpp"
#include "warploom/core/threads.hpp"

namespace warploom::imaging {
namespace {

// Rows are shared out in pieces of about so many voxels, whatever the number of threads.
constexpr std::int64_t kConvexPieceVoxels = 1 << 14;

/// v and its extrapolation [nz, ny, nx]; p for each edge [nz, ny, nx + 2], with a 0 before and behind each
/// row, so that no voxel is a special case. p is 0 on edges that would leave the image.
class Cpu final : public ConvexSlab {
 public:
  explicit Cpu(const ConvexProblem& problem)
      : problem_(problem),
        nx_(problem.grid.nx),
        ny_(problem.grid.ny),
        rows_(problem.grid.ny * problem.grid.nz),
        stride_(nx_ + 2),
        first_(problem.first),
        end_(problem.planes == 0 ? problem.grid.nz : problem.first + problem.planes),
        rows_per_piece_(std::max<std::int64_t>(1, kConvexPieceVoxels / nx_)),
        v_(problem.image, problem.image + rows_ * nx_),
        extrapolated_(v_),
        zeros_(static_cast<std::size_t>(stride_)),
        p_(static_cast<std::size_t>(rows_ * stride_ * problem.edges.count)) {
    if (problem.mask != nullptr) {
      counts_.resize(v_.size());
      for (std::size_t i = 0; i < v_.size(); ++i) counts_[i] = problem.mask[i] != 0 ? 1.0F : 0.0F;
    }
  }

  void connect(const ConvexSlab* lower, const ConvexSlab* upper) override {
    lower_ = static_cast<const Cpu*>(lower), upper_ = static_cast<const Cpu*>(upper);
  }

  void begin(float lambda) override { lambda_ = lambda, steps_ = first_steps(problem_.edges); }

  void iterate(int count) override {
    const SecondsSpent timer(seconds_);
    for (int k = 0; k < count; ++k) {
      for_rows(0, end_ * ny_, [&](std::int64_t row) { update_dual(row); });  // of the plane below, too
      ConvexSteps next = steps_;
      next_steps(next);
      for_rows(first_ * ny_, end_ * ny_, [&](std::int64_t row) {
        PrimalRow primal = primal_row(row);
        primal.tau = steps_.tau, primal.theta = next.theta;
        update_primal_row_(primal);
      });
      steps_ = next;
      check_interrupt();
    }
  }

  void take_extrapolated() override {
    take([](const Cpu& slab) { return slab.extrapolated_.data(); }, extrapolated_);
  }
  void take_v() override {
    take([](const Cpu& slab) { return slab.v_.data(); }, v_);
  }

  void ask_levels() override {}
  LevelSums levels() override {
    const SecondsSpent timer(seconds_);
    // A table each for a few large parts of the image: sums of whole numbers, whose order does not matter.
    constexpr std::int64_t kParts = 16;
    std::vector<LevelSums> parts(static_cast<std::size_t>(kParts));
    const std::int64_t begin = first_ * ny_ * nx_, voxels = (end_ - first_) * ny_ * nx_;
    parallel_for(kParts, [&](std::int64_t part) {
      LevelSums& sums = parts[static_cast<std::size_t>(part)];
      for (std::int64_t i = begin + voxels * part / kParts; i < begin + voxels * (part + 1) / kParts; ++i) {
        const auto at = static_cast<std::size_t>(i);
        if (!counts_.empty() && counts_[at] == 0) continue;
        const auto level = static_cast<std::size_t>(level_of(v_[at]));
        const float u = problem_.image[at];
        ++sums.count[level];
        sums.sum[level] += level_fixed(u);
        sums.square[level] += level_fixed(u * u);
      }
    });
    for (std::size_t part = 1; part < parts.size(); ++part)
      for (std::size_t level = 0; level < std::size_t{kLevels}; ++level) {
        parts[0].count[level] += parts[part].count[level];
        parts[0].sum[level] += parts[part].sum[level];
        parts[0].square[level] += parts[part].square[level];
      }
    return parts[0];
  }

  void ask_sides(float threshold) override { threshold_ = threshold; }
  SetSums sides() override {
    SetSums total;
    for (const SetSums& plane :
         summed([&](std::int64_t row, SetSums&sums) { count_row(row, threshold_, sums); }))
      total.inside += plane.inside, total.sum += plane.sum;
    return total;
  }

  void ask_measure(float threshold) override { threshold_ = threshold; }
  std::vector<SetSums> measure() override {
    return summed([&](std::int64_t row, SetSums& sums) { measure_row(row, threshold_, sums); });
  }

  const float* v(const std::vector<std::unique_ptr<ConvexSlab>>& all) override {
    if (all.size() == 1) return v_.data();
    whole_.clear();
    for (const auto& slab : all) {
      const auto& own = static_cast<const Cpu&>(*slab);
      whole_.insert(whole_.end(), own.v_.data() + own.first_ * ny_ * nx_,
                    own.v_.data() + own.end_ * ny_ * nx_);
    }
    return whole_.data();
  }
  double seconds() const override { return seconds_; }

 private:
  /// The neighbours' planes next to its own.
  template <class ValuesOf>
  void take(const ValuesOf& values_of, std::vector<float>& own) {
    const std::int64_t plane = ny_ * nx_;
    if (lower_ != nullptr)
      std::copy_n(values_of(*lower_) + (lower_->end_ - 1) * plane, plane, own.data() + (first_ - 1) * plane);
    if (upper_ != nullptr)
      std::copy_n(values_of(*upper_) + upper_->first_ * plane, plane, own.data() + end_ * plane);
  }

  /// Adds up what body(row, sums) finds, by pieces of a plane: the same whatever the number of threads and
  /// slabs.
  template <class Body>
  std::vector<SetSums> summed(const Body& body) {
    const SecondsSpent timer(seconds_);
    const std::int64_t pieces = (ny_ + rows_per_piece_ - 1) / rows_per_piece_;
    std::vector<SetSums> parts(static_cast<std::size_t>((end_ - first_) * pieces));
    parallel_for(std::ssize(parts), [&](std::int64_t part) {
      const std::int64_t plane = first_ + part / pieces, piece = part % pieces;
      for (std::int64_t y = piece * rows_per_piece_; y < std::min((piece + 1) * rows_per_piece_, ny_); ++y)
        body(plane * ny_ + y, parts[static_cast<std::size_t>(part)]);
    });
    std::vector<SetSums> planes(static_cast<std::size_t>(end_ - first_));
    for (std::size_t part = 0; part < parts.size(); ++part) {
      SetSums& total = planes[part / static_cast<std::size_t>(pieces)];
      total.inside += parts[part].inside, total.sum += parts[part].sum;
      total.length += parts[part].length, total.excess += parts[part].excess;
    }
    return planes;
  }

  template <class Body>
  void for_rows(std::int64_t begin, std::int64_t end, const Body& body) {
    parallel_for((end - begin + rows_per_piece_ - 1) / rows_per_piece_, [&](std::int64_t piece) {
      const std::int64_t from = begin + piece * rows_per_piece_, to = std::min(from + rows_per_piece_, end);
      for (std::int64_t row = from; row < to; ++row) body(row);
    });
  }

  /// The row that lies (dy, dz) off; -1 outside the image.
  std::int64_t row_at(std::int64_t row, int dy, int dz) const {
    const std::int64_t y = row % ny_ + dy, z = row / ny_ + dz;
    return y < 0 || y >= ny_ || z < 0 || z >= problem_.grid.nz ? -1 : z * ny_ + y;
  }

  /// The part of a row whose edges stay in the image: from `first` on, of `count` voxels.
  struct Span {
    std::int64_t first, count;
  };
  Span span_of(const Edge& edge) const { return {edge.dx < 0 ? 1 : 0, nx_ - (edge.dx != 0 ? 1 : 0)}; }

  float* p_row(int edge, std::int64_t row) {
    return p_.data() + (row * problem_.edges.count + edge) * stride_ + 1;
  }

  /// body(edge, rows) for each kind of edge that has any in this row: both ends of those that stay in the
  /// image, in `values` [nz, ny, nx].
  template <class Body>
  void for_edges(std::int64_t row, const std::vector<float>& values, const Body& body) {
    const float* const counts = counts_.empty() ? nullptr : counts_.data();
    for (int e = 0; e < problem_.edges.count; ++e) {
      const Edge& edge = problem_.edges.edge[e];
      const std::int64_t other = row_at(row, edge.dy, edge.dz);
      if (other < 0) continue;
      const auto [first, count] = span_of(edge);
      const std::int64_t here = row * nx_ + first, there = other * nx_ + first + edge.dx;
      body(edge, DualRow{.count = count,
                         .p = p_row(e, row) + first,
                         .here = values.data() + here,
                         .there = values.data() + there,
                         .here_counts = counts == nullptr ? nullptr : counts + here,
                         .there_counts = counts == nullptr ? nullptr : counts + there,
                         .step = 0,
                         .limit = 0});
    }
  }

  void update_dual(std::int64_t row) {
    for_edges(row, extrapolated_, [&](const Edge& edge, DualRow edges) {
      edges.step = steps_.sigma * edge.weight, edges.limit = lambda_;
      update_dual_row_(edges);
    });
  }

  PrimalRow primal_row(std::int64_t row) {
    PrimalRow out{.nx = nx_,
                  .edges = problem_.edges.count,
                  .from_here = {},
                  .to_here = {},
                  .weight = {},
                  .image = problem_.image + row * nx_,
                  .v = v_.data() + row * nx_,
                  .extrapolated = extrapolated_.data() + row * nx_,
                  .tau = 0,
                  .theta = 0};
    for (int e = 0; e < out.edges; ++e) {
      const Edge& edge = problem_.edges.edge[e];
      const std::int64_t before = row_at(row, -edge.dy, -edge.dz);
      out.from_here[e] = p_row(e, row);
      out.to_here[e] = before < 0 ? zeros_.data() + 1 - edge.dx : p_row(e, before) - edge.dx;
      out.weight[e] = edge.weight;
    }
    return out;
  }

  void count_row(std::int64_t row, float threshold, SetSums& sums) const {
    const float *v = v_.data() + row * nx_, *u = problem_.image + row * nx_;
    const float* own = counts_.empty() ? nullptr : counts_.data() + row * nx_;
    for (std::int64_t x = 0; x < nx_; ++x)
      if (v[x] > threshold && (own == nullptr || own[x] != 0)) {
        ++sums.inside;
        sums.sum += set_fixed(u[x]);
      }
  }

  void measure_row(std::int64_t row, float threshold, SetSums& sums) {
    count_row(row, threshold, sums);
    const float* own = counts_.empty() ? nullptr : counts_.data() + row * nx_;
    for_edges(row, v_, [&](const Edge& edge, DualRow edges) {
      edges.limit = threshold;
      sums.length += double(edge.weight) * count_cuts_(edges);
    });
    sums.excess += row_excess_(primal_row(row), threshold, own);
  }

  ConvexProblem problem_;
  std::int64_t nx_, ny_, rows_, stride_;
  std::int64_t first_, end_;  // its own planes
  std::int64_t rows_per_piece_;
  std::vector<float> v_, extrapolated_, zeros_, counts_;
  std::vector<float> p_;
  const Cpu *lower_ = nullptr, *upper_ = nullptr;
  std::vector<float> whole_;  // v of all slabs
  float lambda_ = 0, threshold_ = 0;
  ConvexSteps steps_{};
  double seconds_ = 0;
  UpdateDual update_dual_row_ = WARPLOOM_PICK(update_dual_row);
  UpdatePrimal update_primal_row_ = WARPLOOM_PICK(update_primal_row);
  CountCuts count_cuts_ = WARPLOOM_PICK(count_cuts);
  RowExcess row_excess_ = WARPLOOM_PICK(row_excess);
};

}  // namespace

std::unique_ptr<ConvexBackend> convex_cpu(const ConvexProblem& problem, std::size_t slabs) {
  std::vector<std::unique_ptr<ConvexSlab>> parts;
  for (const auto& [first, end] : convex_cuts(problem.grid, slabs))
    parts.push_back(std::make_unique<Cpu>(slab_of(problem, first, end)));
  return std::make_unique<ConvexBackend>(std::move(parts));
}

}  // namespace warploom::imaging
