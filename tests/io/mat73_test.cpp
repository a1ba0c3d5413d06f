// MATLAB's version 7.3. mat73/made_by_hdf5.mat.gz was written by the HDF5 library 1.14 (h5py 3.16, its
// defaults, 512 bytes before it as MATLAB has them), compressed by gzip; what is in it stands in the first
// test. newer_form.mat.gz is of the same library, which was asked for its latest form.

#include <gmock/gmock.h>

#include <map>
#include <random>

#include "io/hdf5.hpp"
#include "io/recording_readers.hpp"
#include "io/scratch.hpp"
#include "warploom/core/error.hpp"
#include "warploom/core/file.hpp"
#include "warploom/io/gzip.hpp"

namespace warploom::io {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;

std::string made(const std::string& name) {
  const std::string path = std::string(WARPLOOM_TESTS_DIR "/io/mat73/") + name;
  return uncompressed(read_file(path), path);
}

Recording read(const std::string& content, const RecordingOptions& options = {}) {
  ByteSource source(content, "a.mat");
  return read_mat(source, options);
}

/// The bytes with `with` at each place of `what`, which is there.
std::string with(std::string bytes, const std::string& what, const std::string& with) {
  std::size_t at = bytes.find(what);
  EXPECT_NE(at, bytes.npos);
  for (; at != bytes.npos; at = bytes.find(what, at + with.size())) bytes.replace(at, what.size(), with);
  return bytes;
}

template <class T>
std::string bytes_of(T value) {
  return {reinterpret_cast<const char*>(&value), sizeof value};
}

TEST(Mat73, ArraysStructuresAndCellsAreChannels) {
  const Recording r = read(made("made_by_hdf5.mat.gz"));
  std::map<std::string, std::vector<float>> channels;
  for (const Channel& channel : r.channels) channels[channel.name] = channel.samples;
  EXPECT_TRUE(r.timed);
  EXPECT_EQ(r.channels[0].rate, 50) << "of `time`, 8 x 1";
  // single, in chunks of 5, shuffled and deflated
  EXPECT_THAT(channels["acc.1"], ElementsAre(0, 1, 2, 3, 4, 5, 6, 7));
  EXPECT_THAT(channels["acc.2"], ElementsAre(8, 9, 10, 11, 12, 13, 14, 15));
  // 1 x 8, big-endian int16, in chunks of 3 with checksums
  EXPECT_THAT(channels["raw"], ElementsAre(1, -2, 3, -4, 5, -6, 7, -8));
  // channels in rows, uint8, of a structure
  EXPECT_THAT(channels["EEG.data.1"], ElementsAre(0, 2, 4, 6, 8, 10, 12, 14));
  EXPECT_THAT(channels["EEG.data.2"], ElementsAre(1, 3, 5, 7, 9, 11, 13, 15));
  EXPECT_THAT(channels["trials{1}"], ElementsAre(0, 1, 2, 3, 4, 5, 6, 7));
  EXPECT_THAT(channels["trials{2}"], ElementsAre(0, 10, 20, 30, 40, 50, 60, 70));
  EXPECT_THAT(channels["runs(1).x"], ElementsAre(0, -1, -2, -3, -4, -5, -6, -7)) << "int64";
  EXPECT_THAT(channels["runs(2).x"], ElementsAre(0, 1, 2, 3, 4, 5, 6, 7)) << "uint32";
  // More names than a node of a group's tree holds.
  for (const auto& [name, value] : std::map<std::string, float>{{"many.v00", 0}, {"many.v11", 11}})
    EXPECT_THAT(channels[name], testing::Each(value));
  // Not text, complex numbers, an empty or a sparse matrix.
  EXPECT_EQ(channels.size(), 9U + 12U);
}

TEST(Mat73, ChannelsAndTimeAreChosenAsInOlderVersions) {
  RecordingOptions options;
  options.select = {"EEG.data.2"};
  options.time_column = "none";
  options.label_column = "many.v03";
  const Recording r = read(made("made_by_hdf5.mat.gz"), options);
  ASSERT_EQ(r.channels.size(), 1U);
  EXPECT_EQ(r.channels[0].rate, 50) << "EEG.srate";
  ASSERT_EQ(r.annotations.size(), 1U);
  EXPECT_EQ(r.annotations[0].label, "3");
}

TEST(Mat73, OtherFormsAreRefusedWithTheRemedy) {
  const std::string remedy = "in MATLAB save(name, ..., '-v7'), or write CSV or NPY";
  EXPECT_THAT([&] { read(made("newer_form.mat.gz")); },
              ThrowsMessage<BadInput>(testing::AllOf(HasSubstr("a.mat: HDF5 of a form that is not read: a "
                                                               "superblock of version"),
                                                     HasSubstr(remedy))));
  const std::string good = made("made_by_hdf5.mat.gz");
  // The only chunks of 1 x 3: their filters are deflate and a checksum.
  const std::string filters = bytes_of<std::uint16_t>(1) + bytes_of<std::uint16_t>(8);
  EXPECT_THAT([&] { read(with(good, filters, bytes_of<std::uint16_t>(32000) + bytes_of<std::uint16_t>(8))); },
              ThrowsMessage<BadInput>(HasSubstr("the filter of number 32000")));
}

TEST(Mat73, SizesThatNoFileHoldsAreRefusedBeforeTheyAreTaken) {
  const std::string good = made("made_by_hdf5.mat.gz");
  // The 1 x 5 chunks of `acc`, 2 x 8, and its sizes.
  const std::string sizes = bytes_of<std::uint64_t>(2) + bytes_of<std::uint64_t>(8);
  for (const std::uint64_t huge : {std::uint64_t{1} << 28, std::uint64_t{1} << 40, ~std::uint64_t{0}})
    EXPECT_THAT([&] { read(with(good, sizes, bytes_of(huge) + bytes_of<std::uint64_t>(8))); },
                ThrowsMessage<BadInput>(HasSubstr("a dataset of ")));
  const std::string chunk =
      bytes_of<std::uint32_t>(1) + bytes_of<std::uint32_t>(5) + bytes_of<std::uint32_t>(4);
  EXPECT_THAT([&] { read(with(good, chunk, bytes_of(0xFFFFFFFFU) + bytes_of(0xFFFFFFFFU) + bytes_of(4U))); },
              ThrowsMessage<BadInput>(HasSubstr("a chunk that no file of this size holds")));
  EXPECT_THAT([&] { read(with(good, chunk, bytes_of(1U) + bytes_of(0U) + bytes_of(4U))); },
              ThrowsMessage<BadInput>(HasSubstr("a chunk that no file of this size holds")));
  EXPECT_THAT([&] { read(with(good, chunk, bytes_of(1U) + bytes_of(6U) + bytes_of(4U))); },
              ThrowsMessage<BadInput>(HasSubstr("damaged: a chunk")));
}

TEST(Mat73, SurvivesDamage) {
  const std::string good = made("made_by_hdf5.mat.gz");
  int read_on = 0, refused = 0;
  const auto look = [&](std::string damaged) {
    try {
      read_on += !read(damaged).channels.empty();
    } catch (const BadInput& error) {
      ++refused;
      EXPECT_THAT(error.what(), HasSubstr("a.mat"));
    }
  };
  for (std::size_t size = 0; size < good.size(); size += 97) look(good.substr(0, size));
  // What is not 0 says something.
  std::mt19937 random(3);
  for (std::size_t at = 512; at < good.size(); ++at)
    if (good[at] != '\0')
      for (const char byte : {'\0', '\xFF', static_cast<char>(random())}) {
        std::string damaged = good;
        damaged[at] = byte;
        look(std::move(damaged));
      }
  EXPECT_GT(read_on, 100);
  EXPECT_GT(refused, 100);
}

TEST(Mat73, AGroupThatHoldsItselfIsRefused) {
  std::string bytes = made("made_by_hdf5.mat.gz");
  const std::size_t begin = hdf5_begin(bytes);
  ASSERT_EQ(begin, 512U);
  const Hdf5 file(bytes, begin, "a.mat");
  const Hdf5Object root = file.object(file.root());
  for (const auto& [name, address] : file.members(root)) {
    if (name != "EEG") continue;
    // Its names are the root's then.
    const Hdf5Object inner = file.object(address);
    bytes =
        with(bytes, bytes_of(inner.tree) + bytes_of(inner.heap), bytes_of(root.tree) + bytes_of(root.heap));
  }
  EXPECT_THAT([&] { read(bytes); }, ThrowsMessage<BadInput>(HasSubstr("more than 32 deep")));
}

}  // namespace
}  // namespace warploom::io
