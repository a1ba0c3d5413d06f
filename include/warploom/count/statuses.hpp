#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "warploom/io/table.hpp"
#include "warploom/table/hash_table.hpp"

namespace warploom::table {

/// What a wearer of acceleration sensors does at a moment: of the dissertation's section 4.6.2.9 "the status
/// (combination of activity, orientation, motions)".
struct Status {
  std::uint8_t activity = 0;     ///< kActivities: as annotated
  std::uint8_t orientation = 0;  ///< kOrientations: the trunk's axis that gravity is nearest to
  std::uint8_t motion = 0;       ///< kMotions: by the standard deviation of the ankle's acceleration

  std::uint32_t code() const { return (activity * 6u + orientation) * 3u + motion; }
  /// @throws BadInput (kStatuses or above)
  static Status of_code(std::uint32_t code);
  /// "freeze/+2/striding" @throws BadInput (a part that there is not)
  std::string text() const;
};
inline constexpr std::uint32_t kStatuses = 3 * 6 * 3;
inline constexpr std::string_view kActivities[] = {"outside", "free", "freeze"};
inline constexpr std::string_view kOrientations[] = {"+1", "-1", "+2", "-2", "+3", "-3"};
inline constexpr std::string_view kMotions[] = {"still", "moving", "striding"};
inline constexpr double kStill = 30, kStriding = 250;  ///< [mg] below: still; from there on: striding

/// Codes of the statuses that a text names: "freeze", "free/+2" or "outside/-3/still", parts in this order.
/// @throws BadInput naming the parts there are, and the text as `status`
std::vector<std::uint32_t> parse_status(const std::string& text);

/// One wearer's statuses, a time slot a sample.
struct StatusRecording {
  std::string name = {};                    ///< for people
  std::vector<double> seconds = {};         ///< since the start
  std::vector<std::uint8_t> statuses = {};  ///< codes
};

/// The statuses of a recording as Daphnet's, rows of 11 numbers: time [ms], three
/// axes [mg] of each of ankle, thigh and trunk, and the annotation 0 (outside of the experiment), 1 (no
/// freeze) or 2 (freezing of gait). Orientation and motion are those of the last `window` [s]. Time slots
/// have the times of their rows, which need not be evenly spaced: unlike io::read_recording(), this puts them
/// on no grid.
/// @param file  for messages; it is the name as well
/// @throws BadInput (other columns; rows, values and lines that disagree; what is no measurement or
/// annotation; time that does not grow)
StatusRecording statuses_of(const io::Table<double>& rows, const std::string& file, double window);

/// A place in a recording
struct Slot {
  std::uint32_t recording = 0, sample = 0;
  friend auto operator<=>(const Slot&, const Slot&) = default;
};

/// Which time slots have a status: a table that holds many values for a key. Key (status, 0) has their
/// number, and is counted up by fetch_add, whose results number the slots of a status; key (status, i) has
/// slot number i, from 1. One call at a time, and after a move none, as HashTable.
class StatusIndex {
 public:
  explicit StatusIndex(const Options& options);
  StatusIndex(StatusIndex&&) noexcept;
  StatusIndex& operator=(StatusIndex&&) noexcept;
  ~StatusIndex();

  /// Two batches: number, then insert. @throws BadInput (lengths differ, a code that is none), OutOfMemory
  void store(std::span<const std::uint8_t> statuses, std::span<const Slot> slots);
  /// How many slots each status has [kStatuses]
  std::vector<std::uint64_t> counts();
  /// The slots of some statuses, in order. Two batches: how many there are, then all. @throws BadInput (a
  /// code that is none)
  std::vector<Slot> find(const std::vector<std::uint32_t>& statuses);

  const HashTable<std::uint64_t, std::uint64_t>& table() const;
  double store_seconds() const;  ///< of the batches, transfers apart

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Time slots of one status that follow each other in one recording.
struct StatusInterval {
  Slot first = {};
  std::uint32_t last = 0;
};

/// Time slots of recordings by status, and when there is one that was asked for.
struct StatusReport {
  std::string table = {};  ///< HashTable::description()
  std::uint64_t slots = 0, found = 0;
  std::vector<std::pair<std::uint32_t, std::uint64_t>> counts =
      {};                                      ///< statuses that there are, the most frequent first
  std::vector<StatusInterval> intervals = {};  ///< of the statuses asked for, in order
  double recorded_seconds = 0, store_seconds = 0, find_seconds = 0;
};
/// Puts all time slots into a StatusIndex, `batch` at a time, and takes those of the statuses `asked` out of
/// it.
/// @throws BadInput (batch 0), NoDevice, OutOfMemory, Interrupted
StatusReport find_statuses(std::span<const StatusRecording> recordings,
                           const std::vector<std::uint32_t>& asked, std::uint64_t batch,
                           const Options& options);

}  // namespace warploom::table
