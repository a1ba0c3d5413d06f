#include "recording.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <numeric>
#include <span>

#include "cli/verb.hpp"
#include "warploom/core/error.hpp"
#include "warploom/core/file.hpp"
#include "warploom/io/gzip.hpp"
#include "warploom/io/table.hpp"

namespace warploom::tool {
namespace {

using table::Operation;
using table::Outcome;

constexpr int kColumns = 11, kAnkle = 1, kTrunk = 7, kAnnotation = 10;

std::uint64_t key(std::uint32_t status, std::uint64_t number) { return std::uint64_t{status} << 32 | number; }
std::uint64_t value(Slot slot) { return std::uint64_t{slot.recording} << 32 | slot.sample; }
Slot slot(std::uint64_t value) {
  return {static_cast<std::uint32_t>(value >> 32), static_cast<std::uint32_t>(value)};
}

}  // namespace

Status Status::of_code(std::uint32_t code) {
  return {.activity = static_cast<std::uint8_t>(code / 18),
          .orientation = static_cast<std::uint8_t>(code / 3 % 6),
          .motion = static_cast<std::uint8_t>(code % 3)};
}

std::string Status::text() const {
  return fmt::format("{}/{}/{}", kActivities[activity], kOrientations[orientation], kMotions[motion]);
}

std::vector<std::uint32_t> parse_status(const std::string& text) {
  const std::vector<std::string> parts = split(text, '/');
  std::vector<std::uint32_t> codes;
  for (std::uint32_t code = 0; code < kStatuses; ++code) {
    const std::vector<std::string> whole = split(Status::of_code(code).text(), '/');
    if (parts.size() <= whole.size() && std::equal(parts.begin(), parts.end(), whole.begin()))
      codes.push_back(code);
  }
  if (codes.empty())
    throw BadInput(fmt::format(
        "--status {}: it is one of {}, then perhaps / and the trunk's axis that points up "
        "({}), then perhaps / and one of {}",
        text, fmt::join(kActivities, ", "), fmt::join(kOrientations, ", "), fmt::join(kMotions, ", ")));
  return codes;
}

Recording read_recording(const std::string& path, double window) {
  const std::string bytes = read_input(path), name = input_name(path);
  const io::Table<double> table =
      io::parse_table<double>(io::is_gzip(bytes) ? io::gunzip(bytes, name, kMaxFileBytes) : bytes, name);
  if (table.columns != kColumns)
    throw BadInput(
        fmt::format("{}: {} columns; a recording has {}: time, three axes of ankle, thigh and trunk, "
                    "annotation",
                    name, table.columns, kColumns));
  Recording recording;
  recording.name = std::filesystem::path(path).filename().string();
  recording.name.resize(std::min(recording.name.find('.'), recording.name.size()));

  // Sums over the samples of the window, the newest among them.
  double sum = 0, squares = 0, trunk[3] = {};
  const auto take = [&](std::int64_t row, double sign) {
    const double ankle = std::hypot(table(row, kAnkle), table(row, kAnkle + 1), table(row, kAnkle + 2));
    sum += sign * ankle;
    squares += sign * ankle * ankle;
    for (int axis = 0; axis < 3; ++axis) trunk[axis] += sign * table(row, kTrunk + axis);
  };
  std::int64_t oldest = 0;
  for (std::int64_t row = 0; row < table.rows; ++row) {
    const TextPosition where{name, table.lines[static_cast<std::size_t>(row)], 1};
    for (int column = 0; column < kColumns; ++column)
      if (!(std::abs(table(row, column)) < 1e12))
        throw ParseError(where,
                         fmt::format("{} in column {} is no measurement", table(row, column), column + 1));
    const double time = table(row, 0), annotation = table(row, kAnnotation);
    if (row > 0 && time <= table(row - 1, 0))
      throw ParseError(where, fmt::format("time {} does not come after {}", time, table(row - 1, 0)));
    if (annotation != 0 && annotation != 1 && annotation != 2)
      throw ParseError(where, fmt::format("annotation {}; it is 0, 1 or 2", annotation));
    take(row, 1);
    for (; table(oldest, 0) < time - 1000 * window; ++oldest) take(oldest, -1);

    const double n = static_cast<double>(row - oldest + 1), mean = sum / n;
    const double deviation = std::sqrt(std::max(0.0, squares / n - mean * mean));
    const auto axis = std::ranges::max_element(trunk, {}, [](double v) { return std::abs(v); }) - trunk;
    const Status status{.activity = static_cast<std::uint8_t>(annotation),
                        .orientation = static_cast<std::uint8_t>(2 * axis + (trunk[axis] < 0 ? 1 : 0)),
                        .motion = static_cast<std::uint8_t>(deviation < kStill      ? 0
                                                            : deviation < kStriding ? 1
                                                                                    : 2)};
    recording.seconds.push_back((time - table(0, 0)) / 1000);
    recording.statuses.push_back(static_cast<std::uint8_t>(status.code()));
  }
  return recording;
}

void StatusIndex::store(const std::vector<std::uint8_t>& statuses, const std::vector<Slot>& slots) {
  std::vector<std::uint64_t> keys(statuses.size()), values(statuses.size(), 1), before(statuses.size());
  std::vector<Outcome> outcomes(statuses.size());
  for (std::size_t k = 0; k < keys.size(); ++k) keys[k] = key(statuses[k], 0);
  store_seconds_ += table_.run(Operation::add, keys, values, outcomes, before).kernel_seconds;
  for (std::size_t k = 0; k < keys.size(); ++k) {
    keys[k] += before[k] + 1;  // 0 before the first
    values[k] = value(slots[k]);
  }
  const table::BatchReport report = table_.run(Operation::insert, keys, values, outcomes, {});
  if (report.tally.inserted != keys.size())
    throw OutOfMemory(fmt::format("{} of {} time slots could not be stored",
                                  keys.size() - report.tally.inserted, keys.size()));
  store_seconds_ += report.kernel_seconds;
}

std::vector<std::uint64_t> StatusIndex::counts() {
  std::vector<std::uint64_t> keys, counts(kStatuses);
  for (std::uint32_t status = 0; status < kStatuses; ++status) keys.push_back(key(status, 0));
  table_.run(Operation::find, keys, {}, {}, counts);
  return counts;
}

std::vector<Slot> StatusIndex::find(const std::vector<std::uint32_t>& statuses) {
  const std::vector<std::uint64_t> counts = this->counts();
  std::vector<std::uint64_t> keys;
  for (const std::uint32_t status : statuses)
    for (std::uint64_t number = 1; number <= counts[status]; ++number) keys.push_back(key(status, number));
  std::vector<std::uint64_t> values(keys.size());
  std::vector<Outcome> outcomes(keys.size());
  table_.run(Operation::find, keys, {}, outcomes, values);
  std::vector<Slot> slots;
  for (std::size_t k = 0; k < keys.size(); ++k) {
    if (outcomes[k] != Outcome::found)
      throw Internal(fmt::format("time slot {:#x} was stored and is not found", keys[k]));
    slots.push_back(slot(values[k]));
  }
  std::ranges::sort(slots);
  return slots;
}

}  // namespace warploom::tool
