#pragma once

#include <functional>
#include <initializer_list>
#include <string_view>
#include <utility>

namespace warploom::tool {

/// Runs a verb. Where a module's BadInput names a setting in back quotes, as C++ has it, the message names
/// the option: `b0_threshold` becomes --b0-threshold, and those in `others` become what stands there.
int with_option_names(const std::function<int()>& run,
                      std::initializer_list<std::pair<std::string_view, std::string_view>> others = {});

}  // namespace warploom::tool
