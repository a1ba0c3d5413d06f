#include "search/recorded_gains.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <system_error>
#include <utility>

#include "search/units.hpp"

namespace warploom::search {
namespace {

/// "x, y, z"
std::string some_of(const std::vector<std::string>& names) {
  constexpr std::size_t kMost = 6;
  if (names.size() <= kMost) return fmt::format("{}", fmt::join(names, ", "));
  return fmt::format("{} and {} more", fmt::join(std::span(names).first(kMost - 1), ", "),
                     names.size() - kMost + 1);
}

}  // namespace

std::vector<double> known_gains(const SearchOptions& options, const RecordedQuery& query,
                                std::span<const std::int32_t> places, const io::Recording& recording,
                                const std::filesystem::path& file) {
  std::vector<double> gains(places.size(), options.gain.value_or(0));
  if (options.gain) return gains;
  std::error_code error;
  const bool same_file = query.file == file || std::filesystem::equivalent(query.file, file, error);
  for (std::size_t c = 0; c < gains.size(); ++c)
    if (same_file)
      gains[c] = 1;
    else if (c < query.units.size())
      gains[c] = factor_between(query.units[c], recording.channels[places[c]].unit).value_or(0);
  return gains;
}

std::vector<std::string> remarks_on_gains(std::span<const double> gains, std::span<const double> known,
                                          const RecordedQuery& query) {
  std::map<std::pair<double, bool>, std::vector<std::string>> channels;  // by gain, and whether it was known
  for (std::size_t c = 0; c < gains.size(); ++c)
    if (gains[c] != 1)
      channels[{gains[c], known[c] != 0}].push_back(query.channel(static_cast<std::int32_t>(c)));
  std::vector<std::string> remarks;
  for (const auto& [gain, names] : channels) {
    const std::string where = names.size() == gains.size() ? "all channels" : some_of(names);
    if (gain.second) {
      remarks.push_back(
          fmt::format("{} of the query of {} were multiplied by {:.4g}, to be in the recording's units",
                      where, query.file.string(), gain.first));
      continue;
    }
    const double factor = std::max(gain.first, 1 / gain.first);
    std::string units = "other units?";
    for (const ConfusedUnits& one : confused_units())
      if (std::abs(factor / one.factor - 1) < 1e-6) units = fmt::format("other units, as {}?", one.names);
    remarks.push_back(fmt::format(
        "in {} the recording looks {:.3g} times {} than the query of {} ({}): compared after the query was "
        "multiplied by {:.4g}; `gain` 1 compares it as it is",
        where, factor, gain.first > 1 ? "larger" : "smaller", query.file.string(), units, gain.first));
  }
  return remarks;
}

}  // namespace warploom::search
