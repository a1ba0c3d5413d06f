#include <fmt/format.h>

#include "fold/loops.hpp"
#include "warploom/core/error.hpp"

namespace warploom::fold {
namespace {

/// Walks the loops of a structure. Partners are counted from 1, 0 where unpaired.
class Evaluator {
 public:
  Evaluator(const Bases& s, const std::vector<std::int64_t>& partner, const Loops& loops)
      : s_(s), partner_(partner), loops_(loops) {}

  Evaluation all() {
    std::int32_t energy = 0;
    for (std::int64_t k = 1; k <= s_.size(); ++k)
      if (partner_[k] > k) {
        energy += loops_.exterior_stem(type(k, partner_[k]), k > 1 ? s_.codes[k - 1] : -1,
                                       partner_[k] < s_.size() ? s_.codes[partner_[k] + 1] : -1);
        k = partner_[k];
      }
    add({.kind = Loop::Kind::exterior, .energy = energy});
    for (std::int64_t k = 1; k <= s_.size(); ++k)
      if (partner_[k] > k) closed(k, partner_[k]);
    return std::move(result_);
  }

 private:
  int type(std::int64_t i, std::int64_t j) const { return loops_.pair(s_.codes[i], s_.codes[j]); }

  void add(const Loop& loop) {
    if (loop.energy >= kNone / 2)
      throw BadInput(
          fmt::format("the loop that bases {} and {} close is not allowed by these parameters and options",
                      loop.i, loop.j));
    result_.energy += loop.energy;
    result_.loops.push_back(loop);
  }

  void closed(std::int64_t i, std::int64_t j) {
    std::vector<std::int64_t> stems;
    for (std::int64_t k = i + 1; k < j; ++k)
      if (partner_[k] > k) stems.push_back(k), k = partner_[k];
    if (stems.empty()) return add({Loop::Kind::hairpin, i, j, 0, 0, loops_.hairpin(s_, i, j)});
    if (stems.size() == 1) {
      const std::int64_t p = stems.front(), q = partner_[p], unpaired = p - i - 1 + j - q - 1;
      if (unpaired > kMaxLoop)
        throw BadInput(fmt::format(
            "the interior loop of bases {}-{} and {}-{} has {} unpaired bases; at most {} are possible", i, j,
            p, q, unpaired, kMaxLoop));
      return add({Loop::Kind::interior, i, j, p, q, loops_.interior(s_, i, j, p, q)});
    }
    std::int32_t energy = loops_.multi_closing(type(i, j), s_.codes[j - 1], s_.codes[i + 1]);
    std::int64_t unpaired = j - i - 1;
    for (const std::int64_t p : stems) {
      const std::int64_t q = partner_[p];
      energy += loops_.multi_stem(type(p, q), s_.codes[p - 1], s_.codes[q + 1]);
      unpaired -= q - p + 1;
    }
    add({Loop::Kind::multi, i, j, 0, 0, energy + static_cast<std::int32_t>(unpaired) * loops_.multi_base()});
  }

  const Bases& s_;
  const std::vector<std::int64_t>& partner_;
  const Loops& loops_;
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
    } else if (structure[k] != '.') {
      throw BadInput(
          fmt::format("the structure's character {} is '{}'; it has '(', '.' and ')'", k + 1, structure[k]));
    }
  }
  if (!open.empty()) throw BadInput(fmt::format("the structure's '(' at {} is not closed", open.back() + 1));
  return partner;
}

Evaluation evaluate(std::string_view sequence, std::string_view structure, const Model& model) {
  const Loops loops(model);
  return evaluate(bases_of(sequence), structure, loops);
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
  return Evaluator(s, partner, loops).all();
}

}  // namespace warploom::fold
