#include "sim/lanes/integer.hpp"
#include "sim/video_form.hpp"

// The scalar video instructions: a byte, half or word of a and of b, its sign or zeros in front, is worked on
// exactly; the result is clamped (.sat) or cut to 32 bits, and then combined with c, or put in its place
// within c. PTX ISA 9.0, "Scalar Video Instructions". Step::flags says which parts, see VideoFlags.
namespace warploom::sim::WARPLOOM_INSTRUCTION_SET {
namespace {

using ptx::Op;

/// Of a part's code (0 to 3 a byte, 4 and 5 a half, 6 a word): where it begins and how wide it is.
inline unsigned first_bit(unsigned part) { return part < 4 ? 8 * part : part < 6 ? 16 * (part - 4) : 0; }
inline unsigned width(unsigned part) { return part < 4 ? 8 : part < 6 ? 16 : 32; }

inline s64 extract(u32 from, unsigned part, bool is_signed) {
  const u32 bits = from >> first_bit(part);
  const unsigned unused = 32 - width(part);
  return is_signed ? s64{static_cast<s32>(bits << unused) >> unused} : s64{bits << unused >> unused};
}

inline s64 clamped(s64 value, s64 least, s64 most) {
  return value < least ? least : value > most ? most : value;
}

/// `width` bits of the result, clamped to what they hold.
inline s64 saturated(s64 value, unsigned bits, bool is_signed) {
  return is_signed ? clamped(value, -(s64{1} << (bits - 1)), (s64{1} << (bits - 1)) - 1)
                   : clamped(value, 0, (s64{1} << bits) - 1);
}

inline bool compares(Comparison comparison, s64 a, s64 b) {
  switch (comparison) {
    case Comparison::eq:
      return a == b;
    case Comparison::ne:
      return a != b;
    case Comparison::lt:
      return a < b;
    case Comparison::le:
      return a <= b;
    case Comparison::gt:
      return a > b;
    default:
      return a >= b;
  }
}

template <Op op, bool clamps>
inline s64 computed(u32 flags, s64 a, s64 b, u32 amount, bool a_signed) {
  if constexpr (op == Op::vadd) return a + b;
  if constexpr (op == Op::vsub) return a - b;
  if constexpr (op == Op::vabsdiff) return a < b ? b - a : a - b;
  if constexpr (op == Op::vmin) return a < b ? a : b;
  if constexpr (op == Op::vmax) return a < b ? b : a;
  if constexpr (op == Op::vset)
    return compares(static_cast<Comparison>(flags >> VideoFlags::comparison & 0xf), a, b);
  const u32 by = clamps ? (amount > 32 ? 32 : amount) : amount & 31;
  if constexpr (op == Op::vshl) {  // beyond 64 bits it saturates as it does with 62, and is cut to 0
    if (by == 32) return a == 0 ? 0 : a > 0 ? s64{1} << 62 : -(s64{1} << 62);
    return static_cast<s64>(static_cast<u64>(a) << by);
  }
  if constexpr (op == Op::vshr) {
    if (a_signed) return a >> by;
    return static_cast<s64>(static_cast<u64>(a) >> by);
  }
  return 0;
}

template <Op op, bool clamps>
void run(Registers& r, const Step& s, Mask lanes) {
  const u32* const a = r.read<u32>(s.a);
  const u32* const b = r.read<u32>(s.b);
  const u32* const c = r.read<u32>(s.c);
  const auto flags = static_cast<u32>(s.immediate);
  const unsigned part_a = flags & 7, part_b = flags >> VideoFlags::second & 7,
                 part_d = flags >> VideoFlags::merged & 7;
  const bool a_signed = (flags & VideoFlags::a_signed) != 0, b_signed = (flags & VideoFlags::b_signed) != 0,
             d_signed = (flags & VideoFlags::d_signed) != 0, sat = (flags & VideoFlags::sat) != 0;
  const unsigned last = flags >> VideoFlags::finish & 7;
  for_lanes<u32>(r, s, lanes, [=](unsigned i) {
    const s64 x = extract(a[i], part_a, a_signed), y = extract(b[i], part_b, b_signed);
    s64 value = computed<op, clamps>(flags, x, y, static_cast<u32>(y), a_signed);
    if (last == VideoFlags::merge) {
      const unsigned bits = width(part_d), first = first_bit(part_d);
      if (sat) value = saturated(value, bits, d_signed);
      const u32 mask = bits == 32 ? ~0u : ((1u << bits) - 1) << first;
      return (c[i] & ~mask) | (static_cast<u32>(value) << first & mask);
    }
    if (sat) value = saturated(value, 32, d_signed);
    const auto word = static_cast<u32>(value);
    switch (last) {
      case VideoFlags::add:
        return word + c[i];
      case VideoFlags::least:
        return d_signed      ? (static_cast<s32>(word) < static_cast<s32>(c[i]) ? word : c[i])
               : word < c[i] ? word
                             : c[i];
      case VideoFlags::most:
        return d_signed      ? (static_cast<s32>(word) > static_cast<s32>(c[i]) ? word : c[i])
               : word > c[i] ? word
                             : c[i];
      default:
        return word;
    }
  });
}

/// Signs of a b and of c (not of both), or one more (.po); shifted right, cut or clamped.
void run_multiply(Registers& r, const Step& s, Mask lanes) {
  const u32* const a = r.read<u32>(s.a);
  const u32* const b = r.read<u32>(s.b);
  const u32* const c = r.read<u32>(s.c);
  const auto flags = static_cast<u32>(s.immediate);
  const unsigned part_a = flags & 7, part_b = flags >> VideoFlags::second & 7;
  const bool a_signed = (flags & VideoFlags::a_signed) != 0, b_signed = (flags & VideoFlags::b_signed) != 0,
             sat = (flags & VideoFlags::sat) != 0, minus_product = (flags & VideoFlags::minus_product) != 0,
             minus_c = (flags & VideoFlags::minus_c) != 0, plus_one = (flags & VideoFlags::plus_one) != 0;
  const unsigned shift = flags >> VideoFlags::shift & 31;
  const bool is_signed = a_signed || b_signed || minus_product || minus_c;
  const bool c_signed = is_signed;
  for_lanes<u32>(r, s, lanes, [=](unsigned i) {
    s128 value = s128{extract(a[i], part_a, a_signed)} * extract(b[i], part_b, b_signed);
    if (minus_product) value = -value;
    s128 addend = c_signed ? s128{static_cast<s32>(c[i])} : s128{c[i]};
    value += minus_c ? -addend : addend;
    if (plus_one) value += 1;
    value = value >> shift;
    if (sat) {
      const s128 least = is_signed ? -(s128{1} << 31) : 0,
                 most = is_signed ? (s128{1} << 31) - 1 : (s128{1} << 32) - 1;
      value = value < least ? least : value > most ? most : value;
    }
    return static_cast<u32>(value);
  });
}

}  // namespace

Handler integer_video_scalar(ptx::Op op, bool clamps) {
  switch (op) {
    case Op::vadd:
      return run<Op::vadd, false>;
    case Op::vsub:
      return run<Op::vsub, false>;
    case Op::vabsdiff:
      return run<Op::vabsdiff, false>;
    case Op::vmin:
      return run<Op::vmin, false>;
    case Op::vmax:
      return run<Op::vmax, false>;
    case Op::vset:
      return run<Op::vset, false>;
    case Op::vshl:
      return clamps ? run<Op::vshl, true> : run<Op::vshl, false>;
    case Op::vshr:
      return clamps ? run<Op::vshr, true> : run<Op::vshr, false>;
    case Op::vmad:
      return run_multiply;
    default:
      return nullptr;
  }
}

}  // namespace warploom::sim::WARPLOOM_INSTRUCTION_SET
