#include "warploom/core/npy.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cstring>
#include <limits>
#include <optional>
#include <utility>

#include "warploom/core/error.hpp"
#include "warploom/core/file.hpp"

// A file is: the magic string, two bytes of version, the length of the header (2 bytes in version 1, else 4),
// the header, the elements. The header is a Python dictionary, padded with spaces so that the elements begin
// at a multiple of 64: {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }

namespace warploom {
namespace {

static_assert(std::endian::native == std::endian::little, "elements are passed on as they lie in the file");

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr std::string_view kTypes = "b1, i1, i2, i4, i8, u1, u2, u4, u8, f2, f4, f8";
constexpr std::size_t kAlignment = 64, kMaxAxes = 64;

/// Bytes of an element; 0 for a type that is not among kTypes.
std::uint64_t element_bytes(std::string_view dtype) {
  const bool known = dtype.size() == 2 && kTypes.find(dtype) != kTypes.npos;
  return known ? static_cast<std::uint64_t>(dtype[1] - '0') : 0;
}

/// Elements times bytes of one; nothing if that does not fit into 64 bits.
std::optional<std::uint64_t> total_bytes(const std::vector<std::uint64_t>& shape, std::uint64_t each) {
  if (std::ranges::count(shape, 0u) > 0) return 0;
  std::uint64_t total = each;
  for (const std::uint64_t extent : shape) {
    if (total > std::numeric_limits<std::uint64_t>::max() / extent) return std::nullopt;
    total *= extent;
  }
  return total;
}

/// Python's spelling of a tuple: (), (3,), (3, 4).
std::string shape_text(const std::vector<std::uint64_t>& shape) {
  std::string text;
  for (const std::uint64_t extent : shape) text += fmt::format("{}{}", text.empty() ? "" : ", ", extent);
  return fmt::format("({}{})", text, shape.size() == 1 ? "," : "");
}

/// Reads the header's dictionary, and nothing else of Python.
class HeaderReader {
 public:
  HeaderReader(std::string_view text, const std::string& name) : text_(text), name_(name) {}

  bool swapped() const { return swapped_; }  ///< big endian
  bool fortran_order() const { return fortran_order_; }

  /// Fills dtype and shape.
  void read(NpyHeader& array) {
    bool descr = false, order = false, shape = false;
    expect('{');
    while (!accept('}')) {
      const std::string_view key = quoted("a key");
      expect(':');
      if (key == "descr" && !descr) {
        array.dtype = type();
        descr = true;
      } else if (key == "fortran_order" && !order) {
        fortran_order_ = truth();
        order = true;
      } else if (key == "shape" && !shape) {
        array.shape = tuple();
        shape = true;
      } else {
        fail(fmt::format("key '{}' is unknown or appears twice", key));
      }
      if (accept(',')) continue;
      expect('}');
      break;
    }
    skip_space();
    if (at_ != text_.size()) fail("text after the dictionary");
    if (!descr || !order || !shape) fail("one of the keys 'descr', 'fortran_order' and 'shape' is missing");
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw BadInput(fmt::format("{}: malformed .npy header: {} (at byte {} of the header)", name_, what, at_));
  }
  void skip_space() {
    while (at_ < text_.size() && std::string_view(" \t\r\n").find(text_[at_]) != std::string_view::npos)
      ++at_;
  }
  bool accept(char c) {
    skip_space();
    if (at_ == text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  void expect(char c) {
    if (!accept(c)) fail(fmt::format("expected '{}'", c));
  }
  std::string_view quoted(std::string_view what) {
    skip_space();
    const char quote = at_ < text_.size() ? text_[at_] : '\0';
    const std::size_t end = text_.find(quote, at_ + 1);
    if ((quote != '\'' && quote != '"') || end == text_.npos)
      fail(fmt::format("expected {} in quotes", what));
    const std::string_view inside = text_.substr(at_ + 1, end - at_ - 1);
    at_ = end + 1;
    return inside;
  }

  std::string type() {
    if (accept('['))
      throw BadInput(
          fmt::format("{}: its elements are structures; the types understood are {}", name_, kTypes));
    const std::string_view text = quoted("a type");
    const std::string_view dtype = text.substr(std::min<std::size_t>(1, text.size()));
    const std::uint64_t bytes = element_bytes(dtype);
    swapped_ = text.starts_with('>') && bytes > 1;
    const bool order_is_good =
        text.starts_with('<') || swapped_ || (bytes == 1 && text.find_first_of("|>=") == 0);
    if (bytes == 0 || !order_is_good)
      throw BadInput(
          fmt::format("{}: its type '{}' is not one of those understood: {}", name_, text, kTypes));
    return std::string(dtype);
  }

  bool truth() {
    skip_space();
    for (const std::string_view word : {"False", "True"}) {
      if (!text_.substr(at_).starts_with(word)) continue;
      at_ += word.size();
      return word == "True";
    }
    fail("expected True or False");
  }

  std::vector<std::uint64_t> tuple() {
    std::vector<std::uint64_t> shape;
    expect('(');
    while (!accept(')')) {
      skip_space();
      std::uint64_t extent = 0;
      const char* begin = text_.data() + at_;
      const auto [end, error] = std::from_chars(begin, text_.data() + text_.size(), extent);
      if (error != std::errc{}) fail("expected the number of elements along an axis, below 2^64");
      if (shape.size() == kMaxAxes) fail(fmt::format("more than {} axes", kMaxAxes));
      at_ += static_cast<std::size_t>(end - begin);
      shape.push_back(extent);
      if (accept(',')) continue;
      if (shape.size() == 1) fail("expected ',': a tuple of one number is written (3,)");
      expect(')');
      break;
    }
    return shape;
  }

  std::string_view text_;
  const std::string& name_;
  std::size_t at_ = 0;
  bool swapped_ = false, fortran_order_ = false;
};

/// The elements in C order and little endian. @param each  bytes of one
void copy_elements(NpyArray& array, const char* from, std::uint64_t each, bool swapped, bool fortran_order) {
  // Along the last axis of C order, elements of Fortran order lie this far apart [elements].
  std::vector<std::uint64_t> stride(array.shape.size(), 1), index(array.shape.size(), 0);
  for (std::size_t k = 1; k < stride.size(); ++k) stride[k] = stride[k - 1] * array.shape[k - 1];
  std::uint64_t at = 0;
  for (std::byte* to = array.data.data(); to != array.data.data() + array.data.size(); to += each) {
    const char* const element = from + each * at;
    for (std::uint64_t b = 0; b < each; ++b)
      to[b] = static_cast<std::byte>(element[swapped ? each - 1 - b : b]);
    if (!fortran_order) {
      ++at;
      continue;
    }
    for (std::size_t k = stride.size(); k-- > 0;) {
      at += stride[k];
      if (++index[k] < array.shape[k]) break;
      at -= stride[k] * std::exchange(index[k], 0);
    }
  }
}

}  // namespace

std::uint64_t NpyArray::count() const {
  std::uint64_t product = 1;
  if (std::ranges::find(shape, 0U) != shape.end()) return 0;
  for (const std::uint64_t extent : shape)
    if (__builtin_mul_overflow(product, extent, &product))
      throw BadInput(
          fmt::format("an array of shape [{}] has more than 2^64 - 1 elements", fmt::join(shape, ", ")));
  return product;
}

NpyHeader parse_npy_header(std::string_view begin, std::uint64_t size, const std::string& name) {
  if (!begin.starts_with(kMagic))
    throw BadInput(fmt::format("{}: no .npy file: it does not begin with '\\x93NUMPY'", name));
  const auto cut_off = [&](std::string_view where) {
    throw BadInput(fmt::format("{}: the file is cut off in {} (it has {} bytes)", name, where, size));
  };
  const auto byte = [&](std::size_t at) { return static_cast<unsigned char>(begin[at]); };
  if (begin.size() < kMagic.size() + 2) cut_off("the version");
  const unsigned major = byte(kMagic.size()), minor = byte(kMagic.size() + 1);
  if (major < 1 || major > 3 || minor != 0)
    throw BadInput(
        fmt::format("{}: .npy format {}.{} is unknown; 1.0, 2.0 and 3.0 are read", name, major, minor));

  const std::size_t length_bytes = major == 1 ? 2 : 4, header_begin = kMagic.size() + 2 + length_bytes;
  if (begin.size() < header_begin) cut_off("the length of the header");
  std::size_t header_bytes = 0;
  for (std::size_t i = 0; i < length_bytes; ++i)
    header_bytes |= std::size_t{byte(kMagic.size() + 2 + i)} << (8 * i);
  if (size < header_begin + header_bytes) cut_off("the header");
  if (begin.size() - header_begin < header_bytes)
    throw BadInput(fmt::format("{}: a .npy header of {} bytes, {} are the limit", name, header_bytes,
                               begin.size() - header_begin));

  NpyHeader array;
  HeaderReader header(begin.substr(header_begin, header_bytes), name);
  header.read(array);
  array.big_endian = header.swapped();
  array.fortran_order = header.fortran_order();
  array.element_bytes = element_bytes(array.dtype);
  array.data_begin = header_begin + header_bytes;
  const std::uint64_t there = size - array.data_begin;
  const std::optional<std::uint64_t> bytes = total_bytes(array.shape, array.element_bytes);
  if (!bytes || *bytes != there)
    throw BadInput(fmt::format("{}: shape {} of {} bytes each needs {} bytes after the header, there are {}",
                               name, shape_text(array.shape), array.element_bytes,
                               bytes ? std::to_string(*bytes) : "more than 2^64", there));
  return array;
}

NpyArray parse_npy(std::string_view content, const std::string& name) {
  NpyHeader header = parse_npy_header(content, content.size(), name);
  const std::string_view data = content.substr(header.data_begin);
  NpyArray array{std::move(header.dtype), std::move(header.shape), {}};
  array.data.resize(data.size());
  if (header.big_endian || header.fortran_order)
    copy_elements(array, data.data(), header.element_bytes, header.big_endian, header.fortran_order);
  else if (!data.empty())
    std::memcpy(array.data.data(), data.data(), data.size());
  return array;
}

std::string format_npy(const NpyArray& array) {
  const std::uint64_t each = element_bytes(array.dtype);
  if (each == 0) throw BadInput(fmt::format(".npy: '{}' is not one of the types {}", array.dtype, kTypes));
  if (total_bytes(array.shape, each) != array.data.size() || array.shape.size() > kMaxAxes)
    throw BadInput(fmt::format(".npy: shape {} of type {} does not fit {} bytes of data",
                               shape_text(array.shape), array.dtype, array.data.size()));
  std::string header = fmt::format("{{'descr': '{}{}', 'fortran_order': False, 'shape': {}, }}",
                                   each == 1 ? '|' : '<', array.dtype, shape_text(array.shape));
  // NumPy keeps room for the first axis to grow to 21 digits, in place, as an array is appended to.
  if (!array.shape.empty()) header.append(21 - std::to_string(array.shape.front()).size(), ' ');
  const std::size_t before = kMagic.size() + 2 + 2 + header.size() + 1;  // the line feed counts
  header.append((kAlignment - before % kAlignment) % kAlignment, ' ');
  header += '\n';

  std::string content(kMagic);
  content += {'\x01', '\x00', static_cast<char>(header.size() & 0xff), static_cast<char>(header.size() >> 8)};
  content += header;
  const std::size_t at = content.size();
  content.resize(at + array.data.size());
  if (!array.data.empty()) std::memcpy(content.data() + at, array.data.data(), array.data.size());
  return content;
}

NpyArray read_npy(const std::filesystem::path& path) { return parse_npy(read_file(path), path.string()); }

void write_npy(const std::filesystem::path& path, const NpyArray& array) {
  write_file_atomically(path, format_npy(array));
}

}  // namespace warploom
