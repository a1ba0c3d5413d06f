#include "sim/christiansen_oracle.hpp"

#include <fmt/format.h>

#include <cmath>
#include <cstring>

#include "oracle/christiansen.hpp"

namespace warploom::sim {
namespace {

using oracle::Christiansen;
using oracle::MatrixImage;

std::vector<float> floats(const std::vector<std::byte>& bytes) {
  std::vector<float> out(bytes.size() / sizeof(float));
  std::memcpy(out.data(), bytes.data(), bytes.size());
  return out;
}

class Launch {
 public:
  Launch(const KernelCase& kernel, const Buffers& after)
      : name_(kernel.launch.kernel), arguments_(kernel.launch.arguments), after_(after) {}

  std::string check() const {
    if (name_ == "llt") return llt();
    if (name_.starts_with("tv_norm_")) return tv_norm();
    if (name_ == "reduction") return reduction();
    if (name_.starts_with("p_")) return p();
    if (name_ == "solver") return solver();
    if (has("only_p")) return only_p();
    if (name_.starts_with("thread_sync_") || name_.starts_with("un_sync")) return step();
    throw BadInput(fmt::format("the oracle of bench/imaging/sync knows no kernel '{}'", name_));
  }

 private:
  bool has(std::string_view word) const { return name_.find(word) != name_.npos; }
  int side() const { return has("16x16") ? 16 : 8; }
  std::vector<float> before(std::size_t argument) const { return floats(arguments_[argument].bytes()); }
  int integer(std::size_t argument) const {
    int value;
    std::memcpy(&value, arguments_[argument].bytes().data(), sizeof value);
    return value;
  }
  float real(std::size_t argument) const { return before(argument).at(0); }

  /// Six channels of a list of voxels.
  MatrixImage list(std::size_t argument) const {
    const std::vector<float> values = before(argument);
    return {static_cast<int>(values.size() / 6), 1, 1, {values.begin(), values.end()}};
  }
  /// One channel, as each of six, of an image whose extents begin at argument `extents`.
  MatrixImage six_times(std::size_t argument, std::size_t extents) const {
    const std::vector<float> values = before(argument);
    MatrixImage image{integer(extents), integer(extents + 1), integer(extents + 2), {}};
    for (int c = 0; c < 6; ++c) image.data.insert(image.data.end(), values.begin(), values.end());
    return image;
  }
  Christiansen::Options spaced(std::size_t first) const {
    Christiansen::Options options;
    options.dx = real(first), options.dy = real(first + 1), options.dz = real(first + 2);
    options.centred = has("centred");
    return options;
  }
  static Christiansen::Region whole(const MatrixImage& image) {
    return {{0, 0, 0}, {image.nx, image.ny, image.nz}};
  }

  /// Element by element, within `tolerance` of the wanted value and 2e-6 of its magnitude.
  std::string compare(std::size_t argument, const std::vector<double>& want, double tolerance = 0) const {
    const std::vector<float> got = floats(after_[argument]);
    if (got.size() != want.size()) return fmt::format("{} elements, not {}", got.size(), want.size());
    for (std::size_t i = 0; i < want.size(); ++i)
      if (!(std::abs(got[i] - want[i]) <= tolerance + 2e-6 * std::abs(want[i])))
        return fmt::format("argument {}, element {}: {}, not {}", argument, i, got[i], want[i]);
    return "";
  }

  std::string llt() const { return compare(1, Christiansen::tensors(list(0)).data, 2e-6); }

  std::string tv_norm() const {
    const MatrixImage image = six_times(0, 2);
    const Christiansen reference(image, spaced(5));
    std::vector<double> want;
    for (int z = 0; z < image.nz; ++z)
      for (int y = 0; y < image.ny; y += side())
        for (int x = 0; x < image.nx; x += side())
          want.push_back(reference.tv_norms(
              image,
              {{x, y, z}, {std::min(x + side(), image.nx), std::min(y + side(), image.ny), z + 1}})[0]);
    return compare(1, want);
  }

  std::string reduction() const {
    const std::vector<float> partial = before(0);
    std::array<double, 6> sums{};
    for (std::size_t i = 0; i < partial.size(); ++i) sums[i / (partial.size() / 6)] += partial[i];
    const auto weights = Christiansen::weights(sums);
    return compare(1, {weights.begin(), weights.end()});
  }

  std::string p() const {
    const MatrixImage image = six_times(0, 3);
    const Christiansen reference(image, spaced(6));
    std::vector<double> want;
    for (int z = 0; z < image.nz; ++z)
      for (int y = 0; y < image.ny; ++y)
        for (int x = 0; x < image.nx; ++x)
          want.push_back(real(1) * reference.curvature(image, 0, whole(image), x, y, z));
    return compare(2, want, 2e-5);
  }

  std::string solver() const {
    const MatrixImage factor = list(0), tensor = list(1), noisy = list(2), p = list(3);
    const int element = integer(6),
              i = element < 3   ? element
                  : element < 5 ? element - 2
                                : 2,
              j = element < 3   ? 0
                  : element < 5 ? 1
                                : 2;
    std::vector<double> want(factor.data.size());
    for (int v = 0; v < factor.nx; ++v) {
      const double slope = Christiansen::gradient(real(7), lower(factor, v, 0, 0), symmetric(tensor, v, 0, 0),
                                                  symmetric(noisy, v, 0, 0), symmetric(p, v, 0, 0), i, j);
      want[std::size_t(element) * factor.nx + v] = factor.at(element, v, 0, 0) - real(8) * slope;
    }
    return compare(4, want, 2e-6);
  }

  // The secondary designs' P, each region an image by itself.
  std::string only_p() const {
    MatrixImage factor = list(0);
    factor.nx = integer(3), factor.ny = integer(4), factor.nz = integer(5);
    Christiansen::Options options = spaced(6);
    options.isolated = true;
    const Christiansen reference(factor, options);
    const MatrixImage tensors = Christiansen::tensors(factor);
    const int size = has("un_sync") ? 2 : side(), layers = has("un_sync") ? 2 : 1;
    MatrixImage want = tensors;
    for (int z = 0; z < factor.nz; ++z)
      for (int y = 0; y < factor.ny; ++y)
        for (int x = 0; x < factor.nx; ++x) {
          const int x0 = x / size * size, y0 = y / size * size, z0 = z / layers * layers;
          const Christiansen::Region region{{x0, y0, z0},
                                            {std::min(x0 + size, factor.nx), std::min(y0 + size, factor.ny),
                                             std::min(z0 + layers, factor.nz)}};
          const auto weights = Christiansen::weights(reference.tv_norms(tensors, region));
          for (int c = 0; c < 6; ++c)
            want.at(c, x, y, z) =
                weights[static_cast<std::size_t>(c)] * reference.curvature(tensors, c, region, x, y, z);
        }
    return compare(2, want.data, 2e-5);
  }

  std::string step() const {
    MatrixImage factor = list(0), noisy = list(1);
    factor.nx = noisy.nx = integer(3), factor.ny = noisy.ny = integer(4), factor.nz = noisy.nz = integer(5);
    Christiansen::Options options = spaced(6);
    options.lambda = real(9), options.step = real(10);
    options.region = has("un_sync") ? std::array{2, 2, 2} : std::array{side(), side(), 1};
    options.isolated = !has("halo");
    return compare(2, Christiansen(noisy, options).step(factor).data, 2e-5 * options.step + 2e-6);
  }

  const std::string& name_;
  const std::vector<ArgumentText>& arguments_;
  const Buffers& after_;
};

}  // namespace

std::string check_christiansen(const KernelCase& kernel, const Buffers& after) {
  return Launch(kernel, after).check();
}

}  // namespace warploom::sim
