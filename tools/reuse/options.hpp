#pragma once

#include <memory>
#include <string>

#include "cli/command.hpp"
#include "warploom/reuse/reuse.hpp"

/// The options of `warploom reuse` that choose the rewriting; `warploom wrap` takes the same ones.
namespace warploom::tool {

void add_reuse_options(Command& command, const std::shared_ptr<reuse::Options>& options);

/// The options in $WARPLOOM_REUSE_FLAGS, $WARPLOOM_ONLY and $WARPLOOM_EXCEPT, as wrap uses them.
/// @throws BadInput naming the variable
reuse::Options reuse_options_of_environment();

/// $WARPLOOM_DISABLE is set, and neither empty nor 0: nothing is to be rewritten.
bool rewriting_disabled();

/// Replaces each name in `only` and `except` by the symbols of the kernels in the PTX text that it means:
/// the kernel of that symbol, else those whose C++ declaration contains it.
/// @return names that mean no kernel, which are dropped @throws ParseError
std::vector<std::string> resolve_kernel_names(reuse::Options& options, const std::string& ptx,
                                              const std::string& file);

}  // namespace warploom::tool
