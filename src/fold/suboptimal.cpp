#include <fmt/format.h>

#include <algorithm>
#include <new>

#include "fold/fill.hpp"
#include "warploom/core/error.hpp"
#include "warploom/core/memory.hpp"
#include "warploom/core/progress.hpp"

namespace warploom::fold {
namespace {

/// Goes through every way to an energy within the limit; each structure has one way. What is open is a list
/// whose parts have known least energies, so that no step leads nowhere.
class Structures {
 public:
  Structures(const Bases& s, const Loops& loops, const Matrices& x, const Extras& extras, std::int32_t limit,
             const std::function<bool(const Folding&)>& take)
      : s_(s), loops_(loops), x_(x), extras_(extras), limit_(limit), take_(take), two_(s.size()), folding_{} {
    folding_.structure.assign(static_cast<std::size_t>(s.size()), '.');
    fill_two();
  }

  std::int64_t count() {
    const Open all{Kind::ends, 1, s_.size(), nullptr};
    go(&all, x_.f.back());
    return count_;
  }

 private:
  enum class Kind { ends, pair, inner_pair, one, two };  ///< one or more, two or more stems of a multiloop
  struct Open {
    Kind kind;
    std::int64_t i, j;
    const Open* next;
  };

  int type(std::int64_t i, std::int64_t j) const { return loops_.pair(s_.codes[i], s_.codes[j]); }
  std::int32_t c(std::int64_t i, std::int64_t j) const { return x_.c.at(i, j); }
  std::int32_t m(std::int64_t i, std::int64_t j) const { return x_.m.at(i, j); }
  std::int32_t stem(std::int64_t i, std::int64_t j) const {
    return c(i, j) + loops_.multi_stem(type(i, j), s_.codes[i - 1], s_.codes[j + 1]);
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
  void go(const Open* open, std::int32_t energy) {
    if (stopped_) return;
    if (open == nullptr) {
      folding_.energy = energy + extras_.offset();
      ++count_;
      if (count_ % 1024 == 0) check_interrupt();
      stopped_ = !take_(folding_);
      return;
    }
    switch (open->kind) {
      case Kind::ends:
        return ends(open->j, open->next, energy);
      case Kind::pair:
        return pair(open->i, open->j, !loops_.lonely_pairs(), open->next, energy);
      case Kind::inner_pair:
        return pair(open->i, open->j, false, open->next, energy);
      case Kind::one:
        return one(open->i, open->j, open->next, energy);
      case Kind::two:
        return two(open->i, open->j, open->next, energy);
    }
  }

  void ends(std::int64_t j, const Open* next, std::int32_t energy) {
    const std::int32_t rest = energy - x_.f[j];
    for (; j > 0; --j) {
      for (std::int64_t i = 1; i < j - kMinHairpin; ++i) {
        if (c(i, j) >= kNone / 2) continue;
        const std::int32_t with = rest + x_.f[i - 1] + c(i, j) +
                                  loops_.exterior_stem(type(i, j), i > 1 ? s_.codes[i - 1] : -1,
                                                       j < s_.size() ? s_.codes[j + 1] : -1);
        if (with > limit_) continue;
        const Open before{Kind::ends, 1, i - 1, next}, here{Kind::pair, i, j, &before};
        go(&here, with);
      }
      if (rest + x_.f[j - 1] > limit_) return;
    }
    go(next, rest);
  }

  /// @param stacks  without lonely pairs: the pair is the first of its helix, and stacks on the next
  void pair(std::int64_t i, std::int64_t j, bool stacks, const Open* next, std::int32_t energy) {
    const bool inner = !loops_.lonely_pairs() && !stacks;
    // What the pair has alone: C(i, j), or without lonely pairs within a helix what C(i - 1, j + 1) leaves.
    const std::int32_t least =
        inner ? c(i - 1, j + 1) - extras_.pair(i - 1, j + 1) - loops_.interior(s_, i - 1, j + 1, i, j)
              : c(i, j);
    const std::int32_t rest = energy - least + extras_.pair(i, j);
    folding_.structure[i - 1] = '(', folding_.structure[j - 1] = ')';
    if (!stacks) {
      if (const std::int32_t hairpin = loops_.hairpin(s_, i, j);
          hairpin < kNone / 2 && rest + hairpin <= limit_)
        go(next, rest + hairpin);
      multiloop(i, j, next, rest);
    }
    for (std::int64_t left = 0; left <= kMaxLoop; ++left)
      for (std::int64_t right = 0; left + right <= kMaxLoop; ++right) {
        const std::int64_t p = i + 1 + left, q = j - 1 - right;
        if (q - p <= kMinHairpin) break;
        const bool stack = left + right == 0;
        if (stacks && !stack) break;
        if (type(p, q) == 0) continue;
        const std::int32_t loop = loops_.interior(s_, i, j, p, q);
        if (loop >= kNone / 2) continue;
        if (stack && !loops_.lonely_pairs()) {
          // c(i, j) is none where the next pair is not possible.
          if (c(i, j) >= kNone / 2) continue;
          const std::int32_t inside = c(i, j) - extras_.pair(i, j);
          if (rest + inside > limit_) continue;
          const Open here{Kind::inner_pair, p, q, next};
          go(&here, rest + inside);
        } else if (c(p, q) < kNone / 2 && rest + loop + c(p, q) <= limit_) {
          const Open here{Kind::pair, p, q, next};
          go(&here, rest + loop + c(p, q));
        }
      }
    folding_.structure[i - 1] = '.', folding_.structure[j - 1] = '.';
  }

  void multiloop(std::int64_t i, std::int64_t j, const Open* next, std::int32_t rest) {
    if (j - i < 3 || !loops_.closes(type(i, j))) return;
    const std::int32_t inside = two_.at(i + 1, j - 1);
    if (inside >= kNone / 2) return;
    const std::int32_t all =
        rest + inside + loops_.multi_closing(type(i, j), s_.codes[j - 1], s_.codes[i + 1]);
    if (all > limit_) return;
    const Open here{Kind::two, i + 1, j - 1, next};
    go(&here, all);
  }

  /// The last stem ends at j, or before.
  void one(std::int64_t i, std::int64_t j, const Open* next, std::int32_t energy) {
    const std::int32_t rest = energy - m(i, j), b = loops_.multi_base();
    std::int32_t unpaired = 0;
    for (std::int64_t end = j; end > i + kMinHairpin; --end, unpaired += b) {
      for (std::int64_t k = i; k < end - kMinHairpin; ++k) {
        if (c(k, end) >= kNone / 2) continue;
        const std::int32_t last = rest + unpaired + stem(k, end);
        const Open here{Kind::pair, k, end, next};
        const std::int32_t alone = last + static_cast<std::int32_t>(k - i) * b;
        if (alone <= limit_) go(&here, alone);
        if (m(i, k - 1) >= kNone / 2 || last + m(i, k - 1) > limit_) continue;
        const Open before{Kind::one, i, k - 1, next}, with{Kind::pair, k, end, &before};
        go(&with, last + m(i, k - 1));
      }
      if (m(i, end - 1) >= kNone / 2 || rest + unpaired + b + m(i, end - 1) > limit_) return;
    }
  }

  void two(std::int64_t i, std::int64_t j, const Open* next, std::int32_t energy) {
    const std::int32_t rest = energy - two_.at(i, j), b = loops_.multi_base();
    std::int32_t unpaired = 0;
    for (std::int64_t end = j; end > i + kMinHairpin; --end, unpaired += b) {
      for (std::int64_t k = i + kMinHairpin + 2; k < end - kMinHairpin; ++k) {
        if (c(k, end) >= kNone / 2 || m(i, k - 1) >= kNone / 2) continue;
        const std::int32_t with = rest + unpaired + stem(k, end) + m(i, k - 1);
        if (with > limit_) continue;
        const Open before{Kind::one, i, k - 1, next}, last{Kind::pair, k, end, &before};
        go(&last, with);
      }
      if (two_.at(i, end - 1) >= kNone / 2 || rest + unpaired + b + two_.at(i, end - 1) > limit_) return;
    }
  }

  const Bases& s_;
  const Loops& loops_;
  const Matrices& x_;
  const Extras& extras_;
  std::int32_t limit_;
  const std::function<bool(const Folding&)>& take_;
  Triangle two_;
  Folding folding_;
  std::int64_t count_ = 0;
  bool stopped_ = false;
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
  if (model.circular || model.dangles % 2 == 1 || model.enforce_constraint || model.quadruplexes)
    throw BadInput(
        "suboptimal structures: of linear sequences, with dangles 0 or 2, with no constraint enforced, without "
        "quadruplexes");
  const Loops loops(model);
  const LoopTables tables(loops);
  const Bases s = bases_of(sequence, loops);
  const Marks marks = marks_of(s, constraint, loops);
  const Extras extras(s, loops, {});
  check_range(s.size(), loops);
  try {
    const std::uint64_t bytes = bytes_to_fold(s.size()) / 2 * 3;
    if (s.size() > 1000) require_memory(bytes, fmt::format("suboptimal structures of {} bases", s.size()));
    const Matrices matrices = fill(s, tables, marks, extras);
    return Structures(s, loops, matrices, extras, matrices.f.back() + delta, take).count();
  } catch (const std::bad_alloc&) {
    throw OutOfMemory(
        fmt::format("suboptimal structures of {} bases take more memory than there is", s.size()));
  }
}

}  // namespace warploom::fold
