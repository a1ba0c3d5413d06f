// st.async: a store to a block of the cluster that an mbarrier there counts. The bytes land when somebody
// waits for it, as those of copies do; it is an access of the ordinary proxy.
#include <algorithm>
#include <cstring>

#include "sim/bulk_copy.hpp"
#include "sim/decode.hpp"

namespace warploom::sim {

using namespace ptx;

namespace {

/// extra: form of the destination with the values, then that of the mbarrier, whose base is d and whose
/// displacement is of Program::copy_displacements (second).
void run_async_store(Registers& r, const Step& s, Mask lanes) {
  Warp& w = warp_of(r);
  const Program& p = *w.block->program;
  const MemoryForm& form = p.memory[s.extra];
  std::uint64_t targets[kLanes];
  addresses(w, s, form, targets);
  if (poisoned_address(w, s, form, lanes)) return;
  for (Mask rest = lanes; rest != 0; rest &= rest - 1) {
    const auto lane = static_cast<unsigned>(std::countr_zero(rest));
    const auto object = tracking_mbarrier(w, s, lane);
    if (!object) return;
    Pointers to;
    if (!resolve(w, s, form.space, targets, Mask{1} << lane, form.total(), form.total(), true, to)) return;
    if (to.space != Space::shared)
      return fault(w, s, FindingKind::illegal, lane, "st.async", "the address is none of shared memory");
    if (!in_one_block(w, s, lane, to, *object)) return;
    note_access(w, s, form, to, Access::write);
    if (w.stop == Stop::halt) return;
    mark_written(w, to, form.total(), false);
    std::vector<std::byte> bytes(form.total());
    for (unsigned e = 0; e < form.count; ++e)
      std::memcpy(
          bytes.data() + e * form.bytes,
          reinterpret_cast<const std::byte*>(r.base[form.stored[e].constant] + form.stored[e].offset) +
              lane * form.register_bytes,
          form.bytes);
    TrackedCopies tracked;
    tracked.thread = w.thread(lane);
    tracked.bytes = form.total();
    tracked.copies.push_back({&s, static_cast<std::uint32_t>(to.address[lane]), std::move(bytes)});
    track(w, *object, std::move(tracked));
  }
}

}  // namespace

std::optional<MBarrierPlace> tracking_mbarrier(Warp& w, const Step& s, unsigned lane) {
  const Program& p = *w.block->program;
  const MemoryForm& form = p.memory[s.extra + 1];
  Step barrier = s;
  barrier.a = s.d;
  barrier.immediate = p.copy_displacements[s.second];
  std::uint64_t objects[kLanes];
  addresses(w, barrier, form, objects);
  return mbarrier_at(w, s, lane, objects[lane], form.space == Space::generic);
}

MemoryForm Decoder::tracking_mbarrier_form(const Operand& operand) {
  MemoryForm object;
  object.space = opcode->space == Space::generic ? Space::generic : Space::shared_cluster;
  object.bytes = 8;
  address(operand, object);
  step.d = step.a;
  step.second = static_cast<std::uint32_t>(program.copy_displacements.size());
  program.copy_displacements.push_back(step.immediate);
  return object;
}

void Decoder::async_store() {
  if (operands.size() != 3 || !opcode->has("mbarrier::complete_tx::bytes")) unsupported();
  MemoryForm form = memory_form();
  form.strength = Strength::weak;
  const MemoryForm object = tracking_mbarrier_form(operands[2]);
  address(operands[0], form);
  const Operand& value = operands[1];
  const std::span<const Operand> values =
      value.kind == OperandKind::vector ? function->children(value) : std::span<const Operand>(&value, 1);
  if (values.size() != form.count || values.size() > 4 || form.bytes < 4) unsupported();
  form.register_bytes = form.bytes;
  for (std::size_t i = 0; i < values.size(); ++i)
    form.stored[i] = source(values[i], form.bytes, opcode->parts.back().front() == 'f');
  step.extra = static_cast<std::uint32_t>(program.memory.size());
  program.memory.push_back(form);
  program.memory.push_back(object);
  step.run = &run_async_store;
}

}  // namespace warploom::sim
