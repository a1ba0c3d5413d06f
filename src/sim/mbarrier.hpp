#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "sim/step.hpp"
#include "sim/tensor_form.hpp"

namespace warploom::sim {

struct Block;
struct Warp;

/// A copy into shared memory that an mbarrier tracks.
struct TrackedCopy {
  const Step* step = nullptr;                ///< the copy's
  std::uint32_t to = 0;                      ///< in the block's shared memory
  std::vector<std::byte> data = {};          ///< as it was when the copy was issued
  TensorChange change = TensorChange::none;  ///< what lands changes elements of `type`
  std::uint8_t type = 0;                     ///< of kElementTypes
};

/// What an mbarrier waits for besides arrivals: copies that land, and then arrive, or count as bytes. They
/// land when somebody waits for the mbarrier and it lacks them, the last moment at which they may: so who
/// reads without a wait is seen to.
struct TrackedCopies {
  std::uint32_t thread = 0;  ///< that issued the copies
  std::vector<TrackedCopy> copies = {};
  bool arrives = false;
  std::uint32_t bytes = 0;
  std::shared_ptr<const void> issued = {};  ///< what the race detector knows of that moment
};

/// An mbarrier object. PTX ISA 9.0, "mbarrier".
struct MBarrier {
  std::uint32_t expected = 0;  ///< arrivals of each phase to come
  std::uint32_t pending = 0;   ///< arrivals that this phase lacks
  std::int64_t bytes = 0;      ///< that this phase still expects of copies (tx-count)
  std::uint32_t phase = 0;
  std::vector<TrackedCopies> tracked = {};
};

/// A live mbarrier: in whose shared memory it is, and where.
struct MBarrierPlace {
  Block* block = nullptr;
  std::uint32_t offset = 0;
};
/// The one that a lane points to, perhaps in another block of the cluster. Empty: a finding ended the kernel.
std::optional<MBarrierPlace> mbarrier_at(Warp& warp, const Step& step, unsigned lane, std::uint64_t address,
                                         bool generic);
/// The mbarrier at `offset` tracks these from now on.
void track(Warp& warp, MBarrierPlace place, TrackedCopies tracked);
/// Copies of that thread land, whatever tracks them.
void land_copies_of(Block& block, std::uint32_t thread);
/// Threads of the block wait for mbarriers and nobody else can go on: their waits fail for once, as
/// mbarrier.try_wait may. False: none waits, or this helped too often.
bool give_up_waiting(Block& block);
/// "mbarrier at shared array full, byte 0, in phase 1: 32 arrivals and 0 bytes are missing".
std::string describe_mbarrier(const Block& block, std::uint32_t offset);

}  // namespace warploom::sim
