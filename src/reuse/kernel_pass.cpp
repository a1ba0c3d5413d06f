#include "reuse/kernel_pass.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "reuse/analysis/coverage.hpp"
#include "reuse/analysis/flights.hpp"
#include "reuse/report/describe.hpp"
#include "reuse/report/dump.hpp"
#include "reuse/report/parts.hpp"
#include "reuse/rewrite/assumed.hpp"
#include "warploom/reuse/launchability.hpp"

namespace warploom::reuse {

using namespace ptx;

KernelPass::KernelPass(const Module& module, const Function& function, const Options& options,
                       const hw::Architecture& target, bool accelerated, InputRegisters& registers)
    : module_(module),
      function_(function),
      options_(options),
      target_(target),
      accelerated_(accelerated),
      residency_(function, options, target, accelerated),
      registers_(registers) {}

void KernelPass::run() {
  bind_to_recorded_ = what_if_ = false;
  run_once();
  if (options_.what_if && report.verdict == Verdict::unchanged && !options_.assume_parts) suggest();
  // A proof that needs a block size may take the recorded one, and then binds the kernel to it: only where
  // nothing is won without.
  if (report.verdict != Verdict::unchanged || !residency_.recorded_block() || !not_selected().empty()) return;
  KernelReport unbound = std::move(report);
  bind_to_recorded_ = true;
  run_once();
  if (report.verdict == Verdict::rewritten && promise_block_) return;
  report = std::move(unbound);
  edits = {};
  entries.clear();
}

void KernelPass::suggest() {
  KernelReport as_is = std::move(report);
  what_if_ = true;
  run_once();
  what_if_ = false;
  as_is.suggestions = std::move(report.suggestions);
  report = std::move(as_is);
  edits = {};
  assumption_tests = {};
  entries.clear();
}

void KernelPass::run_once() {
  report = {};
  edits = {};
  assumption_tests = {};
  entries.clear();
  if (prepared()) {
    // The parts of the dynamic array, else static arrays by parts, else whole ones.
    const bool may_divide = use_parts_ && !disabled("parts") && !kernel_->uniformity.separators.empty();
    const KernelReport as_prepared = report;
    SharedUse whole = kernel_->use;
    for (const std::optional<Divide> divide :
         {std::optional(Divide::dynamic_array), std::optional(Divide::by_launch),
          std::optional(Divide::static_arrays), std::optional<Divide>()}) {
      const bool moves_dynamic = divide == Divide::dynamic_array ||
                                 divide == Divide::by_launch;  // for launches that pass fewer bytes
      if (divide && (!may_divide || (moves_dynamic && (options_.dynamic_pool || !options_.launches_change))))
        continue;
      if (attempt(divide)) break;
      report = as_prepared;
      // Why an array was not divided is worth telling.
      for (std::size_t o = 0; o < whole.objects.size(); ++o)
        if (kernel_->use.objects.size() == whole.objects.size())
          whole.objects[o].obstacle = kernel_->use.objects[o].obstacle;
      kernel_->use = whole;
    }
  }
  planner_.reset();
  carving_.reset();
  ranges_.reset();
  kernel_.reset();  // of thousands of kernels, one at a time is held
  plan_ = {};
}

bool KernelPass::run_with_less() {
  if (rests_on_coverage_)
    use_coverage_ = rests_on_coverage_ = false;
  else if (rests_on_parts_)
    use_parts_ = rests_on_parts_ = false;
  else
    return false;
  run();
  return true;
}

void KernelPass::withdraw(Verdict verdict, std::string reason) {
  leave(verdict, std::move(reason));
  report.bytes_after = report.bytes_before;
  report.registers_after = report.registers_before;
  report.dynamic_pool = false;
  report.dynamic_after = report.dynamic_before;
  report.dynamic_formula = {};
  for (ObjectReport& o : report.objects) o.offset.reset(), o.place.clear();
  fill_occupancy();
}

bool KernelPass::still_wins(std::uint32_t registers) {
  report.registers_after = registers;
  fill_occupancy();
  if (options_.when == When::always || disabled("occupancy")) return true;
  const std::vector<std::uint32_t> now = residency_.blocks(need_after());
  if (wins(blocks_before_, now) && residency_.known())
    report.reason = gain_text(report.residency, target_.name);
  return wins(blocks_before_, now);
}

bool KernelPass::attempt(std::optional<Divide> divide) {
  dead_.clear();
  failures_.clear();
  divide_ = divide;
  rests_on_coverage_ = rests_on_parts_ = promise_block_ = false;
  if (by_launch())
    carving_ = Carving::of(*kernel_);
  else
    carving_.reset();
  if (by_launch() ? !carving_ : divide_ && !divide_into_parts(*kernel_, *ranges_, *divide_)) return false;
  find_flights(kernel_->cfg, kernel_->values, kernel_->use, false);
  const bool wanted = worth_rewriting();
  forget_flights(kernel_->use);
  if (divide_ && !moves_parts()) return false;
  if (!wanted && (of_dynamic_array() || by_launch()) && statics_may_share()) return false;
  if (wanted) {
    rests_on_parts_ = divide_.has_value();
    pad_pool();
    entries = rewrite(*kernel_, plan_, options_.dynamic_pool, promise_block_, edits,
                      carving_ ? &*carving_ : nullptr);
    if (carving_ && !carving_->assumed().empty()) assert_assumptions(*kernel_, *carving_, assumption_tests);
  }
  return true;
}

bool KernelPass::moves_parts() const {
  return kernel_ &&
         std::ranges::any_of(plan_.pooled, [&](std::uint32_t o) { return kernel_->use.objects[o].part; });
}

bool KernelPass::statics_may_share() const {
  return std::ranges::count_if(kernel_->use.objects, [](const Object& o) { return !o.dynamic; }) > 1;
}

bool KernelPass::prepared() {
  describe_kernel(module_, function_, report);
  const SharedDeclared declared = shared_declared(module_, function_);
  report.bytes_before = report.bytes_after = report.bytes_possible = declared.bytes;
  meets_dynamic_ = declared.dynamic;
  report.block = bind_to_recorded_ ? residency_.recorded_block() : residency_.block();
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
  if (const auto overrun = find_overrun(
          *kernel_, ranges_.emplace(kernel_->cfg, kernel_->values, ptx::RangeOptions{kernel_->block})))
    return leave(Verdict::refused, overrun->text, overrun->line);
  if (kernel_->uniformity.divergent_barrier)
    return leave(Verdict::refused, kernel_->uniformity.divergent_barrier->text,
                 kernel_->uniformity.divergent_barrier->line);
  return true;
}

bool KernelPass::worth_rewriting() {
  if (of_dynamic_array()) {
    for (const Object& o : kernel_->use.objects)
      if (o.part) report.dynamic_before = std::max(report.dynamic_before, o.begin + o.bytes);
    report.dynamic_after = report.dynamic_possible = report.dynamic_before;
    fill_occupancy();
  }
  dump("parts", options_.dump ? dump_parts(*kernel_) : "");
  std::size_t movable = 0;
  for (const Object& o : kernel_->use.objects) movable += !o.pinned;
  if (movable < 2 && !options_.dynamic_pool) {
    std::string reason = kernel_->object_count() < 2 ? "it has one shared-memory object"
                                                     : "fewer than two of its objects may share storage";
    for (const Object& o : kernel_->use.objects) {
      if (!o.obstacle) continue;
      reason += fmt::format("; '{}', PTX line {}: {}", module_.variables[o.variable].name, o.obstacle->line,
                            o.obstacle->text);
      break;
    }
    return leave(Verdict::unchanged, reason);
  }
  return decide();
}

bool KernelPass::leave(Verdict verdict, std::string reason, std::uint32_t line) {
  report.verdict = verdict;
  report.reason = std::move(reason);
  if (line != 0) report.reason_at = kernel_ ? source_of_line(*kernel_, line) : SourcePosition{"", 0, line};
  return verdict == Verdict::rewritten;
}

bool KernelPass::disabled(std::string_view pass) const {
  return std::find(options_.disabled.begin(), options_.disabled.end(), pass) != options_.disabled.end();
}

void KernelPass::dump(std::string_view pass, const std::string& text) const {
  if (options_.dump) options_.dump(report.name, pass, text);
}

std::string KernelPass::not_selected() const {
  const auto listed = [&](const std::vector<std::string>& list) {
    return std::any_of(list.begin(), list.end(),
                       [&](const std::string& n) { return n == report.symbol || n == report.name; });
  };
  if (!options_.only.empty() && !listed(options_.only)) return "not among the kernels asked for";
  if (listed(options_.except)) return "excluded by name";
  return "";
}

bool KernelPass::wins(const std::vector<std::uint32_t>& before,
                      const std::vector<std::uint32_t>& after) const {
  return residency_.known() ? more_resident(before, after) : launches(after) && !launches(before);
}

bool KernelPass::launches(const std::vector<std::uint32_t>& blocks) {
  return std::ranges::any_of(blocks, [](std::uint32_t b) { return b > 0; });
}

Residency::Need KernelPass::need_before() const {
  return {report.bytes_before, report.registers_before, false, report.dynamic_before, false};
}

Residency::Need KernelPass::need_after() const {
  return {report.bytes_after, report.registers_after, report.dynamic_pool, report.dynamic_after, true};
}

void KernelPass::fill_occupancy() {
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

void KernelPass::analyse() {
  kernel_ = std::make_unique<Kernel>();
  kernel_->module = &module_;
  kernel_->function = &function_;
  kernel_->block = report.block;
  kernel_->strict = options_.strict;
  kernel_->assume_parts = options_.assume_parts || what_if_;
  kernel_->cfg = build_cfg(module_, function_);
  dump("cfg", options_.dump ? dump_cfg(*kernel_) : "");
  kernel_->values = number_values(kernel_->cfg);
  dump("values", options_.dump ? dump_values(*kernel_) : "");
  kernel_->use = find_shared_use(kernel_->cfg, kernel_->values, options_.whole_program);
  find_flights(kernel_->cfg, kernel_->values, kernel_->use, true);
  dump("provenance", options_.dump ? dump_provenance(*kernel_) : "");
  kernel_->uniformity = find_uniformity(kernel_->cfg, kernel_->values, kernel_->use, !options_.strict);
  forget_flights(kernel_->use);  // of parts they are found anew
  dump("uniformity", options_.dump ? dump_uniformity(*kernel_) : "");
}

bool KernelPass::has_barrier(const Loop& loop) const {
  for (const std::uint32_t b : loop.blocks)
    for (std::uint32_t i = kernel_->cfg.blocks[b].first; i < kernel_->cfg.blocks[b].last; ++i)
      if (separates(*kernel_, i)) return true;
  return false;
}

bool KernelPass::decide() {
  for (const Marker& m : kernel_->use.dead) dead_.push_back({DeadPoint::stated, m.object, m.instruction});
  // Where a part lies only the launch knows, and these two reckon with numbers.
  if (!disabled("privacy") && !by_launch()) {
    const std::vector<DeadPoint> proved = find_iteration_private(*kernel_, failures_);
    dead_.insert(dead_.end(), proved.begin(), proved.end());
    // In a loop without a barrier nothing could share anyway: not the reason to tell.
    std::erase_if(failures_, [&](const NotPrivate& n) { return !has_barrier(kernel_->cfg.loops[n.loop]); });
  }
  dump("privacy", options_.dump ? dump_dead_points(*kernel_, dead_, failures_) : "");
  if (kernel_->block && use_coverage_ && !disabled("coverage") && !by_launch()) {
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
  planner.pool_everything = options_.dynamic_pool || of_dynamic_array() || by_launch();
  planner.carving = carving_ ? &*carving_ : nullptr;
  const bool may_insert = options_.insert_barriers && !disabled("barriers");
  plan_ = planner.smallest(may_insert);
  dump("place", options_.dump ? dump_plan(*kernel_, plan_) : "");
  describe_objects(*kernel_, liveness, report);
  describe_interference(*kernel_, planner.interference(), report);

  const std::uint64_t before = report.bytes_before;
  report.bytes_possible = std::min(before, bytes_of(plan_));
  if (of_dynamic_array()) report.dynamic_possible = std::min(report.dynamic_before, plan_.pool_bytes);
  if (by_launch()) report.dynamic_formula = describe_formula(*kernel_, *carving_, plan_.carved);
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
      return p.shares() &&
             (residency_.known() ? as_many_resident(blocks_best, blocks_with(p)) : launches(blocks_with(p)));
    });
  dump("barriers", options_.dump ? dump_plan(*kernel_, plan_) : "");
  dump("occupancy", options_.dump
                        ? fmt::format("{}: {} blocks before, {} at best; --when {}: {}\n", target_.name,
                                      fmt::join(blocks_before, ", "), fmt::join(blocks_best, ", "),
                                      name(when), won ? "rewrite" : "leave")
                        : "");
  describe_plan(*kernel_, plan_, planner.interference(), failures_, report);
  if (by_launch())
    for (std::size_t p = 0; p < carving_->parts().size(); ++p)
      report.objects[carving_->object(p)].place = carving_->place_of(p, plan_.carved);
  if (what_if_ && by_launch() && !carving_->assumed().empty())
    describe_suggestion(*kernel_, *carving_, report);
  if (!won && by_launch()) {
    for (ObjectReport& o : report.objects) o.offset.reset(), o.place.clear();
    const DynamicFormula formula = std::exchange(report.dynamic_formula, {});
    return leave(
        Verdict::unchanged,
        fmt::format("of its dynamic array {} would be enough in place of {} bytes; what that gains, the "
                    "launch decides: --when always takes it",
                    formula.text(), formula.before));
  }
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
  describe_assumptions(*kernel_, plan_, dead_, promise_block_, bind_to_recorded_, report);
  if (by_launch()) describe_assumed_parts(*kernel_, *carving_, report);
  report.bytes_after = bytes_of(plan_);
  if (of_dynamic_array()) report.dynamic_after = plan_.pool_bytes;
  report.dynamic_pool = options_.dynamic_pool;
  fill_occupancy();
  blocks_before_ = blocks_before;
  return leave(Verdict::rewritten, when == When::always
                                       ? fmt::format("{} bytes saved{}", grouped(saved_by(plan_)),
                                                     by_launch() ? " in the example of a launch below" : "")
                                   : !launches(blocks_before)
                                       ? fmt::format("it launches on {} now, which it did not", target_.name)
                                       : gain_text(report.residency, target_.name) +
                                             (report.registers_before == 0 ? ", if registers allow it" : ""));
}

std::string KernelPass::why_not(When when, bool launched) const {
  const std::string saving = fmt::format(
      "{} of {} bytes could be saved",
      grouped(report.bytes_before + report.dynamic_before - report.bytes_possible - report.dynamic_possible),
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

std::uint64_t KernelPass::padding_of(const Plan& p) const {
  if (!meets_dynamic_ || !p.shares() || of_dynamic_array() || by_launch()) return 0;
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

std::uint64_t KernelPass::bytes_of(const Plan& p) const {
  return of_dynamic_array() || by_launch() ? report.bytes_before : planner_->total_bytes(p, padding_of(p));
}

std::uint64_t KernelPass::saved_by(const Plan& p) const {
  const std::uint64_t before = of_dynamic_array() ? report.dynamic_before
                               : by_launch()
                                   ? static_cast<std::uint64_t>(carving_->at_example(carving_->end_before()))
                                   : report.bytes_before;
  const std::uint64_t after = of_dynamic_array() || by_launch() ? p.pool_bytes : bytes_of(p);
  return before - std::min(before, after);
}

void KernelPass::pad_pool() {
  plan_.pool_bytes += padding_of(plan_);
  plan_.total_bytes = planner_->total_bytes(plan_);
  report.pool_bytes = plan_.pool_bytes;
}

}  // namespace warploom::reuse
