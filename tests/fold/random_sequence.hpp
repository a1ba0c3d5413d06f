#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <string_view>

#include "oracle/random.hpp"

namespace warploom::fold {

inline std::string random_sequence(std::mt19937& random, std::size_t n, std::string_view letters = "ACGU") {
  std::string sequence(n, ' ');
  for (char& c : sequence) c = letters[random() % letters.size()];
  return sequence;
}

inline std::string random_sequence(std::size_t n, Random& random, std::string_view letters = "ACGU") {
  std::string text;
  for (std::size_t k = 0; k < n; ++k)
    text += letters[random.below(static_cast<std::uint32_t>(letters.size()))];
  return text;
}
inline std::string random_sequence(std::size_t n, std::uint32_t seed, std::string_view letters = "ACGU") {
  Random random(seed);
  return random_sequence(n, random, letters);
}

}  // namespace warploom::fold
