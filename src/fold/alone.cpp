#include "fold/alone.hpp"

#include "core/built_with_cuda.hpp"
#include "fold/gpu_fold.hpp"

namespace warploom::fold {

FoldingDevice::FoldingDevice(const Run& run, const Model& model)
    : scope_(run, "folding", wants_gpu(run, model, {}) && kBuiltWithCuda) {}

std::vector<Folding> FoldingDevice::fold(std::span<const std::string> sequences, const LoopTables& tables,
                                         bool structures) const {
#ifdef WARPLOOM_HAVE_CUDA
  if (is_gpu()) return gpu::fold_on_gpu(sequences, tables, structures);
#endif
  return fold_each(sequences, {}, tables, structures);
}

}  // namespace warploom::fold
