#include "sim/print_format.hpp"

#include <cstdio>
#include <cstring>

namespace warploom::sim {

int print_format(std::string_view format, std::string& out,
                 const std::function<const std::byte*(std::size_t, std::size_t)>& value,
                 const std::function<std::string(Address)>& text) {
  std::size_t offset = 0;
  int count = 0;
  const auto take = [&]<typename T>(T& to) {
    offset = (offset + sizeof(T) - 1) / sizeof(T) * sizeof(T);
    const std::byte* from = value(offset, sizeof(T));
    if (from != nullptr) std::memcpy(&to, from, sizeof(T));
    offset += sizeof(T);
    return from != nullptr;
  };
  const auto print = [&](const std::string& conversion, auto... values) {
    char buffer[1200];  // a width beyond that is cut
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    const int length = std::snprintf(buffer, sizeof buffer, conversion.c_str(), values...);
#pragma GCC diagnostic pop
    if (length > 0)
      out.append(buffer, std::min<std::size_t>(static_cast<std::size_t>(length), sizeof buffer - 1));
  };
  for (std::size_t i = 0; i < format.size(); ++i) {
    if (format[i] != '%') {
      out += format[i];
      continue;
    }
    std::string conversion = "%";
    bool wide = false;
    for (++i; i < format.size() && std::strchr("-+ #0123456789.*hljzt", format[i]) != nullptr; ++i) {
      if (format[i] == '*') {
        int width = 0;
        if (!take(width)) return -1;
        conversion += std::to_string(width);
      } else if (format[i] == 'l' || format[i] == 'j' || format[i] == 'z' || format[i] == 't') {
        wide = true;
      } else if (format[i] != 'h') {
        conversion += format[i];
      }
    }
    if (i == format.size()) return -1;
    const char kind = format[i];
    ++count;
    if (kind == '%') {
      out += '%';
      --count;
    } else if (kind == 's') {
      Address address = 0;
      if (!take(address)) return -1;
      print(conversion + "s", text(address).c_str());
    } else if (kind == 'p') {
      Address address = 0;
      if (!take(address)) return -1;
      print(conversion + "#llx", static_cast<unsigned long long>(address));
    } else if (std::strchr("fFeEgGaA", kind) != nullptr) {
      double number = 0;
      if (!take(number)) return -1;
      print(conversion + kind, number);
    } else if (std::strchr("diuoxXc", kind) != nullptr) {
      if (wide) {
        long long number = 0;
        if (!take(number)) return -1;
        print(conversion + "ll" + kind, number);
      } else {
        int number = 0;
        if (!take(number)) return -1;
        print(conversion + kind, number);
      }
    } else {
      out += conversion + kind;
    }
  }
  return count;
}

}  // namespace warploom::sim
