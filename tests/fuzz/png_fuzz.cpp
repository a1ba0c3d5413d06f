// Any bytes are a picture that comes back after it is written, or are refused.

#include <cstddef>
#include <cstdint>

#include "fuzz/require.hpp"
#include "warploom/core/error.hpp"
#include "warploom/io/png.hpp"

using warploom::require;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  namespace io = warploom::io;
  io::Picture picture;
  try {
    picture = io::parse_png({reinterpret_cast<const char*>(data), size}, "fuzz.png");
  } catch (const warploom::BadInput&) {
    return 0;
  }
  require(io::parse_png(io::format_png(picture), "again.png").data == picture.data, "the picture changed");
  return 0;
}
