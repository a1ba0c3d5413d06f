#include "fold/gpu_choice.hpp"

#include <fmt/format.h>

#include <string_view>

#include "core/built_with_cuda.hpp"
#include "warploom/core/error.hpp"
#include "warploom/core/log.hpp"
#include "warploom/core/threads.hpp"

namespace warploom::fold {
namespace {

/// Of what a GPU does not do, the first; empty: it does all.
std::string_view not_on_a_gpu(const Model& model) {
  const PseudoEnergies& pseudo = model.pseudo;
  if (model.dangles % 2 == 1) return "dangles 1 and 3";
  if (model.circular) return "circles";
  if (model.enforce_constraint) return "constraints that are enforced";
  if (model.quadruplexes) return "G-quadruplexes";
  if (!pseudo.stack.empty() || !pseudo.unpaired.empty() || !pseudo.paired.empty()) return "pseudo-energies";
  return {};
}

/// That a thread of a CPU fills (in 40 to 110 ns each) while a GPU starts: .11 to .17 s on an H200.
constexpr double kFewCells = 3e6;

}  // namespace

double cells_of(std::span<const std::string> sequences) {
  double cells = 0;
  for (const std::string& sequence : sequences) {
    const auto n = static_cast<double>(sequence.size());
    cells += n * (n - 1) / 2;
  }
  return cells;
}

bool names_gpu(const Run& run) {
  const std::vector<Device>& devices = run.devices.empty() ? current_run().devices : run.devices;
  return !devices.empty() && devices.front().is_gpu();
}

bool takes_gpu(const Run& run, const Model& model, double cells) {
  const std::vector<Device>& devices = run.devices.empty() ? current_run().devices : run.devices;
  const std::string_view missing = not_on_a_gpu(model);
  if (!devices.empty() && devices.front() != Device::best) {
    if (kBuiltWithCuda && names_gpu(run) && !missing.empty())
      throw BadInput(fmt::format("{} are not there on a GPU: use the CPU (`device` cpu)", missing));
    return names_gpu(run);
  }
  if (kBuiltWithCuda && !missing.empty()) {
    log(LogLevel::info, fmt::format("{} are not there on a GPU: the CPU folds", missing));
    return false;
  }
  return cells > kFewCells * (run.threads != 0 ? run.threads : threads());
}

}  // namespace warploom::fold
