// Any text either parses, and then prints as it came and keeps the invariants, or is refused with a
// position inside it.

#include <cstdio>
#include <cstdlib>
#include <string>

#include "ptx/invariants.hpp"
#include "warploom/core/error.hpp"

namespace {

[[noreturn]] void fail(const std::string& what) {
  std::fprintf(stderr, "%s\n", what.c_str());
  std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  namespace ptx = warploom::ptx;
  const std::string text(reinterpret_cast<const char*>(data), size);
  try {
    const ptx::Module module = ptx::parse(text, "fuzz.ptx");
    if (ptx::print(module) != text) fail("the text changed");
    if (const std::string broken = ptx::broken_invariant(module); !broken.empty()) fail(broken);
  } catch (const warploom::ParseError& e) {
    std::size_t line_begin = 0;
    for (unsigned line = 1; line < e.where().line; ++line) {
      line_begin = text.find('\n', line_begin) + 1;
      if (line_begin == 0) fail("the position is past the last line");
    }
    if (e.where().line == 0 || e.where().column == 0 || line_begin + e.where().column - 1 > size)
      fail("the position is outside the text");
  }
  return 0;
}
