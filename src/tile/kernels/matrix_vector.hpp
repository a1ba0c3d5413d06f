#pragma once

#include "tile/kernels/thread_loops.hpp"

namespace warploom::tile {

inline Expression number(std::int64_t value) { return Expression::integer(value); }

/// target += value, over loops that do not change the target.
struct Sum {
  Expression target, value;
  ScalarType type = ScalarType::float32;
  int statement = -1;
};

/// A perfect nest of loops around sums that do not see each other.
struct SumLoop {
  std::vector<Node> loops;  ///< outermost first, without children
  std::vector<Sum> sums;
};

/// One loop of a row's (or column's) work, with the statements before it and after it.
struct SumPart {
  std::vector<Node> before, after;
  SumLoop loop;
};

/// The parts of what a chain of parallel loops holds, if it is nothing but assignments and sums, and if their
/// loops may be spread over threads: what a part's loop reads nobody writes in that part.
std::optional<std::vector<SumPart>> sum_parts(const CudaNames& names, const std::vector<Node>& body,
                                              const PrivateCopies& copies);

/// What both kinds of kernels are given.
struct SumRequest {
  const KernelRequest& request;
  const CudaNames& names;
  const ParallelChain& chain;
  const PrivateCopies& copies;
  const SumPart& part;
  std::string kernel;  ///< its name
};

/// A block for each iteration of the chain; its threads along loop `lane` of the part's loops.
std::optional<KernelGroup> row_sums(const SumRequest& sum, std::size_t lane);
/// Threads along the chain's only loop; the rows, iterations of the outermost loop, split over blocks; a
/// second kernel adds their sums in a fixed order.
std::optional<KernelGroup> column_sums(const SumRequest& sum);

/// The sums of a chain's only loop, in parts that blocks have left in memory.
struct SumsInParts {
  SumRequest sum;
  std::vector<Temporary> memory;       ///< parts x sums, one for each of the part's sums
  Expression count;                    ///< of parts, at most those there is memory for
  std::vector<Expression> conditions;  ///< as runs() gives them
};
std::vector<Temporary> memory_of_parts(const SumRequest& sum, const Expression& count,
                                       const Expression& sums);
/// The chain's sum in the part with this number.
Expression element_of_part(const SumRequest& sum, const Temporary& memory, const std::string& part);
/// Adds the parts in their order, with what stands before and after the sums.
Kernel add_parts(const SumsInParts& parts);
/// Where a kernel keeps its sums: a register of each thread, and an array in shared memory where those of the
/// block meet.
struct SumNames {
  std::vector<std::string> sums, shared;
};
/// "C_sum" and "C_rows", with `shared` for "_rows".
SumNames name_sums(const SumLoop& loop, const std::string& shared, FreshNames& fresh);
/// Adds the registers of a block's rows of threads to those of the first row; opens its branch.
void meet_in_shared(TextWriter& writer, const SumNames& names, int rows, const std::string& condition);

/// Which rows of [least, end) a block has by its number along a dimension ('x', 'y'): writes the lines.
struct RowRange {
  std::string first, end;  ///< names
};
RowRange write_row_range(TextWriter& writer, const CudaNames& names, char dimension, const Expression& least,
                         const Expression& end, FreshNames& fresh);

/// Contiguous accesses for a loop, scattered ones against it.
int suits(const CudaNames& names, const SumLoop& loop, const std::string& iterator);

/// What must hold for the sum's loop to run at all, where its target is touched by nothing else; nullopt
/// where that cannot be said. Empty: it runs, or does not matter.
std::optional<std::vector<Expression>> runs(const ParallelChain& chain, const SumPart& part);

/// "#pragma unroll" factor: eight loads under way for each thread.
int unroll(const SumLoop& loop);

/// target += value
Node add_to(const Sum& sum, Expression value);
/// The loops around a tree, outermost first.
Node under(const std::vector<Node>& loops, Node tree);
/// The part with other nodes in place of its loop.
std::vector<Node> with_loop(const SumPart& part, const std::vector<Node>& loop);
/// What is before the loop, the sums' totals added to their targets if the conditions hold, and what is after
/// it.
std::vector<Node> with_totals(const SumPart& part, const std::vector<std::string>& totals,
                              const std::vector<Expression>& conditions);

}  // namespace warploom::tile
