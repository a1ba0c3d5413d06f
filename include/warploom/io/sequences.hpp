#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "warploom/core/file.hpp"

namespace warploom::io {

/// A sequence as a file has it; its letters are not judged.
struct SequenceRecord {
  std::string name = {};         ///< the header's first word; empty where there is none
  std::string description = {};  ///< the rest of the header
  std::string sequence = {};     ///< all its lines joined, without blanks; may be empty
  std::int64_t line = 1;         ///< where the record begins in the file, from 1
  friend bool operator==(const SequenceRecord&, const SequenceRecord&) = default;
};

/// The records of a FASTA file (it begins with '>'), a FASTQ file ('@'; qualities are dropped) or plain text,
/// a sequence a line; perhaps gzipped, with LF, CRLF or CR and a byte order mark. Blank lines of FASTA and
/// plain text are skipped, and so are FASTA's lines that begin with ';'. Unlike parse_fasta() it takes
/// whatever stands in a record, so that one bad record does not cost the others.
/// @param name  of the file, for messages
/// @param max_bytes  what gzip may hold
/// @throws BadInput (gzip that is broken or holds more), ParseError (FASTQ whose third line does not begin
///         with '+', or whose qualities have another length than the sequence, or that ends within a record)
std::vector<SequenceRecord> parse_sequences(std::string_view content, const std::string& name,
                                            std::uint64_t max_bytes = kMaxFileBytes);
/// @throws as parse_sequences and read_file
std::vector<SequenceRecord> read_sequences(const std::filesystem::path& path);

}  // namespace warploom::io
