#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <tuple>

#include "arrays.hpp"
#include "module.hpp"
#include "warploom/core/error.hpp"
#include "warploom/dp/base_pairs.hpp"
#include "warploom/dp/chain.hpp"
#include "warploom/dp/polygon.hpp"
#include "warploom/dp/search_tree.hpp"
#include "warploom/dp/user_table.hpp"

namespace warploom::python {
namespace {

/// What a report tells: device, decomposition, block, storage, fallback, pairs, seconds, bytes.
using Told =
    std::tuple<std::string, std::string, int, std::string, std::string, double, double, std::uint64_t>;

Told told(const dp::Report& r) {
  return {
      name(r.device), std::string(name(r.decomposition)), r.block, r.storage, r.fallback, r.pairs, r.seconds,
      r.bytes};
}

/// Of a triangle over n leaves.
Length length_of_leaves(std::size_t n) {
  const auto leaves = static_cast<double>(n);
  return length_of(leaves * leaves * leaves / 6e9 + 1e-6);
}

Array<std::int64_t> array_of_splits(std::vector<dp::Split> splits) {
  static_assert(sizeof(dp::Split) == 3 * sizeof(std::int64_t));
  const std::size_t count = splits.size();
  return array_of<std::int64_t>(std::move(splits), {count, 3});
}

/// @param splits  [matrices - 1, 3], to write: an array that NumPy makes costs less than one that we give it
auto chain(View1<const std::int64_t> dimensions, View2<std::int64_t> splits, const std::string& type,
           const Asked& asked) {
  dp::ChainOrder order = run_asked(asked, length_of_leaves(dimensions.size()), [&](const Run& run) {
    return dp::chain_order(span_of(dimensions), {.solve = {.run = run}, .type = dp::parse_value_type(type)});
  });
  if (order.splits.size() != splits.shape(0) || splits.shape(1) != 3)
    throw Internal("the splits of a chain have another place");
  for (std::size_t s = 0; s < order.splits.size(); ++s)
    std::ranges::copy(std::array{order.splits[s].i, order.splits[s].k, order.splits[s].j},
                      splits.data() + 3 * s);
  return std::tuple(order.cost, order.left_to_right, std::move(order.parenthesisation),
                    std::string(name(order.type)), told(order.report));
}

/// @param partners  [bases] of each sequence, to write
auto nussinov(const std::vector<std::string>& sequences, const std::vector<View1<std::int64_t>>& partners,
              std::int64_t minimum_loop, std::tuple<std::int32_t, std::int32_t, std::int32_t> weights,
              bool unknown, const Asked& asked) {
  double seconds = 0;
  for (const std::string& sequence : sequences)
    seconds += std::pow(static_cast<double>(sequence.size()), 3) / 6e9 + 2e-6;
  std::vector<dp::BasePairs> found = run_asked(asked, length_of(seconds), [&](const Run& run) {
    const auto [gc, au, gu] = weights;
    return dp::base_pairs(sequences, {.solve = {.run = run},
                                      .minimum_loop = minimum_loop,
                                      .gc = gc,
                                      .au = au,
                                      .gu = gu,
                                      .unknown = unknown});
  });
  std::vector<std::tuple<std::int64_t, std::int64_t, std::string, std::string, Told>> all;
  for (dp::BasePairs& pairs : found) {
    const View1<std::int64_t>& partner = partners.at(all.size());
    if (partner.size() != pairs.partner.size()) throw Internal("the partners of bases have another place");
    std::ranges::copy(pairs.partner, partner.data());
    std::string structure = dp::dot_bracket(pairs);
    all.emplace_back(pairs.score, pairs.pairs, std::move(pairs.sequence), std::move(structure),
                     told(pairs.report));
  }
  return all;
}

auto polygon(View2<const double> points, const std::string& type, const Asked& asked) {
  static_assert(sizeof(dp::Point) == 2 * sizeof(double));
  if (points.shape(1) != 2)
    throw BadInput("xy: shape [" + std::to_string(points.shape(0)) + ", " + std::to_string(points.shape(1)) +
                   "], expected [n, 2]");
  // Point is two doubles, so that n of them lie as the array does.
  const std::span vertices(reinterpret_cast<const dp::Point*>(points.data()), points.shape(0));
  dp::Triangulation t = run_asked(asked, length_of_leaves(vertices.size()), [&](const Run& run) {
    return dp::triangulate(vertices, {.solve = {.run = run}, .type = dp::parse_value_type(type)});
  });
  const std::size_t triangles = t.triangles.size(), diagonals = t.diagonals.size();
  return std::tuple(t.weight, t.perimeter, t.convex,
                    array_of<std::int64_t>(std::move(t.triangles), {triangles, 3}),
                    array_of<std::int64_t>(std::move(t.diagonals), {diagonals, 2}), std::string(name(t.type)),
                    told(t.report));
}

template <class T>
auto search_tree(View1<const T> p, View1<const T> q, const std::string& type, const Asked& asked) {
  dp::SearchTree tree = run_asked(asked, length_of_leaves(q.size()), [&](const Run& run) {
    return dp::search_tree(span_of(p), span_of(q),
                           {.solve = {.run = run}, .type = dp::parse_value_type(type)});
  });
  static_assert(sizeof(dp::SearchTreeNode) == 3 * sizeof(std::int64_t));
  const std::size_t keys = tree.nodes.size();
  return std::tuple(tree.cost, tree.total, tree.root,
                    array_of<std::int64_t>(std::move(tree.nodes), {keys, 3}), std::string(name(tree.type)),
                    told(tree.report));
}

/// A solved problem, whose cells stay where they are.
template <dp::Value T>
class Solved {
 public:
  Solved(dp::Solution<T> solution, dp::Optimum sense) : solution_(std::move(solution)), sense_(sense) {}

  static nb::object number(T value) {
    return std::abs(value) == dp::kUnreachable<T> ? nb::none() : nb::cast(value);
  }
  nb::object optimum() const { return number(solution_.optimum()); }
  /// Of the leaves first to last, both included.
  nb::object value(std::int64_t first, std::int64_t last) const {
    return number(solution_.value(first, last + 1));
  }
  Array<std::int64_t> trace() const {
    std::vector<dp::Split> splits =
        run_asked({}, Length::brief, [&](const Run&) { return solution_.trace(); });
    return array_of_splits(std::move(splits));
  }
  /// [n, n] over leaves, 0 below the diagonal.
  Array<T> table() const {
    const std::int64_t n = solution_.points() - 1;
    std::vector<T> square = run_asked({}, Length::brief, [&](const Run&) {
      const dp::Triangle<T> cells = solution_.table();
      std::vector<T> all(static_cast<std::size_t>(n * n));
      for (std::int64_t i = 0; i < n; ++i)
        for (std::int64_t j = i; j < n; ++j) all[i * n + j] = cells(i, j + 1);
      return all;
    });
    const auto edge = static_cast<std::size_t>(n);
    return array_of<T, T>(std::move(square), {edge, edge});
  }
  std::string structure() const {
    if (std::abs(solution_.optimum()) == dp::kUnreachable<T>) return "";
    return dp::parenthesisation(solution_.trace(), solution_.points() - 1, "", 0);
  }
  Told report() const { return told(solution_.report()); }
  std::string sense() const { return std::string(name(sense_)); }

 private:
  dp::Solution<T> solution_;
  dp::Optimum sense_;
};

template <dp::Value T>
std::vector<T> vector_of(const std::optional<View1<const T>>& values) {
  return values ? std::vector<T>(values->data(), values->data() + values->size()) : std::vector<T>{};
}

template <dp::Value T>
Solved<T> solve(View1<const T> leaves, std::optional<View1<const T>> row,
                std::optional<View1<const T>> column, std::optional<Strided<const T, nb::ndim<2>>> cell,
                std::optional<View1<const T>> factors, const std::string& optimum, const Asked& asked) {
  dp::Problem<T> problem{.optimum = dp::parse_optimum(optimum),
                         .leaves = vector_of<T>(leaves),
                         .row_weight = vector_of(row),
                         .column_weight = vector_of(column),
                         .factors = vector_of(factors)};
  const std::int64_t points = problem.points();
  if (cell) {
    if (static_cast<std::int64_t>(cell->shape(0)) != points ||
        static_cast<std::int64_t>(cell->shape(1)) != points)
      throw BadInput("cell: shape [" + std::to_string(cell->shape(0)) + ", " +
                     std::to_string(cell->shape(1)) + "], expected [" + std::to_string(points) + ", " +
                     std::to_string(points) + "], a point more than leaves");
    problem.cell_weight = dp::Triangle<T>(points, T{0});
    for (std::int64_t i = 0; i < points; ++i)
      for (std::int64_t j = i + 2; j < points; ++j)
        problem.cell_weight(i, j) = cell->data()[i * cell->stride(0) + j * cell->stride(1)];
  }
  return {run_asked(asked, length_of_leaves(leaves.size()),
                    [&](const Run& run) { return dp::solve(problem, {.run = run}); }),
          problem.optimum};
}

using Square = nb::ndarray<nb::ro, nb::device::cpu, nb::ndim<2>>;

template <class... Elements>
dp::UserTable table_of(const Square& square) {
  dp::UserTable table;
  const auto take = [&]<class Element>(Element) {
    if (square.dtype() != nb::dtype<Element>()) return false;
    table =
        dp::user_table(static_cast<const Element*>(square.data()), static_cast<std::int64_t>(square.shape(0)),
                       {square.stride(0), square.stride(1)}, "the table");
    return true;
  };
  if (!(take(Elements()) || ...)) throw Internal("a table of another type");
  return table;
}

/// The problem of a square table, as `warploom dp solve` reads it. @param square  an array [n, n] in any
/// order, as an object, for a stub wants to know of what
nb::object solve_table(const nb::object& square, const std::string& optimum, const std::string& type,
                       const Asked& asked) {
  const dp::UserTable table = table_of<std::int8_t, std::int16_t, std::int32_t, std::int64_t, std::uint8_t,
                                       std::uint16_t, std::uint32_t, float, double>(nb::cast<Square>(square));
  const dp::Optimum sense = dp::parse_optimum(optimum);
  return dp::with_value_type(dp::choose_value_type(table, dp::parse_value_type(type)), [&](auto tag) {
    using T = typename decltype(tag)::type;
    return nb::cast(Solved<T>(
        run_asked(asked, length_of_leaves(static_cast<std::size_t>(table.leaves)),
                  [&](const Run& run) { return dp::solve(dp::problem_of<T>(table, sense), {.run = run}); }),
        sense));
  });
}

template <dp::Value T>
void bind_solve(nb::module_& module, const char* function, const char* solved) {
  nb::class_<Solved<T>>(module, solved)
      .def("optimum", &Solved<T>::optimum)
      .def("value", &Solved<T>::value)
      .def("trace", &Solved<T>::trace)
      .def("table", &Solved<T>::table)
      .def("structure", &Solved<T>::structure)
      .def("report", &Solved<T>::report)
      .def("sense", &Solved<T>::sense);
  module.def(function, &solve<T>, nb::arg("leaves").noconvert(), nb::arg("row").none(),
             nb::arg("column").none(), nb::arg("cell").none(), nb::arg("factors").none(), nb::arg("optimum"),
             nb::arg("asked"));
}

}  // namespace

void bind_dp(nb::module_& module) {
  module.def("chain", &chain);
  module.def("nussinov", &nussinov);
  module.def("polygon", &polygon);
  module.def("search_tree", &search_tree<std::int64_t>, nb::arg("p").noconvert(), nb::arg("q").noconvert(),
             nb::arg("type"), nb::arg("asked"));
  module.def("search_tree", &search_tree<double>, nb::arg("p").noconvert(), nb::arg("q").noconvert(),
             nb::arg("type"), nb::arg("asked"));
  bind_solve<std::int32_t>(module, "solve_int32", "SolvedInt32");
  bind_solve<std::int64_t>(module, "solve_int64", "SolvedInt64");
  bind_solve<float>(module, "solve_float32", "SolvedFloat32");
  bind_solve<double>(module, "solve_float64", "SolvedFloat64");
  module.def("solve_table", &solve_table);
}

}  // namespace warploom::python
