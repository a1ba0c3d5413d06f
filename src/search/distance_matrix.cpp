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

void check_finite(const Sequences& all, const char* name) {
  const auto& [count, channels, length] = all.shape();
  for (std::int64_t i = 0; i < all.size(); ++i)
    if (!std::isfinite(all.data()[i]))
      throw BadInput(fmt::format("{}: sample {} of sequence {} is {}: fill or leave out what is missing",
                                 name, i % length, i / (channels * length), all.data()[i]));
}

void check(const Sequences& x, const Sequences& y, const Matrix<float>& out,
           const DistanceMatrixOptions& options) {
  check(options.normalization);
  check(options.warping);
  if (options.radius < 0)
    throw BadInput(fmt::format("a band's radius is {}: it must be at least 0", options.radius));
  if (x.extent(1) < 1 || x.extent(2) < 1)
    throw BadInput(fmt::format("x: shape {}: sequences need a channel and a sample", shape_text(x.shape())));
  require_shape(y, {y.extent(0), x.extent(1), x.extent(2)}, "y");
  require_shape(out, {x.extent(0), y.extent(0)}, "the distances");
  check_finite(x, "x");
  check_finite(y, "y");
}

/// Sequences as rows that matrices read: what belongs to one of them lies together, sample i of channel c of
/// a sequence at [i * channels + c], and is normalised.
class Rows {
 public:
  Rows(const Sequences& all, Normalization normalization)
      : channels_(all.extent(1)), length_(all.extent(2)), data_(all.data()) {
    if (normalization == Normalization::none && channels_ == 1) return;
    own_.resize(static_cast<std::size_t>(all.size()));
    parallel_for(all.extent(0), [&](std::int64_t s) {
      for (std::int64_t c = 0; c < channels_; ++c) {
        const std::span<const float> from(all.data() + (s * channels_ + c) * length_,
                                          static_cast<std::size_t>(length_));
        std::vector<float> made;
        if (normalization == Normalization::z) made = normalised(from);
        const float* values = made.empty() ? from.data() : made.data();
        for (std::int64_t i = 0; i < length_; ++i) own_[s * size() + i * channels_ + c] = values[i];
      }
    });
    data_ = own_.data();
  }
  Rows(const Rows&) = delete;
  Rows& operator=(const Rows&) = delete;

  std::int64_t size() const { return channels_ * length_; }
  const float* operator[](std::int64_t sequence) const { return data_ + sequence * size(); }

 private:
  std::int64_t channels_, length_;
  const float* data_;
  std::vector<float> own_;
};

}  // namespace

void distance_matrix(Sequences x, Sequences y, Matrix<float> out, const DistanceMatrixOptions& options) {
  check(x, y, out, options);
  const DeviceScope scope(options.run, "a matrix of distances", false);
  if (out.empty()) return;
  const bool symmetric = x.data() == y.data() && x.shape() == y.shape();
  // Paths of their own: channels are sequences of one channel, whose sums are added.
  const bool each = options.warping == Warping::each && x.extent(1) > 1;
  const std::int64_t channels = x.extent(1), length = x.extent(2);
  const std::int64_t in_a_matrix = each ? 1 : channels, matrices = each ? channels : 1;
  const auto apart = [&](const Sequences& all) {
    return each ? Sequences(all.data(), all.extent(0) * channels, std::int64_t{1}, length) : all;
  };
  const Rows rows(apart(x), options.normalization);
  const std::optional<Rows> others =
      symmetric ? std::nullopt : std::optional<Rows>(std::in_place, apart(y), options.normalization);
  const Rows& columns = symmetric ? rows : *others;
  const CpuDtw& dtw = *WARPLOOM_PICK(cpu_dtw);
  const std::int64_t lanes = dtw.lanes, n = x.extent(0), k = y.extent(0);
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
