// Sizes that a nest allows.
#include <fmt/format.h>

#include "tile/sets/polyhedra.hpp"

namespace warploom::tile {
namespace {

/// The value of a set of one dimension that is nearest to `wanted`. None if it is empty.
std::optional<std::int64_t> nearest(const isl::set& values, std::int64_t wanted) {
  const isl::val at(values.ctx(), wanted);
  const isl::set below = isl::manage(isl_set_upper_bound_val(values.copy(), isl_dim_set, 0, at.copy())),
                 above = isl::manage(isl_set_lower_bound_val(values.copy(), isl_dim_set, 0, at.copy()));
  std::optional<std::int64_t> less, more;
  if (!below.is_empty()) less = below.dim_max_val(0).num_si();
  if (!above.is_empty()) more = above.dim_min_val(0).num_si();
  return less && (!more || wanted - *less <= *more - wanted) ? less : more;
}

}  // namespace

std::map<std::string, std::int64_t> sizes_near(const Nest& nest,
                                               const std::map<std::string, std::int64_t>& wanted) {
  const Polyhedra& polyhedra = nest.polyhedra();
  const Region& region = nest.region();
  return with_isl(polyhedra, [&] {
    // The sizes as coordinates; those of a program are no negative numbers.
    const auto count = static_cast<unsigned>(region.sizes.size());
    isl::set allowed = isl::manage(isl_set_from_params(polyhedra.parameters.copy()));
    allowed = isl::manage(isl_set_move_dims(allowed.release(), isl_dim_set, 0, isl_dim_param, 0, count));
    for (unsigned s = 0; s < count; ++s)
      allowed = isl::manage(isl_set_lower_bound_si(allowed.release(), isl_dim_set, s, 0));
    std::map<std::string, std::int64_t> sizes;
    for (unsigned s = 0; s < count; ++s) {
      const std::string& name = region.sizes[s];
      const auto asked = wanted.find(name);
      if (asked == wanted.end())
        throw BadInput(fmt::format("{}: {}: size '{}' is not among those that are wanted", region.file,
                                   region.function, name));
      isl::set values = isl::manage(isl_set_project_out(allowed.copy(), isl_dim_set, s + 1, count - s - 1));
      values = isl::manage(isl_set_project_out(values.release(), isl_dim_set, 0, s));
      const auto value = nearest(values, asked->second);
      if (!value)
        throw BadInput(fmt::format("{}: {}: there are no sizes for which the nest is right", region.file,
                                   region.function));
      sizes[name] = *value;
      allowed = isl::manage(isl_set_fix_val(allowed.release(), isl_dim_set, s,
                                            isl::val(polyhedra.context(), *value).release()));
    }
    return sizes;
  });
}

}  // namespace warploom::tile
