#include <algorithm>

#include "fold/fill.hpp"

namespace warploom::fold {
namespace {

/// The loop that the ends of the sequence lie in, by what it has of stems: none, one, two, or more.
class Closing {
 public:
  Closing(const Bases& s, const Loops& loops, const Matrices& x)
      : loops_(loops), x_(x), n_(s.size()), twice_(twice(s)), best_{loops.open_circle(n_), {}} {}

  Circle best() {
    for (std::int64_t j = kMinHairpin + 2; j <= n_; ++j)
      for (std::int64_t i = 1; i < j - kMinHairpin; ++i) {
        const std::int32_t c = x_.c.at(i, j);
        if (c >= kNone / 2) continue;
        take(c + loops_.hairpin(twice_, j, n_ + i), {{i, j, false}});
        if (i <= kMaxLoop + 1) interior(i, j, c);
      }
    multiloop();
    return std::move(best_);
  }

 private:
  void take(std::int32_t energy, std::vector<Part> parts) {
    if (energy < best_.energy) best_ = {energy, std::move(parts)};
  }

  /// Loops of (i, j) and a pair behind it.
  void interior(std::int64_t i, std::int64_t j, std::int32_t c) {
    for (std::int64_t q = n_; i - 1 + n_ - q <= kMaxLoop && q > j + kMinHairpin + 1; --q)
      for (std::int64_t p = j + 1; i - 1 + n_ - q + p - j - 1 <= kMaxLoop && p < q - kMinHairpin; ++p)
        if (const std::int32_t other = x_.c.at(p, q); other < kNone / 2)
          if (const std::int32_t loop = loops_.interior(twice_, j, n_ + i, p, q);
              c + other + loop < best_.energy)
            take(c + other + loop, {{i, j, false}, {p, q, false}});
  }

  void multiloop() {
    // M2(k, n), and where its second part begins.
    std::vector<std::int32_t> two(static_cast<std::size_t>(n_ + 2), kNone);
    std::vector<std::int64_t> second(two.size());
    for (std::int64_t k = 1; k <= n_; ++k)
      for (std::int64_t l = k + kMinHairpin + 2; l < n_ - kMinHairpin; ++l)
        if (const std::int32_t a = x_.m.at(k, l - 1), b = x_.m.at(l, n_);
            a < kNone / 2 && b < kNone / 2 && a + b < two[k])
          two[k] = a + b, second[k] = l;
    for (std::int64_t k = kMinHairpin + 3; k < n_; ++k)
      if (const std::int32_t one = x_.m.at(1, k - 1); one < kNone / 2 && two[k] < kNone / 2)
        take(one + two[k] + loops_.numbers().multi_closing,
             {{1, k - 1, true}, {k, second[k] - 1, true}, {second[k], n_, true}});
  }

  const Loops& loops_;
  const Matrices& x_;
  std::int64_t n_;
  Bases twice_;
  Circle best_;
};

}  // namespace

Circle close_circle(const Bases& s, const Loops& loops, const Matrices& matrices) {
  return Closing(s, loops, matrices).best();
}

}  // namespace warploom::fold
