#include "tile/sets/access_relations.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "tile/c/predicate.hpp"

namespace warploom::tile {
namespace {

/// Names of variables and elements in a value, in the order of the text. Subscripts are read as affine forms
/// later.
void collect_mentions(const AffineScope& scope, const Expression& e, std::vector<Expression>& mentions) {
  if (e.kind == Expression::Kind::element) {
    for (const Expression& subscript : e.operands)
      if (reads_data(scope.region, subscript)) collect_mentions(scope, subscript, mentions);
    mentions.push_back(e);
    return;
  }
  if (e.kind == Expression::Kind::name) {
    const auto known = [&](const std::vector<std::string>& names) {
      return std::ranges::find(names, e.text) != names.end();
    };
    if (find_variable(scope.region, e.text)) {
      mentions.push_back(e);
    } else if (!known(scope.loops) && !known(scope.region.sizes)) {
      refuse(scope.region, e.at, fmt::format("name '{}'", e.text),
             "it is no variable, no size and no loop around the statement");
    }
  }
  for (const Expression& operand : e.operands) collect_mentions(scope, operand, mentions);
}

/// A subscript that memory holds is anything within its extent.
isl::map access_map(const StatementScope& scope, const Expression& element) {
  constexpr const char* kAny = "any_of_dimension";
  isl::pw_aff_list subscripts(scope.names.context, static_cast<int>(element.operands.size()));
  isl::set runs_with_any = scope.runs;
  std::vector<std::string> unknown;
  for (std::size_t d = 0; d < element.operands.size(); ++d) {
    if (!reads_data(scope.names.region, element.operands[d])) {
      subscripts = subscripts.add(read_affine(scope.names, element.operands[d], "subscript"));
      continue;
    }
    unknown.push_back(fmt::format("{}_{}_", kAny, d));
    const isl::pw_aff any =
        isl::manage(isl_set_universe(isl_space_params_alloc(isl::ctx(scope.names.context).get(), 0)))
            .param_pw_aff_on_domain(unknown.back());
    runs_with_any = runs_with_any.intersect(any.ge_set(any.sub(any)));
    const Variable& variable = *find_variable(scope.names.region, element.text);
    if (!(variable.extents[d] == Expression::name(""))) {
      const AffineScope sizes_only{scope.names.context, scope.names.region, {}};
      runs_with_any = runs_with_any.intersect(
          any.lt_set(read_affine(sizes_only, variable.extents[d], "extent of '" + variable.name + "'")));
    }
    subscripts = subscripts.add(any);
  }
  const isl::space array = isl::space::unit(scope.names.context)
                               .add_named_tuple(element.text, static_cast<unsigned>(element.operands.size()));
  const isl::set runs = runs_with_any.unbind_params(scope.tuple);
  if (element.operands.empty())
    return isl::manage(isl_map_from_domain_and_range(runs.copy(), array.universe_set().release()));
  isl::map access = isl::multi_pw_aff(array, subscripts)
                        .unbind_params_insert_domain(scope.tuple)
                        .as_map()
                        .intersect_domain(runs);
  for (const std::string& name : unknown) {
    const int at = isl_map_find_dim_by_name(access.get(), isl_dim_param, name.c_str());
    access = isl::manage(isl_map_project_out(access.release(), isl_dim_param, static_cast<unsigned>(at), 1));
  }
  return access;
}

void check_extents(const AffineScope& scope, const Expression& element) {
  const Variable* variable = find_variable(scope.region, element.text);
  if (!variable)
    refuse(scope.region, element.at, fmt::format("'{}'", to_text(element)), "the array is not declared");
  if (variable->extents.size() != element.operands.size())
    refuse(
        scope.region, element.at, fmt::format("'{}'", to_text(element)),
        fmt::format(
            "'{}' is declared with {} extents and used with {} subscripts; declare it as {}[...] with all of its extents",
            variable->name, variable->extents.size(), element.operands.size(), variable->name));
  if (variable->has_row_pointers) return;
  for (std::size_t d = 1; d < variable->extents.size(); ++d)  // the outermost is what its accesses reach
    if (variable->extents[d] == Expression::name(""))
      refuse(scope.region, variable->at, fmt::format("array '{}'", variable->name),
             fmt::format("an extent is not declared; declare it as {}[n] with sizes that are parameters too",
                         variable->name));
}

Reference make_reference(const StatementScope& scope, Expression element, int number, bool is_write) {
  Reference reference;
  reference.number = number;
  reference.is_write = is_write;
  for (const Expression& subscript : element.operands) {
    std::vector<std::string> names = scope.names.loops;
    names.insert(names.end(), scope.names.region.sizes.begin(), scope.names.region.sizes.end());
    const auto loops = static_cast<std::ptrdiff_t>(scope.names.loops.size());
    LinearForm form;
    if (reads_data(scope.names.region, subscript))
      reference.is_exact = false;
    else if (auto linear = linear_form(read_affine(scope.names, subscript, "subscript"), names))
      form = std::move(*linear);
    const auto middle =
        form.coefficients.empty() ? form.coefficients.begin() : form.coefficients.begin() + loops;
    reference.coefficients.emplace_back(form.coefficients.begin(), middle);
    reference.size_coefficients.emplace_back(middle, form.coefficients.end());
    reference.constants.push_back(form.constant);
  }
  reference.element = std::move(element);
  return reference;
}

bool is_term(const Expression& sum, const Expression& target) {
  if (sum == target) return true;
  if (sum.kind != Expression::Kind::binary) return false;
  if (sum.text == "+") return is_term(sum.operands[0], target) || is_term(sum.operands[1], target);
  return sum.text == "-" && is_term(sum.operands[0], target);
}

bool is_factor(const Expression& product, const Expression& target) {
  if (product == target) return true;
  return product.kind == Expression::Kind::binary && product.text == "*" &&
         (is_factor(product.operands[0], target) || is_factor(product.operands[1], target));
}

/// The operator that combines the target with the rest of a value, and how often that form mentions the
/// target.
struct Combination {
  std::string op;
  int mentions = 0;
};

Combination combination(const Node& assignment) {
  using Kind = Expression::Kind;
  if (assignment.op == "+=" || assignment.op == "-=") return {"+", 1};
  if (assignment.op == "*=") return {"*", 1};
  if (assignment.op != "=") return {};
  const Expression &target = assignment.target, &value = assignment.value;
  if (value == target) return {};
  if (is_term(value, target)) return {"+", 1};
  if (is_factor(value, target)) return {"*", 1};
  const auto one_is_target = [&](const Expression& e) {
    return e.operands[0] == target || e.operands[1] == target;
  };
  if (value.kind == Kind::call && value.operands.size() == 2 && one_is_target(value)) {
    for (const char* op : {"min", "max"})
      if (value.text == op || value.text == fmt::format("f{}", op) || value.text == fmt::format("f{}f", op))
        return {op, 1};
  }
  if (value.kind == Kind::conditional && value.operands[0].kind == Kind::binary) {
    const Expression &condition = value.operands[0], &yes = value.operands[1], &no = value.operands[2];
    const bool less = condition.text == "<" || condition.text == "<=";
    const bool greater = condition.text == ">" || condition.text == ">=";
    if ((less || greater) && one_is_target(condition)) {
      if (yes == condition.operands[0] && no == condition.operands[1]) return {less ? "min" : "max", 2};
      if (yes == condition.operands[1] && no == condition.operands[0]) return {less ? "max" : "min", 2};
    }
  }
  return {};
}

std::string reduction_of(const Statement& statement, const StatementSets& sets) {
  const Combination form = combination(statement.assignment);
  int mentions = 0;
  for (std::size_t r = 0; r + 1 < statement.references.size(); ++r) {
    const Expression& element = statement.references[r].element;
    if (element == statement.assignment.target) {
      ++mentions;
    } else if (element.text == statement.assignment.target.text &&
               !isl::manage(isl_map_intersect(sets.accesses[r].copy(), sets.accesses.back().copy()))
                    .is_empty()) {
      return "";
    }
  }
  return mentions == form.mentions ? form.op : "";
}

/// "n >= 2" of "[n] -> { : n >= 2 }"
std::string constraint_text(const isl::set& parameters) {
  const std::unique_ptr<char, decltype(&std::free)> whole(isl_set_to_str(parameters.get()), &std::free);
  const std::string text = whole ? whole.get() : "";
  const auto colon = text.find(':'), close = text.rfind('}');
  if (colon == std::string::npos || close < colon + 3) return text;
  return text.substr(colon + 2, close - colon - 3);
}

/// "i = 0, j = 3"
std::string values_text(const std::vector<std::string>& names, const std::int64_t* values) {
  std::string text;
  for (const std::string& name : names)
    text += fmt::format("{}{} = {}", text.empty() ? "" : ", ", name, *values++);
  return text;
}

/// What the access does at the smallest of the iterations that leave the array.
[[noreturn]] void refuse_subscript(const StatementScope& scope, const Expression& element,
                                   std::size_t dimension, const isl::set& outside,
                                   const Polyhedra& polyhedra) {
  const Region& region = scope.names.region;
  const StatementScope leaving{scope.names, scope.tuple, outside};
  const SmallestPoint point = smallest_point(access_map(leaving, element).wrap(), polyhedra);
  const std::size_t depth = scope.names.loops.size();
  const std::string sizes = values_text(region.sizes, point.sizes.data());
  const std::string iteration = values_text(scope.names.loops, point.coordinates.data());
  refuse(
      region, element.at, fmt::format("'{}'", to_text(element)),
      fmt::format(
          "subscript {} is {}{}{}{}{}, outside of the extent {}, and no sizes that are allowed avoid that; "
          "correct the subscript, the bounds of the loops or the extent",
          dimension + 1, point.coordinates[depth + dimension], sizes.empty() ? "" : " for ", sizes,
          iteration.empty() ? "" : " at ", iteration,
          to_text(find_variable(region, element.text)->extents[dimension])));
}

}  // namespace

void refuse(const Region& region, Position at, std::string construct, std::string why) {
  throw BadInput(to_text(region.file, Refusal{at, std::move(construct), std::move(why)}));
}

isl::pw_aff read_affine(const AffineScope& scope, const Expression& expression, const std::string& role) {
  try {
    return affine_value(scope, expression);
  } catch (const NotAffine& error) {
    refuse(scope.region, error.at.line ? error.at : expression.at,
           fmt::format("{} '{}'", role, to_text(expression)), error.why);
  }
}

void add_references(const StatementScope& scope, Statement& statement, StatementSets& sets) {
  const Node& assignment = statement.assignment;
  std::vector<Expression> mentions;
  for (const Expression& condition : statement.conditions) collect_mentions(scope.names, condition, mentions);
  collect_mentions(scope.names, assignment.value, mentions);
  collect_mentions(scope.names, assignment.target, mentions);  // what its subscripts read, too
  if (assignment.op == "=") mentions.pop_back();
  mentions.push_back(assignment.target);
  for (std::size_t r = 0; r < mentions.size(); ++r) {
    check_extents(scope.names, mentions[r]);
    sets.accesses.push_back(access_map(scope, mentions[r]));
    statement.references.push_back(
        make_reference(scope, mentions[r], static_cast<int>(r), r + 1 == mentions.size()));
  }
  statement.reduction = reduction_of(statement, sets);
}

void keep_within_extents(const StatementScope& scope, const Statement& statement, Polyhedra& polyhedra) {
  const AffineScope sizes_only{scope.names.context, scope.names.region, {}};
  isl::set runs = scope.runs.intersect(polyhedra.parameters);
  for (const Reference& reference : statement.references) {
    const bool is_known =
        std::any_of(statement.references.begin(), statement.references.begin() + reference.number,
                    [&](const Reference& earlier) { return earlier.element == reference.element; });
    if (is_known) continue;
    const Variable& variable = *find_variable(scope.names.region, reference.element.text);
    for (std::size_t d = 0; d < variable.extents.size(); ++d) {
      if (reads_data(scope.names.region, reference.element.operands[d])) continue;
      const isl::pw_aff subscript = read_affine(scope.names, reference.element.operands[d], "subscript");
      const isl::pw_aff extent =
          read_affine(sizes_only, variable.extents[d], "extent of '" + variable.name + "'");
      const isl::pw_aff zero = extent.sub(extent);
      const isl::set outside = runs.intersect(subscript.lt_set(zero).unite(subscript.ge_set(extent)));
      if (outside.is_empty()) continue;
      const isl::set bad = outside.unbind_params(scope.tuple).params();
      const isl::set running = runs.unbind_params(scope.tuple).params();
      if (running.is_subset(bad) && !statement.conditions.empty())
        continue;  // its condition may keep it inside
      if (running.is_subset(bad)) refuse_subscript(scope, reference.element, d, outside, polyhedra);
      // Simpler, if sizes are left: the subscript fits even where the statement does not run.
      isl::set good = polyhedra.parameters.subtract(bad.gist(running)).coalesce();
      if (good.intersect(running).is_empty()) good = polyhedra.parameters.subtract(bad).coalesce();
      polyhedra.remarks.push_back(
          to_text(scope.names.region.file,
                  Refusal{reference.element.at, fmt::format("'{}'", to_text(reference.element)),
                          fmt::format("assumes {}: other sizes leave the array",
                                      constraint_text(good.gist(polyhedra.parameters).coalesce()))}));
      // isl takes the order of parameters from what was subtracted; theirs is that of Region::sizes.
      polyhedra.parameters =
          isl::manage(isl_set_align_params(good.release(), isl_set_get_space(polyhedra.parameters.get())));
      runs = scope.runs.intersect(polyhedra.parameters);
    }
  }
}

}  // namespace warploom::tile
