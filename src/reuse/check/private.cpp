// Data that is private to a loop's iteration: no load of the object follows the loop, no store of it reaches
// the loop's head from outside, and inside neither the addresses of its accesses nor whether they are made
// depends on the iteration. The first iteration reads only what it wrote (no uninitialised memory is read),
// so every iteration does.
//
// But compilers load early what they may not need: `if (k > 0) x = s[0]` becomes a load and a select, and the
// first iteration reads what nobody wrote. So that a load can find something is looked at too: one at a
// constant address needs a store before it on every path of the iteration, any other on some path.

#include <algorithm>
#include <map>
#include <set>

#include "reuse/check/evaluate.hpp"
#include "reuse/check/lives.hpp"
#include "reuse/check/operations.hpp"

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
    find_deciders();
    earlier_ = k_.flow.reads_of_earlier_iterations(loop_);
    demanded_.assign(k_.function.instructions.size(), false);
    controlled_.assign(k_.cfg.blocks.size(), false);
    for (const Access& a : k_.accesses)
      if (a.objects.test(object_) && loop_.contains(k_.cfg.block_of[a.instruction]) &&
          !access_is_steady(a.instruction))
        return false;
    return true;
  }

 private:
  /// No thread leaves the loop, or the kernel from inside it, before the others.
  bool exits_together() const {
    for (const std::uint32_t b : loop_.blocks) {
      if (uniformity_.some_may_leave(b)) return false;
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
    if (o.op == Op::ld) return o.space == Space::constant || (o.space == Space::param && names_parameter(i));
    return (kAddressArithmetic.contains(o.op) || kOtherArithmetic.contains(o.op)) && !o.has("cc");
  }

  bool names_parameter(std::uint32_t i) const {
    const auto sources = k_.flow.sources(i);
    if (sources.empty() || sources[0].kind != OperandKind::address) return false;
    const ptx::Operand& base = k_.function.children(sources[0])[0];
    const auto& parameters = k_.function.parameters;
    return base.kind == OperandKind::symbol &&
           std::find(parameters.begin(), parameters.end(), base.id) != parameters.end();
  }

  /// Which branches decide over which blocks in an iteration that is followed by another: it took no way out
  /// of the loop. (The last iteration makes the first of the same accesses.)
  void find_deciders() {
    const std::uint32_t end = k_.cfg.graph.size();
    ptx::Graph body(end + 1);
    for (const std::uint32_t b : loop_.blocks)
      for (const std::uint32_t s : k_.cfg.graph.successors[b])
        if (loop_.contains(s)) body.add_edge(b, s == loop_.header ? end : s);
    const ptx::DominatorTree post = ptx::post_dominators(body);
    deciders_.assign(end + 1, {});
    for (const std::uint32_t b : loop_.blocks) {
      if (body.successors[b].size() < 2) continue;
      std::vector<bool> seen(end + 1);
      std::vector<std::uint32_t> work{b};
      while (!work.empty()) {
        const std::uint32_t at = work.back();
        work.pop_back();
        for (const std::uint32_t s : body.successors[at])
          if (s != post.parent(b) && !seen[s]) seen[s] = true, deciders_[s].push_back(b), work.push_back(s);
      }
    }
  }

  /// Whether the branches inside the loop that decide over a block go the same way in each iteration.
  bool block_is_steady(std::uint32_t block) {
    if (controlled_[block]) return true;
    controlled_[block] = true;
    for (const std::uint32_t b : deciders_[block]) {
      const std::uint32_t branch = k_.cfg.blocks[b].last - 1;
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
  std::vector<std::vector<std::uint32_t>> deciders_;  ///< per block: blocks that end with the branches
};

/// Whether each load of the object in the loop may find what the same iteration stored.
class Filled {
 public:
  Filled(const Kernel& k, const Uniformity& uniformity, const ptx::Loop& loop, std::uint32_t object)
      : k_(k),
        uniformity_(uniformity),
        loop_(loop),
        object_(object),
        bytes_(k.objects[object].bytes),
        open_(k.function.instructions.size()) {}

  bool run() {
    find_uses();
    // Bit n < bytes: on some path of the iteration nothing was stored to byte n yet. The bit after them: on
    // some path something was stored.
    std::vector<Bits> in(k_.cfg.blocks.size(), Bits(bytes_ + 1));
    for (std::size_t n = 0; n < bytes_; ++n) in[loop_.header].set(n);
    for (bool changed = true; changed;) {
      changed = false;
      for (const std::uint32_t b : k_.cfg.order) {
        if (!loop_.contains(b)) continue;
        Bits state = in[b];
        pass(b, state);
        for (const std::uint32_t s : k_.cfg.graph.successors[b]) {
          if (s == loop_.header || !loop_.contains(s)) continue;
          Bits there = state;
          join(b, s, there);
          changed |= in[s].merge(there);
        }
      }
    }
    bool filled = true;
    for (const std::uint32_t b : loop_.blocks) filled &= pass(b, in[b]);
    return filled;
  }

 private:
  /// Of an access in the loop. With no constant address, `end` is 0.
  struct Use {
    bool load = false, store = false, always = false;
    std::uint64_t begin = 0, end = 0;
  };

  void find_uses() {
    std::uint64_t constant = 0;
    for (const Access& a : k_.accesses) {
      if (!a.objects.test(object_) || !loop_.contains(k_.cfg.block_of[a.instruction])) continue;
      const ptx::Opcode& opcode = k_.opcode(a.instruction);
      Use use{a.load, a.store};
      use.always = a.objects.count() == 1 &&
                   (!k_.guarded(a.instruction) ||
                    uniformity_.spread(a.instruction, k_.function.instructions[a.instruction].guard) !=
                        Spread::uniform);
      const bool plain =
          opcode.op == Op::ld || opcode.op == Op::st || opcode.op == Op::atom || opcode.op == Op::red;
      if (const Value at = address(a.instruction); at && plain) {
        const std::uint64_t begin = (*at & 0xffffffffu) - kObjectBase;
        const std::uint64_t width = std::uint64_t{opcode.bytes} * opcode.vector;
        if (begin < bytes_ && width > 0 && width <= bytes_ - begin)
          use.begin = begin, use.end = begin + width;
      }
      if (a.load) constant = std::max(constant, use.end);
      uses_.emplace(a.instruction, use);
    }
    bytes_ = constant;  // no load asks for those behind
  }

  Value address(std::uint32_t i) {
    Value at;
    for (const ptx::Operand& o : k_.flow.sources(i))
      if (o.kind == OperandKind::address)
        at = operand_value(k_, anyone(), o, [&](std::uint32_t reg) { return constant(i, reg); });
    return at;
  }
  ThreadContext anyone() const { return {{}, {}, object_}; }

  /// What a register holds where an instruction reads it, if that is the same each time.
  Value constant(std::uint32_t i, std::uint32_t reg) {
    Value common;
    for (const std::uint32_t d : k_.flow.reaching(i, reg)) {
      const std::uint32_t by = k_.flow.definitions()[d].instruction;
      if (open_[by] || k_.guarded(by)) return std::nullopt;
      open_[by] = true;
      const Value v = evaluate(k_, anyone(), by, [&](std::uint32_t r) { return constant(by, r); });
      open_[by] = false;
      if (!v || (common && *common != *v)) return std::nullopt;
      common = v;
    }
    return common;
  }

  void store(const Use& use, Bits& state) const {
    if (!use.store) return;
    state.set(bytes_);
    const std::uint64_t end = use.end == 0 ? bytes_ : std::min(use.end, bytes_);
    if (use.always)
      for (std::uint64_t n = use.begin; n < end; ++n) state.reset(n);
  }

  /// Follows a block; false if a load of it may find nothing.
  bool pass(std::uint32_t b, Bits& state) const {
    bool filled = true;
    for (std::uint32_t i = k_.cfg.blocks[b].first; i < k_.cfg.blocks[b].last; ++i) {
      const auto it = uses_.find(i);
      if (it == uses_.end()) continue;
      const Use& use = it->second;
      if (use.load) {
        filled &= state.test(bytes_);
        for (std::uint64_t n = use.begin; n < use.end; ++n) filled &= !state.test(n);
      }
      store(use, state);
    }
    return filled;
  }

  /// Where the ways of threads that may have parted meet, each finds what was stored on any of them.
  void join(std::uint32_t from, std::uint32_t to, Bits& state) const {
    for (const Uniformity::Region& region : uniformity_.regions) {
      if (region.meet != to || region.spread == Spread::uniform) continue;
      if ((from != region.branch && !region.contains(from)) || region.contains(loop_.header) ||
          !k_.cfg.dominators.dominates(region.branch, from))
        continue;
      for (const auto& [i, use] : uses_)
        if (region.contains(k_.cfg.block_of[i])) store(use, state);
    }
  }

  const Kernel& k_;
  const Uniformity& uniformity_;
  const ptx::Loop& loop_;
  std::uint32_t object_;
  std::uint64_t bytes_;  ///< that are told apart
  std::vector<bool> open_;
  std::map<std::uint32_t, Use> uses_;  ///< by instruction
};

/// Whether nothing of the object enters the loop, and nothing leaves it. What holds at the heads of `dead` is
/// never read, so nothing is carried past them.
bool is_closed(const Kernel& k, const ptx::Loop& loop, std::uint32_t object,
               const std::vector<std::uint32_t>& dead) {
  const std::size_t blocks = k.cfg.blocks.size();
  std::vector<bool> loads(blocks), stores(blocks);
  for (const Access& a : k.accesses)
    if (a.objects.test(object)) {
      if (a.load) loads[k.cfg.block_of[a.instruction]] = true;
      if (a.store) stores[k.cfg.block_of[a.instruction]] = true;
    }
  const auto reached_from = [&](std::vector<std::uint32_t> work) {
    std::vector<bool> reached(blocks);
    for (const std::uint32_t b : work) reached[b] = true;
    while (!work.empty()) {
      const std::uint32_t b = work.back();
      work.pop_back();
      for (const std::uint32_t s : k.cfg.graph.successors[b])
        if (!reached[s] && std::find(dead.begin(), dead.end(), s) == dead.end())
          reached[s] = true, work.push_back(s);
    }
    return reached;
  };
  std::vector<std::uint32_t> storing, behind;
  for (std::uint32_t b = 0; b < blocks; ++b)
    if (k.cfg.reachable[b] && stores[b]) storing.push_back(b);
  const std::vector<bool> stored = reached_from(storing);  // at the ends of these blocks
  for (const std::uint32_t p : k.cfg.graph.predecessors[loop.header])
    if (!loop.contains(p) && stored[p]) return false;
  for (const std::uint32_t b : loop.blocks)
    for (const std::uint32_t s : k.cfg.graph.successors[b])
      if (!loop.contains(s) && std::find(dead.begin(), dead.end(), s) == dead.end()) behind.push_back(s);
  const std::vector<bool> followed = reached_from(behind);
  for (std::uint32_t b = 0; b < blocks; ++b)
    if (followed[b] && loads[b]) return false;
  return std::any_of(loop.blocks.begin(), loop.blocks.end(), [&](std::uint32_t b) { return loads[b]; });
}

}  // namespace

std::vector<std::uint32_t> private_loop_heads(const Kernel& k, const Uniformity& uniformity,
                                              std::uint32_t object) {
  std::vector<std::uint32_t> heads;
  if (k.strict || !k.cfg.reducible) return heads;
  // Outer loops stand before inner ones. Data that an outer loop carries round enters the inner one.
  for (const ptx::Loop& loop : k.cfg.loops)
    if (is_closed(k, loop, object, heads) && Prover(k, uniformity, loop, object).run() &&
        Filled(k, uniformity, loop, object).run())
      heads.push_back(loop.header);
  return heads;
}

}  // namespace warploom::reuse::checking
