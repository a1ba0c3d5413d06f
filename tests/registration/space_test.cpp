#include "warploom/registration/space.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "warploom/core/error.hpp"

namespace warploom::registration {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

class PlacedFiles : public testing::Test {
 protected:
  void SetUp() override { std::filesystem::create_directories(folder_); }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::filesystem::path at(const std::string& name) const { return folder_ / name; }
  PlacedImage written_and_read(const std::string& name, const PlacedImage& image) {
    write_placed(at(name), image);
    return read_placed(at(name));
  }

 private:
  const std::filesystem::path folder_ =
      std::filesystem::temp_directory_path() /
      ("warploom-" + std::string(testing::UnitTest::GetInstance()->current_test_info()->name()) + "-" +
       std::to_string(testing::UnitTest::GetInstance()->random_seed()) + "-" + std::to_string(::getpid()));
};

PlacedImage sample(std::int64_t nz, int channels) {
  PlacedImage placed;
  placed.image = imaging::Image({5, 4, nz, {1.5, 2, 3}}, channels);
  for (std::size_t k = 0; k < placed.image.data.size(); ++k)
    placed.image.data[k] = static_cast<float>(k % 200);
  placed.to_world = {{{0, 2, 0, -7}, {-1.5, 0, 0, 11}, {0, 0, 3, 0.5}}};
  return placed;
}

TEST_F(PlacedFiles, NiftiKeepsValuesAndPlace) {
  for (const std::int64_t nz : {1, 3})
    for (const int channels : {1, 6}) {
      const PlacedImage image = sample(nz, channels), read = written_and_read("a.nii.gz", image);
      EXPECT_EQ(read.image.data, image.image.data);
      EXPECT_EQ(read.image.channels, channels);
      EXPECT_EQ(read.space(), image.space());
    }
}

TEST_F(PlacedFiles, PictureLiesWhereItkSeesIt) {
  PlacedImage image = sample(1, 1);
  image.type = io::NiftiType::uint8;
  const PlacedImage read = written_and_read("a.png", image);
  EXPECT_EQ(read.image.data, image.image.data);
  EXPECT_EQ(read.to_world, picture_affine());
  EXPECT_EQ(read.type, io::NiftiType::uint8);
}

TEST_F(PlacedFiles, PictureOfSlicesIsRefused) {
  EXPECT_THAT([&] { write_placed(at("a.png"), sample(3, 1)); },
              ThrowsMessage<BadInput>(HasSubstr("a .png has one slice and one channel")));
  EXPECT_FALSE(std::filesystem::exists(at("a.png")));
}

TEST_F(PlacedFiles, AnotherEndingIsRefused) {
  EXPECT_THROW(write_placed(at("a.jpg"), sample(1, 1)), BadInput);
  EXPECT_THROW(read_placed(at("absent.nii")), BadInput);
}

}  // namespace
}  // namespace warploom::registration
