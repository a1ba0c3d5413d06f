// A picture is moved by a displacement field, which is proved not to fold.

#include <cmath>
#include <iostream>
#include <warploom/registration/folding.hpp>
#include <warploom/registration/resample.hpp>

int main() {
  using namespace warploom::registration;
  const Space space{{.nx = 64, .ny = 48, .nz = 1}, identity_affine()};
  PlacedImage image{warploom::imaging::Image(space.grid, 1), space.to_world};
  DisplacementField field = zero_field(space);  // d(x): x meets x + d(x) of the image
  for (std::size_t v = 0; v < image.image.data.size(); ++v) {
    const auto x = static_cast<double>(v % 64), y = static_cast<double>(v / 64);
    image.image.data[v] = x > 20 && x < 40 && y > 15 && y < 35 ? 1 : 0;
    field.mm[v] = static_cast<float>(3 * std::sin(y / 8));
  }
  const FoldCertificate certificate = certify(field);
  const PlacedImage moved = resample(image, space, {{field}}, Interpolation::nearest);
  int inside = 0;
  for (const float value : moved.image.data) inside += value > 0 ? 1 : 0;
  std::cout << "folding: " << (certificate.proved() ? "none" : "some") << ", smallest determinant "
            << certificate.smallest_determinant << "; " << inside << " pixels are set, 361 were\n";
}
