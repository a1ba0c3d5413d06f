#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "sim/tensor_form.hpp"

/// What cp.reduce.async.bulk does to memory, element by element.
namespace warploom::sim {

/// to[i] = to[i] changed by by[i]; type as ElementType::name. False: elements of that type have no such
/// change.
bool change_elements(TensorChange change, std::string_view type, std::byte* to, const std::byte* by,
                     std::uint32_t count);
/// The change that an opcode's part names; none: it names none.
TensorChange change_of(std::string_view part);

}  // namespace warploom::sim
