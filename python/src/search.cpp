#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <tuple>
#include <utility>

#include "arrays.hpp"
#include "module.hpp"
#include "warploom/core/error.hpp"
#include "warploom/search/distance_matrix.hpp"
#include "warploom/search/in_place.hpp"
#include "warploom/search/recordings.hpp"
#include "warploom/signal/prepare.hpp"

namespace warploom::python {
namespace {

using View3 = Strided<const float, nb::ndim<3>>;

search::Normalization normalization_of(bool normalize) {
  return normalize ? search::Normalization::z : search::Normalization::none;
}

search::StridedSequences sequences_of(const View3& array) {
  search::StridedSequences all;
  all.first = array.data();
  for (std::size_t axis = 0; axis < 3; ++axis) {
    all.shape[axis] = static_cast<std::int64_t>(array.shape(axis));
    all.strides[axis] = array.stride(axis);
  }
  return all;
}

void distance_matrix(View3 x, View3 y, View2<float> out, double band, bool normalize, bool each,
                     const Asked& asked) {
  const search::StridedSequences a = sequences_of(x), b = sequences_of(y);
  search::DistanceMatrixOptions options{.radius = search::band_radius(band, a.shape[2]),
                                        .normalization = normalization_of(normalize),
                                        .warping = each ? search::Warping::each : search::Warping::together};
  const double cells = static_cast<double>(search::band_cells(a.shape[2], options.radius)) *
                       static_cast<double>(a.shape[0] * b.shape[0] * a.shape[1]);
  run_work(asked, length_of(cells / 1e9 + 1e-6), [&](const Run& run) {
    options.run = run;
    search::distance_matrix(a, b, {out.data(), out.shape(0), out.shape(1)}, options);
  });
}

search::MatchBy parse_match(const std::string& text) {
  using search::MatchBy;
  if (text == "auto") return MatchBy::automatic;
  if (text == "in-place") return MatchBy::in_place;
  if (text == "free") return MatchBy::free;
  throw BadInput("match: '" + text + "' is none of auto, in-place and free");
}

/// What is looked for: samples as a recording's are, or a stretch of the recording itself [s].
using Stretch = std::pair<double, double>;

/// [channels, samples], a channel's samples side by side.
using Samples = Strided<const float, nb::ndim<2>>;

search::Signal signal_of(const Samples& samples) {
  if (samples.shape(1) > 1 && samples.stride(1) != 1)
    throw Internal("a channel's samples do not lie side by side");
  search::Signal signal;
  for (std::size_t c = 0; c < samples.shape(0); ++c)
    signal.emplace_back(samples.data() + static_cast<std::int64_t>(c) * samples.stride(0), samples.shape(1));
  return signal;
}

/// A recording as the search takes it: an array's [channels, samples], which is kept and not copied, or read
/// from a file.
class Recorded {
 public:
  /// @param on_gpu  the address of the same samples in a GPU's memory, or 0; @param stride  from channel to
  /// channel there [samples]. They have to stay as long as this is asked for what is found
  Recorded(const Samples& samples, const std::vector<std::string>& names, std::optional<double> rate,
           const std::string& name, std::uintptr_t on_gpu, std::int64_t stride)
      : file_(name), array_(samples), on_gpu_{reinterpret_cast<const float*>(on_gpu), stride} {
    if (!names.empty() && names.size() != samples.shape(0))
      throw BadInput("channels: " + std::to_string(names.size()) + " names for " +
                     std::to_string(samples.shape(0)) + " channels");
    recording_.name = file_;
    recording_.timed = rate.has_value();
    // What is wrong with the whole is wrong with its first sample.
    for (const std::span<const float> channel : signal_of(samples))
      recording_.channels.push_back({names.empty() ? "" : names[recording_.channels.size()],
                                     "",
                                     rate.value_or(1),
                                     {channel.begin(), std::min(channel.begin() + 1, channel.end())}});
    signal::prepare(recording_, {}, file_);
    for (io::Channel& channel : recording_.channels) channel.samples = {};
  }
  Recorded(const std::string& path, std::optional<double> rate)
      : file_(io::recording_file(path).string()),
        recording_(signal::read_prepared(file_, {.rate = rate}, {})) {}

  /// Matches, best first, remarks, names of the recording's channels, and what channels of the query were
  /// multiplied by. @param query  another recording, all of it
  auto find(const Recorded* query, std::optional<Stretch> stretch, std::int64_t best, double band,
            double exclusion, double max_lag, std::int32_t neighbours, const std::vector<double>& scales,
            bool negated, std::int32_t segments, std::optional<double> max_distance, double significance,
            bool only_significant, const std::string& match, bool normalize, std::optional<double> gain,
            const Asked& asked) {
    search::SearchOptions options;
    options.normalization = normalization_of(normalize);
    options.match = parse_match(match);
    options.only_significant = only_significant;
    options.on_gpu = on_gpu_;
    options.gain = gain;
    search::FindOptions& find = options.find;
    find.limit = best;
    find.band = band;
    find.exclusion = exclusion;
    find.max_lag = max_lag;
    find.neighbours = neighbours;
    find.scales = scales;
    find.negated = negated;
    find.segments = segments;
    find.max_distance = max_distance;
    find.significance = significance;
    const search::SearchResult result = run_asked(asked, Length::long_, [&](const Run& run) {
      options.run = run;
      const RunScope scope(run);
      const Recorded& from = query != nullptr ? *query : *this;
      const auto [begin, end] = stretch.value_or(Stretch{0, from.seconds()});
      const std::vector queries{search::query_of_range(from.recording_, from.signal(), from.file_,
                                                       io::recording_stem(from.file_), begin, end)};
      io::Recording searched{.name = recording_.name, .timed = recording_.timed, .begin = recording_.begin};
      for (const io::Channel& channel : recording_.channels)  // whose rate may become the query's
        searched.channels.push_back({channel.name, channel.unit, channel.rate, {}});
      return search::search_recording(searched, signal(), file_, queries, options);
    });
    using Pair =
        std::tuple<std::int32_t, std::int32_t, std::int64_t, std::int64_t, double, double, bool, bool>;
    using Match = std::tuple<double, double, std::int64_t, std::int64_t, std::int32_t, std::int32_t, double,
                             double, std::optional<double>, bool, std::vector<Pair>>;
    std::vector<Match> matches;
    for (const search::Hit& hit : result.hits) {
      const search::Match& m = hit.match;
      std::vector<Pair> pairs;
      for (const search::Pair& p : m.pairs)
        pairs.emplace_back(p.query_channel, p.channel, p.offset, p.length, p.distance, p.scale, p.switched,
                           p.negated);
      matches.emplace_back(hit.onset, hit.duration, m.boundaries().first, m.boundaries().last, m.matched,
                           m.channels, m.coverage, m.distance, m.chance, hit.self, std::move(pairs));
    }
    const std::vector<double> gains = result.gains.empty() ? std::vector<double>{} : result.gains[0];
    return std::tuple(std::move(matches), result.remarks, result.channels, gains);
  }

  std::vector<std::string> channels() const { return signal::channel_names(recording_); }
  std::optional<double> rate() const {
    if (!recording_.timed || recording_.channels.empty()) return std::nullopt;
    return recording_.channels[0].rate;
  }
  /// [channels, samples]
  Array<float> samples() const {
    std::vector<float> all;
    const search::Signal channels = signal();
    for (const std::span<const float> channel : channels)
      all.insert(all.end(), channel.begin(), channel.end());
    return array_of<float, float>(std::move(all),
                                  {channels.size(), channels.empty() ? 0 : channels[0].size()});
  }
  std::vector<std::tuple<double, double, std::string>> annotations() const {
    std::vector<std::tuple<double, double, std::string>> all;
    for (const io::Annotation& a : recording_.annotations) all.emplace_back(a.onset, a.duration, a.label);
    return all;
  }

 private:
  search::Signal signal() const {
    if (array_) return signal_of(*array_);
    search::Signal all;
    for (const io::Channel& channel : recording_.channels) all.emplace_back(channel.samples);
    return all;
  }
  double seconds() const {
    return array_ ? static_cast<double>(array_->shape(1)) / recording_.channels[0].rate
                  : recording_.seconds();
  }

  std::string file_;
  std::optional<Samples> array_ = {};
  search::SignalOnGpu on_gpu_ = {};
  io::Recording recording_ = {};  // of an array without the samples
};

/// The distance of the query at each offset, each channel in its own.
void profile(const Samples& recording, const Samples& query, View1<float> out, double band, bool normalize,
             bool each, const Asked& asked) {
  const std::int64_t length = static_cast<std::int64_t>(query.shape(1)),
                     count = static_cast<std::int64_t>(out.size());
  if (query.shape(0) != recording.shape(0))
    throw BadInput("query: " + std::to_string(query.shape(0)) + " channels, and the recording has " +
                   std::to_string(recording.shape(0)));
  const double cells = static_cast<double>(search::band_cells(length, search::band_radius(band, length))) *
                       static_cast<double>(count) * static_cast<double>(query.shape(0));
  run_work(asked, length_of(cells / 1e9 + 1e-6), [&](const Run& run) {
    search::Query looked{.channels = signal_of(query)};
    for (std::size_t c = 0; c < query.shape(0); ++c) looked.places.push_back(static_cast<std::int32_t>(c));
    const search::Normalization how = normalization_of(normalize);
    const auto patterns = search::joint_patterns(
        looked, {.band = band, .warping = each ? search::Warping::each : search::Warping::together},
        static_cast<std::int64_t>(recording.shape(0)), how);
    search::Index index(signal_of(recording), {.run = run, .normalization = how});
    const std::vector<float> distances = index.profile(patterns.at(0), 0, count);
    std::copy(distances.begin(), distances.end(), out.data());
  });
}

}  // namespace

void bind_search(nb::module_& module) {
  module.def("distance_matrix", &distance_matrix, nb::arg("x").noconvert(), nb::arg("y").noconvert(),
             nb::arg("out").noconvert(), nb::arg("band"), nb::arg("normalize"), nb::arg("each"),
             nb::arg("asked"));
  module.def("profile", &profile, nb::arg("recording").noconvert(), nb::arg("query").noconvert(),
             nb::arg("out").noconvert(), nb::arg("band"), nb::arg("normalize"), nb::arg("each"),
             nb::arg("asked"));
  nb::class_<Recorded>(module, "Recorded")
      .def(nb::init<const Samples&, const std::vector<std::string>&, std::optional<double>,
                    const std::string&, std::uintptr_t, std::int64_t>(),
           nb::arg("samples").noconvert(), nb::arg("names"), nb::arg("rate").none(), nb::arg("name"),
           nb::arg("on_gpu"), nb::arg("stride"))
      .def(nb::init<const std::string&, std::optional<double>>(), nb::arg("path"), nb::arg("rate").none())
      .def("find", &Recorded::find, nb::arg("query").none(), nb::arg("stretch").none(), nb::arg("best"),
           nb::arg("band"), nb::arg("exclusion"), nb::arg("max_lag"), nb::arg("neighbours"),
           nb::arg("scales"), nb::arg("negated"), nb::arg("segments"), nb::arg("max_distance").none(),
           nb::arg("significance"), nb::arg("only_significant"), nb::arg("match"), nb::arg("normalize"),
           nb::arg("gain").none(), nb::arg("asked"))
      .def("channels", &Recorded::channels)
      .def("rate", &Recorded::rate)
      .def("samples", &Recorded::samples)
      .def("annotations", &Recorded::annotations);
}

}  // namespace warploom::python
