// count_kmers() on a CPU beside a map.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "io/scratch.hpp"
#include "warploom/core/error.hpp"
#include "warploom/count/count.hpp"
#include "warploom/io/gzip.hpp"

namespace warploom::table {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;
using Map = std::map<std::string, std::uint64_t>;

std::string complement(std::string word) {
  std::ranges::reverse(word);
  for (char& base : word) base = "TGCA"[std::string("ACGT").find(base)];
  return word;
}

/// Reads of both strands of a random genome with a repeat, errors and letters that are no bases.
std::vector<std::string> reads(unsigned seed, int count) {
  std::mt19937 random(seed);
  std::string genome;
  for (int k = 0; k < 3000; ++k) genome += "ACGT"[random() % 4];
  genome += std::string(300, 'A') + genome.substr(100, 500);
  std::vector<std::string> all;
  for (int read = 0; read < count; ++read) {
    std::string letters = genome.substr(random() % (genome.size() - 200), 1 + random() % 200);
    if (random() % 2) letters = complement(letters);
    if (random() % 4 == 0) letters[random() % letters.size()] = "ACGTNacgtu"[random() % 10];
    all.push_back(letters);
  }
  return all;
}

Map counted(const std::vector<std::string>& reads, std::size_t k, bool canonical) {
  Map map;
  for (std::string read : reads) {
    for (char& base : read) base = base == 'u' ? 'T' : static_cast<char>(std::toupper(base));
    for (std::size_t at = 0; at + k <= read.size(); ++at) {
      const std::string word = read.substr(at, k);
      if (word.find('N') == word.npos) ++map[canonical ? std::min(word, complement(word)) : word];
    }
  }
  return map;
}

std::string fasta(const std::vector<std::string>& reads) {
  std::string text;
  for (const std::string& read : reads) text += ">r\n" + read + "\n";
  return text;
}

Map counts_of(const Counts& counts) {
  Map map;
  for (const Counted& word : counts.listed) map[word.value] = word.count;
  EXPECT_EQ(map.size(), counts.listed.size());
  return map;
}

KmerOptions all_of(int k, bool canonical) {
  KmerOptions options;
  options.table.run.devices = {Device::cpu};
  options.k = k;
  options.canonical = canonical;
  options.top = 0;
  return options;
}

TEST(Kmers, OfEveryLengthAreThoseOfAMap) {
  const std::vector<std::string> some = reads(1, 40);
  for (int k = 1; k <= kMostBases; ++k)
    for (const bool canonical : {false, true}) {
      io::SequenceStream sequences = io::SequenceStream::of_text(fasta(some), "reads");
      const Counts counts = count_kmers(sequences, all_of(k, canonical));
      const Map wanted = counted(some, static_cast<std::size_t>(k), canonical);
      EXPECT_EQ(counts_of(counts), wanted) << k << canonical;
      EXPECT_EQ(counts.statistics.pairs, wanted.size());
      EXPECT_TRUE(std::ranges::is_sorted(counts.listed, [](const Counted& a, const Counted& b) {
        return a.count != b.count ? a.count > b.count : a.value < b.value;
      }));
    }
}

TEST(Kmers, OneSequenceOfManyPiecesLosesAndRepeatsNothing) {
  std::mt19937 random(2);
  std::string genome;
  for (int k = 0; k < 5'000'000; ++k) genome += "ACGT"[random() % 4 & random() % 4];
  io::SequenceStream sequences = io::SequenceStream::of_text(">g\n" + genome + "\n", "genome");
  KmerOptions options = all_of(5, false);
  const Counts counts = count_kmers(sequences, options);
  EXPECT_EQ(counts.total, genome.size() - 4);
  std::vector<std::uint64_t> wanted(1024);
  unsigned word = 0;
  for (std::size_t at = 0; at < genome.size(); ++at) {
    word = (word << 2 | static_cast<unsigned>(std::string_view("ACGT").find(genome[at]))) & 1023;
    if (at >= 4) ++wanted[word];
  }
  ASSERT_EQ(counts.listed.size(),
            static_cast<std::size_t>(std::ranges::count_if(wanted, [](auto n) { return n > 0; })));
  for (const Counted& counted : counts.listed) {
    unsigned at = 0;
    for (const char base : counted.value)
      at = at << 2 | static_cast<unsigned>(std::string_view("ACGT").find(base));
    EXPECT_EQ(counted.count, wanted[at]) << counted.value;
  }
}

TEST(Kmers, ARepeatLongerThanARecordIsCountedWhole) {
  io::SequenceStream sequences = io::SequenceStream::of_text(
      ">a\n" + std::string(100'000, 'A') + "\n>t\n" + std::string(1'000, 't') + "\n", "a");
  const Counts counts = count_kmers(sequences, all_of(21, true));
  ASSERT_EQ(counts.listed.size(), 1u);
  EXPECT_EQ(counts.listed[0].count, 100'000u - 20 + 1'000 - 20);
}

class KmersInScratch : public Scratch {};

TEST_F(KmersInScratch, LittleMemoryGivesTheSameAndLeavesNoFile) {
  // Few minimisers, so that partitions have more than a block each.
  std::mt19937 random(3);
  std::string genome, text;
  for (int k = 0; k < 400; ++k) genome += "ACGT"[random() % 4];
  for (int read = 0; read < 30'000; ++read) {
    std::string letters = genome.substr(random() % 250, 150);
    letters[random() % 150] = "ACGT"[random() % 4];
    text += ">r\n" + letters + "\n";
  }
  io::SequenceStream once = io::SequenceStream::of_text(text, "reads");
  io::SequenceStream again = io::SequenceStream::of_text(text, "reads");
  KmerOptions options = all_of(31, true);
  options.top = 100;
  options.histogram = 10;
  const Counts plain = count_kmers(once, options);
  options.most_memory = 1;
  options.scratch = directory;
  const Counts bounded = count_kmers(again, options);
  EXPECT_EQ(plain.bytes_in_file, 0u);
  EXPECT_GT(bounded.bytes_in_file, plain.statistics.bytes_nodes / 2);
  EXPECT_EQ(bounded.histogram, plain.histogram);
  EXPECT_EQ(counts_of(bounded), counts_of(plain));
  EXPECT_TRUE(std::filesystem::is_empty(directory));
}

TEST_F(KmersInScratch, RefusesAFolderThatIsNone) {
  std::string text = ">r\n" + std::string(30'000'000, 'A') + "\n";
  io::SequenceStream sequences = io::SequenceStream::of_text(std::move(text), "reads");
  KmerOptions options = all_of(21, false);
  options.most_memory = 1;
  options.scratch = directory / "absent";
  EXPECT_THAT([&] { count_kmers(sequences, options); },
              ThrowsMessage<BadInput>(HasSubstr("choose another folder")));
}

class OddFiles : public Scratch {
 protected:
  /// Of the words of three bases of files, in their order.
  Map count(const std::vector<std::string>& names) const {
    std::vector<std::filesystem::path> paths;
    for (const std::string& name : names) paths.push_back(directory / name);
    io::SequenceStream sequences(paths);
    return counts_of(count_kmers(sequences, all_of(3, false)));
  }
  Map sum(Map all, const std::vector<std::string>& letters) const {
    for (const auto& [word, count] : counted(letters, 3, false)) all[word] += count;
    return all;
  }
};

TEST_F(OddFiles, AreReadAndNothingIsLostOfTheOthers) {
  make("good.fq", "@g\nGATTACA\n+\nIIIIIII\n");
  make("last.fa", ">l\nCCCGGG\n");
  const std::string plain = "@a\nACGTAC\n+\nIIIIII\n";
  const struct {
    std::string name, content;
    std::vector<std::string> letters;
  } files[] = {{"crlf.fq", "@a\r\nACGTAC\r\n+\r\nIIIIII\r\n", {"ACGTAC"}},
               {"crlf.fa", ">a\r\nACGT\r\nAC\r\n", {"ACGTAC"}},
               {"lines.fq", "@a\nACG\nTAC\n+\nIII\nIII\n", {"ACGTAC"}},
               {"at_quality.fq", "@a\nACG\nTAC\n+a\n@II\n+II\n", {"ACGTAC"}},
               {"no_end.fq", "@a\nACGTAC\n+\nIIIIII", {"ACGTAC"}},
               {"no_end.fa", ">a\nACGTAC", {"ACGTAC"}},
               {"small.fq", "@a\nacgtac\n+\nIIIIII\n", {"ACGTAC"}},
               {"empty_read.fq", "@e\n\n+\n\n" + plain + "@e\n\n+\n\n", {"ACGTAC"}},
               {"short.fq", "@s\nAC\n+\nII\n" + plain, {"ACGTAC"}},
               {"blank_lines.fq", "\n\n" + plain + "\n\n", {"ACGTAC"}},
               {"blank_lines.fa", "\n>a\n\nACG\n\nTAC\n\n", {"ACGTAC"}},
               {"mark.fa", "\xEF\xBB\xBF>a\nACGTAC\n", {"ACGTAC"}},
               {"remarks.fa", ";old\n>a\nACG\n;more\nTAC\n", {"ACGTAC"}},
               {"rna.fa", ">a\nACGUAC\n", {"ACGTAC"}},
               {"n.fq", "@a\nACGNTAC\n+\nIII!III\n", {"ACG", "TAC"}},
               {"gaps.fa", ">a\nACG-TAC*\n", {"ACG", "TAC"}},
               {"blanks.fa", ">a\nACG TAC\t\n", {"ACGTAC"}},
               {"header.fa", ">\nACGTAC\n", {"ACGTAC"}},
               {"fasta.fq", ">a\nACGTAC\n", {"ACGTAC"}},
               {"fastq.fa", plain, {"ACGTAC"}},
               {"packed.fq", io::gzip(plain, 6), {"ACGTAC"}},
               {"two.fq.gz", io::gzip("@a\nACG", 6) + io::gzip("TAC\n+\nIIIIII\n", 6), {"ACGTAC"}},
               {"zeros.fq.gz", io::gzip(plain, 6) + std::string(512, '\0'), {"ACGTAC"}}};
  const Map others = sum(sum({}, {"GATTACA"}), {"CCCGGG"});
  for (const auto& [name, content, letters] : files) {
    make(name, content);
    EXPECT_EQ(count({"good.fq", name, "last.fa"}), sum(others, letters)) << name;
  }
}

TEST_F(OddFiles, ThatAreBrokenAreRefusedWithFileAndLine) {
  make("good.fq", "@g\nGATTACA\n+\nIIIIIII\n");
  const std::string packed = io::gzip("@a\nACGTAC\n+\nIIIIII\n", 6);
  const std::pair<std::string, std::string> files[] = {
      {"@a\nACG\n+\nII\n@b\nACG\n+\nIII\n", "odd:4:1: 2 qualities of 3 letters"},
      {"@a\nACG\n+\nIIII\n", "odd:4:1: 4 qualities of 3 letters"},
      {"@a\nACG\n", "odd:3:1: the file ends before the '+'"},
      {"@a\nACG\n+\n", "ends within its last record"},
      {"@a\nACG\n@b\nACG\n+\nIII\n", "odd:3:1: a header before the '+'"},
      {"ACGT\n", "odd:1:1: neither FASTA nor FASTQ"},
      {">a\n>b\nACG\n", "odd:1:1: a record without a sequence"},
      {">a\nAC1\n", "odd:2:3: the character '1'"},
      {">a\nACG\rT\r", "odd:2:4: a CR that no LF follows"},
      {"", "odd: it has no sequence"},
      {packed.substr(0, packed.size() - 9), "odd: the gzip stream is cut off"},
      {packed + "x", "odd: the gzip stream is followed by bytes"}};
  for (const auto& [content, says] : files) {
    make("odd", content);
    EXPECT_THAT([&] { count({"good.fq", "odd"}); }, ThrowsMessage<BadInput>(HasSubstr(says))) << content;
  }
}

TEST(Kmers, TheHistogramGathersInItsLastBin) {
  io::SequenceStream sequences = io::SequenceStream::of_text(">r\nAAAAAACAC\n", "r");  // A 7, C 2
  KmerOptions options = all_of(1, false);
  options.histogram = 3;
  options.least = 3;
  const Counts counts = count_kmers(sequences, options);
  EXPECT_EQ(counts.histogram, (std::vector<std::uint64_t>{0, 1, 1}));
  EXPECT_EQ(counts_of(counts), (Map{{"A", 7}}));
}

TEST(Kmers, TopListsTheMostFrequentOfAllPartitions) {
  const std::vector<std::string> some = reads(4, 600);
  io::SequenceStream sequences = io::SequenceStream::of_text(fasta(some), "reads");
  KmerOptions options = all_of(21, true);
  options.top = 50;
  const Counts counts = count_kmers(sequences, options);
  std::vector<std::pair<std::uint64_t, std::string>> wanted;
  for (const auto& [word, count] : counted(some, 21, true)) wanted.push_back({count, word});
  std::ranges::sort(wanted, [](const auto& a, const auto& b) {
    return a.first != b.first ? a.first > b.first : a.second < b.second;
  });
  ASSERT_EQ(counts.listed.size(), 50u);
  for (std::size_t k = 0; k < 50; ++k) {
    EXPECT_EQ(counts.listed[k].value, wanted[k].second);
    EXPECT_EQ(counts.listed[k].count, wanted[k].first);
  }
}

}  // namespace
}  // namespace warploom::table
