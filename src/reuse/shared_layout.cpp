#include "reuse/shared_layout.hpp"

#include <algorithm>
#include <utility>

namespace warploom::reuse {
namespace {

/// Calls `visit` for every function with a body that `kernel` reaches, itself first.
template <typename Visit>
void for_each_reached(const ptx::Module& module, const ptx::Function& kernel, Visit visit) {
  std::vector<char> seen(module.functions.size());
  std::vector<const ptx::Function*> work;
  const auto reach = [&](std::size_t index) {
    if (std::exchange(seen[index], 1)) return;
    const ptx::Function* f = &module.functions[index];
    if (!f->has_body) {  // a declaration; the definition may stand elsewhere
      f = module.find_function(f->name);
      if (!f->has_body || std::exchange(seen[static_cast<std::size_t>(f - module.functions.data())], 1))
        return;
    }
    work.push_back(f);
  };
  reach(static_cast<std::size_t>(&kernel - module.functions.data()));
  for (std::size_t i = 0; i < work.size(); ++i) {
    const ptx::Function& f = *work[i];
    visit(f);
    for (const ptx::Operand& o : f.operands)
      if (o.kind == ptx::OperandKind::function) reach(o.id);
    const bool indirect = std::ranges::any_of(f.instructions, [&](const ptx::Instruction& instruction) {
      return module.opcode(instruction).op == ptx::Op::call &&
             std::ranges::any_of(f.operands_of(instruction),
                                 [](const ptx::Operand& o) { return o.kind == ptx::OperandKind::reg; });
    });
    if (indirect)
      for (std::size_t g = 0; g < module.functions.size(); ++g)
        if (!module.functions[g].entry) reach(g);
  }
}

}  // namespace

SharedLayout::SharedLayout(const ptx::Module& module, const ptx::Function& kernel) {
  std::vector<bool> used(module.variables.size());
  std::vector<std::uint32_t> local;
  for_each_reached(module, kernel, [&](const ptx::Function& f) {
    for (const ptx::Operand& o : f.operands)
      if (o.kind == ptx::OperandKind::symbol) used[o.id] = true;
    local.insert(local.end(), f.variables.begin(), f.variables.end());
  });
  const auto place = [&](std::uint32_t id) {
    const ptx::Variable& v = module.variables[id];
    arrays_.push_back({id, v.bytes, std::max<std::uint64_t>(v.align, 1)});
  };
  const auto place_all = [&](std::span<const std::uint32_t> ids, bool those_used) {
    for (const std::uint32_t id : ids) {
      const ptx::Variable& v = module.variables[id];
      if (v.space == ptx::Space::shared && v.bytes > 0 && bool{used[id]} == those_used) place(id);
    }
  };
  place_all(kernel.variables, true);
  for (std::uint32_t id = 0; id < used.size(); ++id)
    if (module.variables[id].function == ptx::kNone) place_all({&id, 1}, true);
  const auto callees = std::span(local).subspan(kernel.variables.size());
  place_all(callees, true);
  place_all(local, false);
  // ptxas counts the padding before dynamic memory as static, even for a kernel that uses none.
  for (std::uint32_t id = 0; id < used.size(); ++id) {
    const ptx::Variable& v = module.variables[id];
    if (v.space != ptx::Space::shared || v.bytes > 0) continue;
    dynamic_ = dynamic_ || used[id];
    place(id);
  }
}

std::uint64_t SharedLayout::bytes_with(std::span<const std::uint32_t> pooled,
                                       std::uint64_t pool_bytes) const {
  std::uint64_t end = pool_bytes;  // the pool begins at 0, whatever its alignment
  for (const Array& a : arrays_)
    if (!std::ranges::binary_search(pooled, a.variable))
      end = (end + a.alignment - 1) / a.alignment * a.alignment + a.bytes;
  return end;
}

}  // namespace warploom::reuse
