#include <cmath>
#include <limits>

#include "fold/circle_sums.hpp"
#include "fold/partition.hpp"
#include "fold/random.hpp"
#include "warploom/core/error.hpp"
#include "warploom/core/progress.hpp"

namespace warploom::fold {
namespace {

/// A structure, each with the probability that it has in the ensemble: from the whole to its parts, each way
/// to a sum taken with the probability that it has there.
class Sampler {
 public:
  /// @param circle  null: the sequence is linear
  Sampler(const Problem& problem, const Partition& p, const EndWeights& ends, const CircleSums* circle)
      : s_(problem.s), w_(problem.weights), problem_(problem), p_(p), ends_(ends), circle_(circle) {}

  std::string one(std::uint64_t seed) {
    random_ = Random(seed);
    structure_.assign(static_cast<std::size_t>(s_.size()), '.');
    circle_ == nullptr ? outside() : around(*circle_);
    while (!open_.empty()) {
      const Part part = open_.back();
      open_.pop_back();
      part.multi ? stems(part.i, part.j) : pair(part.i, part.j);
    }
    return structure_;
  }

 private:
  struct Part {
    std::int64_t i, j;
    bool multi;  ///< one or more stems of a multiloop, else the pair (i, j)
  };

  /// Of one thing of several that sum to `whole`: some share of it. take() says whether it is this.
  class Draw {
   public:
    Draw(Random& random, const Scaled& whole)
        : left_(static_cast<double>(random() >> 11) * 0x1p-53 * whole.number), exponent_(whole.exponent) {}
    bool take(double weight, std::int64_t exponent) {
      if (weight == 0) return false;
      left_ -= weight * power(exponent - exponent_);
      return left_ < 0;
    }

   private:
    double left_;
    std::int64_t exponent_;
  };

  double uniform() { return static_cast<double>(random_() >> 11) * 0x1p-53; }

  void quadruplex(std::int64_t i, std::int64_t j) {
    draw(problem_.quadruplexes->shape(i, j, uniform()), true, structure_);
  }

  void outside() {
    std::int64_t j = s_.size();
    while (j > 0) {
      Draw draw(random_, {p_.ends[static_cast<std::size_t>(j)], p_.end_exponent(j)});
      std::int64_t begin = 0, some = 0, last = 0;  // last: a quadruplex
      const double alone = problem_.may_be_unpaired(j, j) ? p_.ends[static_cast<std::size_t>(j - 1)] : 0;
      if (!draw.take(alone, p_.end_exponent(j - 1))) {
        const double* stem = ends_.of(j);
        for (std::int64_t i = Tiling::first_row(p_.tiling.first_strip(Tiling::tile_of(j)));
             i < j - kMinHairpin && begin == 0; ++i) {
          const Scaled b = p_.at(p_.b, i, j);
          const double weight = b.number * stem[i] * p_.ends[static_cast<std::size_t>(i - 1)];
          if (weight != 0) some = i;
          if (draw.take(weight, b.exponent + p_.end_exponent(i - 1))) begin = i;
        }
        if (begin == 0 && problem_.quadruplexes != nullptr)
          for (const auto& [i, weight] : problem_.quadruplexes->ending(j)) {
            if (p_.ends[static_cast<std::size_t>(i - 1)] == 0) continue;
            last = i;
            if (!draw.take(weight * p_.ends[static_cast<std::size_t>(i - 1)], p_.end_exponent(i - 1)))
              continue;
            begin = i;
            break;
          }
        if (begin == 0 && some == 0) begin = last;
        if (begin != 0 && begin == last) {
          quadruplex(begin, j);
          j = begin - 1;
          continue;
        }
        if (begin == 0) begin = some;  // what rounding left over belongs to the last
      }
      if (begin == 0) {
        --j;
      } else {
        open_.push_back({begin, j, false});
        j = begin - 1;
      }
    }
  }

  /// The loop that joins the ends of a circle.
  void around(const CircleSums& circle) {
    const std::int64_t n = s_.size();
    Draw draw(random_, circle.whole());
    const auto take = [&](const Scaled& weight) { return draw.take(weight.number, weight.exponent); };
    if (take(circle.open())) return;
    std::int64_t last = 0, end = 0;  // where the last of many stems begins, or the first of two pairs ends
    for (std::int64_t k = 1; k <= n; ++k) {
      if (circle.multi_with_last(k).number == 0) continue;
      last = k;
      if (take(circle.multi_with_last(k))) return many(circle, k);
    }
    for (std::int64_t j = 1; j <= n; ++j) {
      if (circle.few(j).number == 0) continue;
      end = j;
      if (take(circle.few(j))) break;
    }
    if (end == 0 && last != 0) return many(circle, last);  // what rounding left over
    if (end == 0) return;
    Draw of_end(random_, circle.few(end));
    Part one{0, 0, false}, two{0, 0, false};
    circle.each_of_few(end,
                       [&](std::int64_t i, std::int64_t p, std::int64_t q, double, const Scaled& weight) {
                         one = {i, end, false}, two = {p, q, false};
                         return !of_end.take(weight.number, weight.exponent);
                       });
    open_.push_back(one);
    if (two.i != 0) open_.push_back(two);
  }

  /// Three stems or more, the last of which begins at k.
  void many(const CircleSums& circle, std::int64_t k) {
    stem(k, s_.size());
    Draw draw(random_, circle.two_or_more(k - 1));
    std::int64_t begin = 0;
    for (std::int64_t l = 2; l < k; ++l) {
      const Scaled left = p_.at(p_.m, 1, l - 1), right = p_.at(p_.m1, l, k - 1);
      if (left.number == 0 || right.number == 0) continue;
      begin = l;
      if (draw.take(left.number * right.number, left.exponent + right.exponent)) break;
    }
    stem(begin, k - 1);
    open_.push_back({1, begin - 1, true});
  }

  void pair(std::int64_t i, std::int64_t j) {
    structure_[static_cast<std::size_t>(i - 1)] = '(', structure_[static_cast<std::size_t>(j - 1)] = ')';
    const Loops& loops = w_.loops();
    const Base* c = s_.codes.data();
    const Scaled whole = p_.at(p_.b, i, j);
    const double extra = problem_.extras.empty() ? 1 : w_.of(problem_.extras.pair(i, j));
    Draw draw(random_, {whole.number / extra, whole.exponent});
    if (problem_.may_be_unpaired(i + 1, j - 1) && draw.take(w_.hairpin(s_, i, j), 0)) return;
    Part some{0, 0, false};
    for (std::int64_t p = i + 1; p <= std::min(i + kMaxLoop + 1, j - kMinHairpin - 2); ++p)
      for (std::int64_t q = j - 1; q > p + kMinHairpin && (p - i - 1) + (j - q - 1) <= kMaxLoop; --q) {
        const Scaled inner = p_.at(p_.b, p, q);
        if (inner.number == 0 || !problem_.may_be_unpaired(i, j, p, q)) continue;
        some = {p, q, false};
        if (draw.take(inner.number * w_.interior(s_, i, j, p, q), inner.exponent))
          return open_.push_back(some);
      }
    if (problem_.quadruplexes != nullptr) {
      std::int64_t first = 0, end = 0;
      problem_.quadruplexes->each_within(i, 1, j,
                                         [&](std::int64_t, std::int64_t p, std::int64_t q, double weight) {
                                           if (first == 0 && draw.take(weight, 0)) first = p, end = q;
                                         });
      if (first != 0) return quadruplex(first, end);
    }
    const double closing = w_.multi_closing(loops.pair(c[i], c[j]), c[j - 1], c[i + 1]);
    for (std::int64_t k = i + 2; k < j - 1 - kMinHairpin && closing != 0; ++k) {
      const Scaled left = p_.at(p_.m, i + 1, k - 1), right = p_.at(p_.m1, k, j - 1);
      const double weight = left.number * right.number * closing;
      if (weight == 0) continue;
      some = {k, j - 1, true};
      if (draw.take(weight, left.exponent + right.exponent)) break;
    }
    if (some.i == 0) return;  // rounding left something over, and there is nothing but the hairpin
    if (!some.multi) return open_.push_back(some);
    open_.push_back({i + 1, some.i - 1, true});
    stem(some.i, some.j);
  }

  /// The stem that begins at k and ends at j or before it.
  void stem(std::int64_t k, std::int64_t j) {
    Draw draw(random_, p_.at(p_.m1, k, j));
    std::int64_t end = 0;
    bool quadruplexes = false;
    double unpaired = 1;
    for (std::int64_t l = j; l > k + kMinHairpin; --l, unpaired *= w_.numbers().multi_base) {
      if (problem_.quadruplexes != nullptr)
        if (const double weight = problem_.quadruplexes->at(k, l); weight != 0) {
          end = l, quadruplexes = true;
          if (draw.take(weight * w_.numbers().multi_intern * unpaired, 0)) break;
        }
      const Scaled b = p_.at(p_.b, k, l);
      if (b.number == 0 || !problem_.may_be_unpaired(l + 1, j)) continue;
      end = l, quadruplexes = false;
      const Base* c = s_.codes.data();
      if (draw.take(b.number * unpaired * w_.multi_stem(w_.loops().pair(c[k], c[l]), c[k - 1], c[l + 1]),
                    b.exponent))
        break;
    }
    if (quadruplexes) return quadruplex(k, end);
    open_.push_back({k, end, false});
  }

  /// One or more stems of i..j: the last of them, and whether there are others before it.
  void stems(std::int64_t i, std::int64_t j) {
    Draw draw(random_, p_.at(p_.m, i, j));
    double unpaired = 1;
    std::int64_t begin = 0;
    bool more = false;
    for (std::int64_t k = i; k < j - kMinHairpin; ++k, unpaired *= w_.numbers().multi_base) {
      const Scaled last = p_.at(p_.m1, k, j);
      if (last.number == 0) continue;
      if (problem_.may_be_unpaired(i, k - 1)) {
        begin = k, more = false;
        if (draw.take(unpaired * last.number, last.exponent)) break;
      }
      const Scaled before = p_.at(p_.m, i, k - 1);
      if (before.number == 0) continue;
      begin = k, more = true;
      if (draw.take(before.number * last.number, before.exponent + last.exponent)) break;
    }
    if (more) open_.push_back({i, begin - 1, true});
    stem(begin, j);
  }

  const Bases& s_;
  const Weights& w_;
  const Problem& problem_;
  const Partition& p_;
  const EndWeights& ends_;
  const CircleSums* circle_;
  Random random_{0};
  std::string structure_;
  std::vector<Part> open_;
};

}  // namespace

std::vector<std::string> sample(const Problem& problem, const Partition& p, std::int64_t count,
                                std::uint64_t seed, const CircleSums* circle) {
  const EndWeights ends(problem);
  Sampler sampler(problem, p, ends, circle);
  Random seeds(seed);
  std::vector<std::string> structures;
  for (std::int64_t k = 0; k < count; ++k) {
    structures.push_back(sampler.one(seeds()));
    if (k % 64 == 0) check_interrupt();
  }
  return structures;
}

}  // namespace warploom::fold
