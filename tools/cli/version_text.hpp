#pragma once

#include <string>
#include <string_view>

namespace warploom::tool {

/// "warploom 0.1.0" and, if asked, a line each on the commit, the compiler, CUDA, the instruction sets and
/// the GPUs.
std::string version_text(bool with_details);

/// The commit that was configured last. verbs.cpp knows it; what the build itself runs does not, so that a
/// commit does not compile every kernel again.
std::string_view built_commit();

}  // namespace warploom::tool
