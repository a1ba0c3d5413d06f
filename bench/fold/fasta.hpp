#pragma once

#include <string>

#include "warploom/core/file.hpp"

namespace warploom::fold {

/// The letters of all records, one behind the other.
inline std::string read_fasta(const std::string& path) {
  std::string letters;
  bool header = false;
  for (const char c : read_file(path)) {
    if (c == '>') header = true;
    if (!header && c > ' ') letters += c;
    if (c == '\n') header = false;
  }
  return letters;
}

}  // namespace warploom::fold
