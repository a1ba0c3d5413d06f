#include "tile/sets/values_in_place.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "tile/c/mentions.hpp"

namespace warploom::tile {
namespace {

using Kind = Expression::Kind;

class ValuesInPlace {
 public:
  explicit ValuesInPlace(const Polyhedra& polyhedra) : polyhedra_(polyhedra), region_(polyhedra.region) {}

  std::optional<Region> run() {
    if (!one_in(region_.body, 0)) return std::nullopt;
    int next = 0;
    number(region_.body, next);
    region_.statements = next;
    return std::move(region_);
  }

 private:
  /// @param depth  loops around the node's children
  bool one_in(Node& node, std::size_t depth) {
    if (node.kind == Node::Kind::loop) ++depth;
    for (std::size_t k = 0; k < node.children.size(); ++k)
      if (one_in(node.children[k], depth) || (depth > 0 && take(node, k, depth))) return true;
    return false;
  }

  bool take(Node& around, std::size_t first, std::size_t depth) {
    const Node load = around.children[first];
    if (load.kind != Node::Kind::assignment || load.op != "=" || load.target.kind != Kind::name ||
        load.value.kind != Kind::element)
      return false;
    const std::string& scalar = load.target.text;
    const Expression& element = load.value;
    const Variable &held = *find_variable(region_, scalar), &array = *find_variable(region_, element.text);
    const std::size_t last = last_mention(around, first, scalar);
    const Node& store = around.children[last];
    if (held.is_parameter || held.type != array.type || last == first ||
        store.kind != Node::Kind::assignment || store.op != "=" || store.target != element ||
        !lasts_an_iteration(around, first, last, scalar, depth) || is_touched(around, first, last, depth))
      return false;
    for (std::size_t k = first; k <= last; ++k) replace(around.children[k], {{scalar, element}});
    const auto at = [&](std::size_t k) { return around.children.begin() + static_cast<std::ptrdiff_t>(k); };
    if (around.children[last].value == element) around.children.erase(at(last));
    around.children.erase(at(first));
    region_.remarks.push_back(fmt::format(
        "{} holds {}, and is called so: nothing else touches that meanwhile", scalar, to_text(element)));
    if (!mentions(region_.body, scalar)) forget(scalar);
    return true;
  }

  /// Before the scalar gets another value.
  static std::size_t last_mention(const Node& around, std::size_t first, const std::string& scalar) {
    std::size_t last = first;
    for (std::size_t k = first + 1; k < around.children.size(); ++k) {
      const Node& child = around.children[k];
      if (child.kind == Node::Kind::assignment && child.op == "=" && child.target.text == scalar &&
          !mentions(child.value, scalar))
        break;
      if (mentions(child, scalar)) last = k;
    }
    return last;
  }

  /// Whether the scalar's values stay in one iteration of the loops around.
  bool lasts_an_iteration(const Node& around, std::size_t first, std::size_t last, const std::string& scalar,
                          std::size_t depth) const {
    const auto lifetimes = polyhedra_.lifetimes.find(scalar);
    if (lifetimes == polyhedra_.lifetimes.end()) return false;
    return std::ranges::all_of(statements_in(around, first, last), [&](int s) {
      const auto names = [&](const Reference& r) { return r.element.text == scalar; };
      if (std::ranges::none_of(polyhedra_.statements[s].references, names)) return true;
      const auto lifetime = lifetimes->second.find(s);
      return lifetime != lifetimes->second.end() && lifetime->second.depth >= depth;
    });
  }

  /// Whether something between the load and the store may touch the element in the same iteration.
  bool is_touched(const Node& around, std::size_t first, std::size_t last, std::size_t depth) const {
    const int load = around.children[first].statement, store = around.children[last].statement;
    const Reference& written = polyhedra_.statements[store].references.back();
    if (!written.is_exact) return true;
    const isl::map to_store = polyhedra_.sets[store].accesses[written.number].reverse();
    for (const int s : statements_in(around, first, last))
      for (const Reference& reference : polyhedra_.statements[s].references) {
        if (reference.element.text != written.element.text) continue;
        const bool own = reference.element == written.element &&
                         (s == load ? !reference.is_write : s == store && reference.is_write);
        if (own) continue;
        if (!reference.is_exact) return true;
        isl::map same = polyhedra_.sets[s].accesses[reference.number].apply_range(to_store);
        for (std::size_t l = 0; l < depth; ++l)
          same = isl::manage(isl_map_equate(same.release(), isl_dim_in, static_cast<int>(l), isl_dim_out,
                                            static_cast<int>(l)));
        if (!same.is_empty()) return true;
      }
    return false;
  }

  static std::vector<int> statements_in(const Node& around, std::size_t first, std::size_t last) {
    std::vector<int> statements;
    for (std::size_t k = first; k <= last; ++k) collect(around.children[k], statements);
    return statements;
  }
  static void collect(const Node& node, std::vector<int>& statements) {
    if (node.kind == Node::Kind::assignment) statements.push_back(node.statement);
    for (const Node& child : node.children) collect(child, statements);
  }

  static void replace(Node& node, const std::map<std::string, Expression>& by) {
    node.condition = substitute(std::move(node.condition), by);
    node.target = substitute(std::move(node.target), by);
    node.value = substitute(std::move(node.value), by);
    for (Node& child : node.children) replace(child, by);
  }

  void forget(const std::string& scalar) {
    const auto in_loops = [&](const auto& self, Node& node) -> void {
      std::erase(node.locals, scalar);
      for (Node& child : node.children) self(self, child);
    };
    in_loops(in_loops, region_.body);
    std::erase_if(region_.variables, [&](const Variable& v) { return v.name == scalar; });
  }

  static void number(Node& node, int& next) {
    if (node.kind == Node::Kind::assignment) node.statement = next++;
    for (Node& child : node.children) number(child, next);
  }

  const Polyhedra& polyhedra_;
  Region region_;
};

}  // namespace

std::optional<Region> with_value_in_place(const Polyhedra& polyhedra) {
  return ValuesInPlace(polyhedra).run();
}

}  // namespace warploom::tile
