// What the lanes of a warp do together: shuffles, votes, matches, reductions, bar.warp.sync, and fences.
#include <fmt/format.h>

#include <cstring>

#include "sim/block.hpp"
#include "sim/decode.hpp"
#include "sim/poison.hpp"
#include "sim/races.hpp"

namespace warploom::sim {

using namespace ptx;

namespace {

enum Flag : std::uint16_t {
  up = 1,
  down = 2,
  butterfly = 3,
  index = 4,  // shfl
  all = 1,
  any = 2,
  uniform = 3,
  ballot = 4,  // vote
  add_ = 1,
  min_s = 2,
  max_s = 3,
  min_u = 4,
  max_u = 5,
  and_ = 6,
  or_ = 7,
  xor_ = 8,  // redux
  without_sync = 0x100
};

void illegal(Warp& w, const Step& s, unsigned lane, std::string what, std::string where) {
  w.block->worker->findings.add(*w.block, FindingKind::illegal, s, w.index, lane, std::move(what),
                                std::move(where));
  w.block->worker->halted = true;
  w.stop = Stop::halt;
}

/// The lanes that execute a .sync instruction together: those of the mask that the first lane names. They may
/// not be the ones that came; `lanes` becomes those to do now. False: they wait, or the kernel ended.
bool together(Warp& w, const Step& s, Source members, Mask& lanes, Mask& group) {
  const auto* masks = w.read<std::uint32_t>(members);
  const auto first = static_cast<unsigned>(std::countr_zero(lanes));
  group = masks[first];
  // Lanes that name another mask form another group: they come again.
  Mask same = 0;
  for (Mask rest = lanes; rest != 0; rest &= rest - 1) {
    const auto i = static_cast<unsigned>(std::countr_zero(rest));
    if (masks[i] == group) same |= Mask{1} << i;
  }
  if ((same & ~group) != 0) {
    const auto lane = static_cast<unsigned>(std::countr_zero(same & ~group));
    illegal(w, s, lane, "warp operation",
            fmt::format("its mask {:#010x} does not name lane {} itself", group, lane));
    return false;
  }
  if (same != lanes) {
    w.groups.push_back({static_cast<std::uint32_t>(&s - w.block->program->steps.data()), lanes & ~same,
                        Wait::none, 0, 0, nullptr});
    w.activate(w.active & ~(lanes & ~same));
    lanes = same;
  }
  return gather(w, s, lanes, group);
}

template <typename T>
void blend(T* to, const T* from, Mask lanes) {
  for (unsigned i = 0; i < kLanes; ++i)
    if ((lanes >> i & 1) != 0) to[i] = from[i];
}

/// a: value, b: lane or distance, c: clamp and segment, d: mask; second: predicate.
void run_shuffle(Registers& r, const Step& s, Mask lanes) {
  Warp& w = warp_of(r);
  Mask group = lanes;
  if ((s.flags & without_sync) == 0 && !together(w, s, s.d, lanes, group)) return;
  const auto *value = r.read<std::uint32_t>(s.a), *by = r.read<std::uint32_t>(s.b),
             *clamps = r.read<std::uint32_t>(s.c);
  std::uint32_t result[kLanes];
  Mask valid = 0, undefined = 0;
  const Mask unwritten = w.poisoned == 0 ? 0 : operand_poison(w, s, 1);
  for (Mask rest = lanes; rest != 0; rest &= rest - 1) {
    const auto lane = static_cast<unsigned>(std::countr_zero(rest));
    // PTX ISA, shfl: the pseudocode.
    const std::uint32_t b = by[lane] & 31, clamp = clamps[lane] & 31, segment = clamps[lane] >> 8 & 31;
    const std::uint32_t highest = (lane & segment) | (clamp & ~segment), lowest = lane & segment;
    std::int32_t from = 0;
    bool ok = false;
    switch (s.flags & 0xff) {
      case up:
        from = static_cast<std::int32_t>(lane) - static_cast<std::int32_t>(b);
        ok = from >= static_cast<std::int32_t>(highest);
        break;
      case down:
        from = static_cast<std::int32_t>(lane + b);
        ok = from <= static_cast<std::int32_t>(highest);
        break;
      case butterfly:
        from = static_cast<std::int32_t>(lane ^ b);
        ok = from <= static_cast<std::int32_t>(highest);
        break;
      default:
        from = static_cast<std::int32_t>(lowest | (b & ~segment));
        ok = from <= static_cast<std::int32_t>(highest);
    }
    if (!ok) from = static_cast<std::int32_t>(lane);
    if (ok) valid |= Mask{1} << lane;
    // A lane that does not take part has nothing to give: what comes is undefined.
    const Mask source = Mask{1} << from;
    if ((source & lanes) == 0 || (source & unwritten) != 0) undefined |= Mask{1} << lane;
    result[lane] = value[from];
  }
  if (undefined != 0 || w.poisoned != 0) poison_shuffled(w, s, undefined, lanes & ~undefined);
  blend(r.write<std::uint32_t>(s.destination), result, lanes);
  if (s.second != kNoSlot) r.predicate(s.second) = (r.predicate(s.second) & ~lanes) | (valid & lanes);
}

/// a: predicate, b: mask.
void run_vote(Registers& r, const Step& s, Mask lanes) {
  Warp& w = warp_of(r);
  Mask group = lanes;
  if ((s.flags & without_sync) == 0 && !together(w, s, s.b, lanes, group)) return;
  const Mask p = ((s.negated & 1) != 0 ? ~r.predicate(s.a) : r.predicate(s.a)) & lanes;
  bool result = false;
  switch (s.flags & 0xff) {
    case all:
      result = p == lanes;
      break;
    case any:
      result = p != 0;
      break;
    case uniform:
      result = p == lanes || p == 0;
      break;
    default: {
      auto* to = r.write<std::uint32_t>(s.destination);
      for (unsigned i = 0; i < kLanes; ++i)
        if ((lanes >> i & 1) != 0) to[i] = p;
      return;
    }
  }
  Mask& to = r.predicate(s.destination);
  to = (to & ~lanes) | (result ? lanes : 0);
}

/// a: value, b: mask.
template <typename T>
void run_match(Registers& r, const Step& s, Mask lanes) {
  Warp& w = warp_of(r);
  Mask group = lanes;
  if (!together(w, s, s.b, lanes, group)) return;
  const T* value = r.read<T>(s.a);
  std::uint32_t result[kLanes];
  Mask equal = 0;
  for (unsigned i = 0; i < kLanes; ++i) {
    if ((lanes >> i & 1) == 0) continue;
    result[i] = 0;
    for (unsigned j = 0; j < kLanes; ++j)
      if ((lanes >> j & 1) != 0 && value[j] == value[i]) result[i] |= Mask{1} << j;
    if (result[i] == lanes) equal |= Mask{1} << i;
  }
  if ((s.flags & 0xff) == all) {
    for (unsigned i = 0; i < kLanes; ++i) result[i] = equal != 0 ? lanes : 0;
    if (s.second != kNoSlot) r.predicate(s.second) = (r.predicate(s.second) & ~lanes) | (equal & lanes);
  }
  blend(r.write<std::uint32_t>(s.destination), result, lanes);
}

/// a: value, b: mask.
void run_reduce(Registers& r, const Step& s, Mask lanes) {
  Warp& w = warp_of(r);
  Mask group = lanes;
  if (!together(w, s, s.b, lanes, group)) return;
  const auto* value = r.read<std::uint32_t>(s.a);
  std::uint32_t result = value[std::countr_zero(lanes)];
  for (Mask rest = lanes & (lanes - 1); rest != 0; rest &= rest - 1) {
    const std::uint32_t v = value[std::countr_zero(rest)];
    const auto a = static_cast<std::int32_t>(result), b = static_cast<std::int32_t>(v);
    switch (s.flags & 0xff) {
      case add_:
        result += v;
        break;
      case min_s:
        result = static_cast<std::uint32_t>(std::min(a, b));
        break;
      case max_s:
        result = static_cast<std::uint32_t>(std::max(a, b));
        break;
      case min_u:
        result = std::min(result, v);
        break;
      case max_u:
        result = std::max(result, v);
        break;
      case and_:
        result &= v;
        break;
      case or_:
        result |= v;
        break;
      default:
        result ^= v;
    }
  }
  auto* to = r.write<std::uint32_t>(s.destination);
  for (unsigned i = 0; i < kLanes; ++i)
    if ((lanes >> i & 1) != 0) to[i] = result;
}

void run_active_mask(Registers& r, const Step& s, Mask lanes) {
  auto* to = r.write<std::uint32_t>(s.destination);
  for (unsigned i = 0; i < kLanes; ++i)
    if ((lanes >> i & 1) != 0) to[i] = lanes;
}

/// destination: the elected lane; second: who that is.
void run_elect(Registers& r, const Step& s, Mask lanes) {
  Warp& w = warp_of(r);
  Mask group = lanes;
  if (!together(w, s, s.a, lanes, group)) return;
  const auto leader = static_cast<std::uint32_t>(std::countr_zero(lanes));
  auto* to = r.write<std::uint32_t>(s.destination);
  for (unsigned i = 0; i < kLanes; ++i)
    if ((lanes >> i & 1) != 0) to[i] = leader;
  if (s.second != kNoSlot) r.predicate(s.second) = (r.predicate(s.second) & ~lanes) | (Mask{1} << leader);
}

/// bar.warp.sync of mask a. Lanes may come to it at different places of the code, so each waits behind its
/// own.
void run_warp_barrier(Registers& r, const Step& s, Mask lanes) {
  Warp& w = warp_of(r);
  const auto* masks = r.read<std::uint32_t>(s.a);
  const auto first = static_cast<unsigned>(std::countr_zero(lanes));
  const Mask members = masks[first];
  Mask same = 0;
  for (Mask rest = lanes; rest != 0; rest &= rest - 1) {
    const auto i = static_cast<unsigned>(std::countr_zero(rest));
    if (masks[i] == members) same |= Mask{1} << i;
  }
  if ((same & ~members) != 0) {
    const auto lane = static_cast<unsigned>(std::countr_zero(same & ~members));
    return illegal(w, s, lane, "bar.warp.sync",
                   fmt::format("its mask {:#010x} does not name lane {} itself", members, lane));
  }
  if (same != lanes) {
    w.groups.push_back({static_cast<std::uint32_t>(&s - w.block->program->steps.data()), lanes & ~same,
                        Wait::none, 0, 0, nullptr});
    w.activate(w.active & ~(lanes & ~same));
  }
  suspend(w, same, {w.pc, same, Wait::lanes, 0, members, &s});
  // Back at once, if these were the last.
  if (release_if_all_there(w, s, members) && w.active != 0) reconverge(w);
}

/// flags: the scope, and above it the side.
void run_fence(Registers& r, const Step& s, Mask lanes) {
  Warp& w = warp_of(r);
  if (w.block->worker->races)
    w.block->worker->races->fence(w, lanes, static_cast<Scope>(s.flags & 0xFF),
                                  static_cast<Strength>(s.flags >> 8));
  if (w.block->worker->yield_at_access) w.stop = Stop::yield;
}

/// flags: of which memory.
void run_proxy_fence(Registers& r, const Step& s, Mask lanes) {
  Warp& w = warp_of(r);
  if (w.block->worker->races)
    w.block->worker->races->proxy_fence(w, lanes, static_cast<std::uint8_t>(s.flags));
}

void run_sleep(Registers& r, const Step&, Mask) { warp_of(r).stop = Stop::yield; }

}  // namespace

bool whole_warp(Warp& w, const Step& s, Mask lanes) {
  if (w.alive != kAllLanes) {
    illegal(w, s, static_cast<unsigned>(std::countr_zero(lanes)),
            std::string(mnemonic(w.block->program->module->opcode(w.block->program->instruction(s)).op)),
            fmt::format("it needs all 32 threads of its warp; {} are there", std::popcount(w.alive)));
    return false;
  }
  return gather(w, s, lanes, kAllLanes);
}

bool release_if_all_there(Warp& w, const Step& at, Mask members) {
  const bool barrier = at.run == &run_warp_barrier;
  const auto is_there = [&](const Group& g) {
    return g.wait == Wait::lanes && g.members == members &&
           (barrier ? g.at->run == &run_warp_barrier : g.at == &at);
  };
  Mask there = 0;
  for (const Group& g : w.groups)
    if (is_there(g)) there |= g.lanes;
  if ((members & w.alive & ~there) != 0) return false;
  for (Group& g : w.groups)
    if (is_there(g)) g.wait = Wait::none;
  if (barrier && w.block->worker->races) w.block->worker->races->warp_sync(w, there);
  return true;
}

bool Decoder::warp_operation() {
  const bool sync = opcode->has("sync");
  const auto result = [&](unsigned bytes) {
    if (operands[0].kind == OperandKind::pair) {
      const auto pair = function->children(operands[0]);
      step.destination = destination(pair[0], bytes);
      step.second = destination(pair[1], 0);
    } else {
      step.destination = destination(operands[0], bytes);
    }
  };
  const auto flag = [&](std::initializer_list<std::pair<std::string_view, Flag>> names) {
    for (const auto& [name, value] : names)
      if (opcode->has(name)) {
        step.flags = value;
        return;
      }
    unsupported();
  };
  switch (opcode->op) {
    case Op::shfl:
      if (operands.size() != (sync ? 5u : 4u) || opcode->bytes != 4) unsupported();
      result(4);
      step.a = source(operands[1], 4);
      step.b = source(operands[2], 4);
      step.c = source(operands[3], 4);
      if (sync) step.d = source(operands[4], 4);
      flag({{"up", up}, {"down", down}, {"bfly", butterfly}, {"idx", index}});
      if (!sync) step.flags |= without_sync;
      step.run = &run_shuffle;
      return true;
    case Op::vote:
      if (operands.size() != (sync ? 3u : 2u)) unsupported();
      result(opcode->has("ballot") ? 4 : 0);
      step.a = source(operands[1], 0);
      if (operands[1].negated) step.negated = 1;
      if (sync) step.b = source(operands[2], 4);
      flag({{"all", all}, {"any", any}, {"uni", uniform}, {"ballot", ballot}});
      if (!sync) step.flags |= without_sync;
      step.run = &run_vote;
      return true;
    case Op::match:
      if (operands.size() != 3) unsupported();
      result(4);
      step.a = source(operands[1], opcode->bytes);
      step.b = source(operands[2], 4);
      flag({{"all", all}, {"any", any}});
      step.run = opcode->bytes == 8 ? &run_match<std::uint64_t> : &run_match<std::uint32_t>;
      return true;
    case Op::redux: {
      if (operands.size() != 3 || opcode->bytes != 4 || opcode->parts.back() == "f32") unsupported();
      result(4);
      step.a = source(operands[1], 4);
      step.b = source(operands[2], 4);
      const bool sign = opcode->parts.back() == "s32";
      flag({{"add", add_},
            {"min", sign ? min_s : min_u},
            {"max", sign ? max_s : max_u},
            {"and", and_},
            {"or", or_},
            {"xor", xor_}});
      step.run = &run_reduce;
      return true;
    }
    case Op::activemask:
      result(4);
      step.run = &run_active_mask;
      return true;
    case Op::elect:
      if (operands.size() != 2) unsupported();
      result(4);
      step.a = source(operands[1], 4);
      step.run = &run_elect;
      return true;
    case Op::membar:
    case Op::fence: {
      if (opcode->has("proxy")) {
        // The asynchronous proxy sees what is written at once: its fence matters to the race detector alone.
        // So does what an alias of an address sees.
        const bool tensor_maps =
            opcode->has("tensormap") || opcode->has("tensormap::generic") || opcode->has("alias");
        if (!tensor_maps && !opcode->has("async") && !opcode->has("async::generic")) unsupported();
        const bool global = opcode->has("global"),
                   shared = opcode->has("shared::cta") || opcode->has("shared::cluster");
        step.flags = static_cast<std::uint16_t>((shared ? 0 : kProxyGlobal) | (global ? 0 : kProxyShared));
        step.run = tensor_maps ? &run_nothing : &run_proxy_fence;
        return true;
      }
      const Scope scope = opcode->has("cta")                        ? Scope::block
                          : opcode->has("cluster")                  ? Scope::cluster
                          : opcode->has("gl") || opcode->has("gpu") ? Scope::gpu
                                                                    : Scope::system;
      const Strength sides = opcode->has("acquire")   ? Strength::acquire
                             : opcode->has("release") ? Strength::release
                                                      : Strength::acquire_release;
      step.flags =
          static_cast<std::uint16_t>(static_cast<unsigned>(scope) | static_cast<unsigned>(sides) << 8);
      step.run = &run_fence;
      return true;
    }
    case Op::nanosleep:
      step.run = &run_sleep;
      return true;
    case Op::griddepcontrol:
    case Op::setmaxnreg:
      step.run = &run_nothing;
      return true;
    default:
      return false;
  }
}

/// bar.warp.sync, for barriers.cpp, where the name begins alike.
void decode_warp_barrier(Decoder& d) {
  d.step.a = d.source(d.operands[0], 4);
  d.step.run = &run_warp_barrier;
}

}  // namespace warploom::sim
