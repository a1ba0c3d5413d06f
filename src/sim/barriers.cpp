// Barriers of a block: bar and barrier, with number and count, arrive and red.
#include <fmt/format.h>

#include <algorithm>

#include "sim/block.hpp"
#include "sim/decode.hpp"
#include "sim/races.hpp"

namespace warploom::sim {

using namespace ptx;

namespace {

constexpr std::uint16_t kAligned = 0x100;

void end_with(Warp& w, const Step& s, FindingKind kind, unsigned lane, std::string what, std::string where,
              std::optional<Site> other = {}) {
  w.block->worker->findings.add(*w.block, kind, s, w.index, lane, std::move(what), std::move(where),
                                std::move(other));
  w.block->worker->halted = true;
  w.stop = Stop::halt;
}

/// Threads of one warp that wait at an aligned barrier's number must be at one instruction.
bool diverged(Block& b, std::uint32_t number) {
  for (Warp& w : b.warps) {
    const Group* first = nullptr;
    for (const Group& g : w.groups) {
      if (g.wait != Wait::barrier || g.barrier != number || (g.at->flags & kAligned) == 0) continue;
      if (first == nullptr) {
        first = &g;
      } else if (g.at != first->at) {
        const auto here = static_cast<unsigned>(std::countr_zero(g.lanes)),
                   there = static_cast<unsigned>(std::countr_zero(first->lanes));
        end_with(w, *g.at, FindingKind::barrier_divergence, here, fmt::format("barrier {}", number),
                 fmt::format("{} threads of the warp wait here, {} at another barrier instruction",
                             std::popcount(g.lanes), std::popcount(first->lanes)),
                 Findings::site(b, *first->at, w.thread(there), fmt::format("barrier {}", number)));
        return true;
      }
    }
  }
  return false;
}

/// Lets those who wait go on.
void complete(Block& b, std::uint32_t number) {
  Barrier& barrier = b.barriers[number];
  if (diverged(b, number)) return;
  ++b.worker->barriers;
  b.fruitless_waits = 0;
  if (b.worker->races) b.worker->races->barrier(b, barrier.waiting, barrier.announced, number);
  for (Warp& w : b.warps) {
    bool released = false;
    for (Group& g : w.groups) {
      if (g.wait != Wait::barrier || g.barrier != number) continue;
      const Step& s = *g.at;
      const auto kind = static_cast<BarrierKind>(s.flags & 0xff);
      if (kind == BarrierKind::popc) {
        auto* to = w.write<std::uint32_t>(s.destination);
        for (unsigned i = 0; i < kLanes; ++i)
          if ((g.lanes >> i & 1) != 0) to[i] = barrier.true_count;
      } else if (kind == BarrierKind::all || kind == BarrierKind::any) {
        Mask& to = w.predicate(s.destination);
        to = (to & ~g.lanes) | ((kind == BarrierKind::all ? barrier.all : barrier.any) ? g.lanes : 0);
      }
      g.wait = Wait::none;
      released = true;
    }
    if (!released) continue;
    // Groups that the barrier brought to one step are one.
    for (std::size_t i = 0; i < w.groups.size(); ++i)
      for (std::size_t j = i + 1; j < w.groups.size();)
        if (w.groups[i].wait == Wait::none && w.groups[j].wait == Wait::none &&
            w.groups[i].pc == w.groups[j].pc) {
          w.groups[i].lanes |= w.groups[j].lanes;
          w.groups[j] = w.groups.back();
          w.groups.pop_back();
        } else {
          ++j;
        }
  }
  clear(barrier);
}

bool is_complete(const Block& b, const Barrier& barrier) {
  if (!barrier.open) return false;
  if (barrier.expected != 0) return barrier.arrived >= barrier.expected;
  std::uint32_t waiting = 0;
  for (const Mask m : barrier.waiting) waiting += static_cast<std::uint32_t>(std::popcount(m));
  return waiting == b.alive;
}

/// a: number, b: count; c: predicate of red; flags: BarrierKind | kAligned.
void run_barrier(Registers& r, const Step& s, Mask lanes) {
  Warp& w = warp_of(r);
  const auto* numbers = r.read<std::uint32_t>(s.a);
  const auto* counts = r.read<std::uint32_t>(s.b);
  const auto first = static_cast<unsigned>(std::countr_zero(lanes));
  for (Mask rest = lanes; rest != 0; rest &= rest - 1) {
    const auto i = static_cast<unsigned>(std::countr_zero(rest));
    if (numbers[i] != numbers[first] || counts[i] != counts[first])
      return end_with(w, s, FindingKind::illegal, i, "barrier",
                      fmt::format("threads of a warp name barrier {} of {} threads and barrier {} of {}",
                                  numbers[first], counts[first], numbers[i], counts[i]));
  }
  arrive(w, s, lanes, numbers[first], counts[first], static_cast<BarrierKind>(s.flags & 0xff));
}

}  // namespace

void clear(Barrier& barrier) {
  barrier.expected = barrier.arrived = barrier.true_count = 0;
  barrier.open = false;
  barrier.all = true;
  barrier.any = false;
  std::fill(barrier.waiting.begin(), barrier.waiting.end(), 0);
  std::fill(barrier.announced.begin(), barrier.announced.end(), 0);
}

void arrive(Warp& w, const Step& s, Mask lanes, std::uint32_t number, std::uint32_t expected,
            BarrierKind kind) {
  Block& b = *w.block;
  const auto first = static_cast<unsigned>(std::countr_zero(lanes));
  if (number >= b.barriers.size())
    return end_with(w, s, FindingKind::illegal, first, "barrier",
                    fmt::format("there is no barrier {}; a block has 16", number));
  if (expected % kLanes != 0 || expected > (b.threads + kLanes - 1) / kLanes * kLanes)
    return end_with(
        w, s, FindingKind::illegal, first, fmt::format("barrier {}", number),
        fmt::format("a count of {} threads: it must be a multiple of 32 and no more than the block has ({})",
                    expected, b.threads));
  Barrier& barrier = b.barriers[number];
  if (barrier.open && barrier.expected != expected)
    return end_with(w, s, FindingKind::barrier_divergence, first, fmt::format("barrier {}", number),
                    fmt::format("a count of {} threads, where others at this barrier count {}", expected,
                                barrier.expected));
  barrier.open = true;
  barrier.expected = expected;
  // Of an expected count a warp that is there with all its threads counts 32, however many are left.
  Mask& there = kind == BarrierKind::arrive ? barrier.announced[w.index] : barrier.waiting[w.index];
  const Mask before = there;
  there |= lanes;
  if (there == w.alive && before != w.alive)
    barrier.arrived += kLanes - static_cast<std::uint32_t>(std::popcount(before));
  else
    barrier.arrived += static_cast<std::uint32_t>(std::popcount(lanes));
  if (kind == BarrierKind::arrive) {
    if (b.worker->races) b.worker->races->announce(w, lanes, number);
    if (is_complete(b, barrier)) complete(b, number);
    return;
  }
  if (kind != BarrierKind::sync) {
    const Mask p = ((s.negated & 4) != 0 ? ~w.predicate(s.c) : w.predicate(s.c)) & lanes;
    barrier.true_count += static_cast<std::uint32_t>(std::popcount(p));
    barrier.all &= p == lanes;
    barrier.any |= p != 0;
  }
  suspend(w, lanes, {w.pc, lanes, Wait::barrier, number, 0, &s});
  if (is_complete(b, barrier)) complete(b, number);
}

void threads_left(Block& b) {
  for (std::uint32_t n = 0; n < b.barriers.size(); ++n)
    if (b.barriers[n].open && b.barriers[n].expected == 0 && b.alive != 0 && is_complete(b, b.barriers[n]))
      complete(b, n);
}

void report_stuck(Block& b) {
  for (std::uint32_t n = 0; n < b.barriers.size(); ++n)
    if (b.barriers[n].open && diverged(b, n)) return;
  // Somebody who waits, and somebody who waits elsewhere.
  const Group *one = nullptr, *other = nullptr;
  Warp *first = nullptr, *second = nullptr;
  const auto place = [&](const Group& g) {
    return g.wait == Wait::barrier    ? fmt::format("barrier {}", g.barrier)
           : g.wait == Wait::mbarrier ? describe_mbarrier(b, g.barrier)
           : g.wait == Wait::warpgroup
               ? std::string("wgmma.wait_group, to which other warps of its warpgroup do not come")
           : g.wait == Wait::cluster ? fmt::format("barrier of the cluster, where {} of {} threads are",
                                                   b.cluster->arrived, b.cluster->alive)
                                     : fmt::format("warp operation of lanes {:#010x}", g.members);
  };
  std::uint32_t waiting = 0;
  for (Warp& w : b.warps)
    for (const Group& g : w.groups) {
      waiting += static_cast<std::uint32_t>(std::popcount(g.lanes));
      if (one == nullptr) {
        one = &g;
        first = &w;
      } else if (g.at != one->at && other == nullptr) {
        other = &g;
        second = &w;
      }
    }
  if (one == nullptr) return;
  std::optional<Site> elsewhere;
  if (other != nullptr)
    elsewhere = Findings::site(
        b, *other->at, second->thread(static_cast<unsigned>(std::countr_zero(other->lanes))), place(*other));
  std::string where =
      fmt::format("{} of the block's {} threads wait, {} have left", waiting, b.threads, b.threads - b.alive);
  if (one->wait == Wait::barrier && b.barriers[one->barrier].expected != 0)
    where +=
        fmt::format("; {} of {} came", b.barriers[one->barrier].arrived, b.barriers[one->barrier].expected);
  // Threads of one warp at two places are a divergence; else nobody is left who could come.
  const bool one_warp =
      second != nullptr && first == second && one->wait != Wait::mbarrier && other->wait != Wait::mbarrier;
  end_with(*first, *one->at, one_warp ? FindingKind::barrier_divergence : FindingKind::deadlock,
           static_cast<unsigned>(std::countr_zero(one->lanes)), place(*one), std::move(where),
           std::move(elsewhere));
}

void decode_warp_barrier(Decoder& decoder);

bool Decoder::barrier_operation() {
  if (opcode->op != Op::bar && opcode->op != Op::barrier) return false;
  if (opcode->has("warp")) {
    decode_warp_barrier(*this);
    return true;
  }
  const bool red = opcode->has("red");
  const bool aligned = opcode->op == Op::bar || opcode->has("aligned");
  BarrierKind kind = BarrierKind::sync;
  if (opcode->has("arrive")) kind = BarrierKind::arrive;
  if (red)
    kind = opcode->has("popc") ? BarrierKind::popc : opcode->has("and") ? BarrierKind::all : BarrierKind::any;
  std::size_t at = red ? 1 : 0;
  if (red) step.destination = destination(operands[0], kind == BarrierKind::popc ? 4 : 0);
  if (operands.size() <= at) unsupported();
  step.a = source(operands[at++], 4);
  const std::size_t rest = operands.size() - at;
  step.b = rest == (red ? 2u : 1u) ? source(operands[at++], 4) : constant(0, 4);
  if (red) {
    step.c = source(operands.back(), 0);
    if (operands.back().negated) step.negated |= 4;
  }
  if (kind == BarrierKind::arrive && rest == 0) unsupported("bar.arrive without a count");
  step.flags = static_cast<std::uint16_t>(static_cast<unsigned>(kind) | (aligned ? kAligned : 0u));
  step.run = &run_barrier;
  return true;
}

}  // namespace warploom::sim
