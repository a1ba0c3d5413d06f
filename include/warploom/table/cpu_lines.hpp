#pragma once

/// Lines in this process's memory: home lines in segments, one a level, and appended ones in chunks of
/// doubling size.

#include <array>
#include <atomic>
#include <bit>
#include <cstdint>
#include <memory>
#include <utility>

#include "warploom/table/hash.hpp"
#include "warploom/table/line.hpp"

namespace warploom::table {

inline Word load_acquire(const Word* word) { return std::atomic_ref<Word>(*const_cast<Word*>(word)).load(); }

/// Lines of zeros from the operating system, in huge pages where it has them; given back at the end.
class LineMemory {
 public:
  LineMemory() = default;
  /// @throws OutOfMemory
  explicit LineMemory(std::uint64_t lines);
  LineMemory(LineMemory&& other) noexcept { *this = std::move(other); }
  LineMemory& operator=(LineMemory&& other) noexcept {
    std::swap(start_, other.start_);
    std::swap(bytes_, other.bytes_);
    std::swap(words_, other.words_);
    return *this;
  }
  ~LineMemory();

  Word* words() const { return words_; }

 private:
  void* start_ = nullptr;
  std::uint64_t bytes_ = 0;
  Word* words_ = nullptr;  ///< the first address in the mapping on a boundary of huge pages
};

/// What chain.hpp's Memory does with words, for a class that knows where words(line) are.
template <class Lines>
class WordAccess {
 public:
  Word load(LineIndex line, int word) const { return at(line, word).load(std::memory_order_relaxed); }
  // All that follows is sequential, which costs no more than what chain.hpp asks for on x86-64.
  Word load_acquire(LineIndex line, int word) const { return at(line, word).load(); }
  /// Release, for the pair that is written after a claim: who reads it sees the claim in the header
  /// afterwards.
  void store(LineIndex line, int word, Word value) const {
    at(line, word).store(value, std::memory_order_release);
  }
  bool compare_exchange(LineIndex line, int word, Word& expected, Word desired) const {
    return at(line, word).compare_exchange_strong(expected, desired);
  }
  bool compare_exchange_acquire(LineIndex line, int word, Word& expected, Word desired) const {
    return compare_exchange(line, word, expected, desired);
  }
  static void fence() {}
  Word fetch_or(LineIndex line, int word, Word bits) const { return at(line, word).fetch_or(bits); }
  Word fetch_or_acquire(LineIndex line, int word, Word bits) const { return fetch_or(line, word, bits); }
  Word fetch_add(LineIndex line, int word, Word operand) const { return at(line, word).fetch_add(operand); }
  Word fetch_add_relaxed(LineIndex line, int word, Word operand) const {
    return fetch_add(line, word, operand);
  }
  Word exchange(LineIndex line, int word, Word operand) const { return at(line, word).exchange(operand); }

 private:
  std::atomic_ref<Word> at(LineIndex line, int word) const {
    return std::atomic_ref<Word>(static_cast<const Lines*>(this)->words(line)[word]);
  }
};

/// chain.hpp's Memory. Threads may call the const functions at any time, the others if nobody else calls any.
///
/// Descendant r of base chain b has home line number b + r * 2^s, s the least for which no two are the same.
/// At level l there are homes() * 2^l of them; those which level l added are one segment of memory, of zeros
/// until they are used. Appended lines have the upper half of all numbers.
class CpuLines : public WordAccess<CpuLines> {
 public:
  static constexpr std::uint64_t kMostHomes = std::uint64_t{1} << 31;

  /// @param homes       home lines at first, [1, kMostHomes]
  /// @param most_bytes  of all lines; 0: no limit but memory
  /// @param grows       whether grow_if_due() may make more home lines
  /// @throws OutOfMemory
  CpuLines(std::uint64_t homes, std::uint64_t most_bytes, bool grows);
  ~CpuLines();
  CpuLines(CpuLines&&) noexcept;
  CpuLines& operator=(CpuLines&&) noexcept;

  static constexpr bool kGrows = true;
  std::uint32_t level() const { return growth_->level.load(); }
  LineIndex home(LineIndex base, std::uint32_t chain) const { return base + (chain << shift_); }
  static std::uint32_t spread(Word key) { return static_cast<std::uint32_t>(mix(key)); }
  /// Makes home lines for one level more where more than an eighth of the chains have a second line, which
  /// is at about 11 pairs a chain (14 slots) or 5 (7 slots).
  void grow_if_due() const noexcept;

  Word* home_words(LineIndex base, std::uint32_t chain) const {
    const std::uintptr_t origin = growth_->origins[std::bit_width(chain)].load(std::memory_order_relaxed);
    return reinterpret_cast<Word*>(origin + (base + homes_ * chain) * kLineBytes);
  }
  Word* words(LineIndex line) const {
    return line < kMostHomes ? home_words(base(line), line >> shift_) : appended_words(line);
  }
  /// The base chain of a home line
  LineIndex base(LineIndex home) const { return home & ((LineIndex{1} << shift_) - 1); }
  /// Number `number` of all home lines that there are at this level
  LineIndex nth_home(std::uint64_t number) const {
    return home(static_cast<LineIndex>(number % homes_), static_cast<std::uint32_t>(number / homes_));
  }

  /// The lowest: the first half of a line fills first.
  static Word choose(Word slots) { return slots & -slots; }
  static constexpr std::uint32_t kPatience = 256;
  LineIndex allocate() const noexcept;
  void release(LineIndex line) const noexcept;

  /// Home lines at first, and those that there are by now
  std::uint64_t bases() const { return homes_; }
  std::uint64_t homes() const { return homes_ << level(); }
  /// Lines appended since the last forget_appended(), also those that were released.
  std::uint64_t appended() const;
  /// Lines in memory beside the home lines, whether appended or not
  std::uint64_t pool_lines() const;
  /// Makes all lines empty, and none appended. The level stays, also that of each chain.
  void clear();
  /// All appended lines are free again; no chain may hold one any more. Memory for them stays until
  /// shrink_pool(), which gives back what is not in use.
  void forget_appended();
  void shrink_pool();

 private:
  struct Growth {
    std::atomic<std::uint32_t> level = 0;
    /// [l]: where line 0 of level l's segment would be if the segments of lower levels came before it
    std::array<std::atomic<std::uintptr_t>, Tail::kMostLevel + 1> origins{};
  };
  struct Pool;

  /// Chunk k of the pool has 2^(k + first_shift_) lines, so the top bit of a line's number in the pool,
  /// counted from the size of the first chunk, names its chunk.
  int chunk_of(std::uint64_t number) const {
    return static_cast<int>(std::bit_width(number + (std::uint64_t{1} << first_shift_))) - 1 - first_shift_;
  }
  Word* appended_words(LineIndex line) const {
    const std::uint64_t number = line - kMostHomes;
    const int chunk = chunk_of(number);
    const std::uint64_t before =
        (std::uint64_t{1} << (chunk + first_shift_)) - (std::uint64_t{1} << first_shift_);
    return chunks_[chunk].load(std::memory_order_acquire) + (number - before) * kLineWords;
  }
  std::uint64_t chunk_lines(int chunk) const;
  bool add_chunk(int chunk) const noexcept;
  bool add_segment(std::uint32_t level) const noexcept;
  std::uint64_t segment_lines(std::uint32_t level) const {
    return level == 0 ? homes_ : homes_ << (level - 1);
  }

  std::uint64_t homes_ = 0;
  int shift_ = 0;
  Growth* growth_ = nullptr;  ///< the pool's
  int first_shift_ = 0;
  std::atomic<Word*>* chunks_ = nullptr;  ///< the pool's
  std::unique_ptr<Pool> pool_;
};

/// CpuLines for one operation, which asks for one and the same line nearly always: it remembers where that
/// is.
class OneThreadsLines : public WordAccess<OneThreadsLines> {
 public:
  explicit OneThreadsLines(const CpuLines& lines) : lines_(lines) {}

  Word* words(LineIndex line) const {
    if (line != line_) {
      line_ = line;
      words_ = lines_.words(line);
    }
    return words_;
  }
  static constexpr bool kGrows = true;
  static constexpr std::uint32_t kPatience = CpuLines::kPatience;
  std::uint32_t level() const { return lines_.level(); }
  LineIndex home(LineIndex base, std::uint32_t chain) const { return lines_.home(base, chain); }
  static std::uint32_t spread(Word key) { return CpuLines::spread(key); }
  void grow_if_due() const { lines_.grow_if_due(); }
  static Word choose(Word slots) { return CpuLines::choose(slots); }
  LineIndex allocate() const { return lines_.allocate(); }
  void release(LineIndex line) const { lines_.release(line); }

 private:
  const CpuLines& lines_;
  mutable LineIndex line_ = kNoLine;
  mutable Word* words_ = nullptr;
};

}  // namespace warploom::table
