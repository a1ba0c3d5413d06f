#pragma once

#include <functional>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

namespace warploom::tool {

/// What a module's error names as a setting in back quotes, as C++ has it, named as the option:
/// `b0_threshold` becomes
/// --b0-threshold, and those in `others` become what stands there. The tool does so with every error.
std::string with_option_names(
    std::string message, std::initializer_list<std::pair<std::string_view, std::string_view>> others = {});
/// Runs a verb whose options have other names than its module's settings.
int with_option_names(const std::function<int()>& run,
                      std::initializer_list<std::pair<std::string_view, std::string_view>> others = {});

}  // namespace warploom::tool
