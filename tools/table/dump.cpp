#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <memory>
#include <string>
#include <system_error>

#include "cli/verb.hpp"
#include "command.hpp"
#include "warploom/core/error.hpp"
#include "warploom/count/kmer_database.hpp"

namespace warploom::tool {
namespace {

struct Settings {
  std::string database, output = "-", form = "tab", histogram;
  table::KmerRange range;
  bool force = false, info = false, json = false;
  Run run;
};

table::KmerText form_of(const std::string& form) {
  if (form == "fasta") return table::KmerText::fasta;
  return form == "tab" ? table::KmerText::tab : table::KmerText::blank;
}

/// Writes pieces of text as they come.
class TextFile {
 public:
  explicit TextFile(const std::filesystem::path& path)
      : path_(path), file_(std::fopen(path.c_str(), "w"), &std::fclose) {
    check(file_ != nullptr);
  }
  void put(std::string_view text) {
    check(std::fwrite(text.data(), 1, text.size(), file_.get()) == text.size());
  }
  void close() { check(std::fclose(file_.release()) == 0); }

 private:
  void check(bool good) const {
    if (!good)
      throw BadInput(
          fmt::format("cannot write {}: {}", path_.string(), std::generic_category().message(errno)));
  }
  std::filesystem::path path_;
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> file_;
};

int run(const Settings& s) {
  const RunScope scope(s.run);
  if (s.info || s.json) {
    const table::KmerDatabaseInfo info = table::kmer_database_info(s.database);
    if (s.json)
      print_json({{"database", s.database},
                  {"k", info.k},
                  {"canonical", info.canonical},
                  {"counter_bits", info.counter_bits},
                  {"different", info.different},
                  {"total", info.total},
                  {"most", info.most}});
    else
      print(
          fmt::format("k {}, {}, counters of {} bits; {} different of {}, the most frequent came {} times\n",
                      info.k, info.canonical ? "canonical" : "not canonical", info.counter_bits,
                      grouped(info.different), grouped(info.total), grouped(info.most)));
    return kDone;
  }
  OutputFiles files;
  const bool to_file = s.output != "-";
  if (to_file) files.add(s.output, s.force);
  if (!s.histogram.empty()) {
    const std::string text = kmer_histogram_text(table::kmer_histogram(s.database, kHistogramBins),
                                                 s.histogram, table::kmer_database_info(s.database).k);
    if (s.histogram == "-") {
      print(text);
    } else {
      files.add(s.histogram, s.force);
      files.write(s.histogram, text);
    }
  }
  const auto dump = [&](const std::function<void(std::string_view)>& take) {
    table::dump_kmers(s.database, form_of(s.form), s.range, take);
  };
  if (to_file)
    files.write(s.output, [&](const std::filesystem::path& staged) {
      TextFile file(staged);
      dump([&](std::string_view text) { file.put(text); });
      file.close();
    });
  else if (s.histogram.empty())
    dump([](std::string_view text) { print(text); });
  files.commit();
  return kDone;
}

std::function<int()> add(Command& command) {
  auto s = std::make_shared<Settings>();
  command.add("DATABASE", &s->database, "What `table count --database` or a set operation wrote").required();
  command
      .add(
          "--form WHICH", &s->form,
          "tab: WORD, tab, COUNT, as kmc_dump writes it; blank: with a blank, as jellyfish dump -c; fasta: as "
          "jellyfish dump [tab]")
      .among(std::vector<std::string>{"tab", "blank", "fasta"});
  command.add("--min-count N", &s->range.least, "Only what came as often at least [1]");
  command.add("--max-count N", &s->range.most, "Only what came as often at most [no limit]");
  command.add(
      "--histogram FILE", &s->histogram,
      "Write how many k-mers came once, twice, ... 10,000 times, and more often; without -o that alone; '-' for standard output, a picture where FILE ends in .svg");
  command.add("--info", &s->info, "Only say what the database has");
  command.add("-o,--output FILE", &s->output, "Text to write; '-' for standard output [-]");
  command.add("--json", &s->json, "As --info, for programs");
  command.add_force(s->force);
  command.add_threads(s->run.threads);
  return [s] { return run(*s); };
}

}  // namespace

Verb table_dump() {
  return {
      "dump", "Write the k-mers of a database as text, or their histogram",
      "warploom table dump reads.kmers --min-count 2 -o reads.txt\n"
      "  warploom table dump reads.kmers --histogram reads.histo\n"
      "Words come in the order of the alphabet. The database is read block by block, each with its checksum.",
      &add};
}

}  // namespace warploom::tool
