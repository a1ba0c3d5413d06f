#include "search/sizes.hpp"

#include <utility>

namespace warploom::search {

double spread_of(std::span<const float> channel) {
  double sum = 0, squares = 0;
  std::int64_t count = 0;
  for (const float x : channel)
    if (std::isfinite(x)) {
      sum += x;
      ++count;
    }
  if (count == 0) return 0;
  const double mean = sum / static_cast<double>(count);
  for (const float x : channel)
    if (std::isfinite(x)) squares += (x - mean) * (x - mean);
  return std::sqrt(squares / static_cast<double>(count));
}

Sizes::Sizes(std::span<const float> query, double spread) {
  const Moments all = moments(query, Normalization::z);
  mean_ = static_cast<float>(all.mean);
  rest_ = static_cast<float>(all.mean - mean_);
  deviation_ = all.scale > 0 ? 1 / all.scale : 0;
  squares_ = deviation_ * deviation_ + spread * spread;
}

void GeometricMean::take_logarithms() {
  for (std::size_t k = 0; k < sum_.size(); ++k) sum_[k] += std::log(product_[k]);
  std::ranges::fill(product_, 1);
}

std::vector<float> GeometricMean::values() && {
  take_logarithms();
  const double share = 1 / static_cast<double>(std::max(1, count_));
  std::vector<float> all;
  all.reserve(sum_.size());
  for (const double x : sum_) all.push_back(static_cast<float>(std::exp(share * x)));
  return all;
}

}  // namespace warploom::search
