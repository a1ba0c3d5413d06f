// The contraction pattern: sums of products over inner loops, in tiles.
//
// A block computes a tile of rows x columns. For each few steps of depth it brings what they need of the
// operands to shared memory, copied asynchronously, element by element, with zeros beyond the edges: so any
// size, any offset and either order of subscripts are one path, and the arithmetic has no conditions. There
// are two sets of tiles: one is used while the other fills, with one barrier for each. A thread keeps a part
// of the result in registers, whose rows and columns lie in groups of 16 bytes, a group's width times the
// lanes apart, so that a warp reads neighbouring groups: no bank conflicts.
//
// Copies of single elements cost 3 % against such of 16 bytes, which need aligned rows: 46.3 against 47.6
// TFLOP/s at 8192 x 8192 x 8192 on an H200, cuBLAS 51.0.
#include "tile/kernels/contraction.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "tile/c/simplify.hpp"
#include "tile/kernels/access_cost.hpp"
#include "tile/kernels/thread_loops.hpp"

namespace warploom::tile {
namespace {

using Plan = ContractionPlan;

// Measured on an H200, products of 4096 x 4096 x 4096. The time of a launch is then within some 15 % of:
// blocks a multiprocessor, rounded up, times the block's operations by this rate. Slower than these wherever
// tried: 4 bytes: 64 x 64 with 256 threads 30.8, 64 x 32 33.0, at 8192: 128 x 256 44.6, 256 x 128 39.9; 8
// bytes: 128 x 64 with 256 threads 17.8, 128 x 128 19.6.
constexpr TileShape kShapes4[] = {
    {4, 2, 8, 8, 2, 44.7}, {4, 1, 8, 8, 4, 41.8}, {2, 2, 8, 4, 4, 37.4}, {2, 2, 4, 4, 6, 31.5}};
constexpr TileShape kShapes8[] = {{2, 2, 8, 8, 2, 21.4}, {2, 2, 8, 4, 3, 19.9}};

/// Boxes around the loops. False: a bound is not known.
bool measure(Plan& plan) {
  const auto depends = [&](int side, int other) {
    return depends_on(plan.loop(side).first, plan.iterator(other)) ||
           depends_on(plan.loop(side).limit, plan.iterator(other));
  };
  plan.outer_side = depends(Plan::rows, Plan::columns) ? Plan::columns : Plan::rows;
  std::map<std::string, Bounds> block, launch;
  for (const Node& node : plan.found.grid) launch[node.iterator] = bounds_of(node, {});
  for (const int side : {plan.outer_side, 1 - plan.outer_side}) {
    const Bounds own = bounds_of(plan.loop(side), block), all = bounds_of(plan.loop(side), launch);
    if (!own.least || !own.most || !all.least || !all.most) return false;
    plan.box[side] = block[plan.iterator(side)] = own;
    launch[plan.iterator(side)] = all;
    plan.extent[side] = simplified(
        Expression::binary("+", Expression::binary("-", *all.most, *all.least), Expression::integer(1)));
  }
  return true;
}

Expression grid_depth(const Plan& plan) {
  Expression product = Expression::integer(1);
  for (const Node& node : plan.found.grid)
    product = simplified(Expression::binary("*", product, trip_count(node)));
  return product;
}

/// The greatest depth for which shared memory suffices.
int depth_of_tiles(Plan plan) {
  for (plan.depth = 16; plan.depth > 4; plan.depth /= 2) {
    int bytes = 0;
    for (const Plan::Operand& operand : plan.operands) bytes += plan.tile_bytes(operand);
    if (bytes <= kSharedBytes) break;
  }
  return plan.depth;
}

/// The shape that takes the least time if multiprocessors share blocks evenly; without sizes that of large
/// problems.
void choose_shape(Plan& plan, const KernelRequest& request) {
  int bytes = size_of(plan.type);
  for (const Plan::Operand& operand : plan.operands) bytes = std::max(bytes, size_of(operand.shape.type));
  plan.group = 16 / bytes;
  const auto rows = known_value(request.nest, plan.extent[0]),
             columns = known_value(request.nest, plan.extent[1]),
             grid = known_value(request.nest, grid_depth(plan));
  const int multiprocessors = device_rates(request.options.architecture).multiprocessors;
  const auto ceil = [](std::int64_t a, std::int64_t b) { return (a + b - 1) / b; };
  const auto shapes = bytes == 8 ? std::span<const TileShape>(kShapes8) : kShapes4;
  const auto asked = [&](const TileShape& shape) {
    const auto is = [&](int side, int size) {
      const auto tile = request.parallel.tiles.find(plan.iterator(side));
      return tile == request.parallel.tiles.end() || tile->second == size;
    };
    return is(Plan::rows, shape.rows()) && is(Plan::columns, shape.columns());
  };
  const bool fits = std::ranges::any_of(shapes, asked);
  Plan best = plan;
  double best_time = 0;
  for (const TileShape& shape : shapes) {
    if (fits && !asked(shape)) continue;
    plan.shape = shape;
    plan.depth = depth_of_tiles(plan);
    double time = (plan.depth < 8 ? 2 : 1) / shape.tera_flops;  // few operations between barriers
    if (rows && columns && grid) {
      plan.blocks = *grid * ceil(*rows, shape.rows()) * ceil(*columns, shape.columns()) /
                    (plan.is_triangular() ? 2 : 1);
      time *= static_cast<double>(ceil(plan.blocks, multiprocessors)) * shape.rows() * shape.columns();
    }
    if (best.depth == 0 || time < best_time) best = plan, best_time = time;
  }
  plan = best;
  plan.other_tile = !fits;
  if (plan.operands.size() > 4) plan.shape.blocks_per_sm = std::max(1, plan.shape.blocks_per_sm / 2);
  for (Plan::Operand& operand : plan.operands)  // a sector of global memory
    if (operand.along_depth) operand.copying_lanes = std::min(plan.depth, 32 / size_of(operand.shape.type));
}

std::optional<Plan> plan_of(const KernelRequest& request, const Contraction& found) {
  const CudaNames names{request.nest, request.parallel, {}, nullptr};
  Plan plan;
  plan.found = found;
  if (!measure(plan)) return std::nullopt;
  plan.type = type_of(names, found.update.target);
  for (const ContractionOperand& what : found.operands) {
    Plan::Operand operand{what.element, what.of_rows ? Plan::rows : Plan::columns,
                          shape_of(names, what.element.text)};
    const auto steps_by_one = [&](const std::string& loop) {
      return stride(operand.element, operand.shape.extents, loop) == 1;
    };
    operand.along_depth = steps_by_one(found.depth.iterator) && !steps_by_one(plan.iterator(operand.side));
    operand.contiguous = operand.along_depth || steps_by_one(plan.iterator(operand.side));
    plan.operands.push_back(std::move(operand));
  }
  choose_shape(plan, request);
  if (!found.merged.empty())
    plan.axis = {'x', 'y'};  // rows may be many, and only x may have more than 65535 blocks
  return plan;
}

Placement shared_placement(const Plan& plan, const Plan::Operand& operand) {
  constexpr std::int64_t kFar = 1024 + 8;  // elements between rows of memory: any number will do
  const int lanes = operand.copying_lanes, bytes = size_of(operand.shape.type);
  const std::int64_t line = plan.tile(operand.side) + Plan::padding;
  const std::array<int, 3> warp = {lanes, 32 / lanes, 1};
  const WarpAccess load = warp_access({operand.contiguous ? 1 : kFar, kFar, 0}, warp, bytes);
  const WarpAccess store =
      warp_access({operand.along_depth ? line : 1, operand.along_depth ? 1 : line, 0}, warp, bytes);
  Placement placement;
  placement.array = operand.element.text;
  placement.space = Space::shared;
  placement.bytes = static_cast<std::uint64_t>(plan.tile_bytes(operand));
  placement.sectors = load.sectors;
  placement.ideal_sectors = load.ideal_sectors;
  placement.bank_conflicts = store.bank_conflicts;
  placement.reuse_in_block = plan.tile(1 - operand.side);
  placement.reuse_in_registers =
      operand.side == Plan::rows ? plan.shape.thread_columns : plan.shape.thread_rows;
  const std::string& along = operand.along_depth ? plan.found.depth.iterator : plan.iterator(operand.side);
  placement.reason = fmt::format(
      "{} is used by {} {} of the block: {} tiles of {} x {}, {} (a warp's copy takes {} sectors of {})",
      plan.shown(operand.element), plan.tile(1 - operand.side),
      operand.side == Plan::rows ? "columns" : "rows", Plan::stages, plan.depth, plan.tile(operand.side),
      operand.contiguous ? fmt::format("copied by {} neighbouring threads along {}", lanes, along)
                         : "from elements that are apart in memory",
      load.sectors, load.ideal_sectors);
  if (operand.along_depth)
    placement.reason +=
        fmt::format("; its lines are {} elements longer, so that stores down the lines reach different banks",
                    Plan::padding);
  return placement;
}

Placement register_placement(const Plan& plan) {
  const int rows = plan.shape.thread_rows, columns = plan.shape.thread_columns;
  Placement placement;
  placement.array = plan.found.update.target.text;
  placement.space = Space::registers;
  placement.bytes = static_cast<std::uint64_t>(rows * columns * size_of(plan.type));
  placement.reason = fmt::format(
      "{0} stays with its thread while {1} runs: {2} x {3} of them, so that {4} reads of shared memory are enough for {5} operations",
      plan.shown(plan.found.update.target), plan.found.depth.iterator, rows, columns, rows + columns,
      rows * columns);
  return placement;
}

void explain(const Plan& plan, const KernelRequest& request, Kernel& kernel) {
  const std::string &i = plan.iterator(Plan::rows), &j = plan.iterator(Plan::columns),
                    &k = plan.found.depth.iterator;
  const auto say = [&](std::string reason) { kernel.reasons.push_back(std::move(reason)); };
  say(fmt::format("a block computes {} {} x {} {} (grid {} and {}), each of its {} threads {} x {}",
                  plan.tile(Plan::rows), i, plan.tile(Plan::columns), j, plan.axis[0], plan.axis[1],
                  plan.shape.threads(), plan.shape.thread_rows, plan.shape.thread_columns));
  if (plan.other_tile) say("the tile that was asked for is none of the shapes that were measured to be fast");
  if (plan.blocks > 0)
    say(fmt::format("blocks of this size are done first: {} for {} multiprocessors", plan.blocks,
                    device_rates(request.options.architecture).multiprocessors));
  if (!plan.found.merged.empty())
    say(fmt::format("{} and {} are one loop, {}: what they index lies in one piece", plan.found.merged[0],
                    plan.found.merged[1], i));
  for (const Node& node : plan.found.grid)
    say(fmt::format("{} is the same for a whole block (grid z)", node.iterator));
  say(fmt::format("{} goes in steps of {}; what the next step needs is copied while one is computed", k,
                  plan.depth));
  say(plan.found.keeps_order
          ? std::string("the terms are added in the order of the source")
          : fmt::format(
                "the sum starts at 0 and is added to {} at its end: rounding differs from the source's",
                plan.shown(plan.found.update.target)));
  if (plan.is_triangular()) say("blocks outside of the triangle end at once");
  for (const std::string& iterator : {i, j})
    if (depends_on(plan.found.depth.first, iterator) || depends_on(plan.found.depth.limit, iterator))
      say(
          fmt::format("{} runs over what any {} of the block needs; where one does not, its operand is 0: an "
                      "infinity or NaN of the other operand there makes the sum NaN",
                      k, iterator));
}

void collect_statements(const Node& node, std::vector<int>& numbers) {
  if (node.kind == Node::Kind::assignment) numbers.push_back(node.statement);
  for (const Node& child : node.children) collect_statements(child, numbers);
}

}  // namespace

Expression end_of(const Node& loop) { return loop.comparison == "<" ? loop.limit : plus(loop.limit, 1); }

bool ContractionPlan::is_triangular() const {
  const Node& inner = loop(1 - outer_side);
  return depends_on(inner.first, iterator(outer_side)) || depends_on(inner.limit, iterator(outer_side));
}

int ContractionPlan::tile_bytes(const Operand& operand) const {
  return stages * depth * (tile(operand.side) + padding) * size_of(operand.shape.type);
}

std::string ContractionPlan::shown(Expression element) const {
  if (!found.merged.empty() && element.operands.size() > 1 &&
      element.operands[1] == Expression::name(found.rows.iterator))
    for (const std::size_t d : {0, 1}) element.operands[d] = Expression::name(found.merged[d]);
  return to_text(element);
}

std::optional<KernelGroup> contraction(const KernelRequest& request) {
  const std::optional<Contraction> found = match_contraction(request);
  if (!found) return std::nullopt;
  const std::optional<Plan> plan = plan_of(request, *found);
  if (!plan) return std::nullopt;
  Kernel kernel;
  kernel.name = request.name;
  kernel.pattern = "contraction";
  collect_statements(request.tree, kernel.statements);
  for (const int side : {Plan::rows, Plan::columns})
    kernel.grid[plan->axis[side] - 'x'] = ceil_quotient(plan->extent[side], plan->tile(side));
  kernel.grid[2] = grid_depth(*plan);
  kernel.block = {Expression::integer(plan->shape.threads()), Expression::integer(1), Expression::integer(1)};

  UsedNames used = used_names({request.nest, request.parallel, {}, nullptr}, request.tree);
  for (const Privatised& own : found->private_variables)
    if (!own.last_value)
      for (auto* list : {&used.arrays_read, &used.arrays_written}) std::erase(*list, own.variable);
  for (const auto* list :
       {&used.sizes, &used.iterators, &used.scalars, &used.arrays_written, &used.arrays_read})
    for (const std::string& name : *list)
      if (std::ranges::find(kernel.parameters, name) == kernel.parameters.end())
        kernel.parameters.push_back(name);
  kernel.text = contraction_text(request, *plan, kernel.parameters, used.arrays_written);
  explain(*plan, request, kernel);
  for (const Plan::Operand& operand : plan->operands)
    kernel.placements.push_back(shared_placement(*plan, operand));
  kernel.placements.push_back(register_placement(*plan));
  return KernelGroup{{std::move(kernel)}, {}};
}

}  // namespace warploom::tile
