#pragma once

#include "thread_loops.hpp"

namespace warploom::loops {

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

/// What must hold for the sum's loop to run at all, where its target is touched by nothing else; nullopt
/// where that cannot be said. Empty: it runs, or does not matter.
std::optional<std::vector<Expression>> runs(const ParallelChain& chain, const SumPart& part);

/// "#pragma unroll" factor: eight loads under way for each thread.
int unroll(const SumLoop& loop);

/// target += name
Node add_to(const Sum& sum, const std::string& name);
/// What is before the loop, the sums' totals added to their targets if the conditions hold, and what is after
/// it.
std::vector<Node> with_totals(const std::vector<Node>& before, const SumPart& part,
                              const std::vector<std::string>& totals,
                              const std::vector<Expression>& conditions);

}  // namespace warploom::loops
