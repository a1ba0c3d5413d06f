#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "warploom/table/line.hpp"
#include "warploom/table/operation.hpp"

/// Runs operations of chain.hpp in every order in which their accesses to memory can follow each other.
///
/// A thread is a deterministic function of what its accesses returned, so its code runs only to answer "and
/// what do you do next?": over a Memory that replays the answers so far and stops at the first access beyond
/// them. The answers make a tree, whose nodes are a thread's local states; memory, one node a thread and what
/// the oracle knows of the history are the global state. A depth-first search visits each global state once
/// (states are remembered by 128-bit hashes), which is every interleaving without any bound, with every
/// choice of slots. Accesses take effect one by one: sequential consistency. What weaker orders a GPU may use
/// is argued in docs/design/0006-table.md.
namespace warploom::table {

struct Attempt;

namespace model {

inline constexpr int kMostThreads = 3;
inline constexpr int kMostKeys = 3;
inline constexpr int kMemoryWords = 32;
/// Where the level of a map that grows stands: in the last word of the memory.
inline constexpr LineIndex kLevelLine = 0xFFFFFFFE;
/// A home line that no level of the map has.
inline constexpr LineIndex kNowhere = 0xFFFFFFFD;
/// The bits of a key that choose its chain in a map that grows: 0, 1 and 3. Keys 1 and 2 move together at
/// first.
constexpr std::uint32_t spread_of(Word key) { return static_cast<std::uint32_t>(key == 2 ? 3 : key); }

enum class Access : std::uint8_t {
  load,
  store,
  compare_exchange,
  fetch_add,
  fetch_or,
  exchange,
  allocate,
  release,
  choose  ///< no access: any bit of `operand`
};

struct Request {
  Access access = Access::load;
  LineIndex line = 0;
  int word = 0;
  Word operand = 0;
  Word expected = 0;  ///< of compare_exchange
};

/// The Memory of a thread that is replayed.
class Memory {
 public:
  struct Stop {
    Request next;
  };
  explicit Memory(std::span<const Word> answers) : answers_(answers) {}

  Word load(LineIndex line, int word) { return access({Access::load, line, word}); }
  Word load_acquire(LineIndex line, int word) { return load(line, word); }
  void store(LineIndex line, int word, Word value) { access({Access::store, line, word, value}); }
  bool compare_exchange(LineIndex line, int word, Word& expected, Word desired) {
    const Word before = access({Access::compare_exchange, line, word, desired, expected});
    const bool done = before == expected;
    expected = before;
    return done;
  }
  bool compare_exchange_acquire(LineIndex line, int word, Word& expected, Word desired) {
    return compare_exchange(line, word, expected, desired);
  }
  Word fetch_add(LineIndex line, int word, Word operand) {
    return access({Access::fetch_add, line, word, operand});
  }
  Word fetch_add_relaxed(LineIndex line, int word, Word operand) { return fetch_add(line, word, operand); }
  Word fetch_or(LineIndex line, int word, Word operand) {
    return access({Access::fetch_or, line, word, operand});
  }
  Word fetch_or_acquire(LineIndex line, int word, Word operand) { return fetch_or(line, word, operand); }
  Word exchange(LineIndex line, int word, Word operand) {
    return access({Access::exchange, line, word, operand});
  }
  LineIndex allocate() { return static_cast<LineIndex>(access({Access::allocate})); }
  void release(LineIndex line) { access({Access::release, line}); }
  Word choose(Word bits) { return (bits & (bits - 1)) == 0 ? bits : access({Access::choose, 0, 0, bits}); }
  static void fence() {}
  static constexpr std::uint32_t kPatience = 1;
  static constexpr bool kGrows = false;

 private:
  Word access(Request request) {
    if (next_ == answers_.size()) throw Stop{request};
    return answers_[next_++];
  }
  std::span<const Word> answers_;
  std::size_t next_ = 0;
};

struct Step {
  Operation operation;
  Word key = 0;  ///< below kMostKeys; its chain is number key % homes
  Word operand = 0;
};

struct Program {
  std::string name;
  std::vector<Step> before;  ///< by one thread, alone
  std::vector<std::vector<Step>> threads;
  int homes = 1;
  int pool = 2;  ///< lines to append
};
/// All memory: word w of line (or node) i is number i * stride + w.
using Words = std::array<Word, kMemoryWords>;
/// What the table holds at the end, key by key
using Pairs = std::array<std::optional<Word>, kMostKeys>;

/// What is checked: chain.hpp, or another algorithm or a mutant, on a memory of a certain layout.
struct Variant {
  int stride;
  /// So often the map doubles its home lines, at the first appended lines; their level is written in memory.
  int levels;
  /// Goes on with an operation, to its end or to a point from which it depends on `attempt` alone.
  /// @return whether it is complete
  bool (*step)(std::span<const Word> answers, Attempt& attempt);
  /// Makes the memory of an empty table.
  void (*prepare)(Words& memory, const Program& program);
  /// Reads the pairs of a table that nobody uses. @param free_lines  bit i: line i is in the pool of
  /// Access::allocate
  /// @return what is wrong, or nothing
  std::string (*inspect)(const Words& memory, const Program& program, std::uint32_t free_lines, Pairs& pairs);
};

std::string to_string(const Program& program);

struct Options {
  /// How often a thread that could go on stops for another; negative: as often as it likes.
  int preemptions = -1;
  std::uint64_t most_states = 50'000'000;
  /// In every state, stops every set of threads for ever and lets the others finish.
  bool suspend = false;
};

struct Result {
  std::uint64_t states = 0;
  std::uint64_t ends = 0;     ///< states in which all threads are done
  std::uint64_t longest = 0;  ///< accesses of the longest execution
  std::uint64_t fulls = 0;    ///< operations that ended as full, over all states
  std::uint64_t suspensions = 0;
  bool complete = true;  ///< false: most_states were not enough
  /// What is wrong, and the execution that leads there.
  std::optional<std::string> violation;
};

/// Checks, in every execution: that the history is linearizable, and the table at the end explained by it;
/// that at the end no slot is claimed, nothing pending, no pin left, each key at most once, each line in one
/// chain or the pool; that no thread can take steps for ever without an operation being completed (a circle
/// of states): lock-freedom.
Result check(const Program& program, const Variant& variant, const Options& options = {});

}  // namespace model
}  // namespace warploom::table
