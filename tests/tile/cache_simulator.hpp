#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace warploom::tile::test {

/// A set-associative cache that throws out what was used least recently; by default a usual first level.
class CacheSimulator {
 public:
  explicit CacheSimulator(std::uint64_t bytes = 32 << 10, std::uint64_t line = 64, std::uint64_t ways = 8)
      : line_(line), ways_(ways), sets_(bytes / line / ways) {}

  void access(std::uint64_t address) {
    const std::uint64_t line = address / line_;
    std::vector<std::uint64_t>& set = sets_[line % sets_.size()];  // the most recent first
    auto at = std::find(set.begin(), set.end(), line);
    if (at == set.end()) {
      ++misses_;
      if (set.size() == ways_) set.pop_back();
      at = set.insert(set.end(), line);
    }
    std::rotate(set.begin(), at, at + 1);
  }
  std::uint64_t misses() const { return misses_; }

 private:
  std::uint64_t line_, ways_, misses_ = 0;
  std::vector<std::vector<std::uint64_t>> sets_;
};

}  // namespace warploom::tile::test
