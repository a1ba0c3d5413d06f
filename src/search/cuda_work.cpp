#include "search/cuda_work.hpp"

#include <algorithm>
#include <string>

#include "warploom/core/cuda_check.cuh"

namespace warploom::search {
namespace {

void record(const CudaEvent& event, cudaStream_t stream) {
  cuda_check(cudaEventRecord(event.get(), stream), "cudaEventRecord");
}
void follow(cudaStream_t stream, const CudaEvent& event) {
  cuda_check(cudaStreamWaitEvent(stream, event.get(), 0), "cudaStreamWaitEvent");
}
void copy(void* to, const void* from, std::size_t bytes, cudaStream_t stream) {
  if (bytes == 0) return;
  cuda_check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, stream),
             "copying " + std::to_string(bytes) + " bytes of a search");
}

}  // namespace

const float* Work::samples(std::int32_t channel, std::int64_t first, std::int64_t last) {
  if (signal_.device != nullptr) return signal_.device + channel * signal_.stride;
  // Moments begin at a run's begin.
  first = first / kMomentRun * kMomentRun;
  auto [part, is_new] = parts_.try_emplace({channel, first, last});
  if (is_new) part->second = memory_.take<float>(last - first + kSamplePad);
  return reinterpret_cast<const float*>(reinterpret_cast<std::uintptr_t>(part->second) -
                                        static_cast<std::uintptr_t>(first) * sizeof(float));
}

Compared Work::compare(const DeviceQuery& query, std::uint32_t pattern, std::int32_t channel,
                       std::int64_t first, std::int64_t count, const std::int64_t* begins,
                       ProfileEntry* profile) {
  return add(query, pattern, channel, first, count, begins, profile).first;
}

Compared Work::compare_pruned(const DeviceQuery& query, std::uint32_t pattern, std::int32_t channel,
                              std::int64_t first, std::int64_t count, ProfileEntry* profile) {
  auto [compared, place] = add(query, pattern, channel, first, count, nullptr, profile);
  compared.bounds = pruning_.add(query, matrices_, place, memory_);
  compared.seeds = pruning_.seeds();
  return compared;
}

Compared Work::compare(const DeviceJoint& query, std::uint32_t pattern, std::int32_t, std::int64_t first,
                       std::int64_t count, const std::int64_t* begins, ProfileEntry* profile) {
  Compared compared{.windows = count,
                    .cells = band_cells(query.length, query.radius) * std::ssize(query.channels),
                    .missing = nullptr};
  std::vector<JointChannel> channels;
  for (const auto& [channel, part] : query.channels) {
    const float* const x = samples(channel, first, first + count + query.length - 1);
    const Scales& scales = scales_of(channel, x, query.length, first, count, begins);
    channels.push_back({part, x + first, scales.scales});
  }
  auto* const missing = take_result<unsigned long long>(1);
  compared.missing = missing;
  joint_.add(query, channels,
             {.channels = nullptr,
              .begins = begins,
              .profile = profile,
              .missing = missing,
              .windows = count,
              .count = 0,
              .together = 0,
              .length = 0,
              .radius = 0,
              .pattern = pattern,
              .first_block = 0});
  return compared;
}

/// How windows of a channel are normalised, and where it is counted which miss a sample.
Work::Scales& Work::scales_of(std::int32_t channel, const float* samples, std::int32_t length,
                              std::int64_t first, std::int64_t count, const std::int64_t* begins) {
  auto [found, is_new] = scales_.try_emplace({channel, length, first, count, begins});
  Scales& scales = found->second;
  if (is_new) {
    scales = {memory_.take<WindowScale>(count), results_.take<unsigned long long>(1)};
    moments_.push_back({.samples = samples,
                        .begins = begins,
                        .scales = scales.scales,
                        .missing = scales.missing,
                        .first = first,
                        .count = count,
                        .length = length,
                        .normalize = signal_.normalization == Normalization::z,
                        .first_block = 0});
  }
  return scales;
}

std::pair<Compared, DtwGroups::Place> Work::add(const DeviceQuery& query, std::uint32_t pattern,
                                                std::int32_t channel, std::int64_t first, std::int64_t count,
                                                const std::int64_t* begins, ProfileEntry* profile) {
  const float* const x = samples(channel, first, first + count + query.length - 1);
  const Scales& scales = scales_of(channel, x, query.length, first, count, begins);
  const DtwGroups::Place place = matrices_.add(query, {.query = nullptr,
                                                       .samples = x + first,
                                                       .begins = begins,
                                                       .scales = scales.scales,
                                                       .profile = profile,
                                                       .list = nullptr,
                                                       .windows = count,
                                                       .length = 0,
                                                       .radius = 0,
                                                       .pattern = pattern,
                                                       .first_block = 0});
  return {{.windows = count, .cells = band_cells(query.length, query.radius), .missing = scales.missing},
          place};
}

const std::int64_t* Work::take_begins(std::span<const std::int64_t> begins) {
  auto* const device = memory_.take<std::int64_t>(std::ssize(begins));
  begins_.emplace_back(device, begins);
  return device;
}

ProfileEntry* Work::take_profile(std::int64_t entries) {
  auto* const profile = memory_.take<ProfileEntry>(entries);
  profiles_.emplace_back(profile, entries);
  return profile;
}

void Work::finish() {
  moment_blocks_ = place_blocks(moments_.data(), static_cast<int>(moments_.size()));
  selection_blocks_ = place_blocks(selections_.data(), static_cast<int>(selections_.size()));
  const std::int64_t edges = matrices_.finish();
  edges_ = memory_.take<float>(std::max({edges, joint_.finish(), pruning_.finish(memory_, results_)}));
  JobUpload measured(nullptr, nullptr);
  put_jobs(measured);
  matrices_.put(measured);
  job_bytes_ = measured.used();
  jobs_ = memory_.take<std::byte>(static_cast<std::int64_t>(job_bytes_));
}

Work::DeviceJobs Work::put_jobs(JobUpload& upload) {
  pruning_.put(upload);
  joint_.put(upload);
  return {upload.put(moments_), upload.put(selections_)};
}

void Work::start(WorkLane& lane, cudaStream_t kernels) {
  JobUpload upload(lane.jobs.memory.get(), jobs_);
  const DeviceJobs jobs = put_jobs(upload);
  const std::size_t before_matrices = upload.used();
  if (pruning_.empty()) matrices_.put(upload);
  copy(jobs_, lane.jobs.memory.get(), upload.used(), lane.copies.get());
  for (const auto& [place, begins] : begins_)
    copy(place, begins.data(), begins.size_bytes(), lane.copies.get());
  for (const auto& [key, part] : parts_) {
    const auto& [channel, first, last] = key;
    copy(part, signal_.host[channel].data() + first, static_cast<std::size_t>(last - first) * sizeof(float),
         lane.copies.get());
    cuda_check(cudaMemsetAsync(part + (last - first), 0, kSamplePad * sizeof(float), lane.copies.get()),
               "cudaMemset");
  }
  record(lane.uploaded, lane.copies.get());
  follow(kernels, lane.uploaded);

  record(lane.begin, kernels);
  cuda_check(cudaMemsetAsync(lane.device_results.memory.get(), 0, result_bytes(), kernels), "cudaMemset");
  for (const auto& [profile, entries] : profiles_)
    cuda_check(
        cudaMemsetAsync(profile, 0xFF, static_cast<std::size_t>(entries) * sizeof(ProfileEntry), kernels),
        "cudaMemset");
  if (!moments_.empty())
    launch_moments(jobs.moments, static_cast<int>(moments_.size()), moment_blocks_, kernels);
  if (!pruning_.empty()) {
    pruning_.launch(edges_, kernels);
    BoundCounts* const counts = lane.host(pruning_.counts());
    copy(counts, pruning_.counts(), pruning_.counts_bytes(), kernels);
    record(lane.bounded, kernels);
    cuda_check(cudaEventSynchronize(lane.bounded.get()), "lower bounds");
    pruning_.apply(counts, matrices_);
    matrices_.finish();
    matrices_.put(upload);
    copy(jobs_ + before_matrices, lane.jobs.memory.get() + before_matrices, upload.used() - before_matrices,
         kernels);
  }
  matrices_.launch(edges_, kernels);
  joint_.launch(edges_, kernels);
  record(lane.computed, kernels);
  follow(lane.copies.get(), lane.computed);
  if (!selections_.empty())
    launch_selection(jobs.selections, static_cast<int>(selections_.size()), selection_blocks_,
                     lane.copies.get());
  for (const CollectJob& job : collections_) launch_collection(job, lane.copies.get());
  record(lane.end, lane.copies.get());
  copy(lane.results.memory.get(), lane.device_results.memory.get(), result_bytes(), lane.copies.get());
  record(lane.done, lane.copies.get());
}

}  // namespace warploom::search
