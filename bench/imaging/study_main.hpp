#pragma once

/// main() of a study: too few arguments print how to call it and end with 2, an error its message with 1.

#include <fmt/format.h>

#include <exception>

namespace warploom::imaging {

/// @param least  arguments that it needs, the program's name among them
/// @param usage  what follows the program's name
template <class Study>
int study_main(int count, char** arguments, int least, const char* usage, const Study& study) try {
  if (count < least) {
    fmt::print(stderr, "usage: {} {}\n", arguments[0], usage);
    return 2;
  }
  study(count, arguments);
  return 0;
} catch (const std::exception& error) {
  fmt::print(stderr, "{}\n", error.what());
  return 1;
}

}  // namespace warploom::imaging
