// What goes to constant memory: whole where it fits, else strip by strip.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>

#include "tile/kernels/access_cost.hpp"
#include "tile/kernels/contraction.hpp"
#include "tile/kernels/pointwise.hpp"
#include "tile/kernels/split_tree.hpp"

namespace warploom::tile {
namespace {

/// Arrays of known size that the region only reads, in the order of the text. Kernels of one file share
/// constant memory: which arrays fit is the same for all of them.
struct ConstantSpace {
  std::vector<const Variable*> whole;  ///< that fit together
  std::vector<const Variable*> long_vectors;
  std::uint64_t left = 0;  ///< bytes for strips of each of the long vectors

  ConstantSpace(const Nest& nest, std::uint64_t bytes) {
    std::set<std::string> read, written;
    for (const Mention& mention : mentions({nest.region().body}))
      (mention.is_write ? written : read).insert(mention.element.text);
    for (const Variable& variable : nest.region().variables) {
      if (variable.extents.empty() || !read.contains(variable.name) || written.contains(variable.name))
        continue;
      const std::uint64_t size = bytes_of(nest, variable);
      if (size == 0) continue;
      if (size <= bytes) {
        whole.push_back(&variable);
        bytes -= size;
      } else if (variable.extents.size() == 1) {
        long_vectors.push_back(&variable);
      }
    }
    if (!long_vectors.empty()) left = bytes / long_vectors.size();
  }

  /// 0: not known.
  static std::uint64_t bytes_of(const Nest& nest, const Variable& variable) {
    constexpr std::uint64_t kMost = std::uint64_t{1} << 40;  // products stay in range
    auto bytes = static_cast<std::uint64_t>(size_of(variable.type));
    for (const Expression& extent : variable.extents) {
      const std::int64_t value = known_value(nest, extent).value_or(0);
      if (value <= 0) return 0;
      bytes = std::min(bytes * std::min(static_cast<std::uint64_t>(value), kMost), kMost);
    }
    return bytes;
  }
};

/// How long a kernel's loads take where a vector that all threads of a warp read alike is in memory, and
/// where it is in constant memory. All sizes are known.
class LoadTimes {
 public:
  /// None where a count is not known.
  static std::optional<LoadTimes> of(const KernelRequest& request, const ParallelChain& chain) {
    LoadTimes times(request);
    bool known = true;
    const auto value = [&](const Expression& count) {
      const auto number = known_value(request.parallel.nest, count);
      known = known && number;
      return static_cast<double>(number.value_or(1));
    };
    for (const ThreadLoop& loop : chain.loops) times.threads_ *= value(loop.count());
    const CudaNames names{request.parallel.nest, request.parallel};
    for (const Mention& mention : mentions(chain.body)) {
      // What its loop does not change is loaded once.
      if (mention.element.kind != Expression::Kind::element || mention.loops.empty() ||
          !depends_on(mention.element, mention.loops.back()->iterator))
        continue;
      double count = 1;
      for (const Node* loop : mention.loops) count *= value(trip_count(*loop));
      times.loads_[mention.element.text] += count;
      times.element_bytes_[mention.element.text] = size_of(shape_of(names, mention.element.text).type);
    }
    return known ? std::optional(times) : std::nullopt;
  }

  double threads() const { return threads_; }
  /// Of one thread.
  double loads(const std::string& array) const {
    const auto found = loads_.find(array);
    return found == loads_.end() ? 0 : found->second;
  }
  double in_memory_us(const std::set<std::string>& vectors) const {
    const double uniform = of_all(vectors), others = of_all({}) - uniform;
    if (others == 0) return first_level_us(uniform);
    return std::max(first_level_us(uniform + others), stream_us(vectors, others / (others + uniform)));
  }
  double in_constant_us(const std::set<std::string>& vectors) const {
    const double uniform = of_all(vectors), others = of_all({}) - uniform;
    return std::max({first_level_us(others), first_level_us(uniform) / kConstantRate, stream_us(vectors, 1)});
  }
  double copy_us(double bytes) const { return 2 * bytes / (rates_.global_gb_s * 1e3); }
  double launch_us() const { return rates_.launch_us; }

 private:
  // Measured on an H200 and taken for all. A loop that does nothing but uniform loads and fused multiply-adds
  // does 7.5e12 of them a second through L1 and 3.5e12 through constant memory. A stream of 30,000 x 30,000
  // elements by 60,000 threads, a uniform load beside each: 1.5 TB/s, with constant memory 2.9: what limits
  // it is that a thread has `in_flight` loads under way, for 0.7 us each.
  static constexpr double kConstantRate = 0.45, kInFlight = 8, kLatencyUs = 0.7, kThreadsOfSm = 2048;

  explicit LoadTimes(const KernelRequest& request) : rates_(device_rates(request.options.architecture)) {}

  /// Of one thread; all arrays without names.
  double of_all(const std::set<std::string>& arrays) const {
    double sum = 0;
    for (const auto& [array, count] : loads_)
      if (arrays.empty() || arrays.contains(array)) sum += count;
    return sum;
  }
  /// A warp's load takes L1's 128 bytes a clock once.
  double first_level_us(double loads) const {
    return loads * threads_ / 32 * 128 / (rates_.shared_gb_s * 1e3);
  }
  /// Of the others, which come from memory.
  /// @param share  of the loads under way that are theirs
  double stream_us(const std::set<std::string>& vectors, double share) const {
    double bytes = 0;
    for (const auto& [array, count] : loads_)
      if (!vectors.contains(array)) bytes += count * threads_ * element_bytes_.at(array);
    const double running = std::min(threads_, rates_.multiprocessors * kThreadsOfSm);
    return bytes / std::min(rates_.global_gb_s * 1e3, running * kInFlight * 4 * share / kLatencyUs);
  }

  const DeviceRates& rates_;
  double threads_ = 1;
  std::map<std::string, double> loads_;
  std::map<std::string, int> element_bytes_;
};

/// "3.4", "5249"
std::string microseconds(double time) {
  return time < 100 ? fmt::format("{:.3g}", time) : fmt::format("{:.0f}", time);
}

bool same_for_all(const std::vector<Mention>& mentions, const std::string& array, const std::string& x) {
  return std::ranges::none_of(mentions, [&](const Mention& mention) {
    return mention.element.text == array && depends_on(mention.element, x);
  });
}

std::string symbol_of(const Nest& nest, const Variable& variable) {
  return fmt::format("{}_{}_constant", nest.region().function, variable.name);
}

/// Whether the sequential loop goes along the vector: every mention is v[j].
bool runs_along(const std::vector<Mention>& mentions, const Variable& vector, const Node& loop) {
  const Expression element = Expression::element(vector.name, {Expression::name(loop.iterator)});
  bool any = false;
  for (const Mention& mention : mentions) {
    if (mention.element.text != vector.name) continue;
    if (mention.element != element) return false;
    any = true;
  }
  return any;
}

void replace(Expression& expression, const Expression& old, const Expression& by) {
  if (expression == old) {
    expression = by;
    return;
  }
  for (Expression& operand : expression.operands) replace(operand, old, by);
}
void replace(Node& node, const Expression& old, const Expression& by) {
  for (Expression* expression : {&node.first, &node.limit, &node.condition, &node.target, &node.value})
    replace(*expression, old, by);
  for (Node& child : node.children) replace(child, old, by);
}

/// A tree whose private sums are kept where they end: "s = 0; for (j...) s += ...; R[i] = s;" with R[i] for
/// s. None if a private variable has no such place.
struct InResults {
  ParallelNest parallel;  ///< without those variables
  Node tree;
};
std::optional<InResults> in_results(const KernelRequest& request, const ParallelChain& chain) {
  InResults result{request.parallel, request.tree};
  const CudaNames names{request.parallel.nest, request.parallel};
  for (const PrivateCopies::Copy& copy : private_copies(request, names, chain).copies) {
    const ParallelTree tree = parallel_tree(result.tree);
    const Node& last = tree.body.back();
    const Expression variable = Expression::name(copy.variable);
    if (copy.privatised->last_value || last.kind != Node::Kind::assignment || last.op != "=" ||
        last.value != variable || last.target.kind != Expression::Kind::element ||
        shape_of(names, last.target.text).type != copy.type)
      return std::nullopt;
    std::vector<Node> others(tree.body.begin(), tree.body.end() - 1);
    for (const Mention& mention : mentions(others))
      if (mention.element.text == last.target.text) return std::nullopt;
    for (Node& other : others) replace(other, variable, last.target);
    result.tree = tree.around(std::move(others));
    std::erase_if(result.parallel.privatised,
                  [&](const Privatised& p) { return p.variable == copy.variable; });
  }
  return result;
}

}  // namespace

std::vector<PlacedConstant> constant_copies(const KernelRequest& request, const ParallelChain& chain,
                                            const ThreadMapping& mapping) {
  const Nest& nest = request.parallel.nest;
  const std::optional<LoadTimes> times = LoadTimes::of(request, chain);
  if (!times) return {};
  const std::vector<Mention> here = mentions(chain.body);
  std::vector<PlacedConstant> result;
  for (const Variable* variable : ConstantSpace(nest, request.options.constant_bytes).whole) {
    const std::string& name = variable->name;
    if (times->loads(name) == 0 || !same_for_all(here, name, mapping.x->loop.iterator)) continue;
    const std::uint64_t bytes = ConstantSpace::bytes_of(nest, *variable);
    const double memory = times->in_memory_us({name}), constant = times->in_constant_us({name}),
                 price = times->launch_us() + times->copy_us(static_cast<double>(bytes));
    if (memory <= constant + price) continue;
    result.push_back(
        {{name, symbol_of(nest, *variable), variable->type,
          static_cast<std::int64_t>(bytes / size_of(variable->type)), ""},
         fmt::format("all threads of a warp read the same element; {} bytes of the {} that there are; the "
                     "kernel's loads take {} us, with it in memory {}, the copy {}",
                     bytes, request.options.constant_bytes, microseconds(constant), microseconds(memory),
                     microseconds(price))});
  }
  return result;
}

std::optional<KernelGroup> in_constant_strips(const KernelRequest& request, const ParallelChain& chain,
                                              const ThreadMapping& mapping) {
  if (request.options.memory_cap > 0) return std::nullopt;  // panels are loops of the host already
  const std::optional<InResults> direct = in_results(request, chain);
  const std::optional<LoadTimes> times = LoadTimes::of(request, chain);
  if (!direct || !times) return std::nullopt;
  const ParallelTree tree = parallel_tree(direct->tree);
  const auto loop = sequential_loop(tree);
  if (loop == tree.body.end() || tree.loops.size() != chain.loops.size()) return std::nullopt;

  const Nest& nest = direct->parallel.nest;
  const CudaNames names{nest, direct->parallel};
  const ConstantSpace space(nest, request.options.constant_bytes);
  const std::vector<Mention> here = mentions(tree.body);
  std::vector<const Variable*> vectors;
  std::set<std::string> vector_names;
  std::int64_t elements = std::numeric_limits<std::int32_t>::max();
  double bytes = 0, length = 0;
  for (const Variable* vector : space.long_vectors) {
    if (!runs_along(here, *vector, *loop)) continue;
    vectors.push_back(vector);
    vector_names.insert(vector->name);
    elements = std::min(elements, static_cast<std::int64_t>(space.left) / size_of(vector->type));
    bytes += static_cast<double>(ConstantSpace::bytes_of(nest, *vector));
    length = std::max(length, times->loads(vector->name));
  }
  if (vectors.empty() || elements < 32) return std::nullopt;
  const double strips = std::ceil(length / static_cast<double>(elements));
  // What the loop updates goes to memory and comes back between two strips.
  std::set<std::string> updated;
  double carried = 0;
  for (const Mention& mention : mentions({*loop}))
    if (mention.is_write && updated.insert(to_text(mention.element)).second)
      carried += times->threads() * size_of(shape_of(names, mention.element.text).type);
  const double memory = times->in_memory_us(vector_names), constant = times->in_constant_us(vector_names),
               price = strips * (1 + static_cast<double>(vectors.size())) * times->launch_us() +
                       times->copy_us(bytes + (strips - 1) * carried);
  if (memory <= constant + price) return std::nullopt;

  const std::string first = free_name(names, loop->iterator + "_first");
  std::vector<PlacedConstant> constants;
  for (const Variable* vector : vectors)
    constants.push_back(
        {{vector->name, symbol_of(nest, *vector), vector->type, elements, first},
         fmt::format(
             "all threads of a warp read the same element; {} bytes do not fit the {} that there are: "
             "{} strips of {} elements, a launch each; the kernels' loads take {} us, with it in "
             "memory {}, copies, launches and what is carried from strip to strip {}",
             ConstantSpace::bytes_of(nest, *vector), request.options.constant_bytes, strips, elements,
             microseconds(constant), microseconds(memory), microseconds(price))});

  KernelGroup group;
  const auto add = [&](std::vector<Node> statements, const std::string& part) {
    const Node here_tree = tree.around(std::move(statements));
    KernelGroup one = choose_pattern({request.nest, direct->parallel, here_tree, request.host_loops,
                                      request.name + part, request.options});
    one.kernels.front().tree = here_tree;
    for (Kernel& kernel : one.kernels) {
      group.host.children.push_back(launch_of(group.kernels.size()));
      group.kernels.push_back(std::move(kernel));
    }
  };
  if (loop != tree.body.begin()) add({tree.body.begin(), loop}, "_before");
  const Node strip_tree = tree.around(
      {strip(*loop, Expression::name(first),
             Expression::call(
                 "min", {Expression::binary("+", Expression::name(first), Expression::integer(elements)),
                         end_of(*loop)}))});
  KernelRequest launch{request.nest,       direct->parallel, strip_tree,
                       request.host_loops, request.name,     request.options};
  launch.host_loops.push_back(first);
  Node host = *loop;
  host.iterator = first;
  host.step = elements;
  host.children = {launch_of(group.kernels.size())};
  for (PlacedConstant& whole : constant_copies(launch, parallel_chain(strip_tree), mapping))
    constants.push_back(std::move(whole));
  group.kernels.push_back(pointwise_kernel(launch, constants));
  group.kernels.back().tree = strip_tree;
  group.host.children.push_back(std::move(host));
  if (loop + 1 != tree.body.end()) add({loop + 1, tree.body.end()}, "_after");
  return group;
}

}  // namespace warploom::tile
