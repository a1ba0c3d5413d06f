// mbarrier: arrivals, bytes of copies, phases, and who waits for them. A thread that waits for a phase that
// is not complete stays where it is until it completes, or until nobody of its block can go on.
#include "sim/mbarrier.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "sim/access.hpp"
#include "sim/decode.hpp"
#include "sim/element_change.hpp"
#include "sim/races.hpp"
#include "warploom/sim/element_type.hpp"

namespace warploom::sim {

using namespace ptx;

namespace {

/// Step::flags: what is done, and how.
enum Flag : std::uint16_t {
  init,
  invalidate,
  expect,
  complete_bytes,
  arrive_,
  test,
  operation = 0xf,
  expects_bytes = 0x10,  ///< arrive.expect_tx: b is bytes
  drops = 0x20,
  not_last = 0x40,  ///< .noComplete
  by_parity = 0x80,
  relaxed = 0x100,
};

constexpr std::uint32_t kMostArrivals = (1u << 20) - 1;

void illegal(Warp& w, const Step& s, unsigned lane, std::uint32_t offset, const std::string& why) {
  fault(w, s, FindingKind::illegal, lane, "mbarrier",
        fmt::format("{}: {}", describe(w, Space::shared, offset), why));
}

void set_bytes(Block& b, std::uint32_t offset, std::uint8_t value) {
  std::fill_n(b.written.begin() + offset, 8, value);
}

/// An operation on the object, to the race detector: one thread's `init` must come before all others.
void note(Warp& w, const Step& s, unsigned lane, MBarrierPlace at, Access::Kind kind, Strength strength) {
  MemoryForm form;
  form.bytes = 8;
  form.strength = strength;
  form.scope = Scope::cluster;
  Pointers to;
  to.space = Space::shared;
  to.lanes = Mask{1} << lane;
  to.address[lane] = at.offset;
  to.block = at.block;
  note_access(w, s, form, to, kind);
}

void wake(Block& b, std::uint32_t offset) {
  for (Warp& w : b.warps)
    for (Group& g : w.groups)
      if (g.wait == Wait::mbarrier && g.barrier == offset) g.wait = Wait::none;
  b.fruitless_waits = 0;
}

void complete_if_due(Block& b, std::uint32_t offset) {
  MBarrier& m = b.mbarriers.at(offset);
  if (m.pending != 0 || m.bytes != 0) return;
  ++m.phase;
  m.pending = m.expected;
  ++b.worker->barriers;
  if (b.worker->races) b.worker->races->mbarrier_complete(b, offset);
  wake(b, offset);
}

void land(Block& b, const TrackedCopy& c) {
  std::byte* const to = b.shared.data() + c.to;
  if (c.change == TensorChange::none) {
    std::memcpy(to, c.data.data(), c.data.size());
  } else {
    const ElementType& type = kElementTypes[c.type];
    change_elements(c.change, type.name, to, c.data.data(),
                    static_cast<std::uint32_t>(c.data.size()) / type.bytes);
  }
  std::fill_n(b.written.begin() + c.to, c.data.size(), kWritten);
}

/// All that the mbarrier tracks lands.
void land(Block& b, std::uint32_t offset) {
  while (!b.mbarriers.at(offset).tracked.empty()) {
    MBarrier& m = b.mbarriers.at(offset);
    const TrackedCopies one = std::move(m.tracked.front());
    m.tracked.erase(m.tracked.begin());
    for (const TrackedCopy& c : one.copies) land(b, c);
    if (b.worker->races) b.worker->races->landed(b, offset, one);
    if (one.arrives && m.pending != 0) --m.pending;
    m.bytes -= one.bytes;
    complete_if_due(b, offset);
  }
}

void run_init(Warp& w, const Step& s, unsigned lane, std::uint32_t offset, std::uint32_t count) {
  Block& b = *w.block;
  if (count == 0 || count > kMostArrivals)
    return illegal(w, s, lane, offset,
                   fmt::format("{} arrivals; 1 to {} are possible", count, kMostArrivals));
  note(w, s, lane, {&b, offset}, Access::write, Strength::weak);
  set_bytes(b, offset, kObject);
  b.mbarriers[offset] = {count, count, 0, 0, {}};
  if (b.worker->races) b.worker->races->mbarrier_begin(b, offset);
}

/// False: a finding ended the kernel.
bool expect_bytes(Warp& w, const Step& s, unsigned lane, MBarrierPlace at, std::int64_t bytes) {
  MBarrier& m = at.block->mbarriers.at(at.offset);
  m.bytes += bytes;
  if (std::abs(m.bytes) <= kMostArrivals) return true;
  illegal(w, s, lane, at.offset, fmt::format("{} bytes expected; {} are the limit", m.bytes, kMostArrivals));
  return false;
}

void run_arrive(Warp& w, const Step& s, unsigned lane, MBarrierPlace at, std::uint32_t operand) {
  Block& b = *at.block;
  const std::uint32_t offset = at.offset;
  MBarrier& m = b.mbarriers.at(offset);
  const std::uint32_t count = (s.flags & expects_bytes) != 0 ? 1 : operand;
  if ((s.flags & expects_bytes) != 0 && !expect_bytes(w, s, lane, at, operand)) return;
  if (count == 0 || count > m.pending)
    return illegal(
        w, s, lane, offset,
        fmt::format("{} arrivals where phase {} lacks {} of {}", count, m.phase, m.pending, m.expected));
  if ((s.flags & not_last) != 0 && count == m.pending)
    return illegal(w, s, lane, offset, fmt::format("arrive.noComplete completes phase {}", m.phase));
  const std::uint64_t state = std::uint64_t{m.phase} << 32 | m.pending;
  if (s.destination != kNoSlot) w.write<std::uint64_t>(s.destination)[lane] = state;
  if ((s.flags & drops) != 0) m.expected -= count;
  m.pending -= count;
  if (b.worker->races && (s.flags & relaxed) == 0) b.worker->races->mbarrier_arrive(w, lane, b, offset);
  b.fruitless_waits = 0;
  complete_if_due(b, offset);
}

/// Whether the phase that the operand names is complete. Empty: a finding ended the kernel.
std::optional<bool> is_complete(Warp& w, const Step& s, unsigned lane, std::uint32_t offset) {
  const MBarrier& m = w.block->mbarriers.at(offset);
  if ((s.flags & by_parity) != 0) return (w.read<std::uint32_t>(s.b)[lane] & 1) != (m.phase & 1);
  const auto phase = static_cast<std::uint32_t>(w.read<std::uint64_t>(s.b)[lane] >> 32);
  if (phase == m.phase) return false;
  if (phase + 1 == m.phase) return true;
  illegal(w, s, lane, offset,
          fmt::format("a state of phase {} where phase {} is under way; it may be this one or the one before",
                      phase, m.phase));
  return {};
}

void run_wait(Warp& w, const Step& s, Mask lanes, const std::uint32_t* offsets) {
  Block& b = *w.block;
  Mask complete = 0;
  for (Mask rest = lanes; rest != 0; rest &= rest - 1) {
    const auto lane = static_cast<unsigned>(std::countr_zero(rest));
    std::optional<bool> done = is_complete(w, s, lane, offsets[lane]);
    if (done && !*done && !b.mbarriers.at(offsets[lane]).tracked.empty()) {
      land(b, offsets[lane]);
      done = is_complete(w, s, lane, offsets[lane]);
    }
    if (!done) return;
    if (*done) complete |= Mask{1} << lane;
  }
  Mask& to = w.predicate(s.destination);
  to = (to & ~lanes) | complete;
  if (b.worker->races && (s.flags & relaxed) == 0)
    for (Mask rest = complete; rest != 0; rest &= rest - 1) {
      const auto lane = static_cast<unsigned>(std::countr_zero(rest));
      b.worker->races->mbarrier_wait(w, lane, offsets[lane]);
    }
  // The others come to this step again when the phase is complete.
  const auto here = static_cast<std::uint32_t>(&s - b.program->steps.data());
  for (Mask rest = lanes & ~complete; rest != 0;) {
    const std::uint32_t offset = offsets[std::countr_zero(rest)];
    Mask same = 0;
    for (unsigned i = 0; i < kLanes; ++i)
      if ((rest >> i & 1) != 0 && offsets[i] == offset) same |= Mask{1} << i;
    rest &= ~same;
    suspend(w, same, {here, same, Wait::mbarrier, offset, 0, &s});
  }
}

/// a: address (extra: its form); b: count, bytes, state or parity; destination: state or predicate.
void run_mbarrier(Registers& r, const Step& s, Mask lanes) {
  Warp& w = warp_of(r);
  Block& b = *w.block;
  const MemoryForm& form = b.program->memory[s.extra];
  std::uint64_t address[kLanes];
  addresses(w, s, form, address);
  poisoned_address(w, s, form, lanes);
  const auto what = s.flags & operation;
  std::uint32_t offsets[kLanes] = {};
  for (Mask rest = lanes; rest != 0; rest &= rest - 1) {
    const auto lane = static_cast<unsigned>(std::countr_zero(rest));
    if (what == init) {
      // No object yet: 8 bytes that lie in an array.
      const std::uint64_t offset = address[lane] - (form.space == Space::generic ? kSharedWindow : 0);
      if (offset < b.shared.size() && b.mbarriers.contains(static_cast<std::uint32_t>(offset)))
        return illegal(w, s, lane, static_cast<std::uint32_t>(offset),
                       "init of an mbarrier that is in use; mbarrier.inval comes first");
      Pointers to;
      if (!resolve(w, s, form.space, address, Mask{1} << lane, 8, 8, true, to)) return;
      if (to.space != Space::shared)
        return fault(w, s, FindingKind::illegal, lane, "mbarrier", "the address is none of shared memory");
      run_init(w, s, lane, static_cast<std::uint32_t>(to.address[lane]), r.read<std::uint32_t>(s.b)[lane]);
      if (w.stop == Stop::halt) return;
      continue;
    }
    const auto at = mbarrier_at(w, s, lane, address[lane], form.space == Space::generic);
    if (!at) return;
    offsets[lane] = at->offset;
    if (at->block != &b && (what == test || what == invalidate))
      return illegal(w, s, lane, at->offset,
                     "of another block of the cluster: one may arrive there, not wait");
    if (what != invalidate) note(w, s, lane, *at, Access::atomic, Strength::relaxed);
    switch (what) {
      case invalidate:
        // No write to the race detector: the pipelines of libcu++ order it by match.sync and a fence of one
        // lane. Who comes later finds no mbarrier.
        set_bytes(b, at->offset, kUnwritten);
        b.mbarriers.erase(at->offset);
        break;
      case expect:
        if (!expect_bytes(w, s, lane, *at, r.read<std::uint32_t>(s.b)[lane])) return;
        break;
      case complete_bytes:
        if (!expect_bytes(w, s, lane, *at, -std::int64_t{r.read<std::uint32_t>(s.b)[lane]})) return;
        complete_if_due(*at->block, at->offset);
        break;
      case arrive_:
        run_arrive(w, s, lane, *at, r.read<std::uint32_t>(s.b)[lane]);
        break;
      default:
        break;
    }
    if (w.stop == Stop::halt) return;
  }
  if (what == test) run_wait(w, s, lanes, offsets);
}

/// mbarrier.pending_count: destination = arrivals that the phase lacked at state a.
void run_pending_count(Registers& r, const Step& s, Mask lanes) {
  const auto* state = r.read<std::uint64_t>(s.a);
  auto* to = r.write<std::uint32_t>(s.destination);
  for (unsigned i = 0; i < kLanes; ++i)
    if ((lanes >> i & 1) != 0) to[i] = static_cast<std::uint32_t>(state[i]);
}

}  // namespace

std::optional<MBarrierPlace> mbarrier_at(Warp& w, const Step& s, unsigned lane, std::uint64_t address,
                                         bool generic) {
  std::uint64_t offset = generic ? address - kSharedWindow : address;
  Block* block = w.block;
  const Cluster& cluster = *block->cluster;
  if (const std::uint64_t above = offset >> kRankShift; above != 0 && above <= cluster.blocks.size()) {
    block = cluster.blocks[above - 1];
    offset &= kPlaceMask;
  }
  if (block->alive != 0 && offset < block->shared.size() &&
      block->mbarriers.contains(static_cast<std::uint32_t>(offset)))
    return MBarrierPlace{block, static_cast<std::uint32_t>(offset)};
  fault(
      w, s, FindingKind::illegal, lane, "mbarrier",
      fmt::format("{}: no mbarrier is there (mbarrier.init makes one)", describe(w, Space::shared, offset)));
  return {};
}

void track(Warp& w, MBarrierPlace place, TrackedCopies tracked) {
  const auto lane = tracked.thread % kLanes;
  if (w.block->worker->races) tracked.issued = w.block->worker->races->issued(w, lane);
  place.block->mbarriers.at(place.offset).tracked.push_back(std::move(tracked));
}

void land_copies_of(Block& b, std::uint32_t thread) {
  for (auto& [offset, m] : b.mbarriers)
    for (TrackedCopies& t : m.tracked) {
      if (t.thread != thread || t.copies.empty()) continue;
      for (const TrackedCopy& c : t.copies) land(b, c);
      t.copies.clear();
    }
}

bool give_up_waiting(Block& b) {
  constexpr std::uint32_t kMost = 10'000;
  if (b.fruitless_waits == kMost) return false;
  bool any = false;
  for (Warp& w : b.warps)
    for (Group& g : w.groups) {
      if (g.wait != Wait::mbarrier) continue;
      g.wait = Wait::none;
      g.pc = static_cast<std::uint32_t>(g.at - b.program->steps.data()) + 1;
      w.predicate(g.at->destination) &= ~g.lanes;
      any = true;
    }
  if (any) ++b.fruitless_waits;
  return any;
}

std::string describe_mbarrier(const Block& b, std::uint32_t offset) {
  const MBarrier& m = b.mbarriers.at(offset);
  return fmt::format("mbarrier at {}: phase {} lacks {} of {} arrivals and {} bytes",
                     describe_shared(b, offset), m.phase, m.pending, m.expected, m.bytes);
}

void Decoder::mbarrier() {
  const auto has = [&](std::string_view part) { return opcode->has(part); };
  if (has("pending_count")) {
    step.a = source(operands[1], 8);
    step.destination = destination(operands[0], 4);
    step.run = &run_pending_count;
    return;
  }
  std::uint16_t flags = has("relaxed") ? relaxed : 0;
  std::size_t at = 0;
  step.destination = kNoSlot;
  if (has("init")) {
    flags |= init;
  } else if (has("inval")) {
    flags |= invalidate;
  } else if (has("arrive") || has("arrive_drop")) {
    flags |= arrive_;
    if (has("arrive_drop")) flags |= drops;
    if (has("expect_tx")) flags |= expects_bytes;
    if (has("noComplete")) flags |= not_last;
    if (operands[0].kind != OperandKind::address) {
      if (operands[0].kind != OperandKind::sink) step.destination = destination(operands[0], 8);
      at = 1;
    }
  } else if (has("expect_tx")) {
    flags |= expect;
  } else if (has("complete_tx")) {
    flags |= complete_bytes;
  } else if (has("test_wait") || has("try_wait")) {
    flags |= test;
    if (has("parity")) flags |= by_parity;
    step.destination = destination(operands[0], 0);
    at = 1;
  } else {
    unsupported();
  }
  if (operands.size() <= at) unsupported();
  MemoryForm form = memory_form();
  form.bytes = 8;
  address(operands[at++], form);
  const bool state = (flags & operation) == test && (flags & by_parity) == 0;
  const unsigned width = state ? 8 : 4;
  step.b = at < operands.size() ? source(operands[at], width) : constant(1, width);  // else one arrival
  step.flags = flags;
  step.extra = static_cast<std::uint32_t>(program.memory.size());
  program.memory.push_back(form);
  step.run = &run_mbarrier;
}

}  // namespace warploom::sim
