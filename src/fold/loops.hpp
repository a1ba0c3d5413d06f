#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "fold/energy_tables.hpp"
#include "warploom/fold/fold.hpp"

/// What each kind of loop costs under a model.
namespace warploom::fold {

using Base = std::uint8_t;
/// Unpaired bases that a pair encloses at least.
inline constexpr std::int64_t kMinHairpin = 3;
/// Of a sequence.
inline constexpr std::int64_t kMostBases = 100'000;

/// A sequence as the recurrences take it: base k, counted from 1, is codes[k]; codes[0] and those behind the
/// last are 0.
struct Bases {
  std::string letters = {};  ///< capitals, U for T
  std::vector<Base> codes = {};
  std::int64_t size() const { return static_cast<std::int64_t>(letters.size()); }
};
/// @throws BadInput as fold()
Bases bases_of(std::string_view sequence);
/// As bases_of(); of a circle, codes[0] is the last base and that behind the last the first.
/// @throws BadInput as fold(), also pseudo-energies of another length
Bases bases_of(std::string_view sequence, const class Loops& loops);
/// A circle as two rounds: base n + i is base i.
Bases twice(const Bases& s);

class Loops {
 public:
  /// @throws BadInput: a model out of range
  explicit Loops(const Model& model);

  /// 0 where the two do not pair.
  int pair(Base a, Base b) const { return pairs_[a][b]; }
  /// Of a pair seen from inside.
  static int reversed(int pair) { return pair == 0 || pair == 7 ? pair : ((pair - 1) ^ 1) + 1; }
  std::int32_t end(int pair) const { return pair > 2 ? e_.terminal_au : 0; }
  bool closes(int pair) const { return gu_closing_ || (pair != 3 && pair != 4); }

  /// Of the pair (i, j), which stands; kNone where there is none.
  std::int32_t hairpin(const Bases& s, std::int64_t i, std::int64_t j) const;
  /// (p, q) within (i, j), which both stand, with at most kMaxLoop bases between.
  std::int32_t interior(const Bases& s, std::int64_t i, std::int64_t j, std::int64_t p, std::int64_t q) const;
  /// The pair as a stem of a multiloop, with its neighbours outside; -1 where one does not count.
  std::int32_t multi_stem(int pair, int before, int behind) const {
    return e_.multi_intern + end(pair) + beside(e_.mismatch_multi, pair, before, behind);
  }
  /// The pair that closes a multiloop; `before` and `behind` lie inside, beside its second and its first
  /// base.
  std::int32_t multi_closing(int pair, int before, int behind) const {
    return closes(pair) ? e_.multi_closing + multi_stem(reversed(pair), before, behind) : kNone;
  }
  /// A stem outside of all pairs; its neighbours, -1 where one does not count or there is none.
  std::int32_t exterior_stem(int pair, int before, int behind) const {
    return end(pair) + beside(e_.mismatch_exterior, pair, before, behind);
  }
  /// Two stems of a multiloop without a base between them, stacked as if `outer` (seen from the joint)
  /// enclosed `inner` (seen from outside of the joint, as in stack[outer][inner]).
  std::int32_t coaxial_stems(int outer, int inner) const {
    return 2 * e_.multi_intern + e_.stack[outer][inner];
  }
  /// The pair that closes a multiloop, stacked on the stem beside it.
  std::int32_t coaxial_closing(int outer, int inner) const {
    return closes(outer) ? e_.multi_closing + coaxial_stems(outer, inner) : kNone;
  }
  /// A base beside a stem counts for it where it is unpaired, and for one stem alone (dangles 1 and 3).
  bool bases_count_once() const { return dangles_ % 2 == 1; }
  /// Stems of a multiloop stack on each other (dangles 3).
  bool coaxial() const { return dangles_ == 3; }
  /// What a stem may cost more than the best multiloop of its bases, and still be better stacked: less than
  /// this. `inner` as in coaxial_stems(); 0: stems do not stack.
  std::int32_t coaxial_gain(int inner) const;
  /// Of a G-quadruplex by its layers and the bases of its linkers together.
  std::int32_t quadruplex(int layers, int linked) const;
  /// The quadruplex as a stem of a multiloop; outside of all pairs it adds nothing.
  std::int32_t quadruplex_stem() const { return e_.multi_intern; }
  /// The pair (i, j) around a quadruplex, with `left` and `right` unpaired bases beside that; kNone: it
  /// cannot be.
  std::int32_t around_quadruplex(const Bases& s, std::int64_t i, std::int64_t j, std::int64_t left,
                                 std::int64_t right) const;
  /// There are quadruplexes.
  bool quadruplexes() const { return quadruplexes_; }
  /// @throws BadInput: the model has what quadruplexes are not there with
  void check_quadruplexes() const;
  std::int32_t multi_base() const { return e_.multi_base; }
  std::int32_t loop_of(int unpaired) const { return e_.interior[unpaired]; }
  std::int32_t asymmetry(int difference) const {
    return std::min(most_asymmetry_, difference * e_.asymmetry);
  }
  const Energies& numbers() const { return e_; }
  const PseudoEnergies& pseudo() const { return pseudo_; }
  /// What the stack of (i, j) on (i + 1, j - 1) adds, and the pair (i, j) whatever its loop: pseudo-energies.
  std::int32_t stack_extra(const Bases& s, std::int64_t i, std::int64_t j) const;
  std::int32_t pair_extra(std::int64_t i, std::int64_t j) const;
  bool circular() const { return circular_; }
  /// What a constraint names has to pair.
  bool enforces() const { return enforces_; }
  /// A circle of n bases without pairs.
  std::int32_t open_circle(std::int64_t n) const;
  std::int32_t hairpin_of(std::int64_t unpaired) const;
  /// No number of the tables is less.
  std::int32_t least() const { return least_; }
  bool lonely_pairs() const { return lonely_pairs_; }
  std::int64_t max_span() const { return max_span_; }

 private:
  Energies e_;
  double long_loop_ = 0;
  std::int32_t most_asymmetry_, least_ = 0;
  int dangles_;
  double temperature_;  // [K]
  bool gu_closing_, lonely_pairs_, circular_, enforces_, quadruplexes_;
  double layer_ = 0, linker_ = 0;  // of quadruplexes
  PseudoEnergies pseudo_;
  std::int64_t max_span_;
  std::vector<std::pair<std::uint64_t, std::int32_t>> special_ = {};  // hairpins by their letters
  int pairs_[kBases][kBases] = {};

  std::int32_t beside(const Mismatches& mismatch, int pair, int before, int behind) const {
    return dangles_ == 0                ? 0
           : before >= 0 && behind >= 0 ? mismatch[pair][before][behind]
           : before >= 0                ? e_.dangle5[pair][before]
           : behind >= 0                ? e_.dangle3[pair][behind]
                                        : 0;
  }
};

/// evaluate() under loops that are there already. @throws as evaluate(), but for the sequence
Evaluation evaluate(const Bases& s, std::string_view structure, const Loops& loops);

/// @throws BadInput: n bases may have energies that 32 bits do not hold
void check_range(std::int64_t n, const Loops& loops);

}  // namespace warploom::fold
