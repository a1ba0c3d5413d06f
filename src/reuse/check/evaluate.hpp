#pragma once

#include <functional>
#include <optional>

#include "reuse/check/kernel.hpp"

/// Concrete evaluation of integer instructions for one thread; what is not known stays unknown.
namespace warploom::reuse::checking {

using Value = std::optional<std::uint64_t>;  ///< bits of an integer register; a predicate is 0 or 1

/// Where the object in question is taken to lie, so that its addresses can be told from numbers.
inline constexpr std::uint64_t kObjectBase = std::uint64_t{1} << 28;

struct ThreadContext {
  std::array<std::uint32_t, 3> index{}, block{};
  /// `block` all 0: of no thread in particular, so that what is known is known of every one.
  std::uint32_t object = 0;  ///< the only one whose addresses are known

  Value special(std::string_view name) const;
};

/// The value that an instruction gives its (single) destination. `read` tells what a register it reads holds.
Value evaluate(const Kernel& k, const ThreadContext& thread, std::uint32_t instruction,
               const std::function<Value(std::uint32_t reg)>& read);
/// The value of one operand; of an address, base plus offset.
Value operand_value(const Kernel& k, const ThreadContext& thread, const ptx::Operand& o,
                    const std::function<Value(std::uint32_t reg)>& read);

}  // namespace warploom::reuse::checking
