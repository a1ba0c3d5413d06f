#include "verb.hpp"

namespace warploom::tool {

std::vector<Verb> verbs() { return {reuse_verb(), wrap_verb(), check_verb()}; }

}  // namespace warploom::tool
