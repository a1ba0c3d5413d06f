#include "sim/memory.hpp"

#include <fmt/format.h>

#include <cstring>
#include <new>

#include "core/doors.hpp"
#include "sim/block.hpp"
#include "warploom/core/demangle.hpp"

namespace warploom::sim {

Allocation& Memory::allocate(std::uint64_t bytes, std::string label, bool constant) {
  constexpr std::uint64_t kPage = std::uint64_t{1} << kPageShift;
  // At least one page more than needed: what follows an allocation is nobody's.
  const std::uint64_t pages = bytes / kPage + 2;
  if (bytes > std::uint64_t{1} << 46)
    throw OutOfMemory(
        fmt::format("sim: {} bytes of device memory were asked for; the host cannot hold them", bytes));
  require_memory_for(bytes, 1, "device memory of the simulator");
  auto allocation = std::make_unique<Allocation>();
  try {
    allocation->data = std::make_unique<std::byte[]>(bytes);  // zeroed
    allocation->begin = kGlobalBegin + (pages_.size() << kPageShift);
    pages_.resize(pages_.size() + pages, allocation.get());
  } catch (const std::bad_alloc&) {
    throw OutOfMemory(
        fmt::format("sim: {} bytes of device memory were asked for; the host cannot hold them", bytes));
  }
  allocation->bytes = bytes;
  allocation->label = std::move(label);
  allocation->constant = constant;
  allocation->index = count_++;
  Allocation& result = *allocation;
  allocations_.emplace(result.begin, std::move(allocation));
  return result;
}

void Memory::free(Address begin) {
  const auto at = allocations_.find(begin);
  if (at == allocations_.end())
    throw BadInput(
        fmt::format("sim: {:#x} is not the first byte of an allocation; it cannot be freed", begin));
  for (Allocation*& owner : pages_)
    if (owner == at->second.get()) owner = nullptr;
  allocations_.erase(at);
  while (!pages_.empty() && pages_.back() == nullptr) pages_.pop_back();
}

std::string describe_global(const Memory& memory, Address address) {
  const Allocation* a = memory.page_owner(address);
  if (a == nullptr) {
    if (address < kWindowBytes)
      return fmt::format("address {:#x}, which is no allocation's (a null pointer?)", address);
    return fmt::format("address {:#x}, which is no allocation's", address);
  }
  const auto name_of = [](const Allocation& allocation) {
    return allocation.label.empty() ? fmt::format("allocation {}", allocation.index) : allocation.label;
  };
  const std::string name = name_of(*a);
  if (address - a->begin < a->bytes) return fmt::format("{}, byte {}", name, address - a->begin);
  const std::uint64_t past = address - a->begin - a->bytes;
  const auto next = memory.allocations().upper_bound(address);
  if (next != memory.allocations().end() && next->first - address < past)
    return fmt::format("{} bytes before {}", next->first - address, name_of(*next->second));
  return fmt::format("{} bytes past the end of {} ({} bytes)", past, name, a->bytes);
}

std::string describe_shared(const Block& block, std::uint64_t offset) {
  const Program& p = *block.program;
  if (offset < p.reserved_shared) return fmt::format("reserved shared memory, byte {}", offset);
  const Placed* before = nullptr;
  std::vector<std::string> symbols;
  for (const Placed& v : p.shared) {
    symbols.emplace_back(p.module->variables[v.variable].name);
    if (v.begin <= offset) before = &v;
  }
  if (p.dynamic_variable != ptx::kNone && offset >= p.shared_bytes) {
    const std::string_view name = p.module->variables[p.dynamic_variable].name;
    if (offset < block.shared.size())
      return fmt::format("dynamic shared array {}, byte {}", name, offset - p.shared_bytes);
    return fmt::format("{} bytes past the end of dynamic shared array {} ({} bytes)",
                       offset - block.shared.size(), name, block.shared.size() - p.shared_bytes);
  }
  if (before != nullptr) {
    const std::string name = object_names(symbols)[static_cast<std::size_t>(before - p.shared.data())];
    if (offset < before->begin + before->bytes)
      return fmt::format("shared array {}, byte {}", name, offset - before->begin);
    if (offset < block.shared.size())
      return fmt::format("{} bytes past the end of shared array {} ({} bytes)",
                         offset - before->begin - before->bytes, name, before->bytes);
  }
  return fmt::format("shared address {:#x}, outside the block's {} bytes", offset,
                     p.static_shared + block.worker->options->dynamic_shared);
}

}  // namespace warploom::sim
