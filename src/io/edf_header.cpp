#include "io/edf_header.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "io/printable.hpp"
#include "io/words.hpp"
#include "warploom/core/error.hpp"
#include "warploom/core/parse.hpp"

namespace warploom::io {
namespace {

constexpr std::uint64_t kFixed = 256, kPerSignal = 256;  // bytes of the header

constexpr std::string_view kPadding(" \0", 2);

/// ASCII is what the format asks for; "\xB5V" is what is written. Taken for Latin-1.
std::string text_of(std::string_view field) {
  std::string text;
  for (const char c : trimmed(field, kPadding)) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x80) text += static_cast<char>(0xC0 | byte >> 6);
    text += static_cast<char>(byte < 0x80 ? byte : 0x80 | (byte & 0x3F));
  }
  return text;
}

/// Takes fields off the header, one after the other.
class Fields {
 public:
  Fields(std::string_view bytes, const std::string& file) : rest_(bytes), file_(file) {}

  std::string_view text(std::size_t width) {
    const std::string_view field = rest_.substr(0, width);
    rest_.remove_prefix(width);
    return field;
  }
  double real(std::size_t width, const std::string& what) {
    std::string_view field = trimmed(text(width), kPadding);
    const std::string_view whole_field = field;
    if (field.starts_with('+')) field.remove_prefix(1);
    double value = 0;
    if (!parse_whole(field, value) || !std::isfinite(value))
      throw BadInput(fmt::format("{}: the header's {} is '{}', which is no number", file_, what,
                                 printable(whole_field)));
    return value;
  }
  std::int64_t whole(std::size_t width, const std::string& what, std::int64_t least) {
    const double value = real(width, what);  // some write 256.0
    if (value != std::floor(value) || value < static_cast<double>(least) || value > 1e9)
      throw BadInput(fmt::format("{}: the header's {} is {}; it is a whole number, {} or more", file_, what,
                                 value, least));
    return static_cast<std::int64_t>(value);
  }

 private:
  std::string_view rest_;
  const std::string& file_;
};

void check_size(EdfHeader& header, std::int64_t records, std::uint64_t size, const std::string& file) {
  const std::uint64_t held = (size - header.bytes) / header.record_bytes;
  header.records =
      records < 0 ? held : static_cast<std::uint64_t>(records);  // -1: it was still being written
  if (header.records == 0) throw BadInput(fmt::format("{}: no data records", file));
  if (header.records != held)
    throw BadInput(fmt::format("{}: its {} bytes hold {} data records of {} bytes, its header says {}{}",
                               file, size, held, header.record_bytes, header.records,
                               held < header.records ? "; it was cut off" : ""));
}

}  // namespace

EdfHeader read_edf_header(ByteSource& source) {
  const std::string& file = source.name();
  constexpr std::string_view kEdf = "0       ", kBdf =
                                                    "\xFF"
                                                    "BIOSEMI";
  if (source.size() < kFixed)
    throw BadInput(
        fmt::format("{}: {} bytes; the header of EDF and BDF has {}", file, source.size(), kFixed));
  EdfHeader header;
  const std::string fixed_bytes(source.view(0, kFixed));
  Fields fixed(fixed_bytes, file);
  const std::string_view version = fixed.text(8);
  if (version != kEdf && version != kBdf)
    throw BadInput(fmt::format("{}: neither EDF nor BDF: it begins with '{}'", file, printable(version)));
  if (version == kBdf) header.sample_bytes = 3;
  fixed.text(80 + 80 + 8 + 8);  // patient, recording, date, time
  header.bytes = static_cast<std::uint64_t>(fixed.whole(8, "own length", 0));
  const std::string_view kind = fixed.text(44);
  header.discontinuous = kind.starts_with("EDF+D") || kind.starts_with("BDF+D");
  const std::int64_t records = fixed.whole(8, "number of data records", -1);
  header.record_seconds = fixed.real(8, "duration of a data record");
  if (header.record_seconds < 0)
    throw BadInput(fmt::format("{}: data records of {} s", file, header.record_seconds));
  const auto count = static_cast<std::uint64_t>(fixed.whole(4, "number of signals", 1));
  if (header.bytes != kFixed + count * kPerSignal)
    throw BadInput(fmt::format("{}: the header's own length is {}; with {} signals it is {}", file,
                               header.bytes, count, kFixed + count * kPerSignal));

  const std::string signal_bytes(source.view(kFixed, count * kPerSignal));
  Fields fields(signal_bytes, file);
  header.signals.resize(count);
  const auto each = [&](const auto& read) {
    for (std::size_t k = 0; k < count; ++k) read(header.signals[k], fmt::format(" of signal {}", k + 1));
  };
  each([&](EdfSignal& signal, const std::string&) { signal.name = text_of(fields.text(16)); });
  fields.text(count * 80);  // transducers
  each([&](EdfSignal& signal, const std::string&) { signal.unit = text_of(fields.text(8)); });
  each(
      [&](EdfSignal& s, const std::string& of) { s.physical_min = fields.real(8, "physical minimum" + of); });
  each(
      [&](EdfSignal& s, const std::string& of) { s.physical_max = fields.real(8, "physical maximum" + of); });
  each([&](EdfSignal& s, const std::string& of) { s.digital_min = fields.real(8, "digital minimum" + of); });
  each([&](EdfSignal& s, const std::string& of) { s.digital_max = fields.real(8, "digital maximum" + of); });
  fields.text(count * 80);  // filters
  each([&](EdfSignal& signal, const std::string& of) {
    signal.samples = static_cast<std::uint64_t>(fields.whole(8, "number of samples" + of, 1));
    signal.offset = header.record_bytes;
    signal.is_annotation = signal.name == "EDF Annotations" || signal.name == "BDF Annotations";
    header.record_bytes += signal.samples * header.sample_bytes;
  });
  check_size(header, records, source.size(), file);
  return header;
}

EdfTexts parse_edf_texts(std::string_view bytes, const std::string& where) {
  // Lists of texts of one onset: +onset [0x15 duration] 0x14 text 0x14 text 0x14 ... 0, then zeros.
  EdfTexts texts;
  const auto number = [&](std::string_view word) {
    double value = 0;
    if (word.starts_with('+')) word.remove_prefix(1);
    if (!parse_whole(word, value) || !std::isfinite(value))
      throw BadInput(fmt::format("{}: '{}' where a time in seconds is expected", where, printable(word)));
    return value;
  };
  for (bool first = true; !bytes.empty(); first = false) {
    const std::string_view list = bytes.substr(0, bytes.find('\0'));
    bytes.remove_prefix(std::min(list.size() + 1, bytes.size()));
    if (list.empty()) continue;
    std::size_t end = list.find('\x14');
    if (end == list.npos)
      throw BadInput(fmt::format("{}: '{}' is no list of annotations", where, printable(list)));
    const std::string_view times = list.substr(0, end);
    const std::size_t mark = times.find('\x15');
    const double onset = number(times.substr(0, mark));
    const double duration = mark == times.npos ? 0 : number(times.substr(mark + 1));
    if (duration < 0) throw BadInput(fmt::format("{}: an annotation of {} s", where, duration));
    if (first) texts.onset = onset;
    for (std::size_t begin = end + 1; begin < list.size(); begin = end + 1) {
      end = std::min(list.find('\x14', begin), list.size());
      if (end > begin)
        texts.annotations.push_back({onset, duration, std::string(list.substr(begin, end - begin))});
    }
  }
  return texts;
}

}  // namespace warploom::io
