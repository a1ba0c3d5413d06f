// count_kmers() on a CPU beside a map.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "count/odd_files.hpp"
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
  Map count(const std::vector<std::string>& names, const KmerOptions& options = all_of(3, false)) const {
    std::vector<std::filesystem::path> paths;
    for (const std::string& name : names) paths.push_back(directory / name);
    io::SequenceStream sequences(paths);
    return counts_of(count_kmers(sequences, options));
  }
  /// As by one thread that reads line by line.
  KmerOptions resumed() const {
    KmerOptions options = all_of(3, false);
    options.resume = directory / "kept";
    options.checkpoint = 1;
    std::filesystem::remove_all(options.resume);
    return options;
  }
  Map sum(Map all, const std::vector<std::string>& letters) const {
    for (const auto& [word, count] : counted(letters, 3, false)) all[word] += count;
    return all;
  }
};

TEST_F(OddFiles, AreReadAndNothingIsLostOfTheOthers) {
  make("good.fq", kGoodFile);
  make("last.fa", kLastFile);
  const Map others = sum(sum({}, {"GATTACA"}), {"CCCGGG"});
  for (const auto& [name, content, letters] : odd_files()) {
    make(name, content);
    const std::vector<std::string> all = {"good.fq", name, "last.fa"};
    const Map wanted = sum(others, letters);
    EXPECT_EQ(count(all), wanted) << name;
    EXPECT_EQ(count(all, resumed()), wanted) << name << ", resumed";
    io::SequenceStream text = io::SequenceStream::of_text(content, name);
    EXPECT_EQ(counts_of(count_kmers(text, all_of(3, false))), sum({}, letters)) << name << ", a text";
    if (io::is_gzip(content)) continue;
    make(name, io::gzip(content, 1));
    EXPECT_EQ(count(all), wanted) << name << ", packed";
  }
}

TEST_F(OddFiles, ThatAreBrokenAreRefusedWithFileAndLine) {
  make("good.fq", kGoodFile);
  for (const auto& [content, says] : broken_files()) {
    const auto expect_refusal = [&](const KmerOptions& options) {
      EXPECT_THAT(
          [&] {
            count({"good.fq", "odd"}, options);
          },
          ThrowsMessage<BadInput>(HasSubstr(says)))
          << content;
    };
    make("odd", content);
    expect_refusal(all_of(3, false));
    expect_refusal(resumed());
    const auto count_text = [&] {
      io::SequenceStream text = io::SequenceStream::of_text(content, "odd");
      count_kmers(text, all_of(3, false));
    };
    EXPECT_THAT(count_text, ThrowsMessage<BadInput>(HasSubstr(says))) << content;
    if (io::is_gzip(content)) continue;
    make("odd", io::gzip(content, 1));
    expect_refusal(all_of(3, false));
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
