// The passes of `warploom reuse`, in order. Each kernel goes through all of them by itself; the
// independent check comes last and looks at the whole module as text.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <memory>

#include "core/doors.hpp"
#include "reuse/analysis/coverage.hpp"
#include "reuse/analysis/parts.hpp"
#include "reuse/analysis/privacy.hpp"
#include "reuse/report/describe.hpp"
#include "reuse/report/dump.hpp"
#include "reuse/report/parts.hpp"
#include "reuse/residency.hpp"
#include "reuse/rewrite/plan.hpp"
#include "reuse/rewrite/rewrite.hpp"
#include "warploom/core/error.hpp"
#include "warploom/reuse/check.hpp"
#include "warploom/reuse/launchability.hpp"
#include "warploom/reuse/ptxas.hpp"
#include "warploom/reuse/reuse.hpp"

namespace warploom::reuse {

using namespace ptx;

std::string_view name(When when) {
  switch (when) {
    case When::occupancy:
      return "occupancy";
    case When::always:
      return "always";
    case When::fits:
      return "fits";
  }
  refuse_enumerator(when, "when to rewrite");
}

std::vector<std::string_view> passes() {
  return {"cfg",      "values",       "provenance", "uniformity", "parts",     "privacy", "coverage",
          "liveness", "interference", "place",      "barriers",   "occupancy", "check",   "ptxas"};
}

namespace {

/// ptxas on the module as it came: run once, when a kernel's registers are first asked for.
class InputRegisters {
 public:
  InputRegisters(const Module& module, const Options& options)
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
  const Module& module_;
  bool wanted_, asked_ = false;
  std::optional<PtxasRun> run_;
};

class KernelPass {
 public:
  KernelPass(const Module& module, const Function& function, const Options& options,
             const hw::Architecture& target, bool accelerated, InputRegisters& registers)
      : module_(module),
        function_(function),
        options_(options),
        target_(target),
        accelerated_(accelerated),
        residency_(function, options, target, accelerated),
        registers_(registers) {}

  KernelReport report;
  Edits edits;                     ///< if it is to be rewritten
  std::vector<PoolEntry> entries;  ///< where its objects went

  void run() {
    report = {};
    edits = {};
    entries.clear();
    if (prepared()) {
      // The parts of the dynamic array, else static arrays by parts, else whole ones.
      const bool may_divide = use_parts_ && !disabled("parts") && !kernel_->uniformity.separators.empty();
      const KernelReport as_prepared = report;
      const SharedUse whole = kernel_->use;
      for (const std::optional<Divide> divide :
           {std::optional(Divide::dynamic_array), std::optional(Divide::static_arrays),
            std::optional<Divide>()}) {
        if (divide && (!may_divide || (*divide == Divide::dynamic_array && options_.dynamic_pool))) continue;
        if (attempt(divide)) break;
        report = as_prepared;
        kernel_->use = whole;
      }
    }
    planner_.reset();
    kernel_.reset();  // of thousands of kernels, one at a time is held
    plan_ = {};
  }

  /// The proof by evaluation and the check's own differ in reach: what only one of them proves is not used.
  /// False if the plan rested neither on such a proof nor on parts of arrays.
  bool run_with_less() {
    if (rests_on_coverage_)
      use_coverage_ = rests_on_coverage_ = false;
    else if (rests_on_parts_)
      use_parts_ = rests_on_parts_ = false;
    else
      return false;
    run();
    return true;
  }
  bool may_run_again() const { return rests_on_coverage_ || rests_on_parts_; }

  /// The kernel stays as it was after all.
  void withdraw(Verdict verdict, std::string reason) {
    leave(verdict, std::move(reason));
    report.bytes_after = report.bytes_before;
    report.registers_after = report.registers_before;
    report.dynamic_pool = false;
    report.dynamic_after = report.dynamic_before;
    for (ObjectReport& o : report.objects) o.offset.reset();
    fill_occupancy();
  }

  /// ptxas' count for the result; false if with it no more blocks are resident than before.
  bool still_wins(std::uint32_t registers) {
    report.registers_after = registers;
    fill_occupancy();
    if (options_.when == When::always || disabled("occupancy")) return true;
    const std::vector<std::uint32_t> now = residency_.blocks(need_after());
    if (wins(blocks_before_, now) && residency_.known())
      report.reason = gain_text(report.residency, target_.name);
    return wins(blocks_before_, now);
  }

 private:
  /// One way to see the arrays; false if there is nothing to win in this way, and another is to be tried.
  bool attempt(std::optional<Divide> divide) {
    dead_.clear();
    failures_.clear();
    divide_ = divide;
    rests_on_coverage_ = rests_on_parts_ = promise_block_ = false;
    if (divide_ && !divide_into_parts(*kernel_, *divide_)) return false;
    const bool wanted = worth_rewriting();
    if (divide_ && !moves_parts()) return false;
    if (!wanted && of_dynamic_array() && statics_may_share()) return false;
    if (wanted) {
      rests_on_parts_ = divide_.has_value();
      pad_pool();
      entries = rewrite(*kernel_, plan_, options_.dynamic_pool, promise_block_, edits);
    }
    return true;
  }
  bool moves_parts() const {
    return kernel_ &&
           std::ranges::any_of(plan_.pooled, [&](std::uint32_t o) { return kernel_->use.objects[o].part; });
  }
  bool statics_may_share() const {
    return std::ranges::count_if(kernel_->use.objects, [](const Object& o) { return !o.dynamic; }) > 1;
  }
  bool of_dynamic_array() const { return divide_ == Divide::dynamic_array; }

  /// The passes that know no placement; false if the kernel stays as it is.
  bool prepared() {
    describe_kernel(module_, function_, report);
    const SharedDeclared declared = shared_declared(module_, function_);
    report.bytes_before = report.bytes_after = report.bytes_possible = declared.bytes;
    meets_dynamic_ = declared.dynamic;
    report.block = residency_.block();
    report.threads = residency_.threads();
    report.threads_from = residency_.from();
    fill_occupancy();
    if (const std::string why = not_selected(); !why.empty()) return leave(Verdict::unchanged, why);
    const bool names_shared =
        std::any_of(function_.operands.begin(), function_.operands.end(), [&](const Operand& o) {
          return o.kind == OperandKind::symbol && module_.variables[o.id].space == Space::shared;
        });
    if (!names_shared) return leave(Verdict::unchanged, "it has no shared-memory objects");
    analyse();
    if (kernel_->use.refusal)
      return leave(Verdict::refused, kernel_->use.refusal->text, kernel_->use.refusal->line);
    if (kernel_->uniformity.divergent_barrier)
      return leave(Verdict::refused, kernel_->uniformity.divergent_barrier->text,
                   kernel_->uniformity.divergent_barrier->line);
    return true;
  }

  /// Everything up to the decision; true if the kernel is to be rewritten.
  bool worth_rewriting() {
    if (of_dynamic_array()) {
      for (const Object& o : kernel_->use.objects)
        if (o.part) report.dynamic_before = std::max(report.dynamic_before, o.begin + o.bytes);
      report.dynamic_after = report.dynamic_possible = report.dynamic_before;
      fill_occupancy();
    }
    dump("parts", options_.dump ? dump_parts(*kernel_) : "");
    std::size_t movable = 0;
    for (const Object& o : kernel_->use.objects) movable += !o.pinned;
    if (movable < 2 && !options_.dynamic_pool)
      return leave(Verdict::unchanged, kernel_->object_count() < 2
                                           ? "it has one shared-memory object"
                                           : "fewer than two of its objects may share storage");
    return decide();
  }

  bool leave(Verdict verdict, std::string reason, std::uint32_t line = 0) {
    report.verdict = verdict;
    report.reason = std::move(reason);
    if (line != 0) report.reason_at = kernel_ ? source_of_line(*kernel_, line) : SourcePosition{"", 0, line};
    return verdict == Verdict::rewritten;
  }

  bool disabled(std::string_view pass) const {
    return std::find(options_.disabled.begin(), options_.disabled.end(), pass) != options_.disabled.end();
  }
  void dump(std::string_view pass, const std::string& text) const {
    if (options_.dump) options_.dump(report.name, pass, text);
  }

  std::string not_selected() const {
    const auto listed = [&](const std::vector<std::string>& list) {
      return std::any_of(list.begin(), list.end(),
                         [&](const std::string& n) { return n == report.symbol || n == report.name; });
    };
    if (!options_.only.empty() && !listed(options_.only)) return "not among the kernels asked for";
    if (listed(options_.except)) return "excluded by name";
    return "";
  }

  /// What --when occupancy asks: more blocks, or a launch at all; without a block size the latter alone.
  bool wins(const std::vector<std::uint32_t>& before, const std::vector<std::uint32_t>& after) const {
    return residency_.known() ? more_resident(before, after) : launches(after) && !launches(before);
  }
  static bool launches(const std::vector<std::uint32_t>& blocks) {
    return std::ranges::any_of(blocks, [](std::uint32_t b) { return b > 0; });
  }

  Residency::Need need_before() const {
    return {report.bytes_before, report.registers_before, false, report.dynamic_before, false};
  }
  Residency::Need need_after() const {
    return {report.bytes_after, report.registers_after, report.dynamic_pool, report.dynamic_after, true};
  }

  void fill_occupancy() {
    const auto both = [&](const hw::Architecture& a, const Residency::Need& after) {
      return residency_.report(residency_.on(a, need_before()), residency_.on(a, after));
    };
    Residency::Need possible = need_after();
    possible.bytes = report.bytes_possible;
    possible.dynamic = report.dynamic_possible;
    report.residency = both(target_, residency_.known() ? need_after() : possible);
    report.occupancy.clear();
    if (!residency_.known()) return;
    const auto gains = std::ranges::find_if(
        report.residency, [](const ResidencyReport& r) { return r.after.blocks > r.before.blocks; });
    const auto row = gains == report.residency.end() ? 0 : gains - report.residency.begin();
    report.threads = report.residency[static_cast<std::size_t>(row)].threads;
    for (const hw::Architecture& a : hw::architectures())
      if (accelerated_
              ? a.name == target_.name
              : a.compute_capability >= std::min(target_.compute_capability, static_cast<int>(module_.sm))) {
        ResidencyReport of = std::move(both(a, need_after())[static_cast<std::size_t>(row)]);
        report.occupancy.push_back({std::string(a.name), std::move(of.before), std::move(of.after)});
      }
    std::stable_partition(report.occupancy.begin(), report.occupancy.end(),
                          [&](const OccupancyReport& o) { return o.architecture == target_.name; });
  }

  void analyse() {
    kernel_ = std::make_unique<Kernel>();
    kernel_->module = &module_;
    kernel_->function = &function_;
    kernel_->block = report.block;
    kernel_->strict = options_.strict;
    kernel_->cfg = build_cfg(module_, function_);
    dump("cfg", options_.dump ? dump_cfg(*kernel_) : "");
    kernel_->values = number_values(kernel_->cfg);
    dump("values", options_.dump ? dump_values(*kernel_) : "");
    kernel_->use = find_shared_use(kernel_->cfg, kernel_->values);
    dump("provenance", options_.dump ? dump_provenance(*kernel_) : "");
    kernel_->uniformity = find_uniformity(kernel_->cfg, kernel_->values, kernel_->use, !options_.strict);
    dump("uniformity", options_.dump ? dump_uniformity(*kernel_) : "");
  }

  bool has_barrier(const Loop& loop) const {
    for (const std::uint32_t b : loop.blocks)
      for (std::uint32_t i = kernel_->cfg.blocks[b].first; i < kernel_->cfg.blocks[b].last; ++i)
        if (separates(*kernel_, i)) return true;
    return false;
  }

  bool decide() {
    for (const Marker& m : kernel_->use.dead) dead_.push_back({DeadPoint::stated, m.object, m.instruction});
    if (!disabled("privacy")) {
      const std::vector<DeadPoint> proved = find_iteration_private(*kernel_, failures_);
      dead_.insert(dead_.end(), proved.begin(), proved.end());
      // In a loop without a barrier nothing could share anyway: not the reason to tell.
      std::erase_if(failures_, [&](const NotPrivate& n) { return !has_barrier(kernel_->cfg.loops[n.loop]); });
    }
    dump("privacy", options_.dump ? dump_dead_points(*kernel_, dead_, failures_) : "");
    if (kernel_->block && use_coverage_ && !disabled("coverage")) {
      std::vector<NotCovered> not_covered;
      const std::vector<DeadPoint> proved = find_covered(*kernel_, dead_, not_covered);
      dead_.insert(dead_.end(), proved.begin(), proved.end());
      // The more telling of the two reasons why an object lives through a loop.
      for (const NotCovered& n : not_covered)
        for (NotPrivate& f : failures_)
          if (f.object == n.object &&
              kernel_->cfg.blocks[kernel_->cfg.loops[f.loop].header].first == n.instruction)
            f.reason = n.reason;
    }
    dump("coverage", options_.dump ? dump_dead_points(*kernel_, dead_, failures_) : "");
    const Liveness liveness = find_liveness(*kernel_, dead_);
    dump("liveness", options_.dump ? dump_liveness(*kernel_, liveness) : "");
    const Interference graph = find_interference(*kernel_, liveness);
    dump("interference", options_.dump ? dump_interference(*kernel_, graph) : "");
    Planner& planner = planner_.emplace(*kernel_, graph, options_.placement);
    planner.pool_everything = options_.dynamic_pool || of_dynamic_array();
    const bool may_insert = options_.insert_barriers && !disabled("barriers");
    plan_ = planner.smallest(may_insert);
    dump("place", options_.dump ? dump_plan(*kernel_, plan_) : "");
    describe_objects(*kernel_, liveness, report);
    describe_interference(*kernel_, planner.interference(), report);

    const std::uint64_t before = report.bytes_before;
    report.bytes_possible = std::min(before, bytes_of(plan_));
    if (of_dynamic_array()) report.dynamic_possible = std::min(report.dynamic_before, plan_.pool_bytes);
    if ((!plan_.shares() || saved_by(plan_) == 0) && !options_.dynamic_pool) {
      plan_ = {};
      plan_.overlap.resize(kernel_->object_count());
      describe_plan(*kernel_, plan_, planner.interference(), failures_, report);
      return leave(Verdict::unchanged, "no two of its objects can share storage to save bytes");
    }
    const When when = disabled("occupancy") ? When::always : options_.when;
    const std::uint32_t registers = registers_.of(function_.name);
    report.registers_before = report.registers_after = registers;
    const auto blocks_with = [&](const Plan& p) {
      return residency_.blocks(
          {bytes_of(p), registers, options_.dynamic_pool, of_dynamic_array() ? p.pool_bytes : 0, true});
    };
    const std::vector<std::uint32_t> blocks_before = residency_.blocks(need_before()),
                                     blocks_best = blocks_with(plan_);
    const bool won =
        when == When::always || (when == When::fits ? launches(blocks_best) && !launches(blocks_before)
                                                    : wins(blocks_before, blocks_best));
    if (won && when != When::always && may_insert && !plan_.insertions.empty())
      plan_ = planner.fewest_barriers(plan_, [&](const Plan& p) {
        return p.shares() && (residency_.known() ? as_many_resident(blocks_best, blocks_with(p))
                                                 : launches(blocks_with(p)));
      });
    dump("barriers", options_.dump ? dump_plan(*kernel_, plan_) : "");
    dump("occupancy", options_.dump
                          ? fmt::format("{}: {} blocks before, {} at best; --when {}: {}\n", target_.name,
                                        fmt::join(blocks_before, ", "), fmt::join(blocks_best, ", "),
                                        name(when), won ? "rewrite" : "leave")
                          : "");
    describe_plan(*kernel_, plan_, planner.interference(), failures_, report);
    if (!won) {
      for (ObjectReport& o : report.objects) o.offset.reset();
      fill_occupancy();
      return leave(Verdict::unchanged, why_not(when, launches(blocks_before)));
    }
    rests_on_coverage_ = std::any_of(dead_.begin(), dead_.end(), [&](const DeadPoint& d) {
      return d.proof == DeadPoint::covered && plan_.overlap[d.object].any();
    });
    // A proof by evaluation holds for the block size that --block promises: the output then says so.
    // So do ranges of addresses that it bounds.
    promise_block_ = (rests_on_coverage_ || moves_parts()) && !function_.required_threads && report.block;
    describe_assumptions(*kernel_, plan_, dead_, promise_block_, report);
    report.bytes_after = bytes_of(plan_);
    if (of_dynamic_array()) report.dynamic_after = plan_.pool_bytes;
    report.dynamic_pool = options_.dynamic_pool;
    fill_occupancy();
    blocks_before_ = blocks_before;
    return leave(Verdict::rewritten,
                 when == When::always ? fmt::format("{} bytes saved", grouped(saved_by(plan_)))
                 : !launches(blocks_before)
                     ? fmt::format("it launches on {} now, which it did not", target_.name)
                     : gain_text(report.residency, target_.name) +
                           (report.registers_before == 0 ? ", if registers allow it" : ""));
  }

  std::string why_not(When when, bool launched) const {
    const std::string saving = fmt::format("{} of {} bytes could be saved",
                                           grouped(report.bytes_before + report.dynamic_before -
                                                   report.bytes_possible - report.dynamic_possible),
                                           grouped(report.bytes_before + report.dynamic_before));
    if (when == When::fits)
      return saving +
             (launched ? ", but it launches as it is (--when fits)" : ", but it would not launch even so");
    std::vector<ResidencyReport> rows = report.residency;
    if (residency_.known()) {
      for (ResidencyReport& r : rows) r.after = r.before;
      return fmt::format("{}, but {} either way", saving, gain_text(rows, target_.name));
    }
    std::erase_if(rows, [](const ResidencyReport& r) { return r.after.blocks == r.before.blocks; });
    return fmt::format(
        "{}, but its block size is not known, so neither is what that gains{}: give --block or --launches",
        saving,
        rows.empty() ? fmt::format(" (nothing on {} with 64 to 1,024 threads)", target_.name)
                     : fmt::format(" ({})", gain_text(rows, target_.name)));
  }

  /// What the pool grows by so that the base of dynamic shared memory, which follows the static objects,
  /// keeps its alignment: 16 bytes, or more if the kernel had more by luck and may rely on it (up to 1024).
  std::uint64_t padding_of(const Plan& p) const {
    if (!meets_dynamic_ || !p.shares() || of_dynamic_array()) return 0;
    const auto base = [](std::uint64_t bytes) { return (bytes + 15) / 16 * 16; };
    const std::uint64_t before = base(report.bytes_before);
    const std::uint64_t unit = std::min<std::uint64_t>(1024, before & (~before + 1));
    // Behind the pool an array of greater alignment may stand, and then no padding leads there: nothing is
    // saved.
    for (std::uint64_t padding = base(p.pool_bytes) - p.pool_bytes; padding < report.bytes_before;
         padding += 16)
      if (base(planner_->total_bytes(p, padding)) % unit == 0) return padding;
    return report.bytes_before;
  }
  /// Static ones.
  std::uint64_t bytes_of(const Plan& p) const {
    return of_dynamic_array() ? report.bytes_before : planner_->total_bytes(p, padding_of(p));
  }
  std::uint64_t saved_by(const Plan& p) const {
    const std::uint64_t before = of_dynamic_array() ? report.dynamic_before : report.bytes_before;
    const std::uint64_t after = of_dynamic_array() ? p.pool_bytes : bytes_of(p);
    return before - std::min(before, after);
  }

  void pad_pool() {
    plan_.pool_bytes += padding_of(plan_);
    plan_.total_bytes = planner_->total_bytes(plan_);
    report.pool_bytes = plan_.pool_bytes;
  }

  const Module& module_;
  const Function& function_;
  const Options& options_;
  const hw::Architecture& target_;
  std::unique_ptr<Kernel> kernel_;  ///< its passes keep pointers into it
  std::optional<Planner> planner_;
  Plan plan_;
  bool promise_block_ = false;
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

void validate(const Options& options) {
  for (const std::string& pass : options.disabled) {
    const std::vector<std::string_view> can{"parts",     "privacy", "coverage", "barriers",
                                            "occupancy", "check",   "ptxas"};
    if (std::find(can.begin(), can.end(), pass) == can.end())
      throw BadInput(fmt::format("pass '{}' cannot be disabled; these can: {}", pass, fmt::join(can, ", ")));
  }
  const auto validate_block = [](const BlockShape& b, const std::string& of) {
    if (b[0] == 0 || b[1] == 0 || b[2] == 0 || std::uint64_t{b[0]} * b[1] * b[2] > 1024)
      throw BadInput(
          fmt::format("{}block size {},{},{}: expected 1 to 1024 threads in all", of, b[0], b[1], b[2]));
  };
  if (options.block) validate_block(*options.block, "");
  for (const Launch& l : options.launches) validate_block(l.block, fmt::format("launch of {}: ", l.kernel));
}

using KernelPasses = std::vector<std::unique_ptr<KernelPass>>;

/// The text with the edits of all kernels that are still to be rewritten.
std::string edited(const Module& module, const KernelPasses& kernels, std::vector<PoolEntry>& entries) {
  Edits all;
  for (const auto& k : kernels) {
    if (k->report.verdict != Verdict::rewritten) continue;
    all.append(k->edits);
    entries.insert(entries.end(), k->entries.begin(), k->entries.end());
  }
  return all.empty() ? module.text : all.apply(module.text);
}

/// Runs the independent check; kernels it objects to are kept as they were.
std::string checked(const Module& module, KernelPasses& kernels, const Options& options) {
  CheckOptions check_options;
  check_options.strict = options.strict;
  if (options.block) check_options.block.assign(options.block->begin(), options.block->end());
  for (;;) {
    std::vector<PoolEntry> entries;
    std::string text = edited(module, kernels, entries);
    if (entries.empty() ||
        std::find(options.disabled.begin(), options.disabled.end(), "check") != options.disabled.end())
      return text;
    const CheckResult result = check(module.text, text, entries, check_options);
    bool blamed = false;
    for (const auto& k : kernels) {
      if (k->report.verdict != Verdict::rewritten) continue;
      const auto of_kernel = [&](const std::string& line) {
        return line.starts_with(k->report.symbol + ":");
      };
      k->report.certificate.clear();
      std::copy_if(result.certificate.begin(), result.certificate.end(),
                   std::back_inserter(k->report.certificate), of_kernel);
      const auto problem = std::find_if(result.problems.begin(), result.problems.end(), of_kernel);
      if (problem == result.problems.end()) continue;
      blamed = true;
      if (k->run_with_less()) continue;
      k->withdraw(Verdict::failed,
                  "the independent check found:" + problem->substr(k->report.symbol.size() + 1));
    }
    if (result.ok) return text;
    if (blamed) continue;
    for (const auto& k : kernels)  // nobody in particular: nobody is rewritten
      if (k->report.verdict == Verdict::rewritten)
        k->withdraw(Verdict::failed, "the independent check found: " +
                                         (result.problems.empty() ? "a problem" : result.problems[0]));
  }
}

/// With ptxas at hand: its word that it takes the result, and whether the registers leave the gain.
/// False if a kernel was withdrawn, so that the text must be made again.
bool assembles(const std::string& text, KernelPasses& kernels, InputRegisters& input) {
  const auto rewritten = [](const auto& k) { return k->report.verdict == Verdict::rewritten; };
  if (!input.wanted() || std::none_of(kernels.begin(), kernels.end(), rewritten)) return true;
  const std::optional<PtxasRun> result = run_ptxas(text, input.target());
  if (!result) return true;
  bool all_stand = true;
  for (const auto& k : kernels) {
    if (!rewritten(k)) continue;
    if (!result->ok()) {
      // ptxas names no kernel. If it did not take the input either, there is nothing to learn.
      if (!input.input_assembles()) continue;
      k->withdraw(Verdict::failed, "ptxas does not take the result: " + result->error);
      all_stand = false;
    } else if (const auto use = result->kernels.find(k->report.symbol); use != result->kernels.end()) {
      const std::uint32_t before = k->report.registers_before;
      if (k->still_wins(use->second.registers)) continue;
      k->withdraw(Verdict::unchanged,
                  fmt::format("pooled, it takes {} registers instead of {}, and no more blocks are resident",
                              use->second.registers, before));
      all_stand = false;
    }
  }
  return all_stand;
}

}  // namespace

Result optimize(std::string ptx, const Options& options, std::string file) {
  validate(options);
  Module module = parse(std::move(ptx), std::move(file));
  Result result;
  result.report.file = module.file;
  InputRegisters registers(module, options);
  const std::string_view target = registers.target();
  // PTX of before sm_70 is compiled for later chips by the driver; sm_70 is the oldest we have figures for.
  const hw::Architecture& architecture = hw::architecture(!options.architecture.empty() ? options.architecture
                                                          : module.sm < 70              ? "sm_70"
                                                                                        : target);
  result.report.architecture = architecture.name;
  if (module.debug) {
    result.report.note =
        "compiled for debugging (-G): every variable is to stay where the debugger looks for it";
    result.text = module.text;
    return result;
  }
  KernelPasses kernels;
  for (const Function& f : module.functions) {
    if (!f.entry || !f.has_body) continue;
    kernels.push_back(
        std::make_unique<KernelPass>(module, f, options, architecture, target.ends_with('a'), registers));
    kernels.back()->run();
  }
  // The check reads both texts anew: what was read goes first, unless a kernel may have to run again.
  if (std::none_of(kernels.begin(), kernels.end(), [](const auto& k) { return k->may_run_again(); })) {
    module.functions = {};
    module.variables = {};
    module.opcodes = {};
    module.locations = {};
  }
  do result.text = checked(module, kernels, options);
  while (!assembles(result.text, kernels, registers));
  for (const auto& k : kernels) result.report.kernels.push_back(std::move(k->report));
  return result;
}

}  // namespace warploom::reuse
