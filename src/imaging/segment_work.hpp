#pragma once

/// What segmenting asks of a back end: the image as it is segmented, and the results, in the memory where the
/// work is.

#include <cstdint>
#include <limits>
#include <memory>
#include <vector>

#include "imaging/segment_backend.hpp"
#include "imaging/segment_convex.hpp"
#include "warploom/imaging/segment.hpp"

namespace warploom::imaging {

/// Of the voxels that count.
struct ValueRange {
  std::int64_t voxels = 0, bad = 0;  ///< all, and those that are not finite
  float low = std::numeric_limits<float>::infinity(), high = -low;
};
/// @throws BadInput (not finite or constant, nothing counts)
ImageScale scale_of(const ValueRange& range);

/// Where results are written: [nz, ny, nx] each.
struct SegmentResults {
  std::uint8_t* mask = nullptr;
  float* level_set = nullptr;
};

/// By what a mask is cut out of v.
struct Cut {
  bool found = false;  ///< false: there is none
  bool dark = false;   ///< what is darker is inside
  float threshold = 0;
};
/// Of the dark side of a threshold and the bright one: voxels, and their values in the image's unit.
struct SideSums {
  double number[2] = {}, sum[2] = {};
};
/// Of the voxels where a level set is positive: how many, and their u.
struct Content {
  double inside = 0, inside_image = 0;
};

class SegmentWork {
 public:
  virtual ~SegmentWork() = default;
  const Grid& grid() const { return grid_; }
  const ImageScale& scale() const { return scale_; }
  /// Of a GPU: what went to and fro, and what was allocated beside what segmenting itself allocates.
  virtual double transfer_seconds() const { return 0; }
  virtual std::uint64_t device_bytes() const { return 0; }

  // Method::convex
  /// finest_noise() of u
  virtual double noise() = 0;
  /// u becomes its root: for Noise::counts, the roots of the counts above the least one have the same noise
  /// everywhere.
  virtual void take_roots() = 0;
  virtual std::unique_ptr<ConvexBackend> convex() = 0;
  /// The results: the mask, and v less the threshold where the mask is taken of it.
  virtual SideSums cut(const float* v, const Cut& by) = 0;

  // Method::level_set, of the results' level set
  virtual void start(const SegmentOptions& options) = 0;
  virtual Content content() = 0;
  virtual SegmentOutcome evolve(SegmentProblem problem) = 0;
  /// The level set times `sign`, and the mask where it is positive.
  virtual void finish(float sign) = 0;

 protected:
  explicit SegmentWork(const Grid& grid) : grid_(grid) {}
  Grid grid_;
  ImageScale scale_ = {};
};

/// @param slabs  of the convex method's work
std::unique_ptr<SegmentWork> segment_work_cpu(const ImageView& image, const Mask& mask,
                                              const SegmentResults& results, std::size_t slabs = 1);
/// Of an image in memory of the host: results are fetched into `results` by what is called at the end.
class GpuSegmentWork : public SegmentWork {
 public:
  /// Copies the results to memory of the host.
  virtual void fetch(const SegmentResults& to) = 0;

 protected:
  using SegmentWork::SegmentWork;
};
/// @param there  the image and the results are in the GPU's memory; null: the image is in the host's
/// @param devices  that may share the convex method's work, the first of them current; with none the current
/// one
std::unique_ptr<GpuSegmentWork> segment_work_cuda(const ImageView& image, const Mask& mask,
                                                  const SegmentOnGpu* there,
                                                  const std::vector<Device>& devices = {});

/// All are given options that usual_options() filled and segment() checked, and give the report.
SegmentReport segment_convex(SegmentWork& work, const SegmentOptions& options);
SegmentReport segment_level_set(SegmentWork& work, const SegmentOptions& options);

}  // namespace warploom::imaging
