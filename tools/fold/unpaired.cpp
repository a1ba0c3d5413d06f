#include <fmt/format.h>

#include <cmath>
#include <cstring>
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
#include "warploom/core/npy.hpp"
#include "warploom/fold/accessibility.hpp"

namespace warploom::tool {
namespace {

struct Settings : ModelSettings {
  std::string input, output = "-", format = "tsv", pairs;
  fold::AccessibilityOptions options{.window = 70, .stretch = 31};
  bool json = false, force = false;
  std::uint64_t max_memory = kMaxFileBytes;
  Run run;
};

using Record = io::SequenceRecord;

std::string_view name_of(const Record& record) {
  return record.name.empty() ? "." : std::string_view(record.name);
}

void add_rows(const Record& record, const fold::Accessibility& found, std::string& text) {
  const auto columns = static_cast<std::size_t>(found.stretch);
  for (std::size_t k = 0; k < record.sequence.size(); ++k) {
    fmt::format_to(std::back_inserter(text), "{}\t{}", name_of(record), k + 1);
    for (std::size_t u = 0; u < columns; ++u)
      if (const double value = found.unpaired[k * columns + u]; std::isnan(value))
        text += "\tNA";
      else
        fmt::format_to(std::back_inserter(text), "\t{:.9g}", value);
    text += '\n';
  }
}

Json as_json(const Record& record, const fold::Accessibility& found) {
  const auto columns = static_cast<std::size_t>(found.stretch);
  Json rows = Json::array(), pairs = Json::array();
  for (std::size_t k = 0; k < record.sequence.size(); ++k) {
    Json row = Json::array();
    for (std::size_t u = 0; u < columns; ++u) {
      const double value = found.unpaired[k * columns + u];
      row.push_back(std::isnan(value) ? Json() : Json(value));
    }
    rows.push_back(std::move(row));
  }
  for (const fold::PairProbability& pair : found.pairs) pairs.push_back({pair.i, pair.j, pair.probability});
  return {{"name", record.name},
          {"description", record.description},
          {"length", record.sequence.size()},
          {"unpaired", std::move(rows)},
          {"pairs", std::move(pairs)}};
}

std::string as_npy(const Record& record, const fold::Accessibility& found) {
  NpyArray array{"f8",
                 {record.sequence.size(), static_cast<std::uint64_t>(found.stretch)},
                 std::vector<std::byte>(found.unpaired.size() * sizeof(double))};
  std::memcpy(array.data.data(), found.unpaired.data(), array.data.size());
  return format_npy(array);
}

int run(Settings& s) {
  const bool array = s.output.ends_with(".npy");
  if (s.json || s.output.ends_with(".json")) s.format = "json";
  if (!s.reactivities.empty()) throw BadInput("--shape with fold unpaired: it has no pseudo-energies");
  const RunScope scope(s.run);
  OutputFiles files;
  if (s.output != "-") files.add(s.output, s.force);
  if (!s.pairs.empty()) {
    if (!s.pairs.ends_with(".tsv"))
      throw BadInput(fmt::format("--bpp {}: the name must end in .tsv", s.pairs));
    files.add(s.pairs, s.force);
  }
  const fold::Model model = model_of(s);
  Records records = read_records(s.input, s.max_memory,
                                 [&](const Record& record) { fold::check_sequence(record.sequence); });
  if (array && records.good.size() != 1)
    throw BadInput(fmt::format("-o {}: an array is of one sequence; {} has {}", s.output, input_name(s.input),
                               records.good.size()));
  std::string text, pairs = "name\ti\tj\tprobability\n";
  if (s.format == "tsv") {
    text = "name\tend";
    for (std::int64_t u = 1; u <= s.options.stretch; ++u) text += fmt::format("\tu{}", u);
    text += '\n';
  }
  Json list = Json::array();
  const Stopwatch watch;
  for (const Record& record : records.good) {
    const fold::Accessibility found = fold::accessibility(record.sequence, s.options, model);
    if (array)
      text = as_npy(record, found);
    else if (s.format == "json")
      list.push_back(as_json(record, found));
    else
      add_rows(record, found, text);
    for (const fold::PairProbability& pair : found.pairs)
      fmt::format_to(std::back_inserter(pairs), "{}\t{}\t{}\t{:.9g}\n", name_of(record), pair.i, pair.j,
                     pair.probability);
  }
  if (s.format == "json")
    text = json_text({{"model", folding_model_json(s)},
                      {"window", s.options.window},
                      {"records", std::move(list)},
                      {"skipped", {{"empty", records.empty}, {"refused", records.bad}}},
                      {"seconds", watch.seconds()}});
  if (s.output != "-") files.write(s.output, text);
  if (!s.pairs.empty()) files.write(s.pairs, pairs);
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
  command.group("Windows");
  command
      .add("-W,--window N", &s->options.window,
           "Bases of a window; probabilities are means over all windows; 0: the sequence is one [70]")
      .range(std::int64_t{0}, std::int64_t{100'000});
  command
      .add("-u,--unpaired-windows N", &s->options.stretch,
           "Stretches of 1 to N bases, the probability of each to be unpaired [31]")
      .range(std::int64_t{1}, std::int64_t{10'000});
  add_model_options(command, *s);
  add_pair_options(command, *s);
  command.group("Output");
  command.add(
      "-o,--output FILE", &s->output,
      "Result to write: a line a base, where the stretches end; as JSON if it ends in .json, an array [bases, N] of one "
      "sequence if it ends in .npy; '-' for standard output [-]");
  command.add("--bpp FILE", &s->pairs, "Probabilities of pairs to write, a table (.tsv)");
  command.add("--cutoff P", &s->options.cutoff, "Leave out pairs that are less probable [0.01]")
      .range(0.0, 1.0);
  add_max_memory(command, s->max_memory, "Refuse a file that has more, or unpacks to more; as 8G [2G]");
  command.add_json(s->json);
  command.add_force(s->force);
  command.add_run(s->run);
  return [s] { return naming_max_memory(s->max_memory, [&] { return run(*s); }); };
}

}  // namespace

Verb fold_unpaired() {
  return {
      "unpaired", "Tell how probable stretches of bases are unpaired, in the windows of long sequences",
      "warploom fold unpaired genome.fa -W 200 --max-span 150 -u 30 -o unpaired.tsv\n"
      "  warploom fold unpaired rna.fa -W 0 -u 8 -o unpaired.npy\n"
      "What RNAplfold tells with -W, -L and -u, in time and memory that grow with the sequence's length.\n"
      "Exit codes: 0 done, 1 some records could not be folded (the others were), 2 bad usage or input, 130 Ctrl-C.",
      &add};
}

}  // namespace warploom::tool
