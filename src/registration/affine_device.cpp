#include "registration/affine_device.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "registration/affine_kernels.hpp"
#include "warploom/core/progress.hpp"

namespace warploom::registration {
namespace {

constexpr int kSums = 1 + kMoments, kBatch = 1024;

/// What both directions write into, one after the other.
struct Scratch {
  std::uint8_t* counts = nullptr;
  float* statistics = nullptr;
  double *parts = nullptr, *moments = nullptr, *sums = nullptr;
};

/// One of the images at the resolution of now.
struct Side {
  Space space{};
  float* pair = nullptr;  ///< [2, nz, ny, nx]: its values, and the other image drawn to its voxels
  std::uint8_t* counts = nullptr;
  std::int64_t counted = 0;
  Level on_the_host{};  ///< empty until it is asked for
  DeviceLevel level() const { return {pair, counts, device_grid(space)}; }
};

LnccArguments windows_of(const DeviceGrid& grid, int radius) {
  LnccArguments out{};
  out.grid = grid, out.radius = radius, out.planes = affine_planes(grid), out.floor = kLnccFloor;
  return out;
}

class MeasureOnADevice final : public AffineMeasure {
 public:
  MeasureOnADevice(GreedyQueue& queue, const Side& own, const Side& other, const Scratch& scratch, int radius)
      : queue_(queue), own_(own), other_(other), scratch_(scratch), radius_(radius) {}

  double value(const Affine& affine, Affine* derivative) override {
    if (derivative == nullptr) return values({affine})[0];
    check_interrupt();
    const LnccArguments lncc = compare(affine);
    queue_.lncc_moments({lncc, other_.level(), map(affine), scratch_.moments});
    queue_.add_up_moments({scratch_.parts, scratch_.moments, static_cast<int>(lncc_launch(lncc).blocks()),
                           share(), scratch_.sums});
    std::array<double, kSums> sums{};
    queue_.download(sums.data(), scratch_.sums, sizeof sums);
    std::array<double, kMoments> total{};
    std::copy(sums.begin() + 1, sums.end(), total.begin());
    *derivative = by_the_map(total, own_.space, other_.space);
    return sums[0];
  }

  std::vector<double> values(const std::vector<Affine>& maps) override {
    std::vector<double> out(maps.size());
    for (std::size_t first = 0; first < maps.size(); first += kBatch) {
      check_interrupt();
      const std::size_t count = std::min<std::size_t>(maps.size() - first, kBatch);
      for (std::size_t k = 0; k < count; ++k) {
        const LnccArguments lncc = compare(maps[first + k]);
        queue_.add_up(scratch_.parts, static_cast<int>(lncc_launch(lncc).blocks()), share(),
                      scratch_.sums + k);
      }
      queue_.download(out.data() + first, scratch_.sums, count * sizeof(double));
    }
    return out;
  }

  std::int64_t overlap() override {
    std::vector<std::uint8_t> counts(static_cast<std::size_t>(device_grid(own_.space).voxels()));
    queue_.download(counts.data(), scratch_.counts, counts.size());
    return static_cast<std::int64_t>(counts.size()) - std::ranges::count(counts, std::uint8_t{0});
  }

 private:
  DeviceMap map(const Affine& affine) const {
    return device_map(voxel_map(affine, own_.space, other_.space));
  }
  double share() const { return 1 / static_cast<double>(own_.counted); }

  /// Statistics of windows and parts of the value, with the other image drawn where `affine` says.
  LnccArguments compare(const Affine& affine) {
    const DeviceGrid grid = device_grid(own_.space);
    queue_.draw({grid, own_.counts, other_.level(), map(affine), own_.pair + grid.voxels(), scratch_.counts});
    LnccArguments lncc = windows_of(grid, radius_);
    lncc.warped = own_.pair, lncc.counts = scratch_.counts;
    lncc.statistics = scratch_.statistics, lncc.parts = scratch_.parts;
    queue_.lncc_statistics(lncc);
    return lncc;
  }

  GreedyQueue& queue_;
  const Side &own_, &other_;
  const Scratch& scratch_;
  int radius_;
};

class ImagesOnADevice final : public AffineImages {
 public:
  ImagesOnADevice(GreedyQueue& queue, const DeviceImage& fixed, const DeviceImage& moving, int radius,
                  double finest)
      : queue_(queue),
        fixed_image_(fixed),
        moving_image_(moving),
        radius_(radius),
        there_(queue, fixed_, moving_, scratch_, radius),
        back_(queue, moving_, fixed_, scratch_, radius) {
    Carver size;
    lay_out(size, finest);
    Carver memory(queue.allocate(size.used()));
    lay_out(memory, finest);
  }

  void coarsen(double spacing) override {
    take(fixed_image_, spacing, fixed_);
    take(moving_image_, spacing, moving_);
  }
  const Level& fixed() override { return fetched(fixed_); }
  const Level& moving() override { return fetched(moving_); }
  AffineMeasure& there() override { return there_; }
  AffineMeasure& back() override { return back_; }

 private:
  void lay_out(Carver& carver, double finest) {
    std::int64_t most = 0, parts = 0;
    for (const auto& [image, side] : {std::pair{&fixed_image_, &fixed_}, {&moving_image_, &moving_}}) {
      const DeviceGrid grid = device_grid(coarser(image->space(), finest));
      side->pair = carver.take<float>(2 * grid.voxels());
      side->counts = image->masked() ? carver.take<std::uint8_t>(grid.voxels()) : nullptr;
      most = std::max(most, grid.voxels());
      for (int k = 0; k < 16; ++k) {  // a coarser grid has blocks of fewer planes
        const DeviceGrid coarse = device_grid(coarser(image->space(), finest * std::exp2(k)));
        parts = std::max<std::int64_t>(parts, lncc_launch(windows_of(coarse, radius_)).blocks());
      }
    }
    scratch_.counts = carver.take<std::uint8_t>(most);
    scratch_.statistics = carver.take<float>(5 * most);
    scratch_.parts = carver.take<double>(parts);
    scratch_.moments = carver.take<double>(kMoments * parts);
    scratch_.sums = carver.take<double>(std::max(kSums, kBatch));
  }

  void take(const DeviceImage& image, double spacing, Side& to) {
    const DeviceImage::At at = image.coarser(queue_, spacing);
    const auto voxels = static_cast<std::uint64_t>(at.level.grid.voxels());
    to.space = at.space, to.on_the_host = {}, to.counted = at.level.grid.voxels();
    queue_.copy(to.pair, at.level.data, sizeof(float) * voxels);
    if (to.counts == nullptr) return;
    queue_.copy(to.counts, at.level.counts, voxels);
    to.counted = registration::counted(fetched(to));
  }

  const Level& fetched(Side& side) {
    Level& level = side.on_the_host;
    if (!level.data.empty()) return level;
    level.space = side.space;
    const auto voxels = static_cast<std::size_t>(device_grid(side.space).voxels());
    level.data.resize(voxels);
    queue_.download(level.data.data(), side.pair, sizeof(float) * voxels);
    if (side.counts != nullptr) {
      level.counts.resize(voxels);
      queue_.download(level.counts.data(), side.counts, voxels);
    }
    return level;
  }

  GreedyQueue& queue_;
  const DeviceImage &fixed_image_, &moving_image_;
  int radius_;
  Side fixed_, moving_;
  Scratch scratch_;
  MeasureOnADevice there_, back_;
};

}  // namespace

std::unique_ptr<AffineImages> images_on_a_device(GreedyQueue& queue, const DeviceImage& fixed,
                                                 const DeviceImage& moving, int radius, double finest) {
  return std::make_unique<ImagesOnADevice>(queue, fixed, moving, radius, finest);
}

}  // namespace warploom::registration
