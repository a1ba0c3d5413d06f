#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>

#include "fold/loops.hpp"
#include "fold/quadruplex.hpp"
#include "warploom/core/error.hpp"

namespace warploom::fold {
namespace {

/// Walks the loops of a structure. Partners are counted from 1, 0 where unpaired.
class Evaluator {
 public:
  Evaluator(const Bases& s, const std::vector<std::int64_t>& partner,
            const std::vector<QuadruplexShape>& quadruplexes, const Loops& loops)
      : s_(s), partner_(partner), loops_(loops), quadruplex_(partner.size()) {
    for (const QuadruplexShape& one : quadruplexes) quadruplex_[one.i] = &one;
  }

  Evaluation all() {
    const std::vector<std::int64_t> stems = stems_of(1, s_.size());
    std::int32_t energy = 0;
    if (loops_.circular())
      energy = circle(stems);
    else if (loops_.bases_count_once())
      energy = side_by_side(stems, 1, s_.size(), 0, false);
    else
      for (const std::int64_t p : stems)
        if (quadruplex_[p] == nullptr)
          energy += loops_.exterior_stem(type(p, partner_[p]), p > 1 ? s_.codes[p - 1] : -1,
                                         partner_[p] < s_.size() ? s_.codes[partner_[p] + 1] : -1);
    add({.kind = Loop::Kind::exterior, .energy = energy});
    for (std::int64_t k = 1; k <= s_.size(); ++k)
      if (const QuadruplexShape* one = quadruplex_[k]; one != nullptr)
        add({Loop::Kind::quadruplex, k, one->j(), 0, 0, loops_.quadruplex(one->layers, one->linked())});
      else if (partner_[k] > k)
        closed(k, partner_[k]);
    return std::move(result_);
  }

 private:
  int type(std::int64_t i, std::int64_t j) const { return loops_.pair(s_.codes[i], s_.codes[j]); }
  /// The last base of what begins at p: a pair, or a quadruplex; 0: nothing does.
  std::int64_t end_of(std::int64_t p) const {
    return quadruplex_[p] != nullptr ? quadruplex_[p]->j() : partner_[p] > p ? partner_[p] : 0;
  }

  /// Pseudo-energies of a loop's closing pair and unpaired bases.
  std::int32_t extra(const Loop& loop) const {
    std::int32_t sum = loop.i > 0 ? loops_.pair_extra(loop.i, loop.j) : 0;
    const std::vector<std::int32_t>& unpaired = loops_.pseudo().unpaired;
    if (unpaired.empty()) return sum;
    for (std::int64_t k = loop.i + 1; k < (loop.i > 0 ? loop.j : s_.size() + 1); ++k)
      if (partner_[k] > k)
        k = partner_[k];
      else
        sum += unpaired[static_cast<std::size_t>(k - 1)];
    return sum;
  }

  /// The loop that joins the ends of a circle.
  std::int32_t circle(const std::vector<std::int64_t>& stems) const {
    const std::int64_t n = s_.size();
    if (stems.empty()) return loops_.open_circle(n);
    const std::int64_t p = stems.front(), q = partner_[p];
    std::int64_t unpaired = n;
    for (const std::int64_t k : stems) unpaired -= partner_[k] - k + 1;
    if (stems.size() == 1) return loops_.hairpin(twice(s_), q, n + p);
    if (stems.size() == 2)
      return unpaired > kMaxLoop ? kNone : loops_.interior(twice(s_), q, n + p, stems[1], partner_[stems[1]]);
    std::int32_t energy =
        loops_.numbers().multi_closing + static_cast<std::int32_t>(unpaired) * loops_.multi_base();
    for (const std::int64_t k : stems)
      energy += loops_.multi_stem(type(k, partner_[k]), s_.codes[k - 1], s_.codes[partner_[k] + 1]);
    return energy;
  }

  void add(Loop loop) {
    if (loop.energy < kNone / 2) loop.energy += extra(loop);
    if (loop.energy >= kNone / 2 && loop.i == 0)
      throw BadInput("the loop that joins the ends of the circle is not allowed");
    if (loop.energy >= kNone / 2)
      throw BadInput(
          fmt::format("the loop that bases {} and {} close is not allowed by these parameters and options",
                      loop.i, loop.j));
    result_.energy += loop.energy;
    result_.loops.push_back(loop);
  }

  void closed(std::int64_t i, std::int64_t j) {
    const std::vector<std::int64_t> stems = stems_of(i + 1, j - 1);
    if (stems.empty()) return add({Loop::Kind::hairpin, i, j, 0, 0, loops_.hairpin(s_, i, j)});
    if (stems.size() == 1) {
      const std::int64_t p = stems.front(), q = end_of(p), unpaired = p - i - 1 + j - q - 1;
      if (unpaired > kMaxLoop)
        throw BadInput(fmt::format(
            "the interior loop of bases {}-{} and {}-{} has {} unpaired bases; at most {} are possible", i, j,
            p, q, unpaired, kMaxLoop));
      return add({Loop::Kind::interior, i, j, p, q,
                  quadruplex_[p] != nullptr ? loops_.around_quadruplex(s_, i, j, p - i - 1, j - q - 1)
                                            : loops_.interior(s_, i, j, p, q)});
    }
    std::int64_t unpaired = j - i - 1;
    for (const std::int64_t p : stems) unpaired -= end_of(p) - p + 1;
    std::int32_t energy = 0;
    if (loops_.bases_count_once()) {
      energy = closed_multiloop(i, j, stems);
    } else {
      energy = loops_.multi_closing(type(i, j), s_.codes[j - 1], s_.codes[i + 1]);
      for (const std::int64_t p : stems)
        energy += quadruplex_[p] != nullptr
                      ? loops_.quadruplex_stem()
                      : loops_.multi_stem(type(p, partner_[p]), s_.codes[p - 1], s_.codes[partner_[p] + 1]);
    }
    add({Loop::Kind::multi, i, j, 0, 0, energy + static_cast<std::int32_t>(unpaired) * loops_.multi_base()});
  }

  std::vector<std::int64_t> stems_of(std::int64_t from, std::int64_t to) const {
    std::vector<std::int64_t> stems;
    for (std::int64_t k = from; k <= to; ++k)
      if (const std::int64_t end = end_of(k); end > 0) stems.push_back(k), k = end;
    return stems;
  }

  /// Where a base counts for one stem alone: the least energy over what each counts for, and over stems that
  /// stack. As the recurrences have it, a multiloop that does not stack on its closing pair has two parts at
  /// least, two stems that stack being one.
  std::int32_t closed_multiloop(std::int64_t i, std::int64_t j, std::span<const std::int64_t> stems) const {
    std::int32_t best = kNone;
    const std::int64_t first = stems.front(), last = stems.back();
    for (int behind = 0; behind <= 1; ++behind)
      for (int before = 0; before <= 1; ++before) {
        if (first - i <= behind || j - partner_[last] <= before) continue;
        const std::int32_t closing = loops_.multi_closing(type(i, j), before > 0 ? s_.codes[j - 1] : -1,
                                                          behind > 0 ? s_.codes[i + 1] : -1);
        best = std::min(best, closing + side_by_side(stems, i + 1 + behind, j - 1 - before, 2, true));
      }
    if (!loops_.coaxial()) return best;
    if (first == i + 1)
      best = std::min(best, loops_.coaxial_closing(type(i, j), type(partner_[first], first)) +
                                side_by_side(stems.subspan(1), partner_[first] + 1, j - 1, 1, true));
    if (partner_[last] == j - 1)
      best = std::min(best, loops_.coaxial_closing(type(i, j), type(partner_[last], last)) +
                                side_by_side(stems.first(stems.size() - 1), i + 1, last - 1, 1, true));
    return best;
  }

  /// The least energy of stems whose neighbours are bases from..to, in `parts` parts at least.
  std::int32_t side_by_side(std::span<const std::int64_t> stems, std::int64_t from, std::int64_t to,
                            int parts, bool multi) const {
    constexpr int kParts = 3;                                      // none, one, more
    using Best = std::array<std::array<std::int32_t, kParts>, 2>;  // [the base behind counts][parts]
    constexpr Best kNothing = {{{kNone, kNone, kNone}, {kNone, kNone, kNone}}};
    std::vector<Best> best(stems.size() + 1, kNothing);
    best[0][0][0] = 0;
    for (std::size_t t = 0; t < stems.size(); ++t) {
      const std::int64_t p = stems[t], q = partner_[p], last = t == 0 ? from - 1 : partner_[stems[t - 1]],
                         next = t + 1 < stems.size() ? stems[t + 1] : to + 1;
      for (int taken = 0; taken <= 1; ++taken)
        for (int count = 0; count < kParts; ++count) {
          const std::int32_t here = best[t][taken][count];
          if (here >= kNone) continue;
          const int more = std::min(count + 1, kParts - 1);
          for (int before = 0; before <= 1; ++before)
            for (int behind = 0; behind <= 1; ++behind) {
              if (p - last - 1 < taken + before || next - q - 1 < behind) continue;
              const int left = before > 0 ? s_.codes[p - 1] : -1, right = behind > 0 ? s_.codes[q + 1] : -1;
              std::int32_t& with = best[t + 1][behind][more];
              with = std::min(with, here + (multi ? loops_.multi_stem(type(p, q), left, right)
                                                  : loops_.exterior_stem(type(p, q), left, right)));
            }
          if (multi && loops_.coaxial() && t + 1 < stems.size() && next == q + 1) {
            std::int32_t& with = best[t + 2][0][more];
            with = std::min(with, here + loops_.coaxial_stems(type(q, p), type(partner_[next], next)));
          }
        }
    }
    std::int32_t least = kNone;
    for (const auto& of_behind : best.back())
      for (int count = parts; count < kParts; ++count) least = std::min(least, of_behind[count]);
    return least;
  }

  const Bases& s_;
  const std::vector<std::int64_t>& partner_;
  const Loops& loops_;
  std::vector<const QuadruplexShape*> quadruplex_;  // by its first base
  Evaluation result_ = {};
};

}  // namespace

std::vector<std::int64_t> partners(std::string_view structure) {
  std::vector<std::int64_t> partner(structure.size(), -1), open;
  for (std::size_t k = 0; k < structure.size(); ++k) {
    const auto place = static_cast<std::int64_t>(k);
    if (structure[k] == '(') {
      open.push_back(place);
    } else if (structure[k] == ')') {
      if (open.empty()) throw BadInput(fmt::format("the structure's ')' at {} closes nothing", k + 1));
      partner[k] = open.back();
      partner[static_cast<std::size_t>(open.back())] = place;
      open.pop_back();
    } else if (structure[k] != '.' && structure[k] != '+' && structure[k] != '~') {
      throw BadInput(
          fmt::format("the structure's character {} is '{}'; it has '(', '.', ')', and '+' in quadruplexes",
                      k + 1, structure[k]));
    }
  }
  if (!open.empty()) throw BadInput(fmt::format("the structure's '(' at {} is not closed", open.back() + 1));
  return partner;
}

Evaluation evaluate(std::string_view sequence, std::string_view structure, const Model& model) {
  const Loops loops(model);
  return evaluate(bases_of(sequence, loops), structure, loops);
}

Evaluation evaluate(const Bases& s, std::string_view structure, const Loops& loops) {
  if (std::ssize(structure) != s.size())
    throw BadInput(fmt::format("the structure has {} letters, the sequence {}", structure.size(), s.size()));
  std::vector<std::int64_t> partner = partners(structure);
  partner.insert(partner.begin(), -1);
  for (std::int64_t& p : partner) ++p;
  for (std::int64_t i = 1; i <= s.size(); ++i) {
    const std::int64_t j = partner[i];
    if (j < i) continue;
    if (loops.pair(s.codes[i], s.codes[j]) == 0)
      throw BadInput(
          fmt::format("bases {} and {}, {} and {}, do not pair", i, j, s.letters[i - 1], s.letters[j - 1]));
    if (j - i <= kMinHairpin)
      throw BadInput(fmt::format("bases {} and {} are too close to pair: {} bases lie between at least", i, j,
                                 kMinHairpin));
  }
  const std::vector<QuadruplexShape> quadruplexes = quadruplexes_in(structure, s);
  if (!quadruplexes.empty()) loops.check_quadruplexes();
  return Evaluator(s, partner, quadruplexes, loops).all();
}

}  // namespace warploom::fold
