#include "fold/ends.hpp"

#include <algorithm>

#include "core/instruction_sets.hpp"
#include "warploom/core/progress.hpp"

namespace warploom::fold {

Ends::Ends(const Bases& s, const Loops& loops, const Matrices& x)
    : s_(s),
      loops_(loops),
      c_(x.c),
      quadruplexes_(x.quadruplexes),
      kernels_(*WARPLOOM_PICK(row_kernels)),
      stems_(static_cast<std::size_t>(2 * kBases * (kBases + 1))) {}

const std::int32_t* Ends::stems(Base bj, bool before, int behind) {
  auto& stems = stems_[static_cast<std::size_t>((bj * (kBases + 1) + behind + 1) * 2 + (before ? 1 : 0))];
  if (stems.empty()) {
    stems.assign(static_cast<std::size_t>(s_.size() + 1), kNone);
    std::int32_t of[kBases][kBases + 1];  // by b_i and b_(i-1), kBases where it does not count
    for (int x = 0; x < kBases; ++x)
      for (int y = 0; y <= kBases; ++y) {
        const int type = loops_.pair(static_cast<Base>(x), bj);
        of[x][y] = type != 0 ? loops_.exterior_stem(type, y < kBases ? y : -1, behind) : kNone;
      }
    for (std::int64_t i = 1; i <= s_.size(); ++i)
      stems[i] = of[s_.codes[i]][before && i > 1 ? s_.codes[i - 1] : kBases];
  }
  return stems.data();
}

void Ends::fill(Stretch stretch, std::vector<std::int32_t>& f) {
  const auto [first, last] = stretch;
  const bool once = loops_.bases_count_once();
  f.assign(static_cast<std::size_t>(last - first + 2), 0);
  // The best of stems (i, j), i from `from` on, with f of the bases before i - apart.
  const auto best = [&](std::int64_t from, std::int64_t j, std::int64_t apart, bool before, bool behind) {
    const std::int32_t* ends = stems(s_.codes[j], before, behind && j < last ? s_.codes[j + 1] : -1);
    return kernels_.best_end(f.data() + (from - apart - first), c_.column(j) + from, ends + from,
                             j - kMinHairpin - from);
  };
  for (std::int64_t j = first + kMinHairpin + 1; j <= last; ++j) {
    std::int32_t least = f[j - first];
    if (once) {
      least = std::min({least, best(first, j, 0, false, false), best(first + 1, j, 1, true, false)});
      if (j > first + kMinHairpin + 1)
        least = std::min({least, best(first, j - 1, 0, false, true), best(first + 1, j - 1, 1, true, true)});
    } else {
      // The first base has none before it.
      if (const std::int32_t pair = c_.column(j)[first]; pair < kNone / 2)
        least = std::min(least, pair + stems(s_.codes[j], false, j < last ? s_.codes[j + 1] : -1)[first]);
      least = std::min(least, best(first + 1, j, 0, true, true));
    }
    for (const Quadruplex& one : quadruplexes_.ending(j))
      if (one.i >= first) least = std::min(least, f[one.i - first] + one.energy);
    f[j - first + 1] = least;
    if (j % 1024 == 0) check_interrupt();
  }
}

}  // namespace warploom::fold
