#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "sim/form.hpp"
#include "sim/matrix_form.hpp"
#include "sim/step.hpp"
#include "sim/tensor_form.hpp"
#include "sim/texture_form.hpp"
#include "sim/video_form.hpp"
#include "sim/wgmma.hpp"
#include "warploom/ptx/module.hpp"
#include "warploom/sim/sim.hpp"

namespace warploom::sim {

class Memory;

/// How strongly an access is ordered (PTX ISA, memory consistency model). volatile counts as relaxed at
/// system scope.
enum class Strength : std::uint8_t { weak, relaxed, acquire, release, acquire_release };
inline bool acquires(Strength s) { return s == Strength::acquire || s == Strength::acquire_release; }
inline bool releases(Strength s) { return s == Strength::release || s == Strength::acquire_release; }
enum class Scope : std::uint8_t { none, block, cluster, gpu, system };

/// What a load, store, atomic or copy needs beside its Step.
struct MemoryForm {
  ptx::Space space = ptx::Space::generic;
  Strength strength = Strength::weak;
  Scope scope = Scope::none;
  std::uint8_t bytes = 4;  ///< of one element
  std::uint8_t count = 1;  ///< elements
  std::uint8_t register_bytes =
      4;                  ///< of the registers that hold them (not narrower than an element, 2 at least)
  bool sign = false;      ///< narrow loads are sign-extended
  bool wide_base = true;  ///< the base register has 64 bits
  /// The base is a constant of the program (a symbol or a number): then Step::immediate holds all of the
  /// address.
  bool fixed = false;
  bool constant_address = false;  ///< made of names and numbers alone, perhaps in registers
  std::uint32_t values[8] = {};   ///< destinations of a load [register offsets]
  Source stored[8] = {};          ///< sources of a store
  std::uint32_t total() const { return std::uint32_t{bytes} * count; }
};

/// A variable's place in the block's shared memory or the thread's own.
struct Placed {
  std::uint32_t variable = ptx::kNone;
  std::uint32_t begin = 0, bytes = 0;
};

enum class Special : std::uint8_t {
  tid_x,
  tid_y,
  tid_z,
  ntid_x,
  ntid_y,
  ntid_z,
  ctaid_x,
  ctaid_y,
  ctaid_z,
  nctaid_x,
  nctaid_y,
  nctaid_z,
  cluster_ctaid_x,
  cluster_ctaid_y,
  cluster_ctaid_z,
  cluster_nctaid_x,
  cluster_nctaid_y,
  cluster_nctaid_z,
  cluster_ctarank,
  cluster_nctarank,
  clusterid_x,
  clusterid_y,
  clusterid_z,
  nclusterid_x,
  nclusterid_y,
  nclusterid_z,
  laneid,
  warpid,
  nwarpid,
  smid,
  nsmid,
  gridid,
  workspace_high,  ///< of cooperative groups' barrier of a grid
  workspace_low,
  gridid_64,
  lanemask_eq,
  lanemask_le,
  lanemask_lt,
  lanemask_ge,
  lanemask_gt,
  dynamic_smem_size,
  total_smem_size,
  aggregate_smem_size,  ///< with what is reserved
  zero,
  clock,
  clock_hi,
  clock64,
  globaltimer,
  globaltimer_lo,
  globaltimer_hi,  ///< read when executed
  count_
};

struct SpecialSlot {
  Special special = Special::zero;
  std::uint32_t offset = 0;  ///< of its register; 32 or 64 bits wide
  std::uint8_t bytes = 4;
};

/// A piece of an argument: copied from the caller's registers or thread memory to the callee's, or back.
struct Transfer {
  std::uint32_t from = 0, to = 0, bytes = 0;
  bool from_register = false, to_register = false;  ///< else thread memory
};

/// How a floating-point atom.add adds: the lane handler, and the one that flushes subnormal numbers.
struct RealAdd {
  Handler plain = nullptr, flushing = nullptr;
};

struct CallForm {
  std::uint32_t callee = ptx::kNone;  ///< ptx::Module::functions
  std::uint32_t target = 0;           ///< its first step
  std::vector<Transfer> in, out;
};

struct FunctionCode {
  std::uint32_t function = ptx::kNone;
  std::uint32_t first = 0, last = 0;    ///< steps [first, last)
  std::uint32_t return_slot = kNoSlot;  ///< register that holds each lane's return step
};

/// A kernel with all functions it calls, decoded. Callees come before callers and blocks in an order in which
/// a join comes after what it joins, so that of the threads of a warp those at the lowest step are behind.
struct Program {
  const ptx::Module* module = nullptr;
  const ptx::Function* kernel = nullptr;
  std::vector<Step> steps;
  std::vector<FunctionCode> functions;
  std::uint32_t entry = 0;

  std::uint32_t register_bytes = 0;
  std::vector<std::uint64_t> constants;  ///< as Registers has them; 64-byte aligned by `constant_base`
  std::byte* constant_base = nullptr;
  std::vector<SpecialSlot> specials;

  std::vector<MemoryForm> memory;
  std::vector<RealAdd> real_atomics;
  std::vector<std::int64_t> copy_displacements;  ///< of a cp.async's source (Step::second)
  std::vector<MatrixForm> matrices;              ///< of mma and wmma.mma
  std::vector<QuadForm> quad_products;
  std::vector<MatrixAccess> matrix_accesses;      ///< of wmma.load and wmma.store (Step::second)
  std::vector<WarpgroupForm> warpgroup_products;  ///< of wgmma.mma_async
  std::vector<std::uint32_t> warpgroup_sums;      ///< their registers
  std::vector<TensorForm> tensors;
  std::vector<BulkReduction> bulk_reductions;
  std::vector<TextureForm> textures;
  std::vector<SelectedVideo> selected_video;
  std::vector<CallForm> calls;
  std::vector<std::vector<std::uint32_t>> jumps;  ///< of brx.idx: steps
  /// What is said when a step is reached that the simulator does not have: see run_refused.
  std::vector<std::string> refusals;

  std::vector<Placed> shared, thread_variables;
  std::uint32_t static_shared = 0;    ///< sum of the variables, as a GPU would lay them out [bytes]
  std::uint32_t shared_bytes = 0;     ///< with the gaps between them, without the dynamic array
  std::uint32_t reserved_shared = 0;  ///< its first bytes that the kernel may use though no variable has them
  std::uint32_t dynamic_variable = ptx::kNone;
  std::uint32_t thread_bytes = 0;  ///< local memory and parameters of calls, of one thread
  std::vector<Placed> parameters;  ///< of the kernel: in its parameter bank
  std::uint32_t parameter_bytes = 0;

  bool grid_workspace = false;  ///< it asks where a grid's barrier is
  /// Its blocks may see each other's writes before the launch ends.
  bool communicates = false;
  /// Smallest access to shared and global memory [bytes: 1, 2 or 4]; races are looked for by such cells.
  std::uint8_t shared_cell = 4, global_cell = 4;

  /// Registers that a step reads and writes, as numbers: uses[first_use[i], first_use[i + 1]), reads first.
  std::vector<std::uint32_t> uses, first_use;
  std::vector<std::uint8_t> reads;    ///< how many of a step's uses are reads
  std::vector<std::uint32_t> guards;  ///< number of a step's guard, ptx::kNone without one
  std::uint32_t register_count = 0;

  const ptx::Instruction& instruction(const Step& s) const {
    return module->functions[s.function].instructions[s.instruction];
  }
};

/// What the simulator does not have becomes a step that says so when a thread reaches it.
/// @throws BadInput (too large a variable)
std::unique_ptr<const Program> decode(const ptx::Module& module, const ptx::Function& kernel,
                                      const Memory& memory);

}  // namespace warploom::sim
