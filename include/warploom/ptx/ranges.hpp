#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "warploom/ptx/values.hpp"

/// Which bytes of a shared array an address may reach: proved from thread indices, block size, guards and
/// the bounds of loops.
namespace warploom::ptx {

/// A sum of numbers that are equal in all threads, and a constant: `4 * %ntid.x + 512`.
struct Linear {
  std::vector<std::pair<std::uint32_t, std::int64_t>> terms = {};  ///< (id, factor), ids ascending, none is 0
  std::int64_t constant = 0;
  bool operator==(const Linear&) const = default;
};

/// A number that is equal in all threads and known at launch.
struct Unknown {
  enum Kind : std::uint8_t {
    block_extent,  ///< %ntid of `axis`
    parameter,     ///< the scalar at byte `offset` of parameter `variable`
  } kind = block_extent;
  std::uint8_t axis = 0;
  std::uint8_t bytes = 4;  ///< of a parameter
  std::uint32_t variable = kNone;
  std::uint32_t offset = 0;
  std::int64_t least = 0, most = 0;  ///< taken to lie between these: of a parameter it is an assumption
};

/// Where an address may lie: in shared variable `variable`, from byte `least` to byte `most`, both included.
struct AddressRange {
  std::uint32_t variable = kNone;               ///< kNone: not known
  std::optional<Linear> least = {}, most = {};  ///< none: no bound is proved
  /// All that is proved where bounds are compared with nothing known of them to each other (`n` and
  /// `%ntid.x`); the one above is among them.
  std::vector<Linear> all_least = {}, all_most = {};
  bool assumed = false;  ///< a bound is RangeOptions::assume_parts' word
  Linear sum = {};       ///< its distance from the variable, in terms of AddressRanges
};

/// As an end of the dynamic array: whatever the launch passes.
inline constexpr std::int64_t kOpenEnd = std::int64_t{1} << 30;

/// A comparison (setp) of which it is known how it came out.
struct Condition {
  std::uint32_t instruction = 0;
  bool holds = true;
};

struct RangeOptions {
  std::optional<std::array<std::uint32_t, 3>> block = {};  ///< [threads]; else any that the kernel allows
  /// Bounds may name scalar parameters that enter addresses; each is then assumed to lie between 0 and 2^18,
  /// more than shared memory has bytes.
  bool parameters = false;
  /// With `parameters`: an access of a dynamic array of which a bound is not proved is taken to keep to its
  /// part. Parts begin at the different sums of launch numbers that addresses are made with (`s`,
  /// `s + 4 * n`) and reach to the next one, the last to kOpenEnd.
  bool assume_parts = false;
};

/// The ranges of one kernel's addresses. A register's content is described as an integer which equals its
/// bits modulo 2 to the register's width, so sums and products need no proof against overflow; comparisons,
/// conversions and the like do, and count for nothing where it fails. One thread at a time: of() keeps what
/// it finds.
class AddressRanges {
 public:
  /// `cfg` and `values` are of one function and must outlive this. @throws BadInput (they are not)
  AddressRanges(const Cfg& cfg, const Values& values, const RangeOptions& options = {});
  ~AddressRanges();

  /// Of the address operand of an instruction, for threads that execute it.
  /// Cost: near-linear in the kernel for all its addresses together.
  /// @throws BadInput (no such instruction, or the operand is none of its function)
  AddressRange of(std::uint32_t instruction, std::uint32_t operand);
  /// What a register holds, modulo 2 to its width, as a sum of numbers that differ from thread to thread: the
  /// ids below the count of Values are values that are no such sum, the three next %tid. None: an address.
  std::optional<Linear> sum_of(std::uint32_t value);
  /// Of such a sum, for threads that execute the instruction; .variable is kNone.
  AddressRange bounds(const Linear& sum, std::uint32_t instruction);
  /// What branches passed and the guard say to a thread that executes the instruction. What is compared there
  /// has not changed since: its definition dominates the branch, so it runs no second time behind it.
  std::vector<Condition> conditions(std::uint32_t instruction) const;
  /// Whether a <= b for every block that may be launched and every value of the parameters.
  bool at_most(const Linear& a, const Linear& b) const;
  /// The least and the greatest value over all of these; none beyond 2^40.
  std::optional<std::pair<std::int64_t, std::int64_t>> extremes(const Linear& a) const;
  /// By the ids of Linear::terms. @throws BadInput (no such id)
  const Unknown& unknown(std::uint32_t id) const;
  /// The ids of all numbers known at launch that bounds may name, ascending.
  std::vector<std::uint32_t> unknowns() const;

 private:
  struct Finder;
  std::unique_ptr<Finder> finder_;
};

}  // namespace warploom::ptx
