#include "imaging/sync/cpu_reference.hpp"

#include <algorithm>
#include <cmath>

namespace warploom::bench::sync {
namespace {

constexpr float kTiny = 1e-8F;  // Figure 47's TINY
constexpr int kBelow = 2, kPadding = 3;

}  // namespace

CpuReference::CpuReference(const Problem& problem, Stencil stencil)
    : problem_(problem),
      stencil_(stencil),
      stride_{1, problem.nx + kPadding, std::ptrdiff_t{problem.nx + kPadding} * (problem.ny + kPadding)},
      tensor_(problem.factor.size()),
      p_(problem.factor.size()) {
  const std::size_t padded = static_cast<std::size_t>(stride_[2]) * (problem.nz + kPadding);
  for (auto* array : {&u_, &mean_a_, &mean_b_}) array->resize(padded);
  for (auto* arrays : {&gradient_, &norm_})
    for (auto& array : *arrays) array.resize(padded);
}

std::size_t CpuReference::index(int x, int y, int z) const {
  return static_cast<std::size_t>((z + kBelow) * stride_[2] + (y + kBelow) * stride_[1] + x + kBelow);
}

template <class Use>
void CpuReference::each(const Box& box, Use use) const {
  for (int z = box.begin[2]; z < box.end[2]; ++z)
    for (int y = box.begin[1]; y < box.end[1]; ++y) {
      const std::size_t first = index(box.begin[0], y, z);
      const std::size_t count = static_cast<std::size_t>(box.end[0] - box.begin[0]);
      for (std::size_t i = first; i < first + count; ++i) use(i);
    }
}

void CpuReference::fill(const float* channel) {
  const int nx = problem_.nx, ny = problem_.ny, nz = problem_.nz;
  for (int z = -kBelow; z <= nz; ++z)
    for (int y = -kBelow; y <= ny; ++y) {
      const float* row =
          channel + (static_cast<std::size_t>(std::clamp(z, 0, nz - 1)) * ny + std::clamp(y, 0, ny - 1)) * nx;
      float* out = u_.data() + index(0, y, z);
      std::copy_n(row, nx, out);
      out[-2] = out[-1] = row[0];
      out[nx] = row[nx - 1];
    }
  for (std::size_t a = 0; a < 3; ++a) {
    const float* u = u_.data();
    float* g = gradient_[a].data();
    const float h = problem_.spacing[a];
    const std::ptrdiff_t s = stride_[a];
    each({{-1, -1, -1}, {nx + 1, ny + 1, nz + 1}},
         [=](std::size_t i) { g[i] = (u[static_cast<std::ptrdiff_t>(i) - s] - u[i]) / h; });
  }
}

void CpuReference::component(int axis) {
  const bool centred = stencil_ == Stencil::centred;
  const std::size_t along = static_cast<std::size_t>(axis), second = axis == 0 ? 1 : 0,
                    third = axis == 2 ? 1 : 2;
  Box box{{-1, -1, -1}, {problem_.nx, problem_.ny, problem_.nz}};
  if (centred) ++box.begin[along], ++box.end[along];
  const std::ptrdiff_t s = stride_[along], corner = centred ? -s : 0;
  const auto mean4 = [&](const std::vector<float>& from, std::ptrdiff_t t, std::vector<float>& to) {
    const float* a = from.data() + corner;
    float* out = to.data();
    each(box, [=](std::size_t k) {
      const auto i = static_cast<std::ptrdiff_t>(k);
      out[i] = (a[i] + a[i + s] + a[i + t] + a[i + s + t]) / 4;
    });
  };
  mean4(gradient_[second], stride_[second], mean_a_);
  mean4(gradient_[third], stride_[third], mean_b_);
  const float *g = gradient_[along].data(), *a = mean_a_.data(), *b = mean_b_.data();
  float* out = norm_[along].data();
  each(box,
       [=](std::size_t i) { out[i] = g[i] / std::sqrt(g[i] * g[i] + a[i] * a[i] + b[i] * b[i] + kTiny); });
}

double CpuReference::tv_norm() const {
  const float *gx = gradient_[0].data(), *gy = gradient_[1].data(), *gz = gradient_[2].data();
  double sum = 0;
  for (int z = 0; z < problem_.nz; ++z)
    for (int y = 0; y < problem_.ny; ++y) {
      float row = 0;
      each({{0, y, z}, {problem_.nx, y + 1, z + 1}},
           [&](std::size_t i) { row += std::sqrt(gx[i] * gx[i] + gy[i] * gy[i] + gz[i] * gz[i]); });
      sum += row;
    }
  return sum;
}

void CpuReference::divergence(float* out) const {
  const auto term = [&](std::size_t a) {
    const float* n = norm_[a].data();
    const std::ptrdiff_t upper = stencil_ == Stencil::centred ? stride_[a] : 0, lower = upper - stride_[a];
    const float h = problem_.spacing[a];
    return [=](std::size_t k) {
      const auto i = static_cast<std::ptrdiff_t>(k);
      return (n[i + lower] - n[i + upper]) / h;
    };
  };
  const auto x = term(0), y = term(1), z = term(2);
  each({{0, 0, 0}, {problem_.nx, problem_.ny, problem_.nz}},
       [&](std::size_t i) { *out++ = x(i) + y(i) + z(i); });
}

void CpuReference::iterate() {
  const std::size_t n = static_cast<std::size_t>(problem_.voxels());
  tensor_ = tensors(problem_, problem_.factor).data;
  std::array<double, 6> tv{};
  double squares = 0;
  for (std::size_t c = 0; c < 6; ++c) {
    fill(tensor_.data() + c * n);
    tv[c] = tv_norm();
    squares += double{imaging::kTensorWeights[c]} * tv[c] * tv[c];
    for (int axis = 0; axis < 3; ++axis) component(axis);
    divergence(p_.data() + c * n);
  }
  std::array<float, 6> weight{};
  if (squares > 0)
    for (std::size_t c = 0; c < 6; ++c) weight[c] = static_cast<float>(tv[c] / std::sqrt(squares));

  float* const factor = problem_.factor.data();
  const float *tensor = tensor_.data(), *noisy = problem_.noisy.data(), *p = p_.data();
  for (std::size_t v = 0; v < n; ++v) {
    float l[6], q[6];  // q: half the derivative by a symmetric D
    for (std::size_t c = 0; c < 6; ++c) {
      l[c] = factor[c * n + v];
      q[c] = problem_.lambda * (tensor[c * n + v] - noisy[c * n + v]) - weight[c] * p[c * n + v];
    }
    const float slope[] = {q[0] * l[0] + q[1] * l[1] + q[2] * l[2],
                           q[1] * l[0] + q[3] * l[1] + q[4] * l[2],
                           q[2] * l[0] + q[4] * l[1] + q[5] * l[2],
                           q[3] * l[3] + q[4] * l[4],
                           q[4] * l[3] + q[5] * l[4],
                           q[5] * l[5]};
    for (std::size_t c = 0; c < 6; ++c) factor[c * n + v] = l[c] - 2 * problem_.step * slope[c];
  }
}

}  // namespace warploom::bench::sync
