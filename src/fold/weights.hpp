#pragma once

#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "fold/loops.hpp"

namespace warploom::fold {

/// exp(-energy / kT) of each kind of loop under a model: of energies that are not cut to whole hundredths,
/// and what neighbours of a stem add at ends and in multiloops smoothed where it is about 0, as RNAfold -p
/// has it. 0 where there is no such loop.
class Weights {
 public:
  using Numbers = LoopNumbers<double>;
  /// @param loops  of the same model; lives as long
  Weights(const Model& model, const Loops& loops);

  const Loops& loops() const { return loops_; }
  const Numbers& numbers() const { return w_; }
  /// [kcal/mol]
  double kt() const { return kt_; }
  int dangles() const { return dangles_; }
  double of(double energy) const;  ///< of an energy [0.01 kcal/mol]
  double end(int pair) const { return pair > 2 ? w_.terminal_au : 1; }
  double asymmetry(int difference) const { return asymmetry_[difference]; }
  double hairpin_of(std::int64_t unpaired) const;
  double open_circle(std::int64_t n) const;

  /// As Loops' functions of these names.
  double hairpin(const Bases& s, std::int64_t i, std::int64_t j) const;
  double interior(const Bases& s, std::int64_t i, std::int64_t j, std::int64_t p, std::int64_t q) const;
  double multi_stem(int pair, int before, int behind) const {
    return w_.multi_intern * end(pair) * beside(w_.mismatch_multi, pair, before, behind);
  }
  double multi_closing(int pair, int before, int behind) const {
    return loops_.closes(pair) ? w_.multi_closing * multi_stem(Loops::reversed(pair), before, behind) : 0;
  }
  double exterior_stem(int pair, int before, int behind) const {
    return end(pair) * beside(w_.mismatch_exterior, pair, before, behind);
  }
  /// Of an energy in whole hundredths, as RNAfold -p has it.
  double quadruplex(int layers, int linked) const { return of(loops_.quadruplex(layers, linked)); }
  double around_quadruplex(const Bases& s, std::int64_t i, std::int64_t j, std::int64_t left,
                           std::int64_t right) const;
  /// What the stack of (i, j) on (i + 1, j - 1) adds beside its own.
  double stack_extra(const Bases& s, std::int64_t i, std::int64_t j) const {
    return loops_.pseudo().stack.empty() ? 1 : of(loops_.stack_extra(s, i, j));
  }

 private:
  const Loops& loops_;
  double kt_, long_loop_;
  Numbers w_;
  double asymmetry_[kMaxLoop + 1] = {};
  int dangles_;
  std::unordered_map<std::string_view, double> special_;  // hairpins by their letters

  double beside(const Numbers::Mismatches& mismatch, int pair, int before, int behind) const {
    return dangles_ == 0                ? 1
           : before >= 0 && behind >= 0 ? mismatch[pair][before][behind]
           : before >= 0                ? w_.dangle5[pair][before]
           : behind >= 0                ? w_.dangle3[pair][behind]
                                        : 1;
  }
};

/// What energies of a stem's neighbours count as, as Weights smooths them: the derivative at one of them
/// [0.01 kcal/mol].
double slope_of_smoothed(double energy);

}  // namespace warploom::fold
