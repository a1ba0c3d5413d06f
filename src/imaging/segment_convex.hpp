#pragma once

/// What segment_convex.cpp asks of a back end: iterate lambda TV(v) + 1/2 |v - u|^2 towards its minimum, and
/// measure the sets where v is above a level.

#include <array>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "imaging/segment_edges.hpp"
#include "imaging/segment_levels.hpp"
#include "imaging/segment_noise.hpp"
#include "warploom/imaging/segment.hpp"

namespace warploom::imaging {

struct ConvexProblem {
  Grid grid;
  Edges edges;
  const float* image = nullptr;        ///< [nz, ny, nx], 0 to 1; this and the mask where the work is
  const std::uint8_t* mask = nullptr;  ///< 0: the voxel does not count; null: all do
  std::int64_t first = 0, planes = 0;  ///< of a slab: its own planes of grid.nz; 0: all
};

/// By bins of v: voxels, and sums of u and u^2 times kLevelPoint.
struct LevelSums {
  std::array<std::int64_t, kLevels> count{}, sum{}, square{};
};

/// Of S = {v > threshold}.
struct SetSums {
  std::int64_t inside = 0;  ///< voxels
  std::int64_t sum = 0;     ///< of u, times kSetPoint
  double length = 0;        ///< of its border
  double excess = 0;        ///< sum over all of max(0, u + div p - threshold): minus the dual objective
};

/// A volume, or a slab of one that several devices share: its own planes and, next to them, one of each
/// neighbour's. Its own planes have the bits that they have without neighbours, whatever the cut.
class ConvexSlab {
 public:
  virtual ~ConvexSlab() = default;
  /// Of the same back end; null: its own planes end where the volume does.
  virtual void connect(const ConvexSlab* lower, const ConvexSlab* upper) = 0;
  /// Steps are large again; v and p stay as they are.
  virtual void begin(float lambda) = 0;
  /// A GPU may still be at work when it returns. With neighbours: one iteration, and then all of them take
  /// the planes next to theirs.
  virtual void iterate(int count) = 0;
  virtual void take_extrapolated() = 0;
  virtual void take_v() = 0;

  // Of its own planes: asked of all slabs, then fetched.
  virtual void ask_levels() = 0;
  virtual LevelSums levels() = 0;
  virtual void ask_sides(float threshold) = 0;
  virtual SetSums sides() = 0;
  /// The neighbours' v was taken.
  virtual void ask_measure(float threshold) = 0;
  virtual std::vector<SetSums> measure() = 0;  ///< of each plane

  /// [voxels of all slabs, of which this is the first]; until the next call, where the work is
  virtual const float* v(const std::vector<std::unique_ptr<ConvexSlab>>& all) = 0;
  /// All that was asked for is done.
  virtual void wait() {}
  virtual double seconds() const = 0;
  virtual std::uint64_t device_bytes() const { return 0; }
};

/// All slabs of a volume.
class ConvexBackend {
 public:
  explicit ConvexBackend(std::vector<std::unique_ptr<ConvexSlab>> slabs);
  /// Steps are large again; v and p stay as they are.
  void begin(float lambda);
  /// @throws Interrupted
  void iterate(int count);
  LevelSums levels();
  /// Of {v > threshold}: voxels and sum alone, for a part of what measure() costs.
  SetSums sides(float threshold);
  /// The dual p that is measured obeys the lambda of the last iteration.
  SetSums measure(float threshold);
  /// [voxels] until the next call, where the work is
  const float* v() const { return slabs_[0]->v(slabs_); }
  double seconds() const { return alone() ? slabs_[0]->seconds() : seconds_; }
  std::uint64_t device_bytes() const;
  int devices() const { return static_cast<int>(slabs_.size()); }

 private:
  bool alone() const { return slabs_.size() == 1; }
  std::vector<std::unique_ptr<ConvexSlab>> slabs_;
  double seconds_ = 0;  // of several
};

/// The parts of a volume for several devices: [first plane, end).
std::vector<std::pair<std::int64_t, std::int64_t>> convex_cuts(const Grid& grid, std::size_t devices);
/// What a slab of [first, end) is of the whole volume.
ConvexProblem slab_of(const ConvexProblem& whole, std::int64_t first, std::int64_t end);

/// Steps of primal-dual's algorithm 2: tau sigma |D|^2 <= 1.
struct ConvexSteps {
  float tau, sigma, theta;
};
ConvexSteps first_steps(const Edges& edges);
void next_steps(ConvexSteps& steps);

/// @param slabs  for tests: as many as planes at most
std::unique_ptr<ConvexBackend> convex_cpu(const ConvexProblem& problem, std::size_t slabs = 1);
/// @param devices  that may share the volume, the first of them current; with none it is the current one's
std::unique_ptr<ConvexBackend> convex_cuda(const ConvexProblem& problem,
                                           const std::vector<Device>& devices = {});

/// Standard deviation of noise in the values, from the finest diagonal differences: robust against edges as
/// long as most places have none. 0 where there is none, or too few voxels to tell.
double finest_noise(const float* image, const Grid& grid, const Mask& mask);
NoiseSample noise_sample(const Grid& grid);
/// From the differences over a sample's blocks of which every voxel counts. Reorders them.
double noise_of(std::vector<float>& differences, int axes);

inline constexpr int kMostClasses = 16;

/// How an image's values became u, 0 to 1; 0 where a voxel does not count.
struct ImageScale {
  double low = 0, scale = 1;    ///< value = low + scale * u, or u^2 of roots
  std::int64_t voxels = 0;      ///< that count
  bool roots = false;           ///< u is the root of what it would be else
  double sum = 0, squares = 0;  ///< of u, over all voxels

  /// u of a value of the image; beyond its ends those.
  double unit(double value) const;
};

/// An image as it is segmented, in memory of the host.
struct ScaledImage : ImageScale {
  std::vector<float> data = {};  ///< u
  void add_up();                 ///< sum and squares
};
/// @throws BadInput (not finite or constant where it counts, nothing counts)
ScaledImage scaled_image(const ImageView& image, const Mask& mask);
/// For Noise::counts: the roots of the counts above the least one have the same noise everywhere.
void take_roots(ScaledImage& scaled);

/// Is given options that usual_options() filled and segment() checked.
Segmentation segment_classes(const ImageView& image, ScaledImage scaled, const SegmentOptions& options);

/// Spacing over the smallest; 0 along an axis with one voxel.
std::array<double, 3> relative_spacing(const Grid& grid);

}  // namespace warploom::imaging
