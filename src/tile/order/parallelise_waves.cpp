#include "tile/order/parallelise_waves.hpp"

#include <algorithm>
#include <numeric>

#include "tile/c/simplify.hpp"

namespace warploom::tile {
namespace {

using Coefficients = std::vector<std::int64_t>;
using Distance = std::vector<std::int64_t>;

constexpr std::size_t kMostLoops = 5;  // 9^5 sums

/// Distances along the loops between iterations of them that differ, for any sizes.
isl::set distances(const LoopsAround& around, const std::vector<Relation>& relations,
                   const std::vector<SharedLoop>& loops) {
  isl::set all;
  for (const Relation& relation : relations) {
    const int source = relation.summary->source, sink = relation.summary->sink;
    const auto source_loops = static_cast<int>(around.polyhedra().sets[source].loops.size());
    const isl::set pairs = relation.pairs.wrap();
    std::vector<isl::aff> components;
    for (const SharedLoop& loop : loops) {
      const isl::aff forwards = iterator_aff(pairs, source_loops + loop.dimension.at(sink))
                                    .sub(iterator_aff(pairs, loop.dimension.at(source)));
      components.push_back(around.direction(loop) > 0 ? forwards : forwards.neg());
    }
    const isl::set one = onto(pairs, components).range().project_out_all_params();
    all = all.is_null() ? one : all.unite(one);
  }
  isl_set* none = isl_set_universe(isl_set_get_space(all.get()));
  for (int l = 0; l < static_cast<int>(loops.size()); ++l) none = isl_set_fix_si(none, isl_dim_set, l, 0);
  return all.subtract(isl::manage(none)).coalesce();
}

/// A distance along which the sum does not grow.
std::optional<Distance> refutation(const isl::set& distances, const Coefficients& coefficients) {
  const isl::aff zero = isl::aff::zero_on_domain(distances.space());
  isl::aff sum = zero;
  for (std::size_t l = 0; l < coefficients.size(); ++l)
    sum = sum.add(
        iterator_aff(distances, static_cast<int>(l)).scale(isl::val(distances.ctx(), coefficients[l])));
  const isl::set against = distances.intersect(sum.le_set(zero));
  if (against.is_empty()) return std::nullopt;
  const isl::point point = against.sample_point();
  Distance distance;
  for (int l = 0; l < static_cast<int>(coefficients.size()); ++l) {
    const isl::val value = isl::manage(isl_point_get_coordinate_val(point.get(), isl_dim_set, l));
    distance.push_back(isl_val_get_num_si(value.get()));
  }
  return distance;
}

bool grows(const Coefficients& coefficients, const Distance& distance) {
  return std::inner_product(coefficients.begin(), coefficients.end(), distance.begin(), std::int64_t{0}) > 0;
}

/// The innermost loop that a sum can give.
std::optional<std::size_t> given(const Coefficients& coefficients, bool forwards) {
  for (std::size_t l = coefficients.size(); l-- > 0;)
    if (coefficients[l] == 1 || (coefficients[l] == -1 && !forwards)) return l;
  return std::nullopt;
}

/// From the first to the last value of each loop; large where a size is not known.
std::vector<double> spans(const Polyhedra& polyhedra, const std::vector<SharedLoop>& loops) {
  std::vector<double> spans;
  for (const SharedLoop& loop : loops) {
    spans.push_back(0);
    for (const auto& [statement, dimension] : loop.dimension) {
      const isl::set domain = polyhedra.sets[statement].domain.intersect_params(polyhedra.parameters);
      const isl::aff iterator = iterator_aff(domain, dimension);
      const isl::val least = domain.min_val(iterator), most = domain.max_val(iterator);
      const bool known = least.is_int() && most.is_int();
      spans.back() = std::max(spans.back(), known ? isl_val_get_d(most.sub(least).get()) : 1e6);
    }
  }
  return spans;
}

/// Values of the sum.
double waves(const Coefficients& coefficients, const std::vector<double>& spans) {
  double sum = 1;
  for (std::size_t l = 0; l < spans.size(); ++l)
    sum += std::abs(static_cast<double>(coefficients[l])) * spans[l];
  return sum;
}

double width(const Coefficients& coefficients, const std::vector<double>& spans) {
  double iterations = 1;
  for (const double span : spans) iterations *= span + 1;
  return iterations / waves(coefficients, spans);
}

/// All that can be tried, those of few waves first.
std::vector<Coefficients> trials(const std::vector<double>& spans, bool forwards) {
  std::vector<Coefficients> all(1);
  for (std::size_t l = 0; l < spans.size(); ++l) {
    std::vector<Coefficients> longer;
    for (const Coefficients& start : all)
      for (std::int64_t c = kLargestWaveCoefficient; c >= -kLargestWaveCoefficient; --c) {
        longer.push_back(start);
        longer.back().push_back(c);
      }
    all = std::move(longer);
  }
  std::erase_if(all, [&](const Coefficients& c) { return !given(c, forwards); });
  std::stable_sort(all.begin(), all.end(), [&](const Coefficients& a, const Coefficients& b) {
    return waves(a, spans) < waves(b, spans);
  });
  return all;
}

/// As few distances as still refute every trial.
void leave_out_needless(std::vector<Distance>& distances, const std::vector<Coefficients>& trials) {
  for (std::size_t k = distances.size(); k-- > 0;) {
    std::vector<Distance> others = distances;
    others.erase(others.begin() + static_cast<std::ptrdiff_t>(k));
    if (std::ranges::all_of(trials, [&](const Coefficients& c) {
          return std::ranges::any_of(others, [&](const Distance& d) { return !grows(c, d); });
        }))
      distances = std::move(others);
  }
}

}  // namespace

WaveSearch find_wave(const LoopsAround& around, const std::vector<Relation>& relations,
                     const std::vector<SharedLoop>& loops, bool forwards) {
  WaveSearch search;
  if (loops.size() < 2 || loops.size() > kMostLoops || relations.empty()) return search;
  const isl::set all = distances(around, relations, loops);
  const std::vector<double> lengths = spans(around.polyhedra(), loops);
  const std::vector<Coefficients> sums = trials(lengths, forwards);
  for (const Coefficients& sum : sums) {
    // What refuted one sum refutes many: sets are asked seldom.
    if (std::ranges::any_of(search.distances,
                            [&](const Distance& distance) { return !grows(sum, distance); }))
      continue;
    std::optional<Distance> against = refutation(all, sum);
    if (!against) {
      search.wave = Wave{sum, *given(sum, forwards), width(sum, lengths)};
      return search;
    }
    search.distances.push_back(*std::move(against));
  }
  leave_out_needless(search.distances, sums);
  return search;
}

std::string wave_text(const LoopsAround& around, const std::vector<SharedLoop>& loops,
                      const std::vector<std::int64_t>& coefficients) {
  std::map<int, Expression> terms;  // in the order of the text
  for (std::size_t l = 0; l < loops.size(); ++l)
    terms[loops[l].dimension.begin()->second] =
        Expression::binary("*", Expression::integer(coefficients[l] * around.direction(loops[l])),
                           Expression::name(around.source_name(loops[l])));
  Expression sum = Expression::integer(0);
  for (const auto& [dimension, term] : terms) sum = Expression::binary("+", sum, term);
  return to_text(simplified(sum));
}

}  // namespace warploom::tile
