#include "warploom/count/count.hpp"

#include <fmt/format.h>

#include <memory>

#include "cli/byte_size.hpp"
#include "cli/option_names.hpp"
#include "cli/verb.hpp"
#include "command.hpp"
#include "warploom/core/error.hpp"
#include "warploom/core/file.hpp"

namespace warploom::tool {
namespace {

struct Settings : TableSettings {
  std::string input, separator;
  table::Column column;
  int kmer = 0;
  bool canonical = false;
  std::uint64_t top = 20, least = 1, max_memory = kMaxFileBytes;
};

int finish(const Settings& s, TableRun& run, const table::Counts& counts, std::string_view what) {
  const table::Statistics& statistics = counts.statistics;
  const std::vector<table::Counted>& list = counts.listed;
  const double rate = counts.seconds > 0 ? static_cast<double>(counts.total) / counts.seconds : 0;
  std::string text = fmt::format("# {} different of {} {} in {}\n", grouped(statistics.pairs),
                                 grouped(counts.total), what, seconds_text(counts.seconds));
  const std::size_t width = list.empty() ? 1 : std::to_string(list.front().count).size();
  Json values = Json::array();
  for (const table::Counted& counted : list) {
    if (run.as_json())
      values.push_back({{"value", counted.value}, {"count", counted.count}});
    else
      text += fmt::format("{:>{}} {}\n", counted.count, width, counted.value);
  }
  return run.finish(
      text, {{"input", input_name(s.input)},
             {"counted", what},
             {"total", counts.total},
             {"different", statistics.pairs},
             {"seconds", counts.seconds},
             {"per_second", rate},
             {"table", counts.description},
             {"table_bytes", statistics.bytes_directory + statistics.bytes_nodes + statistics.bytes_free},
             {"values", std::move(values)}});
}

int run(Settings& s) {
  if (s.separator == "tab" || s.separator == "\\t") s.separator = "\t";
  if (s.separator == "blanks") s.separator = " ";
  if (s.separator.size() > 1)
    throw BadInput(fmt::format("--separator {}: one character, tab or blanks", s.separator));
  s.column.separator = s.separator.empty() ? '\0' : s.separator[0];
  if (s.kmer == 0 && s.canonical) throw BadInput("--canonical: it is of k-mers; say --kmer K");
  if (s.kmer > 0 && (!s.column.asked.empty() || !s.separator.empty() || s.column.header))
    throw BadInput("--kmer: sequences have neither columns nor a header line");
  if (s.column.asked.empty() && !s.separator.empty())
    throw BadInput("--separator: it is of columns; say which one with --column");
  TableRun run(s);
  const table::CountOptions options{s.table, s.top, s.least};
  if (s.kmer > 0)
    return finish(s, run,
                  table::count_kmers(io::parse_fasta(read_input(s.input, s.max_memory), input_name(s.input),
                                                     {}, s.max_memory),
                                     s.kmer, s.canonical, options),
                  fmt::format("{}-mers", s.kmer));
  const auto text = [&](const table::TakeWords& take) {
    if (s.input == "-")
      table::for_each_words(read_input(s.input, s.max_memory), input_name(s.input), s.column, take,
                            s.max_memory);
    else
      table::for_each_words(s.input, s.column, take, s.max_memory);
  };
  return finish(s, run, table::count_words(text, options), s.column.asked.empty() ? "lines" : "fields");
}

std::function<int()> add(Command& command) {
  auto s = std::make_shared<Settings>();
  command.add("FILE", &s->input, "Text, or FASTA with --kmer; perhaps gzipped; '-' for standard input")
      .required();
  command.add(
      "--column WHICH", &s->column.asked,
      "Count the fields of one column, a number from 1 or a name in the first line, in place of lines");
  command.add(
      "--separator C", &s->separator,
      "Between fields: a character, tab or blanks [what the first line has: tab, comma, semicolon, else blanks]");
  command.add("--header", &s->column.header, "The first line is no data");
  command.add("--kmer K", &s->kmer, "Count the words of K bases of the sequences of a FASTA file, 1 to 31")
      .range(1, table::kMostBases);
  command.add("--canonical", &s->canonical,
              "A k-mer and its reverse complement are the same, written as the lesser of the two");
  command.add("--top N", &s->top, "How many to list, the most frequent first; 0: all [20]");
  command.add("--min-count N", &s->least, "List what came as often at least [1]");
  add_max_memory(command, s->max_memory,
                 "Refuse a file that is read whole (FASTA, gzip, standard input) and has more, or unpacks to "
                 "more; as 8G [2G]");
  add_table_options(command, *s);
  return [s] {
    return with_option_names([s] { return naming_max_memory(s->max_memory, [s] { return run(*s); }); });
  };
}

}  // namespace

Verb table_count() {
  return {
      "count", "Count how often each line, value of a column or k-mer occurs",
      "warploom table count access.log --column 1 --separator blanks\n"
      "  warploom table count genome.fa.gz --kmer 21 --canonical --top 0 -o kmers.txt\n"
      "Each line listed is a count and the value, after a first line that begins with #. Counts are exact. "
      "K-mers with letters other than A, C, G, T and U are not counted. Files that are not gzipped may be "
      "larger than memory, as long as what is different fits.",
      &add};
}

}  // namespace warploom::tool
