#include "simulate.hpp"

#include <algorithm>
#include <cmath>
#include <set>

#include "tile/kernels/cuda_text.hpp"

namespace warploom::tool {

using namespace tile;

namespace {

std::vector<std::byte> to_bytes(const std::vector<double>& values, ScalarType type) {
  std::vector<std::byte> bytes(values.size() * static_cast<std::size_t>(size_of(type)));
  for (std::size_t i = 0; i < values.size(); ++i) {
    const float f = static_cast<float>(values[i]);
    const auto n = static_cast<std::int32_t>(values[i]);
    const void* from = type == ScalarType::float32 ? static_cast<const void*>(&f)
                       : type == ScalarType::int32 ? static_cast<const void*>(&n)
                                                   : static_cast<const void*>(&values[i]);
    std::copy_n(static_cast<const std::byte*>(from), size_of(type),
                bytes.begin() + static_cast<std::ptrdiff_t>(i) * size_of(type));
  }
  return bytes;
}

template <typename T>
std::vector<double> from_bytes_as(const std::vector<std::byte>& bytes) {
  std::vector<T> values(bytes.size() / sizeof(T));
  std::copy(bytes.begin(), bytes.end(), reinterpret_cast<std::byte*>(values.data()));
  return {values.begin(), values.end()};
}
std::vector<double> from_bytes(const std::vector<std::byte>& bytes, ScalarType type) {
  return type == ScalarType::float32 ? from_bytes_as<float>(bytes)
         : type == ScalarType::int32 ? from_bytes_as<std::int32_t>(bytes)
                                     : from_bytes_as<double>(bytes);
}

/// Device memory of one array or scalar.
struct Allocation {
  sim::Address address = 0;
  ScalarType type = ScalarType::float32;
  std::size_t elements = 1;
};

class Device {
 public:
  Device(sim::Machine& machine, const Nest& nest, const GpuProgram& program, const Symbol& symbol,
         const Memory& before)
      : machine_(machine),
        nest_(nest),
        program_(program),
        symbol_(symbol),
        before_(before),
        names_(before.sizes.begin(), before.sizes.end()) {
    for (const auto& [name, values] : before.arrays)
      upload(name, find_variable(nest.region(), name)->type, values);
    for (const auto& [name, value] : before.scalars)
      upload(name, find_variable(nest.region(), name)->type, {value});
    for (const Temporary& temporary : program.temporaries) {
      if (!temporary.copy_of.empty()) {
        upload(temporary.name, temporary.type, before.arrays.at(temporary.copy_of));
        continue;
      }
      std::size_t elements = 1;
      for (const Expression& extent : temporary.extents)
        elements *= static_cast<std::size_t>(value_of(extent, names_));
      upload(temporary.name, temporary.type,
             std::vector<double>(elements, 1e30));  // whoever reads first, will show
    }
    for (const Kernel& kernel : program.kernels)
      for (const ConstantCopy& constant : kernel.constants)
        if (constant.first.empty()) fill(constant, 0);
  }
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
      for (names_[node.iterator] = value_of(node.first, names_); value_of(runs, names_);
           names_[node.iterator] += node.step)
        for (const Node& child : node.children) run(child);
    } else {
      for (const Node& child : node.children) run(child);
    }
  }

  Simulated result() {
    Simulated run{before_, {findings_.begin(), findings_.end()}};
    for (auto& [name, values] : run.memory.arrays) values = download(name);
    for (auto& [name, value] : run.memory.scalars) value = download(name).at(0);
    return run;
  }

 private:
  void upload(const std::string& name, ScalarType type, const std::vector<double>& values) {
    Allocation& allocation = memory_[name];
    allocation.type = type;
    allocation.elements = values.size();
    // An array without elements has an address, too.
    allocation.address = machine_.allocate(
        std::max<std::size_t>(values.size(), 1) * static_cast<std::size_t>(size_of(type)), name);
    if (!values.empty()) machine_.copy_to_device(allocation.address, to_bytes(values, type));
  }

  std::vector<double> download(const std::string& name) const {
    const Allocation& allocation = memory_.at(name);
    std::vector<std::byte> bytes(allocation.elements * static_cast<std::size_t>(size_of(allocation.type)));
    if (!bytes.empty()) machine_.copy_from_device(bytes, allocation.address);
    return from_bytes(bytes, allocation.type);
  }

  /// Of an array that nobody writes.
  void fill(const ConstantCopy& constant, std::int64_t first) {
    const std::vector<double>& all = before_.arrays.at(constant.array);
    const auto count = std::min(constant.elements, std::ssize(all) - first);
    machine_.copy_to_device(machine_.variable(symbol_(constant.symbol)),
                            to_bytes({all.begin() + first, all.begin() + first + count}, constant.type));
  }

  void launch(const Kernel& kernel) {
    for (const ConstantCopy& constant : kernel.constants)
      if (!constant.first.empty()) fill(constant, names_.at(constant.first));
    sim::LaunchOptions options;
    const auto dim = [&](const std::array<Expression, 3>& extents) {
      std::array<std::int64_t, 3> values{};
      for (std::size_t d = 0; d < 3; ++d) values[d] = value_of(extents[d], names_);
      return values;
    };
    const auto grid = dim(kernel.grid), block = dim(kernel.block);
    for (const std::int64_t extent : grid)
      if (extent <= 0) return;
    options.grid = {static_cast<unsigned>(grid[0]), static_cast<unsigned>(grid[1]),
                    static_cast<unsigned>(grid[2])};
    options.block = {static_cast<unsigned>(block[0]), static_cast<unsigned>(block[1]),
                     static_cast<unsigned>(block[2])};
    options.schedule = sim::Schedule::random;
    options.races = true;
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
    for (const sim::Finding& finding : machine_.launch(symbol_(kernel.name), arguments, options).findings)
      findings_.insert(finding.text());
  }

  sim::Machine& machine_;
  const Nest& nest_;
  const GpuProgram& program_;
  const Symbol& symbol_;
  const Memory& before_;
  std::map<std::string, std::int64_t> names_;
  std::map<std::string, Allocation> memory_;
  std::set<std::string> findings_;
};

}  // namespace

Simulated simulate(sim::Machine& machine, const Nest& nest, const GpuProgram& program, const Symbol& symbol,
                   const Memory& before) {
  Device device(machine, nest, program, symbol, before);
  device.run(program.host);
  return device.result();
}

double difference(const Nest& nest, const Memory& got, const Memory& want) {
  double worst = 0;
  for (const Variable& variable : nest.region().variables) {
    const auto array = want.arrays.find(variable.name);
    if (!variable.is_parameter || array == want.arrays.end()) continue;
    double largest = 1;
    for (const double value : array->second)
      if (std::isfinite(value)) largest = std::max(largest, std::fabs(value));
    for (std::size_t i = 0; i < array->second.size(); ++i) {
      const double a = got.arrays.at(variable.name).at(i), b = array->second[i];
      if (a == b || (std::isnan(a) && std::isnan(b))) continue;
      const double apart = std::fabs(a - b) / largest;
      if (!(apart <= worst)) worst = std::isnan(apart) ? HUGE_VAL : apart;
    }
  }
  return worst;
}

}  // namespace warploom::tool
