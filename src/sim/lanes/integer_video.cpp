#include <type_traits>

#include "sim/lanes/integer.hpp"

// The SIMD video instructions, without byte selectors: elements of a and b in the same place are worked on as
// integers that do not overflow; then they are cut (or clamped) to elements of the result, or added up on c.
namespace warploom::sim::WARPLOOM_INSTRUCTION_SET {
namespace {

using ptx::Op;

// clang-format off
struct Sum { static s32 of(s32 a, s32 b) { return a + b; } };
struct Difference { static s32 of(s32 a, s32 b) { return a - b; } };
/// Halves are rounded away from zero.
struct Average { static s32 of(s32 a, s32 b) { return (a + b + (a + b >= 0)) >> 1; } };
struct Distance { static s32 of(s32 a, s32 b) { return a < b ? b - a : a - b; } };
struct Least { static s32 of(s32 a, s32 b) { return a < b ? a : b; } };
struct Most { static s32 of(s32 a, s32 b) { return a < b ? b : a; } };
struct Equal { static s32 of(s32 a, s32 b) { return a == b; } };
struct NotEqual { static s32 of(s32 a, s32 b) { return a != b; } };
struct Less { static s32 of(s32 a, s32 b) { return a < b; } };
struct LessOrEqual { static s32 of(s32 a, s32 b) { return a <= b; } };
struct Greater { static s32 of(s32 a, s32 b) { return a > b; } };
struct GreaterOrEqual { static s32 of(s32 a, s32 b) { return a >= b; } };
// clang-format on

/// What an element of a and one of b give: values[element][lane].
template <typename F, typename T>
[[gnu::noinline]] void compute(const Registers& r, const Step& s, s32 (*values)[kLanes]) {
  const u32* const a = r.read<u32>(s.a);
  const u32* const b = r.read<u32>(s.b);
  for (unsigned element = 0; element < 32 / kBits<T>; ++element) {
    const unsigned first = element * kBits<T>;
    s32* __restrict const row = values[element];
    for (unsigned i = 0; i < kLanes; ++i) {
      row[i] = F::of(static_cast<T>(a[i] >> first), static_cast<T>(b[i] >> first));
    }
  }
}

/// Elements of `bits`, of values clamped to least..most.
template <unsigned bits>
[[gnu::noinline]] void pack(Registers& r, const Step& s, Mask lanes, const s32 (*values)[kLanes], s32 least,
                            s32 most) {
  for_lanes<u32>(r, s, lanes, [=](unsigned i) {
    u32 result = 0;
    for (unsigned element = 0; element < 32 / bits; ++element) {
      const s32 value = values[element][i], raised = value < least ? least : value;
      const u32 clamped = static_cast<u32>(raised > most ? most : raised);
      result |= (clamped & ((1u << bits) - 1)) << element * bits;
    }
    return result;
  });
}

template <unsigned bits>
[[gnu::noinline]] void add_up(Registers& r, const Step& s, Mask lanes, const s32 (*values)[kLanes]) {
  const u32* const c = r.read<u32>(s.c);
  for_lanes<u32>(r, s, lanes, [=](unsigned i) {
    u32 result = c[i];
    for (unsigned element = 0; element < 32 / bits; ++element) result += static_cast<u32>(values[element][i]);
    return result;
  });
}

enum class Finish : std::uint8_t { cut, clamp_signed, clamp_unsigned, add_up };

template <typename F, typename T, Finish finish>
void run(Registers& r, const Step& s, Mask lanes) {
  constexpr unsigned bits = kBits<T>;
  alignas(64) s32 values[32 / bits][kLanes];
  compute<F, T>(r, s, values);
  if constexpr (finish == Finish::add_up) {
    add_up<bits>(r, s, lanes, values);
  } else if constexpr (finish == Finish::clamp_signed) {
    pack<bits>(r, s, lanes, values, -(1 << (bits - 1)), (1 << (bits - 1)) - 1);
  } else if constexpr (finish == Finish::clamp_unsigned) {
    pack<bits>(r, s, lanes, values, 0, (1 << bits) - 1);
  } else {
    pack<bits>(r, s, lanes, values, kSmallest<s32>, kLargest<s32>);
  }
}

template <typename F, typename T>
Handler elements(const Form& form) {
  if (!form.mode.empty()) return run<F, T, Finish::add_up>;
  if (!form.sat) return run<F, T, Finish::cut>;
  return form.type.kind == Type::s ? run<F, T, Finish::clamp_signed> : run<F, T, Finish::clamp_unsigned>;
}

template <typename T>
Handler compared(const Form& form) {
  switch (form.comparison) {
    case Comparison::eq:
      return elements<Equal, T>(form);
    case Comparison::ne:
      return elements<NotEqual, T>(form);
    case Comparison::lt:
      return elements<Less, T>(form);
    case Comparison::le:
      return elements<LessOrEqual, T>(form);
    case Comparison::gt:
      return elements<Greater, T>(form);
    case Comparison::ge:
      return elements<GreaterOrEqual, T>(form);
    default:
      return nullptr;
  }
}

template <typename T>
Handler computed(const Form& form) {
  switch (form.op) {
    case Op::vadd2:
    case Op::vadd4:
      return elements<Sum, T>(form);
    case Op::vsub2:
    case Op::vsub4:
      return elements<Difference, T>(form);
    case Op::vavrg2:
    case Op::vavrg4:
      return elements<Average, T>(form);
    case Op::vabsdiff2:
    case Op::vabsdiff4:
      return elements<Distance, T>(form);
    case Op::vmin2:
    case Op::vmin4:
      return elements<Least, T>(form);
    case Op::vmax2:
    case Op::vmax4:
      return elements<Most, T>(form);
    case Op::vset2:
    case Op::vset4:
      return compared<T>(form);
    default:
      return nullptr;
  }
}

}  // namespace

Handler integer_video(const Form& form) {
  if (!form.from.is(Type::u, 32) && !form.from.is(Type::s, 32)) return nullptr;
  const bool is_signed = form.from.kind == Type::s;
  switch (form.op) {
    case Op::vset2:
    case Op::vset4:
      if (form.type != form.from || form.sat) return nullptr;  // its two types are a's and b's
      break;
    default:
      break;
  }
  switch (form.op) {
    case Op::vadd2:
    case Op::vsub2:
    case Op::vavrg2:
    case Op::vabsdiff2:
    case Op::vmin2:
    case Op::vmax2:
    case Op::vset2:
      return is_signed ? computed<s16>(form) : computed<u16>(form);
    default:
      return is_signed ? computed<s8>(form) : computed<u8>(form);
  }
}

}  // namespace warploom::sim::WARPLOOM_INSTRUCTION_SET
