#include "reuse/rewrite/carve.hpp"

#include <fmt/format.h>

#include <map>

#include "warploom/reuse/reuse.hpp"

namespace warploom::reuse {

namespace {

/// The text of what stands at the kernel's entry, one register after the other.
class Entry {
 public:
  Entry(const ptx::Module& module, const Carving& carving) : module_(module), carving_(carving) {
    for (const std::uint32_t id : carving.ranges().unknowns())
      if (carving.ranges().unknown(id).kind == ptx::Unknown::parameter) number(id);
  }

  /// Holds how far a part moves; of 64 bits if `wide`.
  std::string moved(const ptx::Linear& by, bool wide) {
    std::string& narrow = moved_[by.terms][by.constant];
    if (narrow.empty()) {
      narrow = put("r", "mov.u32", fmt::format("{}", by.constant));
      for (const auto& [id, factor] : by.terms) {
        const std::string& x = number(id);
        narrow = put("r", "mad.lo.s32", fmt::format("{}, {}, {}", x, factor, narrow));
      }
      for (const std::string& holds : conditions_)
        narrow = put("r", "selp.b32", fmt::format("{}, 0, {}", narrow, holds));
    }
    if (!wide) return narrow;
    std::string& extended = extended_[narrow];
    if (extended.empty()) extended = put("d", "cvt.s64.s32", narrow);
    return extended;
  }

  std::string fresh(std::string_view kind) {
    return fmt::format("{}{}{}", kAddedRegister, kind, counts_[kind]++);
  }
  const std::string& text() const { return text_; }
  std::string declarations() const {
    std::string all;
    for (const auto& [kind, count] : counts_)
      all += fmt::format("\n\t.reg .{} \t{}{}<{}>;",
                         kind == "r"   ? "b32"
                         : kind == "d" ? "b64"
                                       : "pred",
                         kAddedRegister, kind, count);
    return all;
  }

 private:
  std::string put(std::string_view kind, std::string_view opcode, const std::string& sources) {
    std::string into = fresh(kind);
    text_ += fmt::format("{} \t{}, {};\n\t", opcode, into, sources);
    return into;
  }

  const std::string& number(std::uint32_t id) {
    std::string& at = numbers_[id];
    if (!at.empty()) return at;
    const ptx::Unknown& u = carving_.ranges().unknown(id);
    if (u.kind == ptx::Unknown::block_extent)
      return at = put("r", "mov.u32", fmt::format("%ntid.{}", "xyz"[u.axis]));
    const bool wide = u.bytes == 8;
    at = put(wide ? "d" : "r", wide ? "ld.param.u64" : "ld.param.u32",
             fmt::format("[{}{}]", module_.variables[u.variable].name,
                         u.offset == 0 ? "" : fmt::format("+{}", u.offset)));
    conditions_.push_back(put("p", wide ? "setp.le.u64" : "setp.le.u32",
                              fmt::format("{}, {}", at, DynamicFormula::kMostParameter)));
    if (wide) at = put("r", "cvt.u32.u64", at);
    return at;
  }

  const ptx::Module& module_;
  const Carving& carving_;
  std::string text_;
  std::map<std::string_view, unsigned> counts_;
  std::map<std::uint32_t, std::string> numbers_;
  std::vector<std::string> conditions_;
  std::map<std::vector<std::pair<std::uint32_t, std::int64_t>>, std::map<std::int64_t, std::string>> moved_;
  std::map<std::string, std::string> extended_;
};

}  // namespace

void move_by_launch(const Kernel& kernel, const Carving& carving, const CarvedPlan& plan, ptx::Edits& edits) {
  const ptx::Module& module = *kernel.module;
  const ptx::Function& f = *kernel.function;
  Entry entry(module, carving);
  struct Add {
    const ptx::Instruction* before;
    const ptx::Operand* address;
    std::string by, into;
    bool wide;
  };
  std::vector<Add> adds;
  for (std::size_t p = 0; p < carving.parts().size(); ++p) {
    if (plan.moved[p] == ptx::Linear{}) continue;
    for (const Access& a : kernel.use.accesses) {
      if (!a.objects[carving.object(p)]) continue;
      const ptx::Operand& address = f.operands[a.address];
      const bool wide = ptx::type_bytes(f.registers[f.operands[f.operands[a.address].id].id].type) == 8;
      adds.push_back({&f.instructions[a.instruction], &address, entry.moved(plan.moved[p], wide), "", wide});
    }
  }
  for (Add& a : adds) a.into = entry.fresh(a.wide ? "d" : "r");
  edits.insert(f.body.begin + 1, entry.declarations());
  edits.insert(f.instructions[0].span.begin, entry.text());
  for (const Add& a : adds) {
    edits.insert(a.before->span.begin, fmt::format("add.s{} \t{}, {}, {};\n\t", a.wide ? 64 : 32, a.into,
                                                   module.text_of(f.operands[a.address->id].span), a.by));
    edits.replace(a.address->span, a.address->value == 0  ? a.into
                                   : a.address->value > 0 ? fmt::format("{}+{}", a.into, a.address->value)
                                                          : fmt::format("{}+-{}", a.into, -a.address->value));
  }
}

}  // namespace warploom::reuse
