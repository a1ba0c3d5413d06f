// A bright disk in noise is found.

#include <iostream>
#include <random>
#include <warploom/imaging/contour.hpp>
#include <warploom/imaging/segment.hpp>

int main() {
  using namespace warploom::imaging;
  const Grid grid{.nx = 96, .ny = 64, .nz = 1};
  Image image(grid, 1);
  std::mt19937 random(1);
  std::normal_distribution<float> noise(0, 0.1F);
  for (std::int64_t y = 0; y < grid.ny; ++y)
    for (std::int64_t x = 0; x < grid.nx; ++x) {
      const bool inside = (x - 48) * (x - 48) + (y - 32) * (y - 32) < 20 * 20;
      image.data[static_cast<std::size_t>(y * grid.nx + x)] = (inside ? 1.0F : 0.0F) + noise(random);
    }
  const Segmentation found = segment(image, {.mu = 0.1, .run = {.devices = {warploom::Device::cpu}}});
  const auto contours = zero_contours(found.level_set.data, grid.nx, grid.ny);
  std::cout << "the disk has 1245 pixels; inside are " << found.report.inside << ", around them "
            << contours.size() << " contour" << (contours.size() == 1 ? "" : "s") << "\n";
}
