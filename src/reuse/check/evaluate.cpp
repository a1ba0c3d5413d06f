#include "reuse/check/evaluate.hpp"

#include <bit>

namespace warploom::reuse::checking {
namespace {

using ptx::Op;
using ptx::OperandKind;

struct Type {
  unsigned bits = 0;  ///< 0: not an integer or predicate
  bool is_signed = false;
};

Type type_of(std::string_view part) {
  if (part == "pred") return {1, false};
  if (part.size() < 2 || (part[0] != 'u' && part[0] != 's' && part[0] != 'b')) return {};
  const unsigned bytes = ptx::type_bytes(part);
  if (bytes == 0 || bytes > 8 || part.find('x') != part.npos) return {};
  return {bytes * 8, part[0] == 's'};
}

std::uint64_t truncate(std::uint64_t value, unsigned bits) {
  return bits >= 64 ? value : value & ((std::uint64_t{1} << bits) - 1);
}

std::int64_t extend(std::uint64_t value, unsigned bits) {
  if (bits >= 64) return static_cast<std::int64_t>(value);
  const std::uint64_t sign = std::uint64_t{1} << (bits - 1);
  return static_cast<std::int64_t>((truncate(value, bits) ^ sign) - sign);
}

Value compare(std::string_view how, std::uint64_t a, std::uint64_t b, Type t) {
  const std::int64_t sa = extend(a, t.bits), sb = extend(b, t.bits);
  const std::uint64_t ua = truncate(a, t.bits), ub = truncate(b, t.bits);
  if (how == "eq") return ua == ub;
  if (how == "ne") return ua != ub;
  if (how == "lo") return ua < ub;
  if (how == "ls") return ua <= ub;
  if (how == "hi") return ua > ub;
  if (how == "hs") return ua >= ub;
  if (how == "lt") return t.is_signed ? sa < sb : ua < ub;
  if (how == "le") return t.is_signed ? sa <= sb : ua <= ub;
  if (how == "gt") return t.is_signed ? sa > sb : ua > ub;
  if (how == "ge") return t.is_signed ? sa >= sb : ua >= ub;
  return std::nullopt;
}

Value logic(Op op, std::uint64_t a, std::uint64_t b) {
  return op == Op::and_ ? a & b : op == Op::or_ ? a | b : a ^ b;
}

/// Arithmetic of `bits` bits on known numbers.
Value arithmetic(const ptx::Opcode& o, Type t, const std::vector<std::uint64_t>& v) {
  const auto s = [&](std::size_t i) { return extend(v[i], t.bits); };
  const auto u = [&](std::size_t i) { return truncate(v[i], t.bits); };
  const std::size_t n = v.size();
  const auto product = [&]() -> Value {
    if (o.has("hi")) {
      if (t.bits > 32) return std::nullopt;
      return t.is_signed ? static_cast<std::uint64_t>((s(0) * s(1)) >> t.bits) : (u(0) * u(1)) >> t.bits;
    }
    if (o.has("wide")) return t.is_signed ? static_cast<std::uint64_t>(s(0) * s(1)) : u(0) * u(1);
    return v[0] * v[1];
  };
  switch (o.op) {
    case Op::mov:
      return n == 1 ? Value(v[0]) : std::nullopt;
    case Op::add:
      return n == 2 ? Value(v[0] + v[1]) : std::nullopt;
    case Op::sub:
      return n == 2 ? Value(v[0] - v[1]) : std::nullopt;
    case Op::mul:
      return n == 2 ? product() : std::nullopt;
    case Op::mad: {
      if (n != 3) return std::nullopt;
      const Value p = product();
      return p ? Value(*p + v[2]) : std::nullopt;
    }
    case Op::and_:
    case Op::or_:
    case Op::xor_:
      return n == 2 ? logic(o.op, v[0], v[1]) : std::nullopt;
    case Op::not_:
      return n == 1 ? Value(~v[0]) : std::nullopt;
    case Op::cnot:
      return n == 1 ? Value(u(0) == 0) : std::nullopt;
    case Op::neg:
      return n == 1 ? Value(0 - v[0]) : std::nullopt;
    case Op::abs_:
      return n == 1 ? Value(s(0) < 0 ? 0 - v[0] : v[0]) : std::nullopt;
    case Op::shl:
      return n == 2 ? Value(truncate(v[1], 32) >= t.bits ? 0 : u(0) << truncate(v[1], 32)) : std::nullopt;
    case Op::shr: {
      if (n != 2) return std::nullopt;
      const std::uint64_t by = truncate(v[1], 32);
      if (t.is_signed) return static_cast<std::uint64_t>(s(0) >> std::min<std::uint64_t>(by, t.bits - 1));
      return by >= t.bits ? 0 : u(0) >> by;
    }
    case Op::min_:
      return n != 2        ? std::nullopt
             : t.is_signed ? Value(s(0) < s(1) ? v[0] : v[1])
                           : Value(std::min(u(0), u(1)));
    case Op::max_:
      return n != 2        ? std::nullopt
             : t.is_signed ? Value(s(0) > s(1) ? v[0] : v[1])
                           : Value(std::max(u(0), u(1)));
    case Op::div:
    case Op::rem: {
      if (n != 2 || u(1) == 0 || (t.is_signed && s(1) == -1)) return std::nullopt;
      if (t.is_signed) return static_cast<std::uint64_t>(o.op == Op::div ? s(0) / s(1) : s(0) % s(1));
      return o.op == Op::div ? u(0) / u(1) : u(0) % u(1);
    }
    case Op::popc:
      return n == 1 ? Value(static_cast<unsigned>(std::popcount(u(0)))) : std::nullopt;
    case Op::clz:
      return n == 1 ? Value(static_cast<unsigned>(std::countl_zero(u(0))) - (64 - t.bits)) : std::nullopt;
    case Op::selp:
      return n == 3 ? Value(v[2] & 1 ? v[0] : v[1]) : std::nullopt;
    case Op::bfe: {
      if (n != 3) return std::nullopt;
      const std::uint64_t at = v[1] & 0xff, length = v[2] & 0xff;
      if (length == 0) return 0;
      if (at + length > t.bits) return std::nullopt;
      const std::uint64_t field = truncate(u(0) >> at, static_cast<unsigned>(length));
      return t.is_signed ? static_cast<std::uint64_t>(extend(field, static_cast<unsigned>(length))) : field;
    }
    case Op::bfi: {
      if (n != 4) return std::nullopt;
      const std::uint64_t at = v[2] & 0xff, length = v[3] & 0xff;
      if (at + length > t.bits || at >= 64) return std::nullopt;
      const std::uint64_t mask = truncate(~std::uint64_t{0}, static_cast<unsigned>(length)) << at;
      return (v[1] & ~mask) | ((v[0] << at) & mask);
    }
    case Op::lop3: {
      if (n != 4) return std::nullopt;
      std::uint64_t sum = 0;
      for (unsigned bit = 0; bit < 32; ++bit) {
        const std::uint64_t row = (v[0] >> bit & 1) << 2 | (v[1] >> bit & 1) << 1 | (v[2] >> bit & 1);
        sum |= (v[3] >> row & 1) << bit;
      }
      return sum;
    }
    default:
      return std::nullopt;
  }
}

}  // namespace

Value ThreadContext::special(std::string_view name) const {
  const std::uint64_t linear =
      index[0] + std::uint64_t{block[0]} * (index[1] + std::uint64_t{block[1]} * index[2]);
  if (name == "WARP_SZ") return 32;
  if (block[0] == 0) return std::nullopt;
  if (name == "%laneid") return linear % 32;
  const std::size_t dot = name.find('.');
  if (dot == name.npos || dot + 2 != name.size()) return std::nullopt;
  const std::size_t axis = std::string_view("xyz").find(name[dot + 1]);
  if (axis == std::string_view::npos) return std::nullopt;
  if (name.substr(0, dot) == "%tid") return index[axis];
  if (name.substr(0, dot) == "%ntid") return block[axis];
  return std::nullopt;
}

Value operand_value(const Kernel& k, const ThreadContext& thread, const ptx::Operand& o,
                    const std::function<Value(std::uint32_t)>& read) {
  switch (o.kind) {
    case OperandKind::reg: {
      if (o.component != 0xff) return std::nullopt;
      const Value v = read(o.id);
      return v && o.negated ? Value(*v ^ 1) : v;
    }
    case OperandKind::integer:
      return static_cast<std::uint64_t>(o.value);
    case OperandKind::special:
      return thread.special(k.module.text_of(o.span));
    case OperandKind::symbol: {
      const auto object = k.object_at.find(o.span.begin);
      if (object == k.object_at.end() || object->second != thread.object) return std::nullopt;
      // The operand names pool + offset + number; the number is what counts.
      return kObjectBase + static_cast<std::uint64_t>(o.value) - k.objects[thread.object].offset.value_or(0);
    }
    case OperandKind::address: {
      const auto children = k.function.children(o);
      if (children.size() != 1) return std::nullopt;
      const Value base = operand_value(k, thread, children[0], read);
      return base ? Value(*base + static_cast<std::uint64_t>(o.value)) : std::nullopt;
    }
    default:
      return std::nullopt;
  }
}

Value evaluate(const Kernel& k, const ThreadContext& thread, std::uint32_t i,
               const std::function<Value(std::uint32_t)>& read) {
  const ptx::Opcode& o = k.opcode(i);
  const auto all = k.function.operands_of(k.function.instructions[i]);
  if (all.empty() || all[0].kind != OperandKind::reg || all[0].component != 0xff || o.destinations != 1 ||
      o.has("sat") || o.has("cc"))
    return std::nullopt;
  std::vector<std::uint64_t> values;
  std::vector<Value> maybe;
  for (const ptx::Operand& source : all.subspan(1)) {
    maybe.push_back(operand_value(k, thread, source, read));
    // One unknown is enough: what stands behind the others may take long to find.
    if (!maybe.back() && o.op != Op::selp) return std::nullopt;
  }
  const Type type = type_of(o.parts.back());
  if (type.bits == 0) return std::nullopt;
  if (o.op == Op::selp && maybe.size() == 3 && maybe[2]) {  // the arm not chosen need not be known
    const Value chosen = maybe[*maybe[2] & 1 ? 0 : 1];
    return chosen ? Value(truncate(*chosen, type.bits)) : std::nullopt;
  }
  for (const Value& v : maybe) {
    if (!v) return std::nullopt;
    values.push_back(*v);
  }
  if (o.op == Op::setp) {
    if (o.parts.size() < 3 || values.size() < 2) return std::nullopt;
    const Value result = compare(o.parts[1], values[0], values[1], type);
    if (!result || o.parts.size() == 3) return result;
    if (values.size() != 3) return std::nullopt;
    return o.has("and")   ? *result & values[2]
           : o.has("or")  ? *result | values[2]
           : o.has("xor") ? *result ^ values[2]
                          : Value{};
  }
  const std::string_view held = k.function.registers[all[0].id].type;
  const auto fits = [&](unsigned bits) { return held != "pred" && ptx::type_bytes(held) * 8u == bits; };
  if (o.op == Op::cvta) return values.size() == 1 ? Value(values[0]) : std::nullopt;
  if (o.op == Op::cvt) {
    const Type to = o.parts.size() == 3 ? type_of(o.parts[1]) : Type{};
    if (!fits(to.bits) || values.size() != 1) return std::nullopt;  // a wider register is filled up by sign
    return truncate(type.is_signed ? static_cast<std::uint64_t>(extend(values[0], type.bits))
                                   : truncate(values[0], type.bits),
                    to.bits);
  }
  const Value result = arithmetic(o, type, values);
  if (!result) return std::nullopt;
  const unsigned bits = o.has("wide") ? 2 * type.bits : type.bits;
  if (bits > 1 && !fits(bits)) return std::nullopt;
  return truncate(*result, bits);
}

}  // namespace warploom::reuse::checking
