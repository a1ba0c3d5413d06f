#include "reuse/check/flow.hpp"

#include <algorithm>
#include <unordered_map>

namespace warploom::reuse::checking {

using ptx::kNone;
using ptx::Op;

Flow::Flow(const ptx::Cfg& cfg) : cfg_(cfg) {
  find_definitions();
  find_reaching();
  collect_uses();
}

bool Flow::opaque(std::uint32_t i) const {
  const Op op = cfg_.module->opcode(cfg_.instruction(i)).op;
  return op == Op::unknown || op == Op::call || op == Op::tcgen05 || op == Op::clusterlaunchcontrol ||
         op == Op::multimem || op == Op::wgmma;
}

std::span<const ptx::Operand> Flow::sources(std::uint32_t i) const {
  const auto all = cfg_.function->operands_of(cfg_.instruction(i));
  if (opaque(i)) return all;
  return all.subspan(
      std::min<std::size_t>(all.size(), cfg_.module->opcode(cfg_.instruction(i)).destinations));
}

void Flow::find_definitions() {
  const ptx::Function& f = *cfg_.function;
  of_register_.resize(f.registers.size());
  for (std::uint32_t i = 0; i < f.instructions.size(); ++i) {
    first_definition_.push_back(static_cast<std::uint32_t>(definitions_.size()));
    const ptx::Instruction& instruction = f.instructions[i];
    const auto all = f.operands_of(instruction);
    const bool partial = instruction.guard != kNone || opaque(i);
    const auto written = opaque(i) ? all : all.first(all.size() - sources(i).size());
    for (const ptx::Operand& o : written)
      for_each_register(f, o, [&](std::uint32_t reg) {
        of_register_[reg].push_back(static_cast<std::uint32_t>(definitions_.size()));
        definitions_.push_back({i, reg, !partial && f.registers[reg].vector == 1});
      });
  }
  first_definition_.push_back(static_cast<std::uint32_t>(definitions_.size()));
}

void Flow::find_reaching() {
  bit_of_.assign(definitions_.size(), kNone);
  for (std::uint32_t d = 0; d < definitions_.size(); ++d)
    if (tracked(definitions_[d].reg)) {
      bit_of_[d] = static_cast<std::uint32_t>(definition_of_bit_.size());
      definition_of_bit_.push_back(d);
    }
  in_.assign(cfg_.blocks.size(), Bits(definition_of_bit_.size()));
  for (bool changed = true; changed;) {
    changed = false;
    for (const std::uint32_t b : cfg_.order) {
      Bits state = in_[b];
      const ptx::Block& block = cfg_.blocks[b];
      for (std::uint32_t d = first_definition_[block.first]; d < first_definition_[block.last]; ++d) {
        if (bit_of_[d] == kNone) continue;
        if (definitions_[d].kills)
          for (const std::uint32_t other : of_register_[definitions_[d].reg]) state.reset(bit_of_[other]);
        state.set(bit_of_[d]);
      }
      for (const std::uint32_t s : cfg_.graph.successors[b]) changed |= in_[s].merge(state);
    }
  }
}

void Flow::collect_uses() {
  const ptx::Function& f = *cfg_.function;
  std::unordered_map<std::uint32_t, std::vector<std::uint32_t>> now;  // tracked registers, in this block
  for (std::uint32_t b = 0; b < cfg_.blocks.size(); ++b) {
    now.clear();
    for (std::uint32_t i = cfg_.blocks[b].first; i < cfg_.blocks[b].last; ++i) {
      first_read_.push_back(static_cast<std::uint32_t>(reads_.size()));
      const auto add = [&](std::uint32_t reg) {
        if (std::find(reads_.begin() + first_read_.back(), reads_.end(), reg) == reads_.end())
          reads_.push_back(reg);
      };
      if (f.instructions[i].guard != kNone) add(f.instructions[i].guard);
      for (const ptx::Operand& o : sources(i)) for_each_register(f, o, add);
      for (std::size_t r = first_read_.back(); r < reads_.size(); ++r) {
        first_reached_.push_back(static_cast<std::uint32_t>(reached_.size()));
        const std::uint32_t reg = reads_[r];
        const auto& all = of_register_[reg];
        if (!tracked(reg)) {
          reached_.insert(reached_.end(), all.begin(), all.end());
          continue;
        }
        auto [entry, fresh] = now.try_emplace(reg);
        if (fresh)
          for (const std::uint32_t d : all)
            if (in_[b].test(bit_of_[d])) entry->second.push_back(d);
        reached_.insert(reached_.end(), entry->second.begin(), entry->second.end());
      }
      for (std::uint32_t d = first_definition_[i]; d < first_definition_[i + 1]; ++d) {
        const std::uint32_t reg = definitions_[d].reg;
        if (!tracked(reg)) continue;
        auto [entry, fresh] = now.try_emplace(reg);
        if (definitions_[d].kills)
          entry->second.clear();
        else if (fresh)
          for (const std::uint32_t other : of_register_[reg])
            if (in_[b].test(bit_of_[other])) entry->second.push_back(other);
        entry->second.push_back(d);
      }
    }
  }
  first_read_.push_back(static_cast<std::uint32_t>(reads_.size()));
  first_reached_.push_back(static_cast<std::uint32_t>(reached_.size()));
}

std::span<const std::uint32_t> Flow::reads(std::uint32_t i) const {
  return std::span(reads_).subspan(first_read_[i], first_read_[i + 1] - first_read_[i]);
}

std::span<const std::uint32_t> Flow::reaching(std::uint32_t i, std::uint32_t reg) const {
  for (std::uint32_t r = first_read_[i]; r < first_read_[i + 1]; ++r)
    if (reads_[r] == reg)
      return std::span(reached_).subspan(first_reached_[r], first_reached_[r + 1] - first_reached_[r]);
  return {};
}

std::vector<std::uint32_t> Flow::reaching_before(std::uint32_t i, std::uint32_t reg) const {
  if (!tracked(reg)) return of_register_[reg];
  std::vector<std::uint32_t> found;
  const std::uint32_t b = cfg_.block_of[i];
  for (std::uint32_t at = i; at-- > cfg_.blocks[b].first;)
    for (std::uint32_t d = first_definition_[at]; d < first_definition_[at + 1]; ++d)
      if (definitions_[d].reg == reg) {
        found.push_back(d);
        if (definitions_[d].kills) return found;
      }
  for (const std::uint32_t d : of_register_[reg])
    if (in_[b].test(bit_of_[d]) && std::find(found.begin(), found.end(), d) == found.end())
      found.push_back(d);
  return found;
}

std::set<std::pair<std::uint32_t, std::uint32_t>> Flow::reads_of_earlier_iterations(
    const ptx::Loop& loop) const {
  // Which tracked registers may, at a block's start, still hold what an earlier iteration put there.
  const std::size_t registers = of_register_.size();
  std::vector<Bits> stale(cfg_.blocks.size(), Bits(registers));
  for (std::uint32_t reg = 0; reg < registers; ++reg)
    for (const std::uint32_t d : of_register_[reg])
      if (loop.contains(cfg_.block_of[definitions_[d].instruction]) &&
          (bit_of_[d] == kNone || in_[loop.header].test(bit_of_[d])))
        stale[loop.header].set(reg);
  const auto through = [&](std::uint32_t b, Bits& state, auto at) {
    for (std::uint32_t i = cfg_.blocks[b].first; i < cfg_.blocks[b].last; ++i) {
      at(i, state);
      // A guarded only definition of a register leaves it undefined otherwise, so it counts as a whole one.
      for (std::uint32_t d = first_definition_[i]; d < first_definition_[i + 1]; ++d)
        if (definitions_[d].kills || !tracked(definitions_[d].reg)) state.reset(definitions_[d].reg);
    }
  };
  for (bool changed = true; changed;) {
    changed = false;
    for (const std::uint32_t b : cfg_.order) {
      if (!loop.contains(b)) continue;
      Bits state = stale[b];
      through(b, state, [](std::uint32_t, const Bits&) {});
      for (const std::uint32_t s : cfg_.graph.successors[b])
        if (s != loop.header && loop.contains(s)) changed |= stale[s].merge(state);
    }
  }
  std::set<std::pair<std::uint32_t, std::uint32_t>> result;
  for (const std::uint32_t b : loop.blocks) {
    Bits state = stale[b];
    through(b, state, [&](std::uint32_t i, const Bits& now) {
      for (const std::uint32_t reg : reads(i))
        if (now.test(reg)) result.emplace(i, reg);
    });
  }
  return result;
}

}  // namespace warploom::reuse::checking
