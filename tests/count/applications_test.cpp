#include <gmock/gmock.h>

#include <numeric>

#include "io/scratch.hpp"
#include "warploom/core/error.hpp"
#include "warploom/count/count.hpp"
#include "warploom/count/measure.hpp"
#include "warploom/count/statuses.hpp"
#include "warploom/io/gzip.hpp"

namespace warploom::table {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;

Options on_cpu() { return {.run = {.devices = {Device::cpu}}}; }

class Applications : public Scratch {};

Column by(const std::string& name) { return {name, 0, false}; }

std::vector<std::string> words_of(const std::string& text, const Column& column = {}) {
  std::vector<std::string> all;
  for_each_words(text, "text", column, [&](std::span<const std::string_view> words) {
    all.insert(all.end(), words.begin(), words.end());
  });
  return all;
}

TEST_F(Applications, WordsAreLinesOrFields) {
  EXPECT_THAT(words_of("b\r\na\n\nb"), ElementsAre("b", "a", "", "b"));
  EXPECT_THAT(words_of("n,w\n1,\"a,b\"\n\n2,c\n", by("w")), ElementsAre("a,b", "c"));
  EXPECT_THAT(words_of("1  x\n2 y\n", by("2")), ElementsAre("x", "y"));
  EXPECT_THAT(words_of(io::gzip("a\nb\n", 6), {"", 0, true}), ElementsAre("b"));
  std::vector<std::string> of_file;
  for_each_words(make("words", "a\nb"), {},
                 [&](auto words) { of_file.insert(of_file.end(), words.begin(), words.end()); });
  EXPECT_THAT(of_file, ElementsAre("a", "b"));
  EXPECT_THAT([] { words_of("a,b\n1\n", by("b")); },
              ThrowsMessage<BadInput>(HasSubstr("text:2:2: the line has no column 2")));
  EXPECT_THAT([] { words_of("a,b\n", by("0")); }, ThrowsMessage<BadInput>(HasSubstr("`column` 0")));
  EXPECT_THAT([] { words_of("a,b\n", by("c")); }, ThrowsMessage<BadInput>(HasSubstr("there is a, b")));
  EXPECT_THROW(for_each_words(directory / "absent", {}, [](auto) {}), BadInput);
}

TEST_F(Applications, CountsAreExactAndRanked) {
  const auto text = [](const TakeWords& take) { for_each_words("b\na\nc\nb\na\n", "text", {}, take); };
  const Counts counts = count_words(text, {.table = on_cpu(), .top = 2, .least = 1});
  EXPECT_EQ(counts.total, 5u);
  EXPECT_EQ(counts.statistics.pairs, 3u);
  ASSERT_EQ(counts.listed.size(), 2u);
  EXPECT_EQ(counts.listed[0].value, "a");
  EXPECT_EQ(counts.listed[1].value, "b");
  EXPECT_EQ(counts.listed[1].count, 2u);
  EXPECT_EQ(count_words(text, {.table = on_cpu(), .top = 0, .least = 2}).listed.size(), 2u);
}

TEST_F(Applications, KmersAreCountedOnBothStrands) {
  const auto counted = [](int k, bool canonical) {
    io::SequenceStream sequences = io::SequenceStream::of_text(">r\nACGTNacg\n", "r.fa");
    KmerOptions options;
    options.table = on_cpu();
    options.k = k;
    options.canonical = canonical;
    return count_kmers(sequences, options);
  };
  const Counts plain = counted(3, false);
  EXPECT_EQ(plain.total, 3u);
  EXPECT_EQ(plain.listed[0].value, "ACG");
  EXPECT_EQ(plain.listed[0].count, 2u);
  EXPECT_EQ(counted(3, true).listed[0].count, 3u);  // CGT is ACG
  for (const int k : {0, 64})
    EXPECT_THAT([&] { counted(k, false); }, ThrowsMessage<BadInput>(HasSubstr("1 to 63")));
}

StatusRecording statuses(const std::string& text, double window = 0) {
  return statuses_of(io::parse_table<double>(text, "walk"), "walk", window);
}

TEST_F(Applications, TimeSlotsAreFoundByStatus) {
  const StatusRecording one =
      statuses("10 0 0 0 0 0 0 0 -9 1 1\n20 0 0 0 0 0 0 0 9 1 2\n30 0 0 0 0 0 0 0 9 1 2\n");
  EXPECT_THAT(one.seconds, ElementsAre(0, 0.01, 0.02));
  EXPECT_EQ(Status::of_code(one.statuses[0]).text(), "free/-2/still");
  const std::vector<StatusRecording> both{one, one};
  const StatusReport report = find_statuses(both, parse_status("freeze"), 2, on_cpu());
  EXPECT_EQ(report.slots, 6u);
  EXPECT_EQ(report.found, 4u);
  ASSERT_EQ(report.intervals.size(), 2u);
  EXPECT_EQ(report.intervals[1].first, (Slot{1, 1}));
  EXPECT_EQ(report.intervals[1].last, 2u);
  EXPECT_EQ(report.counts.front().second, 4u);
  EXPECT_EQ(parse_status("freeze/+2/moving").size(), 1u);
  EXPECT_THAT([] { parse_status("free/"); },
              ThrowsMessage<BadInput>(HasSubstr("`status` free/: it is one of")));
  EXPECT_THROW(find_statuses(both, {0}, 0, on_cpu()), BadInput);
}

TEST_F(Applications, RowsThatAreNoRecordingAreRefused) {
  const std::string row = " 0 0 0 0 0 0 0 9 1 ";
  const std::pair<std::string, std::string> bad[] = {
      {"1 2 3\n", "walk: 3 columns; a recording has 11"},
      {"1" + row + "7\n", "walk:1:1: annotation 7"},
      {"1" + row + "1\n1" + row + "1\n", "walk:2:1: time 1 does not come after 1"},
      {"nan" + row + "1\n", "is no measurement"}};
  for (const auto& [text, says] : bad)
    EXPECT_THAT([&] { statuses(text); }, ThrowsMessage<BadInput>(HasSubstr(says)));
  EXPECT_THAT([&] { statuses("1" + row + "1\n", -1); },
              ThrowsMessage<BadInput>(HasSubstr("a window of -1 s")));
}

TEST_F(Applications, StructuresAreComparedOnOneWorkload) {
  ASSERT_EQ(applications().size(), 2u);
  const std::vector<double> shares = key_shares(applications()[0], 10);
  EXPECT_NEAR(std::accumulate(shares.begin(), shares.end(), 0.0), 100, 1e-9);
  const auto variants =
      compare_structures(applications()[0], {.table = on_cpu(), .preload = 1000, .rounds = 1, .tables = 4});
  ASSERT_EQ(variants.size(), 3u);
  EXPECT_EQ(variants[0].name, "CPU_BASIC");
  EXPECT_EQ(variants[1].name, "CPU_PH");
  EXPECT_EQ(variants[1].measurement.experiment.table.tables, 4u);
  EXPECT_EQ(variants[0].measurement.inserts.good, variants[2].measurement.inserts.good);
  EXPECT_THROW(compare_structures(applications()[0], {.find = 101}), BadInput);
}

}  // namespace
}  // namespace warploom::table
