#include "warploom/sim/arguments.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <new>
#include <optional>

#include "core/doors.hpp"
#include "sim/host_memory.hpp"
#include "warploom/core/npy.hpp"
#include "warploom/core/parse.hpp"
#include "warploom/sim/element_type.hpp"

namespace warploom::sim {
namespace {

constexpr std::string_view kFills =
    "zero, ones, index, random, random(LOW,HIGH), random(LOW,HIGH,SEED) or a file NAME.npy";
constexpr double kExactIntegers = 9007199254740992;  // 2^53: a double holds every integer up to here

std::string type_names() {
  std::string text;
  for (const ElementType& type : kElementTypes)
    text += fmt::format("{}{}", text.empty() ? "" : " ", type.name);
  return text;
}

/// Bits of the nearest value, ties to even, of an IEEE format that is narrower than double.
std::uint64_t narrow_bits(double value, const ElementType& type) {
  const int fraction = type.precision - 1, bias = (1 << (type.exponent_bits - 1)) - 1;
  const std::uint64_t sign = std::uint64_t{std::signbit(value)} << (8 * type.bytes - 1);
  const std::uint64_t infinity = ((std::uint64_t{1} << type.exponent_bits) - 1) << fraction;
  if (std::isnan(value)) return sign | infinity | std::uint64_t{1} << (fraction - 1);
  if (std::isinf(value)) return sign | infinity;
  if (value == 0) return sign;
  int exponent = 0;
  std::frexp(value, &exponent);  // |value| in [0.5, 1) * 2^exponent
  exponent = std::max(exponent - 1, 1 - bias);
  // Counts units of the last place: a carry out of the fraction goes into the exponent by itself.
  const auto units =
      static_cast<std::uint64_t>(std::nearbyint(std::ldexp(std::abs(value), fraction - exponent)));
  const std::uint64_t bits = units + (static_cast<std::uint64_t>(exponent + bias - 1) << fraction);
  return sign | std::min(bits, infinity);
}

std::uint64_t real_bits(double value, const ElementType& type) {
  if (type.bytes == 8) return std::bit_cast<std::uint64_t>(value);
  return narrow_bits(value, type);
}

bool overflows(double value, const ElementType& type) {
  const double above =
      std::ldexp(2.0 - std::ldexp(1.0, -type.precision), (1 << (type.exponent_bits - 1)) - 1);
  return std::isfinite(value) && std::abs(value) >= above;  // rounds to infinity from here on
}

/// The range of an integer type.
std::int64_t least(const ElementType& type) {
  return type.is_signed ? -1 - static_cast<std::int64_t>((std::uint64_t{1} << (8 * type.bytes - 1)) - 1) : 0;
}
std::uint64_t most(const ElementType& type) {
  return ~std::uint64_t{0} >> (64 - 8 * type.bytes + (type.is_signed ? 1 : 0));
}

/// A whole number, decimal or 0x and hexadecimal, that the type holds; nothing otherwise.
std::optional<std::uint64_t> integer_bits(std::string_view text, const ElementType& type) {
  const bool negative = text.starts_with('-');
  if (negative) text.remove_prefix(1);
  const bool hexadecimal = text.starts_with("0x");
  if (hexadecimal) text.remove_prefix(2);
  std::uint64_t magnitude = 0;
  if (!(hexadecimal ? parse_hexadecimal(text, magnitude) : parse_whole(text, magnitude))) return std::nullopt;
  const std::uint64_t furthest = negative ? 0 - static_cast<std::uint64_t>(least(type)) : most(type);
  if (magnitude > furthest) return std::nullopt;
  return negative ? 0 - magnitude : magnitude;
}

std::optional<std::uint64_t> scalar_bits(std::string_view text, const ElementType& type) {
  if (!type.real()) return integer_bits(text, type);
  if (type.bytes == 4) {  // directly: by way of a double it would be rounded twice
    float value = 0;
    if (!parse_whole(text, value)) return std::nullopt;
    return std::bit_cast<std::uint32_t>(value);
  }
  double value = 0;
  if (!parse_whole(text, value) || (type.bytes < 4 && overflows(value, type))) return std::nullopt;
  return real_bits(value, type);
}

void store(std::byte* to, std::uint64_t bits, std::uint32_t bytes) { std::memcpy(to, &bits, bytes); }

/// COUNT:HEX, the bytes in the order of memory; nothing when it is not that.
std::optional<std::vector<std::byte>> hexadecimal_bytes(std::string_view text) {
  const std::size_t colon = text.find(':');
  std::uint64_t count = 0;
  if (colon == text.npos || !parse_whole(text.substr(0, colon), count)) return std::nullopt;
  const std::string_view digits = text.substr(colon + 1);
  if (count == 0 || digits.size() % 2 != 0 || count != digits.size() / 2) return std::nullopt;
  std::vector<std::byte> bytes(count);
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    std::uint8_t value = 0;
    if (!parse_hexadecimal(digits.substr(2 * i, 2), value)) return std::nullopt;
    bytes[i] = std::byte{value};
  }
  return bytes;
}

/// Output number i, from 0, of splitmix64 that starts at `seed` (Steele, Lea, Flood, OOPSLA 2014).
std::uint64_t random_bits(std::uint64_t seed, std::uint64_t i) {
  std::uint64_t z = seed + (i + 1) * 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

/// A multiple of 2^-precision in [0, 1): exact in the type.
double unit(std::uint64_t bits, const ElementType& type) {
  return std::ldexp(static_cast<double>(bits >> (64 - type.precision)), -type.precision);
}

std::uint64_t element_bits(const ArgumentText& of, const ElementType& type, std::uint64_t i) {
  using Fill = ArgumentText::Fill;
  switch (of.fill) {
    case Fill::ones:
      return type.real() ? real_bits(1, type) : 1;
    case Fill::index:
      return type.real() ? real_bits(static_cast<double>(i), type) : i;
    case Fill::random: {
      const std::uint64_t bits = random_bits(of.seed, i);
      return type.real() ? real_bits(unit(bits, type), type) : bits;
    }
    case Fill::range: {
      const std::uint64_t bits = random_bits(of.seed, i);
      // fma: the same bits whether or not a compiler contracts a product and a sum.
      if (type.real()) return real_bits(std::fma(unit(bits, type), of.high - of.low, of.low), type);
      const auto low = static_cast<std::int64_t>(of.low), high = static_cast<std::int64_t>(of.high);
      return static_cast<std::uint64_t>(low) + bits % static_cast<std::uint64_t>(high - low + 1);
    }
    case Fill::zero:
    case Fill::file:
      break;
  }
  return 0;
}

[[noreturn]] void refuse(std::string_view text, const std::string& expected) {
  throw BadInput(fmt::format("argument '{}': {}", text, expected));
}

const ElementType& element_type(std::string_view name, std::string_view text) {
  const ElementType* type = find_element_type(name);
  if (type == nullptr)
    refuse(
        text,
        fmt::format(
            "'{}' is no type; types are {}, and bytes and buf (TYPE:VALUE, bytes:COUNT:HEX, buf:TYPE:COUNT:FILL)",
            name, type_names()));
  return *type;
}

bool holds(double whole, const ElementType& type) {
  return std::abs(whole) <= kExactIntegers && whole >= static_cast<double>(least(type)) &&
         (whole < 0 || static_cast<std::uint64_t>(whole) <= most(type));
}

/// LOW,HIGH or LOW,HIGH,SEED.
void parse_range(ArgumentText& out, std::string_view inside, std::string_view text) {
  const ElementType& type = *find_element_type(out.type);
  const std::size_t comma = inside.find(',');
  const std::size_t second = comma == inside.npos ? comma : inside.find(',', comma + 1);
  const auto bound = [&](std::string_view part, double& value) {
    return parse_whole(part, value) && std::isfinite(value) &&
           (type.real() ? !overflows(value, type) : std::trunc(value) == value && holds(value, type));
  };
  const bool good = comma != inside.npos && bound(inside.substr(0, comma), out.low) &&
                    bound(inside.substr(comma + 1, second - comma - 1), out.high) && out.low <= out.high &&
                    std::isfinite(out.high - out.low) &&
                    (second == inside.npos || parse_whole(inside.substr(second + 1), out.seed));
  if (!good)
    refuse(
        text,
        fmt::format(
            "random({}) is not random(LOW,HIGH) or random(LOW,HIGH,SEED) with {} and a SEED from 0 to 2^64 - 1",
            inside,
            type.real() ? fmt::format("numbers LOW <= HIGH that {} holds", type.name)
                        : fmt::format("whole numbers LOW <= HIGH that {} holds, up to 2^53", type.name)));
}

void parse_fill(ArgumentText& out, std::string_view fill, std::string_view text) {
  using Fill = ArgumentText::Fill;
  if (fill == "zero") {
    out.fill = Fill::zero;
  } else if (fill == "ones") {
    out.fill = Fill::ones;
  } else if (fill == "index") {
    out.fill = Fill::index;
  } else if (fill == "random") {
    out.fill = Fill::random;
  } else if (fill.starts_with("random(") && fill.ends_with(')')) {
    out.fill = Fill::range;
    parse_range(out, fill.substr(7, fill.size() - 8), text);
  } else if (fill.size() > 4 && fill.ends_with(".npy")) {
    out.fill = Fill::file;
    out.path = fill;
  } else {
    refuse(text, fmt::format("'{}' is no fill; fills are {}", fill, kFills));
  }
}

void parse_buffer(ArgumentText& out, std::string_view rest, std::string_view text) {
  const std::size_t first = rest.find(':');
  const std::size_t second = first == rest.npos ? first : rest.find(':', first + 1);
  if (second == rest.npos)
    refuse(text, fmt::format("expected buf:TYPE:COUNT:FILL, where FILL is {}", kFills));
  out.buffer = true;
  out.type = element_type(rest.substr(0, first), text).name;
  parse_fill(out, rest.substr(second + 1), text);
  const std::string_view count = rest.substr(first + 1, second - first - 1);
  if (count.empty() && out.fill == ArgumentText::Fill::file) return;  // the file says it
  if (!parse_whole(count, out.count) || out.count == 0)
    refuse(text, fmt::format(
                     "'{}' is no number of elements, 1 or more{}", count,
                     out.fill == ArgumentText::Fill::file ? " (left empty, the file's count is taken)" : ""));
}

/// Numbers with x in between.
template <typename Number>
bool parse_extents(std::string_view text, std::vector<Number>& out) {
  out.clear();
  for (;;) {
    const std::size_t cross = std::min(text.find('x'), text.size());
    Number value = 0;
    if (!parse_whole(text.substr(0, cross), value)) return false;
    out.push_back(value);
    if (cross == text.size()) return true;
    text.remove_prefix(cross + 1);
  }
}

/// TYPE:EXTENTS:BOX[,OPTION...]:FILL.
void parse_tensor(ArgumentText& out, std::string_view rest, std::string_view text) {
  std::array<std::string_view, 3> fields;
  for (std::string_view& field : fields) {
    const std::size_t colon = rest.find(':');
    if (colon == rest.npos)
      refuse(
          text,
          fmt::format(
              "expected tensor:TYPE:EXTENTS:BOX:FILL, as tensor:f16:256x64:32x8:random, where "
              "behind BOX may stand ,swizzle=32|64|128 ,strides=BYTESx... ,steps=1x2 ,nan (and of .im2col, "
              "whose BOX is CHANNELSxPIXELS, ,lower=-1x-1 ,upper=-1x-1) and FILL is {}",
              kFills));
    field = rest.substr(0, colon);
    rest.remove_prefix(colon + 1);
  }
  TensorMap map;
  out.buffer = true;
  out.type = map.type = element_type(fields[0], text).name;
  std::string_view options = fields[2];
  const std::string_view box = options.substr(0, options.find(','));
  options.remove_prefix(std::min(box.size() + 1, options.size()));
  bool good = parse_extents(fields[1], map.extents) && parse_extents(box, map.box);
  const auto corners = [&]() -> ImageColumns& {
    if (!map.columns) map.columns.emplace();
    return *map.columns;
  };
  while (good && !options.empty()) {
    const std::string_view option = options.substr(0, options.find(','));
    options.remove_prefix(std::min(option.size() + 1, options.size()));
    const std::size_t equals = std::min(option.find('='), option.size());
    const std::string_view name = option.substr(0, equals),
                           value = option.substr(std::min(equals + 1, option.size()));
    if (name == "nan")
      map.fill_nan = value.empty();
    else if (name == "interleave")
      refuse(text, "interleaved tensors are not simulated");
    else
      good = name == "swizzle"   ? parse_whole(value, map.swizzle)
             : name == "strides" ? parse_extents(value, map.strides)
             : name == "steps"   ? parse_extents(value, map.steps)
             : name == "lower"   ? parse_extents(value, corners().lower)
             : name == "upper"   ? parse_extents(value, corners().upper)
                                 : false;
  }
  if (good && map.columns) {
    good = map.box.size() == 2;
    if (good) map.columns->channels = map.box[0], map.columns->pixels = map.box[1];
    map.box.clear();
  }
  if (!good)
    refuse(text,
           "expected EXTENTS:BOX as 256x64:32x8, then ,swizzle=32|64|128 ,strides=BYTESx... ,steps=1x2 or "
           ",nan, or of .im2col EXTENTS:CHANNELSxPIXELS,lower=-1x-1,upper=-1x-1");
  try {
    static_cast<void>(encode(map));
  } catch (const BadInput& error) {
    refuse(text, error.what());
  }
  parse_fill(out, rest, text);
  const std::uint32_t element = find_element_type(out.type)->bytes;
  out.count = (map.bytes() + element - 1) / element;
  out.tensor = std::move(map);
}

/// texture:TYPE:EXTENTS:CHANNELS[,OPTION...]:FILL, or surface.
void parse_texture(ArgumentText& out, std::string_view rest, std::string_view text, bool surface) {
  constexpr std::string_view kForm =
      "expected texture:TYPE:EXTENTS:CHANNELS:FILL or surface:..., as texture:f32:64x32:1,linear,wrap:random, "
      "where behind CHANNELS (1, 2 or 4) may stand ,layers=N and, of a texture, ,linear ,normalised ,floats "
      ",wrap ,clamp ,mirror ,border (of each dimension, if several stand there) ,cube ,levels=N ,between";
  std::array<std::string_view, 3> fields;
  for (std::string_view& field : fields) {
    const std::size_t colon = rest.find(':');
    if (colon == rest.npos) refuse(text, std::string(kForm));
    field = rest.substr(0, colon);
    rest.remove_prefix(colon + 1);
  }
  Texture texture;
  texture.surface = surface;
  out.buffer = true;
  out.type = texture.type = element_type(fields[0], text).name;
  std::vector<std::uint32_t> extents;
  std::string_view options = fields[2];
  const std::string_view channels = options.substr(0, options.find(','));
  options.remove_prefix(std::min(channels.size() + 1, options.size()));
  bool good =
      parse_extents(fields[1], extents) && extents.size() <= 3 && parse_whole(channels, texture.channels);
  texture.extents = {};
  if (good) std::copy(extents.begin(), extents.end(), texture.extents.begin());
  unsigned edges = 0;
  while (good && !options.empty()) {
    const std::string_view option = options.substr(0, options.find(','));
    options.remove_prefix(std::min(option.size() + 1, options.size()));
    constexpr std::pair<std::string_view, Texture::Edge> kEdges[] = {{"wrap", Texture::Edge::wrap},
                                                                     {"clamp", Texture::Edge::clamp},
                                                                     {"mirror", Texture::Edge::mirror},
                                                                     {"border", Texture::Edge::border}};
    const auto edge =
        std::find_if(std::begin(kEdges), std::end(kEdges), [&](auto& e) { return e.first == option; });
    if (option.starts_with("layers=")) {
      good = parse_whole(option.substr(7), texture.layers);
    } else if (surface) {
      good = false;
    } else if (edge != std::end(kEdges)) {
      good = edges < 3;
      if (good) std::fill(texture.edges.begin() + edges++, texture.edges.end(), edge->second);
    } else if (option == "linear") {
      texture.linear = true;
    } else if (option == "cube") {
      texture.cube = true;
    } else if (option.starts_with("levels=")) {
      good = parse_whole(option.substr(7), texture.levels);
    } else if (option == "between") {
      texture.between_levels = true;
    } else if (option == "normalised") {
      texture.normalised = true;
    } else {
      good = option == "floats";
      texture.as_floats = true;
    }
  }
  if (!good) refuse(text, std::string(kForm));
  if (texture.cube && texture.layers == 0) texture.layers = 6;
  try {
    static_cast<void>(encode_texture(texture));
  } catch (const BadInput& error) {
    refuse(text, error.what());
  }
  parse_fill(out, rest, text);
  out.count = texture.texels() * texture.channels;
  out.texture = std::move(texture);
}

/// @throws OutOfMemory before an allocation that would bring the machine down
std::uint64_t buffer_bytes(const ArgumentText& of, const ElementType& type) {
  if (of.count > host_memory() / type.bytes)
    throw OutOfMemory(
        fmt::format("a buffer of {} elements of {} bytes does not fit into this machine's {} bytes of memory",
                    of.count, type.bytes, host_memory()));
  return of.count * type.bytes;
}

std::vector<std::byte> file_bytes(const ArgumentText& of, const ElementType& type) {
  NpyArray array = read_npy(of.path);
  const bool same = array.dtype == type.dtype || (array.dtype == "b1" && type.name == "u8");
  if (!same)
    throw BadInput(fmt::format(
        "{}: its elements are {}, the argument wants {} ({} in NumPy); convert them with a.astype('{}')",
        of.path, array.dtype, of.type, type.dtype, type.dtype));
  const std::uint64_t count = array.count();
  if (count == 0) throw BadInput(fmt::format("{}: it has no elements; a buffer has one or more", of.path));
  if (of.count != 0 && of.count != count)
    throw BadInput(fmt::format(
        "{}: it has {} elements, the argument says {}; give that number or leave it empty (buf:{}::{})",
        of.path, count, of.count, of.type, of.path));
  return std::move(array.data);
}

}  // namespace

std::vector<std::byte> ArgumentText::bytes() const {
  const std::string text = fmt::format("{}:{}", type, value);
  if (!buffer && type == "bytes") {
    std::optional<std::vector<std::byte>> given = hexadecimal_bytes(value);
    if (!given)
      refuse(text, "expected bytes:COUNT:HEX with COUNT bytes, 1 or more, as two hexadecimal digits each");
    return *std::move(given);
  }
  const ElementType& element = element_type(type, buffer ? "buf:" + type : text);
  if (!buffer) {
    const std::optional<std::uint64_t> bits = scalar_bits(value, element);
    if (!bits)
      refuse(text, element.real() ? fmt::format("'{}' is no number that {} holds", value, type)
                                  : fmt::format("'{}' is no whole number (decimal or 0x...) from {} to {}",
                                                value, least(element), most(element)));
    std::vector<std::byte> out(element.bytes);
    store(out.data(), *bits, element.bytes);
    return out;
  }
  at_enumerator(std::array{"zero", "ones", "random", "range", "index", "file"}, fill, "the fill of a buffer");
  if (fill == Fill::range &&
      !(low <= high && std::isfinite(high - low) &&
        (element.real() || (holds(std::trunc(low), element) && holds(std::trunc(high), element)))))
    refuse(text, fmt::format("random values from {} to {}: LOW <= HIGH, both numbers that {} holds", low,
                             high, type));
  if (fill == Fill::file) return file_bytes(*this, element);
  const std::uint64_t size = buffer_bytes(*this, element);
  std::vector<std::byte> out;
  try {
    out.resize(size);
  } catch (const std::bad_alloc&) {
    throw OutOfMemory(
        fmt::format("a buffer of {} {} ({} bytes) does not fit into memory", count, type, size));
  }
  if (fill == Fill::zero) return out;
  for (std::uint64_t i = 0; i < count; ++i)
    store(out.data() + i * element.bytes, element_bits(*this, element, i), element.bytes);
  return out;
}

ArgumentText parse_argument(std::string_view text) {
  ArgumentText out;
  const std::size_t colon = text.find(':');
  if (colon == text.npos)
    refuse(text,
           "expected TYPE:VALUE (i32:64), buf:TYPE:COUNT:FILL (buf:f32:1024:random) or bytes:COUNT:HEX");
  const std::string_view first = text.substr(0, colon), rest = text.substr(colon + 1);
  if (first == "buf") {
    parse_buffer(out, rest, text);
    return out;
  }
  if (first == "tensor") {
    parse_tensor(out, rest, text);
    return out;
  }
  if (first == "texture" || first == "surface") {
    parse_texture(out, rest, text, first == "surface");
    return out;
  }
  if (first != "bytes") element_type(first, text);
  out.type = first;
  out.value = rest;
  static_cast<void>(out.bytes());  // refuses a bad value here, not at the launch
  return out;
}

}  // namespace warploom::sim
