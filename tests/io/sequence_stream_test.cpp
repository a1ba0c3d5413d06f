#include "warploom/io/sequence_stream.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <libdeflate.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "io/deflate_decoder.hpp"
#include "io/scratch.hpp"
#include "io/unpacked_stream.hpp"
#include "warploom/core/error.hpp"
#include "warploom/io/gzip.hpp"

namespace warploom::io {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;

class SequenceStreams : public Scratch {
 protected:
  static std::vector<std::string> pieces(SequenceStream stream, std::size_t size = 1 << 20,
                                         std::size_t overlap = 0) {
    std::vector<std::string> all;
    for (std::string piece; stream.next(piece, size, overlap);) all.push_back(piece);
    return all;
  }
  static std::string letters(const std::string& content, int least_quality = 0) {
    std::string all;
    for (const std::string& piece : pieces(SequenceStream::of_text(content, "reads", least_quality)))
      all += piece;
    return all;
  }
  static void expect_refusal(const std::string& content, const std::string& says) {
    EXPECT_THAT([&] { letters(content); }, ThrowsMessage<BadInput>(HasSubstr(says)))
        << content.substr(0, 200);
  }
};

TEST_F(SequenceStreams, FormatsOfAllKindsGiveTheirLetters) {
  EXPECT_EQ(letters(">a b\nAC\nGT\n>c\nn*-\n"), "ACGT\nn*-\n");
  EXPECT_EQ(letters(">a\r\nAC\r\nGT\r\n\r\n>c\r\nA"), "ACGT\nA\n");
  EXPECT_EQ(letters("\xEF\xBB\xBF\n;remark\n>a\nA C\tG\n;another\nT\n"), "ACGT\n");
  EXPECT_EQ(letters("@a\nACGT\n+\nIIII\n@b\nGG\n+b\n@+\n"), "ACGT\nGG\n");
  EXPECT_EQ(letters("@a\r\nACGT\r\n+\r\nIIII\r\n\r\n@b\r\nGG\r\n+\r\nII"), "ACGT\nGG\n");
}

TEST_F(SequenceStreams, FastqMayHaveSeveralLinesAndEmptyReads) {
  EXPECT_EQ(letters("@a\nAC\nGT\n+\nII\n@I\n@b\nC\n+\nI\n"), "ACGT\nC\n");
  EXPECT_EQ(letters("@a\n\n+\n\n@b\nC\n+\nI\n@c\n\n+\n\n"), "\nC\n\n");
}

TEST_F(SequenceStreams, BasesOfLowQualityAreN) {
  EXPECT_EQ(letters("@a\nACGT\n+\n!+5I\n", 10), "NCGT\n");
  EXPECT_EQ(letters("@a\nACGT\n+\n!+5I\n", 20), "NNGT\n");
  EXPECT_EQ(letters("@a\nAC\nGT\n+\n!+\n5I\n", 21), "NNNT\n");
}

TEST_F(SequenceStreams, ALongSequenceGoesOnInTheNextPieceWithItsLastLetters) {
  std::string sequence, text = ">long\n";
  std::mt19937 random(1);
  for (int k = 0; k < 1000; ++k) {
    for (int j = 0; j < 70; ++j) sequence += "ACGT"[random() % 4];
    text += sequence.substr(sequence.size() - 70) + "\n";
  }
  const std::vector<std::string> some = pieces(SequenceStream::of_text(text + ">b\nAC\n", "s"), 1000, 20);
  ASSERT_GT(some.size(), 50u);
  std::string joined = some[0];
  for (std::size_t k = 1; k < some.size(); ++k) {
    EXPECT_EQ(some[k].substr(0, 20), joined.substr(joined.size() - 20));
    joined += some[k].substr(20);
  }
  EXPECT_EQ(joined, sequence + "\nAC\n");
}

TEST_F(SequenceStreams, PiecesSmallerThanWhatTheyRepeatComeToAnEnd) {
  std::string last;
  for (const std::string& piece : pieces(SequenceStream::of_text(">a\nAC\nGT\nTT\n", "s"), 0, 100))
    last = piece;
  EXPECT_EQ(last, "ACGTTT\n");
}

TEST_F(SequenceStreams, LinesLongerThanTheBufferAreJoined) {
  const std::string sequence(3'000'000, 'C'), header(2'500'000, 'h');
  EXPECT_EQ(letters(">" + header + "\r\n" + sequence + "\r\n>b\nA\n"), sequence + "\nA\n");
  EXPECT_EQ(
      letters("@" + header + "\n" + sequence + "\n+" + header + "\n" + std::string(3'000'000, '@') + "\n"),
      sequence + "\n");
}

TEST_F(SequenceStreams, FilesFollowOneAnotherPackedOrNot) {
  make("a.fa", ">a\nAC\n");
  make("b.fq.gz", gzip("@b\nGT\n+\nII\n", 6) + gzip("@c\nTT\n+\nII\n", 6) + std::string(100, '\0'));
  SequenceStream stream({directory / "a.fa", directory / "b.fq.gz"});
  EXPECT_TRUE(stream.stored_bytes());
  std::string piece, all;
  while (stream.next(piece, 1, 0)) all += piece;
  EXPECT_EQ(all, "AC\nGT\nTT\n");
  EXPECT_EQ(stream.records(), 3u);
}

TEST_F(SequenceStreams, WhatIsNoSequenceFileIsRefusedWithItsLine) {
  expect_refusal("", "reads: it has no sequence");
  expect_refusal("\n \n", "reads: it has no sequence");
  expect_refusal("ACGT\n", "reads:1:1: neither FASTA nor FASTQ");
  expect_refusal(";remark\nAC\n", "reads:2:1: a sequence before the first header");
  expect_refusal(">a\n>b\nAC\n", "reads:1:1: a record without a sequence");
  expect_refusal(">a\nAC\n>b\n", "reads:3:1: a record without a sequence");
  expect_refusal(">a\nAC\nA1\n", "reads:3:2: the character '1' (49) is no letter");
  expect_refusal(">a\nAC\rGT\r", "reads:2:3: a CR that no LF follows");
  expect_refusal("@a\nAC\n+\nI\n@b\nAC\n+\nII\n", "reads:4:1: 1 qualities of 2 letters");
  expect_refusal("@a\nAC\n+\nIII\n", "reads:4:1: 3 qualities of 2 letters");
  expect_refusal("@a\nA\nC\n+\nI\nII\n", "reads:6:1: 3 qualities of 2 letters");
  expect_refusal("@a\nAC\n@b\nAC\n+\nII\n", "reads:3:1: a header before the '+'");
  expect_refusal("@a\nAC\n", "the file ends before the '+'");
  expect_refusal("@a\nAC\n+\n", "ends within its last record: 0 qualities of 2 letters");
  expect_refusal("@a\nAC\n+\nII\nAC\n", "reads:5:1: a FASTQ record begins with '@'");
  expect_refusal(std::string("@a\0\nA\0", 6), "no letter");
}

TEST_F(SequenceStreams, BrokenGzipIsRefused) {
  std::string reads;
  for (int k = 0; k < 1000; ++k) reads += "@r" + std::to_string(k) + "\nACGTTGCA\n+\nIIIIIIII\n";
  const std::string packed = gzip(reads, 6);
  expect_refusal(packed.substr(0, packed.size() / 2), "reads: the gzip stream is cut off");
  expect_refusal(packed.substr(0, packed.size() - 3), "reads: the gzip stream is cut off");
  expect_refusal(packed + "more", "followed by bytes that are no gzip");
  std::string changed = packed;
  changed[changed.size() - 6] ^= 1;
  expect_refusal(changed, "reads: the gzip stream");
}

/// A member as bgzip writes it: its length is told.
std::string bgzip_member(const std::string& content) {
  const std::string packed = gzip(content, 6);  // our header has 20 bytes, bgzip's 18
  std::string member("\x1f\x8b\x08\x04\0\0\0\0\0\xff\x06\0BC\x02\0", 16);
  const std::size_t length = packed.size() - 2;
  member += static_cast<char>((length - 1) & 255);
  member += static_cast<char>((length - 1) >> 8);
  return member + packed.substr(20);
}

/// A member of ours without the field that tells its length.
std::string without_length(const std::string& member) {
  return std::string("\x1f\x8b\x08\0\0\0\0\0\0\x03", 10) + member.substr(20);
}

class PackedStreams : public SequenceStreams {
 protected:
  PackedStreams() {
    std::mt19937 random(5);
    for (int k = 0; k < 60'000; ++k) {
      std::string bases;
      for (int j = 0; j < 60; ++j) bases += "ACGT"[random() % 4];
      reads += "@r" + std::to_string(k) + "\n" + bases + "\n+\n" + std::string(60, 'I') + "\n";
    }
    plain = letters(reads);
    for (std::size_t at = 0; at < reads.size(); at += 60'000)
      blocks.push_back(bgzip_member(reads.substr(at, 60'000)));
  }
  std::string joined() const {
    std::string all;
    for (const std::string& block : blocks) all += block;
    return all;
  }
  std::string reads, plain;
  std::vector<std::string> blocks;
};

TEST_F(PackedStreams, MembersOfAllKindsGiveTheSameLetters) {
  EXPECT_EQ(letters(gzip(reads, 1)), plain);
  const std::string end = bgzip_member("");  // bgzip's, and whatever follows
  EXPECT_EQ(letters(joined() + end), plain);
  EXPECT_EQ(letters(joined() + end + std::string(5'000'000, '\0')), plain);
  std::string mixed;
  for (std::size_t k = 0; k < blocks.size();
       ++k) {  // members that tell their length and others, one, two, three, ...
    const std::string part = reads.substr(k * 60'000, 60'000);
    mixed += k * (k + 1) % 5 < 2 ? blocks[k] : k % 2 == 0 ? gzip(part, 1) : without_length(gzip(part, 1));
  }
  EXPECT_EQ(letters(mixed), plain);
}

TEST_F(PackedStreams, ADamagedBlockIsNamedByItsPlace) {
  blocks[20][2'000] ^= 1;
  std::size_t place = 0;
  for (std::size_t k = 0; k < 20; ++k) place += blocks[k].size();
  expect_refusal(joined(), "reads: the gzip stream is corrupt (near byte " + std::to_string(place) + ")");
  expect_refusal(joined().substr(0, place - 10), "reads: the gzip stream is cut off");
}

/// One member that does not say how long it is, as gzip(1) writes it. @param level  of libdeflate; 0: stored
std::string one_member(const std::string& content, int level) {
  const std::unique_ptr<libdeflate_compressor, decltype(&libdeflate_free_compressor)> compressor(
      libdeflate_alloc_compressor(level), &libdeflate_free_compressor);
  std::string packed(libdeflate_gzip_compress_bound(compressor.get(), content.size()), '\0');
  packed.resize(libdeflate_gzip_compress(compressor.get(), content.data(), content.size(), packed.data(),
                                         packed.size()));
  return packed;
}

/// Of members so long that several threads decode them ahead.
class LongMembers : public PackedStreams {
 protected:
  LongMembers() {
    std::mt19937 random(6);
    for (int k = 0; k < 30'000; ++k) {
      std::string bases, qualities;
      for (std::size_t left = random() % 200; left > 0; --left) {
        bases += "ACGT"[random() % 4];
        qualities += static_cast<char>('5' + random() % 20);
      }
      text += "@read" + std::to_string(k) + "\n" + bases + "\n+\n" + qualities + "\n";
      if (k == 20'000) {  // what is much shorter packed
        for (int j = 0; j < 2'000; ++j)
          text += "@A\n" + std::string(500, 'A') + "\n+\n" + std::string(500, 'I') + "\n";
      }
    }
  }
  static std::string unpacked(const std::string& packed) {
    UnpackedStream stream(packed, "reads", 6);
    std::string all;
    for (std::string buffer(1'000'000, '\0'); const std::size_t got = stream.read(buffer);)
      all.append(buffer, 0, got);
    return all;
  }
  static void expect_refused(const std::string& packed, const std::string& says) {
    EXPECT_THAT([&] { unpacked(packed); }, ThrowsMessage<BadInput>(HasSubstr(says)));
  }
  std::string text;
};

TEST_F(LongMembers, AreWhatWasPacked) {
  for (const int level : {0, 1, 6}) EXPECT_TRUE(unpacked(one_member(text, level)) == text) << level;
  const std::string packed = one_member(text, 1), few = text.substr(0, 5), zeros(100, '\0');
  ASSERT_GT(packed.size(), 2'500'000u);
  EXPECT_TRUE(unpacked(packed + one_member(few, 6) + packed + zeros) == text + few + text);
  EXPECT_TRUE(unpacked(packed + gzip(text, 1) + packed) == text + text + text);
  // More than a part is let hold ahead.
  const std::string mixed = text + std::string(20'000'000, 'A') + text;
  EXPECT_TRUE(unpacked(one_member(mixed, 1)) == mixed);
}

TEST_F(LongMembers, ThatAreBrokenAreRefused) {
  const std::string packed = one_member(text, 1);
  for (const std::size_t cut : {packed.size() - 1, packed.size() - 8, packed.size() - 9, packed.size() / 2,
                                packed.size() / 2 + 1000, std::size_t{2'200'000}})
    expect_refused(packed.substr(0, cut), "is cut off");
  std::mt19937 random(7);
  for (int round = 0; round < 8; ++round) {
    std::string broken = packed;
    broken[20 + random() % (packed.size() - 20)] ^= static_cast<char>(1 << random() % 8);
    expect_refused(broken, "the gzip stream");
  }
  std::string longer = packed;
  longer[packed.size() - 1] ^= 1;
  expect_refused(longer, "does not fit its checksum");
}

/// Whatever bytes come, decoding ends within them.
TEST_F(LongMembers, OfNoDeflateEndSomewhere) {
  std::mt19937 random(8);
  std::string bytes(100'000 + DeflateDecoder::kPadding, '\0');
  for (int round = 0; round < 50; ++round) {
    for (char& byte : bytes) byte = static_cast<char>(random());
    bytes[0] = static_cast<char>((bytes[0] & ~7) | (round % 3) << 1);
    DeflateSymbols symbols;
    symbols.begin_unknown();
    DeflateDecoder decoder(0);
    decoder.run({bytes.data(), 100'000}, 0, round % 2 == 0, {.most = 1 << 20}, symbols);
    EXPECT_LE(decoder.bit(), 800'000u);
    EXPECT_LE(symbols.used, symbols.room);
  }
}

TEST_F(PackedStreams, AStreamThatIsLeftEndsItsThreads) {
  for (int k = 0; k < 20; ++k) {
    SequenceStream stream = SequenceStream::of_text(joined(), "reads");
    std::string piece;
    ASSERT_TRUE(stream.next(piece, 1, 0));
    EXPECT_EQ(piece, plain.substr(0, piece.size()));
  }
}

class FastqTexts : public SequenceStreams {
 protected:
  /// All text in parts of some bytes, and its letters; none where next_fastq() or letters() gives none.
  static std::optional<std::pair<std::string, std::string>> text(SequenceStream& stream, std::size_t size) {
    std::string all, letters, memory;
    while (const std::optional<FastqText> got = stream.next_fastq(size)) {
      if (got->size() == 0) return std::pair(all, letters);
      std::string part(got->size(), '\0');
      got->read(got->size() / 2, std::span(part).subspan(got->size() / 2));
      got->read(0, std::span(part).first(got->size() / 2));
      all += part;
      const auto some = got->letters(memory);
      if (!some) return std::nullopt;
      EXPECT_EQ(std::ranges::count(part, '\n') % 4, 0);
      letters += *some;
      EXPECT_THROW(got->read(1, part), BadInput);
    }
    return std::nullopt;
  }
};

TEST_F(FastqTexts, AreWholeRecordsOfAllFiles) {
  const std::string a = "@a\nACGT\n+\n@III\n@b\n\n+\n\n", b = "@c\nGG\n+c\nII";
  make("a.fq", a + a);
  make("b.fq.gz", gzip(b, 6));
  make("c.fq", b);
  for (const std::size_t size : {3, 30, 31, 47, 1000}) {
    SequenceStream stream(
        {directory / "a.fq", directory / "b.fq.gz", directory / "a.fq", directory / "c.fq"});
    const auto got = text(stream, size);
    ASSERT_TRUE(got) << size;
    EXPECT_EQ(got->first, a + a + b + "\n" + a + a + b + "\n") << size;
    EXPECT_EQ(got->second, "ACGT\n\nACGT\n\nGG\nACGT\n\nACGT\n\nGG\n") << size;
    EXPECT_EQ(stream.stored_taken(), *stream.stored_bytes());
  }
}

/// Qualities and headers that look like something else, lines of all lengths.
TEST_F(FastqTexts, EndWhereARecordDoesWhateverIsInIt) {
  std::mt19937 random(3);
  for (int round = 0; round < 20; ++round) {
    std::string all, letters;
    for (int record = 0; record < 60; ++record) {
      std::string sequence, quality;
      for (std::size_t left = random() % (round % 2 == 0 ? 6 : 20'000 / 60); left > 0; --left) {
        sequence += "ACGTN"[random() % 5];
        quality += "@+IA"[random() % 4];
      }
      all += std::string("@") + "@+"[random() % 2] + "\n" + sequence + "\n+" +
             (random() % 2 == 0 ? "@" : "") + "\n" + quality + "\n";
      letters += sequence + "\n";
    }
    make("all.fq", all);
    make("all.fq.gz", gzip(all, 1));
    for (const char* name : {"all.fq", "all.fq.gz"}) {
      SequenceStream stream({directory / name});
      const auto got = text(stream, 40 + random() % 20'000);
      ASSERT_TRUE(got);
      EXPECT_EQ(got->first, all);
      EXPECT_EQ(got->second, letters);
    }
  }
}

TEST_F(FastqTexts, AreNoneWhereNextHasToRead) {
  const std::string good = "@a\nACGT\n+\nIIII\n";
  make("good.fq", good);
  for (const std::string other :
       {">a\nACGT\n", "@a\nAC\nGT\n+\nII\nII\n", "@a\nACGT\n", "", "\n@a\nACGT\n+\nIIII\n",
        "@a\nAC.T\n+\nIIII\n", "@a\nACGT\n+\nIII\n", "@a\nACGT\n-\nIIII\n"}) {
    make("other", other);
    make("other.gz", gzip(other, 6));
    for (const char* name : {"other", "other.gz"}) {
      SequenceStream stream({directory / "good.fq", directory / name});
      EXPECT_EQ(text(stream, 1000), std::nullopt) << other;
      stream.rewind();
      std::string piece;
      ASSERT_TRUE(stream.next(piece, 1, 0));
      EXPECT_EQ(piece, "ACGT\n");
    }
  }
  const std::string record = "@a\n" + std::string(1000, 'A') + "\n+\n" + std::string(1000, 'I') + "\n";
  make("long.fq", record + record + record);
  for (const auto& [size, whole] : {std::pair(50, false), {300, true}}) {
    SequenceStream stream({directory / "long.fq"});
    EXPECT_EQ(text(stream, static_cast<std::size_t>(size)).has_value(), whole);
  }
  SequenceStream content = SequenceStream::of_text(good, "reads");
  EXPECT_EQ(text(content, 1000), std::nullopt);
  EXPECT_THROW(content.rewind(), BadInput);
}

TEST_F(FastqTexts, HaveTheLettersThatNextGives) {
  make("mixed.fq", "@a\r\nACGT\r\n+\r\n!+5I\r\n\n@b\nacgu\n+b\nI!!I\n \n");
  for (const int quality : {0, 10, 20}) {
    SequenceStream one({directory / "mixed.fq"}, quality), other({directory / "mixed.fq"}, quality);
    std::string piece, memory;
    ASSERT_TRUE(one.next(piece, 1000, 0));
    const auto some = other.next_fastq(1000);
    ASSERT_TRUE(some);
    EXPECT_EQ(some->letters(memory), piece);
    EXPECT_EQ(some->least_quality(), quality);
  }
}

/// Texts of gzip that is not unpacked yet.
class PackedTexts : public FastqTexts {
 protected:
  /// The sequences, sorted, of texts that are asked in an order of chance; none as above.
  static std::optional<std::vector<std::string>> sequences(SequenceStream& stream, std::size_t size,
                                                           std::mt19937& random) {
    std::vector<FastqText> texts;
    while (true) {
      const auto got = stream.next_fastq(size, true);
      if (!got) return std::nullopt;
      if (got->size() == 0) break;
      texts.push_back(*got);
    }
    std::ranges::shuffle(texts, random);
    std::vector<std::string> all;
    std::string memory;
    for (const FastqText& text : texts) {
      const auto letters = text.letters(memory);
      if (!letters) return std::nullopt;
      for (std::size_t begin = 0; begin < letters->size();) {
        const std::size_t end = letters->find(SequenceStream::kEnd, begin);
        all.emplace_back(letters->substr(begin, end - begin));
        begin = end + 1;
      }
    }
    std::ranges::sort(all);
    return all;
  }
  /// In members of so many bytes or fewer.
  static std::string members(const std::string& text, std::size_t most, std::mt19937& random) {
    std::string all;
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t size = random() % (most + 1);
      all += bgzip_member(text.substr(at, size));
      at += size;
    }
    return all + bgzip_member("");
  }
};

TEST_F(PackedTexts, HaveTheLettersOfAllRecordsWhereverMembersEnd) {
  std::mt19937 random(4);
  for (int round = 0; round < 40; ++round) {
    std::string all;
    std::vector<std::string> wanted;
    const std::size_t longest = round % 3 == 0 ? 5 : round % 3 == 1 ? 200 : 900;
    for (int record = 0; record < 60; ++record) {
      std::string sequence, quality;
      for (std::size_t left = random() % longest; left > 0; --left) {
        sequence += "ACGTN"[random() % 5];
        quality += "@+IA"[random() % 4];
      }
      const std::string end = round % 2 == 0 ? "\n" : "\r\n";
      for (const std::string& line :
           {std::string("@") + "@+"[random() % 2], sequence, std::string("+"), quality})
        all += line + end;
      wanted.push_back(sequence);
    }
    if (round % 4 == 0 && !wanted.back().empty()) all.pop_back();
    std::ranges::sort(wanted);
    make("all.fq.gz", members(all, 1 + random() % 300, random));
    SequenceStream stream({directory / "all.fq.gz"});
    EXPECT_EQ(sequences(stream, 250 + random() % 2000, random), wanted) << round;
    EXPECT_EQ(stream.stored_taken(), *stream.stored_bytes());
  }
}

TEST_F(PackedTexts, AreNoneWhereNextHasToRead) {
  std::mt19937 random(6);
  const std::string good = "@a\nACGT\n+\nIIII\n";
  std::string many;
  for (int k = 0; k < 50; ++k) many += good;
  std::string broken = members(many, 100, random);
  broken[broken.size() / 2] ^= 1;
  const std::string record = "@a\n" + std::string(5000, 'A') + "\n+\n" + std::string(5000, 'I') + "\n";
  const std::string whole = members(many, 100, random);
  for (const std::string& other :
       {broken, whole.substr(0, whole.size() - 40), whole + "x", whole + std::string(10, '\0'),
        whole + without_length(gzip(good, 1)), members(many + "@b\nAC\nGT\n+\nII\nII\n" + many, 100, random),
        members(many + "@b\nAC\n", 100, random), members(record + record, 50, random), bgzip_member(""),
        members(">a\nACGT\n", 5, random), members("\n" + good, 5, random)}) {
    make("other.gz", other);
    SequenceStream stream({directory / "other.gz"});
    EXPECT_EQ(sequences(stream, 100, random), std::nullopt);
  }
  make("fasta.gz", gzip(">a\nACGT\n", 6));
  SequenceStream stream({directory / "fasta.gz"});
  EXPECT_FALSE(stream.next_fastq(100, true));
  std::string piece;
  EXPECT_TRUE(stream.next(piece, 1, 0)) << "without going back";
}

TEST_F(PackedTexts, AreAskedOnceAndForTheirLettersAlone) {
  make("a.fq.gz", gzip("@a\nACGT\n+\nIIII\n", 6));
  SequenceStream stream({directory / "a.fq.gz"}, 41);
  const auto text = stream.next_fastq(100, true);
  ASSERT_TRUE(text);
  EXPECT_FALSE(stream.next_fastq(100)) << "not the rest of it as it is";
  std::string memory(1, ' ');
  EXPECT_THROW(text->read(0, memory), BadInput);
  EXPECT_EQ(text->letters(memory), "NNNN\n");
  EXPECT_THAT([&] { text->letters(memory); }, ThrowsMessage<BadInput>(HasSubstr("once")));
}

TEST_F(FastqTexts, OfAFileThatBecameShorterAreRefused) {
  make("a.fq", "@a\nACGT\n+\nIIII\n");
  SequenceStream stream({directory / "a.fq"});
  const auto some = stream.next_fastq(1000);
  ASSERT_TRUE(some);
  std::filesystem::resize_file(directory / "a.fq", 5);
  std::string memory;
  EXPECT_THAT([&] { some->letters(memory); }, ThrowsMessage<BadInput>(HasSubstr("a.fq became shorter")));
}

TEST_F(SequenceStreams, RefusesWhatItCannotOpen) {
  EXPECT_THAT([] { SequenceStream({}); }, ThrowsMessage<BadInput>(HasSubstr("no files")));
  EXPECT_THAT([] { SequenceStream({"a"}, 94); }, ThrowsMessage<BadInput>(HasSubstr("0 to 93")));
  SequenceStream absent({directory / "absent"});
  std::string piece;
  EXPECT_THAT([&] { absent.next(piece, 1, 0); }, ThrowsMessage<BadInput>(HasSubstr("absent")));
}

}  // namespace
}  // namespace warploom::io
