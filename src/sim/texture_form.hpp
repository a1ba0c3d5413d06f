#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "sim/matrix_form.hpp"
#include "sim/step.hpp"
#include "warploom/sim/texture.hpp"

namespace warploom::sim {

/// What an encoded Texture says, as instructions use it.
struct TexturePlan {
  Address address = 0;
  std::array<std::uint32_t, 3> extents{};  ///< 1 where there is no such dimension
  unsigned dimensions = 1;
  std::uint32_t layers = 0, channels = 1;
  std::uint8_t channel_bytes = 4;
  enum Kind : std::uint8_t { unsigned_, signed_, real } kind = real;
  std::array<Texture::Edge, 3> edges{};
  bool linear = false, normalised = false, as_floats = false, surface = false, cube = false;
  std::uint32_t levels = 1;
  bool between_levels = false;

  /// That level of the mipmap.
  TexturePlan level(std::uint32_t number) const;
  std::uint32_t texel_bytes() const { return channels * channel_bytes; }
  Address row(std::uint32_t y, std::uint32_t z, std::uint32_t layer) const {
    return address + ((std::uint64_t{layer} * extents[2] + z) * extents[1] + y) * extents[0] * texel_bytes();
  }
};
/// Of the bytes that encode_texture() made; nothing if they are none.
std::optional<TexturePlan> texture_plan(const std::byte* descriptor);

/// tex, tld4, suld, sust, sured, txq and suq.
struct TextureForm {
  Source handle;
  unsigned dimensions = 1;
  bool layered = false, integer_coordinates = false, cube = false;
  enum Level : std::uint8_t { first, given, by_gradient } level = first;  ///< of a mipmap
  std::array<Source, 6> gradient{};       ///< given: [0]; by_gradient: of x and of y, 3 each
  std::array<Source, 4> coordinates{};    ///< the layer first, where there is one
  std::array<std::uint32_t, 4> values{};  ///< read: registers
  std::array<Source, 4> stored{};         ///< written
  unsigned count = 4, bytes = 4;          ///< values, bytes of one in memory
  unsigned register_bytes = 4;
  bool real = false;  ///< tex: the result is of floats
  bool half = false;  ///< two f16 in a register
  enum Outside : std::uint8_t { trap, clamp, zero } outside = trap;
  unsigned component = 0;  ///< tld4
  enum What : std::uint8_t { width, height, depth, layers, levels } asked = width;
  enum Change : std::uint8_t { add, least, most, and_, or_ } change = add;
  bool is_signed = false;  ///< sured
};

}  // namespace warploom::sim
