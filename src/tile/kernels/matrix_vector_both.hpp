#pragma once

#include <array>

#include "tile/kernels/matrix_vector.hpp"

/// Sums along rows and along columns of one matrix, which is read once: a block goes through whole rows, so
/// it has a row's sum while the row is still in its registers, where the sums of all columns grow, too.
namespace warploom::tile {

/// Two trees that one kernel runs, both with the rows' names for the loops.
struct OnePass {
  SumRequest rows;
  std::vector<Expression> row_conditions;  ///< as runs() gives them
  SumsInParts columns;                     ///< one sum; each block's is a part
  Expression stream;                       ///< the matrix's element, which both read
  /// What the columns' sums read of that which their row's statements have written.
  std::vector<Expression> row_results;
};

/// Elements of 4 bytes (of 8: half as many) that a thread has of a row, and rows at once. Its registers hold
/// them twice, with the sums of its columns.
struct OnePassShape {
  int columns, rows;
};
/// One block a multiprocessor, of 64 registers a thread. H200, fp32, n x n, us for A x and A^T (A x): 247 at
/// n = 16384, 70 at 8000, 24 at 4000; two passes 479, 129, 41; if the next rows are not on their way while
/// these are summed 541, 98, 28. What counts is that no register is spilled, which another shape in the same
/// kernel may bring about: with one of 12 columns it is 108 for 131 at 10000, but 292 at 16384.
constexpr int kOnePassThreads = 1024;
constexpr std::array<OnePassShape, 3> kOnePassShapes = {{{4, 4}, {8, 1}, {16, 1}}};
/// The longest rows, for elements and sums of so many bytes.
int most_columns(int element_bytes);

/// Whether a value names an iterator elsewhere than in the stream.
bool names_outside(const Expression& value, const Expression& stream, const std::string& iterator);

Kernel one_pass_kernel(const OnePass& pass);

}  // namespace warploom::tile
