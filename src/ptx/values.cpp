#include "warploom/ptx/values.hpp"

#include <algorithm>

#include "warploom/core/error.hpp"

namespace warploom::ptx {
namespace {

struct Numbering {
  const Cfg& cfg;
  const Module& module;
  const Function& f;
  Values values;

  struct Site {
    std::uint32_t definitions = 0;
    std::uint32_t instruction = kNone;  ///< of the only definition
    bool joined = false;                ///< needs phis
  };
  std::vector<Site> sites;
  std::vector<std::vector<std::uint32_t>> current;  ///< per register: stack of values while renaming
  std::vector<std::uint32_t> only;                  ///< per register without phis: its one value
  std::vector<std::uint32_t> undefined_value;

  explicit Numbering(const Cfg& c)
      : cfg(c),
        module(*c.module),
        f(*c.function),
        sites(f.registers.size()),
        current(f.registers.size()),
        only(f.registers.size(), kNone),
        undefined_value(f.registers.size(), kNone) {
    values.of_operand.assign(f.operands.size(), kNone);
    values.of_guard.assign(f.instructions.size(), kNone);
    values.phis.resize(cfg.blocks.size());
  }

  std::uint32_t add(Value v) {
    values.all.push_back(v);
    return static_cast<std::uint32_t>(values.all.size()) - 1;
  }

  /// The register may hold its old value, or a part of it, after `i` has written it.
  bool keeps_old(const Instruction& i, const Operand& o) const {
    return i.guard != kNone || o.component != 0xff || module.opcode(i).op == Op::unknown;
  }

  /// A register needs phis unless it has one unguarded definition that dominates every use.
  void classify() {
    for (const std::uint32_t b : cfg.order)
      for (std::uint32_t i = cfg.blocks[b].first; i < cfg.blocks[b].last; ++i)
        for_each_register(module, f, f.instructions[i], [&](const Operand& o, std::uint32_t, bool written) {
          if (!written) return;
          Site& s = sites[o.id];
          if (++s.definitions == 1)
            s.instruction = i;
          else if (s.instruction != i)
            s.joined = true;  // components of one vector register may share it
          if (keeps_old(f.instructions[i], o)) s.joined = true;
        });
    const auto use = [&](std::uint32_t reg, std::uint32_t at) {
      Site& s = sites[reg];
      if (s.joined) return;
      if (s.definitions == 0)
        s.joined = true;
      else {
        const std::uint32_t from = cfg.block_of[s.instruction], to = cfg.block_of[at];
        if (from == to ? s.instruction >= at : !cfg.dominators.dominates(from, to)) s.joined = true;
      }
    };
    for (const std::uint32_t b : cfg.order)
      for (std::uint32_t i = cfg.blocks[b].first; i < cfg.blocks[b].last; ++i) {
        if (f.instructions[i].guard != kNone) use(f.instructions[i].guard, i);
        for_each_register(module, f, f.instructions[i], [&](const Operand& o, std::uint32_t, bool written) {
          if (!written) use(o.id, i);
        });
      }
  }

  std::vector<std::vector<std::uint32_t>> dominance_frontiers() const {
    std::vector<std::vector<std::uint32_t>> frontier(cfg.blocks.size());
    for (const std::uint32_t b : cfg.order) {
      if (cfg.graph.predecessors[b].size() < 2) continue;
      for (std::uint32_t p : cfg.graph.predecessors[b]) {
        if (!cfg.reachable[p]) continue;
        for (; p != kNone && p != cfg.dominators.parent(b); p = cfg.dominators.parent(p))
          if (frontier[p].empty() || frontier[p].back() != b) frontier[p].push_back(b);
      }
    }
    return frontier;
  }

  void place_phis() {
    // Blocks that define, and registers that some block reads before it writes them.
    std::vector<std::vector<std::uint32_t>> defined_in(f.registers.size());
    std::vector<bool> crosses(f.registers.size());
    std::vector<std::uint32_t> written_in(f.registers.size(), kNone);
    bool any = false;
    for (const std::uint32_t b : cfg.order)
      for (std::uint32_t i = cfg.blocks[b].first; i < cfg.blocks[b].last; ++i) {
        const auto read = [&](std::uint32_t reg) {
          if (sites[reg].joined && written_in[reg] != b) crosses[reg] = true, any = true;
        };
        const Instruction& instruction = f.instructions[i];
        if (instruction.guard != kNone) read(instruction.guard);
        for_each_register(module, f, instruction, [&](const Operand& o, std::uint32_t, bool written) {
          if (!written || keeps_old(instruction, o)) read(o.id);
        });
        for_each_register(module, f, instruction, [&](const Operand& o, std::uint32_t, bool written) {
          if (!written || !sites[o.id].joined) return;
          if (defined_in[o.id].empty() || defined_in[o.id].back() != b) defined_in[o.id].push_back(b);
          written_in[o.id] = b;
        });
      }
    if (!any) return;
    const auto frontier = dominance_frontiers();
    std::vector<std::uint32_t> placed(cfg.blocks.size(), kNone);
    for (std::uint32_t reg = 0; reg < f.registers.size(); ++reg) {
      if (!crosses[reg]) continue;
      std::vector<std::uint32_t> work = defined_in[reg];
      while (!work.empty()) {
        const std::uint32_t b = work.back();
        work.pop_back();
        for (const std::uint32_t join : frontier[b]) {
          if (placed[join] == reg) continue;
          placed[join] = reg;
          Value phi;
          phi.kind = Value::phi;
          phi.reg = reg;
          phi.block = join;
          phi.input_count = static_cast<std::uint32_t>(cfg.graph.predecessors[join].size());
          phi.first_input = static_cast<std::uint32_t>(values.inputs.size());
          values.inputs.insert(values.inputs.end(), phi.input_count, kNone);
          values.phis[join].push_back(add(phi));
          work.push_back(join);
        }
      }
    }
  }

  std::uint32_t reaching(std::uint32_t reg) {
    if (!sites[reg].joined) return only[reg];
    if (!current[reg].empty()) return current[reg].back();
    if (undefined_value[reg] == kNone) {
      Value v;
      v.reg = reg;
      undefined_value[reg] = add(v);
    }
    return undefined_value[reg];
  }

  void number_block(std::uint32_t b, std::vector<std::uint32_t>& pushed) {
    for (const std::uint32_t phi : values.phis[b]) {
      current[values.all[phi].reg].push_back(phi);
      pushed.push_back(values.all[phi].reg);
    }
    for (std::uint32_t i = cfg.blocks[b].first; i < cfg.blocks[b].last; ++i) {
      const Instruction& instruction = f.instructions[i];
      if (instruction.guard != kNone) values.of_guard[i] = reaching(instruction.guard);
      for_each_register(module, f, instruction, [&](const Operand& o, std::uint32_t index, bool written) {
        if (!written) values.of_operand[index] = reaching(o.id);
      });
      for_each_register(module, f, instruction, [&](const Operand& o, std::uint32_t index, bool written) {
        if (!written) return;
        Value v;
        v.kind = Value::definition;
        v.reg = o.id;
        v.instruction = i;
        v.block = b;
        if (keeps_old(instruction, o)) {
          v.kind = Value::guarded;
          const std::uint32_t before = reaching(o.id);
          v.first_input = static_cast<std::uint32_t>(values.inputs.size());
          v.input_count = 1;
          values.inputs.push_back(before);
        }
        const std::uint32_t id = add(v);
        values.of_operand[index] = id;
        if (!sites[o.id].joined) {
          only[o.id] = id;
        } else {
          current[o.id].push_back(id);
          pushed.push_back(o.id);
        }
      });
    }
    for (const std::uint32_t s : cfg.graph.successors[b]) {
      const auto& predecessors = cfg.graph.predecessors[s];
      const auto position = static_cast<std::uint32_t>(
          std::find(predecessors.begin(), predecessors.end(), b) - predecessors.begin());
      for (const std::uint32_t phi : values.phis[s]) {
        const std::uint32_t value = reaching(values.all[phi].reg);  // may grow `all`
        values.inputs[values.all[phi].first_input + position] = value;
      }
    }
  }

  void rename() {
    struct Frame {
      std::uint32_t block;
      std::size_t child;
      std::vector<std::uint32_t> pushed;
    };
    std::vector<Frame> stack;
    stack.push_back({0, 0, {}});
    number_block(0, stack.back().pushed);
    while (!stack.empty()) {
      Frame& frame = stack.back();
      const auto& children = cfg.dominators.children(frame.block);
      if (frame.child < children.size()) {
        const std::uint32_t next = children[frame.child++];
        stack.push_back({next, 0, {}});
        number_block(next, stack.back().pushed);
      } else {
        for (const std::uint32_t reg : frame.pushed) current[reg].pop_back();
        stack.pop_back();
      }
    }
    for (std::uint32_t& input : values.inputs)
      if (input == kNone) input = add({});  // from a predecessor that is never reached
  }
};

}  // namespace

Values number_values(const Cfg& cfg) {
  if (cfg.module == nullptr || cfg.function == nullptr)
    throw BadInput("values: the control flow is of no function");
  Numbering numbering(cfg);
  numbering.classify();
  numbering.place_phis();
  numbering.rename();
  return std::move(numbering.values);
}

}  // namespace warploom::ptx
