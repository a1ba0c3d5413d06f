#pragma once

#include <string>

#include "warploom/search/page.hpp"

namespace warploom::search {

/// Places and lengths of a recording in words: seconds where its rate is known, else samples.
class TimeText {
 public:
  explicit TimeText(const io::Recording& recording);

  std::string place(
      std::int64_t sample) const;  ///< "12.40 s", of long recordings "1:02:03.45 h", "sample 1,240"
  std::string duration(std::int64_t samples) const;  ///< "0.12 s", "12 samples"
  std::int64_t samples(double seconds) const;

 private:
  double rate_;
  bool timed_;
  int digits_;  // of seconds, which tell neighbouring samples apart
  enum class Clock { seconds, minutes, hours } clock_;
};

/// Of normalised curves to three digits after the point, else to four digits.
std::string distance_text(double distance, Normalization normalization);

/// A name as it may stand in HTML; one that is empty gets a number: "channel 3".
std::string channel_name(const io::Recording& recording, std::int32_t channel);

/// Figures of the first matches, each channel of the query a plot, in which the query's curve lies over the
/// recording's. At most about 500 kB.
std::string match_panels(const SearchPage& page);

/// How many matches have a panel.
std::int64_t matches_with_panels(const SearchPage& page);

}  // namespace warploom::search
