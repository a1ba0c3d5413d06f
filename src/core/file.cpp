#include "warploom/core/file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <new>
#include <optional>
#include <system_error>
#include <utility>

#include "core/input_stream.hpp"
#include "warploom/core/error.hpp"
#include "warploom/core/progress.hpp"

namespace warploom {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail(std::string_view verb, const std::string& name, int error) {
  std::string advice;
  switch (error) {
    case ENOENT:
      advice = "; check the path";
      break;
    case ENOTDIR:
      advice = "; a part of the path is not a directory";
      break;
    case EISDIR:
      advice = "; name a file";
      break;
    case EACCES:
    case EPERM:
      advice = "; check the owner and mode of the file and its directory";
      break;
    case EROFS:
      advice = "; choose another place";
      break;
    case ENOSPC:
    case EDQUOT:
      advice = "; free some space or choose another place";
      break;
    case EFBIG:
      advice = "; raise the file size limit (ulimit -f)";
      break;
    default:
      break;
  }
  throw BadInput(
      fmt::format("cannot {} {}: {}{}", verb, name, std::generic_category().message(error), advice));
}

// Owns a file descriptor.
class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (number_ >= 0) ::close(number_);
  }
  int number() const { return number_; }
  // Some file systems report a full disk only here.
  int close() {
    const int result = ::close(number_);
    number_ = -1;
    return result;
  }

 private:
  int number_;
};

std::string read_descriptor(int descriptor, const std::string& name, std::uint64_t max_bytes) {
  const auto too_large = [&](const std::string& size) {
    throw BadInput(
        fmt::format("{} has {} bytes, the limit is {}; is it the right file?", name, size, max_bytes));
  };
  struct stat status {};
  if (fstat(descriptor, &status) != 0) fail("read", name, errno);
  if (S_ISDIR(status.st_mode)) fail("read", name, EISDIR);
  const auto size = static_cast<std::uint64_t>(std::max<off_t>(status.st_size, 0));
  if (size > max_bytes) too_large(std::to_string(size));

  // The size is a hint only: a pipe has none, and a file may grow while it is read.
  constexpr std::size_t kChunk = 1 << 16;
  std::string content;
  std::size_t filled = 0;
  try {
    content.resize(size + 1);
    while (true) {
      const ssize_t got = ::read(descriptor, content.data() + filled, content.size() - filled);
      if (got < 0 && errno == EINTR) {
        check_interrupt();  // Ctrl-C while waiting for a pipe or a terminal
        continue;
      }
      if (got < 0) fail("read", name, errno);
      if (got == 0) break;
      filled += static_cast<std::size_t>(got);
      if (filled > max_bytes) too_large("more");
      if (filled < content.size()) continue;
      check_interrupt();  // a pipe gives without end
      content.resize(content.size() + std::max(kChunk, content.size()));
    }
    content.resize(filled);
  } catch (const std::bad_alloc&) {
    throw OutOfMemory(fmt::format("{} does not fit into memory: {} bytes read so far", name, filled));
  }
  return content;
}

using Pieces = std::span<const std::string_view>;

// Returns 0 or the error.
int write_all(int descriptor, Pieces pieces) {
  for (std::string_view piece : pieces)
    while (!piece.empty()) {
      const ssize_t put = ::write(descriptor, piece.data(), piece.size());
      if (put < 0 && errno == EINTR) continue;
      if (put < 0) return errno;
      piece.remove_prefix(static_cast<std::size_t>(put));
    }
  return 0;
}

void write_in_place(const fs::path& path, Pieces pieces) {
  Descriptor file(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  if (file.number() < 0) fail("write", path.string(), errno);
  if (const int error = write_all(file.number(), pieces)) fail("write", path.string(), error);
  if (file.close() != 0) fail("write", path.string(), errno);
}

// A name beside the target that no other thread or process takes.
fs::path temporary_beside(const fs::path& target) {
  static std::atomic<unsigned> counter = 0;
  return target.parent_path() / fmt::format(".{}.{}.{}.tmp", target.filename().string(), getpid(), counter++);
}

/// @return less than the buffer has only at the end
std::size_t read_from(int descriptor, const std::string& name, std::uint64_t offset, std::span<char> buffer) {
  std::size_t filled = 0;
  while (filled < buffer.size()) {
    const ssize_t got = ::pread(descriptor, buffer.data() + filled, buffer.size() - filled,
                                static_cast<off_t>(offset + filled));
    if (got < 0 && errno == EINTR) {
      check_interrupt();
      continue;
    }
    if (got < 0) fail("read", name, errno);
    if (got == 0) break;
    filled += static_cast<std::size_t>(got);
  }
  return filled;
}

/// The system would take what stands before a character of value 0 for the path.
bool is_path(const fs::path& path) { return path.native().find('\0') == path.native().npos; }

}  // namespace

InputFile::InputFile(fs::path path)
    : path_(std::move(path)),
      descriptor_(is_path(path_) ? ::open(path_.c_str(), O_RDONLY | O_CLOEXEC) : (errno = EINVAL, -1)) {
  if (descriptor_ < 0) fail("read", path_.string(), errno);
  struct stat status {};
  int error = fstat(descriptor_, &status) == 0 ? 0 : errno;
  if (error == 0 && S_ISDIR(status.st_mode)) error = EISDIR;
  if (error != 0) {
    ::close(descriptor_);
    fail("read", path_.string(), error);
  }
  if (S_ISREG(status.st_mode)) size_ = static_cast<std::uint64_t>(status.st_size);
}

InputFile::~InputFile() { ::close(descriptor_); }

std::size_t InputFile::read_at(std::uint64_t offset, std::span<char> buffer) const {
  return read_from(descriptor_, path_.string(), offset, buffer);
}

std::string InputFile::contents(std::uint64_t max_bytes) const {
  return read_descriptor(descriptor_, path_.string(), max_bytes);
}

InputStream::InputStream(const fs::path& path)
    : name_(path == "-" ? "standard input" : path.string()),
      descriptor_(path == "-"     ? STDIN_FILENO
                  : is_path(path) ? ::open(path.c_str(), O_RDONLY | O_CLOEXEC)
                                  : (errno = EINVAL, -1)) {
  if (descriptor_ < 0) fail("read", name_, errno);
  struct stat status {};
  int error = fstat(descriptor_, &status) == 0 ? 0 : errno;
  if (error == 0 && S_ISDIR(status.st_mode)) error = EISDIR;
  if (error != 0) {
    if (descriptor_ != STDIN_FILENO) ::close(descriptor_);
    fail("read", name_, error);
  }
  if (S_ISREG(status.st_mode)) size_ = static_cast<std::uint64_t>(status.st_size);
}

InputStream::InputStream(std::string content, std::string name)
    : name_(std::move(name)), descriptor_(-1), content_(std::move(content)), size_(content_.size()) {}

InputStream::~InputStream() {
  if (descriptor_ >= 0 && descriptor_ != STDIN_FILENO) ::close(descriptor_);
}

std::size_t InputStream::read(std::span<char> buffer) {
  if (descriptor_ < 0) {
    const std::size_t got = content_.copy(buffer.data(), buffer.size(), given_);
    given_ += got;
    return got;
  }
  std::size_t filled = 0;
  while (filled < buffer.size()) {
    const ssize_t got = ::read(descriptor_, buffer.data() + filled, buffer.size() - filled);
    if (got < 0 && errno == EINTR) {
      check_interrupt();  // Ctrl-C while waiting for a pipe or a terminal
      continue;
    }
    if (got < 0) fail("read", name_, errno);
    if (got == 0) break;
    filled += static_cast<std::size_t>(got);
  }
  return filled;
}

bool InputStream::any_place() const { return size_ && descriptor_ != STDIN_FILENO; }

std::size_t InputStream::read_at(std::uint64_t offset, std::span<char> buffer) const {
  if (descriptor_ < 0)
    return offset < content_.size() ? content_.copy(buffer.data(), buffer.size(), offset) : 0;
  return read_from(descriptor_, name_, offset, buffer);
}

void InputStream::go_to(std::uint64_t offset) {
  if (descriptor_ < 0)
    given_ = std::min<std::size_t>(offset, content_.size());
  else if (::lseek(descriptor_, static_cast<off_t>(offset), SEEK_SET) < 0)
    fail("read", name_, errno);
}

std::string read_file(const fs::path& path, std::uint64_t max_bytes) {
  return InputFile(path).contents(max_bytes);
}

std::string read_standard_input(std::uint64_t max_bytes) {
  return read_descriptor(STDIN_FILENO, "standard input", max_bytes);
}

void write_file_atomically(const fs::path& path, std::string_view content) {
  write_file_atomically(path, Pieces(&content, 1));
}

void write_file_atomically(const fs::path& path, Pieces pieces) {
  if (!is_path(path)) fail("write", path.string(), EINVAL);
  if (path.filename().empty()) fail("write", path.string(), EISDIR);
  std::error_code ignored;
  fs::path target = path;
  // A dangling link is followed by hand, since canonical() needs the file.
  if (fs::exists(path, ignored))
    target = fs::canonical(path, ignored);
  else if (fs::is_symlink(path, ignored))
    target = path.parent_path() / fs::read_symlink(path, ignored);

  std::optional<mode_t> mode;
  if (struct stat status{}; ::stat(target.c_str(), &status) == 0) {
    if (S_ISDIR(status.st_mode)) fail("write", path.string(), EISDIR);
    if (!S_ISREG(status.st_mode)) return write_in_place(target, pieces);
    if (::access(target.c_str(), W_OK) != 0) fail("write", path.string(), errno);  // rename would not ask
    mode = status.st_mode & 07777;
  }

  const fs::path temporary = temporary_beside(target);
  Descriptor file(::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
  if (file.number() < 0) fail("write", path.string(), errno);
  int error = 0;
  if (mode && fchmod(file.number(), *mode) != 0) error = errno;
  if (error == 0) error = write_all(file.number(), pieces);
  if (file.close() != 0 && error == 0) error = errno;
  if (error == 0 && ::rename(temporary.c_str(), target.c_str()) != 0) error = errno;
  if (error != 0) {
    ::unlink(temporary.c_str());
    fail("write", path.string(), error);
  }
}

}  // namespace warploom
