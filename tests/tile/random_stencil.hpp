#pragma once

#include <fmt/format.h>

#include <random>
#include <string>

namespace warploom::tile::test {

/// The text of one to three statements in two or three loops, most of whose orders are forbidden: each reads
/// elements near to those that were written, some from the other end of the row. Sizes n and m, at least 5.
class RandomStencil {
 public:
  explicit RandomStencil(std::mt19937& random) : random_(random) {}

  std::string text(const std::string& function) {
    std::string text = "void " + function + "(int n, int m, float A[n][m], float B[n][m]) {\n";
    if (pick(0, 1)) text += "  for (int t = 0; t < 3; t++)\n";
    text += loop("i", "n") + loop("j", "m") + "  {\n";
    const int statements = pick(1, 3);
    if (statements == 3) text += "    float s = " + value() + ";\n";
    text += "    A[i][j] = " + value() + (statements == 3 ? " + s" : "") + ";\n";
    if (statements == 2) text += "    B[i][j] = " + value() + ";\n";
    return text + "  }\n}\n";
  }

 private:
  int pick(int least, int most) { return std::uniform_int_distribution<int>(least, most)(random_); }
  std::string loop(const std::string& name, const std::string& size) {
    const int step = pick(0, 4) == 0 ? 2 : 1;
    return pick(0, 3) ? fmt::format("  for (int {0} = 2; {0} < {1} - 2; {0} += {2})\n", name, size, step)
                      : fmt::format("  for (int {0} = {1} - 3; {0} > 1; {0} -= {2})\n", name, size, step);
  }
  std::string near(const std::string& name) { return fmt::format("{} + {}", name, pick(-2, 2)); }
  std::string element() {
    const std::string i = near("i"), j = pick(0, 9) ? near("j") : "m - 1 - j";
    return fmt::format("{}[{}][{}]", pick(0, 2) ? "A" : "B", i, j);
  }
  std::string value() {
    return fmt::format("0.5f * A[i][j - 1] - 0.25f * {} + 0.125f * {}", element(), element());
  }

  std::mt19937& random_;
};

}  // namespace warploom::tile::test
