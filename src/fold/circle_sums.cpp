#include "fold/circle_sums.hpp"

#include <cmath>

#include "warploom/core/progress.hpp"
#include "warploom/core/threads.hpp"

namespace warploom::fold {

Scaled scaled(double number, std::int64_t exponent) {
  if (number == 0) return {};
  const int own = std::ilogb(number);
  return {std::ldexp(number, -own), exponent + own};
}

Scaled operator*(const Scaled& a, const Scaled& b) {
  return scaled(a.number * b.number, a.exponent + b.exponent);
}

Scaled operator+(const Scaled& a, const Scaled& b) {
  if (a.number == 0 || b.number == 0) return a.number == 0 ? b : a;
  return a.exponent > b.exponent ? scaled(a.number + b.number * power(b.exponent - a.exponent), a.exponent)
                                 : scaled(b.number + a.number * power(a.exponent - b.exponent), b.exponent);
}

CircleSums::CircleSums(const Problem& problem, const Partition& p)
    : problem_(problem), p_(p), n_(problem.s.size()), round_(twice(problem.s)) {
  const Weights& w = problem.weights;
  hairpins_.resize(static_cast<std::size_t>(n_));
  for (std::int64_t size = kMinHairpin; size < n_; ++size)
    hairpins_[static_cast<std::size_t>(size)] = w.hairpin_of(size);
  for (auto* of : {&first_, &last_})
    for (auto& sums : *of) sums.resize(static_cast<std::size_t>(n_ + 2));
  const Scaled base{w.numbers().multi_base, 0};
  const auto at = [](std::vector<Scaled>& sums, std::int64_t k) -> Scaled& {
    return sums[static_cast<std::size_t>(k)];
  };
  at(first_[0], 0) = at(last_[0], n_ + 1) = {1, 0};
  for (std::int64_t k = 1; k <= n_; ++k) {
    if (problem.may_be_unpaired(k, k)) at(first_[0], k) = at(first_[0], k - 1) * base;
    for (std::int64_t begin = 1; begin < k - kMinHairpin; ++begin) {
      const Scaled stem = p.at(p.m1, begin, k);
      if (stem.number == 0) continue;
      at(first_[1], k) = at(first_[1], k) + at(first_[0], begin - 1) * stem;
      at(first_[2], k) = at(first_[2], k) + p.at(p.m, 1, begin - 1) * stem;
    }
  }
  for (std::int64_t k = n_; k >= 1; --k) {
    const bool free = problem.may_be_unpaired(k, k);
    if (free) at(last_[0], k) = at(last_[0], k + 1) * base;
    at(last_[1], k) = p.at(p.m1, k, n_);
    if (free) at(last_[1], k) = at(last_[1], k) + at(last_[1], k + 1) * base;
    for (std::int64_t begin = k + kMinHairpin + 2; begin < n_ - kMinHairpin; ++begin)
      if (const Scaled stem = p.at(p.m1, begin, n_); stem.number != 0)
        at(last_[2], k) = at(last_[2], k) + p.at(p.m, k, begin - 1) * stem;
    if (k % 64 == 0) check_interrupt();
  }
  open_ = problem.may_be_unpaired(1, n_) ? scaled(w.open_circle(n_), 0) : Scaled{};
  for (std::int64_t k = 1; k <= n_; ++k) multi_ = multi_ + multi_with_last(k);
  whole_ = open_ + multi_;
  few_.resize(static_cast<std::size_t>(n_ + 1));
  parallel_for(n_, [&](std::int64_t k) {
    Scaled sum;
    each_of_few(k + 1, [&](std::int64_t, std::int64_t, std::int64_t, double, const Scaled& weight) {
      sum = sum + weight;
      return true;
    });
    few_[static_cast<std::size_t>(k + 1)] = sum;
  });
  for (const Scaled& sum : few_) whole_ = whole_ + sum;
}

Scaled CircleSums::multi_with_last(std::int64_t k) const {
  return Scaled{problem_.weights.numbers().multi_closing, 0} * first_[2][static_cast<std::size_t>(k - 1)] *
         p_.at(p_.m1, k, n_);
}

double CircleSums::hairpin(std::int64_t i, std::int64_t j) const {
  const std::int64_t size = n_ - (j - i + 1);
  const Weights& w = problem_.weights;
  if (size <= 6) return w.hairpin(round_, j, n_ + i);
  const Base* c = problem_.s.codes.data();
  const int type = w.loops().pair(c[j], c[i]);
  return w.loops().closes(type) ? hairpins_[static_cast<std::size_t>(size)] *
                                      w.numbers().mismatch_hairpin[type][c[j + 1]][c[i - 1]]
                                : 0;
}

void CircleSums::each_of_few(std::int64_t j, const Take& take) const {
  for (std::int64_t i = 1; i < j - kMinHairpin; ++i) {
    const Scaled b = p_.at(p_.b, i, j);
    if (b.number == 0 || !problem_.may_be_unpaired(1, i - 1)) continue;
    if (problem_.may_be_unpaired(j + 1, n_))
      if (const double loop = hairpin(i, j);
          loop != 0 && !take(i, 0, 0, loop, scaled(b.number * loop, b.exponent)))
        return;
    // A pair behind it.
    for (std::int64_t q = n_; i - 1 + n_ - q <= kMaxLoop && q > j + kMinHairpin + 1; --q) {
      if (!problem_.may_be_unpaired(q + 1, n_)) break;
      for (std::int64_t p = j + 1; i - 1 + n_ - q + p - j - 1 <= kMaxLoop && p < q - kMinHairpin; ++p) {
        if (!problem_.may_be_unpaired(j + 1, p - 1)) break;
        const Scaled other = p_.at(p_.b, p, q);
        if (other.number == 0) continue;
        const double loop = problem_.weights.interior(round_, j, n_ + i, p, q);
        if (loop != 0 &&
            !take(i, p, q, loop, scaled(b.number * other.number * loop, b.exponent + other.exponent)))
          return;
      }
    }
  }
}

Scaled CircleSums::around_stem(std::int64_t i, std::int64_t j) const {
  const Base* c = problem_.s.codes.data();
  const Weights& w = problem_.weights;
  const auto first = [&](int stems) { return first_[stems][static_cast<std::size_t>(i - 1)]; };
  const auto last = [&](int stems) { return last_[stems][static_cast<std::size_t>(j + 1)]; };
  const Scaled one_or_more = last(1) + last(2);
  return Scaled{w.numbers().multi_closing * w.multi_stem(w.loops().pair(c[i], c[j]), c[i - 1], c[j + 1]), 0} *
         (first(2) * (last(0) + one_or_more) + first(1) * one_or_more + first(0) * last(2));
}

Panels CircleSums::exterior() const {
  const Tiling tiling = p_.tiling;
  Panels out(tiling);
  const auto normal = [&](const Scaled& of, std::int64_t i, std::int64_t j) {
    const std::int64_t exponent = p_.exponent(Tiling::strip_of(i), Tiling::tile_of(j));
    return of.number / whole_.number * power(of.exponent + exponent - whole_.exponent);
  };
  parallel_for(tiling.strips(), [&](std::int64_t t) {
    const std::int64_t first = Tiling::first_row(t);
    for (std::int64_t j = first; j <= tiling.last_of(t); ++j)
      for (std::int64_t r = 0; r < kStripRows; ++r) {
        const std::int64_t i = first + r;
        const bool there = i < j - kMinHairpin && p_.b.column(t, j)[r] != 0;
        out.column(t, j)[r] = there ? normal(around_stem(i, j), i, j) : 0;
      }
    check_interrupt();
  });
  const auto cell = [&](std::int64_t i, std::int64_t j) -> double& {
    const std::int64_t t = Tiling::strip_of(i);
    return out.column(t, j)[i - Tiling::first_row(t)];
  };
  for (std::int64_t j = 1; j <= n_; ++j)
    each_of_few(j, [&](std::int64_t i, std::int64_t p, std::int64_t q, double loop, const Scaled&) {
      const Scaled of = p == 0 ? Scaled{1, 0} : p_.at(p_.b, p, q), own = p_.at(p_.b, i, j);
      cell(i, j) += normal(scaled(of.number * loop, of.exponent), i, j);
      if (p != 0) cell(p, q) += normal(scaled(own.number * loop, own.exponent), p, q);
      return true;
    });
  return out;
}

}  // namespace warploom::fold
