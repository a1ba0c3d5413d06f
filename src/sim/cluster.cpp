// Clusters of blocks: their barrier, and addresses in each other's shared memory.
#include <fmt/format.h>

#include <algorithm>

#include "sim/access.hpp"
#include "sim/decode.hpp"
#include "sim/races.hpp"

namespace warploom::sim {

using namespace ptx;

namespace {

void complete_if_all_arrived(Block& b) {
  Cluster& c = *b.cluster;
  if (c.alive == 0 || c.arrived != c.alive) return;
  ++c.phase;
  c.arrived = 0;
  c.completed = std::move(c.arriving);
  c.arriving = {};
  ++b.worker->barriers;
  for (Block* block : c.blocks) {
    block->fruitless_waits = 0;
    for (Warp& w : block->warps)
      for (Group& g : w.groups)
        if (g.wait == Wait::cluster) g.wait = Wait::none;
  }
}

/// flags 1: relaxed.
void run_cluster_arrive(Registers& r, const Step& s, Mask lanes) {
  Warp& w = warp_of(r);
  Cluster& c = *w.block->cluster;
  if (const Mask twice = w.cluster_arrived & lanes; twice != 0)
    return fault(w, s, FindingKind::illegal, static_cast<unsigned>(std::countr_zero(twice)),
                 "barrier.cluster.arrive", "the thread arrived before and has not waited");
  w.cluster_arrived |= lanes;
  for (unsigned i = 0; i < kLanes; ++i)
    if ((lanes >> i & 1) != 0) w.arrived_in[i] = c.phase;
  c.arrived += static_cast<std::uint32_t>(std::popcount(lanes));
  if (w.block->worker->races) w.block->worker->races->cluster_arrive(w, lanes, s.flags == 0, c.arriving);
  complete_if_all_arrived(*w.block);
}

void run_cluster_wait(Registers& r, const Step& s, Mask lanes) {
  Warp& w = warp_of(r);
  Cluster& c = *w.block->cluster;
  if (const Mask without = lanes & ~w.cluster_arrived; without != 0)
    return fault(w, s, FindingKind::illegal, static_cast<unsigned>(std::countr_zero(without)),
                 "barrier.cluster.wait", "the thread has not arrived");
  Mask done = 0;
  for (unsigned i = 0; i < kLanes; ++i)
    if ((lanes >> i & 1) != 0 && w.arrived_in[i] != c.phase) done |= Mask{1} << i;
  w.cluster_arrived &= ~done;
  if (done != 0 && w.block->worker->races) w.block->worker->races->cluster_wait(w, done, c.completed);
  const Mask waiting = lanes & ~done;
  if (waiting == 0) return;
  const auto here = static_cast<std::uint32_t>(&s - w.block->program->steps.data());
  suspend(w, waiting, {here, waiting, Wait::cluster, 0, 0, &s});
}

/// a: address, b: rank; immediate: the window of generic addresses, or 0; flags: bytes of the address.
template <typename T>
void run_map(Registers& r, const Step& s, Mask lanes) {
  Warp& w = warp_of(r);
  const T* from = r.read<T>(s.a);
  const auto* ranks = r.read<std::uint32_t>(s.b);
  T* to = r.write<T>(s.destination);
  for (Mask rest = lanes; rest != 0; rest &= rest - 1) {
    const auto i = static_cast<unsigned>(std::countr_zero(rest));
    if (ranks[i] >= w.block->cluster->blocks.size())
      return fault(
          w, s, FindingKind::illegal, i, "mapa",
          fmt::format("rank {} of a cluster of {} blocks", ranks[i], w.block->cluster->blocks.size()));
    const std::uint64_t place = (from[i] - static_cast<std::uint64_t>(s.immediate)) & kPlaceMask;
    to[i] = static_cast<T>(static_cast<std::uint64_t>(s.immediate) +
                           (std::uint64_t{ranks[i] + 1} << kRankShift | place));
  }
}

template <typename T>
void run_rank_of(Registers& r, const Step& s, Mask lanes) {
  const Warp& w = warp_of(r);
  const T* from = r.read<T>(s.a);
  auto* to = r.write<std::uint32_t>(s.destination);
  for (unsigned i = 0; i < kLanes; ++i) {
    if ((lanes >> i & 1) == 0) continue;
    const auto above =
        static_cast<std::uint32_t>((from[i] - static_cast<std::uint64_t>(s.immediate)) >> kRankShift);
    to[i] = above == 0 ? w.block->rank : above - 1;
  }
}

}  // namespace

void threads_left_cluster(Block& b, std::uint32_t left, std::uint32_t arrived) {
  b.cluster->alive -= left;
  b.cluster->arrived -= arrived;
  complete_if_all_arrived(b);
}

bool Decoder::cluster_operation() {
  switch (opcode->op) {
    case Op::barrier:
      if (!opcode->has("cluster")) return false;
      step.flags = opcode->has("relaxed") ? 1 : 0;
      step.run = opcode->has("wait") ? &run_cluster_wait : &run_cluster_arrive;
      return true;
    case Op::mapa:
    case Op::getctarank: {
      const bool map = opcode->op == Op::mapa;
      const unsigned bytes = map ? opcode->bytes : register_bytes(operands[1], 8);
      if (operands.size() != (map ? 3u : 2u) || (bytes != 4 && bytes != 8)) unsupported();
      step.immediate = opcode->space == Space::generic ? static_cast<std::int64_t>(kSharedWindow) : 0;
      step.a = source(operands[1], bytes);
      step.destination = destination(operands[0], map ? bytes : 4);
      if (map) step.b = source(operands[2], 4);
      step.run = map ? (bytes == 8 ? &run_map<std::uint64_t> : &run_map<std::uint32_t>)
                     : (bytes == 8 ? &run_rank_of<std::uint64_t> : &run_rank_of<std::uint32_t>);
      return true;
    }
    default:
      return false;
  }
}

}  // namespace warploom::sim
