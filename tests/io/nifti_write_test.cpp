#include <gmock/gmock.h>
#include <sys/resource.h>

#include <bit>
#include <cmath>
#include <csignal>
#include <limits>
#include <utility>

#include "io/nifti_bytes.hpp"
#include "io/scratch.hpp"
#include "warploom/io/gzip.hpp"
#include "warploom/io/nifti.hpp"

namespace warploom::io {
namespace {

using testing::ElementsAreArray;
using testing::HasSubstr;

constexpr NiftiType kEveryType[] = {
    NiftiType::uint8, NiftiType::int8,   NiftiType::uint16, NiftiType::int16,   NiftiType::uint32,
    NiftiType::int32, NiftiType::uint64, NiftiType::int64,  NiftiType::float32, NiftiType::float64};

/// Of the extents given, holding 0, 1, 2, ... modulo 100.
Nifti counting(const std::vector<std::int64_t>& shape) {
  Nifti image;
  image.shape = shape;
  for (std::int64_t k = 0; k < image.elements(); ++k) image.data.push_back(static_cast<float>(k % 100));
  return image;
}

template <typename Number>
Number number_at(const std::string& bytes, std::size_t at) {
  Number value;
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

class NiftiWrite : public Scratch {
 protected:
  Nifti round_trip(const Nifti& image, const std::string& name = "a.nii") const {
    write_nifti(directory / name, image);
    return read_nifti(directory / name);
  }
  std::string refusal(const Nifti& image, const std::string& name = "a.nii") const {
    return message_of([&] { write_nifti(directory / name, image); });
  }
};

TEST_F(NiftiWrite, PutsFieldsWhereTheStandardSays) {
  if (std::endian::native == std::endian::big) GTEST_SKIP() << "offsets are checked on little endian";
  Nifti image = counting({3, 2});
  image.spacing = {2, 3, 4};
  image.affine = {{{2, 0, 0, -7}, {0, 3, 0, 8}, {0, 0, 4, 9}}};
  image.intent = 1007;
  image.intent_name = "vector";
  image.description = "made by a test";
  image.type = NiftiType::int16;
  write_nifti(directory / "a.nii", image);
  const std::string bytes = content_of(directory / "a.nii");
  ASSERT_EQ(bytes.size(), 352U + 12U);
  EXPECT_EQ(number_at<std::int32_t>(bytes, 0), 348);
  EXPECT_EQ(bytes.substr(344, 4), std::string("n+1\0", 4));
  EXPECT_EQ(bytes.substr(348, 4), std::string(4, '\0'));  // no extension
  const std::int16_t dim[] = {2, 3, 2, 1, 1, 1, 1, 1};
  for (std::size_t k = 0; k < 8; ++k) EXPECT_EQ(number_at<std::int16_t>(bytes, 40 + 2 * k), dim[k]) << k;
  EXPECT_EQ(number_at<std::int16_t>(bytes, 68), 1007);
  EXPECT_EQ(number_at<std::int16_t>(bytes, 70), 4);
  EXPECT_EQ(number_at<std::int16_t>(bytes, 72), 16);
  for (std::size_t k = 0; k < 3; ++k) EXPECT_EQ(number_at<float>(bytes, 80 + 4 * k), image.spacing[k]) << k;
  EXPECT_EQ(number_at<float>(bytes, 108), 352.F);
  EXPECT_EQ(number_at<float>(bytes, 112), 1.F);
  EXPECT_EQ(number_at<float>(bytes, 116), 0.F);
  EXPECT_EQ(bytes[123], 2);  // millimetres
  EXPECT_STREQ(bytes.c_str() + 148, "made by a test");
  EXPECT_EQ(number_at<std::int16_t>(bytes, 254), 1);
  EXPECT_EQ(number_at<float>(bytes, 280 + 12), -7.F);
  EXPECT_EQ(number_at<float>(bytes, 296 + 4), 3.F);
  EXPECT_STREQ(bytes.c_str() + 328, "vector");
  EXPECT_EQ(number_at<std::int16_t>(bytes, 352 + 10), 5);
}

TEST_F(NiftiWrite, EveryTypeShapeVersionAndCompressionComesBack) {
  for (const NiftiType type : kEveryType)
    for (std::size_t axes = 1; axes <= 7; ++axes)
      for (const bool nifti2 : {false, true})
        for (const char* name : {"a.nii", "a.nii.gz"}) {
          std::vector<std::int64_t> shape{4, 3, 1, 2, 1, 2, 1};
          shape.resize(axes);
          Nifti image = counting(shape);
          image.type = type;
          image.nifti2 = nifti2;
          image.spacing = {0.5, 1.5, 2.5};
          image.affine = {{{0.5, 0, 0.25, -10}, {0, -1.5, 0, 20}, {0.125, 0, 2.5, 30}}};
          image.intent = 1005;
          image.intent_parameters = {3, 0.25, -2};
          const Nifti back = round_trip(image, name);
          EXPECT_EQ(back.shape, shape);
          EXPECT_EQ(back.data, image.data);
          EXPECT_EQ(back.type, type);
          EXPECT_EQ(back.nifti2, nifti2);
          EXPECT_EQ(back.spacing, image.spacing);
          EXPECT_EQ(back.affine, image.affine);
          EXPECT_EQ(back.intent, 1005);
          EXPECT_EQ(back.intent_parameters, image.intent_parameters);
        }
}

TEST_F(NiftiWrite, FloatsComeBackToTheBit) {
  Nifti image = counting({6});
  image.data = {std::numeric_limits<float>::infinity(), -0.F, 1e-45F, 0.1F, std::numeric_limits<float>::max(),
                std::numeric_limits<float>::quiet_NaN()};
  const Nifti back = round_trip(image);
  for (std::size_t k = 0; k < 6; ++k)
    EXPECT_EQ(std::bit_cast<std::uint32_t>(back.data[k]), std::bit_cast<std::uint32_t>(image.data[k])) << k;
}

TEST_F(NiftiWrite, IntegersAreRoundedAndClamped) {
  const float nan = std::numeric_limits<float>::quiet_NaN(), inf = std::numeric_limits<float>::infinity();
  const struct {
    NiftiType type;
    float least, most;
  } limits[] = {{NiftiType::uint8, 0, 255},      {NiftiType::int8, -128, 127},
                {NiftiType::uint16, 0, 65535},   {NiftiType::int16, -32768, 32767},
                {NiftiType::uint32, 0, 0x1p32F}, {NiftiType::int32, -0x1p31F, 0x1p31F},
                {NiftiType::uint64, 0, 0x1p64F}, {NiftiType::int64, -0x1p63F, 0x1p63F}};
  for (const auto& [type, least, most] : limits) {
    Nifti image = counting({9});
    image.type = type;
    image.data = {0.4F, 0.6F, 99.7F, -0.4F, -1.6F, 1e30F, -inf, inf, nan};
    const float below = least == 0 ? 0.F : -2.F;
    EXPECT_THAT(round_trip(image).data,
                ElementsAreArray({0.F, 1.F, 100.F, 0.F, below, most, least, most, 0.F}))
        << static_cast<int>(type);
  }
}

TEST_F(NiftiWrite, SixtyFourBitsAreClampedToTheLastOne) {
  Nifti image = counting({2});
  image.data = {0x1p63F, 0x1p64F};
  image.type = NiftiType::int64;
  write_nifti(directory / "a.nii", image);
  EXPECT_EQ(number_at<std::int64_t>(content_of(directory / "a.nii"), 352),
            std::numeric_limits<std::int64_t>::max());
  image.type = NiftiType::uint64;
  write_nifti(directory / "a.nii", image);
  EXPECT_EQ(number_at<std::uint64_t>(content_of(directory / "a.nii"), 360),
            std::numeric_limits<std::uint64_t>::max());
}

TEST_F(NiftiWrite, ALongAxisNeedsNifti2) {
  EXPECT_FALSE(round_trip(counting({32767})).nifti2);
  const Nifti back = round_trip(counting({2, 32768}));
  EXPECT_TRUE(back.nifti2);
  EXPECT_EQ(back.data.size(), 65536U);
}

TEST_F(NiftiWrite, LongTextsAreCut) {
  Nifti image = counting({1});
  image.description = std::string(200, 'd');
  image.intent_name = std::string(200, 'i');
  const Nifti back = round_trip(image);
  EXPECT_EQ(back.description, std::string(79, 'd'));
  EXPECT_EQ(back.intent_name, std::string(15, 'i'));
}

// Sets sform_code to 0, so that the qform is read.
Nifti by_qform(const std::filesystem::path& path) {
  std::string bytes = content_of(path);
  bytes[254] = 0;
  return parse_nifti(bytes, "qform");
}

TEST_F(NiftiWrite, TheQformSaysTheSameAsTheSform) {
  // Turns by each of the angles about x, then y, then z, so that each component of the quaternion
  // is the largest of some.
  const double angles[] = {0, 0.3, 1.5707963267948966, 2.5, 3.141592653589793, -2};
  for (const double a : angles)
    for (const double b : angles)
      for (const double c : angles)
        for (const double sign : {1.0, -1.0}) {
          const double ca = std::cos(a), sa = std::sin(a), cb = std::cos(b), sb = std::sin(b),
                       cc = std::cos(c), sc = std::sin(c);
          Nifti image = counting({1, 2, 3});
          image.spacing = {1, 2, 3.5};
          const double r[3][3] = {{cc * cb, cc * sb * sa - sc * ca, cc * sb * ca + sc * sa},
                                  {sc * cb, sc * sb * sa + cc * ca, sc * sb * ca - cc * sa},
                                  {-sb, cb * sa, cb * ca}};
          for (std::size_t i = 0; i < 3; ++i)
            image.affine[i] = {r[i][0], r[i][1] * 2, r[i][2] * 3.5 * sign, static_cast<double>(i) - 7};
          write_nifti(directory / "a.nii", image);
          const Nifti back = by_qform(directory / "a.nii");
          for (std::size_t i = 0; i < 3; ++i)
            for (std::size_t j = 0; j < 4; ++j)
              // The first component is what the others, in single precision, leave of 1.
              ASSERT_NEAR(back.affine[i][j], image.affine[i][j], 2e-5)
                  << a << ' ' << b << ' ' << c << ' ' << sign;
        }
}

TEST_F(NiftiWrite, AnAffineWithShearHasNoQform) {
  Nifti image = counting({1});
  image.affine = {{{1, 0.1, 0, 0}, {0, 1, 0, 0}, {0, 0, 1, 0}}};
  write_nifti(directory / "a.nii", image);
  EXPECT_EQ(number_at<std::int16_t>(content_of(directory / "a.nii"), 252), 0);
  EXPECT_EQ(read_nifti(directory / "a.nii").affine[0][1], static_cast<double>(0.1F));
}

TEST_F(NiftiWrite, AnAffineThatDeniesTheSpacingHasNoQform) {
  Nifti image = counting({1});
  image.spacing = {2, 2, 2};
  write_nifti(directory / "a.nii", image);
  EXPECT_EQ(number_at<std::int16_t>(content_of(directory / "a.nii"), 252), 0);
}

TEST_F(NiftiWrite, CodesComeBack) {
  Nifti image = counting({2, 3});
  for (const auto& [sform, qform] : {std::pair{1, 0}, std::pair{0, 2}, std::pair{4, 3}}) {
    image.sform_code = sform, image.qform_code = qform;
    write_nifti(directory / "a.nii", image);
    const Nifti back = read_nifti(directory / "a.nii");
    EXPECT_EQ(back.sform_code, sform);
    EXPECT_EQ(back.qform_code, qform);
    EXPECT_EQ(back.affine, image.affine);
  }
}

TEST_F(NiftiWrite, AnImageWithoutAPlaceStaysWithoutOne) {
  Nifti image = counting({2, 3});
  image.spacing = {2, 2, 3};
  image.sform_code = image.qform_code = 0;
  EXPECT_THAT(refusal(image), HasSubstr("cannot hold the affine"));
  image.affine = unplaced_affine(image.shape, image.spacing);
  write_nifti(directory / "a.nii", image);
  const Nifti back = read_nifti(directory / "a.nii");
  EXPECT_EQ(back.sform_code, 0);
  EXPECT_EQ(back.qform_code, 0);
  EXPECT_EQ(back.affine, image.affine);
  EXPECT_LT(determinant(back.affine), 0);
}

TEST_F(NiftiWrite, CompressedBytesDoNotDependOnThreads) {
  const Nifti image = counting({900, 1000});
  std::string first;
  for (const unsigned count : {1U, 2U, 5U}) {
    const RunScope scope({.threads = count});
    write_nifti(directory / "a.nii.gz", image);
    if (first.empty()) first = content_of(directory / "a.nii.gz");
    EXPECT_EQ(content_of(directory / "a.nii.gz"), first) << count;
  }
  EXPECT_LT(first.size(), image.data.size());
  EXPECT_EQ(read_nifti(directory / "a.nii.gz").data, image.data);
}

TEST_F(NiftiWrite, ARefusedImageSaysWhy) {
  Nifti image = counting({2, 3});
  image.data.pop_back();
  EXPECT_THAT(refusal(image), HasSubstr("a.nii: extents 2 x 3 do not fit 5 elements of data"));
  EXPECT_THAT(refusal(counting({})), HasSubstr("an image of 0 axes; NIfTI has 1 to 7"));
  EXPECT_THAT(refusal(counting({1, 1, 1, 1, 1, 1, 1, 1})), HasSubstr("an image of 8 axes"));
  EXPECT_THAT(refusal(counting({2, 0})), HasSubstr("extents 2 x 0: each must be 1 or more"));
  image = counting({1});
  image.shape = {std::int64_t{1} << 62, 4};  // the product is 0 in 64 bits
  EXPECT_THAT(refusal(image), HasSubstr("do not fit 1 elements"));
  image = counting({2});
  image.spacing[1] = 0;
  EXPECT_THAT(refusal(image), HasSubstr("spacing 1 x 0 x 1 mm; each must be above 0"));
  image = counting({2});
  image.affine[2][2] = 0;
  EXPECT_THAT(refusal(image),
              HasSubstr("the affine cannot be inverted: [1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 0, 0]"));
  EXPECT_THAT(refusal(counting({2}), "a.img"), HasSubstr("a.img: its name must end in .nii or .nii.gz"));
  EXPECT_THAT(message_of([&] { write_nifti(directory / "a.nii.gz", counting({2}), {.compression = 13}); }),
              HasSubstr("compression level 13; it must be 1 to 12"));
  EXPECT_TRUE(std::filesystem::is_empty(directory));
}

TEST_F(NiftiWrite, TheFirstMemberOfGzipHoldsDataToo) {
  // As programs in browsers want it, which read one member: the BIDS validator refused images whose header
  // had one alone.
  const auto members = [&](const std::vector<std::int64_t>& shape) {
    write_nifti(directory / "a.nii.gz", counting(shape));
    const std::string bytes = content_of(directory / "a.nii.gz");
    const std::string begin("\x1f\x8b\x08\x04\0\0\0\0\0\x03\x08\0", 12);
    int found = 0;
    for (std::size_t at = 0; (at = bytes.find(begin, at)) != bytes.npos; ++at) ++found;
    return found;
  };
  EXPECT_EQ(members({1000}), 1);
  EXPECT_EQ(members({179, 1464}), 1) << "header and data make 1 MiB";
  EXPECT_EQ(members({179, 1465}), 2);
  EXPECT_EQ(read_nifti(directory / "a.nii.gz").data.size(), 179U * 1465);
}

TEST_F(NiftiWrite, AFullDiskIsAnError) {
  std::filesystem::create_symlink("/dev/full", directory / "a.nii");
  std::filesystem::create_symlink("/dev/full", directory / "a.nii.gz");
  EXPECT_THAT(refusal(counting({5})), HasSubstr("No space left on device; free some space"));
  EXPECT_THAT(refusal(counting({5}), "a.nii.gz"), HasSubstr("No space left on device"));
}

TEST_F(NiftiWrite, AFailedWriteKeepsTheOldFile) {
  const auto limited = [] {
    const rlimit limit{4096, 4096};
    std::signal(SIGXFSZ, SIG_IGN);
    return setrlimit(RLIMIT_FSIZE, &limit) == 0;
  };
  write_nifti(directory / "a.nii", counting({3}));
  const std::string before = content_of(directory / "a.nii");
  EXPECT_THAT(message_in_child(limited, [&] { write_nifti(directory / "a.nii", counting({5000})); }),
              HasSubstr("a.nii: File too large; raise the file size limit"));
  EXPECT_EQ(content_of(directory / "a.nii"), before);
}

TEST_F(NiftiWrite, WithoutPermissionSaysSo) {
  std::filesystem::create_directory(directory / "closed");
  std::filesystem::permissions(directory / "closed", std::filesystem::perms(0555));
  EXPECT_THAT(message_in_child([] { return geteuid() != 0 || setuid(65534) == 0; },
                               [&] { write_nifti(directory / "closed" / "a.nii", counting({3})); }),
              HasSubstr("a.nii: Permission denied"));
}

TEST_F(NiftiWrite, AMissingDirectoryIsAnError) {
  EXPECT_THAT(refusal(counting({3}), "none/a.nii"), HasSubstr("a.nii: No such file or directory"));
}

}  // namespace
}  // namespace warploom::io
