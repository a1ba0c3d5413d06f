// cp.async: copies from global to shared memory that are there when the thread has waited for them. Until
// then the bytes are what nobody wrote, which is how a read that comes too early is found; the data is read
// when the copy is issued.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "sim/access.hpp"
#include "sim/decode.hpp"
#include "sim/races.hpp"

namespace warploom::sim {

using namespace ptx;

namespace {

/// a: shared address, b: global address; c: bytes read (the rest is zero), if flags; extra: form of the
/// destination; the one after it is the source's.
void run_copy(Registers& r, const Step& s, Mask lanes) {
  Warp& w = warp_of(r);
  const Program& p = *w.block->program;
  const MemoryForm &to_form = p.memory[s.extra], &from_form = p.memory[s.extra + 1];
  std::uint64_t address[kLanes];
  addresses(w, s, to_form, address);
  Pointers to, from;
  if (!resolve(w, s, Space::shared, address, lanes, to_form.bytes, to_form.bytes, true, to)) return;
  Step source_step = s;
  source_step.a = s.b;
  source_step.immediate = p.copy_displacements[s.second];
  addresses(w, source_step, from_form, address);
  Mask reading = lanes;
  const auto* sizes = s.flags != 0 ? r.read<std::uint32_t>(s.c) : nullptr;
  if (sizes != nullptr)
    for (unsigned i = 0; i < kLanes; ++i)
      if (sizes[i] == 0) reading &= ~(Mask{1} << i);
  from.lanes = 0;
  if (reading != 0) {
    if (!resolve(w, s, Space::global, address, reading, to_form.bytes, to_form.bytes, false, from)) return;
    note_access(w, s, from_form, from, Access::read);
  }
  note_access(w, s, to_form, to, Access::write);  // it may land any time from now on
  mark_written(w, to, to_form.bytes, false);
  for (Mask rest = lanes; rest != 0; rest &= rest - 1) {
    const auto i = static_cast<unsigned>(std::countr_zero(rest));
    Warp::AsyncCopy copy;
    copy.to = static_cast<std::uint32_t>(to.address[i]);
    copy.bytes = to_form.bytes;
    copy.lane = static_cast<std::uint8_t>(i);
    copy.step = &s;
    if ((reading >> i & 1) != 0) {
      const std::uint32_t size =
          sizes == nullptr ? to_form.bytes : std::min<std::uint32_t>(sizes[i], to_form.bytes);
      std::memcpy(copy.data, from.at[i], size);
    }
    w.copies.push_back(copy);
  }
}

/// Of those bytes, what other copies will write is not there yet.
void still_under_way(Block& b, std::uint32_t begin, std::uint32_t end) {
  const auto mark = [&](const std::vector<Warp::AsyncCopy>& copies) {
    for (const Warp::AsyncCopy& c : copies)
      for (std::uint32_t at = std::max(begin, c.to); at < std::min(end, c.to + c.bytes); ++at)
        b.written[at] = kUnwritten;
  };
  for (const Warp& w : b.warps) {
    mark(w.copies);
    for (const Warp::CopyGroup& g : w.copy_groups) mark(g.copies);
  }
}

/// Who wrote where a copy is under way raced with it, whatever barriers lie between: only its wait orders it.
void note_writes_meanwhile(Warp& w, const Warp::AsyncCopy& copy) {
  RaceDetector* const races = w.block->worker->races.get();
  if (races == nullptr) return;
  for (std::uint32_t at = copy.to; at < copy.to + copy.bytes; ++at)
    if (w.block->written[at] != kUnwritten) return races->overwritten(w, copy.lane, *copy.step, at);
}

/// The copies of these lanes arrive.
void finish(Warp& w, std::vector<Warp::AsyncCopy>& copies, Mask lanes) {
  const Program& p = *w.block->program;
  for (std::size_t c = 0; c < copies.size();) {
    const Warp::AsyncCopy& copy = copies[c];
    if ((lanes >> copy.lane & 1) == 0) {
      ++c;
      continue;
    }
    Pointers to;
    to.space = Space::shared;
    to.lanes = Mask{1} << copy.lane;
    to.address[copy.lane] = copy.to;
    note_writes_meanwhile(w, copy);
    note_access(w, *copy.step, p.memory[copy.step->extra], to, Access::write);
    std::memcpy(w.block->shared.data() + copy.to, copy.data, copy.bytes);
    mark_written(w, to, copy.bytes);
    const std::uint32_t begin = copy.to, end = copy.to + copy.bytes;
    copies.erase(copies.begin() + static_cast<std::ptrdiff_t>(c));
    still_under_way(*w.block, begin, end);
  }
}

void run_commit(Registers& r, const Step&, Mask lanes) {
  Warp& w = warp_of(r);
  // A group a lane; lanes that commit together share a list, which may be empty.
  std::vector<Warp::AsyncCopy> group;
  for (std::size_t c = 0; c < w.copies.size();)
    if ((lanes >> w.copies[c].lane & 1) != 0) {
      group.push_back(w.copies[c]);
      w.copies.erase(w.copies.begin() + static_cast<std::ptrdiff_t>(c));
    } else {
      ++c;
    }
  w.copy_groups.push_back({lanes, std::move(group)});
}

/// a: address of an mbarrier (extra: its form) that tracks the copies so far; flags 1: their arrival is among
/// those that the mbarrier expects.
void run_copies_arrive(Registers& r, const Step& s, Mask lanes) {
  Warp& w = warp_of(r);
  const MemoryForm& form = w.block->program->memory[s.extra];
  std::uint64_t address[kLanes];
  addresses(w, s, form, address);
  for (Mask rest = lanes; rest != 0; rest &= rest - 1) {
    const auto lane = static_cast<unsigned>(std::countr_zero(rest));
    const auto at = mbarrier_at(w, s, lane, address[lane], form.space == Space::generic);
    if (!at) return;
    TrackedCopies tracked;
    tracked.thread = w.thread(lane);
    tracked.arrives = true;
    const auto take = [&](std::vector<Warp::AsyncCopy>& copies) {
      std::erase_if(copies, [&](const Warp::AsyncCopy& c) {
        if (c.lane != lane) return false;
        tracked.copies.push_back({c.step, c.to, {c.data, c.data + c.bytes}});
        return true;
      });
    };
    for (auto& g : w.copy_groups) take(g.copies);
    take(w.copies);
    if (s.flags == 0) ++at->block->mbarriers.at(at->offset).pending;
    track(w, *at, std::move(tracked));
  }
}

/// immediate: groups that may still be under way; -1: none, and what is in no group arrives too.
void run_wait(Registers& r, const Step& s, Mask lanes) {
  Warp& w = warp_of(r);
  for (Mask rest = lanes; rest != 0; rest &= rest - 1) {
    const auto lane = static_cast<unsigned>(std::countr_zero(rest));
    const Mask self = Mask{1} << lane;
    std::int64_t groups = 0;
    for (const auto& g : w.copy_groups) groups += (g.lanes & self) != 0 ? 1 : 0;
    std::int64_t due = s.immediate < 0 ? groups : groups - s.immediate;
    for (auto& g : w.copy_groups) {
      if (due <= 0) break;
      if ((g.lanes & self) == 0) continue;
      finish(w, g.copies, self);
      g.lanes &= ~self;
      --due;
    }
    if (s.immediate < 0) finish(w, w.copies, self);
    if (!w.block->mbarriers.empty()) land_copies_of(*w.block, w.thread(lane));
  }
  std::erase_if(w.copy_groups, [](const auto& g) { return g.lanes == 0; });
}

}  // namespace

void finish_copies(Block& block) {
  for (Warp& w : block.warps) {
    for (auto& g : w.copy_groups) finish(w, g.copies, kAllLanes);
    finish(w, w.copies, kAllLanes);
  }
}

void Decoder::async_copy() {
  if (!opcode->has("async")) unsupported();
  if (opcode->has("bulk")) return bulk_copy();
  if (opcode->has("mbarrier")) {
    MemoryForm form = memory_form();
    form.bytes = 8;
    address(operands[0], form);
    step.flags = opcode->has("noinc") ? 1 : 0;
    step.extra = static_cast<std::uint32_t>(program.memory.size());
    program.memory.push_back(form);
    step.run = &run_copies_arrive;
    return;
  }
  if (opcode->has("commit_group")) {
    step.run = &run_commit;
    return;
  }
  if (opcode->has("wait_group") || opcode->has("wait_all")) {
    step.immediate = opcode->has("wait_all") ? -1 : operands[0].value;
    step.run = &run_wait;
    return;
  }
  if (opcode->has("L2::cache_hint")) operands = operands.first(operands.size() - 1);  // changes no result
  if (operands.size() < 3 || operands.size() > 4 || operands[2].kind != OperandKind::integer) unsupported();
  const auto bytes = static_cast<std::uint8_t>(operands[2].value);
  if (bytes != 4 && bytes != 8 && bytes != 16) unsupported();
  MemoryForm to, from;
  to.space = Space::shared;
  from.space = Space::global;
  to.bytes = from.bytes = bytes;
  address(operands[1], from);
  step.b = step.a;
  step.second = static_cast<std::uint32_t>(program.copy_displacements.size());
  program.copy_displacements.push_back(step.immediate);
  address(operands[0], to);
  if (operands.size() == 4) {
    if (register_bytes(operands[3], 4) == 0) unsupported();  // ignore-src
    step.c = source(operands[3], 4);
    step.flags = 1;
  }
  step.extra = static_cast<std::uint32_t>(program.memory.size());
  program.memory.push_back(to);
  program.memory.push_back(from);
  step.run = &run_copy;
}

}  // namespace warploom::sim
