#pragma once

#include <cstdint>
#include <vector>

namespace warploom::reuse::checking {

/// A set of small numbers, of a size fixed at its making.
class Bits {
 public:
  explicit Bits(std::size_t size = 0) : words_((size + 63) / 64) {}
  bool test(std::size_t i) const { return words_[i / 64] >> (i % 64) & 1; }
  void set(std::size_t i) { words_[i / 64] |= std::uint64_t{1} << (i % 64); }
  void reset(std::size_t i) { words_[i / 64] &= ~(std::uint64_t{1} << (i % 64)); }
  bool any() const {
    for (const std::uint64_t w : words_)
      if (w != 0) return true;
    return false;
  }
  /// Adds the other's members; true if there was a new one.
  bool merge(const Bits& other) {
    bool changed = false;
    for (std::size_t w = 0; w < words_.size(); ++w) {
      const std::uint64_t joined = words_[w] | other.words_[w];
      changed |= joined != words_[w];
      words_[w] = joined;
    }
    return changed;
  }
  void clear() { words_.assign(words_.size(), 0); }
  template <typename F>
  void for_each(F f) const {
    for (std::size_t w = 0; w < words_.size(); ++w)
      for (std::uint64_t rest = words_[w]; rest != 0; rest &= rest - 1)
        f(static_cast<std::uint32_t>(w * 64 + static_cast<unsigned>(__builtin_ctzll(rest))));
  }
  std::size_t count() const {
    std::size_t n = 0;
    for (const std::uint64_t w : words_) n += static_cast<unsigned>(__builtin_popcountll(w));
    return n;
  }
  bool operator==(const Bits&) const = default;

 private:
  std::vector<std::uint64_t> words_;
};

}  // namespace warploom::reuse::checking
