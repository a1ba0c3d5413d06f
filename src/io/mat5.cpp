#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <new>
#include <utility>

#include "io/mat_arrays.hpp"
#include "io/printable.hpp"
#include "warploom/core/error.hpp"

// A MAT file of versions 5 to 7 is: 128 bytes of header, then elements: type, bytes, content, padded to 8. A
// variable is an element of type 14, perhaps compressed in one of type 15; within it stand its class, sizes,
// name and, as elements again, its numbers by columns, or the fields of a structure. Source: MAT-File Format,
// The MathWorks, R2023a.

namespace warploom::io {
namespace {

constexpr std::uint32_t kMatrix = 14, kCompressed = 15;
constexpr std::uint32_t kCell = 1, kStructure = 2, kDouble = 6, kUint64 = 15;  // classes; 6 to 15 are numbers

class MatFile {
 public:
  MatFile(std::string_view bytes, const std::string& file) : file_(file) {
    if (bytes.size() < 128 || (bytes.substr(126, 2) != "IM" && bytes.substr(126, 2) != "MI"))
      throw BadInput(
          fmt::format("{}: no MAT file of versions 5 to 7: bytes 127 and 128 are not IM or MI; in MATLAB "
                      "save(name, ..., '-v7')",
                      file_));
    swapped_ = bytes.substr(126, 2) == "MI";
    bytes.remove_prefix(128);
    while (!bytes.empty()) {
      const Element element = take(bytes);
      if (element.type == kCompressed) {
        std::string_view content = content_.inflated.emplace_back(inflated(element.bytes));
        if (const Element inner = take(content); inner.type == kMatrix) add(inner.bytes, "", kDeepestMat);
      } else if (element.type == kMatrix) {
        add(element.bytes, "", kDeepestMat);
      }
    }
  }

  MatContent content() && { return std::move(content_); }

 private:
  struct Element {
    std::uint32_t type = 0;
    std::string_view bytes;
  };

  [[noreturn]] void damaged(const std::string& what) const {
    throw BadInput(fmt::format("{}: damaged: {}", file_, what));
  }

  std::uint32_t word(std::string_view bytes, std::size_t at) const {
    std::uint32_t value = 0;
    std::memcpy(&value, bytes.data() + at, sizeof value);
    return swapped_ ? __builtin_bswap32(value) : value;
  }

  Element take(std::string_view& bytes) const {
    if (bytes.size() < 8) damaged("an element is cut off");
    const std::uint32_t first = word(bytes, 0);
    if (first >> 16 != 0) {  // a small one: type and bytes in a word, four bytes of content
      if (first >> 16 > 4) damaged(fmt::format("a small element of {} bytes; 4 are the most", first >> 16));
      const Element element{first & 0xFFFF, bytes.substr(4, first >> 16)};
      bytes.remove_prefix(8);
      return element;
    }
    const std::uint64_t size = word(bytes, 4);
    if (size > bytes.size() - 8)
      damaged(fmt::format("an element of {} bytes, where {} are left", size, bytes.size() - 8));
    const Element element{first, bytes.substr(8, size)};
    const std::uint64_t padded = first == kCompressed ? size : (size + 7) / 8 * 8;
    bytes.remove_prefix(8 + std::min<std::uint64_t>(padded, bytes.size() - 8));
    return element;
  }

  std::string inflated(std::string_view bytes) {
    z_stream stream{};
    if (inflateInit(&stream) != Z_OK) throw std::bad_alloc();
    const std::unique_ptr<z_stream, decltype(&inflateEnd)> owner(&stream, &inflateEnd);
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
    stream.avail_in = static_cast<uInt>(bytes.size());
    std::string out;
    int status = Z_OK;
    while (status == Z_OK) {
      const std::size_t before = out.size();
      out.resize(before + std::clamp<std::size_t>(before, 1 << 14, 1 << 24));
      stream.next_out = reinterpret_cast<Bytef*>(out.data() + before);
      stream.avail_out = static_cast<uInt>(out.size() - before);
      status = inflate(&stream, Z_NO_FLUSH);
      out.resize(out.size() - stream.avail_out);
      content_.hold(out.size() - before, file_);
    }
    if (status != Z_STREAM_END) damaged("a compressed variable cannot be read");
    return out;
  }

  /// A variable, or a field of one.
  void add(std::string_view bytes, const std::string& path, int deeper) {
    if (bytes.empty()) return;  // an empty cell
    const Element flags = take(bytes);
    if (flags.bytes.size() < 8) damaged("a variable without a class");
    const std::uint32_t kind = word(flags.bytes, 0) & 0xFF;
    constexpr std::uint32_t kComplex = 0x0800;
    if (kind > kUint64 || (word(flags.bytes, 0) & kComplex) != 0)
      return;  // functions and objects; complex numbers
    const Element sizes = take(bytes), name = take(bytes);
    const std::string full = path.empty() ? std::string(name.bytes) : path;
    std::vector<std::uint64_t> extents;
    std::uint64_t count = 1;
    for (std::size_t k = 0; k + 4 <= sizes.bytes.size(); k += 4) {
      extents.push_back(word(sizes.bytes, k));
      if (__builtin_mul_overflow(count, extents.back(), &count))
        damaged("a variable of more than 2^64 elements");
    }
    if (extents.size() < 2) damaged("a variable of fewer than two sizes");
    if (kind == kStructure) return add_fields(bytes, full, count, deeper);
    if (kind == kCell) return add_cells(bytes, full, count, deeper);
    if (kind < kDouble) return;  // text, objects, sparse
    const Element content = take(bytes);
    if (count == 0 || (extents.size() > 2 && std::ranges::any_of(extents.begin() + 2, extents.end(),
                                                                 [](std::uint64_t n) { return n != 1; })))
      return;
    const std::size_t each = bytes_of_type(content.type);
    if (each == 0) damaged(fmt::format("numbers of the unknown type {}", content.type));
    if (content.bytes.size() / each < count)
      damaged(fmt::format("'{}' has {} numbers, and holds {}", printable(full), count,
                          content.bytes.size() / each));
    content_.add({full, extents[0], extents[1], content.type, content.bytes, swapped_}, file_);
  }

  void add_inner(std::string_view& bytes, const std::string& path, int deeper) {
    if (deeper == 0) damaged(fmt::format("structures in one another, more than {} deep", kDeepestMat));
    const Element inner = take(bytes);
    if (inner.type != kMatrix) damaged("a field that is no variable");
    add(inner.bytes, path, deeper - 1);
  }

  void add_fields(std::string_view bytes, const std::string& path, std::uint64_t count, int deeper) {
    const Element length = take(bytes), names = take(bytes);
    const std::uint64_t letters = length.bytes.size() < 4 ? 0 : word(length.bytes, 0);
    if (letters == 0) damaged("a structure whose fields have no names");
    const std::uint64_t fields = names.bytes.size() / letters;
    for (std::uint64_t k = 0; k < count && fields > 0; ++k)
      for (std::uint64_t f = 0; f < fields; ++f) {
        const std::string_view padded = names.bytes.substr(f * letters, letters);
        const std::string one = count == 1 ? path : fmt::format("{}({})", path, k + 1);
        add_inner(bytes, fmt::format("{}.{}", one, padded.substr(0, padded.find('\0'))), deeper);
      }
  }
  void add_cells(std::string_view bytes, const std::string& path, std::uint64_t count, int deeper) {
    for (std::uint64_t k = 0; k < count; ++k) add_inner(bytes, fmt::format("{}{{{}}}", path, k + 1), deeper);
  }

  const std::string& file_;
  bool swapped_ = false;
  MatContent content_;
};

}  // namespace

MatContent read_mat5(std::string_view bytes, const std::string& file) {
  return MatFile(bytes, file).content();
}

}  // namespace warploom::io
