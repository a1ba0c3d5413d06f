#include "search/competition.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "search/assignments.hpp"
#include "search/orientations.hpp"
#include "search/plan.hpp"
#include "search/thresholds.hpp"

namespace warploom::search {
namespace {

constexpr double kSays = 0.5;  // deviations by which a channel that says something is nearer

double mean_of(std::span<const double> values) {
  double sum = 0;
  for (const double x : values) sum += x;
  return values.empty() ? 0 : sum / static_cast<double>(values.size());
}

double deviation_of(std::span<const double> values) {
  const double mean = mean_of(values);
  double squares = 0;
  for (const double x : values) squares += (x - mean) * (x - mean);
  return values.empty() ? 0 : std::sqrt(squares / static_cast<double>(values.size()));
}

/// Less what is usual, ascending.
std::vector<double> relative(std::span<const Nearby> places, double usual) {
  std::vector<double> all;
  for (const Nearby& place : places)
    if (std::isfinite(place.logarithm)) all.push_back(place.logarithm - usual);
  std::ranges::sort(all);
  return all;
}

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

bool same(const Reading& a, const Reading& b) {
  return a.channels == b.channels && a.negated == b.negated && a.lags == b.lags && a.turns == b.turns &&
         a.stretched == b.stretched && a.own == b.own;
}

}  // namespace

Decoy::Decoy(const Query& from, std::size_t step) : query(from) {
  const std::size_t count = from.channels.size();
  for (std::size_t c = 0; c < count; ++c) {
    const std::span<const float> channel = from.channels[(c + step) % count];
    samples.emplace_back(channel.rbegin(), channel.rend());
  }
  query.channels = {samples.begin(), samples.end()};
}

Sample::Sample(const Signal& from, std::int64_t parts, std::int64_t part) {
  const auto all = std::ssize(from[0]);
  if (parts * part >= all) {
    signal = from;
    return;
  }
  for (const std::span<const float> channel : from) {
    std::vector<float>& some = samples.emplace_back();
    for (std::int64_t k = 0; k < parts; ++k) {
      const std::int64_t begin = k * (all - part) / (parts - 1);
      some.insert(some.end(), channel.begin() + begin, channel.begin() + begin + part);
      some.push_back(std::numeric_limits<float>::quiet_NaN());
    }
  }
  signal = {samples.begin(), samples.end()};
}

Chance::Chance(std::span<const std::vector<Nearby>> all, double zones) : zones_(zones) {
  std::vector<double> minima;
  for (const std::vector<Nearby>& of_decoy : all)
    for (const Nearby& place : of_decoy) minima.push_back(place.logarithm);
  std::ranges::sort(minima);
  const auto count = std::ssize(minima);
  if (count < 4) return;
  // The line of the lower third through the normal distribution's quantiles.
  const std::int64_t lower = count / 3 + 1;
  double quantiles = 0, squares = 0, sum = 0, products = 0;
  for (std::int64_t k = 0; k < lower; ++k) {
    const double quantile = normal_quantile((static_cast<double>(k) + 0.5) / static_cast<double>(count));
    quantiles += quantile;
    squares += quantile * quantile;
    sum += minima[k];
    products += quantile * minima[k];
  }
  const auto n = static_cast<double>(lower);
  deviation_ = (n * products - quantiles * sum) / (n * squares - quantiles * quantiles);
  middle_ = (sum - deviation_ * quantiles) / n;
}

double Chance::operator()(double logarithm) const {
  if (!(deviation_ > 0)) return zones_;
  return zones_ * std::erfc((middle_ - logarithm) / deviation_ / std::sqrt(2)) / 2;
}

double Chance::below(double expected) const {
  return middle_ + deviation_ * normal_quantile(expected / zones_);
}

Null::Known& Null::known(const Reading& reading) const {
  for (Known& one : known_)
    if (same(one.reading, reading)) return one;
  return known_.emplace_back(reading);
}

double Null::usual_of(const Reading& reading) const {
  Known& of = known(reading);
  if (!of.usual) of.usual = Seen(sample, decoys[0], reading, options).usual();
  return *of.usual;
}

const std::vector<Nearby>& Null::minima_of(const Reading& reading, std::size_t decoy) const {
  Known& of = known(reading);
  of.minima.resize(decoys.size());
  if (!of.minima[decoy]) of.minima[decoy] = Seen(sample, decoys[decoy], reading, options).minima();
  return *of.minima[decoy];
}

std::vector<std::vector<Nearby>> Null::minima_of(const Reading& reading) const {
  std::vector<std::vector<Nearby>> all;
  for (std::size_t d = 0; d < decoys.size(); ++d) all.push_back(minima_of(reading, d));
  return all;
}

Competition::Competition(const Searched& searched, const Query& query, const FindOptions& options,
                         const Null& null, std::vector<Nearby> places, double usual, double below)
    : searched_(searched),
      query_(query),
      options_(options),
      null_(null),
      plain_(plain_reading(query)),
      exclusion_(samples_of(options.exclusion, query.length())),
      usual_(usual),
      below_(below),
      places_(std::move(places)) {
  std::ranges::sort(places_, {}, &Nearby::offset);
}

const Correlations& Competition::correlations() {
  if (!correlations_) correlations_.emplace(searched_, query_, options_);
  return *correlations_;
}

template <typename Fit>
Competition::Entry Competition::judged(const Reading& whole, double usual, std::span<const Nearby> places,
                                       const Fit& fit) const {
  const std::size_t half = places.size() / 2;
  std::vector<Nearby> all = Seen(searched_, query_, fit(false), options_).at(places.first(half), around());
  const std::vector<Nearby> rest =
      Seen(searched_, query_, fit(true), options_).at(places.subspan(half), around());
  all.insert(all.end(), rest.begin(), rest.end());
  std::ranges::sort(all, {}, &Nearby::logarithm);
  return {whole, relative(all, usual), offsets_of(all)};
}

std::vector<Nearby> Competition::that_count(std::vector<Nearby> places, double usual) const {
  constexpr std::size_t kFewest = 4;
  std::vector<Nearby> some;
  for (const Nearby& place : places)
    if (place.logarithm - usual <= below_) some.push_back(place);
  return some.size() >= kFewest ? some : places;
}

template <typename Fit>
std::optional<Competition::Entry> Competition::best_of(std::span<const std::int64_t> agreed,
                                                       const Fit& fit) const {
  if (agreed.size() < 2) return {};
  const Reading first = fit(agreed);
  if (first.in_place()) return {};
  std::vector<Nearby> pool = places_;
  for (const std::int64_t offset : agreed) pool.push_back({offset});
  const double usual = null_.usual_of(first);
  const std::vector<Nearby> places =
      that_count(nearest(Seen(searched_, query_, first, options_).at(pool, 0), kPlaces, exclusion_), usual);
  if (places.size() < 2) return {};
  const std::vector<std::int64_t> there = offsets_of(places);
  const std::size_t half = there.size() / 2;
  const Reading whole = fit(std::span(there));
  if (whole.in_place()) return {};
  return judged(whole, usual, places, [&](bool fold0) {
    return fit(fold0 ? std::span(there).first(half) : std::span(there).subspan(half));
  });
}

std::optional<Competition::Entry> Competition::compete(Kind kind) {
  if (kind == Kind::missing) return without_silent(plain_, places_);
  if (kind == Kind::rotated) {
    const Orientations orientations(correlations(), query_, options_.sensors);
    return best_of(orientations.places(2 * kPlaces, exclusion_), [&](std::span<const std::int64_t> some) {
      Reading reading = plain_;
      reading.turns = orientations.fit(some);
      return exchanged(reading) ? plain_ : reading;
    });
  }
  const std::int64_t lag = std::min(samples_of(options_.max_lag, query_.length()), query_.length()) / 2;
  const Assignments assignments(correlations(), query_, options_.negated, lag);
  const Freedom freedom = {.map = kind != Kind::lagged, .lags = kind != Kind::switched};
  return best_of(assignments.places(freedom, offsets_of(places_), 2 * kPlaces, exclusion_),
                 [&](std::span<const std::int64_t> some) { return assignments.fit(freedom, some); });
}

std::optional<Competition::Entry> Competition::without_silent(const Reading& reading,
                                                              std::vector<Nearby> best) const {
  best = that_count(std::move(best), null_.usual_of(reading));
  std::ranges::sort(best, {}, &Nearby::offset);
  const std::size_t half = best.size() / 2;
  const Seen seen(searched_, query_, reading, options_);
  constexpr std::int64_t kMany = 128;
  std::vector<std::pair<double, double>> elsewhere;  // of each channel: mean and deviation
  for (std::size_t c = 0; c < seen.of_query().size(); ++c) {
    const std::vector<double> all = seen.of_channel(c, seen.evenly(kMany));
    elsewhere.emplace_back(mean_of(all), deviation_of(all));
  }
  const auto less = [&](std::span<const Nearby> some) {
    Reading left = reading;
    std::size_t out = 0;
    for (std::size_t c = 0; c < seen.of_query().size(); ++c) {
      const auto [usual, deviation] = elsewhere[c];
      if (usual - mean_of(seen.of_channel(c, some)) >= kSays * deviation) continue;
      left.channels[seen.of_query()[c]] = -1;
      ++out;
    }
    return out == seen.of_query().size() ? reading : left;
  };
  const Reading left = less(best);
  if (!left.missing()) return {};
  return judged(left, null_.usual_of(left), best, [&](bool fold0) {
    return less(fold0 ? std::span<const Nearby>(best).first(half)
                      : std::span<const Nearby>(best).subspan(half));
  });
}

Competition::Entry Competition::stretched(const Reading& reading, std::vector<Nearby> best) const {
  best = that_count(std::move(best), null_.usual_of(reading));
  std::ranges::sort(best, {}, &Nearby::offset);
  Reading other = reading;
  other.stretched = true;
  return judged(other, null_.usual_of(other), best, [&](bool) { return other; });
}

Competition::Entry Competition::fitted(const Reading& reading, std::span<const Nearby> places) const {
  return {reading, relative(Seen(searched_, query_, reading, options_).at(places, around()),
                            reading.in_place() ? usual_ : null_.usual_of(reading))};
}

std::int64_t Competition::significant(const Entry* entry) const {
  const std::vector<double> plain = relative(places_, usual_);
  return std::ranges::count_if(entry ? entry->there : plain, [&](double x) { return x <= below_; });
}

double Competition::gain(const Entry& entry, std::int64_t count) const {
  const std::vector<double> plain = relative(places_, usual_);
  count = std::min({count, std::ssize(entry.there), std::ssize(plain)});
  return count == 0 ? 0
                    : mean_of(std::span(plain).first(count)) - mean_of(std::span(entry.there).first(count));
}

}  // namespace warploom::search
