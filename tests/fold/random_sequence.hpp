#pragma once

#include <random>
#include <string>
#include <string_view>

namespace warploom::fold {

inline std::string random_sequence(std::mt19937& random, std::size_t n, std::string_view letters = "ACGU") {
  std::string sequence(n, ' ');
  for (char& c : sequence) c = letters[random() % letters.size()];
  return sequence;
}

}  // namespace warploom::fold
