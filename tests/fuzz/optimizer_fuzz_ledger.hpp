#pragma once

#include <filesystem>
#include <string>

#include "fuzz/optimizer_fuzz_workers.hpp"

namespace warploom::fuzz {

/// Adds a range of seeds to the ledger: {"ranges": [{"generator", "from", "to", "date", "kernels", ...}],
/// "bugs": [...]}. One that goes on where another of the same generator and day ended is merged with it. A
/// run with failures is not added: they are to be mended first.
/// @param date  "2026-11-21"
/// @throws BadInput when the file is no ledger, or the range overlaps one that is there
void add_to_ledger(const std::filesystem::path& file, const Job& job, const Findings& findings,
                   const std::string& date);

}  // namespace warploom::fuzz
