#pragma once

#include <functional>
#include <vector>

#include "fold/partition.hpp"

namespace warploom::fold {

/// A number and a power of two, whatever its size.
Scaled scaled(double number, std::int64_t exponent);
Scaled operator*(const Scaled& a, const Scaled& b);
Scaled operator+(const Scaled& a, const Scaled& b);

/// The loop that joins the ends of a circle, in sums. B, M1 and M are those of the sequence as if it were
/// linear; this loop is a hairpin, an interior loop of two pairs, has three stems or more, or is the circle
/// without pairs. What is given lives as long.
class CircleSums {
 public:
  CircleSums(const Problem& problem, const Partition& p);
  /// Of all structures, and of those of each kind.
  Scaled whole() const { return whole_; }
  Scaled open() const { return open_; }
  Scaled multi() const { return multi_; }
  /// Of three stems or more, of which the last begins at k.
  Scaled multi_with_last(std::int64_t k) const;
  /// Of two stems or more in the first k bases.
  Scaled two_or_more(std::int64_t k) const { return first_[2][static_cast<std::size_t>(k)]; }
  /// Of the hairpins and interior loops whose pair (i, j), the first of two, ends at j.
  Scaled few(std::int64_t j) const { return few_[static_cast<std::size_t>(j)]; }

  /// Each of these loops, its own weight, and with what its pairs enclose: the pair (i, j), and of an
  /// interior loop (p, q) behind it, else 0, 0. Until `take` returns false.
  using Take =
      std::function<bool(std::int64_t i, std::int64_t p, std::int64_t q, double loop, const Scaled& weight)>;
  void each_of_few(std::int64_t j, const Take& take) const;
  /// The weight of what is around (i, j) where it is one of three stems or more, with the stem's own.
  Scaled around_stem(std::int64_t i, std::int64_t j) const;

  /// What pairs are worth outside of all others, as OutsideOptions::exterior has it.
  Panels exterior() const;

 private:
  double hairpin(std::int64_t i, std::int64_t j) const;

  const Problem& problem_;
  const Partition& p_;
  std::int64_t n_;
  Bases round_;
  std::vector<double> hairpins_;  // by unpaired bases
  /// [0], [1], [2]: of no stem, one, more, in the first k bases; in those from k on.
  std::vector<Scaled> first_[3], last_[3], few_;
  Scaled open_, multi_, whole_;
};

}  // namespace warploom::fold
