#pragma once

#include <fmt/format.h>

#include <functional>
#include <set>

#include "warploom/tile/gpu.hpp"

/// Pieces of CUDA text that every pattern prints alike.
namespace warploom::tile {

/// How one kernel writes what the nest names.
struct CudaNames {
  const Nest& nest;
  const ParallelNest& parallel;
  std::vector<Temporary> temporaries = {};  ///< further arrays in memory
  /// C text (a primary expression) for an element or name that the kernel keeps elsewhere than in memory: a
  /// register, a shared tile. Empty: in memory. Asked with the expression as the tree has it.
  std::function<std::string(const Expression&)> instead = nullptr;
};

/// The expression as CUDA has it, its elements flattened in 64 bits, row-major: "A[(std::int64_t)i * nk +
/// k]". A scalar that the region assigns lives in memory: "(*sum)". min and max are CUDA's, floord is
/// `floor_quotient` (cuda_helpers). C's arithmetic stays: sqrt of a float is a double's, as in C.
std::string cuda_text(const CudaNames& names, const Expression& expression);
/// The same, as a tree whose elements are names: for printing within larger expressions.
Expression cuda_expression(const CudaNames& names, const Expression& expression);
/// A statement, every expression as by cuda_expression. to_text() prints it.
Node cuda_tree(const CudaNames& names, Node tree);
/// "(std::int64_t)i * nk + k": of the declared extents (a snapshot has those of its array).
std::string flat_index(const CudaNames& names, const Expression& element);

/// Type and extents of a variable, snapshot or temporary. @throws Internal (no such name)
struct ArrayShape {
  ScalarType type = ScalarType::float32;
  std::vector<Expression> extents;
};
ArrayShape shape_of(const CudaNames& names, std::string_view array);
/// The type that C gives the expression.
ScalarType type_of(const CudaNames& names, const Expression& expression);

/// `base`, with a number behind it where the nest, its snapshots or `taken` have that name already.
std::string free_name(const CudaNames& names, std::string base, const std::set<std::string>& taken = {});
/// A kernel's own names: each by free_name, and no two the same.
class FreshNames {
 public:
  explicit FreshNames(const CudaNames& names) : names_(names) {}
  const std::string& operator()(const std::string& base) {
    return *taken_.insert(free_name(names_, base, taken_)).first;
  }
  bool contains(const std::string& name) const { return taken_.contains(name); }

 private:
  const CudaNames& names_;
  std::set<std::string> taken_;
};

/// Names that a tree reads and writes, in the nest's order, snapshots after variables. Scalars that the
/// region assigns count as arrays (they are pointers); iterators that no loop of the tree declares are
/// `iterators`.
struct UsedNames {
  std::vector<std::string> sizes, iterators, scalars, arrays_read, arrays_written;
};
UsedNames used_names(const CudaNames& names, const Node& tree);

struct KernelSignature {
  const CudaNames& names;
  std::string kernel;
  std::vector<std::string> parameters;     ///< as Kernel::parameters
  std::vector<std::string> written;        ///< arrays that the kernel writes
  int threads = 0, blocks_per_sm = 0;      ///< launch bounds, 0: none
  std::string before = "__global__ void";  ///< what it is and gives
};
/// "__global__ void __launch_bounds__(256)\ngemm_0(int ni, int nj, float alpha, float* __restrict__ C, ...)":
/// const where the kernel does not write an array; sizes and host loops are int. No brace, no newline at the
/// end.
std::string kernel_signature(const KernelSignature& signature);

/// Device functions that kernels call, each of which emit_cuda puts once before them: those whose names
/// occur in the text. `#include`s are not among them: kernels need <cstdint>.
std::string cuda_helpers(std::string_view kernels);

/// Appends lines with indentation.
class TextWriter {
 public:
  void line(std::string_view text = "");
  template <class... Arguments>
  requires(sizeof...(Arguments) > 0) void line(fmt::format_string<Arguments...> format,
                                               Arguments&&... arguments) {
    line(std::string_view(fmt::format(format, std::forward<Arguments>(arguments)...)));
  }
  /// "for (...) {" and one level more; the brace is added; "else" goes on a "}"
  void open(std::string_view text);
  template <class... Arguments>
  requires(sizeof...(Arguments) > 0) void open(fmt::format_string<Arguments...> format,
                                               Arguments&&... arguments) {
    open(std::string_view(fmt::format(format, std::forward<Arguments>(arguments)...)));
  }
  void close(std::string_view text = "}");
  int level() const { return level_; }
  void close_to(int level);
  /// A statement in C (cuda_tree first).
  void tree(const Node& node);
  const std::string& text() const { return text_; }

 private:
  std::string text_;
  int level_ = 0;
};

}  // namespace warploom::tile
