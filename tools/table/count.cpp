#include "warploom/count/count.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "cli/byte_size.hpp"
#include "cli/option_names.hpp"
#include "cli/verb.hpp"
#include "command.hpp"
#include "mpi/ranks.hpp"
#include "warploom/core/error.hpp"
#include "warploom/core/file.hpp"
#include "warploom/core/progress.hpp"
#include "warploom/io/sequence_stream.hpp"

namespace warploom::tool {
namespace {

struct Settings : TableSettings {
  std::vector<std::string> inputs;
  std::string separator, histogram, memory, scratch, database, resume;
  table::Column column;
  int kmer = 0, least_quality = 0, counter_bits = 0;
  bool canonical = false, mpi = false;
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
    check_interrupt();
    if (run.as_json())
      values.push_back({{"value", counted.value}, {"count", counted.count}});
    else
      text += fmt::format("{:>{}} {}\n", counted.count, width, counted.value);
  }
  Json inputs = Json::array();
  for (const std::string& input : s.inputs) inputs.push_back(input_name(input));
  if (!s.histogram.empty())
    run.write(s.histogram, kmer_histogram_text(counts.histogram, s.histogram, s.kmer));
  return run.finish(
      text, {{"inputs", std::move(inputs)},
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
  for (const auto& [given, option] : {std::pair(!s.histogram.empty(), "--histogram"),
                                      {s.least_quality > 0, "--min-quality"},
                                      {!s.memory.empty(), "--memory"},
                                      {!s.scratch.empty(), "--scratch"},
                                      {!s.database.empty(), "--database"},
                                      {s.counter_bits > 0, "--counter-bits"},
                                      {!s.resume.empty(), "--resume"},
                                      {s.mpi, "--mpi"}})
    if (s.kmer == 0 && given) throw BadInput(fmt::format("{}: it is of k-mers; say --kmer K", option));
  if (std::ranges::count(s.inputs, "-") > 1) throw BadInput("standard input, '-', is named twice");
  MpiRun mpi(s.mpi);
  if (!mpi.leads()) s.output = "-";
  TableRun run(s, mpi.leads() ? std::vector{s.histogram, s.database} : std::vector<std::string>());
  const table::CountOptions options{s.table, s.top, s.least};
  if (s.kmer > 0) {
    table::KmerOptions kmers;
    static_cast<table::CountOptions&>(kmers) = options;
    kmers.k = s.kmer;
    kmers.canonical = s.canonical;
    kmers.histogram = s.histogram.empty() ? 0 : kHistogramBins;
    kmers.most_memory = s.memory.empty() ? 0 : parse_byte_size("--memory", s.memory);
    kmers.scratch = s.scratch;
    kmers.resume = s.resume;
    kmers.ranks = mpi.ranks();
    if (s.counter_bits > 0) kmers.counter_bits = s.counter_bits;
    io::SequenceStream sequences({s.inputs.begin(), s.inputs.end()}, s.least_quality);
    table::Counts counts;
    if (s.database.empty() || !mpi.leads()) {
      kmers.database = s.database;  // which rank 0 writes
      counts = table::count_kmers(sequences, kmers);
    } else {
      run.write(s.database, [&](const std::filesystem::path& staged) {
        kmers.database = staged;
        counts = table::count_kmers(sequences, kmers);
      });
    }
    mpi.end();
    return mpi.leads() ? finish(s, run, counts, fmt::format("{}-mers", s.kmer)) : kDone;
  }
  const auto text = [&](const table::TakeWords& take) {
    for (const std::string& input : s.inputs)
      if (input == "-")
        table::for_each_words(read_input(input, s.max_memory), input_name(input), s.column, take,
                              s.max_memory);
      else
        table::for_each_words(input, s.column, take, s.max_memory);
  };
  return finish(s, run, table::count_words(text, options), s.column.asked.empty() ? "lines" : "fields");
}

std::function<int()> add(Command& command) {
  auto s = std::make_shared<Settings>();
  command
      .add("FILE", &s->inputs,
           "Text, or FASTA and FASTQ with --kmer; perhaps gzipped; '-' for standard input")
      .required();
  command.add(
      "--column WHICH", &s->column.asked,
      "Count the fields of one column, a number from 1 or a name in the first line, in place of lines");
  command.add(
      "--separator C", &s->separator,
      "Between fields: a character, tab or blanks [what the first line has: tab, comma, semicolon, else blanks]");
  command.add("--header", &s->column.header, "The first line is no data");
  command.add("--top N", &s->top, "How many to list, the most frequent first; 0: all [20]");
  command.add("--min-count N", &s->least, "List what came as often at least [1]");
  add_max_memory(
      command, s->max_memory,
      "Refuse text that is read whole (gzip, standard input) and has more, or unpacks to more; as 8G [2G]");
  command.group("K-mers");
  command.add("--kmer K", &s->kmer, "Count the words of K bases of sequences, 1 to 63; on a GPU to 31")
      .range(1, table::kMostBases);
  command.add("--canonical", &s->canonical,
              "A k-mer and its reverse complement are the same, written as the lesser of the two");
  command
      .add("--min-quality Q", &s->least_quality,
           "Bases of FASTQ with a lower quality (Phred, from '!' on) are as N [0]")
      .range(0, 93);
  command.add(
      "--histogram FILE", &s->histogram,
      "Also write how many different k-mers came once, twice, ... 10,000 times, and more often: what GenomeScope reads; a picture where FILE ends in .svg");
  command.add(
      "--memory SIZE", &s->memory,
      "Keep so much of what was read in memory, and the rest in a temporary file; as 8G [all in memory]");
  command.add("--scratch DIR", &s->scratch, "Where that file is [TMPDIR, else /tmp]");
  command.add(
      "--database FILE", &s->database,
      "Also write all k-mers and their counts, sorted and compressed, for `table dump`, `query`, `merge`, "
      "`intersect` and `subtract`");
  command
      .add("--counter-bits N", &s->counter_bits,
           "Counts end at 2^N - 1, in the list, the histogram and the database; 8 as KMC's [64]")
      .range(1, 64);
  command.add(
      "--resume DIR", &s->resume,
      "Keep what was read in DIR; the same command goes on there after it was stopped, and empties it");
  add_mpi(command, s->mpi);
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
      "  warploom table count lane1.fastq.gz lane2.fastq.gz --kmer 21 --canonical --histogram 21.histo\n"
      "  warploom table count reads.fastq.gz --kmer 31 --canonical --database reads.kmers --top 0 -o /dev/null\n"
      "Each line listed is a count and the value, after a first line that begins with #. Counts are exact, and of "
      "all files together. K-mers with letters other than A, C, G, T and U are not counted. Sequences are read "
      "piece by piece, however many there are; text that is not gzipped may be larger than memory, as long as what "
      "is different fits. K-mers are counted on the CPU unless --device cuda is said.",
      &add};
}

}  // namespace warploom::tool
