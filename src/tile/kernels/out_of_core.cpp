#include "tile/kernels/out_of_core.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <variant>

#include "tile/kernels/affine.hpp"
#include "tile/kernels/contraction.hpp"
#include "tile/kernels/cuda_text.hpp"
#include "tile/kernels/split_tree.hpp"

namespace warploom::tile {
namespace {

using Kind = Expression::Kind;

template <typename Visit>
void for_each_element(const Node& node, const Visit& visit) {
  const auto within = [&](const auto& self, const Expression& expression) -> void {
    if (expression.kind == Kind::element) visit(expression);
    for (const Expression& operand : expression.operands) self(self, operand);
  };
  if (node.kind == Node::Kind::assignment) {
    within(within, node.target);
    within(within, node.value);
  }
  for (const Node& child : node.children) for_each_element(child, visit);
}

class Planner {
 public:
  Planner(const Nest& nest, const ParallelNest& parallel, const GpuOptions& options)
      : nest_(nest), parallel_(parallel), options_(options), names_{nest, parallel, {}, nullptr} {}

  /// The panels, or why there are none.
  std::variant<OutOfCore, std::string> run(const GpuProgram& program) {
    for (const Temporary& temporary : program.temporaries)
      return temporary.copy_of.empty()
                 ? fmt::format("{} is memory of the kernels' own", temporary.name)
                 : fmt::format("{} is a copy of all of {}", temporary.name, temporary.copy_of);
    for (const Privatised& variable : parallel_.privatised)
      return fmt::format("{} has a copy for each iteration", variable.variable);
    tree_ = &parallel_.code;
    while (tree_->kind == Node::Kind::block && tree_->children.size() == 1) tree_ = &tree_->children.front();
    if (!counts_up(*tree_) || !tree_->parallel)
      return std::string("the nest is not one tree of parallel loops");
    used_ = used_names(names_, *tree_);
    for (const auto* list : {&used_.arrays_read, &used_.arrays_written})
      for (const std::string& name : *list)
        if (!is_parameter(name) || find_variable(nest_.region(), name)->extents.empty())
          return fmt::format("{} is a variable that the kernels share", name);

    plan_.outer = panel_loop(*tree_);
    if (plan_.outer.arrays.empty())
      return fmt::format("no array has {} alone as its outermost subscript wherever it is used",
                         tree_->iterator);
    if (std::string reason = split(); !reason.empty()) return reason;
    for (const Variable& variable : nest_.region().variables)
      if (!variable.extents.empty() && is_used(variable.name) && !passes(variable.name))
        plan_.resident.push_back(variable.name);
    return std::move(plan_);
  }

 private:
  static bool has(const std::vector<std::string>& list, const std::string& name) {
    return std::ranges::find(list, name) != list.end();
  }
  bool is_parameter(const std::string& name) const { return has(nest_.region().parameters, name); }
  bool is_used(const std::string& name) const {
    return has(used_.arrays_read, name) || has(used_.arrays_written, name);
  }
  bool passes(const std::string& array) const {
    return has(plan_.outer.arrays, array) || (plan_.inner && has(plan_.inner->arrays, array));
  }

  PanelLoop panel_loop(const Node& loop) const {
    PanelLoop panel{loop.iterator,
                    loop.first,
                    end_of(loop),
                    free_name(names_, loop.iterator + "_first"),
                    free_name(names_, loop.iterator + "_limit"),
                    {}};
    for (const Variable& variable : nest_.region().variables) {
      bool rows = !variable.extents.empty() && is_used(variable.name);
      for_each_element(*tree_, [&](const Expression& element) {
        if (element.text == variable.name)
          rows = rows && element.operands.at(0) == Expression::name(loop.iterator);
      });
      if (rows) panel.arrays.push_back(variable.name);
    }
    return panel;
  }

  /// The kernels. Else a reason.
  std::string split() {
    ParallelTree panel = parallel_tree(*tree_);
    const auto reduction = reduction_in_panels(panel);
    Node& root = panel.loops.front();
    root = strip(root, Expression::name(plan_.outer.first), Expression::name(plan_.outer.limit));
    if (reduction == panel.body.end()) return add_kernels(panel.around(panel.body), "panel", plan_.update);
    plan_.inner = panel_loop(*reduction);
    const Node part =
        strip(*reduction, Expression::name(plan_.inner->first), Expression::name(plan_.inner->limit));
    std::string reason;
    if (reduction != panel.body.begin())
      reason = add_kernels(panel.around({panel.body.cbegin(), reduction}), "before", plan_.before);
    if (reason.empty()) reason = add_kernels(panel.around({part}), "panel", plan_.update);
    if (reason.empty() && reduction + 1 != panel.body.end())
      reason = add_kernels(panel.around({reduction + 1, panel.body.cend()}), "after", plan_.after);
    return reason;
  }

  /// The sequential loop within the parallel ones, if an array passes in panels by it.
  std::vector<Node>::const_iterator reduction_in_panels(const ParallelTree& tree) const {
    const auto found = sequential_loop(tree);
    if (found == tree.body.end()) return found;
    const PanelLoop panel = panel_loop(*found);
    const bool only_read = std::ranges::none_of(
        panel.arrays, [&](const std::string& array) { return has(used_.arrays_written, array); });
    // Vectors are small, and not worth launches of their own.
    const bool matrices = std::ranges::any_of(panel.arrays, [&](const std::string& array) {
      return find_variable(nest_.region(), array)->extents.size() > 1;
    });
    return matrices && only_read ? found : tree.body.end();
  }

  std::string add_kernels(const Node& tree, const std::string& part, std::vector<Kernel>& into) {
    std::vector<std::string> loops = {plan_.outer.first, plan_.outer.limit};
    if (plan_.inner) loops.insert(loops.end(), {plan_.inner->first, plan_.inner->limit});
    KernelGroup group = choose_pattern(
        {nest_, parallel_, tree, loops, fmt::format("{}_{}", nest_.region().function, part), options_});
    if (!group.temporaries.empty())
      return fmt::format("{} is memory of the kernels' own", group.temporaries.front().name);
    for (const Kernel& kernel : group.kernels)
      for (const Placement& placement : kernel.placements)
        if (placement.space == Space::constant && passes(placement.array))
          return placement.array + " goes to constant memory";
    group.kernels.front().tree = tree;
    into = std::move(group.kernels);
    return "";
  }

  const Nest& nest_;
  const ParallelNest& parallel_;
  const GpuOptions& options_;
  CudaNames names_;
  const Node* tree_ = nullptr;
  UsedNames used_;
  OutOfCore plan_;
};

}  // namespace

void plan_out_of_core(const Nest& nest, const ParallelNest& parallel, const GpuOptions& options,
                      GpuProgram& program) {
  auto planned = Planner(nest, parallel, options).run(program);
  const std::string& function = nest.region().function;
  if (const auto* why = std::get_if<std::string>(&planned)) {
    program.reasons.push_back(
        fmt::format("all arrays have to fit the cap of {} bytes, or {}() returns cudaErrorMemoryAllocation: "
                    "they could not pass through the device in panels, because {}",
                    options.memory_cap, function, *why));
    return;
  }
  auto& plan = std::get<OutOfCore>(planned);
  std::string reason =
      fmt::format("arrays that exceed the cap of {} bytes pass through the device in panels: rows {} of {}",
                  options.memory_cap, plan.outer.iterator, fmt::join(plan.outer.arrays, ", "));
  if (plan.inner)
    reason +=
        fmt::format("; for each, rows {} of {}", plan.inner->iterator, fmt::join(plan.inner->arrays, ", "));
  if (!plan.resident.empty())
    reason += fmt::format("; {} must fit as a whole", fmt::join(plan.resident, ", "));
  program.reasons.push_back(std::move(reason));
  program.out_of_core = std::move(plan);
}

}  // namespace warploom::tile
