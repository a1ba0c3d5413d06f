#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "oracle/random_kernel.hpp"
#include "warploom/reuse/reuse.hpp"

/// Says whether the optimiser is right about a kernel, by running it before and after.
namespace warploom::fuzz {

/// One way to optimise.
struct Way {
  reuse::Options options;
  std::string text() const;  ///< "greedy, existing barriers, block 8x1"
};

/// The ways that a seed stands for: one a placement method; whether barriers may be inserted, the block size
/// is known, the pool is dynamic, and nothing is assumed, as the seed has it.
std::vector<Way> ways(std::uint64_t seed, const oracle::RandomKernel& kernel);

enum class Verdict {
  right,             ///< no run tells the original and the results apart
  outside_contract,  ///< the original races, reads what nobody wrote, or differs from run to run
  wrong,
};

struct Judgement {
  Verdict verdict = Verdict::right;
  /// Of a wrong one the kind of failure ("another result", "race", "the check refuses: ...", ...), of one
  /// outside the contract what the original does.
  std::string kind;
  std::string detail;
  std::optional<std::size_t> way;  ///< of a wrong one: which
  std::string rewritten;           ///< of a wrong one: the optimiser's result
  bool any_rewritten = false;      ///< by some way
  bool barrier_inserted = false;
  std::uint64_t runs = 0;
};

using Optimizer = std::function<reuse::Result(const std::string& ptx, const reuse::Options&)>;
reuse::Result optimize_with_reuse(const std::string& ptx, const reuse::Options& options);

/// Runs the kernel under three schedules, optimises it in each of the ways, runs what comes out under the
/// same three schedules, and has the independent check look at it. Equal results of two ways are run once:
/// the runs are deterministic. A few milliseconds.
Judgement judge(const oracle::RandomKernel& kernel, const std::vector<Way>& ways,
                const Optimizer& optimizer = optimize_with_reuse);

/// Reduces a kernel that is judged wrong to a small one that is wrong in the same kind, by the same way.
oracle::RandomKernel minimize(oracle::RandomKernel kernel, const Way& way, const std::string& kind,
                              const std::function<Judgement(const oracle::RandomKernel&, const Way&)>& judge);

/// The kernel's PTX with everything needed to run it, and the failure, as comments.
std::string case_text(std::uint64_t seed, const oracle::RandomKernel& kernel, const Way& way,
                      const Judgement& judgement);

}  // namespace warploom::fuzz
