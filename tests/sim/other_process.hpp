#pragma once

#include <sys/types.h>

#include <functional>
#include <string>

namespace warploom::sim {

/// Does calls in a child process. A call that throws or crashes ends the child, and the next call gets a
/// fresh one: after a kernel that fails, CUDA is of no more use in its process.
class OtherProcess {
 public:
  using Serve = std::function<std::string(const std::string& request)>;
  explicit OtherProcess(Serve serve) : serve_(std::move(serve)) {}
  ~OtherProcess() { end(); }
  OtherProcess(const OtherProcess&) = delete;
  OtherProcess& operator=(const OtherProcess&) = delete;

  /// What `serve` answers. @throws std::runtime_error with what it threw, or how the child ended
  std::string call(const std::string& request);
  /// Children that were started so far.
  int started() const { return started_; }

 private:
  void start();
  /// Waits for the child; what became of it.
  std::string end();
  [[noreturn]] void run(int from_parent, int to_parent) const;

  Serve serve_;
  pid_t child_ = 0;
  int to_child_ = -1, from_child_ = -1;
  int started_ = 0;
};

}  // namespace warploom::sim
