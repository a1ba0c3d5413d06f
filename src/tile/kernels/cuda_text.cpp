#include "tile/kernels/cuda_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "tile/c/functions.hpp"
#include "tile/c/scalar_types.hpp"
#include "warploom/core/error.hpp"

namespace warploom::tile {
namespace {

using Kind = Expression::Kind;

template <typename Visit>
void for_each_expression(const Node& node, const Visit& visit) {
  if (node.kind == Node::Kind::loop) {
    visit(node.first, false);
    visit(node.limit, false);
  } else if (node.kind == Node::Kind::branch) {
    visit(node.condition, false);
  } else if (node.kind == Node::Kind::assignment) {
    visit(node.value, false);
    visit(node.target, true);
  }
  for (const Node& child : node.children) for_each_expression(child, visit);
}

void collect(const Expression& expression, std::set<std::string>& into) {
  if (expression.kind == Kind::name || expression.kind == Kind::element) into.insert(expression.text);
  for (const Expression& operand : expression.operands) collect(operand, into);
}

void collect_iterators(const Node& node, std::set<std::string>& into) {
  if (node.kind == Node::Kind::loop) into.insert(node.iterator);
  for (const Node& child : node.children) collect_iterators(child, into);
}

/// Whether C gives the function's value as a double, whatever its arguments are.
bool gives_double(std::string_view name) {
  const Function* function = find_function(name);
  return function && function->result == Function::Result::float64;
}

const Snapshot* find_snapshot(const ParallelNest& parallel, std::string_view copy) {
  for (const Snapshot& snapshot : parallel.snapshots)
    if (snapshot.copy == copy) return &snapshot;
  return nullptr;
}

}  // namespace

ArrayShape shape_of(const CudaNames& names, std::string_view array) {
  if (const Snapshot* snapshot = find_snapshot(names.parallel, array)) array = snapshot->array;
  if (const Variable* variable = find_variable(names.nest.region(), array))
    return {variable->type, variable->extents};
  for (const Temporary& temporary : names.temporaries)
    if (temporary.name == array) return {temporary.type, temporary.extents};
  throw Internal(fmt::format("no array '{}' in the nest", array));
}

bool is_assigned(const Nest& nest, std::string_view scalar) {
  bool found = false;
  for_each_expression(nest.region().body, [&](const Expression& expression, bool target) {
    found = found || (target && expression.kind == Kind::name && expression.text == scalar);
  });
  return found;
}

ScalarType type_of(const CudaNames& names, const Expression& expression) {
  const auto operand = [&](std::size_t i) { return type_of(names, expression.operands[i]); };
  switch (expression.kind) {
    case Kind::integer:
      return ScalarType::int32;
    case Kind::real:
      return expression.text.ends_with('f') || expression.text.ends_with('F') ? ScalarType::float32
                                                                              : ScalarType::float64;
    case Kind::name: {
      const Variable* variable = find_variable(names.nest.region(), expression.text);
      return variable ? variable->type : ScalarType::int32;  // sizes and iterators
    }
    case Kind::element:
      return shape_of(names, expression.text).type;
    case Kind::unary:
      return expression.text == "!" ? ScalarType::int32 : promoted(operand(0));
    case Kind::binary:
      if (expression.text == "<<" || expression.text == ">>") return promoted(operand(0));
      return is_arithmetic(expression.text) ? common_type(operand(0), operand(1)) : ScalarType::int32;
    case Kind::conditional:
      return common_type(operand(1), operand(2));
    case Kind::call:
      if (expression.text == "min" || expression.text == "max") return common_type(operand(0), operand(1));
      if (expression.text == "floord") return ScalarType::int32;
      return gives_double(expression.text) ? ScalarType::float64 : ScalarType::float32;
    case Kind::cast:
      return type_named(expression.text);
  }
  return ScalarType::int32;
}

Expression cuda_expression(const CudaNames& names, const Expression& expression) {
  if (names.instead) {
    if (std::string text = names.instead(expression); !text.empty()) return Expression::name(std::move(text));
  }
  if (expression.kind == Kind::element)
    return Expression::name(fmt::format("{}[{}]", expression.text, flat_index(names, expression)));
  if (expression.kind == Kind::name)
    return is_assigned(names.nest, expression.text) ? Expression::name("(*" + expression.text + ")")
                                                    : expression;
  Expression result = expression;
  for (Expression& operand : result.operands) operand = cuda_expression(names, operand);
  if (expression.kind != Kind::call) return result;
  if (expression.text == "floord") result.text = "floor_quotient";
  if (!gives_double(expression.text)) return result;
  // C++ would take the float form of the function.
  for (std::size_t i = 0; i < result.operands.size(); ++i) {
    if (type_of(names, expression.operands[i]) == ScalarType::float64) continue;
    Expression cast;
    cast.kind = Kind::cast;
    cast.text = "double";
    cast.operands = {std::move(result.operands[i])};
    result.operands[i] = std::move(cast);
  }
  return result;
}

std::string cuda_text(const CudaNames& names, const Expression& expression) {
  return to_text(cuda_expression(names, expression));
}

std::string flat_index(const CudaNames& names, const Expression& element) {
  const std::vector<Expression> extents = shape_of(names, element.text).extents;
  std::size_t first = 0;  // what comes before is 0
  while (first + 1 < element.operands.size() && element.operands[first] == Expression::integer(0)) ++first;
  Expression index = cuda_expression(names, element.operands.at(first));
  for (std::size_t d = first + 1; d < element.operands.size(); ++d) {
    if (d == first + 1) {  // from here on the product may leave 32 bits
      Expression wide;
      wide.kind = Kind::cast;
      wide.text = "std::int64_t";
      wide.operands = {std::move(index)};
      index = std::move(wide);
    }
    index = Expression::binary("+", Expression::binary("*", std::move(index), extents.at(d)),
                               cuda_expression(names, element.operands[d]));
  }
  return to_text(index);
}

Node cuda_tree(const CudaNames& names, Node tree) {
  if (tree.kind == Node::Kind::loop) {
    tree.first = cuda_expression(names, tree.first);
    tree.limit = cuda_expression(names, tree.limit);
  } else if (tree.kind == Node::Kind::branch) {
    tree.condition = cuda_expression(names, tree.condition);
  } else if (tree.kind == Node::Kind::assignment) {
    tree.target = cuda_expression(names, tree.target);
    tree.value = cuda_expression(names, tree.value);
  }
  for (Node& child : tree.children) child = cuda_tree(names, std::move(child));
  return tree;
}

std::string free_name(const CudaNames& names, std::string base, const std::set<std::string>& taken) {
  std::set<std::string> all = taken;
  const Region& region = names.nest.region();
  all.insert(region.sizes.begin(), region.sizes.end());
  for (const Variable& variable : region.variables) all.insert(variable.name);
  for (const Snapshot& snapshot : names.parallel.snapshots) all.insert(snapshot.copy);
  for (const Temporary& temporary : names.temporaries) all.insert(temporary.name);
  collect_iterators(region.body, all);
  collect_iterators(names.parallel.code, all);
  if (!all.contains(base)) return base;
  for (int i = 2;; ++i)
    if (std::string name = fmt::format("{}_{}", base, i); !all.contains(name)) return name;
}

UsedNames used_names(const CudaNames& names, const Node& tree) {
  std::set<std::string> read, written, declared;
  for_each_expression(tree, [&](const Expression& expression, bool target) {
    if (target) {
      written.insert(expression.text);
      for (const Expression& subscript : expression.operands) collect(subscript, read);
    } else {
      collect(expression, read);
    }
  });
  const auto updated = [&](const auto& self, const Node& node) -> void {  // "+=" reads its target
    if (node.kind == Node::Kind::assignment && node.op != "=") read.insert(node.target.text);
    for (const Node& child : node.children) self(self, child);
  };
  updated(updated, tree);
  collect_iterators(tree, declared);
  std::set<std::string> iterators = read;
  UsedNames result;
  const auto arrays = [&](const std::string& name) {
    iterators.erase(name);
    if (read.contains(name)) result.arrays_read.push_back(name);
    if (written.contains(name)) result.arrays_written.push_back(name);
  };
  const Region& region = names.nest.region();
  for (const Variable& variable : region.variables) {
    if (variable.extents.empty() && !is_assigned(names.nest, variable.name)) {
      if (iterators.erase(variable.name)) result.scalars.push_back(variable.name);
    } else {
      arrays(variable.name);
    }
  }
  for (const Snapshot& snapshot : names.parallel.snapshots)
    if (!find_variable(region, snapshot.copy)) arrays(snapshot.copy);
  for (const Temporary& temporary : names.temporaries) arrays(temporary.name);
  // The extents that flattening multiplies by, too.
  for (const auto* list : {&result.arrays_read, &result.arrays_written})
    for (const std::string& array : *list) {
      const std::vector<Expression> extents = shape_of(names, array).extents;
      for (std::size_t d = 1; d < extents.size(); ++d) collect(extents[d], read);
    }
  for (const std::string& size : region.sizes) {
    iterators.erase(size);
    if (read.contains(size)) result.sizes.push_back(size);
  }
  for (const std::string& name : iterators)
    if (!declared.contains(name)) result.iterators.push_back(name);
  return result;
}

std::string kernel_signature(const KernelSignature& signature) {
  const CudaNames& names = signature.names;
  std::string text = signature.before;
  if (signature.threads > 0 && signature.blocks_per_sm > 0)
    text += fmt::format(" __launch_bounds__({}, {})", signature.threads, signature.blocks_per_sm);
  else if (signature.threads > 0)
    text += fmt::format(" __launch_bounds__({})", signature.threads);
  const std::string head = signature.kernel + "(";
  text += "\n" + head;
  std::size_t column = head.size();
  for (std::size_t i = 0; i < signature.parameters.size(); ++i) {
    const std::string& name = signature.parameters[i];
    const Variable* variable = find_variable(names.nest.region(), name);
    const bool temporary =
        std::ranges::any_of(names.temporaries, [&](const Temporary& t) { return t.name == name; });
    const bool scalar = variable && variable->extents.empty() && !is_assigned(names.nest, name);
    std::string parameter;
    if (scalar) {
      parameter = fmt::format("{} {}", c_name(variable->type), name);
    } else if (variable || temporary || find_snapshot(names.parallel, name)) {
      const bool written = std::ranges::find(signature.written, name) != signature.written.end();
      parameter = fmt::format("{}{}* __restrict__ {}", written ? "" : "const ",
                              c_name(shape_of(names, name).type), name);
    } else {
      parameter = "int " + name;
    }
    parameter += i + 1 < signature.parameters.size() ? "," : ")";
    if (i > 0 && column + parameter.size() + 1 > 100) {
      text += "\n" + std::string(head.size(), ' ');
      column = head.size();
    } else if (i > 0) {
      text += " ";
      ++column;
    }
    text += parameter;
    column += parameter.size();
  }
  return signature.parameters.empty() ? text + ")" : text;
}

std::string cuda_helpers(std::string_view kernels) {
  struct Helper {
    std::string_view name, text;
  };
  static constexpr std::array kHelpers = {
      Helper{"floor_quotient", R"(/// Quotient rounded down; the divisor is positive.
__host__ __device__ inline int floor_quotient(int dividend, int divisor) {
  return dividend >= 0 ? dividend / divisor : -((divisor - 1 - dividend) / divisor);
}
)"},
      Helper{"warp_sum", R"(/// Sum over the warp, in every lane.
template <typename T>
__device__ inline T warp_sum(T value) {
  for (int distance = 16; distance > 0; distance /= 2) value += __shfl_xor_sync(0xffffffffu, value, distance);
  return value;
}
)"},
      Helper{"block_sum", R"(/// Sum over the block's threads, in thread 0. `parts` has a place for each warp.
template <typename T>
__device__ inline T block_sum(T value, T* parts) {
  value = warp_sum(value);
  if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = value;
  __syncthreads();
  if (threadIdx.x == 0)
    for (int warp = 1; warp < static_cast<int>(blockDim.x) / 32; ++warp) value += parts[warp];
  return value;
}
)"},
      Helper{
          "copy_or_zero",
          R"(/// An element to shared memory, or 0 where it is not inside. It is there after wait_for_copies() and a barrier.
template <typename T>
__device__ inline void copy_or_zero(T* to, const T* from, bool inside) {
#if __CUDA_ARCH__ >= 800
  const auto shared = static_cast<unsigned>(__cvta_generic_to_shared(to));
  asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(shared), "l"(from), "n"(sizeof(T)),
               "r"(inside ? static_cast<int>(sizeof(T)) : 0)
               : "memory");
#else
  *to = inside ? *from : T{};
#endif
}
)"},
      Helper{
          "load_with_line",
          R"(/// An element that nobody writes meanwhile; all of its line of 128 bytes comes to the second-level cache.
template <typename T>
__device__ inline T load_with_line(const T* from) {
#if __CUDA_ARCH__ >= 750
  T value;
  if constexpr (sizeof(T) == 8) {
    std::int64_t bits;
    asm volatile("ld.global.nc.L2::128B.b64 %0, [%1];" : "=l"(bits) : "l"(from));
    memcpy(&value, &bits, sizeof value);
  } else {
    std::int32_t bits;
    asm volatile("ld.global.nc.L2::128B.b32 %0, [%1];" : "=r"(bits) : "l"(from));
    memcpy(&value, &bits, sizeof value);
  }
  return value;
#else
  return *from;
#endif
}
)"},
      Helper{
          "kept_pool",
          R"(/// Memory of this device that calls leave allocated for later ones. The default pool gives its memory back whenever
/// somebody waits for the device, and the next allocation takes 40 us.
inline cudaError_t kept_pool(cudaMemPool_t* pool) {
  static std::mutex one_at_a_time;
  static std::map<int, cudaMemPool_t> pools;
  const std::lock_guard<std::mutex> lock(one_at_a_time);
  int device = 0;
  cudaError_t status = cudaGetDevice(&device);
  cudaMemPool_t& kept = pools[device];
  if (status == cudaSuccess && !kept) {
    cudaMemPoolProps properties = {};
    properties.allocType = cudaMemAllocationTypePinned;
    properties.location.type = cudaMemLocationTypeDevice;
    properties.location.id = device;
    status = cudaMemPoolCreate(&kept, &properties);
    std::uint64_t threshold = UINT64_MAX;
    if (status == cudaSuccess) status = cudaMemPoolSetAttribute(kept, cudaMemPoolAttrReleaseThreshold, &threshold);
  }
  *pool = kept;
  return status;
}
)"},
      Helper{
          "take_from_beside",
          R"(/// A lane's columns of a row get those of the lanes beside: the left one's last, and the right one's first.
template <int kLeft, int kRight, typename T, int kColumns>
__device__ inline void take_from_beside(T (&row)[kColumns]) {
#pragma unroll
  for (int c = 0; c < kLeft; ++c) row[c] = __shfl_up_sync(0xffffffffu, row[kColumns - kLeft - kRight + c], 1);
#pragma unroll
  for (int c = 0; c < kRight; ++c)
    row[kColumns - kRight + c] = __shfl_down_sync(0xffffffffu, row[kLeft + c], 1);
}
)"},
      Helper{"grow_older", R"(/// Each row takes the place of the one before it.
template <typename T, int kRows, int kColumns>
__device__ inline void grow_older(T (&rows)[kRows][kColumns]) {
#pragma unroll
  for (int age = kRows - 1; age > 0; --age)
#pragma unroll
    for (int c = 0; c < kColumns; ++c) rows[age][c] = rows[age - 1][c];
}
)"},
      Helper{"wait_for_copies", R"(/// Until the copies that this thread has begun are done.
__device__ inline void wait_for_copies() {
#if __CUDA_ARCH__ >= 800
  asm volatile("cp.async.wait_all;" ::: "memory");
#endif
}
)"},
  };
  std::string text;
  for (auto helper = kHelpers.rbegin(); helper != kHelpers.rend(); ++helper)  // earlier ones serve later ones
    if (kernels.find(helper->name) != std::string_view::npos || text.find(helper->name) != std::string::npos)
      text = fmt::format("{}{}{}", helper->text, text.empty() ? "" : "\n", text);
  return text;
}

void TextWriter::line(std::string_view text) {
  if (!text.empty()) text_.append(static_cast<std::size_t>(2 * level_), ' ');
  text_.append(text);
  text_ += '\n';
}

void TextWriter::open(std::string_view text) {
  if (text.starts_with("else") && text_.ends_with("}\n")) {
    text_.pop_back();
    text_ += fmt::format(" {} {{\n", text);
    ++level_;
    return;
  }
  line(text.empty() ? "{" : fmt::format("{} {{", text));
  ++level_;
}

void TextWriter::close(std::string_view text) {
  --level_;
  line(text);
}

void TextWriter::close_to(int level) {
  while (level_ > level) close();
}

void TextWriter::tree(const Node& node) { text_ += to_text(node, level_); }

}  // namespace warploom::tile
