#pragma once

#include "warploom/tile/gpu.hpp"

/// A pattern knows one way to give a loop tree to the threads of a GPU. map_to_gpu asks them in order.
namespace warploom::tile {

struct KernelRequest {
  const Nest& nest;
  const ParallelNest& parallel;
  const Node& tree;                     ///< its root is a parallel loop, or what no parallel loop holds
  std::vector<std::string> host_loops;  ///< loops of the host around the launch: arguments of the kernel
  std::string name;  ///< of the first kernel; others of the same request append "_combine" and the like
  const GpuOptions& options;
};

/// Whether blocks of threads may bring data to shared memory and combine it: which elements are touched is
/// known beforehand, and they are float, double and int, for which that is written.
bool moves_in_blocks(const Region& region, const Node& tree);

/// Kernels that run one after the other, with the memory between them.
struct KernelGroup {
  std::vector<Kernel> kernels;
  std::vector<Temporary> temporaries = {};
  Node host = {};  ///< where not each is launched once: loops and launches, numbered as in `kernels`
};
/// A launch of a kernel by its number.
Node launch_of(std::size_t kernel);

/// Two or more parallel loops around reductions over others, whose operands are used by many iterations:
/// matrix products (gemm, syrk, syr2k, trmm, 2mm, doitgen), triangular ones too. Shared tiles, register
/// tiles.
std::optional<KernelGroup> contraction(const KernelRequest& request);
/// Reductions with too few parallel iterations, or along the contiguous dimension: rows to warps, columns to
/// threads with the sum split over blocks (gesummv, atax, bicg, mvt, gemver).
std::optional<KernelGroup> matrix_vector(const KernelRequest& request);
/// Two neighbouring trees, one of sums along the rows of a matrix, one along its columns (mvt, bicg, atax):
/// one pass over the matrix, where the dependences between the trees allow it. The group has its host's
/// launches, and its kernels their trees.
std::optional<KernelGroup> both_sums(const KernelRequest& first, const KernelRequest& second);
/// One iteration of the parallel loops a thread, a few for registers; tiles through shared memory where the
/// access of a warp would be scattered (transpose).
std::optional<KernelGroup> pointwise(const KernelRequest& request);
/// A sequential loop over steps of stencils in one or two dimensions (jacobi): several steps a launch, in
/// registers or in shared memory, halos computed more than once.
inline constexpr std::string_view kStreamedTimeTiles = "streamed time tiles", kSharedTimeTiles = "time tiles";
std::optional<KernelGroup> time_tiles(const KernelRequest& request);
/// A whole nest: for (k) for (i) for (j) A[i][j] = f(A[i][j], A[i][k], A[k][j]), all over one range (shortest
/// paths, transitive closure): a pass over A for each k.
std::optional<GpuProgram> closure(const Nest& nest, const ParallelNest& parallel, const GpuOptions& options);
/// No parallel loop: one thread, with a warning in its reasons. Always answers.
KernelGroup serial(const KernelRequest& request);
/// The first of these that answers.
KernelGroup choose_pattern(const KernelRequest& request);

}  // namespace warploom::tile
