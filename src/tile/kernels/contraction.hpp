#pragma once

#include "tile/kernels/affine.hpp"
#include "tile/kernels/cuda_text.hpp"
#include "tile/kernels/kernel_patterns.hpp"

/// A loop tree that sums products of elements over inner loops, seen as rows, columns and depth.
namespace warploom::tile {

/// An element of what is summed. It changes along the depth and along either rows or columns.
struct ContractionOperand {
  Expression element;    ///< A[i][k]
  bool of_rows = false;  ///< else of columns
};

struct Contraction {
  Node rows, columns;       ///< parallel loops, without children
  std::vector<Node> grid;   ///< further parallel loops, outermost first: the same for a whole block
  std::vector<Node> outer;  ///< loops that are summed over, all but the innermost
  Node depth;               ///< the innermost
  std::vector<Node> before, after;
  Node update;               ///< the reduction's assignment: op is += or -=
  Expression scale;          ///< the target changes by scale * (sum of terms); 1: by the sum
  std::vector<Node> terms;   ///< assignments without target, += or -=: what is summed
  bool keeps_order = false;  ///< the sum goes on from the target's value in the order of the source
  std::vector<ContractionOperand> operands;  ///< distinct; of rows and of columns at least one each
  std::vector<std::string> merged;  ///< two loops of the source that are the rows' loop together, or none
  std::vector<Privatised> private_variables;  ///< what a thread keeps for each row and column
};

/// Nothing where the tree is no contraction.
std::optional<Contraction> match_contraction(const KernelRequest& request);

/// Who computes what. A block has warps_down x warps_across warps of lanes_down x lanes_across threads.
struct TileShape {
  int warps_down = 0, warps_across = 0;
  int thread_rows = 0, thread_columns = 0;
  int blocks_per_sm = 0;  ///< that registers have to suffice for
  double tera_flops = 0;  ///< of many blocks, as measured

  static constexpr int kLanesDown = 4, kLanesAcross = 8;
  int rows() const { return warps_down * kLanesDown * thread_rows; }
  int columns() const { return warps_across * kLanesAcross * thread_columns; }
  int threads() const { return 32 * warps_down * warps_across; }
};

/// What the kernel of a contraction looks like. Sides are numbered: 0 rows, 1 columns.
struct ContractionPlan {
  enum Side : int { rows, columns };
  static constexpr int stages = 2;  ///< sets of tiles: one is used, one filled
  static constexpr int padding =
      4;  ///< elements behind each line of a tile, so that lines begin at different banks

  struct Operand {
    Expression element;
    int side = rows;
    ArrayShape shape;
    bool along_depth = false;  ///< neighbours in memory are neighbours along the depth
    bool contiguous = false;   ///< these or neighbours along the side are neighbours in memory
    /// Of neighbouring threads that copy, so many go along what is contiguous.
    int copying_lanes = 32;
  };

  Contraction found;
  TileShape shape;
  int depth = 0;                          ///< of a tile
  int group = 0;                          ///< neighbouring rows or columns of a thread: 16 bytes
  ScalarType type = ScalarType::float32;  ///< of the sum
  std::vector<Operand> operands;
  int outer_side = rows;                  ///< bounds of the other side may depend on its iterator
  std::array<Bounds, 2> box;              ///< of each side, for the block's iteration of the grid loops
  std::array<Expression, 2> extent;       ///< of each side, for all
  std::int64_t blocks = 0;                ///< 0: not known
  bool other_tile = false;                ///< than a person asked for
  std::array<char, 2> axis = {'y', 'x'};  ///< of the grid, for each side

  const Node& loop(int side) const { return side == rows ? found.rows : found.columns; }
  const std::string& iterator(int side) const { return loop(side).iterator; }
  int tile(int side) const { return side == rows ? shape.rows() : shape.columns(); }
  int thread_part(int side) const { return side == rows ? shape.thread_rows : shape.thread_columns; }
  /// Whether the box is more than the loops run through.
  bool is_triangular() const;
  int tile_bytes(const Operand& operand) const;
  /// As the source names it: merged loops apart.
  std::string shown(Expression element) const;
};
/// end of `for (i = first; i < end; ++i)`
Expression end_of(const Node& loop);

/// The __global__ function.
std::string contraction_text(const KernelRequest& request, const ContractionPlan& plan,
                             const std::vector<std::string>& parameters,
                             const std::vector<std::string>& written);

}  // namespace warploom::tile
