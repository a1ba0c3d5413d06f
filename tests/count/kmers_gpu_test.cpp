// count_kmers() on a GPU beside the CPU.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <random>
#include <string>
#include <vector>

#include "count/odd_files.hpp"
#include "io/scratch.hpp"
#include "warploom/core/error.hpp"
#include "warploom/count/count.hpp"
#include "warploom/count/kmer_database.hpp"
#include "warploom/io/gzip.hpp"

namespace warploom::table {
namespace {

class KmersOnGpu : public Scratch {
 protected:
  static std::string bases(std::mt19937& random, std::size_t count) {
    std::string all;
    for (std::size_t k = 0; k < count; ++k) all += "ACGT"[random() % 4];
    return all;
  }
  /// Reads of a genome, a tenth of them poly-A, with N, small letters and U; records of four lines.
  static std::string fastq(int reads) {
    std::mt19937 random(7);
    const std::string genome = bases(random, 200'000);
    std::string text;
    for (int k = 0; k < reads; ++k) {
      std::string read =
          k % 10 == 0 ? std::string(random() % 200, 'A') : genome.substr(random() % 199'000, random() % 300);
      if (!read.empty() && random() % 5 == 0) read[random() % read.size()] = "ACGTNacgtu*-"[random() % 12];
      text += "@r" + std::to_string(random() % 1000000) + "\n" + read + "\n+\n" +
              std::string(read.size(), '@') + "\n";
    }
    return text;
  }
  KmerOptions options(Device device, int k, bool canonical, const std::string& database) const {
    KmerOptions options;
    options.table.run.devices = {device};
    options.k = k;
    options.canonical = canonical;
    options.histogram = 50;
    options.top = 100;
    options.database = directory / database;
    return options;
  }
  void expect_the_same(const std::vector<std::filesystem::path>& files, int k, bool canonical,
                       int quality = 0) const {
    io::SequenceStream one(files, quality), other(files, quality);
    const Counts cpu = count_kmers(one, options(Device::cpu, k, canonical, "cpu"));
    const Counts gpu = count_kmers(other, options(Device::cuda, k, canonical, "gpu"));
    EXPECT_EQ(gpu.total, cpu.total) << k;
    EXPECT_EQ(gpu.statistics.pairs, cpu.statistics.pairs) << k;
    EXPECT_EQ(gpu.histogram, cpu.histogram) << k;
    EXPECT_EQ(content_of(directory / "gpu"), content_of(directory / "cpu")) << k;
    ASSERT_EQ(gpu.listed.size(), cpu.listed.size());
    for (std::size_t at = 0; at < gpu.listed.size(); ++at)
      EXPECT_EQ(gpu.listed[at].value, cpu.listed[at].value);
  }
};

TEST_F(KmersOnGpu, OfFastqAreThoseOfTheCpu) {
  const std::string text = fastq(40'000);
  make("a.fq", text);
  make("b.fq", text.substr(0, text.size() - 1));  // no LF at the end
  for (const int k : {1, 2, 15, 21, 31})
    for (const bool canonical : {false, true})
      expect_the_same({directory / "a.fq", directory / "b.fq"}, k, canonical);
}

TEST_F(KmersOnGpu, OfWhatTheHostHasToReadAreThoseOfTheCpu) {
  std::mt19937 random(8);
  make("fasta.fa",
       ">a\n" + bases(random, 70'000) + "\n>b\n" + bases(random, 300) + "\n" + bases(random, 10) + "\n");
  make("lines.fq", "@a\nACGTACGTAC\nGTACGTTTT\n+\nIIIIIIIIII\nIIIIIIIII\n@b\nACGTTACGT\n+\nIIIIIIIII\n");
  make("crlf.fq", "@a\r\nACGTTTGTA\r\n+\r\nIIIIIIIII\r\n");
  make("plain.fq", fastq(100));
  for (const char* file : {"fasta.fa", "lines.fq", "crlf.fq"}) {
    expect_the_same({directory / file}, 5, true);
    expect_the_same({directory / "plain.fq", directory / file}, 9, false);
  }
}

/// Of gzip the table does not know how much comes: here it grows with half of the words in it.
TEST_F(KmersOnGpu, MoreWordsThanTheFirstTableHasRoomForAreCounted) {
  std::mt19937 random(9);
  std::string text;
  while (text.size() < (std::size_t{17} << 20)) {
    const std::string read = bases(random, 1000);
    text += "@\n" + read + "\n+\n" + std::string(1000, 'I') + "\n";
  }
  make("many.fq.gz", io::gzip(text, 1));
  expect_the_same({directory / "many.fq.gz"}, 31, true);
}

TEST_F(KmersOnGpu, OfGoodBasesAreThoseOfTheCpu) {
  make("a.fq", "@a\nACGTACGTACGTTT\n+\nIIIII+IIIIIIII\n" + fastq(500));
  for (const int quality : {11, 40}) expect_the_same({directory / "a.fq"}, 7, true, quality);
}

TEST_F(KmersOnGpu, OddFilesAreReadAndNothingIsLostOfTheOthers) {
  make("good.fq", kGoodFile);
  make("last.fa", kLastFile);
  for (const auto& [name, content, letters] : odd_files()) {
    SCOPED_TRACE(name);
    make(name, content);
    expect_the_same({directory / "good.fq", directory / name, directory / "last.fa"}, 3, false);
    expect_the_same({directory / "good.fq", directory / name}, 3, true);
    if (io::is_gzip(content)) continue;
    make(name, io::gzip(content, 1));
    expect_the_same({directory / "good.fq", directory / name}, 3, false);
  }
}

TEST_F(KmersOnGpu, WhatIsBrokenIsRefusedWithFileAndLine) {
  make("good.fq", kGoodFile);
  const auto expect_refusal = [&](const std::string& content, const std::string& says) {
    make("odd", content);
    io::SequenceStream sequences({directory / "good.fq", directory / "odd"});
    EXPECT_THAT([&] { count_kmers(sequences, options(Device::cuda, 3, true, "gpu")); },
                testing::ThrowsMessage<BadInput>(testing::HasSubstr(says)))
        << content;
    EXPECT_FALSE(std::filesystem::exists(directory / "gpu"));
  };
  for (const auto& [content, says] : broken_files()) {
    expect_refusal(content, says);
    if (!io::is_gzip(content)) expect_refusal(io::gzip(content, 1), says);
  }
}

TEST_F(KmersOnGpu, WhatIsWrongIsSaidAsOnTheCpu) {
  make("length.fq", "@a\nACGT\n+\nIII\n");
  io::SequenceStream sequences({directory / "length.fq"});
  EXPECT_THAT(
      [&] { count_kmers(sequences, options(Device::cuda, 3, true, "gpu")); },
      testing::ThrowsMessage<BadInput>(testing::HasSubstr("length.fq:4:1: 3 qualities of 4 letters")));
}

}  // namespace
}  // namespace warploom::table
