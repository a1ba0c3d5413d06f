#pragma once

#include <cstdint>
#include <vector>

namespace warploom::reuse::checking {

/// A set of small numbers, of a size fixed at its making. Up to 64 take no memory of their own.
class Bits {
 public:
  explicit Bits(std::size_t size = 0) : count_((size + 63) / 64), more_(count_ > 1 ? count_ : 0) {}
  bool test(std::size_t i) const { return words()[i / 64] >> (i % 64) & 1; }
  void set(std::size_t i) { words()[i / 64] |= std::uint64_t{1} << (i % 64); }
  void reset(std::size_t i) { words()[i / 64] &= ~(std::uint64_t{1} << (i % 64)); }
  bool any() const {
    for (std::size_t w = 0; w < count_; ++w)
      if (words()[w] != 0) return true;
    return false;
  }
  /// Adds the other's members; true if there was a new one.
  bool merge(const Bits& other) {
    bool changed = false;
    for (std::size_t w = 0; w < count_; ++w) {
      const std::uint64_t joined = words()[w] | other.words()[w];
      changed |= joined != words()[w];
      words()[w] = joined;
    }
    return changed;
  }
  void clear() {
    one_ = 0;
    more_.assign(more_.size(), 0);
  }
  template <typename F>
  void for_each(F f) const {
    for (std::size_t w = 0; w < count_; ++w)
      for (std::uint64_t rest = words()[w]; rest != 0; rest &= rest - 1)
        f(static_cast<std::uint32_t>(w * 64 + static_cast<unsigned>(__builtin_ctzll(rest))));
  }
  std::size_t count() const {
    std::size_t n = 0;
    for (std::size_t w = 0; w < count_; ++w) n += static_cast<unsigned>(__builtin_popcountll(words()[w]));
    return n;
  }
  bool operator==(const Bits&) const = default;

 private:
  std::uint64_t* words() { return count_ > 1 ? more_.data() : &one_; }
  const std::uint64_t* words() const { return count_ > 1 ? more_.data() : &one_; }

  std::size_t count_;
  std::uint64_t one_ = 0;
  std::vector<std::uint64_t> more_;
};

}  // namespace warploom::reuse::checking
