#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "warploom/io/recording.hpp"

namespace warploom::signal {

struct PrepareOptions {
  std::optional<double> resample = {};        ///< to this rate [Hz]; else to the highest of the channels
  std::optional<double> low = {}, high = {};  ///< corners that frequencies are kept between [Hz]
  bool detrend = false;
};

/// Makes a recording what a search compares: channels of one rate, by resample(), and of one length, that of
/// the shortest; then filter() and detrend() where they are asked for.
/// @param name  for messages, which write options as `rate`: a front end may put its own names there
/// @throws BadInput (no channels, no samples, a rate that is needed and not known; as resample() and
/// filter()),
///         Interrupted
void prepare(io::Recording& recording, const PrepareOptions& options, const std::string& name);

/// The same of a recording that is read. @throws as io::read_recording() and prepare()
io::Recording read_prepared(const std::filesystem::path& path, const io::RecordingOptions& reading,
                            const PrepareOptions& options);

/// The samples of [from, to), times in seconds or, where no rate is known, samples, each end rounded to the
/// nearest; with the annotations that begin there, by the part's time.
/// @param recording  prepared
/// @param what       for messages: "walk.csv: the query"
/// @throws BadInput (no channels, or of several lengths or rates; from before the recording or at its end, to
///         more than half a sample behind that)
io::Recording cut(const io::Recording& recording, double from, double to, const std::string& what);
/// The same where the samples lie elsewhere.
/// @param values  [channels], in place of the channels' own
io::Recording cut(const io::Recording& recording, std::span<const std::span<const float>> values, double from,
                  double to, const std::string& what);

/// A channel's name; of the third that has none "channel 3".
std::string channel_name(const std::string& name, std::size_t index);
/// Of all channels.
std::vector<std::string> channel_names(const io::Recording& recording);
/// "3 channels (x, y, z)", after twelve cut off.
std::string channels_text(const std::vector<std::string>& names);

/// A channel by name or number from 1: its index. @throws BadInput saying `what` is wrong and which there are
std::int32_t find_channel(const std::string& word, const std::vector<std::string>& names,
                          const std::string& what);

/// Which channels stand beside which, from text: a line a channel and those beside it, names or numbers from
/// 1, separated by commas; '#' begins a comment.
/// @return [names] ascending, each channel's own among them
/// @throws BadInput as find_channel(), naming file and line
std::vector<std::vector<std::int32_t>> parse_adjacency(std::string_view text, const std::string& file,
                                                       const std::vector<std::string>& names);

}  // namespace warploom::signal
