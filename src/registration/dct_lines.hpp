#pragma once

/// The discrete cosine transform of 16 lines side by side, compiled for each instruction set in a namespace
/// of its name.

#include <cstdint>
#include <vector>

namespace warploom::registration {

/// Orthonormal DCT-II of n numbers, and its inverse: X_k = s_k sum over j of x_j cos(pi k (2 j + 1) / (2 n)),
/// with s_0 = sqrt(1/n) and sqrt(2/n) beyond.
///
/// By matrices, halved while n is even: the even coefficients are the DCT-II of x_j + x_(n-1-j), the odd ones
/// the DCT-IV of x_j - x_(n-1-j), both of half the length (Chen, Smith and Fralick 1977). That takes n / 3
/// products a number for a power of two and at most n for an odd n, in dense loops without a permutation and
/// as exact as a matrix: for the lines of images as fast as an FFT, for any n.
class DctPlan {
 public:
  explicit DctPlan(std::int64_t n);
  std::int64_t size() const { return n_; }
  std::int64_t halvings() const { return halvings_; }
  /// DCT-IV of n / 2^(level + 1) numbers; at level halvings() the DCT-II of what is left.
  const float* matrix(std::int64_t level) const {
    return tables_.data() + first_[static_cast<std::size_t>(level)];
  }

 private:
  std::int64_t n_, halvings_ = 0;
  std::vector<std::int64_t> first_;
  std::vector<float> tables_;
};

inline constexpr std::int64_t kDctLines = 16;

/// Number k of line w at [k * kDctLines + w]. @param scratch  2 n numbers of each line
using DctLines = void (*)(const DctPlan& plan, const float* in, float* out, float* scratch);

#define WARPLOOM_DECLARE_DCT_LINES(set)                                               \
  namespace set {                                                                     \
  void dct_forward(const DctPlan& plan, const float* in, float* out, float* scratch); \
  void dct_inverse(const DctPlan& plan, const float* in, float* out, float* scratch); \
  }
WARPLOOM_DECLARE_DCT_LINES(baseline)
WARPLOOM_DECLARE_DCT_LINES(avx2)
WARPLOOM_DECLARE_DCT_LINES(avx512)
#undef WARPLOOM_DECLARE_DCT_LINES

}  // namespace warploom::registration
