#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sim/mbarrier.hpp"
#include "sim/memory.hpp"
#include "sim/program.hpp"
#include "sim/race_order.hpp"
#include "sim/step.hpp"
#include "sim/tensor_form.hpp"
#include "warploom/sim/sim.hpp"

namespace warploom::sim {

struct Block;
struct Worker;
class RaceDetector;

/// Why a group of threads does not run.
enum class Wait : std::uint8_t { none, barrier, lanes, mbarrier, cluster, warpgroup };

/// Threads of one warp at one step.
struct Group {
  std::uint32_t pc = 0;
  Mask lanes = 0;
  Wait wait = Wait::none;
  std::uint32_t barrier = 0;  ///< Wait::barrier: its number; Wait::mbarrier: where it is in shared memory
  Mask members = 0;           ///< Wait::lanes: who must come
  const Step* at = nullptr;   ///< the instruction it waits at
};

/// Why Warp::run came back.
enum class Stop : std::uint8_t {
  none,
  yield,    ///< another may go on
  blocked,  ///< the running group waits or has left
  halt      ///< the kernel ends here
};

struct Warp : Registers {
  Block* block = nullptr;
  std::uint32_t index = 0;
  Mask alive = 0;             ///< threads that have not left
  std::vector<Group> groups;  ///< all but the running one
  // The running group; active is 0 if none is.
  std::uint32_t pc = 0;
  Mask active = 0;
  std::uint32_t active_count = 0;
  Stop stop = Stop::none;
  bool behind_first = true;                          ///< of several groups the one at the lowest step runs
  std::uint64_t added_steps = 0, added_threads = 0;  ///< executed, but no instructions of the kernel's
  std::byte* thread_memory = nullptr;                ///< [32][Program::thread_bytes]
  /// Lanes whose value nobody wrote, a mask a register; empty until the first. See poison.cpp.
  std::vector<Mask> poison;
  std::vector<const Step*> poison_source;  ///< the load it came from
  std::uint32_t poisoned = 0;              ///< registers with a lane
  struct AsyncCopy {
    std::uint32_t to = 0, bytes = 0;
    std::uint8_t lane = 0;
    const Step* step = nullptr;
    std::byte data[16] = {};
  };
  struct CopyGroup {
    Mask lanes = 0;  ///< that committed it and have not waited for it
    std::vector<AsyncCopy> copies;
  };
  std::vector<AsyncCopy> copies;       ///< of cp.async, in no group yet
  std::vector<CopyGroup> copy_groups;  ///< oldest first
  /// A cp.async.bulk from shared to global memory, which is done when its group is waited for.
  struct BulkStore {
    std::uint32_t from = 0, bytes = 0;
    Address to = 0;
    const Step* step = nullptr;
    std::shared_ptr<const TensorBox> box;      ///< of a tensor, in place of `to`
    TensorChange change = TensorChange::none;  ///< of bytes: cp.reduce, of elements of `type`
    std::uint8_t type = 0;                     ///< of kElementTypes
    std::int32_t issued = 0;                   ///< when, to the race detector
  };
  struct BulkGroup {
    bool committed = false;
    std::vector<BulkStore> stores;
  };
  std::map<std::uint8_t, std::vector<BulkGroup>> bulk_groups;  ///< of each lane, oldest first

  WarpgroupProducts warpgroup_products;
  Mask cluster_arrived = 0;  ///< lanes that arrived at the cluster's barrier and have not waited
  std::array<std::uint32_t, kLanes> arrived_in{};  ///< the cluster's phase at that time

  void activate(Mask lanes) {
    active = lanes;
    active_count = static_cast<std::uint32_t>(std::popcount(lanes));
  }
  std::uint32_t thread(unsigned lane) const { return index * kLanes + lane; }
};
/// Of the registers that a handler is given.
inline Warp& warp_of(Registers& r) { return static_cast<Warp&>(r); }

/// A barrier of a block.
struct Barrier {
  std::uint32_t expected = 0;  ///< threads; 0: all that have not left
  std::uint32_t arrived =
      0;              ///< threads; a warp that is there with all its threads counts 32 of an expected count
  bool open = false;  ///< somebody is there
  std::vector<Mask> waiting, announced;  ///< per warp: lanes that wait; lanes that only arrived (bar.arrive)
  std::uint32_t true_count = 0;          ///< of bar.red
  bool all = true, any = false;
};

/// Of a byte of shared memory. kObject: of a live mbarrier, which loads and stores may not touch.
inline constexpr std::uint8_t kUnwritten = 0, kWritten = 1, kObject = 0x40, kGap = 0x80;

/// Blocks that reach each other's shared memory, in flight together, and their barrier. A block alone is one,
/// too.
struct Cluster {
  Dim size;
  std::vector<Block*> blocks;  ///< by rank
  std::uint32_t alive = 0;     ///< threads that have not left
  std::uint32_t arrived = 0, phase = 0;
  Released arriving, completed;  ///< of the race detector
};

/// Of a shared address, above the 24 bits that are a place in one block: 0 is the block at hand, else a rank
/// and 1.
inline constexpr unsigned kRankShift = 24;
inline constexpr std::uint32_t kPlaceMask = (1u << kRankShift) - 1;

/// One thread block in flight.
struct Block {
  Worker* worker = nullptr;
  const Program* program = nullptr;
  std::uint64_t number = 0;  ///< x fastest
  std::array<std::uint32_t, 3> index{};
  Dim grid, size;
  std::shared_ptr<Cluster> cluster;
  std::uint32_t rank = 0;  ///< in its cluster
  std::uint32_t threads = 0;
  std::vector<Warp> warps;
  std::vector<std::byte> shared;        ///< static with gaps, then dynamic
  std::vector<std::uint8_t> written;    ///< per byte of shared: kUnwritten, kWritten, kObject or kGap
  std::vector<std::uint8_t> untouched;  ///< `written` at the block's start
  std::vector<std::byte> storage;       ///< registers and thread memory of all warps
  std::array<Barrier, 16> barriers;
  std::map<std::uint32_t, MBarrier> mbarriers;  ///< by where they are in shared memory
  std::uint32_t fruitless_waits = 0;            ///< see give_up_waiting
  std::uint32_t alive = 0;                      ///< threads that have not left
  std::uint64_t clock = 0;                      ///< warp instructions so far
  std::uint32_t next_warp = 0;
  /// Of the race detector: what it keeps about this block (races.cpp).
  std::shared_ptr<void> race_state;
  std::string printed;
};

/// What shared or global memory one instruction of one warp touches.
struct Access {
  enum Kind : std::uint8_t { read, write, atomic };
  Kind kind = read;
  bool shared = false;  ///< else global
  Strength strength = Strength::weak;
  Scope scope = Scope::none;
  std::uint32_t bytes = 4;  ///< of each lane, contiguous
  Mask lanes = 0;
  const std::uint64_t* address =
      nullptr;  ///< [32]: byte offset in the block's shared memory, or global address
  /// Lanes whose store leaves memory as it was: two writes of one value are no race.
  Mask silent = 0;
  const Step* step = nullptr;
  const Block* owner = nullptr;  ///< whose shared memory; nullptr: the warp's block's
};

/// Collects findings of one worker.
class Findings {
 public:
  /// Adds it, or counts it if kind and both instructions are known already.
  void add(const Block& block, FindingKind kind, const Step& step, unsigned warp, unsigned lane,
           std::string what, std::string where, std::optional<Site> other = {});
  static Site site(const Block& block, const Step& step, unsigned thread, std::string what);
  std::vector<Finding> take() { return std::move(list_); }
  bool empty() const { return list_.empty(); }

 private:
  std::vector<Finding> list_;
  std::map<std::array<std::uint64_t, 3>, std::size_t> known_;
};

/// One CPU thread's share of a launch.
struct Worker {
  const Program* program = nullptr;
  Memory* memory = nullptr;
  const LaunchOptions* options = nullptr;
  const std::byte* parameters = nullptr;  ///< the kernel's parameter bank
  Address workspace = 0;                  ///< of the grid's barrier, zeros at first
  Findings findings;
  std::unique_ptr<RaceDetector> races;  ///< if wanted
  bool yield_at_access = false;         ///< Schedule::adversarial
  bool halted = false;                  ///< a finding ended the kernel
  std::uint64_t random = 1;             ///< state of the schedule's generator
  std::uint64_t thread_instructions = 0, warp_instructions = 0, barriers = 0, divergent_branches = 0;
  Allocation* last = nullptr;  ///< the allocation touched last

  std::uint64_t next_random() {  // xorshift64*, Vigna 2016
    random ^= random >> 12;
    random ^= random << 25;
    random ^= random >> 27;
    return random * 0x2545F4914F6CDD1DULL;
  }
};

/// "shared array tile, byte 128", "argument 0 (out), byte 4096".
std::string describe_shared(const Block& block, std::uint64_t offset);
std::string describe_global(const Memory& memory, Address address);

/// The step at hand is the decoder's own.
inline void not_counted(Warp& w) {
  ++w.added_steps;
  w.added_threads += w.active_count;
}

// scheduler.cpp: how threads go on.

/// Puts the threads of block `number` at the kernel's first instruction, in that cluster as its next block. A
/// block that ran before may be used again, of the same worker.
void start_block(Worker& worker, Block& block, std::uint64_t number, std::shared_ptr<Cluster> cluster);
/// Runs some of the block's threads; false: all have left, or the kernel ended. True of a block in a cluster
/// of several may mean that its threads wait for others': see can_run.
bool run_block(Block& block, std::uint64_t budget);
/// Some of its threads wait for nothing.
bool can_run(const Block& block);
/// Continues at `target` with the taken lanes of the running group; the rest goes on at warp.pc.
void branch(Warp& warp, Mask taken, std::uint32_t target);
/// After a change of pc: joins groups that are at the same step, and lets the one that is behind run.
void reconverge(Warp& warp);
/// The lanes of the running group that are in `lanes` wait; the rest goes on at warp.pc.
void suspend(Warp& warp, Mask lanes, const Group& as);
/// Lanes leave the kernel.
void leave(Warp& warp, Mask lanes);
/// True if all of `members` that are alive are in the running group; otherwise its lanes wait for them, to
/// execute the same instruction again together.
bool gather(Warp& warp, const Step& step, Mask lanes, Mask members);

// warp_operations.cpp

/// True if the 32 threads of the warp are here, which an .aligned operation on matrices needs; otherwise they
/// wait for each other, or the kernel ends.
bool whole_warp(Warp& warp, const Step& step, Mask lanes);

/// Lets those go on who wait with these `members` at `at` (at any bar.warp.sync, if it is one), if all are
/// there.
bool release_if_all_there(Warp& warp, const Step& at, Mask members);

// bulk_copy.cpp

/// The block's cp.async that nobody waited for land at its end.
void finish_copies(Block& block);
/// Bulk copies of these lanes to global memory are done.
void finish_bulk_stores(Warp& warp, Mask lanes);

// cluster.cpp

/// The cluster's barrier is complete without those who left: `arrived` of them were there.
void threads_left_cluster(Block& block, std::uint32_t left, std::uint32_t arrived);

// barriers.cpp
enum class BarrierKind : std::uint8_t { sync, arrive, popc, all, any };
void arrive(Warp& warp, const Step& step, Mask lanes, std::uint32_t number, std::uint32_t expected,
            BarrierKind kind);
void clear(Barrier& barrier);
/// After threads left: a barrier may be complete without them.
void threads_left(Block& block);
/// What keeps the threads that are left from going on.
void report_stuck(Block& block);

}  // namespace warploom::sim
