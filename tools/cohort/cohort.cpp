#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <memory>
#include <string>

#include "cli/byte_size.hpp"
#include "cli/stopwatch.hpp"
#include "cli/verb.hpp"
#include "warploom/core/error.hpp"
#include "warploom/core/file.hpp"
#include "warploom/core/run.hpp"
#include "warploom/core/threads.hpp"
#include "warploom/json/json.hpp"
#include "worker.hpp"

namespace warploom::tool {
namespace fs = std::filesystem;
namespace {

struct Settings {
  std::vector<std::string> inputs;
  std::string folder, match;
  unsigned at_once = 0;      ///< 0: as many as there are threads
  std::uint64_t memory = 0;  ///< 0: half of what is available
  double beat = 10;          ///< [s]
  Run run;
  bool force = false, json = false;
};

/// Half of what the system calls available.
std::uint64_t usual_memory() {
  std::ifstream file("/proc/meminfo");
  std::string word;
  while (file >> word)
    if (word == "MemAvailable:") {
      std::uint64_t kibibytes = 0;
      if (file >> kibibytes) return kibibytes * 1024 / 2;
    }
  constexpr std::uint64_t kModest = std::uint64_t{4} << 30;
  return kModest;
}

struct Counts {
  std::size_t done = 0, there = 0, failed = 0;
};

Counts count(const std::vector<CohortOutcome>& outcomes) {
  Counts counts;
  for (const CohortOutcome& outcome : outcomes) {
    counts.done += outcome.state == CohortState::done ? 1 : 0;
    counts.there += outcome.state == CohortState::there ? 1 : 0;
    counts.failed += outcome.state == CohortState::failed ? 1 : 0;
  }
  return counts;
}

/// A tab or the end of a line would end the cell.
std::string cell(std::string text) {
  for (char& letter : text)
    if (letter == '\t' || letter == '\n' || letter == '\r') letter = ' ';
  return text;
}

std::string table_of(std::vector<CohortOutcome> outcomes) {
  std::ranges::sort(outcomes, {}, [](const CohortOutcome& outcome) { return outcome.item.name; });
  std::string text = "item\tinput\tstate\tseconds\tfiles\terror\n";
  for (const CohortOutcome& outcome : outcomes)
    text += fmt::format("{}\t{}\t{}\t{:.3f}\t{}\t{}\n", cell(outcome.item.name),
                        cell(outcome.item.input.string()),
                        outcome.state == CohortState::failed ? "failed" : "done", outcome.seconds,
                        outcome.outputs, cell(outcome.error));
  return text;
}

Json as_json(const std::vector<CohortOutcome>& outcomes, const fs::path& table, double seconds) {
  const Counts counts = count(outcomes);
  Json items = Json::array();
  for (const CohortOutcome& outcome : outcomes)
    items.push_back({{"item", outcome.item.name},
                     {"input", outcome.item.input.string()},
                     {"state", name(outcome.state)},
                     {"seconds", outcome.seconds},
                     {"files", outcome.outputs},
                     {"error", outcome.error}});
  return {{"done", counts.done}, {"there", counts.there},   {"failed", counts.failed},
          {"seconds", seconds},  {"table", table.string()}, {"items", items}};
}

std::string as_text(const std::vector<CohortOutcome>& outcomes, const fs::path& table, double seconds) {
  const Counts counts = count(outcomes);
  std::string text = fmt::format("{} done", counts.done);
  if (counts.there > 0) text += fmt::format(", {} were done before", counts.there);
  if (counts.failed > 0) text += fmt::format(", {} failed", counts.failed);
  text += fmt::format(", in {:.2f} s", seconds);
  if (counts.done > 0) text += fmt::format(" ({:.3g}/s)", static_cast<double>(counts.done) / seconds);
  text += fmt::format("\nwhat became of each: {}\n", table.string());
  constexpr std::size_t kShown = 5;
  std::size_t shown = 0;
  for (const CohortOutcome& outcome : outcomes)
    if (outcome.state == CohortState::failed && shown++ < kShown)
      text += fmt::format("  {}: {}\n", outcome.item.name, outcome.error);
  if (counts.failed > kShown) text += fmt::format("  and {} more\n", counts.failed - kShown);
  return text;
}

int run(const Settings& s, const std::vector<std::string>& words) {
  const Stopwatch watch;
  CohortPlan plan{.items = find_items(s.inputs, s.match),
                  .command = CohortCommand(words, s.folder),
                  .folder = s.folder,
                  .beat = std::chrono::milliseconds(static_cast<std::int64_t>(1000 * s.beat)),
                  .force = s.force};
  if (plan.items.size() > 1 && !plan.command.names_outputs() &&
      std::ranges::any_of(
          words, [](const std::string& word) { return word == "-o" || word.starts_with("--output"); }))
    throw BadInput("every item would write the same file; put {out} into what is behind -o, as {out}.nii.gz");
  check_words(plan.command.of(plan.items.front()));  // a mistake is told once, not for each item
  const RunScope scope(s.run);
  plan.at_once = s.at_once != 0 ? s.at_once : threads();
  plan.at_once = static_cast<unsigned>(std::min<std::size_t>(plan.at_once, plan.items.size()));
  plan.memory = s.memory != 0 ? s.memory : usual_memory();
  const std::vector<CohortOutcome> outcomes = run_cohort(plan);
  const fs::path table = plan.folder / "cohort.tsv";
  write_file_atomically(table, table_of(outcomes));
  if (s.json)
    print_json(as_json(outcomes, table, watch.seconds()));
  else
    print(as_text(outcomes, table, watch.seconds()));
  return count(outcomes).failed > 0 ? kFinding : kDone;
}

std::function<int()> add(Command& command) {
  auto s = std::make_shared<Settings>();
  command.take_command_line();
  command.add("INPUT", &s->inputs, "Files, and folders whose files are taken, with all folders in them")
      .required();
  command.add("-o,--output FOLDER", &s->folder, "Folder of the results").required();
  command.add("--match PATTERN", &s->match,
              "Of the files in folders those with such names, as '*.nii.gz' [all]");
  command.add("-j,--at-once N", &s->at_once, "Items in work at a time [one a thread]").range(1U, 1024U);
  command.add(
      "--memory SIZE", [s](const std::string& text) { s->memory = parse_byte_size("--memory", text); },
      "Begin no item while those in work hold more, taken as 12 times what their files unpack to; as 64G [half of what is available]");
  command
      .add(
          "--heartbeat SECONDS", &s->beat,
          "How often this worker says that it lives; one that says nothing for three times as long is taken for dead [10]")
      .range(0.05, 3600.0);
  command.add_force(s->force);
  command.add_run(s->run);
  command.add_json(s->json);
  return [s, &command] { return run(*s, command.rest()); };
}

}  // namespace

Verb cohort_verb() {
  return {
      "cohort", "Run a verb on many inputs, go on after a crash, share the work with other machines",
      "warploom cohort scans --match '*.nii.gz' -o masks -- segment {} -o {out}_mask.nii.gz\n"
      "  warploom cohort bids --match '*_dwi.nii.gz' -o maps -- denoise {} --bval {base}.bval --bvec {base}.bvec -o {out}\n"
      "  warploom cohort rna -o folded -- fold {}\n"
      "Behind -- stands a command line of warploom, in which {} is an input, {base} the input without its endings, "
      "{name} its path in the folder without endings, and {out} that path in the folder of results. What a verb "
      "prints goes to a file if no word has {out}.\n"
      "What is done and whose inputs are as they were is not done again. Several workers may be started on one "
      "folder, on several machines: they share the items, and those of a worker that dies are done by the others.\n"
      "Output: FOLDER/cohort.tsv says what became of each item; FOLDER/.warploom is what workers share.\n"
      "Exit codes: 0 done; 1 some failed; 2 bad usage; 130 Ctrl-C.",
      add};
}

}  // namespace warploom::tool
