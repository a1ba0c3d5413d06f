#include "warploom/core/error.hpp"

#include <fmt/format.h>

namespace warploom {
namespace {

std::string without_ends(std::string text) {
  for (std::size_t at = 0; (at = text.find('\0', at)) != text.npos;) text.replace(at, 1, "\ufffd");
  return text;
}

}  // namespace

Error::Error(const std::string& message) : std::runtime_error(without_ends(message)) {}

ParseError::ParseError(TextPosition where, const std::string& what)
    : BadInput(fmt::format("{}:{}:{}: {}", where.file, where.line, where.column, what)),
      where_(std::move(where)) {}

}  // namespace warploom
