#pragma once

#include "tile/kernels/cuda_text.hpp"
#include "tile/kernels/kernel_patterns.hpp"

/// Arrays that do not fit the device: panels of their rows pass through it between grids.
namespace warploom::tile {

/// Sets program.out_of_core if the nest has the form for it, and says in its reasons which arrays pass in
/// panels, or why all have to fit. The program is complete otherwise, and options.memory_cap is not 0.
///
/// The form: one loop tree, whose root loop is parallel; arrays that it indexes by its outermost subscript
/// pass in panels. If all there is in its parallel loops is statements, a sequential loop and statements, the
/// arrays that this loop indexes by the outermost subscript pass in panels, too: its strips are launches of
/// their own. That is right because iterations of parallel loops are independent and each one's statements
/// and strips stay in order.
void plan_out_of_core(const Nest& nest, const ParallelNest& parallel, const GpuOptions& options,
                      GpuProgram& program);

/// FUNCTION of the emitted text, for a program with panels.
struct PanelFunction {
  const CudaNames& names;
  const OutOfCore& plan;
  std::uint64_t memory_cap = 0;
  std::string parameters;                         ///< as in its signature
  std::set<std::string> written;                  ///< arrays that the nest writes
  std::map<std::string, ConstantCopy> constants;  ///< by symbol; none of them a strip
  /// Appends the launch on `stream`, with "device_A" for each array A.
  std::function<void(const Kernel&, TextWriter&)> launch;
};
std::string panel_function(const PanelFunction& function);
/// What it calls: PanelRows, PanelArray, PanelStreams.
std::string_view panel_helpers();

}  // namespace warploom::tile
