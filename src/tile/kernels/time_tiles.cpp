// Launches of several steps each: there and back between arrays and their copies, and back at the end.
#include "tile/kernels/time_tiles.hpp"

#include <algorithm>

#include "tile/c/simplify.hpp"

namespace warploom::tile {
namespace {

constexpr int kCopyThreads = 256;

/// Of an array, below which tiles in shared memory are faster: there are too few warps to hide that each
/// waits for itself (jacobi-2d on an H200: 500^2 .45 ms for .63, 900^2 .70 for .71, 1300^2 2.93 for 2.42).
constexpr double kFewElements = 1e6;

/// Where sizes are not known, as if there were many.
double elements(const Nest& nest, const StencilSteps& found) {
  double count = 1;
  for (const Expression& extent : found.extents) {
    const std::optional<std::int64_t> known = known_value(nest, extent);
    if (!known) return kFewElements;
    count *= static_cast<double>(*known);
  }
  return count;
}

Node block_of(Node node) {
  Node block;
  block.children = {std::move(node)};
  return block;
}

Expression is_odd(const Expression& e, std::int64_t odd) {
  return Expression::binary("==", Expression::binary("%", e, Expression::integer(2)),
                            Expression::integer(odd));
}

/// Which launches there are, of the kernels there, back and copy.
Node host_of(const StencilSteps& found, int steps) {
  const Expression t = Expression::name(found.steps.iterator);
  Node launch;
  launch.kind = Node::Kind::branch;
  launch.condition =
      is_odd(Expression::binary("/", difference(t, found.first), Expression::integer(steps)), 0);
  launch.children = {block_of(launch_of(0)), block_of(launch_of(1))};
  Node loop = found.steps;
  loop.step = steps;
  loop.children = {launch};
  Node last;
  last.kind = Node::Kind::branch;
  last.condition = is_odd(ceil_quotient(difference(found.end, found.first), steps), 1);
  last.children = {block_of(launch_of(2))};
  Node host;
  host.children = {loop, last};
  return host;
}

/// After an odd number of launches: what was computed is in the copies.
Kernel copy_back(const KernelRequest& request, const CudaNames& names, const StencilSteps& found,
                 const std::map<std::string, std::string>& next) {
  const bool flat = found.extents.size() == 1;
  FreshNames fresh(names);
  Kernel kernel;
  kernel.name = request.name + "_back";
  kernel.pattern = "copy back";
  kernel.grid = kernel.block = {Expression::integer(1), Expression::integer(1), Expression::integer(1)};
  kernel.block[0] = Expression::integer(kCopyThreads);
  kernel.grid[0] = Expression::call(
      "min", {ceil_quotient(found.extents.back(), kCopyThreads), Expression::integer(1 << 20)});
  if (!flat) kernel.grid[1] = Expression::call("min", {found.extents[0], Expression::integer(65535)});
  std::vector<std::string> used;
  for (const auto& [array, copy] : next) {
    kernel.parameters.insert(kernel.parameters.end(), {array, copy});
    used.push_back(array);
  }
  for (const std::string& name : kernel_parameters(request, names, {Node{}}, found.extents, {}).all)
    kernel.parameters.push_back(name);
  TextWriter text;
  text.open(kernel_signature({names, kernel.name, kernel.parameters, used, kCopyThreads, 0}));
  std::vector<Expression> at;
  for (const ThreadLoop& loop : found.stages[0].loops) at.push_back(Expression::name(loop.loop.iterator));
  if (!flat)
    text.open("for (int {0} = blockIdx.y; {0} < {1}; {0} += gridDim.y)", at[0].text,
              cuda_text(names, found.extents[0]));
  text.open("for (int {0} = blockIdx.x * {1} + threadIdx.x; {0} < {2}; {0} += {1} * gridDim.x)",
            at.back().text, kCopyThreads, cuda_text(names, found.extents.back()));
  for (const auto& [array, copy] : next)
    text.line("{} = {};", cuda_text(names, Expression::element(array, at)),
              cuda_text(names, Expression::element(copy, at)));
  text.close_to(0);
  kernel.text = text.text();
  kernel.reasons = {"after an odd number of launches what was computed is in the copies"};
  return kernel;
}

}  // namespace

Node steps_of_launch(const KernelRequest& request, const StencilSteps& found, int steps,
                     const std::string& iterator) {
  Node tree = found.steps;
  tree.iterator = iterator;
  tree.comparison = "<";
  tree.first = Expression::name(found.steps.iterator);
  tree.limit = Expression::call("min", {plus(tree.first, steps), found.end});
  tree.children = request.tree.children;
  return tree;
}

KernelGroup in_turn(const KernelRequest& request, const CudaNames& names, const StencilSteps& found,
                    TimeTilePass pass) {
  Kernel back = pass.kernel;
  back.text.clear();
  back.placements.clear();
  back.reasons = {"the same kernel, from the copies back to the arrays"};
  for (std::string& parameter : back.parameters)
    for (const auto& [array, next] : pass.next)
      if (parameter == array || parameter == next) {
        parameter = parameter == array ? next : array;
        break;
      }
  KernelGroup group;
  group.temporaries = names.temporaries;
  group.kernels = {std::move(pass.kernel), std::move(back), copy_back(request, names, found, pass.next)};
  group.host = host_of(found, pass.steps);
  return group;
}

std::optional<KernelGroup> time_tiles(const KernelRequest& request) {
  const TimeTiles wanted = request.options.time_tiles;
  if (wanted == TimeTiles::none) return std::nullopt;
  const CudaNames names{request.nest, request.parallel, {}, nullptr};
  const std::optional<StencilSteps> found = match_stencil_steps(request, names);
  if (!found) return std::nullopt;
  const bool few = wanted == TimeTiles::best && elements(request.nest, *found) < kFewElements;
  std::optional<KernelGroup> group;
  if (wanted == TimeTiles::shared || few) group = shared_time_tiles(request, *found);
  if (!group && wanted != TimeTiles::shared) group = streamed_time_tiles(request, *found);
  if (!group && wanted == TimeTiles::best) group = shared_time_tiles(request, *found);
  return group;
}

}  // namespace warploom::tile
