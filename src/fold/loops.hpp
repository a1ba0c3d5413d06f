#pragma once

#include <cstdint>
#include <string>
#include <string_view>
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
  /// The pair as a stem of a multiloop, with its neighbours outside.
  std::int32_t multi_stem(int pair, Base before, Base behind) const {
    return e_.multi_intern + end(pair) + (dangles_ == 0 ? 0 : e_.mismatch_multi[pair][before][behind]);
  }
  /// The pair that closes a multiloop; `before` and `behind` lie inside, beside its second and its first
  /// base.
  std::int32_t multi_closing(int pair, Base before, Base behind) const {
    return closes(pair) ? e_.multi_closing + multi_stem(reversed(pair), before, behind) : kNone;
  }
  /// A stem outside of all pairs; its neighbours, -1 where there is none.
  std::int32_t exterior_stem(int pair, int before, int behind) const;
  std::int32_t multi_base() const { return e_.multi_base; }
  std::int32_t loop_of(int unpaired) const { return e_.interior[unpaired]; }
  std::int32_t asymmetry(int difference) const {
    return std::min(most_asymmetry_, difference * e_.asymmetry);
  }
  const Energies& numbers() const { return e_; }
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
  bool gu_closing_, lonely_pairs_;
  std::int64_t max_span_;
  int pairs_[kBases][kBases] = {};
};

/// evaluate() under loops that are there already. @throws as evaluate(), but for the sequence
Evaluation evaluate(const Bases& s, std::string_view structure, const Loops& loops);

}  // namespace warploom::fold
