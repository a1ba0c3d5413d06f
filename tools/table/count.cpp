#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "cli/stopwatch.hpp"
#include "cli/verb.hpp"
#include "command.hpp"
#include "kmers.hpp"
#include "warploom/core/error.hpp"
#include "warploom/core/file.hpp"
#include "warploom/core/progress.hpp"
#include "warploom/io/fasta.hpp"
#include "words.hpp"

namespace warploom::tool {
namespace {

struct Settings : TableSettings {
  std::string input, separator;
  Column column;
  int kmer = 0;
  bool canonical = false;
  std::uint64_t top = 20, least = 1;
};

/// How often each key came.
class Counter {
 public:
  explicit Counter(const table::Options& options) : table_(options) {}

  void count(std::span<const std::uint64_t> keys) {
    ones_.resize(std::max(ones_.size(), keys.size()), 1);
    const table::BatchReport report =
        table_.run(table::Operation::add, keys, std::span(ones_).first(keys.size()), {}, {});
    if (report.tally.full > 0) throw OutOfMemory("no memory for more different values");
    total_ += keys.size();
  }

  std::uint64_t total() const { return total_; }
  const table::HashTable<std::uint64_t, std::uint64_t>& table() const { return table_; }

 private:
  table::HashTable<std::uint64_t, std::uint64_t> table_;
  std::vector<std::uint64_t> ones_;
  std::uint64_t total_ = 0;
};

struct Counted {
  std::uint64_t count;
  std::string value;
};

/// The most frequent first, of equally frequent ones the lesser. @param value  of a key
template <class ValueOf>
std::vector<Counted> ranked(const Counter& counter, const Settings& s, const ValueOf& value) {
  std::vector<std::uint64_t> keys, counts;
  counter.table().export_pairs(keys, counts);
  std::vector<std::size_t> order;
  for (std::size_t k = 0; k < keys.size(); ++k)
    if (counts[k] >= s.least) order.push_back(k);
  const std::size_t shown = s.top == 0 ? order.size() : std::min<std::size_t>(s.top, order.size());
  std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(shown), order.end(),
                    [&](std::size_t a, std::size_t b) {
                      return counts[a] != counts[b] ? counts[a] > counts[b] : value(keys[a]) < value(keys[b]);
                    });
  std::vector<Counted> list;
  for (std::size_t k = 0; k < shown; ++k)
    list.push_back({counts[order[k]], std::string(value(keys[order[k]]))});
  return list;
}

int finish(const Settings& s, TableRun& run, const Counter& counter, std::string_view what,
           const std::vector<Counted>& list, double seconds) {
  const table::Statistics statistics = counter.table().statistics();
  const double rate = seconds > 0 ? static_cast<double>(counter.total()) / seconds : 0;
  std::string text = fmt::format("# {} different of {} {} in {}\n", grouped(statistics.pairs),
                                 grouped(counter.total()), what, seconds_text(seconds));
  const std::size_t width = list.empty() ? 1 : std::to_string(list.front().count).size();
  Json values = Json::array();
  for (const Counted& counted : list) {
    if (run.as_json())
      values.push_back({{"value", counted.value}, {"count", counted.count}});
    else
      text += fmt::format("{:>{}} {}\n", counted.count, width, counted.value);
  }
  return run.finish(
      text, {{"input", input_name(s.input)},
             {"counted", what},
             {"total", counter.total()},
             {"different", statistics.pairs},
             {"seconds", seconds},
             {"per_second", rate},
             {"table", counter.table().description()},
             {"table_bytes", statistics.bytes_directory + statistics.bytes_nodes + statistics.bytes_free},
             {"values", std::move(values)}});
}

int count_words(const Settings& s, TableRun& run) {
  const Stopwatch watch;
  Dictionary dictionary(s.table);
  Counter counter(s.table);
  std::vector<std::uint64_t> numbers;
  for_each_words(s.input, s.column, [&](std::span<const std::string_view> words) {
    numbers.resize(words.size());
    dictionary.number(words, numbers);
    counter.count(numbers);
  });
  const double seconds = watch.seconds();
  return finish(s, run, counter, s.column.asked.empty() ? "lines" : "fields",
                ranked(counter, s, [&](std::uint64_t number) { return dictionary.word(number); }), seconds);
}

int count_kmers(const Settings& s, TableRun& run) {
  const std::vector<io::FastaRecord> records = io::parse_fasta(read_input(s.input), input_name(s.input));
  std::uint64_t letters = 0;
  for (const io::FastaRecord& record : records) letters += record.sequence.size();
  Progress progress("counting", letters, "letters");
  const Stopwatch watch;
  Counter counter(s.table);
  const Kmers kmers(s.kmer, s.canonical);
  for (const io::FastaRecord& record : records)
    kmers.of_sequence(record.sequence, [&](std::span<const std::uint64_t> words) {
      counter.count(words);
      progress.advance(words.size());
    });
  const double seconds = watch.seconds();
  return finish(s, run, counter, fmt::format("{}-mers", s.kmer),
                ranked(counter, s, [&](std::uint64_t word) { return kmers.text(word); }), seconds);
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
  return s.kmer > 0 ? count_kmers(s, run) : count_words(s, run);
}

std::function<int()> add(Command& command) {
  auto s = std::make_shared<Settings>();
  command.add("FILE", &s->input, "Text, or FASTA with --kmer; perhaps gzipped; '-' for standard input")
      .required();
  command.add(
      "--column WHICH", &s->column.asked,
      "Count the fields of one column, a number from 1 or a name in the first line, in place of lines");
  command.add("--separator C", &s->separator,
              "Between fields: a character, tab or blanks [what the first line has: tab, comma, semicolon, "
              "else blanks]");
  command.add("--header", &s->column.header, "The first line is no data");
  command.add("--kmer K", &s->kmer, "Count the words of K bases of the sequences of a FASTA file, 1 to 31")
      .range(1, kMostBases);
  command.add("--canonical", &s->canonical,
              "A k-mer and its reverse complement are the same, written as the lesser of the two");
  command.add("--top N", &s->top, "How many to list, the most frequent first; 0: all [20]");
  command.add("--min-count N", &s->least, "List what came as often at least [1]");
  add_table_options(command, *s);
  return [s] { return run(*s); };
}

}  // namespace

Verb table_count() {
  return {
      "count", "How often each line, value of a column or k-mer occurs",
      "warploom table count access.log --column 1 --separator blanks\n"
      "  warploom table count genome.fa.gz --kmer 21 --canonical --top 0 -o kmers.txt\n"
      "Each line listed is a count and the value, after a first line that begins with #. Counts are exact. "
      "K-mers with letters other than A, C, G, T and U are not counted. Files that are not gzipped may be "
      "larger than memory, as long as what is different fits.",
      &add};
}

}  // namespace warploom::tool
