#include "sim/element_change.hpp"

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "sim/form.hpp"
#include "sim/lane_sets.hpp"
#include "sim/step.hpp"

namespace warploom::sim {

namespace {

template <typename T>
T changed(TensorChange change, T before, T by) {
  switch (change) {
    case TensorChange::add:
      return static_cast<T>(before + by);
    case TensorChange::min:
      return std::min(before, by);
    case TensorChange::max:
      return std::max(before, by);
    default:
      break;
  }
  if constexpr (std::is_unsigned_v<T>) {
    switch (change) {
      case TensorChange::inc:
        return before >= by ? 0 : before + 1;
      case TensorChange::dec:
        return before == 0 || before > by ? by : before - 1;
      case TensorChange::and_:
        return before & by;
      case TensorChange::or_:
        return before | by;
      case TensorChange::xor_:
        return before ^ by;
      default:
        break;
    }
  }
  return by;
}

template <typename T>
bool change_integers(TensorChange change, std::byte* to, const std::byte* by, std::uint32_t count) {
  for (std::uint32_t i = 0; i < count; ++i) {
    T a, b;
    std::memcpy(&a, to + i * sizeof(T), sizeof(T));
    std::memcpy(&b, by + i * sizeof(T), sizeof(T));
    a = changed(change, a, b);
    std::memcpy(to + i * sizeof(T), &a, sizeof(T));
  }
  return true;
}

/// As the instruction of that name does.
bool change_reals(ptx::Op op, std::string_view type, std::byte* to, const std::byte* by,
                  std::uint32_t count) {
  Form form;
  form.op = op;
  form.type = form.from = type_of(type);
  const Handler handler = form.type.bits == 16 ? lanes::half(form) : lanes::floating(form);
  if (handler == nullptr) return false;
  const std::uint32_t bytes = form.type.bytes();
  constexpr std::uint32_t kRegister = kLanes * 8;
  alignas(64) std::byte registers[3 * kRegister] = {};
  Step step;
  step.a = in_registers(0);
  step.b = in_registers(kRegister);
  step.destination = 2 * kRegister;
  Registers r{{registers, nullptr}};
  for (std::uint32_t first = 0; first < count; first += kLanes) {
    const std::size_t some = std::size_t{std::min(count - first, kLanes)} * bytes, at = first * bytes;
    std::memcpy(registers, to + at, some);
    std::memcpy(registers + kRegister, by + at, some);
    handler(r, step, kAllLanes);
    std::memcpy(to + at, registers + 2 * kRegister, some);
  }
  return true;
}

}  // namespace

TensorChange change_of(std::string_view part) {
  constexpr std::pair<std::string_view, TensorChange> kChanges[] = {
      {"add", TensorChange::add}, {"min", TensorChange::min}, {"max", TensorChange::max},
      {"inc", TensorChange::inc}, {"dec", TensorChange::dec}, {"and", TensorChange::and_},
      {"or", TensorChange::or_},  {"xor", TensorChange::xor_}};
  for (const auto& [name, change] : kChanges)
    if (part == name) return change;
  return TensorChange::none;
}

bool change_elements(TensorChange change, std::string_view type, std::byte* to, const std::byte* by,
                     std::uint32_t count) {
  const bool bits =
      change == TensorChange::and_ || change == TensorChange::or_ || change == TensorChange::xor_;
  const bool counts = change == TensorChange::inc || change == TensorChange::dec;
  // Sums wrap, whatever the sign.
  if (type == "u32" || (type == "i32" && (bits || change == TensorChange::add)))
    return change_integers<std::uint32_t>(change, to, by, count);
  if (type == "i32" && !counts) return change_integers<std::int32_t>(change, to, by, count);
  if ((type == "u64" && !counts) || (type == "i64" && (bits || change == TensorChange::add)))
    return change_integers<std::uint64_t>(change, to, by, count);
  if (type == "i64" && !counts) return change_integers<std::int64_t>(change, to, by, count);
  const bool half = type == "f16" || type == "bf16";
  if (change == TensorChange::add && (half || type == "f32" || type == "f64"))
    return change_reals(ptx::Op::add, type, to, by, count);
  if (half && (change == TensorChange::min || change == TensorChange::max))
    return change_reals(change == TensorChange::min ? ptx::Op::min_ : ptx::Op::max_, type, to, by, count);
  return false;
}

}  // namespace warploom::sim
