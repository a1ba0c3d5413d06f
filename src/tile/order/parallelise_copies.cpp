#include "tile/order/parallelise_copies.hpp"

#include <algorithm>

#include "tile/c/simplify.hpp"

namespace warploom::tile {
namespace {

constexpr std::int64_t kMostBytes = 1024;  // of a thread's own array: hundreds of thousands of threads run

/// Where the extents are numbers.
std::optional<std::int64_t> bytes_of(const Variable& array) {
  std::int64_t bytes = size_of(array.type);
  for (const Expression& extent : array.extents) {
    const Expression number = simplified(extent);
    if (number.kind != Expression::Kind::integer || number.value > kMostBytes) return std::nullopt;
    bytes = std::min(bytes * number.value, kMostBytes + 1);
  }
  return bytes;
}

}  // namespace

bool FalseDependences::may_be_private(const Group& group, const SharedLoop& loop,
                                      const std::string& variable) {
  if (shared_.count(variable)) return false;
  if (has_its_own(group, loop, variable)) return true;
  if (every_write_updates(group, variable)) return false;
  for (const Statement& reader : polyhedra_.statements) {
    const bool reads_inside = contains(group.statements, reader.number);
    for (const Reference& reference : reader.references) {
      if (reference.is_write || reference.element.text != variable) continue;
      const ReadSources& sources = flow_.sources(reader.number, reference.number);
      if (reads_inside && !sources.from_before.is_empty()) return false;
      for (const auto& [writer, pairs] : sources.writers) {
        if (contains(group.statements, writer) != reads_inside) return false;
        if (reads_inside && !pairs.is_subset(same_copy(pairs, writer, reader.number, loop))) return false;
      }
    }
  }
  return last_iteration_stores(group, loop, variable);
}

/// The first of the group that touches an element in a copy reads it then, and no write of that copy comes
/// before: a copy would hold nothing. Seen without value flow, which takes most of the time for sums.
bool FalseDependences::every_write_updates(const Group& group, const std::string& variable) const {
  bool writes = false;
  for (const int s : group.statements) {
    const Statement& statement = polyhedra_.statements[s];
    const Reference& target = statement.references.back();  // writes are last
    if (target.element.text != variable) continue;
    if (!target.is_exact || std::ranges::none_of(statement.references, [&](const Reference& r) {
          return !r.is_write && r.element == target.element;
        }))
      return false;
    writes = writes || !polyhedra_.sets[s].domain.is_empty();
  }
  return writes;
}

bool FalseDependences::has_its_own(const Group& group, const SharedLoop& loop,
                                   const std::string& variable) const {
  const auto found = polyhedra_.lifetimes.find(variable);
  if (found == polyhedra_.lifetimes.end()) return false;
  std::set<int> inside, outside;  // groups of the lifetimes
  for (const auto& [s, lifetime] : found->second) {
    if (!contains(group.statements, s)) {
      outside.insert(lifetime.group);
      continue;
    }
    inside.insert(lifetime.group);
    const auto stays = [&](int dimension) { return dimension < static_cast<int>(lifetime.depth); };
    if (!stays(loop.dimension.at(s)) || loop.dimension.at(s) != loop.dimension.begin()->second ||
        !std::ranges::all_of(around_.of(s), [&](const ChosenLoop& l) { return stays(l.dimension); }))
      return false;
  }
  const auto names = [&](int s) {
    return std::ranges::any_of(polyhedra_.statements[s].references,
                               [&](const Reference& r) { return r.element.text == variable; });
  };
  return std::ranges::none_of(inside, [&](int number) { return outside.count(number) > 0; }) &&
         std::ranges::all_of(group.statements, [&](int s) { return !names(s) || found->second.count(s); });
}

isl::map FalseDependences::same_copy(isl::map pairs, int writer, int reader, const SharedLoop& loop) const {
  for (std::size_t l = 0; l < around_.of(writer).size(); ++l)
    pairs = same_iteration(pairs, around_.of(writer)[l].dimension, around_.of(reader)[l].dimension);
  return same_iteration(pairs, loop.dimension.at(writer), loop.dimension.at(reader));
}

bool FalseDependences::last_iteration_stores(const Group& group, const SharedLoop& loop,
                                             const std::string& variable) const {
  if (!find_variable(polyhedra_.region, variable)->is_parameter) return true;
  for (const Statement& statement : polyhedra_.statements)  // data decides which write is the last
    if (statement.assignment.target.text == variable && !flow_.is_sure(statement.number)) return false;
  for (const int s : group.statements) {
    const isl::set last = flow_.last_writes(s, variable);
    if (last.is_empty()) continue;
    for (const int t : group.statements) {
      std::vector<std::pair<int, int>> around;
      for (std::size_t l = 0; l < around_.of(s).size(); ++l)
        around.emplace_back(around_.of(s)[l].dimension, around_.of(t)[l].dimension);
      const std::pair<int, int> here{loop.dimension.at(s), loop.dimension.at(t)};
      if (!followed(last, polyhedra_.sets[t].domain, around, here, around_.direction(loop)).is_empty())
        return false;
    }
  }
  return true;
}

bool FalseDependences::vanishes_with_snapshot(const Dependence& dependence) {
  if (dependence.kind != DependenceKind::anti) return false;
  const Statement& reader = polyhedra_.statements[dependence.source];
  const Expression& element = reader.references[dependence.source_reference].element;
  // Only a read in the value can be of a copy: others may share a condition, or the element that is written.
  const auto holds = [&](const auto& self, const Expression& e) -> bool {
    return e == element ||
           std::ranges::any_of(e.operands, [&](const Expression& o) { return self(self, o); });
  };
  const auto is_held = [&](const Expression& e) { return holds(holds, e); };
  return element.kind == Expression::Kind::element && is_held(reader.assignment.value) &&
         !is_held(reader.assignment.target) && std::ranges::none_of(reader.conditions, is_held) &&
         flow_.reads_only_old_values(dependence.source, dependence.source_reference);
}

PrivateVariable FalseDependences::copies(const Group& group, const std::string& variable,
                                         std::vector<SharedLoop> loops) const {
  PrivateVariable copies{
      variable, {}, std::move(loops), find_variable(polyhedra_.region, variable)->is_parameter};
  for (const int s : group.statements) {
    const auto& references = polyhedra_.statements[s].references;
    if (std::ranges::any_of(references, [&](const Reference& r) { return r.element.text == variable; }))
      copies.statements.push_back(s);
  }
  return copies;
}

std::set<std::string> FalseDependences::find_arrays(std::vector<PrivateVariable>& privatised) const {
  std::set<std::string> result;
  for (PrivateVariable& copies : privatised) {
    const Variable& variable = *find_variable(polyhedra_.region, copies.variable);
    if (variable.extents.empty()) continue;
    const std::vector<ChosenLoop>& reference = around_.of(copies.statements.front());
    const int first = copies.loops.front().dimension.at(copies.statements.front());
    std::size_t depth = 0;
    while (reference[depth].dimension != first) ++depth;
    const auto shared = [&](std::size_t d) {
      return std::ranges::all_of(copies.statements, [&](int s) {
        const std::vector<ChosenLoop>& around = around_.of(s);
        return d < around.size() && around[d].group == reference[d].group && around[d].parallel;
      });
    };
    while (depth < reference.size() && shared(depth)) ++depth;
    isl::map touched;
    for (const int s : copies.statements) {
      std::vector<int> dimensions;
      for (std::size_t d = 0; d < depth; ++d) dimensions.push_back(around_.of(s)[d].dimension);
      const isl::map iterations = onto(polyhedra_.sets[s].domain, dimensions).reverse();
      for (const Reference& r : polyhedra_.statements[s].references)
        if (r.element.text == copies.variable) {
          const isl::map elements = iterations.apply_range(polyhedra_.sets[s].accesses[r.number]);
          touched = touched.is_null() ? elements : touched.unite(elements);
        }
    }
    copies.is_array = !touched.is_single_valued();
    if (copies.is_array && (copies.last_value || bytes_of(variable).value_or(kMostBytes + 1) > kMostBytes))
      result.insert(copies.variable);
  }
  return result;
}

}  // namespace warploom::tile
