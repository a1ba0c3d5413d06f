#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "warploom/search/recordings.hpp"

namespace warploom::search {

/// What a query's channels are multiplied by, where options or units that files name say it; else 0.
std::vector<double> known_gains(const SearchOptions& options, const RecordedQuery& query,
                                std::span<const std::int32_t> places, const io::Recording& recording,
                                const std::filesystem::path& file);

/// What a query was multiplied by, and why. @param known  known_gains()
std::vector<std::string> remarks_on_gains(std::span<const double> gains, std::span<const double> known,
                                          const RecordedQuery& query);

}  // namespace warploom::search
