// cp.async.bulk.tensor: boxes of tensors between global and shared memory, tiles of 1 to 5 dimensions.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "sim/bulk_copy.hpp"
#include "sim/decode.hpp"
#include "sim/element_change.hpp"
#include "sim/races.hpp"
#include "sim/tensor_form.hpp"
#include "warploom/sim/element_type.hpp"

namespace warploom::sim {

using namespace ptx;

namespace {

constexpr std::uint32_t kLine = 128;  // of shared memory: boxes begin at one, swizzling stays within one
constexpr std::uint32_t kTensorChunk = 16;  // what swizzling leaves together

/// The lane's operand [map, {coordinates}]: b the map's base, extra + 1 its form, immediate of the map as the
/// first of Program::copy_displacements. Nothing: a finding ended the kernel.
std::optional<TensorBox> box_of(Warp& w, const Step& s, unsigned lane) {
  const Program& p = *w.block->program;
  const TensorForm& form = p.tensors[s.flags];
  Step map_step = s;
  map_step.a = s.b;
  map_step.immediate = p.copy_displacements[s.second];
  const MemoryForm& map_form = p.memory[s.extra + 1];
  std::uint64_t address[kLanes];
  addresses(w, map_step, map_form, address);
  Pointers map;
  if (!resolve(w, s, map_form.space, address, Mask{1} << lane, 128, 64, false, map)) return {};
  const std::optional<TensorPlan> plan = tensor_plan(map.at[lane]);
  const auto refuse = [&](std::string why) {
    fault(w, s, FindingKind::illegal, lane, "tensor copy", std::move(why));
    return std::nullopt;
  };
  if (!plan) return refuse("no tensor map is at its address (tensor:TYPE:EXTENTS:BOX:FILL makes one)");
  if (plan->rank != form.rank)
    return refuse(fmt::format("the tensor map has {} dimensions, the instruction {}", plan->rank, form.rank));
  if (plan->columns != form.columns)
    return refuse(fmt::format("the tensor map is {}one for .im2col", plan->columns ? "" : "not "));
  TensorBox box;
  box.plan = *plan;
  box.change = form.change;
  for (unsigned d = 0; d < form.rank; ++d) box.at[d] = w.read<std::int32_t>(form.coordinates[d])[lane];
  for (unsigned d = 1; form.columns && d + 1 < form.rank; ++d) {
    box.offset[d] = w.read<std::uint16_t>(form.offsets[d])[lane];
    if (box.at[d] < plan->lower[d] || box.at[d] > plan->upper[d])
      return refuse(fmt::format("its coordinate {} is {}, outside of the bounding box, {} to {}", d,
                                box.at[d], plan->lower[d], plan->upper[d]));
  }
  // An H100 calls it an illegal instruction.
  if (std::int64_t{box.at[0]} * plan->element % kTensorChunk != 0)
    return refuse(fmt::format("its first coordinate, {} elements of {} bytes, is no multiple of {} bytes",
                              box.at[0], plan->element, kTensorChunk));
  return box;
}

/// Bytes of global memory, in cells.
void note_row(Warp& w, const Step& s, unsigned lane, Address address, std::uint32_t bytes,
              Access::Kind kind) {
  const Address end = address + bytes;
  if (w.block->worker->races) w.block->worker->races->asynchronous_global(w, lane, s, kind, address, bytes);
  for (Address at = address & ~Address{w.block->program->global_cell - 1u}; at < end;) {
    const auto some =
        static_cast<std::uint8_t>(std::min<Address>(kTensorChunk - at % kTensorChunk, end - at));
    MemoryForm form;
    form.bytes = some;
    if (kind == Access::atomic) {
      form.strength = Strength::relaxed;
      form.scope = Scope::gpu;
    }
    Pointers to;
    to.space = Space::global;
    to.lanes = Mask{1} << lane;
    to.address[lane] = at;
    note_access(w, s, form, to, kind);
    at += some;
  }
}

/// Host bytes of a row's elements that lie in the tensor; nullptr: a finding ended the kernel.
std::byte* row_bytes(Warp& w, const Step& s, unsigned lane, const TensorBox& box, const TensorBox::Row& row,
                     bool write) {
  std::uint64_t all[kLanes] = {};
  all[lane] = row.address;
  Pointers to;
  if (!resolve(w, s, Space::global, all, Mask{1} << lane, row.count * box.plan.element, box.plan.element,
               write, to))
    return nullptr;
  return to.at[lane];
}

/// Shared memory of a box that begins at `at`; use(16 bytes of it, byte of the box) for each chunk.
template <typename Use>
void each_chunk(const TensorPlan& plan, std::uint32_t at, Use use) {
  const std::uint32_t row = plan.row_bytes(), bytes = plan.rows() * row;
  for (std::uint32_t byte = 0; byte < bytes; byte += kTensorChunk)
    use(plan.swizzled(at + byte / row * plan.pitch() + byte % row), byte);
}

bool begins_at_line(Warp& w, const Step& s, unsigned lane, std::uint64_t address) {
  if (address % kLine == 0) return true;
  fault(w, s, FindingKind::misaligned, lane, "tensor copy",
        describe(w, Space::shared, address) + fmt::format(", no multiple of {}", kLine));
  return false;
}

/// A box, row by row, is written to `target` when somebody waits for the mbarrier. False: a finding ended the
/// kernel.
bool land_later(Warp& w, const Step& s, unsigned lane, Space space, std::uint64_t target,
                std::uint64_t barrier, const TensorPlan& plan, const std::vector<std::byte>& image) {
  const auto bytes = static_cast<std::uint32_t>(image.size());
  const auto object = mbarrier_at(w, s, lane, barrier, false);
  if (!object) return false;
  const Pointers to = bulk_range(w, s, space, lane, target, plan.shared_bytes(), true);
  if (to.space != Space::shared || !begins_at_line(w, s, lane, to.address[lane]) ||
      !in_one_block(w, s, lane, to, *object))
    return false;
  note_bulk(w, s, lane, to, plan.shared_bytes(), Access::write, true);
  TrackedCopies tracked;
  tracked.thread = w.thread(lane);
  tracked.bytes = bytes;
  const auto at = static_cast<std::uint32_t>(to.address[lane]);
  each_chunk(plan, at, [&](std::uint32_t place, std::uint32_t) {
    std::fill_n(owner(w, to).written.begin() + place, kTensorChunk, kUnwritten);
  });
  if (bytes % kLine == 0 && plan.pitch() == plan.row_bytes()) {
    tracked.copies.push_back({&s, at, std::vector<std::byte>(bytes)});
    each_chunk(plan, at, [&](std::uint32_t place, std::uint32_t byte) {
      std::memcpy(tracked.copies[0].data.data() + (place - at), image.data() + byte, kTensorChunk);
    });
  } else {
    each_chunk(plan, at, [&](std::uint32_t place, std::uint32_t byte) {
      tracked.copies.push_back({&s, place, {image.begin() + byte, image.begin() + byte + kTensorChunk}});
    });
  }
  track(w, *object, std::move(tracked));
  return true;
}

/// a: destination (extra: its form), c: ranks of a multicast; d: mbarrier (its form is the second after).
void run_tensor_load(Registers& r, const Step& s, Mask lanes) {
  Warp& w = warp_of(r);
  const Program& p = *w.block->program;
  std::uint64_t targets[kLanes], objects[kLanes];
  addresses(w, s, p.memory[s.extra], targets);
  Step barrier = s;
  barrier.a = s.d;
  barrier.immediate = p.copy_displacements[s.second + 1];
  addresses(w, barrier, p.memory[s.extra + 2], objects);
  for (Mask rest = lanes; rest != 0; rest &= rest - 1) {
    const auto lane = static_cast<unsigned>(std::countr_zero(rest));
    const std::optional<TensorBox> box = box_of(w, s, lane);
    if (!box) return;
    const TensorPlan& plan = box->plan;
    const std::uint32_t bytes = plan.rows() * plan.row_bytes();
    // The box row by row, outside the tensor what fills it.
    std::vector<std::byte> image(bytes);
    for (std::uint32_t i = 0; i < bytes; i += plan.element)
      std::memcpy(image.data() + i, &plan.fill, plan.element);
    for (std::uint32_t i = 0; i < plan.rows(); ++i) {
      const TensorBox::Row row = box->row(i);
      if (row.count == 0) continue;
      const std::byte* from = row_bytes(w, s, lane, *box, row, false);
      if (from == nullptr) return;
      note_row(w, s, lane, row.address, row.count * plan.element, Access::read);
      std::memcpy(image.data() + std::size_t{i} * plan.row_bytes() + std::size_t{row.first} * plan.element,
                  from, std::size_t{row.count} * plan.element);
    }
    const MemoryForm& form = p.memory[s.extra];
    if (!p.tensors[s.flags].multicast) {
      if (!land_later(w, s, lane, form.space, targets[lane], objects[lane], plan, image)) return;
      continue;
    }
    const std::uint32_t ranks = r.read<std::uint16_t>(s.c)[lane];
    for (std::uint32_t rank = 0; ranks >> rank != 0; ++rank) {
      const std::uint64_t above = std::uint64_t{rank + 1} << kRankShift;
      if ((ranks >> rank & 1) != 0 &&
          !land_later(w, s, lane, form.space, above | (targets[lane] & kPlaceMask),
                      above | (objects[lane] & kPlaceMask), plan, image))
        return;
    }
  }
}

/// a: source (extra: its form).
void run_tensor_store(Registers& r, const Step& s, Mask lanes) {
  Warp& w = warp_of(r);
  const Program& p = *w.block->program;
  std::uint64_t sources[kLanes];
  addresses(w, s, p.memory[s.extra], sources);
  // Lanes that store the same to the same place, as where a warp does what one thread was meant to do, are
  // one write to the race detector.
  std::vector<std::pair<std::uint64_t, TensorBox>> noted;
  for (Mask rest = lanes; rest != 0; rest &= rest - 1) {
    const auto lane = static_cast<unsigned>(std::countr_zero(rest));
    const std::optional<TensorBox> box = box_of(w, s, lane);
    if (!box) return;
    const std::uint32_t bytes = box->plan.shared_bytes();
    for (unsigned d = 0; d < box->plan.rank; ++d)
      if (box->at[d] < 0)
        return fault(
            w, s, FindingKind::illegal, lane, "tensor copy",
            fmt::format(
                "its coordinate {} is {}: a store may reach beyond the tensor, but not begin before it", d,
                box->at[d]));
    // An H200 called two an illegal instruction whose bounding box reached beyond the tensor.
    for (unsigned d = 1; box->plan.columns && d + 1 < box->plan.rank; ++d)
      if (box->plan.lower[d] < 0 || box->plan.upper[d] >= static_cast<std::int64_t>(box->plan.extents[d]))
        return fault(w, s, FindingKind::illegal, lane, "tensor copy",
                     fmt::format("the bounding box goes from {} to {} in dimension {}: a store's must lie in "
                                 "the tensor",
                                 box->plan.lower[d], box->plan.upper[d], d));
    const Pointers from = bulk_range(w, s, p.memory[s.extra].space, lane, sources[lane], bytes, false);
    if (from.space != Space::shared || !begins_at_line(w, s, lane, from.address[lane])) return;
    note_bulk(w, s, lane, from, bytes, Access::read, true);
    const bool again =
        box->change == TensorChange::none && std::ranges::any_of(noted, [&](const auto& other) {
          return other.first == sources[lane] && other.second.at == box->at &&
                 other.second.plan.address == box->plan.address;
        });
    noted.emplace_back(sources[lane], *box);
    for (std::uint32_t i = 0; i < box->plan.rows(); ++i)
      if (const TensorBox::Row row = box->row(i); row.count != 0) {
        if (row_bytes(w, s, lane, *box, row, true) == nullptr) return;
        if (again) continue;
        note_row(w, s, lane, row.address, row.count * box->plan.element,
                 box->change == TensorChange::none ? Access::write : Access::atomic);
      }
    add_bulk_store(
        w, lane,
        {static_cast<std::uint32_t>(from.address[lane]), bytes, 0, &s, std::make_shared<TensorBox>(*box)});
  }
}

}  // namespace

bool finish_tensor_store(Warp& w, unsigned lane, const Warp::BulkStore& store) {
  const TensorBox& box = *store.box;
  const TensorPlan& plan = box.plan;
  const Block& b = *w.block;
  std::vector<std::byte> image(plan.rows() * plan.row_bytes());
  std::vector<bool> missing(image.size() / kTensorChunk);
  each_chunk(plan, store.from, [&](std::uint32_t place, std::uint32_t byte) {
    std::memcpy(image.data() + byte, b.shared.data() + place, kTensorChunk);
    missing[byte / kTensorChunk] =
        std::any_of(b.written.begin() + place, b.written.begin() + place + kTensorChunk,
                    [](std::uint8_t written) { return written != kWritten; });
  });
  for (std::uint32_t i = 0; i < plan.rows(); ++i) {
    const TensorBox::Row row = box.row(i);
    if (row.count == 0) continue;
    std::byte* to = row_bytes(w, *store.step, lane, box, row, true);
    if (to == nullptr) return false;
    const std::uint32_t begin = i * plan.row_bytes() + row.first * plan.element,
                        bytes = row.count * plan.element;
    for (std::uint32_t c = begin / kTensorChunk; c * kTensorChunk < begin + bytes; ++c)
      if (missing[c]) {
        b.worker->findings.add(b, FindingKind::uninitialised, *store.step, w.index, lane,
                               "tensor copy of shared memory that nobody wrote",
                               describe(w, Space::shared, store.from + c * kTensorChunk));
        break;
      }
    if (box.change == TensorChange::none)
      std::memcpy(to, image.data() + begin, bytes);
    else if (!change_elements(box.change, kElementTypes[plan.type].name, to, image.data() + begin, row.count))
      throw Unsupported(fmt::format("{}:{}: the simulator has no {} of {}", b.program->module->file,
                                    b.program->instruction(*store.step).line,
                                    b.program->module->opcode(b.program->instruction(*store.step)).text,
                                    kElementTypes[plan.type].name));
  }
  return true;
}

void Decoder::tensor_copy() {
  if (opcode->has("prefetch")) {
    step.run = &run_nothing;
    return;
  }
  const bool reduce = opcode->has("reduce");
  const bool load = opcode->has("mbarrier::complete_tx::bytes") && !reduce;
  if (!load && !opcode->has("bulk_group")) unsupported();
  TensorForm form;
  for (const std::string_view part : opcode->parts) {
    if (part.size() == 2 && part[1] == 'd' && part[0] >= '1' && part[0] <= '5')
      form.rank = static_cast<unsigned>(part[0] - '0');
    if (const TensorChange change = change_of(part); reduce && change != TensorChange::none)
      form.change = change;
    if (part == "im2col" || part == "im2col_no_offs")
      form.columns = true;
    else if (part.starts_with("im2col") || part.starts_with("tile::") || part.starts_with("cta_group"))
      unsupported();
  }
  const bool offsets = load && form.columns;
  form.multicast = opcode->has("multicast::cluster");
  const std::size_t wanted = (load ? 3u : 2u) + (offsets ? 1u : 0u) + (form.multicast ? 1u : 0u) +
                             (opcode->has("L2::cache_hint") ? 1u : 0u);
  if (form.rank == 0 || (form.columns && form.rank < 3) || operands.size() != wanted ||
      (reduce && form.change == TensorChange::none))
    unsupported();
  const Operand& tensor = operands[load ? 1 : 0];
  if (tensor.kind != OperandKind::address || tensor.count != 2) unsupported("this form of a tensor");
  const Operand& coordinates = function->children(tensor)[1];
  if (coordinates.kind != OperandKind::vector || coordinates.count != form.rank)
    unsupported("this number of coordinates");
  for (unsigned d = 0; d < form.rank; ++d)
    form.coordinates[d] = source(function->children(coordinates)[d], 4);
  // Without a word on them, offsets are 0.
  for (unsigned d = 1; d + 1 < form.rank; ++d) form.offsets[d] = constant(0, 2);
  if (offsets) {
    const Operand& given = operands[3];
    const auto parts =
        given.kind == OperandKind::vector ? function->children(given) : std::span<const Operand>(&given, 1);
    if (parts.size() != form.rank - 2) unsupported("this number of offsets");
    for (unsigned d = 1; d + 1 < form.rank; ++d) form.offsets[d] = source(parts[d - 1], 2);
  }
  step.flags = static_cast<std::uint16_t>(program.tensors.size());
  program.tensors.push_back(form);

  MemoryForm map, box, object;
  map.space = Space::generic;
  map.bytes = 128;
  box.space = load ? Space::shared_cluster : Space::shared;
  object.space = Space::shared_cluster;
  box.bytes = static_cast<std::uint8_t>(kTensorChunk);
  object.bytes = 8;
  step.second = static_cast<std::uint32_t>(program.copy_displacements.size());
  Operand base = tensor;
  base.count = 1;
  address(base, map);
  step.b = step.a;
  program.copy_displacements.push_back(step.immediate);
  if (load) {
    address(operands[2], object);
    if (form.multicast) step.c = source(operands[offsets ? 4 : 3], 2);
    step.d = step.a;
    program.copy_displacements.push_back(step.immediate);
  }
  address(operands[load ? 0 : 1], box);
  step.extra = static_cast<std::uint32_t>(program.memory.size());
  program.memory.insert(program.memory.end(), {box, map, object});
  step.run = load ? &run_tensor_load : &run_tensor_store;
}

}  // namespace warploom::sim
