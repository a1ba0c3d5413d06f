#pragma once

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <stdexcept>

#include "cases.hpp"
#include "tile/c/scalar_types.hpp"
#include "warploom/tile/interpret.hpp"
#include "warploom/tile/nest.hpp"

namespace warploom::tile {

/// The arguments of a CaseCall, in the order of the region's parameters, and the arrays behind them with
/// their types.
class CaseMemory {
 public:
  CaseMemory(const Region& region, const Memory& memory) : region_(region) {
    for (const std::string& name : region.parameters) {
      const Variable* variable = find_variable(region, name);
      if (!variable)
        sizes_.push_back(static_cast<int>(memory.sizes.at(name)));
      else if (variable->extents.empty())
        scalars_.push_back(memory.scalars.at(name));
      else
        names_.push_back(name), buffers_.push_back(as_bytes(*variable, memory.arrays.at(name)));
    }
  }

  int call(CaseCall function) {
    std::vector<void*> arrays;
    for (std::vector<std::byte>& buffer : buffers_) arrays.push_back(buffer.data());
    return function(sizes_.data(), scalars_.data(), arrays.data());
  }
  const std::vector<int>& sizes() const { return sizes_; }
  const std::vector<double>& scalars() const { return scalars_; }
  std::vector<std::vector<std::byte>>& buffers() { return buffers_; }
  const std::vector<std::string>& names() const { return names_; }

  std::vector<double> values(std::size_t array) const {
    const ScalarType type = find_variable(region_, names_[array])->type;
    const std::vector<std::byte>& bytes = buffers_[array];
    return with_type(type, [&]<typename T>(T) { return read<T>(bytes); });
  }

 private:
  template <typename T>
  static std::vector<std::byte> write(const std::vector<double>& values) {
    std::vector<std::byte> bytes(values.size() * sizeof(T));
    for (std::size_t k = 0; k < values.size(); ++k) {
      const T value = static_cast<T>(values[k]);
      std::memcpy(bytes.data() + k * sizeof(T), &value, sizeof(T));
    }
    return bytes;
  }
  template <typename T>
  static std::vector<double> read(const std::vector<std::byte>& bytes) {
    std::vector<double> values(bytes.size() / sizeof(T));
    for (std::size_t k = 0; k < values.size(); ++k) {
      T value;
      std::memcpy(&value, bytes.data() + k * sizeof(T), sizeof(T));
      values[k] = static_cast<double>(value);
    }
    return values;
  }
  static std::vector<std::byte> as_bytes(const Variable& variable, const std::vector<double>& values) {
    return with_type(variable.type, [&]<typename T>(T) { return write<T>(values); });
  }

  const Region& region_;
  std::vector<int> sizes_;
  std::vector<double> scalars_;
  std::vector<std::string> names_;
  std::vector<std::vector<std::byte>> buffers_;
};

/// Sizes that differ from each other, are no multiples of a tile, and leave time loops short.
inline std::map<std::string, std::int64_t> sizes_for(const Region& region, std::int64_t least) {
  std::map<std::string, std::int64_t> sizes;
  for (const std::string& name : region.sizes) {
    const bool time = name.find("step") != std::string::npos || name == "t";
    sizes[name] = time ? 3 : least + 7 * static_cast<std::int64_t>(sizes.size());
  }
  return sizes;
}

/// Random values for which factorisations and recurrences are well conditioned: matrices with a heavy
/// diagonal, vectors whose sum is below 1.
inline Memory make_case_memory(const Region& region, const std::map<std::string, std::int64_t>& sizes,
                               std::uint64_t seed) {
  Memory memory = make_memory(region, sizes, seed);
  for (auto& [name, values] : memory.arrays) {
    const Variable& variable = *find_variable(region, name);
    if (is_integer(variable.type)) continue;
    if (variable.extents.size() == 1)
      for (double& value : values)
        value = static_cast<float>(value / (2 * static_cast<double>(values.size())));
    if (variable.extents.size() != 2) continue;
    const auto columns = static_cast<std::size_t>(value_of(variable.extents[1], memory.sizes));
    for (std::size_t i = 0; i < columns && i * columns + i < values.size(); ++i)
      values[i * columns + i] += 2 * static_cast<double>(columns + values.size() / columns);
  }
  return memory;
}
inline Memory make_case_memory(const Region& region, std::int64_t least, std::uint64_t seed) {
  return make_case_memory(region, sizes_for(region, least), seed);
}

/// The region with double for float.
inline Region in_double(Region region) {
  for (Variable& variable : region.variables)
    if (variable.type == ScalarType::float32) variable.type = ScalarType::float64;
  return region;
}

/// The largest difference of two arrays, in units of the larger array's largest value.
inline double relative_difference(const std::vector<double>& a, const std::vector<double>& b) {
  double scale = 0, difference = 0;
  for (std::size_t k = 0; k < a.size(); ++k) {
    if (std::isfinite(a[k])) scale = std::max(scale, std::abs(a[k]));
    if (std::isfinite(b[k])) scale = std::max(scale, std::abs(b[k]));
    // What is no number must be none in both.
    if (a[k] == b[k] || (std::isnan(a[k]) && std::isnan(b[k]))) continue;
    const double apart = std::abs(a[k] - b[k]);
    difference = std::max(difference, std::isfinite(apart) ? apart : std::numeric_limits<double>::infinity());
  }
  return scale > 0 ? difference / scale : 0;
}

}  // namespace warploom::tile
