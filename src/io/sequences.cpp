#include "warploom/io/sequences.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "io/lines.hpp"
#include "io/words.hpp"
#include "warploom/core/error.hpp"
#include "warploom/io/gzip.hpp"

namespace warploom::io {
namespace {

void append(std::string& sequence, std::string_view line) {
  for (const char c : line)
    if (kBlank.find(c) == kBlank.npos) sequence += c;
}

std::vector<SequenceRecord> fastq(std::string_view content, const std::string& name) {
  std::vector<SequenceRecord> records;
  NumberedLines lines(content);
  while (lines.next()) {
    if (trimmed(lines.line()).empty()) continue;
    if (!lines.line().starts_with('@'))
      throw ParseError({name, lines.number(), 1}, "a FASTQ record begins with '@'");
    SequenceRecord record = begun_by<SequenceRecord>(lines.line(), lines.number());
    const auto next = [&](const char* what) {
      if (!lines.next())
        throw ParseError({name, lines.number(), 1}, fmt::format("the file ends before {}", what));
    };
    next("the sequence of its last record");
    append(record.sequence, lines.line());
    next("the '+' of its last record");
    if (!lines.line().starts_with('+'))
      throw ParseError({name, lines.number(), 1}, "the third line of a FASTQ record begins with '+'");
    next("the qualities of its last record");
    if (const std::size_t qualities = trimmed(lines.line(), "\r").size(); qualities != record.sequence.size())
      throw ParseError({name, lines.number(), 1},
                       fmt::format("{} qualities of {} letters", qualities, record.sequence.size()));
    records.push_back(std::move(record));
  }
  return records;
}

std::vector<SequenceRecord> fasta_or_plain(std::string_view content) {
  std::vector<SequenceRecord> records;
  const std::size_t start = content.find_first_not_of(" \t\r\n");
  const bool fasta = start != content.npos && (content[start] == '>' || content[start] == ';');
  NumberedLines lines(content);
  while (lines.next()) {
    const std::string_view line = lines.line();
    if (fasta && line.starts_with(';')) continue;
    if (fasta && line.starts_with('>')) {
      records.push_back(begun_by<SequenceRecord>(line, lines.number()));
    } else if (!trimmed(line).empty()) {
      if (!fasta || records.empty()) records.push_back({"", "", "", lines.number()});
      append(records.back().sequence, line);
    }
  }
  return records;
}

}  // namespace

std::vector<SequenceRecord> parse_sequences(std::string_view content, const std::string& name,
                                            std::uint64_t max_bytes) {
  std::string inside;
  if (is_gzip(content)) content = inside = gunzip(content, name, max_bytes);
  if (content.starts_with(kByteOrderMark)) content.remove_prefix(kByteOrderMark.size());
  return content.starts_with('@') ? fastq(content, name) : fasta_or_plain(content);
}

std::vector<SequenceRecord> read_sequences(const std::filesystem::path& path) {
  return parse_sequences(read_file(path), path.string());
}

}  // namespace warploom::io
