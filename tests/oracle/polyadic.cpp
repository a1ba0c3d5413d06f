#include "polyadic.hpp"

#include <algorithm>
#include <map>
#include <utility>

namespace warploom::oracle {

namespace {

template <class V>
auto& at(V& v, std::int64_t i) {
  return v[static_cast<std::size_t>(i)];
}

/// The terms of the recurrence, as Cell; none where a term is unreachable.
template <class Cell, Value T>
class Recurrence {
 public:
  explicit Recurrence(const Problem<T>& problem) : p(problem) {}

  bool better(Cell a, Cell b) const { return p.optimum == Optimum::minimum ? a < b : a > b; }

  Maybe<Cell> leaf(std::int64_t i) const { return term(at(p.leaves, i)); }

  Maybe<Cell> split(Maybe<Cell> left, Maybe<Cell> right, std::int64_t i, std::int64_t k,
                    std::int64_t j) const {
    if (!left || !right) return {};
    const Cell sum = *left + *right;
    if (p.factors.empty()) return sum;
    const Cell product = Cell(at(p.factors, i)) * Cell(at(p.factors, j)) * Cell(at(p.factors, k));
    return sum + product;
  }

  bool may_pair(std::int64_t i, std::int64_t j) const {
    return p.pairing && j - i >= p.pairing->minimum_span;
  }

  Maybe<Cell> pair(Maybe<Cell> inner, std::int64_t i, std::int64_t j) const {
    const Pairing<T>& pairing = *p.pairing;
    const auto score =
        term(at(pairing.scores, at(pairing.codes, i) * pairing.letters + at(pairing.codes, j - 1)));
    if (!inner || !score) return {};
    return *inner + *score;
  }

  Maybe<Cell> weighted(Maybe<Cell> best, std::int64_t i, std::int64_t j) const {
    Cell weight = 0;
    if (!p.row_weight.empty()) {
      const auto row = term(at(p.row_weight, i)), column = term(at(p.column_weight, j));
      if (!row || !column) return {};
      weight = *row + *column;
    }
    if (!p.cell_weight.empty()) {
      const auto cell = term(p.cell_weight(i, j));
      if (!cell) return {};
      weight = weight + *cell;
    }
    if (!best) return {};
    return *best + weight;
  }

 private:
  Maybe<Cell> term(T value) const {
    const T unreachable = p.optimum == Optimum::minimum ? kUnreachable<T> : -kUnreachable<T>;
    if (value == unreachable) return {};
    return Cell(value);
  }

  const Problem<T>& p;
};

template <Value T>
std::vector<T> sums(const Problem<T>& p, std::int64_t i, std::int64_t j) {
  const Recurrence<T, T> r(p);
  std::vector<T> candidates, result;
  if (j == i + 1) {
    if (const auto leaf = r.leaf(i)) result.push_back(*leaf);
    return result;
  }
  if (r.may_pair(i, j))
    for (const T inner : j == i + 2 ? std::vector<T>{0} : sums(p, i + 1, j - 1))
      if (const auto sum = r.pair(inner, i, j)) candidates.push_back(*sum);
  for (std::int64_t k = i + 1; k < j; ++k) {
    const auto right = sums(p, k, j);
    for (const T a : sums(p, i, k))
      for (const T b : right) candidates.push_back(*r.split(a, b, i, k, j));
  }
  for (const T candidate : candidates)
    if (const auto sum = r.weighted(candidate, i, j)) result.push_back(*sum);
  return result;
}

}  // namespace

template <class Cell>
std::vector<Split> Table<Cell>::trace() const {
  std::vector<Split> splits;
  std::vector<std::pair<std::int64_t, std::int64_t>> open{{0, static_cast<std::int64_t>(cells.size()) - 1}};
  while (!open.empty()) {
    const auto [i, j] = open.back();
    open.pop_back();
    const std::int64_t k = at(at(decisions, i), j);
    if (k < 0) continue;
    splits.push_back({i, k, j});
    if (k > i) {
      open.emplace_back(k, j);
      open.emplace_back(i, k);
    } else if (j - i > 2) {
      open.emplace_back(i + 1, j - 1);
    }
  }
  return splits;
}

template <class Cell, Value T>
Table<Cell> fill(const Problem<T>& problem) {
  const std::int64_t points = problem.points();
  const Recurrence<Cell, T> r(problem);
  Table<Cell> table;
  table.cells.assign(std::size_t(points), std::vector<Maybe<Cell>>(std::size_t(points)));
  table.decisions.assign(std::size_t(points), std::vector<std::int64_t>(std::size_t(points), -1));
  const auto cell = [&](std::int64_t i, std::int64_t j) -> Maybe<Cell>& { return at(at(table.cells, i), j); };
  for (std::int64_t i = 0; i + 1 < points; ++i) cell(i, i + 1) = r.leaf(i);
  for (std::int64_t span = 2; span < points; ++span)
    for (std::int64_t i = 0; i + span < points; ++i) {
      const std::int64_t j = i + span;
      std::vector<std::pair<std::int64_t, Maybe<Cell>>> candidates;
      if (r.may_pair(i, j))
        candidates.emplace_back(i, r.pair(span == 2 ? Maybe<Cell>(0) : cell(i + 1, j - 1), i, j));
      for (std::int64_t k = i + 1; k < j; ++k)
        candidates.emplace_back(k, r.split(cell(i, k), cell(k, j), i, k, j));
      Maybe<Cell> best;
      for (const auto& [k, candidate] : candidates)
        if (candidate && (!best || r.better(*candidate, *best))) best = candidate;
      cell(i, j) = r.weighted(best, i, j);
      if (cell(i, j))
        at(at(table.decisions, i), j) = std::ranges::find_if(candidates, [&](const auto& candidate) {
                                          return r.weighted(candidate.second, i, j) == cell(i, j);
                                        })->first;
    }
  return table;
}

template <Value T>
Maybe<T> evaluate(const Problem<T>& problem, std::span<const Split> splits) {
  const Recurrence<T, T> r(problem);
  // Down: each decision is for the interval that is due.
  using Interval = std::pair<std::int64_t, std::int64_t>;
  std::vector<Interval> due{{0, problem.points() - 1}};
  const auto add = [&](std::int64_t i, std::int64_t j) {
    if (j - i > 1) due.emplace_back(i, j);
  };
  if (problem.points() == 2) due.clear();
  for (const auto& [i, k, j] : splits) {
    if (due.empty() || due.back() != Interval{i, j} || k < i || k >= j) return {};
    due.pop_back();
    if (k > i) {
      add(k, j);
      add(i, k);
    } else {
      if (!r.may_pair(i, j)) return {};
      add(i + 1, j - 1);
    }
  }
  if (!due.empty()) return {};
  // Up: what a decision needs comes after it.
  std::map<Interval, Maybe<T>> values;
  const auto value = [&](std::int64_t i, std::int64_t j) -> Maybe<T> {
    if (i == j) return T(0);
    return j == i + 1 ? r.leaf(i) : values.at({i, j});
  };
  for (std::size_t n = splits.size(); n-- > 0;) {
    const auto& [i, k, j] = splits[n];
    const auto sum = k > i ? r.split(value(i, k), value(k, j), i, k, j) : r.pair(value(i + 1, j - 1), i, j);
    values[{i, j}] = r.weighted(sum, i, j);
  }
  return value(0, problem.points() - 1);
}

template <Value T>
std::vector<T> every_sum(const Problem<T>& problem) {
  return sums(problem, 0, problem.points() - 1);
}

#define WARPLOOM_INSTANTIATE(T)                                          \
  template struct Table<T>;                                              \
  template Table<T> fill(const Problem<T>&);                             \
  template Maybe<T> evaluate(const Problem<T>&, std::span<const Split>); \
  template std::vector<T> every_sum(const Problem<T>&);
WARPLOOM_INSTANTIATE(std::int32_t)
WARPLOOM_INSTANTIATE(std::int64_t)
WARPLOOM_INSTANTIATE(float)
WARPLOOM_INSTANTIATE(double)
template struct Table<Wide>;
template Table<Wide> fill(const Problem<std::int32_t>&);
template Table<Wide> fill(const Problem<std::int64_t>&);

}  // namespace warploom::oracle
