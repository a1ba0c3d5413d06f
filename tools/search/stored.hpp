#pragma once

#include <filesystem>

#include "warploom/search/evaluate.hpp"

namespace warploom::tool {

/// Reads NAME.matches.jsonl, or CSV with columns onset and duration [s] and label, best first. In CSV rows of
/// equal `rank` are one match, and rows whose `self` is not 0 are none, if there are such columns.
/// @throws BadInput, ParseError
search::StoredMatches read_matches(const std::filesystem::path& path);

}  // namespace warploom::tool
