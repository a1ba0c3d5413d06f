#include "tile/kernels/thread_loops.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "tile/c/simplify.hpp"
#include "tile/kernels/access_cost.hpp"
#include "warploom/core/error.hpp"

namespace warploom::tile {
namespace {

using Kind = Expression::Kind;

/// The one statement that a loop holds, through blocks of one; none if there are several.
const Node* only_child(const Node& node) {
  if (node.children.size() != 1) return nullptr;
  const Node& child = node.children.front();
  return child.kind == Node::Kind::block ? only_child(child) : &child;
}

std::optional<ThreadLoop> thread_loop(const Node& loop, const std::map<std::string, Bounds>& outer) {
  if (!loop.parallel) return std::nullopt;
  const Bounds box = bounds_of(loop, outer);
  if (!box.least || !box.most) return std::nullopt;
  ThreadLoop result;
  result.loop = loop;
  result.loop.children.clear();
  result.least = simplified(*box.least);
  result.end = plus(*box.most, 1);
  const Expression iterator = Expression::name(loop.iterator);
  const auto depends_on_outer = [&](const Expression& e) {
    return std::ranges::any_of(outer, [&](const auto& o) { return depends_on(e, o.first); });
  };
  result.own = own_range(loop, outer);
  if (loop.step != 1 && loop.step != -1) {
    if (loop.step < 0 || depends_on_outer(loop.first)) return std::nullopt;
    result.step = loop.step;
  }
  if (depends_on_outer(loop.first))
    result.guards.push_back(Expression::binary(loop.step > 0 ? ">=" : "<=", iterator, loop.first));
  if (depends_on_outer(loop.limit))
    result.guards.push_back(Expression::binary(loop.comparison, iterator, loop.limit));
  return result;
}

void collect_mentions(const Expression& expression, const std::vector<const Node*>& loops,
                      const Node* assignment, std::vector<Mention>& into) {
  if (expression.kind == Kind::element || expression.kind == Kind::name)
    into.push_back({expression, false, loops, assignment});
  for (const Expression& operand : expression.operands) collect_mentions(operand, loops, assignment, into);
}

void collect_mentions(const Node& node, std::vector<const Node*>& loops, std::vector<Mention>& into) {
  if (node.kind == Node::Kind::loop) {
    collect_mentions(node.first, loops, nullptr, into);
    collect_mentions(node.limit, loops, nullptr, into);
    loops.push_back(&node);
  } else if (node.kind == Node::Kind::branch) {
    collect_mentions(node.condition, loops, nullptr, into);
  } else if (node.kind == Node::Kind::assignment) {
    collect_mentions(node.value, loops, &node, into);
    for (const Expression& subscript : node.target.operands) collect_mentions(subscript, loops, &node, into);
    if (node.op != "=") into.push_back({node.target, false, loops, &node});
    into.push_back({node.target, true, loops, &node});
  }
  for (const Node& child : node.children) collect_mentions(child, loops, into);
  if (node.kind == Node::Kind::loop) loops.pop_back();
}

const Node* find_loop(const Node& node, const std::string& iterator) {
  if (node.kind == Node::Kind::loop && node.iterator == iterator) return &node;
  for (const Node& child : node.children)
    if (const Node* found = find_loop(child, iterator)) return found;
  return nullptr;
}

bool contains(const std::vector<std::string>& list, std::string_view name) {
  return std::ranges::find(list, name) != list.end();
}

/// A subscript of iterators and sizes as CUDA has it.
Expression in_cuda(Expression subscript) {
  if (subscript.kind == Kind::call && subscript.text == "floord") subscript.text = "floor_quotient";
  for (Expression& operand : subscript.operands) operand = in_cuda(std::move(operand));
  return subscript;
}

}  // namespace

Expression ThreadLoop::count() const { return ceil_quotient(difference(end, least), step); }

bool ThreadLoop::depends_on(const ThreadLoop& outer) const {
  return tile::depends_on(loop.first, outer.loop.iterator) ||
         tile::depends_on(loop.limit, outer.loop.iterator);
}

bool ParallelChain::holds(std::string_view iterator) const {
  return std::ranges::any_of(loops, [&](const ThreadLoop& l) { return l.loop.iterator == iterator; });
}

std::vector<Expression> ParallelChain::bounds() const {
  std::vector<Expression> all;
  for (const ThreadLoop& loop : loops) all.insert(all.end(), {loop.least, loop.end});
  return all;
}

std::vector<Expression> ParallelChain::guards() const {
  std::vector<Expression> all;
  for (const ThreadLoop& loop : loops) all.insert(all.end(), loop.guards.begin(), loop.guards.end());
  return all;
}

ParallelChain parallel_chain(const Node& tree) {
  ParallelChain chain;
  chain.body = {tree};
  std::map<std::string, Bounds> box;
  for (const Node* node = &tree; node && node->kind == Node::Kind::loop; node = only_child(*node)) {
    std::optional<ThreadLoop> loop = thread_loop(*node, box);
    if (!loop) break;
    box[node->iterator] = {loop->least, plus(loop->end, -1)};
    chain.loops.push_back(std::move(*loop));
    chain.body = node->children;
  }
  return chain;
}

std::map<std::string, Bounds> host_bounds(const KernelRequest& request) {
  std::map<std::string, Bounds> bounds;
  const Node* within = &request.parallel.code;
  for (const std::string& iterator : request.host_loops) {
    const Node* loop = find_loop(*within, iterator);
    if (!loop) return bounds;
    bounds[iterator] = bounds_of(*loop, bounds);
    within = loop;
  }
  return bounds;
}

std::int64_t PrivateCopies::Copy::bytes() const {
  std::int64_t bytes = size_of(type);
  for (const Expression& extent : extents) bytes *= value_of(extent, {});
  return bytes;
}

std::string PrivateCopies::instead(const Expression& expression) const {
  if (expression.kind != Kind::name && expression.kind != Kind::element) return "";
  for (const Copy& copy : copies) {
    if (copy.variable != expression.text) continue;
    std::string text = copy.name;
    if (!copy.extents.empty())
      for (const Expression& subscript : expression.operands)
        text += fmt::format("[{}]", to_text(in_cuda(subscript)));
    return text;
  }
  return "";
}

bool PrivateCopies::hold_arrays() const {
  return std::ranges::any_of(copies, [](const Copy& copy) { return !copy.extents.empty(); });
}

PrivateCopies private_copies(const KernelRequest& request, const CudaNames& names,
                             const ParallelChain& chain) {
  PrivateCopies result;
  const std::vector<int> statements = statements_of(chain.body);
  for (const Privatised& privatised : request.parallel.privatised) {
    const bool here = std::ranges::any_of(statements, [&](int s) {
      return std::ranges::find(privatised.statements, s) != privatised.statements.end();
    });
    const bool shared =
        std::ranges::any_of(privatised.loops, [&](const std::string& loop) { return chain.holds(loop); });
    if (!here || !shared) continue;
    // A variable that lives on keeps its name for its memory.
    const std::string name =
        privatised.last_value ? free_name(names, privatised.variable + "_here") : privatised.variable;
    const ArrayShape shape = shape_of(names, privatised.variable);
    result.copies.push_back({privatised.variable, name, shape.type, &privatised,
                             privatised.is_array ? shape.extents : std::vector<Expression>{}});
  }
  return result;
}

bool last_values_can_be_stored(const PrivateCopies& copies, const ParallelChain& chain) {
  const std::vector<Mention> all = mentions(chain.body);
  return std::ranges::all_of(copies.copies, [&](const PrivateCopies::Copy& copy) {
    return !copy.privatised->last_value || std::ranges::all_of(all, [&](const Mention& mention) {
      return mention.element.text != copy.variable ||
             std::ranges::none_of(mention.loops, [&](const Node* loop) {
               return depends_on(mention.element, loop->iterator);
             });
    });
  });
}

void declare(TextWriter& writer, const PrivateCopies& copies) {
  for (const PrivateCopies::Copy& copy : copies.copies) {
    std::string extents;
    for (const Expression& extent : copy.extents) extents += fmt::format("[{}]", to_text(extent));
    writer.line("{} {}{};", c_name(copy.type), copy.name, extents);
  }
}

void store_last_values(TextWriter& writer, const CudaNames& names, const PrivateCopies& copies,
                       const ParallelChain& chain, const Node& tree) {
  for (const PrivateCopies::Copy& copy : copies.copies) {
    if (!copy.privatised->last_value) continue;
    std::vector<Expression> conditions;
    for (const std::string& iterator : copy.privatised->loops) {
      const auto loop =
          std::ranges::find_if(chain.loops, [&](const ThreadLoop& l) { return l.loop.iterator == iterator; });
      if (loop == chain.loops.end()) continue;
      Expression last = loop->loop.limit;  // in the order of the text
      if (loop->loop.comparison == "<") last = plus(last, -1);
      if (loop->loop.comparison == ">") last = plus(last, 1);
      const std::int64_t step = loop->loop.step;
      const Expression at = Expression::name(iterator);
      conditions.push_back(step == 1 || step == -1 ? Expression::binary("==", at, last)
                                                   : Expression::binary(">", plus(at, step), last));
    }
    // The element that it is: of any mention, for all mentions of a private array in one iteration are of one
    // element.
    for (const Mention& mention : mentions({tree})) {
      if (mention.element.text != copy.variable) continue;
      const std::string store = fmt::format("{} = {};", cuda_text(names, mention.element), copy.name);
      if (conditions.empty())
        writer.line(store);
      else
        writer.line("if ({}) {}", to_text(all_of(conditions)), store);
      break;
    }
  }
}

std::vector<Mention> mentions(const std::vector<Node>& nodes) {
  std::vector<Mention> result;
  std::vector<const Node*> loops;
  for (const Node& node : nodes) collect_mentions(node, loops, result);
  return result;
}

KernelParameters kernel_parameters(const KernelRequest& request, const CudaNames& names,
                                   const std::vector<Node>& trees, const std::vector<Expression>& more,
                                   const PrivateCopies& copies) {
  Node all;
  all.children = trees;
  UsedNames used = used_names(names, all);
  for (const Expression& expression : more) {
    const auto visit = [&](const auto& self, const Expression& e) -> void {
      if (e.kind == Kind::name && contains(names.nest.region().sizes, e.text) &&
          !contains(used.sizes, e.text))
        used.sizes.push_back(e.text);
      if (e.kind == Kind::name && contains(request.host_loops, e.text) && !contains(used.iterators, e.text))
        used.iterators.push_back(e.text);
      for (const Expression& operand : e.operands) self(self, operand);
    };
    visit(visit, expression);
  }
  const auto hidden = [&](const std::string& array) {  // private, and never in memory
    return std::ranges::any_of(copies.copies, [&](const PrivateCopies::Copy& copy) {
      return copy.variable == array && !copy.privatised->last_value;
    });
  };
  std::erase_if(used.arrays_written, hidden);
  std::erase_if(used.arrays_read, hidden);
  KernelParameters parameters;
  parameters.written = used.arrays_written;
  parameters.all = used.arrays_written;
  for (const std::string& array : used.arrays_read)
    if (!contains(parameters.all, array)) parameters.all.push_back(array);
  parameters.all.insert(parameters.all.end(), used.scalars.begin(), used.scalars.end());
  for (const std::string& size : names.nest.region().sizes)
    if (contains(used.sizes, size)) parameters.all.push_back(size);
  for (const std::string& loop : request.host_loops)
    if (contains(used.iterators, loop)) parameters.all.push_back(loop);
  return parameters;
}

namespace {

/// Of several bounds the one that the loop's iterations mostly have: the one that depends on `loop`.
std::optional<Expression> typical(const Expression& bound, const std::string& loop) {
  if (bound.kind != Kind::call || (bound.text != "max" && bound.text != "min")) return bound;
  std::optional<Expression> found;
  for (const Expression& operand : bound.operands) {
    if (!depends_on(operand, loop)) continue;
    const std::optional<Expression> one = typical(operand, loop);
    if (found || !one) return std::nullopt;
    found = one;
  }
  return found ? found : bound;
}

std::string apart_text(const Neighbours& x, bool one_element) {
  if (x.kind == Neighbours::varies) return "neighbouring threads are not equally far apart";
  if (x.kind == Neighbours::rows) return "neighbouring threads are rows apart";
  if (one_element) return "all threads of a warp read one element, which a load sends to all";
  if (x.elements == 0) return "neighbouring threads read one element";
  if (x.elements == 1) return "neighbouring threads use neighbouring elements";
  return fmt::format("neighbouring threads are {} elements apart", x.elements);
}

}  // namespace

Neighbours neighbours_along(const Expression& element, const std::vector<Expression>& extents,
                            const std::string& loop, std::int64_t step,
                            const std::vector<const Node*>& starts) {
  if (loop.empty()) return {};
  std::map<std::string, Expression> begins;
  for (const Node* inner : starts) {
    if (inner->iterator == loop) continue;
    const Expression first = substitute(inner->first, begins);
    if (!depends_on(first, loop)) continue;
    const std::optional<Expression> begin = typical(first, loop);
    if (!begin) return {0, Neighbours::varies};
    begins[inner->iterator] = *begin;
  }
  Expression at = element;
  at.operands.clear();
  for (const Expression& subscript : element.operands) {
    at.operands.push_back(simplified(substitute(subscript, begins)));
    if (!affine_in(at.operands.back(), {loop})) return {0, Neighbours::varies};
  }
  const std::optional<std::int64_t> elements = stride(at, extents, loop);
  return elements ? Neighbours{*elements * step} : Neighbours{0, Neighbours::rows};
}

std::vector<Placement> memory_placements(const CudaNames& names, const std::vector<Node>& nodes,
                                         const std::string& x, const std::string& y,
                                         const std::array<int, 3>& block, const PrivateCopies& copies,
                                         const ParallelChain& chain) {
  std::vector<Placement> placements;
  const std::vector<Mention> all = mentions(nodes);
  std::vector<const Node*> own;  // loops of threads that are numbered from their own first values
  std::map<std::string, std::int64_t> steps;
  for (const ThreadLoop& loop : chain.loops) {
    if (loop.own) own.push_back(&loop.loop);
    steps[loop.loop.iterator] = loop.step;
  }
  for (const Mention& mention : all) {
    const Variable* variable = find_variable(names.nest.region(), mention.element.text);
    if (!variable || (variable->extents.empty() && !is_assigned(names.nest, variable->name))) continue;
    if (!copies.instead(mention.element).empty()) continue;
    std::vector<const Node*> starts = own;
    starts.insert(starts.end(), mention.loops.begin(), mention.loops.end());
    const auto along = [&](const std::string& loop) {
      const auto step = steps.find(loop);
      return neighbours_along(mention.element, variable->extents, loop,
                              step == steps.end() ? 1 : step->second, starts);
    };
    // Where a size enters, neighbours are in sectors of their own: any large stride shows that.
    const auto stride_of = [](const Neighbours& neighbours) {
      return neighbours.kind == Neighbours::known ? neighbours.elements : 1024;
    };
    const Neighbours along_x = along(x), along_y = along(y);
    const WarpAccess access =
        warp_access({stride_of(along_x), stride_of(along_y), 0}, block, size_of(variable->type));
    auto placement =
        std::ranges::find_if(placements, [&](const Placement& p) { return p.array == mention.element.text; });
    if (placement != placements.end() && placement->sectors >= access.sectors)
      continue;  // the worst is shown
    if (placement == placements.end()) placement = placements.insert(placement, Placement{});
    const bool written = std::ranges::any_of(
        all, [&](const Mention& m) { return m.is_write && m.element.text == mention.element.text; });
    placement->array = mention.element.text;
    placement->space = written ? Space::global : Space::read_only;
    placement->sectors = access.sectors;
    placement->ideal_sectors = access.ideal_sectors;
    const bool one_element = along_x.kind == Neighbours::known && along_x.elements == 0 &&
                             (block[0] >= 32 || (along_y.kind == Neighbours::known && along_y.elements == 0));
    placement->reason = fmt::format(
        "{}: {} takes {} sectors of 32 bytes a warp, {} at best{}", apart_text(along_x, one_element),
        to_text(mention.element), access.sectors, access.ideal_sectors,
        written ? "" : "; never written here: `const __restrict__`, the read-only path");
  }
  for (const PrivateCopies::Copy& copy : copies.copies)
    placements.push_back(
        {copy.variable, copy.extents.empty() ? Space::registers : Space::local,
         copy.privatised->reason +
             (copy.extents.empty()
                  ? ""
                  : fmt::format("; warning: an array of {} bytes a thread is in local memory, as slow "
                                "as global, unless the compiler unrolls all loops that index it",
                                copy.bytes())),
         static_cast<std::uint64_t>(copy.bytes()), 0, 0, 1});
  return placements;
}

std::map<std::string, std::int64_t> known_sizes(const Nest& nest) {
  std::map<std::string, std::int64_t> known;
  for (const SizeRange& size : nest.sizes())
    if (size.least && size.least == size.most) known.emplace(size.name, *size.least);
  return known;
}

std::optional<std::int64_t> known_value(const Nest& nest, const Expression& expression) {
  try {
    return value_of(expression, known_sizes(nest));
  } catch (const BadInput&) {  // a name without a value
    return std::nullopt;
  }
}

Expression all_of(const std::vector<Expression>& conditions) {
  Expression result = conditions.at(0);
  for (std::size_t i = 1; i < conditions.size(); ++i)
    result = Expression::binary("&&", std::move(result), conditions[i]);
  return result;
}

std::vector<int> statements_of(const std::vector<Node>& nodes) {
  std::vector<int> result;
  const auto visit = [&](const auto& self, const Node& node) -> void {
    if (node.kind == Node::Kind::assignment && std::ranges::find(result, node.statement) == result.end())
      result.push_back(node.statement);
    for (const Node& child : node.children) self(self, child);
  };
  for (const Node& node : nodes) visit(visit, node);
  return result;
}

}  // namespace warploom::tile
