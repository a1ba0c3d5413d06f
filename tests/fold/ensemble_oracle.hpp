#pragma once

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "fold/energy_tables.hpp"
#include "warploom/fold/fold.hpp"

/// The partition function in long double, as plainly as it can be written: no strips, no powers of two, no
/// vectors, energies from the tables. With dangles 0 and 2; nothing of it is shared with what it judges but
/// the tables. 2^16384 is the sum over structures of some 20,000 bases.
namespace warploom::fold {

class EnsembleOracle {
 public:
  using Real = long double;

  EnsembleOracle(const std::string& sequence, const Model& model)
      : n_(static_cast<int>(sequence.size())),
        letters_(sequence),
        codes_(sequence.size() + 2, 0),
        model_(model),
        tables_(model.parameters.tables()),
        kt_((model.temperature + 273.15L) * 1.98717e-3L),
        ratio_((model.temperature + 273.15L) / 310.15L),
        base_(weight(cost([](const Energies& e) { return e.multi_base; }))),
        b_(square()),
        m1_(square()),
        m_(square()),
        ends_(sequence.size() + 2, 0) {
    for (int k = 1; k <= n_; ++k)
      codes_[static_cast<std::size_t>(k)] =
          static_cast<int>(std::string("_ACGU").find(sequence[static_cast<std::size_t>(k - 1)]));
    inside();
    outside();
  }

  double energy() const { return static_cast<double>(-kt_ * std::log(ends_[static_cast<std::size_t>(n_)])); }
  /// Bases counted from 1.
  double probability(int i, int j) const {
    return static_cast<double>(b_[at(i, j)] * worth_[at(i, j)] / ends_[static_cast<std::size_t>(n_)]);
  }

 private:
  std::vector<Real> square() const {
    return std::vector<Real>(static_cast<std::size_t>(n_ + 2) * static_cast<std::size_t>(n_ + 2), 0);
  }
  std::size_t at(int i, int j) const {
    return static_cast<std::size_t>(i) * static_cast<std::size_t>(n_ + 2) + static_cast<std::size_t>(j);
  }
  /// Of sums whose first base runs in the innermost loop.
  std::size_t by_end(int i, int j) const { return at(j, i); }
  int code(int k) const { return codes_[static_cast<std::size_t>(k)]; }
  int pair(int i, int j) const {
    static constexpr int kTypes[5][5] = {
        {0, 0, 0, 0, 0}, {0, 0, 0, 0, 5}, {0, 0, 0, 1, 0}, {0, 0, 2, 0, 3}, {0, 6, 0, 4, 0}};
    return kTypes[code(i)][code(j)];
  }
  static int turned(int type) {
    static constexpr int kTurned[] = {0, 2, 1, 4, 3, 6, 5};
    return kTurned[type];
  }
  template <class Pick>
  Real cost(const Pick& pick) const {
    const Real g = pick(tables_.free), h = pick(tables_.enthalpy);
    return h - (h - g) * ratio_;
  }
  Real weight(Real cost) const { return std::exp(-cost / 100 / kt_); }
  static Real smooth(Real cost) {
    const Real x = -cost / 10;
    if (x < -1.2283697L) return 0;
    if (x > 0.8660254L) return cost;
    const Real y = std::sin(x - 0.34242663L) + 1;
    return -10 * 0.38490018L * y * y;
  }
  Real end(int type) const {
    return type > 2 ? cost([](const Energies& e) { return e.terminal_au; }) : 0;
  }

  Real hairpin(int i, int j) const {
    const int size = j - i - 1, type = pair(i, j);
    const std::string loop =
        letters_.substr(static_cast<std::size_t>(i - 1), static_cast<std::size_t>(size + 2));
    for (auto special : {&Energies::triloops, &Energies::tetraloops, &Energies::hexaloops})
      for (std::size_t k = 0; k < (tables_.free.*special).size(); ++k)
        if ((tables_.free.*special)[k].first == loop)
          return weight(cost([&](const Energies& e) { return (e.*special)[k].second; }));
    Real sum =
        cost([&](const Energies& e) { return e.hairpin[static_cast<std::size_t>(std::min(size, 30))]; });
    if (size > 30) sum += tables_.long_loop * ratio_ * std::log(size / 30.L);
    if (size == 3) return weight(sum + end(type));
    return weight(
        sum + cost([&](const Energies& e) { return e.mismatch_hairpin[type][code(i + 1)][code(j - 1)]; }));
  }

  Real interior(int i, int j, int p, int q) const {
    const int l = p - i - 1, r = j - q - 1, size = l + r, type = pair(i, j), seen = pair(q, p);
    const auto u = static_cast<std::size_t>(size);
    const auto stack = [&](const Energies& e) { return e.stack[type][seen]; };
    if (size == 0) return weight(cost(stack));
    if (l == 0 || r == 0) {
      const Real bulge = cost([&](const Energies& e) { return e.bulge[u]; });
      return weight(bulge + (size == 1 ? cost(stack) : end(type) + end(seen)));
    }
    const int x = code(i + 1), y = code(j - 1), v = code(p - 1), w = code(q + 1);
    if (l == 1 && r == 1) return weight(cost([&](const Energies& e) { return e.int11[type][seen][x][y]; }));
    if (l == 1 && r == 2)
      return weight(cost([&](const Energies& e) { return e.int21[type][seen][x][w][y]; }));
    if (l == 2 && r == 1)
      return weight(cost([&](const Energies& e) { return e.int21[seen][type][w][x][v]; }));
    if (l == 2 && r == 2)
      return weight(cost([&](const Energies& e) { return e.int22[type][seen][x][v][w][y]; }));
    Real sum = cost([&](const Energies& e) { return e.interior[u]; }) +
               std::min<Real>(tables_.most_asymmetry,
                              std::abs(l - r) * cost([](const Energies& e) { return e.asymmetry; }));
    const auto mismatch = l == 1 || r == 1 ? &Energies::mismatch_interior_1n
                          : size == 5      ? &Energies::mismatch_interior_23
                                           : &Energies::mismatch_interior;
    sum += cost([&](const Energies& e) { return (e.*mismatch)[type][x][y]; }) +
           cost([&](const Energies& e) { return (e.*mismatch)[seen][w][v]; });
    return weight(sum);
  }

  /// A stem with the codes of the bases before and behind it.
  Real multi(int type, int before, int behind) const {
    Real sum = cost([](const Energies& e) { return e.multi_intern; }) + end(type);
    if (model_.dangles == 2)
      sum += smooth(cost([&](const Energies& e) { return e.mismatch_multi[type][before][behind]; }));
    return weight(sum);
  }
  Real stem(int i, int j) const { return multi(pair(i, j), code(i - 1), code(j + 1)); }
  Real closing(int i, int j) const {
    return weight(cost([](const Energies& e) { return e.multi_closing; })) *
           multi(turned(pair(i, j)), code(j - 1), code(i + 1));
  }
  Real exterior(int i, int j) const {
    const int type = pair(i, j);
    Real sum = end(type);
    if (model_.dangles == 2 && (i > 1 || j < n_))
      sum += smooth(cost([&](const Energies& e) {
        return i > 1 && j < n_ ? e.mismatch_exterior[type][code(i - 1)][code(j + 1)]
               : i > 1         ? e.dangle5[type][code(i - 1)]
                               : e.dangle3[type][code(j + 1)];
      }));
    return weight(sum);
  }
  void inside() {
    for (int length = 5; length <= n_; ++length)
      for (int i = 1; i + length - 1 <= n_; ++i) {
        const int j = i + length - 1;
        if (pair(i, j) != 0) {
          Real sum = hairpin(i, j);
          each_inner(i, j, [&](int p, int q, Real loop) { sum += loop * b_[at(p, q)]; });
          Real splits = 0;
          for (int k = i + 2; k < j; ++k) splits += m_[at(i + 1, k - 1)] * m1_[by_end(k, j - 1)];
          b_[at(i, j)] = sum + splits * closing(i, j);
        }
        m1_[by_end(i, j)] = m1_[by_end(i, j - 1)] * base_ + (pair(i, j) != 0 ? b_[at(i, j)] * stem(i, j) : 0);
        Real sum = 0, alone = 1;
        for (int k = i; k < j; ++k, alone *= base_)
          sum += (alone + (k > i ? m_[at(i, k - 1)] : 0)) * m1_[by_end(k, j)];
        m_[at(i, j)] = sum;
      }
    ends_[0] = 1;
    for (int j = 1; j <= n_; ++j) {
      Real sum = ends_[static_cast<std::size_t>(j - 1)];
      for (int i = 1; i < j; ++i)
        if (b_[at(i, j)] != 0) sum += ends_[static_cast<std::size_t>(i - 1)] * b_[at(i, j)] * exterior(i, j);
      ends_[static_cast<std::size_t>(j)] = sum;
    }
  }

  template <class Take>
  void each_inner(int i, int j, const Take& take) const {
    for (int p = i + 1; p <= i + 31; ++p)
      for (int q = j - 1; q > p + 3 && p - i - 1 + j - q - 1 <= 30; --q)
        if (b_[at(p, q)] != 0) take(p, q, interior(i, j, p, q));
  }

  /// What each sum is worth: the derivative of the whole by it.
  void outside() {
    worth_ = square();
    std::vector<Real> of_m1 = square(), of_m = square(), of_end(ends_.size(), 0);
    of_end[static_cast<std::size_t>(n_)] = 1;
    for (int j = n_; j >= 1; --j) {
      const Real here = of_end[static_cast<std::size_t>(j)];
      of_end[static_cast<std::size_t>(j - 1)] += here;
      for (int i = 1; i < j; ++i) {
        if (b_[at(i, j)] == 0) continue;
        const Real stem = exterior(i, j);
        of_end[static_cast<std::size_t>(i - 1)] += here * b_[at(i, j)] * stem;
        worth_[at(i, j)] += here * ends_[static_cast<std::size_t>(i - 1)] * stem;
      }
    }
    for (int length = n_; length >= 5; --length)
      for (int i = 1; i + length - 1 <= n_; ++i) {
        const int j = i + length - 1;
        Real alone = 1;
        if (const Real worth = of_m[at(i, j)]; worth != 0)
          for (int k = i; k < j; ++k, alone *= base_) {
            of_m1[by_end(k, j)] += worth * (alone + (k > i ? m_[at(i, k - 1)] : 0));
            if (k > i) of_m[at(i, k - 1)] += worth * m1_[by_end(k, j)];
          }
        of_m1[by_end(i, j - 1)] += of_m1[by_end(i, j)] * base_;
        if (b_[at(i, j)] == 0) continue;
        worth_[at(i, j)] += of_m1[by_end(i, j)] * stem(i, j);
        const Real worth = worth_[at(i, j)];
        each_inner(i, j, [&](int p, int q, Real loop) { worth_[at(p, q)] += worth * loop; });
        const Real multi = worth * closing(i, j);
        for (int k = i + 2; k < j; ++k) {
          of_m[at(i + 1, k - 1)] += multi * m1_[by_end(k, j - 1)];
          of_m1[by_end(k, j - 1)] += multi * m_[at(i + 1, k - 1)];
        }
      }
  }

  int n_;
  std::string letters_;
  std::vector<int> codes_;
  Model model_;
  const EnergyTables& tables_;
  Real kt_, ratio_, base_;  // base_: of an unpaired one of a multiloop
  std::vector<Real> b_, m1_, m_, ends_, worth_;
};

}  // namespace warploom::fold
