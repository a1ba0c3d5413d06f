#include "reuse/analysis/covered_region.hpp"

#include <algorithm>

#include "reuse/analysis/interference.hpp"

namespace warploom::reuse {

using namespace ptx;

namespace {

class Finder {
 public:
  Finder(const Kernel& kernel, std::uint32_t object, std::uint32_t point)
      : kernel_(kernel), cfg_(kernel.cfg), f_(*kernel.function), from_(kernel.cfg.block_of[point]) {
    r_.kernel = &kernel;
    r_.object = object;
    r_.point = point;
    r_.start = static_cast<std::uint32_t>(cfg_.blocks.size());
    r_.end = r_.start + 1;
    r_.nodes.resize(r_.start + 1);
    r_.graph = Graph(r_.start + 1);
    r_.slot_of.assign(kernel.values.all.size(), kNone);
    has_value_.assign(cfg_.blocks.size(), false);
  }

  Region run(const std::vector<DeadPoint>& dead) {
    cut(dead);
    connect();
    r_.post = post_dominators(r_.graph);
    find_leaving();
    slice();
    for (const std::uint32_t n : reached_) list_steps(n);
    for (Region::Slot& s : r_.slots) s.before_point = before_point(s.value);
    return std::move(r_);
  }

 private:
  void cut(const std::vector<DeadPoint>& dead) {
    for (std::uint32_t b = 0; b < r_.start; ++b)
      r_.nodes[b].first = cfg_.blocks[b].first, r_.nodes[b].last = cfg_.blocks[b].last;
    r_.nodes[r_.start].first = r_.point;
    r_.nodes[r_.start].last = cfg_.blocks[from_].last;
    ends_.assign(r_.start + 1, false);
    const auto end_at = [&](std::uint32_t node, std::uint32_t instruction) {
      r_.nodes[node].last = std::min(r_.nodes[node].last, instruction);
      ends_[node] = true;
    };
    end_at(from_, r_.point);
    for (const DeadPoint& d : dead) {
      if (d.object != r_.object) continue;
      end_at(cfg_.block_of[d.instruction], d.instruction);
      if (cfg_.block_of[d.instruction] == from_ && d.instruction > r_.point) end_at(r_.start, d.instruction);
    }
  }

  bool traps(std::uint32_t b) const {
    if (cfg_.blocks[b].first == cfg_.blocks[b].last) return false;
    const Instruction& last = f_.instructions[cfg_.blocks[b].last - 1];
    return kernel_.module->opcode(last).op == Op::trap && last.guard == kNone;
  }

  void connect() {
    std::vector<bool> seen(r_.start + 1);
    reached_ = {r_.start};
    for (std::size_t k = 0; k < reached_.size(); ++k) {
      const std::uint32_t n = reached_[k];
      if (ends_[n]) continue;
      const auto& successors = cfg_.graph.successors[r_.block(n)];
      for (const std::uint32_t s : successors) {
        // A trap ends the grid: what follows a branch past it follows for all threads.
        if (successors.size() > 1 && traps(s)) continue;
        r_.graph.add_edge(n, s);
        if (!seen[s]) seen[s] = true, reached_.push_back(s);
      }
    }
  }

  /// A uniform condition does not suffice where threads are apart: only those in the arm follow it.
  bool decided_alike(std::uint32_t block) const {
    if (kernel_.uniformity.apart[block]) return false;
    const std::uint32_t i = cfg_.blocks[block].last - 1;
    const Instruction& last = f_.instructions[i];
    if (kernel_.module->opcode(last).op == Op::brx) return false;
    return last.guard == kNone ||
           kernel_.uniformity.of_value[kernel_.values.of_guard[i]] == Variation::uniform ||
           std::any_of(kernel_.uniformity.assumed.begin(), kernel_.uniformity.assumed.end(),
                       [&](const UniformByBarrier& u) { return u.branch == i; });
  }

  Region::Leaves leaving(std::uint32_t block) const {
    const auto& tail = kernel_.uniformity.tail;
    const Instruction& last = f_.instructions[cfg_.blocks[block].last - 1];
    const Op op = kernel_.module->opcode(last).op;
    bool leaves = (op == Op::ret || op == Op::exit_) && last.guard != kNone;
    const auto& successors = cfg_.graph.successors[block];
    if (!tail[block])
      for (const std::uint32_t s : successors) leaves |= successors.size() > 1 && tail[s] && !traps(s);
    return !leaves ? Region::stays : decided_alike(block) ? Region::all_together : Region::one_by_one;
  }

  /// A function that the kernel calls may end its thread.
  bool calls_leave() const {
    const auto has = [&](const Function& f, Op op) {
      return std::any_of(f.instructions.begin(), f.instructions.end(),
                         [&](const Instruction& i) { return kernel_.module->opcode(i).op == op; });
    };
    return has(f_, Op::call) &&
           (!kernel_.use.inserts_allowed ||  // a body that is not known, for one
            std::any_of(kernel_.module->functions.begin(), kernel_.module->functions.end(),
                        [&](const Function& f) { return !f.entry && has(f, Op::exit_); }));
  }

  void find_leaving() {
    for (std::uint32_t n = 0; n < r_.nodes.size(); ++n) {
      const std::uint32_t b = r_.block(n);
      if (cfg_.blocks[b].first == cfg_.blocks[b].last || !cfg_.reachable[b]) continue;
      r_.nodes[n].leaves = leaving(b);
      r_.nodes[n].uniform = decided_alike(b);
    }
    r_.all_present = !calls_leave();
    std::vector<bool> seen(cfg_.blocks.size());
    std::vector<std::uint32_t> work(cfg_.graph.predecessors[from_]);
    while (!work.empty()) {
      const std::uint32_t b = work.back();
      work.pop_back();
      if (seen[b] || !cfg_.reachable[b]) continue;
      seen[b] = true;
      r_.all_present &= r_.nodes[b].leaves != Region::one_by_one;
      work.insert(work.end(), cfg_.graph.predecessors[b].begin(), cfg_.graph.predecessors[b].end());
    }
  }

  std::uint32_t need(std::uint32_t value) {
    if (value == kNone) return kNone;
    std::uint32_t& slot = r_.slot_of[value];
    if (slot != kNone) return slot;
    slot = static_cast<std::uint32_t>(r_.slots.size());
    Region::Slot s;
    s.value = value;
    s.uniform = kernel_.uniformity.of_value[value] == Variation::uniform;
    r_.slots.push_back(std::move(s));
    work_.push_back(slot);
    const Value& v = kernel_.values.all[value];
    if (v.kind != Value::undefined) has_value_[v.block] = true;
    return slot;
  }
  void need(std::optional<Source>& source) {
    if (source && source->kind == Source::value) source->id = need(source->id);
  }

  /// Everything that slot `s` is computed from.
  void trace(std::uint32_t s) {
    const Value v = kernel_.values.all[r_.slots[s].value];
    if (v.kind == Value::phi)
      for (const std::uint32_t* in = kernel_.values.begin_inputs(v); in != kernel_.values.end_inputs(v); ++in)
        need(*in);
    if (v.kind != Value::definition && v.kind != Value::guarded) return;
    const Instruction& i = f_.instructions[v.instruction];
    if (v.kind == Value::guarded && i.guard == kNone) return;  // a part of a vector register
    const Operand* written = &f_.operands[i.first_operand];
    std::uint32_t index = i.first_operand;
    if (written->kind == OperandKind::pair) index = written->id, written = &f_.operands[index];
    if (written->kind == OperandKind::reg && kernel_.values.of_operand[index] == r_.slots[s].value) {
      std::optional<Computation> compute = decode_computation(kernel_, v.instruction);
      for (std::uint32_t k = 0; compute && k < compute->source_count; ++k)
        if (compute->sources[k].kind == Source::value) compute->sources[k].id = need(compute->sources[k].id);
      r_.slots[s].compute = compute;
    }
    if (v.kind == Value::guarded) {
      const std::uint32_t guard = need(kernel_.values.of_guard[v.instruction]),
                          before = need(*kernel_.values.begin_inputs(v));
      r_.slots[s].guard = guard;
      r_.slots[s].before = before;
      r_.slots[s].guard_negated = i.guard_negated;
    }
  }

  std::optional<Source> address_of(const Access& a) const {
    const Operand& o = f_.operands[a.address];
    std::optional<Source> source = decode_source(kernel_, o.kind == OperandKind::address ? o.id : a.address);
    // The offset stays in the operand: see Run::access.
    return source;
  }

  void slice() {
    accesses_in_.resize(cfg_.blocks.size());
    matters_.assign(r_.start + 1, false);
    for (std::uint32_t k = 0; k < kernel_.use.accesses.size(); ++k)
      if (const Access& a = kernel_.use.accesses[k]; a.objects[r_.object])
        accesses_in_[cfg_.block_of[a.instruction]].push_back(k);
    for (const std::uint32_t n : reached_) {
      Region::Node& node = r_.nodes[n];
      for (const std::uint32_t k : accesses_in_[r_.block(n)]) {
        const Access& a = kernel_.use.accesses[k];
        if (a.instruction < node.first || a.instruction >= node.last) continue;
        matters_[n] = true;
        std::optional<Source> address = address_of(a);
        need(address);
        need(kernel_.values.of_guard[a.instruction]);
      }
      for (std::uint32_t i = node.first; i < node.last; ++i)
        matters_[n] = matters_[n] || separates(kernel_, i);
      if (ends_[n] || node.first >= node.last) continue;
      if (node.leaves == Region::one_by_one) matters_[n] = true;
      if (node.leaves != Region::stays)
        node.guard = need(kernel_.values.of_guard[cfg_.blocks[r_.block(n)].last - 1]);
    }
    find_influence();
    for (bool changed = true; changed;) {
      for (; !work_.empty(); trace(pop())) {
      }
      changed = false;
      for (const auto& [n, influence] : influence_) {
        Region::Node& node = r_.nodes[n];
        const std::uint32_t join = r_.post.parent(n);
        if (node.decides) continue;
        const bool joins =
            join < r_.start && std::any_of(kernel_.values.phis[join].begin(), kernel_.values.phis[join].end(),
                                           [&](std::uint32_t v) { return r_.slot_of[v] != kNone; });
        if (!joins && std::none_of(influence.begin(), influence.end(),
                                   [&](std::uint32_t m) { return matters_[m] || has_value_[r_.block(m)]; }))
          continue;
        node.decides = changed = true;
        node.guard = need(kernel_.values.of_guard[cfg_.blocks[r_.block(n)].last - 1]);
      }
    }
  }

  std::uint32_t pop() {
    const std::uint32_t s = work_.back();
    work_.pop_back();
    return s;
  }

  /// Per branch: the nodes between it and the place where its arms are together again.
  void find_influence() {
    for (const std::uint32_t n : reached_) {
      if (r_.graph.successors[n].size() < 2) continue;
      const std::uint32_t join = r_.post.parent(n);
      std::vector<bool> seen(r_.nodes.size());
      std::vector<std::uint32_t> found;
      const auto push = [&](std::uint32_t from) {
        for (const std::uint32_t s : r_.graph.successors[from])
          if (s != join && !seen[s]) seen[s] = true, found.push_back(s);
      };
      push(n);
      for (std::size_t k = 0; k < found.size(); ++k) push(found[k]);
      influence_.emplace_back(n, std::move(found));
    }
  }

  void list_steps(std::uint32_t n) {
    Region::Node& node = r_.nodes[n];
    const std::uint32_t b = r_.block(n);
    if (n != r_.start)
      for (const std::uint32_t phi : kernel_.values.phis[b])
        if (r_.slot_of[phi] != kNone) node.phis.push_back(r_.slot_of[phi]);
    auto next = accesses_in_[b].begin();
    for (std::uint32_t i = node.first; i < node.last; ++i) {
      while (next != accesses_in_[b].end() && kernel_.use.accesses[*next].instruction < i) ++next;
      for (; next != accesses_in_[b].end() && kernel_.use.accesses[*next].instruction == i; ++next) {
        Region::Step step;
        step.kind = Region::Step::access;
        step.index = *next;
        if (const std::uint32_t guard = kernel_.values.of_guard[i]; guard != kNone)
          step.guard = r_.slot_of[guard];
        step.address = address_of(kernel_.use.accesses[*next]);
        if (step.address && step.address->kind == Source::value)
          step.address->id = r_.slot_of[step.address->id];
        node.steps.push_back(step);
      }
      if (separates(kernel_, i)) {
        Region::Step step;
        step.kind = Region::Step::barrier;
        node.steps.push_back(step);
      }
      for_each_register(*kernel_.module, f_, f_.instructions[i],
                        [&](const Operand&, std::uint32_t index, bool written) {
                          if (!written || r_.slot_of[kernel_.values.of_operand[index]] == kNone) return;
                          Region::Step step;
                          step.index = r_.slot_of[kernel_.values.of_operand[index]];
                          node.steps.push_back(step);
                        });
    }
  }

  bool before_point(std::uint32_t value) const {
    const Value& v = kernel_.values.all[value];
    if (v.kind == Value::undefined) return true;
    if (v.block == from_) return v.kind == Value::phi || v.instruction < r_.point;
    return cfg_.dominators.dominates(v.block, from_);
  }

  const Kernel& kernel_;
  const Cfg& cfg_;
  const Function& f_;
  std::uint32_t from_;
  Region r_;
  std::vector<bool> ends_, matters_, has_value_;
  std::vector<std::uint32_t> reached_, work_;
  std::vector<std::vector<std::uint32_t>> accesses_in_;
  std::vector<std::pair<std::uint32_t, std::vector<std::uint32_t>>> influence_;
};

}  // namespace

Region find_region(const Kernel& kernel, std::uint32_t object, std::uint32_t point,
                   const std::vector<DeadPoint>& dead) {
  return Finder(kernel, object, point).run(dead);
}

}  // namespace warploom::reuse
