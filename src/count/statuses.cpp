#include "warploom/count/statuses.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <functional>

#include "core/one_caller.hpp"
#include "warploom/core/error.hpp"
#include "warploom/core/progress.hpp"

namespace warploom::table {
namespace {

constexpr int kColumns = 11, kAnkle = 1, kTrunk = 7, kAnnotation = 10;

std::uint64_t key(std::uint32_t status, std::uint64_t number) { return std::uint64_t{status} << 32 | number; }
std::uint64_t value(Slot slot) { return std::uint64_t{slot.recording} << 32 | slot.sample; }
Slot slot(std::uint64_t value) {
  return {static_cast<std::uint32_t>(value >> 32), static_cast<std::uint32_t>(value)};
}

}  // namespace

Status Status::of_code(std::uint32_t code) {
  if (code >= kStatuses)
    throw BadInput(fmt::format("a status of code {}; they are 0 to {}", code, kStatuses - 1));
  return {.activity = static_cast<std::uint8_t>(code / 18),
          .orientation = static_cast<std::uint8_t>(code / 3 % 6),
          .motion = static_cast<std::uint8_t>(code % 3)};
}

std::string Status::text() const {
  if (activity >= std::size(kActivities) || orientation >= std::size(kOrientations) ||
      motion >= std::size(kMotions))
    throw BadInput(fmt::format(
        "a status of activity {}, orientation {} and motion {}; there are {}, {} and {}", activity,
        orientation, motion, std::size(kActivities), std::size(kOrientations), std::size(kMotions)));
  return fmt::format("{}/{}/{}", kActivities[activity], kOrientations[orientation], kMotions[motion]);
}

std::vector<std::uint32_t> parse_status(const std::string& text) {
  std::vector<std::uint32_t> codes;
  for (std::uint32_t code = 0; code < kStatuses; ++code)
    if ((Status::of_code(code).text() + "/").starts_with(text + "/")) codes.push_back(code);
  if (codes.empty())
    throw BadInput(fmt::format(
        "`status` {}: it is one of {}, then perhaps / and the trunk's axis that points up ({}), then perhaps / and one of {}",
        text, fmt::join(kActivities, ", "), fmt::join(kOrientations, ", "), fmt::join(kMotions, ", ")));
  return codes;
}

StatusRecording statuses_of(const io::Table<double>& table, const std::string& file, double window) {
  if (table.columns != kColumns)
    throw BadInput(fmt::format(
        "{}: {} columns; a recording has {}: time, three axes of ankle, thigh and trunk, annotation", file,
        table.columns, kColumns));
  if (table.rows < 0 || std::ssize(table.lines) != table.rows ||
      table.values.size() / kColumns != table.lines.size() || table.values.size() % kColumns != 0)
    throw BadInput(fmt::format("{}: {} rows of {} columns, with {} values of {} lines", file, table.rows,
                               table.columns, table.values.size(), table.lines.size()));
  if (!(window >= 0)) throw BadInput(fmt::format("a window of {} s; it must not be below 0", window));
  StatusRecording recording{file, {}, {}};

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
    const TextPosition where{file, table.lines[static_cast<std::size_t>(row)], 1};
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

struct StatusIndex::State {
  HashTable<std::uint64_t, std::uint64_t> table;
  double store_seconds = 0;
  OneCaller caller = {};

  std::vector<std::uint64_t> counts() {
    std::vector<std::uint64_t> keys, counts(kStatuses);
    for (std::uint32_t status = 0; status < kStatuses; ++status) keys.push_back(key(status, 0));
    table.run(Operation::find, keys, {}, {}, counts);
    return counts;
  }
};

template <class State>
static CallOf<State> call_of(const std::unique_ptr<State>& state) {
  return {state, "an index of statuses", "table::StatusIndex"};
}

StatusIndex::StatusIndex(const Options& options)
    : state_(new State{HashTable<std::uint64_t, std::uint64_t>(options)}) {}
StatusIndex::StatusIndex(StatusIndex&&) noexcept = default;
StatusIndex& StatusIndex::operator=(StatusIndex&&) noexcept = default;
StatusIndex::~StatusIndex() = default;

const HashTable<std::uint64_t, std::uint64_t>& StatusIndex::table() const { return call_of(state_)->table; }
double StatusIndex::store_seconds() const { return call_of(state_)->store_seconds; }
std::vector<std::uint64_t> StatusIndex::counts() { return call_of(state_)->counts(); }

void StatusIndex::store(std::span<const std::uint8_t> statuses, std::span<const Slot> slots) {
  if (statuses.size() != slots.size())
    throw BadInput(fmt::format("{} statuses of {} time slots", statuses.size(), slots.size()));
  for (const std::uint8_t status : statuses) Status::of_code(status);
  const auto state = call_of(state_);
  std::vector<std::uint64_t> keys(statuses.size()), values(statuses.size(), 1), before(statuses.size());
  std::vector<Outcome> outcomes(statuses.size());
  for (std::size_t k = 0; k < keys.size(); ++k) keys[k] = key(statuses[k], 0);
  state->store_seconds += state->table.run(Operation::add, keys, values, outcomes, before).kernel_seconds;
  for (std::size_t k = 0; k < keys.size(); ++k) {
    keys[k] += before[k] + 1;  // 0 before the first
    values[k] = value(slots[k]);
  }
  const BatchReport report = state->table.run(Operation::insert, keys, values, outcomes, {});
  if (report.tally.inserted != keys.size())
    throw OutOfMemory(fmt::format("{} of {} time slots could not be stored",
                                  keys.size() - report.tally.inserted, keys.size()));
  state->store_seconds += report.kernel_seconds;
}

std::vector<Slot> StatusIndex::find(const std::vector<std::uint32_t>& statuses) {
  for (const std::uint32_t status : statuses) Status::of_code(status);
  const auto state = call_of(state_);
  const std::vector<std::uint64_t> counts = state->counts();
  std::vector<std::uint64_t> keys;
  for (const std::uint32_t status : statuses)
    for (std::uint64_t number = 1; number <= counts[status]; ++number) keys.push_back(key(status, number));
  std::vector<std::uint64_t> values(keys.size());
  std::vector<Outcome> outcomes(keys.size());
  state->table.run(Operation::find, keys, {}, outcomes, values);
  std::vector<Slot> slots;
  for (std::size_t k = 0; k < keys.size(); ++k) {
    if (outcomes[k] != Outcome::found)
      throw Internal(fmt::format("time slot {:#x} was stored and is not found", keys[k]));
    slots.push_back(slot(values[k]));
  }
  std::ranges::sort(slots);
  return slots;
}

StatusReport find_statuses(std::span<const StatusRecording> recordings,
                           const std::vector<std::uint32_t>& asked, std::uint64_t batch,
                           const Options& options) {
  if (batch == 0) throw BadInput("time slots are stored in batches of at least 1");
  std::vector<std::uint8_t> statuses;
  std::vector<Slot> slots;
  StatusReport report;
  for (std::uint32_t r = 0; const StatusRecording& recording : recordings) {
    for (std::uint32_t k = 0; k < recording.statuses.size(); ++k) slots.push_back({r, k});
    statuses.insert(statuses.end(), recording.statuses.begin(), recording.statuses.end());
    if (!recording.seconds.empty()) report.recorded_seconds += recording.seconds.back();
    ++r;
  }
  StatusIndex index(options);
  for (std::size_t first = 0; first < slots.size(); first += batch) {
    check_interrupt();
    const std::size_t count = std::min<std::size_t>(slots.size() - first, batch);
    index.store(std::span(statuses).subspan(first, count), std::span(slots).subspan(first, count));
  }
  const std::vector<std::uint64_t> counts = index.counts();
  const auto start = std::chrono::steady_clock::now();
  const std::vector<Slot> found = index.find(asked);
  report.find_seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  for (std::uint32_t status = 0; status < kStatuses; ++status)
    if (counts[status] > 0) report.counts.emplace_back(status, counts[status]);
  std::ranges::stable_sort(report.counts, std::greater(), [](const auto& count) { return count.second; });
  for (const Slot& slot : found) {
    std::vector<StatusInterval>& all = report.intervals;
    if (!all.empty() && all.back().first.recording == slot.recording && all.back().last + 1 == slot.sample)
      all.back().last = slot.sample;
    else
      all.push_back({slot, slot.sample});
  }
  report.table = index.table().description();
  report.slots = slots.size();
  report.found = found.size();
  report.store_seconds = index.store_seconds();
  return report;
}

}  // namespace warploom::table
