// The passes of `warploom reuse`, in order. Each kernel goes through all of them by itself; the
// independent check comes last and looks at the whole module as text.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <memory>

#include "core/doors.hpp"
#include "reuse/kernel_pass.hpp"
#include "reuse/rewrite/assumed.hpp"
#include "warploom/core/error.hpp"
#include "warploom/reuse/check.hpp"

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
  check_options.whole_program = options.whole_program;
  check_options.assume_parts = options.assume_parts;
  if (options.block) check_options.block.assign(options.block->begin(), options.block->end());
  for (;;) {
    std::vector<PoolEntry> entries;
    std::string text = edited(module, kernels, entries);
    if (entries.empty() ||
        std::find(options.disabled.begin(), options.disabled.end(), "check") != options.disabled.end())
      return text;
    const CheckResult result = check(module, text, entries, check_options);
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
  const Module module = parse(std::move(ptx), std::move(file));
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
  Edits tests;
  do result.text = checked(module, kernels, options);
  while (!assembles(result.text, kernels, registers));
  for (const auto& k : kernels)
    if (k->report.verdict == Verdict::rewritten) tests.append(k->assumption_tests);
  if (!tests.empty()) result.assumption_test = with_assertions(module.text, tests);
  for (const auto& k : kernels) result.report.kernels.push_back(std::move(k->report));
  return result;
}

}  // namespace warploom::reuse
