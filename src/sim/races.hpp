#pragma once

#include <memory>
#include <vector>

#include "sim/block.hpp"

namespace warploom::sim {

/// What a fence.proxy.async is for.
inline constexpr std::uint8_t kProxyShared = 1, kProxyGlobal = 2;

/// Finds races: two accesses to one cell of shared or global memory, at least one a write, not both strong
/// and in each other's scope, that happens-before does not order. One detector a worker; blocks of one worker
/// run one after another, or interleaved where the program communicates.
///
/// An access is stamped with its thread and its block's time; the time goes on at every synchronisation. A
/// thread knows, of each other thread, up to what time its accesses come before what it does now: by a
/// barrier of the whole block one number for all of them; by bar.warp.sync and named barriers a number for
/// some; by release and acquire through atomics, fences and volatile accesses what the releasing thread knew.
/// So full barriers cost nothing a thread. The method is FastTrack's (Flanagan & Freund, PLDI 2009) with the
/// GPU's hierarchy in place of vector clocks, as far as it goes.
class RaceDetector {
 public:
  /// @param clusters  blocks reach each other's shared memory
  RaceDetector(const Program& program, Memory& memory, Findings& findings, bool clusters = false);
  ~RaceDetector();

  void begin(Block& block);
  void end(Block& block);
  /// One instruction's access by lanes that are in bounds. Lanes count as going one after another, from the
  /// lowest: of lanes that store one value to one place all but the first are Access::silent.
  void access(Warp& warp, const Access& access);
  /// Lanes arrive at a barrier without waiting (bar.arrive). What they do until it is complete is not
  /// ordered.
  void announce(Warp& warp, Mask lanes, std::uint32_t number);
  /// A barrier is complete: `waiting` come after each other and after what was announced, lanes a warp.
  void barrier(Block& block, const std::vector<Mask>& waiting, const std::vector<Mask>& announced,
               std::uint32_t number);
  /// bar.warp.sync of these lanes.
  void warp_sync(Warp& warp, Mask lanes);
  void fence(Warp& warp, Mask lanes, Scope scope, Strength sides);

  // The asynchronous proxy (bulk copies, wgmma) sees an ordinary write to shared memory only if a
  // fence.proxy.async lies on the way from one to the other.
  void proxy_fence(Warp& warp, Mask lanes, std::uint8_t memory);
  /// A finding if it does not: before an access of the asynchronous proxy to [offset, offset + bytes).
  void asynchronous(Warp& warp, unsigned lane, const Step& step, Access::Kind kind, std::uint32_t offset,
                    std::uint32_t bytes);
  /// The same of global memory, of what this block wrote.
  void asynchronous_global(Warp& warp, unsigned lane, const Step& step, Access::Kind kind, Address address,
                           std::uint32_t bytes);

  /// Of a bulk store that is issued now: later writes have a later time.
  std::int32_t issued_at(Warp& warp);
  /// Its source [offset, offset + bytes) was written after that time, whatever barriers lie between: only its
  /// wait orders that.
  void written_since(Warp& warp, unsigned lane, const Step& step, std::uint32_t offset, std::uint32_t bytes,
                     std::int32_t time);

  /// A cp.async to `offset` lands where somebody has written since it was issued.
  void overwritten(Warp& warp, unsigned lane, const Step& step, std::uint32_t offset);

  /// Lanes arrive at the cluster's barrier; those who waited come after all that arrived, of relaxed ones
  /// after what they had fenced.
  void cluster_arrive(Warp& warp, Mask lanes, bool releases, Released& arriving);
  void cluster_wait(Warp& warp, Mask lanes, const Released& completed);

  // mbarrier: who waited for a phase comes after those who arrived in it and after the copies that it
  // tracked.
  void mbarrier_begin(Block& block, std::uint32_t offset);
  void mbarrier_arrive(Warp& warp, unsigned lane, Block& block, std::uint32_t offset);
  void mbarrier_complete(Block& block, std::uint32_t offset);
  void mbarrier_wait(Warp& warp, unsigned lane, std::uint32_t offset);
  /// A copy is issued now and lands later: to be kept in TrackedCopies::issued.
  std::shared_ptr<const void> issued(Warp& warp, unsigned lane);
  void landed(Block& block, std::uint32_t offset, const TrackedCopies& copies);

  // wgmma: what the four warps of a warpgroup multiply is read by one agent; who waited comes after its
  // reads.
  void product_issued(Warp& warp);
  void product_reads(Warp& warp, const Step& step, std::uint32_t offset, std::uint32_t bytes);
  void product_waited(Warp& warp, Mask lanes);

  /// After a launch on several workers, whose blocks cannot have synchronised: true if two workers touched a
  /// cell of global memory, one writing. Both must have been made for the same program.
  bool conflicts(const RaceDetector& other) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace warploom::sim
