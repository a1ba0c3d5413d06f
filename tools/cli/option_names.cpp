#include "option_names.hpp"

#include <algorithm>
#include <string>

#include "warploom/core/error.hpp"

namespace warploom::tool {

std::string with_option_names(std::string message,
                              std::initializer_list<std::pair<std::string_view, std::string_view>> others) {
  for (std::size_t at = 0; (at = message.find('`', at)) != message.npos; ++at) {
    const std::size_t end = message.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_", at + 1);
    if (end == message.npos || message[end] != '`') continue;
    std::string option = message.substr(at + 1, end - at - 1);
    const auto* other = std::ranges::find(others, option, [](const auto& entry) { return entry.first; });
    std::ranges::replace(option, '_', '-');
    message.replace(at, end + 1 - at, other != others.end() ? std::string(other->second) : "--" + option);
  }
  return message;
}

int with_option_names(const std::function<int()>& run,
                      std::initializer_list<std::pair<std::string_view, std::string_view>> others) {
  try {
    return run();
  } catch (const BadInput& error) {
    throw BadInput(with_option_names(error.what(), others));
  }
}

}  // namespace warploom::tool
