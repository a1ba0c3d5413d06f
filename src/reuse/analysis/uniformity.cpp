#include "reuse/analysis/uniformity.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "reuse/analysis/barrier_kind.hpp"

namespace warploom::reuse {

using namespace ptx;

namespace {

Variation worse(Variation a, Variation b) { return a < b ? b : a; }

bool is_uniform_special(std::string_view name) {
  for (const std::string_view prefix :
       {"%ctaid", "%nctaid", "%ntid", "%gridid", "%nsmid", "%envreg", "%dynamic_smem_size",
        "%total_smem_size", "%aggr_smem_size", "%reserved_smem", "%clusterid", "%nclusterid",
        "%cluster_ctaid", "%cluster_nctaid", "%cluster_ctarank", "%is_explicit_cluster", "WARP_SZ",
        "%nwarpid"})
    if (name.starts_with(prefix)) return true;
  return false;
}

bool leaves(Op op) { return op == Op::ret || op == Op::exit_ || op == Op::trap; }

class UniformityAnalysis {
 public:
  UniformityAnalysis(const Cfg& cfg, const Values& values, const SharedUse& use, bool trust_barriers)
      : cfg_(cfg),
        module_(*cfg.module),
        f_(*cfg.function),
        values_(values),
        accessed_(f_.instructions.size()),
        trust_barriers_(trust_barriers) {
    for (const Access& a : use.accesses) accessed_[a.instruction] = true;
    result_.of_value.assign(values.all.size(), Variation::uniform);
    result_.apart.assign(cfg.blocks.size(), false);
    has_local_ =
        std::any_of(f_.operands.begin(), f_.operands.end(),
                    [&](const Operand& o) {
                      return o.kind == OperandKind::symbol && module_.variables[o.id].space == Space::local;
                    }) ||
        std::any_of(f_.instructions.begin(), f_.instructions.end(),
                    [&](const Instruction& i) { return module_.opcode(i).op == Op::alloca_; });
    find_tails(use);
  }

  Uniformity run() {
    // Before sm_70 a thread that has left still counts: one more node stands for the end of the kernel.
    const bool exited_count = module_.sm < 70;
    const std::uint32_t end = cfg_.graph.size();
    pruned_ = Graph(end + (exited_count ? 1 : 0));
    for (std::uint32_t b = 0; b < end; ++b) {
      for (const std::uint32_t s : cfg_.graph.successors[b])
        if (exited_count || result_.tail[b] || !result_.tail[s]) pruned_.add_edge(b, s);
      if (exited_count && (cfg_.graph.successors[b].empty() || may_leave(b))) pruned_.add_edge(b, end);
    }
    post_ = post_dominators(pruned_);
    joins_.assign(cfg_.blocks.size(), Variation::uniform);
    branch_done_.assign(cfg_.blocks.size(), Variation::uniform);
    for (bool changed = true; changed;) {
      while (propagate()) {
      }
      changed = visit_branches();
    }
    std::sort(result_.divergent.begin(), result_.divergent.end(),
              [](const DivergentBranch& a, const DivergentBranch& b) { return a.block < b.block; });
    for (const DivergentBranch& d : result_.divergent)
      for (const std::uint32_t b : d.region) result_.apart[b] = true;
    find_barriers();
    return std::move(result_);
  }

 private:
  /// Ends with a guarded way out of the kernel.
  bool may_leave(std::uint32_t b) const {
    const Block& block = cfg_.blocks[b];
    return block.first < block.last && leaves(module_.opcode(f_.instructions[block.last - 1]).op);
  }

  /// A thread that does this may need other threads to go on: it must not be passed by as one that leaves.
  bool involves_others(const Function& f, const Cfg& cfg, std::uint32_t i,
                       std::vector<const Function*>& calling) const {
    const Opcode& o = module_.opcode(f.instructions[i]);
    if (o.op == Op::bar || o.op == Op::barrier || o.op == Op::unknown || o.has("sync")) return true;
    if (o.op == Op::call) return callee_involves_others(f, f.instructions[i], calling);
    const bool rereads =
        o.op == Op::atom || o.op == Op::mbarrier || o.volatile_ || o.has("acquire") || o.has("relaxed");
    return rereads &&
           (cfg.loop_of[cfg.block_of[i]] != kNone || !cfg.reducible);  // perhaps until another writes
  }

  bool callee_involves_others(const Function& caller, const Instruction& call,
                              std::vector<const Function*>& calling) const {
    const auto operands = caller.operands_of(call);
    const auto target = std::find_if(operands.begin(), operands.end(),
                                     [](const Operand& o) { return o.kind == OperandKind::function; });
    if (target == operands.end()) return true;
    const Function* f = module_.find_function(module_.functions[target->id].name);
    if (!f->has_body) return !is_harmless_callee(f->name);
    if (std::find(calling.begin(), calling.end(), f) != calling.end()) return false;
    calling.push_back(f);
    const Cfg cfg = build_cfg(module_, *f);
    for (std::uint32_t i = 0; i < f->instructions.size(); ++i)
      if (involves_others(*f, cfg, i, calling)) return true;
    return false;
  }

  void find_tails(const SharedUse& use) {
    std::vector<bool> matters(cfg_.blocks.size());
    for (const Access& a : use.accesses) matters[cfg_.block_of[a.instruction]] = true;
    std::vector<const Function*> calling;
    for (std::uint32_t i = 0; i < f_.instructions.size(); ++i)
      if (involves_others(f_, cfg_, i, calling)) matters[cfg_.block_of[i]] = true;
    std::vector<std::uint32_t> work;
    for (std::uint32_t b = 0; b < matters.size(); ++b)
      if (matters[b]) work.push_back(b);
    while (!work.empty()) {
      const std::uint32_t b = work.back();
      work.pop_back();
      for (const std::uint32_t p : cfg_.graph.predecessors[b])
        if (!matters[p]) matters[p] = true, work.push_back(p);
    }
    matters.flip();
    result_.tail = std::move(matters);
  }

  Variation of_operand(std::uint32_t index) const {
    const Operand& o = f_.operands[index];
    switch (o.kind) {
      case OperandKind::reg:
        return values_.of_operand[index] == kNone ? Variation::uniform
                                                  : result_.of_value[values_.of_operand[index]];
      case OperandKind::special: {
        const std::string_view name = module_.text_of(o.span);
        return is_uniform_special(name) ? Variation::uniform
               : name == "%smid"        ? Variation::loaded  // may change when the block is resumed elsewhere
                                        : Variation::thread;
      }
      case OperandKind::address:
      case OperandKind::vector:
      case OperandKind::list:
      case OperandKind::pair: {
        Variation v = Variation::uniform;
        for (std::uint32_t c = 0; c < o.count; ++c) v = worse(v, of_operand(o.id + c));
        return v;
      }
      case OperandKind::unknown:
        return Variation::thread;
      default:
        return Variation::uniform;
    }
  }

  bool names_parameter(const Instruction& load) const {
    if (load.operand_count != 2) return false;
    const Operand& address = f_.operands[load.first_operand + 1];
    if (address.kind != OperandKind::address) return false;
    const Operand& base = f_.operands[address.id];
    return base.kind == OperandKind::symbol &&
           std::find(f_.parameters.begin(), f_.parameters.end(), base.id) != f_.parameters.end();
  }

  Variation of_result(const Instruction& i) const {
    const Opcode& opcode = module_.opcode(i);
    const Variation guard = i.guard == kNone
                                ? Variation::uniform
                                : result_.of_value[values_.of_guard[&i - f_.instructions.data()]];
    Variation v = guard;
    for (std::uint32_t k = opcode.destinations; k < i.operand_count; ++k)
      v = worse(v, of_operand(i.first_operand + k));
    switch (opcode.op) {
      case Op::ld:
      case Op::ldu: {
        if (opcode.space == Space::constant) return v;
        if (opcode.space == Space::param) {
          // A kernel's parameter; the result of a call is in a variable that the body declares.
          return f_.entry && names_parameter(i) ? v : Variation::thread;
        }
        if (opcode.space == Space::local || opcode.space == Space::shared_cluster) return Variation::thread;
        if (opcode.space == Space::generic && has_local_) return Variation::thread;
        return worse(v, Variation::loaded);
      }
      case Op::tex:
      case Op::tld4:
      case Op::suld:
        return worse(v, Variation::loaded);
      case Op::bar:
      case Op::barrier:
        return barrier_kind(module_, f_, i) == BarrierKind::full ? guard : Variation::thread;
      case Op::addc:
      case Op::subc:
      case Op::madc:  // read a carry that no operand names
      case Op::unknown:
      case Op::atom:
      case Op::shfl:
      case Op::vote:
      case Op::match:
      case Op::redux:
      case Op::elect:
      case Op::activemask:
      case Op::call:
      case Op::wmma:
      case Op::mma:
      case Op::wgmma:
      case Op::ldmatrix:
      case Op::mbarrier:
      case Op::alloca_:
      case Op::fns:
      case Op::movmatrix:
      case Op::multimem:
      case Op::tcgen05:
      case Op::stacksave:
        return Variation::thread;
      default:
        return v;
    }
  }

  bool raise(std::uint32_t value, Variation v) {
    if (v <= result_.of_value[value]) return false;
    result_.of_value[value] = v;
    return true;
  }

  /// One round over all values; true if something changed.
  bool propagate() {
    bool changed = false;
    for (const std::uint32_t b : cfg_.order) {
      for (const std::uint32_t phi : values_.phis[b]) {
        const Value& v = values_.all[phi];
        Variation all = Variation::uniform;
        bool differ = false;
        std::uint32_t first = kNone;
        for (const std::uint32_t* in = values_.begin_inputs(v); in != values_.end_inputs(v); ++in) {
          all = worse(all, result_.of_value[*in]);
          if (*in == phi) continue;
          if (first == kNone) first = *in;
          differ |= *in != first;
        }
        changed |= raise(phi, differ ? worse(all, joins_[b]) : all);
      }
      for (std::uint32_t i = cfg_.blocks[b].first; i < cfg_.blocks[b].last; ++i) {
        const Instruction& instruction = f_.instructions[i];
        Variation result = Variation::uniform;
        bool known = false;
        for_each_register(module_, f_, instruction, [&](const Operand&, std::uint32_t index, bool written) {
          if (!written) return;
          if (!known) result = of_result(instruction), known = true;
          Variation v = result;
          const Value& value = values_.all[values_.of_operand[index]];
          for (const std::uint32_t* in = values_.begin_inputs(value); in != values_.end_inputs(value); ++in)
            v = worse(v, result_.of_value[*in]);
          changed |= raise(values_.of_operand[index], v);
        });
      }
    }
    return changed;
  }

  /// The instruction that decides where block `b` goes, with its variation; kNone when it is not decided.
  std::uint32_t deciding(std::uint32_t b, Variation& v) const {
    const Block& block = cfg_.blocks[b];
    if (block.first == block.last) return kNone;
    const std::uint32_t i = block.last - 1;
    const Instruction& last = f_.instructions[i];
    const Op op = module_.opcode(last).op;
    if (op != Op::bra && op != Op::brx && !leaves(op)) return kNone;
    if (last.guard == kNone && op != Op::brx) return kNone;
    v = last.guard == kNone ? Variation::uniform : result_.of_value[values_.of_guard[i]];
    if (op == Op::brx)
      for (std::uint32_t k = 0; k < last.operand_count; ++k) v = worse(v, of_operand(last.first_operand + k));

    return i;
  }

  std::vector<std::uint32_t> region_of(std::uint32_t branch, std::uint32_t join) const {
    std::vector<bool> seen(pruned_.size());
    std::vector<std::uint32_t> work, region;
    const auto push = [&](std::uint32_t b) {
      if (b != join && b < cfg_.blocks.size() && !seen[b]) seen[b] = true, work.push_back(b);
    };
    for (const std::uint32_t s : pruned_.successors[branch]) push(s);
    while (!work.empty()) {
      const std::uint32_t b = work.back();
      work.pop_back();
      region.push_back(b);
      for (const std::uint32_t s : pruned_.successors[b]) push(s);
    }
    std::sort(region.begin(), region.end());
    return region;
  }

  bool visit_branches() {
    bool changed = false;
    for (const std::uint32_t b : cfg_.order) {
      Variation v = Variation::uniform;
      const std::uint32_t at = deciding(b, v);
      if (at == kNone || v <= branch_done_[b]) continue;
      if (pruned_.successors[b].size() < 2) continue;
      const bool again = branch_done_[b] != Variation::uniform;
      branch_done_[b] = v;
      const std::uint32_t join = post_.parent(b);
      const std::vector<std::uint32_t> region = region_of(b, join);
      if (v == Variation::loaded && trust_barriers_) {
        const std::uint32_t barrier = full_barrier_decided(b, region);
        if (barrier != kNone && (join < cfg_.blocks.size() || !may_leave_after_access(b))) {
          result_.assumed.push_back({at, barrier});
          continue;
        }
      }
      if (again) {
        std::erase_if(result_.assumed, [&](const UniformByBarrier& a) { return a.branch == at; });
        std::erase_if(result_.divergent, [&](const DivergentBranch& d) { return d.block == b; });
      }
      result_.divergent.push_back({b, region});
      for (const std::uint32_t r : region) joins_[r] = worse(joins_[r], v);
      if (join < cfg_.blocks.size()) joins_[join] = worse(joins_[join], v);
      changed = true;
    }
    return changed;
  }

  /// A barrier in the region that some target of the branch always leads to: then the branch decides over it.
  std::uint32_t full_barrier_decided(std::uint32_t branch, const std::vector<std::uint32_t>& region) const {
    const auto& targets = pruned_.successors[branch];
    for (const std::uint32_t b : region)
      for (std::uint32_t i = cfg_.blocks[b].first; i < cfg_.blocks[b].last; ++i)
        if (is_barrier_for_all(i) && std::any_of(targets.begin(), targets.end(),
                                                 [&](std::uint32_t s) { return post_.dominates(b, s); }))
          return i;
    return kNone;
  }

  bool is_barrier_for_all(std::uint32_t i) const {
    return f_.instructions[i].guard == kNone &&
           barrier_kind(module_, f_, f_.instructions[i]) == BarrierKind::full;
  }

  /// An arm of the branch may access shared memory and then leave without another barrier: the barrier in the
  /// other arm does not wait for it, and so says nothing of who goes where.
  bool may_leave_after_access(std::uint32_t branch) const {
    std::vector<std::pair<std::uint32_t, bool>> work;  // block, accessed before it
    for (const std::uint32_t s : pruned_.successors[branch]) work.emplace_back(s, false);
    std::vector<std::array<bool, 2>> seen(pruned_.size());
    while (!work.empty()) {
      auto [b, accessed] = work.back();
      work.pop_back();
      if (b >= cfg_.blocks.size() || std::exchange(seen[b][accessed], true)) continue;
      bool stopped = false;
      for (std::uint32_t i = cfg_.blocks[b].first; i < cfg_.blocks[b].last && !stopped; ++i) {
        accessed = accessed || accessed_[i];
        stopped = is_barrier_for_all(i);
      }
      if (stopped) continue;
      const auto& next = pruned_.successors[b];
      if (accessed && (next.empty() || next.size() < cfg_.graph.successors[b].size())) return true;
      for (const std::uint32_t s : next) work.emplace_back(s, accessed);
    }
    return false;
  }

  void find_barriers() {
    for (std::uint32_t i = 0; i < f_.instructions.size(); ++i) {
      const Instruction& instruction = f_.instructions[i];
      const std::uint32_t b = cfg_.block_of[i];
      if (!cfg_.reachable[b] || barrier_kind(module_, f_, instruction) != BarrierKind::full) continue;
      if (instruction.guard == kNone && !result_.apart[b]) result_.separators.push_back(i);
      const bool guarded =
          instruction.guard != kNone && result_.of_value[values_.of_guard[i]] != Variation::uniform;
      if (!result_.divergent_barrier && (result_.apart[b] || guarded))
        result_.divergent_barrier = Reason{
            "a block-wide barrier that not all threads of the block need reach together", instruction.line};
    }
  }

  const Cfg& cfg_;
  const Module& module_;
  const Function& f_;
  const Values& values_;
  std::vector<bool> accessed_;  ///< per instruction: accesses shared memory
  bool trust_barriers_;
  bool has_local_ = false;  ///< a generic address may be one of the thread's own memory
  Uniformity result_;
  Graph pruned_;
  DominatorTree post_;
  std::vector<Variation> joins_;  ///< what a join after divergence adds to phis of a block
  std::vector<Variation> branch_done_;
};

}  // namespace

Uniformity find_uniformity(const Cfg& cfg, const Values& values, const SharedUse& use, bool trust_barriers) {
  return UniformityAnalysis(cfg, values, use, trust_barriers).run();
}

}  // namespace warploom::reuse
