// Tensor maps: what the host says of a tensor for cp.async.bulk.tensor. A GPU's 128 bytes are not documented;
// ours are our own.
#include "warploom/sim/tensor_map.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "sim/tensor_form.hpp"
#include "warploom/sim/element_type.hpp"

namespace warploom::sim {

namespace {

struct Encoded {
  std::uint64_t magic;
  Address address;
  std::uint32_t extents[5];  // less one
  std::uint16_t box[5];
  std::uint8_t steps[5];
  std::uint8_t rank, element, swizzle, nan, type;
  std::uint64_t strides[4];
  std::int16_t lower[3], upper[3];
  std::uint8_t columns;
};
constexpr std::uint64_t kMagic = 0x70616d2d6d6f6f6c;  // "loom-map"
static_assert(sizeof(Encoded) <= 128);

void require(bool good, const char* member, std::uint64_t value, const char* rule) {
  if (!good) throw BadInput(fmt::format("tensor map: {} is {}; {}", member, value, rule));
}

const ElementType& checked_type(const TensorMap& map) {
  const ElementType* type = find_element_type(map.type);
  if (type == nullptr || map.type == "i8" || map.type == "i16")
    throw BadInput(fmt::format(
        "tensor map: type '{}' is none of u8, u16, u32, u64, i32, i64, f16, bf16, f32 and f64", map.type));
  return *type;
}

/// NaN as a tensor map fills it in, of every type: so measured on an H100.
constexpr std::uint64_t kFilledNaN = 0x7ff77ff77ff77ff7;

}  // namespace

std::uint64_t TensorMap::bytes() const {
  const std::uint64_t element = checked_type(*this).bytes;
  std::uint64_t last = element, dense = element;
  for (std::size_t d = 0; d < extents.size(); ++d) {
    const std::uint64_t stride = d == 0 ? element : d - 1 < strides.size() ? strides[d - 1] : dense;
    std::uint64_t beyond = 0;
    if (__builtin_mul_overflow(std::max<std::uint64_t>(extents[d], 1) - 1, stride, &beyond) ||
        __builtin_add_overflow(last, beyond, &last))
      throw BadInput("tensor map: the tensor has more than 2^64 bytes");
    dense *= extents[d];
  }
  return last;
}

std::array<std::byte, 128> encode(const TensorMap& map) {
  const ElementType& type = checked_type(map);
  const std::size_t rank = map.extents.size();
  require(rank >= 1 && rank <= 5, "the number of dimensions", rank, "1 to 5 are possible");
  std::vector<std::uint32_t> box = map.box;
  if (map.columns) {
    require(rank >= 3, "the number of dimensions", rank, "3 to 5 are possible of .im2col");
    require(map.box.empty(), "the number of extents of its box", map.box.size(), ".im2col has none");
    require(map.columns->lower.size() == rank - 2 && map.columns->upper.size() == rank - 2,
            "the number of places of a corner", map.columns->lower.size(),
            "the dimensions but the first and the last have one");
    require(map.columns->channels >= 1 && map.columns->channels <= 256, "the number of its channels",
            map.columns->channels, "1 to 256 are possible");
    require(map.columns->pixels >= 1 && map.columns->pixels <= 1024, "the number of its pixels",
            map.columns->pixels, "1 to 1024 are possible");
    box.assign(rank, 1);
    box[0] = map.columns->channels;
  }
  require(box.size() == rank, "the number of extents of its box", box.size(), "the tensor has another");
  require(map.strides.empty() || map.strides.size() == rank - 1, "the number of its strides",
          map.strides.size(), "all dimensions but the first have one");
  require(map.steps.empty() || map.steps.size() == rank, "the number of its steps", map.steps.size(),
          "the tensor has another");
  require(map.address % 16 == 0, "its address", map.address, "it must be a multiple of 16");
  Encoded e{};
  e.magic = kMagic;
  e.address = map.address;
  e.rank = static_cast<std::uint8_t>(rank);
  e.element = static_cast<std::uint8_t>(type.bytes);
  e.nan = map.fill_nan ? 1 : 0;
  e.type = static_cast<std::uint8_t>(&type - kElementTypes.data());
  std::uint64_t dense = type.bytes;
  for (std::size_t d = 0; d < rank; ++d) {
    const std::uint64_t extent = map.extents[d];
    require(extent >= 1 && extent <= std::uint64_t{1} << 32, "an extent", extent, "1 to 2^32 are possible");
    e.extents[d] = static_cast<std::uint32_t>(extent - 1);
    if (d > 0) {
      const std::uint64_t stride = map.strides.empty() ? dense : map.strides[d - 1];
      require(stride % 16 == 0 && stride < std::uint64_t{1} << 40, "a stride", stride,
              "it must be a multiple of 16 bytes and less than 2^40");
      e.strides[d - 1] = stride;
    }
    dense *= extent;
    require(box[d] >= 1 && box[d] <= 256, "an extent of its box", box[d], "1 to 256 are possible");
    const std::uint32_t step = map.steps.empty() || d == 0 ? 1 : map.steps[d];
    require(step >= 1 && step <= 8, "a step", step, "1 to 8 are possible");
    e.box[d] = static_cast<std::uint16_t>((box[d] + step - 1) / step);
    e.steps[d] = static_cast<std::uint8_t>(step);
  }
  if (map.columns) {
    e.columns = 1;
    e.box[1] = static_cast<std::uint16_t>(map.columns->pixels);
    const std::int32_t most = rank == 3 ? 32767 : rank == 4 ? 127 : 15;
    for (std::size_t d = 0; d + 2 < rank; ++d) {
      const std::int32_t lower = map.columns->lower[d], upper = map.columns->upper[d];
      for (const std::int32_t corner : {lower, upper})
        if (corner < -most - 1 || corner > most)
          throw BadInput(fmt::format("tensor map: a place of a corner is {}; {} to {} are possible", corner,
                                     -most - 1, most));
      if (static_cast<std::int64_t>(map.extents[d + 1]) - 1 + upper < lower)
        throw BadInput(fmt::format("tensor map: its bounding box, from {} to {} beyond {} pixels, is empty",
                                   lower, upper, map.extents[d + 1]));
      e.lower[d] = static_cast<std::int16_t>(lower);
      e.upper[d] = static_cast<std::int16_t>(upper);
    }
  }
  const std::uint32_t row = box[0] * type.bytes;
  require(row % 16 == 0, "a row of its box in bytes", row, "it must be a multiple of 16");
  require(map.swizzle == 0 || map.swizzle == 32 || map.swizzle == 64 || map.swizzle == 128, "its swizzle",
          map.swizzle, "0, 32, 64 and 128 bytes are possible");
  require(map.swizzle == 0 || row <= map.swizzle, "a row of its box in bytes", row,
          "a swizzled one may have as many as are swizzled");
  require(!map.fill_nan || type.real(), "NaN as its fill", 1, "integers have none");
  e.swizzle = static_cast<std::uint8_t>(map.swizzle);
  static_cast<void>(map.bytes());
  std::array<std::byte, 128> bytes{};
  std::memcpy(bytes.data(), &e, sizeof e);
  return bytes;
}

std::string replace(std::byte* map, TensorField field, std::uint32_t dimension, std::uint64_t value) {
  Encoded e;
  std::memcpy(&e, map, sizeof e);
  if (e.magic != kMagic) return "no tensor map is there";
  const bool of_dimension = field == TensorField::box || field == TensorField::extent ||
                            field == TensorField::stride || field == TensorField::step;
  if (of_dimension && dimension >= (field == TensorField::stride ? 4u : 5u))
    return fmt::format("dimension {} of at most 5", dimension);
  // PTX ISA, tensormap.replace: the codes of elemtype.
  constexpr std::string_view kTypes[] = {"u8",  "u16", "u32", "i32",  "u64", "i64", "f16",
                                         "f32", "f32", "f64", "bf16", "f32", "f32"};
  switch (field) {
    case TensorField::address:
      if (value % 16 != 0) return fmt::format("an address, {:#x}, that is no multiple of 16", value);
      e.address = value;
      break;
    case TensorField::rank:
      if (value > 4) return fmt::format("{} as the number of dimensions less one", value);
      e.rank = static_cast<std::uint8_t>(value + 1);
      break;
    case TensorField::box:
      if (value < 1 || value > 256) return fmt::format("an extent of the box of {}", value);
      e.box[dimension] = static_cast<std::uint16_t>((value + e.steps[dimension] - 1) /
                                                    std::max<std::uint8_t>(e.steps[dimension], 1));
      break;
    case TensorField::extent:
      if (value < 1) return "an extent of 0";
      e.extents[dimension] = static_cast<std::uint32_t>(value - 1);
      break;
    case TensorField::stride:
      if (value % 16 != 0) return fmt::format("a stride of {} bytes, no multiple of 16", value);
      e.strides[dimension] = value;
      break;
    case TensorField::step:
      if (value < 1 || value > 8) return fmt::format("a step of {}", value);
      e.steps[dimension] = static_cast<std::uint8_t>(value);
      break;
    case TensorField::type: {
      if (value >= std::size(kTypes)) return fmt::format("type {} of elements", value);
      const ElementType& type = *find_element_type(kTypes[value]);
      e.element = static_cast<std::uint8_t>(type.bytes);
      e.type = static_cast<std::uint8_t>(&type - kElementTypes.data());
      break;
    }
    case TensorField::interleave:
      if (value != 0) return "interleaved tensors are not simulated";
      break;
    case TensorField::swizzle:
      if (value > 3) return fmt::format("swizzle mode {}", value);
      e.swizzle = static_cast<std::uint8_t>(value == 0 ? 0 : 16u << value);
      break;
    case TensorField::fill:
      e.nan = value != 0 ? 1 : 0;
      break;
  }
  std::memcpy(map, &e, sizeof e);
  return "";
}

std::optional<TensorPlan> tensor_plan(const std::byte* map) {
  Encoded e;
  std::memcpy(&e, map, sizeof e);
  if (e.magic != kMagic) return {};
  TensorPlan plan;
  plan.address = e.address;
  plan.rank = e.rank;
  plan.element = e.element;
  plan.swizzle = e.swizzle;
  plan.fill = e.nan != 0 ? kFilledNaN : 0;
  plan.type = e.type;
  for (unsigned d = 0; d < plan.rank; ++d) {
    plan.extents[d] = std::uint64_t{e.extents[d]} + 1;
    plan.strides[d] = d == 0 ? e.element : e.strides[d - 1];
    plan.box[d] = e.box[d];
    plan.steps[d] = e.steps[d];
  }
  plan.columns = e.columns != 0;
  for (unsigned d = 1; plan.columns && d + 1 < plan.rank; ++d) {
    plan.lower[d] = e.lower[d - 1];
    plan.upper[d] = static_cast<std::int64_t>(plan.extents[d]) - 1 + e.upper[d - 1];
  }
  return plan;
}

std::array<std::int64_t, 5> TensorBox::place(std::uint32_t number) const {
  std::array<std::int64_t, 5> to{};
  if (!plan.columns) {
    for (unsigned d = 1; d < plan.rank; ++d) {
      to[d] = std::int64_t{at[d]} + std::int64_t{number % plan.box[d]} * plan.steps[d];
      number /= plan.box[d];
    }
    return to;
  }
  // Pixel after pixel, as a counter whose digits begin again at the box's lower corner.
  for (unsigned d = 1; d < plan.rank; ++d) to[d] = at[d];
  for (; number > 0; --number)
    for (unsigned d = 1; d < plan.rank; ++d) {
      to[d] += plan.steps[d];
      if (d + 1 == plan.rank || to[d] <= plan.upper[d]) break;
      to[d] = plan.lower[d];
    }
  for (unsigned d = 1; d + 1 < plan.rank; ++d) to[d] += offset[d];
  return to;
}

TensorBox::Row TensorBox::row(std::uint32_t number) const {
  Row row;
  row.address = plan.address;
  const std::array<std::int64_t, 5> places = place(number);
  for (unsigned d = 1; d < plan.rank; ++d) {
    if (places[d] < 0 || static_cast<std::uint64_t>(places[d]) >= plan.extents[d]) return {};
    row.address += static_cast<std::uint64_t>(places[d]) * plan.strides[d];
  }
  const std::int64_t begin = std::max<std::int64_t>(at[0], 0),
                     end = std::min<std::int64_t>(std::int64_t{at[0]} + plan.box[0],
                                                  static_cast<std::int64_t>(plan.extents[0]));
  if (begin >= end) return {};
  row.first = static_cast<std::uint32_t>(begin - at[0]);
  row.count = static_cast<std::uint32_t>(end - begin);
  row.address += static_cast<std::uint64_t>(begin) * plan.element;
  return row;
}

}  // namespace warploom::sim
