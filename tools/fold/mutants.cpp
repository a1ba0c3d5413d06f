#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <memory>

#include "cli/byte_size.hpp"
#include "cli/output_files.hpp"
#include "cli/stopwatch.hpp"
#include "cli/verb.hpp"
#include "model.hpp"
#include "records.hpp"
#include "warploom/core/error.hpp"
#include "warploom/core/file.hpp"
#include "warploom/fold/formats.hpp"
#include "warploom/fold/scan.hpp"
#include "warploom/page/chart.hpp"
#include "warploom/page/text.hpp"

namespace warploom::tool {
namespace {

struct Settings : ModelSettings {
  std::string input, positions, output = "-", format = "tsv", svg;
  bool structures = false, json = false, force = false;
  std::uint64_t max_memory = kMaxFileBytes;
  Run run;
};

using Record = io::SequenceRecord;
constexpr std::string_view kLetters = "ACGU";

/// "1-30,45": what fold_mutants() takes.
std::vector<std::int64_t> positions_of(const std::string& text) {
  std::vector<std::int64_t> positions;
  if (text.empty()) return positions;
  for (const std::string& part : split(text, ',')) {
    const std::size_t dash = part.find('-');
    std::int64_t first = 0, last = 0;
    constexpr std::int64_t kMost = 1'000'000;
    if (!parse_whole(part.substr(0, dash), first) ||
        !parse_whole(dash == part.npos ? part : part.substr(dash + 1), last) || first < 1 || last < first ||
        last > kMost)
      throw BadInput(fmt::format("--positions {}: '{}' is none; as 1-30,45, counted from 1", text, part));
    for (std::int64_t position = first; position <= last; ++position) positions.push_back(position);
  }
  return positions;
}

/// The letters that were exchanged, each as [place in Mutants::energies].
std::vector<std::size_t> exchanged(const Record& record, const fold::Mutants& m) {
  std::vector<std::size_t> all;
  for (std::size_t k = 0; k < m.energies.size(); ++k)
    if (record.sequence[static_cast<std::size_t>(m.positions[k / 4] - 1)] != kLetters[k % 4])
      all.push_back(k);
  return all;
}

void add_rows(const Record& record, const fold::Mutants& m, std::string& text) {
  const std::string_view name = record.name.empty() ? "." : std::string_view(record.name);
  for (const std::size_t k : exchanged(record, m)) {
    const std::int64_t position = m.positions[k / 4];
    fmt::format_to(std::back_inserter(text), "{}\t{}\t{}\t{}\t{}\t{}", name, position,
                   record.sequence[static_cast<std::size_t>(position - 1)], kLetters[k % 4],
                   fold::kcal(m.energies[k]), fold::kcal(m.energies[k] - m.wild_type.energy));
    if (!m.structures.empty()) text += "\t" + m.structures[k];
    text += '\n';
  }
}

Json as_json(const Record& record, const fold::Mutants& m) {
  Json mutants = Json::array();
  for (const std::size_t k : exchanged(record, m)) {
    Json one = {{"position", m.positions[k / 4]},
                {"letter", std::string(1, kLetters[k % 4])},
                {"energy", m.energies[k] / 100.},
                {"change", (m.energies[k] - m.wild_type.energy) / 100.}};
    if (!m.structures.empty()) one["structure"] = m.structures[k];
    mutants.push_back(std::move(one));
  }
  return {{"name", record.name},
          {"description", record.description},
          {"sequence", record.sequence},
          {"structure", m.wild_type.structure},
          {"energy", m.wild_type.energy / 100.},
          {"mutants", std::move(mutants)}};
}

/// A column a position, a row a letter: blue where the mutant is more stable, red where less, a dot where
/// there is none.
std::string heat_map(const Record& record, const fold::Mutants& m) {
  constexpr double kLeft = 40, kTop = 76, kHeight = 24;
  const double width = std::clamp(1200. / static_cast<double>(m.positions.size()), 1., 24.);
  std::int32_t most = 1;
  for (const std::int32_t energy : m.energies) most = std::max(most, std::abs(energy - m.wild_type.energy));
  const auto colour = [&](std::int32_t change) {
    const double share = std::abs(change) / static_cast<double>(most);
    const auto fade = [&](int full) { return static_cast<int>(std::lround(245 + (full - 245) * share)); };
    return change < 0 ? fmt::format("#{:02x}{:02x}{:02x}", fade(33), fade(102), fade(172))
                      : fmt::format("#{:02x}{:02x}{:02x}", fade(178), fade(24), fade(43));
  };
  std::string content = fmt::format(
      "<text x=\"24\" y=\"32\" font-size=\"18\" font-weight=\"600\">{}</text>\n<text x=\"24\" y=\"54\" "
      "fill=\"#555\">change of free energy by each mutant, from {} (blue, more stable) to +{} kcal/mol (red)</text>\n",
      page::escaped(record.name.empty() ? "mutants" : record.name), fold::kcal(-most), fold::kcal(most));
  for (std::size_t row = 0; row < kLetters.size(); ++row) {
    const double y = kTop + kHeight * static_cast<double>(row);
    content +=
        fmt::format("<text x=\"24\" y=\"{:g}\" text-anchor=\"middle\">{}</text>\n", y + 17, kLetters[row]);
    for (std::size_t column = 0; column < m.positions.size(); ++column) {
      const std::size_t k = column * 4 + row;
      const char wild = record.sequence[static_cast<std::size_t>(m.positions[column] - 1)];
      if (wild == kLetters[row]) {
        if (width >= 6)
          content += fmt::format("<circle cx=\"{:.6g}\" cy=\"{:g}\" r=\"1.5\"/>\n",
                                 kLeft + width * (static_cast<double>(column) + .5), y + kHeight / 2);
        continue;
      }
      content += fmt::format(
          "<rect x=\"{:.6g}\" y=\"{:g}\" width=\"{:.6g}\" height=\"{:g}\" fill=\"{}\"><title>{}{}{}: {}</title></rect>\n",
          kLeft + width * static_cast<double>(column), y, width, kHeight,
          colour(m.energies[k] - m.wild_type.energy), wild, m.positions[column], kLetters[row],
          fold::kcal(m.energies[k] - m.wild_type.energy));
    }
  }
  const double below = kTop + 4 * kHeight;
  const auto count = static_cast<double>(m.positions.size());
  const std::size_t each = static_cast<std::size_t>(std::max(1., std::ceil(60 / width / 10) * 10));
  for (std::size_t column = 0; column < m.positions.size(); ++column)
    if (m.positions[column] % static_cast<std::int64_t>(each) == 0 || m.positions.size() == 1)
      content +=
          fmt::format("<text x=\"{:.6g}\" y=\"{:g}\" text-anchor=\"middle\">{}</text>\n",
                      kLeft + width * (static_cast<double>(column) + .5), below + 20, m.positions[column]);
  return page::svg_document(std::max(640., kLeft + width * count + 24), below + 36,
                            fmt::format("Change of the free energy of {} by each single mutant", record.name),
                            " font-family=\"sans-serif\" font-size=\"14\" fill=\"#333\"", content);
}

int run(Settings& s) {
  if (s.json || s.output.ends_with(".json")) s.format = "json";
  const RunScope scope(s.run);
  OutputFiles files;
  if (s.output != "-") files.add(s.output, s.force);
  if (!s.svg.empty()) {
    if (!s.svg.ends_with(".svg")) throw BadInput(fmt::format("--svg {}: the name must end in .svg", s.svg));
    files.add(s.svg, s.force);
  }
  const fold::MutantOptions options = {.positions = positions_of(s.positions), .structures = s.structures};
  fold::Model model = model_of(s);
  Records records = read_records(s.input, s.max_memory,
                                 [](const Record& record) { fold::check_sequence(record.sequence); });
  if (!s.svg.empty() && records.good.size() != 1)
    throw BadInput(fmt::format("--svg {}: a picture is of one sequence; {} has {}", s.svg,
                               input_name(s.input), records.good.size()));
  if (!s.reactivities.empty()) {
    if (records.good.size() + records.bad != 1)
      throw BadInput(fmt::format("--shape {}: reactivities are of one sequence; {} has {}", s.reactivities,
                                 input_name(s.input), records.good.size() + records.bad));
    if (!records.good.empty())
      model.pseudo = pseudo_of(s, reactivities_of(s, std::ssize(records.good.front().sequence)));
  }
  std::string text = s.format == "tsv" ? "name\tposition\twild_type\tmutant\tenergy\tchange" : "";
  if (s.format == "tsv") text += s.structures ? "\tstructure\n" : "\n";
  Json list = Json::array();
  const Stopwatch watch;
  for (const Record& record : records.good) {
    try {
      for (const std::int64_t position : options.positions)
        if (position > std::ssize(record.sequence))
          throw BadInput(
              fmt::format("--positions {}: the sequence has {} bases", s.positions, record.sequence.size()));
      const fold::Mutants mutants = fold::fold_mutants(record.sequence, options, model);
      if (s.format == "tsv") add_rows(record, mutants, text);
      if (s.format == "json") list.push_back(as_json(record, mutants));
      if (!s.svg.empty()) files.write(s.svg, heat_map(record, mutants));
    } catch (const BadInput& error) {
      if (records.good.size() == 1) throw;
      ++records.bad;
      refuse_record(s.input, record, error);
    }
  }
  if (s.format == "json")
    text = json_text({{"unit", "kcal/mol"},
                      {"model", folding_model_json(s)},
                      {"records", std::move(list)},
                      {"skipped", {{"empty", records.empty}, {"refused", records.bad}}},
                      {"seconds", watch.seconds()}});
  if (s.output != "-") files.write(s.output, text);
  files.commit();
  if (s.output == "-") print(text);
  return records.bad > 0 ? kFinding : kDone;
}

std::function<int()> add(Command& command) {
  auto s = std::make_shared<Settings>();
  command
      .add("SEQUENCES", &s->input,
           "RNA as FASTA, FASTQ or a sequence a line, perhaps gzipped; '-' for standard input. T is U")
      .required();
  command.group("Mutants");
  command.add("--positions LIST", &s->positions,
              "Positions that are mutated, counted from 1: numbers and ranges, as 1-30,45 [all]");
  command.add("--structures", &s->structures, "Each mutant's structure, too");
  add_model_options(command, *s);
  add_pair_options(command, *s);
  command.group("Output");
  command.add("-o,--output FILE", &s->output,
              "Result to write, as JSON if it ends in .json; '-' for standard output [-]");
  command.add("--format FORMAT", &s->format, "Of the result: tsv, a line a mutant, or json [tsv]")
      .among(std::vector<std::string>{"tsv", "json"});
  command.add("--svg FILE", &s->svg,
              "Picture to write, of one sequence: the change of energy by position and letter (.svg)");
  add_max_memory(command, s->max_memory, "Refuse a file that has more, or unpacks to more; as 8G [2G]");
  command.add_json(s->json);
  command.add_force(s->force);
  command.add_run(s->run);
  return [s] { return naming_max_memory(s->max_memory, [&] { return run(*s); }); };
}

}  // namespace

Verb fold_mutants() {
  return {
      "mutants", "Fold all single-point mutants of sequences, and tell how each changes the energy",
      "warploom fold mutants examples/trna_phe.fa --svg mutants.svg -o mutants.tsv\n"
      "  warploom fold mutants rna.fa --positions 10-20,35 --structures\n"
      "Exit codes: 0 done, 1 some records could not be folded (the others were), 2 bad usage or input, 130 Ctrl-C.",
      &add};
}

}  // namespace warploom::tool
