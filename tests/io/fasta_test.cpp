#include "warploom/io/fasta.hpp"

#include <gmock/gmock.h>

#include "io/scratch.hpp"
#include "measured_data.hpp"
#include "warploom/io/gzip.hpp"

namespace warploom::io {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<FastaRecord> parse(std::string_view content, const FastaLetters& letters = {}) {
  return parse_fasta(content, "s.fa", letters);
}

std::string error_of(std::string_view content, const FastaLetters& letters = {}) {
  return message_of([&] { parse(content, letters); });
}

TEST(Fasta, ReadsRecordsWithTheirNamesAndDescriptions) {
  EXPECT_THAT(parse(">r1 first of two\nACGU\nGG\n>r2\nCC\n"),
              ElementsAre(FastaRecord{"r1", "first of two", "ACGUGG", 1}, FastaRecord{"r2", "", "CC", 4}));
}

TEST(Fasta, TrimsHeaders) {
  EXPECT_THAT(parse("> \tr1 \t a  b \nA\n>\nC"),
              ElementsAre(FastaRecord{"r1", "a  b", "A", 1}, FastaRecord{"", "", "C", 3}));
}

TEST(Fasta, EndsLinesInEveryCustom) {
  const std::vector<FastaRecord> want{{"a", "", "ACGU", 1}, {"b", "", "G", 4}};
  EXPECT_EQ(parse(">a\nAC\nGU\n>b\nG\n"), want);
  EXPECT_EQ(parse(">a\r\nAC\r\nGU\r\n>b\r\nG\r\n"), want);
  EXPECT_EQ(parse(">a\rAC\rGU\r>b\rG"), want);
}

TEST(Fasta, SkipsBlanksCommentsAndAByteOrderMark) {
  EXPECT_THAT(parse("\xEF\xBB\xBF\n; made by hand\n\n>a\n  AC GU \n\n;>b\n\tGG\n\n"),
              ElementsAre(FastaRecord{"a", "", "ACGUGG", 4}));
}

TEST(Fasta, KeepsLettersAsWritten) {
  EXPECT_EQ(parse(">a\nacGt-*\n").front().sequence, "acGt-*");
  EXPECT_EQ(parse(">a\nacGt\n", {"ACGTU", ""}).front().sequence, "acGt");
}

TEST(Fasta, NamesRecordLineAndColumnOfAWrongCharacter) {
  EXPECT_EQ(
      error_of(">a x\nACGU\n>b\nAC\n GR\n", {"ACGU", "the rest is unknown"}),
      "s.fa:5:3: 'R' in record \"b\" is no letter of a sequence here, which are ACGU; the rest is unknown");
  EXPECT_EQ(error_of(">a\nAC7\n"), "s.fa:2:3: '7' in record \"a\" is no letter of a sequence");
  EXPECT_THAT(error_of(">\nA\xC3\n"), HasSubstr("s.fa:2:2: '\\xc3' in the record of line 1 is no letter"));
  EXPECT_THAT(error_of(std::string_view(">a\nA\0C", 6)), HasSubstr("s.fa:2:2: '\\x00'"));
}

TEST(Fasta, RefusesARecordWithoutSequence) {
  EXPECT_EQ(error_of(">a\nAC\n>b\n\n>c\nA\n"), "s.fa:3: record \"b\" has no sequence");
  EXPECT_EQ(error_of(">a\nAC\n>"), "s.fa:3: the record of line 3 has no sequence");
}

TEST(Fasta, RefusesASequenceWithoutHeader) {
  EXPECT_EQ(error_of("\nACGU\n>a\nA\n"),
            "s.fa:2:1: text before the first header; a FASTA record begins with a line '>NAME'");
  EXPECT_EQ(error_of(""), "s.fa: no FASTA record; one begins with a line '>NAME'");
  EXPECT_EQ(error_of("\n;\n"), "s.fa: no FASTA record; one begins with a line '>NAME'");
}

using FastaFile = Scratch;

TEST_F(FastaFile, IsReadFromGzipToo) {
  const std::string content = ">a\nACGU\n";
  EXPECT_EQ(read_fasta(make("s.fa", content)), parse(content));
  EXPECT_EQ(read_fasta(make("s.fa.gz", gzip(content, 6))), parse(content));
  EXPECT_THAT(message_of([&] { read_fasta(make("cut.gz", gzip(content, 6).substr(0, 20))); }),
              HasSubstr("cut.gz"));
  EXPECT_THAT(message_of([&] { read_fasta(directory / "none.fa"); }), HasSubstr("none.fa"));
}

TEST(FastaData, OfAVirus) {
  const auto path =
      measured_data(WARPLOOM_TESTS_DIR "/../../shared/data", "rna") / "sars_cov_2_nc_045512.2.fa";
  if (!std::filesystem::exists(path)) GTEST_SKIP() << "no sequence at " << path << "; set WARPLOOM_DATA";
  const std::vector<FastaRecord> records = read_fasta(path, {"ACGU", ""});
  ASSERT_EQ(records.size(), 1U);
  EXPECT_EQ(records[0].name, "NC_045512.2");
  EXPECT_THAT(records[0].description, HasSubstr("complete genome"));
  EXPECT_EQ(records[0].sequence.size(), 29903U);  // as the data base states
  EXPECT_TRUE(records[0].sequence.starts_with("AUUAAAGGUUUAUACC"));
}

}  // namespace
}  // namespace warploom::io
