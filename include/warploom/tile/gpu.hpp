#pragma once

#include <array>

#include "warploom/tile/parallelise.hpp"

namespace warploom::tile {

/// What takes the steps of a loop over time: tiles that stay on a multiprocessor for several of them, or a
/// launch for each parallel loop of a step.
enum class TimeTiles {
  best,       ///< registers where they fit, but for arrays that are known to be small; else shared memory
  registers,  ///< a warp's tile, whose rows stream through registers
  shared,     ///< a block's tile in shared memory
  none,
};

struct GpuOptions {
  std::string architecture = "sm_90";  ///< as hw::architecture() knows them
  /// Sums may be taken in another order (rounding changes): reductions spread over threads.
  bool reorder_reductions = true;
  /// Device memory that FUNCTION may use [bytes]; arrays above it pass through it in panels where the nest
  /// allows it, which the program's reasons say. 0: all arrays fit.
  std::uint64_t memory_cap = 0;
  /// Constant memory that the nest may fill [bytes]: a module's, or less where several share a file.
  std::uint64_t constant_bytes = 64 * 1024;
  TimeTiles time_tiles = TimeTiles::best;  ///< where a nest's steps do not fit: none
};

enum class Space { registers, shared, constant, read_only, global, local };
std::string_view name(Space space);

/// Where the references to one array live in one kernel, and why.
struct Placement {
  std::string array = {};
  Space space = Space::global;
  std::string reason =
      {};  ///< "each element is read by 128 threads of the block: 128 x 16 tile, loaded once"
  std::uint64_t bytes = 0;        ///< a block's, of shared; a thread's, of registers and local
  double sectors = 0;             ///< 32-byte sectors that one access of a warp to global memory takes
  double ideal_sectors = 0;       ///< the fewest that could hold those elements
  double reuse_in_block = 1;      ///< shared: uses in the block of an element that was brought there once
  double reuse_in_registers = 1;  ///< shared: uses of an element that a thread has read once
  int bank_conflicts = 1;         ///< shared: the most threads of a warp on one bank at different words
};

/// An array that a kernel reads from constant memory. Where it is too long, it is a vector whose elements
/// [first, first + elements), as far as there are so many, are copied there before each launch.
struct ConstantCopy {
  std::string array = {}, symbol = {};  ///< "v", "signal_v_constant"
  ScalarType type = ScalarType::float32;
  std::int64_t elements = 0;  ///< of the symbol
  std::string first = {};     ///< a loop of the host around the launch; empty: the symbol holds all
};

/// What a kernel should take, for sizes that are known.
struct Cost {
  double operations = 0;                      ///< floating-point operations
  double global_bytes = 0, shared_bytes = 0;  ///< moved in all
  std::uint32_t registers = 0, shared = 0;    ///< a thread (estimated), a block
  std::uint32_t blocks_per_sm = 0;            ///< reuse::occupancy
  double milliseconds = 0;                    ///< the largest of the terms, on the device of `architecture`
  std::string bound = {};                     ///< "arithmetic", "global memory", "shared memory", "launches"
};

struct Kernel {
  std::string name = {};     ///< "gemm_0"
  std::string pattern = {};  ///< "contraction", "row reduction", "pointwise", ...
  std::vector<int> statements = {};
  std::array<Expression, 3> grid = {}, block = {};  ///< of sizes and of host loops around the launch
  std::vector<std::string> parameters = {};  ///< names of arrays, scalars, sizes, host loops: in call order
  Node tree = {};  ///< the loops that it runs; empty: it only combines another's parts
  /// The __global__ function, and what it needs before it; empty: an earlier kernel's of the same name, here
  /// with other arguments.
  std::string text = {};
  std::vector<Placement> placements = {};
  std::vector<ConstantCopy> constants = {};
  std::vector<std::string> reasons = {};  ///< mapping of loops to grid, block, thread, and why
};

/// Whether a scalar lives in device memory, and a kernel's parameter is a pointer to it: the region assigns
/// it.
bool is_assigned(const Nest& nest, std::string_view scalar);

/// Device memory that the host program allocates for itself.
struct Temporary {
  std::string name = {};
  ScalarType type = ScalarType::float32;
  std::vector<Expression> extents = {};
  std::string copy_of = {};  ///< a snapshot: filled from this array before the first kernel; else empty
  bool whole_array = false;  ///< as large as an array of the nest: its memory is not kept between calls
};

/// A loop of the nest, strip-mined between grids: rows of arrays pass through the device panel by panel.
struct PanelLoop {
  std::string iterator = {};
  Expression begin = {}, end = {};       ///< its iterations [begin, end), of sizes
  std::string first = {}, limit = {};    ///< parameters of the kernels: the iterations of one panel
  std::vector<std::string> arrays = {};  ///< whose outermost subscript it is
};

/// How FUNCTION passes arrays through less memory than they need. How many rows a panel has is computed when
/// it runs.
struct OutOfCore {
  PanelLoop outer = {};
  std::optional<PanelLoop> inner = {};     ///< of a reduction: all of it in each panel of `outer`
  std::vector<std::string> resident = {};  ///< arrays that are on the device as a whole
  std::vector<Kernel> before = {}, update = {},
                      after = {};  ///< for each panel of `outer`; `update` for each of `inner` in it
};

/// A CUDA program for a nest.
struct GpuProgram {
  std::vector<Kernel> kernels = {};
  std::vector<Temporary> temporaries = {};
  Node host = {};  ///< loops and launches
  std::vector<std::string> reasons = {};
  std::optional<OutOfCore> out_of_core = std::nullopt;  ///< only with a memory cap
};

/// Maps the nest to kernels, one pattern each, and places its data.
/// @throws BadInput (an architecture that is not known)
GpuProgram map_to_gpu(const Nest& nest, const ParallelNest& parallel, const GpuOptions& options);

/// For sizes that are all known.  @throws BadInput naming the missing one
std::vector<Cost> cost(const Nest& nest, const GpuProgram& program, const GpuOptions& options,
                       const std::map<std::string, std::int64_t>& sizes);

/// A nest's share of a file.
struct CudaPart {
  const Nest& nest;
  const GpuProgram& program;
};
/// The whole .cu file: for each nest kernels, `FUNCTION_device` on device pointers (asynchronous on a
/// stream), and `FUNCTION` with the source's signature, which copies, in panels if `out_of_core` is there. It
/// returns cudaErrorMemoryAllocation where the memory cap does not suffice.
std::string emit_cuda(const std::vector<CudaPart>& parts, const GpuOptions& options);
/// Of one nest.
std::string emit_cuda(const Nest& nest, const GpuProgram& program, const GpuOptions& options);

}  // namespace warploom::tile
