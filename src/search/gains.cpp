#include "search/gains.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>
#include <utility>

#include "search/correlations.hpp"
#include "search/plan.hpp"
#include "search/units.hpp"

namespace warploom::search {
namespace {

constexpr double kOutside = 0.8;  // logarithm: how far out of range a query is
constexpr double kNear = 0.8;     // of an estimate to a known gain
constexpr double kFits = 1;       // of an estimate of a sensor that is out of range to the gain
constexpr double kShare = 0.3;    // of the sensors are out of range
constexpr double kAgree = 0.15;   // of the mean gain: by how much sizes of channels agree better
constexpr double kOne = 3, kSome = 1, kTwo = 2.5, kUnknown = 3;  // what gains cost: one, of some sensors...
constexpr double kSteady = 2;       // times that deviations of a channel that says nothing differ by
constexpr double kLeastWide = 0.2;  // logarithm: by how much a sensor's windows differ anyhow
constexpr double kTenths = 2.56;    // deviations between the tenth and the ninetieth percentile
constexpr std::int64_t kPlaces = 20;

double squares_of(double mean, double deviation) { return mean * mean + deviation * deviation; }

/// Of a window: NaN if a sample is missing.
double squares_of(const WindowMoments& all, std::int64_t offset) {
  const float scale = all.scale[offset];
  return squares_of(static_cast<double>(all.mean[offset]) + all.rest[offset],
                    scale == 0 ? 0 : 1 / static_cast<double>(scale));
}

double half_logarithm(double squares) { return std::log(std::max(1e-30, squares)) / 2; }

double quantile_of(std::vector<double> values, double share) {
  const auto at =
      values.begin() + static_cast<std::ptrdiff_t>(share * static_cast<double>(values.size() - 1));
  std::ranges::nth_element(values, at);
  return *at;
}

/// The median of values, each of which counts as much as its weight.
double median_of(std::vector<std::pair<double, double>> weighted) {
  std::ranges::sort(weighted);
  double all = 0, sum = 0;
  for (const auto& [value, weight] : weighted) all += weight;
  for (const auto& [value, weight] : weighted)
    if ((sum += weight) >= all / 2) return value;
  return weighted.back().first;
}

/// Channels of a query that are measured by one thing.
struct Sensor {
  std::vector<std::size_t> channels, measured;  // all, and those whose sizes differ
  double size = 0;                              // of the query: logarithm of the root mean square
  double least = 0, largest = 0, wide = 0;      // of the recording's windows
  double gain = 0;                              // logarithm, at the places
  double outside() const { return std::max(0.0, least - size) - std::max(0.0, size - largest); }
  bool is_out() const { return std::abs(outside()) > kOutside; }
  double cost(double of) const {
    constexpr double kMost = 20;
    return std::min(kMost, (gain - of) * (gain - of) / (2 * wide * wide));
  }
};

struct Explained {
  double cost;
  std::vector<double> gains;  // [sensors] logarithms
};

/// Each sensor has the one of these gains that explains it best.
Explained best_of(std::span<const Sensor> sensors, std::initializer_list<double> gains, double cost) {
  Explained all{cost, {}};
  for (const Sensor& sensor : sensors) {
    const double gain = *std::ranges::min_element(gains, {}, [&](double of) { return sensor.cost(of); });
    all.cost += sensor.cost(gain);
    all.gains.push_back(gain);
  }
  return all;
}

std::vector<double> gains_that_explain(std::span<const Sensor> sensors) {
  std::vector<double> known;
  for (const ConfusedUnits& units : confused_units())
    for (const double sign : {1, -1}) known.push_back(sign * std::log(units.factor));
  const Sensor* surest = nullptr;
  for (const Sensor& sensor : sensors)
    if (sensor.is_out() && (surest == nullptr || sensor.wide < surest->wide)) surest = &sensor;
  std::optional<double> unknown = surest->gain;
  for (const double gain : known)
    if (std::abs(*unknown - gain) <= kNear) {
      unknown.reset();
      break;
    }
  if (unknown && std::abs(*unknown) <= kNear) unknown.reset();
  const auto enough = [&](double gain) {
    const auto count = std::ranges::count_if(
        sensors, [&](const Sensor& one) { return one.is_out() && std::abs(one.gain - gain) < kFits; });
    return static_cast<double>(count) >= kShare * static_cast<double>(sensors.size());
  };
  Explained best = best_of(sensors, {0}, 0);
  const auto compete = [&](Explained other) {
    if (other.cost < best.cost) best = std::move(other);
  };
  for (const double gain : known) {
    if (!enough(gain)) continue;
    compete(best_of(sensors, {gain}, kOne));
    compete(best_of(sensors, {0, gain}, kOne + kSome));
    for (const double second : known)
      if (second != gain) compete(best_of(sensors, {0, gain, second}, kOne + kTwo));
  }
  if (unknown && enough(*unknown)) compete(best_of(sensors, {*unknown}, kOne + kUnknown));
  return best.gains;
}

}  // namespace

std::vector<double> estimated_gains(const Searched& searched, const Query& query, const FindOptions& options,
                                    const std::vector<bool>& channels) {
  const std::size_t count = query.channels.size();
  std::vector<double> gains(count, 1);
  std::vector<Sensor> sensors;
  std::vector<bool> left = channels;
  const auto add = [&](const auto& some) {
    Sensor sensor;
    for (const auto c : some)
      if (left[static_cast<std::size_t>(c)]) sensor.channels.push_back(static_cast<std::size_t>(c));
    for (const std::size_t c : sensor.channels) left[c] = false;
    sensor.measured = sensor.channels;
    if (!sensor.channels.empty()) sensors.push_back(std::move(sensor));
  };
  for (const SensorAxes& axes : options.sensors) add(std::array{axes.x, axes.y, axes.z});
  std::vector<std::size_t> every(count);
  std::iota(every.begin(), every.end(), 0);
  add(every);

  std::vector<double> of_query(count);
  for (std::size_t c = 0; c < count; ++c) {
    const Moments all = moments(query.channels[c], Normalization::z);
    of_query[c] = squares_of(all.mean, all.scale == 0 ? 0 : 1 / all.scale);
  }
  const std::int64_t step = std::max<std::int64_t>(1, query.length() / 32);
  const std::int64_t windows = (searched.index().samples() - query.length()) / step + 1;
  // Logarithm; NaN where a sample is missing, or nothing moves.
  const auto size_of = [&](const Sensor& sensor, std::int64_t window) {
    double squares = 0, scales = 0;
    for (const std::size_t c : sensor.measured) {
      squares += squares_of(searched.moments(query.places[c]), window * step);
      scales += static_cast<double>(searched.moments(query.places[c]).scale[window * step]);
    }
    return scales > 0 ? half_logarithm(squares) : std::numeric_limits<double>::quiet_NaN();
  };
  const auto measure = [&](Sensor& sensor) {
    double squares = 0;
    for (const std::size_t c : sensor.measured) squares += of_query[c];
    sensor.size = half_logarithm(squares);
    std::vector<double> all;
    for (std::int64_t w = 0; w < windows; ++w)
      if (const double size = size_of(sensor, w); std::isfinite(size)) all.push_back(size);
    if (all.empty()) return;
    const auto [least, largest] = std::ranges::minmax(all);
    sensor.least = least;
    sensor.largest = largest;
    const double tenths = quantile_of(all, 0.9) - quantile_of(all, 0.1);
    sensor.wide = std::max(kLeastWide, tenths / kTenths) + kLeastWide;
  };
  const auto is_steady = [&](std::size_t c) {
    std::vector<double> all;
    for (std::int64_t w = 0; w < windows; ++w)
      if (const double scale = searched.moments(query.places[c]).scale[w * step]; std::isfinite(scale))
        all.push_back(scale == 0 ? 0 : 1 / scale);
    return all.empty() || quantile_of(all, 0.99) <= kSteady * quantile_of(all, 0.01);
  };
  std::ranges::for_each(sensors, measure);
  if (std::ranges::none_of(sensors, &Sensor::is_out)) return gains;
  // A channel of one strength, noise or nothing at all, would bound what its sensor's windows may be.
  for (Sensor& sensor : sensors) {
    std::vector<std::size_t> some = sensor.channels;
    std::erase_if(some, is_steady);
    if (some.empty() || some.size() == sensor.channels.size()) continue;
    sensor.measured = some;
    measure(sensor);
  }
  if (std::ranges::none_of(sensors, &Sensor::is_out)) return gains;

  FindOptions in_place;
  in_place.neighbours = 0;
  const Correlations correlations(searched, query, in_place, step);
  std::vector<float> alike(static_cast<std::size_t>(correlations.windows()), 0.F);
  for (std::size_t c = 0; c < count; ++c) {
    const std::span<const float> of = correlations.of(c, query.places[c]);
    for (std::size_t w = 0; w < alike.size(); ++w) alike[w] += of[w];
  }
  struct Place {
    std::int64_t window;
    double weight;
  };
  std::vector<Place> places;
  for (const std::int64_t w :
       largest_of(alike, kPlaces, samples_of(options.exclusion, query.length()) / step)) {
    const double likeness = std::max(0.0, static_cast<double>(alike[w]) / static_cast<double>(count));
    if (std::ranges::all_of(sensors, [&](const Sensor& one) { return std::isfinite(size_of(one, w)); }))
      places.push_back({w, std::pow(likeness, 8)});
  }
  if (places.empty()) return gains;
  for (Sensor& sensor : sensors) {
    std::vector<std::pair<double, double>> there;
    for (const Place& place : places)
      there.emplace_back(size_of(sensor, place.window) - sensor.size, place.weight);
    sensor.gain = median_of(std::move(there));
  }
  const std::vector<double> of_sensors = gains_that_explain(sensors);
  std::vector<double> logarithms(count, 0);
  double mean = 0;
  for (std::size_t k = 0; k < sensors.size(); ++k)
    for (const std::size_t c : sensors[k].channels) {
      logarithms[c] = of_sensors[k];
      mean += std::abs(of_sensors[k]) / static_cast<double>(count);
    }
  const auto differ = [&](bool with_gains) {
    std::vector<std::pair<double, double>> all;
    for (const auto& [w, weight] : places) {
      std::vector<double> here, there;
      for (std::size_t c = 0; c < count; ++c) {
        if (!channels[c]) continue;
        here.push_back(half_logarithm(of_query[c]) + (with_gains ? logarithms[c] : 0));
        there.push_back(half_logarithm(squares_of(searched.moments(query.places[c]), w * step)));
      }
      std::ranges::sort(here);
      std::ranges::sort(there);
      double sum = 0;
      for (std::size_t k = 0; k < here.size(); ++k) sum += std::abs(here[k] - there[k]);
      all.emplace_back(sum / static_cast<double>(here.size()), weight);
    }
    return median_of(std::move(all));
  };
  if (mean == 0 || differ(false) - differ(true) < kAgree * mean) return gains;
  for (std::size_t c = 0; c < count; ++c) gains[c] = std::exp(logarithms[c]);
  return gains;
}

}  // namespace warploom::search
