#include "registration/greedy_device.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "core/cuda/memory.hpp"
#include "registration/affine_objective.hpp"
#include "registration/greedy.hpp"
#include "registration/middle.hpp"
#include "registration/positive_step.hpp"
#include "registration/smooth.hpp"
#include "warploom/core/progress.hpp"

namespace warploom::registration {
namespace {

using namespace greedy;

DeviceGrid device_grid(const Space& space) {
  return {static_cast<int>(space.grid.nx), static_cast<int>(space.grid.ny), static_cast<int>(space.grid.nz)};
}

DeviceMap device_map(const VoxelMap& map) {
  DeviceMap out{};
  for (std::size_t r = 0; r < 3; ++r) std::ranges::copy(map[r], out.row[r]);
  return out;
}

/// An image's resolutions on the device: the finest stays, the others are made from it.
class Pyramid {
 public:
  Pyramid(const Level& image, const std::vector<double>& spacings)
      : image_(image), voxels_(image.extents().voxels()) {
    for (const double spacing : spacings)
      if (const int axis = axis_to_halve(image.space, spacing); axis >= 0)
        halved_voxels_ = std::max(halved_voxels_, device_grid(halved(image.space, axis)).voxels());
  }

  void lay_out(Carver& carver) {
    const bool masked = !image_.counts.empty();
    data_ = carver.take<float>(voxels_);
    counts_ = masked ? carver.take<std::uint8_t>(voxels_) : nullptr;
    for (Buffer& buffer : buffers_)
      buffer = {carver.take<float>(halved_voxels_),
                masked ? carver.take<std::uint8_t>(halved_voxels_) : nullptr};
  }

  void upload(GreedyQueue& queue) const {
    queue.upload(data_, image_.data.data(), sizeof(float) * static_cast<std::uint64_t>(voxels_));
    if (counts_ != nullptr) queue.upload(counts_, image_.counts.data(), static_cast<std::uint64_t>(voxels_));
  }

  struct At {
    Space space;
    DeviceLevel level;
  };
  /// As coarser() has it. One at a time.
  At coarser(GreedyQueue& queue, double spacing) const {
    At at{image_.space, {data_, counts_, device_grid(image_.space)}};
    std::size_t to = 0;
    for (int axis = axis_to_halve(at.space, spacing); axis >= 0; axis = axis_to_halve(at.space, spacing)) {
      at.space = halved(at.space, axis);
      const Buffer& buffer = buffers_[to];
      queue.halve({at.level, axis, buffer.data, buffer.counts, device_grid(at.space)});
      at.level = {buffer.data, buffer.counts, device_grid(at.space)};
      to = 1 - to;
    }
    return at;
  }

 private:
  struct Buffer {
    float* data = nullptr;
    std::uint8_t* counts = nullptr;
  };
  const Level& image_;
  std::int64_t voxels_, halved_voxels_ = 0;
  float* data_ = nullptr;
  std::uint8_t* counts_ = nullptr;
  std::array<Buffer, 2> buffers_;
};

class Greedy {
 public:
  Greedy(GreedyQueue& queue, const Level& fixed, const Level& moving, const Affine& affine,
         const DeformOptions& options, DeformReport& report)
      : queue_(queue),
        options_(options),
        report_(report),
        middle_(middle_of(fixed.space, moving.space, affine)),
        spacings_(spacings(middle_.space, options)),
        finest_(fixed.space),
        fixed_(fixed, spacings_),
        moving_(moving, spacings_) {
    Carver size;
    lay_out(size);
    Carver memory(queue.allocate(size.used()));
    lay_out(memory);
    fixed_.upload(queue);
    moving_.upload(queue);
  }

  std::vector<float> operator()() {
    for (std::size_t k = 0; k < spacings_.size(); ++k) {
      const Pyramid::At fixed = fixed_.coarser(queue_, spacings_[k]),
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
    const VoxelMap back = voxel_map(middle_.to_fixed, space_, finest_);
    queue_.through_the_middle({h_, grid_, device_map(voxel_map(inverse(middle_.to_fixed), finest_, space_)),
                               device_map(back), force_, device_grid(finest_)});
    std::vector<float> out(3 * static_cast<std::size_t>(device_grid(finest_).voxels()));
    queue_.download(out.data(), force_, sizeof(float) * out.size());
    return out;
  }

 private:
  static std::vector<double> spacings(const Space& space, const DeformOptions& options) {
    std::vector<double> out;
    for (std::size_t k = 0; k < options.iterations.size(); ++k) out.push_back(resolution(space, options, k));
    return out;
  }

  void lay_out(Carver& carver) {
    fixed_.lay_out(carver), moving_.lay_out(carver);
    const std::int64_t voxels = device_grid(middle_.space).voxels();
    h_ = carver.take<float>(3 * voxels);
    force_ =
        carver.take<float>(3 * std::max(voxels, device_grid(finest_).voxels()));  // the result, in the end
    warped_ = carver.take<float>(2 * voxels);
    counts_ = carver.take<std::uint8_t>(voxels);
    statistics_ = carver.take<float>(5 * voxels);
    std::int64_t parts = kReducingBlocks;
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

  void improve(const Pyramid::At& fixed, const Pyramid::At& moving, int iterations) {
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
        queue_.lncc_force(lncc);
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
    a.planes = smoothing_planes(grid_);
    a.step = static_cast<float>(options_.step), a.shortest = kShortest;
    const std::vector<float> taps = gaussian(sigma);
    a.radius = static_cast<int>(taps.size() / 2);
    const int extents[3] = {grid_.nx, grid_.ny, grid_.nz};
    for (std::size_t axis = 0; axis < 3; ++axis)
      if (extents[axis] > 1)
        std::ranges::copy(taps, a.taps[axis]);
      else
        a.taps[axis][a.radius] = 1;
    return a;
  }

  std::int64_t keep_positive() {
    auto* const marks = reinterpret_cast<int*>(statistics_);
    queue_.clear(marks, sizeof(int) * voxels());
    FoldArguments a{grid_,     h_,           1, kLeastVolume, 1, marks, statistics_ + grid_.voxels(),
                    counters_, counters_ + 1};
    std::int64_t changed = 0;
    for (int turn = 0; turn < kTurns; ++turn) {
      std::int64_t now = 0;
      for (const float sign : {1.0F, -1.0F}) a.sign = sign, now += smooth_folds(a);
      if (now == 0) break;
      changed += now;
    }
    return changed;
  }

  /// As smooth_folds() of positive_step.hpp, but that all cells are looked at in each round: those that are
  /// far from what was smoothed were positive and are.
  std::int64_t smooth_folds(FoldArguments a) {
    constexpr int kRounds = 100;
    int round = 0;
    for (; round < kRounds; ++round) {
      a.margin = 1 + round / 4;
      queue_.clear(a.failing, sizeof(int));
      queue_.find_folds(a);
      int failing = 0;
      queue_.download(&failing, a.failing, sizeof failing);
      check_interrupt();
      if (failing == 0) break;
      queue_.smooth_folds(a);
    }
    if (round == 0) return 0;
    queue_.clear(a.smoothed, sizeof(int));
    queue_.count_smoothed(a);
    int smoothed = 0;
    queue_.download(&smoothed, a.smoothed, sizeof smoothed);
    return smoothed;
  }

  GreedyQueue& queue_;
  const DeformOptions& options_;
  DeformReport& report_;
  Middle middle_;
  std::vector<double> spacings_;
  Space finest_, space_{};
  DeviceGrid grid_{};
  Pyramid fixed_, moving_;
  float *h_ = nullptr, *force_ = nullptr, *warped_ = nullptr, *statistics_ = nullptr;
  std::uint8_t* counts_ = nullptr;
  double *parts_ = nullptr, *sums_ = nullptr;
  unsigned* longest_ = nullptr;
  int* counters_ = nullptr;
};

}  // namespace

std::vector<float> deform_greedily(GreedyQueue& queue, const Level& fixed, const Level& moving,
                                   const Affine& affine, const DeformOptions& options, DeformReport& report) {
  return Greedy(queue, fixed, moving, affine, options, report)();
}

}  // namespace warploom::registration
