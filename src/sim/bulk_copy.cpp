// cp.async.bulk between global and shared memory. To shared memory the bytes are read when the copy is issued
// and land when somebody waits for its mbarrier; from shared memory they are read when its group is waited
// for. In between the race detector sees both ends as accesses that may come at any time.
#include "sim/bulk_copy.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "sim/decode.hpp"
#include "sim/element_change.hpp"
#include "sim/races.hpp"
#include "warploom/sim/element_type.hpp"

namespace warploom::sim {

using namespace ptx;

namespace {

constexpr std::uint32_t kUnit = 16;  // addresses and sizes are multiples of it [bytes]

}  // namespace

Pointers bulk_range(Warp& w, const Step& s, Space space, unsigned lane, std::uint64_t address,
                    std::uint32_t bytes, bool write) {
  std::uint64_t all[kLanes] = {};
  all[lane] = address;
  Pointers to;
  if (!resolve(w, s, space, all, Mask{1} << lane, bytes, kUnit, write, to)) return {};
  // Between its ends may lie a gap or an mbarrier.
  if (to.space == Space::shared && !to.whole)
    for (std::uint32_t i = kUnit; i + kUnit < bytes; i += kUnit) {
      Pointers unit;
      all[lane] = address + i;
      if (!resolve(w, s, space, all, Mask{1} << lane, kUnit, kUnit, write, unit)) return {};
    }
  return to;
}

void note_bulk(Warp& w, const Step& s, unsigned lane, const Pointers& range, std::uint32_t bytes,
               Access::Kind kind, bool begins) {
  // Before it is a write itself, what others wrote there is looked at.
  const Worker& worker = *w.block->worker;
  if (begins && worker.races && range.space == Space::shared && range.block == nullptr)
    worker.races->asynchronous(w, lane, s, kind, static_cast<std::uint32_t>(range.address[lane]), bytes);
  if (begins && worker.races && range.space == Space::global)
    worker.races->asynchronous_global(w, lane, s, kind, range.address[lane], bytes);
  Pointers part = range;
  for (std::uint32_t i = 0; i < bytes; i += kUnit) {
    part.address[lane] = range.address[lane] + i;
    MemoryForm form;
    form.bytes = kUnit;
    if (kind == Access::atomic) {
      form.strength = Strength::relaxed;
      form.scope = Scope::gpu;
    }
    note_access(w, s, form, part, kind);
  }
}

bool in_one_block(Warp& w, const Step& s, unsigned lane, const Pointers& to, const MBarrierPlace& object) {
  if (&owner(w, to) == object.block) return true;
  fault(w, s, FindingKind::illegal, lane, "bulk copy", "its destination and its mbarrier lie in two blocks");
  return false;
}

void add_bulk_store(Warp& w, unsigned lane, Warp::BulkStore store) {
  if (w.block->worker->races) store.issued = w.block->worker->races->issued_at(w);
  auto& groups = w.bulk_groups[static_cast<std::uint8_t>(lane)];
  if (groups.empty() || groups.back().committed) groups.emplace_back();
  groups.back().stores.push_back(std::move(store));
}

namespace {

/// The size of a lane's copy; 0: a finding ended the kernel.
std::uint32_t size_of(Warp& w, const Step& s, unsigned lane) {
  const std::uint32_t bytes = w.read<std::uint32_t>(s.c)[lane];
  if (bytes != 0 && bytes % kUnit == 0) return bytes;
  fault(w, s, FindingKind::illegal, lane, "cp.async.bulk",
        fmt::format("{} bytes, no multiple of {}", bytes, kUnit));
  return 0;
}

/// Step::flags: ranks of a multicast, 1 in registers, 2 in constants; above, of Program::bulk_reductions.
constexpr std::uint16_t kMulticast = 3;
constexpr unsigned kReductionShift = 2;

struct Ends {
  std::uint64_t to[kLanes], from[kLanes];
};
/// a: destination, b: source; extra: form of the destination, the one after it the source's; second: of
/// Program::copy_displacements, the source's and then the mbarrier's.
Ends ends(const Warp& w, const Step& s) {
  const Program& p = *w.block->program;
  Ends e;
  addresses(w, s, p.memory[s.extra], e.to);
  Step source = s;
  source.a = s.b;
  source.immediate = p.copy_displacements[s.second];
  addresses(w, source, p.memory[s.extra + 1], e.from);
  return e;
}

/// Another reduction of these bytes has not landed: they are as good as written.
bool changes_later(const Block& b, std::uint64_t at, std::uint32_t bytes) {
  for (const auto& [place, m] : b.mbarriers)
    for (const TrackedCopies& t : m.tracked)
      for (const TrackedCopy& c : t.copies)
        if (c.change != TensorChange::none && c.to < at + bytes && at < c.to + c.data.size()) return true;
  return false;
}

/// d: the mbarrier; its form is the second after the destination's.
void run_bulk_load(Registers& r, const Step& s, Mask lanes) {
  Warp& w = warp_of(r);
  const Program& p = *w.block->program;
  const Ends e = ends(w, s);
  const BulkReduction reduction = p.bulk_reductions[s.flags >> kReductionShift];
  Step barrier = s;
  barrier.a = s.d;
  barrier.immediate = p.copy_displacements[s.second + 1];
  std::uint64_t objects[kLanes];
  addresses(w, barrier, p.memory[s.extra + 2], objects);
  for (Mask rest = lanes; rest != 0; rest &= rest - 1) {
    const auto lane = static_cast<unsigned>(std::countr_zero(rest));
    const std::uint32_t bytes = size_of(w, s, lane);
    if (bytes == 0) return;
    const auto object = mbarrier_at(w, s, lane, objects[lane], p.memory[s.extra + 2].space == Space::generic);
    if (!object) return;
    const Pointers from = bulk_range(w, s, p.memory[s.extra + 1].space, lane, e.from[lane], bytes, false);
    if (from.space == Space::none) return;
    // So does an H100, whatever block it is to.
    if (from.space == Space::shared && w.block->cluster->size.count() == 1)
      return fault(w, s, FindingKind::illegal, lane, "bulk copy from shared to shared memory",
                   "the launch has no clusters");
    note_bulk(w, s, lane, from, bytes, Access::read, true);
    const auto land_in = [&](std::uint64_t target, const MBarrierPlace& counter) {
      const Pointers to = bulk_range(w, s, p.memory[s.extra].space, lane, target, bytes, true);
      if (to.space == Space::none || !in_one_block(w, s, lane, to, counter)) return false;
      const bool reduces = reduction.change != TensorChange::none;
      note_bulk(w, s, lane, to, bytes, reduces ? Access::atomic : Access::write, true);
      if (reduces && unwritten(w, to, bytes) != 0 && !changes_later(owner(w, to), to.address[lane], bytes))
        w.block->worker->findings.add(*w.block, FindingKind::uninitialised, s, w.index, lane,
                                      "reduction of what nobody wrote",
                                      describe(w, Space::shared, to.address[lane]));
      mark_written(w, to, bytes, false);
      TrackedCopies tracked;
      tracked.thread = w.thread(lane);
      tracked.bytes = bytes;
      tracked.copies.push_back({&s,
                                static_cast<std::uint32_t>(to.address[lane]),
                                {from.at[lane], from.at[lane] + bytes},
                                reduction.change,
                                reduction.type});
      track(w, counter, std::move(tracked));
      return true;
    };
    const unsigned multicast = s.flags & kMulticast;
    if (multicast == 0) {
      if (!land_in(e.to[lane], *object)) return;
      continue;
    }
    // To the same place in each block, whose mbarrier at the same place counts it.
    const Source ranks_at = multicast == 2 ? in_constants(s.destination) : in_registers(s.destination);
    const std::uint32_t ranks = r.read<std::uint16_t>(ranks_at)[lane];
    for (std::uint32_t rank = 0; ranks >> rank != 0; ++rank) {
      if ((ranks >> rank & 1) == 0) continue;
      const std::uint64_t above = std::uint64_t{rank + 1} << kRankShift;
      const auto there = mbarrier_at(w, s, lane, above | (objects[lane] & kPlaceMask), false);
      if (!there || !land_in(above | (e.to[lane] & kPlaceMask), *there)) return;
    }
  }
}

void run_bulk_store(Registers& r, const Step& s, Mask lanes) {
  Warp& w = warp_of(r);
  const Ends e = ends(w, s);
  const BulkReduction reduction = w.block->program->bulk_reductions[s.flags >> kReductionShift];
  for (Mask rest = lanes; rest != 0; rest &= rest - 1) {
    const auto lane = static_cast<unsigned>(std::countr_zero(rest));
    const std::uint32_t bytes = size_of(w, s, lane);
    if (bytes == 0) return;
    const Pointers from = bulk_range(w, s, Space::shared, lane, e.from[lane], bytes, false);
    if (from.space == Space::none) return;
    const Pointers to = bulk_range(w, s, Space::global, lane, e.to[lane], bytes, true);
    if (to.space == Space::none) return;
    note_bulk(w, s, lane, from, bytes, Access::read, true);
    note_bulk(w, s, lane, to, bytes, reduction.change == TensorChange::none ? Access::write : Access::atomic,
              true);
    add_bulk_store(w, lane,
                   {static_cast<std::uint32_t>(from.address[lane]), bytes, e.to[lane], &s, nullptr,
                    reduction.change, reduction.type, 0});
  }
}

void finish(Warp& w, unsigned lane, const Warp::BulkGroup& group) {
  for (const Warp::BulkStore& store : group.stores) {
    const Pointers from = bulk_range(w, *store.step, Space::shared, lane, store.from, store.bytes, false);
    if (from.space == Space::none) return;
    note_bulk(w, *store.step, lane, from, store.bytes, Access::read);
    if (w.block->worker->races)
      w.block->worker->races->written_since(w, lane, *store.step, store.from, store.bytes, store.issued);
    if (store.box) {
      if (!finish_tensor_store(w, lane, store)) return;
      continue;
    }
    const Pointers to = bulk_range(w, *store.step, Space::global, lane, store.to, store.bytes, true);
    if (to.space == Space::none) return;
    if (unwritten(w, from, store.bytes) != 0)
      w.block->worker->findings.add(*w.block, FindingKind::uninitialised, *store.step, w.index, lane,
                                    "bulk copy of shared memory that nobody wrote",
                                    describe(w, Space::shared, store.from));
    if (const ElementType& type = kElementTypes[store.type]; store.change == TensorChange::none)
      std::memcpy(to.at[lane], from.at[lane], store.bytes);
    else
      change_elements(store.change, type.name, to.at[lane], from.at[lane], store.bytes / type.bytes);
  }
}

void run_bulk_commit(Registers& r, const Step&, Mask lanes) {
  Warp& w = warp_of(r);
  for (Mask rest = lanes; rest != 0; rest &= rest - 1) {
    auto& groups = w.bulk_groups[static_cast<std::uint8_t>(std::countr_zero(rest))];
    if (groups.empty() || groups.back().committed) groups.emplace_back();
    groups.back().committed = true;
  }
}

/// immediate: groups that may still be under way.
void run_bulk_wait(Registers& r, const Step& s, Mask lanes) {
  Warp& w = warp_of(r);
  for (Mask rest = lanes; rest != 0; rest &= rest - 1) {
    const auto lane = static_cast<unsigned>(std::countr_zero(rest));
    auto& groups = w.bulk_groups[static_cast<std::uint8_t>(lane)];
    auto committed = static_cast<std::int64_t>(
        std::count_if(groups.begin(), groups.end(), [](const auto& g) { return g.committed; }));
    for (; committed > s.immediate; --committed) {
      finish(w, lane, groups.front());
      groups.erase(groups.begin());
      if (w.stop == Stop::halt) return;
    }
  }
}

}  // namespace

void finish_bulk_stores(Warp& w, Mask lanes) {
  for (auto& [lane, groups] : w.bulk_groups)
    if ((lanes >> lane & 1) != 0) {
      for (const Warp::BulkGroup& g : groups) finish(w, lane, g);
      groups.clear();
    }
}

void Decoder::bulk_copy() {
  if (opcode->has("tensor")) return tensor_copy();
  if (opcode->has("commit_group")) {
    step.run = &run_bulk_commit;
    return;
  }
  if (opcode->has("wait_group")) {
    step.immediate = operands[0].value;
    step.run = &run_bulk_wait;
    return;
  }
  if (opcode->has("prefetch")) {
    step.run = &run_nothing;
    return;
  }
  BulkReduction reduction;
  if (opcode->has("reduce")) {
    for (const std::string_view part : opcode->parts)
      if (const TensorChange change = change_of(part); change != TensorChange::none)
        reduction.change = change;
    std::string type(opcode->parts.back());
    if (type.front() == 'b' && type != "bf16") type.front() = 'u';
    if (type.front() == 's') type.front() = 'i';
    const ElementType* const element = find_element_type(type);
    // Whether there is such a change is asked of no elements.
    if (element == nullptr || element->bytes < 2 || reduction.change == TensorChange::none ||
        !change_elements(reduction.change, type, nullptr, nullptr, 0))
      unsupported();
    reduction.type = static_cast<std::uint8_t>(element - kElementTypes.data());
  }
  const bool load = opcode->has("mbarrier::complete_tx::bytes");
  const bool store = opcode->has("bulk_group");
  const bool multicast = opcode->has("multicast::cluster");
  const std::size_t wanted =
      (load ? 4u : 3u) + (multicast ? 1u : 0u) + (opcode->has("L2::cache_hint") ? 1u : 0u);
  if ((!load && !store) || operands.size() != wanted || opcode->has("cp_mask")) unsupported();
  MemoryForm to, from, object;
  to.space = load ? Space::shared_cluster : Space::global;
  from.space = load && opcode->has("global") ? Space::global : Space::shared;
  to.bytes = from.bytes = static_cast<std::uint8_t>(kUnit);
  object.space = Space::shared_cluster;
  object.bytes = 8;
  step.second = static_cast<std::uint32_t>(program.copy_displacements.size());
  address(operands[1], from);
  const Source source_base = step.a;
  program.copy_displacements.push_back(step.immediate);
  if (load) {
    address(operands[3], object);
    step.d = step.a;
    program.copy_displacements.push_back(step.immediate);
  }
  if (multicast) {
    if (!load) unsupported();
    const Source ranks = source(operands[4], 2);
    step.destination = ranks.offset;
    step.flags = static_cast<std::uint16_t>(ranks.constant != 0 ? 2 : 1);
  }
  auto known = std::find(program.bulk_reductions.begin(), program.bulk_reductions.end(), reduction);
  if (known == program.bulk_reductions.end()) known = program.bulk_reductions.insert(known, reduction);
  step.flags |= static_cast<std::uint16_t>((known - program.bulk_reductions.begin()) << kReductionShift);
  address(operands[0], to);
  step.b = source_base;
  step.c = source(operands[2], 4);
  step.extra = static_cast<std::uint32_t>(program.memory.size());
  program.memory.push_back(to);
  program.memory.push_back(from);
  program.memory.push_back(object);
  step.run = load ? &run_bulk_load : &run_bulk_store;
}

}  // namespace warploom::sim
