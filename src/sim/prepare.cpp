#include <fmt/format.h>

#include <span>

#include "sim/host_memory.hpp"
#include "warploom/sim/arguments.hpp"
#include "warploom/sim/element_type.hpp"

namespace warploom::sim {
namespace {

/// A buffer is there up to three times: as it was filled, on the simulated GPU, and, since a launch on
/// several CPU threads may have to be repeated, as it was before the launch. @throws OutOfMemory
void check_memory(const LaunchText& launch) {
  const std::uint64_t most = host_memory() / 3;
  std::uint64_t total = 0;
  for (const ArgumentText& argument : launch.arguments) {
    const ElementType* type = find_element_type(argument.type);
    if (argument.buffer && type == nullptr)
      throw BadInput(
          fmt::format("argument 'buf:{}': '{}' is no type of elements", argument.type, argument.type));
    const std::uint64_t each = argument.buffer ? type->bytes : 0;
    if (each != 0 && argument.count > (most - total) / each)
      throw OutOfMemory(
          fmt::format("the buffers of the launch need more than {} bytes, a third of this machine's memory "
                      "(buf:{} has {} elements); take smaller ones",
                      most, argument.type, argument.count));
    total += each * argument.count;
  }
}

}  // namespace

Prepared prepare(Machine& machine, const LaunchText& launch) {
  check_memory(launch);
  Prepared prepared;
  for (std::size_t i = 0; i < launch.arguments.size(); ++i) {
    const std::vector<std::byte> bytes = launch.arguments[i].bytes();
    Address address = 0;
    if (launch.arguments[i].buffer) {
      address = machine.upload(std::span(bytes), fmt::format("argument {}", i));
      if (std::optional<TensorMap> map = launch.arguments[i].tensor) {
        map->address = address;
        prepared.arguments.add(encode(*map));
      } else if (std::optional<Texture> texture = launch.arguments[i].texture) {
        texture->address = address;
        std::array<std::byte, 128> handle = encode_texture(*texture);
        prepared.arguments.add(
            machine.upload(std::span<std::byte>(handle), fmt::format("handle of argument {}", i)));
      } else {
        prepared.arguments.add(address);
      }
    } else {
      prepared.arguments.add_bytes(bytes);
    }
    prepared.buffers.push_back(address);
  }
  return prepared;
}

}  // namespace warploom::sim
