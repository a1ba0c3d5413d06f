#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "reuse/analysis/kernel.hpp"
#include "reuse/analysis/liveness.hpp"
#include "reuse/analysis/parts.hpp"
#include "reuse/analysis/privacy.hpp"
#include "reuse/residency.hpp"
#include "reuse/rewrite/plan.hpp"
#include "reuse/rewrite/rewrite.hpp"
#include "warploom/reuse/ptxas.hpp"
#include "warploom/reuse/reuse.hpp"

namespace warploom::reuse {

/// ptxas on the module as it came: run once, when a kernel's registers are first asked for.
class InputRegisters {
 public:
  InputRegisters(const ptx::Module& module, const Options& options)
      : module_(module),
        wanted_(options.assemble && std::find(options.disabled.begin(), options.disabled.end(), "ptxas") ==
                                        options.disabled.end()) {}
  /// 0: not known.
  std::uint32_t of(std::string_view kernel) {
    if (!wanted_) return 0;
    if (!asked_) run_ = run_ptxas(module_.text, target());
    asked_ = true;
    if (!run_ || !run_->ok()) return 0;
    const auto use = run_->kernels.find(kernel);
    return use == run_->kernels.end() ? 0 : use->second.registers;
  }
  bool wanted() const { return wanted_; }
  /// False if ptxas refuses the input itself, for instance for its shared memory.
  bool input_assembles() const { return run_ && run_->ok(); }
  std::string_view target() const { return module_.target.substr(0, module_.target.find_first_of(", \t")); }

 private:
  const ptx::Module& module_;
  bool wanted_, asked_ = false;
  std::optional<PtxasRun> run_;
};

/// One kernel on its way through the passes, up to the check.
class KernelPass {
 public:
  KernelPass(const ptx::Module& module, const ptx::Function& function, const Options& options,
             const hw::Architecture& target, bool accelerated, InputRegisters& registers);

  KernelReport report;
  ptx::Edits edits;                ///< if it is to be rewritten
  ptx::Edits assumption_tests;     ///< assertions for the input: what was assumed of parts
  std::vector<PoolEntry> entries;  ///< where its objects went

  void run();

  /// The proof by evaluation and the check's own differ in reach: what only one of them proves is not used.
  /// False if the plan rested neither on such a proof nor on parts of arrays.
  bool run_with_less();

  /// The kernel stays as it was after all.
  void withdraw(Verdict verdict, std::string reason);

  /// ptxas' count for the result; false if with it no more blocks are resident than before.
  bool still_wins(std::uint32_t registers);

 private:
  /// Fills KernelReport::suggestions.
  void suggest();
  /// All ways to see the arrays, until one of them wins.
  void run_once();
  /// One way to see the arrays; false if there is nothing to win in this way, and another is to be tried.
  bool attempt(std::optional<Divide> divide);
  bool moves_parts() const;
  bool statics_may_share() const;
  bool of_dynamic_array() const { return divide_ == Divide::dynamic_array; }
  bool by_launch() const { return divide_ == Divide::by_launch; }

  /// The passes that know no placement; false if the kernel stays as it is.
  bool prepared();

  /// Everything up to the decision; true if the kernel is to be rewritten.
  bool worth_rewriting();

  bool leave(Verdict verdict, std::string reason, std::uint32_t line = 0);

  bool disabled(std::string_view pass) const;
  void dump(std::string_view pass, const std::string& text) const;

  std::string not_selected() const;

  /// What --when occupancy asks: more blocks, or a launch at all; without a block size the latter alone.
  bool wins(const std::vector<std::uint32_t>& before, const std::vector<std::uint32_t>& after) const;
  static bool launches(const std::vector<std::uint32_t>& blocks);

  Residency::Need need_before() const;
  Residency::Need need_after() const;

  void fill_occupancy();

  void analyse();

  bool has_barrier(const ptx::Loop& loop) const;

  bool decide();

  std::string why_not(When when, bool launched) const;

  /// What the pool grows by so that the base of dynamic shared memory, which follows the static objects,
  /// keeps its alignment: 16 bytes, or more if the kernel had more by luck and may rely on it (up to 1024).
  std::uint64_t padding_of(const Plan& p) const;
  /// Static ones.
  std::uint64_t bytes_of(const Plan& p) const;
  std::uint64_t saved_by(const Plan& p) const;

  void pad_pool();

  const ptx::Module& module_;
  const ptx::Function& function_;
  const Options& options_;
  const hw::Architecture& target_;
  std::unique_ptr<Kernel> kernel_;  ///< its passes keep pointers into it
  std::optional<ptx::AddressRanges> ranges_;
  std::optional<Carving> carving_;
  std::optional<Planner> planner_;
  Plan plan_;
  bool promise_block_ = false;
  bool what_if_ = false;           ///< parts are taken for granted, and nothing is rewritten
  bool bind_to_recorded_ = false;  ///< proofs may use the block size of the recorded launches
  std::optional<Divide> divide_;
  bool use_coverage_ = true, rests_on_coverage_ = false;
  bool use_parts_ = true, rests_on_parts_ = false;
  bool meets_dynamic_ = false;  ///< it, or a function it calls, uses dynamic shared memory
  bool accelerated_;            ///< an sm_90a-like target, whose static arrays may exceed 48 KB
  Residency residency_;
  InputRegisters& registers_;
  std::vector<std::uint32_t> blocks_before_;
  std::vector<DeadPoint> dead_;
  std::vector<NotPrivate> failures_;
};

}  // namespace warploom::reuse
