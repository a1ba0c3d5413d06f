// Operands, arithmetic and moves: what one instruction name and its operands mean to a lane handler.
#include "sim/decode.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <optional>

#include "core/instruction_sets.hpp"

#define WARPLOOM_SIM_DECLARE            \
  Handler integer(const Form& form);    \
  Handler comparison(const Form& form); \
  Handler floating(const Form& form);   \
  Handler half(const Form& form);       \
  Handler conversion(const Form& form, unsigned to_bytes, unsigned from_bytes);

namespace warploom::sim {

using namespace ptx;

namespace baseline {
WARPLOOM_SIM_DECLARE
}
#ifdef WARPLOOM_HAS_avx2
namespace avx2 {
WARPLOOM_SIM_DECLARE
}
#endif

namespace lanes {
Handler integer(const Form& form) { return WARPLOOM_PICK(integer)(form); }
Handler comparison(const Form& form) { return WARPLOOM_PICK(comparison)(form); }
Handler floating(const Form& form) { return WARPLOOM_PICK(floating)(form); }
Handler half(const Form& form) { return WARPLOOM_PICK(half)(form); }
Handler conversion(const Form& form, unsigned to_bytes, unsigned from_bytes) {
  return WARPLOOM_PICK(conversion)(form, to_bytes, from_bytes);
}

}  // namespace lanes

namespace {

/// Of a register, as it is kept: 8 bits take 16.
unsigned kept(unsigned bytes) { return bytes == 1 ? 2 : bytes; }
unsigned kept(const Type& type) { return type.kind == Type::pred ? 0 : kept(type.bytes()); }

unsigned destination_bytes(const Form& f) {
  switch (f.op) {
    case Op::bfind:
    case Op::popc:
    case Op::clz:
    case Op::fns:
    case Op::dp2a:
    case Op::dp4a:
      return 4;
    case Op::setp:
    case Op::testp:
      return 0;
    case Op::mul:
    case Op::mad:
      return kept(f.type) * (f.wide ? 2 : 1);
    default:
      return kept(f.type);
  }
}

unsigned source_bytes(const Form& f, unsigned which) {
  switch (f.op) {
    case Op::shl:
    case Op::shr:
      return which == 1 ? 4 : kept(f.type);
    case Op::shf:
    case Op::fns:
    case Op::prmt:
    case Op::lop3:
    case Op::dp2a:
    case Op::dp4a:
      return f.type.kind == Type::pred ? 0 : 4;
    case Op::bfe:
      return which == 0 ? kept(f.type) : 4;
    case Op::bfi:
      return which <= 1 ? kept(f.type) : 4;
    case Op::bmsk:
    case Op::szext:
      return which == 0 ? kept(f.type) : 4;
    case Op::mad:
      return which == 2 && f.wide ? 2 * kept(f.type) : kept(f.type);
    case Op::setp:
    case Op::set:
      return which == 2 ? 0 : kept(f.op == Op::set ? f.from : f.type);
    case Op::selp:
      return which == 2 ? 0 : kept(f.type);
    case Op::slct:
      return which == 2 ? kept(f.from) : kept(f.type);
    case Op::fma:
      return which == 2 ? kept(f.type) : kept(f.from);
    case Op::add:
    case Op::sub:
      return which == 0 ? kept(f.from) : kept(f.type);
    default:
      return kept(f.type);
  }
}

bool real(const Form& f, unsigned which) {
  const Type& t = (f.op == Op::set || f.op == Op::setp) && which < 2 ? f.from
                  : f.op == Op::slct && which == 2                   ? f.from
                                                                     : f.type;
  return t.kind == Type::f || t.kind == Type::bf;
}

/// destination[lane] = bytes of the parts, low first.
template <typename Whole, typename Part, unsigned count>
void pack(Registers& r, const Step& s, Mask lanes) {
  const Source sources[4] = {s.a, s.b, s.c, s.d};
  Whole result[kLanes];
  for (unsigned i = 0; i < kLanes; ++i) {
    Whole whole = 0;
    for (unsigned p = 0; p < count; ++p)
      whole |= Whole(r.read<Part>(sources[p])[i]) << (p * 8 * sizeof(Part));
    result[i] = whole;
  }
  Whole* to = r.write<Whole>(s.destination);
  for (unsigned i = 0; i < kLanes; ++i)
    if ((lanes >> i & 1) != 0) to[i] = result[i];
}

template <typename Whole, typename Part>
void unpack(Registers& r, const Step& s, Mask lanes) {
  const Source destinations[4] = {s.b, s.c, s.d, in_registers(s.destination)};
  Whole from[kLanes];
  std::memcpy(from, r.read<Whole>(s.a), sizeof from);
  for (unsigned p = 0; p < sizeof(Whole) / sizeof(Part); ++p) {
    Part* to = r.write<Part>(destinations[p].offset);
    for (unsigned i = 0; i < kLanes; ++i)
      if ((lanes >> i & 1) != 0) to[i] = static_cast<Part>(from[i] >> (p * 8 * sizeof(Part)));
  }
}

void copy_wide(Registers& r, const Step& s, Mask lanes) {
  const Wide* from = r.read<Wide>(s.a);
  Wide* to = r.write<Wide>(s.destination);
  for (unsigned i = 0; i < kLanes; ++i)
    if ((lanes >> i & 1) != 0) to[i] = from[i];
}
void pack_wide(Registers& r, const Step& s, Mask lanes) {
  Wide* to = r.write<Wide>(s.destination);
  const std::uint64_t *low = r.read<std::uint64_t>(s.a), *high = r.read<std::uint64_t>(s.b);
  for (unsigned i = 0; i < kLanes; ++i)
    if ((lanes >> i & 1) != 0) to[i] = {low[i], high[i]};
}
void unpack_wide(Registers& r, const Step& s, Mask lanes) {
  const Wide* from = r.read<Wide>(s.a);
  for (unsigned i = 0; i < kLanes; ++i)
    if ((lanes >> i & 1) != 0) {
      const Wide value = from[i];
      r.write<std::uint64_t>(s.b.offset)[i] = value.low;
      r.write<std::uint64_t>(s.c.offset)[i] = value.high;
    }
}

/// cvt.pack: c's low bits, then a and b, each cut to what `immediate` bits hold; flags 1: with a sign.
void run_pack(Registers& r, const Step& s, Mask lanes) {
  const auto bits = static_cast<unsigned>(s.immediate);
  const std::int32_t most = s.flags != 0 ? (1 << (bits - 1)) - 1 : (1 << bits) - 1,
                     least = s.flags != 0 ? -(1 << (bits - 1)) : 0;
  const auto part = [&](std::int32_t x) {
    return static_cast<std::uint32_t>(std::clamp(x, least, most)) & ((1u << bits) - 1);
  };
  const auto *a = r.read<std::int32_t>(s.a), *b = r.read<std::int32_t>(s.b);
  const auto* c = r.read<std::uint32_t>(s.c);
  auto* to = r.write<std::uint32_t>(s.destination);
  for (unsigned i = 0; i < kLanes; ++i)
    if ((lanes >> i & 1) != 0)
      to[i] = static_cast<std::uint32_t>(std::uint64_t{c[i]} << 2 * bits) | part(a[i]) << bits | part(b[i]);
}

Special special_of(std::string_view name) {
  static const std::unordered_map<std::string_view, Special> names = {
      {"%tid.x", Special::tid_x},
      {"%tid.y", Special::tid_y},
      {"%tid.z", Special::tid_z},
      {"%ntid.x", Special::ntid_x},
      {"%ntid.y", Special::ntid_y},
      {"%ntid.z", Special::ntid_z},
      {"%ctaid.x", Special::ctaid_x},
      {"%ctaid.y", Special::ctaid_y},
      {"%ctaid.z", Special::ctaid_z},
      {"%nctaid.x", Special::nctaid_x},
      {"%nctaid.y", Special::nctaid_y},
      {"%nctaid.z", Special::nctaid_z},
      {"%cluster_ctaid.x", Special::cluster_ctaid_x},
      {"%cluster_ctaid.y", Special::cluster_ctaid_y},
      {"%cluster_ctaid.z", Special::cluster_ctaid_z},
      {"%cluster_nctaid.x", Special::cluster_nctaid_x},
      {"%cluster_nctaid.y", Special::cluster_nctaid_y},
      {"%cluster_nctaid.z", Special::cluster_nctaid_z},
      {"%cluster_ctarank", Special::cluster_ctarank},
      {"%cluster_nctarank", Special::cluster_nctarank},
      {"%clusterid.x", Special::clusterid_x},
      {"%clusterid.y", Special::clusterid_y},
      {"%clusterid.z", Special::clusterid_z},
      {"%nclusterid.x", Special::nclusterid_x},
      {"%nclusterid.y", Special::nclusterid_y},
      {"%nclusterid.z", Special::nclusterid_z},
      {"%laneid", Special::laneid},
      {"%warpid", Special::warpid},
      {"%nwarpid", Special::nwarpid},
      {"%smid", Special::smid},
      {"%nsmid", Special::nsmid},
      {"%gridid", Special::gridid},
      {"%envreg1", Special::workspace_high},
      {"%envreg2", Special::workspace_low},
      {"%lanemask_eq", Special::lanemask_eq},
      {"%lanemask_le", Special::lanemask_le},
      {"%lanemask_lt", Special::lanemask_lt},
      {"%lanemask_ge", Special::lanemask_ge},
      {"%lanemask_gt", Special::lanemask_gt},
      {"%dynamic_smem_size", Special::dynamic_smem_size},
      {"%total_smem_size", Special::total_smem_size},
      {"%aggr_smem_size", Special::aggregate_smem_size},
      {"%clock", Special::clock},
      {"%clock_hi", Special::clock_hi},
      {"%clock64", Special::clock64},
      {"%globaltimer", Special::globaltimer},
      {"%globaltimer_lo", Special::globaltimer_lo},
      {"%globaltimer_hi", Special::globaltimer_hi}};
  const auto at = names.find(name);
  if (at != names.end()) return at->second;
  if (name.starts_with("%envreg") || name.starts_with("%pm"))
    return Special::zero;  // no performance counters
  return Special::count_;
}

}  // namespace

void Decoder::unsupported(const std::string& why) const {
  throw Unsupported(fmt::format("{}:{}: kernel '{}': the simulator has no '{}'{}{}", module.file,
                                instruction->line, program.kernel->name, module.text_of(instruction->span),
                                why.empty() ? "" : ": ", why));
}

std::uint32_t Decoder::allocate_register(unsigned bytes) {
  const std::uint32_t align = bytes == 0 ? 4 : 64, size = bytes == 0 ? 4 : bytes * kLanes;
  const std::uint32_t at = (program.register_bytes + align - 1) / align * align;
  program.register_bytes = at + size;
  return at;
}

Source Decoder::constant(std::uint64_t value, unsigned bytes) {
  const auto [known, fresh] = constant_pool.try_emplace({value, bytes});
  if (fresh) {
    // In words of 64 bits; each constant begins at a multiple of 64 bytes.
    const std::size_t at = program.constants.size() * 8;
    program.constants.resize(program.constants.size() + (bytes * kLanes + 63) / 64 * 8);
    std::byte* to = reinterpret_cast<std::byte*>(program.constants.data()) + at;
    for (unsigned i = 0; i < kLanes; ++i) std::memcpy(to + std::size_t{i} * bytes, &value, bytes);
    known->second = in_constants(static_cast<std::uint32_t>(at));
  }
  return known->second;
}

unsigned Decoder::register_bytes(const Operand& operand, unsigned otherwise) const {
  if (operand.kind != OperandKind::reg) return otherwise;
  const Register& r = function->registers[operand.id];
  return r.type == "pred" ? 0 : kept(type_bytes(r.type));
}

std::uint64_t Decoder::symbol_address(const Operand& operand) const {
  const Variable& v = module.variables[operand.id];
  const auto in = [&](const auto& places) -> std::optional<std::uint64_t> {
    const auto at = places.find(operand.id);
    if (at == places.end()) return {};
    return at->second;
  };
  std::optional<std::uint64_t> at;
  if (v.space == Space::shared)
    at = v.bytes == 0 ? program.shared_bytes
                      : in(shared_place);  // every extern array begins where the dynamic memory does
  else if (v.space == Space::local)
    at = in(thread_place);
  else if (v.space == Space::param)
    at = in(parameter_place) ? in(parameter_place) : in(thread_place);
  else if (const Address a = memory.variable(operand.id); a != 0)
    at = a;
  if (!at) unsupported(fmt::format("'{}' has no storage in this module", v.name));
  return *at + static_cast<std::uint64_t>(operand.value);
}

Source Decoder::source(const Operand& operand, unsigned bytes, bool is_real) {
  switch (operand.kind) {
    case OperandKind::reg: {
      std::uint32_t offset = register_offset[operand.id];
      const unsigned width = register_bytes(operand, bytes);
      if (operand.component < 4) offset += operand.component * width * kLanes;
      if (width != bytes)
        unsupported(
            fmt::format("register {} has {} bits here", function->registers[operand.id].name, 8 * width));
      return in_registers(offset);
    }
    case OperandKind::integer: {
      if (bytes == 0) return constant(operand.value != 0 ? kAllLanes : 0, 4);
      if (is_real) unsupported("an integer where a floating-point number is expected");
      return constant(static_cast<std::uint64_t>(operand.value), bytes);
    }
    case OperandKind::real: {
      const std::string_view text = module.text_of(operand.span);
      const bool single = text.size() > 1 && (text[1] == 'f' || text[1] == 'F') && text[0] == '0';
      auto bits = static_cast<std::uint64_t>(operand.value);
      if (bytes == 4 && !single)
        bits = std::bit_cast<std::uint32_t>(static_cast<float>(std::bit_cast<double>(bits)));
      if (bytes == 8 && single)
        bits = std::bit_cast<std::uint64_t>(
            static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(bits))));
      if (bytes != 4 && bytes != 8) unsupported("a floating-point number of this width");
      return constant(bits, bytes);
    }
    case OperandKind::symbol:
      return constant(symbol_address(operand), bytes);
    case OperandKind::function:
      return constant(kFunctionWindow + 16 * std::uint64_t{operand.id}, bytes);
    case OperandKind::special: {
      const std::string_view name = module.text_of(operand.span);
      if (name == "WARP_SZ") return constant(kLanes, bytes);
      if (name.starts_with(kReservedOffset)) return constant(reserved_offset(name), bytes);
      const Special special = special_of(name);
      if (special == Special::count_ || bytes < 2) unsupported(fmt::format("special register {}", name));
      if (special >= Special::clock) unsupported(fmt::format("{} outside a mov", name));
      program.grid_workspace |= special == Special::workspace_high || special == Special::workspace_low;
      const auto [slot, fresh] = special_slots.try_emplace({special, bytes});
      if (fresh) {
        slot->second = allocate_register(bytes);
        program.specials.push_back({special, slot->second, static_cast<std::uint8_t>(bytes)});
      }
      return in_registers(slot->second);
    }
    default:
      unsupported(fmt::format("operand '{}'", module.text_of(operand.span)));
  }
}

std::uint32_t Decoder::reserved_offset(std::string_view name) const {
  name.remove_prefix(kReservedOffset.size());
  if (name == "begin" || name == "0" || name == "1") return 0;
  if (name == "end") return kReservedUsable;
  if (name == "cap") return kReservedShared;
  unsupported();
}

std::uint32_t Decoder::destination(const Operand& operand, unsigned bytes) {
  if (operand.kind == OperandKind::sink) {
    if (scratch == kNoSlot) scratch = allocate_register(16);
    return scratch;
  }
  if (operand.kind != OperandKind::reg)
    unsupported(fmt::format("operand '{}' cannot be written", module.text_of(operand.span)));
  return source(operand, bytes).offset;
}

void Decoder::move() {
  const Operand &to = operands[0], &from = operands[1];
  if (from.kind == OperandKind::special && special_of(module.text_of(from.span)) >= Special::clock &&
      special_of(module.text_of(from.span)) != Special::count_) {
    const Special special = special_of(module.text_of(from.span));
    const unsigned bytes = register_bytes(to, 4);
    step.destination = destination(to, bytes);
    step.immediate = special == Special::clock_hi || special == Special::globaltimer_hi ? 32 : 0;
    step.run = clock_handler(bytes);
    return;
  }
  if (from.kind == OperandKind::vector) {
    const auto parts = function->children(from);
    const unsigned whole = register_bytes(to, 8), part = whole / static_cast<unsigned>(parts.size());
    Source* sources[4] = {&step.a, &step.b, &step.c, &step.d};
    if (parts.size() > 4) unsupported();
    for (std::size_t i = 0; i < parts.size(); ++i)
      *sources[i] = source(parts[i], register_bytes(parts[i], part));
    step.destination = destination(to, whole);
    if (whole == 8 && part == 4)
      step.run = &pack<std::uint64_t, std::uint32_t, 2>;
    else if (whole == 8 && part == 2)
      step.run = &pack<std::uint64_t, std::uint16_t, 4>;
    else if (whole == 4 && part == 2)
      step.run = &pack<std::uint32_t, std::uint16_t, 2>;
    else if (whole == 16 && part == 8)
      step.run = &pack_wide;
    else
      unsupported();
    return;
  }
  if (to.kind == OperandKind::vector) {
    const auto parts = function->children(to);
    const unsigned count = static_cast<unsigned>(parts.size()), whole = register_bytes(from, opcode->bytes),
                   part = whole / count;
    if (count > 4) unsupported();
    step.a = source(from, whole);
    std::uint32_t at[4] = {};
    for (unsigned i = 0; i < count; ++i) at[i] = destination(parts[i], part);
    step.b = in_registers(at[0]);
    step.c = in_registers(at[1]);
    step.d = in_registers(at[2]);
    step.destination = at[3];
    if (whole == 8 && part == 4)
      step.run = &unpack<std::uint64_t, std::uint32_t>;
    else if (whole == 8 && part == 2)
      step.run = &unpack<std::uint64_t, std::uint16_t>;
    else if (whole == 4 && part == 2)
      step.run = &unpack<std::uint32_t, std::uint16_t>;
    else if (whole == 16 && part == 8)
      step.run = &unpack_wide;
    else
      unsupported();
    return;
  }
  const Form form = form_of(*opcode);
  const unsigned bytes = kept(form.type);
  step.a = source(from, bytes);
  step.destination = destination(to, bytes);
  step.run = bytes == 16 ? &copy_wide : lanes::integer(form);
}

void Decoder::pack_saturated() {
  const std::string_view type = opcode->parts.size() > 3 ? opcode->parts[3] : "";
  const unsigned bits = type == "u16" || type == "s16" ? 16
                        : type == "u8" || type == "s8" ? 8
                        : type == "u4" || type == "s4" ? 4
                        : type == "u2" || type == "s2" ? 2
                                                       : 0;
  if (bits == 0 || operands.size() != (bits == 16 ? 3u : 4u)) unsupported();
  step.a = source(operands[1], 4);
  step.b = source(operands[2], 4);
  step.c = bits == 16 ? constant(0, 4) : source(operands[3], 4);
  step.destination = destination(operands[0], 4);
  step.immediate = bits;
  step.flags = type.front() == 's' ? 1 : 0;
  step.run = &run_pack;
}

void Decoder::arithmetic() {
  if (opcode->op == Op::cvt && opcode->has("pack")) return pack_saturated();
  if (scalar_video()) return;
  const Form form = form_of(*opcode);
  if (form.unknown_part || operands.empty()) unsupported();
  Source* sources[4] = {&step.a, &step.b, &step.c, &step.d};
  unsigned given = static_cast<unsigned>(operands.size()) - 1;
  if (form.op == Op::lop3) {
    // Five operands; a sixth is a predicate of lop3.BoolOp, which nothing emits.
    if (given != 4 || operands[4].kind != OperandKind::integer) unsupported();
    step.immediate = operands[4].value;
    given = 3;
  }
  if (given > 4) unsupported();
  if (form.op == Op::cvt) {
    if (given == 1 && form.type.packed == 1) {
      const unsigned to = register_bytes(operands[0], kept(form.type)),
                     from = register_bytes(operands[1], kept(form.from));
      step.a = source(operands[1], from, form.from.kind == Type::f);
      step.destination = destination(operands[0], to);
      step.run = lanes::conversion(form, to, from);
    } else {
      const unsigned to = register_bytes(operands[0], kept(form.type));
      const unsigned from = register_bytes(operands[1], kept(form.from));
      for (unsigned i = 0; i < given; ++i)
        *sources[i] =
            source(operands[i + 1], register_bytes(operands[i + 1], from), form.from.kind == Type::f);
      step.destination = destination(operands[0], to);
      step.run = lanes::conversion(form, to, from);
    }
    if (step.run == nullptr) unsupported();
    return;
  }
  for (unsigned i = 0; i < given; ++i) {
    *sources[i] = source(operands[i + 1], source_bytes(form, i), real(form, i));
    if (operands[i + 1].negated) step.negated |= static_cast<std::uint8_t>(1u << i);
  }
  if (operands[0].kind == OperandKind::pair) {
    const auto pair = function->children(operands[0]);
    step.destination = destination(pair[0], destination_bytes(form));
    step.second = destination(pair[1], 0);
  } else {
    step.destination = destination(operands[0], destination_bytes(form));
  }
  if (form.carry) step.second = carry();
  if ((form.op == Op::min_ || form.op == Op::max_) && given == 3) step.flags = 1;
  switch (form.op) {
    case Op::setp:
    case Op::set:
    case Op::selp:
    case Op::slct:
    case Op::testp:
      step.run = lanes::comparison(form);
      break;
    default: {
      const bool is_half = form.type.kind == Type::bf ||
                           (form.type.kind == Type::f && form.type.bits == 16) ||
                           form.from.kind == Type::bf || (form.from.kind == Type::f && form.from.bits == 16);
      const bool is_float = form.type.kind == Type::f;
      step.run = is_half ? lanes::half(form) : is_float ? lanes::floating(form) : lanes::integer(form);
    }
  }
  if (step.run == nullptr) unsupported();
  if (opcode->parts[0].front() == 'v') select_elements(form);
}

std::uint32_t Decoder::carry() {
  // One for the whole program: a call between an add.cc and its addc does not occur in compiled code.
  if (carry_slot == kNoSlot) carry_slot = allocate_register(0);
  return carry_slot;
}

}  // namespace warploom::sim
