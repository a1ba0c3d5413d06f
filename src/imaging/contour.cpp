#include "warploom/imaging/contour.hpp"

#include <fmt/format.h>

#include <utility>

#include "warploom/core/view.hpp"

namespace warploom::imaging {
namespace {

// A line crosses from pixel to pixel where the sign changes. A crossing's number is 2 * pixel for the one
// between a pixel and the next in its row, 2 * pixel + 1 for the one below it.
constexpr std::int64_t kNone = -1;

class Crossings {
 public:
  Crossings(std::span<const float> level_set, std::int64_t nx, std::int64_t ny)
      : level_set_(level_set),
        nx_(nx),
        next_(2 * level_set.size(), kNone),
        has_previous_(2 * level_set.size(), false) {
    for (std::int64_t y = 0; y + 1 < ny; ++y)
      for (std::int64_t x = 0; x + 1 < nx; ++x) join_in_cell(y * nx + x);
  }

  std::vector<Contour> lines() {
    std::vector<Contour> out;
    for (std::size_t c = 0; c < next_.size(); ++c)
      if (next_[c] != kNone && !has_previous_[c]) out.push_back(follow(static_cast<std::int64_t>(c), false));
    for (std::size_t c = 0; c < next_.size(); ++c)
      if (next_[c] != kNone) out.push_back(follow(static_cast<std::int64_t>(c), true));
    return out;
  }

 private:
  float at(std::int64_t pixel) const { return level_set_[static_cast<std::size_t>(pixel)]; }

  // Clockwise round the four pixels from the upper left one. A line leads from a crossing that leaves the
  // inside to one that enters it; the neighbouring cell sees the same crossing the other way round, so lines
  // join.
  void join_in_cell(std::int64_t pixel) {
    const std::array<std::int64_t, 4> corner{pixel, pixel + 1, pixel + nx_ + 1, pixel + nx_};
    const std::array<std::int64_t, 4> crossing{2 * pixel, 2 * (pixel + 1) + 1, 2 * (pixel + nx_),
                                               2 * pixel + 1};
    std::array<bool, 4> inside{};
    float sum = 0;
    int changes = 0;
    for (std::size_t k = 0; k < 4; ++k) inside[k] = at(corner[k]) > 0, sum += at(corner[k]);
    for (std::size_t k = 0; k < 4; ++k) changes += inside[k] != inside[(k + 1) % 4] ? 1 : 0;
    if (changes == 0) return;
    for (std::size_t k = 0; k < 4; ++k) {
      if (!inside[k] || inside[(k + 1) % 4]) continue;
      std::size_t enter = k;
      do enter = changes == 4 && sum <= 0 ? (enter + 3) % 4 : (enter + 1) % 4;
      while (inside[enter] || !inside[(enter + 1) % 4]);
      next_[static_cast<std::size_t>(crossing[k])] = crossing[enter];
      has_previous_[static_cast<std::size_t>(crossing[enter])] = true;
    }
  }

  Contour follow(std::int64_t crossing, bool closed) {
    Contour line{.points = {}, .closed = closed};
    while (crossing != kNone) {
      line.points.push_back(position(crossing));
      crossing = std::exchange(next_[static_cast<std::size_t>(crossing)], kNone);
      if (closed && next_[static_cast<std::size_t>(crossing)] == kNone) break;  // back at the first
    }
    return line;
  }

  std::array<double, 2> position(std::int64_t crossing) const {
    const std::int64_t pixel = crossing / 2;
    const bool down = crossing % 2 == 1;
    const double here = double(at(pixel)), there = double(at(down ? pixel + nx_ : pixel + 1));
    const double share = here / (here - there);
    const double x = static_cast<double>(pixel % nx_), y = static_cast<double>(pixel / nx_);
    return down ? std::array{x, y + share} : std::array{x + share, y};
  }

  std::span<const float> level_set_;
  std::int64_t nx_;
  std::vector<std::int64_t> next_;
  std::vector<bool> has_previous_;
};

}  // namespace

std::vector<Contour> zero_contours(std::span<const float> level_set, std::int64_t nx, std::int64_t ny) {
  if (nx < 1 || ny < 1 || static_cast<std::int64_t>(level_set.size()) != element_count(std::array{nx, ny}))
    throw BadInput(fmt::format("a plane of {} x {} pixels has {} values", nx, ny, level_set.size()));
  return Crossings(level_set, nx, ny).lines();
}

}  // namespace warploom::imaging
