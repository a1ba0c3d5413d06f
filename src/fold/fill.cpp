#include "fold/fill.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <limits>
#include <new>
#include <optional>
#include <thread>
#include <utility>

#include "core/instruction_sets.hpp"
#include "fold/ends.hpp"
#include "warploom/core/error.hpp"
#include "warploom/core/progress.hpp"
#include "warploom/core/threads.hpp"

namespace warploom::fold {
namespace {

/// The first rows of a strip in one column, which the strip below reads.
struct Boundary {
  std::int32_t c[kHalo], interior[kHalo], interior_1n[kHalo], interior_23[kHalo], end[kHalo];
  std::int32_t generic[kMaxLoop + 1];
  std::int32_t m2[2], m, unrestricted;
};
static_assert(sizeof(Boundary) % sizeof(std::int32_t) == 0);

template <class T>
void fill_none(T& data) {
  std::fill_n(reinterpret_cast<std::int32_t*>(&data), sizeof data / sizeof(std::int32_t), kNone);
}

struct StripRows {
  std::int64_t first;
  int rows;
};

/// What the loops cost whose outer or inner pair is (first + r, j).
void fill_strip(const Bases& s, const Loops& loops, StripRows place, Strip& strip) {
  const Energies& e = loops.numbers();
  const auto base = [&](std::int64_t k) { return k <= s.size() ? s.codes[k] : Base{0}; };
  const bool once = loops.bases_count_once();
  const std::int64_t first = place.first;
  strip.first = first, strip.rows = place.rows;
  const int rows = static_cast<int>(std::min<std::int64_t>(place.rows, s.size() - first + 1));
  bool there[kBases] = {};  // as a base or beside one
  for (std::int64_t k = 0; k < std::ssize(s.codes); ++k) there[s.codes[k]] = true;
  for (int r = 0; r < place.rows; ++r) {
    const std::int64_t i = first + r;
    strip.triple[r] = static_cast<std::uint16_t>((base(i) * 5 + base(i + 1)) * 5 + base(i + 2));
    strip.quad[r] = static_cast<std::uint16_t>(strip.triple[r] * 5 + base(i + 3));
  }
  for (int x = 0; x < kBases; ++x) {
    const Base bj = static_cast<Base>(x);
    if (!there[x]) continue;
    strip.pairings[x] = 0;
    for (int r = 0; r < place.rows; ++r) {
      const int type = r < rows ? loops.pair(base(first + r), bj) : 0;
      strip.end_outside[x][r] = strip.end_inside[x][r] =
          type != 0 && loops.closes(type) ? loops.end(type) : kNone;
      strip.seen[x][r] = static_cast<std::uint8_t>(loops.reversed(type));
      if (type != 0) strip.pairing[x][strip.pairings[x]++] = static_cast<std::uint8_t>(r);
    }
    for (int y = 0; y < kBases; ++y) {
      const Base beside = static_cast<Base>(y);
      if (!there[y]) continue;
      Outside& o = strip.outside[x * kBases + y];
      Inside& in = strip.inside[x * kBases + y];
      fill_none(o), fill_none(in);
      for (int k = 0; k < strip.pairings[x]; ++k) {
        const int r = strip.pairing[x][k];
        const std::int64_t i = first + r;
        const Base before = s.codes[i - 1], behind = base(i + 1);
        const int type = loops.pair(base(i), bj), seen = loops.reversed(type);
        in.stem[r] = once ? loops.multi_stem(type, -1, -1) : loops.multi_stem(type, before, beside);
        if (const int inner = loops.pair(beside, behind); inner != 0) {
          o.stack[r] = e.stack[type][inner];
          if (loops.closes(type) && loops.closes(inner)) o.bulge_right[r] = e.bulge[1] + e.stack[type][inner];
        }
        if (!loops.closes(type)) continue;
        in.interior[r] = e.mismatch_interior[seen][beside][before];
        in.interior_1n[r] = e.mismatch_interior_1n[seen][beside][before];
        in.interior_23[r] = e.mismatch_interior_23[seen][beside][before];
        o.interior[r] = e.mismatch_interior[type][behind][beside];
        o.interior_1n[r] = e.mismatch_interior_1n[type][behind][beside];
        o.interior_23[r] = e.mismatch_interior_23[type][behind][beside];
        o.hairpin[r] = e.mismatch_hairpin[type][behind][beside];
        o.closing[r] = once ? loops.multi_closing(type, -1, -1) : loops.multi_closing(type, beside, behind);
        const int over_one = loops.pair(beside, base(i + 2));
        if (over_one != 0 && loops.closes(over_one)) o.bulge_left[r] = e.bulge[1] + e.stack[type][over_one];
      }
    }
  }
}

void fill_dangling(const Bases& s, const Loops& loops, const Strip& strip, Dangling& d) {
  const auto base = [&](std::int64_t k) { return k <= s.size() ? s.codes[k] : Base{0}; };
  const std::int32_t b = loops.multi_base();
  fill_none(d);
  for (int x = 0; x < kBases; ++x)
    for (int r = 0; r < kRows; ++r) {
      const std::int64_t i = strip.first + r;
      const Base bj = static_cast<Base>(x);
      const int type = loops.pair(base(i), bj), next = loops.pair(base(i + 1), bj);
      for (int y = 0; y < kBases; ++y) {
        Dangling::Closing& closing = d.closing[x * kBases + y];
        Dangling::Stem& stem = d.stem[x * kBases + y];
        if (type != 0) {
          closing.behind[r] = b + loops.multi_closing(type, -1, base(i + 1));
          closing.before[r] = b + loops.multi_closing(type, y, -1);
          closing.both[r] = 2 * b + loops.multi_closing(type, y, base(i + 1));
          stem.behind[r] = b + loops.multi_stem(type, -1, y);
        }
        if (next != 0) {
          stem.before[r] = b + loops.multi_stem(next, base(i), -1);
          stem.both[r] = 2 * b + loops.multi_stem(next, base(i), y);
        }
      }
      if (type != 0) d.is_pair[x][type][r] = 0;
    }
}

/// From the last rows to the first. Of several threads each comes to its next strip when the others are
/// evenly far in theirs, so the last strips have fewer and fewer rows: then all threads end together.
std::vector<StripRows> make_strips(std::int64_t n, int threads) {
  std::vector<StripRows> strips;
  const int steps = n > 4 * kRows ? threads : 1;
  for (std::int64_t first = 1; first <= n; first += strips.back().rows) {
    const std::int64_t left = (n - first + kBlock) / kBlock * kBlock;
    const int share = static_cast<int>(std::min<std::int64_t>(std::ssize(strips) + 1, steps));
    const std::int64_t rows = std::max(kBlock, kRows * share / steps / kBlock * kBlock);
    strips.push_back({first, static_cast<int>(std::min(rows, left))});
  }
  std::ranges::reverse(strips);
  return strips;
}

}  // namespace

struct Refill::Kept {
  /// Of these columns, all that strips go on from.
  static constexpr std::int64_t kEvery = 64;

  Kept(const Bases& s, const Loops& loops)
      : strips(make_strips(s.size(), static_cast<int>(threads()))), n(s.size()), circular(loops.circular()) {}

  std::vector<StripRows> strips;
  std::int64_t n;
  bool circular;
  std::vector<std::unique_ptr<Boundary[]>> boundaries;             ///< that a strip hands down, by column
  std::vector<std::vector<std::unique_ptr<const Recent>>> recent;  ///< of a strip, by column / kEvery
  std::vector<std::vector<Candidate>> candidates;                  ///< by column

  // A cell (i, j) sees the bases from i - 1 to j + 1: those beside stems. In a circle the first base lies
  // beside the last, so that all rows or all columns have a cell that sees one of them.
  bool joins_ends(std::int64_t position) const { return circular && (position == 1 || position == n); }

  /// The last of the columns to go on from in which no cell sees a base.
  std::int64_t column_before(std::int64_t position) const {
    return joins_ends(position) ? 0 : std::max<std::int64_t>(0, position - 2) / kEvery * kEvery;
  }
  /// The first strip, from the last rows, of which a cell sees it.
  std::int64_t first_strip(std::int64_t position) const {
    if (joins_ends(position)) return 0;
    return std::ranges::find_if(strips, [&](const StripRows& one) { return one.first <= position + 1; }) -
           strips.begin();
  }
  std::int64_t last_row(std::int64_t position) const {
    const StripRows& one = strips[static_cast<std::size_t>(first_strip(position))];
    return one.first + one.rows - 1;
  }
};

namespace {

class Filling {
 public:
  /// @param cells  the sequence's own, or those of one that differs in one base
  Filling(const Bases& s, const LoopTables& tables, const Marks& marks, const Extras& extras, Matrices cells,
          std::vector<StripRows> strips)
      : s_(s),
        extras_(extras),
        tables_(tables),
        marks_(marks),
        n_(s.size()),
        strips_(std::move(strips)),
        out_(std::move(cells)),
        boundary_(std::make_unique_for_overwrite<Boundary[]>(
            static_cast<std::size_t>(strips_.size() > 1 ? n_ + 1 : 0))),
        candidates_(static_cast<std::size_t>(n_ + 1)),
        near_(static_cast<std::size_t>(n_ + 1)),
        joints_(static_cast<std::size_t>(n_ + 1)),
        done_(strips_.size()),
        hairpins_(static_cast<std::size_t>(n_ + 2 * kRows), kNone),
        progress_("folding", n_ * (n_ + 1) / 2, "cells") {
    // Row r of column j has j - i - 1 unpaired: index n - (j - i - 1), so that rows are neighbours.
    for (std::int64_t size = 7; size < n_; ++size)
      hairpins_[static_cast<std::size_t>(n_ - size)] = tables.loops().hairpin_of(size);
    for (auto& done : done_) done = 0;
    if (const auto& stack = tables.loops().pseudo().stack; !stack.empty()) {
      stack_extra_.resize(static_cast<std::size_t>(n_ + 1 + kRows));
      for (std::int64_t i = 1; i < n_; ++i)
        stack_extra_[i] = stack[static_cast<std::size_t>(i - 1)] + stack[static_cast<std::size_t>(i)];
    }
    first_marks_ = marks.first;
    if (!first_marks_.empty()) first_marks_.resize(static_cast<std::size_t>(n_ + 1 + kRows), -1);
  }

  Matrices run() {
    parallel_for(std::ssize(strips_), [&](std::int64_t k) {
      try {
        strip(k);
      } catch (...) {
        failed_ = true;
        throw;
      }
    });
    return finish();
  }

  Matrices run_and_keep(Refill::Kept& kept) {
    kept.boundaries.resize(strips_.size()), kept.recent.resize(strips_.size());
    keep_ = &kept;
    Matrices out = run();
    kept.candidates = std::move(candidates_);
    return out;
  }

  /// Fills again what sees the base at `position`; all else is there.
  Matrices run_from(const Refill::Kept& kept, std::int64_t position) {
    kept_ = &kept, kept_column_ = kept.column_before(position);
    const std::int64_t begin = kept.first_strip(position);
    for (std::int64_t k = 0; k < begin; ++k) done_[static_cast<std::size_t>(k)] = n_;
    if (begin > 0) {
      const auto above = static_cast<std::size_t>(begin - 1);
      const std::int64_t row = strips_[above].first;
      for (std::int64_t j = std::max(kept_column_, row + kMinHairpin) + 1; j <= n_; ++j) {
        boundary_[static_cast<std::size_t>(j)] = kept.boundaries[above][static_cast<std::size_t>(j)];
        const std::vector<Candidate>& all = kept.candidates[static_cast<std::size_t>(j)];
        const auto end = std::ranges::find_if(all, [&](const Candidate& one) { return one.k < row; });
        candidates_[static_cast<std::size_t>(j)].assign(all.begin(), end);
      }
    }
    for (std::int64_t k = begin; k < std::ssize(strips_); ++k) strip(k);
    return finish();
  }

 private:
  Matrices finish() {
    if (!tables_.loops().circular()) Ends(s_, tables_.loops(), out_).fill({1, n_}, out_.f);
    return std::move(out_);
  }

  /// Waits for the strip above. @return false: it failed
  bool wait_for(std::int64_t above, std::int64_t j) {
    for (int spins = 0; done_[static_cast<std::size_t>(above)].load(std::memory_order_acquire) < j; ++spins) {
      if (failed_.load(std::memory_order_relaxed)) return false;
      if (spins > 64) std::this_thread::yield();
    }
    return true;
  }

  /// Strips are counted from the last rows.
  void strip(std::int64_t k) {
    const StripRows place = strips_[static_cast<std::size_t>(k)];
    const std::int64_t first = place.first;
    struct Work {
      Strip strip;
      Recent recent;
      Filled filled;
    };
    // Kept for the thread's next strip: fresh pages take as long as folding a hundred bases.
    thread_local const std::unique_ptr<Work> work = std::make_unique_for_overwrite<Work>();
    Strip* const strip = &work->strip;
    Recent* const recent = &work->recent;
    Filled* const filled = &work->filled;
    fill_strip(s_, tables_.loops(), place, *strip);
    fill_none(*recent);
    strip->dangling = nullptr;
    std::unique_ptr<Dangling> dangling;
    if (tables_.loops().bases_count_once()) {
      dangling = std::make_unique_for_overwrite<Dangling>();
      fill_dangling(s_, tables_.loops(), *strip, *dangling);
      strip->dangling = dangling.get();
    }
    std::unique_ptr<Joints> joints;
    if (tables_.loops().coaxial()) joints = std::make_unique<Joints>(n_);
    std::int64_t seen = 0;  // the strip above is known to have come so far
    std::int64_t begin = first + kMinHairpin + 1;
    if (kept_ != nullptr && begin <= kept_column_) {
      *recent = *kept_->recent[static_cast<std::size_t>(k)].at(
          static_cast<std::size_t>(kept_column_ / Refill::Kept::kEvery));
      begin = kept_column_ + 1;
    }
    for (std::int64_t j = begin; j <= n_; ++j) {
      if (j > first + place.rows + kMinHairpin && seen < j) {
        if (!wait_for(k - 1, j)) return;
        seen = done_[static_cast<std::size_t>(k - 1)].load(std::memory_order_acquire);
      }
      if (j < seen) fetch(place, j + 1);
      column(*strip, *recent, *filled, joints.get(), j);
      if (keep_ != nullptr) keep(*recent, static_cast<std::size_t>(k), j);
      if (j % kPublish == 0 || j == n_)
        done_[static_cast<std::size_t>(k)].store(j, std::memory_order_release);
      if (j % 256 == 0) check_interrupt();
    }
    done_[static_cast<std::size_t>(k)].store(n_, std::memory_order_release);
    const std::int64_t rows = std::min<std::int64_t>(place.rows, n_ - first + 1);
    progress_.advance(rows * (n_ - first + 1) - rows * (rows - 1) / 2);
  }

  void keep(const Recent& recent, std::size_t k, std::int64_t j) {
    if (strips_[k].first > 1) {
      auto& boundary = keep_->boundaries[k];
      if (boundary == nullptr)
        boundary = std::make_unique_for_overwrite<Boundary[]>(static_cast<std::size_t>(n_ + 1));
      boundary[static_cast<std::size_t>(j)] = boundary_[static_cast<std::size_t>(j)];
    }
    if (j % Refill::Kept::kEvery != 0) return;
    auto& columns = keep_->recent[k];
    columns.resize(static_cast<std::size_t>(n_ / Refill::Kept::kEvery + 1));
    columns[static_cast<std::size_t>(j / Refill::Kept::kEvery)] = std::make_unique<Recent>(recent);
  }

  /// Stems that may stack, as a strip sees them. A stem that another one beats wherever it could be of use is
  /// left out, as with candidates.
  struct Joints {
    explicit Joints(std::int64_t n)
        : own(static_cast<std::size_t>(n + 1)), lists(static_cast<std::size_t>(n + 1)) {}
    std::vector<std::vector<Near>> own;  ///< in the strip's rows, by column
    std::vector<NearList> lists;         ///< the same
    struct First {
      std::int64_t end;
      std::int32_t energy;
    };
    /// Stems from i + 1 to `end` on the pair (i, j) that closes their multiloop, by row of i and by b_j: with
    /// M(end + 1, j - 1) they give C(i,j).
    std::vector<First> first[kRows][kBases];
    Rows best;  ///< the best of these in a column
  };

  /// M between two stems of which the outer one is dropped: stems or nothing.
  std::int32_t between(std::int64_t i, std::int64_t j) const {
    return std::min(out_.m.at(i, j), static_cast<std::int32_t>(j - i + 1) * tables_.loops().multi_base());
  }

  /// The stem (row + 1, j), for the pairs that may close a multiloop with it at their first base.
  void add_first(const Strip& strip, Joints& joints, const Near& stem, std::int64_t j) const {
    const Loops& loops = tables_.loops();
    const std::int64_t row = stem.k - 1 - strip.first;
    if (row < 0) return;
    for (int x = 1; x < kBases; ++x) {
      const int outer = loops.pair(s_.codes[stem.k - 1], static_cast<Base>(x));
      if (outer == 0 || !loops.closes(outer)) continue;
      const std::int32_t energy = stem.energy + loops.coaxial_closing(outer, stem.seen);
      auto& list = joints.first[row][x];
      if (std::none_of(list.rbegin(), list.rend(),
                       [&](const auto& other) { return other.energy + between(other.end + 1, j) <= energy; }))
        list.push_back({j, energy});
    }
  }

  void stack_on_first(const Strip& strip, Joints& joints, std::int64_t j) const {
    const Base bj = s_.codes[j];
    const std::int32_t* m = out_.m.column(j - 1);
    fill_none(joints.best);
    for (int n = 0; n < strip.pairings[bj]; ++n) {
      const int r = strip.pairing[bj][n];
      for (const auto& stem : joints.first[r][bj]) {
        if (stem.end + 1 + kMinHairpin >= j - 1) break;
        if (const std::int32_t rest = m[stem.end + 1]; rest < kNone / 2)
          joints.best[r] = std::min(joints.best[r], stem.energy + rest);
      }
    }
  }

  /// The strip's stems (k, j - 1), for the pairs that may close a multiloop with them at their second base j.
  void stack_on_last(const Joints& joints, std::int64_t j) {
    const Loops& loops = tables_.loops();
    std::vector<Joint>& list = joints_[static_cast<std::size_t>(j)];
    for (const Near& stem : joints.own[static_cast<std::size_t>(j - 1)])
      for (int x = 1; x < kBases; ++x) {
        const int outer = loops.pair(static_cast<Base>(x), s_.codes[j]);
        if (outer == 0 || !loops.closes(outer)) continue;
        const std::int32_t energy = stem.energy + loops.coaxial_closing(outer, stem.seen);
        if (std::none_of(list.rbegin(), list.rend(), [&](const Joint& other) {
              return other.outer == outer && other.energy + between(stem.k, other.k - 1) <= energy;
            }))
          list.push_back({stem.k, energy, outer});
      }
  }

  void column(const Strip& strip, Recent& recent, Filled& filled, Joints* joints, std::int64_t j) {
    const std::size_t slot = static_cast<std::size_t>(j % kColumns);
    const std::int64_t first = strip.first, behind = first + strip.rows;
    // What the strip above has of this column; what is there already is none.
    std::optional<Boundary> above;
    if (j > behind + kMinHairpin) {
      above = boundary_[j];
      std::memcpy(recent.c[slot] + strip.rows, above->c, sizeof above->c);
      std::memcpy(recent.interior[slot] + strip.rows, above->interior, sizeof above->interior);
      std::memcpy(recent.interior_1n[slot] + strip.rows, above->interior_1n, sizeof above->interior_1n);
      std::memcpy(recent.interior_23[slot] + strip.rows, above->interior_23, sizeof above->interior_23);
      std::memcpy(recent.end[slot] + strip.rows, above->end, sizeof above->end);
    }

    std::vector<Candidate>& candidates = candidates_[static_cast<std::size_t>(j)];
    Column c;
    c.j = j;
    c.codes = s_.codes.data();
    c.hairpins = hairpins_.data() + (n_ - (j - first - 1));
    for (int size = 3; size <= 6; ++size) {
      const std::int64_t i = j - size - 1;
      const bool pairs = i >= first && i < behind && tables_.loops().pair(s_.codes[i], s_.codes[j]) != 0;
      c.small_hairpins[size - 3] = pairs ? tables_.loops().hairpin(s_, i, j) : kNone;
    }
    c.m_above = above ? above->m : kNone;
    c.matrix = out_.m.column(0) + first;
    std::vector<Near>& near = near_[static_cast<std::size_t>(j)];
    if (joints != nullptr) {
      stack_on_first(strip, *joints, j);
      stack_on_last(*joints, j);
      c.coaxial = joints->best;
      c.near = {near.data(), static_cast<int>(near.size())};
      c.own_near = joints->lists.data();
      const std::vector<Joint>& last = joints_[static_cast<std::size_t>(j)];
      c.joints = last.data(), c.joint_count = static_cast<int>(last.size());
    }
    c.candidates = candidates.data();
    c.count = static_cast<int>(candidates.size());
    c.first_in_span =
        tables_.loops().max_span() > j || marks_.names_pair(j) ? 0 : j - tables_.loops().max_span() + 1;
    QuadruplexRows quadruplexes;
    if (!out_.quadruplexes.empty() && out_.quadruplexes.rows(first, strip.rows, j, quadruplexes))
      c.quadruplexes = &quadruplexes;
    Rows extra;
    if (!extras_.empty()) {
      std::fill_n(extra, kRows, 0);
      for (int n = 0; n < strip.pairings[s_.codes[j]]; ++n) {
        const int r = strip.pairing[s_.codes[j]][n];
        if (first + r < j) extra[r] = extras_.pair(first + r, j);
      }
      c.extra = extra;
    }
    if (!stack_extra_.empty()) {
      c.stack_extra = stack_extra_.data() + first;
      c.column_stack_extra = stack_extra_[static_cast<std::size_t>(j - 1)];
    }
    if (!first_marks_.empty())
      c.marks = first_marks_.data() + first, c.mark = marks_.second[static_cast<std::size_t>(j)];
    kernels_.column(strip, tables_.small(), tables_.constants(), recent, c, filled);

    const bool has_below = first > 1;
    if (has_below) candidates.insert(candidates.end(), filled.candidates, filled.candidates + filled.count);
    const std::size_t bytes =
        static_cast<std::size_t>(std::min<std::int64_t>(strip.rows, j - first + 1)) * sizeof(std::int32_t);
    std::memcpy(out_.c.column(j) + first, filled.c, bytes);
    std::memcpy(out_.m.column(j) + first, filled.m, bytes);
    if (joints != nullptr) {
      if (!near.empty() && near.back().k == behind) add_first(strip, *joints, near.back(), j);
      std::vector<Near>& own = joints->own[static_cast<std::size_t>(j)];
      own.assign(filled.near, filled.near + filled.near_count);
      for (const Near& stem : own) add_first(strip, *joints, stem, j);
      joints->lists[static_cast<std::size_t>(j)] = {own.data(), static_cast<int>(own.size())};
      near.insert(near.end(), own.begin(), own.end());
    }
    if (has_below) hand_down(recent, slot, boundary_[j]);
    if (!above) return;
    // For this strip's next column.
    for (int u = 4; u <= kMaxLoop; ++u) recent.generic[u][strip.rows] = above->generic[u];
    for (int k = 0; k < 2; ++k) recent.m2[strip.rows + k] = above->m2[k];
    recent.unrestricted[strip.rows] = above->unrestricted;
  }

  /// Asks for what column j reads that the strip above has written: its candidates' M lies all over a long
  /// sequence's matrix.
  void fetch(StripRows place, std::int64_t j) const {
    for (std::size_t k = 0; k < sizeof(Boundary); k += 64)
      __builtin_prefetch(reinterpret_cast<const char*>(&boundary_[j]) + k);
    for (const Candidate& candidate : candidates_[static_cast<std::size_t>(j)])
      for (int r = 0; r < place.rows; r += 16)
        __builtin_prefetch(out_.m.column(candidate.k - 1) + place.first + r);
  }

  /// To the strip below.
  static void hand_down(const Recent& recent, std::size_t slot, Boundary& boundary) {
    std::memcpy(boundary.c, recent.c[slot], sizeof boundary.c);
    std::memcpy(boundary.interior, recent.interior[slot], sizeof boundary.interior);
    std::memcpy(boundary.interior_1n, recent.interior_1n[slot], sizeof boundary.interior_1n);
    std::memcpy(boundary.interior_23, recent.interior_23[slot], sizeof boundary.interior_23);
    std::memcpy(boundary.end, recent.end[slot], sizeof boundary.end);
    for (int u = 0; u <= kMaxLoop; ++u) boundary.generic[u] = recent.generic[u][0];
    boundary.m = recent.m[0], boundary.unrestricted = recent.unrestricted[0];
    for (int k = 0; k < 2; ++k) boundary.m2[k] = recent.m2[k];
  }

  static constexpr std::int64_t kPublish = 8;

  const Bases& s_;
  const Extras& extras_;
  const LoopTables& tables_;
  const Marks& marks_;
  const RowKernels& kernels_ = *WARPLOOM_PICK(row_kernels);
  std::int64_t n_;
  std::vector<StripRows> strips_;
  Matrices out_;
  std::unique_ptr<Boundary[]> boundary_;  // by column
  std::vector<std::vector<Candidate>> candidates_;
  std::vector<std::vector<Near>> near_;     // of a column, in the rows of the strips that are done
  std::vector<std::vector<Joint>> joints_;  // the same
  std::vector<std::atomic<std::int64_t>> done_;
  std::vector<std::int32_t> hairpins_, first_marks_ = {}, stack_extra_ = {};
  std::atomic<bool> failed_ = false;
  Refill::Kept* keep_ = nullptr;        // null: nothing is kept
  const Refill::Kept* kept_ = nullptr;  // null: all is filled
  std::int64_t kept_column_ = 0;
  Progress progress_;
};

/// A column after another, from `begin` on and down to row `rows`.
void copy_cells(const Triangle& from, Triangle& to, std::int64_t begin, std::int64_t n, std::int64_t rows) {
  for (std::int64_t j = begin; j <= n; ++j)
    std::memcpy(to.column(j), from.column(j),
                static_cast<std::size_t>(std::min(j, rows) + 1) * sizeof(std::int32_t));
}

const Marks kNoMarks;

}  // namespace

Matrices fill(const Bases& s, const LoopTables& tables, const Marks& marks, const Extras& extras) {
  return Filling(s, tables, marks, extras, Matrices(s, tables.loops()),
                 make_strips(s.size(), static_cast<int>(threads())))
      .run();
}

Refill::Refill(const Bases& s, const LoopTables& tables, const Extras& extras)
    : tables_(tables),
      n_(s.size()),
      kept_(std::make_unique<Kept>(s, tables.loops())),
      filled_(Filling(s, tables, kNoMarks, extras, Matrices(s, tables.loops()), kept_->strips)
                  .run_and_keep(*kept_)) {}

Refill::~Refill() = default;

std::uint64_t Refill::bytes(std::int64_t n) {
  const auto columns = static_cast<std::uint64_t>(n), strips = columns / kRows + 2;
  return strips * (columns * sizeof(Boundary) + (columns / Kept::kEvery + 1) * sizeof(Recent)) +
         bytes_to_fold(n);
}

Refill::Cells Refill::cells() const {
  Cells out{Triangle(n_), Triangle(n_)};
  copy_cells(filled_.c, out.c, 0, n_, n_);
  copy_cells(filled_.m, out.m, 0, n_, n_);
  return out;
}

void Refill::with(const Bases& s, std::int64_t position, const Extras& extras, Cells& cells,
                  const std::function<void(const Matrices&)>& use) const {
  Matrices x = Filling(s, tables_, kNoMarks, extras,
                       Matrices(s, tables_.loops(), std::move(cells.c), std::move(cells.m)), kept_->strips)
                   .run_from(*kept_, position);
  use(x);
  cells = {std::move(x.c), std::move(x.m)};
  const std::int64_t begin = kept_->column_before(position) + 1, rows = kept_->last_row(position);
  copy_cells(filled_.c, cells.c, begin, n_, rows);
  copy_cells(filled_.m, cells.m, begin, n_, rows);
}

}  // namespace warploom::fold
