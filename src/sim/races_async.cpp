#include <array>
#include <bit>
#include <string_view>

#include "sim/race_state.hpp"

namespace warploom::sim {

void RaceDetector::proxy_fence(Warp& warp, Mask lanes, std::uint8_t memory) {
  Tracked& t = tracked(*warp.block);
  t.proxy_fences.resize(warp.block->warps.size() * kLanes);
  for (Mask rest = lanes; rest != 0; rest &= rest - 1) {
    const std::uint32_t thread = warp.thread(static_cast<unsigned>(std::countr_zero(rest)));
    auto& fences = t.proxy_fences[thread];
    fences.push_back({t.order.now(), t.order.clock_of(thread), memory, thread, {}});
    if (fences.size() > Tracked::kFences) fences.pop_front();
    if ((memory & kProxyGlobal) == 0 || state_->global_regime != Regime::interleaved) continue;
    auto& global = state_->global_fences[warp.block->number];
    global.push_back(fences.back());
    global.back().foreign = t.order.foreign_of(thread);
    if (global.size() > State::kGlobalFences) global.pop_front();
  }
  t.order.released();  // what these threads do next is later
}

void RaceDetector::asynchronous(Warp& warp, unsigned lane, const Step& step, Access::Kind kind,
                                std::uint32_t offset, std::uint32_t bytes) {
  const State& s = *state_;
  const Block& block = *warp.block;
  state_->missing_fence(warp, lane, step, kind, tracked(block).shared, offset >> s.shared_shift,
                        (offset + bytes - 1) >> s.shared_shift, bytes, kProxyShared, [&](std::size_t cell) {
                          return describe_shared(block, static_cast<std::uint32_t>(cell << s.shared_shift));
                        });
}

void RaceDetector::asynchronous_global(Warp& warp, unsigned lane, const Step& step, Access::Kind kind,
                                       Address address, std::uint32_t bytes) {
  State& s = *state_;
  if (!s.ordinary_global_writes) return;
  constexpr Address kPage = Address{1} << State::kPageShift;
  for (Address at = address; at < address + bytes;) {
    const Address page = at & ~(kPage - 1), end = std::min(address + bytes, page + kPage);
    const auto cell_of = [&](Address a) { return static_cast<std::size_t>((a - page) >> s.global_shift); };
    if (s.missing_fence(warp, lane, step, kind, s.page(at), cell_of(at), cell_of(end - 1), bytes,
                        kProxyGlobal, [&](std::size_t cell) {
                          return describe_global(s.memory, page + (Address{cell} << s.global_shift));
                        }))
      return;
    at = end;
  }
}

template <typename Describe>
bool RaceDetector::State::missing_fence(Warp& warp, unsigned lane, const Step& step, Access::Kind kind,
                                        const Region& region, std::size_t first, std::size_t last,
                                        std::uint32_t bytes, std::uint8_t memory, Describe describe) {
  State& s = *this;
  const Block& block = *warp.block;
  const Tracked& t = tracked(block);
  const std::uint32_t thread = warp.thread(lane);
  Seen good;  // neighbours are mostly written by one thread at once
  for (const Layer* layer : std::array<const Layer*, 2>{&region.weak, region.strong.get()}) {
    if (layer == nullptr) continue;
    for (std::size_t cell = first; cell <= last; ++cell) {
      const Seen write = layer->seen(Layer::write_time, cell);
      if (write.time == 0 || (write.time == good.time && write.who == good.who)) continue;
      const std::uint64_t wrote = s.timeline.owner(write.time);
      const bool own = wrote == block.number;
      // In shared memory what is older is of a block that is no more; others of a cluster are not looked at.
      if (memory == kProxyShared && (write.time < t.began || !own)) continue;
      const Accessor& writer = s.accessors[write.who >> kThreadBits];
      const ptx::Opcode& by = s.program.module->opcode(s.program.instruction(*writer.step));
      // Bulk copies are of this proxy, cp.async is not; what nothing orders is a race already.
      if ((by.op == ptx::Op::cp && by.has("bulk")) || by.op == ptx::Op::mbarrier ||
          (own ? !t.order.before(write.time, write.who & kThreadMask, thread) ||
                     t.fenced(write, thread, memory)
               : !t.order.before(write.time, wrote, write.who & kThreadMask, thread) ||
                     s.fenced_elsewhere(t, write, wrote, thread))) {
        good = write;
        continue;
      }
      constexpr std::string_view kKinds[] = {"read", "write", "atomic"};
      Site site = Findings::site(block, *writer.step, t.thread_of(write.who & kThreadMask), writer.what());
      site.block = s.place_of(block, wrote);
      s.findings.add(block, FindingKind::proxy, step, warp.index, lane,
                     fmt::format("asynchronous {} of {} bytes", kKinds[kind], bytes), describe(cell),
                     std::move(site));
      return true;
    }
  }
  return false;
}

bool RaceDetector::State::fenced_elsewhere(const Tracked& t, Seen write, std::uint64_t writer,
                                           std::uint32_t thread) const {
  const std::uint32_t by = write.who & kThreadMask;
  const std::uint64_t here = t.order.number();
  return std::ranges::any_of(global_fences, [&](const auto& of_block) {
    const auto& [block, fences] = of_block;
    return std::ranges::any_of(fences, [&, number = block](const Tracked::ProxyFence& f) {
      const BlockClock* const known = number == writer ? &f.known : f.foreign.find(writer);
      const bool after = (number == writer && f.thread == by && write.time <= f.time) ||
                         (known != nullptr && write.time <= known->of(by));
      return after && (number == here ? t.order.before(f.time, f.thread, thread)
                                      : t.order.before(f.time, number, f.thread, thread));
    });
  });
}

void RaceDetector::overwritten(Warp& warp, unsigned lane, const Step& step, std::uint32_t offset) {
  State& s = *state_;
  Tracked& t = tracked(*warp.block);
  std::uint64_t address[kLanes] = {};
  address[lane] = offset;
  Access a;
  a.kind = Access::write;
  a.shared = true;
  a.bytes = 1;
  a.lanes = Mask{1} << lane;
  a.address = address;
  a.step = &step;
  const Who who = s.number(a) | warp.thread(lane);
  const std::size_t cell = offset >> s.shared_shift;
  for (const Layer* layer : std::array<const Layer*, 2>{&t.shared.weak, t.shared.strong.get()}) {
    if (layer == nullptr) continue;
    const Seen write = layer->seen(Layer::write_time, cell);
    if (write.time < t.began || s.accessors[write.who >> kThreadBits].step == &step) continue;
    if (s.reported.contains(State::pair(who, write.who))) return;
    return s.report({*warp.block, a, warp.index, lane, warp.thread(lane), who, false}, write, offset);
  }
}

std::int32_t RaceDetector::issued_at(Warp& warp) {
  BlockOrder& order = tracked(*warp.block).order;
  const Time now = order.now();
  order.released();
  return now;
}

void RaceDetector::written_since(Warp& warp, unsigned lane, const Step& step, std::uint32_t offset,
                                 std::uint32_t bytes, std::int32_t time) {
  State& s = *state_;
  Tracked& t = tracked(*warp.block);
  std::uint64_t address[kLanes] = {};
  address[lane] = offset;
  Access a;
  a.shared = true;
  a.bytes = bytes;
  a.lanes = Mask{1} << lane;
  a.address = address;
  a.step = &step;
  const Who who = s.number(a) | warp.thread(lane);
  for (const Layer* layer : std::array<const Layer*, 2>{&t.shared.weak, t.shared.strong.get()}) {
    if (layer == nullptr) continue;
    for (std::size_t cell = offset >> s.shared_shift; cell <= (offset + bytes - 1) >> s.shared_shift;
         ++cell) {
      const Seen write = layer->seen(Layer::write_time, cell);
      if (write.time <= time) continue;
      if (s.reported.contains(State::pair(who, write.who))) return;
      return s.report({*warp.block, a, warp.index, lane, warp.thread(lane), who, false}, write,
                      std::uint64_t{cell} << s.shared_shift);
    }
  }
}

void RaceDetector::mbarrier_begin(Block& block, std::uint32_t offset) {
  Tracked& t = tracked(block);
  const auto [at, fresh] = t.mbarriers.try_emplace(offset);
  if (!fresh) at->second = {};
  if (t.first_agent != ptx::kNone)
    at->second.agent = t.first_agent + static_cast<std::uint32_t>(t.mbarriers.size() - 1) % Tracked::kAgents;
}

void RaceDetector::cluster_arrive(Warp& warp, Mask lanes, bool releases, Released& arriving) {
  Tracked& t = tracked(*warp.block);
  for (Mask rest = lanes; rest != 0; rest &= rest - 1)
    arriving.join(t.order.release(warp.thread(static_cast<unsigned>(std::countr_zero(rest))), releases,
                                  Scope::cluster));
  t.order.released();
}

void RaceDetector::cluster_wait(Warp& warp, Mask lanes, const Released& completed) {
  Tracked& t = tracked(*warp.block);
  for (Mask rest = lanes; rest != 0; rest &= rest - 1)
    t.order.acquire(warp.thread(static_cast<unsigned>(std::countr_zero(rest))), completed, true,
                    Scope::cluster);
}

void RaceDetector::mbarrier_arrive(Warp& warp, unsigned lane, Block& block, std::uint32_t offset) {
  Tracked& t = tracked(*warp.block);
  tracked(block).mbarriers[offset].arriving.join(t.order.release(warp.thread(lane), true, state_->scope()));
  t.order.released();
}

void RaceDetector::mbarrier_complete(Block& block, std::uint32_t offset) {
  Tracked::Phases& p = tracked(block).mbarriers[offset];
  p.completed.join(p.arriving);
  p.arriving = {};
}

void RaceDetector::mbarrier_wait(Warp& warp, unsigned lane, std::uint32_t offset) {
  Tracked& t = tracked(*warp.block);
  t.order.acquire(warp.thread(lane), t.mbarriers[offset].completed, true, state_->scope());
}

std::shared_ptr<const void> RaceDetector::issued(Warp& warp, unsigned lane) {
  Tracked& t = tracked(*warp.block);
  auto known = std::make_shared<const Released>(t.order.release(warp.thread(lane), true, state_->scope()));
  t.order.released();
  return known;
}

void RaceDetector::landed(Block& block, std::uint32_t offset, const TrackedCopies& copies) {
  Tracked& t = tracked(block);
  Tracked::Phases& p = t.mbarriers[offset];
  const auto* issued = static_cast<const Released*>(copies.issued.get());
  const std::uint32_t agent = p.agent != ptx::kNone ? p.agent : copies.thread;
  if (p.agent != ptx::kNone) t.issuers[agent - t.first_agent] = copies.thread;
  if (issued != nullptr) {
    t.order.acquire(agent, *issued, true, state_->scope());
    p.arriving.join(*issued);
  }
  for (const TrackedCopy& c : copies.copies) {
    std::uint64_t address[kLanes] = {};
    address[agent % kLanes] = c.to;
    Access a;
    a.kind = Access::write;
    if (c.change != TensorChange::none) {
      a.kind = Access::atomic;
      a.strength = Strength::relaxed;
      a.scope = Scope::gpu;
    }
    a.shared = true;
    a.bytes = static_cast<std::uint32_t>(c.data.size());
    a.lanes = Mask{1} << agent % kLanes;
    a.address = address;
    a.step = c.step;
    state_->examine({block, a, agent / kLanes, agent % kLanes, agent, state_->number(a) | agent, false});
  }
  t.order.released();
  p.arriving.join(t.order.release(agent, true, state_->scope()));
  t.order.released();
}

namespace {

/// The agent of the warp's products; where a block has too many threads for one, the warp's first thread.
std::uint32_t product_agent(const Tracked& t, const Warp& w) {
  return t.first_agent == ptx::kNone ? w.thread(0) : t.first_agent + Tracked::kAgents + w.index / 4;
}

}  // namespace

void RaceDetector::product_issued(Warp& warp) {
  Tracked& t = tracked(*warp.block);
  const std::uint32_t agent = product_agent(t, warp);
  if (agent == warp.thread(0)) return;
  t.issuers[agent - t.first_agent] = warp.thread(0);
  t.order.acquire(agent, t.order.release(warp.thread(0), true, state_->scope()), true, state_->scope());
  t.order.released();
}

void RaceDetector::product_reads(Warp& warp, const Step& step, std::uint32_t offset, std::uint32_t bytes) {
  const std::uint32_t agent = product_agent(tracked(*warp.block), warp);
  std::uint64_t address[kLanes] = {};
  address[agent % kLanes] = offset;
  Access a;
  a.shared = true;
  a.bytes = bytes;
  a.lanes = Mask{1} << agent % kLanes;
  a.address = address;
  a.step = &step;
  state_->examine({*warp.block, a, agent / kLanes, agent % kLanes, agent, state_->number(a) | agent, false});
}

void RaceDetector::product_waited(Warp& warp, Mask lanes) {
  Tracked& t = tracked(*warp.block);
  const std::uint32_t agent = product_agent(t, warp);
  for (Mask rest = lanes; rest != 0; rest &= rest - 1)
    t.order.come_after(warp.thread(static_cast<unsigned>(std::countr_zero(rest))), agent);
}

}  // namespace warploom::sim
