#include "fold/pieces.hpp"

#include <algorithm>

#include "fold/partition.hpp"
#include "warploom/core/progress.hpp"

namespace warploom::fold {
namespace {

/// Bases first..last, and the first column whose pairs, and what lies beside them, all begin within them.
struct Piece {
  std::int64_t first, last, zone;
};

std::vector<Piece> pieces_of(std::int64_t n, std::int64_t span) {
  std::vector<Piece> pieces;
  for (std::int64_t first = 1, zone = 1; zone <= n;) {
    const std::int64_t last = std::min(n, first + bases_of_a_piece(span) - 1);
    pieces.push_back({first, last, zone});
    zone = last + 1, first = zone - span;
  }
  return pieces;
}

class Pieces {
 public:
  Pieces(const Bases& s, const LoopTables& tables, const Marks& marks, std::int64_t span)
      : s_(s),
        tables_(tables),
        loops_(tables.loops()),
        marks_(marks),
        span_(span),
        f_(static_cast<std::size_t>(s.size() + 1), 0) {}

  Folding fold(bool structure) {
    const std::vector<Piece> pieces = pieces_of(s_.size(), span_);
    for (const Piece& piece : pieces) with(piece, [&](const Bases&, const Matrices& x) { ends(piece, x); });
    Folding folding{"", f_.back()};
    if (!structure) return folding;
    folding.structure.assign(static_cast<std::size_t>(s_.size()), '.');
    std::int64_t j = s_.size();
    for (auto piece = pieces.rbegin(); piece != pieces.rend(); ++piece) {
      while (j >= piece->zone && f_[j] == f_[j - 1]) --j;
      if (j < piece->zone) continue;
      with(*piece,
           [&](const Bases& s, const Matrices& x) { trace_stems(*piece, s, x, j, folding.structure); });
    }
    return folding;
  }

 private:
  template <class Use>
  void with(const Piece& piece, const Use& use) const {
    Bases s;
    const auto first = static_cast<std::size_t>(piece.first),
               count = static_cast<std::size_t>(piece.last) - first + 1;
    s.letters = s_.letters.substr(first - 1, count);
    s.codes.assign(count + 2, 0);
    std::copy_n(s_.codes.begin() + piece.first, count, s.codes.begin() + 1);
    Marks marks;
    const auto cut = [&](const std::vector<std::int32_t>& from, std::vector<std::int32_t>& to) {
      if (from.empty()) return;
      to.assign(count + 2, 0);
      std::copy_n(from.begin() + piece.first, count, to.begin() + 1);
    };
    cut(marks_.first, marks.first), cut(marks_.second, marks.second);
    use(s, fill(s, tables_, marks, Extras(s, loops_, {})));
    check_interrupt();
  }

  /// Each stem outside of all pairs that ends at j, or before it with j as the base that counts for it, and
  /// the sum with what is best before it, until `take` returns false.
  template <class Take>
  void each_stem(const Piece& piece, const Matrices& x, std::int64_t j, const Take& take) const {
    const int most = loops_.bases_count_once() ? 1 : 0;
    for (int behind = 0; behind <= most; ++behind) {
      const std::int64_t end = j - behind;
      for (std::int64_t i = std::max(piece.first, end - span_ + 1); i < end - kMinHairpin; ++i) {
        const std::int32_t c = x.c.at(i - piece.first + 1, end - piece.first + 1);
        if (c >= kNone / 2) continue;
        for (int before = 0; before <= std::min<std::int64_t>(most, i - 1); ++before) {
          const bool left = most > 0 ? before > 0 : i > 1, right = most > 0 ? behind > 0 : end < s_.size();
          const std::int32_t stem =
              loops_.exterior_stem(loops_.pair(s_.codes[i], s_.codes[end]), left ? s_.codes[i - 1] : -1,
                                   right ? s_.codes[end + 1] : -1);
          if (!take(i, end, i - 1 - before, f_[i - 1 - before] + c + stem)) return;
        }
      }
    }
  }

  void ends(const Piece& piece, const Matrices& x) {
    for (std::int64_t j = piece.zone; j <= piece.last; ++j) {
      std::int32_t least = f_[j - 1];
      each_stem(piece, x, j, [&](std::int64_t, std::int64_t, std::int64_t, std::int32_t energy) {
        least = std::min(least, energy);
        return true;
      });
      f_[j] = least;
    }
  }

  /// From j down to the piece's zone.
  void trace_stems(const Piece& piece, const Bases& s, const Matrices& x, std::int64_t& j,
                   std::string& structure) const {
    Circle stems{0, {}};
    while (j >= piece.zone) {
      if (f_[j] == f_[j - 1]) {
        --j;
        continue;
      }
      each_stem(piece, x, j,
                [&, here = f_[j]](std::int64_t i, std::int64_t end, std::int64_t rest, std::int32_t energy) {
                  if (energy != here) return true;
                  stems.parts.push_back({i - piece.first + 1, end - piece.first + 1, false});
                  j = rest;
                  return false;
                });
    }
    const std::string traced = trace(s, loops_, x, Extras(s, loops_, {}), &stems);
    for (std::size_t k = 0; k < traced.size(); ++k)
      if (traced[k] != '.') structure[static_cast<std::size_t>(piece.first - 1) + k] = traced[k];
  }

  const Bases& s_;
  const LoopTables& tables_;
  const Loops& loops_;
  const Marks& marks_;
  std::int64_t span_;
  std::vector<std::int32_t> f_;  // of the first bases
};

}  // namespace

std::int64_t bases_of_a_piece(std::int64_t span) {
  constexpr std::int64_t kFewest = 512;
  return std::max(2 * span, kFewest);  // fewest cells for each base
}

std::int64_t span_for_pieces(const Bases& s, const Loops& loops, const Marks& marks, const Extras& extras) {
  if (loops.max_span() >= s.size() || loops.circular() || loops.quadruplexes() || !extras.empty() ||
      !loops.pseudo().stack.empty())
    return 0;
  const std::int64_t span = Allowed(s, loops, marks).span();
  return takes_pieces(s.size(), span) ? span : 0;
}

Folding fold_in_pieces(const Bases& s, const LoopTables& tables, const Marks& marks, std::int64_t span,
                       bool structure) {
  return Pieces(s, tables, marks, span).fold(structure);
}

}  // namespace warploom::fold
