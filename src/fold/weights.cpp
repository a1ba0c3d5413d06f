#include "fold/weights.hpp"

#include <algorithm>
#include <cmath>

namespace warploom::fold {
namespace {

constexpr double kGas = 1.98717e-3;  // [kcal / (K mol)], ViennaRNA's
constexpr double kNothing = -1.2283697, kWhole = 0.8660254, kShift = 0.34242663, kHeight = 0.38490018;

/// A gain of less than .0123 kcal/mol counts as none and one of more than .0087 as it is: between, a curve.
/// @param energy  [0.01 kcal/mol]
double smooth(double energy) {
  const double x = -energy / 10;
  if (x < kNothing) return 0;
  if (x > kWhole) return energy;
  const double y = std::sin(x - kShift) + 1;
  return -10 * kHeight * y * y;
}

struct Temperature {
  double ratio;
  double operator()(std::int32_t free, std::int32_t enthalpy) const {
    return enthalpy - (enthalpy - free) * ratio;
  }
};

template <class To>
void weigh(std::int32_t free, std::int32_t enthalpy, double& weight, const To& to) {
  weight = free < kNone ? to(free, enthalpy) : 0;
}
template <class T, class U, std::size_t N, class To>
void weigh(const std::array<T, N>& free, const std::array<T, N>& enthalpy, std::array<U, N>& weights,
           const To& to) {
  for (std::size_t k = 0; k < N; ++k) weigh(free[k], enthalpy[k], weights[k], to);
}
template <class To>
void weigh(const SpecialLoops& free, const SpecialLoops& enthalpy, SpecialLoopsOf<double>& weights,
           const To& to) {
  for (std::size_t k = 0; k < free.size(); ++k)
    weights.emplace_back(free[k].first, to(free[k].second, enthalpy[k].second));
}

}  // namespace

Weights::Weights(const Model& model, const Loops& loops)
    : loops_(loops), kt_((model.temperature + 273.15) * kGas), dangles_(model.dangles) {
  const EnergyTables& tables = model.parameters.tables();
  const Energies &free = tables.free, &enthalpy = tables.enthalpy;
  const Temperature at{(model.temperature + 273.15) / kMeasuredAt};
  long_loop_ = tables.long_loop * at.ratio;
  const auto plain = [&](std::int32_t g, std::int32_t h) { return of(at(g, h)); };
  const auto smoothed = [&](std::int32_t g, std::int32_t h) { return of(smooth(at(g, h))); };
  const auto each = [&](const auto& to, auto... members) {
    (weigh(free.*members.first, enthalpy.*members.first, w_.*members.second, to), ...);
  };
#define WARPLOOM_MEMBER(name) std::pair(&Energies::name, &Numbers::name)
  each(plain, WARPLOOM_MEMBER(stack), WARPLOOM_MEMBER(mismatch_hairpin), WARPLOOM_MEMBER(mismatch_interior),
       WARPLOOM_MEMBER(mismatch_interior_1n), WARPLOOM_MEMBER(mismatch_interior_23), WARPLOOM_MEMBER(int11),
       WARPLOOM_MEMBER(int21), WARPLOOM_MEMBER(int22), WARPLOOM_MEMBER(hairpin), WARPLOOM_MEMBER(bulge),
       WARPLOOM_MEMBER(interior), WARPLOOM_MEMBER(multi_base), WARPLOOM_MEMBER(multi_closing),
       WARPLOOM_MEMBER(multi_intern), WARPLOOM_MEMBER(terminal_au), WARPLOOM_MEMBER(triloops),
       WARPLOOM_MEMBER(tetraloops), WARPLOOM_MEMBER(hexaloops));
  each(smoothed, WARPLOOM_MEMBER(mismatch_multi), WARPLOOM_MEMBER(mismatch_exterior),
       WARPLOOM_MEMBER(dangle5), WARPLOOM_MEMBER(dangle3));
#undef WARPLOOM_MEMBER
  const double one = at(free.asymmetry, enthalpy.asymmetry);
  for (int difference = 0; difference <= kMaxLoop; ++difference)
    asymmetry_[difference] = of(std::min<double>(tables.most_asymmetry, difference * one));
  for (const auto* special : {&w_.triloops, &w_.tetraloops, &w_.hexaloops})
    for (const auto& [letters, weight] : *special) special_.emplace(letters, weight);
}

double slope_of_smoothed(double energy) {
  const double x = -energy / 10;
  if (x < kNothing) return 0;
  if (x > kWhole) return 1;
  return 2 * kHeight * (std::sin(x - kShift) + 1) * std::cos(x - kShift);
}

double Weights::of(double energy) const { return std::exp(-energy / 100 / kt_); }

double Weights::hairpin_of(std::int64_t unpaired) const {
  if (unpaired <= kMaxLoop) return w_.hairpin[unpaired];
  return w_.hairpin[kMaxLoop] * of(long_loop_ * std::log(static_cast<double>(unpaired) / kMaxLoop));
}

// In whole hundredths, as RNAfold -p has it.
double Weights::open_circle(std::int64_t n) const { return of(loops_.open_circle(n)); }

double Weights::hairpin(const Bases& s, std::int64_t i, std::int64_t j) const {
  const std::int64_t size = j - i - 1;
  const int type = loops_.pair(s.codes[i], s.codes[j]);
  if (size < kMinHairpin || !loops_.closes(type)) return 0;
  if (size <= 6)
    if (const auto found = special_.find(std::string_view(s.letters).substr(i - 1, size + 2));
        found != special_.end())
      return found->second;
  if (size == 3) return w_.hairpin[3] * end(type);
  return hairpin_of(size) * w_.mismatch_hairpin[type][s.codes[i + 1]][s.codes[j - 1]];
}

double Weights::around_quadruplex(const Bases& s, std::int64_t i, std::int64_t j, std::int64_t left,
                                  std::int64_t right) const {
  if (loops_.around_quadruplex(s, i, j, left, right) >= kNone / 2) return 0;
  const int type = loops_.pair(s.codes[i], s.codes[j]);
  return w_.interior[static_cast<std::size_t>(left + right)] * end(type) *
         (dangles_ == 0 ? 1 : w_.mismatch_interior[type][s.codes[i + 1]][s.codes[j - 1]]);
}

double Weights::interior(const Bases& s, std::int64_t i, std::int64_t j, std::int64_t p,
                         std::int64_t q) const {
  const Base* c = s.codes.data();
  const int left = static_cast<int>(p - i - 1), right = static_cast<int>(j - q - 1), size = left + right;
  const int most = std::max(left, right), least = std::min(left, right);
  const int outer = loops_.pair(c[i], c[j]), inner = loops_.pair(c[q], c[p]);
  if (size == 0) return w_.stack[outer][inner] * stack_extra(s, i, j);
  if (!loops_.closes(outer) || !loops_.closes(inner)) return 0;
  if (least == 0) return w_.bulge[size] * (size == 1 ? w_.stack[outer][inner] : end(outer) * end(inner));
  if (most == 1) return w_.int11[outer][inner][c[i + 1]][c[j - 1]];
  if (size == 3)
    return left == 1 ? w_.int21[outer][inner][c[i + 1]][c[q + 1]][c[j - 1]]
                     : w_.int21[inner][outer][c[q + 1]][c[i + 1]][c[p - 1]];
  if (least == 2 && most == 2) return w_.int22[outer][inner][c[i + 1]][c[p - 1]][c[q + 1]][c[j - 1]];
  const Numbers::Mismatches& mismatch = least == 1                ? w_.mismatch_interior_1n
                                        : least == 2 && most == 3 ? w_.mismatch_interior_23
                                                                  : w_.mismatch_interior;
  return w_.interior[size] * asymmetry(most - least) * mismatch[outer][c[i + 1]][c[j - 1]] *
         mismatch[inner][c[q + 1]][c[p - 1]];
}

}  // namespace warploom::fold
