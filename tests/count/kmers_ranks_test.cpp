// count_kmers() shared among ranks, here threads, beside one alone.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "core/thread_ranks.hpp"
#include "io/scratch.hpp"
#include "warploom/core/error.hpp"
#include "warploom/count/count.hpp"

namespace warploom::table {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

class KmersOfRanks : public Scratch {
 protected:
  /// Some pieces of a FASTA file, with a repeat and a sequence that goes on in the next piece.
  std::filesystem::path sequences(std::size_t letters) const {
    std::mt19937 random(5);
    std::string text = ">one\n";
    for (std::size_t at = 0; at < letters; ++at) {
      text += at % 1000 < 30 ? 'A' : "ACGT"[random() % 4];
      if (at % 70 == 69) text += '\n';
    }
    return make("sequences.fa", text + "\n>two\nACGTNACGTTTGACCA\n");
  }
  static Counts count(const std::filesystem::path& file, KmerOptions options, Ranks* ranks) {
    io::SequenceStream stream({file});
    options.ranks = ranks;
    return count_kmers(stream, options);
  }
};

KmerOptions options_of(int k) {
  KmerOptions options;
  options.table.run.devices = {Device::cpu};
  options.k = k;
  options.canonical = true;
  options.histogram = 20;
  return options;
}

TEST_F(KmersOfRanks, GiveTheCountsAndTheDatabaseOfOne) {
  const std::filesystem::path file = sequences(320'000);  // five pieces
  for (const auto& [k, top] : {std::pair(21, 1000), {40, 1000}, {5, 0}}) {
    KmerOptions options = options_of(k);
    options.top = static_cast<std::uint64_t>(top);
    options.database = directory / "alone";
    const Counts alone = count(file, options, nullptr);
    for (const std::size_t ranks : {1u, 2u, 4u}) {
      options.database = directory / "shared";
      std::vector<std::uint64_t> bytes(ranks);
      Counts shared;
      ThreadRanks::run(ranks, [&](Ranks& one) {
        Counts mine = count(file, options, &one);
        bytes[one.rank()] = mine.statistics.bytes_nodes;
        if (one.rank() == 0)
          shared = std::move(mine);
        else
          EXPECT_EQ(mine.listed.size() + mine.total, 0u);
      });
      EXPECT_EQ(shared.total, alone.total);
      EXPECT_EQ(shared.statistics.pairs, alone.statistics.pairs);
      EXPECT_EQ(shared.histogram, alone.histogram);
      ASSERT_EQ(shared.listed.size(), alone.listed.size());
      for (std::size_t at = 0; at < alone.listed.size(); ++at) {
        EXPECT_EQ(shared.listed[at].value, alone.listed[at].value);
        EXPECT_EQ(shared.listed[at].count, alone.listed[at].count);
      }
      EXPECT_EQ(content_of(directory / "shared"), content_of(directory / "alone")) << k << ' ' << ranks;
      EXPECT_LE(*std::ranges::max_element(bytes), alone.statistics.bytes_nodes / ranks * 2);
    }
  }
}

TEST_F(KmersOfRanks, RefuseWhatOneAloneCanDo) {
  const std::filesystem::path file = sequences(100);
  const auto refused = [&](const std::function<void(KmerOptions&, Ranks&)>& change) {
    return [&, change] {
      ThreadRanks::run(2, [&](Ranks& ranks) {
        KmerOptions options = options_of(21);
        change(options, ranks);
        count(file, options, &ranks);
      });
    };
  };
  EXPECT_THAT(refused([&](KmerOptions& options, Ranks&) { options.resume = directory / "resumed"; }),
              ThrowsMessage<BadInput>(HasSubstr("is not resumed")));
  EXPECT_THAT(
      [&] {
        ThreadRanks::run(2, [&](Ranks& ranks) {
          KmerOptions options = options_of(21);
          options.ranks = &ranks;
          io::SequenceStream text = io::SequenceStream::of_text(">a\nACGT\n", "text");
          count_kmers(text, options);
        });
      },
      ThrowsMessage<BadInput>(HasSubstr("take files that are there, and no pipe")));
  const std::filesystem::path other = make("other.fa", ">a\nACGTACGT\n");
  EXPECT_THAT(
      [&] {
        ThreadRanks::run(
            3, [&](Ranks& ranks) { count(ranks.rank() == 2 ? other : file, options_of(21), &ranks); });
      },
      ThrowsMessage<BadInput>(HasSubstr("rank 2 has not what rank 0 has of the files")));
}

}  // namespace
}  // namespace warploom::table
