#pragma once

#include <set>

#include "tile/kernels/affine.hpp"
#include "tile/kernels/cuda_text.hpp"
#include "tile/kernels/kernel_patterns.hpp"

/// Which loops of a tree become threads, and what every pattern does alike around that.
namespace warploom::tile {

/// Of shared memory, that a kernel may have without asking.
inline constexpr int kSharedBytes = 48 * 1024;

/// A parallel loop whose iterations are given to threads.
struct ThreadLoop {
  Node loop;                       ///< without its children
  Expression least, end;           ///< all values are in [least, end), free of the other thread loops
  std::int64_t step = 1;           ///< between values, positive; not 1 only if least is the first value
  std::vector<Expression> guards;  ///< what must hold besides, where bounds depend on other thread loops
  /// Where the box is larger than that: values from the loop's own first one on, which depends on outer
  /// thread loops. Then all its guards are `own->end`.
  std::optional<OwnRange> own = {};
  /// Number of values of the box, as an expression of sizes and host loops; negative or 0: none.
  Expression count() const;
  /// The same where values are numbered from the loop's own first one, if that is fewer.
  Expression own_count() const { return own ? own->count : count(); }
  bool depends_on(const ThreadLoop& outer) const;  ///< its bounds do
};

/// Parallel loops that nest perfectly at the root of a tree, outermost first, and what they hold.
struct ParallelChain {
  std::vector<ThreadLoop> loops;
  std::vector<Node> body;
  bool holds(std::string_view iterator) const;
  std::vector<Expression> bounds() const;  ///< of all boxes
  std::vector<Expression> guards() const;  ///< of all loops
};
/// Loops whose box is not known, or whose steps are not 1 and depend on others, are left in the body.
ParallelChain parallel_chain(const Node& tree);

/// Bounds of the host's loops around a launch, in terms of sizes, for memory that is allocated once.
std::map<std::string, Bounds> host_bounds(const KernelRequest& request);

/// Variables of which each thread has a copy, in a register or, if it is an array, in local memory. Variables
/// that live on in memory too are `stored`: the last iteration of `loops` writes them back.
struct PrivateCopies {
  struct Copy {
    std::string variable, name;  ///< name of the register: the variable's, or one that is free
    ScalarType type = ScalarType::float32;
    const Privatised* privatised = nullptr;
    std::vector<Expression> extents = {};  ///< of a copy that is an array
    std::int64_t bytes() const;
  };
  std::vector<Copy> copies;
  /// Text of the copy where the expression names a private variable, else empty.
  std::string instead(const Expression& expression) const;
  bool hold_arrays() const;
};
/// Of the variables that the tree names and of which threads of this chain need copies.
PrivateCopies private_copies(const KernelRequest& request, const CudaNames& names,
                             const ParallelChain& chain);
/// Whether every last value can be stored when the thread's iteration is over: its element is named by no
/// loop within.
bool last_values_can_be_stored(const PrivateCopies& copies, const ParallelChain& chain);
/// "float sum;", a line each.
void declare(TextWriter& writer, const PrivateCopies& copies);
/// "if (i == n - 1) *sum = sum_2;" for those whose last value matters. `names` without the copies.
void store_last_values(TextWriter& writer, const CudaNames& names, const PrivateCopies& copies,
                       const ParallelChain& chain, const Node& tree);

/// Every element (and scalar) that the nodes name, with the sequential loops around it.
struct Mention {
  Expression element;
  bool is_write = false;
  std::vector<const Node*> loops;    ///< outermost first
  const Node* assignment = nullptr;  ///< none: in a bound or condition
};
std::vector<Mention> mentions(const std::vector<Node>& nodes);

/// Parameters, in call order, of a kernel that runs these trees: arrays written, arrays read, scalars, sizes,
/// host loops. `more`: sizes and host loops that bounds name besides.
struct KernelParameters {
  std::vector<std::string> all, written;
};
KernelParameters kernel_parameters(const KernelRequest& request, const CudaNames& names,
                                   const std::vector<Node>& trees, const std::vector<Expression>& more,
                                   const PrivateCopies& copies);

/// Elements between what neighbours along a loop touch at the same time: its step, and loops within that
/// start at its iterator, are counted.
/// @param starts  loops around, outermost first, whose iterators begin at their first values
struct Neighbours {
  std::int64_t elements = 0;
  enum { known, rows, varies } kind = known;  ///< rows: sizes enter; varies: not the same everywhere
};
Neighbours neighbours_along(const Expression& element, const std::vector<Expression>& extents,
                            const std::string& loop, std::int64_t step,
                            const std::vector<const Node*>& starts);

/// Placements of what stays in memory: read-only or global, with the sectors of a warp's access.
/// @param x      the iterator along which threads are neighbours
/// @param chain  where x and y are loops of it: their steps, and loops that start at their own first values
std::vector<Placement> memory_placements(const CudaNames& names, const std::vector<Node>& nodes,
                                         const std::string& x, const std::string& y,
                                         const std::array<int, 3>& block, const PrivateCopies& copies,
                                         const ParallelChain& chain = {});

/// Sizes that are one number each.
std::map<std::string, std::int64_t> known_sizes(const Nest& nest);
/// The number that an expression is, if the sizes that it names are known.
std::optional<std::int64_t> known_value(const Nest& nest, const Expression& expression);

/// Conditions joined by &&; empty if there are none.
Expression all_of(const std::vector<Expression>& conditions);
std::vector<int> statements_of(const std::vector<Node>& nodes);

}  // namespace warploom::tile
