// Any text is FASTA records that keep their promises, and that are the same when they are written and read
// again, or is refused.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "fuzz/require.hpp"
#include "warploom/core/error.hpp"
#include "warploom/io/fasta.hpp"

using warploom::require;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  namespace io = warploom::io;
  const std::string_view content(reinterpret_cast<const char*>(data), size);
  for (const std::string letters : {"", "ACGTU"}) {
    std::vector<io::FastaRecord> records;
    try {
      records = io::parse_fasta(content, "fuzz", {letters, ""});
    } catch (const warploom::BadInput&) {
      continue;
    }
    require(!records.empty(), "no record");
    std::string written;
    std::int64_t line = 0;
    for (const io::FastaRecord& record : records) {
      require(!record.sequence.empty(), "an empty sequence");
      require(record.line > line, "lines that do not rise");
      require(letters.empty() || record.sequence.find_first_not_of("ACGTUacgtu") == record.sequence.npos,
              "a letter that was not allowed");
      line = record.line;
      written += ">" + record.name + " " + record.description + "\n" + record.sequence + "\n";
    }
    for (std::size_t k = 0; k < records.size(); ++k) records[k].line = static_cast<std::int64_t>(2 * k + 1);
    require(io::parse_fasta(written, "written", {letters, ""}) == records, "other records when read again");
  }
  return 0;
}
