#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <random>
#include <string>
#include <vector>

namespace warploom::tile::test {

/// The text of a loop over steps of one to three stencils between two or three arrays, with another one that
/// nothing writes: neighbours within a reach, domains that differ, sums, conditions, values of iterators.
/// Sizes steps, n and m, at least 8; int, float or double.
class RandomSteps {
 public:
  explicit RandomSteps(std::mt19937& random) : random_(random) {}

  std::string text(const std::string& function) {
    type_ = std::vector<std::string>{"int", "float", "double"}[static_cast<std::size_t>(pick(0, 2))];
    reach_ = pick(0, 3) == 0 ? 2 : 1;
    arrays_ = {"A", "B", "w"};
    if (pick(0, 1)) arrays_.insert(arrays_.begin(), "D");
    const int written = static_cast<int>(arrays_.size()) - 1, stages = pick(1, 3);
    std::vector<std::string> parameters;
    for (const std::string& array : arrays_) parameters.push_back(fmt::format("{} {}[n][m]", type_, array));
    std::string text =
        fmt::format("void {}(int steps, int n, int m, {}) {{\n  for (int t = 0; t < steps; t++) {{\n",
                    function, fmt::join(parameters, ", "));
    int at = pick(0, written - 1);
    for (int s = 0; s < stages; ++s, at = (at + 1) % written) {
      text += loop("i", "n") + loop("j", "m");
      const std::string target = arrays_[static_cast<std::size_t>(at)];
      const std::string own = target + "[i][j]";
      if (pick(0, 3) == 0 && written > 2) {  // a second statement, of what the first one made
        const std::string second = arrays_[static_cast<std::size_t>((at + 1) % written)];
        text +=
            fmt::format("      {{ {} = {};\n        {}[i][j] {} {}; }}\n", own, value(own, {target, second}),
                        second, pick(0, 1) ? "=" : "-=", value(own, {target, second}));
      } else {
        text += fmt::format("      {} {} {};\n", own, pick(0, 3) ? "=" : "+=", value(own, {target}));
      }
    }
    // One that makes neighbours meet, in any case.
    const std::string last = arrays_[static_cast<std::size_t>(at)];
    text += loop("x", "n") + loop("y", "m");
    text += fmt::format("      {}[x][y] = {} + {};\n", last, scaled(near(other({last}), "x", "y")),
                        scaled(near(other({last}), "x", "y")));
    return text + "  }\n}\n";
  }

 private:
  int pick(int least, int most) { return std::uniform_int_distribution<int>(least, most)(random_); }
  std::string loop(const std::string& name, const std::string& size) {
    return fmt::format("    for (int {0} = {1}; {0} < {2} - {3}; {0}++)\n", name, reach_ + pick(0, 2), size,
                       reach_ + pick(0, 2));
  }
  std::string other(const std::vector<std::string>& without) {
    for (;;) {
      const std::string& one =
          arrays_[static_cast<std::size_t>(pick(0, static_cast<int>(arrays_.size()) - 1))];
      if (std::find(without.begin(), without.end(), one) == without.end()) return one;
    }
  }
  std::string near(const std::string& array, const std::string& i, const std::string& j) {
    return fmt::format("{}[{} + {}][{} + {}]", array, i, pick(-reach_, reach_), j, pick(-reach_, reach_));
  }
  std::string scaled(const std::string& element) {
    if (type_ == "int") return fmt::format("{} % {}", element, pick(2, 30));
    return fmt::format(
        "{}{} * {}",
        std::vector<const char*>{"0.25", "-0.125", "0.1875"}[static_cast<std::size_t>(pick(0, 2))],
        type_ == "float" ? "f" : "", element);
  }
  std::string value(const std::string& own, const std::vector<std::string>& written) {
    std::string sum = scaled(near(other(written), "i", "j"));
    for (int k = pick(0, 5); k > 0; --k)
      sum += fmt::format(" {} {}", pick(0, 1) ? "+" : "-", scaled(near(other(written), "i", "j")));
    if (pick(0, 2) == 0) sum += " + " + scaled(own);
    if (pick(0, 2) == 0) sum += pick(0, 1) ? " + i" : " - j";
    if (pick(0, 2) == 0)
      sum = fmt::format("{} < {} ? {} : {}", near(other(written), "i", "j"), own, sum,
                        scaled(near("w", "i", "j")));
    return sum;
  }

  std::mt19937& random_;
  std::string type_;
  int reach_ = 1;
  std::vector<std::string> arrays_;
};

}  // namespace warploom::tile::test
