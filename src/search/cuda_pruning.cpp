#include "search/cuda_pruning.hpp"

#include <algorithm>

namespace warploom::search {

int Pruning::add(const DeviceQuery& query, DtwGroups& matrices, DtwGroups::Place place, Carver& memory) {
  const Seeding seeds = pruned_.seeds();
  if (is_new_)
    tasks_.push_back({.profile = pruned_.profile,
                      .bound = nullptr,
                      .stride = seeds.stride,
                      .groups = static_cast<std::int32_t>(seeds.groups),
                      .first_job = static_cast<std::int32_t>(all_.size()),
                      .jobs = 0,
                      .limit = static_cast<std::int32_t>(std::min(pruned_.limit, kMostGroups)),
                      .most = pruned_.most});
  is_new_ = false;
  ++tasks_.back().jobs;
  task_of_job_.push_back(static_cast<int>(tasks_.size()) - 1);

  auto [known, is_unknown] = known_.try_emplace(query.samples);
  if (is_unknown) {
    known->second = memory.take<EnvelopeSample>(query.length);
    envelopes_.push_back({.query = query.samples,
                          .envelope = known->second,
                          .length = query.length,
                          .radius = query.radius,
                          .middle = query.middle,
                          .first_block = 0});
  }
  const DtwJob matrix = matrices.job(place);
  const Sampling sample = sampling(matrix.windows);
  const BoundJob common{.samples = matrix.samples,
                        .scales = matrix.scales,
                        .envelope = known->second,
                        .list = nullptr,
                        .bound = nullptr,
                        .counts = nullptr,
                        .windows = matrix.windows,
                        .origin = 0,
                        .stride = sample.stride,
                        .blocks = sample.groups,
                        .sampled = sample.windows,
                        .matrix_cost = query.kernel.cost,
                        .length = query.length,
                        .radius = query.radius,
                        .always = pruned_.always,
                        .first_block = 0};
  samples_.push_back(common);
  all_.push_back(common);
  all_.back().stride = kBoundWindows;
  all_.back().blocks = (matrix.windows + kBoundWindows - 1) / kBoundWindows;
  all_.back().list = memory.take<std::uint32_t>(matrix.windows);
  seeds_.push_back(common);
  seeds_.back().origin = pruned_.profile - matrix.profile;
  seeds_.back().stride = seeds.stride;
  seeds_.back().blocks = seeds.groups;
  seeds_.back().list = memory.take<std::uint32_t>(seeds.groups);
  if (seeds.groups > 0) {
    DtwJob few = matrix;
    few.list = seeds_.back().list;
    few.windows = seeds.groups;
    seed_matrices_.add(query, few);
  }
  places_.push_back(place);
  longest_ = std::max<std::int64_t>(longest_, query.length);
  return static_cast<int>(all_.size()) - 1;
}

std::int64_t Pruning::finish(Carver& memory, Carver& results) {
  if (empty()) return 0;
  counts_ = results.take<BoundCounts>(std::ssize(all_));
  auto* const bounds = memory.take<float>(std::ssize(tasks_));
  for (std::size_t t = 0; t < tasks_.size(); ++t) tasks_[t].bound = bounds + t;
  for (auto* jobs : {&seeds_, &samples_, &all_})
    for (std::size_t j = 0; j < jobs->size(); ++j) {
      (*jobs)[j].bound = bounds + task_of_job_[j];
      (*jobs)[j].counts = counts_ + j;
    }
  const auto place = [](auto& jobs) { return place_blocks(jobs.data(), static_cast<int>(jobs.size())); };
  blocks_ = {place(envelopes_), place(seeds_), place(samples_), place(all_)};
  return seed_matrices_.finish();
}

void Pruning::put(JobUpload& upload) {
  device_ = {upload.put(envelopes_), upload.put(tasks_), upload.put(seeds_), upload.put(samples_),
             upload.put(all_)};
  seed_matrices_.put(upload);
}

void Pruning::launch(float* edges, cudaStream_t stream) {
  const int jobs = static_cast<int>(all_.size());
  launch_envelopes(device_.envelopes, static_cast<int>(envelopes_.size()), blocks_.envelopes, stream);
  if (blocks_.seeds > 0) {
    launch_seeds(device_.seeds, jobs, blocks_.seeds, longest_, stream);
    seed_matrices_.launch(edges, stream);
  }
  launch_bound_by_seeds(device_.tasks, static_cast<int>(tasks_.size()), device_.seeds, stream);
  launch_sample(device_.samples, jobs, blocks_.samples, longest_, stream);
  launch_bounds(device_.all, jobs, blocks_.all, longest_, stream);
}

void Pruning::apply(const BoundCounts* counts, DtwGroups& matrices) const {
  for (std::size_t j = 0; j < all_.size(); ++j) {
    if (counts[j].used == 0) continue;
    DtwJob& job = matrices.job(places_[j]);
    job.list = all_[j].list;
    job.windows = counts[j].left;
  }
}

}  // namespace warploom::search
