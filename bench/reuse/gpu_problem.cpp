#include "gpu_problem.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>
#include <random>
#include <sstream>
#include <stdexcept>
#include <thread>

#include "../../tests/oracle/curvature.hpp"
#include "../../tests/oracle/registration_sweep.hpp"

namespace warploom::bench {
namespace {

Kernel::Extent parse_extent(const std::string& text) {
  Kernel::Extent e;
  char comma1 = 0, comma2 = 0;
  std::istringstream in(text);
  if (!(in >> e.x >> comma1 >> e.y >> comma2 >> e.z) || comma1 != ',' || comma2 != ',' || e.x < 1 ||
      e.y < 1 || e.z < 1)
    throw std::runtime_error("'" + text + "' is not X,Y,Z with three numbers >= 1");
  return e;
}

/// n floats, uniform in [lo, hi).
std::vector<float> uniform(std::size_t n, unsigned seed, float lo, float hi) {
  std::mt19937 engine(seed);
  std::uniform_real_distribution<float> draw(lo, hi);
  std::vector<float> values(n);
  for (float& v : values) v = draw(engine);
  return values;
}

/// f(i) for i in [0, n), on all cores.
template <class F>
void parallel_for(int n, F f) {
  std::atomic<int> next{0};
  std::vector<std::jthread> workers;
  for (unsigned w = 0; w < std::max(1u, std::thread::hardware_concurrency()); ++w)
    workers.emplace_back([&] {
      for (int i = next++; i < n; i = next++) f(i);
    });
}

std::size_t volume(Kernel::Extent e) { return static_cast<std::size_t>(e.x) * e.y * e.z; }

/// Curvature of a noise image, in three dimensions or (size.z = 1, a shorter argument list) in two.
class CurvatureProblem : public Problem {
 public:
  CurvatureProblem(Kernel::Extent size, bool flat)
      : Problem(size), host_(uniform(volume(size), 1, 0.0f, 1.0f)), image_(host_) {
    outputs_.emplace_back(volume(size));
    in_ = image_.address(), out_ = outputs_[0].address();
    if (flat)
      arguments_ = {&in_, &out_, &size_.x, &size_.y, &spacing_[0], &spacing_[1]};
    else
      arguments_ = {&in_, &out_, &size_.x, &size_.y, &size_.z, &spacing_[0], &spacing_[1], &spacing_[2]};
  }

 private:
  Reference compute_reference() const override {
    const oracle::Curvature curvature(
        {host_, size_.x, size_.y, size_.z, spacing_[0], spacing_[1], spacing_[2]});
    Reference result{std::vector<double>(host_.size()), std::vector<double>(host_.size())};
    parallel_for(size_.z * size_.y, [&](int row) {
      for (int x = 0; x < size_.x; ++x) {
        const auto at = static_cast<std::size_t>(row) * size_.x + x;
        const auto estimate = curvature(x, row % size_.y, row / size_.y);
        result.value[at] = estimate.value, result.bound[at] = estimate.bound;
      }
    });
    return result;
  }

  std::vector<float> host_;
  Floats image_;
  CUdeviceptr in_, out_;
  float spacing_[3] = {1.0f, 1.25f, 1.5f};  // all different, so that a swapped axis shows
};

/// Two sweeps between two noise images, from a noise displacement of at most a pixel.
class RegistrationProblem : public Problem {
 public:
  explicit RegistrationProblem(Kernel::Extent size) : Problem(size) {
    const float lo[] = {0.0f, 0.0f, -1.0f, -1.0f};
    for (unsigned i = 0; i < 4; ++i) {
      host_[i] = uniform(volume(size), 2 + i, lo[i], 1.0f);
      inputs_.emplace_back(host_[i]);
      in_[i] = inputs_[i].address();
      arguments_.push_back(&in_[i]);
    }
    for (int i = 0; i < 2; ++i) {
      outputs_.emplace_back(volume(size));
      out_[i] = outputs_[i].address();
      arguments_.push_back(&out_[i]);
    }
    arguments_.insert(arguments_.end(), {&size_.x, &size_.y, &tau_, &alpha_});
  }

 private:
  Reference compute_reference() const override {
    const oracle::RegistrationSweeps sweeps{host_[0], host_[1], size_.x, size_.y, tau_, alpha_};
    Reference result;
    for (int axis = 0; axis < 2; ++axis) {
      const auto after = sweeps(host_[2 + axis], axis);
      result.value.insert(result.value.end(), after.begin(), after.end());
    }
    result.bound.assign(result.value.size(), sweeps.bound(1.0));
    return result;
  }

  std::vector<float> host_[4];  // reference, moving, displacement along x and y
  std::vector<Floats> inputs_;
  CUdeviceptr in_[4], out_[2];
  float tau_ = 0.5f, alpha_ = 0.2f;
};

}  // namespace

std::string default_manifest() {
  return (std::filesystem::read_symlink("/proc/self/exe").parent_path() / "gpu-reuse" / "manifest").string();
}

std::vector<ManifestKernel> read_manifest(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw std::runtime_error(path + ": cannot be read");
  const auto folder = std::filesystem::path(path).parent_path();
  std::vector<ManifestKernel> kernels;
  int number = 0;
  for (std::string line; std::getline(file, line);) {
    ++number;
    if (line.empty() || line[0] == '#') continue;
    ManifestKernel kernel;
    std::istringstream words(line);
    try {
      for (std::string word; words >> word;) {
        const auto equals = word.find('=');
        if (equals == std::string::npos) throw std::runtime_error("'" + word + "' is not key=value");
        const std::string key = word.substr(0, equals), value = word.substr(equals + 1);
        if (key == "kernel")
          kernel.name = value;
        else if (key == "family")
          kernel.family = value;
        else if (key == "tile")
          kernel.tile = parse_extent(value);
        else if (key == "block")
          kernel.block = parse_extent(value);
        else
          kernel.modules[key] = (folder / value).string();
      }
      if (kernel.name.empty() || kernel.family.empty() || !kernel.modules.contains("original"))
        throw std::runtime_error("kernel, family and original must be given");
    } catch (const std::runtime_error& e) {
      throw std::runtime_error(path + ":" + std::to_string(number) + ": " + e.what());
    }
    kernels.push_back(std::move(kernel));
  }
  return kernels;
}

std::unique_ptr<Problem> Problem::make(const std::string& family, Kernel::Extent size) {
  if (family == "curvature3d") return std::make_unique<CurvatureProblem>(size, false);
  size.z = 1;
  if (family == "curvature2d") return std::make_unique<CurvatureProblem>(size, true);
  if (family == "registration") return std::make_unique<RegistrationProblem>(size);
  throw std::runtime_error("family '" + family + "' is none of curvature3d, curvature2d, registration");
}

void Problem::launch(const Kernel& kernel, const ManifestKernel& shape) const {
  const auto tiles = [](int size, int tile) { return (size + tile - 1) / tile; };
  const Kernel::Extent grid{tiles(size_.x, shape.tile.x), tiles(size_.y, shape.tile.y),
                            tiles(size_.z, shape.tile.z)};
  kernel.launch(grid, shape.block, const_cast<void**>(arguments_.data()));
}

std::vector<float> Problem::run(const Kernel& kernel, const ManifestKernel& shape) {
  for (Floats& output : outputs_) output.poison();
  launch(kernel, shape);
  check(cuCtxSynchronize(), shape.name);
  std::vector<float> results;
  for (const Floats& output : outputs_) {
    const auto part = output.read();
    results.insert(results.end(), part.begin(), part.end());
  }
  return results;
}

double Problem::worst_error(const std::vector<float>& results) {
  if (reference_.value.empty()) reference_ = compute_reference();
  if (results.size() != reference_.value.size())
    throw std::logic_error("results and reference differ in length");
  double worst = 0;
  for (std::size_t i = 0; i < results.size(); ++i) {
    // Exactly the reference is right even where the bound is 0 (a flat neighbourhood).
    const double off = std::abs(results[i] - reference_.value[i]);
    const double units = off == 0 ? 0 : off / reference_.bound[i];
    if (!(units <= worst)) worst = std::isnan(units) ? std::numeric_limits<double>::infinity() : units;
  }
  return worst;
}

}  // namespace warploom::bench
