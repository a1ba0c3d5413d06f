#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "warploom/ptx/module.hpp"
#include "warploom/sim/sim.hpp"

namespace warploom::sim {

// Windows of the generic address space. Shared and local addresses are offsets, as on a GPU.
inline constexpr Address kSharedWindow = Address{1} << 40;
inline constexpr Address kLocalWindow = Address{2} << 40;
inline constexpr Address kParameterWindow = Address{3} << 40;
inline constexpr Address kWindowBytes = Address{1} << 32;
inline constexpr Address kGlobalBegin = Address{16} << 40;
/// Code addresses of functions: kFunctionWindow + 16 * index in ptx::Module::functions.
inline constexpr Address kFunctionWindow = Address{4} << 40;

struct Allocation {
  Address begin = 0;
  std::uint64_t bytes = 0;
  std::unique_ptr<std::byte[]> data;
  std::string label;
  bool constant = false;
  std::uint32_t index = 0;  ///< in order of allocation
  bool contains(Address address, std::uint64_t size) const {
    return address >= begin && size <= bytes && address - begin <= bytes - size;
  }
};

/// Global and constant memory. Each allocation has pages of addresses of its own.
class Memory {
 public:
  static constexpr unsigned kPageShift = 21;

  Allocation& allocate(std::uint64_t bytes, std::string label, bool constant);
  void free(Address begin);
  /// The allocation whose pages hold the address (its bytes may not); nullptr: none.
  Allocation* page_owner(Address address) const {
    const std::uint64_t page = (address - kGlobalBegin) >> kPageShift;
    return address >= kGlobalBegin && page < pages_.size() ? pages_[page] : nullptr;
  }
  const std::map<Address, std::unique_ptr<Allocation>>& allocations() const { return allocations_; }
  /// Address of a module variable in .global or .const; 0: it has none.
  Address variable(std::uint32_t index) const {
    const auto at = variables_.find(index);
    return at == variables_.end() ? 0 : at->second;
  }
  void set_variable(std::uint32_t index, Address address) { variables_[index] = address; }

 private:
  std::map<Address, std::unique_ptr<Allocation>> allocations_;
  std::vector<Allocation*> pages_;
  std::unordered_map<std::uint32_t, Address> variables_;
  std::uint32_t count_ = 0;
};

}  // namespace warploom::sim
