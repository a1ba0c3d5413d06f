#include "io/letter_loops.hpp"

#include <algorithm>

#include "io/sequence_letters.hpp"

namespace warploom::io::WARPLOOM_INSTRUCTION_SET {
namespace {

bool are_sequences(const char* text, std::size_t count) {
  constexpr std::size_t kBlock = 4096;
  unsigned char other = 0;
  for (std::size_t begin = 0; begin < count && other == 0; begin += kBlock)
    for (std::size_t at = begin; at < std::min(count, begin + kBlock); ++at) {
      const auto c = static_cast<unsigned char>(text[at]);
      other |= static_cast<unsigned char>(!is_letter(c) & (c != '\n'));
    }
  return other == 0;
}

}  // namespace

const LetterLoops letter_loops{are_sequences};

}  // namespace warploom::io::WARPLOOM_INSTRUCTION_SET
