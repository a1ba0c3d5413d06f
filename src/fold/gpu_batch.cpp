#include "fold/gpu_batch.hpp"

#include <algorithm>
#include <array>

#include "fold/gpu_special.hpp"

namespace warploom::fold::gpu {
namespace {

OutsideTerms outside_terms(const Loops& loops, Base bj, Base before_j, Base bi, Base behind_i) {
  OutsideTerms o{kNone, kNone, kNone, kNone, kNone, kNone, kNone, 0};
  const int type = loops.pair(bi, bj);
  if (type == 0) return o;
  const Energies& e = loops.numbers();
  o.pairs = 1;
  if (const int inner = loops.pair(before_j, behind_i); inner != 0) o.stack = e.stack[type][inner];
  if (!loops.closes(type)) return o;
  o.interior = e.mismatch_interior[type][behind_i][before_j];
  o.interior_1n = e.mismatch_interior_1n[type][behind_i][before_j];
  o.interior_23 = e.mismatch_interior_23[type][behind_i][before_j];
  o.hairpin = e.mismatch_hairpin[type][behind_i][before_j];
  o.closing = loops.multi_closing(type, before_j, behind_i);
  o.end = loops.end(type);
  return o;
}

InsideTerms inside_terms(const Loops& loops, Base bj, Base behind_j, Base bi, Base before_i) {
  InsideTerms in{kNone, kNone, kNone, kNone, kNone, {}};
  const int type = loops.pair(bi, bj), seen = Loops::reversed(type);
  if (type == 0) return in;
  const Energies& e = loops.numbers();
  in.stem = loops.multi_stem(type, before_i, behind_j);
  if (!loops.closes(type)) return in;
  in.interior = e.mismatch_interior[seen][behind_j][before_i];
  in.interior_1n = e.mismatch_interior_1n[seen][behind_j][before_i];
  in.interior_23 = e.mismatch_interior_23[seen][behind_j][before_i];
  in.end = loops.end(type);
  return in;
}

std::int32_t bulge_one(const Loops& loops, Base bj, Base bq, Base bi, Base bp) {
  const int outer = loops.pair(bi, bj), inner = loops.pair(bq, bp);
  if (outer == 0 || inner == 0 || !loops.closes(outer) || !loops.closes(inner)) return kNone;
  return loops.numbers().bulge[1] + loops.numbers().stack[outer][inner];
}

/// Twice the most that columns of random sequences were seen to have (33 of 2,000 bases, 145 of 8,000), and
/// more.
std::int32_t candidates_for(std::int64_t n) {
  return n <= 2'000 ? 64 : n <= 8'000 ? 256 : n <= 32'000 ? 1'024 : 4'096;
}

}  // namespace

std::unique_ptr<Tables> make_tables(const LoopTables& tables) {
  const Loops& loops = tables.loops();
  auto t = std::make_unique_for_overwrite<Tables>();
  for (int k = 0; k < kQuads; ++k) {
    const auto digit = [k](int power) { return static_cast<Base>(k / power % kBases); };
    const Base a = digit(125), b = digit(25), c = digit(5), d = digit(1);
    t->outside[k] = outside_terms(loops, a, b, c, d);
    t->inside[k] = inside_terms(loops, a, b, c, d);
    t->bulge_one[k] = bulge_one(loops, a, b, c, d);
  }
  t->small = tables.small();
  put_special_hairpins(loops.numbers(), kNone, *t);
  for (Base i = 0; i < kBases; ++i)
    for (Base j = 0; j < kBases; ++j) {
      const int type = loops.pair(i, j);
      t->hairpin_of_3[i * kBases + j] =
          type != 0 && loops.closes(type) ? loops.numbers().hairpin[3] + loops.end(type) : kNone;
      for (int before = 0; before <= kBases; ++before)
        for (int behind = 0; behind <= kBases; ++behind)
          t->exterior[i][j][before][behind] =
              type == 0
                  ? kNone
                  : loops.exterior_stem(type, before < kBases ? before : -1, behind < kBases ? behind : -1);
    }
  return t;
}

std::vector<std::int32_t> make_hairpins(const LoopTables& tables, std::int64_t longest) {
  std::vector<std::int32_t> all(static_cast<std::size_t>(longest + 1));
  for (std::size_t size = 0; size < all.size(); ++size)
    all[size] = tables.loops().hairpin_of(static_cast<std::int64_t>(size));
  return all;
}

void Layout::add(std::int64_t n) {
  const auto strips = static_cast<std::int32_t>((n + kRows - 1) / kRows);
  const auto number = static_cast<std::int32_t>(sequences.size());
  sequences.push_back({codes, cells, columns, candidates, flags, bases, static_cast<std::int32_t>(n), strips,
                       candidates_for(n)});
  for (std::int32_t strip = 0; strip < strips; ++strip) tasks.push_back({number, strip});
  codes += n + 2;
  cells += cells_of(n);
  if (strips > 1) columns += n + 1, candidates += (n + 1) * candidates_for(n);
  flags += strips;
  bases += n + 1;
  longest = std::max(longest, n);
}

std::vector<Task> Layout::chunks() const {
  std::vector<Task> all = tasks;
  std::ranges::stable_sort(all, {}, &Task::strip);
  return all;
}

std::uint64_t bytes_on_gpu(std::int64_t n) {
  const auto length = static_cast<std::uint64_t>(n);
  const std::uint64_t column =
      n <= kRows ? 0 : sizeof(Handed) + sizeof(Candidate) * static_cast<std::uint64_t>(candidates_for(n)) + 4;
  constexpr std::uint64_t kBase = 1 + 8 + 4 + 8 + 8 + 1;  // code, mark, f, stack, part, structure
  return 2 * sizeof(std::int32_t) * static_cast<std::uint64_t>(cells_of(n)) +
         (column + kBase) * (length + 2) + sizeof(Sequence) + (length / kRows + 1) * (2 * sizeof(Task) + 4) +
         4;
}

void write_codes(std::string_view sequence, std::uint8_t* codes) {
  static constexpr std::array<std::uint8_t, 256> kCodes = [] {
    std::array<std::uint8_t, 256> all = {};
    all.fill(255);
    for (unsigned c = 'A'; c <= 'Z'; ++c) all[c] = all[c + 'a' - 'A'] = 0;
    constexpr std::string_view kLetters = "ACGUT";
    for (std::size_t k = 0; k < kLetters.size(); ++k) {
      const auto c = static_cast<unsigned char>(kLetters[k]);
      all[c] = all[c + 'a' - 'A'] = static_cast<std::uint8_t>(std::min<std::size_t>(k, 3) + 1);
    }
    return all;
  }();
  codes[0] = codes[sequence.size() + 1] = 0;
  std::uint8_t worst = 0;
  for (std::size_t k = 0; k < sequence.size(); ++k) {
    const std::uint8_t code = kCodes[static_cast<unsigned char>(sequence[k])];
    worst = std::max(worst, code);
    codes[k + 1] = code;
  }
  if (worst == 255 || sequence.empty() || sequence.size() > static_cast<std::size_t>(kMostBases))
    bases_of(sequence);  // throws
}

void write_marks(std::string_view sequence, std::string_view constraint, const Loops& loops, Mark* marks) {
  const Marks all = marks_of(bases_of(sequence), constraint, loops);
  for (std::size_t k = 0; k < sequence.size() + 2; ++k)
    marks[k] = all.first.empty() ? Mark{0, 0} : Mark{all.first[k], all.second[k]};
}

}  // namespace warploom::fold::gpu
