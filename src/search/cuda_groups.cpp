#include "search/cuda_groups.hpp"

#include <algorithm>

namespace warploom::search {

DtwGroups::Place DtwGroups::add(const DeviceQuery& query, DtwJob job) {
  auto group = std::find_if(groups_.begin(), groups_.end(),
                            [&](const Group& g) { return g.batch.kernel.same(query.kernel); });
  if (group == groups_.end()) {
    groups_.push_back({{.kernel = query.kernel}, {}});
    group = groups_.end() - 1;
  }
  group->batch.length = std::max(group->batch.length, query.length);
  group->batch.radius = std::max(group->batch.radius, query.radius);
  job.query = query.samples;
  job.length = query.length;
  job.radius = query.radius;
  group->jobs.push_back(job);
  return {static_cast<std::size_t>(group - groups_.begin()), group->jobs.size() - 1};
}

std::int64_t DtwGroups::finish() {
  std::int64_t edges = 0;
  for (Group& group : groups_) {
    const int each = group.batch.kernel.windows_per_block();
    std::int64_t blocks = 0;
    for (DtwJob& job : group.jobs) {
      job.first_block = static_cast<std::uint32_t>(blocks);
      blocks += (job.windows + each - 1) / each;
    }
    group.batch.blocks = static_cast<unsigned>(blocks);
    group.batch.count = static_cast<int>(group.jobs.size());
    if (blocks > 0) edges = std::max(edges, edge_floats(group.batch));
  }
  return edges;
}

void DtwGroups::put(JobUpload& upload) {
  for (Group& group : groups_) group.batch.jobs = upload.put(group.jobs);
}

void DtwGroups::launch(float* edges, cudaStream_t stream) {
  for (Group& group : groups_) {
    group.batch.edges = edges;
    if (group.batch.blocks > 0) launch_dtw(group.batch, stream);
  }
}

const DtwKernel& DtwGroups::heaviest() const {
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
