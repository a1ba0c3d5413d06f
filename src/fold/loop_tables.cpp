#include "fold/fill.hpp"

namespace warploom::fold {
namespace {

/// Digits of base 5.
struct Digits {
  int code;
  Base operator[](int k) const {  // the last base first; constants, so that nothing is divided
    return static_cast<Base>(k == 0 ? code % 5 : k == 1 ? code / 5 % 5 : k == 2 ? code / 25 % 5 : code / 125);
  }
};

}  // namespace

LoopTables::LoopTables(const Loops& loops)
    : loops_(loops), small_(std::make_unique_for_overwrite<SmallLoops>()) {
  const Energies& e = loops.numbers();
  // `right` is b_j b_(j-1) ... b_q, `left` b_i ... b_p.
  const auto of = [&](int right_count, int left_count, int right, int left, auto energy) {
    const Digits r{right}, l{left};
    const auto at_right = [&](int k) { return r[right_count - 1 - k]; };
    const auto at_left = [&](int k) { return l[left_count - 1 - k]; };
    const int inner = loops.pair(at_right(right_count - 1), at_left(left_count - 1));
    if (inner == 0) return kNone;
    const int outer = loops.pair(at_left(0), at_right(0));
    if (outer == 0 || !loops.closes(outer) || !loops.closes(inner)) return kNone;
    return energy(outer, inner, at_left, at_right);
  };
  for (int right = 0; right < kTriples; ++right) {
    for (int left = 0; left < kTriples; ++left)
      small_->one_one[right][left] = of(3, 3, right, left, [&](int outer, int inner, auto l, auto r) {
        return e.int11[outer][inner][l(1)][r(1)];
      });
    for (int left = 0; left < kQuads; ++left)
      small_->two_one[right][left] = of(3, 4, right, left, [&](int outer, int inner, auto l, auto r) {
        return e.int21[inner][outer][r(1)][l(1)][l(2)];
      });
  }
  for (int right = 0; right < kQuads; ++right) {
    for (int left = 0; left < kTriples; ++left)
      small_->one_two[right][left] = of(4, 3, right, left, [&](int outer, int inner, auto l, auto r) {
        return e.int21[outer][inner][l(1)][r(2)][r(1)];
      });
    for (int left = 0; left < kQuads; ++left)
      small_->two_two[right][left] = of(4, 4, right, left, [&](int outer, int inner, auto l, auto r) {
        return e.int22[outer][inner][l(1)][l(2)][r(2)][r(1)];
      });
  }
  for (int u = 0; u <= kMaxLoop; ++u) {
    constants_.bulge[u] = e.bulge[u];
    constants_.interior[u] = e.interior[u];
    constants_.asymmetry[u] = loops.asymmetry(u);
    constants_.one_n[u] = u < 2 ? kNone : e.interior[u] + loops.asymmetry(u - 2);
  }
  constants_.two_three = e.interior[5] + loops.asymmetry(1);
  constants_.multi_base = loops.multi_base();
  constants_.coaxial = loops.coaxial();
  for (int inner = 1; inner < kPairs - 1; ++inner) {
    constants_.coaxial_gain[inner] = loops.coaxial_gain(inner);
    for (int outer = 1; outer < kPairs - 1; ++outer)
      constants_.coaxial_stems[outer][inner] = loops.coaxial_stems(outer, inner);
  }
  constants_.lonely_pairs = loops.lonely_pairs();
}

}  // namespace warploom::fold
