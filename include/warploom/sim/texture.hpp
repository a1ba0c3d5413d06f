#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include "warploom/sim/sim.hpp"

namespace warploom::sim {

/// Texels in global memory and how a kernel reads or writes them: what the host gives to cuTexObjectCreate or
/// cuSurfObjectCreate. Texels are dense, x fastest, then y, z, layers, levels of a mipmap; the channels of
/// one lie together. Each level has half of the one before in each dimension, rounded down, 1 at least.
struct Texture {
  enum class Edge : std::uint8_t { wrap, clamp, mirror, border };  ///< what lies outside; border: zeros
  std::string type = "f32";                       ///< of a channel: u8 i8 u16 i16 u32 i32 f16 f32
  Address address = 0;                            ///< of the first texel
  std::array<std::uint32_t, 3> extents{1, 0, 0};  ///< 0: there is no such dimension
  std::uint32_t layers = 0;                       ///< 0: it is not layered
  bool cube = false;            ///< six layers each are the faces +x, -x, +y, -y, +z, -z of a cube; clamped
  std::uint32_t levels = 1;     ///< of a mipmap
  bool between_levels = false;  ///< filtered between two levels; else the nearest one
  std::uint32_t channels = 1;   ///< 1, 2 or 4
  std::array<Edge, 3> edges{Edge::clamp, Edge::clamp, Edge::clamp};
  bool linear = false;      ///< filtered; else the nearest texel
  bool normalised = false;  ///< coordinates run from 0 to 1
  bool as_floats = false;   ///< integers of 8 and 16 bits are read as [0, 1] or [-1, 1]
  bool surface = false;     ///< for suld, sust and sured; else for tex and tld4

  std::uint64_t texels() const;
  std::uint64_t bytes() const;
};

/// The bytes that a handle, a 64-bit parameter of the kernel, is the address of.
/// @throws BadInput naming the member, its value and the limit
std::array<std::byte, 128> encode_texture(const Texture& texture);

}  // namespace warploom::sim
