#pragma once

#include <string>

namespace warploom::tool {

/// "warploom 0.1.0" and, if asked, a line each on the commit, the compiler, CUDA, the instruction sets and
/// the GPUs.
std::string version_text(bool with_details);

}  // namespace warploom::tool
