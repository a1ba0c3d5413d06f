#include "sim/other_process.hpp"

#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <optional>
#include <stdexcept>

namespace warploom::sim {
namespace {

bool write_all(int to, const char* data, std::size_t size) {
  while (size > 0) {
    const ssize_t written = ::write(to, data, size);
    if (written <= 0) return false;
    data += written;
    size -= static_cast<std::size_t>(written);
  }
  return true;
}

bool read_all(int from, char* data, std::size_t size) {
  while (size > 0) {
    const ssize_t got = ::read(from, data, size);
    if (got <= 0) return false;
    data += got;
    size -= static_cast<std::size_t>(got);
  }
  return true;
}

bool send(int to, char kind, const std::string& text) {
  const auto size = static_cast<std::uint64_t>(text.size());
  return write_all(to, &kind, 1) && write_all(to, reinterpret_cast<const char*>(&size), sizeof size) &&
         write_all(to, text.data(), text.size());
}

struct Message {
  char kind;  ///< 'c': a call, 'a': an answer, 'e': an exception
  std::string text;
};

std::optional<Message> receive(int from) {
  Message m;
  std::uint64_t size = 0;
  if (!read_all(from, &m.kind, 1) || !read_all(from, reinterpret_cast<char*>(&size), sizeof size))
    return std::nullopt;
  m.text.resize(size);
  if (!read_all(from, m.text.data(), size)) return std::nullopt;
  return m;
}

}  // namespace

void OtherProcess::start() {
  std::array<int, 2> down{}, up{};
  if (::pipe(down.data()) != 0 || ::pipe(up.data()) != 0)
    throw std::runtime_error("no further pipe can be opened");
  std::fflush(nullptr);
  child_ = ::fork();
  if (child_ < 0) throw std::runtime_error("no further process can be started");
  if (child_ == 0) {
    ::close(down[1]);
    ::close(up[0]);
    run(down[0], up[1]);
  }
  ::close(down[0]);
  ::close(up[1]);
  to_child_ = down[1];
  from_child_ = up[0];
  ++started_;
}

void OtherProcess::run(int from_parent, int to_parent) const {
  while (const std::optional<Message> request = receive(from_parent)) {
    try {
      if (!send(to_parent, 'a', serve_(request->text))) _exit(1);
    } catch (const std::exception& error) {
      send(to_parent, 'e', error.what());
      _exit(1);
    }
  }
  _exit(0);
}

std::string OtherProcess::end() {
  if (child_ == 0) return "";
  ::close(to_child_);
  ::close(from_child_);
  int status = 0;
  ::waitpid(child_, &status, 0);
  child_ = 0;
  return WIFSIGNALED(status) ? fmt::format("signal {}", WTERMSIG(status))
                             : fmt::format("exit code {}", WEXITSTATUS(status));
}

std::string OtherProcess::call(const std::string& request) {
  if (child_ == 0) start();
  const auto before = std::signal(SIGPIPE, SIG_IGN);
  const bool sent = send(to_child_, 'c', request);
  std::signal(SIGPIPE, before);
  std::optional<Message> answer = sent ? receive(from_child_) : std::nullopt;
  if (answer && answer->kind == 'a') return std::move(answer->text);
  const std::string ended = end();
  throw std::runtime_error(answer ? answer->text : "the process that was asked ended: " + ended);
}

}  // namespace warploom::sim
