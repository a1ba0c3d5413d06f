#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <fstream>
#include <string>
#include <vector>

#include "cli/run_tool.hpp"
#include "io/scratch.hpp"
#include "oracle/phantom.hpp"
#include "warploom/io/nifti.hpp"

/// Small images whose truth is known, as files.
namespace warploom {

using Matrix3 = std::array<std::array<double, 3>, 3>;
using Element6 = std::array<float, 6>;

/// Where xx xy xz yy yz zz stand in a file, written out from the formats' documentation.
inline constexpr std::array<int, 6> kFslOrder{0, 1, 2, 3, 4, 5};     // xx xy xz yy yz zz
inline constexpr std::array<int, 6> kMrtrixOrder{0, 3, 4, 1, 5, 2};  // xx yy zz xy xz yz
inline constexpr std::array<int, 6> kNiftiOrder{0, 1, 3, 2, 4, 5};   // xx xy yy xz yz zz

inline const io::Affine kLeftHanded{{{-2, 0, 0, 90}, {0, 2, 0, -110}, {0, 0, 2, -60}}};  // as FSL likes it
inline const io::Affine kRightHanded{{{2, 0, 0, -90}, {0, 2, 0, -110}, {0, 0, 2, -60}}};

/// R D R^T, done element by element.
inline Element6 turned(const Element6& d, const Matrix3& r) {
  const double full[3][3] = {{d[0], d[1], d[2]}, {d[1], d[3], d[4]}, {d[2], d[4], d[5]}};
  double out[3][3] = {};
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 3; ++j)
      for (int k = 0; k < 3; ++k)
        for (int l = 0; l < 3; ++l)
          out[i][j] += r[std::size_t(i)][std::size_t(k)] * full[k][l] * r[std::size_t(j)][std::size_t(l)];
  return {float(out[0][0]), float(out[0][1]), float(out[0][2]),
          float(out[1][1]), float(out[1][2]), float(out[2][2])};
}
inline constexpr Matrix3 kUnturned{{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}};
inline constexpr Matrix3 kMirroredX{{{-1, 0, 0}, {0, 1, 0}, {0, 0, 1}}};

/// A tensor image [um^2/ms, along the image axes] as a file: turned, in an order, times `unit`.
inline io::Nifti tensor_file(const imaging::TensorImage& image, const std::array<int, 6>& order,
                             const Matrix3& turn, const io::Affine& affine, double unit = 1e-3) {
  const auto voxels = static_cast<std::size_t>(image.grid.voxels());
  io::Nifti file;
  file.shape = {image.grid.nx, image.grid.ny, image.grid.nz, 6};
  if (order == kNiftiOrder) {
    file.shape = {image.grid.nx, image.grid.ny, image.grid.nz, 1, 6};
    file.intent = 1005;
  }
  file.spacing = {2, 2, 2};
  file.affine = affine;
  file.data.resize(6 * voxels);
  for (std::size_t v = 0; v < voxels; ++v) {
    Element6 d;
    for (std::size_t c = 0; c < 6; ++c) d[c] = image.data[c * voxels + v];
    d = turned(d, turn);
    for (std::size_t c = 0; c < 6; ++c)
      file.data[static_cast<std::size_t>(order[c]) * voxels + v] = static_cast<float>(d[c] * unit);
  }
  return file;
}

/// And back from one.
inline imaging::TensorImage tensors_of(const io::Nifti& file, const std::array<int, 6>& order,
                                       const Matrix3& turn, double unit = 1e-3) {
  imaging::TensorImage image({file.shape[0], file.shape[1], file.shape[2], file.spacing}, 6);
  const auto voxels = static_cast<std::size_t>(image.grid.voxels());
  for (std::size_t v = 0; v < voxels; ++v) {
    Element6 d;
    for (std::size_t c = 0; c < 6; ++c)
      d[c] = static_cast<float>(file.data[static_cast<std::size_t>(order[c]) * voxels + v] / unit);
    d = turned(d, turn);
    for (std::size_t c = 0; c < 6; ++c) image.data[c * voxels + v] = d[c];
  }
  return image;
}

/// The noisy phantom, n voxels a side.
inline imaging::TensorImage noisy_phantom(std::int64_t n, double sigma = 0.15) {
  imaging::TensorImage image = imaging::tensor_phantom(n);
  imaging::add_noise(image, sigma, 7);
  return image;
}

class DenoiseTest : public Scratch {
 protected:
  std::string path(const std::string& name) const { return (directory / name).string(); }

  /// Writes an image and gives its name back.
  std::string put(const std::string& name, const io::Nifti& image) const {
    io::write_nifti(directory / name, image);
    return path(name);
  }
  std::string put_phantom(const std::string& name, std::int64_t n = 10) const {
    return put(name, tensor_file(noisy_phantom(n), kFslOrder, kUnturned, kLeftHanded));
  }
  io::Nifti get(const std::string& name) const { return io::read_nifti(directory / name); }

  /// `warploom denoise ARGUMENTS`, in which @ is the test's directory; expected to succeed.
  ToolRun denoise(const std::string& arguments) const {
    const ToolRun run = run_denoise(arguments);
    EXPECT_EQ(run.code, 0) << arguments << "\n" << run.err;
    return run;
  }
  /// The same, expected or not; `before` is for the shell.
  ToolRun run_denoise(std::string arguments, const std::string& before = "") const {
    for (std::size_t at = 0; (at = arguments.find('@', at)) != arguments.npos;)
      arguments.replace(at, 1, directory.string());
    return run_shell(before + "\"$WARPLOOM\" denoise " + arguments);
  }

  /// A series with the same signal everywhere, 1000 exp(-b g^T D g), of 2 x b = 0 and 12 directions at b =
  /// 1000, and its tables: series.bval and series.bvec, along the axes of `tensor`, and MRtrix's series.b,
  /// with x reversed: for a left-handed image.
  std::string put_series(const std::string& name, const Element6& tensor, const io::Affine& affine,
                         std::int64_t n = 4) const {
    std::string bval = "0 0", bvec[3] = {"0 0", "0 0", "0 0"}, table = "0 0 0 0\n0 0 0 0\n";
    io::Nifti file;
    file.shape = {n, n, n, 14};
    file.spacing = {2, 2, 2};
    file.affine = affine;
    const auto voxels = static_cast<std::size_t>(n * n * n);
    file.data.assign(2 * voxels, 1000);
    for (int k = 0; k < 12; ++k) {
      // A spiral over the half sphere.
      const double z = (k + 0.5) / 12, angle = 2.399963 * k, r = std::sqrt(1 - z * z);
      const double g[3] = {r * std::cos(angle), r * std::sin(angle), z};
      const double adc = tensor[0] * g[0] * g[0] + tensor[3] * g[1] * g[1] + tensor[5] * g[2] * g[2] +
                         2 * (tensor[1] * g[0] * g[1] + tensor[2] * g[0] * g[2] + tensor[4] * g[1] * g[2]);
      file.data.insert(file.data.end(), voxels, static_cast<float>(1000 * std::exp(-adc)));
      bval += " 1000";
      table += fmt::format("{:.9f} {:.9f} {:.9f} 1000\n", -g[0], g[1], g[2]);
      for (int d = 0; d < 3; ++d) bvec[d] += fmt::format(" {:.9f}", g[d]);
    }
    make("series.b", table);
    make("series.bval", bval + "\n");
    make("series.bvec", bvec[0] + "\n" + bvec[1] + "\n" + bvec[2] + "\n");
    return put(name, file);
  }
};

}  // namespace warploom
