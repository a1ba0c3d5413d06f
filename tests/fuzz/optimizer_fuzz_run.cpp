#include "fuzz/optimizer_fuzz_run.hpp"

#include <utility>

#include "warploom/ptx/module.hpp"
#include "warploom/sim/sim.hpp"

namespace warploom::fuzz {

std::vector<std::uint32_t> input_data() {
  std::vector<std::uint32_t> data(oracle::RandomKernel::kDataWords);
  for (std::uint32_t k = 0; k < data.size(); ++k) data[k] = k * 2654435761u;
  return data;
}

std::vector<Ran> run_three(const std::string& ptx, const oracle::RandomKernel& kernel,
                           std::array<std::uint32_t, 2> dynamic_shared, bool strict) {
  sim::Machine machine(ptx::parse(ptx, "k.ptx"));
  const std::vector<std::uint32_t> data = input_data();
  const std::vector<std::uint32_t> zeros(std::size_t{oracle::RandomKernel::kOutWords} * kernel.threads() *
                                         kernel.blocks);
  const sim::Address at = machine.allocate(zeros.size() * sizeof(zeros[0]), "out");
  sim::Arguments arguments;
  arguments.add(at).add(machine.upload(std::span(data), "data")).add(kernel.n);
  sim::LaunchOptions options;
  options.grid = {kernel.blocks};
  options.block = {kernel.block[0], kernel.block[1]};
  options.races = true;
  options.run.threads = 1;
  options.strict_initialisation = strict;
  options.max_instructions = 20'000'000;

  std::vector<Ran> all;
  for (const sim::Schedule schedule :
       {sim::Schedule::in_order, sim::Schedule::random, sim::Schedule::adversarial}) {
    options.schedule = schedule;
    ++options.seed;
    Ran ran;
    const std::array<const char*, 2> names{"k", "k2"};
    for (std::size_t k = 0; k < (kernel.has(oracle::Feature::two_kernels) ? 2 : 1); ++k) {
      options.dynamic_shared = dynamic_shared[k];
      machine.copy_to_device(at, std::as_bytes(std::span(zeros)));
      const sim::Outcome outcome = machine.launch(names[k], arguments, options);
      ran.out.resize(ran.out.size() + zeros.size());
      machine.download(at, std::span(ran.out).last(zeros.size()));
      for (const sim::Finding& f : outcome.findings) {
        if (ran.kind.empty()) ran.kind = sim::name(f.kind);
        ran.detail += f.text() + "\n";
      }
    }
    all.push_back(std::move(ran));
  }
  return all;
}

}  // namespace warploom::fuzz
