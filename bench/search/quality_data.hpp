#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "warploom/search/evaluate.hpp"
#include "warploom/search/match.hpp"

namespace warploom::bench {

/// Samples that own themselves.
using Samples = std::vector<std::vector<float>>;

inline search::Signal signal_of(const Samples& samples) { return {samples.begin(), samples.end()}; }

/// A recording to search, and what somebody saw in it.
struct Annotated {
  std::string name;
  double rate = 1;  ///< [Hz]
  Samples samples;
  std::vector<search::Interval> intervals;  ///< [s]
  std::vector<std::int32_t> sensor_axes;    ///< channels, three a sensor, in order; empty: not such sensors
};

/// An example of what a label means.
struct Example {
  std::string label;
  Samples samples;
  std::string recording;    ///< name of the Annotated that it was cut from, or of another
  search::Interval source;  ///< [s] in it
};

/// What is done on purpose to the channels of a recording that is searched, drawn by `seed`.
enum class Disturbance {
  none,
  switched,  ///< axes of each sensor in another order, with other signs; plantar sensors changed with their
             ///< neighbours
  rotated,   ///< each sensor in another orientation
  lagged,    ///< each channel late by up to an eighth of a second
  missing,   ///< a third of the channels is noise of their own deviation
};
inline constexpr Disturbance kDisturbances[] = {Disturbance::none, Disturbance::switched,
                                                Disturbance::rotated, Disturbance::lagged,
                                                Disturbance::missing};
std::string name(Disturbance disturbance);
/// @param pieces  disturbed anew at each of these samples (a sensor worn by somebody else); may be empty
Annotated disturbed(const Annotated& recording, Disturbance disturbance, std::uint64_t seed);

/// BasicMotions: the 40 series of TEST one after the other in a drawn order, with a missing sample between
/// them, and of each series of TRAIN the middle five seconds.
struct Corpus {
  std::vector<Annotated> recordings;
  std::vector<Example> examples;
};
Corpus basic_motions(const std::string& directory, std::uint64_t seed);

/// Daphnet: walking bouts of three wearers, with sensors at one place: "ankle", "thigh" or "trunk". Walking
/// is what was annotated as no freeze while the ankle's acceleration, whatever is searched, has a deviation
/// of 250 mg and more over two seconds, for five seconds and more. Examples are two seconds long, `count` of
/// each wearer.
Corpus walking(const std::string& directory, const std::string& place, std::int32_t count,
               std::uint64_t seed);

/// Daphnet: episodes of freezing of gait of the wearer who has some, all nine channels; an example of each.
Corpus freezing(const std::string& directory);

/// Plantar force: strides between heel strikes (the left foot's force rising through a fifth of its largest)
/// of eight walkers, one recording each; `count` strides of each are examples, labelled "stride".
Corpus strides(const std::string& directory, std::int32_t count, std::uint64_t seed);

}  // namespace warploom::bench
