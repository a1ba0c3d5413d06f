#include "reuse/rewrite/rewrite.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "reuse/rewrite/carve.hpp"
#include "warploom/core/error.hpp"

namespace warploom::reuse {

using namespace ptx;

std::string pool_name(const Module& module, const Function& kernel) {
  std::string name = fmt::format("__warploom_pool_{}", kernel.name);
  const auto taken = [&] {
    return std::any_of(module.variables.begin(), module.variables.end(),
                       [&](const Variable& v) { return v.name == name; });
  };
  while (taken()) name += '_';
  return name;
}

std::vector<PoolEntry> rewrite(const Kernel& kernel, const Plan& plan, bool dynamic, bool promise_block,
                               Edits& edits, const Carving* carving) {
  const Module& module = *kernel.module;
  const Function& f = *kernel.function;
  const std::string pool = pool_name(module, f);
  std::vector<PoolEntry> entries;
  std::map<std::uint32_t, std::int64_t> offset_of;  // by variable: what its name is now, in the pool
  std::map<std::uint32_t, std::int64_t> shift_of;   // by operand, an access's address: what a part moves by
  bool in_place = false;                            // parts of the dynamic array move inside it
  for (std::size_t i = 0; i < plan.pooled.size(); ++i) {
    const Object& o = kernel.use.objects[plan.pooled[i]];
    const Variable& v = module.variables[o.variable];
    const auto offset = static_cast<std::int64_t>(plan.offsets[i]) - static_cast<std::int64_t>(o.begin);
    in_place |= o.dynamic;
    if (carving != nullptr) {
      in_place = true;
      continue;
    }
    const auto [name, fresh] =
        offset_of.emplace(o.variable, o.dynamic ? 0 : std::max<std::int64_t>(offset, 0));
    if (o.part && offset != name->second)
      for (const Access& a : kernel.use.accesses)
        if (a.objects[plan.pooled[i]]) shift_of[a.address] = offset - name->second;
    if (!fresh) continue;
    entries.push_back({std::string(f.name), std::string(v.name), o.dynamic ? std::string(v.name) : pool,
                       static_cast<std::uint64_t>(name->second)});
    // Of an array that other kernels name too the declaration stays; nothing in this kernel names it then.
    if (v.users[1] == kNone && !o.dynamic)
      edits.replace(v.declaration, fmt::format("/* {} is {}+{} */", v.name, pool, name->second));
  }
  if (dynamic)
    edits.insert(f.span.begin,
                 fmt::format(".extern .shared .align {} .b8 {}[];\n", plan.pool_alignment, pool));
  else if (!in_place)
    edits.insert(f.body.begin + 1, fmt::format("\n\t.shared .align {} .b8 {}[{}];", plan.pool_alignment, pool,
                                               plan.pool_bytes));

  const auto place = [&](Span span, std::string_view base, std::int64_t at) {
    edits.replace(span, at == 0  ? std::string(base)
                        : at > 0 ? fmt::format("{}+{}", base, at)
                                 : fmt::format("{}+-{}", base, -at));
  };
  const auto rename = [&](Span span, std::uint32_t variable, std::int64_t displacement) {
    place(span, in_place ? module.variables[variable].name : std::string_view(pool),
          offset_of.at(variable) + displacement);
  };
  // Every operand is reached from exactly one place of this list: as an address's base, or by itself.
  std::vector<bool> done(f.operands.size());
  for (std::uint32_t k = 0; k < f.operands.size(); ++k) {
    const Operand& o = f.operands[k];
    if (o.kind != OperandKind::address) continue;
    const auto shift = shift_of.find(k);
    const std::int64_t by = o.value + (shift == shift_of.end() ? 0 : shift->second);
    if (f.operands[o.id].kind != OperandKind::symbol) {
      if (shift != shift_of.end()) place(o.span, module.text_of(f.operands[o.id].span), by);
      continue;
    }
    done[o.id] = true;
    if (!offset_of.contains(f.operands[o.id].id) || (in_place && shift == shift_of.end())) continue;
    if (o.count != 1)
      throw Internal(
          fmt::format("{}: a shared array as the base of an address with coordinates", module.file));
    rename(o.span, f.operands[o.id].id, by);
  }
  for (std::uint32_t k = 0; k < f.operands.size(); ++k) {
    const Operand& o = f.operands[k];
    if (o.kind == OperandKind::symbol && !done[k] && !in_place && offset_of.contains(o.id))
      rename(o.span, o.id, o.value);
  }

  for (const std::uint32_t i : plan.insertions)
    edits.insert(f.instructions[i].span.begin, "bar.sync \t0;\n\t");
  if (carving != nullptr) {
    const std::string_view array = module.variables[kernel.use.objects[carving->object(0)].variable].name;
    entries.push_back({std::string(f.name), std::string(array), std::string(array), 0});
    move_by_launch(kernel, *carving, plan.carved, edits);
  }

  if (promise_block && kernel.block && !f.required_threads) {
    const auto& b = *kernel.block;
    const std::string directive = fmt::format(".reqntid {}, {}, {}", b[0], b[1], b[2]);
    if (f.maximal_threads)
      edits.replace(f.maximal_threads_span, directive);
    else
      edits.insert(f.header.end, "\n" + directive);
  }
  return entries;
}

}  // namespace warploom::reuse
