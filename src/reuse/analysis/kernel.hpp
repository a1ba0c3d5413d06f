#pragma once

#include <array>
#include <optional>

#include "reuse/analysis/objects.hpp"
#include "reuse/analysis/uniformity.hpp"
#include "warploom/ptx/cfg.hpp"
#include "warploom/ptx/values.hpp"

namespace warploom::reuse {

/// One kernel and what the first passes found out about it.
struct Kernel {
  const ptx::Module* module = nullptr;
  const ptx::Function* function = nullptr;
  ptx::Cfg cfg;
  Values values;
  SharedUse use;
  Uniformity uniformity;
  std::optional<std::array<std::uint32_t, 3>> block;  ///< threads: .reqntid, or promised by the caller
  bool strict = false;
  bool assume_parts = false;  ///< Options::assume_parts

  const ptx::Instruction& instruction(std::uint32_t i) const { return function->instructions[i]; }
  std::uint32_t line(std::uint32_t i) const { return function->instructions[i].line; }
  std::size_t object_count() const { return use.objects.size(); }
};

}  // namespace warploom::reuse
