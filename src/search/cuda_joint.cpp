#include "search/cuda_joint.hpp"

#include <algorithm>

namespace warploom::search {

void JointGroups::add(const DeviceJoint& query, std::span<const JointChannel> channels, JointJob job) {
  auto group = std::find_if(groups_.begin(), groups_.end(),
                            [&](const Group& g) { return g.batch.kernel == query.kernel; });
  if (group == groups_.end()) {
    groups_.push_back({{.kernel = query.kernel}, {}, {}});
    group = groups_.end() - 1;
  }
  group->batch.radius = std::max(group->batch.radius, query.radius);
  job.count = static_cast<std::int32_t>(channels.size());
  job.together = query.together;
  job.length = query.length;
  job.radius = query.radius;
  group->jobs.push_back(job);
  group->channels.push_back(channels_.size());
  channels_.insert(channels_.end(), channels.begin(), channels.end());
}

std::int64_t JointGroups::finish() {
  std::int64_t floats = 0;
  for (Group& group : groups_) {
    const int each = group.batch.kernel.windows_per_block();
    std::int64_t blocks = 0;
    for (JointJob& job : group.jobs) {
      job.first_block = static_cast<std::uint32_t>(blocks);
      blocks += (job.windows + each - 1) / each;
    }
    group.batch.blocks = static_cast<unsigned>(blocks);
    group.batch.count = static_cast<int>(group.jobs.size());
    floats = std::max(floats, joint_memory(group.batch));
  }
  return floats;
}

void JointGroups::put(JobUpload& upload) {
  const JointChannel* const channels = upload.put(channels_);
  for (Group& group : groups_) {
    for (std::size_t j = 0; j < group.jobs.size(); ++j) group.jobs[j].channels = channels + group.channels[j];
    group.batch.jobs = upload.put(group.jobs);
  }
}

void JointGroups::launch(float* memory, cudaStream_t stream) {
  for (Group& group : groups_) {
    group.batch.memory = memory;
    launch_joint(group.batch, stream);
  }
}

const JointKernel& JointGroups::heaviest() const {
  const auto windows = [](const Group& group) {
    double sum = 0;
    for (const JointJob& job : group.jobs) sum += static_cast<double>(job.windows) * group.batch.kernel.cost;
    return sum;
  };
  return std::max_element(groups_.begin(), groups_.end(),
                          [&](const Group& a, const Group& b) { return windows(a) < windows(b); })
      ->batch.kernel;
}

}  // namespace warploom::search
