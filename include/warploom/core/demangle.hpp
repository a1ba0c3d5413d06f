#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace warploom {

/// The C++ declaration behind an Itanium-ABI symbol, "void demo<256, 8>(int const*, int*)::a". The
/// wrapping that nvcc gives to static symbols (`__nv_static_...`, `_INTERNAL_...`) is taken off. What is
/// no mangled name ("_$_0", "rank_keys") is given back as it is.
std::string demangle(std::string_view symbol);

/// A function's name without its return type and parameters: "demo<256, 8>".
std::string function_name(std::string_view symbol);

/// Names for the shared-memory objects of one kernel, one a symbol, all different, as short as that
/// allows: "a"; where two functions have an `a`, "f<int>()::a"; where overloads have, with the
/// parameters; where one function declares two, "a#1" and "a#2" in the order given.
std::vector<std::string> object_names(std::span<const std::string> symbols);

}  // namespace warploom
