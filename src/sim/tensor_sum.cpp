#include "sim/tensor_sum.hpp"

#include <algorithm>
#include <bit>
#include <cstdlib>

namespace warploom::sim {

namespace {

/// Bits below a format's leading one, its bias and its width.
struct Format {
  int fraction, bias, width;
  /// e4m3 has a NaN alone where others have infinity and NaNs.
  std::uint32_t largest() const { return width == 8 && fraction == 3 ? 0x7e : infinity() - 1; }
  std::uint32_t infinity() const { return ((1u << (width - 1 - fraction)) - 1) << fraction; }
};

Format format_of(Element element) {
  switch (element) {
    case Element::f16:
      return {10, 15, 16};
    case Element::bf16:
      return {7, 127, 16};
    case Element::tf32:
      return {10, 127, 19};
    case Element::e4m3:
      return {3, 7, 8};
    case Element::e5m2:
      return {2, 15, 8};
    default:
      return {23, 127, 32};
  }
}

Factor taken_apart(const Format& f, std::uint32_t bits) {
  const std::uint32_t sign = bits >> (f.width - 1) & 1, magnitude = bits & ((1u << (f.width - 1)) - 1);
  const std::uint32_t fraction = magnitude & ((1u << f.fraction) - 1), field = magnitude >> f.fraction;
  Factor out;
  out.negative = sign != 0;
  if (magnitude > f.largest()) {
    out.kind = magnitude == f.infinity() ? Factor::infinite : Factor::nan;
    return out;
  }
  const auto significand = static_cast<std::int32_t>(field == 0 ? fraction : fraction | 1u << f.fraction);
  out.significand = sign != 0 ? -significand : significand;
  out.exponent = static_cast<std::int16_t>(std::max<int>(static_cast<int>(field), 1) - f.bias - f.fraction);
  return out;
}

/// sum * 2^exponent in the format: cut, or to the nearest, ties to even.
std::uint32_t rounded(std::int64_t sum, int exponent, const Format& f, bool nearest) {
  const std::uint32_t sign = sum < 0 ? 1u << (f.width - 1) : 0;
  const auto magnitude = static_cast<std::uint64_t>(std::abs(sum));
  if (magnitude == 0) return sign;
  const int top = static_cast<int>(std::bit_width(magnitude)) - 1 + exponent, least = 1 - f.bias;
  const int cut = std::max(top, least) - f.fraction - exponent;  // bits that go
  std::uint64_t kept = 0;
  if (cut <= 0) {
    kept = magnitude << -cut;
  } else if (cut < 64) {
    kept = magnitude >> cut;
    const std::uint64_t rest = magnitude - (kept << cut), half = std::uint64_t{1} << (cut - 1);
    if (nearest && (rest > half || (rest == half && (kept & 1) != 0))) ++kept;
  }
  // A carry out of the fraction raises the exponent by itself; a subnormal number has the field 0.
  const std::uint64_t field = top < least ? 0 : static_cast<std::uint64_t>(top - least);
  const std::uint64_t bits = (field << f.fraction) + kept;
  return sign | static_cast<std::uint32_t>(std::min<std::uint64_t>(bits, f.infinity()));
}

}  // namespace

Factor factor(Element element, std::uint32_t bits) {
  return taken_apart(format_of(element), element == Element::tf32 ? bits >> 13 : bits);
}

std::uint32_t float_of(Element element, std::uint32_t bits) {
  const Factor f = factor(element, bits);
  const Format single = format_of(Element::f32);
  const std::uint32_t sign = f.negative ? 0x80000000u : 0;
  if (f.kind == Factor::nan) return 0x7fffffff;
  return sign | (f.kind == Factor::infinite ? single.infinity()
                                            : rounded(std::abs(f.significand), f.exponent, single, true));
}

std::uint32_t half_of_single(std::uint32_t bits) {
  const Factor f = factor(Element::f32, bits);
  const Format half = format_of(Element::f16);
  if (f.kind == Factor::nan) return 0x7fff;
  return (f.negative ? 0x8000u : 0u) |
         (f.kind == Factor::infinite ? half.infinity()
                                     : rounded(std::abs(f.significand), f.exponent, half, true));
}

std::uint32_t tensor_sum(Element element, std::span<const Factor> a, std::span<const Factor> b,
                         unsigned group, std::uint32_t c, Element result) {
  return tensor_sum({element, element, result, group}, a, b, c);
}

std::uint32_t tensor_sum(const SumForm& form, std::span<const Factor> a, std::span<const Factor> b,
                         std::uint32_t c) {
  const unsigned group = form.group;
  const Format out = format_of(form.result);
  const int fractions = format_of(form.first).fraction + format_of(form.second).fraction;
  for (std::size_t first = 0; first < a.size(); first += group) {
    const std::size_t last = std::min(first + group, a.size());
    const Factor sum_so_far = taken_apart(out, c);
    bool nan = sum_so_far.kind == Factor::nan;
    bool up = sum_so_far.kind == Factor::infinite && !sum_so_far.negative,
         down = sum_so_far.kind == Factor::infinite && sum_so_far.negative;
    int greatest = sum_so_far.exponent + out.fraction;
    for (std::size_t i = first; i < last; ++i) {
      const Factor &x = a[i], &y = b[i];
      if (x.kind == Factor::finite && y.kind == Factor::finite) {
        if (x.significand != 0 && y.significand != 0)
          greatest = std::max(greatest, x.exponent + y.exponent + fractions);
        continue;
      }
      const bool zero = (x.kind == Factor::finite && x.significand == 0) ||
                        (y.kind == Factor::finite && y.significand == 0);
      nan |= x.kind == Factor::nan || y.kind == Factor::nan || zero;
      (x.negative != y.negative ? down : up) = true;
    }
    if (nan || (up && down)) return out.width == 16 ? 0x7fff : 0x7fffffff;
    if (up || down) {
      c = out.infinity() | (down ? 1u << (out.width - 1) : 0);
      continue;
    }
    const int lowest = greatest - form.kept;
    const auto cut = [&](std::int64_t significand, int exponent) -> std::int64_t {
      if (significand == 0) return 0;  // whatever the other factor was
      const int shift = exponent - lowest;
      if (shift >= 0) return significand * (std::int64_t{1} << shift);
      if (shift < -62) return 0;
      const std::int64_t magnitude = std::abs(significand) >> -shift;
      return significand < 0 ? -magnitude : magnitude;
    };
    std::int64_t sum = cut(sum_so_far.significand, sum_so_far.exponent);
    for (std::size_t i = first; i < last; ++i)
      sum += cut(std::int64_t{a[i].significand} * b[i].significand, a[i].exponent + b[i].exponent);
    c = rounded(sum, lowest, out, out.width == 16) & ~((1u << form.lost) - 1);
  }
  return c;
}

}  // namespace warploom::sim
