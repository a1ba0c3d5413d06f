// Memory instructions: what their names say about space, order and width; and those that only make addresses.
#include <fmt/format.h>

#include <algorithm>

#include "sim/access.hpp"
#include "sim/decode.hpp"
#include "sim/memory_handlers.hpp"

namespace warploom::sim {

using namespace ptx;

namespace {

struct WindowOf {
  Space space;
  Address begin;
};

Address window_of(Space space) {
  switch (space) {
    case Space::shared:
    case Space::shared_cluster:
      return kSharedWindow;
    case Space::local:
      return kLocalWindow;
    case Space::param:
      return kParameterWindow;
    default:
      return 0;
  }
}

/// cvta: destination = a + immediate, but a null pointer stays one.
template <typename T>
void run_add_window(Registers& r, const Step& s, Mask lanes) {
  const auto* a = r.read<T>(s.a);
  auto* to = r.write<std::uint64_t>(s.destination);
  for (unsigned i = 0; i < kLanes; ++i)
    if ((lanes >> i & 1) != 0) to[i] = a[i] + static_cast<std::uint64_t>(s.immediate);
}

/// createpolicy: any number, which nobody looks at.
void run_policy(Registers& r, const Step& s, Mask lanes) {
  auto* to = r.write<std::uint64_t>(s.destination);
  for (unsigned i = 0; i < kLanes; ++i)
    if ((lanes >> i & 1) != 0) to[i] = 0;
}

/// isspacep: immediate is the window; extra 1: global memory, which has none.
void run_is_space(Registers& r, const Step& s, Mask lanes) {
  const auto* a = r.read<std::uint64_t>(s.a);
  Mask in = 0;
  for (unsigned i = 0; i < kLanes; ++i) {
    const auto window = static_cast<std::uint64_t>(s.immediate);
    const bool is = s.extra == 1 ? a[i] >= kGlobalBegin : a[i] >= window && a[i] < window + kWindowBytes;
    if (is) in |= Mask{1} << i;
  }
  Mask& to = r.predicate(s.destination);
  to = (to & ~lanes) | (in & lanes);
}

}  // namespace

MemoryForm Decoder::memory_form() const {
  MemoryForm form;
  form.space = opcode->space;
  form.bytes = static_cast<std::uint8_t>(std::max<unsigned>(1, opcode->bytes));
  form.count = opcode->vector;
  for (const std::string_view part : opcode->parts) {
    if (part == "volatile" || part == "relaxed" || part == "mmio") form.strength = Strength::relaxed;
    if (part == "volatile" || part == "mmio") form.scope = Scope::system;
    if (part == "acquire") form.strength = Strength::acquire;
    if (part == "release") form.strength = Strength::release;
    if (part == "acq_rel") form.strength = Strength::acquire_release;
    if (part == "cta") form.scope = Scope::block;
    if (part == "cluster") form.scope = Scope::cluster;
    if (part == "gpu") form.scope = Scope::gpu;
    if (part == "sys") form.scope = Scope::system;
    if (part == "s8" || part == "s16" || part == "s32" || part == "s64") form.sign = true;
  }
  return form;
}

void Decoder::address(const Operand& operand, MemoryForm& form) {
  if (operand.kind != OperandKind::address || operand.count != 1) unsupported("this form of an address");
  const Operand& base = function->children(operand)[0];
  step.immediate = operand.value;
  if (base.kind == OperandKind::reg) {
    const unsigned bytes = register_bytes(base, 8);
    if (bytes != 4 && bytes != 8) unsupported("an address of this width");
    form.wide_base = bytes == 8;
    form.constant_address = is_constant[base.id];
    step.a = source(base, bytes);
    return;
  }
  form.fixed = form.constant_address = true;
  if (base.kind == OperandKind::symbol) {
    step.immediate += static_cast<std::int64_t>(symbol_address(base));
    // Parameters of functions are in the thread's memory; only the kernel's have a bank.
    if (form.space == Space::param && thread_place.contains(base.id)) form.space = Space::local;
    if (form.space == Space::generic)
      step.immediate += static_cast<std::int64_t>(window_of(module.variables[base.id].space));
  } else if (base.kind == OperandKind::integer) {
    step.immediate += base.value;
  } else {
    unsupported("this form of an address");
  }
}

bool Decoder::memory_operation() {
  switch (opcode->op) {
    case Op::multimem:
      // Of one GPU: its memory is the only replica.
      if (opcode->has("red")) {
        atomic();
        return true;
      }
      [[fallthrough]];
    case Op::ld:
    case Op::ldu:
    case Op::st: {
      const bool load = opcode->op != Op::st && !opcode->has("st");
      if (!load && opcode->has("async")) {
        async_store();
        return true;
      }
      // A cache policy changes no result.
      if (operands.size() != (opcode->has("L2::cache_hint") ? 3u : 2u) || opcode->has("bulk")) unsupported();
      if (opcode->has("b128") && opcode->bytes != 16) unsupported();
      MemoryForm form = memory_form();
      address(operands[load ? 1 : 0], form);
      const Operand& value = operands[load ? 0 : 1];
      const std::span<const Operand> values =
          value.kind == OperandKind::vector ? function->children(value) : std::span<const Operand>(&value, 1);
      if (values.size() != form.count || values.size() > 8) unsupported();
      const bool real = opcode->parts.back().front() == 'f';
      unsigned width = std::max<unsigned>(2, form.bytes);
      for (const Operand& v : values) width = std::max(width, register_bytes(v, width));
      form.register_bytes = static_cast<std::uint8_t>(width);
      for (std::size_t i = 0; i < values.size(); ++i) {
        if (load)
          form.values[i] = destination(values[i], width);
        else
          form.stored[i] = source(values[i], width, real);
      }
      if (form.space == Space::param && !function->entry && form.fixed == false) form.space = Space::local;
      step.extra = static_cast<std::uint32_t>(program.memory.size());
      program.memory.push_back(form);
      step.run = load ? &run_load : &run_store;
      return true;
    }
    case Op::atom:
    case Op::red:
      atomic();
      return true;
    case Op::cp:
      async_copy();
      return true;
    case Op::mbarrier:
      mbarrier();
      return true;
    case Op::prefetch:
    case Op::prefetchu:
    case Op::applypriority:
    case Op::discard:  // what is there afterwards is undefined: it may be what was there
      step.run = &run_nothing;
      return true;
    case Op::createpolicy:
      step.destination = destination(operands[0], 8);
      step.run = &run_policy;
      return true;
    case Op::tensormap:
      tensor_map_operation();
      return true;
    case Op::cvta: {
      const bool to = opcode->has("to");
      const unsigned bytes = register_bytes(operands[1], 8);
      if (register_bytes(operands[0], 8) != 8 || (bytes != 8 && bytes != 4)) unsupported();
      step.a = source(operands[1], bytes);
      step.destination = destination(operands[0], 8);
      const auto begin = static_cast<std::int64_t>(window_of(opcode->space));
      step.immediate = to ? -begin : begin;
      step.run = bytes == 8 ? &run_add_window<std::uint64_t> : &run_add_window<std::uint32_t>;
      return true;
    }
    case Op::isspacep: {
      step.a = source(operands[1], 8);
      step.destination = destination(operands[0], 0);
      step.immediate = static_cast<std::int64_t>(window_of(opcode->space));
      step.extra = opcode->space == Space::global || opcode->space == Space::constant ? 1 : 0;
      step.run = &run_is_space;
      return true;
    }
    default:
      return false;
  }
}

}  // namespace warploom::sim
