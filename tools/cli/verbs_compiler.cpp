#include "verb.hpp"
#include "version_text.hpp"

namespace warploom::tool {

std::vector<Verb> verbs() { return {reuse_verb(), wrap_verb(), check_verb()}; }

std::string_view built_commit() { return "unknown"; }

}  // namespace warploom::tool
