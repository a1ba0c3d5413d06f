#include <array>

#include "cli/verb.hpp"
#include "command.hpp"

namespace warploom::tool {
namespace {

std::function<int()> add(Command& command) {
  return command.add_verbs(
      "command", std::array{table_count(), table_dump(), table_query(), table_merge(), table_intersect(),
                            table_subtract(), table_bench(), table_applications()});
}

}  // namespace

Verb table_verb() {
  return {"table", "Count values or k-mers with the parallel hash table, and measure it",
          "warploom table count genome.fa --kmer 21 --canonical --top 20\n"
          "  warploom table bench --batch 2^12..2^18 --search 33,80 --svg throughput.svg\n"
          "  warploom table applications --help\n"
          "Exit codes: 0 done, 2 bad usage or input, or more memory asked for than there is, 130 Ctrl-C.",
          &add};
}

}  // namespace warploom::tool
