#include "reuse/analysis/evaluate.hpp"

#include <algorithm>
#include <bit>
#include <string_view>

namespace warploom::reuse {

using namespace ptx;

namespace {

std::uint64_t mask(unsigned bits) { return bits >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << bits) - 1; }

std::int64_t extended(std::uint64_t value, unsigned bits) {
  const unsigned unused = 64 - bits;
  return static_cast<std::int64_t>(value << unused) >> unused;
}

/// Width and sign of an integer, untyped or predicate type; false for any other.
bool integer_type(std::string_view type, std::uint8_t& bits, bool& is_signed) {
  if (type == "pred") return bits = 1, is_signed = false, true;
  if (type.empty() || (type[0] != 'u' && type[0] != 's' && type[0] != 'b')) return false;
  is_signed = type[0] == 's';
  const std::string_view width = type.substr(1);
  if (width == "8")
    bits = 8;
  else if (width == "16")
    bits = 16;
  else if (width == "32")
    bits = 32;
  else if (width == "64")
    bits = 64;
  else
    return false;
  return true;
}

bool comparison(std::string_view part, Computation& c) {
  // lo, ls, hi and hs are the unsigned names.
  static constexpr std::pair<std::string_view, Computation::Compare> kNames[] = {
      {"eq", Computation::eq}, {"ne", Computation::ne}, {"lt", Computation::lt}, {"le", Computation::le},
      {"gt", Computation::gt}, {"ge", Computation::ge}, {"lo", Computation::lt}, {"ls", Computation::le},
      {"hi", Computation::gt}, {"hs", Computation::ge}};
  for (const auto& [name, compare] : kNames)
    if (part == name) return c.compare = compare, true;
  return false;
}

/// Takes one part between mnemonic and type; false for what is not modelled (.sat, .cc, .relu, rounding).
bool modifier(std::string_view part, Computation& c) {
  switch (c.op) {
    case Op::mul:
    case Op::mad:
      if (part == "lo") return c.half = Computation::low, true;
      if (part == "hi") return c.half = Computation::high, true;
      if (part == "wide") return c.half = Computation::wide, true;
      return false;
    case Op::setp:
      if (part == "and") return c.combine = Op::and_, true;
      if (part == "or") return c.combine = Op::or_, true;
      if (part == "xor") return c.combine = Op::xor_, true;
      return comparison(part, c);
    case Op::shf:
      if (part == "l") return c.left = true;
      if (part == "wrap") return c.wraps = true;
      return part == "r" || part == "clamp";
    case Op::cvta:
      return part == "to" || part == "shared" || part == "shared::cta";
    default:
      return false;
  }
}

unsigned inputs_of(const Computation& c) {
  switch (c.op) {
    case Op::mov:
    case Op::cvt:
    case Op::cvta:
    case Op::abs_:
    case Op::neg:
    case Op::not_:
    case Op::popc:
    case Op::clz:
    case Op::brev:
      return 1;
    case Op::add:
    case Op::sub:
    case Op::mul:
    case Op::div:
    case Op::rem:
    case Op::and_:
    case Op::or_:
    case Op::xor_:
    case Op::shl:
    case Op::shr:
    case Op::min_:
    case Op::max_:
      return 2;
    case Op::mad:
    case Op::selp:
    case Op::bfe:
    case Op::shf:
      return 3;
    case Op::bfi:
    case Op::lop3:
      return 4;
    case Op::setp:
      return c.combine == Op::unknown ? 2 : 3;
    default:
      return 0;
  }
}

/// An unknown or an address plus a number, in the width of the result.
Cell sum(Cell base, std::uint64_t number, unsigned bits) {
  base.bits += number;
  // Offsets of addresses stay small and signed, whatever the register's width.
  base.bits = base.number() ? base.bits & mask(bits) : static_cast<std::uint64_t>(extended(base.bits, bits));
  return base;
}

Cell moved(const Cell& cell, unsigned bits) { return cell.number() ? Cell{cell.bits & mask(bits)} : cell; }

std::optional<Cell> add(const Cell& a, const Cell& b, unsigned bits) {
  if ((a.symbol != 0 && b.symbol != 0) || (a.object != kNone && b.object != kNone)) return std::nullopt;
  Cell base = a;
  if (b.symbol != 0) base.symbol = b.symbol;
  if (b.object != kNone) base.object = b.object;
  return sum(base, b.bits, bits);
}

std::optional<Cell> subtract(const Cell& a, const Cell& b, unsigned bits) {
  if (b.number()) return sum(a, ~b.bits + 1, bits);
  if (a.symbol == b.symbol && a.object == b.object) return Cell{(a.bits - b.bits) & mask(bits)};
  return std::nullopt;
}

std::optional<Cell> multiply(const Computation& c, const Cell& a, const Cell& b) {
  if (!a.number() || !b.number()) {
    // Zero times anything is zero; one times it keeps it.
    for (const auto& [x, y] : {std::pair{a, b}, std::pair{b, a}})
      if (x.number() && c.half == Computation::low) {
        if ((x.bits & mask(c.bits)) == 0) return Cell{};
        if ((x.bits & mask(c.bits)) == 1) return y;
      }
    return std::nullopt;
  }
  __extension__ using wide_t = unsigned __int128;
  const wide_t x = c.is_signed ? static_cast<wide_t>(static_cast<__int128_t>(extended(a.bits, c.bits)))
                               : a.bits & mask(c.bits);
  const wide_t y = c.is_signed ? static_cast<wide_t>(static_cast<__int128_t>(extended(b.bits, c.bits)))
                               : b.bits & mask(c.bits);
  const wide_t product = x * y;
  const wide_t part = c.half == Computation::high ? product >> c.bits : product;
  return Cell{static_cast<std::uint64_t>(part) & mask(c.result_bits)};
}

std::optional<bool> compare(const Computation& c, const Cell& a, const Cell& b) {
  if (a.symbol != b.symbol || a.object != b.object) return std::nullopt;
  if (!a.number() && c.compare != Computation::eq && c.compare != Computation::ne) {
    // Addresses inside one object do not wrap; other unknowns may.
    constexpr std::uint64_t kInside = 1 << 20;
    if (a.symbol != 0 || a.bits > kInside || b.bits > kInside) return std::nullopt;
  }
  const auto decide = [&](auto x, auto y) {
    switch (c.compare) {
      case Computation::eq:
        return x == y;
      case Computation::ne:
        return x != y;
      case Computation::lt:
        return x < y;
      case Computation::le:
        return x <= y;
      case Computation::gt:
        return x > y;
      case Computation::ge:
        return x >= y;
    }
    return false;
  };
  return c.is_signed && a.number() ? decide(extended(a.bits, c.bits), extended(b.bits, c.bits))
                                   : decide(a.bits & mask(c.bits), b.bits & mask(c.bits));
}

/// and, or, xor; of predicates also with one unknown.
std::optional<Cell> logical(Op op, const Cell& a, const Cell& b, unsigned bits) {
  if (a.number() && b.number())
    return Cell{(op == Op::and_  ? a.bits & b.bits
                 : op == Op::or_ ? a.bits | b.bits
                                 : a.bits ^ b.bits) &
                mask(bits)};
  if (a == b && op != Op::xor_) return a;
  for (const auto& [known, other] : {std::pair{a, b}, std::pair{b, a}}) {
    if (!known.number()) continue;
    const std::uint64_t n = known.bits & mask(bits);
    if (op == Op::and_ && n == 0) return Cell{};
    if (op == Op::or_ && n == mask(bits)) return Cell{n};
    if (op == Op::and_ ? n == mask(bits) : n == 0) return other;
    if (op == Op::xor_ && bits == 1) {
      Cell negated = other;
      negated.bits ^= 1;
      return negated;
    }
  }
  return std::nullopt;
}

std::optional<Cell> converted(const Computation& c, const Cell& a) {
  const unsigned from = c.bits, to = c.result_bits;
  if (!a.number()) {
    // The shared window lies below 4 GiB: an address keeps its meaning in 32 and 64 bits.
    if (a.object != kNone && a.symbol == 0 && from >= 32 && to >= 32) return a;
    if (from == to) return a;
    return std::nullopt;
  }
  const std::uint64_t value =
      c.is_signed ? static_cast<std::uint64_t>(extended(a.bits, from)) : a.bits & mask(from);
  return Cell{value & mask(to)};
}

/// The rest of the instructions, of numbers only.
std::optional<std::uint64_t> of_numbers(const Computation& c, const std::array<std::uint64_t, 5>& in) {
  const unsigned n = c.bits;
  const std::int64_t x = extended(in[0], n), y = extended(in[1], n);
  switch (c.op) {
    case Op::abs_:
      return static_cast<std::uint64_t>(x < 0 ? -static_cast<std::uint64_t>(x)
                                              : static_cast<std::uint64_t>(x));
    case Op::neg:
      return ~in[0] + 1;
    case Op::not_:
      return ~in[0];
    case Op::popc:
      return static_cast<std::uint64_t>(std::popcount(in[0]));
    case Op::clz:
      return static_cast<std::uint64_t>(std::countl_zero(in[0])) - (64 - n);
    case Op::brev: {
      std::uint64_t reversed = 0;
      for (unsigned b = 0; b < n; ++b) reversed |= ((in[0] >> b) & 1) << (n - 1 - b);
      return reversed;
    }
    case Op::div:
    case Op::rem:
      if (in[1] == 0 || (c.is_signed && y == -1)) return std::nullopt;  // undefined, or may overflow
      if (c.is_signed) return static_cast<std::uint64_t>(c.op == Op::div ? x / y : x % y);
      return c.op == Op::div ? in[0] / in[1] : in[0] % in[1];
    case Op::min_:
      return c.is_signed ? static_cast<std::uint64_t>(std::min(x, y)) : std::min(in[0], in[1]);
    case Op::max_:
      return c.is_signed ? static_cast<std::uint64_t>(std::max(x, y)) : std::max(in[0], in[1]);
    case Op::shl:
      return in[1] >= n ? 0 : in[0] << in[1];
    case Op::shr:
      if (c.is_signed) return static_cast<std::uint64_t>(x >> std::min<std::uint64_t>(in[1], n - 1));
      return in[1] >= n ? 0 : in[0] >> in[1];
    case Op::shf: {
      const std::uint64_t by = c.wraps ? in[2] & 31 : std::min<std::uint64_t>(in[2], 32);
      const std::uint64_t both = (in[1] << 32) | in[0];
      return c.left ? (both << by) >> 32 : both >> by;
    }
    case Op::bfe: {
      const std::uint64_t at = in[1] & 0xff, length = in[2] & 0xff;
      if (length == 0) return 0;
      const std::uint64_t shifted = c.is_signed
                                        ? static_cast<std::uint64_t>(x >> std::min<std::uint64_t>(at, n - 1))
                                    : at >= n ? 0
                                              : in[0] >> at;
      if (at + length >= n) return shifted;
      const std::uint64_t field = shifted & mask(static_cast<unsigned>(length));
      return c.is_signed ? static_cast<std::uint64_t>(extended(field, static_cast<unsigned>(length))) : field;
    }
    case Op::bfi: {
      const std::uint64_t at = in[2] & 0xff, length = in[3] & 0xff;
      if (at >= n || length == 0) return in[1];
      const std::uint64_t field = mask(static_cast<unsigned>(std::min<std::uint64_t>(length, 64))) << at;
      return (in[1] & ~field) | ((in[0] << at) & field);
    }
    case Op::lop3: {
      std::uint64_t result = 0;
      for (unsigned k = 0; k < 8; ++k)
        if ((in[3] >> k) & 1)
          result |= (k & 4 ? in[0] : ~in[0]) & (k & 2 ? in[1] : ~in[1]) & (k & 1 ? in[2] : ~in[2]);
      return result;
    }
    default:
      return std::nullopt;
  }
}

bool thread_register(const Kernel& kernel, std::string_view name, Source& source) {
  if (name == "WARP_SZ") return source.cell.bits = 32, true;
  if (!kernel.block) return false;
  if (name == "%laneid") return source.kind = Source::lane, true;
  for (const auto& [prefix, kind] : {std::pair{std::string_view("%tid."), Source::tid},
                                     std::pair{std::string_view("%ntid."), Source::ntid}})
    if (name.size() == prefix.size() + 1 && name.starts_with(prefix) && name.back() >= 'x' &&
        name.back() <= 'z') {
      source.kind = kind;
      source.axis = static_cast<std::uint8_t>(name.back() - 'x');
      return true;
    }
  return false;
}

}  // namespace

std::optional<Source> decode_source(const Kernel& kernel, std::uint32_t index) {
  const Operand& o = kernel.function->operands[index];
  Source source;
  source.negated = o.negated;
  switch (o.kind) {
    case OperandKind::reg:
      if (o.component != 0xff || kernel.values.of_operand[index] == kNone) return std::nullopt;
      source.kind = Source::value;
      source.id = kernel.values.of_operand[index];
      return source;
    case OperandKind::integer:
      source.cell.bits = static_cast<std::uint64_t>(o.value);
      return source;
    case OperandKind::symbol:
      for (std::uint32_t k = 0; k < kernel.object_count(); ++k)
        if (kernel.use.objects[k].variable == o.id) {
          source.cell = {static_cast<std::uint64_t>(o.value), 0, k};
          return source;
        }
      return std::nullopt;
    case OperandKind::special:
      if (!thread_register(kernel, kernel.module->text_of(o.span), source)) return std::nullopt;
      return source;
    default:
      return std::nullopt;
  }
}

std::optional<Computation> decode_computation(const Kernel& kernel, std::uint32_t at) {
  const Instruction& i = kernel.instruction(at);
  const Opcode& opcode = kernel.module->opcode(i);
  Computation c;
  c.op = opcode.op;
  const std::size_t parts = opcode.parts.size();
  if (parts < 2 || opcode.destinations != 1) return std::nullopt;
  // Moves take bits of any type.
  const bool moves = c.op == Op::mov || c.op == Op::selp;
  if (!integer_type(opcode.parts[parts - 1], c.bits, c.is_signed)) {
    if (!moves || opcode.bytes == 0 || opcode.bytes > 8) return std::nullopt;
    c.bits = static_cast<std::uint8_t>(8 * opcode.bytes);
  }
  c.result_bits = c.op == Op::setp ? 1 : c.op == Op::popc || c.op == Op::clz ? 32 : c.bits;
  std::size_t last = parts - 1;
  if (c.op == Op::cvt) {
    bool ignored = false;
    if (parts != 3 || !integer_type(opcode.parts[--last], c.result_bits, ignored)) return std::nullopt;
  }
  for (std::size_t k = 1; k < last; ++k)
    if (!modifier(opcode.parts[k], c)) return std::nullopt;
  if (c.half == Computation::wide) c.result_bits = static_cast<std::uint8_t>(2 * c.bits);
  c.source_count = static_cast<std::uint8_t>(inputs_of(c));
  if (c.source_count == 0 || i.operand_count != c.source_count + 1u) return std::nullopt;
  for (std::uint32_t k = 0; k < c.source_count; ++k) {
    const std::optional<Source> source = decode_source(kernel, i.first_operand + 1 + k);
    if (!source) return std::nullopt;
    c.sources[k] = *source;
  }
  return c;
}

std::optional<Cell> evaluate(const Computation& c, const Cell* in) {
  switch (c.op) {
    case Op::mov:
      return moved(in[0], c.bits);
    case Op::cvta:
      return in[0].object != kNone ? std::optional(in[0]) : std::nullopt;
    case Op::cvt:
      return converted(c, in[0]);
    case Op::add:
      return add(in[0], in[1], c.bits);
    case Op::sub:
      return subtract(in[0], in[1], c.bits);
    case Op::mul:
      return multiply(c, in[0], in[1]);
    case Op::mad: {
      const std::optional<Cell> product = multiply(c, in[0], in[1]);
      return product ? add(*product, in[2], c.result_bits) : std::nullopt;
    }
    case Op::and_:
    case Op::or_:
    case Op::xor_:
      return logical(c.op, in[0], in[1], c.bits);
    case Op::not_:
      if (c.bits == 1) return logical(Op::xor_, in[0], Cell{1}, 1);
      break;
    case Op::selp:
      if (in[0] != in[1] && !in[2].number()) return std::nullopt;
      return moved(in[2].number() && (in[2].bits & 1) == 0 ? in[1] : in[0], c.bits);
    case Op::setp: {
      const std::optional<bool> result = compare(c, in[0], in[1]);
      if (c.combine == Op::unknown) return result ? std::optional(Cell{*result}) : std::nullopt;
      if (result) return logical(c.combine, Cell{*result}, in[2], 1);
      // Unknown and false is false, unknown or true is true.
      const bool decides =
          in[2].number() &&
          (c.combine == Op::and_ ? (in[2].bits & 1) == 0 : c.combine == Op::or_ && (in[2].bits & 1) == 1);
      return decides ? std::optional(Cell{in[2].bits & 1}) : std::nullopt;
    }
    default:
      break;
  }
  std::array<std::uint64_t, 5> numbers{};
  for (std::uint32_t k = 0; k < c.source_count; ++k) {
    if (!in[k].number()) return std::nullopt;
    const bool amount = k == 1 && (c.op == Op::shl || c.op == Op::shr);  // 32-bit whatever the type
    numbers[k] = in[k].bits & mask(amount ? 32 : c.bits);
  }
  const std::optional<std::uint64_t> result = of_numbers(c, numbers);
  return result ? std::optional(Cell{*result & mask(c.result_bits)}) : std::nullopt;
}

}  // namespace warploom::reuse
