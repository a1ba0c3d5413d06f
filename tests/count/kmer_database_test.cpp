// Databases of k-mers beside maps.

#include "warploom/count/kmer_database.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <csignal>
#include <map>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "count/kmer_blocks.hpp"
#include "io/scratch.hpp"
#include "warploom/core/error.hpp"
#include "warploom/count/count.hpp"
#include "warploom/io/gzip.hpp"

namespace warploom::table {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::ThrowsMessage;
using Map = std::map<std::string, std::uint64_t>;

KmerOptions on_cpu(int k, bool canonical) {
  KmerOptions options;
  options.table.run.devices = {Device::cpu};
  options.k = k;
  options.canonical = canonical;
  options.top = 0;
  return options;
}

std::string random_bases(unsigned seed, int count) {
  std::mt19937 random(seed);
  std::string bases;
  for (int k = 0; k < count; ++k) bases += "ACGT"[random() % 4];
  return bases;
}

class KmerDatabases : public Scratch {
 protected:
  /// The counts of a sequence, which are in a database now.
  Map store(const std::string& name, const std::string& bases, KmerOptions options) const {
    io::SequenceStream sequences = io::SequenceStream::of_text(">r\n" + bases + "\n", "reads");
    options.database = directory / name;
    Map map;
    for (const Counted& word : count_kmers(sequences, options).listed) map[word.value] = word.count;
    return map;
  }
  Map dumped(const std::string& name, const KmerRange& range = {}) const {
    std::string text;
    dump_kmers(directory / name, KmerText::blank, range, [&](std::string_view piece) { text += piece; });
    Map map;
    std::istringstream lines(text);
    std::string word, before;
    for (std::uint64_t count = 0; lines >> word >> count; before = word) {
      EXPECT_LT(before, word);
      map[word] = count;
    }
    return map;
  }
  KmerDatabaseInfo combine(const CombineOptions& options, std::vector<std::string> names = {"a", "b"}) const {
    std::vector<std::filesystem::path> paths;
    for (const std::string& name : names) paths.push_back(directory / name);
    return combine_kmers(paths, directory / "out", options);
  }
};

TEST_F(KmerDatabases, HaveWhatWasCounted) {
  const std::string bases = random_bases(1, 20'000) + std::string(300, 'A') + random_bases(1, 900);
  for (const int k : {1, 4, 6, 7, 21, 31, 32, 33, 55, 63})
    for (const bool canonical : {false, true}) {
      const Map map = store("a", bases, on_cpu(k, canonical));
      EXPECT_EQ(dumped("a"), map) << k;
      const KmerDatabaseInfo info = kmer_database_info(directory / "a");
      EXPECT_EQ(info.k, k);
      EXPECT_EQ(info.canonical, canonical);
      EXPECT_EQ(info.different, map.size());
      EXPECT_EQ(info.total, bases.size() + 1 - static_cast<std::size_t>(k));
      std::uint64_t most = 0;
      for (const auto& [word, count] : map) most = std::max(most, count);
      EXPECT_EQ(info.most, most);
    }
}

TEST_F(KmerDatabases, AreTheSameBytesOnAnyNumberOfThreadsAndWithLittleMemory) {
  const std::string bases = random_bases(2, 600'000);  // several buckets, several blocks each
  KmerOptions options = on_cpu(21, true);
  options.top = 1;
  store("a", bases, options);
  options.table.run.threads = 3;
  options.most_memory = 1;
  options.scratch = directory;
  store("b", bases, options);
  EXPECT_EQ(content_of(directory / "a"), content_of(directory / "b"));
  EXPECT_LT(std::filesystem::file_size(directory / "a"), 600'000 * 4u);  // 25 bits a word
}

TEST_F(KmerDatabases, TextsAreThoseOfKmcAndJellyfish) {
  store("a", "AACAAC", on_cpu(3, false));  // AAC 2, ACA, CAA
  const auto text = [&](KmerText form, const KmerRange& range = {}) {
    std::string all;
    dump_kmers(directory / "a", form, range, [&](std::string_view piece) { all += piece; });
    return all;
  };
  EXPECT_EQ(text(KmerText::tab), "AAC\t2\nACA\t1\nCAA\t1\n");
  EXPECT_EQ(text(KmerText::blank), "AAC 2\nACA 1\nCAA 1\n");
  EXPECT_EQ(text(KmerText::fasta), ">2\nAAC\n>1\nACA\n>1\nCAA\n");
  EXPECT_EQ(text(KmerText::tab, {.least = 2}), "AAC\t2\n");
  EXPECT_EQ(text(KmerText::tab, {.most = 1}), "ACA\t1\nCAA\t1\n");
  EXPECT_EQ(kmer_histogram(directory / "a", 2), (std::vector<std::uint64_t>{2, 1}));
  EXPECT_EQ(kmer_histogram(directory / "a", 1), (std::vector<std::uint64_t>{3}));
}

TEST_F(KmerDatabases, AnswerForEachWordAndStrand) {
  for (const int k : {21, 45}) {
    const auto length = static_cast<std::size_t>(k);
    const std::string bases = random_bases(3, 30'000);
    const Map map = store("a", bases, on_cpu(k, true));
    std::vector<std::string> words;
    for (std::size_t at = 0; at + length < bases.size(); at += 7) words.push_back(bases.substr(at, length));
    for (unsigned seed = 10; seed < 20; ++seed) words.push_back(random_bases(seed, k));
    words.push_back(std::string(length, 'N'));
    const std::vector<std::uint64_t> counts =
        query_kmers(directory / "a", std::vector<std::string_view>(words.begin(), words.end()));
    for (std::size_t at = 0; at < words.size(); ++at) {
      std::string other(words[at].rbegin(), words[at].rend());
      for (char& base : other) base = base == 'N' ? 'N' : "TGCA"[std::string("ACGT").find(base)];
      const auto found = map.find(std::min(words[at], other));
      EXPECT_EQ(counts[at], found == map.end() ? 0 : found->second) << words[at];
    }
  }
  EXPECT_THAT([&] { query_kmers(directory / "a", std::vector<std::string_view>{"ACGT"}); },
              ThrowsMessage<BadInput>(HasSubstr("\"ACGT\" has 4 letters")));
}

TEST_F(KmerDatabases, SetOperationsAreThoseOfMaps) {
  for (const int k : {4, 11, 40}) {
    const std::string shared = random_bases(4, 6'000);
    const Map a = store("a", shared + random_bases(5, 3'000), on_cpu(k, false));
    const Map b = store("b", shared + random_bases(6, 3'000) + shared.substr(0, 900), on_cpu(k, false));
    Map sum = a, least, without, difference, most = a;
    for (const auto& [word, count] : b) {
      sum[word] += count;
      most[word] = std::max(most[word], count);
      if (a.contains(word)) least[word] = std::min(count, a.at(word));
    }
    for (const auto& [word, count] : a) {
      if (!b.contains(word)) without[word] = count;
      const std::uint64_t others = b.contains(word) ? b.at(word) : 0;
      if (count > others) difference[word] = count - others;
    }
    combine({.set = KmerSet::merge});
    EXPECT_EQ(dumped("out"), sum);
    combine({.set = KmerSet::merge, .count = KmerCount::greatest});
    EXPECT_EQ(dumped("out"), most);
    EXPECT_EQ(combine({.set = KmerSet::intersect}).different, least.size());
    EXPECT_EQ(dumped("out"), least);
    combine({.set = KmerSet::subtract});
    EXPECT_EQ(dumped("out"), without);
    combine({.set = KmerSet::subtract, .count = KmerCount::difference});
    EXPECT_EQ(dumped("out"), difference);
    combine({.set = KmerSet::intersect, .count = KmerCount::first, .range = {.least = 2}});
    std::erase_if(least, [&](const auto& entry) { return a.at(entry.first) < 2; });
    for (auto& [word, count] : least) count = a.at(word);
    EXPECT_EQ(dumped("out"), least);
  }
}

TEST_F(KmerDatabases, OfManyBlocksAreCombinedTheSameOnAnyNumberOfThreads) {
  const std::string shared = random_bases(7, 280'000);  // more blocks than a thread takes at once
  KmerOptions counting = on_cpu(15, true);
  counting.top = 1;
  store("a", shared + random_bases(8, 30'000), counting);
  store("b", shared + random_bases(9, 500), counting);
  CombineOptions options{.set = KmerSet::subtract};
  options.run.threads = 1;
  const KmerDatabaseInfo info = combine(options);
  const std::string one = content_of(directory / "out");
  options.run.threads = 5;
  combine(options);
  EXPECT_EQ(content_of(directory / "out"), one);
  const auto words = [&](const std::string& name) {
    std::size_t lines = 0;
    dump_kmers(directory / name, KmerText::tab, {}, [&](std::string_view text) {
      lines += static_cast<std::size_t>(std::ranges::count(text, '\n'));
    });
    return lines;
  };
  EXPECT_EQ(words("out"), info.different);
  EXPECT_EQ(combine({.set = KmerSet::intersect}).different + info.different, words("a"));
  EXPECT_EQ(combine({.set = KmerSet::merge}).different, info.different + words("b"));
}

TEST_F(KmerDatabases, CountsEndWhereTheCounterDoes) {
  KmerOptions options = on_cpu(5, true);
  options.counter_bits = 4;
  options.histogram = 100;
  store("a", std::string(30, 'A') + "C", options);  // AAAAA 26, AAAAC 1
  EXPECT_EQ(dumped("a"), (Map{{"AAAAA", 15}, {"AAAAC", 1}}));
  std::filesystem::copy_file(directory / "a", directory / "b");
  EXPECT_EQ(combine({.set = KmerSet::merge}).counter_bits, 4);
  EXPECT_EQ(dumped("out"), (Map{{"AAAAA", 15}, {"AAAAC", 2}}));
  combine({.set = KmerSet::merge, .counter_bits = 5});
  EXPECT_EQ(dumped("out"), (Map{{"AAAAA", 30}, {"AAAAC", 2}}));
}

TEST_F(KmerDatabases, EveryByteThatChangesAndEveryEndThatIsMissingIsRefused) {
  store("a", random_bases(10, 40), on_cpu(9, false));
  const std::string whole = content_of(directory / "a");
  const auto refused = [&](const std::string& bytes) {
    make("broken", bytes);
    try {
      dumped("broken");
      return false;
    } catch (const BadInput& error) {
      return std::string(error.what()).find("broken: ") != std::string::npos;
    }
  };
  for (std::size_t at = 0; at < whole.size(); ++at) {
    std::string changed = whole;
    changed[at] = static_cast<char>(changed[at] ^ 0x10);
    EXPECT_TRUE(refused(changed)) << at;
    EXPECT_TRUE(refused(whole.substr(0, at))) << at;
  }
  EXPECT_TRUE(refused(whole + "more"));
}

TEST_F(KmerDatabases, RefusalsSayWhatToDo) {
  store("a", "ACGTACGTAC", on_cpu(5, false));
  const std::string whole = content_of(directory / "a");
  const auto expect_refusal = [&](const std::string& bytes, const std::string& says) {
    make("broken", bytes);
    EXPECT_THAT([&] { dumped("broken"); }, ThrowsMessage<BadInput>(HasSubstr("broken: " + says)));
  };
  expect_refusal("ACGT\n", "no database of k-mers; `warploom table count");
  expect_refusal(whole.substr(0, 100), "cut off after 100 bytes; make it again");
  expect_refusal(whole.substr(0, whole.size() - 1), "cut off after");
  std::string other = whole;
  other[8] = 2;
  expect_refusal(other, "a database of k-mers of version 2, this program reads version 1; count again");
  other = whole;
  other[64] ^= 1;
  expect_refusal(other, "corrupt: block 0, bytes 64 to ");
  store("b", "ACGTACGTAC", on_cpu(6, false));
  EXPECT_THAT([&] { combine({}); }, ThrowsMessage<BadInput>(AllOf(HasSubstr("words of 6 bases, "))));
  store("b", "ACGTACGTAC", on_cpu(5, true));
  EXPECT_THAT([&] { combine({}); }, ThrowsMessage<BadInput>(HasSubstr("b is canonical, ")));
  EXPECT_THAT([&] { combine({}, {"a"}); }, ThrowsMessage<BadInput>(HasSubstr("two databases")));
  EXPECT_THAT(
      [&] {
        combine({.count = KmerCount::difference}, {"a", "a"});
      },
      ThrowsMessage<BadInput>(HasSubstr("subtract alone")));
  EXPECT_FALSE(std::filesystem::exists(directory / "out"));
}

TEST(KmerBlocks, AnyGapsAndCountsComeBack) {
  constexpr std::uint64_t kMost = ~std::uint64_t{0};
  const std::vector<KmerOf<Word>> words{{0, kMost},    {1, 1},         {2, 1},
                                        {3, 1u << 31}, {kMost - 1, 2}, {kMost, kMost}};
  const std::vector<KmerOf<LongWord>> longer{
      {0, kMost}, {1, 7}, {LongWord{1} << 125, 1}, {(LongWord{1} << 126) - 1, kMost}};
  const auto comes_back = [](const auto& all, int width) {
    using W = decltype(all[0].word + 0);
    std::string bytes;
    encode_block<W>(all, width, bytes);
    const std::size_t size = bytes.size();
    bytes.append(kBlockPadding, '\xff');
    std::vector<KmerOf<W>> again;
    ASSERT_TRUE(decode_block<W>(std::span(bytes).first(size), all[0].word, all.size(), width, again));
    for (std::size_t k = 0; k < all.size(); ++k) {
      EXPECT_TRUE(again[k].word == all[k].word) << k;
      EXPECT_EQ(again[k].count, all[k].count) << k;
    }
    EXPECT_FALSE(decode_block<W>(std::span(bytes).first(size - 1), all[0].word, all.size(), width, again));
  };
  comes_back(words, 64);
  comes_back(longer, 126);
  comes_back(std::vector<KmerOf<Word>>{{5, 3}}, 64);
}

/// Files end at so many bytes while this lives, as on a full disk.
class SmallFiles {
 public:
  explicit SmallFiles(rlim_t most) : signal_(std::signal(SIGXFSZ, SIG_IGN)) {
    getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit limit{most, before_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~SmallFiles() {
    setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, signal_);
  }

 private:
  void (*signal_)(int);
  rlimit before_{};
};

TEST_F(KmerDatabases, AFullDiskLeavesNothing) {
  const auto full = [&](const std::string& bases, const KmerOptions& options, const std::string& says) {
    EXPECT_THAT(
        [&] {
          const SmallFiles small(100'000);
          store("a", bases, options);
        },
        ThrowsMessage<BadInput>(AllOf(HasSubstr(says), HasSubstr("File too large"))));
    EXPECT_TRUE(std::filesystem::is_empty(directory)) << says;
  };
  full(random_bases(11, 60'000), on_cpu(31, true), "cannot write " + (directory / "a").string());
  KmerOptions options = on_cpu(2, false);  // few partitions have anything, so that they are put aside
  options.most_memory = 1;
  options.scratch = directory;
  full(random_bases(11, 3'000'000), options, "cannot write a temporary file in " + directory.string());
}

class KmersResumed : public KmerDatabases {
 protected:
  void SetUp() override {
    for (int k = 0; k < 5; ++k) first += ">s\n" + random_bases(static_cast<unsigned>(k), 10'000) + "\n";
    for (int k = 0; k < 5; ++k) first += ">s\n" + std::string(1'500'000, 'A') + "\n";
    second = io::gzip("@q\n" + random_bases(20, 5'000) + "\n+\n" + std::string(5'000, 'I') + "\n", 1);
    damaged = second;
    damaged[damaged.size() - 7] ^= 1;  // its checksum
    make_at("first.fa", first);
    make_at("second.fq.gz", damaged);
    options = on_cpu(13, true);
    options.resume = directory / "kept";
    options.checkpoint = 1;
  }
  /// The time is always the same, so that only the size can tell that it changed.
  void make_at(const std::string& name, const std::string& content) const {
    make(name, content);
    std::filesystem::last_write_time(directory / name, std::filesystem::file_time_type{});
  }
  Map count(const KmerOptions& options) const {
    io::SequenceStream sequences({directory / "first.fa", directory / "second.fq.gz"});
    Map map;
    for (const Counted& word : count_kmers(sequences, options).listed) map[word.value] = word.count;
    return map;
  }
  std::string first, second, damaged;
  KmerOptions options;
};

TEST_F(KmersResumed, ARunThatStoppedGoesOn) {
  EXPECT_THAT([&] { count(options); }, ThrowsMessage<BadInput>(HasSubstr("second.fq.gz")));
  make_at("second.fq.gz", second);
  KmerOptions plain = options;
  plain.resume.clear();
  const Map wanted = count(plain);
  // What was read is not read again: here it would give other words.
  std::string other = first;
  other[10] = other[10] == 'A' ? 'C' : 'A';
  make_at("first.fa", other);
  EXPECT_EQ(count(options), wanted);
  EXPECT_TRUE(std::filesystem::is_empty(directory / "kept"));
}

TEST_F(KmersResumed, OtherRequestsAndDamageAreRefused) {
  EXPECT_THROW(count(options), BadInput);
  const auto expect_refusal = [&](const KmerOptions& changed, const std::string& says) {
    EXPECT_THAT([&] { count(changed); }, ThrowsMessage<BadInput>(AllOf(HasSubstr(says), HasSubstr("kept"))));
  };
  KmerOptions changed = options;
  changed.k = 14;
  expect_refusal(changed, "read 'k = 13, canonical', this run 'k = 14, canonical'; remove ");
  make_at("second.fq.gz", second + second);
  expect_refusal(options, "second.fq.gz of ");
  make_at("second.fq.gz", second);
  const std::filesystem::path state = directory / "kept" / "kmers.state",
                              records = directory / "kept" / "kmers.records";
  const std::string kept = content_of(state);
  std::string bytes = kept;
  bytes[bytes.size() / 2] ^= 1;
  make("kept/kmers.state", bytes);
  expect_refusal(options, "kmers.state: corrupt");
  make("kept/kmers.state", kept);
  std::filesystem::resize_file(records, std::filesystem::file_size(records) / 2);
  expect_refusal(options, "does not have what it should");
  io::SequenceStream text = io::SequenceStream::of_text(">a\nACGT\n", "text");
  EXPECT_THAT([&] { count_kmers(text, options); },
              ThrowsMessage<BadInput>(HasSubstr("a pipe cannot be read")));
}

}  // namespace
}  // namespace warploom::table
