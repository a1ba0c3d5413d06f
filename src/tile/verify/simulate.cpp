// A CUDA program's host loops, and its kernels in the simulator.
#include <algorithm>
#include <set>
#include <stdexcept>

#include "tile/c/scalar_types.hpp"
#include "warploom/core/memory.hpp"
#include "warploom/core/view.hpp"
#include "warploom/tile/verify.hpp"

namespace warploom::tile {
namespace {

std::vector<std::byte> to_bytes(const std::vector<double>& values, ScalarType type) {
  return with_type(type, [&]<typename T>(T) {
    const std::vector<T> typed(values.begin(), values.end());
    const auto bytes = std::as_bytes(std::span(typed));
    return std::vector<std::byte>(bytes.begin(), bytes.end());
  });
}

/// Device memory of one array or scalar.
struct Allocation {
  sim::Address address = 0;
  ScalarType type = ScalarType::float32;
  std::size_t elements = 1;
};

class Device {
 public:
  Device(sim::Machine& machine, const Nest& nest, const GpuProgram& program, const Memory& before,
         sim::Schedule schedule)
      : machine_(machine),
        nest_(nest),
        program_(program),
        before_(before),
        schedule_(schedule),
        names_(before.sizes.begin(), before.sizes.end()) {
    for (const auto& [name, values] : before.arrays) upload(name, type_of(name), values);
    for (const auto& [name, value] : before.scalars) upload(name, type_of(name), {value});
    for (const Temporary& temporary : program.temporaries)
      upload(temporary.name, temporary.type, first_values(temporary));
    for (const Kernel& kernel : program.kernels)
      for (const ConstantCopy& constant : kernel.constants)
        if (constant.first.empty()) fill(constant, 0);
  }
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;
  ~Device() {
    for (const auto& [name, allocation] : memory_) machine_.free(allocation.address);
  }

  void run(const Node& node) {
    if (node.kind == Node::Kind::launch) {
      launch(program_.kernels.at(static_cast<std::size_t>(node.statement)));
    } else if (node.kind == Node::Kind::branch) {
      if (value_of(node.condition, names_))
        run(node.children[0]);
      else if (node.children.size() > 1)
        run(node.children[1]);
    } else if (node.kind == Node::Kind::loop) {
      const Expression runs =
          Expression::binary(node.comparison, Expression::name(node.iterator), node.limit);
      if (node.step == 0) throw BadInput("loop " + node.iterator + " has the step 0");
      for (names_[node.iterator] = value_of(node.first, names_); value_of(runs, names_);
           names_[node.iterator] += node.step)
        for (const Node& child : node.children) run(child);
    } else {
      for (const Node& child : node.children) run(child);
    }
  }

  Simulated result() const {
    Simulated run{before_, {findings_.begin(), findings_.end()}};
    for (auto& [name, values] : run.memory.arrays) values = download(name);
    for (auto& [name, value] : run.memory.scalars) value = download(name).at(0);
    return run;
  }

 private:
  ScalarType type_of(const std::string& name) const {
    const Variable* variable = find_variable(nest_.region(), name);
    if (variable == nullptr) throw BadInput(nest_.region().file + ": there is no variable " + name);
    return variable->type;
  }

  std::vector<double> first_values(const Temporary& temporary) const {
    if (!temporary.copy_of.empty()) return before_.arrays.at(temporary.copy_of);
    std::vector<std::int64_t> shape;
    for (const Expression& extent : temporary.extents) shape.push_back(value_of(extent, names_));
    const auto elements = static_cast<std::size_t>(element_count(shape));
    require_memory(elements > std::size_t{1} << 60 ? ~std::uint64_t{0} : 8 * elements, temporary.name);
    return std::vector<double>(elements, 1e30);  // whoever reads first, will show
  }

  void upload(const std::string& name, ScalarType type, const std::vector<double>& values) {
    // An array without elements has an address, too.
    const std::size_t bytes =
        std::max<std::size_t>(values.size(), 1) * static_cast<std::size_t>(size_of(type));
    const Allocation allocation{machine_.allocate(bytes, name), type, values.size()};
    memory_.emplace(name, allocation);
    if (!values.empty()) machine_.copy_to_device(allocation.address, to_bytes(values, type));
  }

  std::vector<double> download(const std::string& name) const {
    const Allocation& allocation = memory_.at(name);
    return with_type(allocation.type, [&]<typename T>(T) {
      std::vector<T> values(allocation.elements);
      if (!values.empty()) machine_.download(allocation.address, std::span(values));
      return std::vector<double>(values.begin(), values.end());
    });
  }

  /// Of an array that nobody writes.
  void fill(const ConstantCopy& constant, std::int64_t first) {
    const std::vector<double>& all = before_.arrays.at(constant.array);
    const auto count = std::min(constant.elements, std::ssize(all) - first);
    if (first < 0 || count < 0)
      throw BadInput(constant.array + ": a copy to constant memory begins outside of it");
    machine_.copy_to_device(machine_.variable(constant.symbol),
                            to_bytes({all.begin() + first, all.begin() + first + count}, constant.type));
  }

  sim::Dim dim(const std::array<Expression, 3>& extents) const {
    const auto extent = [&](std::size_t d) {
      return static_cast<std::uint32_t>(std::max<std::int64_t>(0, value_of(extents[d], names_)));
    };
    return {extent(0), extent(1), extent(2)};
  }

  sim::Arguments arguments(const Kernel& kernel) const {
    sim::Arguments arguments;
    for (const std::string& name : kernel.parameters) {
      const Variable* variable = find_variable(nest_.region(), name);
      if (variable && variable->extents.empty() && !is_assigned(nest_, name))
        arguments.add_bytes(to_bytes({before_.scalars.at(name)}, variable->type));
      else if (const auto found = memory_.find(name); found != memory_.end())
        arguments.add(found->second.address);
      else
        arguments.add(static_cast<std::int32_t>(names_.at(name)));
    }
    return arguments;
  }

  /// Its name in the PTX.
  const std::string& symbol(const Kernel& kernel) {
    std::string& symbol = symbols_[kernel.name];
    if (!symbol.empty()) return symbol;
    const std::vector<std::string> found = ptx::kernels_named(machine_.module(), kernel.name);
    if (found.size() != 1) throw BadInput(machine_.module().file + ": there is no kernel " + kernel.name);
    return symbol = found.front();
  }

  void launch(const Kernel& kernel) {
    for (const ConstantCopy& constant : kernel.constants)
      if (!constant.first.empty()) fill(constant, names_.at(constant.first));
    const sim::LaunchOptions options{
        .grid = dim(kernel.grid), .block = dim(kernel.block), .schedule = schedule_, .races = true};
    if (options.grid.count() == 0) return;
    for (const sim::Finding& finding : machine_.launch(symbol(kernel), arguments(kernel), options).findings)
      findings_.insert(finding.text());
  }

  sim::Machine& machine_;
  const Nest& nest_;
  const GpuProgram& program_;
  const Memory& before_;
  sim::Schedule schedule_;
  std::map<std::string, std::int64_t> names_;
  std::map<std::string, Allocation> memory_;
  std::map<std::string, std::string> symbols_;
  std::set<std::string> findings_;
};

}  // namespace

Simulated simulate(sim::Machine& machine, const Nest& nest, const GpuProgram& program, const Memory& before,
                   sim::Schedule schedule) {
  try {
    Device device(machine, nest, program, before, schedule);
    device.run(program.host);
    return device.result();
  } catch (const std::out_of_range&) {
    throw BadInput(nest.region().file +
                   ": the program names a kernel, a variable or a size that is not there");
  }
}

}  // namespace warploom::tile
