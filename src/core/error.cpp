#include "warploom/core/error.hpp"

#include <fmt/format.h>

namespace warploom {

ParseError::ParseError(TextPosition where, const std::string& what)
    : BadInput(fmt::format("{}:{}:{}: {}", where.file, where.line, where.column, what)),
      where_(std::move(where)) {}

}  // namespace warploom
