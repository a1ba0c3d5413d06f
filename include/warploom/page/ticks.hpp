#pragma once

#include <limits>
#include <string>
#include <vector>

namespace warploom::page {

/// 1, 2 or 5 times a power of ten, such that about `parts` of it fill `span`; no number if span or parts is
/// not above 0.
double round_step(double span, double parts);
/// The least of 1, 2, 5, 10, 20, ... that goes into `span` at most `most` times. @throws BadInput (most not
/// above 0)
double least_step(double span, double most);

/// "0.5", "4 k", "1 M"; binary "4 Ki", "1 Mi".
std::string prefixed(double value, bool binary = false);

/// Maps values to [0, 1], linearly or by their logarithm, and puts ticks at round ones.
class Scale {
 public:
  /// Where a scale ends: at the outermost values; at ticks; a little beyond the values.
  enum class Ends { values, ticks, beyond };

  /// @param base   of the logarithm, 2 or 10: ticks are whole powers of it; 0: linear
  /// @param parts  that ticks make, about so many on a linear scale, at most so many on another
  /// @throws BadInput (another base, parts outside [1, 1000], no such end)
  Scale(double base, Ends ends, double parts);

  /// A logarithm is there of numbers above 0 only.
  bool shows(double value) const;
  /// What it does not show is left out.
  void add(double value);
  /// After the last value. @param from_zero  a linear scale that does not end at its values begins at 0
  void close(bool from_zero);

  double at(double value) const { return (scaled(value) - low_) / (high_ - low_); }
  std::vector<double> ticks() const;

 private:
  double scaled(double value) const;

  double base_;
  Ends ends_;
  double parts_, low_ = std::numeric_limits<double>::infinity(), high_ = -low_, step_ = 1;
};

}  // namespace warploom::page
