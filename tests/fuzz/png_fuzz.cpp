// Any bytes are a picture that comes back after it is written, or are refused.

#include <cstdio>
#include <cstdlib>

#include "warploom/core/error.hpp"
#include "warploom/io/png.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  namespace io = warploom::io;
  io::Picture picture;
  try {
    picture = io::parse_png({reinterpret_cast<const char*>(data), size}, "fuzz.png");
  } catch (const warploom::BadInput&) {
    return 0;
  }
  if (io::parse_png(io::format_png(picture), "again.png").data != picture.data) {
    std::fprintf(stderr, "the picture changed\n");
    std::abort();
  }
  return 0;
}
