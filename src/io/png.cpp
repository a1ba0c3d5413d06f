#include "warploom/io/png.hpp"

#include <fmt/format.h>
#include <png.h>

#include <algorithm>
#include <bit>
#include <csetjmp>
#include <cstring>
#include <limits>
#include <new>

#include "io/deflate.hpp"
#include "warploom/core/error.hpp"
#include "warploom/core/file.hpp"
#include "warploom/core/memory.hpp"

// libpng leaves its functions by longjmp on an error. A jump over a C++ object with a destructor is
// undefined, so attempt() alone calls setjmp, and what it calls in libpng creates no such object: buffers are
// made between the attempts and belong to the caller.

namespace warploom::io {
namespace {

constexpr std::uint64_t kMaxSamples = std::uint64_t{1} << 31;

struct Stream {
  std::string_view unread;  // while reading
  std::string written;
  char message[128] = "";

  bool attempt(png_structp png, void (*step)(png_structp, png_infop, Stream&), png_infop info) {
    if (setjmp(png_jmpbuf(png)) != 0) return false;
    step(png, info, *this);
    return true;
  }

  png_bytepp rows = nullptr;
  const Picture* picture = nullptr;
};

void on_error(png_structp png, png_const_charp message) {
  auto& stream = *static_cast<Stream*>(png_get_error_ptr(png));
  std::strncpy(stream.message, message, sizeof stream.message - 1);
  png_longjmp(png, 1);
}

void on_warning(png_structp, png_const_charp) {}  // a damaged chunk that is not needed

void on_read(png_structp png, png_bytep to, std::size_t count) {
  auto& unread = static_cast<Stream*>(png_get_io_ptr(png))->unread;
  if (unread.size() < count) png_error(png, "it is cut off");
  std::memcpy(to, unread.data(), count);
  unread.remove_prefix(count);
}

void on_write(png_structp png, png_bytep from, std::size_t count) {
  bool written = true;
  try {
    static_cast<Stream*>(png_get_io_ptr(png))->written.append(reinterpret_cast<const char*>(from), count);
  } catch (const std::bad_alloc&) {
    written = false;
  }
  if (!written) png_error(png, "no memory");
}

struct Reader {
  explicit Reader(Stream& stream)
      : png(png_create_read_struct(PNG_LIBPNG_VER_STRING, &stream, on_error, on_warning)),
        info(png != nullptr ? png_create_info_struct(png) : nullptr) {
    if (info == nullptr) {
      png_destroy_read_struct(&png, nullptr, nullptr);
      throw std::bad_alloc();
    }
    png_set_read_fn(png, &stream, on_read);
  }
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;
  ~Reader() { png_destroy_read_struct(&png, &info, nullptr); }
  png_structp png;
  png_infop info;
};

struct Writer {
  explicit Writer(Stream& stream)
      : png(png_create_write_struct(PNG_LIBPNG_VER_STRING, &stream, on_error, on_warning)),
        info(png != nullptr ? png_create_info_struct(png) : nullptr) {
    if (info == nullptr) {
      png_destroy_write_struct(&png, nullptr);
      throw std::bad_alloc();
    }
    png_set_write_fn(png, &stream, on_write, nullptr);
  }
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;
  ~Writer() { png_destroy_write_struct(&png, &info); }
  png_structp png;
  png_infop info;
};

void swap_if_little_endian(png_structp png) {
  if (std::endian::native == std::endian::little) png_set_swap(png);
}

/// Up to the pixels. Takes no memory by the size that the header states.
void read_header(png_structp png, png_infop info, Stream&) {
  png_set_user_limits(png, PNG_UINT_31_MAX, PNG_UINT_31_MAX);
  png_read_info(png, info);
}

/// Afterwards each pixel is 1 or 3 samples of 8 or 16 bits. Takes memory for two rows.
void start_pixels(png_structp png, png_infop info, Stream&) {
  const int colour = png_get_color_type(png, info), bits = png_get_bit_depth(png, info);
  if (colour == PNG_COLOR_TYPE_PALETTE) png_set_palette_to_rgb(png);
  if (colour == PNG_COLOR_TYPE_GRAY && bits < 8) png_set_expand_gray_1_2_4_to_8(png);
  png_set_strip_alpha(png);
  if (bits == 16) swap_if_little_endian(png);
  png_set_interlace_handling(png);
  png_read_update_info(png, info);
}

void read_pixels(png_structp png, png_infop, Stream& stream) {
  png_read_image(png, stream.rows);
  png_read_end(png, nullptr);
}

void write_all(png_structp png, png_infop info, Stream& stream) {
  const Picture& picture = *stream.picture;
  const bool wide = picture.maximum > 255;
  png_set_user_limits(png, PNG_UINT_31_MAX, PNG_UINT_31_MAX);
  png_set_IHDR(png, info, static_cast<png_uint_32>(picture.width), static_cast<png_uint_32>(picture.height),
               wide ? 16 : 8, picture.channels == 3 ? PNG_COLOR_TYPE_RGB : PNG_COLOR_TYPE_GRAY,
               PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
  png_write_info(png, info);
  if (wide) swap_if_little_endian(png);
  png_write_image(png, stream.rows);
  png_write_end(png, info);
}

std::vector<png_bytep> row_pointers(void* pixels, std::size_t height, std::size_t row_bytes) {
  std::vector<png_bytep> rows(height);
  for (std::size_t y = 0; y < height; ++y) rows[y] = static_cast<png_bytep>(pixels) + y * row_bytes;
  return rows;
}

}  // namespace

Picture parse_png(std::string_view bytes, const std::string& name, std::uint64_t max_bytes) {
  constexpr std::string_view kSignature = "\x89PNG\r\n\x1a\n";
  if (!bytes.starts_with(kSignature))
    throw BadInput(fmt::format("{}: no PNG: it does not begin with 89 'PNG'", name));
  Stream stream{.unread = bytes, .written = {}};
  const auto fail = [&] {
    throw BadInput(fmt::format("{}: cannot read this PNG: {}", name, stream.message));
  };
  const Reader reader(stream);
  if (!stream.attempt(reader.png, read_header, reader.info)) fail();

  const std::uint64_t height = png_get_image_height(reader.png, reader.info),
                      width = png_get_image_width(reader.png, reader.info),
                      stored_row_bytes = png_get_rowbytes(reader.png, reader.info);
  const bool wide = png_get_bit_depth(reader.png, reader.info) == 16;
  Picture picture;
  picture.width = static_cast<std::int64_t>(width);
  picture.height = static_cast<std::int64_t>(height);
  // A palette has colours, alpha goes.
  picture.channels = (png_get_color_type(reader.png, reader.info) & PNG_COLOR_MASK_COLOR) != 0 ? 3 : 1;
  picture.maximum = wide ? 65535 : 255;
  const std::uint64_t samples_a_row = width * static_cast<std::uint64_t>(picture.channels);
  if (samples_a_row > kMaxSamples / height)
    throw BadInput(fmt::format("{}: {} x {} pixels of {} samples are more than the limit of 2^31 samples",
                               name, width, height, picture.channels));
  // Before memory is taken.
  if (stored_row_bytes > kMostExpansion * bytes.size() / height)
    throw BadInput(fmt::format("{}: {} bytes cannot hold {} x {} pixels; it is cut off", name, bytes.size(),
                               width, height));
  const std::uint64_t samples = height * samples_a_row;
  const std::uint64_t needed = samples * (wide ? 2 : 3) + height * sizeof(png_bytep) + 4 * stored_row_bytes;
  if (needed > max_bytes)
    throw BadInput(fmt::format("{}: its {} x {} pixels of {} samples need {} of memory, the limit is {}",
                               name, width, height, picture.channels, bytes_text(needed),
                               bytes_text(max_bytes)));
  require_memory(needed, fmt::format("{}: reading its {} x {} pixels", name, width, height));
  if (!stream.attempt(reader.png, start_pixels, reader.info)) fail();
  const std::uint64_t row_bytes = png_get_rowbytes(reader.png, reader.info);

  picture.data.resize(samples);
  std::vector<png_byte> narrow(wide ? 0 : picture.data.size());
  std::vector<png_bytep> rows =
      row_pointers(wide ? static_cast<void*>(picture.data.data()) : narrow.data(), height, row_bytes);
  stream.rows = rows.data();
  if (!stream.attempt(reader.png, read_pixels, reader.info)) fail();
  std::ranges::copy(narrow, picture.data.begin());
  return picture;
}

Picture read_png(const std::filesystem::path& path, std::uint64_t max_bytes) {
  return parse_png(read_file(path), path.string(), max_bytes);
}

std::string format_png(const Picture& picture) {
  const auto width = static_cast<std::uint64_t>(picture.width),
             height = static_cast<std::uint64_t>(picture.height);
  if (picture.width < 1 || picture.height < 1 || width > PNG_UINT_31_MAX || height > PNG_UINT_31_MAX ||
      (picture.channels != 1 && picture.channels != 3))
    throw BadInput(
        fmt::format("PNG: {} x {} pixels of {} samples; it takes 1 to 2^31 - 1 pixels a side of 1 or 3",
                    picture.width, picture.height, picture.channels));
  if (picture.maximum != 255 && picture.maximum != 65535)
    throw BadInput(fmt::format("PNG: the largest value is {}; it must be 255 or 65535", picture.maximum));
  const std::uint64_t samples_a_row = width * static_cast<std::uint64_t>(picture.channels);
  if (picture.data.size() % samples_a_row != 0 || picture.data.size() / samples_a_row != height)
    throw BadInput(fmt::format("PNG: {} x {} pixels of {} samples do not fit {} samples of data",
                               picture.width, picture.height, picture.channels, picture.data.size()));
  if (const std::uint16_t largest = std::ranges::max(picture.data); largest > picture.maximum)
    throw BadInput(fmt::format("PNG: a sample is {}, above the largest value {}", largest, picture.maximum));

  Stream stream;
  stream.picture = &picture;
  const bool wide = picture.maximum > 255;
  std::vector<png_byte> narrow(wide ? 0 : picture.data.size());
  if (!wide)
    std::ranges::transform(picture.data, narrow.begin(),
                           [](std::uint16_t v) { return static_cast<png_byte>(v); });
  // png_write_image only reads what the rows point to.
  void* pixels = wide ? static_cast<void*>(const_cast<std::uint16_t*>(picture.data.data())) : narrow.data();
  std::vector<png_bytep> rows = row_pointers(pixels, height, samples_a_row * (wide ? 2 : 1));
  stream.rows = rows.data();
  const Writer writer(stream);
  if (!stream.attempt(writer.png, write_all, writer.info))
    throw OutOfMemory(fmt::format("cannot make a PNG of {} x {} pixels: {}", width, height, stream.message));
  return std::move(stream.written);
}

void write_png(const std::filesystem::path& path, const Picture& picture) {
  write_file_atomically(path, format_png(picture));
}

}  // namespace warploom::io
