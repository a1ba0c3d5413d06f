#include "warploom/search/distance_matrix.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <span>
#include <vector>

#include "search/cpu_dtw_batch.hpp"
#include "search/windows.hpp"
#include "warploom/core/error.hpp"
#include "warploom/core/progress.hpp"
#include "warploom/core/threads.hpp"

namespace warploom::search {
namespace {

void check_finite(const StridedSequences& all, const char* name) {
  const auto& [count, channels, length] = all.shape;
  for (std::int64_t s = 0; s < count; ++s)
    for (std::int64_t c = 0; c < channels; ++c) {
      const float* const from = all.first + s * all.strides[0] + c * all.strides[1];
      for (std::int64_t i = 0; i < length; ++i)
        if (!std::isfinite(from[i * all.strides[2]]))
          throw BadInput(fmt::format("{}: sample {} of sequence {} is {}: fill or leave out what is missing",
                                     name, i, s, from[i * all.strides[2]]));
    }
}

void check(const StridedSequences& x, const StridedSequences& y, const Matrix<float>& out,
           const DistanceMatrixOptions& options) {
  check(options.normalization);
  check(options.warping);
  if (options.radius < 0)
    throw BadInput(fmt::format("a band's radius is {}: it must be at least 0", options.radius));
  for (const auto& [all, name] : {std::pair{&x, "x"}, std::pair{&y, "y"}})
    if (element_count(all->shape) > 0 && all->first == nullptr)
      throw BadInput(
          fmt::format("{}: shape {} needs data, the pointer is null", name, shape_text(all->shape)));
  if (x.shape[1] < 1 || x.shape[2] < 1)
    throw BadInput(fmt::format("x: shape {}: sequences need a channel and a sample", shape_text(x.shape)));
  if (y.shape[1] != x.shape[1] || y.shape[2] != x.shape[2])
    throw BadInput(fmt::format("y: shape {}, expected {}", shape_text(y.shape),
                               shape_text(std::array{y.shape[0], x.shape[1], x.shape[2]})));
  require_shape(out, {x.shape[0], y.shape[0]}, "the distances");
  check_finite(x, "x");
  check_finite(y, "y");
}

/// Sequences as rows that matrices read: what belongs to one of them lies together, sample i of channel c of
/// a sequence at [i * channels + c], and is normalised.
class Rows {
 public:
  /// @param each  channels are sequences of their own, one behind the other
  Rows(const StridedSequences& all, bool each, Normalization normalization)
      : data_(all.first), stride_(all.strides[0]) {
    const std::int64_t all_channels = all.shape[1], length = all.shape[2], channels = each ? 1 : all_channels,
                       sequences = all.shape[0] * (each ? all_channels : 1);
    if (normalization == Normalization::none && all_channels == 1 && all.strides[2] == 1) return;
    stride_ = channels * length;
    own_.resize(static_cast<std::size_t>(sequences * stride_));
    parallel_for(sequences, [&](std::int64_t s) {
      std::vector<float> gathered, made;
      for (std::int64_t c = 0; c < channels; ++c) {
        const float* values = all.first + (each ? s / all_channels : s) * all.strides[0] +
                              (each ? s % all_channels : c) * all.strides[1];
        if (all.strides[2] != 1) {
          gathered.resize(static_cast<std::size_t>(length));
          for (std::int64_t i = 0; i < length; ++i) gathered[i] = values[i * all.strides[2]];
          values = gathered.data();
        }
        if (normalization == Normalization::z) {
          made = normalised(std::span(values, static_cast<std::size_t>(length)));
          values = made.data();
        }
        for (std::int64_t i = 0; i < length; ++i) own_[s * stride_ + i * channels + c] = values[i];
      }
    });
    data_ = own_.data();
  }
  Rows(const Rows&) = delete;
  Rows& operator=(const Rows&) = delete;

  const float* operator[](std::int64_t sequence) const { return data_ + sequence * stride_; }

 private:
  const float* data_;
  std::int64_t stride_;
  std::vector<float> own_;
};

}  // namespace

StridedSequences::StridedSequences(const float* first_, const std::array<std::int64_t, 3>& shape_,
                                   const std::array<std::int64_t, 3>& strides_)
    : first(first_), shape(shape_), strides(strides_) {}
StridedSequences::StridedSequences(const Sequences& all)
    : first(all.data()), shape(all.shape()), strides{shape[1] * shape[2], shape[2], 1} {}

void distance_matrix(const StridedSequences& x, const StridedSequences& y, Matrix<float> out,
                     const DistanceMatrixOptions& options) {
  check(x, y, out, options);
  const DeviceScope scope(options.run, "a matrix of distances", false);
  if (out.empty()) return;
  const bool symmetric = x.first == y.first && x.shape == y.shape && x.strides == y.strides;
  const std::int64_t channels = x.shape[1], length = x.shape[2];
  // Paths of their own: channels are sequences of one channel, whose sums are added.
  const bool each = options.warping == Warping::each && channels > 1;
  const std::int64_t in_a_matrix = each ? 1 : channels, matrices = each ? channels : 1;
  const Rows rows(x, each, options.normalization);
  const std::optional<Rows> others =
      symmetric ? std::nullopt : std::optional<Rows>(std::in_place, y, each, options.normalization);
  const Rows& columns = symmetric ? rows : *others;
  const CpuDtw& dtw = *WARPLOOM_PICK(cpu_dtw);
  const std::int64_t lanes = dtw.lanes, n = x.shape[0], k = y.shape[0];
  const std::int64_t radius = std::min(options.radius, length - 1);
  // A block is a vector of columns and as many rows as are worth a thread's while.
  const std::int64_t cells = band_cells(length, radius) * channels * lanes;
  const std::int64_t height = std::clamp<std::int64_t>(1'000'000 / cells, 1, n);
  const std::int64_t across = (k + lanes - 1) / lanes, down = (n + height - 1) / height;
  Progress progress("comparing", static_cast<std::uint64_t>(n), "sequences");
  parallel_for(across * down, [&](std::int64_t block) {
    check_interrupt();
    const std::int64_t first_row = block / across * height, last_row = std::min(n, first_row + height);
    const std::int64_t first = block % across * lanes, count = std::min(lanes, k - first);
    if (symmetric && first + count <= first_row) return;  // below the diagonal
    Lines windows(matrices * in_a_matrix * length * lanes), row((length + 1) * lanes);
    for (std::int64_t a = 0; a < matrices; ++a)
      for (std::int64_t l = 0; l < lanes; ++l) {
        const float* from = columns[(first + std::min(l, count - 1)) * matrices + a];
        for (std::int64_t i = 0; i < in_a_matrix * length; ++i)
          windows.data()[(a * in_a_matrix * length + i) * lanes + l] = from[i];
      }
    for (std::int64_t r = first_row; r < last_row; ++r) {
      alignas(64) float sums[kMostLanes] = {}, some[kMostLanes];
      for (std::int64_t a = 0; a < matrices; ++a) {
        dtw.matrices({length, radius, in_a_matrix, rows[r * matrices + a],
                      windows.data() + a * in_a_matrix * length * lanes, row.data()},
                     some);
        for (std::int64_t l = 0; l < lanes; ++l) sums[l] += some[l];
      }
      for (std::int64_t l = 0; l < count; ++l) {
        const float distance = std::sqrt(sums[l] / static_cast<float>(length * channels));
        if (symmetric && first + l < r) continue;
        out(r, first + l) = distance;
        if (symmetric) out(first + l, r) = distance;
      }
    }
    if (block % across == across - 1) progress.advance(static_cast<std::uint64_t>(last_row - first_row));
  });
}

}  // namespace warploom::search
