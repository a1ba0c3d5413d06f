#include <fmt/format.h>

#include <vector>

#include "fold/fill.hpp"
#include "warploom/core/error.hpp"
#include "warploom/core/progress.hpp"

namespace warploom::fold {
namespace {

/// Finds again where each energy came from; of several ways the first.
class Tracer {
 public:
  Tracer(const Bases& s, const Loops& loops, const Matrices& x, const Extras& extras, std::int64_t first,
         std::int64_t last, const std::vector<std::int32_t>& f)
      : s_(s),
        loops_(loops),
        x_(x),
        extras_(extras),
        first_(first),
        last_(last),
        f_(f),
        structure_(static_cast<std::size_t>(last - first + 1), '.') {}

  std::string trace(const Circle* circle) {
    if (circle != nullptr)
      open_ = circle->parts;
    else
      exterior();
    while (!open_.empty()) {
      const Part part = open_.back();
      open_.pop_back();
      check_interrupt();
      if (part.multi)
        multi(part.i, part.j);
      else
        pair(part.i, part.j);
    }
    return std::move(structure_);
  }

 private:
  int type(std::int64_t i, std::int64_t j) const { return loops_.pair(s_.codes[i], s_.codes[j]); }
  std::int32_t c(std::int64_t i, std::int64_t j) const { return x_.c.at(i, j); }
  std::int32_t m(std::int64_t i, std::int64_t j) const { return x_.m.at(i, j); }

  [[noreturn]] void lost(const char* what, std::int64_t i, std::int64_t j) const {
    throw Internal(fmt::format("the way to the energy of {} of bases {} to {} is lost", what, i, j));
  }

  /// Whether (i, j) is a stem outside of all pairs with `before` and `behind` bases that count for it alone.
  bool ends_in(std::int64_t i, std::int64_t j, int before, int behind, std::int32_t energy) const {
    if (i - first_ < before || j - i <= kMinHairpin || c(i, j) >= kNone) return false;
    const bool once = loops_.bases_count_once();
    const bool left = once ? before > 0 : i > first_, right = once ? behind > 0 : j < last_;
    return energy ==
           f_[i - first_ - before] + c(i, j) +
               loops_.exterior_stem(type(i, j), left ? s_.codes[i - 1] : -1, right ? s_.codes[j + 1] : -1);
  }

  void quadruplex(std::int64_t i, std::int64_t j) {
    const std::int32_t least = x_.quadruplexes.at(i, j);
    x_.quadruplexes.shapes(i, j, [&](const QuadruplexShape& shape, std::int32_t energy) {
      QuadruplexShape placed = shape;
      placed.i -= first_ - 1;
      if (energy == least) draw(placed, true, structure_);
      return energy != least;
    });
  }

  /// Whether a loop around a quadruplex gives the energy; then that is drawn.
  bool around_quadruplex(std::int64_t i, std::int64_t j, std::int32_t energy) {
    for (std::int64_t right = 0; right <= kMaxLoop && right < j - i; ++right)
      for (const Quadruplex& one : x_.quadruplexes.ending(j - 1 - right)) {
        const std::int64_t left = one.i - i - 1;
        if (left < 0 || left + right > kMaxLoop) continue;
        if (energy != one.energy + loops_.around_quadruplex(s_, i, j, left, right)) continue;
        quadruplex(one.i, j - 1 - right);
        return true;
      }
    return false;
  }

  void exterior() {
    const int most = loops_.bases_count_once() ? 1 : 0;
    std::int64_t j = last_;
    while (j >= first_) {
      const std::int32_t energy = f_[j - first_ + 1];
      if (energy == f_[j - first_]) {
        --j;
        continue;
      }
      const std::int64_t end = j;
      for (const Quadruplex& one : x_.quadruplexes.ending(end))
        if (j == end && one.i >= first_ && energy == f_[one.i - first_] + one.energy)
          quadruplex(one.i, end), j = one.i - 1;
      for (std::int64_t i = first_; i < end - kMinHairpin && j == end; ++i)
        for (int before = 0; before <= most; ++before)
          for (int behind = 0; behind <= most; ++behind)
            if (j == end && ends_in(i, end - behind, before, behind, energy)) {
              open_.push_back({i, end - behind, false});
              j = i - 1 - before;
            }
      if (j == end) lost("the end", first_, j);
    }
  }

  void pair(std::int64_t i, std::int64_t j) {
    std::int32_t energy = c(i, j);
    // Without lonely pairs C(i, j) is a stack on a pair that may be followed by anything; its energy is what
    // is left.
    bool stacks = !loops_.lonely_pairs();
    while (true) {
      structure_[i - first_] = '(', structure_[j - first_] = ')';
      const bool stack = stacks || (!loops_.lonely_pairs() && energy == c(i, j));
      energy -= extras_.pair(i, j);
      if (stack) {
        energy -= loops_.interior(s_, i, j, i + 1, j - 1);
        ++i, --j;
        stacks = false;
        continue;
      }
      if (energy == loops_.hairpin(s_, i, j)) return;
      if (interior(i, j, energy)) {
        energy = c(i, j);
        stacks = !loops_.lonely_pairs();
        continue;
      }
      if (multiloop(i, j, energy) || around_quadruplex(i, j, energy)) return;
      lost("a pair", i, j);
    }
  }

  /// Whether a multiloop closed by (i, j) gives the energy; then its parts are open.
  bool multiloop(std::int64_t i, std::int64_t j, std::int32_t energy) {
    const int most = loops_.bases_count_once() ? 1 : 0, pair = type(i, j);
    for (int behind = 0; behind <= most; ++behind)
      for (int before = 0; before <= most; ++before) {
        const bool all = most == 0;
        const std::int32_t closing = (behind + before) * loops_.multi_base() +
                                     loops_.multi_closing(pair, all || before > 0 ? s_.codes[j - 1] : -1,
                                                          all || behind > 0 ? s_.codes[i + 1] : -1);
        if (split(i + 1 + behind, j - 1 - before, energy - closing)) return true;
      }
    if (!loops_.coaxial() || !loops_.closes(pair)) return false;
    for (std::int64_t k = i + 1; k < j - 1; ++k) {
      const std::int32_t first = loops_.coaxial_closing(pair, type(k, i + 1)),
                         last = loops_.coaxial_closing(pair, type(j - 1, k + 1));
      if (c(i + 1, k) < kNone && m(k + 1, j - 1) < kNone && energy == first + c(i + 1, k) + m(k + 1, j - 1)) {
        open_.push_back({i + 1, k, false});
        open_.push_back({k + 1, j - 1, true});
        return true;
      }
      if (m(i + 1, k) < kNone && c(k + 1, j - 1) < kNone && energy == last + m(i + 1, k) + c(k + 1, j - 1)) {
        open_.push_back({i + 1, k, true});
        open_.push_back({k + 1, j - 1, false});
        return true;
      }
    }
    return false;
  }

  /// Whether two multiloops side by side give the energy; then they are open.
  bool split(std::int64_t i, std::int64_t j, std::int32_t energy) {
    for (std::int64_t k = i + kMinHairpin + 1; k < j - kMinHairpin; ++k)
      if (m(i, k) < kNone && m(k + 1, j) < kNone && energy == m(i, k) + m(k + 1, j)) {
        open_.push_back({i, k, true});
        open_.push_back({k + 1, j, true});
        return true;
      }
    return false;
  }

  /// Whether an interior loop gives the energy; then i and j become its inner pair.
  bool interior(std::int64_t& i, std::int64_t& j, std::int32_t energy) const {
    for (std::int64_t left = 0; left <= kMaxLoop && i + left + 1 < j; ++left)
      for (std::int64_t right = 0; left + right <= kMaxLoop; ++right) {
        const std::int64_t p = i + 1 + left, q = j - 1 - right;
        if (q - p <= kMinHairpin) break;
        if (c(p, q) < kNone && energy == loops_.interior(s_, i, j, p, q) + c(p, q)) {
          i = p, j = q;
          return true;
        }
      }
    return false;
  }

  void multi(std::int64_t i, std::int64_t j) {
    const std::int32_t energy = m(i, j), b = loops_.multi_base();
    if (m(i, j - 1) < kNone && energy == m(i, j - 1) + b) return open_.push_back({i, j - 1, true});
    if (m(i + 1, j) < kNone && energy == m(i + 1, j) + b) return open_.push_back({i + 1, j, true});
    if (const std::int32_t one = x_.quadruplexes.at(i, j);
        one < kNone / 2 && energy == one + loops_.quadruplex_stem())
      return quadruplex(i, j);
    const int most = loops_.bases_count_once() ? 1 : 0;
    for (int before = 0; before <= most; ++before)
      for (int behind = 0; behind <= most; ++behind) {
        const std::int64_t p = i + before, q = j - behind;
        const bool all = most == 0;
        if (c(p, q) < kNone &&
            energy == c(p, q) + (before + behind) * b +
                          loops_.multi_stem(type(p, q), all || before > 0 ? s_.codes[p - 1] : -1,
                                            all || behind > 0 ? s_.codes[q + 1] : -1))
          return open_.push_back({p, q, false});
      }
    if (split(i, j, energy)) return;
    if (loops_.coaxial())
      for (std::int64_t k = i + kMinHairpin + 1; k < j - kMinHairpin; ++k)
        if (c(i, k) < kNone && c(k + 1, j) < kNone &&
            energy == c(i, k) + c(k + 1, j) + loops_.coaxial_stems(type(k, i), type(j, k + 1))) {
          open_.push_back({i, k, false});
          return open_.push_back({k + 1, j, false});
        }
    lost("a multiloop", i, j);
  }

  const Bases& s_;
  const Loops& loops_;
  const Matrices& x_;
  const Extras& extras_;
  std::int64_t first_, last_;
  const std::vector<std::int32_t>& f_;
  std::string structure_;
  std::vector<Part> open_ = {};
};

}  // namespace

std::string trace(const Bases& s, const Loops& loops, const Matrices& matrices, const Extras& extras,
                  const Circle* circle) {
  return Tracer(s, loops, matrices, extras, 1, s.size(), matrices.f).trace(circle);
}

std::string trace(const Bases& s, const Loops& loops, const Matrices& matrices, const Extras& extras,
                  std::int64_t first, std::int64_t last, const std::vector<std::int32_t>& f) {
  return Tracer(s, loops, matrices, extras, first, last, f).trace(nullptr);
}

}  // namespace warploom::fold
