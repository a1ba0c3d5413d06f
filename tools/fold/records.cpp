#include "records.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "cli/byte_size.hpp"
#include "cli/verb.hpp"
#include "warploom/core/error.hpp"

namespace warploom::tool {

std::string title(const io::SequenceRecord& record) {
  return record.description.empty() ? record.name : record.name + " " + record.description;
}

void refuse_record(const std::string& input, const io::SequenceRecord& record, const std::exception& error) {
  print_error(
      fmt::format("warploom: {}:{}: {}\n", input_name(input), record.line, without_long_words(error.what())));
}

Records read_records(const std::string& input, std::uint64_t max_memory,
                     const std::function<void(const io::SequenceRecord&)>& check) {
  std::error_code ignored;
  if (input.size() > 4 && input.find_first_not_of("ACGTUNacgtun") == input.npos &&
      !std::filesystem::exists(input, ignored))
    throw BadInput(
        fmt::format("{0} is no file; a sequence comes by standard input: echo {0} | warploom fold -", input));
  Records records;
  for (io::SequenceRecord& record :
       io::parse_sequences(read_input(input, max_memory), input_name(input), max_memory)) {
    if (record.sequence.empty()) {
      ++records.empty;
      continue;
    }
    try {
      check(record);
    } catch (const BadInput& error) {
      ++records.bad;
      refuse_record(input, record, error);
      continue;
    }
    std::ranges::transform(record.sequence, record.sequence.begin(), [](char c) {
      const char capital = c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
      return capital == 'T' ? 'U' : capital;
    });
    records.good.push_back(std::move(record));
  }
  if (records.good.empty() && records.bad == 0)
    throw BadInput(fmt::format("{}: it holds no sequence", input_name(input)));
  if (records.empty > 0) remark(fmt::format("{} records without a sequence were skipped", records.empty));
  return records;
}

}  // namespace warploom::tool
