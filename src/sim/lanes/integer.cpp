#include "sim/lanes/integer.hpp"

#include <type_traits>

namespace warploom::sim::WARPLOOM_INSTRUCTION_SET {
namespace {

using ptx::Op;

struct Add {
  template <typename T>
  static T of(T a, T b) {
    return static_cast<T>(a + b);
  }
};

struct Subtract {
  template <typename T>
  static T of(T a, T b) {
    return static_cast<T>(a - b);
  }
};

s32 clamp_to_s32(s64 value) {
  return static_cast<s32>(value > kLargest<s32>    ? kLargest<s32>
                          : value < kSmallest<s32> ? kSmallest<s32>
                                                   : value);
}

struct AddSaturated {
  // Where a and b have the same sign and the sum another, it overflowed, on a's side. (No 64-bit lanes
  // needed.)
  static u32 of(u32 a, u32 b) {
    const u32 sum = a + b, limit = static_cast<u32>(kLargest<s32>) + (a >> 31);
    return static_cast<s32>((a ^ sum) & (b ^ sum)) < 0 ? limit : sum;
  }
};

struct SubtractSaturated {
  static u32 of(u32 a, u32 b) {
    const u32 difference = a - b, limit = static_cast<u32>(kLargest<s32>) + (a >> 31);
    return static_cast<s32>((a ^ difference) & (a ^ b)) < 0 ? limit : difference;
  }
};

struct MultiplyLow {
  template <typename T>
  static T of(T a, T b) {
    if constexpr (sizeof(T) == 2) {
      return static_cast<T>(u32{a} * b);
    } else {
      return a * b;
    }
  }
};

struct MultiplyHigh {
  template <typename T>
  static T of(T a, T b) {
    return static_cast<T>(static_cast<Wide<T>>(a) * static_cast<Wide<T>>(b) >> kBits<T>);
  }
};

struct MultiplyWide {
  template <typename T>
  static Wide<T> of(T a, T b) {
    return static_cast<Wide<T>>(static_cast<Wide<T>>(a) * static_cast<Wide<T>>(b));
  }
};

/// Products of the low 24 bits, of which the low or the high 32 of 48 bits are kept.
template <typename T, bool high>
struct Multiply24 {
  static T extend(u32 a) {
    return kSigned<T> ? static_cast<T>(static_cast<s32>(a << 8) >> 8) : static_cast<T>(a & 0xffffff);
  }
  static T of(T a, T b) {
    const auto product = MultiplyWide::of(extend(static_cast<u32>(a)), extend(static_cast<u32>(b)));
    return static_cast<T>(high ? product >> 16 : product);
  }
};

/// Product(a, b) + c.
template <typename Product>
struct PlusC {
  template <typename T, typename C>
  static C of(T a, T b, C c) {
    using U = Unsigned<C>;
    return static_cast<C>(static_cast<U>(Product::of(a, b)) + static_cast<U>(c));
  }
};
template <typename Product>
struct PlusCSaturated {
  static s32 of(s32 a, s32 b, s32 c) { return clamp_to_s32(s64{Product::of(a, b)} + c); }
};

template <typename T>
Unsigned<T> distance(T a, T b) {
  using U = Unsigned<T>;
  return static_cast<U>(a < b ? static_cast<U>(b) - static_cast<U>(a)
                              : static_cast<U>(a) - static_cast<U>(b));
}

struct SumOfAbsoluteDifferences {
  template <typename T>
  static T of(T a, T b, T c) {
    return static_cast<T>(distance(a, b) + static_cast<Unsigned<T>>(c));
  }
};

// Division by zero does not trap on a GPU: quotient and remainder are all ones, in every type (the PTX ISA
// leaves them open; measured on an H100).
struct Divide {
  template <typename T>
  static T of(T a, T b) {
    if (b == 0) return static_cast<T>(-1);
    if constexpr (kSigned<T>) {
      if (b == -1) return static_cast<T>(Unsigned<T>{0} - static_cast<Unsigned<T>>(a));
    }
    return static_cast<T>(a / b);
  }
};

struct Remainder {
  template <typename T>
  static T of(T a, T b) {
    if (b == 0) return static_cast<T>(-1);
    if constexpr (kSigned<T>) {
      if (b == -1) return 0;
    }
    return static_cast<T>(a % b);
  }
};

struct Absolute {
  template <typename T>
  static T of(T a) {
    return static_cast<T>(a < 0 ? Unsigned<T>{0} - static_cast<Unsigned<T>>(a) : static_cast<Unsigned<T>>(a));
  }
};

struct Negate {
  template <typename T>
  static T of(T a) {
    return static_cast<T>(Unsigned<T>{0} - static_cast<Unsigned<T>>(a));
  }
};

template <bool relu>
struct Minimum {
  template <typename T>
  static T of(T a, T b) {
    const T least = a < b ? a : b;
    return relu && least < T{0} ? T{0} : least;
  }
};

template <bool relu>
struct Maximum {
  template <typename T>
  static T of(T a, T b) {
    const T most = a < b ? b : a;
    return relu && most < T{0} ? T{0} : most;
  }
};

/// F on the two halves of 32 bits.
template <typename F, typename T>
struct Halves {
  static u32 of(u32 a, u32 b) {
    const u16 low = static_cast<u16>(F::of(static_cast<T>(a), static_cast<T>(b)));
    const u16 high = static_cast<u16>(F::of(static_cast<T>(a >> 16), static_cast<T>(b >> 16)));
    return low | u32{high} << 16;
  }
};

/// The product of field i of a, `a_bits` wide, and byte j of b. (Conversions to narrow types, and loops over
/// the fields, would spoil the vector code.)
template <bool a_signed, unsigned a_bits, bool b_signed>
u32 field_product(u32 a, unsigned i, u32 b, unsigned j) {
  const u32 a_high = a << (32 - a_bits * (i + 1)), b_high = b << (24 - 8 * j);
  const u32 x =
      a_signed ? static_cast<u32>(static_cast<s32>(a_high) >> (32 - a_bits)) : a_high >> (32 - a_bits);
  const u32 y = b_signed ? static_cast<u32>(static_cast<s32>(b_high) >> 24) : b_high >> 24;
  return x * y;
}

/// c + the products of four bytes of a with four of b.
template <bool a_signed, bool b_signed>
struct DotOf4 {
  static u32 of(u32 a, u32 b, u32 c) {
    constexpr auto product = field_product<a_signed, 8, b_signed>;
    return c + product(a, 0, b, 0) + product(a, 1, b, 1) + product(a, 2, b, 2) + product(a, 3, b, 3);
  }
};

/// c + the products of the halves of a with two bytes of b.
template <bool a_signed, bool b_signed, unsigned first_byte>
struct DotOf2 {
  static u32 of(u32 a, u32 b, u32 c) {
    constexpr auto product = field_product<a_signed, 16, b_signed>;
    return c + product(a, 0, b, first_byte) + product(a, 1, b, first_byte + 1);
  }
};

/// x + y + carry, the carry in Step::second. A difference is the sum with the complement of y, and its carry
/// the complement of a borrow, so that 1 stands for the carry in of sub. (The PTX ISA speaks of the borrow,
/// which is the same for chains of sub and subc alone; a GPU gives this for mixed ones.)
template <typename T, bool subtract, bool carry_in, bool carry_out, typename X, typename Y>
inline void with_carry(Registers& r, const Step& s, Mask lanes, X x, Y y) {
  alignas(64) T result[kLanes];
  alignas(64) T carry[kLanes];
  spread(carry, carry_in ? r.predicate(s.second) : subtract ? kAllLanes : 0);
  for (unsigned i = 0; i < kLanes; ++i) {
    const T left = x(i), right = subtract ? static_cast<T>(~y(i)) : y(i), in = carry[i] & 1;
    const T first = left + right, second = first + in;
    result[i] = second;
    carry[i] = ((first < left) | (second < in)) != 0 ? static_cast<T>(-1) : T{0};
  }
  store(r.write<T>(s.destination), result, lanes);
  if constexpr (carry_out) store(r.predicate(s.second), gather(carry), lanes);
}

template <typename T, bool subtract, bool carry_in, bool carry_out>
void sum_with_carry(Registers& r, const Step& s, Mask lanes) {
  const T* const a = r.read<T>(s.a);
  const T* const b = r.read<T>(s.b);
  with_carry<T, subtract, carry_in, carry_out>(
      r, s, lanes, [=](unsigned i) { return a[i]; }, [=](unsigned i) { return b[i]; });
}

template <typename Product, typename T, bool carry_in, bool carry_out>
void product_with_carry(Registers& r, const Step& s, Mask lanes) {
  using U = Unsigned<T>;
  const T* const a = r.read<T>(s.a);
  const T* const b = r.read<T>(s.b);
  const U* const c = r.read<U>(s.c);
  with_carry<U, false, carry_in, carry_out>(
      r, s, lanes, [=](unsigned i) { return static_cast<U>(Product::of(a[i], b[i])); },
      [=](unsigned i) { return c[i]; });
}

/// choose.template operator()<carry_in, carry_out>().
template <typename Choose>
Handler for_carries(const Form& form, Choose choose) {
  if (form.carry_in) {
    return form.carry_out ? choose.template operator()<true, true>()
                          : choose.template operator()<true, false>();
  }
  return form.carry_out ? choose.template operator()<false, true>() : nullptr;
}

template <bool subtract>
Handler sum(const Form& form) {
  using F = std::conditional_t<subtract, Subtract, Add>;
  using Saturated = std::conditional_t<subtract, SubtractSaturated, AddSaturated>;
  if (form.carry) {
    if (form.type.bits == 16 || form.type.packed != 1) return nullptr;
    return for_bits(form.type.bits, [&]<typename T>() {
      return for_carries(form, []<bool in, bool out>() -> Handler {
        if constexpr (sizeof(T) == 2)
          return nullptr;
        else
          return sum_with_carry<T, subtract, in, out>;
      });
    });
  }
  if (form.sat) return form.type.is(Type::s, 32) ? binary<Saturated, u32, u32, u32> : nullptr;
  if (form.type.packed == 2) return binary<Halves<F, u16>, u32, u32, u32>;
  return for_bits(form.type.bits, []<typename T>() -> Handler { return binary<F, T, T, T>; });
}

Handler multiply(const Form& form) {
  if (form.type.packed != 1 || form.hi + form.lo + form.wide != 1) return nullptr;
  if (form.lo)
    return for_bits(form.type.bits, []<typename T>() -> Handler { return binary<MultiplyLow, T, T, T>; });
  return for_integer(form.type, [&]<typename T>() -> Handler {
    if (form.hi) return binary<MultiplyHigh, T, T, T>;
    if constexpr (sizeof(T) == 8)
      return nullptr;
    else
      return binary<MultiplyWide, Wide<T>, T, T>;
  });
}

template <typename Product, typename T>
Handler multiply_add_with_carry(const Form& form) {
  return for_carries(form,
                     []<bool in, bool out>() -> Handler { return product_with_carry<Product, T, in, out>; });
}

Handler multiply_add(const Form& form) {
  if (form.type.packed != 1 || form.hi + form.lo + form.wide != 1) return nullptr;
  if (form.sat && !(form.hi && form.type.is(Type::s, 32) && !form.carry)) return nullptr;
  if (form.sat) return ternary<PlusCSaturated<MultiplyHigh>, s32, s32, s32, s32>;
  if (form.lo) {
    return for_bits(form.type.bits, [&]<typename T>() -> Handler {
      if (!form.carry) return ternary<PlusC<MultiplyLow>, T, T, T, T>;
      if constexpr (sizeof(T) == 2)
        return nullptr;
      else
        return multiply_add_with_carry<MultiplyLow, T>(form);
    });
  }
  return for_integer(form.type, [&]<typename T>() -> Handler {
    if (form.carry) {
      if constexpr (sizeof(T) == 2)
        return nullptr;
      else
        return form.hi ? multiply_add_with_carry<MultiplyHigh, T>(form) : nullptr;
    }
    if (form.hi) return ternary<PlusC<MultiplyHigh>, T, T, T, T>;
    if constexpr (sizeof(T) == 8)
      return nullptr;
    else
      return ternary<PlusC<MultiplyWide>, Wide<T>, T, T, Wide<T>>;
  });
}

Handler multiply24(const Form& form) {
  if (!form.type.integer() || form.type.bits != 32 || form.hi == form.lo) return nullptr;
  return for_integer(form.type, [&]<typename T>() -> Handler {
    if constexpr (sizeof(T) != 4) {
      return nullptr;
    } else {
      using Low = Multiply24<T, false>;
      using High = Multiply24<T, true>;
      if (form.op == Op::mul24) return form.hi ? binary<High, T, T, T> : binary<Low, T, T, T>;
      if (!form.sat) return form.hi ? ternary<PlusC<High>, T, T, T, T> : ternary<PlusC<Low>, T, T, T, T>;
      return form.hi && kSigned<T> ? ternary<PlusCSaturated<Multiply24<s32, true>>, s32, s32, s32, s32>
                                   : nullptr;
    }
  });
}

template <template <bool> typename F>
Handler extreme(const Form& form) {
  if (form.type.packed == 2) {
    if (form.type.kind == Type::u) return form.relu ? nullptr : binary<Halves<F<false>, u16>, u32, u32, u32>;
    return form.relu ? binary<Halves<F<true>, s16>, u32, u32, u32>
                     : binary<Halves<F<false>, s16>, u32, u32, u32>;
  }
  if (form.relu) return form.type.is(Type::s, 32) ? binary<F<true>, s32, s32, s32> : nullptr;
  return for_integer(form.type, []<typename T>() -> Handler { return binary<F<false>, T, T, T>; });
}

template <typename F>
Handler signed_unary(Type type) {
  if (type.kind != Type::s) return nullptr;
  return for_integer(type, []<typename T>() -> Handler { return unary<F, T, T>; });
}

/// choose.template operator()<a is signed, b is signed>().
template <typename Choose>
Handler for_signs(const Form& form, Choose choose) {
  if (!form.type.integer() || form.type.bits != 32 || !form.from.integer() || form.from.bits != 32)
    return nullptr;
  const bool b_signed = form.from.kind == Type::s;
  if (form.type.kind == Type::s) {
    return b_signed ? choose.template operator()<true, true>() : choose.template operator()<true, false>();
  }
  return b_signed ? choose.template operator()<false, true>() : choose.template operator()<false, false>();
}

}  // namespace

Handler integer(const Form& form) {
  if (form.unknown_part) return nullptr;
  if (const Handler bits = integer_bits(form)) return bits;
  if (const Handler video = integer_video(form)) return video;
  if (!form.type.integer()) return nullptr;
  switch (form.op) {
    case Op::add:
    case Op::addc:
      return sum<false>(form);
    case Op::sub:
    case Op::subc:
      return sum<true>(form);
    case Op::mul:
      return multiply(form);
    case Op::mad:
    case Op::madc:
      return multiply_add(form);
    case Op::mul24:
    case Op::mad24:
      return multiply24(form);
    case Op::sad:
      return for_integer(
          form.type, []<typename T>() -> Handler { return ternary<SumOfAbsoluteDifferences, T, T, T, T>; });
    case Op::div:
      return for_integer(form.type, []<typename T>() -> Handler { return binary<Divide, T, T, T>; });
    case Op::rem:
      return for_integer(form.type, []<typename T>() -> Handler { return binary<Remainder, T, T, T>; });
    case Op::abs_:
      return signed_unary<Absolute>(form.type);
    case Op::neg:
      return signed_unary<Negate>(form.type);
    case Op::min_:
      return extreme<Minimum>(form);
    case Op::max_:
      return extreme<Maximum>(form);
    case Op::dp4a:
      return for_signs(form,
                       []<bool a, bool b>() -> Handler { return ternary<DotOf4<a, b>, u32, u32, u32, u32>; });
    case Op::dp2a:
      if (form.hi == form.lo) return nullptr;
      return for_signs(form, [&]<bool a, bool b>() -> Handler {
        return form.hi ? ternary<DotOf2<a, b, 2>, u32, u32, u32, u32>
                       : ternary<DotOf2<a, b, 0>, u32, u32, u32, u32>;
      });
    default:
      return nullptr;
  }
}

}  // namespace warploom::sim::WARPLOOM_INSTRUCTION_SET
