#include <utility>
#include <vector>

#include "table_command.hpp"
#include "verb.hpp"
#include "warploom/core/error.hpp"

namespace warploom::tool {
namespace {

std::function<int()> add(CLI::App& app) {
  app.require_subcommand(0, 1);
  std::vector<std::pair<CLI::App*, std::function<int()>>> actions;
  for (const TableCommand& command : {table_count(), table_bench(), table_applications()}) {
    CLI::App* sub = app.add_subcommand(std::string(command.name), std::string(command.summary));
    sub->fallthrough();  // -v and what is unknown are the verb's
    sub->footer("Example: " + std::string(command.example));
    actions.emplace_back(sub, command.add(*sub));
  }
  return [actions] {
    for (const auto& [sub, action] : actions)
      if (sub->parsed()) return action();
    throw BadInput("table: no command given (warploom table --help lists them)");
  };
}

}  // namespace

Verb table_verb() {
  return {"table",
          "Count values or k-mers with the parallel hash table, measure it under a workload, and run the "
          "applications that it was made for",
          "warploom table count genome.fa --kmer 21 --canonical --top 20\n"
          "  warploom table bench --batch 2^12..2^18 --search 33,80 --svg throughput.svg\n"
          "  warploom table applications --help\n"
          "Exit codes: 0 done, 2 bad usage or input, or more memory asked for than there is, 130 Ctrl-C.",
          &add};
}

}  // namespace warploom::tool
