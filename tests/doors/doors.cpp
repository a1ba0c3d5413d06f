#include "doors/doors.hpp"

namespace warploom::doors {

std::vector<std::string>& covered() {
  static std::vector<std::string> all;
  return all;
}

std::vector<std::string> odd_texts() {
  using namespace std::string_literals;
  return {"",
          " ",
          "\n",
          "\0"s,
          "\0\0\0\0\0\0\0\0"s,
          "\xff\xfe\xfd",
          "\xef\xbb\xbf",
          "-1",
          "nan",
          "1e999",
          "{",
          "[[[[[[[[[[[[[[[[[[[[",
          "\"",
          "%s%n",
          "\x1f\x8b",
          "#",
          "a\n\nb,\"",
          ";;;,,,\n,",
          std::string(100'000, 'x'),
          std::string(5'000, '('),
          "18446744073709551616",
          "-9223372036854775809"};
}

}  // namespace warploom::doors
