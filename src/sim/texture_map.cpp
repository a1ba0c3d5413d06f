// What the host says of a texture or surface. A GPU's handles are numbers; ours are addresses of 128 bytes in
// a form of our own.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "sim/texture_form.hpp"
#include "warploom/sim/element_type.hpp"

namespace warploom::sim {

namespace {

struct Encoded {
  std::uint64_t magic;
  Address address;
  std::uint32_t extents[3], layers;
  std::uint8_t channels, channel_bytes, kind, edges[3], linear, normalised, as_floats, surface;
  std::uint8_t cube, levels, between_levels;
};
constexpr std::uint64_t kMagic = 0x7865742d6d6f6f6c;  // "loom-tex"

const ElementType& checked_type(const Texture& texture) {
  const ElementType* type = find_element_type(texture.type);
  if (type == nullptr || type->bytes > 4 || texture.type == "bf16")
    throw BadInput(
        fmt::format("texture: type '{}' is none of u8, i8, u16, i16, u32, i32, f16 and f32", texture.type));
  return *type;
}

void require(bool good, const char* member, std::uint64_t value, const char* rule) {
  if (!good) throw BadInput(fmt::format("texture: {} is {}; {}", member, value, rule));
}

}  // namespace

std::uint64_t Texture::texels() const {
  std::uint64_t all = 0;
  for (std::uint32_t level = 0; level < std::min(levels, 32u); ++level) {
    std::uint64_t n = std::max<std::uint64_t>(layers, 1);
    for (const std::uint32_t extent : extents) n *= std::max<std::uint32_t>(extent >> level, 1);
    all += n;
  }
  return all;
}
std::uint64_t Texture::bytes() const { return texels() * channels * checked_type(*this).bytes; }

std::array<std::byte, 128> encode_texture(const Texture& texture) {
  const ElementType& type = checked_type(texture);
  constexpr std::uint32_t kMost = 1u << 16;
  require(texture.extents[0] >= 1, "its width", texture.extents[0], "1 to 65536 are possible");
  require(texture.extents[1] != 0 || texture.extents[2] == 0, "its depth", texture.extents[2],
          "one without a height has none");
  for (const std::uint32_t extent : texture.extents)
    require(extent <= kMost, "an extent", extent, "65536 are the most");
  require(texture.layers <= 2048, "the number of its layers", texture.layers, "2048 are the most");
  require(texture.layers == 0 || texture.extents[2] == 0, "the number of its layers", texture.layers,
          "one with a depth has none");
  require(texture.channels == 1 || texture.channels == 2 || texture.channels == 4,
          "the number of its channels", texture.channels, "1, 2 and 4 are possible");
  require(!texture.as_floats || (!type.real() && type.bytes < 4),
          "the size of a channel that is read as a float", type.bytes, "integers of 1 and 2 bytes can be");
  require(!texture.cube || (texture.extents[0] == texture.extents[1] && texture.extents[2] == 0 &&
                            texture.layers != 0 && texture.layers % 6 == 0),
          "the number of its layers", texture.layers, "a cube is square and has 6, several a multiple of 6");
  require(!texture.cube || !texture.surface, "a surface", 1, "cubes are read alone");
  const std::uint32_t longest = *std::max_element(texture.extents.begin(), texture.extents.end());
  require(texture.levels >= 1 && (texture.levels == 1 || longest >> (texture.levels - 1) != 0),
          "the number of its levels", texture.levels, "the last has one texel at least");
  require(texture.levels == 1 || !texture.surface, "the number of its levels", texture.levels,
          "a surface has one");
  require(texture.levels == 1 || texture.normalised || texture.cube, "normalised coordinates", 0,
          "several levels need them");
  require(!texture.linear || type.real() || texture.as_floats, "linear filtering", 1,
          "channels that are read as integers have none");
  for (const Texture::Edge edge : texture.edges)
    require(texture.normalised || edge == Texture::Edge::clamp || edge == Texture::Edge::border,
            "normalised coordinates", 0, "wrap and mirror need them");
  Encoded e{};
  e.magic = kMagic;
  e.address = texture.address;
  for (unsigned d = 0; d < 3; ++d) {
    e.extents[d] = texture.extents[d];
    // The faces of a cube end where they end.
    e.edges[d] = static_cast<std::uint8_t>(texture.cube ? Texture::Edge::clamp : texture.edges[d]);
  }
  e.layers = texture.layers;
  e.channels = static_cast<std::uint8_t>(texture.channels);
  e.channel_bytes = static_cast<std::uint8_t>(type.bytes);
  e.kind = type.real() ? TexturePlan::real : type.is_signed ? TexturePlan::signed_ : TexturePlan::unsigned_;
  e.linear = texture.linear ? 1 : 0;
  e.normalised = texture.normalised || texture.cube ? 1 : 0;
  e.as_floats = texture.as_floats ? 1 : 0;
  e.surface = texture.surface ? 1 : 0;
  e.cube = texture.cube ? 1 : 0;
  e.levels = static_cast<std::uint8_t>(texture.levels);
  e.between_levels = texture.between_levels ? 1 : 0;
  std::array<std::byte, 128> bytes{};
  std::memcpy(bytes.data(), &e, sizeof e);
  return bytes;
}

std::optional<TexturePlan> texture_plan(const std::byte* descriptor) {
  Encoded e;
  std::memcpy(&e, descriptor, sizeof e);
  if (e.magic != kMagic) return {};
  TexturePlan plan;
  plan.address = e.address;
  for (unsigned d = 0; d < 3; ++d) {
    plan.extents[d] = std::max<std::uint32_t>(e.extents[d], 1);
    if (e.extents[d] != 0) plan.dimensions = d + 1;
    plan.edges[d] = static_cast<Texture::Edge>(e.edges[d]);
  }
  plan.layers = e.layers;
  plan.channels = e.channels;
  plan.channel_bytes = e.channel_bytes;
  plan.kind = static_cast<TexturePlan::Kind>(e.kind);
  plan.linear = e.linear != 0;
  plan.normalised = e.normalised != 0;
  plan.as_floats = e.as_floats != 0;
  plan.surface = e.surface != 0;
  plan.cube = e.cube != 0;
  plan.levels = e.levels;
  plan.between_levels = e.between_levels != 0;
  return plan;
}

TexturePlan TexturePlan::level(std::uint32_t number) const {
  TexturePlan to = *this;
  for (; number > 0; --number) {
    to.address +=
        std::uint64_t{to.extents[0]} * to.extents[1] * to.extents[2] * std::max(layers, 1u) * texel_bytes();
    for (std::uint32_t& extent : to.extents) extent = std::max(extent >> 1, 1u);
  }
  return to;
}

}  // namespace warploom::sim
