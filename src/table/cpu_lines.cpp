#include "warploom/table/cpu_lines.hpp"

#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <exception>
#include <utility>

#include "warploom/core/error.hpp"
#include "warploom/core/memory.hpp"
#include "warploom/core/run.hpp"
#include "warploom/core/threads.hpp"

namespace warploom::table {
namespace {

constexpr std::uint64_t kHugePage = std::uint64_t{2} << 20;
// Below this the machine is not asked what it has: the answer takes longer than the use.
constexpr std::uint64_t kSmallBytes = std::uint64_t{32} << 20;
constexpr int kLeastFirstShift = 5;
// Enough for all line numbers, were the first one the smallest.
constexpr int kChunks = 33 - kLeastFirstShift;
// One appended line on so many home lines makes chains too long.
constexpr std::uint64_t kShareAppended = 8;

}  // namespace

LineMemory::LineMemory(std::uint64_t lines) {
  const std::uint64_t bytes = lines * kLineBytes;
  if (bytes >= kSmallBytes)
    require_memory(bytes, fmt::format("a hash table of {} lines", lines), within_cap(available_memory()));
  const bool huge = bytes >= kHugePage;
  bytes_ = huge ? bytes + kHugePage : bytes;
  // Past the C library: ThreadSanitizer would take its mmap() for a write that races with a user's threads,
  // as it does not see how a library that was compiled without it hands the memory to them.
  start_ = reinterpret_cast<void*>(syscall(SYS_mmap, nullptr, bytes_, PROT_READ | PROT_WRITE,
                                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
  if (start_ == MAP_FAILED) {
    start_ = nullptr;
    throw OutOfMemory(fmt::format("the system refuses {} for {} lines of a hash table: {}",
                                  bytes_text(bytes_), lines, std::strerror(errno)));
  }
  const auto address = reinterpret_cast<std::uintptr_t>(start_);
  words_ = reinterpret_cast<Word*>(huge ? (address + kHugePage - 1) / kHugePage * kHugePage : address);
  if (huge) madvise(words_, bytes, MADV_HUGEPAGE);  // refused: small pages are as right
}

LineMemory::~LineMemory() {
  if (start_ != nullptr) munmap(start_, bytes_);
}

/// What threads share beside the lines. A line that was given back is linked through its tail.
struct CpuLines::Pool {
  Growth growth;
  /// Upper half: how often it changed, against ABA. Lower half: the first line given back, inverted (0:
  /// none).
  alignas(kLineBytes) std::atomic<Word> given_back = 0;
  /// How many were ever given out
  alignas(kLineBytes) std::atomic<std::uint64_t> next_fresh = 0;
  std::uint64_t most = 0;  ///< how many there may be
  std::array<std::atomic<Word*>, kChunks> chunks{};
  std::array<LineMemory, kChunks> memory;  ///< chunks[k], owned: written by the thread that put it there
  std::array<LineMemory, Tail::kMostLevel + 1> segments;  ///< the same for each level
  /// Where there was no memory for more home lines: appended lines before it is asked for again
  std::atomic<std::uint64_t> asks_again_at = 0;
  std::uint32_t most_level = 0;
};

namespace {

/// @return homes, if they may be so many
std::uint64_t checked(std::uint64_t homes, std::uint64_t most_bytes) {
  if (homes < 1 || homes > CpuLines::kMostHomes)
    throw BadInput(
        fmt::format("a hash table of {} chains: there must be 1 to {}", homes, CpuLines::kMostHomes));
  if (most_bytes != 0 && most_bytes / kLineBytes < homes)
    throw BadInput(fmt::format(
        "a hash table of at most {} bytes has no room for its {} home lines of {} bytes; allow {} or ask for fewer chains",
        most_bytes, homes, kLineBytes, homes * kLineBytes));
  return homes;
}

}  // namespace

CpuLines::CpuLines(std::uint64_t homes, std::uint64_t most_bytes, bool grows)
    : homes_(checked(homes, most_bytes)),
      shift_(static_cast<int>(std::bit_width(homes - 1))),
      pool_(std::make_unique<Pool>()) {
  growth_ = &pool_->growth;
  chunks_ = pool_->chunks.data();
  pool_->segments[0] = LineMemory(homes);
  growth_->origins[0] = reinterpret_cast<std::uintptr_t>(pool_->segments[0].words());
  // About as many as chains need at the default load.
  first_shift_ = std::max(kLeastFirstShift, static_cast<int>(std::bit_width(homes / 32)));
  const std::uint64_t most_lines = most_bytes == 0 ? 2 * kMostHomes - 1 : most_bytes / kLineBytes;
  // Room for the lines appended until then is left.
  const auto fits = [&](std::uint32_t level) {
    const std::uint64_t lines = homes << level;
    return shift_ + level <= 31 && lines + lines / kShareAppended <= most_lines;
  };
  while (grows && fits(pool_->most_level + 1)) ++pool_->most_level;
  pool_->most = std::min(kMostHomes - 1, most_lines - (homes << pool_->most_level));
}

CpuLines::~CpuLines() = default;
CpuLines::CpuLines(CpuLines&&) noexcept = default;
CpuLines& CpuLines::operator=(CpuLines&&) noexcept = default;

std::uint64_t CpuLines::chunk_lines(int chunk) const {
  const std::uint64_t lines = std::uint64_t{1} << (chunk + first_shift_),
                      before = lines - (std::uint64_t{1} << first_shift_);
  return std::min(lines, pool_->most - std::min(before, pool_->most));
}

bool CpuLines::add_chunk(int chunk) const noexcept {
  try {
    LineMemory memory(chunk_lines(chunk));
    Word* none = nullptr;
    if (chunks_[chunk].compare_exchange_strong(none, memory.words()))
      pool_->memory[static_cast<std::size_t>(chunk)] = std::move(memory);
    return true;
  } catch (const std::exception&) {  // OutOfMemory, or none even for its text
    return false;
  }
}

bool CpuLines::add_segment(std::uint32_t level) const noexcept {
  try {
    const std::uint64_t lines = segment_lines(level);
    LineMemory memory(lines);
    // Which has as many lines as all before it.
    const std::uintptr_t origin = reinterpret_cast<std::uintptr_t>(memory.words()) - lines * kLineBytes;
    std::uintptr_t none = 0;
    if (growth_->origins[level].compare_exchange_strong(none, origin))
      pool_->segments[level] = std::move(memory);
    return true;
  } catch (const std::exception&) {  // as above
    return false;
  }
}

void CpuLines::grow_if_due() const noexcept {
  std::uint32_t before = level();
  const std::uint64_t lines = appended();
  // The mark is the level's, not a variable beside it: a thread that comes late would lower that again.
  if (lines <= (homes_ << before) / kShareAppended || lines <= pool_->asks_again_at.load() ||
      before == pool_->most_level)
    return;
  if (growth_->origins[before + 1].load() != 0 || add_segment(before + 1))
    growth_->level.compare_exchange_strong(before, before + 1);
  else
    pool_->asks_again_at = 2 * lines;  // chains grow instead
}

LineIndex CpuLines::allocate() const noexcept {
  Word top = pool_->given_back.load();
  while (static_cast<LineIndex>(top) != 0) {
    const LineIndex line = ~static_cast<LineIndex>(top);
    const LineIndex below = ~Tail{load_acquire(line, kTailWord)}.next();
    if (pool_->given_back.compare_exchange_weak(top, ((top >> 32) + 1) << 32 | below)) {
      store(line, kTailWord, 0);
      return line;
    }
  }
  std::uint64_t fresh = pool_->next_fresh.load();
  for (;;) {
    if (fresh >= pool_->most) return kNoLine;
    const int chunk = chunk_of(fresh);
    if (chunks_[chunk].load() == nullptr && !add_chunk(chunk)) return kNoLine;
    if (pool_->next_fresh.compare_exchange_weak(fresh, fresh + 1))
      return static_cast<LineIndex>(kMostHomes + fresh);
  }
}

void CpuLines::release(LineIndex line) const noexcept {
  store(line, kHeaderWord, 0);
  Word top = pool_->given_back.load();
  do {
    store(line, kTailWord, Tail{}.with_next(~static_cast<LineIndex>(top)).bits);
  } while (
      !pool_->given_back.compare_exchange_weak(top, ((top >> 32) + 1) << 32 | static_cast<LineIndex>(~line)));
}

std::uint64_t CpuLines::appended() const { return pool_->next_fresh.load(); }

std::uint64_t CpuLines::pool_lines() const {
  std::uint64_t lines = 0;
  for (int chunk = 0; chunk < kChunks; ++chunk)
    if (chunks_[chunk].load() != nullptr) lines += chunk_lines(chunk);
  return lines;
}

void CpuLines::clear() {
  constexpr std::uint64_t kPiece = std::uint64_t{1} << 14;
  for (std::uint32_t at = 0; at <= level(); ++at) {
    Word* const lines = pool_->segments[at].words();
    parallel_for(static_cast<std::int64_t>((segment_lines(at) + kPiece - 1) / kPiece),
                 [&](std::int64_t piece) {
                   const std::uint64_t begin = static_cast<std::uint64_t>(piece) * kPiece,
                                       end = std::min(begin + kPiece, segment_lines(at));
                   std::memset(lines + begin * kLineWords, 0, (end - begin) * kLineBytes);
                   for (std::uint64_t i = begin; i < end && level() != 0; ++i)
                     lines[i * kLineWords + kTailWord] = Tail{}.with_level(level()).bits;
                 });
  }
  forget_appended();
}

void CpuLines::forget_appended() {
  for (std::uint64_t i = 0; i < appended(); ++i) {
    Word* line = appended_words(static_cast<LineIndex>(kMostHomes + i));
    line[kHeaderWord] = line[kTailWord] = 0;
  }
  pool_->given_back = 0;
  pool_->next_fresh = 0;
  pool_->asks_again_at = 0;
}

void CpuLines::shrink_pool() {
  const std::uint64_t used = appended();
  for (int chunk = used == 0 ? 0 : chunk_of(used - 1) + 1; chunk < kChunks; ++chunk) {
    chunks_[chunk] = nullptr;
    pool_->memory[static_cast<std::size_t>(chunk)] = LineMemory();
  }
}

}  // namespace warploom::table
