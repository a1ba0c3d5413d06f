#include "warploom/page/ticks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

#include "core/doors.hpp"

namespace warploom::page {

double round_step(double span, double parts) {
  const double raw = span / parts, power = std::pow(10, std::floor(std::log10(raw))), share = raw / power;
  return power * (share < 1.5 ? 1 : share < 3.5 ? 2 : share < 7.5 ? 5 : 10);
}

double least_step(double span, double most) {
  if (!(most > 0))
    throw BadInput(fmt::format("a step that goes into a span at most {} times: above 0", most));
  double step = 1;
  for (int k = 0; span > most * step; ++k) step *= k % 3 == 1 ? 2.5 : 2;
  return step;
}

std::string prefixed(double value, bool binary) {
  const double thousand = binary ? 1024 : 1000;
  const std::string_view prefixes = binary ? " KMGT" : " kMGT";
  std::size_t prefix = 0;
  for (; prefix + 1 < prefixes.size() && value >= thousand; ++prefix) value /= thousand;
  if (prefix == 0) return fmt::format("{:.4g}", value);
  return fmt::format("{:.4g} {}{}", value, prefixes[prefix], binary ? "i" : "");
}

Scale::Scale(double base, Ends ends, double parts) : base_(base), ends_(ends), parts_(parts) {
  at_enumerator(std::array{"values", "ticks", "beyond"}, ends, "where a scale ends");
  if (base != 0 && base != 2 && base != 10)
    throw BadInput(
        fmt::format("the logarithm of an axis has the base {}; it is 2 or 10, or 0 of a linear axis", base));
  if (!(parts >= 1 && parts <= 1000))
    throw BadInput(fmt::format("the ticks of a scale make {} parts; from 1 to 1000", parts));
}

bool Scale::shows(double value) const { return std::isfinite(value) && (base_ == 0 || value > 0); }

double Scale::scaled(double value) const { return base_ == 0 ? value : std::log(value) / std::log(base_); }

void Scale::add(double value) {
  if (!shows(value)) return;
  low_ = std::min(low_, scaled(value));
  high_ = std::max(high_, scaled(value));
}

void Scale::close(bool from_zero) {
  if (low_ > high_) low_ = high_ = 0;
  const bool zero = base_ == 0 && ends_ != Ends::values && from_zero && low_ >= 0;
  if (zero) low_ = 0;
  if (ends_ == Ends::beyond) {
    const double margin = high_ > low_ ? 0.04 * (high_ - low_) : std::max(1e-9, 0.05 * std::abs(low_));
    high_ += margin;
    if (!zero) low_ -= margin;
  }
  if (base_ != 0)
    step_ = std::max(1.0, std::ceil((high_ - low_) / parts_));
  else if (low_ == high_)
    step_ = low_ == 0 ? 1 : std::abs(low_);
  else  // steps that are too small to be counted from zero would never come to an end
    step_ = round_step(std::max(high_ - low_, 1e-9 * std::max(std::abs(low_), std::abs(high_))), parts_);
  if (ends_ == Ends::ticks || low_ == high_) {
    low_ = std::floor(low_ / step_ + 1e-9) * step_;
    high_ = std::max(std::ceil(high_ / step_ - 1e-9), low_ / step_ + 1) * step_;
  }
}

std::vector<double> Scale::ticks() const {
  std::vector<double> out;
  for (double k = std::ceil(low_ / step_ - 1e-9); k * step_ <= high_ + 1e-9 * step_; ++k)
    out.push_back(base_ == 0 ? k * step_ + 0.0 : std::pow(base_, k * step_));
  return out;
}

}  // namespace warploom::page
