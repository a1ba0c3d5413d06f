// Which loops over time are steps of stencils.
#include "tile/kernels/stencil_steps.hpp"

#include <algorithm>

#include "tile/c/simplify.hpp"
#include "tile/kernels/split_tree.hpp"

namespace warploom::tile {
namespace {

using Kind = Expression::Kind;

bool lists(const std::vector<std::string>& list, const std::string& name) {
  return std::ranges::find(list, name) != list.end();
}

bool holds_element(const Expression& e) {
  return e.kind == Kind::element || std::ranges::any_of(e.operands, holds_element);
}

/// But for values.
bool mentions_loop(const Node& node, const std::string& iterator) {
  for (const Expression* e : {&node.first, &node.limit, &node.condition, &node.target})
    if (depends_on(*e, iterator)) return true;
  return std::ranges::any_of(node.children, [&](const Node& n) { return mentions_loop(n, iterator); });
}

class StencilMatcher {
 public:
  StencilMatcher(const KernelRequest& request, const CudaNames& names) : request_(request), names_(names) {}

  std::optional<StencilSteps> run() {
    const Node& steps = request_.tree;
    if (!counts_up(steps) || steps.parallel) return std::nullopt;
    found_.steps = steps;
    found_.steps.children.clear();
    found_.first = simplified(steps.first);
    found_.end = steps.comparison == "<" ? simplified(steps.limit) : plus(steps.limit, 1);
    for (const Node& child : steps.children)
      if (mentions_loop(child, steps.iterator) || !add_stages(child)) return std::nullopt;
    if (found_.stages.empty()) return std::nullopt;
    for (const std::string& array : read_by_all_)
      if (lists(found_.written, array)) return std::nullopt;
    return found_;
  }

 private:
  bool add_stages(const Node& node) {
    if (node.kind == Node::Kind::block)
      return std::ranges::all_of(node.children, [&](const Node& n) { return add_stages(n); });
    if (node.kind != Node::Kind::loop || !node.parallel) return false;
    ParallelChain chain = parallel_chain(node);
    StencilStage stage;
    stage.statements = chain.body;
    if (chain.loops.size() > 2 || !chain.guards().empty()) return false;
    if (!private_copies(request_, names_, chain).copies.empty()) return false;
    for (const ThreadLoop& loop : chain.loops)
      if (std::abs(loop.loop.step) != 1) return false;
    for (Node& statement : stage.statements) {
      if (statement.kind != Node::Kind::assignment || !name_line(statement, chain) ||
          statement.target.operands.size() != chain.loops.size())
        return false;
      std::vector<ThreadLoop> loops;
      for (const Expression& subscript : statement.target.operands)
        for (const ThreadLoop& loop : chain.loops)
          if (subscript == Expression::name(loop.loop.iterator)) loops.push_back(loop);
      if (loops.size() != chain.loops.size()) return false;
      for (std::size_t d = 0; d < loops.size(); ++d)
        if (!stage.loops.empty() && stage.loops[d].loop.iterator != loops[d].loop.iterator) return false;
      stage.loops = std::move(loops);
      if (!lists(found_.written, statement.target.text)) found_.written.push_back(statement.target.text);
      if (!add_array(statement.target.text)) return false;
    }
    if (stage.statements.empty() ||
        (!found_.stages.empty() && found_.stages[0].loops.size() != stage.loops.size()))
      return false;
    for (std::size_t d = 0; d < stage.loops.size(); ++d)
      if (lists(lines_, stage.loops[d].loop.iterator)) stage.line = static_cast<int>(d);
    if (stage.line >= 0) found_.only_neighbours = false;
    stage.reach.assign(stage.loops.size(), 0);
    for (const Node& statement : stage.statements)
      if (!add_reads(statement.value, stage)) return false;
    found_.stages.push_back(std::move(stage));
    return true;
  }

  /// A statement of one loop that writes a row or column of an array of two dimensions gets a second loop,
  /// over one value.
  bool name_line(Node& statement, ParallelChain& chain) {
    std::vector<Expression>& subscripts = statement.target.operands;
    if (subscripts.size() != 2 || chain.loops.empty()) return true;
    if (chain.loops.size() == 1) {
      const std::string& along = chain.loops[0].loop.iterator;
      const std::size_t fixed = subscripts[0] == Expression::name(along) ? 1 : 0;
      if (depends_on(subscripts[fixed], along)) return false;
      ThreadLoop line;
      line.loop.iterator = free_name(names_, "line", {lines_.begin(), lines_.end()});
      line.least = simplified(subscripts[fixed]);
      line.end = plus(line.least, 1);
      lines_.push_back(line.loop.iterator);
      chain.loops.push_back(std::move(line));
    }
    const ThreadLoop& line = chain.loops.back();
    if (lists(lines_, line.loop.iterator))
      for (Expression* e : {&statement.target, &statement.value}) name_distance(*e, line);
    return true;
  }

  /// Subscripts at constant distances from the line, in terms of its iterator.
  void name_distance(Expression& e, const ThreadLoop& line) {
    for (Expression& operand : e.operands) {
      name_distance(operand, line);
      if (e.kind != Kind::element || e.operands.size() != 2) continue;
      const Expression apart = difference(operand, line.least);
      if (apart.kind == Kind::integer) operand = plus(Expression::name(line.loop.iterator), apart.value);
    }
  }

  /// All have the same shape and type.
  bool add_array(const std::string& array) {
    if (lists(found_.arrays, array)) return true;
    if (!find_variable(names_.nest.region(), array)) return false;  // a snapshot
    const ArrayShape shape = shape_of(names_, array);
    if (!found_.arrays.empty() &&
        (shape.extents != found_.extents || shape.type != shape_of(names_, found_.arrays[0]).type))
      return false;
    found_.extents = shape.extents;
    found_.arrays.push_back(array);
    return true;
  }

  /// Elements at constant distances; of what the stage writes, the iteration's own.
  bool add_reads(const Expression& e, StencilStage& stage) {
    if (e.kind == Kind::name && is_assigned(names_.nest, e.text)) return false;
    if (e.kind == Kind::name && e.text == found_.steps.iterator) found_.only_neighbours = false;
    if (e.kind == Kind::element && !is_neighbour(e, stage)) {
      found_.only_neighbours = false;
      read_by_all_.push_back(e.text);
      return std::ranges::none_of(e.operands, holds_element);
    }
    if (e.kind != Kind::element)
      return std::ranges::all_of(e.operands, [&](const Expression& o) { return add_reads(o, stage); });
    if (e.operands.size() != stage.loops.size() || !add_array(e.text)) return false;
    const bool own =
        std::ranges::any_of(stage.statements, [&](const Node& n) { return n.target.text == e.text; });
    for (std::size_t d = 0; d < e.operands.size(); ++d) {
      const Expression apart = difference(e.operands[d], Expression::name(stage.loops[d].loop.iterator));
      if (apart.kind != Kind::integer || (own && apart.value != 0)) return false;
      stage.reach[d] = std::max(stage.reach[d], std::abs(apart.value));
    }
    return true;
  }

  const KernelRequest& request_;
  const CudaNames& names_;
  StencilSteps found_;
  std::vector<std::string> lines_;        ///< iterators of loops over one value
  std::vector<std::string> read_by_all_;  ///< arrays of which all iterations read one element
};

}  // namespace

bool is_neighbour(const Expression& element, const StencilStage& stage) {
  return std::ranges::any_of(element.operands, [&](const Expression& subscript) {
    return std::ranges::any_of(
        stage.loops, [&](const ThreadLoop& loop) { return depends_on(subscript, loop.loop.iterator); });
  });
}

std::optional<StencilSteps> match_stencil_steps(const KernelRequest& request, const CudaNames& names) {
  return StencilMatcher(request, names).run();
}

}  // namespace warploom::tile
