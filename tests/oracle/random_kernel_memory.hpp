#pragma once

#include <array>
#include <cstdint>
#include <vector>

/// What the generator of random kernels knows of shared memory at one place of the kernel that it writes: who
/// may have accessed which bytes since the last barrier, and which bytes are surely written. At most 64
/// threads; sets of threads are the bits of a word.
namespace warploom::oracle {

using Threads = std::uint64_t;

/// Bytes [begin, end) of an array, accessed by one thread.
struct Touch {
  std::uint32_t thread = 0, begin = 0, end = 0;
};

struct SharedAccess {
  enum class Kind : std::uint8_t { load, store, atomic };
  Kind kind = Kind::load;
  std::uint32_t array = 0;
  std::vector<Touch> possible;  ///< all that may happen
  std::vector<Touch> certain;   ///< of a store: what happens whenever the kernel comes here
  std::uint32_t operation = 0;  ///< of an atomic: only equal ones give the same in every order
};

/// Two different threads may access one byte, not both loading nor both by the same atomic operation.
/// @param warps_ordered  threads of one warp do not count: they have synchronised in between
bool conflict(const SharedAccess& a, const SharedAccess& b, bool warps_ordered);

/// A set of an array's bytes.
class Bytes {
 public:
  explicit Bytes(std::uint32_t bytes = 0) : words_((bytes + 63) / 64) {}
  void insert(std::uint32_t begin, std::uint32_t end) {
    for (; begin < end; ++begin) words_[begin / 64] |= std::uint64_t{1} << begin % 64;
  }
  void erase(std::uint32_t begin, std::uint32_t end) {
    for (; begin < end; ++begin) words_[begin / 64] &= ~(std::uint64_t{1} << begin % 64);
  }
  bool holds(std::uint32_t begin, std::uint32_t end) const {
    for (; begin < end; ++begin)
      if ((words_[begin / 64] >> begin % 64 & 1) == 0) return false;
    return true;
  }
  Bytes& operator&=(const Bytes& other);
  Bytes& operator|=(const Bytes& other);

 private:
  std::vector<std::uint64_t> words_;
};

/// The truth at one place of the kernel, on every path that leads there.
struct Knowledge {
  /// Conditions that hold for a whole run, three of them, true or false: what is written where they hold.
  static constexpr std::size_t kFacts = 6;

  struct Recent {
    std::uint32_t access = 0;   ///< index into the generator's list
    bool warp_barrier = false;  ///< a barrier of its warp has come since
    bool operator==(const Recent&) const = default;
  };

  std::vector<Recent> recent;  ///< since the last barrier of the block
  std::vector<Bytes> written;  ///< by array
  std::array<std::vector<Bytes>, kFacts> written_if;
  Threads may = 0, must = 0;              ///< that may, that surely run this, but for those that left
  Threads may_stay = 0, must_stay = 0;    ///< that may still, that surely still are in the kernel
  std::uint32_t open = 0, warp_open = 0;  ///< loops, by depth: no barrier since the iteration began

  Threads may_run() const { return may & may_stay; }
  Threads must_run() const { return must & must_stay; }
  bool writes_known(const SharedAccess& load) const;
  void write(const SharedAccess& store);
  /// Those bytes hold nothing any more.
  void forget(std::uint32_t array, std::uint32_t begin, std::uint32_t end);
  /// After a branch: what holds on both ways.
  void join(const Knowledge& other);
};

}  // namespace warploom::oracle
