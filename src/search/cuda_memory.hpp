#pragma once

#include <cstddef>
#include <cstring>

#include "core/cuda/memory.hpp"

namespace warploom::search {

/// Arrays of jobs on their way: to where the host keeps them, until they are copied, and the same places on
/// the device. Without memory it only measures.
class JobUpload {
 public:
  JobUpload(std::byte* host, std::byte* device) : writes_(host != nullptr), host_(host), device_(device) {}
  template <class Jobs>
  auto put(const Jobs& jobs) {
    using Job = typename Jobs::value_type;
    Job* const to = host_.take<Job>(std::ssize(jobs));
    if (writes_ && !jobs.empty()) std::memcpy(to, jobs.data(), jobs.size() * sizeof(Job));
    return static_cast<const Job*>(device_.take<Job>(std::ssize(jobs)));
  }
  std::size_t used() const { return host_.used(); }

 private:
  bool writes_;
  Carver host_, device_;
};

}  // namespace warploom::search
