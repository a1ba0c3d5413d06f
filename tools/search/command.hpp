#pragma once

#include "cli/verb.hpp"
#include "options.hpp"

namespace warploom::tool {

/// `warploom search evaluate`: a verb of search's own.
Verb search_evaluate();

/// `warploom search --stream`: standard input until it ends. @return exit code
int search_stream(const SearchSettings& settings);

}  // namespace warploom::tool
