#include "tile/sets/inferred_extents.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "tile/c/simplify.hpp"
#include "tile/sets/access_relations.hpp"

namespace warploom::tile {
namespace {

/// The pieces of a function of the sizes, as the source would write them. @return empty: one is not linear
std::vector<Expression> pieces(const isl::pw_aff& function, const std::vector<std::string>& sizes) {
  struct All {
    const std::vector<std::string>& sizes;
    std::vector<Expression> found;
    bool linear = true;
  } all{sizes, {}, true};
  const auto visit = [](isl_set* domain, isl_aff* piece, void* to) {
    isl_set_free(domain);
    auto& into = *static_cast<All*>(to);
    const auto form = linear_form(isl::manage(isl_pw_aff_from_aff(piece)), into.sizes);
    if (!form) {
      into.linear = false;
      return isl_stat_ok;
    }
    Expression sum = Expression::integer(form->constant);
    for (std::size_t s = 0; s < into.sizes.size(); ++s)
      if (form->coefficients[s] != 0)
        sum = tile::sum(std::move(sum), Expression::binary("*", Expression::integer(form->coefficients[s]),
                                                           Expression::name(into.sizes[s])));
    sum = simplified(sum);
    if (std::ranges::find(into.found, sum) == into.found.end()) into.found.push_back(std::move(sum));
    return isl_stat_ok;
  };
  isl_pw_aff_foreach_piece(function.get(), visit, &all);
  if (!all.linear) all.found.clear();
  return std::move(all.found);
}

/// How far the accesses to one array reach in one of its dimensions.
std::vector<Expression> reach(const Polyhedra& polyhedra, const std::string& array, std::size_t dimension) {
  const auto at = static_cast<unsigned>(dimension);
  isl::set all;
  for (std::size_t s = 0; s < polyhedra.statements.size(); ++s)
    for (std::size_t r = 0; r < polyhedra.statements[s].references.size(); ++r) {
      if (polyhedra.statements[s].references[r].element.text != array) continue;
      const isl::set touched = polyhedra.sets[s].accesses[r].range().intersect_params(polyhedra.parameters);
      all = all.is_null() ? touched : all.unite(touched);
    }
  if (all.is_null() || all.is_empty()) return {Expression::integer(1)};
  const auto furthest = [&](const isl::set& touched) {
    // A subscript that memory holds may be anything.
    if (isl_set_dim_has_upper_bound(touched.get(), isl_dim_set, at) != isl_bool_true)
      return std::vector<Expression>{};
    const isl::pw_aff most =
        isl::manage(isl_pw_aff_coalesce(isl_set_dim_max(touched.copy(), static_cast<int>(at))));
    return most.is_null() ? std::vector<Expression>{} : pieces(most, polyhedra.region.sizes);
  };
  std::vector<Expression> last = furthest(all);
  // Where the last iteration of a loop of steps of 2 is, depends on a remainder: up to its bound, then.
  if (last.empty()) last = furthest(isl::manage(isl_set_remove_divs(all.copy())));
  return last;
}

}  // namespace

void infer_extents(Polyhedra& polyhedra) {
  std::vector<UnknownExtents::Extent> unknown;
  Position place;
  for (Variable& variable : polyhedra.region.variables) {
    const auto mentioned = std::ranges::any_of(polyhedra.statements, [&](const Statement& statement) {
      return std::ranges::any_of(statement.references,
                                 [&](const Reference& r) { return r.element.text == variable.name; });
    });
    for (std::size_t d = 0; d < variable.extents.size(); ++d) {
      if (!(variable.extents[d] == Expression::name(""))) continue;
      if (!mentioned) {  // a parameter that is not used
        variable.extents[d] = Expression::integer(1);
        continue;
      }
      const std::vector<Expression> last = reach(polyhedra, variable.name, d);
      if (last.empty()) {
        if (unknown.empty()) place = variable.at;
        unknown.push_back({variable.name, d});
        continue;
      }
      Expression extent = plus(last[0], 1);
      for (std::size_t k = 1; k < last.size(); ++k)
        extent = Expression::call("max", {std::move(extent), plus(last[k], 1)});
      extent.at = variable.at;
      const char* what = variable.extents.size() > d + 1    ? "rows"
                         : extent == Expression::integer(1) ? "element"
                                                            : "elements";
      polyhedra.remarks.push_back(fmt::format("{} is taken to have {} {}{}", variable.name, to_text(extent),
                                              what, d > 0 ? " in each row" : ""));
      variable.extents[d] = std::move(extent);
    }
  }
  if (unknown.empty()) return;
  const Refusal refusal{
      place, fmt::format("array '{}'", unknown[0].array),
      fmt::format("how many elements it has is not known; declare it as {}[n] with sizes that are "
                  "parameters too",
                  unknown[0].array)};
  throw UnknownExtents(to_text(polyhedra.region.file, refusal), std::move(unknown));
}

}  // namespace warploom::tile
