#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "warploom/core/file.hpp"

namespace warploom::io {

struct FastaRecord {
  std::string name = {};         ///< the header's first word; empty if it has none
  std::string description = {};  ///< the rest of the header
  std::string sequence = {};     ///< all its lines joined, as written
  std::int64_t line = 1;         ///< of the header in the file, from 1
  friend bool operator==(const FastaRecord&, const FastaRecord&) = default;
};

/// Which letters a sequence may have, capital or not.
struct FastaLetters {
  std::string letters = {};  ///< capitals, "ACGTU"; empty: every letter, '*' and '-'
  std::string advice = {};   ///< ends the message about another one, after "; "; may be empty
};

/// The records of a FASTA file, in its order. Lines end in LF, CRLF or CR; blank lines, and blanks within and
/// around sequence lines, are skipped, so are lines that begin with ';' (comments of the old format) and a
/// byte order mark. Before the first header nothing else may stand. gzip is recognised by its first bytes.
/// @param name  of the file, for messages
/// @param max_bytes  what gzip may hold
/// @throws BadInput: no record, a record without sequence (with its name and line), text before the first
///         header, a character that is none of the letters (with record, line and column)
std::vector<FastaRecord> parse_fasta(std::string_view content, const std::string& name,
                                     const FastaLetters& letters = {},
                                     std::uint64_t max_bytes = kMaxFileBytes);
/// @throws as parse_fasta and read_file
std::vector<FastaRecord> read_fasta(const std::filesystem::path& path, const FastaLetters& letters = {});

}  // namespace warploom::io
