#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <complex>
#include <tuple>
#include <vector>

#include "nifti_bytes.hpp"
#include "scratch.hpp"
#include "warploom/io/gzip.hpp"
#include "warploom/io/nifti.hpp"

namespace warploom::io {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using Complex = std::complex<float>;

constexpr std::uint64_t kMuch = 1 << 20;

/// Two complex numbers, 1 - 2i and 0.5 + 3i, as parts of a type.
template <typename Part>
NiftiBytes complex_file(int datatype) {
  NiftiBytes file;
  file.datatype = datatype;
  file.bitpix = 16 * sizeof(Part);
  file.dim = {1, 2, 1, 1, 1, 1, 1, 1};
  file.data.clear();
  return file;
}

template <typename Part>
std::string bytes_of(NiftiBytes file) {
  for (const double part : {1.0, -2.0, 0.5, 3.0})
    file.data += number_bytes(static_cast<Part>(part), file.big_endian);
  return file.bytes();
}

TEST(NiftiComplex, BothTypesAreReadInEveryForm) {
  for (const bool nifti2 : {false, true})
    for (const bool big_endian : {false, true})
      for (const bool packed : {false, true}) {
        NiftiBytes single = complex_file<float>(32), twice = complex_file<double>(1792);
        single.nifti2 = twice.nifti2 = nifti2, single.big_endian = twice.big_endian = big_endian;
        for (const auto& [bytes, type] : {std::pair{bytes_of<float>(single), NiftiType::complex64},
                                          std::pair{bytes_of<double>(twice), NiftiType::complex128}}) {
          const Nifti image =
              parse_nifti(packed ? gzip(bytes, 1) : bytes, "x.nii", kMuch, NiftiNumbers::real_or_complex);
          EXPECT_EQ(image.type, type);
          EXPECT_TRUE(image.data.empty());
          EXPECT_THAT(image.complex_data, ElementsAre(Complex(1, -2), Complex(0.5F, 3)));
        }
      }
}

TEST(NiftiComplex, SlopeAndInterceptAreOfBothParts) {
  NiftiBytes file = complex_file<float>(32);
  file.slope = 2, file.inter = 1;
  const Nifti image = parse_nifti(bytes_of<float>(file), "x.nii", kMuch, NiftiNumbers::real_or_complex);
  EXPECT_THAT(image.complex_data, ElementsAre(Complex(3, -3), Complex(2, 7)));
}

TEST(NiftiComplex, RealFilesAreReadAsEver) {
  const Nifti image = parse_nifti(NiftiBytes{}.bytes(), "x.nii", kMuch, NiftiNumbers::real_or_complex);
  EXPECT_THAT(image.data, ElementsAre(7, 9));
  EXPECT_TRUE(image.complex_data.empty());
}

TEST(NiftiComplex, DamageIsRefused) {
  const auto refusal = [](const std::string& bytes, std::uint64_t most = kMuch) {
    return message_of([&] { parse_nifti(bytes, "x.nii", most, NiftiNumbers::real_or_complex); });
  };
  NiftiBytes file = complex_file<float>(32);
  const std::string whole = bytes_of<float>(file);
  EXPECT_THAT(message_of([&] { parse_nifti(whole, "x.nii"); }),
              HasSubstr("complex64 (code 32): complex numbers, where real ones are needed"));
  EXPECT_THAT(refusal(whole.substr(0, whole.size() - 1)), HasSubstr("cut off: its header asks for 16 bytes"));
  EXPECT_THAT(refusal(whole, 15), HasSubstr("its 2 elements need 16 bytes of memory, the limit is 15"));
  EXPECT_THAT(refusal(gzip(whole, 1), 380), HasSubstr("the limit is 380"));
  file.bitpix = 32;
  EXPECT_THAT(refusal(bytes_of<float>(file)), HasSubstr("bitpix is 32, but its data type complex64 has 64"));
}

class NiftiComplexFile : public Scratch {};

TEST_F(NiftiComplexFile, ComesBack) {
  Nifti image;
  image.shape = {2, 1, 1, 2};
  image.complex_data = {{1, 2}, {-3, 0.25F}, {0, -1e30F}, {5, 6}};
  for (const NiftiType type : {NiftiType::complex64, NiftiType::complex128})
    for (const char* name : {"a.nii", "a.nii.gz"}) {
      image.type = type;
      write_nifti(directory / name, image);
      const Nifti back = read_nifti(directory / name, kMuch, NiftiNumbers::real_or_complex);
      EXPECT_EQ(back.type, type);
      EXPECT_EQ(back.shape, image.shape);
      EXPECT_EQ(back.complex_data, image.complex_data);
    }
}

TEST_F(NiftiComplexFile, DataOfTheOtherKindIsRefused) {
  Nifti image;
  image.shape = {2};
  image.data = {1, 2};
  image.type = NiftiType::complex64;
  EXPECT_THAT(message_of([&] { write_nifti(directory / "a.nii", image); }), HasSubstr("complex ones"));
  image.type = NiftiType::float32;
  image.complex_data = {{1, 2}, {3, 4}};
  EXPECT_THAT(message_of([&] { write_nifti(directory / "a.nii", image); }), HasSubstr("complex ones"));
}

}  // namespace
}  // namespace warploom::io
