#include <type_traits>

#include "sim/lanes/integer.hpp"

namespace warploom::sim::WARPLOOM_INSTRUCTION_SET {
namespace {

using ptx::Op;

// How a register's value is read for a comparison: `Register` in the register, a Value that C++ compares.

template <typename T>
struct Plain {
  using Register = T;
  static T of(T a) { return a; }
};

/// Subnormal numbers become zeros (.ftz).
struct Flushed {
  using Register = u32;
  static float of(u32 bits) {
    const u32 kept = (bits & 0x7f800000) != 0 ? bits : bits & 0x80000000;
    return __builtin_bit_cast(float, kept);
  }
};

/// A 16-bit floating number as some normal float that compares like it: the bits of either, read as an
/// integer, are in the order of the numbers. (A conversion would not vectorise.)
template <u16 infinity, bool flush, unsigned first_bit, typename R>
struct Half {
  using Register = R;
  static float of(R packed) {
    const u32 bits = static_cast<u16>(packed >> first_bit);
    const u32 magnitude = bits & 0x7fff;
    const bool zero = flush ? (magnitude & infinity) == 0 : magnitude == 0;
    const u32 order = zero ? 0 : (magnitude << 12) + 0x10000000;
    const u32 nan = 0x7fc00000;
    return __builtin_bit_cast(float, (bits & 0x8000) << 16 | (magnitude > infinity ? nan : order));
  }
};
constexpr u16 kHalfInfinity = 0x7c00, kBfloatInfinity = 0x7f80;

// clang-format off
struct Equal { template <typename V> static bool of(V a, V b) { return a == b; } };
struct NotEqual { template <typename V> static bool of(V a, V b) { return (a < b) | (a > b); } };
struct Less { template <typename V> static bool of(V a, V b) { return a < b; } };
struct LessOrEqual { template <typename V> static bool of(V a, V b) { return a <= b; } };
struct Greater { template <typename V> static bool of(V a, V b) { return a > b; } };
struct GreaterOrEqual { template <typename V> static bool of(V a, V b) { return a >= b; } };
struct Numbers { template <typename V> static bool of(V a, V b) { return (a == a) & (b == b); } };
// clang-format on

/// The comparison of a and b in every lane.
template <typename Compare, typename Read>
Mask compare(const Registers& r, const Step& s) {
  using Register = typename Read::Register;
  const Register* const a = r.read<Register>(s.a);
  const Register* const b = r.read<Register>(s.b);
  using Flag = Unsigned<decltype(Read::of(*a))>;
  return lanes_where<Flag>([=](unsigned i) { return Compare::of(Read::of(a[i]), Read::of(b[i])); });
}

/// A comparison with all that the name of an instruction says of it.
struct Condition {
  Mask (*low)(const Registers& r, const Step& s);
  Mask (*high)(const Registers& r, const Step& s);  ///< of packed types the high halves', else the same
  bool packed;
  bool complement;
  Combine combine;

  Mask combined(const Registers& r, const Step& s, Mask compared) const {
    const Mask c = combine == Combine::none ? 0 : predicate(r, s, s.c, 2);
    return combine == Combine::and_ ? compared & c : combine == Combine::xor_ ? compared ^ c : compared | c;
  }
  Mask of(const Registers& r, const Step& s, Mask (*compare_lanes)(const Registers& r, const Step& s)) const {
    const Mask compared = compare_lanes(r, s);
    return complement ? ~compared : compared;
  }
};

// There are many hundreds of conditions. So each has but a call to one of these, which take it as an
// argument.

/// p|q. Of packed types q is the comparison of the high halves, of others the complement.
[[gnu::noinline]] void set_predicates(Registers& r, const Step& s, Mask lanes, const Condition& condition) {
  const Mask low = condition.of(r, s, condition.low);
  const Mask p = condition.combined(r, s, low);
  if (s.second != kNoSlot) {
    const Mask other = condition.packed ? condition.of(r, s, condition.high) : ~low;
    store(r.predicate(s.second), condition.combined(r, s, other), lanes);  // p comes last: it may be c
  }
  store(r.predicate(s.destination), p, lanes);
}

/// d = `true_value` where the condition holds, else 0.
template <typename D>
[[gnu::noinline]] void set_lanes(Registers& r, const Step& s, Mask lanes, const Condition& condition,
                                 D true_value) {
  alignas(64) D flags[kLanes];
  spread(flags, condition.combined(r, s, condition.of(r, s, condition.low)));
  for_lanes<D>(r, s, lanes, [&](unsigned i) { return static_cast<D>(flags[i] & true_value); });
}

/// The same of the two halves.
[[gnu::noinline]] void set_halves(Registers& r, const Step& s, Mask lanes, const Condition& condition,
                                  u16 true_value) {
  alignas(64) u32 flags[2][kLanes];
  spread(flags[0], condition.combined(r, s, condition.of(r, s, condition.low)));
  spread(flags[1], condition.combined(r, s, condition.of(r, s, condition.high)));
  const u32 low = true_value, high = u32{true_value} << 16;
  for_lanes<u32>(r, s, lanes, [&](unsigned i) { return (flags[0][i] & low) | (flags[1][i] & high); });
}

/// The handlers of one condition; nullptr: no such instruction.
struct Handlers {
  Handler setp;
  Handler set_integer16, set_integer32, set_float, set_half, set_bfloat;  ///< by the result's type
};

constexpr u32 kFloatOne = 0x3f800000;
constexpr u16 kHalfOne = 0x3c00, kBfloatOne = 0x3f80;

template <typename Compare, bool complement, Combine combine, typename Low, typename High>
struct Conditional {
  static constexpr bool kPacked = !std::is_same<Low, High>::value;
  static constexpr Condition kCondition = {compare<Compare, Low>, compare<Compare, High>, kPacked, complement,
                                           combine};

  static void setp(Registers& r, const Step& s, Mask lanes) {
    if (kPacked || combine != Combine::none || s.second != kNoSlot)
      return set_predicates(r, s, lanes, kCondition);
    const Mask compared = compare<Compare, Low>(r, s);  // by far the most frequent
    store(r.predicate(s.destination), complement ? ~compared : compared, lanes);
  }
  template <typename D, D true_value>
  static void set(Registers& r, const Step& s, Mask lanes) {
    if constexpr (kPacked) {
      set_halves(r, s, lanes, kCondition, static_cast<u16>(true_value));
    } else {
      set_lanes<D>(r, s, lanes, kCondition, true_value);
    }
  }

  static constexpr Handlers kHandlers = {setp,
                                         kPacked ? nullptr : Handler{set<u16, 0xffff>},
                                         set<u32, 0xffffffff>,
                                         kPacked ? nullptr : Handler{set<u32, kFloatOne>},
                                         set<u16, kHalfOne>,
                                         set<u16, kBfloatOne>};
};

template <typename Compare, bool complement, typename Low, typename High>
const Handlers* handlers_of(Combine combine) {
  switch (combine) {
    case Combine::none:
      return &Conditional<Compare, complement, Combine::none, Low, High>::kHandlers;
    case Combine::and_:
      return &Conditional<Compare, complement, Combine::and_, Low, High>::kHandlers;
    case Combine::or_:
      return &Conditional<Compare, complement, Combine::or_, Low, High>::kHandlers;
    case Combine::xor_:
      return &Conditional<Compare, complement, Combine::xor_, Low, High>::kHandlers;
  }
  return nullptr;
}

template <typename T>
const Handlers* integer_handlers(const Form& form, Type::Kind kind) {
  using C = Comparison;
  using Read = Plain<T>;
  const bool ordered = kind != Type::b;
  const bool natural = kind == Type::u;
  // clang-format off
  switch (form.comparison) {
    case C::eq: return handlers_of<Equal, false, Read, Read>(form.combine);
    case C::ne: return handlers_of<Equal, true, Read, Read>(form.combine);
    case C::lt: return ordered ? handlers_of<Less, false, Read, Read>(form.combine) : nullptr;
    case C::le: return ordered ? handlers_of<LessOrEqual, false, Read, Read>(form.combine) : nullptr;
    case C::gt: return ordered ? handlers_of<Greater, false, Read, Read>(form.combine) : nullptr;
    case C::ge: return ordered ? handlers_of<GreaterOrEqual, false, Read, Read>(form.combine) : nullptr;
    case C::lo: return natural ? handlers_of<Less, false, Read, Read>(form.combine) : nullptr;
    case C::ls: return natural ? handlers_of<LessOrEqual, false, Read, Read>(form.combine) : nullptr;
    case C::hi: return natural ? handlers_of<Greater, false, Read, Read>(form.combine) : nullptr;
    case C::hs: return natural ? handlers_of<GreaterOrEqual, false, Read, Read>(form.combine) : nullptr;
    default: return nullptr;
  }
  // clang-format on
}

/// A comparison that holds for unordered operands too is the complement of an ordered one.
template <typename Low, typename High = Low>
const Handlers* floating_handlers(const Form& form) {
  using C = Comparison;
  switch (form.comparison) {
    case C::eq:
      return handlers_of<Equal, false, Low, High>(form.combine);
    case C::ne:
      return handlers_of<NotEqual, false, Low, High>(form.combine);
    case C::lt:
      return handlers_of<Less, false, Low, High>(form.combine);
    case C::le:
      return handlers_of<LessOrEqual, false, Low, High>(form.combine);
    case C::gt:
      return handlers_of<Greater, false, Low, High>(form.combine);
    case C::ge:
      return handlers_of<GreaterOrEqual, false, Low, High>(form.combine);
    case C::equ:
      return handlers_of<NotEqual, true, Low, High>(form.combine);
    case C::neu:
      return handlers_of<Equal, true, Low, High>(form.combine);
    case C::ltu:
      return handlers_of<GreaterOrEqual, true, Low, High>(form.combine);
    case C::leu:
      return handlers_of<Greater, true, Low, High>(form.combine);
    case C::gtu:
      return handlers_of<LessOrEqual, true, Low, High>(form.combine);
    case C::geu:
      return handlers_of<Less, true, Low, High>(form.combine);
    case C::num:
      return handlers_of<Numbers, false, Low, High>(form.combine);
    case C::nan:
      return handlers_of<Numbers, true, Low, High>(form.combine);
    default:
      return nullptr;
  }
}

template <u16 infinity, bool flush>
const Handlers* half_handlers(const Form& form, bool packed) {
  return packed ? floating_handlers<Half<infinity, flush, 0, u32>, Half<infinity, flush, 16, u32>>(form)
                : floating_handlers<Half<infinity, flush, 0, u16>>(form);
}

/// Of the comparison that `form` names, of operands of `type`.
const Handlers* handlers_of(const Form& form, Type type) {
  const bool packed = type.packed == 2;
  if (type.kind == Type::bf) return form.ftz ? nullptr : half_handlers<kBfloatInfinity, false>(form, packed);
  if (type.kind == Type::f && type.bits == 16) {
    return form.ftz ? half_handlers<kHalfInfinity, true>(form, packed)
                    : half_handlers<kHalfInfinity, false>(form, packed);
  }
  if (packed) return nullptr;
  if (type.is(Type::f, 32)) {
    return form.ftz ? floating_handlers<Flushed>(form) : floating_handlers<Plain<float>>(form);
  }
  if (type.is(Type::f, 64)) return floating_handlers<Plain<double>>(form);
  if (!type.integer()) return nullptr;
  const bool is_signed = type.kind == Type::s;
  switch (type.bits) {
    case 16:
      return is_signed ? integer_handlers<s16>(form, type.kind) : integer_handlers<u16>(form, type.kind);
    case 32:
      return is_signed ? integer_handlers<s32>(form, type.kind) : integer_handlers<u32>(form, type.kind);
    case 64:
      return is_signed ? integer_handlers<s64>(form, type.kind) : integer_handlers<u64>(form, type.kind);
    default:
      return nullptr;
  }
}

Handler setp(const Form& form) {
  const Handlers* const handlers = handlers_of(form, form.type);
  return handlers == nullptr ? nullptr : handlers->setp;
}

Handler set(const Form& form) {
  const Type to = form.type;
  const Handlers* const handlers = handlers_of(form, form.from);
  if (handlers == nullptr) return nullptr;
  if (to.packed == 2 || form.from.packed == 2) {
    if (to != form.from && !to.is(Type::u, 32) && !to.is(Type::s, 32)) return nullptr;
  }
  if (to.kind == Type::bf) return handlers->set_bfloat;
  if (to.kind == Type::f) {
    return to.bits == 16 ? handlers->set_half : to.bits == 32 ? handlers->set_float : nullptr;
  }
  if (to.kind != Type::u && to.kind != Type::s) return nullptr;
  return to.bits == 16 ? handlers->set_integer16 : to.bits == 32 ? handlers->set_integer32 : nullptr;
}

template <typename T>
void select_by_predicate(Registers& r, const Step& s, Mask lanes) {
  alignas(64) T flags[kLanes];
  spread(flags, predicate(r, s, s.c, 2));
  const T* const a = r.read<T>(s.a);
  const T* const b = r.read<T>(s.b);
  for_lanes<T>(r, s, lanes, [&](unsigned i) {
    return static_cast<T>((a[i] & flags[i]) | (b[i] & static_cast<T>(~flags[i])));
  });
}

/// a where c >= 0, else (c is NaN, too) b.
template <typename Read>
struct SelectBySign {
  template <typename T>
  static T of(T a, T b, typename Read::Register c) {
    return Read::of(c) >= 0 ? a : b;
  }
};

Handler slct(const Form& form) {
  return for_bits(8 * form.type.bytes(), [&]<typename T>() -> Handler {
    if (form.from.is(Type::s, 32)) return ternary<SelectBySign<Plain<s32>>, T, T, T, s32>;
    if (!form.from.is(Type::f, 32)) return nullptr;
    return form.ftz ? ternary<SelectBySign<Flushed>, T, T, T, u32>
                    : ternary<SelectBySign<Plain<float>>, T, T, T, float>;
  });
}

// The classes of testp, of the bits without the sign.

template <typename U>
constexpr U kInfinity = sizeof(U) == 4 ? static_cast<U>(0x7f800000) : static_cast<U>(0x7ff0000000000000);

// clang-format off
struct Finite { template <typename U> static bool of(U bits) { return bits < kInfinity<U>; } };
struct Infinite { template <typename U> static bool of(U bits) { return bits == kInfinity<U>; } };
struct Number { template <typename U> static bool of(U bits) { return bits <= kInfinity<U>; } };
struct NotANumber { template <typename U> static bool of(U bits) { return bits > kInfinity<U>; } };
struct Subnormal {
  template <typename U> static bool of(U bits) { return (bits & kInfinity<U>) == 0 && bits != 0; }
};
/// Zero is normal.
struct Normal { template <typename U> static bool of(U bits) { return Finite::of(bits) && !Subnormal::of(bits); } };
// clang-format on

template <typename Class, typename U>
void test(Registers& r, const Step& s, Mask lanes) {
  const U* const a = r.read<U>(s.a);
  const Mask result =
      lanes_where<U>([=](unsigned i) { return Class::of(static_cast<U>(a[i] & static_cast<U>(-1) >> 1)); });
  store(r.predicate(s.destination), result, lanes);
}

template <typename U>
Handler testp(const Form& form) {
  if (form.mode == "finite") return test<Finite, U>;
  if (form.mode == "infinite") return test<Infinite, U>;
  if (form.mode == "number") return test<Number, U>;
  if (form.mode == "notanumber") return test<NotANumber, U>;
  if (form.mode == "normal") return test<Normal, U>;
  if (form.mode == "subnormal") return test<Subnormal, U>;
  return nullptr;
}

}  // namespace

Handler comparison(const Form& form) {
  if (form.unknown_part) return nullptr;
  switch (form.op) {
    case Op::setp:
      return setp(form);
    case Op::set:
      return set(form);
    case Op::selp:
      return for_bits(8 * form.type.bytes(), []<typename T>() -> Handler { return select_by_predicate<T>; });
    case Op::slct:
      return slct(form);
    case Op::testp:
      return form.type.is(Type::f, 32)   ? testp<u32>(form)
             : form.type.is(Type::f, 64) ? testp<u64>(form)
                                         : nullptr;
    default:
      return nullptr;
  }
}

}  // namespace warploom::sim::WARPLOOM_INSTRUCTION_SET
