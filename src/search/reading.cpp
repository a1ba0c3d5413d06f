#include "warploom/search/reading.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <limits>
#include <optional>
#include <utility>

#include "search/evidence.hpp"
#include "search/plan.hpp"
#include "search/thresholds.hpp"
#include "search/windows.hpp"
#include "warploom/core/error.hpp"
#include "warploom/core/progress.hpp"
#include "warploom/core/threads.hpp"
#include "warploom/search/in_place.hpp"

namespace warploom::search {
namespace {

constexpr std::int64_t kPlaces = 20;    // that readings are fitted to and judged at
constexpr std::int64_t kSampled = 32;   // queries' lengths of the recording that decoys are sent through
constexpr std::int64_t kStretches = 4;  // in so many parts
constexpr double kMargin = 0.05;        // of the logarithm of a gain, beyond that of decoys
constexpr double kFitted = 0.25;        // by which matches have to be nearer in a reading that was fitted
constexpr double kSimpler = 0.02;       // a simpler reading may gain less by this
constexpr std::size_t kFew = 5;         // places by which fits are compared
constexpr int kRounds = 2;              // of fitting and looking again
constexpr double kSays = 0.5;           // deviations by which a channel that says something is nearer
constexpr double kSignificant = 0.05;   // a place that counts
const std::vector<double> kScales = {0.8, 0.8944271909999159, 1, 1.118033988749895, 1.25};

Reading plain_reading(const Query& query) {
  Reading plain;
  plain.channels = plain.places = query.places;
  plain.negated.assign(query.channels.size(), false);
  plain.lags.assign(query.channels.size(), 0);
  return plain;
}

double mean_of(std::span<const double> values) {
  double sum = 0;
  for (const double x : values) sum += x;
  return values.empty() ? 0 : sum / static_cast<double>(values.size());
}

double middle_of(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + std::ssize(values) / 2;
  std::ranges::nth_element(values, middle);
  return *middle;
}

/// Where a query may be, and the logarithm of its distance there.
struct Nearby {
  std::int64_t offset = 0;
  double logarithm = std::numeric_limits<double>::infinity();
};

double logarithm(double distance) { return std::log(std::max(1e-7, distance)); }

/// The nearest `count`, of finite distance, in order of their offsets; of those closer than `exclusion` the
/// nearer.
std::vector<Nearby> nearest(std::vector<Nearby> places, std::int64_t count, std::int64_t exclusion) {
  std::ranges::sort(places, {}, &Nearby::logarithm);
  std::vector<Nearby> kept;
  for (const Nearby& place : places) {
    if (std::ssize(kept) == count || !std::isfinite(place.logarithm)) break;
    if (std::ranges::none_of(
            kept, [&](const Nearby& other) { return std::abs(other.offset - place.offset) <= exclusion; }))
      kept.push_back(place);
  }
  std::ranges::sort(kept, {}, &Nearby::offset);
  return kept;
}

/// A query as rough and as large as another, which is not there: reversed in time, and its channels, or its
/// sensors, `step` farther on.
struct Decoy {
  std::vector<std::vector<float>> samples;
  Query query;
  Decoy(const Query& from, std::size_t step) : query(from) {
    const std::size_t count = from.channels.size();
    for (std::size_t c = 0; c < count; ++c) {
      const std::span<const float> channel = from.channels[(c + step) % count];
      samples.emplace_back(channel.rbegin(), channel.rend());
    }
    query.channels = {samples.begin(), samples.end()};
  }
};

/// Parts of a recording, one after the other, with a missing sample between them.
struct Sample {
  std::vector<std::vector<float>> samples;
  Signal signal;
  Sample(const Signal& from, std::int64_t length) {
    const auto all = std::ssize(from[0]);
    const std::int64_t part = std::max<std::int64_t>(kSampled * length / kStretches, 4 * length);
    for (const std::span<const float> channel : from) {
      std::vector<float>& some = samples.emplace_back();
      if (kStretches * part >= all) {
        some.assign(channel.begin(), channel.end());
        continue;
      }
      for (std::int64_t k = 0; k < kStretches; ++k) {
        const std::int64_t begin = k * (all - part) / (kStretches - 1);
        some.insert(some.end(), channel.begin() + begin, channel.begin() + begin + part);
        some.push_back(std::numeric_limits<float>::quiet_NaN());
      }
    }
    signal = {samples.begin(), samples.end()};
  }
};

/// A pattern of several channels, for few windows of a recording, which an Index would first look at as a
/// whole: the distance of joint_distance(), warped together, in single precision.
class Interleaved {
 public:
  Interleaved(const JointPattern& pattern, Normalization normalization)
      : length_(pattern.length()),
        channels_(pattern.channels),
        radius_(std::min(pattern.radius, length_ - 1)),
        samples_(length_ * std::ssize(channels_)) {
    const std::int64_t count = std::ssize(channels_);
    for (std::int64_t c = 0; c < count; ++c) {
      const Moments about = moments(pattern.samples[c], normalization);
      for (std::int64_t i = 0; i < length_; ++i)
        samples_[i * count + c] = static_cast<float>(about.normalised(pattern.samples[c][i]));
    }
  }
  std::int64_t length() const { return length_; }

  /// Infinite where a sample is missing.
  double distance(const Signal& signal, std::int64_t offset, Normalization normalization) const {
    constexpr float kFar = std::numeric_limits<float>::infinity();
    const std::int64_t count = std::ssize(channels_);
    std::vector<float> window(samples_.size()), row(length_, kFar);  // D(i - 1, j) right of the cursor
    for (std::int64_t c = 0; c < count; ++c) {
      const std::span<const float> there = signal[channels_[c]].subspan(offset, length_);
      if (!std::ranges::all_of(there, [](float x) { return std::isfinite(x); })) return kFar;
      const Moments about = moments(there, normalization);
      for (std::int64_t i = 0; i < length_; ++i)
        window[i * count + c] = static_cast<float>(about.normalised(there[i]));
    }
    for (std::int64_t i = 0; i < length_; ++i) {
      const std::int64_t first = std::max<std::int64_t>(0, i - radius_);
      const std::int64_t last = std::min(length_ - 1, i + radius_);
      float left = kFar, corner = i == 0 ? 0 : first == 0 ? kFar : row[first - 1];
      for (std::int64_t j = first; j <= last; ++j) {
        const float up = row[j];
        float cost = 0;
        const float *a = &samples_[i * count], *b = &window[j * count];
        for (std::int64_t c = 0; c < count; ++c) cost += (a[c] - b[c]) * (a[c] - b[c]);
        left = std::min({left, up, corner}) + cost;
        corner = i == 0 ? kFar : up;
        row[j] = left;
      }
    }
    return std::sqrt(row.back() / static_cast<float>(samples_.size()));
  }

 private:
  std::int64_t length_;
  std::vector<std::int32_t> channels_;
  std::int64_t radius_;
  std::vector<float> samples_;  // [length][channels], normalised
};

/// A recording and a query as a reading takes them: ready to be searched in place.
class Seen {
 public:
  Seen(Index& index, const Query& query, const Reading& reading, const FindOptions& options)
      : reading_(reading) {
    in_place_.band = options.band;
    in_place_.exclusion = options.exclusion;
    in_place_.scales = reading.stretched ? kScales : options.scales;
    std::vector<std::vector<float>> turned;
    for (const std::span<const float> channel : query.channels)
      turned.emplace_back(channel.begin(), channel.end());
    for (std::size_t s = 0; s < reading.turns.size(); ++s) {
      const std::int32_t axes[] = {options.sensors[s].x, options.sensors[s].y, options.sensors[s].z};
      for (std::int64_t i = 0; i < query.length(); ++i)
        for (int row = 0; row < 3; ++row) {
          double sum = 0;
          for (int column = 0; column < 3; ++column)
            sum += reading.turns[s][3 * row + column] * query.channels[axes[column]][i];
          turned[axes[row]][i] = static_cast<float>(sum);
        }
    }
    earliest_ = std::numeric_limits<std::int64_t>::max();
    std::int64_t latest = std::numeric_limits<std::int64_t>::min();
    for (std::size_t c = 0; c < turned.size(); ++c) {
      if (reading.channels[c] < 0) continue;
      earliest_ = std::min(earliest_, reading.lags[c]);
      latest = std::max(latest, reading.lags[c]);
    }
    shifted_ = latest > earliest_;
    run_ = index.run();
    normalization_ = index.normalization();
    index_ = &index;
    if (!shifted_) signal_ = index.signal();
    query_.label = query.label;
    for (std::size_t c = 0; c < turned.size(); ++c) {
      if (reading.channels[c] < 0) continue;
      if (reading.negated[c])
        for (float& x : turned[c]) x = -x;
      if (shifted_)
        signal_.push_back(index.signal()[reading.channels[c]].subspan(
            reading.lags[c] - earliest_, index.samples() - (latest - earliest_)));
      query_.places.push_back(shifted_ ? static_cast<std::int32_t>(signal_.size() - 1) : reading.channels[c]);
      if (c < query.names.size()) query_.names.push_back(query.names[c]);
      of_query_.push_back(static_cast<std::int32_t>(c));
      samples_.push_back(std::move(turned[c]));
    }
    query_.channels = {samples_.begin(), samples_.end()};
    patterns_ = joint_patterns(query_, in_place_, std::ssize(signal_), normalization_);
    for (const JointPattern& pattern : patterns_) interleaved_.emplace_back(pattern, normalization_);
  }
  Seen(const Seen&) = delete;

  /// The best places, in the time of a reading's lag 0.
  std::vector<Nearby> best(std::int64_t limit) {
    JointTask task;
    task.patterns = static_cast<std::int32_t>(patterns_.size());
    task.limit = limit;
    task.exclusion = samples_of(in_place_.exclusion, query_.length());
    const std::vector<std::vector<Candidate>> found = index().best(patterns_, std::span(&task, 1));
    std::vector<Nearby> places;
    for (const Candidate& one : found[0]) places.push_back({one.offset - earliest_, logarithm(one.distance)});
    return places;
  }

  /// The least distance at each place or up to `steps` times `around` samples beside it; of places where the
  /// query does not fit an infinite one.
  std::vector<Nearby> at(std::span<const Nearby> places, std::int64_t around, std::int64_t steps = 1) {
    std::vector<Nearby> least;
    for (const Nearby& place : places) least.push_back({place.offset});
    // Few windows of a reading that is asked once: an index would look at all of the recording for them.
    parallel_for(std::ssize(places), [&](std::int64_t k) {
      check_interrupt();
      for (const Interleaved& pattern : interleaved_) {
        for (std::int64_t step = -steps; step <= steps; ++step) {
          const std::int64_t offset = places[k].offset + step * around + earliest_;
          if (offset < 0 || offset + pattern.length() > samples_of_signal()) continue;
          if (const double x = logarithm(pattern.distance(signal_, offset, normalization_));
              x < least[k].logarithm)
            least[k] = {offset - earliest_, x};
        }
      }
    });
    return least;
  }

  /// The logarithm of the usual distance: the median over evenly spaced windows.
  double usual() {
    constexpr std::int64_t kMany = 128;
    const std::int64_t last = samples_of_signal() - longest();
    std::vector<Nearby> places;
    for (std::int64_t k = 0; k < kMany; ++k) places.push_back({k * last / (kMany - 1) - earliest_});
    std::vector<double> all;
    for (const Nearby& place : at(places, 0, 0))
      if (std::isfinite(place.logarithm)) all.push_back(place.logarithm);
    return middle_of(std::move(all));
  }

  /// The least logarithm in each zone.
  std::vector<double> minima() {
    const std::int64_t zone = samples_of(in_place_.exclusion, query_.length()) + 1;
    const std::int64_t windows = samples_of_signal() - longest() + 1;
    std::vector<double> least((windows + zone - 1) / zone, std::numeric_limits<double>::infinity());
    for (const JointPattern& pattern : patterns_) {
      const std::vector<float> profile = index().profile(pattern, 0, windows);
      for (std::int64_t w = 0; w < windows; ++w)
        least[w / zone] = std::min(least[w / zone], logarithm(profile[w]));
    }
    std::erase_if(least, [](double x) { return !std::isfinite(x); });
    return least;
  }

  /// Logarithms of distances of one of the reading's channels.
  std::vector<double> of_channel(std::size_t channel, std::span<const Nearby> places) {
    const Interleaved pattern({{samples_[channel]}, {query_.places[channel]}, patterns_[0].radius},
                              normalization_);
    std::vector<double> all;
    for (const Nearby& place : places) {
      const std::int64_t at = place.offset + earliest_;
      if (at < 0 || at + pattern.length() > samples_of_signal()) continue;
      const double x = pattern.distance(signal_, at, normalization_);
      if (std::isfinite(x)) all.push_back(logarithm(x));
    }
    return all;
  }

  const std::vector<std::int32_t>& of_query() const { return of_query_; }
  std::int64_t last_place() const { return samples_of_signal() - longest() - earliest_; }

  /// As find_in_place(), of the whole query.
  std::vector<Match> matches(const Query& whole, const FindOptions& options) {
    InPlaceOptions in_place = in_place_;
    in_place.limit = options.limit;
    in_place.max_distance = options.max_distance;
    std::vector<Match> found = find_in_place(index(), query_, in_place);
    for (Match& match : found) {
      match.channels = static_cast<std::int32_t>(whole.channels.size());
      match.first = std::numeric_limits<std::int64_t>::max();
      match.last = 0;
      std::int64_t covered = 0;
      for (Pair& pair : match.pairs) {
        pair.query_channel = of_query_[pair.query_channel];
        pair.channel = reading_.channels[pair.query_channel];
        pair.switched = pair.channel != whole.places[pair.query_channel];
        pair.negated = reading_.negated[pair.query_channel];
        pair.offset += reading_.lags[pair.query_channel] - earliest_;
        pair.begin += reading_.lags[pair.query_channel] - earliest_;
        match.first = std::min(match.first, pair.offset);
        match.last = std::max(match.last, pair.begin + pair.length);
        covered += pair.coverage;
      }
      match.coverage = static_cast<double>(covered) / static_cast<double>(whole.length() * match.channels);
    }
    return found;
  }

 private:
  std::int64_t samples_of_signal() const { return std::ssize(signal_[0]); }

  /// Made when it is first needed, where channels are shifted against each other.
  Index& index() {
    if (!shifted_) return *index_;
    if (!own_) {
      IndexOptions same;
      same.run = run_;
      same.normalization = normalization_;
      own_.emplace(signal_, same);
    }
    return *own_;
  }

  std::int64_t longest() const {
    std::int64_t longest = 0;
    for (const JointPattern& pattern : patterns_) longest = std::max(longest, pattern.length());
    return longest;
  }

  const Reading reading_;
  InPlaceOptions in_place_;
  std::int64_t earliest_ = 0;
  std::vector<std::vector<float>> samples_;
  std::vector<std::int32_t> of_query_;  // [of the reading's channels]
  Query query_;
  bool shifted_ = false;
  Signal signal_;  // as the reading's channels are numbered
  Run run_;
  Normalization normalization_ = Normalization::z;
  std::optional<Index> own_;
  Index* index_ = nullptr;
  std::vector<JointPattern> patterns_;
  std::vector<Interleaved> interleaved_;
};

std::vector<std::int64_t> offsets_of(std::span<const Nearby> places) {
  std::vector<std::int64_t> offsets;
  for (const Nearby& one : places) offsets.push_back(one.offset);
  return offsets;
}

/// How often places as near as one come by chance: of decoys' minima over zones, taken as normal in their
/// logarithms.
class Chance {
 public:
  /// The lower half counts, and of its quantiles the one that tells of the widest spread: recordings that
  /// rest and move have more than one kind of zone.
  Chance(std::vector<double> minima, double zones) : zones_(zones) {
    std::ranges::sort(minima);
    const auto count = std::ssize(minima);
    if (count < 4) return;
    middle_ = minima[count / 2];
    for (std::int64_t k = 0; k <= count / 3; ++k) {
      const double quantile = normal_quantile((static_cast<double>(k) + 0.5) / static_cast<double>(count));
      deviation_ = std::max(deviation_, (minima[k] - middle_) / quantile);
    }
  }
  /// To be expected among all zones.
  double operator()(double logarithm) const {
    if (!(deviation_ > 0)) return zones_;
    return zones_ * std::erfc((middle_ - logarithm) / deviation_ / std::sqrt(2)) / 2;
  }
  /// The logarithm below which fewer are to be expected.
  double below(double expected) const { return middle_ + deviation_ * normal_quantile(expected / zones_); }

 private:
  double zones_, middle_ = 0, deviation_ = 0;
};

/// Whether sensors are turned so that axes merely changed places and signs, within 20 degrees: that is what
/// switched channels are for.
bool exchanged(const Reading& reading) {
  constexpr double kNear = 0.94;  // cos 20 degrees
  for (const std::array<double, 9>& turn : reading.turns)
    for (int row = 0; row < 3; ++row)
      if (std::max({std::abs(turn[3 * row]), std::abs(turn[3 * row + 1]), std::abs(turn[3 * row + 2])}) <
          kNear)
        return false;
  return true;
}

/// A query in a recording, of which readings compete. Distances of different readings are compared by their
/// logarithms less those that decoys usually have in the reading.
class Competition {
 public:
  struct Entry {
    Reading reading;
    std::vector<double> there = {};  ///< logarithms at its places less what is usual, ascending
  };

  /// @param sample, decoys  what is searched for where, to know what is usual
  Competition(Index& index, const Query& query, const FindOptions& options, Index& sample,
              std::span<const Query> decoys)
      : index_(index),
        query_(query),
        options_(options),
        sample_(sample),
        decoys_(decoys),
        plain_(plain_reading(query)),
        exclusion_(samples_of(options.exclusion, query.length())) {
    places_ = Seen(index_, query_, plain_, options_).best(kPlaces);
    usual_ = usual_of(plain_);
    Chance chance = chance_of(plain_);
    significant_below_ = chance.below(kSignificant) - usual_;
  }

  const Reading& plain() const { return plain_; }
  bool empty() const { return places_.size() < 2; }

  /// The logarithm that decoys usually have in a reading.
  double usual_of(const Reading& reading) { return Seen(sample_, decoys_[0], reading, options_).usual(); }

  /// How often places come by chance in a reading.
  Chance chance_of(const Reading& reading) {
    std::vector<double> minima;
    for (const Query& decoy : decoys_) {
      const std::vector<double> some = Seen(sample_, decoy, reading, options_).minima();
      minima.insert(minima.end(), some.begin(), some.end());
    }
    return Chance(std::move(minima),
                  static_cast<double>(index_.samples()) / static_cast<double>(exclusion_ + 1));
  }

  /// Lagged, switched, both, rotated. @param more  other places at which the query may be
  std::vector<Entry> run(const std::vector<std::int64_t>& more) {
    std::vector<Entry> entries;
    const std::int64_t lag = std::min(samples_of(options_.max_lag, query_.length()), query_.length()) / 2;
    std::vector<Nearby> pool = places_;
    for (const std::int64_t offset : more) pool.push_back({offset});
    std::optional<Orientations> orientations;
    std::vector<std::int64_t> turned_places;
    if (!options_.sensors.empty()) {
      orientations.emplace(index_.signal(), query_, options_.sensors);
      turned_places = orientations->places(kPlaces, exclusion_);
      for (const std::int64_t offset : turned_places) pool.push_back({offset});
    }
    Evidence evidence(index_.signal(), query_, options_, lag);
    std::vector<Nearby> best;
    double least = std::numeric_limits<double>::infinity(), usual_there = 0;
    for (std::vector<std::int64_t> offsets : {more, offsets_of(places_), turned_places})
      for (int round = 0; round < kRounds && offsets.size() >= 2; ++round) {
        std::ranges::sort(offsets);
        evidence.look(offsets);
        const Reading reading = evidence.fit({true, true}, true, true);
        const std::vector<Nearby> places =
            nearest(Seen(index_, query_, reading, options_).at(pool, around()), kPlaces, exclusion_);
        offsets = offsets_of(places);
        const double usual = usual_of(reading);
        std::vector<double> few = relative(places, usual);  // there may be few
        few.resize(std::min<std::size_t>(few.size(), kFew));
        const double value = mean_of(few);
        if (value < least) {
          least = value;
          usual_there = usual;
          best = places;
        }
      }
    best = that_count(std::move(best), usual_there);
    if (best.size() >= 2) {
      evidence.look(offsets_of(best));
      for (const Freedom freedom : {Freedom{false, true}, Freedom{true, false}, Freedom{true, true}}) {
        const Reading whole = evidence.fit(freedom, true, true);
        if (!whole.in_place())
          add(entries, whole, best, [&](bool fold0) { return evidence.fit(freedom, fold0, !fold0); });
      }
    }
    if (orientations) {
      const auto turned = [&](std::span<const std::int64_t> some) {
        Reading reading = plain_;
        reading.turns = orientations->fit(some);
        return reading;
      };
      if (turned_places.size() >= 2) {
        const Reading first = turned(turned_places);
        const std::vector<Nearby> places =
            that_count(nearest(Seen(index_, query_, first, options_).at(pool, around()), kPlaces, exclusion_),
                       usual_of(first));
        const std::vector<std::int64_t> there = offsets_of(places);
        const std::size_t half = there.size() / 2;
        if (half > 0 && !exchanged(turned(there)))
          add(entries, turned(there), places, [&](bool fold0) {
            return turned(fold0 ? std::span(there).first(half) : std::span(there).subspan(half));
          });
      }
    }
    return entries;
  }

  /// What leaving out channels that say nothing, and other lengths, gain beyond a reading.
  /// @param best  its places
  std::vector<Entry> extend(const Reading& reading, std::vector<Nearby> best) {
    std::vector<Entry> entries;
    if (best.size() < 2) return entries;
    best = that_count(std::move(best), usual_of(reading));
    std::ranges::sort(best, {}, &Nearby::offset);
    const std::size_t half = best.size() / 2;
    Seen seen(index_, query_, reading, options_);
    std::vector<Nearby> evenly;
    constexpr std::int64_t kMany = 128;
    for (std::int64_t k = 0; k < kMany; ++k) evenly.push_back({k * seen.last_place() / (kMany - 1)});
    const auto less = [&](std::span<const Nearby> some) {
      Reading left = reading;
      std::size_t out = 0;
      for (std::size_t c = 0; c < seen.of_query().size(); ++c) {
        const std::vector<double> there = seen.of_channel(c, some), elsewhere = seen.of_channel(c, evenly);
        const double usual = mean_of(elsewhere);
        double squares = 0;
        for (const double x : elsewhere) squares += (x - usual) * (x - usual);
        const double deviation =
            std::sqrt(squares / static_cast<double>(std::max<std::size_t>(1, elsewhere.size())));
        if (usual - mean_of(there) < kSays * deviation) {
          left.channels[seen.of_query()[c]] = -1;
          ++out;
        }
      }
      return out == seen.of_query().size() ? reading : left;
    };
    if (const Reading left = less(best); left.missing())
      add(entries, left, best, [&](bool fold0) {
        return less(fold0 ? std::span<const Nearby>(best).first(half)
                          : std::span<const Nearby>(best).subspan(half));
      });
    if (options_.scales.size() == 1) {
      Reading other = reading;
      other.stretched = true;
      add(entries, other, best, [&](bool) { return other; });
    }
    return entries;
  }

  /// A reading at its places, to all of which it was fitted.
  Entry fitted(const Reading& reading, std::span<const Nearby> places) {
    return {reading,
            relative(Seen(index_, query_, reading, options_).at(places, around()), usual_of(reading))};
  }

  /// Of the places of a reading, those so near that they count; of the plain one without an entry.
  std::int64_t significant(const Entry* entry = nullptr) const {
    const std::vector<double> plain = relative(places_, usual_);
    return std::ranges::count_if(entry ? entry->there : plain,
                                 [&](double x) { return x <= significant_below_; });
  }

  /// By how much the best `count` places are nearer than those of the plain reading: logarithm.
  double gain(const Entry& entry, std::int64_t count) const {
    const std::vector<double> plain = relative(places_, usual_);
    count = std::min({count, std::ssize(entry.there), std::ssize(plain)});
    return count == 0 ? 0
                      : mean_of(std::span(plain).first(count)) - mean_of(std::span(entry.there).first(count));
  }

  std::vector<Nearby> places_of(const Reading& reading) {
    return reading.in_place() ? places_ : Seen(index_, query_, reading, options_).best(kPlaces);
  }

 private:
  std::int64_t around() const { return std::max<std::int64_t>(1, query_.length() / 50); }

  /// @param places  in order; @param fit  a reading fitted to the first half of them, or to the second, which
  ///        is judged at the other
  template <typename Fit>
  void add(std::vector<Entry>& entries, const Reading& whole, std::span<const Nearby> places, Fit fit) {
    const std::size_t half = places.size() / 2;
    // A longer window that fits begins earlier.
    const std::int64_t by = whole.stretched ? std::max<std::int64_t>(1, query_.length() / 32) : around();
    const std::int64_t steps = whole.stretched ? 4 : 1;
    std::vector<Nearby> judged = Seen(index_, query_, fit(false), options_).at(places.first(half), by, steps);
    const std::vector<Nearby> rest =
        Seen(index_, query_, fit(true), options_).at(places.subspan(half), by, steps);
    judged.insert(judged.end(), rest.begin(), rest.end());
    entries.push_back({whole, relative(judged, usual_of(whole))});
  }

  /// Of places of a reading those that are significant; all, if there are too few to fit to.
  std::vector<Nearby> that_count(std::vector<Nearby> places, double usual) const {
    constexpr std::size_t kFewest = 4;
    std::vector<Nearby> some;
    for (const Nearby& place : places)
      if (place.logarithm - usual <= significant_below_) some.push_back(place);
    return some.size() >= kFewest ? some : places;
  }

  static std::vector<double> relative(std::span<const Nearby> places, double usual) {
    std::vector<double> all;
    for (const Nearby& place : places)
      if (std::isfinite(place.logarithm)) all.push_back(place.logarithm - usual);
    std::ranges::sort(all);
    return all;
  }

  Index& index_;
  const Query& query_;
  const FindOptions& options_;
  Index& sample_;
  std::span<const Query> decoys_;
  Reading plain_;
  std::int64_t exclusion_;
  std::vector<Nearby> places_;  // of the plain reading
  double usual_ = 0;
  double significant_below_ = 0;
};

std::string text_of(const Reading& reading) {
  std::vector<std::string> parts;
  if (reading.switched()) parts.push_back("switched");
  if (reading.rotated()) parts.push_back("rotated");
  if (reading.lagged()) parts.push_back("lagged");
  if (reading.missing()) parts.push_back("missing");
  if (reading.stretched) parts.push_back("stretched");
  return parts.empty() ? "in place" : fmt::format("{}", fmt::join(parts, " and "));
}

const Competition::Entry* of_kind(const std::vector<Competition::Entry>& entries, const std::string& name) {
  for (const Competition::Entry& entry : entries)
    if (text_of(entry.reading) == name) return &entry;
  return nullptr;
}

}  // namespace

bool Reading::switched() const {
  for (std::size_t c = 0; c < channels.size(); ++c)
    if (channels[c] >= 0 && (channels[c] != places[c] || negated[c])) return true;
  return false;
}

bool Reading::lagged() const {
  std::optional<std::int64_t> first;
  for (std::size_t c = 0; c < lags.size(); ++c) {
    if (channels[c] < 0) continue;
    if (first && lags[c] != *first) return true;
    first = lags[c];
  }
  return false;
}

bool Reading::missing() const {
  return std::ranges::any_of(channels, [](std::int32_t c) { return c < 0; });
}

const Tried& FoundAs::chosen() const {
  for (const Tried& one : tried)
    if (one.chosen) return one;
  throw BadInput("no reading was tried");
}

std::vector<SensorAxes> sensors_by_name(const std::vector<std::string>& names) {
  std::vector<SensorAxes> sensors;
  for (std::size_t c = 0; c + 2 < names.size(); ++c) {
    const std::string &x = names[c], &y = names[c + 1], &z = names[c + 2];
    if (x.size() != y.size() || x.size() != z.size()) continue;
    std::size_t differ = 0, at = 0;
    for (std::size_t k = 0; k < x.size(); ++k)
      if (x[k] != y[k] || x[k] != z[k]) {
        ++differ;
        at = k;
      }
    if (differ != 1) continue;
    const std::string axes = {x[at], y[at], z[at]};
    if (axes != "xyz" && axes != "XYZ") continue;
    const auto first = static_cast<std::int32_t>(c);
    sensors.push_back({first, first + 1, first + 2});
    c += 2;
  }
  return sensors;
}

FoundAs find_automatic(Index& index, const Query& query, const FindOptions& asked) {
  FoundAs found;
  FindOptions options = asked;
  options.rotations = 0;
  if (options.sensors.empty()) options.sensors = sensors_by_name(query.names);
  FindOptions free = options;
  free.limit = kPlaces;
  free.max_distance.reset();
  free.alternatives = 1;
  const Found first = find(index, query, free);  // checks query and options
  found.pairs = first.pairs;
  found.candidates = first.candidates;
  // A place: the middle of its pairs' offsets.
  const auto places_of = [&](const Found& some, std::int64_t samples) {
    std::vector<std::int64_t> places;
    for (const Match& match : some.matches) {
      std::vector<std::int64_t> offsets;
      for (const Pair& pair : match.pairs) offsets.push_back(pair.offset);
      std::ranges::nth_element(offsets, offsets.begin() + std::ssize(offsets) / 2);
      places.push_back(std::clamp<std::int64_t>(offsets[offsets.size() / 2], 0, samples - query.length()));
    }
    return places;
  };
  const std::vector<std::int64_t> places = places_of(first, index.samples());

  const Sample sample(index.signal(), query.length());
  IndexOptions same;
  same.run = index.run();
  same.normalization = index.normalization();
  Index sampled(sample.signal, same);
  const Decoy reversed(query, 0), moved(query, options.sensors.empty() || query.channels.size() <= 3 ? 1 : 3);
  const std::vector<Query> decoy_queries = {reversed.query, moved.query};
  Competition competition(index, query, options, sampled, decoy_queries);
  std::deque<Competition> decoys;
  for (const Query& decoy : decoy_queries)
    decoys.emplace_back(sampled, decoy, options, sampled, decoy_queries);

  const auto tried = [&](const Reading& reading, double gain, double price) {
    found.tried.push_back({reading, text_of(reading), std::exp(gain), std::exp(price), false});
  };
  // Where few places are significant, in any reading, the others say nothing.
  const auto count_of = [&](const std::vector<Competition::Entry>& entries) {
    std::int64_t count = competition.significant();
    for (const Competition::Entry& entry : entries) count = std::max(count, competition.significant(&entry));
    return count == 0 ? kPlaces : count;
  };
  tried(competition.plain(), 0, 0);
  std::size_t chosen = 0;
  double gained = 0, paid = 0, surest = -std::numeric_limits<double>::infinity();
  if (!competition.empty() && query.channels.size() > 1) {
    const std::vector<Competition::Entry> entries = competition.run(places);
    std::vector<std::vector<Competition::Entry>> prices;
    for (Competition& decoy : decoys) prices.push_back(decoy.run({}));
    const std::int64_t count = count_of(entries);
    double most = kMargin;
    for (const Competition::Entry& entry : entries) {
      const double gain = competition.gain(entry, count);
      double costs = 0;
      for (std::size_t d = 0; d < decoys.size(); ++d)
        if (const Competition::Entry* price = of_kind(prices[d], text_of(entry.reading)))
          costs = std::max(costs, decoys[d].gain(*price, count));
      tried(entry.reading, gain, costs);
      if (competition.significant(&entry) > 0 && gain - costs >= most + (chosen > 0 ? kSimpler : 0)) {
        chosen = found.tried.size() - 1;
        most = gain - costs;
        gained = gain;
        paid = costs;
        surest = entry.there.front();
      }
    }
  }
  if (!competition.empty()) {
    const Reading base = found.tried[chosen].reading;
    const std::vector<Nearby> best = competition.places_of(base);
    const Competition::Entry before = competition.fitted(base, best);
    const std::vector<Competition::Entry> entries = competition.extend(base, best);
    std::vector<std::vector<Competition::Entry>> prices;
    std::vector<Competition::Entry> prices_before;
    for (Competition& decoy : decoys) {
      const std::vector<Nearby> there = decoy.places_of(decoy.plain());
      prices_before.push_back(decoy.fitted(decoy.plain(), there));
      prices.push_back(decoy.extend(decoy.plain(), there));
    }
    const std::int64_t significant = competition.significant(&before);
    const std::int64_t count = significant < 2 ? kPlaces : significant;
    double most = kMargin;
    for (const Competition::Entry& entry : entries) {
      const double more = competition.gain(entry, count) - competition.gain(before, count);
      double costs = 0;
      for (std::size_t d = 0; d < decoys.size(); ++d)
        if (const Competition::Entry* price =
                of_kind(prices[d], entry.reading.stretched ? "stretched" : "missing"))
          costs = std::max(costs, decoys[d].gain(*price, count) - decoys[d].gain(prices_before[d], count));
      tried(entry.reading, gained + more, paid + costs);
      if (competition.significant(&entry) > 0 && more - costs >= most) {
        most = more - costs;
        chosen = found.tried.size() - 1;
        surest = std::max(surest, entry.there.front());
      }
    }
  }
  found.tried[chosen].chosen = true;

  const Reading& reading = found.tried[chosen].reading;
  Seen seen(index, query, reading, options);
  found.matches = seen.matches(query, asked);
  const Chance chance = competition.chance_of(reading);
  // A reading that was fitted is no surer than at places to which it was not fitted, and a recording that
  // repeats itself has more of these than are independent: hence kFitted.
  const double fitted =
      reading.switched() || reading.lagged() || reading.rotated() || reading.missing() ? kFitted : 0;
  for (Match& match : found.matches)
    match.chance = std::min(1.0, static_cast<double>(found.tried.size()) *
                                     chance(fitted + std::max(logarithm(match.distance),
                                                              surest + competition.usual_of(reading))));
  const std::int64_t earliest = *std::ranges::min_element(reading.lags);
  for (Tried& one : found.tried)
    if (one.chosen)
      for (std::int64_t& lag : one.reading.lags) lag -= earliest;
  return found;
}

}  // namespace warploom::search
