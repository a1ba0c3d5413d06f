#include "reuse/analysis/privacy.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

#include "reuse/analysis/evaluate.hpp"
#include "reuse/analysis/flights.hpp"

namespace warploom::reuse {

using namespace ptx;

namespace {

/// A special register that a thread reads alike at any time.
bool is_constant_special(std::string_view name) {
  for (const std::string_view prefix : {"%clock", "%globaltimer", "%pm", "%smid", "%warpid"})
    if (name.starts_with(prefix)) return false;
  return true;
}

/// Values that a thread computes alike in every iteration of one loop.
class Invariance {
 public:
  Invariance(const Kernel& kernel, const Loop& loop)
      : kernel_(kernel), f_(*kernel.function), loop_(loop), state_(kernel.values.all.size(), unknown) {}

  bool of_value(std::uint32_t value) {
    if (value == kNone) return true;
    if (state_[value] == unknown) solve(value);
    return state_[value] == yes;
  }
  bool of_operand(std::uint32_t index) {
    const Operand& o = f_.operands[index];
    switch (o.kind) {
      case OperandKind::reg:
        return of_value(kernel_.values.of_operand[index]);
      case OperandKind::address:
      case OperandKind::vector:
      case OperandKind::list:
      case OperandKind::pair:
        for (std::uint32_t c = 0; c < o.count; ++c)
          if (!of_operand(o.id + c)) return false;
        return true;
      case OperandKind::special:
        return is_constant_special(kernel_.module->text_of(o.span));
      case OperandKind::unknown:
        return false;
      default:
        return true;
    }
  }

 private:
  enum State : std::uint8_t { unknown, open, yes, no };

  /// The values that `value` is computed from; false when it is not arithmetic of values.
  bool inputs(std::uint32_t value, std::vector<std::uint32_t>& out) const {
    const Value& v = kernel_.values.all[value];
    if (v.kind == Value::undefined) return true;
    const std::uint32_t block = v.block;
    if (!loop_.contains(block)) return true;  // computed before the loop: the same in every iteration
    if (v.kind == Value::phi && block == loop_.header) {
      // What enters from the latches must be what entered from outside.
      const std::uint32_t* first = kernel_.values.begin_inputs(v);
      for (const std::uint32_t* in = first; in != kernel_.values.end_inputs(v); ++in)
        if (*in != *first && *in != value) return false;
      out.insert(out.end(), first, kernel_.values.end_inputs(v));
      return true;
    }
    out.insert(out.end(), kernel_.values.begin_inputs(v), kernel_.values.end_inputs(v));
    if (v.kind == Value::phi) return decided_alike(block, out);
    const Instruction& i = kernel_.instruction(v.instruction);
    const Opcode& opcode = kernel_.module->opcode(i);
    switch (opcode.op) {
      case Op::ld:
        if (opcode.space != Space::param && opcode.space != Space::constant) return false;
        break;
      case Op::ldu:
      case Op::atom:
      case Op::tex:
      case Op::tld4:
      case Op::suld:
      case Op::call:
      case Op::unknown:
      case Op::shfl:
      case Op::vote:
      case Op::match:
      case Op::activemask:
      case Op::redux:
      case Op::bar:
      case Op::barrier:
      case Op::mbarrier:
      case Op::elect:
      case Op::ldmatrix:
      case Op::wmma:
      case Op::mma:
      case Op::wgmma:
      case Op::alloca_:
      case Op::testp:
      case Op::multimem:
      case Op::tcgen05:
      case Op::movmatrix:
      case Op::clusterlaunchcontrol:
      case Op::stacksave:
        return false;
      case Op::addc:
      case Op::subc:
      case Op::madc:
        return false;  // the carry flag is no operand
      default:
        break;
    }
    if (kernel_.values.of_guard[v.instruction] != kNone)
      out.push_back(kernel_.values.of_guard[v.instruction]);
    bool plain = true;
    for (std::uint32_t k = opcode.destinations; k < i.operand_count; ++k)
      collect(i.first_operand + k, out, plain);
    return plain;
  }

  void collect(std::uint32_t index, std::vector<std::uint32_t>& out, bool& plain) const {
    const Operand& o = f_.operands[index];
    if (o.kind == OperandKind::reg) {
      if (kernel_.values.of_operand[index] != kNone) out.push_back(kernel_.values.of_operand[index]);
    } else if (o.kind == OperandKind::address || o.kind == OperandKind::vector ||
               o.kind == OperandKind::list || o.kind == OperandKind::pair) {
      for (std::uint32_t c = 0; c < o.count; ++c) collect(o.id + c, out, plain);
    } else if (o.kind == OperandKind::special) {
      plain = plain && is_constant_special(kernel_.module->text_of(o.span));
    } else if (o.kind == OperandKind::unknown) {
      plain = false;
    }
  }

  /// A phi inside the loop picks by the branches since its dominator: they must decide alike too.
  bool decided_alike(std::uint32_t block, std::vector<std::uint32_t>& out) const {
    const Cfg& cfg = kernel_.cfg;
    std::vector<std::uint32_t> work(cfg.graph.predecessors[block]);
    std::vector<bool> seen(cfg.blocks.size());
    const std::uint32_t top = cfg.dominators.parent(block);
    while (!work.empty()) {
      const std::uint32_t b = work.back();
      work.pop_back();
      if (seen[b] || !cfg.reachable[b]) continue;
      seen[b] = true;
      if (cfg.graph.successors[b].size() > 1 && loop_.contains(b) && !decision(b, out)) return false;
      if (b != top)
        for (const std::uint32_t p : cfg.graph.predecessors[b]) work.push_back(p);
    }
    return true;
  }

 public:
  /// Adds the values that decide where block `b` goes; false when they cannot be named.
  bool decision(std::uint32_t b, std::vector<std::uint32_t>& out) const {
    const std::uint32_t i = kernel_.cfg.blocks[b].last - 1;
    const Instruction& last = kernel_.instruction(i);
    bool plain = true;
    if (last.guard != kNone) out.push_back(kernel_.values.of_guard[i]);
    for (std::uint32_t k = 0; k < last.operand_count; ++k) collect(last.first_operand + k, out, plain);
    return plain;
  }

 private:
  /// Depth-first over the inputs. A cycle of phis of inner loops is invariant if nothing on it is not:
  /// so the values met are assumed to be, and if one is not, all are tried again without that assumption.
  void solve(std::uint32_t start) {
    std::vector<std::uint32_t> order, work{start}, in;
    std::vector<std::pair<std::uint32_t, std::vector<std::uint32_t>>> edges;
    while (!work.empty()) {
      const std::uint32_t value = work.back();
      work.pop_back();
      if (state_[value] != unknown) continue;
      in.clear();
      if (!inputs(value, in)) {
        state_[value] = no;
        continue;
      }
      state_[value] = open;
      edges.emplace_back(value, in);
      work.insert(work.end(), in.begin(), in.end());
    }
    for (bool changed = true; changed;) {
      changed = false;
      for (const auto& [value, from] : edges)
        if (state_[value] == open &&
            std::any_of(from.begin(), from.end(), [&](std::uint32_t v) { return state_[v] == no; }))
          state_[value] = no, changed = true;
    }
    for (const auto& [value, from] : edges)
      if (state_[value] == open) state_[value] = yes;
  }

  const Kernel& kernel_;
  const Function& f_;
  const Loop& loop_;
  std::vector<State> state_;
};

/// One iteration of a loop as a graph: back edges to the header end it; edges that leave the loop are left
/// out, since whoever leaves has no next iteration.
class Iteration {
 public:
  Iteration(const Cfg& cfg, const Loop& loop) : header_(loop.header), graph_(cfg.blocks.size()) {
    for (const std::uint32_t b : loop.blocks)
      for (const std::uint32_t s : cfg.graph.successors[b])
        if (s != loop.header && loop.contains(s)) graph_.add_edge(b, s);
    post_ = post_dominators(graph_);
  }
  /// The branch at the end of `branch` decides whether, or how often, `block` is run in an iteration.
  bool decides(std::uint32_t branch, std::uint32_t block) const {
    return graph_.successors[branch].size() > 1 && reaches(branch, block) &&
           (block == branch || !post_.dominates(block, branch));
  }
  /// Some path of at least one edge leads from the one block to the other.
  bool reaches(std::uint32_t from, std::uint32_t to) const {
    return reaches(graph_.successors[from], to, {});
  }
  /// Whoever comes to `block` comes to one of `closed` in the same iteration, and before they come to `home`.
  bool leads_into(std::uint32_t block, const std::vector<bool>& closed, std::uint32_t home) const {
    if (reaches({block}, home, closed)) return false;
    for (std::uint32_t b = 0; b < closed.size(); ++b)
      if (closed[b] && post_.dominates(b, block)) return true;
    return false;
  }
  /// Some path leads from the header to `block`, and passes through no end of a block in `closed`.
  bool open(std::uint32_t block, const std::vector<bool>& closed) const {
    return reaches({header_}, block, closed);
  }

 private:
  bool reaches(std::vector<std::uint32_t> work, std::uint32_t to, const std::vector<bool>& closed) const {
    std::vector<bool> seen(graph_.size());
    while (!work.empty()) {
      const std::uint32_t b = work.back();
      work.pop_back();
      if (b == to) return true;
      if (seen[b] || (!closed.empty() && closed[b])) continue;
      seen[b] = true;
      work.insert(work.end(), graph_.successors[b].begin(), graph_.successors[b].end());
    }
    return false;
  }
  std::uint32_t header_;
  Graph graph_;
  DominatorTree post_;
};

class Prover {
 public:
  Prover(const Kernel& kernel, std::vector<NotPrivate>& failures)
      : kernel_(kernel), cfg_(kernel.cfg), failures_(failures) {}

  std::vector<DeadPoint> run() {
    std::vector<DeadPoint> proved;
    if (kernel_.strict || !cfg_.reducible || cfg_.loops.empty()) return proved;
    const ObjectSet flying = flying_objects(kernel_.use);
    for (std::uint32_t l = 0; l < cfg_.loops.size(); ++l) {
      const Loop& loop = cfg_.loops[l];
      ObjectSet candidates;
      for (const Access& a : kernel_.use.accesses)
        if (loop.contains(cfg_.block_of[a.instruction])) candidates |= a.objects;
      if (candidates.none()) continue;
      const Reason apart = threads_part(loop);
      const Liveness liveness = find_liveness(kernel_, proved);
      Invariance invariance(kernel_, loop);
      const Iteration iteration(cfg_, loop);
      for (std::uint32_t o = 0; o < kernel_.object_count(); ++o) {
        if (!candidates[o] || flying[o] || kernel_.use.objects[o].pinned) continue;
        Reason why = apart.text.empty() ? obstacle(o, loop, liveness, invariance, iteration) : apart;
        if (why.text.empty())
          proved.push_back({DeadPoint::iteration_private, o, cfg_.blocks[loop.header].first});
        else
          failures_.push_back({o, l, std::move(why)});
      }
    }
    return proved;
  }

 private:
  std::uint32_t last_line(std::uint32_t block) const { return kernel_.line(cfg_.blocks[block].last - 1); }

  /// Threads that leave the loop, or the kernel from inside it, at different times leave old data behind.
  Reason threads_part(const Loop& loop) const {
    if (kernel_.uniformity.apart[loop.header])
      return {"not all threads enter the loop together", kernel_.line(cfg_.blocks[loop.header].first)};
    for (const std::uint32_t b : loop.blocks) {
      const Instruction& last = kernel_.instruction(cfg_.blocks[b].last - 1);
      const Op op = kernel_.module->opcode(last).op;
      bool leaves = op == Op::ret || op == Op::exit_;
      for (const std::uint32_t s : cfg_.graph.successors[b]) leaves |= !loop.contains(s);
      if (!leaves) continue;
      if (kernel_.uniformity.apart[b]) return {"threads may leave the loop at different times", last.line};
      Variation v = Variation::uniform;
      if (last.guard != kNone)
        v = kernel_.uniformity.of_value[kernel_.values.of_guard[cfg_.blocks[b].last - 1]];
      if (op == Op::brx || (op == Op::bra && last.guard == kNone && cfg_.graph.successors[b].size() > 1))
        v = Variation::thread;
      const bool assumed =
          std::any_of(kernel_.uniformity.assumed.begin(), kernel_.uniformity.assumed.end(),
                      [&](const UniformByBarrier& u) { return u.branch == cfg_.blocks[b].last - 1; });
      if (v != Variation::uniform && !assumed)
        return {"threads may leave the loop at different times", last.line};
    }
    return {};
  }

  Reason obstacle(std::uint32_t o, const Loop& loop, const Liveness& liveness, Invariance& invariance,
                  const Iteration& iteration) const {
    for (const std::uint32_t p : cfg_.graph.predecessors[loop.header]) {
      if (loop.contains(p) || !cfg_.reachable[p]) continue;
      ObjectSet stored = liveness.stored_in[p];
      for (const auto& e : liveness.events[p]) {
        stored &= ~e.dead_before;
        if (e.access != nullptr && e.access->write) stored |= e.access->objects;
      }
      if (stored[o]) return {"it is stored before the loop", first_store_outside(o, loop)};
    }
    std::vector<std::uint32_t> inside;
    for (const Access& a : kernel_.use.accesses) {
      if (!a.objects[o]) continue;
      const std::uint32_t b = cfg_.block_of[a.instruction];
      if (!loop.contains(b)) {
        if (a.read && reaches(loop.header, b))
          return {"it is read after the loop", kernel_.line(a.instruction)};
        continue;
      }
      inside.push_back(b);
      if (!invariance.of_operand(a.address))
        return {"this access depends on the iteration", kernel_.line(a.instruction)};
      if (!invariance.of_value(kernel_.values.of_guard[a.instruction]))
        return {"the predicate of this access depends on the iteration", kernel_.line(a.instruction)};
    }
    // Branches between blocks of the loop that decide over an access must decide alike in each iteration.
    for (const std::uint32_t b : loop.blocks) {
      const bool decides = std::any_of(inside.begin(), inside.end(),
                                       [&](std::uint32_t at) { return iteration.decides(b, at); });
      if (!decides) continue;
      std::vector<std::uint32_t> values;
      if (!invariance.decision(b, values) ||
          !std::all_of(values.begin(), values.end(), [&](std::uint32_t v) { return invariance.of_value(v); }))
        return {"a branch over its accesses depends on the iteration", last_line(b)};
    }
    for (const Access& a : kernel_.use.accesses)
      if (a.read && a.objects[o] && loop.contains(cfg_.block_of[a.instruction]) &&
          reads_before_store(a, o, loop, iteration))
        return {"no store need come before this load in the first iteration", kernel_.line(a.instruction)};
    return {};
  }

  /// Compilers load elements at constant addresses where the source does not, ahead of the condition that
  /// decides whether the value is used (`k > 0 ? s[0] : 0`). In iteration one such a load may read what
  /// nobody wrote, and assumption 1 says nothing of it. So each byte that it reads must have a store before
  /// it, on every path. Other addresses may lie outside the object and are not loaded early; there a store on
  /// some path is enough to take the assumption's word.
  bool reads_before_store(const Access& load, std::uint32_t o, const Loop& loop,
                          const Iteration& iteration) const {
    const ConstantAddress at = constant_address(load);
    const std::uint32_t home = cfg_.block_of[load.instruction];
    if (!at.constant)
      return std::none_of(kernel_.use.accesses.begin(), kernel_.use.accesses.end(), [&](const Access& a) {
        const std::uint32_t b = cfg_.block_of[a.instruction];
        return a.write && a.objects[o] && loop.contains(b) &&
               ((b == home && a.instruction <= load.instruction) || iteration.reaches(b, home));
      });
    const std::int64_t width = at.offset ? std::max<std::uint32_t>(load.bytes, 1) : 1;
    for (std::int64_t byte = 0; byte < width; ++byte) {
      std::vector<bool> closed(cfg_.blocks.size());
      bool stored_at_home = false;
      for (const Access& a : kernel_.use.accesses) {
        const std::uint32_t b = cfg_.block_of[a.instruction];
        if (!a.write || !a.objects[o] || !loop.contains(b)) continue;
        // It may go elsewhere, or, under a guard that all threads share, nowhere.
        const std::uint32_t guard = kernel_.values.of_guard[a.instruction];
        if (a.objects.count() > 1 ||
            (guard != kNone && kernel_.uniformity.of_value[guard] != Variation::thread))
          continue;
        const ConstantAddress to = constant_address(a);
        if (at.offset && to.constant && to.offset && a.bytes != 0 &&
            (*at.offset + byte < *to.offset || *at.offset + byte >= *to.offset + a.bytes))
          continue;
        if (b == home) stored_at_home |= a.instruction < load.instruction;
        closed[b] = true;
      }
      // Where threads part, it is enough that those who go one of the ways all store.
      for (bool changed = true; changed;) {
        changed = false;
        for (const DivergentBranch& d : kernel_.uniformity.divergent) {
          if (closed[d.block] || d.block == home ||
              std::binary_search(d.region.begin(), d.region.end(), home))
            continue;
          for (const std::uint32_t s : cfg_.graph.successors[d.block])
            if (loop.contains(s) && s != loop.header && iteration.leads_into(s, closed, home))
              closed[d.block] = changed = true;
        }
      }
      if (!stored_at_home && iteration.open(home, closed)) return true;
    }
    return false;
  }

  struct ConstantAddress {
    bool constant = false;               ///< made of names and numbers alone
    std::optional<std::int64_t> offset;  ///< from the object's start, if there is only one
  };
  ConstantAddress constant_address(const Access& access) const {
    ConstantAddress result{true, 0};
    const Function& f = *kernel_.function;
    const Operand& whole = f.operands[access.address];
    const bool has_offset = whole.kind == OperandKind::address;
    if (const auto source = decode_source(kernel_, has_offset ? whole.id : access.address))
      if (const auto cell = folded(*source, 0); cell && cell->object != kNone) {
        const std::uint64_t offset = cell->bits + static_cast<std::uint64_t>(has_offset ? whole.value : 0);
        result.offset = static_cast<std::int32_t>(static_cast<std::uint32_t>(offset));
        return result;
      }
    std::vector<std::uint32_t> work{access.address};
    std::vector<bool> seen(f.operands.size());
    while (!work.empty()) {
      const std::uint32_t index = work.back();
      work.pop_back();
      if (seen[index]) continue;
      seen[index] = true;
      const Operand& o = f.operands[index];
      if (o.kind == OperandKind::address) {
        work.push_back(o.id);
        if (result.offset) *result.offset += o.value;
      } else if (o.kind == OperandKind::symbol || o.kind == OperandKind::integer) {
        if (result.offset) *result.offset += o.value;
      } else {
        const std::uint32_t value = o.kind == OperandKind::reg ? kernel_.values.of_operand[index] : kNone;
        if (value == kNone || kernel_.values.all[value].kind != Value::definition) return {};
        const Instruction& i = kernel_.instruction(kernel_.values.all[value].instruction);
        const Op op = kernel_.module->opcode(i).op;
        if (op != Op::mov && op != Op::cvta && op != Op::cvt && op != Op::add && op != Op::selp) return {};
        if (op == Op::selp) result.offset.reset();
        work.push_back(i.first_operand + 1);
        if (op == Op::add || op == Op::selp) work.push_back(i.first_operand + 2);
      }
    }
    return result;
  }

  /// What names and numbers alone make, an object's address or a number; none where anything else takes part.
  std::optional<Cell> folded(const Source& source, unsigned depth) const {
    constexpr unsigned kMaxDepth = 32;
    if (source.kind == Source::constant) return source.cell;
    if (source.kind != Source::value || depth > kMaxDepth) return std::nullopt;
    const Value& v = kernel_.values.all[source.id];
    if (v.kind != Value::definition) return std::nullopt;
    const auto computation = decode_computation(kernel_, v.instruction);
    if (!computation) return std::nullopt;
    std::array<Cell, 5> inputs;
    std::uint32_t object = kNone;
    for (std::size_t k = 0; k < computation->source_count; ++k) {
      const auto input = folded(computation->sources[k], depth + 1);
      if (!input) return std::nullopt;
      inputs[k] = *input;
      if (computation->sources[k].negated) inputs[k].bits ^= 1;
      if (input->object != kNone) object = input->object;
    }
    if (const auto sum = evaluate(*computation, inputs.data()); sum && sum->symbol == 0) return sum;
    // Bits set or cleared below the object's alignment: as if it lay at a large power of two.
    constexpr std::uint64_t kBase = std::uint64_t{1} << 28;
    for (Cell& input : inputs)
      if (input.object != kNone) input = {input.bits + kBase, 0, kNone};
    const auto at = evaluate(*computation, inputs.data());
    if (object == kNone || !at || !at->number() || at->bits - kBase >= kernel_.use.objects[object].bytes)
      return std::nullopt;
    return Cell{at->bits - kBase, 0, object};
  }

  std::uint32_t first_store_outside(std::uint32_t o, const Loop& loop) const {
    for (const Access& a : kernel_.use.accesses)
      if (a.write && a.objects[o] && !loop.contains(cfg_.block_of[a.instruction]))
        return kernel_.line(a.instruction);
    // Stored by an earlier run of this loop, inside an outer one.
    for (const Access& a : kernel_.use.accesses)
      if (a.write && a.objects[o]) return kernel_.line(a.instruction);
    return 0;
  }

  bool reaches(std::uint32_t from, std::uint32_t to) const {
    std::vector<bool> seen(cfg_.blocks.size());
    std::vector<std::uint32_t> work{from};
    while (!work.empty()) {
      const std::uint32_t b = work.back();
      work.pop_back();
      if (b == to) return true;
      if (seen[b]) continue;
      seen[b] = true;
      for (const std::uint32_t s : cfg_.graph.successors[b]) work.push_back(s);
    }
    return false;
  }

  const Kernel& kernel_;
  const Cfg& cfg_;
  std::vector<NotPrivate>& failures_;
};

}  // namespace

std::vector<DeadPoint> find_iteration_private(const Kernel& kernel, std::vector<NotPrivate>& failures) {
  return Prover(kernel, failures).run();
}

}  // namespace warploom::reuse
