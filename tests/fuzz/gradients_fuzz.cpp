// Any two texts, parted by a form feed, are gradients that keep their promises, or are refused; the first
// text alone is tried as an MRtrix table. As many volumes are asked for as the first byte says.

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <string>
#include <string_view>

#include "fuzz/require.hpp"
#include "warploom/core/error.hpp"
#include "warploom/io/gradients.hpp"

namespace {

using warploom::require;

// A file in memory, for functions that take a path.
class MemoryFile {
 public:
  explicit MemoryFile(std::string_view content) : descriptor_(memfd_create("fuzz", 0)) {
    if (write(descriptor_, content.data(), content.size()) != static_cast<ssize_t>(content.size()))
      std::abort();
  }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;
  ~MemoryFile() { close(descriptor_); }
  std::string path() const { return "/proc/self/fd/" + std::to_string(descriptor_); }

 private:
  int descriptor_;
};

void check(const warploom::io::Gradients& gradients, std::size_t volumes) {
  require(gradients.b.size() == volumes && gradients.directions.size() == volumes, "the count");
  for (std::size_t v = 0; v < volumes; ++v) {
    const auto& d = gradients.directions[v];
    const double length = std::sqrt(d[0] * d[0] + d[1] * d[1] + d[2] * d[2]);
    require(gradients.b[v] >= 0 && std::isfinite(gradients.b[v]), "a bad b");
    require(length == 0 || std::abs(length - 1) < 1e-12, "a direction that is no unit vector");
  }
}

template <typename Read>
void try_to(const Read& read, std::size_t volumes) {
  try {
    check(read(), volumes);
  } catch (const warploom::BadInput&) {
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  namespace io = warploom::io;
  if (size == 0) return 0;
  const auto volumes = static_cast<std::size_t>(data[0] - '0') % 16;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  const std::size_t middle = std::min(text.find('\f'), text.size());
  const MemoryFile first(text.substr(0, middle)), second(text.substr(std::min(middle + 1, text.size())));
  const auto count = static_cast<std::int64_t>(volumes);
  try_to([&] { return io::read_fsl_gradients(first.path(), second.path(), count); }, volumes);
  try_to([&] { return io::read_mrtrix_gradients(first.path(), count); }, volumes);
  return 0;
}
