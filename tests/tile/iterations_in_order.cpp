#include "iterations_in_order.hpp"

#include <algorithm>

#include "tile/order/schedule.hpp"
#include "tile/sets/flags.hpp"

namespace warploom::tile {
namespace {

using Sizes = std::map<std::string, std::int64_t>;
using Point = std::vector<std::int64_t>;

/// An affine function of isl's, with numbers for the sizes: isl's own evaluation takes microseconds a point.
class Function {
 public:
  Function(const isl::aff& function, const Sizes& sizes) {
    denominator_ = isl::manage(isl_aff_get_denominator_val(function.get())).num_si();
    const auto numerator = [&](isl_val* taken) {
      const isl::val value = isl::manage(taken);
      return value.num_si() * (denominator_ / value.den_si());
    };
    constant_ = numerator(isl_aff_get_constant_val(function.get()));
    for (int p = 0; p < isl_aff_dim(function.get(), isl_dim_param); ++p)
      if (const auto factor = numerator(isl_aff_get_coefficient_val(function.get(), isl_dim_param, p)))
        constant_ +=
            factor * sizes.at(isl_aff_get_dim_name(function.get(), isl_dim_param, static_cast<unsigned>(p)));
    for (int d = 0; d < isl_aff_dim(function.get(), isl_dim_in); ++d)
      factors_.push_back(numerator(isl_aff_get_coefficient_val(function.get(), isl_dim_in, d)));
    for (int k = 0; k < isl_aff_dim(function.get(), isl_dim_div); ++k)
      if (const auto factor = numerator(isl_aff_get_coefficient_val(function.get(), isl_dim_div, k)))
        quotients_.emplace_back(factor, Function(isl::manage(isl_aff_get_div(function.get(), k)), sizes));
  }

  std::int64_t operator()(const Point& point) const {
    std::int64_t sum = constant_;
    for (std::size_t d = 0; d < factors_.size(); ++d) sum += factors_[d] * point[d];
    for (const auto& [factor, quotient] : quotients_) sum += factor * quotient(point);
    const std::int64_t rest = (sum % denominator_ + denominator_) % denominator_;
    return (sum - rest) / denominator_;
  }

 private:
  std::int64_t denominator_ = 1, constant_ = 0;
  std::vector<std::int64_t> factors_;
  std::vector<std::pair<std::int64_t, Function>> quotients_;
};

std::vector<Point> points_of(const Polyhedra& polyhedra, const isl::set& domain, const Sizes& sizes) {
  isl_set* fixed = domain.copy();
  for (const auto& [size, value] : sizes)
    if (const int at = isl_set_find_dim_by_name(fixed, isl_dim_param, size.c_str()); at >= 0)
      fixed = isl_set_fix_si(fixed, isl_dim_param, static_cast<unsigned>(at),
                             static_cast<int>(value_in_sets(polyhedra, size, value)));
  const isl::set set = isl::manage(fixed).project_out_all_params();
  const auto dimensions = static_cast<int>(isl_set_dim(set.get(), isl_dim_set));
  std::vector<Point> points;
  set.foreach_point([&](const isl::point& point) {
    Point& values = points.emplace_back();
    for (int d = 0; d < dimensions; ++d)
      values.push_back(isl::manage(isl_point_get_coordinate_val(point.get(), isl_dim_set, d)).num_si());
  });
  return points;
}

/// A statement's text with numbers for its loops, under its conditions on data.
Node iteration(const Statement& statement, const Point& point) {
  std::map<std::string, Expression> values;
  for (std::size_t l = 0; l < statement.loops.size(); ++l)
    values[statement.loops[l]] = Expression::integer(point[l]);
  Node assignment = statement.assignment;
  assignment.target = substitute(assignment.target, values);
  assignment.value = substitute(assignment.value, values);
  for (auto condition = statement.conditions.rbegin(); condition != statement.conditions.rend();
       ++condition) {
    Node branch;
    branch.kind = Node::Kind::branch;
    branch.condition = substitute(*condition, values);
    branch.children.emplace_back();
    branch.children.back().children.push_back(std::move(assignment));
    assignment = std::move(branch);
  }
  return assignment;
}

}  // namespace

IterationsInOrder::IterationsInOrder(const Nest& nest, const Sizes& sizes) : sizes_(sizes) {
  with_isl(nest.polyhedra(), [&] {
    for (const StatementSets& sets : nest.polyhedra().sets)
      points_.push_back(points_of(nest.polyhedra(), sets.domain, sizes));
  });
}

Node IterationsInOrder::of(const Schedule& schedule) const {
  const Schedule::Impl& impl = schedule.impl();
  struct Iteration {
    Point time;
    std::size_t statement = 0;
    const Point* point = nullptr;
  };
  std::vector<Iteration> all;
  with_isl(impl.nest.polyhedra(), [&] {
    const std::size_t length = time_length(impl);
    for (std::size_t s = 0; s < points_.size(); ++s) {
      std::vector<std::optional<Function>> functions;
      for (const TimeDimension& dimension : impl.times[s])
        functions.push_back(dimension.aff ? std::optional(Function(*dimension.aff, sizes_)) : std::nullopt);
      for (const Point& point : points_[s]) {
        Iteration& one = all.emplace_back(Point(length, 0), s, &point);
        for (std::size_t d = 0; d < functions.size(); ++d)
          one.time[d] = functions[d] ? (*functions[d])(point) : impl.times[s][d].value;
      }
    }
  });
  std::ranges::stable_sort(all, {}, &Iteration::time);
  Node block;
  for (const Iteration& one : all)
    block.children.push_back(iteration(impl.nest.statements()[one.statement], *one.point));
  return block;
}

}  // namespace warploom::tile
