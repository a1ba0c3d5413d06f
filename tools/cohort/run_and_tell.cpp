#include "run_and_tell.hpp"

#include <fmt/format.h>

#if defined(__GLIBC__)
#include <malloc.h>
#endif

#include <algorithm>
#include <fstream>
#include <string>
#include <vector>

#include "cli/byte_size.hpp"
#include "cli/stopwatch.hpp"
#include "cli/verb.hpp"
#include "warploom/core/file.hpp"
#include "warploom/core/threads.hpp"
#include "warploom/json/json.hpp"

namespace warploom::tool {
namespace fs = std::filesystem;
namespace {

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

/// What a large item frees the next one takes: else the system takes it back, clears it and gives it anew,
/// page by page. One heap, so that any thread may take what another one left; threads with small items would
/// wait for each other there.
void keep_freed_memory([[maybe_unused]] const std::vector<CohortItem>& items) {
#if defined(__GLIBC__)
  constexpr std::uint64_t kLarge = std::uint64_t{1} << 20;
  if (std::ranges::none_of(items, [](const CohortItem& item) { return item.unpacked >= kLarge; })) return;
  mallopt(M_ARENA_MAX, 1);
  mallopt(M_MMAP_MAX, 0);
  mallopt(M_TRIM_THRESHOLD, -1);  // nothing
#endif
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

}  // namespace

void add_cohort_options(Command& command, CohortOptions& options) {
  command.add("-j,--at-once N", &options.at_once, "Items in work at a time [one a thread]").range(1U, 1024U);
  command.add(
      "--memory SIZE",
      [&options](const std::string& text) { options.memory = parse_byte_size("--memory", text); },
      "Begin no item while those in work hold more, taken as 12 times what their files unpack to; as 64G [half of what is available]");
  command
      .add(
          "--heartbeat SECONDS", &options.beat,
          "How often this worker says that it lives; one that says nothing for three times as long is taken for dead [10]")
      .range(0.05, 3600.0);
  command.add_force(options.force);
  command.add_run(options.run);
  command.add_json(options.json);
}

int run_and_tell(CohortPlan plan, const CohortOptions& options) {
  const Stopwatch watch;
  const auto runs = [](const CohortItem& item) { return item.error.empty(); };
  if (const auto first = std::ranges::find_if(plan.items, runs); first != plan.items.end())
    check_words(plan.command.of(*first));  // a mistake is told once, not for each item
  keep_freed_memory(plan.items);
  const RunScope scope(options.run);
  plan.at_once = options.at_once != 0 ? options.at_once : threads();
  plan.at_once = static_cast<unsigned>(std::min<std::size_t>(plan.at_once, plan.items.size()));
  plan.memory = options.memory != 0 ? options.memory : usual_memory();
  plan.beat = std::chrono::milliseconds(static_cast<std::int64_t>(1000 * options.beat));
  plan.force = options.force;
  const std::vector<CohortOutcome> outcomes = run_cohort(plan);
  const fs::path table = plan.folder / "cohort.tsv";
  write_file_atomically(table, table_of(outcomes));
  if (options.json)
    print_json(as_json(outcomes, table, watch.seconds()));
  else
    print(as_text(outcomes, table, watch.seconds()));
  return count(outcomes).failed > 0 ? kFinding : kDone;
}

}  // namespace warploom::tool
