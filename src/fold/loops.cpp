#include "fold/loops.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "warploom/core/error.hpp"

namespace warploom::fold {
namespace {

/// A G-quadruplex of L layers with l bases in its linkers: kLayer (L - 1) + kLinker ln(l - 2), at 37 C, and
/// enthalpies [0.01 kcal/mol]; that of linkers is 0. ViennaRNA 2.8.0's values.
constexpr double kLayer = -430, kLayerEnthalpy = -2852, kLinker = 287;

void scale(std::int32_t& free, std::int32_t enthalpy, double ratio) {
  if (free < kNone) free = static_cast<std::int32_t>(enthalpy - (enthalpy - free) * ratio);
}
template <class T, std::size_t N>
void scale(std::array<T, N>& free, const std::array<T, N>& enthalpy, double ratio) {
  for (std::size_t k = 0; k < N; ++k) scale(free[k], enthalpy[k], ratio);
}
void scale(SpecialLoops& free, const SpecialLoops& enthalpy, double ratio) {
  for (std::size_t k = 0; k < free.size(); ++k) scale(free[k].second, enthalpy[k].second, ratio);
}

void at_most_0(std::int32_t& number) { number = std::min(number, 0); }
template <class T, std::size_t N>
void at_most_0(std::array<T, N>& table) {
  for (T& part : table) at_most_0(part);
}

void take_least(std::int32_t number, std::int32_t& least) { least = std::min(least, number); }
template <class T, std::size_t N>
void take_least(const std::array<T, N>& table, std::int32_t& least) {
  for (const T& part : table) take_least(part, least);
}
void take_least(const SpecialLoops& loops, std::int32_t& least) {
  for (const auto& [letters, energy] : loops) take_least(energy, least);
}

/// Eight letters at most, as one number.
std::uint64_t key_of(std::string_view letters) {
  std::uint64_t key = 0;
  std::memcpy(&key, letters.data(), std::min(letters.size(), sizeof key));
  return key;
}

}  // namespace

std::pair<Energies, double> at_temperature(const EnergyTables& tables, double celsius) {
  const double ratio = (celsius + 273.15) / kMeasuredAt;
  Energies e = tables.free;
  const Energies& h = tables.enthalpy;
  scale(e.stack, h.stack, ratio);
  scale(e.mismatch_hairpin, h.mismatch_hairpin, ratio);
  scale(e.mismatch_interior, h.mismatch_interior, ratio);
  scale(e.mismatch_interior_1n, h.mismatch_interior_1n, ratio);
  scale(e.mismatch_interior_23, h.mismatch_interior_23, ratio);
  scale(e.mismatch_multi, h.mismatch_multi, ratio);
  scale(e.mismatch_exterior, h.mismatch_exterior, ratio);
  scale(e.dangle5, h.dangle5, ratio);
  scale(e.dangle3, h.dangle3, ratio);
  scale(e.int11, h.int11, ratio);
  scale(e.int21, h.int21, ratio);
  scale(e.int22, h.int22, ratio);
  scale(e.hairpin, h.hairpin, ratio);
  scale(e.bulge, h.bulge, ratio);
  scale(e.interior, h.interior, ratio);
  for (auto number : {&Energies::multi_base, &Energies::multi_closing, &Energies::multi_intern,
                      &Energies::asymmetry, &Energies::terminal_au})
    scale(e.*number, h.*number, ratio);
  scale(e.triloops, h.triloops, ratio);
  scale(e.tetraloops, h.tetraloops, ratio);
  scale(e.hexaloops, h.hexaloops, ratio);
  at_most_0(e.mismatch_multi);
  at_most_0(e.mismatch_exterior);
  at_most_0(e.dangle5);
  at_most_0(e.dangle3);
  return {std::move(e), tables.long_loop * ratio};
}

Bases bases_of(std::string_view sequence) {
  if (sequence.empty()) throw BadInput("the sequence has no bases");
  if (static_cast<std::int64_t>(sequence.size()) > kMostBases)
    throw BadInput(
        fmt::format("the sequence has {} bases; at most {} are folded", sequence.size(), kMostBases));
  Bases s;
  s.letters.reserve(sequence.size());
  s.codes.assign(sequence.size() + 2, 0);
  for (std::size_t k = 0; k < sequence.size(); ++k) {
    char c = sequence[k];
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
    if (c < 'A' || c > 'Z')
      throw BadInput(fmt::format("the sequence's character {} of {} is no letter (byte {})", k + 1,
                                 sequence.size(), static_cast<unsigned char>(c)));
    if (c == 'T') c = 'U';
    s.letters.push_back(c);
    constexpr std::string_view kLetters = "_ACGU";
    const std::size_t code = kLetters.find(c);
    s.codes[k + 1] = static_cast<Base>(code == std::string_view::npos ? 0 : code);
  }
  return s;
}

Bases bases_of(std::string_view sequence, const Loops& loops) {
  Bases s = bases_of(sequence);
  const PseudoEnergies& pseudo = loops.pseudo();
  for (const std::size_t count : {pseudo.stack.size(), pseudo.unpaired.size(), pseudo.paired.size()})
    if (count != 0 && count != sequence.size())
      throw BadInput(fmt::format("pseudo-energies of {} bases; the sequence has {}", count, sequence.size()));
  if (loops.circular()) {
    s.codes.front() = s.codes[sequence.size()];
    s.codes.back() = s.codes[1];
  }
  return s;
}

Bases twice(const Bases& s) {
  Bases t;
  t.letters = s.letters + s.letters;
  t.codes.assign(t.letters.size() + 2, 0);
  for (std::int64_t k = 0; k < std::ssize(t.codes); ++k)
    t.codes[k] = s.codes[(k + s.size() - 1) % s.size() + 1];
  return t;
}

Loops::Loops(const Model& model)
    : most_asymmetry_(model.parameters.tables().most_asymmetry),
      dangles_(model.dangles),
      temperature_(model.temperature + 273.15),
      gu_closing_(model.gu_closing),
      lonely_pairs_(model.lonely_pairs),
      circular_(model.circular),
      enforces_(model.enforce_constraint),
      quadruplexes_(model.quadruplexes),
      pseudo_(model.pseudo),
      max_span_(model.max_span == 0 ? std::numeric_limits<std::int64_t>::max() : model.max_span) {
  if (!(model.temperature >= -273.15 && model.temperature <= 1000))
    throw BadInput(fmt::format("a temperature of {} C: it is -273.15 to 1000", model.temperature));
  if (model.dangles < 0 || model.dangles > 3)
    throw BadInput(fmt::format("dangles {}: they are 0, 1, 2 or 3", model.dangles));
  if (model.circular && model.dangles % 2 == 1)
    throw BadInput(fmt::format("a circle with dangles {}; they are 0 or 2 for circles", model.dangles));
  if (model.dangles == 3 && !model.pseudo.stack.empty())
    throw BadInput("pseudo-energies of stacks with dangles 3; they are with 0, 1 or 2");
  if (model.max_span < 0)
    throw BadInput(fmt::format("a span of {} bases at most: it is 0 (any) or more", model.max_span));
  std::tie(e_, long_loop_) = at_temperature(model.parameters.tables(), model.temperature);
  const auto look_at = [this](const auto&... tables) { (take_least(tables, least_), ...); };
  look_at(e_.stack, e_.mismatch_hairpin, e_.mismatch_interior, e_.mismatch_interior_1n,
          e_.mismatch_interior_23, e_.mismatch_multi, e_.mismatch_exterior, e_.dangle5, e_.dangle3, e_.int11,
          e_.int21, e_.int22, e_.hairpin, e_.bulge, e_.interior, e_.multi_base, e_.multi_closing,
          e_.multi_intern, e_.asymmetry, e_.terminal_au, e_.triloops, e_.tetraloops, e_.hexaloops);
  if (quadruplexes_) check_quadruplexes();
  const double ratio = temperature_ / kMeasuredAt;
  layer_ = kLayerEnthalpy - (kLayerEnthalpy - kLayer) * ratio;
  linker_ = kLinker * ratio;
  constexpr int kLayers = 7;  // a base's part of the best quadruplex
  if (quadruplexes_) least_ = std::min(least_, quadruplex(kLayers, 3) / (4 * kLayers + 3));
  constexpr std::int32_t kMostExtra = 10'000;
  for (const auto* list : {&pseudo_.stack, &pseudo_.unpaired})
    for (const std::int32_t energy : *list)
      if (std::abs(static_cast<std::int64_t>(energy)) > kMostExtra)
        throw BadInput(
            fmt::format("a pseudo-energy of {} kcal/mol; at most 100 are possible", energy / 100.));
  // What a loop adds in the worst case: four bases of a stack, or two of a pair and some unpaired.
  for (const std::int32_t energy : pseudo_.stack) least_ = std::min(least_, -4 * std::abs(energy));
  for (const std::int32_t energy : pseudo_.unpaired) least_ = std::min(least_, -4 * std::abs(energy));
  for (const double energy : pseudo_.paired)
    if (!(std::abs(energy) <= kMostExtra / 100.))
      throw BadInput(fmt::format("a pseudo-energy of {} kcal/mol; at most 100 are possible", energy));
  for (const SpecialLoops* loops : {&e_.triloops, &e_.tetraloops, &e_.hexaloops})
    for (const auto& [letters, energy] : *loops) special_.emplace_back(key_of(letters), energy);
  enum { A = 1, C, G, U };
  pairs_[C][G] = 1, pairs_[G][C] = 2, pairs_[A][U] = 5, pairs_[U][A] = 6;
  if (model.gu) pairs_[G][U] = 3, pairs_[U][G] = 4;
}

std::int32_t Loops::quadruplex(int layers, int linked) const {
  return static_cast<std::int32_t>(layer_ * (layers - 1) + linker_ * std::log(linked - 2.));
}

std::int32_t Loops::around_quadruplex(const Bases& s, std::int64_t i, std::int64_t j, std::int64_t left,
                                      std::int64_t right) const {
  const int type = pair(s.codes[i], s.codes[j]);
  constexpr int kFewestOnOneSide = 3;
  if (type == 0 || !closes(type) || left + right > kMaxLoop) return kNone;
  if (std::min(left, right) == 0 && std::max(left, right) < kFewestOnOneSide) return kNone;
  const std::int32_t beside = dangles_ == 0 ? 0 : e_.mismatch_interior[type][s.codes[i + 1]][s.codes[j - 1]];
  return e_.interior[static_cast<std::size_t>(left + right)] + end(type) + beside;
}

void Loops::check_quadruplexes() const {
  if (dangles_ % 2 == 1)
    throw BadInput(
        fmt::format("quadruplexes with dangles {}; they are there with dangles 0 and 2", dangles_));
  if (enforces_)
    throw BadInput("quadruplexes with an enforced constraint; one that leaves pairs out is possible");
  if (circular_) throw BadInput("quadruplexes in a circle; they are there in linear sequences");
  if (!pseudo_.unpaired.empty() || !pseudo_.paired.empty())
    throw BadInput(
        "quadruplexes with pseudo-energies of pairs and unpaired bases (Zarringhalam); they are there with "
        "those of stacks (Deigan)");
}

std::int32_t Loops::stack_extra(const Bases& s, std::int64_t i, std::int64_t j) const {
  if (pseudo_.stack.empty()) return 0;
  const auto n = std::ssize(pseudo_.stack);  // of a circle, s may be it twice
  const auto of = [&](std::int64_t k) { return pseudo_.stack[static_cast<std::size_t>((k - 1) % n)]; };
  return s.size() < n ? 0 : of(i) + of(i + 1) + of(j - 1) + of(j);
}

std::int32_t Loops::pair_extra(std::int64_t i, std::int64_t j) const {
  if (pseudo_.paired.empty()) return 0;
  const auto of = [&](std::int64_t k) { return pseudo_.paired[static_cast<std::size_t>(k - 1)]; };
  return static_cast<std::int32_t>(std::round((of(i) + of(j)) * 100.));
}

std::int32_t Loops::open_circle(std::int64_t n) const {
  constexpr double kGas = 1.98717, kChain = 4.385;  // [cal / (K mol)]; ViennaRNA's alpha_0
  const double kt = temperature_ * kGas / 1000.;
  return static_cast<std::int32_t>(100. * kt * (kChain + 1.5 * std::log(static_cast<double>(n))) + 0.5);
}

std::int32_t Loops::coaxial_gain(int inner) const {
  if (!coaxial()) return 0;
  // M is the stem alone at most, for the outer one as well: two ends and stems are spared for one joint.
  std::int32_t gain = 0;
  for (int outer = 1; outer < kPairs - 1; ++outer)
    gain = std::max(gain, end(outer) + e_.multi_intern - coaxial_stems(outer, inner));
  return gain;
}

std::int32_t Loops::hairpin_of(std::int64_t unpaired) const {
  if (unpaired <= kMaxLoop) return e_.hairpin[unpaired];
  return e_.hairpin[kMaxLoop] +
         static_cast<std::int32_t>(long_loop_ * std::log(static_cast<double>(unpaired) / 30.));
}

std::int32_t Loops::hairpin(const Bases& s, std::int64_t i, std::int64_t j) const {
  const std::int64_t size = j - i - 1;
  const int type = pair(s.codes[i], s.codes[j]);
  if (size < kMinHairpin || !closes(type)) return kNone;
  if (size <= 6) {
    const std::uint64_t key = key_of(std::string_view(s.letters).substr(i - 1, size + 2));
    for (const auto& [loop, energy] : special_)
      if (loop == key) return energy;
  }
  if (size == 3) return e_.hairpin[3] + end(type);
  return hairpin_of(size) + e_.mismatch_hairpin[type][s.codes[i + 1]][s.codes[j - 1]];
}

std::int32_t Loops::interior(const Bases& s, std::int64_t i, std::int64_t j, std::int64_t p,
                             std::int64_t q) const {
  const Base* c = s.codes.data();
  const int left = static_cast<int>(p - i - 1), right = static_cast<int>(j - q - 1), size = left + right;
  const int most = std::max(left, right), least = std::min(left, right);
  const int outer = pair(c[i], c[j]), inner = pair(c[q], c[p]);
  if (size == 0) return e_.stack[outer][inner] + stack_extra(s, i, j);
  if (!closes(outer) || !closes(inner)) return kNone;
  if (least == 0) return e_.bulge[size] + (size == 1 ? e_.stack[outer][inner] : end(outer) + end(inner));
  if (most == 1) return e_.int11[outer][inner][c[i + 1]][c[j - 1]];
  if (size == 3)
    return left == 1 ? e_.int21[outer][inner][c[i + 1]][c[q + 1]][c[j - 1]]
                     : e_.int21[inner][outer][c[q + 1]][c[i + 1]][c[p - 1]];
  if (least == 2 && most == 2) return e_.int22[outer][inner][c[i + 1]][c[p - 1]][c[q + 1]][c[j - 1]];
  const Mismatches& mismatch = least == 1                ? e_.mismatch_interior_1n
                               : least == 2 && most == 3 ? e_.mismatch_interior_23
                                                         : e_.mismatch_interior;
  return e_.interior[size] + asymmetry(most - least) + mismatch[outer][c[i + 1]][c[j - 1]] +
         mismatch[inner][c[q + 1]][c[p - 1]];
}

void check_range(std::int64_t n, const Loops& loops) {
  // A loop adds up to three numbers besides its base pair's; there are n / 2 loops at most.
  const double least = 2. * static_cast<double>(n) * loops.least();
  if (-least > kNone / 2)
    throw BadInput(fmt::format("{} bases with energies down to {} kcal/mol a loop are more than 32 bits hold",
                               n, loops.least() / 100.));
}

}  // namespace warploom::fold
