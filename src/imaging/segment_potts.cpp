#include "imaging/segment_potts.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "core/instruction_sets.hpp"
#include "imaging/segment_convex_rows.hpp"
#include "warploom/core/progress.hpp"
#include "warploom/core/threads.hpp"

namespace warploom::imaging {
namespace {

using Shares = std::array<float, std::size_t{kMostClasses}>;

/// The nearest point with values >= 0 that add up to 1 (Duchi et al., ICML 2008).
void project_to_simplex(Shares& value, std::size_t count) {
  Shares sorted = value;
  std::sort(sorted.begin(), sorted.begin() + static_cast<std::ptrdiff_t>(count), std::greater<>());
  float sum = 0, level = 0;
  for (std::size_t k = 0; k < count; ++k) {
    sum += sorted[k];
    const float next = (sum - 1) / static_cast<float>(k + 1);
    if (sorted[k] <= next) break;
    level = next;
  }
  for (std::size_t k = 0; k < count; ++k) value[k] = std::max(0.0F, value[k] - level);
}

}  // namespace

Potts::Potts(const ConvexProblem& problem, int classes)
    : problem_(problem),
      classes_(static_cast<std::size_t>(classes)),
      nx_(problem.grid.nx),
      ny_(problem.grid.ny),
      rows_(problem.grid.ny * problem.grid.nz),
      stride_(nx_ + 2),
      zeros_(static_cast<std::size_t>(stride_)),
      labels_(static_cast<std::size_t>(rows_ * nx_)) {
  const std::vector<float> even(labels_.size(), 1 / static_cast<float>(classes));
  m_.assign(classes_, even);
  extrapolated_ = m_;
  p_.assign(classes_ * static_cast<std::size_t>(problem.edges.count),
            std::vector<float>(static_cast<std::size_t>(rows_ * stride_)));
  if (problem.mask != nullptr) {
    counts_.resize(labels_.size());
    for (std::size_t i = 0; i < counts_.size(); ++i) counts_[i] = problem.mask[i] != 0 ? 1.0F : 0.0F;
  }
}

template <class Body>
void Potts::for_rows(const Body& body) const {
  constexpr std::int64_t kPieceVoxels = 1 << 13;
  const std::int64_t each = std::max<std::int64_t>(1, kPieceVoxels / nx_);
  parallel_for((rows_ + each - 1) / each, [&](std::int64_t piece) {
    for (std::int64_t row = piece * each; row < std::min(rows_, (piece + 1) * each); ++row) body(row);
  });
}

std::int64_t Potts::row_at(std::int64_t row, int dy, int dz) const {
  const std::int64_t y = row % ny_ + dy, z = row / ny_ + dz;
  return y < 0 || y >= ny_ || z < 0 || z >= problem_.grid.nz ? -1 : z * ny_ + y;
}

void Potts::begin(const std::vector<std::vector<float>>& costs, double mu) {
  costs_ = &costs, mu_ = mu;
  float squares = 0;
  for (int e = 0; e < problem_.edges.count; ++e)
    squares += problem_.edges.edge[e].weight * problem_.edges.edge[e].weight;
  const float norm = 2 * std::sqrt(squares);
  // Memberships go from 0 to 1, p from -mu/2 to mu/2: steps in that ratio, of a product below 1/norm^2.
  tau_ = static_cast<float>(2 / std::max(mu, 1e-6)) / norm;
  sigma_ = 1 / (norm * norm * tau_);
}

void Potts::update_dual(std::int64_t row, std::size_t k) {
  static const UpdateDual update = WARPLOOM_PICK(update_dual_row);
  const auto edges = static_cast<std::size_t>(problem_.edges.count);
  for (std::size_t e = 0; e < edges; ++e) {
    const Edge& edge = problem_.edges.edge[e];
    const std::int64_t other = row_at(row, edge.dy, edge.dz);
    if (other < 0) continue;
    const std::int64_t first = edge.dx < 0 ? 1 : 0, count = nx_ - (edge.dx != 0 ? 1 : 0);
    const std::int64_t here = row * nx_ + first, there = other * nx_ + first + edge.dx;
    const float *m = extrapolated_[k].data(), *counts = counts_.empty() ? nullptr : counts_.data();
    update({count, p_[k * edges + e].data() + row * stride_ + 1 + first, m + here, m + there,
            counts == nullptr ? nullptr : counts + here, counts == nullptr ? nullptr : counts + there,
            sigma_ * edge.weight, static_cast<float>(mu_ / 2)});
  }
}

void Potts::tension(std::int64_t row, std::size_t k, float* out) const {
  const auto edges = static_cast<std::size_t>(problem_.edges.count);
  std::copy_n((*costs_)[k].data() + row * nx_, nx_, out);
  for (std::size_t e = 0; e < edges; ++e) {
    const Edge& edge = problem_.edges.edge[e];
    const std::int64_t before = row_at(row, -edge.dy, -edge.dz);
    const float* p = p_[k * edges + e].data();
    const float* from = p + row * stride_ + 1;
    const float* to = (before < 0 ? zeros_.data() : p + before * stride_) + 1 - edge.dx;
    for (std::int64_t x = 0; x < nx_; ++x) out[x] -= edge.weight * (from[x] - to[x]);
  }
}

void Potts::update_primal(std::int64_t row) {
  std::vector<float> tensions(classes_ * static_cast<std::size_t>(nx_));
  for (std::size_t k = 0; k < classes_; ++k)
    tension(row, k, tensions.data() + k * static_cast<std::size_t>(nx_));
  for (std::int64_t x = 0; x < nx_; ++x) {
    const auto at = static_cast<std::size_t>(row * nx_ + x);
    Shares next{};
    for (std::size_t k = 0; k < classes_; ++k)
      next[k] = m_[k][at] - tau_ * tensions[k * static_cast<std::size_t>(nx_) + static_cast<std::size_t>(x)];
    project_to_simplex(next, classes_);
    for (std::size_t k = 0; k < classes_; ++k) {
      extrapolated_[k][at] = 2 * next[k] - m_[k][at];
      m_[k][at] = next[k];
    }
  }
}

void Potts::iterate(int count) {
  for (int step = 0; step < count; ++step) {
    for_rows([&](std::int64_t row) {
      for (std::size_t k = 0; k < classes_; ++k) update_dual(row, k);
    });
    for_rows([&](std::int64_t row) { update_primal(row); });
    check_interrupt();
  }
}

PottsEnergies Potts::energies() {
  std::vector<PottsEnergies> rows(static_cast<std::size_t>(rows_));
  for_rows([&](std::int64_t row) {
    PottsEnergies& sum = rows[static_cast<std::size_t>(row)];
    std::vector<float> least(static_cast<std::size_t>(nx_), INFINITY), here(least.size());
    for (std::size_t k = 0; k < classes_; ++k) {
      tension(row, k, here.data());
      for (std::size_t x = 0; x < here.size(); ++x) least[x] = std::min(least[x], here[x]);
    }
    for (std::int64_t x = 0; x < nx_; ++x) {
      const auto at = static_cast<std::size_t>(row * nx_ + x);
      if (!counts_.empty() && counts_[at] == 0) continue;
      std::size_t best = 0;
      for (std::size_t k = 0; k < classes_; ++k) {
        if (m_[k][at] > m_[best][at]) best = k;
        sum.relaxed += double(m_[k][at]) * double((*costs_)[k][at]);
      }
      labels_[at] = static_cast<std::uint8_t>(best);
      sum.labels += double((*costs_)[best][at]);
      sum.bound += double(least[static_cast<std::size_t>(x)]);
    }
  });
  for_rows([&](std::int64_t row) {
    PottsEnergies& sum = rows[static_cast<std::size_t>(row)];
    for (int e = 0; e < problem_.edges.count; ++e) {
      const Edge& edge = problem_.edges.edge[e];
      const std::int64_t other = row_at(row, edge.dy, edge.dz);
      if (other < 0) continue;
      for (std::int64_t x = std::max(0, -edge.dx); x < nx_ - std::max(0, edge.dx); ++x) {
        const auto a = static_cast<std::size_t>(row * nx_ + x),
                   b = static_cast<std::size_t>(other * nx_ + x + edge.dx);
        if (!counts_.empty() && counts_[a] * counts_[b] == 0) continue;
        float change = 0;
        for (std::size_t k = 0; k < classes_; ++k) change += std::abs(m_[k][a] - m_[k][b]);
        sum.relaxed += mu_ / 2 * double(edge.weight * change);
        if (labels_[a] != labels_[b]) sum.length += double(edge.weight);
      }
    }
    sum.labels += mu_ * sum.length;
  });
  PottsEnergies total;
  for (const PottsEnergies& row : rows) {
    total.relaxed += row.relaxed, total.labels += row.labels;
    total.bound += row.bound, total.length += row.length;
  }
  return total;
}

}  // namespace warploom::imaging
