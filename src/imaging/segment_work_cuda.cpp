#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

#include "core/cuda/memory.hpp"
#include "imaging/segment_image_kernels.hpp"
#include "imaging/segment_work.hpp"
#include "imaging/voxels.hpp"

namespace warploom::imaging {
namespace {

/// Voxels that a device works on at least, where several share a volume: below, planes that go to and fro
/// count.
constexpr std::int64_t kSegmentSplitFrom = std::int64_t{1} << 22;

/// The image is scaled on the GPU, from where it is there or from one copy; the results stay there until they
/// are fetched. Every function has done its work when it returns, so that back ends with streams of their own
/// may follow.
class DeviceWork final : public GpuSegmentWork {
 public:
  DeviceWork(const ImageView& image, const Mask& mask, const SegmentOnGpu* there,
             const std::vector<Device>& devices)
      : GpuSegmentWork(image.grid), devices_(devices), voxels_{image.grid.voxels(), nullptr} {
    const auto count = static_cast<std::uint64_t>(voxels_.count);
    const auto u = arena_.add<float>(count), own_mask = arena_.add<unsigned char>(mask.size()),
               counts = arena_.add<unsigned long long>(2 * kMostImageBlocks),
               sums = arena_.add<double>(2 * kMostImageBlocks);
    const std::uint64_t fetched = there == nullptr ? count : 0;
    const auto found = arena_.add<std::uint8_t>(fetched), level_set = arena_.add<float>(fetched);
    arena_.allocate();
    u_ = arena_.at<float>(u);
    counts_ = arena_.at<unsigned long long>(counts), sums_ = arena_.at<double>(sums);
    results_ = {arena_.at<std::uint8_t>(found), arena_.at<float>(level_set)};
    const float* values = image.strided != nullptr ? image.strided : image.data.data();
    if (there != nullptr) {
      require_reachable(values, "the image");
      require_reachable(there->mask, "the segmentation's mask");
      require_reachable(there->level_set, "the segmentation's level set");
      results_ = {there->mask, there->level_set};
      come_after(stream_.get(), static_cast<cudaStream_t>(there->stream));
    }
    cuda_check(cudaEventRecord(begun_.get(), stream_.get()), "cudaEventRecord");
    if (there == nullptr) {
      upload(image);
      values = u_;
    } else if (image.strided != nullptr) {
      ImageGather gather{image.grid.nx, image.grid.ny, image.grid.nz, {}, 0, voxels_.count};
      std::ranges::copy(image.strides, gather.stride);
      cuda_check(launch_image_gather(values, gather, u_, stream_.get()),
                 "launching the gathering of an image");
      values = u_;
    }
    if (!mask.empty()) {
      auto* const to = arena_.at<unsigned char>(own_mask);
      copy(to, mask.data(), mask.size());
      voxels_.mask = to;
    }
    add_transfer();
    cuda_check(launch_image_range(values, voxels_, counts_, reinterpret_cast<float*>(sums_), stream_.get()),
               "launching the image's kernel");
    scale_ = scale_of(range());
    cuda_check(launch_image_scale(values, voxels_, scale_.low, scale_.scale, u_, sums_, stream_.get()),
               "launching the image's kernel");
    add_up();
  }

  double transfer_seconds() const override { return transfer_seconds_; }
  std::uint64_t device_bytes() const override { return arena_.bytes(); }

  double noise() override {
    const NoiseSample sample = noise_sample(grid_);
    const auto sizes = make_device<float>(static_cast<std::size_t>(sample.count()));
    cuda_check(launch_image_noise(u_, voxels_.mask, sample, sizes.get(), stream_.get()),
               "launching the noise's kernel");
    std::vector<float> differences = fetched(sizes.get(), static_cast<std::size_t>(sample.count()));
    std::erase_if(differences, [](float one) { return one < 0; });
    return noise_of(differences, sample.axes);
  }
  void take_roots() override {
    cuda_check(launch_image_root(voxels_, u_, sums_, stream_.get()), "launching the image's kernel");
    scale_.roots = true;
    add_up();
  }
  std::unique_ptr<ConvexBackend> convex() override {
    std::vector<Device> worth = devices_;
    worth.resize(std::min(worth.size(), static_cast<std::size_t>(voxels_.count / kSegmentSplitFrom)));
    return convex_cuda(
        {.grid = grid_, .edges = edges_of(relative_spacing(grid_)), .image = u_, .mask = voxels_.mask},
        worth);
  }
  SideSums cut(const float* v, const Cut& by) override {
    const ImageCut cut{int{by.found}, int{by.dark}, by.threshold,
                       scale_.low,    scale_.scale, int{scale_.roots}};
    cuda_check(launch_image_cut(u_, v, voxels_, cut, results_.mask, results_.level_set, counts_, sums_,
                                stream_.get()),
               "launching the mask's kernel");
    SideSums out;
    const auto [dark, bright] = two(counts_);
    out.number[0] = static_cast<double>(dark), out.number[1] = static_cast<double>(bright);
    const auto [dark_sum, bright_sum] = two(sums_);
    out.sum[0] = dark_sum, out.sum[1] = bright_sum;
    return out;
  }

  void start(const SegmentOptions& options) override {
    if (options.start != Start::checkerboard) {  // made on the host
      const std::vector<float> made = start_level_set(grid_, relative_spacing(grid_), options);
      copy(results_.level_set, made.data(), made.size() * sizeof(float));
      wait();
      return;
    }
    const std::vector<double> waves = checkerboard_waves(grid_);
    const auto there = make_device<double>(waves.size());
    copy(there.get(), waves.data(), waves.size() * sizeof(double));
    cuda_check(
        launch_image_waves(there.get(), grid_.nx, grid_.ny, grid_.nz, results_.level_set, stream_.get()),
        "launching the start's kernel");
    wait();
  }
  Content content() override {
    cuda_check(launch_image_content(u_, results_.level_set, voxels_.count, counts_, sums_, stream_.get()),
               "launching the level set's kernel");
    return {static_cast<double>(one(counts_)), one(sums_)};
  }
  SegmentOutcome evolve(SegmentProblem problem) override {
    problem.image = u_;
    return evolve_cuda(problem, results_.level_set);
  }
  void finish(float sign) override {
    cuda_check(launch_image_sides(results_.level_set, voxels_.count, sign, results_.mask, stream_.get()),
               "launching the mask's kernel");
    wait();
  }

  void fetch(const SegmentResults& to) override {
    cuda_check(cudaEventRecord(begun_.get(), stream_.get()), "cudaEventRecord");
    const auto count = static_cast<std::size_t>(voxels_.count);
    copy(to.mask, results_.mask, count);
    copy(to.level_set, results_.level_set, sizeof(float) * count);
    add_transfer();
  }

 private:
  void copy(void* to, const void* from, std::size_t bytes) {
    cuda_check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, stream_.get()),
               "cudaMemcpy of " + std::to_string(bytes) + " bytes");
  }
  void upload(const ImageView& image) {
    if (image.strided == nullptr) return copy(u_, image.data.data(), image.data.size_bytes());
    for_values(image, [&](std::size_t begin, const float* values, std::size_t count) {
      copy(u_ + begin, values, count * sizeof(float));
      wait();  // the next ones are gathered to the same place
    });
  }
  void wait() { cuda_check(cudaStreamSynchronize(stream_.get()), "segmenting on the GPU"); }
  /// Since begun_.
  void add_transfer() {
    cuda_check(cudaEventRecord(ended_.get(), stream_.get()), "cudaEventRecord");
    wait();
    transfer_seconds_ += seconds_between(begun_, ended_);
  }
  template <class Number>
  std::vector<Number> fetched(const Number* from, std::size_t count) {
    std::vector<Number> out(count);
    copy(out.data(), from, count * sizeof(Number));
    wait();
    return out;
  }
  std::size_t blocks() const { return image_blocks(voxels_.count); }
  /// The sum of what the blocks have, in their order.
  template <class Number>
  Number one(const Number* parts) {
    const std::vector<Number> all = fetched(parts, blocks());
    return std::accumulate(all.begin(), all.end(), Number{0});
  }
  template <class Number>
  std::pair<Number, Number> two(const Number* parts) {
    const Number first = one(parts);
    return {first, one(parts + blocks())};
  }
  ValueRange range() {
    ValueRange out;
    const auto [voxels, bad] = two(counts_);
    out.voxels = static_cast<std::int64_t>(voxels), out.bad = static_cast<std::int64_t>(bad);
    const std::vector<float> ends = fetched(reinterpret_cast<const float*>(sums_), 2 * blocks());
    const auto middle = ends.begin() + static_cast<std::ptrdiff_t>(blocks());
    out.low = *std::min_element(ends.begin(), middle), out.high = *std::max_element(middle, ends.end());
    return out;
  }
  void add_up() { std::tie(scale_.sum, scale_.squares) = two(sums_); }

  std::vector<Device> devices_;
  ImageVoxels voxels_;
  DeviceArena arena_;
  float* u_ = nullptr;
  unsigned long long* counts_ = nullptr;  // [2, kMostImageBlocks]
  double* sums_ = nullptr;                // the same
  SegmentResults results_;
  CudaStream stream_ = make_stream();
  CudaEvent begun_ = make_event(), ended_ = make_event();
  double transfer_seconds_ = 0;
  WaitAtEnd wait_{stream_.get()};
};

}  // namespace

std::unique_ptr<GpuSegmentWork> segment_work_cuda(const ImageView& image, const Mask& mask,
                                                  const SegmentOnGpu* there,
                                                  const std::vector<Device>& devices) {
  return std::make_unique<DeviceWork>(image, mask, there, devices);
}

}  // namespace warploom::imaging
