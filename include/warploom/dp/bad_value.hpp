#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <utility>

#include "warploom/core/error.hpp"

namespace warploom::dp {

/// A value of a problem cannot be, or there are not as many as there must be. It says which, so that who read
/// them from a file can name the line.
class BadValue : public BadInput {
 public:
  /// @param list   of the values: "dimensions", "p", "q", "polygon"
  /// @param index  of the value, counted as in the message; none if it is of their number
  BadValue(std::string list, std::optional<std::size_t> index, const std::string& message)
      : BadInput(message), list_(std::move(list)), index_(index) {}
  const std::string& list() const { return list_; }
  std::optional<std::size_t> index() const { return index_; }

 private:
  std::string list_;
  std::optional<std::size_t> index_;
};

}  // namespace warploom::dp
