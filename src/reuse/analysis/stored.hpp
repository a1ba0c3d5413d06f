#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace warploom::reuse {

/// A set of bytes as disjoint, ascending, non-touching intervals [first, last).
class IntervalSet {
 public:
  using Interval = std::pair<std::int64_t, std::int64_t>;

  IntervalSet() = default;
  /// The union of intervals in any order; n log n.
  explicit IntervalSet(std::vector<Interval> any) {
    std::sort(any.begin(), any.end());
    for (const Interval& i : any) {
      if (i.first >= i.second) continue;
      if (!intervals_.empty() && intervals_.back().second >= i.first)
        intervals_.back().second = std::max(intervals_.back().second, i.second);
      else
        intervals_.push_back(i);
    }
  }
  void add(Interval i) {
    if (i.first >= i.second) return;
    auto first = std::lower_bound(intervals_.begin(), intervals_.end(), i.first,
                                  [](const Interval& a, std::int64_t at) { return a.second < at; });
    auto last = first;
    for (; last != intervals_.end() && last->first <= i.second; ++last) {
      i.first = std::min(i.first, last->first);
      i.second = std::max(i.second, last->second);
    }
    if (first == last)
      intervals_.insert(first, i);
    else
      *first = i, intervals_.erase(first + 1, last);
  }
  IntervalSet intersection(const IntervalSet& other) const {
    IntervalSet both;
    auto a = intervals_.begin(), b = other.intervals_.begin();
    while (a != intervals_.end() && b != other.intervals_.end()) {
      const Interval common{std::max(a->first, b->first), std::min(a->second, b->second)};
      if (common.first < common.second) both.intervals_.push_back(common);
      if (a->second < b->second)
        ++a;
      else
        ++b;
    }
    return both;
  }
  /// The first byte from `at` on that is not in the set.
  std::int64_t run_end(std::int64_t at) const {
    const auto i = std::upper_bound(intervals_.begin(), intervals_.end(), at,
                                    [](std::int64_t x, const Interval& a) { return x < a.second; });
    return i != intervals_.end() && i->first <= at ? i->second : at;
  }
  bool empty() const { return intervals_.empty(); }
  const std::vector<Interval>& intervals() const { return intervals_; }
  bool operator==(const IntervalSet&) const = default;

 private:
  std::vector<Interval> intervals_;
};

/// "The unknown predicate `symbol` is `value`."
struct Literal {
  std::uint32_t symbol = 0;
  bool value = false;
  auto operator<=>(const Literal&) const = default;
};
using Literals = std::vector<Literal>;  ///< ascending; all of them hold

inline Literals with(Literals all, Literal one) {
  const auto at = std::lower_bound(all.begin(), all.end(), one);
  if (at == all.end() || *at != one) all.insert(at, one);
  return all;
}

/// Bytes that are stored for certain, of one object. Those behind an unknown address have offsets from it
/// (`base`; kAbsolute: the object's first byte), those stored under a condition name it.
class Stored {
 public:
  static constexpr std::uint64_t kAbsolute = 1;
  struct Part {
    std::uint64_t base = kAbsolute;
    Literals when;
    IntervalSet bytes;
    bool operator==(const Part&) const = default;
  };

  /// What does not fit into kMaxParts is forgotten, which is safe.
  void add(std::uint64_t base, const Literals& when, const IntervalSet& bytes) {
    if (bytes.empty()) return;
    if (Part* part = find(base, when))
      for (const auto& i : bytes.intervals()) part->bytes.add(i);
    else if (parts_.size() < kMaxParts)
      parts_.push_back({base, when, bytes});
  }
  void add(std::uint64_t base, const Literals& when, IntervalSet::Interval interval) {
    if (Part* part = find(base, when))
      part->bytes.add(interval);
    else if (parts_.size() < kMaxParts)
      parts_.push_back({base, when, IntervalSet({interval})});
  }
  /// The first byte from `at` on that is not stored when `given` holds.
  std::int64_t run_end(std::uint64_t base, const Literals& given, std::int64_t at) const {
    for (const Part& p : parts_)
      if (p.base == base && std::includes(given.begin(), given.end(), p.when.begin(), p.when.end()))
        if (const std::int64_t end = p.bytes.run_end(at); end > at) return end;
    return at;
  }
  /// What is stored on both of two paths; where they differ by `literal` (of `one`; `other` has its
  /// opposite), what is stored on either one remains as stored under it.
  static Stored merged(const Stored& one, const Stored& other, std::optional<Literal> literal) {
    if (one == other) return one;
    Stored result;
    for (const Part& a : one.parts_)
      for (const Part& b : other.parts_)
        if (a.base == b.base) {
          // Stored under both conditions: under their union.
          Literals when;
          std::set_union(a.when.begin(), a.when.end(), b.when.begin(), b.when.end(),
                         std::back_inserter(when));
          if (a.when == b.when || std::includes(a.when.begin(), a.when.end(), b.when.begin(), b.when.end()) ||
              std::includes(b.when.begin(), b.when.end(), a.when.begin(), a.when.end()))
            result.add(a.base, when, a.bytes.intersection(b.bytes));
        }
    if (!literal) return result;
    for (const auto& [from, value] : {std::pair{&one, literal->value}, std::pair{&other, !literal->value}})
      for (const Part& p : from->parts_)
        if (const Part* common = result.find(p.base, p.when); common == nullptr || common->bytes != p.bytes)
          result.add(p.base, with(p.when, {literal->symbol, value}), p.bytes);
    return result;
  }
  const std::vector<Part>& parts() const { return parts_; }
  std::vector<Part>& parts() { return parts_; }
  bool operator==(const Stored&) const = default;

 private:
  static constexpr std::size_t kMaxParts = 24;
  Part* find(std::uint64_t base, const Literals& when) {
    for (Part& p : parts_)
      if (p.base == base && p.when == when) return &p;
    return nullptr;
  }
  std::vector<Part> parts_;
};

}  // namespace warploom::reuse
