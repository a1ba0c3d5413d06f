#pragma once

#include <chrono>

namespace warploom::imaging {

/// Adds the time of a scope to a number [s].
class SecondsSpent {
 public:
  explicit SecondsSpent(double& seconds) : seconds_(seconds) {}
  ~SecondsSpent() {
    seconds_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }
  SecondsSpent(const SecondsSpent&) = delete;
  SecondsSpent& operator=(const SecondsSpent&) = delete;

 private:
  double& seconds_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace warploom::imaging
