#include "warploom/search/reading.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <utility>

#include "search/competition.hpp"
#include "search/gains.hpp"
#include "search/own_places.hpp"
#include "search/plan.hpp"
#include "search/thirds.hpp"
#include "search/turned.hpp"
#include "warploom/core/error.hpp"
#include "warploom/core/run.hpp"

namespace warploom::search {
namespace {

constexpr double kMargin = 0.1;        // what speaks for a reading, beyond that of decoys
constexpr double kLonger = 0.05;       // of the logarithm of a gain: for other lengths
constexpr double kFitted = 0.25;       // by which matches have to be nearer in a reading that was fitted
constexpr double kSimpler = 0.1;       // a simpler reading may gain less by this
constexpr double kLess = 0.25;         // one that leaves out channels, more than one that explains them
constexpr double kOwn = 0.5;           // of the same, for matches with readings of their own
constexpr double kLevels = 0.75;       // of how much levels are more alike, in that
constexpr double kSignificant = 0.05;  // a place that counts
// Lengths of the query that decoys are sent through, and to which readings are fitted at most; in so many
// parts.
constexpr std::int64_t kSampled = 32, kStretches = 4, kSeen = 4096, kSeenStretches = 64;

/// What has to speak for a reading, before its price: what is gained by chance is a mean over channels.
double enough_for(std::size_t channels) { return 0.3 / std::sqrt(static_cast<double>(channels)); }

/// What has to speak for readings that matches have of their own: the logarithm of how much nearer the best
/// is, and how much levels are more alike. The more channels may choose, the more they gain by chance.
double enough_for_own(std::size_t channels) {
  return kOwn * std::cbrt(std::max(1.0, static_cast<double>(channels) / 3));
}

std::string text_of(const Reading& reading) {
  std::vector<std::string> parts;
  if (reading.switched()) parts.push_back("switched");
  if (reading.rotated()) parts.push_back("rotated");
  if (reading.lagged()) parts.push_back("lagged");
  if (reading.missing()) parts.push_back("missing");
  if (reading.stretched) parts.push_back("stretched");
  if (reading.own) parts.push_back("match by match");
  return parts.empty() ? "in place" : fmt::format("{}", fmt::join(parts, " and "));
}

/// What decoys gain where there is nothing to find, asked only as long as it matters.
class Prices {
 public:
  /// @param minima  null.minima_of() the plain reading
  Prices(const Null& null, std::span<const std::vector<Nearby>> minima, double usual, double below)
      : null_(null), minima_(minima), usual_(usual), below_(below) {}

  /// The most that one of them gains. @param gain  what the query gains; @param needed  what has to be left
  /// of it: once less is left no more are asked; @param gain_of  a decoy's, by a Competition
  template <typename GainOf>
  double most(double gain, double needed, const GainOf& gain_of) {
    double price = 0;
    for (std::size_t d = 0; d < null_.decoys.size() && gain - price >= needed; ++d)
      price = std::max(price, gain_of(decoy(d)));
    return price;
  }

  /// What they gain, their mean. What a decoy gains by the very reading that the query was fitted to speaks
  /// for that one, and is no price.
  template <typename GainOf>
  double usual(const Reading& reading, std::int64_t count, const GainOf& gain_of) {
    double sum = 0;
    for (std::size_t d = 0; d < null_.decoys.size(); ++d) {
      const double gain = gain_of(decoy(d));
      if (gain <= 0) continue;  // what is taken from it, is not asked
      const Competition::Entry there = decoy(d).fitted(reading, best_of(null_.minima_of(reading, d)));
      sum += std::max(0.0, gain - std::max(0.0, decoy(d).gain(there, count)));
    }
    return sum / static_cast<double>(null_.decoys.size());
  }

  /// Made when it is first asked for.
  Competition& decoy(std::size_t d) {
    while (decoys_.size() <= d) {
      const std::size_t next = decoys_.size();
      decoys_.emplace_back(null_.sample, null_.decoys[next], null_.options, null_, best_of(minima_[next]),
                           usual_, below_);
    }
    return decoys_[d];
  }

 private:
  std::vector<Nearby> best_of(const std::vector<Nearby>& minima) const {
    const std::int64_t zone = samples_of(null_.options.exclusion, null_.decoys[0].length());
    return nearest(minima, Competition::kPlaces, zone);
  }

  const Null& null_;
  std::span<const std::vector<Nearby>> minima_;
  double usual_, below_;
  std::deque<Competition> decoys_;
};

/// A query, and options that were checked.
FindOptions checked(const Index& index, const Query& query, const FindOptions& asked) {
  FindOptions options = asked;
  options.rotations = 0;
  check_query(query, std::ssize(index.signal()));
  if (options.sensors.empty()) options.sensors = sensors_by_name(query.names);
  check_options(options, query, std::ssize(index.signal()));
  check_length(query, index.samples());
  return options;
}

IndexOptions same_options(const Index& index) {
  IndexOptions options;
  options.run = index.run();
  options.normalization = index.normalization();
  return options;
}

/// Parts of a recording, or all of it, if it is not longer than these.
struct Part {
  Sample sample;
  std::optional<Index> own;
  Searched searched;
  Part(Index& whole, std::int64_t length, std::int64_t lengths, std::int64_t stretches)
      : sample(whole.signal(), stretches, lengths / stretches * length),
        own(all() ? std::optional<Index>() : Index(sample.signal, same_options(whole))),
        searched(own ? *own : whole, length) {}
  bool all() const { return sample.samples.empty(); }
};

/// Sizes of channels are compared of several, where windows are normalised: else units do not count.
bool sized(const Index& index, const Query& query) {
  return index.normalization() == Normalization::z && query.channels.size() > 1;
}

/// FindOptions::gains, found out where they are 0.
std::vector<double> gains_of(const Part& seen, const Query& query, const FindOptions& options) {
  std::vector<double> gains = options.gains;
  gains.resize(query.channels.size(), 0);
  std::vector<bool> unknown;
  for (const double gain : gains) unknown.push_back(gain == 0);
  if (std::ranges::none_of(unknown, std::identity())) return gains;
  std::vector<double> found(gains.size(), 1);
  if (sized(seen.searched.index(), query)) found = estimated_gains(seen.searched, query, options, unknown);
  for (std::size_t c = 0; c < gains.size(); ++c)
    if (unknown[c]) gains[c] = found[c];
  return gains;
}

/// A query times its gains.
struct Scaled {
  std::vector<std::vector<float>> samples;
  Query query;
  Scaled(const Query& from, std::span<const double> gains) : query(from) {
    if (std::ranges::all_of(gains, [](double gain) { return gain == 1; })) return;
    samples = scaled(from, gains);
    query.channels = {samples.begin(), samples.end()};
  }
  Scaled(const Scaled&) = delete;
};

/// The readings of one recording for one query.
class Choice {
 public:
  Choice(Index& index, const Part& seen, const Query& query, const FindOptions& options)
      : index_(index),
        whole_(seen.all() ? nullptr : new Searched(index)),
        query_(query),
        options_(options),
        plain_(plain_reading(query)),
        few_(index, query.length(), kSampled, kStretches),
        seen_(seen),
        reversed_(query, 0),
        moved_(query, options.sensors.empty() || query.channels.size() <= 3 ? 1 : 3),
        decoys_{reversed_.query, moved_.query},
        null_{few_.searched, decoys_, options},
        usual_(null_.usual_of(plain_)),
        plain_minima_(null_.minima_of(plain_)),
        plain_chance_(plain_minima_, 1),
        price_(null_, plain_minima_, usual_, below_in(few_.searched.index())) {}
  Choice(const Choice&) = delete;

  FoundAs find() {
    for (const std::int32_t place : query_.places)
      found_.pairs += std::ssize(channels_for(place, options_, std::ssize(index_.signal())));
    try_reading(plain_, 0, 0);
    std::vector<Nearby> places = places_of(chosen_);
    if (places.size() >= 2) {
      Competition competition(seen_.searched, query_, options_, null_, places, usual_,
                              below_in(seen_.searched.index()));
      if (query_.channels.size() > 1) choose(competition);
      if (chosen_ > 0) places = places_of(chosen_);
      extend(competition, places);
      if (query_.channels.size() > 1 && seen_.all()) match_by_match(competition);
    }
    search(chosen_);
    tell_matches();
    found_.candidates = std::ssize(found_.matches);
    found_.tried[chosen_].chosen = true;
    std::vector<std::int64_t>& lags = found_.tried[chosen_].reading.lags;
    const std::int64_t earliest = *std::ranges::min_element(lags);
    for (std::int64_t& lag : lags) lag -= earliest;
    return std::move(found_);
  }

 private:
  double zones_in(const Index& index) const {
    const std::int64_t zone = samples_of(options_.exclusion, query_.length()) + 1;
    return static_cast<double>(index.samples()) / static_cast<double>(zone);
  }
  double below_in(const Index& index) const {
    return plain_chance_.among(zones_in(index)).below(kSignificant) - usual_;
  }

  void try_reading(const Reading& reading, double gain, double price) {
    found_.tried.push_back({reading, text_of(reading), std::exp(gain), std::exp(price), false});
  }

  /// Candidates of a reading that was tried, as many as readings are judged at, or more; not of matches' own.
  void search(std::size_t tried) {
    if (searched_by_ == tried) return;
    candidates_.clear();
    if (const Reading& reading = found_.tried[tried].reading; !reading.own) {
      read_.emplace(whole_ ? *whole_ : seen_.searched, query_, reading, options_);
      candidates_ = read_->candidates(std::max(options_.limit, Competition::kPlaces));
    }
    searched_by_ = tried;
  }

  /// Those that are reported: readings of their own, or candidates.
  void tell_matches() {
    const Chances chances = chances_of_chosen();
    const auto wanted = [&](double distance) {
      return std::ssize(found_.matches) < options_.limit &&
             !(options_.max_distance &&
               static_cast<float>(distance) > static_cast<float>(*options_.max_distance));
    };
    const auto tell = [&](Match match) {
      match.chance = chances(match.distance);
      found_.matches.push_back(std::move(match));
    };
    if (found_.tried[chosen_].reading.own) {
      for (const OwnPlace& own : own_) {
        const double distance = std::exp(own.order);
        if (!wanted(distance)) continue;
        Match match = Seen(seen_.searched, query_, own.reading, options_).match_at(query_, own.place);
        match.distance = distance;
        tell(std::move(match));
      }
    } else {
      for (const Candidate& candidate : candidates_)
        if (wanted(candidate.distance)) tell(read_->match_of(query_, candidate));
    }
  }

  /// The best places of a reading that was tried; of a part of the recording, if it is very long.
  std::vector<Nearby> places_of(std::size_t tried) {
    const Reading& reading = found_.tried[tried].reading;
    if (!seen_.all()) return Seen(seen_.searched, query_, reading, options_).best(Competition::kPlaces);
    search(tried);
    std::vector<Nearby> places;
    for (const Candidate& candidate : candidates_)
      if (std::ssize(places) < Competition::kPlaces) places.push_back(read_->place_of(candidate));
    return places;
  }

  /// Lags, channels and signs, orientations, channels that say nothing.
  void choose(Competition& competition) {
    struct Rival {
      Kind kind;
      Competition::Entry entry;
    };
    std::vector<Rival> rivals;
    for (const Kind kind :
         {Kind::lagged, Kind::switched, Kind::switched_and_lagged, Kind::rotated, Kind::missing})
      if (kind != Kind::rotated || !options_.sensors.empty())
        if (std::optional<Competition::Entry> entry = competition.compete(kind))
          rivals.push_back({kind, *std::move(entry)});
    // Where few places are significant, in any reading, the others say nothing.
    std::int64_t count = competition.significant();
    for (const Rival& rival : rivals) count = std::max(count, competition.significant(&rival.entry));
    if (count == 0) count = Competition::kPlaces;
    const double plain_levels = levels(competition, plain_, nearest_offsets(competition.places()));
    double most = kMargin;
    for (const auto& [kind, entry] : rivals) {
      const double gain = competition.gain(entry, count);
      // Channels that are late or missing have the levels that they had.
      const double more = kind == Kind::missing || kind == Kind::lagged
                              ? 0
                              : levels(competition, entry.reading, entry.offsets) - plain_levels;
      const double needed = most + (chosen_ == 0 ? 0 : kind == Kind::missing ? kLess : kSimpler);
      const bool may_win = gain + more >= std::max(needed, enough_for(query_.channels.size()));
      const double price =
          !may_win ? 0 : price_.usual(entry.reading, count, [&, kind = kind](Competition& decoy) {
            const std::optional<Competition::Entry> same_kind = decoy.compete(kind);
            return same_kind ? decoy.gain(*same_kind, count) : 0;
          });
      try_reading(entry.reading, gain, price);
      found_.tried.back().levels = more;
      if (!may_win || gain + more - price < needed) continue;
      chosen_ = found_.tried.size() - 1;
      most = gain + more - price;
      gain_ = gain;
      paid_ = price;
      surest_ = entry.there.front();
    }
  }

  /// How much levels and sizes of channels agree at the nearest places of a reading; 0 where they are not
  /// taken out of windows, and count already.
  double levels(const Competition& competition, const Reading& reading,
                std::span<const std::int64_t> offsets) const {
    constexpr std::size_t kNearest = 10;
    if (index_.normalization() != Normalization::z) return 0;
    return likeness_of_levels(competition.searched(), query_, options_, reading,
                              offsets.first(std::min(kNearest, offsets.size())));
  }

  static std::vector<std::int64_t> nearest_offsets(std::vector<Nearby> places) {
    std::ranges::sort(places, {}, &Nearby::logarithm);
    return offsets_of(places);
  }

  /// Channels that say nothing in a reading, other lengths. @param best  places of the reading that was
  /// chosen
  void extend(const Competition& competition, const std::vector<Nearby>& best) {
    const Reading base = found_.tried[chosen_].reading;
    const Competition::Entry before = competition.fitted(base, best);
    const std::int64_t significant = competition.significant(&before);
    const std::int64_t count = significant < 2 ? Competition::kPlaces : significant;
    double most = kLonger;
    const auto compete = [&](const auto& more_of) {
      const std::optional<Competition::Entry> entry = more_of(competition, base, best);
      if (!entry) return;
      const double more = competition.gain(*entry, count) - competition.gain(before, count);
      const double price = price_.most(more, most, [&](const Competition& decoy) {
        const std::optional<Competition::Entry> same_kind = more_of(decoy, plain_, decoy.places());
        return same_kind
                   ? decoy.gain(*same_kind, count) - decoy.gain(decoy.fitted(plain_, decoy.places()), count)
                   : 0;
      });
      try_reading(entry->reading, gain_ + more, paid_ + price);
      if (competition.significant(&*entry) == 0 || more - price < most) return;
      most = more - price;
      chosen_ = found_.tried.size() - 1;
      surest_ = std::max(surest_, entry->there.front());
    };
    using Places = std::vector<Nearby>;
    if (!base.in_place() && !base.missing())
      compete([](const Competition& some, const Reading& reading, const Places& places) {
        return some.without_silent(reading, places);
      });
    if (options_.scales.size() != 1) return;
    compete([](const Competition& some, const Reading& reading, const Places& places) {
      return std::optional(some.stretched(reading, places));
    });
    if (base.in_place() || !found_.tried[chosen_].reading.stretched) return;
    // A pattern of another length is nearer if its channels may be late, or its sensors turned a little.
    std::vector<Nearby> places = best;
    places.insert(places.end(), competition.places().begin(), competition.places().end());
    const std::int64_t exclusion = samples_of(options_.exclusion, query_.length());
    const Competition::Entry longer =
        competition.stretched(plain_, nearest(std::move(places), 2 * Competition::kPlaces, exclusion));
    const double gain = competition.gain(longer, count);
    try_reading(longer.reading, gain, std::log(found_.tried[chosen_].price) - paid_);
    if (gain + kFitted < std::log(found_.tried[chosen_].nearer)) return;
    chosen_ = found_.tried.size() - 1;
    surest_ = longer.there.front();
  }

  /// Readings that matches have of their own, where they are so much nearer than those of the one that was
  /// chosen, and levels so much more alike, that it explains too little.
  void match_by_match(Competition& competition) {
    const std::int64_t most = std::max(options_.limit, Competition::kPlaces);
    const Correlations& correlations = competition.correlations();
    std::vector<OwnPlace> own = own_places(correlations, seen_.searched, query_, options_, 3 * most);
    if (own.size() < 2) return;
    const Reading& reading = found_.tried[chosen_].reading;
    std::vector<Nearby> nearest_own;
    for (const OwnPlace& one : own) nearest_own.push_back(one.place);
    std::ranges::sort(nearest_own, {}, &Nearby::logarithm);
    if (std::ssize(nearest_own) > Competition::kPlaces) nearest_own.resize(Competition::kPlaces);
    const std::vector<std::int64_t> offsets = offsets_of(nearest_own);
    const double usual = reading.in_place() ? usual_ : null_.usual_of(reading);
    const std::vector<Nearby> places = places_of(chosen_);
    const double best = std::ranges::min_element(places, {}, &Nearby::logarithm)->logarithm;
    const double in_place = std::ranges::min_element(competition.places(), {}, &Nearby::logarithm)->logarithm;
    const double own_best = nearest_own[0].logarithm - usual_;
    const double levels = gain_of_levels(correlations, seen_.searched, query_, options_, reading, offsets);
    if (best - usual - own_best + kLevels * levels <= enough_for_own(query_.channels.size())) return;
    own_ = in_order(std::move(own), correlations, query_, options_,
                    Thirds(correlations, seen_.searched, query_, options_));
    Reading each = plain_;
    each.own = true;
    try_reading(each, in_place - usual_ - own_best, 0);
    found_.tried.back().levels = levels;
    chosen_ = found_.tried.size() - 1;
  }

  /// How many places as near are to be expected by chance, in as many readings as were tried; at most 1.
  struct Chances {
    Chance chance;
    double times, fitted, least;
    double operator()(double distance) const {
      return std::min(1.0, times * chance(fitted + std::max(logarithm_of(distance), least)));
    }
  };

  Chances chances_of_chosen() {
    const Reading& reading = found_.tried[chosen_].reading;
    const auto times = static_cast<double>(found_.tried.size());
    if (reading.own)
      return {Chance(own_minima(), zones_in(index_)), times, 0, -std::numeric_limits<double>::infinity()};
    // A reading that was fitted is no surer than at places to which it was not fitted, and a recording that
    // repeats itself has more of these than are independent: hence kFitted.
    const double fitted =
        reading.switched() || reading.lagged() || reading.rotated() || reading.missing() ? kFitted : 0;
    return {reading.in_place() ? plain_chance_.among(zones_in(index_))
                               : Chance(null_.minima_of(reading), zones_in(index_)),
            times, fitted, surest_ + null_.usual_of(reading)};
  }

  /// [decoys] Their places in readings of their own, one in each zone.
  const std::vector<std::vector<Nearby>>& own_minima() {
    if (!own_minima_.empty()) return own_minima_;
    for (std::size_t d = 0; d < decoys_.size(); ++d) {
      const Query& decoy = decoys_[d];
      const Correlations& correlations = price_.decoy(d).correlations();
      std::vector<Nearby>& minima = own_minima_.emplace_back();
      for (const OwnPlace& own :
           in_order(own_places(correlations, few_.searched, decoy, options_, correlations.windows()),
                    correlations, decoy, options_, Thirds(correlations, few_.searched, decoy, options_))) {
        minima.push_back({own.place.offset, own.order});
      }
    }
    return own_minima_;
  }

  static constexpr std::size_t kNone = std::numeric_limits<std::size_t>::max();

  Index& index_;
  const std::unique_ptr<const Searched> whole_;  // where readings are fitted to a part of it
  const Query& query_;
  const FindOptions& options_;
  const Reading plain_;
  const Part few_;    // that decoys are sent through
  const Part& seen_;  // that readings are fitted to
  Decoy reversed_, moved_;
  std::vector<Query> decoys_;
  Null null_;
  double usual_;  // of the plain reading, and what is least
  std::vector<std::vector<Nearby>> plain_minima_;
  Chance plain_chance_;
  Prices price_;

  FoundAs found_;
  std::size_t chosen_ = 0, searched_by_ = kNone;  // of those tried
  std::optional<Seen> read_;                      // the reading that was searched
  std::vector<Candidate> candidates_;             // its
  std::vector<OwnPlace> own_;
  std::vector<std::vector<Nearby>> own_minima_;  // of decoys
  double gain_ = 0, paid_ = 0, surest_ = -std::numeric_limits<double>::infinity();
};

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

FoundAs find_automatic(Index& index, const Query& asked_for, const FindOptions& asked) {
  const RunScope scope(index.run());
  const FindOptions options = checked(index, asked_for, asked);
  const Part seen(index, asked_for.length(), kSeen, kSeenStretches);
  const std::vector<double> gains = gains_of(seen, asked_for, options);
  const Scaled in_units(asked_for, gains);
  FoundAs found = Choice(index, seen, in_units.query, options).find();
  found.gains = gains;
  return found;
}

}  // namespace warploom::search
