#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "warploom/io/sequences.hpp"

namespace warploom::tool {

/// Those that can be folded, in capitals with U; of the others a line each said why.
struct Records {
  std::vector<io::SequenceRecord> good = {};
  std::size_t bad = 0, empty = 0;
};
/// @param check  throws BadInput where a record is none; gets it as it was written
/// @throws as io::parse_sequences(), BadInput: there is no sequence
Records read_records(const std::string& input, std::uint64_t max_memory,
                     const std::function<void(const io::SequenceRecord&)>& check);
/// Says why a record is left out.
void refuse_record(const std::string& input, const io::SequenceRecord& record, const std::exception& error);

/// The header as it was.
std::string title(const io::SequenceRecord& record);

}  // namespace warploom::tool
