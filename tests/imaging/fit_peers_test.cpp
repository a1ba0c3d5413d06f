// Tensors fitted to measured diffusion series, beside those of dipy and MRtrix. The series are not part of
// the repository: $WARPLOOM_DATA, else ../shared/data beside it.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>

#include "oracle/measured.hpp"
#include "warploom/core/file.hpp"
#include "warploom/imaging/fit.hpp"
#include "warploom/imaging/maps.hpp"
#include "warploom/io/gradients.hpp"
#include "warploom/io/nifti.hpp"

namespace warploom::imaging {
namespace {

constexpr double kAgreement = 1e-4;  // relative, in the Frobenius norm, on well-conditioned voxels

std::filesystem::path data_folder() {
  return measured_data(std::filesystem::path(WARPLOOM_TESTS_DIR) / ".." / ".." / "shared" / "data");
}

struct SeriesFiles {
  std::string name, image, table;
};
const SeriesFiles kSmall64{"small_64D", "small_64D.nii", "small_64D"};
const SeriesFiles kPhilips{"philips", "philips_dti12_112x112x32x17.nii.gz", "philips_dti12"};
const SeriesFiles kSmall101{"small_101D", "small_101D.nii.gz", "small_101D"};
const SeriesFiles kSmall25{"small_25", "small_25.nii.gz", "small_25"};

struct Series {
  Image image;
  io::Gradients gradients;
  io::Affine affine;
};
Series read_series(const SeriesFiles& files) {
  const auto nifti = io::read_nifti(data_folder() / files.image);
  const Grid grid{nifti.shape[0], nifti.shape[1], nifti.shape[2], nifti.spacing};
  Series series{Image(grid, static_cast<int>(nifti.shape[3])), {}, nifti.affine};
  series.image.data = nifti.data;
  series.gradients = io::read_fsl_gradients(data_folder() / (files.table + ".bval"),
                                            data_folder() / (files.table + ".bvec"), nifti.shape[3]);
  return series;
}

TensorImage fitted(const Series& series, FitMethod method) {
  return fit_tensors(series.image, series.gradients.b, series.gradients.directions, {}, {method}).tensor;
}

bool has_data(const SeriesFiles& files) { return std::filesystem::exists(data_folder() / files.image); }

// Of two tensors, relative to the second.
double difference(const TensorImage& a, std::size_t at, const std::array<double, 6>& b) {
  double sum = 0, norm = 0;
  for (int c = 0; c < kTensorChannels; ++c) {
    const auto k = static_cast<std::size_t>(c);
    const double d = static_cast<double>(a.channel(c)[at]) - b[k];
    sum += kTensorWeights[k] * d * d;
    norm += kTensorWeights[k] * b[k] * b[k];
  }
  return std::sqrt(sum / norm);
}

std::string text(double value) {
  std::ostringstream stream;
  stream << value;
  return stream.str();
}

// What tests/oracle/tensor_fit.py recorded of one series.
struct RecordedFit {
  std::size_t voxel;
  std::array<double, 6> tensor;
};
std::map<std::string, std::vector<RecordedFit>> recorded(const std::string& series, const Grid& grid) {
  std::ifstream file(std::string(WARPLOOM_TESTS_DIR) + "/imaging/recorded_fits.csv");
  std::map<std::string, std::vector<RecordedFit>> fits;
  for (std::string line; std::getline(file, line);) {
    if (line.rfind(series + ",", 0) != 0) continue;
    for (char& character : line)
      if (character == ',') character = ' ';
    std::istringstream fields(line);
    std::string name, fit;
    std::int64_t i = 0, j = 0, k = 0;
    RecordedFit entry{};
    fields >> name >> i >> j >> k >> fit;
    for (double& element : entry.tensor) fields >> element;
    entry.voxel = static_cast<std::size_t>((k * grid.ny + j) * grid.nx + i);
    fits[fit].push_back(entry);
  }
  return fits;
}

// Affines of both signs: FSL turns one axis of the directions where the determinant is positive.
class RecordedFits : public testing::TestWithParam<SeriesFiles> {};

TEST_P(RecordedFits, AgreeLikeWithLike) {
  if (!has_data(GetParam())) GTEST_SKIP() << "no " << data_folder() / GetParam().image;
  const Series series = read_series(GetParam());
  const auto fits = recorded(GetParam().name, series.image.grid);
  struct Pair {
    const char* peer;
    FitMethod method;
  };
  for (const auto& [peer, method] :
       {Pair{"mrtrix-ols", FitMethod::ols}, Pair{"mrtrix-iterated", FitMethod::iterated},
        Pair{"dipy-ols", FitMethod::ols}, Pair{"dipy-wls", FitMethod::wls}}) {
    TensorImage tensor = fitted(series, method);
    if (std::string_view(peer).starts_with("mrtrix"))
      rotate_tensors(tensor, io::frame_change(io::Frame::fsl, io::Frame::scanner, series.affine));
    ASSERT_GT(fits.at(peer).size(), 150);
    double largest = 0;
    for (const auto& [voxel, expected] : fits.at(peer))
      largest = std::max(largest, difference(tensor, voxel, expected));
    EXPECT_LT(largest, kAgreement) << peer;
    RecordProperty(peer, text(largest));
  }
}

INSTANTIATE_TEST_SUITE_P(Series, RecordedFits, testing::Values(kSmall64, kSmall25, kPhilips),
                         [](const auto& files) { return files.param.name; });

std::string python() { return "/usr/bin/python3"; }  // Debian's, which has python3-dipy
bool has_dipy() {
  return std::system((python() + " -c 'import dipy.reconst.dti, nibabel' >/dev/null 2>&1").c_str()) == 0;
}

// What dipy makes of all voxels, by running it: OLS and WLS.
std::map<std::string, TensorImage> dipy_tensors(const SeriesFiles& files, const Grid& grid) {
  std::string pattern = (std::filesystem::temp_directory_path() / "warploom_dipy_XXXXXX").string();
  const std::filesystem::path folder = mkdtemp(pattern.data());
  const std::string base = (data_folder() / files.table).string();
  const std::string command = python() + " " + WARPLOOM_TESTS_DIR + "/oracle/tensor_fit.py dipy " +
                              (data_folder() / files.image).string() + " " + base + ".bval " + base +
                              ".bvec " + (folder / "tensors").string();
  EXPECT_EQ(std::system(command.c_str()), 0) << command;
  std::map<std::string, TensorImage> tensors;
  for (const std::string method : {"OLS", "WLS"}) {
    auto& tensor = tensors[method] = TensorImage(grid, kTensorChannels);
    const std::string bytes = read_file(folder / ("tensors." + method));
    EXPECT_EQ(bytes.size(), 4 * tensor.data.size());
    std::memcpy(tensor.data.data(), bytes.data(), std::min(bytes.size(), 4 * tensor.data.size()));
  }
  std::filesystem::remove_all(folder);
  return tensors;
}

class BesideDipy : public testing::TestWithParam<SeriesFiles> {};

TEST_P(BesideDipy, TensorsAgree) {
  if (!has_data(GetParam())) GTEST_SKIP() << "no " << data_folder() / GetParam().image;
  if (!has_dipy()) GTEST_SKIP() << python() << " has no dipy with nibabel";
  const Series series = read_series(GetParam());
  const auto peers = dipy_tensors(GetParam(), series.image.grid);
  for (const auto& [peer, method] : {std::pair{"OLS", FitMethod::ols}, std::pair{"WLS", FitMethod::wls}}) {
    const TensorImage& expected = peers.at(peer);
    const TensorImage tensor = fitted(series, method);
    double largest = 0;
    std::int64_t compared = 0;
    for (std::size_t voxel = 0; voxel < expected.channel(0).size(); ++voxel) {
      bool signal = true;
      for (int k = 0; k < series.image.channels; ++k) signal = signal && series.image.channel(k)[voxel] > 0;
      std::array<double, 6> elements;
      for (int c = 0; c < kTensorChannels; ++c)
        elements[static_cast<std::size_t>(c)] = expected.channel(c)[voxel];
      if (!signal || eigen(elements).values[2] < 0.05) continue;
      ++compared;
      largest = std::max(largest, difference(tensor, voxel, elements));
    }
    EXPECT_GT(compared, series.image.grid.voxels() / 10);
    EXPECT_LT(largest, kAgreement) << peer;
    RecordProperty(peer, text(largest) + " in " + std::to_string(compared) + " voxels");
  }
}

INSTANTIATE_TEST_SUITE_P(Series, BesideDipy, testing::Values(kSmall64, kPhilips, kSmall101, kSmall25),
                         [](const auto& files) { return files.param.name; });

}  // namespace
}  // namespace warploom::imaging
