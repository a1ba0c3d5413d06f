#pragma once

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <functional>
#include <string>

#include "warploom/core/error.hpp"
#include "warploom/core/run.hpp"

/// Errors by their message, also of a process that may do less than this one.
namespace warploom {

/// The message of the error that `work` ends with.
template <typename Expected = BadInput>
std::string message_of(const std::function<void()>& work) {
  try {
    work();
  } catch (const Expected& error) {
    return error.what();
  }
  return "(no error)";
}

/// Runs `work` in a child process that `prepare` has restricted, and gives back its BadInput message. The
/// restriction cannot be undone in this process; a child has none of its parent's threads.
inline std::string message_in_child(const std::function<bool()>& prepare, const std::function<void()>& work) {
  const RunScope one_thread({.threads = 1});
  int ends[2];
  EXPECT_EQ(pipe(ends), 0);
  const pid_t child = fork();
  if (child == 0) {
    const std::string message = prepare() ? message_of(work) : "(not prepared)";
    const ssize_t put = write(ends[1], message.data(), message.size());
    _exit(put == static_cast<ssize_t>(message.size()) ? 0 : 1);
  }
  close(ends[1]);
  std::string message(4096, '\0');
  message.resize(
      static_cast<std::size_t>(std::max<ssize_t>(read(ends[0], message.data(), message.size()), 0)));
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  return message;
}

}  // namespace warploom
