// tensormap.replace: a field of a tensor map in memory gets another value; tensormap.cp_fenceproxy: a map
// goes from shared to global memory.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "sim/access.hpp"
#include "sim/decode.hpp"
#include "sim/tensor_form.hpp"

namespace warploom::sim {

using namespace ptx;

namespace {

constexpr std::uint32_t kMapBytes = 128;

constexpr std::string_view kFields[] = {"global_address", "rank",           "box_dim",  "global_dim",
                                        "global_stride",  "element_stride", "elemtype", "interleave_layout",
                                        "swizzle_mode",   "fill_mode"};
static_assert(std::size(kFields) == static_cast<std::size_t>(TensorField::fill) + 1);

/// a: address (extra: its form); b: the value, of 4 or (flags) 8 bytes; second: TensorField; c: which
/// dimension.
void run_replace(Registers& r, const Step& s, Mask lanes) {
  Warp& w = warp_of(r);
  const MemoryForm& form = w.block->program->memory[s.extra];
  std::uint64_t address[kLanes];
  addresses(w, s, form, address);
  for (Mask rest = lanes; rest != 0; rest &= rest - 1) {
    const auto lane = static_cast<unsigned>(std::countr_zero(rest));
    Pointers to;
    if (!resolve(w, s, form.space, address, Mask{1} << lane, kMapBytes, kMapBytes, true, to)) return;
    note_access(w, s, form, to, Access::write);
    const std::uint64_t value =
        s.flags != 0 ? r.read<std::uint64_t>(s.b)[lane] : std::uint64_t{r.read<std::uint32_t>(s.b)[lane]};
    const std::uint32_t dimension = r.read<std::uint32_t>(s.c)[lane];
    if (const std::string why = replace(to.at[lane], static_cast<TensorField>(s.second), dimension, value);
        !why.empty())
      return fault(w, s, FindingKind::illegal, lane, "tensormap.replace", why);
  }
}

/// a: destination (extra: its form); b: source, whose form is the next and whose displacement is second.
void run_copy_map(Registers& r, const Step& s, Mask lanes) {
  Warp& w = warp_of(r);
  const Program& p = *w.block->program;
  std::uint64_t to_address[kLanes], from_address[kLanes];
  addresses(w, s, p.memory[s.extra], to_address);
  Step source = s;
  source.a = s.b;
  source.immediate = p.copy_displacements[s.second];
  addresses(w, source, p.memory[s.extra + 1], from_address);
  // All threads of the warp copy together; one does it.
  const Mask one = lanes & (0u - lanes);
  const auto lane = static_cast<unsigned>(std::countr_zero(one));
  Pointers to, from;
  if (!resolve(w, s, p.memory[s.extra + 1].space, from_address, one, kMapBytes, kMapBytes, false, from) ||
      !resolve(w, s, p.memory[s.extra].space, to_address, one, kMapBytes, kMapBytes, true, to))
    return;
  note_access(w, s, p.memory[s.extra + 1], from, Access::read);
  note_access(w, s, p.memory[s.extra], to, Access::write);
  std::memcpy(to.at[lane], from.at[lane], kMapBytes);
}

}  // namespace

void Decoder::tensor_map_operation() {
  MemoryForm form;
  form.bytes = kMapBytes;
  if (opcode->has("cp_fenceproxy")) {
    if (operands.size() != 3 || operands[2].kind != OperandKind::integer || operands[2].value != kMapBytes)
      unsupported();
    MemoryForm from = form;
    from.space = Space::shared;
    form.space = Space::global;
    address(operands[1], from);
    step.b = step.a;
    step.second = static_cast<std::uint32_t>(program.copy_displacements.size());
    program.copy_displacements.push_back(step.immediate);
    address(operands[0], form);
    step.extra = static_cast<std::uint32_t>(program.memory.size());
    program.memory.push_back(form);
    program.memory.push_back(from);
    step.run = &run_copy_map;
    return;
  }
  const auto field =
      std::find_if(std::begin(kFields), std::end(kFields), [&](auto name) { return opcode->has(name); });
  if (!opcode->has("replace") || !opcode->has("tile") || field == std::end(kFields) || operands.size() < 2 ||
      operands.size() > 3)
    unsupported();
  form.space = opcode->has("global")        ? Space::global
               : opcode->has("shared::cta") ? Space::shared
                                            : Space::generic;
  address(operands[0], form);
  const bool wide = opcode->parts.back() == "b64";
  step.flags = wide ? 1 : 0;
  step.second = static_cast<std::uint32_t>(field - std::begin(kFields));
  step.c = operands.size() == 3 ? source(operands[1], 4) : constant(0, 4);
  step.b = source(operands.back(), wide ? 8 : 4);
  step.extra = static_cast<std::uint32_t>(program.memory.size());
  program.memory.push_back(form);
  step.run = &run_replace;
}

}  // namespace warploom::sim
