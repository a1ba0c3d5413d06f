// Data that is private to a loop's iteration: all accesses of the object lie in the loop, and neither their
// addresses nor whether they are made depends on the iteration. The first iteration reads only what it wrote
// (no uninitialised memory is read), so every iteration does.

#include <algorithm>
#include <set>

#include "reuse/check_lives.hpp"

namespace warploom::reuse::checking {
namespace {

using ptx::kNone;
using ptx::Op;
using ptx::OperandKind;
using ptx::Space;

class Prover {
 public:
  Prover(const Kernel& k, const Uniformity& uniformity, const ptx::Loop& loop, std::uint32_t object)
      : k_(k), uniformity_(uniformity), loop_(loop), object_(object) {}

  bool run() {
    if (uniformity_.divergent[loop_.header] || !exits_together()) return false;
    earlier_ = k_.flow.reads_of_earlier_iterations(loop_);
    demanded_.assign(k_.function.instructions.size(), false);
    controlled_.assign(k_.cfg.blocks.size(), false);
    for (const Access& a : k_.accesses)
      if (a.objects.test(object_) && !access_is_steady(a.instruction)) return false;
    return true;
  }

 private:
  /// No thread leaves the loop, or the kernel from inside it, before the others.
  bool exits_together() const {
    for (const std::uint32_t b : loop_.blocks) {
      for (std::uint32_t i = k_.cfg.blocks[b].first; i < k_.cfg.blocks[b].last; ++i) {
        if (leaves_kernel(k_, i) && k_.guarded(i) &&
            uniformity_.spread(i, k_.function.instructions[i].guard) != Spread::uniform)
          return false;
      }
      const auto& successors = k_.cfg.graph.successors[b];
      if (std::all_of(successors.begin(), successors.end(),
                      [&](std::uint32_t s) { return loop_.contains(s); }))
        continue;
      if (uniformity_.threads_may_part(b)) return false;
    }
    return true;
  }

  bool access_is_steady(std::uint32_t i) {
    const ptx::Instruction& instruction = k_.function.instructions[i];
    if (instruction.guard != kNone && !use_is_steady(i, instruction.guard)) return false;
    for (const ptx::Operand& o : k_.flow.sources(i)) {
      const bool decides =
          o.kind == OperandKind::address || (k_.op(i) == Op::wmma && o.kind == OperandKind::reg);
      if (decides && !operand_is_steady(i, o)) return false;
    }
    return block_is_steady(k_.cfg.block_of[i]);
  }

  bool operand_is_steady(std::uint32_t i, const ptx::Operand& o) {
    switch (o.kind) {
      case OperandKind::reg:
        return use_is_steady(i, o.id);
      case OperandKind::special:
        return special_is_steady(k_.module.text_of(o.span));
      case OperandKind::unknown:
      case OperandKind::label:
      case OperandKind::function:
        return false;
      case OperandKind::address:
      case OperandKind::vector:
      case OperandKind::list:
      case OperandKind::pair: {
        const auto children = k_.function.children(o);
        return std::all_of(children.begin(), children.end(),
                           [&](const ptx::Operand& c) { return operand_is_steady(i, c); });
      }
      default:
        return true;
    }
  }

  static bool special_is_steady(std::string_view name) {
    for (const std::string_view prefix :
         {"%tid", "%ntid", "%ctaid", "%nctaid", "%laneid", "%lanemask", "%gridid", "WARP_SZ"})
      if (name.starts_with(prefix)) return true;
    return false;
  }

  bool use_is_steady(std::uint32_t i, std::uint32_t reg) {
    if (earlier_.contains({i, reg})) return false;
    for (const std::uint32_t d : k_.flow.reaching(i, reg))
      if (loop_.contains(k_.cfg.block_of[k_.flow.definitions()[d].instruction]) &&
          !instruction_is_steady(k_.flow.definitions()[d].instruction))
        return false;
    return true;
  }

  /// Whether a definition gives, each time round, the values of the iteration before. One met again while it
  /// is being looked at is taken to: then the values go round an inner loop that begins alike each time.
  bool instruction_is_steady(std::uint32_t i) {
    if (demanded_[i]) return true;
    demanded_[i] = true;
    if (!computes_only(i)) return false;
    if (k_.guarded(i) && !use_is_steady(i, k_.function.instructions[i].guard)) return false;
    for (const ptx::Operand& o : k_.flow.sources(i))
      if (!operand_is_steady(i, o)) return false;
    return block_is_steady(k_.cfg.block_of[i]);
  }

  bool computes_only(std::uint32_t i) const {
    const ptx::Opcode& o = k_.opcode(i);
    switch (o.op) {
      case Op::mov:
      case Op::add:
      case Op::sub:
      case Op::mad:
      case Op::mad24:
      case Op::mul:
      case Op::mul24:
      case Op::shl:
      case Op::shr:
      case Op::shf:
      case Op::and_:
      case Op::or_:
      case Op::xor_:
      case Op::not_:
      case Op::neg:
      case Op::lop3:
      case Op::prmt:
      case Op::bfe:
      case Op::bfi:
      case Op::bfind:
      case Op::selp:
      case Op::slct:
      case Op::min_:
      case Op::max_:
      case Op::cvt:
      case Op::cvta:
      case Op::abs_:
      case Op::rem:
      case Op::div:
      case Op::setp:
      case Op::set:
      case Op::popc:
      case Op::clz:
      case Op::brev:
      case Op::cnot:
      case Op::fma:
      case Op::sad:
        return !o.has("cc");
      case Op::ld:
        return o.space == Space::constant || (o.space == Space::param && names_parameter(i));
      default:
        return false;
    }
  }

  bool names_parameter(std::uint32_t i) const {
    const auto sources = k_.flow.sources(i);
    if (sources.empty() || sources[0].kind != OperandKind::address) return false;
    const ptx::Operand& base = k_.function.children(sources[0])[0];
    const auto& parameters = k_.function.parameters;
    return base.kind == OperandKind::symbol &&
           std::find(parameters.begin(), parameters.end(), base.id) != parameters.end();
  }

  /// Whether the branches inside the loop that decide over a block go the same way in each iteration.
  bool block_is_steady(std::uint32_t block) {
    if (controlled_[block]) return true;
    controlled_[block] = true;
    for (const Uniformity::Region& region : uniformity_.regions) {
      if (!loop_.contains(region.branch) || !region.contains(block)) continue;
      const auto& successors = k_.cfg.graph.successors[region.branch];
      // A way out of the loop: an iteration that is followed by another did not take it.
      if (std::count_if(successors.begin(), successors.end(),
                        [&](std::uint32_t s) { return loop_.contains(s); }) == 1)
        continue;
      const std::uint32_t branch = k_.cfg.blocks[region.branch].last - 1;
      for (const std::uint32_t reg : k_.flow.reads(branch))
        if (!use_is_steady(branch, reg)) return false;
    }
    return true;
  }

  const Kernel& k_;
  const Uniformity& uniformity_;
  const ptx::Loop& loop_;
  std::uint32_t object_;
  std::set<std::pair<std::uint32_t, std::uint32_t>> earlier_;
  std::vector<bool> demanded_, controlled_;
};

}  // namespace

std::vector<std::uint32_t> private_loop_heads(const Kernel& k, const Uniformity& uniformity,
                                              std::uint32_t object) {
  std::vector<std::uint32_t> heads;
  if (k.strict || !k.cfg.reducible) return heads;
  // Outer loops stand before inner ones. Data that an outer loop carries round makes the inner one impure.
  for (const ptx::Loop& loop : k.cfg.loops) {
    const bool all_inside = std::all_of(k.accesses.begin(), k.accesses.end(), [&](const Access& a) {
      return !a.objects.test(object) || loop.contains(k.cfg.block_of[a.instruction]);
    });
    if (!all_inside) continue;
    if (!Prover(k, uniformity, loop, object).run()) break;
    heads.push_back(loop.header);
  }
  return heads;
}

}  // namespace warploom::reuse::checking
