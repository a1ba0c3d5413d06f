#include <fmt/format.h>

#include <array>

#include "io/wfdb_header.hpp"
#include "warploom/core/error.hpp"
#include "warploom/core/parse.hpp"

// A file is words of two bytes, the low one first: six bits of code above ten bits of interval since the
// annotation before. Codes from 59 on are no annotations: SKIP is followed by a long interval, AUX by a text
// for the annotation before it, and NUM, SUB and CHN qualify that one. Code 0 with interval 0 ends the file.

namespace warploom::io {
namespace {

constexpr unsigned kNote = 22, kSkip = 59, kNum = 60, kSub = 61, kChannel = 62, kAux = 63;

std::string mnemonic(unsigned code) {
  constexpr std::array<std::string_view, 42> kMnemonics = {
      "",  "N", "L", "R", "a", "V", "F", "J", "A",  "S", "E", "j", "/", "Q",
      "~", "",  "|", "",  "s", "T", "*", "D", "\"", "=", "p", "B", "^", "t",
      "+", "u", "?", "!", "[", "]", "e", "n", "@",  "x", "f", "(", ")", "r"};
  if (code < kMnemonics.size() && !kMnemonics[code].empty()) return std::string(kMnemonics[code]);
  return fmt::format("[{}]", code);
}

class WfdbAnnotationReader {
 public:
  WfdbAnnotationReader(std::string_view bytes, double rate, const std::string& file)
      : bytes_(bytes), rate_(rate), file_(file) {}

  std::vector<Annotation> read() {
    std::vector<Annotation> annotations;
    std::int64_t time = 0;
    unsigned last = 0;
    while (const unsigned word = take_word()) {
      const unsigned code = word >> 10, interval = word & 0x3ff;
      if (code == kSkip) {
        const unsigned high = take_word();
        time += static_cast<std::int32_t>(high << 16 | take_word());
      } else if (code == kAux) {
        const std::string_view text = take(interval & 0xff);
        if (interval % 2 == 1) take(1);
        if (annotations.empty()) fail("a text before any annotation");
        if (last == kNote && time == 0 && text.starts_with(kResolution)) {
          read_resolution(text.substr(kResolution.size()));
          annotations.pop_back();
        } else {
          annotations.back().label += fmt::format(" {}", text.substr(0, text.find('\0')));
        }
        last = 0;
      } else if (code != kNum && code != kSub && code != kChannel) {
        time += interval;
        annotations.push_back({static_cast<double>(time), 0, mnemonic(code)});
        last = code;
      }
    }
    for (Annotation& annotation : annotations) annotation.onset /= rate_;
    return annotations;
  }

 private:
  static constexpr std::string_view kResolution = "## time resolution: ";

  [[noreturn]] void fail(std::string_view what) const {
    throw BadInput(
        fmt::format("{}: {} at byte {}; are these annotations in the MIT format?", file_, what, at_));
  }
  std::string_view take(std::size_t count) {
    if (bytes_.size() - at_ < count) fail("the end of the file");
    at_ += count;
    return bytes_.substr(at_ - count, count);
  }
  unsigned take_word() {
    const std::string_view two = take(2);
    return static_cast<unsigned>(static_cast<unsigned char>(two[1]) << 8 |
                                 static_cast<unsigned char>(two[0]));
  }
  void read_resolution(std::string_view text) {
    text = text.substr(0, text.find_first_of(std::string_view(" \0\n", 3)));
    if (!parse_whole(text, rate_) || !(rate_ > 0)) fail("a time resolution that is no frequency");
  }

  std::string_view bytes_;
  double rate_;
  const std::string& file_;
  std::size_t at_ = 0;
};

}  // namespace

std::vector<Annotation> parse_wfdb_annotations(std::string_view bytes, double rate, const std::string& file) {
  return WfdbAnnotationReader(bytes, rate, file).read();
}

}  // namespace warploom::io
