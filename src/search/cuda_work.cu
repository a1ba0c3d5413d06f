#include <algorithm>
#include <cstring>
#include <string>

#include "search/cuda_work.hpp"
#include "warploom/core/cuda_check.cuh"

namespace warploom::search {
namespace {

/// As many blocks as the jobs' windows need; sets their first ones.
unsigned place_blocks(std::vector<DtwJob>& jobs, int windows_per_block) {
  std::int64_t blocks = 0;
  for (DtwJob& job : jobs) {
    job.first_block = static_cast<std::uint32_t>(blocks);
    blocks += (job.windows + windows_per_block - 1) / windows_per_block;
  }
  return static_cast<unsigned>(blocks);
}

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

const unsigned long long* Work::compare(const DeviceQuery& query, std::uint32_t pattern, std::int32_t channel,
                                        std::int64_t first, std::int64_t count, const std::int64_t* begins,
                                        ProfileEntry* profile) {
  const float* const x = samples(channel, first, first + count + query.length - 1);
  auto [found, is_new] = scales_.try_emplace({channel, query.length, first, count, begins});
  Scales& scales = found->second;
  if (is_new) {
    scales = {memory_.take<WindowScale>(count), results_.take<unsigned long long>(1)};
    moments_.push_back({.samples = x,
                        .begins = begins,
                        .scales = scales.scales,
                        .missing = scales.missing,
                        .first = first,
                        .count = count,
                        .length = query.length,
                        .normalize = signal_.normalization == Normalization::z,
                        .first_block = 0});
  }
  const DtwKernel kernel = choose_dtw_kernel(query.length, query.radius);
  auto group = std::find_if(groups_.begin(), groups_.end(),
                            [&](const Group& g) { return g.batch.kernel.same(kernel); });
  if (group == groups_.end()) {
    groups_.push_back({{.kernel = kernel}, {}});
    group = groups_.end() - 1;
  }
  group->batch.length = std::max(group->batch.length, query.length);
  group->batch.radius = std::max(group->batch.radius, query.radius);
  group->jobs.push_back({.query = query.samples,
                         .samples = x + first,
                         .begins = begins,
                         .scales = scales.scales,
                         .profile = profile,
                         .windows = count,
                         .length = query.length,
                         .radius = query.radius,
                         .pattern = pattern,
                         .first_block = 0});
  return scales.missing;
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
  std::int64_t edges = 0;
  for (Group& group : groups_) {
    group.batch.count = static_cast<int>(group.jobs.size());
    group.batch.blocks = place_blocks(group.jobs, group.batch.kernel.windows_per_block());
    edges = std::max(edges, edge_floats(group.batch));
  }
  auto* const edge_memory = memory_.take<float>(edges);
  for (Group& group : groups_) group.batch.edges = edge_memory;

  Carver jobs(nullptr);
  jobs.take<MomentsJob>(std::ssize(moments_));
  for (const Group& group : groups_) jobs.take<DtwJob>(std::ssize(group.jobs));
  jobs.take<SelectionJob>(std::ssize(selections_));
  job_bytes_ = jobs.used();
  jobs_ = memory_.take<std::byte>(static_cast<std::int64_t>(job_bytes_));
}

void Work::start(WorkLane& lane, cudaStream_t kernels) {
  const unsigned moment_blocks = search::place_blocks(moments_.data(), static_cast<int>(moments_.size()));
  const unsigned selection_blocks =
      search::place_blocks(selections_.data(), static_cast<int>(selections_.size()));
  Carver host(lane.jobs.memory.get()), device(jobs_);
  const auto put = [&](const auto& jobs) {
    using Job = typename std::decay_t<decltype(jobs)>::value_type;
    if (!jobs.empty())
      std::memcpy(host.take<Job>(std::ssize(jobs)), jobs.data(), jobs.size() * sizeof(Job));
    else
      host.take<Job>(0);
    return static_cast<const Job*>(device.take<Job>(std::ssize(jobs)));
  };
  const MomentsJob* const moments = put(moments_);
  for (Group& group : groups_) group.batch.jobs = put(group.jobs);
  const SelectionJob* const selections = put(selections_);

  copy(jobs_, lane.jobs.memory.get(), job_bytes_, lane.copies.get());
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
  if (!moments_.empty()) launch_moments(moments, static_cast<int>(moments_.size()), moment_blocks, kernels);
  for (const Group& group : groups_) launch_dtw(group.batch, kernels);
  record(lane.computed, kernels);
  follow(lane.copies.get(), lane.computed);
  if (!selections_.empty())
    launch_selection(selections, static_cast<int>(selections_.size()), selection_blocks, lane.copies.get());
  for (const CollectJob& job : collections_) launch_collection(job, lane.copies.get());
  record(lane.end, lane.copies.get());
  copy(lane.results.memory.get(), lane.device_results.memory.get(), result_bytes(), lane.copies.get());
  record(lane.done, lane.copies.get());
}

const DtwKernel& Work::kernel() const {
  const auto cost = [](const Group& group) {
    double sum = 0;
    for (const DtwJob& job : group.jobs) sum += static_cast<double>(job.windows) * group.batch.kernel.cost;
    return sum;
  };
  return std::max_element(groups_.begin(), groups_.end(),
                          [&](const Group& a, const Group& b) { return cost(a) < cost(b); })
      ->batch.kernel;
}

}  // namespace warploom::search
