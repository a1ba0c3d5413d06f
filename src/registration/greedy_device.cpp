#include "registration/greedy_device.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <future>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "core/cuda/memory.hpp"
#include "registration/affine_objective.hpp"
#include "registration/greedy.hpp"
#include "registration/middle.hpp"
#include "registration/positive_step.hpp"
#include "registration/smooth.hpp"
#include "warploom/core/error.hpp"
#include "warploom/core/progress.hpp"

namespace warploom::registration {
namespace {

using namespace greedy;

class Greedy {
 public:
  Greedy(GreedyQueue& queue, const DeviceImage& fixed, const DeviceImage& moving, const Affine& affine,
         const DeformOptions& options, DeformReport& report)
      : queue_(queue),
        options_(options),
        report_(report),
        affine_(affine),
        middle_(middle_of(fixed.space(), moving.space(), affine)),
        spacings_(spacings(middle_.space, options)),
        fixed_(fixed),
        moving_(moving) {
    Carver size;
    lay_out(size);
    Carver memory(queue.allocate(size.used()));
    lay_out(memory);
  }

  FoundField operator()() {
    // Pages of the result are made while the device works.
    const std::int64_t voxels_of_result = device_grid(fixed_.space()).voxels();
    auto room = std::async(std::launch::async, [count = static_cast<std::size_t>(3 * voxels_of_result)] {
      return std::vector<float>(count);
    });
    for (std::size_t k = 0; k < spacings_.size(); ++k) {
      const DeviceImage::At fixed = fixed_.coarser(queue_, spacings_[k]),
                            moving = moving_.coarser(queue_, spacings_[k]);
      const Space before = std::exchange(space_, registration::coarser(middle_.space, spacings_[k]));
      grid_ = device_grid(space_);
      if (k == 0)
        queue_.clear(h_, 3 * sizeof(float) * voxels());
      else
        refine(before);
      if (options_.iterations[k] > 0) improve(fixed, moving, options_.iterations[k]);
      report_.iterations.push_back(options_.iterations[k]);
    }
    in_the_world();
    FoundField out = look();
    out.mm = room.get();
    queue_.download(out.mm.data(), force_, sizeof(float) * out.mm.size());
    return out;
  }

 private:
  /// The map of the fixed image's points, in the place of the force, without folds.
  void in_the_world() {
    const Space& fixed = fixed_.space();
    MiddleArguments a{h_,
                      grid_,
                      device_map(voxel_map(inverse(middle_.to_fixed), fixed, space_)),
                      device_map(voxel_map(middle_.to_fixed, space_, fixed)),
                      {},
                      {},
                      force_,
                      device_grid(fixed)};
    const Affine to = compose(fixed.to_world, affine_);
    for (std::size_t r = 0; r < 3; ++r)
      std::ranges::copy(fixed.to_world[r], a.from[r]), std::ranges::copy(to[r], a.to[r]);
    queue_.through_the_middle(a);
    if (options_.allow_folds) return;
    const auto [smoothed, failing] = smooth_folds(folds(force_, fixed, voxel_of(fixed), kLeastOfResult));
    report_.smoothed_voxels += smoothed;
    if (failing > 0) throw Internal(fmt::format("{} cells of the result still fold", failing));
  }

  FoundField look() {
    const Space& fixed = fixed_.space();
    const std::int64_t voxels = device_grid(fixed).voxels();
    const std::size_t blocks = reducing_launch(voxels).blocks();
    queue_.clear(counters_, sizeof(int));
    queue_.look({device_grid(fixed), force_, voxel_of(fixed), parts_, counters_});
    std::vector<double> parts(kLookParts * blocks);
    queue_.download(parts.data(), parts_, sizeof(double) * parts.size());
    const int failing = counted(counters_);
    const auto row = [&](std::size_t k) { return std::span(parts).subspan(k * blocks, blocks); };
    FoundField out;
    const auto lengths = row(2);
    out.mean = std::accumulate(lengths.begin(), lengths.end(), 0.0) / static_cast<double>(voxels);
    out.largest = std::ranges::max(row(3));
    if (failing > 0) return out;
    const auto cells = [](std::int64_t n) { return std::max<std::int64_t>(n - 1, 1); };
    const imaging::Grid& g = fixed.grid;
    out.certificate = FoldCertificate{};
    out.certificate->kind =
        std::min({g.nx, g.ny, g.nz}) == 1 ? FoldCertificate::Kind::corners : FoldCertificate::Kind::bernstein;
    out.certificate->smallest_determinant = std::ranges::min(row(1));
    out.certificate->lower_bound = std::ranges::min(row(0));
    out.certificate->cells = cells(g.nx) * cells(g.ny) * cells(g.nz);
    return out;
  }

  static DeviceVoxel voxel_of(const Space& space) {
    DeviceVoxel out{};
    for (std::size_t axis = 0; axis < 3; ++axis)
      for (std::size_t c = 0; c < 3; ++c) out.edge[axis][c] = space.to_world[c][axis];
    out.inverse_of_volume = 1 / io::determinant(space.to_world);
    return out;
  }

  static std::vector<double> spacings(const Space& space, const DeformOptions& options) {
    std::vector<double> out;
    for (std::size_t k = 0; k < options.iterations.size(); ++k) out.push_back(resolution(space, options, k));
    return out;
  }

  void lay_out(Carver& carver) {
    const std::int64_t voxels = device_grid(middle_.space).voxels();
    h_ = carver.take<float>(3 * voxels);
    force_ = carver.take<float>(
        3 * std::max(voxels, device_grid(fixed_.space()).voxels()));  // the result, in the end
    warped_ = carver.take<float>(2 * voxels);
    counts_ = carver.take<std::uint8_t>(voxels);
    // Marks and means of folds in the end.
    statistics_ = carver.take<float>(std::max(5 * voxels, 4 * device_grid(fixed_.space()).voxels()));
    std::int64_t parts = kLookParts * kReducingBlocks;
    for (const double spacing : spacings_) {
      LnccArguments of{};
      of.grid = device_grid(registration::coarser(middle_.space, spacing)),
      of.planes = window_planes(of.grid);
      parts = std::max<std::int64_t>(parts, lncc_launch(of).blocks());
    }
    parts_ = carver.take<double>(parts);
    sums_ = carver.take<double>(kLookEvery);
    longest_ = carver.take<unsigned>(kLookEvery);
    counters_ = carver.take<int>(2);
  }

  std::uint64_t voxels() const { return static_cast<std::uint64_t>(grid_.voxels()); }

  /// h on the grid that is now this resolution's.
  void refine(const Space& before) {
    RefineArguments a{
        h_, device_grid(before), device_map(voxel_map(identity_affine(), space_, before)), {}, force_, grid_};
    const auto old_spacing = spacing_of(before.to_world), spacing = spacing_of(space_.to_world);
    for (std::size_t c = 0; c < 3; ++c) a.scale[c] = static_cast<float>(old_spacing[c] / spacing[c]);
    queue_.refine(a);
    std::swap(h_, force_);
  }

  void improve(const DeviceImage::At& fixed, const DeviceImage::At& moving, int iterations) {
    WarpArguments warp{grid_,
                       fixed.level,
                       moving.level,
                       device_map(voxel_map(middle_.to_fixed, space_, fixed.space)),
                       device_map(voxel_map(middle_.to_moving, space_, moving.space)),
                       h_,
                       warped_,
                       counts_};
    LnccArguments lncc{grid_,   options_.radius, window_planes(grid_), kLnccFloor,
                       warped_, counts_,         statistics_,          parts_,
                       {},      force_};
    std::ranges::copy(force_weights(space_), lncc.weight);
    SsdArguments ssd{grid_, warped_, counts_, parts_, {}, force_};
    std::ranges::copy(lncc.weight, ssd.weight);
    // What the derivative needed of windows is no longer needed.
    float* const update = statistics_;
    SmoothArguments smooth_update = smoothing(options_.smooth_update),
                    smooth_field = smoothing(options_.smooth_field.value());
    smooth_update.out = update, smooth_field.b = update;

    Progress progress("deforming", static_cast<std::uint64_t>(iterations), "iterations");
    for (int k = 0; k < iterations; ++k) {
      const int slot = k % kLookEvery;
      if (slot == 0) queue_.clear(longest_, kLookEvery * sizeof(unsigned));
      warp.h = h_;
      queue_.warp(warp);
      if (options_.measure == Measure::ssd) {
        ssd.force = force_;
        queue_.ssd_force(ssd);
        add_up(reducing_launch(grid_.voxels()), slot);
      } else {
        lncc.force = force_;
        queue_.lncc_statistics(lncc);
        add_up(lncc_launch(lncc), slot);
        LnccArguments force = lncc;
        force.planes = force_planes(grid_);
        queue_.lncc_force(force);
      }
      smooth_update.a = force_;
      queue_.smooth(smooth_update);
      queue_.longest(update, grid_.voxels(), longest_ + slot);
      smooth_field.a = h_, smooth_field.longest = longest_ + slot, smooth_field.out = force_;
      queue_.smooth(smooth_field);
      std::swap(h_, force_);
      if (slot + 1 < kLookEvery && k + 1 < iterations) continue;
      if (!options_.allow_folds) report_.smoothed_voxels += keep_positive();
      std::array<double, kLookEvery> measure{};
      queue_.download(measure.data(), sums_, sizeof(double) * static_cast<std::uint64_t>(slot + 1));
      report_.measure.insert(report_.measure.end(), measure.begin(), measure.begin() + slot + 1);
      progress.advance(static_cast<std::uint64_t>(slot + 1));
    }
  }

  void add_up(const LaunchShape& shape, int slot) {
    queue_.add_up(parts_, static_cast<int>(shape.blocks()), 1 / static_cast<double>(grid_.voxels()),
                  sums_ + slot);
  }

  SmoothArguments smoothing(double sigma) const {
    SmoothArguments a{};
    a.grid = grid_;
    a.step = static_cast<float>(options_.step), a.shortest = kShortest;
    const std::vector<float> taps = gaussian(sigma);
    a.radius = static_cast<int>(taps.size() / 2);
    a.planes = smoothing_planes(grid_, a.radius);
    const int extents[3] = {grid_.nx, grid_.ny, grid_.nz};
    for (std::size_t axis = 0; axis < 3; ++axis)
      if (extents[axis] > 1)
        std::ranges::copy(taps, a.taps[axis]);
      else
        a.taps[axis][a.radius] = 1;
    return a;
  }

  FoldArguments folds(float* displacement, const Space& space, const DeviceVoxel& voxel, double least) {
    const DeviceGrid grid = device_grid(space);
    auto* const marks = reinterpret_cast<int*>(statistics_);
    queue_.clear(marks, sizeof(int) * static_cast<std::uint64_t>(grid.voxels()));
    return {grid,      displacement, voxel, false, 1, least, 1, marks, statistics_ + grid.voxels(),
            counters_, counters_ + 1};
  }

  std::int64_t keep_positive() {
    FoldArguments a = folds(h_, space_, {{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}, 1}, kLeastVolume);
    a.in_voxels = true;
    queue_.clear(a.failing, sizeof(int));
    queue_.count_suspects(a);
    if (counted(a.failing) == 0) return 0;
    std::int64_t changed = 0;
    for (int turn = 0; turn < kTurns; ++turn) {
      std::int64_t now = 0;
      for (const float sign : {1.0F, -1.0F}) a.sign = sign, now += smooth_folds(a).limited;
      if (now == 0) break;
      changed += now;
    }
    return changed;
  }

  int failing_cells(const FoldArguments& a) {
    queue_.clear(a.failing, sizeof(int));
    queue_.find_folds(a);
    return counted(a.failing);
  }

  int counted(const int* counter) {
    int count = 0;
    queue_.download(&count, counter, sizeof count);
    check_interrupt();
    return count;
  }

  /// As smooth_folds() of positive_step.hpp, but that all cells are looked at in each round: those that are
  /// far from what was smoothed were positive and are.
  StepLimit smooth_folds(FoldArguments a) {
    constexpr int kRounds = 100;
    int round = 0, failing = 0;
    for (; round < kRounds; ++round) {
      a.margin = 1 + round / 4;
      failing = failing_cells(a);
      if (failing == 0) break;
      queue_.smooth_folds(a);
    }
    if (round == 0) return {};
    if (failing > 0) failing = failing_cells(a);
    queue_.clear(a.smoothed, sizeof(int));
    queue_.count_smoothed(a);
    return {counted(a.smoothed), failing};
  }

  GreedyQueue& queue_;
  const DeformOptions& options_;
  DeformReport& report_;
  Affine affine_;
  Middle middle_;
  std::vector<double> spacings_;
  Space space_{};
  DeviceGrid grid_{};
  const DeviceImage &fixed_, &moving_;
  float *h_ = nullptr, *force_ = nullptr, *warped_ = nullptr, *statistics_ = nullptr;
  std::uint8_t* counts_ = nullptr;
  double *parts_ = nullptr, *sums_ = nullptr;
  unsigned* longest_ = nullptr;
  int* counters_ = nullptr;
};

}  // namespace

FoundField deform_greedily(GreedyQueue& queue, const DeviceImage& fixed, const DeviceImage& moving,
                           const Affine& affine, const DeformOptions& options, DeformReport& report) {
  return Greedy(queue, fixed, moving, affine, options, report)();
}

}  // namespace warploom::registration
