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
  Tracer(const Bases& s, const Loops& loops, const Matrices& x)
      : s_(s), loops_(loops), x_(x), structure_(static_cast<std::size_t>(s.size()), '.') {}

  std::string trace() {
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
  struct Part {
    std::int64_t i, j;
    bool multi;
  };

  int type(std::int64_t i, std::int64_t j) const { return loops_.pair(s_.codes[i], s_.codes[j]); }
  std::int32_t c(std::int64_t i, std::int64_t j) const { return x_.c.at(i, j); }
  std::int32_t m(std::int64_t i, std::int64_t j) const { return x_.m.at(i, j); }

  [[noreturn]] void lost(const char* what, std::int64_t i, std::int64_t j) const {
    throw Internal(fmt::format("the way to the energy of {} of bases {} to {} is lost", what, i, j));
  }

  void exterior() {
    std::int64_t j = s_.size();
    while (j > 0) {
      if (x_.f[j] == x_.f[j - 1]) {
        --j;
        continue;
      }
      std::int64_t i = 1;
      for (; i < j - kMinHairpin; ++i)
        if (c(i, j) < kNone && x_.f[j] == x_.f[i - 1] + c(i, j) +
                                              loops_.exterior_stem(type(i, j), i > 1 ? s_.codes[i - 1] : -1,
                                                                   j < s_.size() ? s_.codes[j + 1] : -1))
          break;
      if (i == j - kMinHairpin) lost("the end", 1, j);
      open_.push_back({i, j, false});
      j = i - 1;
    }
  }

  void pair(std::int64_t i, std::int64_t j) {
    std::int32_t energy = c(i, j);
    // Without lonely pairs C(i, j) is a stack on a pair that may be followed by anything; its energy is what
    // is left.
    bool stacks = !loops_.lonely_pairs();
    while (true) {
      structure_[i - 1] = '(', structure_[j - 1] = ')';
      if (stacks || (!loops_.lonely_pairs() && energy == c(i, j))) {
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
      const std::int32_t closing = loops_.multi_closing(type(i, j), s_.codes[j - 1], s_.codes[i + 1]);
      for (std::int64_t k = i + 1 + kMinHairpin + 1; k < j - 1 - kMinHairpin; ++k)
        if (m(i + 1, k) < kNone && m(k + 1, j - 1) < kNone &&
            energy == closing + m(i + 1, k) + m(k + 1, j - 1)) {
          open_.push_back({i + 1, k, true});
          open_.push_back({k + 1, j - 1, true});
          return;
        }
      lost("a pair", i, j);
    }
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
    if (c(i, j) < kNone &&
        energy == c(i, j) + loops_.multi_stem(type(i, j), s_.codes[i - 1], s_.codes[j + 1]))
      return open_.push_back({i, j, false});
    for (std::int64_t k = i + kMinHairpin + 1; k < j - kMinHairpin; ++k)
      if (m(i, k) < kNone && m(k + 1, j) < kNone && energy == m(i, k) + m(k + 1, j)) {
        open_.push_back({i, k, true});
        return open_.push_back({k + 1, j, true});
      }
    lost("a multiloop", i, j);
  }

  const Bases& s_;
  const Loops& loops_;
  const Matrices& x_;
  std::string structure_;
  std::vector<Part> open_ = {};
};

}  // namespace

std::string trace(const Bases& s, const Loops& loops, const Matrices& matrices) {
  return Tracer(s, loops, matrices).trace();
}

}  // namespace warploom::fold
