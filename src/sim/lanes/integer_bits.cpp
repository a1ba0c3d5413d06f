#include <type_traits>

#include "sim/lanes/integer.hpp"

namespace warploom::sim::WARPLOOM_INSTRUCTION_SET {
namespace {

using ptx::Op;

struct And {
  template <typename T>
  static T of(T a, T b) {
    return static_cast<T>(a & b);
  }
};

struct Or {
  template <typename T>
  static T of(T a, T b) {
    return static_cast<T>(a | b);
  }
};

struct Xor {
  template <typename T>
  static T of(T a, T b) {
    return static_cast<T>(a ^ b);
  }
};

struct Not {
  template <typename T>
  static T of(T a) {
    return static_cast<T>(~a);
  }
};

struct LogicalNot {
  template <typename T>
  static T of(T a) {
    return a == 0 ? T{1} : T{0};
  }
};

/// a >> amount, amount < bits, copies of the sign moving in.
template <typename T>
T shift_arithmetically(T a, unsigned amount) {
  using U = Unsigned<T>;
  if constexpr (sizeof(T) == 8) {  // AVX2 has no such shift of 64 bits
    const U sign = a < 0 ? ~U{0} : U{0};
    return static_cast<T>(((static_cast<U>(a) ^ sign) >> amount) ^ sign);
  } else {
    return static_cast<T>(a >> amount);
  }
}

// Shifts by more than the width move every bit out.
struct ShiftLeft {
  template <typename T>
  static T of(T a, u32 amount) {
    return amount < kBits<T> ? static_cast<T>(a << (amount & (kBits<T> - 1))) : T{0};
  }
};

struct ShiftRight {
  template <typename T>
  static T of(T a, u32 amount) {
    if constexpr (kSigned<T>) {
      return shift_arithmetically(a, amount < kBits<T> ? amount : kBits<T> - 1);
    } else {
      return amount < kBits<T> ? static_cast<T>(a >> (amount & (kBits<T> - 1))) : T{0};
    }
  }
};

/// The high or the low half of b:a, shifted left or right.
template <bool left, bool clamp>
struct FunnelShift {
  static u32 of(u32 a, u32 b, u32 amount) {
    const u32 n = clamp ? (amount < 32 ? amount : 32) : amount & 31;
    if (left) return n == 32 ? a : n == 0 ? b : b << (n & 31) | a >> ((32 - n) & 31);
    return n == 32 ? b : n == 0 ? a : b << ((32 - n) & 31) | a >> (n & 31);
  }
};

/// The lowest `length` bits.
template <typename U>
U low_bits(u32 length) {
  return length < kBits<U> ? static_cast<U>((U{1} << (length & (kBits<U> - 1))) - 1) : static_cast<U>(-1);
}

/// `length` bits of a from `position` on. A signed field is extended with its highest bit, or a's highest
/// where it reaches beyond that.
struct ExtractField {
  template <typename T>
  static T of(T a, u32 position, u32 length) {
    using U = Unsigned<T>;
    position &= 0xff;
    length &= 0xff;
    const T field = ShiftRight::of(a, position);
    if constexpr (kSigned<T>) {
      const u32 unused = kBits<T> - (length < kBits<T> ? length : kBits<T>);
      const T moved = static_cast<T>(static_cast<U>(field) << (unused & (kBits<T> - 1)));
      return length == 0 ? T{0} : shift_arithmetically(moved, unused & (kBits<T> - 1));
    } else {
      return static_cast<T>(field & low_bits<U>(length));
    }
  }
};

struct InsertField {
  template <typename T>
  static T of(T a, T b, u32 position, u32 length) {
    position &= 0xff;
    length &= 0xff;
    const T where = ShiftLeft::of(low_bits<T>(length), position);
    return static_cast<T>((ShiftLeft::of(a, position) & where) | (b & ~where));
  }
};

struct CountLeadingZeros {
  template <typename T>
  static u32 of(T a) {
    if constexpr (sizeof(T) == 8) {
      return a == 0 ? 64 : static_cast<u32>(__builtin_clzll(a));
    } else {
      return a == 0 ? 32 : static_cast<u32>(__builtin_clz(a));
    }
  }
};

/// The highest bit that is not a copy of the sign, or that is 1 in unsigned types; none: all ones.
template <bool shift_amount>
struct FindBit {
  template <typename T>
  static u32 of(T a) {
    using U = Unsigned<T>;
    const U bits = static_cast<U>(a < T{0} ? ~a : a);
    const u32 zeros = CountLeadingZeros::of(bits);
    return shift_amount ? (bits == 0 ? ~u32{0} : zeros) : kBits<T> - 1 - zeros;
  }
};

/// Every other group of `width` bits, the lowest among them.
template <typename T, unsigned width>
constexpr T kEvenGroups = static_cast<T>(static_cast<T>(-1) / ((T{1} << width) + 1));

struct Reverse {
  template <unsigned width = 1, typename T>
  static T of(T a) {
    if constexpr (width == kBits<T>) {
      return a;
    } else {
      constexpr T kEven = kEvenGroups<T, width>;
      return of<2 * width>(static_cast<T>((a & kEven) << width | (a >> width & kEven)));
    }
  }
};

/// In sums of ever wider fields, which vectorise.
struct CountOnes {
  template <unsigned width = 1, typename T>
  static u32 of(T a) {
    if constexpr (width == kBits<T>) {
      return static_cast<u32>(a);
    } else {
      constexpr T kEven = kEvenGroups<T, width>;
      return of<2 * width>(static_cast<T>((a & kEven) + (a >> width & kEven)));
    }
  }
};

/// The `offset`th set bit from `base` on: upwards from 1, downwards from -1; 0: `base` itself. None: all
/// ones.
struct FindNthSet {
  static u32 of(u32 mask, u32 base, s32 offset) {
    if (base >= 32) return ~u32{0};
    if (offset == 0) return (mask >> base & 1) != 0 ? base : ~u32{0};
    // Downwards is upwards in the reversed mask.
    u32 ahead = offset > 0 ? mask >> base : Reverse::of(mask) >> (31 - base);
    u32 skip = offset > 0 ? static_cast<u32>(offset) - 1 : ~static_cast<u32>(offset);
    for (; skip != 0 && ahead != 0; --skip) ahead &= ahead - 1;
    if (ahead == 0) return ~u32{0};
    const u32 steps = static_cast<u32>(__builtin_ctz(ahead));
    return offset > 0 ? base + steps : base - steps;
  }
};

/// b ones from bit a on.
template <bool clamp>
struct BitMask {
  static u32 of(u32 a, u32 b) {
    const u32 ones = ShiftLeft::of(low_bits<u32>(b & 31), a & 31);
    if (!clamp) return ones;
    return a >= 32 ? 0 : b >= 32 ? ~u32{0} << (a & 31) : ones;
  }
};

/// The low b bits of a, extended.
template <typename T, bool clamp>
struct ExtendFrom {
  static T of(T a, u32 b) {
    if (clamp && b >= 32) return a;
    return ExtractField::of(a, 0, b & 31);
  }
};

/// All ones where the bit is set, else 0. (Choices by masks vectorise where those by `?:` do not.)
inline u32 all_ones_if(u32 word, unsigned bit) { return 0 - (word >> bit & 1); }

/// The byte of b:a that a selector names in bits 0 to 2; with bit 3, eight copies of its sign.
inline u32 selected_byte(u32 a, u32 b, u32 selector) {
  const u32 word = a ^ ((a ^ b) & all_ones_if(selector, 2));
  const u32 byte = word >> 8 * (selector & 3) & 0xff;
  return byte ^ ((byte ^ (all_ones_if(byte, 7) & 0xff)) & all_ones_if(selector, 3));
}

struct Permute {
  static u32 of(u32 a, u32 b, u32 c) {
    return selected_byte(a, b, c) | selected_byte(a, b, c >> 4) << 8 | selected_byte(a, b, c >> 8) << 16 |
           selected_byte(a, b, c >> 12) << 24;
  }
};

/// Selectors of the modes of prmt for c = 0, 1, 2, 3.
struct Forward4 {
  static constexpr u32 kSelectors[] = {0x3210, 0x4321, 0x5432, 0x6543};
};
struct Backward4 {
  static constexpr u32 kSelectors[] = {0x5670, 0x6701, 0x7012, 0x0123};
};
struct Replicate8 {
  static constexpr u32 kSelectors[] = {0x0000, 0x1111, 0x2222, 0x3333};
};
struct EdgeClampLeft {
  static constexpr u32 kSelectors[] = {0x3210, 0x3211, 0x3222, 0x3333};
};
struct EdgeClampRight {
  static constexpr u32 kSelectors[] = {0x0000, 0x1110, 0x2210, 0x3210};
};
struct Replicate16 {
  static constexpr u32 kSelectors[] = {0x1010, 0x3232, 0x1010, 0x3232};
};
template <typename Mode>
struct PermuteBy {
  static u32 of(u32 a, u32 b, u32 c) { return Permute::of(a, b, Mode::kSelectors[c & 3]); }
};

Handler permute(const Form& form) {
  if (form.mode.empty()) return ternary<Permute, u32, u32, u32, u32>;
  if (form.mode == "f4e") return ternary<PermuteBy<Forward4>, u32, u32, u32, u32>;
  if (form.mode == "b4e") return ternary<PermuteBy<Backward4>, u32, u32, u32, u32>;
  if (form.mode == "rc8") return ternary<PermuteBy<Replicate8>, u32, u32, u32, u32>;
  if (form.mode == "ecl") return ternary<PermuteBy<EdgeClampLeft>, u32, u32, u32, u32>;
  if (form.mode == "ecr") return ternary<PermuteBy<EdgeClampRight>, u32, u32, u32, u32>;
  return ternary<PermuteBy<Replicate16>, u32, u32, u32, u32>;
}

template <typename T>
void insert_field(Registers& r, const Step& s, Mask lanes) {
  const T* const a = r.read<T>(s.a);
  const T* const b = r.read<T>(s.b);
  const u32* const c = r.read<u32>(s.c);
  const u32* const d = r.read<u32>(s.d);
  for_lanes<T>(r, s, lanes, [=](unsigned i) { return InsertField::of(a[i], b[i], c[i], d[i]); });
}

/// Bit 4 a + 2 b + c of the table is the result for these bits: c chooses in four pairs, b in two, a in one.
void lookup3(Registers& r, const Step& s, Mask lanes) {
  const u32* const a = r.read<u32>(s.a);
  const u32* const b = r.read<u32>(s.b);
  const u32* const c = r.read<u32>(s.c);
  u32 zero[4], change[4];  // the result where c is 0, and what changes where it is 1
  for (unsigned i = 0; i < 4; ++i) {
    const auto at = [&](unsigned index) { return (s.immediate >> index & 1) != 0 ? ~u32{0} : u32{0}; };
    zero[i] = at(2 * i);
    change[i] = at(2 * i) ^ at(2 * i + 1);
  }
  const u32 zero0 = zero[0], zero1 = zero[1], zero2 = zero[2], zero3 = zero[3];
  const u32 change0 = change[0], change1 = change[1], change2 = change[2], change3 = change[3];
  const auto choose = [](u32 by, u32 if_0, u32 if_1) { return if_0 ^ (by & (if_0 ^ if_1)); };
  for_lanes<u32>(r, s, lanes, [=](unsigned i) {
    const u32 x = c[i];
    return choose(a[i], choose(b[i], zero0 ^ (x & change0), zero1 ^ (x & change1)),
                  choose(b[i], zero2 ^ (x & change2), zero3 ^ (x & change3)));
  });
}

Mask combined(Combine combine, Mask a, Mask b) {
  return combine == Combine::and_   ? a & b
         : combine == Combine::or_  ? a | b
         : combine == Combine::xor_ ? a ^ b
                                    : a;
}

/// lop3.or.b32 d|p, a, b, c, table, q: p = (d != 0) or q.
template <Combine combine>
void lookup3_and_test(Registers& r, const Step& s, Mask lanes) {
  lookup3(r, s, lanes);
  const u32* const d = r.write<u32>(s.destination);
  const Mask result =
      combined(combine, lanes_where<u32>([=](unsigned i) { return d[i] != 0; }), predicate(r, s, s.d, 3));
  store(r.predicate(s.second), result, lanes);
}

template <typename T>
void copy(Registers& r, const Step& s, Mask lanes) {
  store(r.write<T>(s.destination), r.read<T>(s.a), lanes);
}

void copy128(Registers& r, const Step& s, Mask lanes) {
  struct Value {
    u64 half[2];
  };
  const Value* const a = r.read<Value>(s.a);
  Value* const destination = r.write<Value>(s.destination);
  for (unsigned i = 0; i < kLanes; ++i) {
    if ((lanes >> i & 1) != 0) destination[i] = a[i];
  }
}

template <Combine combine>
void predicates(Registers& r, const Step& s, Mask lanes) {
  store(r.predicate(s.destination), combined(combine, predicate(r, s, s.a, 0), predicate(r, s, s.b, 1)),
        lanes);
}

template <bool complement>
void predicate_copy(Registers& r, const Step& s, Mask lanes) {
  const Mask a = predicate(r, s, s.a, 0);
  store(r.predicate(s.destination), complement ? ~a : a, lanes);
}

Handler of_predicates(Op op) {
  switch (op) {
    case Op::and_:
      return predicates<Combine::and_>;
    case Op::or_:
      return predicates<Combine::or_>;
    case Op::xor_:
      return predicates<Combine::xor_>;
    case Op::not_:
    case Op::cnot:
      return predicate_copy<true>;
    case Op::mov:
      return predicate_copy<false>;
    default:
      return nullptr;
  }
}

template <typename F>
Handler bits_binary(const Form& form) {
  return for_bits(form.type.bits, []<typename T>() -> Handler { return binary<F, T, T, T>; });
}

template <typename F>
Handler bits_unary(const Form& form) {
  return for_bits(form.type.bits, []<typename T>() -> Handler { return unary<F, T, T>; });
}

/// Of 32 and 64 bits only.
template <typename F, bool same_width>
Handler word_unary(const Form& form) {
  if (form.type.bits == 32) return unary<F, u32, u32>;
  if (form.type.bits == 64) return unary<F, std::conditional_t<same_width, u64, u32>, u64>;
  return nullptr;
}

Handler find_bit(const Form& form) {
  return for_integer(form.type, [&]<typename T>() -> Handler {
    if constexpr (sizeof(T) == 2)
      return nullptr;
    else
      return form.shift_amount ? unary<FindBit<true>, u32, T> : unary<FindBit<false>, u32, T>;
  });
}

Handler funnel_shift(const Form& form) {
  if (form.left == form.right || form.clamp == form.wrap) return nullptr;
  if (form.left) {
    return form.clamp ? ternary<FunnelShift<true, true>, u32, u32, u32, u32>
                      : ternary<FunnelShift<true, false>, u32, u32, u32, u32>;
  }
  return form.clamp ? ternary<FunnelShift<false, true>, u32, u32, u32, u32>
                    : ternary<FunnelShift<false, false>, u32, u32, u32, u32>;
}

template <typename T>
Handler extend_from(bool clamp) {
  return clamp ? binary<ExtendFrom<T, true>, T, T, u32> : binary<ExtendFrom<T, false>, T, T, u32>;
}

Handler lookup3_of(Combine combine) {
  switch (combine) {
    case Combine::none:
      return lookup3;
    case Combine::and_:
      return lookup3_and_test<Combine::and_>;
    case Combine::or_:
      return lookup3_and_test<Combine::or_>;
    default:
      return nullptr;
  }
}

}  // namespace

Handler integer_bits(const Form& form) {
  const Type type = form.type;
  if (type.kind == Type::pred) return of_predicates(form.op);
  if (form.op == Op::mov) {
    const unsigned bits = 8 * type.bytes();
    if (bits == 128) return copy128;
    return for_bits(bits, []<typename T>() -> Handler { return copy<T>; });
  }
  if (!type.integer() || type.packed != 1) return nullptr;
  switch (form.op) {
    case Op::and_:
      return bits_binary<And>(form);
    case Op::or_:
      return bits_binary<Or>(form);
    case Op::xor_:
      return bits_binary<Xor>(form);
    case Op::not_:
      return bits_unary<Not>(form);
    case Op::cnot:
      return bits_unary<LogicalNot>(form);
    case Op::shl:
      return for_bits(type.bits, []<typename T>() -> Handler { return binary<ShiftLeft, T, T, u32>; });
    case Op::shr:
      return for_integer(type, []<typename T>() -> Handler { return binary<ShiftRight, T, T, u32>; });
    case Op::popc:
      return word_unary<CountOnes, false>(form);
    case Op::clz:
      return word_unary<CountLeadingZeros, false>(form);
    case Op::brev:
      return word_unary<Reverse, true>(form);
    case Op::bfind:
      return find_bit(form);
    case Op::bfe:
      return for_integer(type, []<typename T>() -> Handler {
        if constexpr (sizeof(T) == 2)
          return nullptr;
        else
          return ternary<ExtractField, T, T, u32, u32>;
      });
    case Op::bfi:
      return type.bits == 32 ? insert_field<u32> : type.bits == 64 ? insert_field<u64> : nullptr;
    default:
      break;
  }
  if (type.bits != 32) return nullptr;
  switch (form.op) {
    case Op::shf:
      return funnel_shift(form);
    case Op::lop3:
      return lookup3_of(form.combine);
    case Op::prmt:
      return permute(form);
    case Op::fns:
      return ternary<FindNthSet, u32, u32, u32, s32>;
    case Op::bmsk:
      if (form.clamp == form.wrap) return nullptr;
      return form.clamp ? binary<BitMask<true>, u32, u32, u32> : binary<BitMask<false>, u32, u32, u32>;
    case Op::szext:
      if (form.clamp == form.wrap) return nullptr;
      return type.kind == Type::s ? extend_from<s32>(form.clamp) : extend_from<u32>(form.clamp);
    default:
      return nullptr;
  }
}

}  // namespace warploom::sim::WARPLOOM_INSTRUCTION_SET
