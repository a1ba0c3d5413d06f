#include "warploom/imaging/mask.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "imaging/voxels.hpp"
#include "warploom/core/error.hpp"

namespace warploom::imaging {
namespace {

// The image in 4096 grey levels: enough for a threshold, and few enough for medians from histograms. A median
// of levels is the level of the median.
using Level = std::uint16_t;
constexpr std::size_t kFine = 64, kLevels = kFine * kFine;
constexpr std::int64_t kRadius = 2;
constexpr int kPasses = 2;

std::vector<Level> levels(const Image& image) {
  float least = std::numeric_limits<float>::infinity(), most = -least;
  for (const float value : image.data)
    if (std::isfinite(value)) least = std::min(least, value), most = std::max(most, value);
  if (!(least < most)) throw BadInput("no mask can be found: the image is constant");
  const double scale =
      static_cast<double>(kLevels - 1) / (static_cast<double>(most) - static_cast<double>(least));
  std::vector<Level> result(image.data.size());
  for_pieces(image.grid, [&](std::size_t begin, std::size_t end) {
    for (std::size_t voxel = begin; voxel < end; ++voxel)
      if (const float value = image.data[voxel]; std::isfinite(value))  // what is not finite is background: 0
        result[voxel] = static_cast<Level>(
            std::lround((static_cast<double>(value) - static_cast<double>(least)) * scale));
  });
  return result;
}

// Counts of levels in a window, in two steps so that a median takes at most 128 additions.
class Window {
 public:
  void add(Level level) { change(level, 1); }
  void remove(Level level) { change(level, -1); }

  // The level with at most `below` others in the window below it.
  Level ranked(int below) const {
    std::size_t group = 0;
    while (below >= groups_[group]) below -= groups_[group++];
    std::size_t level = group * kFine;
    while (below >= counts_[level]) below -= counts_[level++];
    return static_cast<Level>(level);
  }

 private:
  void change(Level level, int by) {
    counts_[level] = static_cast<std::uint8_t>(counts_[level] + by);
    groups_[level / kFine] = static_cast<std::uint8_t>(groups_[level / kFine] + by);
  }

  std::array<std::uint8_t, kLevels> counts_{};
  std::array<std::uint8_t, kFine> groups_{};
};

// The positions of a window along one axis; beyond the edge the image is mirrored, its last voxel twice.
struct Reach {
  std::int64_t first, last;
};
Reach reach(std::int64_t extent) { return extent > 1 ? Reach{-kRadius, kRadius} : Reach{0, 0}; }
std::int64_t mirrored(std::int64_t position, std::int64_t extent) {
  if (position < 0) position = -1 - position;
  if (position >= extent) position = 2 * extent - 1 - position;
  return position;
}

// Huang's moving histogram: from voxel to voxel along x, one plane of the window leaves and one enters.
std::vector<Level> median_filtered(const std::vector<Level>& image, const Grid& grid) {
  const Reach rx = reach(grid.nx), ry = reach(grid.ny), rz = reach(grid.nz);
  const auto width = [](const Reach& r) { return r.last - r.first + 1; };
  const int below = static_cast<int>(width(rx) * width(ry) * width(rz) / 2);
  std::vector<Level> result(image.size());
  parallel_for(grid.nz * grid.ny, [&](std::int64_t row) {
    check_interrupt();
    const std::int64_t z = row / grid.ny, y = row % grid.ny;
    std::vector<const Level*> rows;
    for (std::int64_t dz = rz.first; dz <= rz.last; ++dz)
      for (std::int64_t dy = ry.first; dy <= ry.last; ++dy)
        rows.push_back(image.data() +
                       (mirrored(z + dz, grid.nz) * grid.ny + mirrored(y + dy, grid.ny)) * grid.nx);
    Window window;
    for (std::int64_t dx = rx.first; dx <= rx.last; ++dx)
      for (const Level* from : rows) window.add(from[mirrored(dx, grid.nx)]);
    Level* out = result.data() + row * grid.nx;
    for (std::int64_t x = 0;; ++x) {
      out[x] = window.ranked(below);
      if (x + 1 == grid.nx) break;
      const std::int64_t leaves = mirrored(x + rx.first, grid.nx),
                         enters = mirrored(x + 1 + rx.last, grid.nx);
      for (const Level* from : rows) {
        window.remove(from[leaves]);
        window.add(from[enters]);
      }
    }
  });
  return result;
}

// Otsu's threshold: of the ways to split the levels in two, the one whose means differ most, as variance
// between the two. Levels above it are foreground.
Level otsu(const std::vector<Level>& image) {
  std::array<double, kLevels> counts{};
  for (const Level level : image) ++counts[level];
  double total = 0;
  for (std::size_t level = 0; level < kLevels; ++level) total += counts[level] * static_cast<double>(level);
  const auto voxels = static_cast<double>(image.size());
  double below = 0, sum_below = 0, best = 0;
  std::size_t threshold = kLevels;
  for (std::size_t level = 0; level + 1 < kLevels; ++level) {
    below += counts[level];
    sum_below += counts[level] * static_cast<double>(level);
    if (below == 0 || below == voxels) continue;
    const double difference = (total - sum_below) / (voxels - below) - sum_below / below;
    const double between = below * (voxels - below) * difference * difference;
    if (between > best) best = between, threshold = level;
  }
  if (threshold == kLevels)
    throw BadInput("no mask can be found: the image is constant but for what a median filter removes");
  return static_cast<Level>(threshold);
}

// Marks `from` and what is connected to it through voxels of the same value in `mask`, over faces.
class Flood {
 public:
  Flood(const Mask& mask, const Grid& grid) : mask_(mask), grid_(grid), reached_(mask.size()) {}

  bool reached(std::size_t voxel) const { return reached_[voxel] != 0; }

  /// Appends the voxels it reaches to `component`.
  void fill(std::size_t from, std::vector<std::size_t>& component) {
    std::size_t next = component.size();
    visit(from, mask_[from], component);
    for (; next < component.size(); ++next) {
      const std::size_t voxel = component[next];
      const auto x = static_cast<std::int64_t>(voxel) % grid_.nx;
      const auto y = static_cast<std::int64_t>(voxel) / grid_.nx % grid_.ny;
      const auto z = static_cast<std::int64_t>(voxel) / (grid_.nx * grid_.ny);
      const auto line = static_cast<std::size_t>(grid_.nx);
      const auto slice = static_cast<std::size_t>(grid_.nx * grid_.ny);
      if (x > 0) visit(voxel - 1, mask_[from], component);
      if (x + 1 < grid_.nx) visit(voxel + 1, mask_[from], component);
      if (y > 0) visit(voxel - line, mask_[from], component);
      if (y + 1 < grid_.ny) visit(voxel + line, mask_[from], component);
      if (z > 0) visit(voxel - slice, mask_[from], component);
      if (z + 1 < grid_.nz) visit(voxel + slice, mask_[from], component);
    }
    check_interrupt();
  }

 private:
  void visit(std::size_t voxel, std::uint8_t value, std::vector<std::size_t>& component) {
    if (mask_[voxel] != value || reached_[voxel]) return;
    reached_[voxel] = 1;
    component.push_back(voxel);
  }

  const Mask& mask_;
  const Grid& grid_;
  std::vector<std::uint8_t> reached_;
};

Mask largest_component(const Mask& mask, const Grid& grid) {
  Flood flood(mask, grid);
  std::vector<std::size_t> largest, component;
  for (std::size_t voxel = 0; voxel < mask.size(); ++voxel) {
    if (!mask[voxel] || flood.reached(voxel)) continue;
    component.clear();
    flood.fill(voxel, component);
    if (component.size() > largest.size()) std::swap(component, largest);
  }
  Mask result(mask.size());
  for (const std::size_t voxel : largest) result[voxel] = 1;
  return result;
}

// Background that no path over faces connects to the image's border becomes foreground.
void fill_holes(Mask& mask, const Grid& grid) {
  const auto on_border = [](std::int64_t position, std::int64_t extent) {
    return extent > 1 && (position == 0 || position + 1 == extent);
  };
  Flood flood(mask, grid);
  std::vector<std::size_t> outside;
  std::size_t voxel = 0;
  for (std::int64_t z = 0; z < grid.nz; ++z)
    for (std::int64_t y = 0; y < grid.ny; ++y)
      for (std::int64_t x = 0; x < grid.nx; ++x, ++voxel)
        if (!mask[voxel] && (on_border(x, grid.nx) || on_border(y, grid.ny) || on_border(z, grid.nz)))
          flood.fill(voxel, outside);
  for (voxel = 0; voxel < mask.size(); ++voxel) mask[voxel] = mask[voxel] || !flood.reached(voxel);
}

constexpr std::uint8_t kFinite = 1, kNonzero = 2;

// What holds for each voxel, over all channels.
std::vector<std::uint8_t> properties(const ImageView& image) {
  std::vector<std::uint8_t> out(static_cast<std::size_t>(image.grid.voxels()), kFinite);
  for_pieces(image.grid, [&](std::size_t begin, std::size_t end) {
    for (int c = 0; c < image.channels; ++c) {
      const auto values = image.channel(c);
      for (std::size_t v = begin; v < end; ++v) {
        const bool finite = std::abs(values[v]) <= std::numeric_limits<float>::max();
        out[v] = static_cast<std::uint8_t>((out[v] & (finite ? 0xff : ~kFinite)) |
                                           (values[v] != 0 ? kNonzero : 0));
      }
    }
  });
  return out;
}

// Leaves the voxels that have the properties `needed`.
void keep(ChosenMask& mask, std::vector<std::uint8_t> known, std::uint8_t needed) {
  for (std::size_t v = 0; v < known.size(); ++v)
    known[v] = (known[v] & needed) == needed && inside(mask.voxels, v);
  mask.inside = std::ranges::count(known, 1);
  mask.voxels = mask.inside < std::ssize(known) ? std::move(known) : Mask{};
}

}  // namespace

Mask automatic_mask(const Image& scalar, const Run& run) {
  const RunScope scope(run);
  scalar.check();
  if (scalar.channels != 1)
    throw BadInput(fmt::format("a mask is found in an image of 1 channel, this one has {}", scalar.channels));
  auto filtered = levels(scalar);
  for (int pass = 0; pass < kPasses; ++pass) filtered = median_filtered(filtered, scalar.grid);
  const Level threshold = otsu(filtered);
  Mask mask(filtered.size());
  for (std::size_t voxel = 0; voxel < mask.size(); ++voxel) mask[voxel] = filtered[voxel] > threshold;
  mask = largest_component(mask, scalar.grid);
  fill_holes(mask, scalar.grid);
  return mask;
}

ChosenMask choose_mask(const ImageView& image, const std::string& origin,
                       const std::function<Mask()>& candidates, const std::string& name) {
  image.check(name);
  if (!candidates) throw BadInput(fmt::format("{}: no function was given that chooses the mask", name));
  ChosenMask mask;
  mask.origin = origin;
  std::vector<std::uint8_t> known = properties(image);
  mask.not_finite = std::ranges::count_if(known, [](std::uint8_t p) { return (p & kFinite) == 0; });
  if (mask.not_finite == image.grid.voxels())
    throw BadInput(
        fmt::format("{}: every voxel holds a NaN or an infinity, so that nothing is left to work on", name));
  mask.voxels = candidates();
  require_mask(mask.voxels, image.grid);
  keep(mask, std::move(known), origin == "nonzero" ? kFinite | kNonzero : kFinite);
  if (mask.inside == 0)
    throw BadInput(fmt::format("{}: no voxel is inside the mask ({}){}", name, origin,
                               origin == "nonzero" ? ": all are 0" : ""));
  return mask;
}

void leave_out_zeros(ChosenMask& mask, const Image& image) {
  image.check();
  require_mask(mask.voxels, image.grid);
  keep(mask, properties(image), kNonzero);
}

}  // namespace warploom::imaging
