#include "tile/sets/flags.hpp"

#include <algorithm>

#include "tile/c/mentions.hpp"

namespace warploom::tile {
namespace {

int parameter(const isl::set& set, const std::string& size) {
  return isl_set_find_dim_by_name(set.get(), isl_dim_param, size.c_str());
}

bool involves(const isl::set& set, const std::string& size) {
  const int at = parameter(set, size);
  return at >= 0 &&
         isl_set_involves_dims(set.get(), isl_dim_param, static_cast<unsigned>(at), 1) == isl_bool_true;
}

isl::set within(const isl::set& set, int parameter, std::optional<int> least, std::optional<int> most) {
  isl_set* part = set.copy();
  const auto at = static_cast<unsigned>(parameter);
  if (least) part = isl_set_lower_bound_si(part, isl_dim_param, at, *least);
  if (most) part = isl_set_upper_bound_si(part, isl_dim_param, at, *most);
  return isl::manage(part);
}

isl::set for_any(const isl::set& set, int parameter) {
  return isl::manage(isl_set_eliminate(set.copy(), isl_dim_param, static_cast<unsigned>(parameter), 1));
}

/// The same points for all values that are not 0.
bool asks_only_whether_zero(const isl::set& set, const std::string& size) {
  if (!involves(set, size)) return true;
  const int at = parameter(set, size);
  const isl::set above = within(set, at, 1, std::nullopt), below = within(set, at, std::nullopt, -1);
  const isl::set points = for_any(above, at);
  return within(points, at, 1, std::nullopt).is_subset(above) && points.is_equal(for_any(below, at)) &&
         within(points, at, std::nullopt, -1).is_subset(below);
}

bool is_counted_with(const Polyhedra& polyhedra, const std::string& size) {
  const auto in_subscripts = [&](const Expression& element) {
    return std::ranges::any_of(element.operands,
                               [&](const Expression& subscript) { return mentions(subscript, size); });
  };
  return std::ranges::any_of(polyhedra.region.variables,
                             [&](const Variable& variable) {
                               return std::ranges::any_of(variable.extents, [&](const Expression& extent) {
                                 return mentions(extent, size);
                               });
                             }) ||
         std::ranges::any_of(polyhedra.statements, [&](const Statement& statement) {
           return std::ranges::any_of(statement.references, [&](const Reference& reference) {
             return in_subscripts(reference.element);
           });
         });
}

}  // namespace

void find_flags(Polyhedra& polyhedra) {
  for (const std::string& size : polyhedra.region.sizes) {
    const auto makes_pieces = [&](const StatementSets& sets) {
      return isl_set_n_basic_set(sets.domain.get()) > 1 && involves(sets.domain, size);
    };
    if (std::ranges::any_of(polyhedra.sets, makes_pieces) && !is_counted_with(polyhedra, size) &&
        asks_only_whether_zero(polyhedra.parameters, size) &&
        std::ranges::all_of(polyhedra.sets, [&](const StatementSets& sets) {
          return asks_only_whether_zero(sets.domain, size);
        }))
      polyhedra.flags.insert(size);
  }
  if (polyhedra.flags.empty()) return;
  const isl::set values = values_of_flags(polyhedra);
  for (StatementSets& sets : polyhedra.sets) {
    sets.domain = sets.domain.intersect_params(values).coalesce();
    sets.order = sets.order.intersect_params(values).coalesce();
    for (isl::map& access : sets.accesses) access = access.intersect_params(values).coalesce();
  }
}

isl::set values_of_flags(const Polyhedra& polyhedra) {
  isl::set values = isl::manage(isl_set_universe(isl_set_get_space(polyhedra.parameters.get())));
  for (const std::string& flag : polyhedra.flags) values = within(values, parameter(values, flag), 0, 1);
  return values;
}

isl::map for_all_values_of_flags(isl::map points, const Polyhedra& polyhedra) {
  isl::set all = points.wrap();
  for (const std::string& flag : polyhedra.flags) {
    if (!involves(all, flag)) continue;
    const int at = parameter(all, flag);
    const isl::set not_zero = for_any(within(all, at, 1, 1), at);
    all = within(all, at, 0, 0)
              .unite(within(not_zero, at, 1, std::nullopt))
              .unite(within(not_zero, at, std::nullopt, -1));
  }
  return all.coalesce().unwrap();
}

std::int64_t value_in_sets(const Polyhedra& polyhedra, const std::string& size, std::int64_t value) {
  return polyhedra.flags.contains(size) ? value != 0 : value;
}

}  // namespace warploom::tile
