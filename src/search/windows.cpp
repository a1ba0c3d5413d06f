#include "windows.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "core/doors.hpp"
#include "search/cpu_dtw.hpp"

namespace warploom::search {
namespace {

/// 1 / deviation, or 0 where samples are constant.
double reciprocal_deviation(double mean, double variance) {
  const double least = kConstantDeviation * mean;
  return variance <= least * least ? 0 : 1 / std::sqrt(variance);
}

/// Where moments of windows are put.
struct Block {
  float *mean, *rest, *scale;
  std::int64_t count;
};

void put(const Block& moments, std::int64_t at, double mean, double variance) {
  moments.mean[at] = static_cast<float>(mean);
  moments.rest[at] = static_cast<float>(mean - static_cast<double>(moments.mean[at]));
  moments.scale[at] = static_cast<float>(reciprocal_deviation(mean, variance));
}

/// The sums of a window that moves on by a sample at a time.
class Sums {
 public:
  /// Of the window at `begin`, about its mean.
  void start(const float* begin, std::int64_t length) {
    missing_ = 0;
    double sum = 0;
    for (std::int64_t j = 0; j < length; ++j) {
      const bool finite = std::isfinite(begin[j]);
      sum += finite ? begin[j] : 0;
      missing_ += !finite;
    }
    shift_ = missing_ < length ? sum / static_cast<double>(length - missing_) : 0;
    sum_ = squares_ = 0;
    for (std::int64_t j = 0; j < length; ++j) {
      const double x = centred(begin[j]);
      sum_ += x;
      squares_ += x * x;
    }
    largest_ = squares_;
  }
  void move(float out, float in) {
    missing_ += !std::isfinite(in) - !std::isfinite(out);
    const double a = centred(in), b = centred(out);
    sum_ += a - b;
    squares_ += (a - b) * (a + b);
    largest_ = std::max(largest_, squares_);
  }
  bool missing() const { return missing_ > 0; }
  double mean(double length) const { return shift_ + sum_ / length; }
  double squares(double length) const { return squares_ - sum_ * sum_ / length; }
  /// What remains is so much less than what was added and taken away that few of its digits are right.
  bool cancelled(double length) const { return squares(length) < 1e-5 * largest_; }

 private:
  /// A missing sample adds nothing.
  double centred(float x) const { return std::isfinite(x) ? x - shift_ : 0; }

  double shift_ = 0, sum_ = 0, squares_ = 0, largest_ = 0;
  std::int64_t missing_ = 0;
};

void by_moving(const float* samples, std::int64_t length, const Block& block) {
  const auto n = static_cast<double>(length);
  Sums sums;
  for (std::int64_t t = 0; t < block.count; ++t) {
    const float* window = samples + t;
    if (t == 0)
      sums.start(window, length);
    else
      sums.move(window[-1], window[length - 1]);
    if (sums.cancelled(n) && !sums.missing()) sums.start(window, length);
    put(block, t, sums.mean(n), sums.squares(n) / n);
    if (sums.missing()) block.scale[t] = std::numeric_limits<float>::quiet_NaN();
  }
}

/// A window's sums as differences of sums from the block's begin on: faster.
/// @return false where a sample is missing, or digits are lost
bool by_differences(const float* samples, std::int64_t length, std::vector<double>& memory,
                    const Block& block) {
  const double n = static_cast<double>(length), part = 1 / n;
  const std::int64_t windows = block.count, count = windows + length - 1;
  memory.resize(static_cast<std::size_t>(2 * (count + 1)));
  double *sums = memory.data(), *squares = sums + count + 1;
  double shift = 0, sum = 0, square = 0;
  for (std::int64_t j = 0; j < length; ++j) shift += samples[j] * part;
  for (std::int64_t j = 0; j < count; ++j) {
    sums[j] = sum;
    squares[j] = square;
    const double x = samples[j] - shift;
    sum += x;
    square += x * x;
  }
  sums[count] = sum;
  squares[count] = square;
  // Rounding adds some 1e-16 of all squares for each sample, of which a millionth of a window's may be made
  // up.
  const double least = 1e-10 * n * square;
  bool right = std::isfinite(square);
  for (std::int64_t t = 0; t < windows; ++t) {
    const double of_window = sums[t + length] - sums[t];
    const double about_mean = squares[t + length] - squares[t] - of_window * of_window * part;
    right &= about_mean >= least;
    put(block, t, shift + of_window * part, about_mean * part);
  }
  return right;
}

}  // namespace

WindowMoments window_moments(std::span<const float> channel, std::int64_t length, std::int64_t first,
                             std::int64_t count) {
  const auto moments_of = [](std::int64_t windows) {
    const auto size = static_cast<std::size_t>(windows);
    WindowMoments all;
    for (auto part : {&WindowMoments::mean, &WindowMoments::rest, &WindowMoments::scale}) {
      (all.*part).reserve(size + kMostLanes);  // pad()
      (all.*part).resize(size);
    }
    return all;
  };
  WindowMoments all = moments_of(count), part_of_block;
  std::vector<double> memory;
  for (std::int64_t t = first; t < first + count;) {
    const std::int64_t begin = t / kMomentsBlock * kMomentsBlock;
    const std::int64_t end = std::min(begin + kMomentsBlock, std::ssize(channel) - length + 1);
    const std::int64_t next = std::min(end, first + count);
    const bool whole = begin == t && next == end;
    if (!whole) part_of_block = moments_of(end - begin);
    WindowMoments& to = whole ? all : part_of_block;
    const std::int64_t at = whole ? t - first : 0;
    const Block block{to.mean.data() + at, to.rest.data() + at, to.scale.data() + at, end - begin};
    if (!by_differences(channel.data() + begin, length, memory, block))
      by_moving(channel.data() + begin, length, block);
    if (!whole)
      for (auto part : {&WindowMoments::mean, &WindowMoments::rest, &WindowMoments::scale})
        std::copy((part_of_block.*part).begin() + (t - begin), (part_of_block.*part).begin() + (next - begin),
                  (all.*part).begin() + (t - first));
    t = next;
  }
  return all;
}

void check(Normalization normalization) {
  at_enumerator(std::array{"none", "z"}, normalization, "the normalisation");
}

void check(Warping warping) { at_enumerator(std::array{"together", "each"}, warping, "the warping"); }

Moments moments(std::span<const float> samples, Normalization normalization) {
  check(normalization);
  if (normalization == Normalization::none) return {};
  const auto n = static_cast<double>(samples.size());
  double mean = 0, squares = 0;
  for (const float x : samples) mean += x;
  mean /= n;
  for (const float x : samples) squares += (x - mean) * (x - mean);
  return {mean, reciprocal_deviation(mean, squares / n)};
}

std::vector<Moments> moments_of_each(std::span<const float* const> windows, std::int64_t length) {
  constexpr std::size_t kSome = 4;
  const auto n = static_cast<double>(length);
  std::vector<Moments> all;
  all.reserve(windows.size());
  for (std::size_t first = 0; first < windows.size(); first += kSome) {
    const float* begin[kSome];
    for (std::size_t k = 0; k < kSome; ++k) begin[k] = windows[std::min(first + k, windows.size() - 1)];
    double mean[kSome] = {}, squares[kSome] = {};
    for (std::int64_t j = 0; j < length; ++j)
      for (std::size_t k = 0; k < kSome; ++k) mean[k] += begin[k][j];
    for (double& of : mean) of /= n;
    for (std::int64_t j = 0; j < length; ++j)
      for (std::size_t k = 0; k < kSome; ++k) squares[k] += (begin[k][j] - mean[k]) * (begin[k][j] - mean[k]);
    for (std::size_t k = 0; k < std::min(kSome, windows.size() - first); ++k)
      all.push_back({mean[k], reciprocal_deviation(mean[k], squares[k] / n)});
  }
  return all;
}

std::vector<float> normalised(std::span<const float> samples) {
  const Moments of = moments(samples, Normalization::z);
  std::vector<float> values;
  for (const float x : samples) values.push_back(static_cast<float>(of.normalised(x)));
  return values;
}

}  // namespace warploom::search
