#include <algorithm>

#include "fold/fill.hpp"

namespace warploom::fold {
namespace {

/// Three stems or more.
Circle close_by_many(const Loops& loops, const Matrices& x, std::int64_t n) {
  // M2(k, n), and where its second part begins.
  std::vector<std::int32_t> two(static_cast<std::size_t>(n + 2), kNone);
  std::vector<std::int64_t> second(two.size());
  for (std::int64_t k = 1; k <= n; ++k)
    for (std::int64_t l = k + kMinHairpin + 2; l < n - kMinHairpin; ++l)
      if (const std::int32_t a = x.m.at(k, l - 1), b = x.m.at(l, n);
          a < kNone / 2 && b < kNone / 2 && a + b < two[k])
        two[k] = a + b, second[k] = l;
  Circle best{kNone, {}};
  for (std::int64_t k = kMinHairpin + 3; k < n; ++k)
    if (const std::int32_t one = x.m.at(1, k - 1); one < kNone / 2 && two[k] < kNone / 2)
      if (const std::int32_t energy = one + two[k] + loops.numbers().multi_closing; energy < best.energy)
        best = {energy, {{1, k - 1, true}, {k, second[k] - 1, true}, {second[k], n, true}}};
  return best;
}

}  // namespace

void close_circle_by_few(const Bases& s, const Loops& loops, const Matrices& x, const std::int32_t& limit,
                         const std::function<void(std::int32_t, const std::vector<Part>&)>& take) {
  const std::int64_t n = s.size();
  const Bases round = twice(s);
  if (const std::int32_t open = loops.open_circle(n); open <= limit) take(open, {});
  for (std::int64_t j = kMinHairpin + 2; j <= n; ++j)
    for (std::int64_t i = 1; i < j - kMinHairpin; ++i) {
      const std::int32_t c = x.c.at(i, j);
      if (c >= kNone / 2) continue;
      if (const std::int32_t hairpin = loops.hairpin(round, j, n + i); c + hairpin <= limit)
        take(c + hairpin, {{i, j, false}});
      // A pair behind it.
      for (std::int64_t q = n; i - 1 + n - q <= kMaxLoop && q > j + kMinHairpin + 1; --q)
        for (std::int64_t p = j + 1; i - 1 + n - q + p - j - 1 <= kMaxLoop && p < q - kMinHairpin; ++p)
          if (const std::int32_t other = x.c.at(p, q); other < kNone / 2)
            if (const std::int32_t loop = loops.interior(round, j, n + i, p, q); c + other + loop <= limit)
              take(c + other + loop, {{i, j, false}, {p, q, false}});
    }
}

Circle close_circle(const Bases& s, const Loops& loops, const Matrices& matrices) {
  Circle best = close_by_many(loops, matrices, s.size());
  close_circle_by_few(s, loops, matrices, best.energy,
                      [&](std::int32_t energy, const std::vector<Part>& stems) {
                        if (energy < best.energy) best = {energy, stems};
                      });
  return best;
}

}  // namespace warploom::fold
