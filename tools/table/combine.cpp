#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cli/verb.hpp"
#include "command.hpp"
#include "warploom/core/error.hpp"
#include "warploom/count/kmer_database.hpp"
#include "warploom/json/json.hpp"

namespace warploom::tool {
namespace {

struct Settings {
  std::vector<std::string> databases;
  std::string output, count = "usual";
  table::CombineOptions options;
  bool force = false, json = false;
};

constexpr std::pair<const char*, table::KmerCount> kCounts[] = {
    {"usual", table::KmerCount::usual}, {"sum", table::KmerCount::sum},
    {"min", table::KmerCount::least},   {"max", table::KmerCount::greatest},
    {"first", table::KmerCount::first}, {"difference", table::KmerCount::difference}};

int run(Settings& s) {
  s.options.count =
      std::ranges::find(kCounts, s.count, [](const auto& entry) { return std::string(entry.first); })->second;
  OutputFiles files;
  files.add(s.output, s.force);
  const std::vector<std::filesystem::path> databases(s.databases.begin(), s.databases.end());
  table::KmerDatabaseInfo info;
  files.write(s.output, [&](const std::filesystem::path& staged) {
    info = table::combine_kmers(databases, staged, s.options);
  });
  files.commit();
  if (s.json)
    print_json({{"database", s.output},
                {"k", info.k},
                {"canonical", info.canonical},
                {"different", info.different},
                {"total", info.total}});
  else
    remark(fmt::format("{}: {} different of {}", s.output, grouped(info.different), grouped(info.total)));
  return kDone;
}

template <table::KmerSet set>
std::function<int()> add(Command& command) {
  auto s = std::make_shared<Settings>();
  s->options.set = set;
  command
      .add("DATABASE", &s->databases,
           set == table::KmerSet::subtract
               ? "The database to take from, then those whose k-mers are taken away"
               : "Databases of k-mers, two and more")
      .required();
  command.add("-o,--output FILE", &s->output, "The database to write").required();
  if constexpr (set == table::KmerSet::subtract)
    command
        .add("--count WHICH", &s->count,
             "usual: k-mers that the others lack, with their counts; difference: the first's count less the "
             "others', where that is above 0 [usual]")
        .among(std::vector<std::string>{"usual", "difference"});
  else
    command
        .add("--count WHICH", &s->count,
             set == table::KmerSet::merge
                 ? "A k-mer's count: sum, min, max or that of the first database that has it [sum]"
                 : "A k-mer's count: sum, min, max or that of the first database [min]")
        .among(std::vector<std::string>{"usual", "sum", "min", "max", "first"});
  command.add("--min-count N", &s->options.range.least, "Write what then has this count at least [1]");
  command.add("--max-count N", &s->options.range.most, "Write what then has this count at most [no limit]");
  command
      .add("--counter-bits N", &s->options.counter_bits,
           "Counts end at 2^N - 1 [the widest of the databases]")
      .range(1, 64);
  command.add_force(s->force);
  command.add_json(s->json);
  command.add_threads(s->options.run.threads);
  return [s] { return run(*s); };
}

constexpr const char* kRemark =
    "\nThe databases have the same k, and all are canonical or none is. They are read block by block, whatever "
    "their size.";

}  // namespace

Verb table_merge() {
  static const std::string example =
      std::string("warploom table merge lane1.kmers lane2.kmers -o both.kmers") + kRemark;
  return {"merge", "Write the k-mers of any of several databases, with the sum of their counts", example,
          &add<table::KmerSet::merge>};
}
Verb table_intersect() {
  static const std::string example =
      std::string("warploom table intersect child.kmers mother.kmers -o shared.kmers") + kRemark;
  return {"intersect", "Write the k-mers that all of several databases have, with the least of their counts",
          example, &add<table::KmerSet::intersect>};
}
Verb table_subtract() {
  static const std::string example =
      std::string("warploom table subtract child.kmers mother.kmers father.kmers -o new.kmers") + kRemark;
  return {"subtract", "Write the k-mers of a database that others lack", example,
          &add<table::KmerSet::subtract>};
}

}  // namespace warploom::tool
