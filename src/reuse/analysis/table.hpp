#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "reuse/analysis/evaluate.hpp"
#include "warploom/ptx/ranges.hpp"

/// Kernels that walk a volume by one index guard its quotients and remainders, i / 256 and i % 16, and access
/// by i itself. No linear bound follows from that, but i has few values: for each the comparisons are
/// evaluated, and the least and the greatest address over those that pass are the range.
namespace warploom::reuse {

class Tables {
 public:
  Tables(const Kernel& kernel, ptx::AddressRanges& ranges) : kernel_(kernel), ranges_(ranges) {}

  struct Range {
    bool reached = true;  ///< false: no thread executes the instruction
    std::optional<std::int64_t> least = {}, most = {};
  };
  /// Of an access's address: `linear` is what AddressRanges says of it, and the result is no wider.
  Range narrowed(std::uint32_t instruction, const ptx::AddressRange& linear);
  /// The same without tables.
  Range linear_ends(const ptx::AddressRange& linear) const;
  /// Instructions that indices were looked for in, so far.
  std::uint64_t visits() const { return visits_; }

 private:
  using Linear = ptx::Linear;
  using Column = std::vector<std::uint64_t>;  ///< a register's bits, for each value of the index

  struct Table {
    Linear index;                      ///< terms without a common factor, no constant
    std::int64_t first = 0, rows = 0;  ///< its values
    std::map<std::uint32_t, std::optional<Column>> columns = {};
    std::map<std::uint32_t, std::optional<std::vector<bool>>> comparisons = {};  ///< by instruction
  };
  struct Split {
    std::int64_t factor = 0;  ///< sum = factor * index + constant + functions of it + rest
    std::vector<std::pair<std::uint32_t, std::int64_t>> functions = {};
    Linear rest = {};
  };

  /// Sums of thread indices and of values that are no computation, from which the address and what is
  /// compared are computed.
  std::vector<Linear> indices_of(const Linear& address, const std::vector<ptx::Condition>& conditions);
  Table* table_of(const Linear& index, std::uint32_t instruction);
  Split split(Table& t, const Linear& sum);
  const std::optional<Column>& column(Table& t, std::uint32_t value);
  std::optional<Column> evaluated(Table& t, std::uint32_t value);
  std::optional<Column> computed(Table& t, std::uint32_t instruction, bool comparison_only);
  const std::optional<std::vector<bool>>& compared(Table& t, std::uint32_t instruction);
  unsigned bits_of(std::uint32_t value) const;

  const Kernel& kernel_;
  ptx::AddressRanges& ranges_;
  std::vector<std::unique_ptr<Table>> tables_;
  std::uint64_t cells_ = 0;  ///< evaluated so far
  std::uint64_t visits_ = 0;
};

}  // namespace warploom::reuse
