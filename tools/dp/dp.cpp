#include <array>

#include "cli/verb.hpp"
#include "problem.hpp"

namespace warploom::tool {
namespace {

std::function<int()> add(Command& command) {
  return command.add_verbs("problem",
                           std::array{dp_chain(), dp_search_tree(), dp_polygon(), dp_nussinov(), dp_solve()});
}

}  // namespace

Verb dp_verb() {
  return {
      "dp", "Solve dynamic programs: matrix chains, search trees, triangulations, base pairs, your own",
      "warploom dp nussinov sequences.fa --min-loop 3 -o pairs.txt\n"
      "  warploom dp chain 30 35 15 5 10 20 25\n"
      "  warploom dp polygon --help\n"
      "All are of the form m[i,j] = w(i,j) + best over k of m[i,k] + m[k,j].\n"
      "Tables are text: a row a line, separated by commas, semicolons or blanks; a header line and # comments may stand in them.\n"
      "Exit codes: 0 done, 2 bad usage or input, or more memory asked for than there is, 130 Ctrl-C.",
      &add};
}

}  // namespace warploom::tool
