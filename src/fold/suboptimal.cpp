#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <new>
#include <optional>

#include "fold/fill.hpp"
#include "warploom/core/error.hpp"
#include "warploom/core/memory.hpp"
#include "warploom/core/progress.hpp"

namespace warploom::fold {
namespace {

/// Goes through every way to an energy within the limit; each structure has one way. What is open is a list
/// whose parts have known least energies, so that no step leads nowhere. Steps that are still to be tried lie
/// on a stack of their own: a helix may have any number of pairs.
class Structures {
 public:
  Structures(const Bases& s, const Loops& loops, const Matrices& x, const Extras& extras, const Marks& marks,
             std::int32_t limit, const std::function<bool(const Folding&)>& take)
      : s_(s),
        loops_(loops),
        x_(x),
        extras_(extras),
        marks_(marks),
        limit_(limit),
        take_(take),
        two_(s.size()),
        folding_{} {
    folding_.structure.assign(static_cast<std::size_t>(s.size()), '.');
    fill_two();
  }

  std::int64_t count() {
    levels_.push_back({.first_step = 0, .parts = 0, .rest = kNothing});
    if (loops_.circular())
      circle();
    else
      step(x_.f.back(), {{Kind::ends, 1, s_.size()}});
    while (!levels_.empty()) {
      const Level& level = levels_.back();
      parts_.resize(level.parts);
      if (steps_.size() > level.first_step) {
        const Step next = steps_.back();
        steps_.pop_back();
        if (!descend(next, level.rest)) break;
      } else {
        if (level.i > 0) draw(level.i, level.j, '.', '.');
        levels_.pop_back();
      }
    }
    return count_;
  }

 private:
  /// ends: outside of all pairs; one, two: that many stems of a multiloop, or more; inner_pair: a pair of
  /// a helix behind its first, where none is lonely
  enum class Kind { ends, pair, inner_pair, one, two };
  struct Open {
    Kind kind;
    std::int64_t i, j;
  };
  static constexpr std::size_t kNothing = static_cast<std::size_t>(-1);
  struct Part {
    Open open;
    std::size_t next;  // in parts_
  };
  /// What one part may become, and the least energy of the whole then.
  struct Step {
    std::int32_t energy;
    int count;
    Open open[2];
  };
  /// A part that is being tried: its steps, what is open besides, the pair that it has drawn.
  struct Level {
    std::size_t first_step, parts, rest;
    std::int64_t i = 0, j = 0;
  };

  int type(std::int64_t i, std::int64_t j) const { return loops_.pair(s_.codes[i], s_.codes[j]); }
  std::int32_t c(std::int64_t i, std::int64_t j) const { return x_.c.at(i, j); }
  std::int32_t m(std::int64_t i, std::int64_t j) const { return x_.m.at(i, j); }
  std::int32_t stem(std::int64_t i, std::int64_t j) const {
    return c(i, j) + loops_.multi_stem(type(i, j), s_.codes[i - 1], s_.codes[j + 1]);
  }
  void draw(std::int64_t i, std::int64_t j, char first, char second) {
    folding_.structure[static_cast<std::size_t>(i - 1)] = first;
    folding_.structure[static_cast<std::size_t>(j - 1)] = second;
  }

  /// M2(i, j), two or more stems.
  void fill_two() {
    for (std::int64_t j = 1; j <= s_.size(); ++j) {
      std::int32_t* column = two_.column(j);
      for (std::int64_t i = 1; i <= j; ++i)
        column[i] = j > 1 && i < j && two_.column(j - 1)[i] < kNone / 2
                        ? two_.column(j - 1)[i] + loops_.multi_base()
                        : kNone;
      for (std::int64_t k = 1; k < j - kMinHairpin; ++k) {
        if (c(k, j) >= kNone / 2) continue;
        const std::int32_t last = stem(k, j);
        const std::int32_t* before = x_.m.column(k - 1);
        for (std::int64_t i = 1; i < k - 1 - kMinHairpin; ++i)
          if (before[i] < kNone / 2) column[i] = std::min(column[i], before[i] + last);
      }
      if (j % 64 == 0) check_interrupt();
    }
  }

  /// @param energy  the least that what is open and done can have
  void step(std::int32_t energy, std::initializer_list<Open> open) {
    if (energy > limit_) return;
    Step next{energy, 0, {}};
    for (const Open& part : open) next.open[next.count++] = part;
    steps_.push_back(next);
  }

  /// @param rest  what is open besides. @return whether to go on
  bool descend(const Step& next, std::size_t rest) {
    for (int k = next.count - 1; k >= 0; --k) {
      parts_.push_back({next.open[k], rest});
      rest = parts_.size() - 1;
    }
    if (++tried_ % 1024 == 0) check_interrupt();
    if (rest == kNothing) return taken(next.energy);
    const Part part = parts_[rest];
    const Open& open = part.open;
    Level level{.first_step = steps_.size(), .parts = parts_.size(), .rest = part.next};
    switch (open.kind) {
      case Kind::ends:
        ends(open.j, next.energy);
        break;
      case Kind::pair:
      case Kind::inner_pair:
        level.i = open.i, level.j = open.j;
        draw(open.i, open.j, '(', ')');
        pair(open.i, open.j, open.kind == Kind::pair && !loops_.lonely_pairs(), next.energy);
        break;
      case Kind::one:
        one(open.i, open.j, next.energy);
        break;
      case Kind::two:
        two(open.i, open.j, next.energy);
        break;
    }
    levels_.push_back(level);
    return true;
  }

  /// Whether to go on.
  bool taken(std::int32_t energy) {
    for (std::size_t k = 1; k + 1 < marks_.forced.size(); ++k)
      if (marks_.forced[k] && folding_.structure[k - 1] == '.') return true;
    folding_.energy = energy + extras_.offset();
    ++count_;
    return take_(folding_);
  }

  void ends(std::int64_t j, std::int32_t energy) {
    const std::int32_t rest = energy - x_.f[j];
    if (j == 0) return step(rest, {});
    step(rest + x_.f[j - 1], {{Kind::ends, 1, j - 1}});
    for (std::int64_t i = 1; i < j - kMinHairpin; ++i)
      if (c(i, j) < kNone / 2)
        step(rest + x_.f[i - 1] + c(i, j) +
                 loops_.exterior_stem(type(i, j), i > 1 ? s_.codes[i - 1] : -1,
                                      j < s_.size() ? s_.codes[j + 1] : -1),
             {{Kind::pair, i, j}, {Kind::ends, 1, i - 1}});
  }

  /// The loop that joins the ends of a circle: a few stems, or the last of three or more, which ends at j.
  void circle() {
    close_circle_by_few(
        s_, loops_, x_, limit_, [&](std::int32_t energy, const std::vector<fold::Part>& stems) {
          const auto open = [&](std::size_t k) { return Open{Kind::pair, stems[k].i, stems[k].j}; };
          if (stems.empty())
            step(energy, {});
          else if (stems.size() == 1)
            step(energy, {open(0)});
          else
            step(energy, {open(0), open(1)});
        });
    const std::int64_t n = s_.size();
    for (std::int64_t j = 1; j <= n; ++j)
      for (std::int64_t k = 2; k < j - kMinHairpin; ++k)
        if (c(k, j) < kNone / 2 && two(1, k - 1) < kNone / 2)
          step(two(1, k - 1) + stem(k, j) + static_cast<std::int32_t>(n - j) * loops_.multi_base() +
                   loops_.numbers().multi_closing,
               {{Kind::pair, k, j}, {Kind::two, 1, k - 1}});
  }

  /// @param stacks  without lonely pairs: the pair is the first of its helix, and stacks on the next
  void pair(std::int64_t i, std::int64_t j, bool stacks, std::int32_t energy) {
    const bool inner = !loops_.lonely_pairs() && !stacks;
    // What the pair has alone: C(i, j), or without lonely pairs within a helix what C(i - 1, j + 1) leaves.
    const std::int32_t least =
        inner ? c(i - 1, j + 1) - extras_.pair(i - 1, j + 1) - loops_.interior(s_, i - 1, j + 1, i, j)
              : c(i, j);
    const std::int32_t rest = energy - least + extras_.pair(i, j);
    if (!stacks) {
      if (const std::int32_t hairpin = loops_.hairpin(s_, i, j); hairpin < kNone / 2)
        step(rest + hairpin, {});
      if (j - i > 3 && loops_.closes(type(i, j)))
        if (const std::int32_t inside = two(i + 1, j - 1); inside < kNone / 2)
          step(rest + inside + loops_.multi_closing(type(i, j), s_.codes[j - 1], s_.codes[i + 1]),
               {{Kind::two, i + 1, j - 1}});
    }
    for (std::int64_t left = 0; left <= kMaxLoop; ++left)
      for (std::int64_t right = 0; left + right <= kMaxLoop; ++right) {
        const std::int64_t p = i + 1 + left, q = j - 1 - right;
        if (q - p <= kMinHairpin) break;
        const bool stack = left + right == 0;
        if (stacks && !stack) return;
        if (type(p, q) == 0) continue;
        const std::int32_t loop = loops_.interior(s_, i, j, p, q);
        if (loop >= kNone / 2) continue;
        if (stack && !loops_.lonely_pairs()) {
          // c(i, j) is none where the next pair is not possible.
          if (c(i, j) < kNone / 2) step(rest + c(i, j) - extras_.pair(i, j), {{Kind::inner_pair, p, q}});
        } else if (c(p, q) < kNone / 2) {
          step(rest + loop + c(p, q), {{Kind::pair, p, q}});
        }
      }
  }

  std::int32_t two(std::int64_t i, std::int64_t j) const { return i <= j ? two_.at(i, j) : kNone; }

  /// The last stem ends at j, or before.
  void one(std::int64_t i, std::int64_t j, std::int32_t energy) {
    const std::int32_t rest = energy - m(i, j), b = loops_.multi_base();
    if (m(i, j - 1) < kNone / 2) step(rest + b + m(i, j - 1), {{Kind::one, i, j - 1}});
    for (std::int64_t k = i; k < j - kMinHairpin; ++k) {
      if (c(k, j) >= kNone / 2) continue;
      const std::int32_t last = rest + stem(k, j);
      step(last + static_cast<std::int32_t>(k - i) * b, {{Kind::pair, k, j}});
      if (m(i, k - 1) < kNone / 2) step(last + m(i, k - 1), {{Kind::pair, k, j}, {Kind::one, i, k - 1}});
    }
  }

  void two(std::int64_t i, std::int64_t j, std::int32_t energy) {
    const std::int32_t rest = energy - two(i, j), b = loops_.multi_base();
    if (two(i, j - 1) < kNone / 2) step(rest + b + two(i, j - 1), {{Kind::two, i, j - 1}});
    for (std::int64_t k = i + kMinHairpin + 2; k < j - kMinHairpin; ++k)
      if (c(k, j) < kNone / 2 && m(i, k - 1) < kNone / 2)
        step(rest + stem(k, j) + m(i, k - 1), {{Kind::pair, k, j}, {Kind::one, i, k - 1}});
  }

  const Bases& s_;
  const Loops& loops_;
  const Matrices& x_;
  const Extras& extras_;
  const Marks& marks_;
  std::int32_t limit_;
  const std::function<bool(const Folding&)>& take_;
  Triangle two_;
  Folding folding_;
  std::vector<Step> steps_ = {};
  std::vector<Part> parts_ = {};
  std::vector<Level> levels_ = {};
  std::int64_t count_ = 0, tried_ = 0;
};

}  // namespace

std::int64_t suboptimal(std::string_view sequence, std::int32_t delta,
                        const std::function<bool(const Folding&)>& take, const Model& model, const Run& run,
                        std::string_view constraint) {
  const DeviceScope scope(run, "suboptimal structures", false);
  if (!take) throw BadInput("suboptimal structures: nobody takes them");
  if (delta < 0 || delta > kMostDelta)
    throw BadInput(fmt::format("structures within {} kcal/mol of the least energy; it is 0 to {}",
                               delta / 100., kMostDelta / 100));
  if (model.dangles % 2 == 1)
    throw BadInput(fmt::format("suboptimal structures with dangles {}; they are there with dangles 0 and 2",
                               model.dangles));
  if (model.quadruplexes) throw BadInput("suboptimal structures with quadruplexes; they are there without");
  const Loops loops(model);
  const LoopTables tables(loops);
  const Bases s = bases_of(sequence, loops);
  const Marks marks = marks_of(s, constraint, loops);
  const Extras extras(s, loops, marks.forced);
  check_range(s.size(), loops);
  try {
    const std::uint64_t bytes = bytes_to_fold(s.size()) / 2 * 3;
    if (s.size() > 1000) require_memory(bytes, fmt::format("suboptimal structures of {} bases", s.size()));
    const Matrices matrices = fill(s, tables, marks, extras);
    const std::optional<Circle> circle =
        loops.circular() ? std::optional(close_circle(s, loops, matrices)) : std::nullopt;
    if (!marks.forced.empty())
      check_forced(marks, trace(s, loops, matrices, extras, circle ? &*circle : nullptr), extras);
    const std::int32_t least = circle ? circle->energy : matrices.f.back();
    return Structures(s, loops, matrices, extras, marks, least + delta, take).count();
  } catch (const std::bad_alloc&) {
    throw OutOfMemory(
        fmt::format("suboptimal structures of {} bases take more memory than there is", s.size()));
  }
}

}  // namespace warploom::fold
