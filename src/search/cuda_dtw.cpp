#include "search/cuda_dtw.hpp"

#include <algorithm>

namespace warploom::search {

std::string DtwKernel::name() const {
  const std::string each = std::to_string(lanes) + " lanes a window, ";
  switch (shape) {
    case DtwShape::thread:
      return "a thread a window, radius " + std::to_string(size);
    case DtwShape::lanes:
      return each + std::to_string(size) + " diagonals each";
    case DtwShape::columns:
      return each + std::to_string(size) + " columns each";
    case DtwShape::column_rounds:
      return each + std::to_string(size) + " columns each, in rounds";
    case DtwShape::banded_columns:
      return each + std::to_string(size) + " columns each, within a band";
  }
  return "";
}

DtwKernel choose_dtw_kernel(std::int64_t length, std::int64_t radius) {
  return std::min(
      {thread_kernel(length, radius), lanes_kernel(length, radius), columns_kernel(length, radius)},
      [](const DtwKernel& a, const DtwKernel& b) { return a.cost < b.cost; });
}

void launch_dtw(const DtwBatch& batch, cudaStream_t stream) {
  switch (batch.kernel.shape) {
    case DtwShape::thread:
      return launch_dtw_thread(batch, stream);
    case DtwShape::lanes:
      return launch_dtw_lanes(batch, stream);
    case DtwShape::columns:
    case DtwShape::column_rounds:
    case DtwShape::banded_columns:
      return launch_dtw_columns(batch, stream);
  }
}

}  // namespace warploom::search
