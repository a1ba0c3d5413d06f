#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "warploom/tile/clang.hpp"

namespace warploom::tile {

/// The system headers that a file of C++ begins with: its directives before the first line that is none, up
/// to the last `#include <...>` before an `#include "..."`. @return empty: none, or a condition that is not
/// closed
std::string system_preamble(std::string_view source);

/// Precompiles the preamble, whose declarations `-ast-dump` then leaves out: a file of C++ that includes
/// <vector> and <iostream> takes half the time. @param compiler  the program and its flags
/// @return what to add to the flags; nothing where that is not possible, or the headers are not the system's
std::vector<std::string> precompiled_preamble(const std::vector<std::string>& compiler,
                                              std::string_view source, const std::filesystem::path& place,
                                              const ClangOptions& options);

/// The same of the headers of a processor's instructions, wherever the file, or what it includes, includes
/// them: their tree is 850 MB.
/// @param path  as the compiler is told it
std::vector<std::string> precompiled_intrinsics(const std::vector<std::string>& compiler,
                                                const std::string& path, bool is_cpp,
                                                const std::filesystem::path& place,
                                                const ClangOptions& options);

}  // namespace warploom::tile
