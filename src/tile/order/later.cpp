#include "tile/order/later.hpp"

#include <algorithm>
#include <limits>

namespace warploom::tile {
namespace {

using Bound = std::optional<std::int64_t>;

struct TooLarge {};  // for 64 bits

std::int64_t checked_product(std::int64_t a, std::int64_t b) {
  std::int64_t result = 0;
  if (__builtin_mul_overflow(a, b, &result)) throw TooLarge();
  return result;
}
std::int64_t checked_difference(std::int64_t a, std::int64_t b) {
  std::int64_t result = 0;
  if (__builtin_sub_overflow(a, b, &result)) throw TooLarge();
  return result;
}

Bound product(Bound bound, std::int64_t factor) {
  std::int64_t result = 0;
  if (!bound || __builtin_mul_overflow(*bound, factor, &result)) return std::nullopt;
  return result;
}
Bound sum(Bound a, Bound b) {
  std::int64_t result = 0;
  if (!a || !b || __builtin_add_overflow(*a, *b, &result)) return std::nullopt;
  return result;
}
LaterBy operator*(const LaterBy& bounds, std::int64_t factor) {
  const Bound a = product(bounds.least, factor), b = product(bounds.most, factor);
  return factor < 0 ? LaterBy{b, a} : LaterBy{a, b};
}
LaterBy operator+(const LaterBy& a, const LaterBy& b) { return {sum(a.least, b.least), sum(a.most, b.most)}; }
/// floor(y / by) - floor(x / by), where y - x lies within the bounds.
LaterBy of_quotients(const LaterBy& bounds, std::int64_t by) {
  const auto floor = [&](std::int64_t value) { return value / by - (value % by < 0); };
  return {bounds.least ? Bound(floor(*bounds.least)) : std::nullopt,
          bounds.most ? sum(floor(*bounds.most), *bounds.most % by == 0 ? 0 : 1) : std::nullopt};
}

/// Of an integer. isl gives 0 for those that leave 64 bits.
std::int64_t number_of(isl_val* taken) {
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
  const isl::val value = isl::manage(taken);
  if (isl_val_cmp_si(value.get(), most) > 0 || isl_val_cmp_si(value.get(), -most) < 0) throw TooLarge();
  return value.num_si();
}

template <class Factor>
bool same_sizes(const isl::aff& source, const isl::aff& sink, const Factor& factor) {
  const auto within = [&](const isl::aff& one, const isl::aff& other) {
    for (int p = 0; p < isl_aff_dim(one.get(), isl_dim_param); ++p) {
      const char* name = isl_aff_get_dim_name(one.get(), isl_dim_param, static_cast<unsigned>(p));
      const int at = isl_aff_find_dim_by_name(other.get(), isl_dim_param, name);
      if (factor(one, isl_dim_param, p) != (at < 0 ? 0 : factor(other, isl_dim_param, at))) return false;
    }
    return true;
  };
  return within(source, sink) && within(sink, source);
}

}  // namespace

Later::Later(const Polyhedra& polyhedra, const Dependence& dependence) : dependence_(dependence) {
  for (const SourceLoop& loop : polyhedra.sets[dependence.source].loops)
    directions_.push_back(loop.direction);
}

LaterBy Later::of(const TimeDimension& source, const TimeDimension& sink) const {
  if (!source.aff && !sink.aff) {
    const std::int64_t more = sink.value - source.value;
    return {more, more};
  }
  if (!source.aff || !sink.aff) return {};
  try {
    return of(*source.aff, *sink.aff);
  } catch (const TooLarge&) {
    return {};
  }
}

LaterBy Later::of(const isl::aff& source, const isl::aff& sink) const {
  const std::int64_t denominator = number_of(isl_aff_get_denominator_val(source.get()));
  if (denominator != number_of(isl_aff_get_denominator_val(sink.get()))) return {};
  return of_quotients(numerators(source, sink, denominator), denominator);
}

/// Of the functions times their denominator.
LaterBy Later::numerators(const isl::aff& source, const isl::aff& sink, std::int64_t denominator) const {
  const auto whole = [&](isl_val* taken) {
    if (isl_val_is_int(taken) == isl_bool_true) return checked_product(number_of(taken), denominator);
    return number_of(isl_val_mul(taken, isl_val_int_from_si(isl_val_get_ctx(taken), denominator)));
  };
  const auto factor = [&](const isl::aff& function, isl_dim_type type, int at) {
    return at < isl_aff_dim(function.get(), type)
               ? whole(isl_aff_get_coefficient_val(function.get(), type, at))
               : 0;
  };
  if (!same_sizes(source, sink, factor)) return {};
  const std::int64_t constant = checked_difference(whole(isl_aff_get_constant_val(sink.get())),
                                                   whole(isl_aff_get_constant_val(source.get())));
  LaterBy bounds{constant, constant};
  const int loops = std::max(isl_aff_dim(source.get(), isl_dim_in), isl_aff_dim(sink.get(), isl_dim_in));
  for (int d = 0; d < loops; ++d) {
    const std::int64_t a = factor(source, isl_dim_in, d), b = factor(sink, isl_dim_in, d);
    if (a == 0 && b == 0) continue;
    const auto loop = static_cast<std::size_t>(d);
    if (loop >= dependence_.distance.size() || a != b) return {};
    const Component& component = dependence_.distance[loop];
    bounds = bounds + LaterBy{component.least, component.most} * checked_product(a, directions_[loop]);
  }
  const int quotients = isl_aff_dim(source.get(), isl_dim_div);
  if (quotients != isl_aff_dim(sink.get(), isl_dim_div)) return {};
  for (int k = 0; k < quotients; ++k) {
    const std::int64_t a = factor(source, isl_dim_div, k), b = factor(sink, isl_dim_div, k);
    if (a == 0 && b == 0) continue;
    if (a != b) return {};
    bounds =
        bounds +
        of(isl::manage(isl_aff_get_div(source.get(), k)), isl::manage(isl_aff_get_div(sink.get(), k))) * a;
  }
  return bounds;
}

}  // namespace warploom::tile
