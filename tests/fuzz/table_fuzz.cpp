// Any text is a table that keeps its promises, or is refused; its integers are those of the same text read as
// floating point, and a list holds what the table holds.

#include <cmath>
#include <limits>
#include <optional>
#include <string_view>

#include "fuzz/require.hpp"
#include "warploom/core/error.hpp"
#include "warploom/io/table.hpp"

namespace {

using warploom::require;
using warploom::io::Table;

template <class Read>
auto attempt(const Read& read) -> std::optional<decltype(read())> {
  try {
    return read();
  } catch (const warploom::BadInput&) {
    return std::nullopt;
  }
}

template <class T>
void check(const Table<T>& t) {
  require(t.rows > 0 && t.columns > 0, "empty");
  require(t.values.size() == static_cast<std::size_t>(t.rows * t.columns), "the count");
  require(t.lines.size() == static_cast<std::size_t>(t.rows), "the lines");
  for (std::size_t row = 1; row < t.lines.size(); ++row)
    require(t.lines[row - 1] < t.lines[row], "the order of lines");
}

bool same(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  namespace io = warploom::io;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto reals = attempt([&] { return io::parse_table<double>(text, "fuzz"); });
  const auto list = attempt([&] { return io::parse_list<double>(text, "fuzz"); });
  constexpr std::int64_t kInfinity = std::int64_t{1} << 61;
  const auto integers = attempt([&] { return io::parse_table<std::int64_t>(text, "fuzz", kInfinity); });
  if (list) check(*list);
  if (reals) {
    check(*reals);
    require(list && list->values.size() == reals->values.size(), "the list's count");
    for (std::size_t k = 0; k < reals->values.size(); ++k)
      require(same(list->values[k], reals->values[k]), "the list's values");
  }
  if (integers) {
    check(*integers);
    require(reals && reals->whole && reals->values.size() == integers->values.size(),
            "integers that are no reals");
    for (std::size_t k = 0; k < integers->values.size(); ++k)
      require(std::isinf(reals->values[k])
                  ? integers->values[k] == (reals->values[k] > 0 ? kInfinity : -kInfinity)
                  : static_cast<double>(integers->values[k]) == reals->values[k],
              "an integer's value");
  }
  return 0;
}
