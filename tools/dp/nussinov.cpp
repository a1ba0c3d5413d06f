#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <memory>

#include "cli/byte_size.hpp"
#include "cli/stopwatch.hpp"
#include "cli/verb.hpp"
#include "problem.hpp"
#include "warploom/core/error.hpp"
#include "warploom/core/file.hpp"
#include "warploom/dp/base_pairs.hpp"
#include "warploom/io/fasta.hpp"

namespace warploom::tool {
namespace {

constexpr std::string_view kFormats[] = {"dot-bracket", "ct", "json"};

struct Settings : DpSettings {
  std::string input, format = "dot-bracket", weights, svg;
  std::int64_t minimum_loop = 3;
  bool no_gu = false, unknown = false;
  std::uint64_t max_memory = kMaxFileBytes;
};

dp::BasePairOptions options_of(const Settings& s) {
  dp::BasePairOptions options;
  options.solve = s.solve;
  options.minimum_loop = s.minimum_loop;
  options.unknown = s.unknown;
  if (!s.weights.empty()) {
    const std::vector<std::string> words = split(s.weights, ',');
    const std::array<std::int32_t*, 3> places{&options.gc, &options.au, &options.gu};
    bool good = words.size() == places.size();
    for (std::size_t k = 0; good && k < places.size(); ++k) good = parse_whole(words[k], *places[k]);
    if (!good)
      throw BadInput(fmt::format("--weights {}: three whole numbers are expected, as GC,AU,GU", s.weights));
  }
  if (s.no_gu) options.gu = 0;
  return options;
}

std::string title(const io::FastaRecord& record) {
  return record.description.empty() ? record.name : record.name + " " + record.description;
}

std::string as_text(const io::FastaRecord& record, const dp::BasePairs& structure, bool table) {
  if (table) return connectivity_table(structure, title(record));
  return fmt::format(">{}\n{}\n{} ({})\n", title(record), structure.sequence, dot_bracket(structure),
                     structure.score);
}

Json as_json(const io::FastaRecord& record, const dp::BasePairs& structure) {
  return {{"name", record.name},
          {"description", record.description},
          {"length", structure.sequence.size()},
          {"pairs", structure.pairs},
          {"score", structure.score},
          {"sequence", structure.sequence},
          {"structure", dot_bracket(structure)}};
}

int run(Settings& s) {
  if (std::ranges::find(kFormats, s.format) == std::end(kFormats))
    throw BadInput(fmt::format("--format {}: it is dot-bracket, ct or json", s.format));
  if (s.format == "json") s.json = true;
  DpRun run(s);
  run.add("--svg", s.svg, ".svg");
  const dp::BasePairOptions options = options_of(s);
  const std::vector<io::FastaRecord> records =
      io::parse_fasta(read_input(s.input, s.max_memory), input_name(s.input),
                      {.letters = s.unknown ? "ACGUTN" : "ACGUT",
                       .advice = s.unknown ? "" : "--allow-n accepts N, which pairs with nothing"},
                      s.max_memory);
  if (!s.svg.empty() && records.size() > 1)
    throw BadInput(fmt::format("--svg {}: a picture is of one sequence; {} has {}", s.svg,
                               input_name(s.input), records.size()));
  std::vector<std::string> sequences;
  for (const io::FastaRecord& record : records) sequences.push_back(record.sequence);
  const Stopwatch watch;
  const std::vector<dp::BasePairs> structures = dp::base_pairs(sequences, options);
  const double seconds = watch.seconds();

  if (!s.svg.empty()) run.write(s.svg, arcs_svg(structures.front()));
  std::string text;
  Json list = Json::array();
  for (std::size_t k = 0; k < records.size(); ++k) {
    text += as_text(records[k], structures[k], s.format == "ct");
    list.push_back(as_json(records[k], structures[k]));
  }
  return run.finish(text,
                    {{"problem", "nussinov"},
                     {"minimum_loop", options.minimum_loop},
                     {"weights", {{"gc", options.gc}, {"au", options.au}, {"gu", options.gu}}},
                     {"records", std::move(list)}},
                    dp::report_of(structures, seconds));
}

std::function<int()> add(Command& command) {
  auto s = std::make_shared<Settings>();
  command
      .add("FASTA", &s->input,
           "Sequences of A, C, G and U or T, one record or many, perhaps gzipped; '-' for standard input")
      .required();
  command.add("--min-loop N", &s->minimum_loop, "Bases that stand between the two of a pair at least [3]");
  command.add("--weights GC,AU,GU", &s->weights,
              "What a G-C, an A-U and a G-U pair count, whole numbers; of 0 none form [1,1,1]");
  command.add("--no-gu", &s->no_gu, "No G-U pairs, whatever they count");
  command.add("--allow-n", &s->unknown, "Accept N, which pairs with nothing");
  command.add("--format FORMAT", &s->format,
              "Of the result: dot-bracket, ct (connectivity table) or json [dot-bracket]");
  command.add("--svg FILE", &s->svg,
              "Picture to write, of one sequence: its pairs as arcs over its bases (.svg)");
  add_max_memory(command, s->max_memory, "Refuse a file that has more, or unpacks to more; as 8G [2G]");
  add_dp_options(command, *s);
  return [s] { return naming_max_memory(s->max_memory, [s] { return run(*s); }); };
}

}  // namespace

Verb dp_nussinov() {
  return {"nussinov",
          "Find the most base pairs of RNA sequences, without pseudoknots (Nussinov's recurrence)",
          "warploom dp nussinov sequences.fa --weights 3,2,1 --format ct -o pairs.ct\n"
          "  warploom dp nussinov examples/trna_phe.fa --svg arcs.svg\n"
          "dot-bracket: header, sequence, and structure with its score, the sum of what its pairs count, in "
          "parentheses. The most pairs are no prediction of the fold, which needs an energy model.",
          &add};
}

}  // namespace warploom::tool
