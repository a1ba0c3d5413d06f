// Initial values of .global and .const variables, read from their declarations.
#include "sim/initialisers.hpp"

#include <fmt/format.h>

#include <bit>
#include <charconv>
#include <cstring>

#include "sim/form.hpp"
#include "warploom/ptx/opcode.hpp"

namespace warploom::sim {

using namespace ptx;

namespace {

class Reader {
 public:
  Reader(const Module& module, const Memory& memory, const Variable& variable, std::span<std::byte> bytes)
      : module_(module), memory_(memory), variable_(variable), bytes_(bytes), type_(type_of(variable.type)) {
    text_ = module.text_of(variable.declaration);
    const std::size_t equals = text_.find('=');
    text_ = equals == std::string_view::npos ? std::string_view() : text_.substr(equals + 1);
  }

  void run() {
    if (text_.empty()) return;
    element_ = std::max<std::size_t>(1, type_bytes(variable_.type));
    value();
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw BadInput(
        fmt::format("{}:{}: initial value of '{}': {}", module_.file, variable_.line, variable_.name, what));
  }

  void space() {
    for (;;) {
      while (!text_.empty() && std::isspace(static_cast<unsigned char>(text_.front())) != 0)
        text_.remove_prefix(1);
      if (text_.starts_with("//")) {
        text_.remove_prefix(std::min(text_.size(), text_.find('\n')));
      } else if (text_.starts_with("/*")) {
        const std::size_t end = text_.find("*/");
        text_.remove_prefix(end == std::string_view::npos ? text_.size() : end + 2);
      } else {
        return;
      }
    }
  }
  bool take(char c) {
    space();
    if (text_.empty() || text_.front() != c) return false;
    text_.remove_prefix(1);
    return true;
  }

  void value() {
    if (take('{')) {
      while (!take('}')) {
        value();
        if (!take(',')) {
          if (!take('}')) fail("expected ',' or '}'");
          return;
        }
      }
      return;
    }
    space();
    if (text_.empty()) fail("it ends early");
    store(scalar());
  }

  std::string_view word() {
    std::size_t n = 0;
    while (n < text_.size() &&
           (std::isalnum(static_cast<unsigned char>(text_[n])) != 0 || text_[n] == '_' || text_[n] == '$' ||
            text_[n] == '.' || ((text_[n] == '-' || text_[n] == '+') && n > 0 && decimal_exponent(n))))
      ++n;
    const std::string_view w = text_.substr(0, n);
    text_.remove_prefix(n);
    return w;
  }
  bool decimal_exponent(std::size_t n) const {
    return (text_[n - 1] == 'e' || text_[n - 1] == 'E') &&
           text_.substr(0, n).find('.') != std::string_view::npos && !text_.starts_with("0x");
  }

  std::uint64_t scalar() {
    const bool negative = take('-');
    space();
    std::string_view w = word();
    if (w.empty())
      fail(fmt::format("'{}' is not a value", text_.substr(0, std::min<std::size_t>(12, text_.size()))));
    const bool number = std::isdigit(static_cast<unsigned char>(w.front())) != 0;
    std::uint64_t v = 0;
    if (!number) {
      v = address(w);
    } else if (w.size() == 10 && (w[1] == 'f' || w[1] == 'F') && w[0] == '0') {
      const auto bits = static_cast<std::uint32_t>(whole(w.substr(2), 16));
      v = type_.bits == 64 ? std::bit_cast<std::uint64_t>(static_cast<double>(std::bit_cast<float>(bits)))
                           : bits;
      if (negative) v ^= type_.bits == 64 ? std::uint64_t{1} << 63 : 0x80000000u;
      return v;
    } else if (w.size() == 18 && (w[1] == 'd' || w[1] == 'D') && w[0] == '0') {
      v = whole(w.substr(2), 16);
      if (type_.bits == 32 && type_.kind == Type::f)
        v = std::bit_cast<std::uint32_t>(static_cast<float>(std::bit_cast<double>(v)));
      return v;
    } else if (type_.kind == Type::f || w.find('.') != std::string_view::npos) {
      double d = 0;
      const auto [end, error] = std::from_chars(w.data(), w.data() + w.size(), d);
      if (error != std::errc{} || end != w.data() + w.size()) fail(fmt::format("'{}' is not a number", w));
      if (negative) d = -d;
      return type_.bits == 64 ? std::bit_cast<std::uint64_t>(d)
                              : std::bit_cast<std::uint32_t>(static_cast<float>(d));
    } else {
      if (w.back() == 'U' || w.back() == 'u') w.remove_suffix(1);
      if (w.starts_with("0x") || w.starts_with("0X"))
        v = whole(w.substr(2), 16);
      else if (w.starts_with("0b") || w.starts_with("0B"))
        v = whole(w.substr(2), 2);
      else if (w.size() > 1 && w[0] == '0')
        v = whole(w.substr(1), 8);
      else
        v = whole(w, 10);
      if (take('(')) {  // 0xFF00(symbol): one byte of an address
        const unsigned shift = v == 0 ? 0 : static_cast<unsigned>(std::countr_zero(v));
        const std::uint64_t mask = v;
        space();
        const std::uint64_t a = address(word());
        if (!take(')')) fail("expected ')'");
        return (a & mask) >> shift;
      }
    }
    return negative ? 0 - v : v;
  }

  std::uint64_t whole(std::string_view digits, int base) const {
    std::uint64_t v = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), v, base);
    if (error != std::errc{} || end != digits.data() + digits.size())
      fail(fmt::format("'{}' is not a number", digits));
    return v;
  }

  std::uint64_t address(std::string_view name) {
    std::uint64_t v = 0;
    if (name == "generic") {
      if (!take('(')) fail("expected '(' after generic");
      space();
      v = named(word());
      if (!take(')')) fail("expected ')'");
    } else {
      v = named(name);
    }
    if (take('+')) {
      space();
      v += scalar();
    } else if (take('-')) {
      space();
      v -= scalar();
    }
    return v;
  }

  std::uint64_t named(std::string_view name) const {
    for (std::uint32_t i = 0; i < module_.variables.size(); ++i)
      if (module_.variables[i].name == name && module_.variables[i].function == kNone)
        if (const Address a = memory_.variable(i); a != 0) return a;
    if (const Function* f = module_.find_function(name); f != nullptr)
      return kFunctionWindow + 16 * static_cast<std::uint64_t>(f - module_.functions.data());
    fail(fmt::format("'{}' has no address", name));
  }

  void store(std::uint64_t v) {
    if (at_ + element_ > bytes_.size())
      fail(fmt::format("more values than its {} bytes hold", bytes_.size()));
    std::memcpy(bytes_.data() + at_, &v, std::min<std::size_t>(element_, 8));
    at_ += element_;
  }

  const Module& module_;
  const Memory& memory_;
  const Variable& variable_;
  std::span<std::byte> bytes_;
  Type type_;
  std::string_view text_;
  std::size_t at_ = 0, element_ = 1;
};

}  // namespace

void initialise(const Module& module, const Memory& memory, const Variable& variable,
                std::span<std::byte> bytes) {
  Reader(module, memory, variable, bytes).run();
}

}  // namespace warploom::sim
