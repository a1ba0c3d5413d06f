#include "fuzz/optimizer_fuzz_oracle.hpp"

#include <fmt/format.h>

#include "fuzz/optimizer_fuzz_run.hpp"
#include "oracle/ptx_interpreter.hpp"
#include "warploom/core/error.hpp"
#include "warploom/ptx/module.hpp"

namespace warploom::fuzz {

std::string disagreement(const oracle::RandomKernel& kernel) {
  // What the interpreter does not know: copies and barriers that do not wait.
  using oracle::Feature;
  for (const Feature f :
       {Feature::async_copy, Feature::async_pipeline, Feature::mbarrier, Feature::matrix_load})
    if (kernel.has(f)) return "";
  oracle::RandomKernel one = kernel;
  one.features &= ~(std::uint64_t{1} << static_cast<unsigned>(Feature::two_kernels));
  const ptx::Module module = ptx::parse(kernel.text, "k.ptx");
  oracle::Run run{.block = kernel.block,
                  .blocks = kernel.blocks,
                  .dynamic_shared = kernel.dynamic_shared,
                  .order = oracle::Order::ascending,
                  .seed = 1,
                  .n = kernel.n,
                  .data = input_data(),
                  .out_words = oracle::RandomKernel::kOutWords};
  const ptx::Function* k = module.find_function("k");
  if (k == nullptr) throw BadInput("k.ptx: there is no kernel 'k'");
  const oracle::Outcome expected = interpret(module, *k, run);
  if (!expected.broken.empty()) return "the interpreter stops: " + expected.broken;
  for (const Ran& ran : run_three(one.text, one, {one.dynamic_shared, 0}, false)) {
    const bool race = ran.kind == "race", uninitialised = ran.kind == "read of uninitialised memory";
    if (!ran.kind.empty() && !race && !uninitialised) return fmt::format("{}: {}", ran.kind, ran.detail);
    if (race && ran.detail.find("shared array ") == ran.detail.npos)
      return "a race in global memory: " + ran.detail;
    if (race && !expected.race) return "a race in the simulator alone: " + ran.detail;
    if (uninitialised && !expected.unwritten && !expected.race)
      return "a read of uninitialised memory in the simulator alone: " + ran.detail;
    if (!race && expected.race && !uninitialised) return "a race in the interpreter alone: ";
    if (ran.kind.empty() && !expected.unwritten && ran.out != expected.out) return "another result: ";
  }
  return "";
}

}  // namespace warploom::fuzz
