#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/verb.hpp"
#include "command.hpp"
#include "warploom/core/error.hpp"
#include "warploom/core/progress.hpp"
#include "warploom/count/kmer_database.hpp"
#include "warploom/io/sequence_stream.hpp"
#include "warploom/json/json.hpp"

namespace warploom::tool {
namespace {

struct Settings {
  std::string database;
  std::vector<std::string> words, sequences;
  bool json = false;
};

constexpr std::size_t kPiece = 1 << 20;  // letters of sequences at once

/// As text at once; what --json prints is collected.
void answer(const Settings& s, const std::vector<std::string_view>& words, Json& collected) {
  const std::vector<std::uint64_t> counts = table::query_kmers(s.database, words);
  std::string text;
  for (std::size_t k = 0; k < words.size(); ++k)
    if (s.json)
      collected.push_back({{"word", words[k]}, {"count", counts[k]}});
    else
      text += fmt::format("{} {}\n", words[k], counts[k]);
  print(text);
}

void answer_sequences(const Settings& s, std::size_t k, Json& collected) {
  io::SequenceStream stream({s.sequences.begin(), s.sequences.end()});
  std::vector<std::string_view> words;
  for (std::string piece; stream.next(piece, kPiece, k - 1);) {
    words.clear();
    for (std::string_view rest = piece; !rest.empty();) {
      const std::string_view sequence = rest.substr(0, rest.find(io::SequenceStream::kEnd));
      for (std::size_t at = 0; at + k <= sequence.size(); ++at) words.push_back(sequence.substr(at, k));
      rest.remove_prefix(std::min(rest.size(), sequence.size() + 1));
    }
    answer(s, words, collected);
  }
}

int run(const Settings& s) {
  if (s.words.empty() && s.sequences.empty())
    throw BadInput("nothing is asked for; name words, or --sequences FILE");
  const auto k = static_cast<std::size_t>(table::kmer_database_info(s.database).k);
  Json collected = Json::array();
  if (!s.words.empty()) answer(s, {s.words.begin(), s.words.end()}, collected);
  if (!s.sequences.empty()) answer_sequences(s, k, collected);
  if (s.json) print_json({{"database", s.database}, {"k", k}, {"words", std::move(collected)}});
  return kDone;
}

std::function<int()> add(Command& command) {
  auto s = std::make_shared<Settings>();
  command.add("DATABASE", &s->database, "What `table count --database` or a set operation wrote").required();
  command.add("WORD", &s->words, "K-mers, of the database's length");
  command.add("--sequences FILE", &s->sequences,
              "All k-mers of FASTA or FASTQ, in their order; perhaps gzipped; '-' for standard input");
  command.add_json(s->json);
  return [s] { return run(*s); };
}

}  // namespace

Verb table_query() {
  return {
      "query", "Say how often k-mers occur in a database",
      "warploom table query reads.kmers ACGTACGTACGTACGTACGTA\n"
      "  warploom table query reads.kmers --sequences genes.fa\n"
      "A line for each k-mer: as it was asked for, and its count, 0 where it is not there or has letters that "
      "are no bases. In a canonical database both strands are found.",
      &add};
}

}  // namespace warploom::tool
