#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <numeric>

#include "core/instruction_sets.hpp"
#include "fold/circle_sums.hpp"
#include "fold/partition.hpp"
#include "fold/sections.hpp"
#include "warploom/core/progress.hpp"
#include "warploom/core/threads.hpp"

namespace warploom::fold {
namespace {

/// How often each number of the model is paid for in a structure, in the mean over the ensemble.
struct Counts {
  LoopNumbers<double> of;
  double capped = 0;                ///< loops that pay for asymmetry what it costs at most
  double longer = 0;                ///< ln(n / 30) of hairpins of n > 30 bases
  double paired = 0, unpaired = 0;  ///< bases; the latter of hairpins and interior loops
  double in_quadruplexes = 0;       ///< bases of those within pairs
  std::vector<double> triloops, tetraloops, hexaloops;
  std::vector<double> stack;  ///< by base, counted from 1
};

template <class T>
void add_all(const T& from, T& to) {
  if constexpr (std::is_same_v<T, double>)
    to += from;
  else
    for (std::size_t k = 0; k < from.size(); ++k) add_all(from[k], to[k]);
}

void add_all(const Counts& from, Counts& to) {
  std::vector<const double*> places;
  visit_tables(from.of, [&](std::string_view, const auto& table, const Indices&, bool) {
    add_places(table, Indices(), places);
  });
  std::size_t k = 0;
  visit_tables(to.of, [&](std::string_view, auto& table, const Indices&, bool) {
    for (double* place : places_of<double>(table, Indices())) *place += *places[k++];
  });
  for (double LoopNumbers<double>::*number :
       {&LoopNumbers<double>::multi_closing, &LoopNumbers<double>::multi_intern,
        &LoopNumbers<double>::asymmetry, &LoopNumbers<double>::terminal_au})
    to.of.*number += from.of.*number;
  to.capped += from.capped, to.longer += from.longer, to.paired += from.paired, to.unpaired += from.unpaired;
  to.in_quadruplexes += from.in_quadruplexes;
  add_all(from.triloops, to.triloops), add_all(from.tetraloops, to.tetraloops);
  add_all(from.hexaloops, to.hexaloops), add_all(from.stack, to.stack);
}

class Counting {
 public:
  Counting(const Problem& problem, const Partition& p, const Panels& probabilities,
           const EnergyTables& tables, double asymmetry)
      : s_(problem.s),
        w_(problem.weights),
        problem_(problem),
        p_(p),
        probabilities_(probabilities),
        tables_(tables),
        asymmetry_(asymmetry),
        sizes_(size_weights(problem.weights)) {}

  Counts none() const {
    Counts counts;
    counts.triloops.assign(tables_.free.triloops.size(), 0);
    counts.tetraloops.assign(tables_.free.tetraloops.size(), 0);
    counts.hexaloops.assign(tables_.free.hexaloops.size(), 0);
    counts.stack.assign(s_.codes.size(), 0);
    return counts;
  }

  /// Loops whose outer pair begins in a strip: of interior loops all but what outside() counted.
  void strip(std::int64_t t, Counts& to) const {
    const std::int64_t first = Tiling::first_row(t), last = p_.tiling.last_of(t);
    struct Work {
      Rings rings;
      ShapeSums shapes;
      OuterSums rows;
    };
    thread_local const std::unique_ptr<Work> work = std::make_unique_for_overwrite<Work>();
    std::memset(work.get(), 0, sizeof *work);
    const std::unique_ptr<StripWeights> strip = strip_weights(problem_, t);
    const Base* code = s_.codes.data();
    for (std::int64_t j = first; j <= last; ++j) {
      const std::int64_t tile = Tiling::tile_of(j);
      const std::int32_t here = p_.exponent(t, tile);
      const double from_before =
          tile > 0 && Tiling::first_column(tile) > first ? power(p_.exponent(t, tile - 1) - here) : 1;
      const LoopColumn place = loop_column(problem_, *strip, j, from_before);
      const std::int64_t rows = std::clamp<std::int64_t>(j - kMinHairpin - first, 0, kStripRows);
      const double *b = p_.b.column(t, j), *probability = probabilities_.column(t, j);
      // What a structure of i..j, with its weight, counts for
      alignas(64) StripRow worth = {};
      for (std::int64_t r = 0; r < rows; ++r) {
        if (probability[r] == 0) continue;
        worth[r] = probability[r] / b[r];
        if (!problem_.extras.empty()) worth[r] *= w_.of(problem_.extras.pair(first + r, j));
      }
      kernels_.count(place, sizes_, worth, work->rings, work->shapes, work->rows);
      alignas(64) StripRow around = {};
      if (problem_.quadruplexes != nullptr) quadruplexes(first, j, worth, power(-here), around, to);
      for (std::int64_t r = 0; r < rows; ++r)
        if (worth[r] != 0)
          pair(first + r, j, r, probability[r] - around[r], probability[r], worth[r], power(-here), place,
               work->rings, work->rows, to);
      const bool next = t + 1 < p_.tiling.strips() && j >= first + kStripRows;
      remember(work->rings, j, strip->inner[loop_context(code[j], code[j + 1])], strip->end[code[j]], b,
               next ? p_.b.column(t + 1, j) : nullptr, next ? power(p_.exponent(t + 1, tile) - here) : 0);
    }
    add_shapes(work->shapes, to);
    check_interrupt();
  }

 private:
  /// Those alone within the pairs of column j; their sum by row.
  void quadruplexes(std::int64_t first, std::int64_t j, const double* worth, double absolute, double* sums,
                    Counts& to) const {
    const Base* c = s_.codes.data();
    problem_.quadruplexes->each_within(first, kStripRows, j,
                                       [&](std::int64_t i, std::int64_t p, std::int64_t q, double weight) {
                                         const double probability = worth[i - first] * weight * absolute;
                                         if (probability == 0) return;
                                         const int type = w_.loops().pair(c[i], c[j]);
                                         const std::int64_t unpaired = p - i - 1 + j - q - 1;
                                         sums[i - first] += probability;
                                         to.of.interior[static_cast<std::size_t>(unpaired)] += probability;
                                         to.unpaired += static_cast<double>(unpaired) * probability;
                                         to.in_quadruplexes += static_cast<double>(q - p + 1) * probability;
                                         end(type, probability, to);
                                         if (dangles())
                                           to.of.mismatch_interior[type][c[i + 1]][c[j - 1]] += probability;
                                       });
  }

  /// @param left_over  its probability without what is counted already
  void pair(std::int64_t i, std::int64_t j, std::int64_t row, double left_over, double probability,
            double worth, double absolute, const LoopColumn& place, const Rings& rings, const OuterSums& sums,
            Counts& to) const {
    const Loops& loops = w_.loops();
    const Base* c = s_.codes.data();
    const int outer = loops.pair(c[i], c[j]);
    to.paired += 2 * probability;
    left_over -= sums.bulge[row] + sums.one_n[row] + sums.generic[row] + sums.two_three[row];
    to.of.mismatch_interior[outer][c[i + 1]][c[j - 1]] += sums.generic[row];
    to.of.mismatch_interior_1n[outer][c[i + 1]][c[j - 1]] += sums.one_n[row];
    to.of.mismatch_interior_23[outer][c[i + 1]][c[j - 1]] += sums.two_three[row];
    end(outer, sums.bulge[row], to);
    const double open = problem_.may_be_unpaired(i + 1, j - 1) ? 1 : 0;
    if (const double hairpin = open * w_.hairpin(s_, i, j) * worth * absolute; hairpin != 0) {
      add_hairpin(s_, i, j, hairpin, to);
      left_over -= hairpin;
    }
    constexpr int kSmall[][2] = {{0, 0}, {0, 1}, {1, 0}, {1, 1}, {1, 2}, {2, 1}, {2, 2}};
    for (const auto [left, right] : kSmall) {
      const double inner = rings.b[(j - 1 - right) & (kReach - 1)][row + 1 + left];
      const std::int64_t p = i + 1 + left, q = j - 1 - right;
      if (inner == 0 || !problem_.may_be_unpaired(i, j, p, q)) continue;
      const double loop = worth * place.scale[1 + right] * inner * w_.interior(s_, i, j, p, q);
      add_small(s_, i, j, p, q, loop, to);
      left_over -= loop;
    }
    if (left_over > 0 && loops.closes(outer)) {
      to.of.multi_closing += left_over;
      add_stem(Loops::reversed(outer), c[j - 1], c[i + 1], left_over, to);
    }
  }

  void add_asymmetry(int difference, double probability, Counts& to) const {
    if (difference * asymmetry_ < tables_.most_asymmetry)
      to.of.asymmetry += difference * probability;
    else
      to.capped += probability;
  }

  void add_shapes(const ShapeSums& shapes, Counts& to) const {
    const auto sum = [](const ShapeSums::Parts& parts) {
      return std::accumulate(std::begin(parts), std::end(parts), 0.);
    };
    for (int u = 0; u <= kMaxLoop; ++u) {
      const double bulge = sum(shapes.bulge[u]), one_n = sum(shapes.one_n[u]),
                   others = sum(shapes.generic[u]) + (u == 5 ? sum(shapes.two_three) : 0);
      to.of.bulge[static_cast<std::size_t>(u)] += bulge;
      to.of.interior[static_cast<std::size_t>(u)] += one_n + others;
      to.unpaired += u * (bulge + one_n + others);
      if (u >= 2) add_asymmetry(u - 2, one_n, to);
      add_asymmetry(u, sum(shapes.difference[u]), to);
    }
    add_asymmetry(1, sum(shapes.two_three), to);
  }

 public:
  /// A stem of a multiloop.
  void add_stem(int type, int before, int behind, double probability, Counts& to) const {
    to.of.multi_intern += probability;
    end(type, probability, to);
    if (dangles()) to.of.mismatch_multi[type][before][behind] += probability;
  }
  /// The loop that joins the ends of a circle. @return bases of circles with pairs
  double circle(const CircleSums& sums, Counts& to) const {
    const std::int64_t n = s_.size();
    const Base* c = s_.codes.data();
    const Bases round = twice(s_);
    const auto share = [&](const Scaled& weight) {
      return weight.number / sums.whole().number * power(weight.exponent - sums.whole().exponent);
    };
    for (std::int64_t j = 1; j <= n; ++j) {
      sums.each_of_few(j, [&](std::int64_t i, std::int64_t p, std::int64_t q, double, const Scaled& weight) {
        if (p == 0)
          add_hairpin(round, j, n + i, share(weight), to);
        else
          add_interior(round, j, n + i, p, q, share(weight), to);
        return true;
      });
      for (std::int64_t i = 1; i < j - kMinHairpin; ++i)
        if (const Scaled b = p_.at(p_.b, i, j); b.number != 0)
          add_stem(w_.loops().pair(c[i], c[j]), c[i - 1], c[j + 1], share(sums.around_stem(i, j) * b), to);
    }
    to.of.multi_closing += share(sums.multi());
    return static_cast<double>(n) * (1 - share(sums.open()));
  }
  void add_exterior(int type, int before, int behind, double probability, Counts& to) const {
    end(type, probability, to);
    if (!dangles()) return;
    if (before < kBases && behind < kBases)
      to.of.mismatch_exterior[type][before][behind] += probability;
    else if (before < kBases)
      to.of.dangle5[type][before] += probability;
    else if (behind < kBases)
      to.of.dangle3[type][behind] += probability;
  }

 private:
  /// An interior loop of any shape.
  void add_interior(const Bases& s, std::int64_t i, std::int64_t j, std::int64_t p, std::int64_t q,
                    double probability, Counts& to) const {
    const Base* c = s.codes.data();
    const int left = static_cast<int>(p - i - 1), right = static_cast<int>(j - q - 1), size = left + right;
    const int most = std::max(left, right), least = std::min(left, right);
    const int outer = w_.loops().pair(c[i], c[j]), inner = w_.loops().pair(c[q], c[p]);
    if (size <= 1 || (least >= 1 && most <= 2)) return add_small(s, i, j, p, q, probability, to);
    LoopNumbers<double>& of = to.of;
    to.unpaired += size * probability;
    if (least == 0) {
      of.bulge[static_cast<std::size_t>(size)] += probability;
      end(outer, probability, to), end(inner, probability, to);
      return;
    }
    of.interior[static_cast<std::size_t>(size)] += probability;
    add_asymmetry(most - least, probability, to);
    auto& mismatch = least == 1                ? of.mismatch_interior_1n
                     : least == 2 && most == 3 ? of.mismatch_interior_23
                                               : of.mismatch_interior;
    mismatch[outer][c[i + 1]][c[j - 1]] += probability;
    mismatch[inner][c[q + 1]][c[p - 1]] += probability;
  }
  bool dangles() const { return w_.dangles() != 0; }
  static void end(int type, double probability, Counts& to) {
    if (type > 2) to.of.terminal_au += probability;
  }

  void add_hairpin(const Bases& s, std::int64_t i, std::int64_t j, double probability, Counts& to) const {
    const std::int64_t size = j - i - 1;
    const Base* c = s.codes.data();
    const int type = w_.loops().pair(c[i], c[j]);
    to.unpaired += static_cast<double>(size) * probability;
    if (size <= 6) {
      const std::string_view letters = std::string_view(s.letters).substr(static_cast<std::size_t>(i - 1),
                                                                          static_cast<std::size_t>(size + 2));
      const auto found = [&](const SpecialLoops& loops, std::vector<double>& counts) {
        const auto at = std::ranges::find(loops, letters, &SpecialLoops::value_type::first);
        if (at == loops.end()) return false;
        counts[static_cast<std::size_t>(at - loops.begin())] += probability;
        return true;
      };
      if (found(tables_.free.triloops, to.triloops) || found(tables_.free.tetraloops, to.tetraloops) ||
          found(tables_.free.hexaloops, to.hexaloops))
        return;
    }
    to.of.hairpin[static_cast<std::size_t>(std::min<std::int64_t>(size, kMaxLoop))] += probability;
    if (size > kMaxLoop) to.longer += probability * std::log(static_cast<double>(size) / kMaxLoop);
    if (size == 3)
      end(type, probability, to);
    else
      to.of.mismatch_hairpin[type][c[i + 1]][c[j - 1]] += probability;
  }

  /// Interior loops that are in tables, and bulges of one base.
  void add_small(const Bases& s, std::int64_t i, std::int64_t j, std::int64_t p, std::int64_t q,
                 double probability, Counts& to) const {
    const Base* c = s.codes.data();
    const Loops& loops = w_.loops();
    const int left = static_cast<int>(p - i - 1), right = static_cast<int>(j - q - 1);
    const int outer = loops.pair(c[i], c[j]), inner = loops.pair(c[q], c[p]);
    LoopNumbers<double>& of = to.of;
    to.unpaired += (left + right) * probability;
    if (left + right <= 1) of.stack[outer][inner] += probability;
    if (left + right == 0) {
      for (const std::int64_t base : {i, p, q, j})
        to.stack[static_cast<std::size_t>((base - 1) % s_.size() + 1)] += probability;
    } else if (left + right == 1) {
      of.bulge[1] += probability;
    } else if (left + right == 2) {
      of.int11[outer][inner][c[i + 1]][c[j - 1]] += probability;
    } else if (left + right == 3) {
      (left == 1 ? of.int21[outer][inner][c[i + 1]][c[q + 1]][c[j - 1]]
                 : of.int21[inner][outer][c[q + 1]][c[i + 1]][c[p - 1]]) += probability;
    } else {
      of.int22[outer][inner][c[i + 1]][c[p - 1]][c[q + 1]][c[j - 1]] += probability;
    }
  }

  const Bases& s_;
  const Weights& w_;
  const Problem& problem_;
  const Partition& p_;
  const Panels& probabilities_;
  const EnergyTables& tables_;
  double asymmetry_;
  SizeWeights sizes_;
  const SumKernels& kernels_ = *WARPLOOM_PICK(sum_kernels);
};

}  // namespace

EnsembleGradient gradient(const Problem& problem, const Partition& p, const Panels& probabilities,
                          std::span<const PairCounts> counts, const Model& model, const CircleSums* circle,
                          std::span<const QuadruplexSums::Found> quadruplexes) {
  const EnergyTables& tables = model.parameters.tables();
  const Energies &free = tables.free, &enthalpy = tables.enthalpy;
  // An energy is H - (H - G) ratio.
  const double ratio = (model.temperature + 273.15) / kMeasuredAt;
  const auto at = [&](std::int32_t g, std::int32_t h) { return h - (h - g) * ratio; };
  const Counting counting(problem, p, probabilities, tables, at(free.asymmetry, enthalpy.asymmetry));

  // In groups that do not depend on the number of threads, so that sums do not either.
  constexpr std::int64_t kGroups = 16;
  std::vector<Counts> groups(static_cast<std::size_t>(std::min(kGroups, p.tiling.strips())), counting.none());
  parallel_for(std::ssize(groups), [&](std::int64_t g) {
    for (std::int64_t t = g; t < p.tiling.strips(); t += std::ssize(groups))
      counting.strip(t, groups[static_cast<std::size_t>(g)]);
  });
  Counts& all = groups.front();
  for (std::size_t g = 1; g < groups.size(); ++g) add_all(groups[g], all);
  double covered = 0;
  for (const PairCounts& strip : counts) {
    covered += strip.covered;
    for (int type = 1; type < kPairs; ++type) {
      if (type > 2) all.of.terminal_au += strip.bulge[type];
      for (int before = 0; before <= kBases; ++before)
        for (int behind = 0; behind <= kBases; ++behind) {
          if (circle == nullptr)
            counting.add_exterior(type, before, behind, strip.exterior[type][before][behind], all);
          if (before == kBases || behind == kBases) continue;
          counting.add_stem(type, before, behind, strip.multi[type][before][behind], all);
          all.of.mismatch_interior[type][before][behind] += strip.interior[type][before][behind];
          all.of.mismatch_interior_1n[type][before][behind] += strip.interior_1n[type][before][behind];
          all.of.mismatch_interior_23[type][before][behind] += strip.interior_23[type][before][behind];
        }
    }
  }
  if (circle != nullptr) covered = counting.circle(*circle, all);
  for (const QuadruplexSums::Found& one : quadruplexes) {
    all.of.multi_intern += one.multi;
    all.in_quadruplexes += static_cast<double>(one.j - one.i + 1) * one.multi;
  }
  // What is neither paired nor unpaired elsewhere
  all.of.multi_base = std::max(0., covered - all.paired - all.unpaired - all.in_quadruplexes);
  give_unknown(free, all.of);

  EnsembleGradient out;
  out.stack.assign(all.stack.begin() + 1, all.stack.end() - 1);
  const auto add = [&](std::string name, std::vector<std::int64_t> shape, std::vector<double> values) {
    out.sections.push_back({std::move(name), std::move(shape), std::move(values)});
  };
  std::vector<const std::int32_t*> g, h;  // of all tables, one behind the other
  for (auto [from, to] : {std::pair(&free, &g), std::pair(&enthalpy, &h)})
    visit_tables(*from, [&](std::string_view, const auto& table, const Indices& indices, bool) {
      add_places(table, indices, *to);
    });
  std::size_t k = 0;
  visit_tables(all.of, [&](std::string_view name, auto& table, const Indices& indices, bool) {
    std::vector<std::int64_t> shape;
    add_shape(table, indices, shape);
    std::vector<double> by_free, by_enthalpy;
    const bool smoothed =
        name == "mismatch_multi" || name == "mismatch_exterior" || name.starts_with("dangle");
    for (const double* count : places_of<double>(table, indices)) {
      const double by_energy =
          *g[k] >= kNone ? 0 : *count * (smoothed ? slope_of_smoothed(at(*g[k], *h[k])) : 1);
      by_free.push_back(by_energy * ratio), by_enthalpy.push_back(by_energy * (1 - ratio));
      ++k;
    }
    add(std::string(name), shape, std::move(by_free));
    add(std::string(name) + "_enthalpies", std::move(shape), std::move(by_enthalpy));
  });
  std::vector<double> both;
  const auto take = [&](double count) { both.insert(both.end(), {count * ratio, count * (1 - ratio)}); };
  take(all.of.multi_base), take(all.of.multi_closing), take(all.of.multi_intern);
  add("ML_params", {6}, std::exchange(both, {}));
  take(all.of.asymmetry), both.push_back(all.capped);
  add("NINIO", {3}, std::exchange(both, {}));
  both.assign(2, 0), take(all.of.terminal_au), both.push_back(all.longer * ratio);
  add("Misc", {5}, std::exchange(both, {}));
  for (const auto& [name, special] :
       {std::pair("Triloops", &all.triloops), std::pair("Tetraloops", &all.tetraloops),
        std::pair("Hexaloops", &all.hexaloops)}) {
    std::ranges::for_each(*special, take);
    add(name, {std::ssize(*special), 2}, std::exchange(both, {}));
  }
  return out;
}

}  // namespace warploom::fold
