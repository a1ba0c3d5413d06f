// gpu_test_reuse [MANIFEST]: every kernel of the manifest, in every variant, on sizes that no tile divides.
// Each element of each result must be within the reference's bound, and every variant must give the
// original's bits. Exit code 0, or 1 with one line for each failure; small enough for compute-sanitizer.
#include <cstdio>
#include <cstring>
#include <exception>

#include "gpu_problem.hpp"

namespace warploom::bench {
namespace {

bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

/// The number of failures.
int test(const ManifestKernel& shape) {
  int failures = 0, runs = 0;
  for (const Kernel::Extent size :
       {Kernel::Extent{1, 1, 1}, {5, 3, 2}, {17, 16, 5}, {33, 50, 9}, {64, 31, 19}}) {
    const auto problem = Problem::make(shape.family, size);
    const auto original = problem->run(Kernel(shape.modules.at("original"), shape.name), shape);
    for (const auto& [variant, path] : shape.modules) {
      const auto results = problem->run(Kernel(path, shape.name), shape);
      const double error = problem->worst_error(results);
      const bool equal = same_bits(results, original);
      ++runs;
      if (error <= 1 && equal) continue;
      ++failures;
      std::printf("FAIL %s %s at %dx%dx%d: error %g of its bound, bits %s the original's\n",
                  shape.name.c_str(), variant.c_str(), size.x, size.y, size.z, error,
                  equal ? "equal" : "differ from");
    }
  }
  std::printf("%s %s: %d runs, %d failures\n", failures ? "FAIL" : "ok  ", shape.name.c_str(), runs,
              failures);
  return failures;
}

}  // namespace
}  // namespace warploom::bench

int main(int argc, char** argv) {
  if (argc > 2) {
    std::fprintf(stderr, "usage: gpu_test_reuse [MANIFEST]\n");
    return 2;
  }
  try {
    const warploom::bench::Gpu gpu;
    int failures = 0;
    const std::string manifest = argc > 1 ? argv[1] : warploom::bench::default_manifest();
    for (const auto& kernel : warploom::bench::read_manifest(manifest))
      failures += warploom::bench::test(kernel);
    return failures ? 1 : 0;
  } catch (const std::exception& e) {
    std::fprintf(stderr, "gpu_test_reuse: %s\n", e.what());
    return 1;
  }
}
