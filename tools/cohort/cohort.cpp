#include <algorithm>
#include <memory>
#include <string>

#include "cli/verb.hpp"
#include "run_and_tell.hpp"
#include "warploom/core/error.hpp"

namespace warploom::tool {
namespace {

struct Settings {
  std::vector<std::string> inputs;
  std::string folder, match;
  CohortOptions with;
};

int run(const Settings& s, const std::vector<std::string>& words) {
  CohortPlan plan{
      .items = find_items(s.inputs, s.match), .command = CohortCommand(words, s.folder), .folder = s.folder};
  if (plan.items.size() > 1 && !plan.command.names_outputs() &&
      std::ranges::any_of(
          words, [](const std::string& word) { return word == "-o" || word.starts_with("--output"); }))
    throw BadInput("every item would write the same file; put {out} into what is behind -o, as {out}.nii.gz");
  return run_and_tell(std::move(plan), s.with);
}

std::function<int()> add(Command& command) {
  auto s = std::make_shared<Settings>();
  command.take_command_line();
  command.add("INPUT", &s->inputs, "Files, and folders whose files are taken, with all folders in them")
      .required();
  command.add("-o,--output FOLDER", &s->folder, "Folder of the results").required();
  command.add("--match PATTERN", &s->match,
              "Of the files in folders those with such names, as '*.nii.gz' [all]");
  add_cohort_options(command, s->with);
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
