#include "warploom/fold/fold.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <memory>
#include <span>
#include <tuple>
#include <utility>

#include "cli/byte_size.hpp"
#include "cli/output_files.hpp"
#include "cli/stopwatch.hpp"
#include "cli/verb.hpp"
#include "ensemble.hpp"
#include "model.hpp"
#include "records.hpp"
#include "warploom/core/error.hpp"
#include "warploom/core/file.hpp"
#include "warploom/core/log.hpp"
#include "warploom/core/memory.hpp"
#include "warploom/dp/base_pairs.hpp"
#include "warploom/fold/dot_plot.hpp"
#include "warploom/fold/formats.hpp"
#include "warploom/fold/picture.hpp"

namespace warploom::tool {
namespace {

struct Settings : ModelSettings {
  std::string input, constraints, output = "-", format = "dot-bracket", svg, layout = "arcs";
  bool enforce = false, json = false, force = false;
  SuboptimalSettings suboptimal;
  EnsembleSettings ensemble;
  std::uint64_t max_memory = kMaxFileBytes;
  Run run;
};

std::string as_text(const io::SequenceRecord& record, const fold::Folding& folding, std::string_view format) {
  if (format == "ct")
    return fold::connectivity_table(record.sequence, folding.structure, folding.energy, title(record));
  if (format == "bpseq") return fold::bpseq(record.sequence, folding.structure, title(record));
  const std::string header = title(record).empty() ? "" : fmt::format(">{}\n", title(record));
  return fmt::format("{}{}\n{} ({:>6})\n", header, record.sequence, folding.structure,
                     fold::kcal(folding.energy));
}

std::string picture(const io::SequenceRecord& record, const fold::Folding& folding, std::string_view layout,
                    std::span<const double> reactivities) {
  if (layout == "radial") return fold::radial_svg(record.sequence, folding.structure, reactivities);
  dp::BasePairs pairs{.sequence = record.sequence, .partner = fold::partners(folding.structure)};
  for (const std::int64_t partner : pairs.partner) pairs.pairs += partner >= 0;
  pairs.pairs /= 2;
  return dp::arcs_svg(pairs);
}

/// One a line.
std::vector<std::string> constraints_of(const Settings& s) {
  std::vector<std::string> all;
  for (std::string line : split(read_input(s.constraints, s.max_memory), '\n')) {
    while (line.ends_with('\r') || line.ends_with(' ')) line.pop_back();
    if (!line.empty()) all.push_back(std::move(line));
  }
  return all;
}

/// @param constraints  of the records, where there are any
Records records_of(const Settings& s, const fold::Model& model, std::vector<std::string>& constraints) {
  const std::vector<std::string> all = s.constraints.empty() ? std::vector<std::string>() : constraints_of(s);
  std::size_t number = 0;
  Records records = read_records(s.input, s.max_memory, [&](const io::SequenceRecord& record) {
    const std::string constraint = number < all.size() ? all[number] : "";
    ++number;
    fold::check_sequence(record.sequence, constraint, model);
    if (!s.constraints.empty()) constraints.push_back(constraint);
  });
  if (!s.constraints.empty() && number > all.size())
    throw BadInput(fmt::format(
        "{}: it has {} constraints, {} has more sequences; a line is a sequence's, '.' says nothing of a base",
        input_name(s.constraints), all.size(), input_name(s.input)));
  if (number < all.size())
    throw BadInput(fmt::format("{}: it has {} constraints of {} sequences", input_name(s.constraints),
                               all.size(), number));
  return records;
}

/// One after another, since a structure that fulfils the constraint may not exist; those without leave
/// `records`, and their constraints.
std::vector<fold::Folding> fold_each(const Settings& s, Records& records,
                                     std::vector<std::string>& constraints, const fold::Model& model) {
  std::vector<fold::Folding> foldings;
  std::vector<io::SequenceRecord> folded;
  for (std::size_t k = 0; k < records.good.size(); ++k) {
    io::SequenceRecord& record = records.good[k];
    try {
      foldings.push_back(fold::fold(record.sequence, model, {}, constraints[k]));
      constraints[folded.size()] = constraints[k];
      folded.push_back(std::move(record));
    } catch (const BadInput& error) {
      ++records.bad;
      refuse_record(s.input, record, error);
    }
  }
  records.good = std::move(folded);
  return foldings;
}

/// The structures of all records, printed as they come where nothing else is asked for.
/// @return whether all are there
bool suboptimal(const Settings& s, const Records& records, const std::vector<std::string>& constraints,
                const fold::Model& model, const std::vector<fold::Folding>& best, std::string& text,
                Json& list) {
  const bool stream = s.output == "-" && !s.json;
  bool all = true;
  for (std::size_t k = 0; k < best.size(); ++k) {
    const io::SequenceRecord& record = records.good[k];
    Json structures = Json::array();
    if (!s.json) {
      const std::string header = title(record).empty() ? "" : fmt::format(">{}\n", title(record));
      text += fmt::format("{}{} {:>6} {:>6}\n", header, record.sequence, fold::kcal(best[k].energy),
                          fmt::format("{:.2f}", s.suboptimal.delta));
    }
    const bool whole = suboptimal_structures(
        s.suboptimal, record.sequence, model, s.constraints.empty() ? std::string_view() : constraints[k],
        [&](const fold::Folding& folding) {
          if (s.json)
            structures.push_back({{"structure", folding.structure}, {"energy", folding.energy / 100.}});
          else
            text += fmt::format("{} {:>6}\n", folding.structure, fold::kcal(folding.energy));
          constexpr std::size_t kChunk = 1 << 16;
          if (stream && text.size() > kChunk) print(std::exchange(text, {}));
        });
    if (!whole) {
      all = false;
      if (stream) print(std::exchange(text, {}));
      print_error(fmt::format(
          "warploom: {}:{}: more than {} structures lie within {} kcal/mol; {} of them are given (--most)\n",
          input_name(s.input), record.line, s.suboptimal.most, s.suboptimal.delta, s.suboptimal.most));
    }
    if (s.json)
      list.push_back({{"name", record.name},
                      {"sequence", record.sequence},
                      {"energy", best[k].energy / 100.},
                      {"complete", whole},
                      {"structures", std::move(structures)}});
  }
  return all;
}

int run(Settings& s) {
  if (s.format == "json") s.json = true;
  s.json = s.json || s.output.ends_with(".json");
  const RunScope scope(s.run);
  OutputFiles files;
  if (s.output != "-") files.add(s.output, s.force);
  if (s.svg.empty() && s.layout != "arcs") throw BadInput(fmt::format("--layout {} without --svg", s.layout));
  if (!s.svg.empty()) {
    if (!s.svg.ends_with(".svg")) throw BadInput(fmt::format("--svg {}: the name must end in .svg", s.svg));
    files.add(s.svg, s.force);
  }
  check_ensemble(s.ensemble, s.format, s.json, s.suboptimal.delta >= 0);
  if (!s.ensemble.pairs.empty()) files.add(s.ensemble.pairs, s.force);
  s.ensemble.options.gamma = s.ensemble.gamma;
  fold::Model model = model_of(s);
  if (s.suboptimal.delta >= 0 && (s.format == "ct" || s.format == "bpseq"))
    throw BadInput("--suboptimal with --format ct or bpseq; it gives dot-bracket or JSON");
  model.enforce_constraint = s.enforce;
  if (s.enforce && s.constraints.empty())
    throw BadInput("--enforce-constraint without -C: there is no constraint");
  std::vector<std::string> constraints;
  Records records = records_of(s, model, constraints);
  const bool plot = s.ensemble.pairs.ends_with(".svg"), matrix = s.ensemble.pairs.ends_with(".npy");
  for (const auto& [given, name, what, file] :
       {std::tuple(!s.svg.empty(), "--svg", "a picture", s.svg),
        std::tuple(plot || matrix, "--bpp", matrix ? "a matrix" : "a picture", s.ensemble.pairs)})
    if (given && records.good.size() != 1)
      throw BadInput(fmt::format("{} {}: {} is of one sequence; {} has {}", name, file, what,
                                 input_name(s.input), records.good.size()));
  std::vector<double> reactivities;
  if (!s.reactivities.empty()) {
    if (records.good.size() + records.bad != 1)
      throw BadInput(fmt::format("--shape {}: reactivities are of one sequence; {} has {}", s.reactivities,
                                 input_name(s.input), records.good.size() + records.bad));
    if (!records.good.empty()) {
      reactivities = reactivities_of(s, std::ssize(records.good.front().sequence));
      model.pseudo = pseudo_of(s, reactivities);
    }
  }
  std::vector<std::string> sequences;
  std::int64_t longest = 0;
  for (const io::SequenceRecord& record : records.good) {
    sequences.push_back(record.sequence);
    longest = std::max<std::int64_t>(longest, std::ssize(record.sequence));
  }
  log(LogLevel::info, fmt::format("{} sequences, the longest of {} bases, which take {}", sequences.size(),
                                  longest, bytes_text(fold::bytes_to_fold(longest, model.max_span))));
  const Device device = fold::device_for(sequences, model);
  const Stopwatch watch;
  const std::vector<fold::Folding> foldings =
      s.enforce ? fold_each(s, records, constraints, model) : fold::fold(sequences, model, {}, constraints);
  std::vector<fold::Ensemble> ensembles;
  const fold::Model of_ensemble = model_of_ensemble(s.ensemble, model);
  if (s.ensemble.on) {
    if (sequences.size() != records.good.size()) {  // some had no structure
      sequences.clear();
      for (const io::SequenceRecord& record : records.good) sequences.push_back(record.sequence);
      constraints.resize(sequences.size());
    }
    ensembles = fold::ensembles(sequences, of_ensemble, s.ensemble.options, {}, constraints);
  }
  const double seconds = watch.seconds();

  std::string text;
  Json list = Json::array();
  const bool whole =
      s.suboptimal.delta < 0 || suboptimal(s, records, constraints, model, foldings, text, list);
  for (std::size_t k = 0; k < foldings.size() && s.suboptimal.delta < 0; ++k) {
    const io::SequenceRecord& record = records.good[k];
    const double probability =
        s.ensemble.on ? probability_of_best(record, foldings[k], model, ensembles[k], of_ensemble) : 0;
    if (s.json) {
      Json one = {{"name", record.name},
                  {"description", record.description},
                  {"length", record.sequence.size()},
                  {"sequence", record.sequence},
                  {"structure", foldings[k].structure},
                  {"energy", foldings[k].energy / 100.}};
      if (s.ensemble.on) one["ensemble"] = ensemble_json(s.ensemble, probability, ensembles[k], of_ensemble);
      list.push_back(std::move(one));
      continue;
    }
    if (s.ensemble.on)
      text += ensemble_text(s.ensemble, record, foldings[k], probability, ensembles[k], of_ensemble);
    else
      text += as_text(record, foldings[k], s.format);
  }
  if (s.json) {
    text = json_text({{"unit", "kcal/mol"},
                      {"model", folding_model_json(s)},
                      {"records", std::move(list)},
                      {"skipped", {{"empty", records.empty}, {"refused", records.bad}}},
                      {"device", name(device)},
                      {"seconds", seconds}});
  }
  if (!s.svg.empty() && !foldings.empty())
    files.write(s.svg, picture(records.good.front(), foldings.front(), s.layout, reactivities));
  if (!s.ensemble.pairs.empty() && !ensembles.empty())
    files.write(s.ensemble.pairs, plot     ? fold::dot_plot_svg(records.good.front().sequence,
                                                                foldings.front().structure, ensembles.front())
                                  : matrix ? pairs_npy(ensembles.front())
                                           : pairs_table(records.good, ensembles));
  if (s.output != "-") files.write(s.output, text);
  files.commit();
  if (s.output == "-") print(text);
  return records.bad > 0 || !whole ? kFinding : kDone;
}

std::function<int()> add(Command& command) {
  auto s = std::make_shared<Settings>();
  command.add(
      "SEQUENCES", &s->input,
      "RNA as FASTA, FASTQ or a sequence a line, perhaps gzipped; '-' for standard input. T is U; a letter that is none of "
      "A, C, G, U, T pairs with nothing");
  add_model_options(command, *s);
  add_pair_options(command, *s);
  command.add(
      "-C,--constraint FILE", &s->constraints,
      "A line for each sequence, a letter a base, as RNAfold's: '.' and '|' anything, x unpaired, < pairs with a later base, > with an "
      "earlier one, ( and ) with each other. It leaves out pairs that conflict, and forces none");
  command.add("--enforce-constraint,--enforceConstraint", &s->enforce,
              "Bases have to pair where the constraint has ( and ), with each other, and |, with any");
  add_suboptimal_options(command, s->suboptimal);
  add_ensemble_options(command, s->ensemble);
  command.group("Output");
  command.add("-o,--output FILE", &s->output,
              "Result to write, as JSON if it ends in .json; '-' for standard output [-]");
  command
      .add("--format FORMAT", &s->format,
           "Of the result: dot-bracket (as RNAfold prints it), ct, bpseq or json [dot-bracket]")
      .among(std::vector<std::string>{"dot-bracket", "ct", "bpseq", "json"});
  command.add("--svg FILE", &s->svg,
              "Picture to write, of one sequence: its structure as --layout says (.svg)");
  command
      .add(
          "--layout LAYOUT", &s->layout,
          "Of the picture: arcs over the bases in a line, or radial, loops as circles and stems as ladders, coloured by loop or, "
          "with --shape, by reactivity [arcs]")
      .among(std::vector<std::string>{"arcs", "radial"});
  add_max_memory(command, s->max_memory, "Refuse a file that has more, or unpacks to more; as 8G [2G]");
  command.add_json(s->json);
  command.add_force(s->force);
  command.add_run(s->run);
  const std::function<int()> verb =
      command.add_verbs("command", std::array{fold_eval(), fold_windows(), fold_mutants(), fold_unpaired()});
  return [s, verb, &command] {
    if (command.chosen() == nullptr) {
      if (s->input.empty())
        throw BadInput("no sequences are given: name a file, or '-' (warploom fold --help)");
      return naming_max_memory(s->max_memory, [&] { return run(*s); });
    }
    for (const Option* option : command.given())
      throw BadInput(fmt::format("{0} is not an option of fold {1} where it stands; put it behind '{1}'",
                                 option->name(), command.chosen()->command->name));
    return verb();
  };
}

}  // namespace

Verb fold_verb() {
  return {
      "fold", "Fold RNA: the secondary structure of least free energy, exactly",
      "warploom fold examples/trna_phe.fa\n"
      "  warploom fold sequences.fa.gz -T 25 --no-lonely-pairs --format ct -o folded.ct\n"
      "  warploom fold rna.fa --svg rna.svg --layout radial\n"
      "  warploom fold rna.fa --ensemble --bpp rna.svg\n"
      "  warploom fold eval folded.txt\n"
      "  warploom fold windows genome.fa --window 120 --shuffles 100 -o windows.tsv\n"
      "  warploom fold mutants rna.fa --svg mutants.svg -o mutants.tsv\n"
      "Energies are ViennaRNA's to the last hundredth of a kcal/mol (Turner 2004).\n"
      "Exit codes: 0 done, 1 some records could not be folded (the others were), 2 bad usage or input, 130 Ctrl-C.",
      &add};
}

}  // namespace warploom::tool
