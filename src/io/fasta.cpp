#include "warploom/io/fasta.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>

#include "io/lines.hpp"
#include "io/words.hpp"
#include "warploom/core/error.hpp"
#include "warploom/core/file.hpp"
#include "warploom/io/gzip.hpp"

namespace warploom::io {
namespace {

/// "record 'r500'", or the record's line where it has no name; for messages.
std::string label(const FastaRecord& record) {
  return record.name.empty() ? fmt::format("the record of line {}", record.line)
                             : fmt::format("record {:?}", record.name.substr(0, 60));
}

std::array<bool, 256> accepted_by(std::string_view letters) {
  std::array<bool, 256> accepted{};
  for (const char c : letters.empty() ? std::string_view("ABCDEFGHIJKLMNOPQRSTUVWXYZ*-") : letters) {
    accepted[static_cast<unsigned char>(c)] = true;
    accepted[static_cast<unsigned char>(std::tolower(static_cast<unsigned char>(c)))] = true;
  }
  return accepted;
}

/// Throws if the record has ended without a sequence.
void check_complete(const FastaRecord& record, const std::string& file) {
  if (record.sequence.empty())
    throw BadInput(fmt::format("{}:{}: {} has no sequence", file, record.line, label(record)));
}

}  // namespace

std::vector<FastaRecord> parse_fasta(std::string_view content, const std::string& name,
                                     const FastaLetters& letters, std::uint64_t max_bytes) {
  std::string inside;
  if (is_gzip(content)) content = inside = gunzip(content, name, max_bytes);
  if (content.starts_with(kByteOrderMark)) content.remove_prefix(kByteOrderMark.size());
  const std::array<bool, 256> accepted = accepted_by(letters.letters);
  std::vector<FastaRecord> records;
  for (NumberedLines lines(content); lines.next();) {
    const std::string_view line = lines.line();
    if (line.starts_with(';')) continue;
    if (line.starts_with('>')) {
      if (!records.empty()) check_complete(records.back(), name);
      records.push_back(begun_by<FastaRecord>(line, lines.number()));
      continue;
    }
    for (std::size_t k = 0; k < line.size(); ++k) {
      if (kBlank.find(line[k]) != kBlank.npos) continue;
      const auto error = [&](const std::string& what) {
        return ParseError({name, lines.number(), static_cast<unsigned>(k + 1)}, what);
      };
      if (records.empty())
        throw error("text before the first header; a FASTA record begins with a line '>NAME'");
      if (!accepted[static_cast<unsigned char>(line[k])])
        throw error(fmt::format("{:?} in {} is no letter of a sequence{}{}{}", line[k], label(records.back()),
                                letters.letters.empty() ? "" : " here, which are " + letters.letters,
                                letters.advice.empty() ? "" : "; ", letters.advice));
      records.back().sequence += line[k];
    }
  }
  if (records.empty())
    throw BadInput(fmt::format("{}: no FASTA record; one begins with a line '>NAME'", name));
  check_complete(records.back(), name);
  return records;
}

std::vector<FastaRecord> read_fasta(const std::filesystem::path& path, const FastaLetters& letters) {
  return parse_fasta(read_file(path), path.string(), letters);
}

}  // namespace warploom::io
