#pragma once

#include <cstddef>

namespace warploom::io {

struct LetterLoops {
  /// Whether all are letters (is_letter) or ends of sequences, kEnd of SequenceStream.
  bool (*are_sequences)(const char* text, std::size_t count);
};

namespace baseline {
extern const LetterLoops letter_loops;
}
namespace avx2 {
extern const LetterLoops letter_loops;
}
namespace avx512 {
extern const LetterLoops letter_loops;
}

}  // namespace warploom::io
