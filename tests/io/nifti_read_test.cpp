#include <gmock/gmock.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <cmath>
#include <limits>
#include <utility>

#include "io/nifti_bytes.hpp"
#include "io/scratch.hpp"
#include "warploom/io/gzip.hpp"
#include "warploom/io/nifti.hpp"

namespace warploom::io {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::ElementsAreArray;
using testing::HasSubstr;

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

Nifti parse(const NiftiBytes& file) { return parse_nifti(file.bytes(), "x.nii"); }
std::string nifti_refusal(const NiftiBytes& file) {
  return message_of([&] { parse(file); });
}

template <typename Stored>
void set_data(NiftiBytes& file, int datatype, const std::vector<Stored>& values) {
  file.datatype = datatype;
  file.bitpix = 8 * sizeof(Stored);
  file.dim = {1, static_cast<std::int64_t>(values.size()), 1, 1, 1, 1, 1, 1};
  file.data.clear();
  for (const Stored value : values) file.data += number_bytes(value, file.big_endian);
}

class NiftiInEveryForm : public testing::TestWithParam<std::tuple<bool, bool>> {
 protected:
  NiftiBytes file() const {
    NiftiBytes bytes;
    std::tie(bytes.nifti2, bytes.big_endian) = GetParam();
    return bytes;
  }

  template <typename Stored>
  void expect_values(int datatype, NiftiType type, const std::vector<Stored>& stored,
                     const std::vector<float>& values) const {
    NiftiBytes bytes = file();
    set_data(bytes, datatype, stored);
    const Nifti image = parse(bytes);
    EXPECT_EQ(image.type, type);
    EXPECT_EQ(image.nifti2, bytes.nifti2);
    EXPECT_THAT(image.data, ElementsAreArray(values));
  }
};
INSTANTIATE_TEST_SUITE_P(VersionAndOrder, NiftiInEveryForm,
                         testing::Combine(testing::Bool(), testing::Bool()));

TEST_P(NiftiInEveryForm, ReadsEveryType) {
  expect_values<std::uint8_t>(2, NiftiType::uint8, {0, 200, 255}, {0, 200, 255});
  expect_values<std::int8_t>(256, NiftiType::int8, {-128, 5, 127}, {-128, 5, 127});
  expect_values<std::uint16_t>(512, NiftiType::uint16, {0, 258, 65535}, {0, 258, 65535});
  expect_values<std::int16_t>(4, NiftiType::int16, {-32768, 258}, {-32768, 258});
  expect_values<std::uint32_t>(768, NiftiType::uint32, {16909060, 4294967295U}, {16909060, 4294967296.F});
  expect_values<std::int32_t>(8, NiftiType::int32, {-16909060, 7}, {-16909060, 7});
  expect_values<std::uint64_t>(1280, NiftiType::uint64, {1ULL << 63, 258}, {0x1p63F, 258});
  expect_values<std::int64_t>(1024, NiftiType::int64, {-(1LL << 62), 258}, {-0x1p62F, 258});
  expect_values<float>(16, NiftiType::float32, {0.1F, -2.5F}, {0.1F, -2.5F});
  expect_values<double>(64, NiftiType::float64, {0.1, -1e300},
                        {0.1F, -std::numeric_limits<float>::infinity()});
}

TEST_P(NiftiInEveryForm, ReadsOneToSevenAxes) {
  for (std::int64_t axes = 1; axes <= 7; ++axes) {
    NiftiBytes bytes = file();
    bytes.dim = {axes, 3, 2, 1, 2, 1, 3, 1};
    std::size_t elements = 1;
    for (std::int64_t k = 1; k <= axes; ++k) elements *= static_cast<std::size_t>(bytes.dim[std::size_t(k)]);
    bytes.data.clear();
    for (std::size_t k = 0; k < elements; ++k) bytes.data.push_back(static_cast<char>(k));
    const Nifti image = parse(bytes);
    EXPECT_THAT(image.shape, ElementsAreArray(bytes.dim.begin() + 1, bytes.dim.begin() + 1 + axes));
    ASSERT_EQ(image.data.size(), elements);
    EXPECT_EQ(image.elements(), static_cast<std::int64_t>(elements));
    EXPECT_EQ(image.data.back(), static_cast<float>(elements - 1));
  }
}

TEST_P(NiftiInEveryForm, AppliesSlopeAndIntercept) {
  NiftiBytes bytes = file();
  bytes.slope = 0.5;
  bytes.inter = -3;
  set_data<std::int16_t>(bytes, 4, {-2, 0, 100});
  EXPECT_THAT(parse(bytes).data, ElementsAre(-4, -3, 47));
  set_data<float>(bytes, 16, {-2, 0, 100});
  EXPECT_THAT(parse(bytes).data, ElementsAre(-4, -3, 47));
  set_data<double>(bytes, 64, {-2, 0, 100});
  EXPECT_THAT(parse(bytes).data, ElementsAre(-4, -3, 47));
}

TEST_P(NiftiInEveryForm, ReadsTexts) {
  NiftiBytes bytes = file();
  bytes.intent = 1007;
  bytes.intent_p = {3, -0.5, 1024};
  bytes.intent_name = "sixteen bytes it";  // no room for an end
  bytes.description = std::string(79, 'd');
  const Nifti image = parse(bytes);
  EXPECT_EQ(image.intent, 1007);
  EXPECT_THAT(image.intent_parameters, ElementsAre(3, -0.5, 1024));
  EXPECT_EQ(image.intent_name, "sixteen bytes it");
  EXPECT_EQ(image.description, std::string(79, 'd'));
}

TEST_P(NiftiInEveryForm, SkipsExtensions) {
  NiftiBytes bytes = file();
  bytes.vox_offset = static_cast<double>(bytes.header_size() + 4 + 32);
  EXPECT_THAT(parse(bytes).data, ElementsAre(7, 9));
}

TEST_P(NiftiInEveryForm, TakesTheSformBeforeTheQform) {
  NiftiBytes bytes = file();
  bytes.qform = 1;
  bytes.sform = 2;
  bytes.srow = {{{2, 0.25, 0, -10}, {0, 3, 0, 20}, {0, 0.5, 4, 30}}};
  EXPECT_EQ(parse(bytes).affine, bytes.srow);
}

TEST_P(NiftiInEveryForm, TurnsTheQformsQuaternion) {
  NiftiBytes bytes = file();
  bytes.qform = 1;
  bytes.pixdim = {1, 2, 3, 4, 1, 1, 1, 1};
  bytes.quatern = {0, 0, std::sqrt(0.5)};  // a quarter turn about z: i goes to +y, j to -x
  bytes.qoffset = {5, 6, 7};
  const Affine want{{{0, -3, 0, 5}, {2, 0, 0, 6}, {0, 0, 4, 7}}};
  const Nifti image = parse(bytes);
  for (std::size_t row = 0; row < 3; ++row)
    for (std::size_t column = 0; column < 4; ++column)
      EXPECT_NEAR(image.affine[row][column], want[row][column], 1e-6) << row << ' ' << column;
  EXPECT_THAT(image.spacing, ElementsAre(2, 3, 4));
}

TEST_P(NiftiInEveryForm, ANegativeQfacReversesTheThirdAxis) {
  NiftiBytes bytes = file();
  bytes.qform = 1;
  bytes.pixdim = {-1, 2, 2, 2, 1, 1, 1, 1};
  EXPECT_EQ(parse(bytes).affine, (Affine{{{2, 0, 0, 0}, {0, 2, 0, 0}, {0, 0, -2, 0}}}));
}

TEST_P(NiftiInEveryForm, WithoutFormsXRunsToTheLeftAndTheMiddleIsAtZero) {
  NiftiBytes bytes = file();
  bytes.dim = {4, 2, 1, 1, 1, 1, 1, 1};
  bytes.pixdim = {1, 2, 3, 4, 1, 1, 1, 1};
  bytes.srow = {{{9, 0, 0, 0}, {0, 9, 0, 0}, {0, 0, 9, 0}}};
  const Nifti image = parse(bytes);
  EXPECT_EQ(image.affine, (Affine{{{-2, 0, 0, 1}, {0, 3, 0, 0}, {0, 0, 4, 0}}}));  // nibabel 5.3's
  EXPECT_EQ(image.sform_code, 0);
  EXPECT_EQ(image.qform_code, 0);
}

TEST_P(NiftiInEveryForm, CodesAreKept) {
  NiftiBytes bytes = file();
  bytes.qform = 2, bytes.sform = 4;
  bytes.srow = {{{2, 0, 0, 0}, {0, 3, 0, 0}, {0, 0, 4, 0}}};
  EXPECT_EQ(parse(bytes).sform_code, 4);
  EXPECT_EQ(parse(bytes).qform_code, 2);
}

TEST(NiftiRead, AHalfTurnIsNoRoundingMatter) {
  NiftiBytes bytes;
  bytes.qform = 1;
  bytes.quatern = {1.0000001, 0, 0};
  EXPECT_EQ(parse(bytes).affine, (Affine{{{1, 0, 0, 0}, {0, -1, 0, 0}, {0, 0, -1, 0}}}));
}

TEST(NiftiRead, MetresAndMicrometresBecomeMillimetres) {
  NiftiBytes bytes;
  bytes.sform = 1;
  bytes.srow = {{{0.25, 0, 0, 2}, {0, 0.5, 0, 3}, {0, 0, 1, 4}}};
  bytes.pixdim = {1, 0.25, 0.5, 1, 1, 1, 1, 1};
  bytes.units = 1 | 8;  // metres and seconds
  EXPECT_EQ(parse(bytes).affine, (Affine{{{250, 0, 0, 2000}, {0, 500, 0, 3000}, {0, 0, 1000, 4000}}}));
  EXPECT_THAT(parse(bytes).spacing, ElementsAre(250, 500, 1000));
  bytes.units = 3;
  EXPECT_THAT(parse(bytes).spacing, ElementsAre(0.25 * 0.001, 0.5 * 0.001, 0.001));
  bytes.sform = 0;
  bytes.qform = 1;
  bytes.qoffset = {1000, 2000, 3000};
  EXPECT_DOUBLE_EQ(parse(bytes).affine[2][3], 3);
  bytes.units = 0;
  EXPECT_THAT(parse(bytes).spacing, ElementsAre(0.25, 0.5, 1));
}

TEST(NiftiRead, ASlopeOfZeroOrNaNIsNone) {
  NiftiBytes bytes;
  bytes.inter = 5;
  for (const double slope : {0.0, kNaN}) {
    bytes.slope = slope;
    EXPECT_THAT(parse(bytes).data, ElementsAre(7, 9));
  }
}

TEST(NiftiRead, AFlatImageNeedsNoThirdSpacing) {
  NiftiBytes bytes;
  bytes.pixdim = {1, 2, 0, kNaN, 0, 0, 0, 0};
  EXPECT_THAT(parse(bytes).spacing, ElementsAre(2, 1, 1));
}

TEST(NiftiRead, BytesAfterTheDataAreLeftAlone) {
  NiftiBytes bytes;
  bytes.data += "more";
  EXPECT_THAT(parse(bytes).data, ElementsAre(7, 9));
}

struct Refused {
  const char* name;
  void (*spoil)(NiftiBytes&);
  const char* message;
};
void PrintTo(const Refused& refused, std::ostream* out) { *out << refused.name; }

class NiftiHeaderRefused : public testing::TestWithParam<Refused> {};

const Refused kRefused[] = {
    {"Size", [](NiftiBytes& f) { f.sizeof_hdr = 349; },
     "not NIfTI: it begins with neither 348 (NIfTI-1) nor 540"},
    {"Analyze", [](NiftiBytes& f) { f.magic = std::string(4, '\0'); },
     "not NIfTI: its header is like Analyze 7.5's"},
    {"Pair", [](NiftiBytes& f) { f.magic = std::string("ni1\0", 4); },
     "the header of an image in two files; its data are in another one"},
    {"Pair2", [](NiftiBytes& f) { f.nifti2 = true, f.magic = std::string("ni2\0\r\n\x1a\n", 8); },
     "image in two files"},
    {"Magic2", [](NiftiBytes& f) { f.nifti2 = true, f.magic = "n+2\0\n\n\x1a\n"; },
     "without NIfTI-2's magic 'n+2'"},
    {"NoAxes", [](NiftiBytes& f) { f.dim[0] = 0; }, "dim[0], the number of axes, is 0; it must be 1 to 7"},
    {"EightAxes", [](NiftiBytes& f) { f.dim[0] = 8; }, "is 8; it must be 1 to 7"},
    {"NegativeAxes", [](NiftiBytes& f) { f.dim[0] = -3; }, "is -3; it must be 1 to 7"},
    {"NoExtent", [](NiftiBytes& f) { f.dim[2] = 0; }, "dim[2] is 0; an extent must be 1 or more"},
    {"NegativeExtent", [](NiftiBytes& f) { f.dim[3] = -5; }, "dim[3] is -5; an extent"},
    {"Overflow", [](NiftiBytes& f) { f.nifti2 = true, f.dim = {2, 1LL << 40, 1LL << 40, 1, 1, 1, 1, 1}; },
     "extents 1099511627776 x 1099511627776 are more than 2^60 elements"},
    {"OneHugeExtent",
     [](NiftiBytes& f) { f.nifti2 = true, f.dim[1] = std::numeric_limits<std::int64_t>::max(); },
     "are more than 2^60 elements"},
    {"CutOffData", [](NiftiBytes& f) { f.dim[1] = 3; },
     "cut off: its header asks for 3 bytes of data from byte 352 on, it has 354 bytes"},
    {"OffsetAtTheEnd", [](NiftiBytes& f) { f.vox_offset = 5000; },
     "cut off: its header asks for 2 bytes of data"},
    {"HugeData", [](NiftiBytes& f) { f.nifti2 = true, f.dim = {2, 1 << 30, 1 << 30, 1, 1, 1, 1, 1}; },
     "cut off"},
    {"SmallOffset", [](NiftiBytes& f) { f.vox_offset = 348; },
     "vox_offset is 348; data of a single file begin at byte 352"},
    {"NoOffset", [](NiftiBytes& f) { f.vox_offset = 0; }, "vox_offset is 0"},
    {"SmallOffset2", [](NiftiBytes& f) { f.nifti2 = true, f.vox_offset = 540; },
     "begin at byte 544 or later"},
    {"BrokenOffset", [](NiftiBytes& f) { f.vox_offset = 352.5; }, "vox_offset is 352.5"},
    {"NaNOffset", [](NiftiBytes& f) { f.vox_offset = kNaN; }, "vox_offset is nan"},
    {"HugeOffset", [](NiftiBytes& f) { f.vox_offset = 1e30; }, "vox_offset is 1.00"},
    {"Bits", [](NiftiBytes& f) { f.bitpix = 16; }, "bitpix is 16, but its data type uint8 has 8 bits"},
    {"NoType", [](NiftiBytes& f) { f.datatype = 0; }, "its data type is none (code 0)"},
    {"Binary", [](NiftiBytes& f) { f.datatype = 1; }, "its data type is binary"},
    {"Rgb", [](NiftiBytes& f) { f.datatype = 128; }, "its data type is RGB24 (code 128), which is not read"},
    {"Rgba", [](NiftiBytes& f) { f.datatype = 2304; }, "its data type is RGBA32"},
    {"Complex64", [](NiftiBytes& f) { f.datatype = 32; },
     "its data type is complex64 (code 32): complex numbers, where real ones are needed"},
    {"Complex128", [](NiftiBytes& f) { f.datatype = 1792; }, "its data type is complex128"},
    {"Complex256", [](NiftiBytes& f) { f.datatype = 2048; }, "its data type is complex256"},
    {"Float128", [](NiftiBytes& f) { f.datatype = 1536; }, "its data type is float128"},
    {"UnknownType", [](NiftiBytes& f) { f.datatype = 77; }, "data type code 77 is unknown"},
    {"NoSpacing", [](NiftiBytes& f) { f.pixdim[1] = 0; },
     "pixdim[1], a voxel's size, is 0; it must be above 0"},
    {"NegativeSpacing", [](NiftiBytes& f) { f.pixdim[1] = -2; }, "pixdim[1], a voxel's size, is -2"},
    {"NaNSpacing", [](NiftiBytes& f) { f.pixdim[1] = kNaN; }, "pixdim[1], a voxel's size, is nan"},
    {"InfiniteSpacing", [](NiftiBytes& f) { f.pixdim[1] = kInfinity; }, "pixdim[1], a voxel's size, is inf"},
    {"InfiniteSlope", [](NiftiBytes& f) { f.slope = kInfinity; },
     "scl_slope is inf and scl_inter 0; they must be finite"},
    {"NaNIntercept", [](NiftiBytes& f) { f.slope = 1, f.inter = kNaN; }, "scl_slope is 1 and scl_inter nan"},
    {"EmptySform", [](NiftiBytes& f) { f.sform = 1; },
     "its sform cannot be inverted, so voxels have no place: [0, 0, 0, 0]"},
    {"FlatSform",
     [](NiftiBytes& f) {
       f.sform = 1, f.srow = {{{1, 2, 0, 0}, {2, 4, 0, 0}, {0, 0, 1, 0}}};
     },
     "its sform cannot be inverted, so voxels have no place: [1, 2, 0, 0], [2, 4, 0, 0], [0, 0, 1, 0]"},
    {"NaNSform",
     [](NiftiBytes& f) {
       f.sform = 1, f.srow = {{{1, 0, 0, kNaN}, {0, 1, 0, 0}, {0, 0, 1, 0}}};
     },
     "its sform cannot be inverted"},
    {"NaNQform", [](NiftiBytes& f) { f.qform = 1, f.quatern[1] = kNaN; }, "its qform cannot be inverted"},
};
INSTANTIATE_TEST_SUITE_P(Fields, NiftiHeaderRefused, testing::ValuesIn(kRefused),
                         [](const auto& entry) { return entry.param.name; });

TEST_P(NiftiHeaderRefused, SaysWhichFieldAndWhy) {
  for (const bool big_endian : {false, true}) {
    NiftiBytes bytes;
    bytes.big_endian = big_endian;
    GetParam().spoil(bytes);
    EXPECT_THAT(nifti_refusal(bytes), AllOf(HasSubstr("x.nii: "), HasSubstr(GetParam().message)));
  }
}

TEST(NiftiRead, AHeaderCutOffAnywhereIsRefused) {
  for (const bool nifti2 : {false, true}) {
    NiftiBytes bytes;
    bytes.nifti2 = nifti2;
    const std::string whole = bytes.bytes();
    for (std::size_t size = 0; size < whole.size(); ++size)
      EXPECT_THAT(
          message_of([&] { parse_nifti(whole.substr(0, size), "x.nii"); }),
          HasSubstr(size < 4                     ? "not NIfTI"
                    : size < bytes.header_size() ? "cut off in the header: " + std::to_string(size) + " bytes"
                                                 : "cut off: its header asks for"))
          << size;
  }
}

TEST(NiftiRead, TheLimitCountsMemory) {
  const std::string bytes = NiftiBytes().bytes();
  EXPECT_EQ(parse_nifti(bytes, "x.nii", 8).data.size(), 2U);
  EXPECT_THAT(message_of([&] { parse_nifti(bytes, "x.nii", 7); }),
              HasSubstr("its 2 elements need 8 bytes of memory, the limit is 7"));
}

TEST(NiftiRead, AnyDamageIsRefusedOrLeavesASoundImage) {
  std::uint32_t state = 12345;
  const auto random = [&](std::size_t n) { return (state = state * 1664525U + 1013904223U) / 65536U % n; };
  int accepted = 0;
  for (int round = 0; round < 20000; ++round) {
    NiftiBytes file;
    file.nifti2 = round % 2 == 0;
    file.big_endian = round % 4 < 2;
    file.sform = round % 3;
    file.srow = {{{2, 0, 0, -9}, {0, 2, 0, 8}, {0, 0, 2, 7}}};
    file.qform = 1;
    std::string bytes = file.bytes();
    for (std::size_t k = 0; k <= random(4); ++k)
      bytes[random(bytes.size())] = static_cast<char>(random(3) == 0 ? random(256) : random(3) * 127);
    if (random(8) == 0) bytes.resize(random(bytes.size()));
    try {
      const Nifti image = parse_nifti(bytes, "x.nii", 1 << 16);
      ASSERT_EQ(static_cast<std::size_t>(image.elements()), image.data.size());
      ASSERT_TRUE(determinant(image.affine) != 0 && std::isfinite(determinant(image.affine)));
      for (const double size : image.spacing) ASSERT_TRUE(size > 0 && std::isfinite(size));
      ++accepted;
    } catch (const BadInput&) {
    }
  }
  EXPECT_GT(accepted, 1000);
  EXPECT_LT(accepted, 19000);
}

class NiftiFile : public Scratch {};

TEST_F(NiftiFile, IsReadAsItIsParsed) {
  NiftiBytes file;
  set_data<float>(file, 16, {1.5F, -2.5F});
  EXPECT_THAT(read_nifti(make("a.nii", file.bytes())).data, ElementsAre(1.5, -2.5));
}

TEST_F(NiftiFile, ManyPiecesLieInOrder) {
  for (const int datatype : {16, 4}) {
    NiftiBytes file;
    std::vector<std::int16_t> integers(700'000);
    for (std::size_t k = 0; k < integers.size(); ++k) integers[k] = static_cast<std::int16_t>(k * 7);
    if (datatype == 4)
      set_data(file, 4, integers);
    else
      set_data(file, 16, std::vector<float>(integers.begin(), integers.end()));
    file.dim = {2, 700, 1000, 1, 1, 1, 1, 1};
    EXPECT_EQ(read_nifti(make("a.nii", file.bytes())).data,
              std::vector<float>(integers.begin(), integers.end()));
  }
}

TEST_F(NiftiFile, GzipIsKnownByContentNotByName) {
  const std::string bytes = NiftiBytes().bytes();
  EXPECT_THAT(read_nifti(make("a.nii", gzip(bytes, 6))).data, ElementsAre(7, 9));
  EXPECT_THAT(read_nifti(make("b.nii.gz", bytes)).data, ElementsAre(7, 9));
}

TEST_F(NiftiFile, AnImageInTwoFilesIsReadByEitherName) {
  for (const bool nifti2 : {false, true}) {
    NiftiBytes file;
    file.nifti2 = nifti2, file.vox_offset = 0;
    file.magic = nifti2 ? std::string("ni2\0\r\n\x1a\n", 8) : std::string("ni1\0", 4);
    const std::string data = std::exchange(file.data, {});
    const std::string header = file.bytes();
    for (const bool packed : {false, true}) {
      const std::string end = packed ? ".gz" : "";
      const auto header_path = make("a.hdr" + end, packed ? gzip(header, 1) : header);
      const auto data_path = make("a.img" + end, packed ? gzip(data, 1) : data);
      EXPECT_THAT(read_nifti(header_path).data, ElementsAre(7, 9));
      EXPECT_THAT(read_nifti(data_path).data, ElementsAre(7, 9));
      std::filesystem::remove(data_path);
      EXPECT_THAT(message_of([&] { read_nifti(header_path); }),
                  AllOf(HasSubstr("one of an image's two files"), HasSubstr("a.img, is not there")));
      std::filesystem::remove(header_path);
    }
    make("a.hdr", header);
    make("a.img", data.substr(1));
    EXPECT_THAT(message_of([&] { read_nifti(directory / "a.hdr"); }),
                AllOf(HasSubstr("a.img: cut off"), HasSubstr("asks for 2 bytes of data from byte 0 on")));
  }
}

TEST_F(NiftiFile, ASingleFileUnderThePairsNameSaysSo) {
  make("a.hdr", NiftiBytes{}.bytes());
  make("a.img", "");
  EXPECT_THAT(message_of([&] { read_nifti(directory / "a.img"); }),
              HasSubstr("says that its data are in the same file; let its name end in .nii"));
}

TEST_F(NiftiFile, IsReadFromAPipe) {
  const std::filesystem::path path = directory / "pipe";
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  const std::string bytes = NiftiBytes().bytes();
  const RunScope one_thread({.threads = 1});
  const pid_t child = fork();
  if (child == 0) {
    std::ofstream(path, std::ios::binary) << bytes;
    _exit(0);
  }
  EXPECT_THAT(read_nifti(path).data, ElementsAre(7, 9));
  waitpid(child, nullptr, 0);
}

TEST_F(NiftiFile, ErrorsNameTheFile) {
  const std::string bytes = NiftiBytes().bytes();
  const auto message = [](const std::filesystem::path& path) {
    return message_of([&] { read_nifti(path); });
  };
  EXPECT_THAT(message(directory / "none.nii"), HasSubstr("none.nii: No such file"));
  EXPECT_THAT(message(directory), HasSubstr("Is a directory"));
  EXPECT_THAT(message(make("empty.nii", "")), HasSubstr("empty.nii: not NIfTI"));
  EXPECT_THAT(message(make("text.nii", "some text or other")), HasSubstr("text.nii: not NIfTI"));
  EXPECT_THAT(message(make("short.nii", bytes.substr(0, bytes.size() - 1))), HasSubstr("short.nii: cut off"));
  const std::string packed = gzip(bytes, 6);
  EXPECT_THAT(message(make("short.nii.gz", packed.substr(0, packed.size() - 9))),
              HasSubstr("short.nii.gz: the gzip stream is cut off"));
  EXPECT_THAT(message(make("inner.nii.gz", gzip(bytes.substr(0, bytes.size() - 1), 6))),
              HasSubstr("inner.nii.gz: cut off: its header asks for 2 bytes"));
}

// A stream of less than a megabyte that holds 400 of zeros behind a small image is not unpacked to see that.
TEST_F(NiftiFile, OfAStreamNoMoreIsUnpackedThanTheHeaderAsksFor) {
  const std::string bomb = gzip(NiftiBytes().bytes() + std::string(400'000'000, '\0'), 6);
  EXPECT_LT(bomb.size(), 1'000'000u);
  const auto peak = [] {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_maxrss;  // [kB]
  };
  const auto before = peak();
  EXPECT_THAT(message_of([&] { parse_nifti(bomb, "bomb.nii.gz"); }),
              HasSubstr("bomb.nii.gz: more than 1048930 bytes when decompressed"));
  NiftiBytes large;
  large.dim = {3, 30'000, 30'000, 1, 1, 1, 1, 1};
  EXPECT_THAT(message_of([&] { parse_nifti(gzip(large.bytes(), 6), "large.nii.gz"); }),
              HasSubstr("large.nii.gz: cut off: its header asks for 900000352 bytes"));
  EXPECT_THAT(
      message_of([&] { parse_nifti(gzip(large.bytes(), 6), "large.nii.gz", 1'000'000'000); }),
      HasSubstr("large.nii.gz: its 900000000 elements need 3.60 GB of memory and 900 MB to unpack them, "
                "the limit is 1.00 GB"));
  EXPECT_LT(peak() - before, 50'000);
}

TEST_F(NiftiFile, PaddingBehindTheDataPasses) {
  const std::string bytes = NiftiBytes().bytes() + std::string(5000, '\0');
  EXPECT_EQ(parse_nifti(gzip(bytes, 6), "padded.nii.gz").data, (std::vector<float>{7, 9}));
}

TEST_F(NiftiFile, WithoutPermissionSaysSo) {
  const std::filesystem::path path = make("secret.nii", NiftiBytes().bytes());
  std::filesystem::permissions(path, std::filesystem::perms::none);
  EXPECT_THAT(
      message_in_child([] { return geteuid() != 0 || setuid(65534) == 0; }, [&] { read_nifti(path); }),
      HasSubstr("secret.nii: Permission denied"));
}

}  // namespace
}  // namespace warploom::io
