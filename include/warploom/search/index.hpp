#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "warploom/core/run.hpp"
#include "warploom/search/distance.hpp"
#include "warploom/search/joint.hpp"

namespace warploom::search {

struct WindowMoments;

/// The channels of a recording: views of equal length, sampled together. A sample that is not finite is
/// missing. Who makes it keeps the samples alive.
using Signal = std::vector<std::span<const float>>;

/// What one channel of a recording is compared with: a channel of a query, as it is or scaled, negated,
/// rotated, or a part of it.
struct Pattern {
  std::vector<float> samples = {};  ///< finite; at least 2
  std::int64_t radius = 0;  ///< half-width of the band [samples]; larger than the length - 1 counts as that
  /// Where in the query this part begins [samples]: a window that begins at t is reported at t - lead.
  std::int64_t lead = 0;
};

/// One channel of a recording against some patterns, of which at each place the nearest counts.
struct Task {
  std::int32_t channel = 0;
  std::int32_t first_pattern = 0, patterns = 1;  ///< those of [first_pattern, first_pattern + patterns)
  std::int64_t limit = 100;                      ///< candidates wanted, p of the dissertation; >= 1
  std::int64_t exclusion = 0;                    ///< two candidates lie more than this apart [samples]; >= 0
  float max_distance = std::numeric_limits<float>::infinity();  ///< farther ones are none
  /// Only offsets of [first, last).
  std::int64_t first = std::numeric_limits<std::int64_t>::min();
  std::int64_t last = std::numeric_limits<std::int64_t>::max();
};

/// Single windows of a channel, which begin at `offsets`, and the pattern they are compared with.
struct Windows {
  std::int32_t pattern = 0, channel = 0;
  std::span<const std::int64_t> offsets = {};
};

/// A place where a pattern is found: a single dimensional subsequence match of the dissertation, 7.4.1.
struct Candidate {
  std::int64_t offset = 0;  ///< where the whole query would begin: the window's begin less the pattern's lead
  float distance = 0;       ///< of distance.hpp
  std::int32_t pattern = 0;  ///< nearest there; of equal ones the first
  friend bool operator==(const Candidate&, const Candidate&) = default;
};

/// Whether windows are excluded by lower bounds, so that their matrices are not computed. Never changes a
/// result.
enum class Prune {
  never,
  automatic,  ///< where it pays: the CPU asks so of each block of windows, the GPU of a sample of each pair's
  always      ///< in every block, of every pair
};

/// A recording in the memory of a GPU: [channels, samples], a channel's samples side by side.
struct SignalOnGpu {
  const float* first = nullptr;  ///< null: it is on the host alone
  std::int64_t stride = 0;       ///< to the next channel [samples]
};

struct IndexOptions {
  Run run = {};  ///< devices share the work; of each one's memory at most `memory`, or most of what is free
  Normalization normalization = Normalization::z;
  Prune prune = Prune::automatic;
  /// The signal's samples once more, finished, in the memory of the GPU that is to work: they are copied from
  /// there, not from the host. Not looked at by the CPU, nor after the index was made.
  SignalOnGpu on_gpu = {};
};

/// What the work took since the index was made.
struct Effort {
  std::uint64_t windows = 0;  ///< of all pairs
  std::uint64_t skipped = 0;  ///< of them: touch a missing sample
  std::uint64_t bounded = 0;  ///< of them: excluded by a lower bound
  std::uint64_t cells = 0;    ///< computed of all matrices, abandoned ones included
  double seconds = 0;         ///< wall time in best()
  double device_seconds = 0;  ///< of it in kernels; 0 on the CPU
  std::string choice = {};    ///< what was chosen and why, in a sentence; of the last best()
};

/// A recording made ready to be searched, on the CPU or on a GPU. Holds no copy of the samples on the host.
/// Methods may be called from one thread at a time; they run as its options say. Those of one that was moved
/// from throw BadInput.
class Index {
 public:
  /// @throws BadInput (no channels, channels of unequal length, an option that is no enumerator, memory that
  ///         the GPU does not reach), NoDevice
  explicit Index(Signal signal, const IndexOptions& options = {});
  Index(Index&&) noexcept;
  Index& operator=(Index&&) noexcept;
  ~Index();

  const Signal& signal() const;
  std::int64_t samples() const;  ///< of each channel
  Device device() const;         ///< cpu or cuda; of several the first
  Normalization normalization() const;
  const Run& run() const;  ///< of the options
  const Effort& effort() const;

  /// The distances of a pattern from the windows of a channel that begin at [first, first + count): infinity
  /// where a window touches a missing sample. Single precision: within 1e-4 of dtw_distance (relative), or
  /// 1e-6 where normalised samples are alike; without normalisation if differences are 0 or 1e-18 to 1e18.
  /// @throws BadInput (windows that leave the recording, a pattern that is empty or not finite)
  /// Cost: count * band_cells() cells.
  std::vector<float> profile(const Pattern& pattern, std::int32_t channel, std::int64_t first,
                             std::int64_t count);

  /// The same for single windows, lists of them or one list. One call for many lists costs less than many
  /// calls, on a GPU above all: it computes them in a few launches.
  /// @return in the order of windows, each in the order of its offsets
  /// @throws as profile(), and BadInput where there is no such pattern
  std::vector<std::vector<float>> distances(std::span<const Pattern> patterns,
                                            std::span<const Windows> windows);
  std::vector<float> distances(const Pattern& pattern, std::int32_t channel,
                               std::span<const std::int64_t> offsets);

  /// For each task its best candidates: of all offsets, by (distance, offset), the best; then the best of
  /// those that are more than `exclusion` away from it; and so on, up to `limit` of them and to
  /// `max_distance`. What lower bounds leave out never changes this: with p offsets known that lie more than
  /// twice the zone apart, none that is farther than the worst of them can be chosen.
  ///
  /// An offset at which a pattern's window would leave the recording does not exist for that pattern.
  /// @return in the order of tasks, each in the order of choice
  /// @throws BadInput (a task that names no channel or pattern, limits), OutOfMemory, Interrupted
  std::vector<std::vector<Candidate>> best(std::span<const Pattern> patterns, std::span<const Task> tasks);

  /// The same of several channels at one offset, whose distance is joint_distance(): a window touches a
  /// missing sample if one of its channels does. Tolerance as above; both back ends are within it of each
  /// other.
  /// @throws as above; BadInput (a pattern without channels, or with channels of unequal length)
  /// Cost: a cell costs as many operations as there are channels, and a few more. On the CPU best() leaves
  /// out what lower bounds, added up over the channels, exclude; a GPU computes all.
  std::vector<float> profile(const JointPattern& pattern, std::int64_t first, std::int64_t count);
  std::vector<std::vector<float>> distances(std::span<const JointPattern> patterns,
                                            std::span<const JointWindows> windows);
  std::vector<std::vector<Candidate>> best(std::span<const JointPattern> patterns,
                                           std::span<const JointTask> tasks);

 private:
  friend class Searched;
  struct State;
  State& state() const;
  /// Of all windows of a length, as the back end keeps them from now on; null if it does not.
  const WindowMoments* keep_moments(std::int32_t channel, std::int64_t length);
  std::unique_ptr<State> state_;
};

}  // namespace warploom::search
