#include "fold/constraint.hpp"

#include <fmt/format.h>

#include "warploom/core/error.hpp"

namespace warploom::fold {

// Two bases may pair where they lie in the same region, the bases directly within one pair of the constraint,
// or are that pair, which is a region of its own: so nothing crosses it.
// Such pairs have odd numbers, what lies within them even ones.
Marks marks_of(const Bases& s, std::string_view constraint, const Loops& loops) {
  constexpr std::int32_t kNoFirst = -1, kNoSecond = -2;
  if (constraint.empty()) return {};
  if (static_cast<std::int64_t>(constraint.size()) != s.size())
    throw BadInput(
        fmt::format("the constraint has {} letters, the sequence {}", constraint.size(), s.size()));
  Marks marks;
  marks.first.assign(s.codes.size(), kNoFirst);
  marks.second.assign(s.codes.size(), kNoSecond);
  struct Open {
    std::int64_t at;
    std::int32_t around;  // the region that the pair lies in
  };
  std::vector<Open> open;
  std::int32_t region = 0, regions = 0;
  for (std::int64_t k = 1; k <= s.size(); ++k) {
    const char c = constraint[static_cast<std::size_t>(k - 1)];
    switch (c) {
      case '.':
      case '|':
        marks.first[k] = marks.second[k] = region;
        break;
      case '<':
        marks.first[k] = region;
        break;
      case '>':
        marks.second[k] = region;
        break;
      case 'x':
        break;
      case '(':
        open.push_back({k, region});
        marks.first[k] = ++regions;
        region = ++regions;
        break;
      case ')': {
        if (open.empty()) throw BadInput(fmt::format("the constraint's ')' at {} closes nothing", k));
        const auto [i, around] = open.back();
        open.pop_back();
        if (loops.pair(s.codes[i], s.codes[k]) == 0 || k - i <= kMinHairpin)
          throw BadInput(fmt::format("the constraint pairs bases {} and {}, {} and {}, which cannot pair", i,
                                     k, s.letters[static_cast<std::size_t>(i - 1)],
                                     s.letters[static_cast<std::size_t>(k - 1)]));
        marks.second[k] = marks.first[i];
        region = around;
        break;
      }
      default:
        throw BadInput(fmt::format("the constraint's character {} is '{}'; it has . | x < > ( and )", k, c));
    }
  }
  if (loops.enforces()) {
    marks.forced.assign(s.codes.size(), false);
    for (std::int64_t k = 1; k <= s.size(); ++k) {
      const char c = constraint[static_cast<std::size_t>(k - 1)];
      marks.forced[static_cast<std::size_t>(k)] = c == '|' || c == '(' || c == ')';
    }
  }
  if (!open.empty()) throw BadInput(fmt::format("the constraint's '(' at {} is not closed", open.back().at));
  return marks;
}

Unpaired::Unpaired(std::int64_t n, const std::vector<bool>& forced)
    : next_(static_cast<std::size_t>(n + 2), n + 1), before_(static_cast<std::size_t>(n + 2), 0) {
  for (std::int64_t k = n; k >= 1; --k) next_[k] = forced[static_cast<std::size_t>(k)] ? k : next_[k + 1];
  for (std::int64_t k = 1; k <= n + 1; ++k)
    before_[k] = k > 1 && forced[static_cast<std::size_t>(k - 1)] ? k - 1 : before_[k - 1];
}

void check_forced(const Marks& marks, std::string_view structure, const Extras& extras) {
  for (std::size_t k = 1; k < marks.forced.size() - 1; ++k)
    if (marks.forced[k] && structure[k - 1] == '.')
      throw BadInput(fmt::format(
          "no structure {}pairs all bases that the constraint names: base {} is unpaired in the best",
          static_cast<double>(extras.penalty()) > 1000. * static_cast<double>(structure.size())
              ? ""
              : "was found that ",
          k));
}

}  // namespace warploom::fold
