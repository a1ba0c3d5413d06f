#include "warploom/fold/probing.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "warploom/core/error.hpp"
#include "warploom/core/parse.hpp"

namespace warploom::fold {
namespace {

constexpr double kMostPseudo = 100;  // [kcal/mol]

std::int32_t hundredths(double energy, std::size_t base) {
  if (!(std::abs(energy) <= kMostPseudo))
    throw BadInput(fmt::format("base {} gets a pseudo-energy of {} kcal/mol; at most {} are possible",
                               base + 1, energy, kMostPseudo));
  return static_cast<std::int32_t>(std::round(energy * 100.));
}

void check(std::span<const double> reactivities) {
  for (std::size_t k = 0; k < reactivities.size(); ++k)
    if (!std::isfinite(reactivities[k]))
      throw BadInput(
          fmt::format("the reactivity of base {} is {}, no finite number", k + 1, reactivities[k]));
}

/// r itself, rounded as ViennaRNA's projection onto 0..largest does.
double projected(double r, double largest) { return r < largest ? r / largest * largest : r; }

double largest_of(std::span<const double> reactivities) {
  double largest = 0;
  for (const double r : reactivities) largest = std::max(largest, r);
  return largest;
}

/// From a reactivity of 0 at least to the probability that the base is unpaired.
class Conversion {
 public:
  Conversion(std::string_view text, double largest)
      : kind_(text.empty() ? ' ' : text.front()), largest_(largest) {
    const auto bad = [&] {
      throw BadInput(fmt::format(
          "a conversion of reactivities '{}'; it is O, L (perhaps with s and i: Os1.6i-2.29), M, S or C (C0.25)",
          text));
    };
    std::string_view rest = text.empty() ? text : text.substr(1);
    if (kind_ == 'L') slope_ = 0.68, intercept_ = 0.2;
    const auto number = [&](double& value) {
      const std::string_view word = rest.substr(0, rest.find('i'));
      if (!parse_whole(word, value) || !std::isfinite(value)) bad();
      rest.remove_prefix(word.size());
    };
    if (kind_ == 'O' || kind_ == 'L') {
      if (rest.starts_with('s')) rest.remove_prefix(1), number(slope_);
      if (rest.starts_with('i')) rest.remove_prefix(1), number(intercept_);
      if (!rest.empty() || slope_ == 0) bad();
      const auto slope = static_cast<float>(1. / static_cast<float>(slope_));
      intercept_ = static_cast<float>(intercept_) * -slope, slope_ = slope;
    } else if (kind_ == 'C') {
      if (!rest.empty() && (!parse_whole(rest, cutoff_) || !std::isfinite(cutoff_))) bad();
      cutoff_ = static_cast<float>(cutoff_);
    } else if ((kind_ != 'M' && kind_ != 'S') || !rest.empty()) {
      bad();
    }
  }

  double unpaired(double r) const { return std::clamp(uncut(r), 0., 1.); }

 private:
  double uncut(double r) const {
    if (kind_ == 'O') return r > 0 ? intercept_ + slope_ * std::log(r) : slope_ > 0 ? 0 : 1;
    if (kind_ == 'L') return intercept_ + slope_ * r;
    if (kind_ == 'C') return r >= cutoff_ ? 1 : 0;
    if (kind_ == 'S') return projected(r, largest_);
    const double points[][2] = {{0, 0}, {.25, .35}, {.3, .55}, {.7, .85}, {largest_, 1}};
    for (int k = 1; k < 5; ++k)
      if (points[k - 1][0] <= r && r < points[k][0])
        return (r - points[k - 1][0]) / (points[k][0] - points[k - 1][0]) *
                   (points[k][1] - points[k - 1][1]) +
               points[k - 1][1];
    return 1;
  }

  char kind_;
  double largest_, slope_ = 1.6, intercept_ = -2.29, cutoff_ = .25;
};

}  // namespace

std::vector<double> parse_reactivities(std::string_view content, const std::string& name, std::int64_t n) {
  if (n < 1) throw BadInput(fmt::format("reactivities of {} bases", n));
  std::vector<double> all(static_cast<std::size_t>(n), -1.);
  std::vector<bool> given(all.size());
  unsigned number = 0;
  bool any = false;
  for (std::size_t begin = 0; begin < content.size();) {
    const std::size_t close = std::min(content.find('\n', begin), content.size());
    const std::string_view line = content.substr(begin, close - begin);
    begin = close + 1;
    ++number;
    std::vector<std::string_view> words;
    for (std::size_t at = 0; (at = line.find_first_not_of(" \t\r,", at)) != line.npos;) {
      const std::size_t end = std::min(line.find_first_of(" \t\r,", at), line.size());
      words.push_back(line.substr(at, end - at));
      at = end;
    }
    if (words.empty() || words.front().starts_with('#')) continue;
    const auto fail = [&](const std::string& what) { throw ParseError({name, number, 1}, what); };
    std::int64_t position = 0;
    if (!parse_whole(words[0], position))
      fail(fmt::format("'{}' is no position; a line has a position, perhaps a letter, a reactivity",
                       words[0]));
    if (position < 1 || position > n)
      fail(fmt::format("position {}; the sequence has {} bases, counted from 1", position, n));
    const auto k = static_cast<std::size_t>(position - 1);
    if (given[k]) fail(fmt::format("position {} stands here for the second time", position));
    given[k] = any = true;
    const bool letter = words.size() > 1 && words[1].size() == 1 &&
                        std::isalpha(static_cast<unsigned char>(words[1][0])) != 0;
    const std::size_t at = letter ? 2 : 1;
    if (words.size() > at + 1) fail(fmt::format("'{}' follows the reactivity", words[at + 1]));
    if (words.size() == at || words[at] == "NA" || words[at] == "nan" || words[at] == "NaN") continue;
    if (!parse_whole(words[at], all[k]) || !std::isfinite(all[k]))
      fail(fmt::format("'{}' is no reactivity, a number", words[at]));
  }
  if (!any) throw ParseError({name, 1, 1}, "no position with a reactivity is in the file");
  return all;
}

PseudoEnergies deigan(std::span<const double> reactivities, double slope, double intercept) {
  check(reactivities);
  PseudoEnergies pseudo;
  const double largest = largest_of(reactivities);
  for (std::size_t k = 0; k < reactivities.size(); ++k)
    pseudo.stack.push_back(
        reactivities[k] < 0
            ? 0
            : hundredths(slope * std::log(projected(reactivities[k], largest) + 1) + intercept, k));
  return pseudo;
}

PseudoEnergies zarringhalam(std::span<const double> reactivities, double beta, std::string_view conversion,
                            double unknown) {
  check(reactivities);
  if (!(unknown >= 0 && unknown <= 1))
    throw BadInput(fmt::format("a probability of {} for bases without a reactivity; it is 0 to 1", unknown));
  const Conversion of(conversion, largest_of(reactivities));
  PseudoEnergies pseudo;
  for (std::size_t k = 0; k < reactivities.size(); ++k) {
    const double q = reactivities[k] < 0 ? unknown : of.unpaired(reactivities[k]);
    pseudo.unpaired.push_back(hundredths(beta * std::abs(q - 1), k));
    hundredths(beta * q, k);
    pseudo.paired.push_back(beta * q);
  }
  return pseudo;
}

}  // namespace warploom::fold
