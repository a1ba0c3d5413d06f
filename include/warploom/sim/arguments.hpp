#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "warploom/sim/sim.hpp"
#include "warploom/sim/tensor_map.hpp"
#include "warploom/sim/texture.hpp"

/// Launches written as text, as on the command line of `warploom sim` and in the .sim files beside kernels.
namespace warploom::sim {

/// What one --arg says: `i32:64`, `f32:0.5`, `buf:f32:1024:random`, `bytes:8:0a000000ffffffff`.
struct ArgumentText {
  enum class Fill : std::uint8_t { zero, ones, random, range, index, file };
  bool buffer = false;
  std::string type = {};    ///< i8 u8 i16 u16 f16 bf16 i32 u32 f32 i64 u64 f64, or bytes
  std::string value = {};   ///< of a scalar, as written
  std::uint64_t count = 0;  ///< of a buffer: elements
  Fill fill = Fill::zero;
  double low = 0, high = 1;  ///< of random values; integers: both ends included
  std::uint64_t seed = 0;
  std::string path = {};  ///< .npy
  /// The kernel takes a tensor map of the buffer, not its address; its address is not known yet.
  std::optional<TensorMap> tensor = {};
  /// The kernel takes a handle of a texture or surface of the buffer.
  std::optional<Texture> texture = {};

  /// Bytes of the scalar, or of the buffer's contents. Deterministic.
  /// @throws BadInput (value out of range, file missing, .npy of another type or count)
  std::vector<std::byte> bytes() const;
};

/// `TYPE:VALUE`, `bytes:COUNT:HEX`, `tensor:TYPE:EXTENTS:BOX:FILL` (EXTENTS and BOX 64x32, innermost first;
/// behind BOX may stand ,swizzle=32|64|128 ,strides=BYTESxBYTES ,steps=1x2 ,nan; with ,lower=-1x-1
/// ,upper=-1x-1 it is for .im2col and BOX is CHANNELSxPIXELS),
/// `texture:TYPE:EXTENTS:CHANNELS:FILL` or surface (behind CHANNELS ,layers=N ,linear ,normalised ,floats
/// ,wrap ,clamp ,mirror ,border ,cube ,levels=N ,between), or `buf:TYPE:COUNT:FILL` with FILL one of zero,
/// ones, index (0, 1, 2,
/// ...), random (floats in [0, 1), integers over their whole range), random(LOW,HIGH), random(LOW,HIGH,SEED),
/// or the name of a .npy file (COUNT may then be empty). @throws BadInput naming the text and what was
/// expected
ArgumentText parse_argument(std::string_view text);

/// One launch in words: `--kernel NAME --grid X,Y,Z --block X,Y,Z [--cluster X,Y,Z] [--dynamic-shared BYTES]
/// --arg ...`.
struct LaunchText {
  std::string kernel = {};
  Dim grid = {}, block = {}, cluster = {};
  std::uint32_t dynamic_shared = 0;
  std::vector<ArgumentText> arguments = {};
  std::string line = {};  ///< as it was written
};
/// A .sim file: a launch a line, `\` at the end of a line goes on, `#` begins a comment.
/// @throws ParseError with file and line
std::vector<LaunchText> parse_launches(std::string_view text, std::string file);

/// A launch's arguments on a machine: buffers are allocated and filled, in order.
struct Prepared {
  Arguments arguments = {};
  std::vector<Address> buffers = {};  ///< of each argument, 0 where it is a scalar
};
Prepared prepare(Machine& machine, const LaunchText& launch);

}  // namespace warploom::sim
