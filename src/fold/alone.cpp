#include "fold/alone.hpp"

#include <fmt/format.h>

#include "core/built_with_cuda.hpp"
#include "fold/gpu_choice.hpp"
#include "fold/gpu_fold.hpp"
#include "warploom/core/error.hpp"
#include "warploom/core/log.hpp"

namespace warploom::fold {

FoldingDevice::FoldingDevice(const Run& run, const Model& model, double cells)
    : named_(names_gpu(run)), scope_(run, "folding", takes_gpu(run, model, cells) && kBuiltWithCuda) {}

Device device_for(std::span<const std::string> sequences, const Model& model, const Run& run) {
  return FoldingDevice(run, model, cells_of(sequences)).device();
}

std::vector<Folding> FoldingDevice::fold(std::span<const std::string> sequences,
                                         std::span<const std::string> constraints, const LoopTables& tables,
                                         bool structures) const {
#ifdef WARPLOOM_HAVE_CUDA
  if (is_gpu()) {
    for (const std::string& sequence : sequences) check_range(std::ssize(sequence), tables.loops());
    try {
      return gpu::fold_on_gpu(sequences, tables, structures, nullptr, constraints);
    } catch (const OutOfMemory& error) {
      if (named_) throw;
      log(LogLevel::warning, fmt::format("the CPU folds: {}", error.what()));
    }
  }
#endif
  return fold_each(sequences, constraints, tables, structures);
}

}  // namespace warploom::fold
