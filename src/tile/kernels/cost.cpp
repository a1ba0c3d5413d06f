// What kernels should take: operations, bytes of each level, launches.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "tile/c/wellformed.hpp"
#include "tile/kernels/access_cost.hpp"
#include "warploom/core/error.hpp"
#include "warploom/hw/occupancy.hpp"
#include "warploom/tile/gpu.hpp"

namespace warploom::tile {
namespace {

using Values = std::map<std::string, std::int64_t>;

/// Iterations of a loop to look at, and how many each stands for. Counts of affine loops are polynomials of
/// the outer iterators: three places of Gauss and Legendre integrate them exactly up to degree 5, but for
/// rounding.
std::vector<std::pair<std::int64_t, double>> samples(const Node& loop, const Values& values) {
  const std::int64_t first = value_of(loop.first, values), limit = value_of(loop.limit, values);
  const bool inclusive = loop.comparison.size() == 2;
  const std::int64_t span = (loop.step > 0 ? limit - first : first - limit) + (inclusive ? 1 : 0);
  const std::int64_t trips = span <= 0 ? 0 : (span + std::abs(loop.step) - 1) / std::abs(loop.step);
  std::vector<std::pair<std::int64_t, double>> places;
  if (trips <= 4) {
    for (std::int64_t k = 0; k < trips; ++k) places.emplace_back(first + k * loop.step, 1);
    return places;
  }
  for (const auto& [at, weight] : {std::pair{0.1127016654, 5. / 18}, {0.5, 8. / 18}, {0.8872983346, 5. / 18}})
    places.emplace_back(first + std::llround(at * static_cast<double>(trips - 1)) * loop.step,
                        weight * static_cast<double>(trips));
  return places;
}

bool names_are_known(const Expression& e, const Values& values) {
  if (e.kind == Expression::Kind::element || e.kind == Expression::Kind::real) return false;
  if (e.kind == Expression::Kind::name && !values.contains(e.text)) return false;
  return std::ranges::all_of(e.operands, [&](const Expression& o) { return names_are_known(o, values); });
}

/// Calls visit(node, values, weight) for assignments and launches.
template <typename Visit>
void walk(const Node& node, const Values& values, double weight, const Visit& visit) {
  switch (node.kind) {
    case Node::Kind::loop:
      for (const auto& [at, times] : samples(node, values)) {
        Values inside = values;
        inside[node.iterator] = at;
        for (const Node& child : node.children) walk(child, inside, weight * times, visit);
      }
      break;
    case Node::Kind::branch: {
      if (!names_are_known(node.condition, values)) {  // on data: as if it held
        walk(node.children[0], values, weight, visit);
        break;
      }
      const std::size_t taken = value_of(node.condition, values) ? 0 : 1;
      if (taken < node.children.size()) walk(node.children[taken], values, weight, visit);
      break;
    }
    case Node::Kind::block:
      for (const Node& child : node.children) walk(child, values, weight, visit);
      break;
    case Node::Kind::assignment:
    case Node::Kind::launch:
      visit(node, values, weight);
      break;
  }
}

double operations_of(const Expression& e) {
  double sum = e.kind == Expression::Kind::binary || e.kind == Expression::Kind::call ? 1 : 0;
  if (e.kind == Expression::Kind::element) return 0;  // subscripts are not counted
  for (const Expression& operand : e.operands) sum += operations_of(operand);
  return sum;
}

/// Mentions of each array in an expression.
void count_mentions(const Expression& e, std::map<std::string, double>& mentions, double weight) {
  if (e.kind == Expression::Kind::element) mentions[e.text] += weight;
  for (const Expression& operand : e.operands) count_mentions(operand, mentions, weight);
}

/// Of all launches of one kernel.
struct Counted {
  double launches = 0, blocks = 0, operations = 0;
  std::map<std::string, double> accesses;
};

class Estimate {
 public:
  Estimate(const Nest& nest, const GpuProgram& program, const GpuOptions& options, const Values& sizes)
      : nest_(nest),
        program_(program),
        architecture_(hw::architecture(options.architecture)),
        rates_(device_rates(options.architecture)),
        sizes_(sizes),
        counted_(program.kernels.size()) {}

  std::vector<Cost> run() {
    walk(program_.host, sizes_, 1, [this](const Node& node, const Values& values, double weight) {
      if (node.kind != Node::Kind::launch) return;
      const Kernel& kernel = program_.kernels[node.statement];
      Counted& counted = counted_[node.statement];
      counted.launches += weight;
      double blocks = weight;
      for (const Expression& extent : kernel.grid) blocks *= static_cast<double>(value_of(extent, values));
      counted.blocks += blocks;
      walk(kernel.tree, values, weight, [&](const Node& statement, const Values&, double times) {
        counted.operations += times * (operations_of(statement.value) + (statement.op == "=" ? 0 : 1));
        count_mentions(statement.value, counted.accesses, times);
        count_mentions(statement.target, counted.accesses, statement.op == "=" ? times : 2 * times);
      });
    });
    std::vector<Cost> all;
    for (std::size_t k = 0; k < program_.kernels.size(); ++k)
      all.push_back(cost_of(program_.kernels[k], counted_[k]));
    return all;
  }

 private:
  double elements_of(const std::string& array) const {
    std::vector<Expression> extents;
    if (const Variable* variable = find_variable(nest_.region(), array)) extents = variable->extents;
    for (const Temporary& temporary : program_.temporaries)
      if (temporary.name == array) extents = temporary.extents;
    double count = 1;
    for (const Expression& extent : extents) count *= static_cast<double>(value_of(extent, sizes_));
    return count;
  }
  double bytes_of(const std::string& array) const {
    if (const Variable* variable = find_variable(nest_.region(), array)) return size_of(variable->type);
    for (const Temporary& temporary : program_.temporaries)
      if (temporary.name == array) return size_of(temporary.type);
    return 4;
  }

  Cost cost_of(const Kernel& kernel, const Counted& counted) const {
    Cost cost;
    cost.operations = counted.operations;
    double second_level = 0;
    for (const Placement& placement : kernel.placements) {
      const auto found = counted.accesses.find(placement.array);
      const double accesses = found == counted.accesses.end() ? 0 : found->second,
                   bytes = bytes_of(placement.array);
      // An element comes from memory once a launch if caches and tiles do their work, scattered ones as whole
      // sectors; once in all if the array stays in the second-level cache.
      const double all = elements_of(placement.array) * bytes;
      const bool stays = all <= rates_.second_level_mb * 1024 * 1024;
      const double once = std::min(accesses * bytes, (stays ? 1 : counted.launches) * all);
      const double waste = placement.ideal_sectors > 0 ? placement.sectors / placement.ideal_sectors : 1;
      cost.global_bytes += once * (stays || placement.space == Space::shared ? 1 : waste);
      // What is kept on purpose; what addresses and the like take only ptxas knows.
      if (placement.space == Space::registers)
        cost.registers += static_cast<std::uint32_t>((placement.bytes + 3) / 4);
      if (placement.space == Space::shared) {
        cost.shared += static_cast<std::uint32_t>(placement.bytes);
        cost.shared_bytes +=
            accesses * bytes / std::max(placement.reuse_in_registers, 1.) * placement.bank_conflicts;
        second_level += accesses * bytes / std::max(placement.reuse_in_block, 1.);
      } else if (placement.space != Space::registers && placement.space != Space::constant) {
        second_level += accesses * bytes * waste / 4;  // a quarter misses the first level
      }
    }
    std::uint32_t threads = 1;
    for (const Expression& extent : kernel.block)
      threads *= static_cast<std::uint32_t>(value_of(extent, sizes_));
    cost.blocks_per_sm = hw::occupancy(architecture_, {.threads_per_block = threads,
                                                       .registers_per_thread = cost.registers,
                                                       .shared_static = cost.shared})
                             .blocks;
    set_time(cost, counted, threads, second_level);
    return cost;
  }

  void set_time(Cost& cost, const Counted& counted, std::uint32_t threads, double second_level) const {
    // Too few threads leave multiprocessors idle.
    const double wanted = static_cast<double>(rates_.multiprocessors) * 512;
    const double running = counted.launches > 0 ? counted.blocks / counted.launches * threads : 0;
    const double busy = std::clamp(running / wanted, 1e-4, 1.);
    // A thread that finds nothing to do has computed its indices and compared them: some ten instructions, of
    // which a multiprocessor starts as many as multiply-adds.
    constexpr double kInstructions = 10;
    const double launched = counted.blocks * threads;
    const std::vector<std::pair<std::string, double>> terms{
        {"threads that are started", launched * kInstructions / (rates_.tera_flops / 2 * 1e9)},
        {"arithmetic", cost.operations / (rates_.tera_flops * 1e9 * busy)},
        {"global memory", cost.global_bytes / (rates_.global_gb_s * 1e6 * busy)},
        {"second-level cache", second_level / (rates_.global_gb_s * 2e6 * busy)},
        {"shared memory", cost.shared_bytes / (rates_.shared_gb_s * 1e6 * busy)},
        {"launches", counted.launches * rates_.launch_us / 1e3}};
    const auto longest =
        std::ranges::max_element(terms, [](const auto& a, const auto& b) { return a.second < b.second; });
    cost.milliseconds = longest->second;
    cost.bound = longest->first;
  }

  const Nest& nest_;
  const GpuProgram& program_;
  const hw::Architecture& architecture_;
  const DeviceRates& rates_;
  const Values& sizes_;
  std::vector<Counted> counted_;
};

}  // namespace

std::vector<Cost> cost(const Nest& nest, const GpuProgram& program, const GpuOptions& options,
                       const Values& sizes) {
  check(nest, program);
  return Estimate(nest, program, options, sizes).run();
}

}  // namespace warploom::tile
