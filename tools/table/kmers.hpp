#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>

namespace warploom::tool {

/// Two bits a base: A 0, C 1, G 2, T and U 3; the first base of a word of k of them in the highest bits.
inline constexpr int kMostBases = 31;

/// Takes the words of k bases of sequences, in order; those with another letter in them are left out.
class Kmers {
 public:
  /// @param canonical  of a word and its reverse complement the lesser stands for both
  Kmers(int k, bool canonical) : k_(k), canonical_(canonical) {}

  /// Calls take(words) for batches of them. Capital and small letters are the same.
  void of_sequence(std::string_view sequence,
                   const std::function<void(std::span<const std::uint64_t>)>& take) const;
  std::string text(std::uint64_t word) const;

 private:
  int k_;
  bool canonical_;
};

}  // namespace warploom::tool
