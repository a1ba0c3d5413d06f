#include "warploom/io/nifti.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <new>
#include <optional>
#include <span>
#include <stdexcept>
#include <system_error>

#include "core/doors.hpp"
#include "core/large_pages.hpp"
#include "io/deflate.hpp"
#include "io/nifti_header.hpp"
#include "warploom/core/error.hpp"
#include "warploom/core/file.hpp"
#include "warploom/core/progress.hpp"
#include "warploom/core/threads.hpp"
#include "warploom/core/view.hpp"
#include "warploom/io/gzip.hpp"

namespace warploom::io {
namespace {

constexpr std::uint64_t kElementsAtOnce = 1 << 18;  // elements that a thread converts at a time

template <typename Work>
void for_each_piece(std::uint64_t elements, const Work& work) {
  parallel_for(static_cast<std::int64_t>((elements + kElementsAtOnce - 1) / kElementsAtOnce),
               [&](std::int64_t piece) {
                 check_interrupt();
                 const std::uint64_t begin = static_cast<std::uint64_t>(piece) * kElementsAtOnce;
                 work(begin, std::min(kElementsAtOnce, elements - begin));
               });
}

template <typename Stored>
Stored in_other_order(Stored value) {
  if constexpr (sizeof value == 2)
    return std::bit_cast<Stored>(__builtin_bswap16(std::bit_cast<std::uint16_t>(value)));
  else if constexpr (sizeof value == 4)
    return std::bit_cast<Stored>(__builtin_bswap32(std::bit_cast<std::uint32_t>(value)));
  else if constexpr (sizeof value == 8)
    return std::bit_cast<Stored>(__builtin_bswap64(std::bit_cast<std::uint64_t>(value)));
  else
    return value;
}

/// `stored` and `values` may be the same memory where an element has 4 bytes.
template <typename Stored>
void to_values(const char* stored, std::uint64_t count, const NiftiLayout& layout, float* values) {
  const bool scaled = layout.slope != 1 || layout.intercept != 0;
  for (std::uint64_t i = 0; i < count; ++i) {
    Stored value;
    std::memcpy(&value, stored + i * sizeof value, sizeof value);
    if (layout.swapped) value = in_other_order(value);
    values[i] = scaled ? static_cast<float>(static_cast<double>(value) * layout.slope + layout.intercept)
                       : static_cast<float>(value);
  }
}

template <typename Stored>
void to_stored(const float* values, std::uint64_t count, char* stored) {
  for (std::uint64_t i = 0; i < count; ++i) {
    Stored value;
    if constexpr (std::is_floating_point_v<Stored>) {
      value = values[i];
    } else {
      using Limits = std::numeric_limits<Stored>;
      const double v = values[i];
      constexpr auto kLeast = static_cast<double>(Limits::min()), kMost = static_cast<double>(Limits::max());
      // In double, kMost of 64 bits is one more than the type holds; >= keeps the conversion within it.
      // Adding a half and cutting off rounds as std::round does, which would be a call.
      value = std::isnan(v) ? Stored{0}
              : v <= kLeast ? Limits::min()
              : v >= kMost  ? Limits::max()
                            : static_cast<Stored>(v + std::copysign(0.5, v));
    }
    std::memcpy(stored + i * sizeof value, &value, sizeof value);
  }
}

/// Room for the elements; the parts of a complex one lie side by side.
float* room_for(Nifti& image, std::uint64_t elements) {
  if (!is_complex(image.type)) {
    reserve_in_large_pages(image.data, elements);
    image.data.resize(elements);
    return image.data.data();
  }
  reserve_in_large_pages(image.complex_data, elements);
  image.complex_data.resize(elements);
  return reinterpret_cast<float*>(image.complex_data.data());
}

/// Reads the elements through fetch(offset, to, bytes), which several threads call; `size` bytes are there.
template <typename Fetch>
void read_data(Nifti& image, const NiftiLayout& layout, std::uint64_t size, std::uint64_t max_bytes,
               const std::string& name, const Fetch& fetch) {
  if (size < layout.offset || size - layout.offset < layout.bytes)
    throw BadInput(
        fmt::format("{}: cut off: its header asks for {} bytes of data from byte {} on, it has {} bytes",
                    name, layout.bytes, layout.offset, size));
  const std::uint64_t numbers = layout.elements * parts_of(image.type);
  if (numbers > max_bytes / sizeof(float))
    throw BadInput(fmt::format("{}: its {} elements need {} bytes of memory, the limit is {}", name,
                               layout.elements, numbers * sizeof(float), max_bytes));
  require_memory_for(numbers, sizeof(float), name + ": its elements");
  float* const data = room_for(image, layout.elements);
  with_stored_type(image.type, [&](auto zero) {
    using Stored = decltype(zero);
    for_each_piece(numbers, [&](std::uint64_t begin, std::uint64_t count) {
      const std::uint64_t offset = layout.offset + begin * sizeof(Stored);
      float* values = data + begin;
      if constexpr (std::is_same_v<Stored, float>) {
        char* place = reinterpret_cast<char*>(values);
        fetch(offset, place, count * sizeof(float));
        if (layout.swapped || layout.slope != 1 || layout.intercept != 0)
          to_values<float>(place, count, layout, values);
      } else {
        std::vector<char> stored(count * sizeof(Stored));
        fetch(offset, stored.data(), stored.size());
        to_values<Stored>(stored.data(), count, layout, values);
      }
    });
  });
}

Nifti parse_plain(std::string_view bytes, const std::string& name, std::uint64_t max_bytes,
                  NiftiNumbers numbers) {
  Nifti image;
  const NiftiLayout layout = parse_nifti_header(bytes, name, image, numbers);
  read_data(image, layout, bytes.size(), max_bytes, name,
            [&](std::uint64_t offset, char* to, std::size_t count) {
              std::memcpy(to, bytes.data() + offset, count);
            });
  return image;
}

Nifti read_plain(const InputFile& file, std::string_view head, const std::string& name,
                 std::uint64_t max_bytes, NiftiNumbers numbers) {
  Nifti image;
  const NiftiLayout layout = parse_nifti_header(head, name, image, numbers);
  read_data(image, layout, *file.size(), max_bytes, name,
            [&](std::uint64_t offset, char* to, std::size_t count) {
              if (file.read_at(offset, {to, count}) != count)
                throw BadInput(fmt::format("{}: it became shorter while it was read", name));
            });
  return image;
}

/// What a gzip stream of an image's elements holds, of which no more is unpacked than the header asks for: a
/// few MB may hold GB of zeros.
std::string unpacked(std::string_view bytes, const NiftiLayout& layout, NiftiType type,
                     const std::string& name, std::uint64_t max_bytes) {
  constexpr std::uint64_t kMostBehind = 1 << 20;  // of padding
  const std::uint64_t content = layout.offset + layout.bytes,
                      memory = layout.elements * parts_of(type) * sizeof(float);
  if (memory > max_bytes || content > max_bytes || content + memory > max_bytes)
    throw BadInput(fmt::format("{}: its {} elements need {} of memory and {} to unpack them, the limit is {}",
                               name, layout.elements, bytes_text(memory), bytes_text(content),
                               bytes_text(max_bytes)));
  if (content / kMostExpansion > bytes.size())
    throw BadInput(fmt::format("{}: cut off: its header asks for {} bytes, which {} of gzip cannot hold",
                               name, content, bytes.size()));
  require_memory_for(content + memory, 1, name + ": its elements and their unpacking");
  return gunzip(bytes, name, content + kMostBehind, content);
}

Nifti parse_packed(std::string_view bytes, const std::string& name, std::uint64_t max_bytes,
                   NiftiNumbers numbers) {
  Nifti image;
  const NiftiLayout layout =
      parse_nifti_header(gunzip_head(bytes, name, kMaxNiftiHeaderBytes), name, image, numbers);
  return parse_plain(unpacked(bytes, layout, image.type, name, max_bytes), name, max_bytes, numbers);
}

/// The files of an image in two.
struct NiftiPair {
  std::filesystem::path header, data;
};

/// By the path of either; none where the name ends otherwise. The other file may be compressed or not,
/// whatever this one is.
std::optional<NiftiPair> pair_of(const std::filesystem::path& path) {
  std::string stem = path.string();
  if (stem.ends_with(".gz")) stem.resize(stem.size() - 3);
  const bool header = stem.ends_with(".hdr");
  if (!header && !stem.ends_with(".img")) return std::nullopt;
  const std::filesystem::path other = stem.substr(0, stem.size() - 4) + (header ? ".img" : ".hdr");
  std::filesystem::path packed = other;
  packed += ".gz";
  std::error_code ignored;
  const bool plain = std::filesystem::exists(other, ignored);
  if (!plain && !std::filesystem::exists(packed, ignored))
    throw BadInput(fmt::format("{}: one of an image's two files; the other, {}, is not there", path.string(),
                               other.string()));
  return header ? NiftiPair{path, plain ? other : packed} : NiftiPair{plain ? other : packed, path};
}

Nifti read_pair(const NiftiPair& pair, std::uint64_t max_bytes, NiftiNumbers numbers) {
  const std::string header_name = pair.header.string(), name = pair.data.string();
  std::string head = read_file(pair.header, max_bytes);
  if (is_gzip(head)) head = gunzip_head(head, header_name, kMaxNiftiHeaderBytes);
  Nifti image;
  const NiftiLayout layout = parse_nifti_header(head, header_name, image, numbers, NiftiData::other_file);
  std::string bytes = read_file(pair.data, max_bytes);
  if (is_gzip(bytes)) bytes = unpacked(bytes, layout, image.type, name, max_bytes);
  read_data(image, layout, bytes.size(), max_bytes, name,
            [&](std::uint64_t offset, char* to, std::size_t count) {
              std::memcpy(to, bytes.data() + offset, count);
            });
  return image;
}

template <typename Read>
Nifti within_memory(const std::string& name, const Read& read) {
  try {
    return read();
  } catch (const std::bad_alloc&) {
  } catch (const std::length_error&) {
  }
  throw OutOfMemory(fmt::format("{}: the image does not fit into memory", name));
}

/// The numbers of the elements, two of a complex one.
std::span<const float> numbers_of(const Nifti& image) {
  if (!is_complex(image.type)) return image.data;
  return {reinterpret_cast<const float*>(image.complex_data.data()), 2 * image.complex_data.size()};
}

/// Do they lie in a file as they do in memory?
bool stored_as_they_are(const Nifti& image) {
  return image.type == NiftiType::float32 || image.type == NiftiType::complex64;
}

/// The elements as they lie in a file; nothing where they are that already.
std::string stored_elements(const Nifti& image) {
  std::string bytes;
  if (stored_as_they_are(image)) return bytes;
  const std::span<const float> numbers = numbers_of(image);
  with_stored_type(image.type, [&](auto zero) {
    using Stored = decltype(zero);
    bytes.resize(numbers.size() * sizeof(Stored));
    for_each_piece(numbers.size(), [&](std::uint64_t begin, std::uint64_t count) {
      to_stored<Stored>(numbers.data() + begin, count, bytes.data() + begin * sizeof(Stored));
    });
  });
  return bytes;
}

}  // namespace

double determinant(const Affine& m) {
  return m[0][0] * (m[1][1] * m[2][2] - m[1][2] * m[2][1]) -
         m[0][1] * (m[1][0] * m[2][2] - m[1][2] * m[2][0]) +
         m[0][2] * (m[1][0] * m[2][1] - m[1][1] * m[2][0]);
}

Affine unplaced_affine(const std::vector<std::int64_t>& shape, const std::array<double, 3>& spacing) {
  Affine affine{};
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const double step = axis == 0 ? -spacing[axis] : spacing[axis];
    const std::int64_t extent = axis < shape.size() ? shape[axis] : 1;
    affine[axis][axis] = step;
    affine[axis][3] = -step * static_cast<double>(extent - 1) / 2;
  }
  return affine;
}

std::int64_t Nifti::elements() const { return element_count(shape); }

bool is_complex(NiftiType type) { return type == NiftiType::complex64 || type == NiftiType::complex128; }

Nifti parse_nifti(std::string_view bytes, const std::string& name, std::uint64_t max_bytes,
                  NiftiNumbers numbers) {
  return within_memory(name, [&] {
    if (is_gzip(bytes)) return parse_packed(bytes, name, max_bytes, numbers);
    return parse_plain(bytes, name, max_bytes, numbers);
  });
}

Nifti read_nifti(const std::filesystem::path& path, std::uint64_t max_bytes, NiftiNumbers numbers) {
  const std::string name = path.string();
  if (const auto pair = pair_of(path))
    return within_memory(name, [&] { return read_pair(*pair, max_bytes, numbers); });
  const InputFile file(path);
  if (!file.size()) return parse_nifti(file.contents(max_bytes), name, max_bytes, numbers);
  std::string head(kMaxNiftiHeaderBytes, '\0');
  head.resize(file.read_at(0, head));
  if (is_gzip(head)) return parse_nifti(file.contents(max_bytes), name, max_bytes, numbers);
  return within_memory(name, [&] { return read_plain(file, head, name, max_bytes, numbers); });
}

void write_nifti(const std::filesystem::path& path, const Nifti& image, const NiftiWriteOptions& options) {
  const std::string name = path.filename().string();
  const bool compressed = name.ends_with(".nii.gz");
  if (!compressed && !name.ends_with(".nii"))
    throw BadInput(fmt::format("{}: its name must end in .nii or .nii.gz", path.string()));
  if (options.compression < 1 || options.compression > 12)
    throw BadInput(fmt::format("compression level {}; it must be 1 to 12", options.compression));
  std::string header = format_nifti_header(image, path.string());
  const std::string converted = stored_elements(image);
  std::string_view data = converted;
  if (stored_as_they_are(image)) {
    const std::span<const float> numbers = numbers_of(image);
    data = {reinterpret_cast<const char*>(numbers.data()), numbers.size_bytes()};
  }
  if (!compressed) {
    const std::string_view pieces[] = {header, data};
    return write_file_atomically(path, pieces);
  }
  // A stream may follow a stream: so that no copy of all data behind the header is needed. The first has
  // data, too, a member full: programs in browsers read one member alone, and the header by itself is no
  // image to them.
  constexpr std::size_t kMember = 1 << 20;
  const std::string_view first = data.substr(0, kMember - header.size());
  const std::string streams[] = {
      gzip(header.append(first), options.compression),
      first.size() < data.size() ? gzip(data.substr(first.size()), options.compression) : ""};
  const std::string_view pieces[] = {streams[0], streams[1]};
  write_file_atomically(path, pieces);
}

}  // namespace warploom::io
