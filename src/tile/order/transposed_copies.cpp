// Operands that a CPU would read across: their transposes.
#include "tile/order/transposed_copies.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "tile/c/simplify.hpp"
#include "warploom/tile/transform.hpp"

namespace warploom::tile {
namespace {

constexpr std::size_t kLeastLoops = 3;  // fewer read each element too seldom to pay for the copy

/// The loop that a subscript is, or -1.
int only_loop(const Reference& reference, std::size_t subscript) {
  int loop = -1;
  const std::vector<std::int64_t>& coefficients = reference.coefficients[subscript];
  for (std::size_t l = 0; l < coefficients.size(); ++l) {
    if (coefficients[l] == 0) continue;
    if (coefficients[l] != 1 || loop >= 0) return -1;
    loop = static_cast<int>(l);
  }
  const auto& sizes = reference.size_coefficients[subscript];
  return std::ranges::any_of(sizes, [](std::int64_t c) { return c != 0; }) ? -1 : loop;
}

/// Whether the statement sums products up along the rows of what it writes, and this operand runs down a
/// column then.
bool runs_down(const Statement& statement, const Reference& operand) {
  const Reference& target = statement.references.back();
  const std::size_t loops = statement.loops.size();
  if (loops < kLeastLoops || operand.is_write || operand.coefficients.size() != 2 ||
      !operand.is_linear(loops) || target.coefficients.empty() || !target.is_linear(loops) ||
      statement.reduction != "+")
    return false;
  const int along = only_loop(target, target.coefficients.size() - 1), row = only_loop(operand, 0),
            column = only_loop(operand, 1);
  return along >= 0 && row == along && column >= 0 && column != along;
}

class Copies {
 public:
  explicit Copies(const Nest& nest) : nest_(nest), region_(nest.region()) {
    for (const Variable& variable : region_.variables) taken_.insert(variable.name);
    taken_.insert(region_.sizes.begin(), region_.sizes.end());
    for (const Statement& statement : nest.statements())
      taken_.insert(statement.loops.begin(), statement.loops.end());
  }

  std::optional<Nest> run() {
    for (const Statement& statement : nest_.statements())
      for (const Reference& operand : statement.references)
        if (runs_down(statement, operand) && !is_written(operand.element.text)) {
          if (!copies_.contains(operand.element.text)) add_copy(operand.element.text);
          rename_[statement.number].insert(operand.element.text);
        }
    if (copies_.empty()) return std::nullopt;
    visit(region_.body);
    region_.body.children.insert(region_.body.children.begin(), loops_.begin(), loops_.end());
    region_.statements += static_cast<int>(loops_.size());
    return Nest::analyse(std::move(region_), nest_.sizes());
  }

 private:
  bool is_written(const std::string& array) const {
    return std::ranges::any_of(nest_.statements(), [&](const Statement& statement) {
      return std::ranges::any_of(statement.references, [&](const Reference& reference) {
        return reference.is_write && reference.element.text == array;
      });
    });
  }

  std::string fresh(const std::string& wanted) {
    std::string name = wanted;
    for (int number = 2; !taken_.insert(name).second; ++number) name = fmt::format("{}_{}", wanted, number);
    return name;
  }

  static Node loop(const std::string& iterator, const Expression& limit, Node inside) {
    Node node;
    node.kind = Node::Kind::loop;
    node.iterator = iterator;
    node.comparison = "<";
    node.limit = limit;
    node.children.push_back(std::move(inside));
    return node;
  }

  void add_copy(const std::string& array) {
    const Variable& original = *find_variable(region_, array);
    Variable copy;
    copy.name = copies_[array] = fresh(array + "_transposed");
    copy.type = original.type;
    copy.extents = {original.extents[1], original.extents[0]};
    const std::string row = fresh("row"), column = fresh("column");
    Node assignment;
    assignment.kind = Node::Kind::assignment;
    assignment.statement = static_cast<int>(loops_.size());
    assignment.op = "=";
    assignment.target = Expression::element(copy.name, {Expression::name(column), Expression::name(row)});
    assignment.value = Expression::element(array, {Expression::name(row), Expression::name(column)});
    loops_.push_back(
        loop(row, original.extents[0], loop(column, original.extents[1], std::move(assignment))));
    region_.variables.push_back(std::move(copy));
  }

  void visit(Node& node) {
    if (node.kind == Node::Kind::assignment) {
      if (const auto found = rename_.find(node.statement); found != rename_.end()) {
        const std::size_t along = static_cast<std::size_t>(
            only_loop(nest_.statements()[node.statement].references.back(), node.target.operands.size() - 1));
        rename(node.value, found->second, nest_.statements()[node.statement].loops[along]);
      }
      node.statement += static_cast<int>(loops_.size());
    }
    for (Node& child : node.children) visit(child);
  }

  /// Those that run down with `along`; the array may also be read along its rows.
  void rename(Expression& e, const std::set<std::string>& arrays, const std::string& along) const {
    for (Expression& operand : e.operands) rename(operand, arrays, along);
    if (e.kind != Expression::Kind::element || !arrays.contains(e.text) || !names(e.operands[0], along))
      return;
    e.text = copies_.at(e.text);
    std::swap(e.operands[0], e.operands[1]);
  }

  const Nest& nest_;
  Region region_;
  std::set<std::string> taken_;
  std::map<std::string, std::string> copies_;
  std::map<int, std::set<std::string>> rename_;  ///< statement -> arrays
  std::vector<Node> loops_;
};

}  // namespace

std::optional<Nest> with_transposed_copies(const Nest& nest) { return Copies(nest).run(); }

}  // namespace warploom::tile
