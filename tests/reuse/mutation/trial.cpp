#include "trial.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "oracle/random_kernel.hpp"
#include "simulator_judge.hpp"
#include "warploom/core/file.hpp"

namespace warploom::reuse::mutation {
namespace {

namespace fs = std::filesystem;

/// .sim files, and the PTX that those of one directory are for.
struct Place {
  fs::path launches, ptx;
  std::string suffix;  ///< of the PTX, after the .sim file's stem
};
std::vector<Place> places() {
  const fs::path tests = WARPLOOM_TESTS_DIR, root = tests.parent_path();
  return {{tests / "reuse/mutation/cases", tests / "reuse/mutation/cases", ".ptx"},
          {root / "examples", root / "examples", ".sm_90.ptx"},
          {root / "bench/reuse/kernels", WARPLOOM_COMPILED_KERNELS, ".ptx"}};
}

/// The line of a certificate that is about two objects; empty if there is none.
std::string line_about(const std::vector<std::string>& certificate,
                       const std::pair<std::string, std::string>& objects) {
  const auto& [a, b] = objects;
  for (const std::string& line : certificate)
    if (line.find(fmt::format(": {} / {}:", a, b)) != std::string::npos ||
        line.find(fmt::format(": {} / {}:", b, a)) != std::string::npos)
      return line.substr(line.find(": ") + 2);
  return "";
}

/// The module without its other kernels.
std::string only(const std::string& text, std::string_view kernel) {
  const ptx::Module module = ptx::parse(text);
  ptx::Edits edits;
  for (const ptx::Function& f : module.functions)
    if (f.entry && f.name != kernel) edits.replace(f.span, "");
  return edits.apply(text);
}

}  // namespace

std::vector<Case> named_cases(std::vector<std::string>& missing) {
  std::vector<Case> cases;
  for (const Place& place : places()) {
    std::vector<fs::path> files;
    for (const auto& entry : fs::directory_iterator(place.launches))
      if (entry.path().extension() == ".sim") files.push_back(entry.path());
    std::sort(files.begin(), files.end());
    for (const fs::path& file : files) {
      const fs::path ptx = place.ptx / (file.stem().string() + place.suffix);
      if (!fs::exists(ptx)) {
        missing.push_back(ptx.filename().string());
        continue;
      }
      const std::string text = read_file(ptx);
      for (sim::LaunchText& launch : sim::parse_launches(read_file(file), file.filename().string())) {
        launch.grid = {};  // shared memory is a block's own: one is enough
        if (cases.empty() || cases.back().name != launch.kernel)
          cases.push_back({launch.kernel, only(text, launch.kernel), {}});
        cases.back().launches.push_back(std::move(launch));
      }
    }
  }
  return cases;
}

std::vector<Case> random_cases(std::uint64_t first_seed, std::uint64_t count) {
  std::vector<Case> cases;
  for (std::uint64_t seed = first_seed; seed < first_seed + count; ++seed) {
    const oracle::RandomKernel k = oracle::random_kernel(seed);
    if (k.dynamic_shared != 0) continue;
    const std::string launch = fmt::format(
        "--kernel k --grid {} --block {},{} --arg buf:u32:{}:zero --arg buf:u32:{}:random --arg u32:{}",
        k.blocks, k.block[0], k.block[1], k.threads() * k.blocks * oracle::RandomKernel::kOutWords,
        oracle::RandomKernel::kDataWords, k.n);
    cases.push_back({fmt::format("random {}", seed), k.text, sim::parse_launches(launch, "random kernel")});
  }
  return cases;
}

std::string Trial::text() const {
  return fmt::format("{}, {}: passes: {}; check: {}; simulator: {}", name(fault), what,
                     violation.empty() ? "allow it" : violation, check.empty() ? "accepts" : check,
                     simulator.empty() ? "clean" : simulator);
}

CaseResult try_all(const Case& c, std::size_t stride) {
  CaseResult result{c.name, {}, {}, {}};
  const sim::Dim block = c.launches.at(0).block;
  const Subject subject(c.module_text, c.launches[0].kernel, {block.x, block.y, block.z});
  result.skipped = subject.nothing_to_do();
  if (!result.skipped.empty()) return result;
  const SimulatorJudge simulator(subject.original(), c.launches);
  result.skipped = simulator.unusable();
  if (!result.skipped.empty()) return result;

  const auto objection = [&](const CheckResult& checked) { return checked.ok ? "" : checked.problems.at(0); };
  result.faultless = objection(subject.check(subject.faultless()));
  if (result.faultless.empty()) result.faultless = simulator.objection(subject.faultless().text);
  if (!result.faultless.empty()) return result;

  const std::vector<Mutation> mutations = subject.mutations();
  for (std::size_t m = 0; m < mutations.size(); m += stride) {
    Trial trial;
    trial.fault = mutations[m].fault;
    trial.what = mutations[m].what;
    const std::optional<Mutant> mutant = mutations[m].carry_out();
    trial.unchanged = !mutant;
    if (mutant) {
      trial.violation = mutant->violation;
      const CheckResult checked = subject.check(mutant->output);
      trial.check = objection(checked);
      trial.certificate = line_about(checked.certificate, mutant->objects);
      trial.simulator = simulator.objection(mutant->output.text);
    }
    result.trials.push_back(std::move(trial));
  }
  return result;
}

void Tally::add(const Trial& trial) {
  ++mutations;
  const bool check = !trial.check.empty(), simulator = !trial.simulator.empty();
  if (trial.unchanged)
    ++unchanged;
  else if (check && simulator)
    ++both;
  else if (check)
    ++check_only;
  else if (simulator)
    ++simulator_only;
  else if (trial.violation.empty())
    ++sound;
  else
    ++survivors;
}

void Tally::add(const Tally& other) {
  mutations += other.mutations;
  unchanged += other.unchanged;
  sound += other.sound;
  check_only += other.check_only;
  simulator_only += other.simulator_only;
  both += other.both;
  survivors += other.survivors;
}

std::map<Fault, Tally> tally(const CaseResult& result) {
  std::map<Fault, Tally> rows;
  for (const Trial& trial : result.trials) rows[trial.fault].add(trial);
  return rows;
}

}  // namespace warploom::reuse::mutation
