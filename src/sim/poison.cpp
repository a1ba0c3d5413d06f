#include "sim/poison.hpp"

#include <algorithm>
#include <span>

#include "sim/access.hpp"
#include "sim/decode.hpp"

namespace warploom::sim {

using ptx::Op;

namespace {

struct Uses {
  std::span<const std::uint32_t> reads, writes;
};

Uses uses_of(const Program& p, const Step& s) {
  const auto i = static_cast<std::size_t>(&s - p.steps.data());
  const std::uint32_t *first = p.uses.data() + p.first_use[i], *last = p.uses.data() + p.first_use[i + 1];
  return {{first, first + p.reads[i]}, {first + p.reads[i], last}};
}

void write(Warp& w, std::uint32_t reg, Mask poisoned, Mask lanes, const Step* source) {
  const Mask before = w.poison[reg], after = (before & ~lanes) | (poisoned & lanes);
  if ((poisoned & lanes) != 0 && source != nullptr) w.poison_source[reg] = source;
  w.poisoned += static_cast<std::uint32_t>(after != 0) - static_cast<std::uint32_t>(before != 0);
  w.poison[reg] = after;
}

/// Values of a 32-bit operand, for `and` and `or`, where the other operand can settle the result.
Mask lanes_where(const Warp& w, Source source, const ptx::Opcode& opcode, std::uint64_t value) {
  Mask found = 0;
  if (opcode.parts.back() == "pred") return value == 0 ? ~w.predicate(source) : w.predicate(source);
  for (unsigned i = 0; i < kLanes; ++i) {
    const std::uint64_t mask =
        opcode.bytes == 8 ? ~std::uint64_t{0} : (std::uint64_t{1} << 8 * opcode.bytes) - 1;
    const std::uint64_t v = opcode.bytes == 8   ? w.read<std::uint64_t>(source)[i]
                            : opcode.bytes == 4 ? w.read<std::uint32_t>(source)[i]
                                                : w.read<std::uint16_t>(source)[i];
    if ((v & mask) == (value & mask)) found |= Mask{1} << i;
  }
  return found;
}

void report(Warp& w, const Step& s, Mask lanes, std::string what, std::uint32_t reg) {
  const auto lane = static_cast<unsigned>(std::countr_zero(lanes));
  w.block->worker->findings.add(*w.block, FindingKind::uninitialised, s, w.index, lane, std::move(what), "",
                                poison_site(w, reg, lane));
}

}  // namespace

std::optional<Site> poison_site(const Warp& w, std::uint32_t reg, unsigned lane) {
  const Step* source = w.poison_source[reg];
  if (source == nullptr) return {};
  const Op op = w.block->program->module->opcode(w.block->program->instruction(*source)).op;
  const auto what = [&]() -> std::string {
    if (op == Op::shfl) return "shuffle from a lane that does not take part";
    if (op == Op::wgmma)
      return w.warpgroup_products.undefined.contains(reg) ? "product that no wgmma.wait_group waited for"
                                                          : "product of shared memory that nobody wrote";
    return "load of shared memory that nobody wrote";
  };
  return Findings::site(*w.block, *source, w.thread(lane), what());
}

Mask operand_poison(const Warp& w, const Step& s, std::size_t operand) {
  const Program& p = *w.block->program;
  const ptx::Function& f = p.module->functions[s.function];
  const auto operands = f.operands_of(p.instruction(s));
  if (operands[operand].kind != ptx::OperandKind::reg) return 0;
  std::size_t before = 0;
  for (std::size_t o = 1; o < operand; ++o) before += operands[o].kind == ptx::OperandKind::reg ? 1 : 0;
  return w.poison[uses_of(p, s).reads[before]];
}

void clear_poison(Warp& w) {
  if (w.poisoned == 0) return;
  std::fill(w.poison.begin(), w.poison.end(), 0);
  w.poisoned = 0;
}

namespace {

void begin_poison(Warp& w) {
  if (!w.poison.empty()) return;
  w.poison.resize(w.block->program->register_count);
  w.poison_source.resize(w.block->program->register_count);
}

}  // namespace

void set_poison(Warp& w, const Step& load, Mask poisoned, Mask clean) {
  begin_poison(w);
  for (const std::uint32_t reg : uses_of(*w.block->program, load).writes)
    write(w, reg, poisoned, poisoned | clean, &load);
}

void set_poison(Warp& w, const Step& s, std::span<const Mask> poisoned, Mask lanes) {
  begin_poison(w);
  const auto [reads, writes] = uses_of(*w.block->program, s);
  const Step* source = &s;  // a load, unless what it reads came from one
  for (const std::uint32_t reg : reads)
    if (w.poison[reg] != 0) source = w.poison_source[reg];
  // A sink is written by nobody: then each register may hold any of the values.
  Mask any = 0;
  for (const Mask m : poisoned) any |= m;
  for (std::size_t i = 0; i < writes.size(); ++i)
    write(w, writes[i], writes.size() == poisoned.size() ? poisoned[i] : any, lanes, source);
}

Mask read_poison(const Warp& w, const Step& s, std::size_t n) {
  const auto reads = uses_of(*w.block->program, s).reads;
  return n < reads.size() ? w.poison[reads[n]] : 0;
}

std::uint32_t written_register(const Warp& w, const Step& s, std::size_t n) {
  return uses_of(*w.block->program, s).writes[n];
}

void set_register_poison(Warp& w, std::uint32_t reg, Mask poisoned, const Step& source) {
  write(w, reg, poisoned, kAllLanes, &source);
}

void poison_shuffled(Warp& w, const Step& shuffle, Mask poisoned, Mask clean) {
  begin_poison(w);
  const Program& p = *w.block->program;
  const ptx::Function& f = p.module->functions[shuffle.function];
  const ptx::Operand& to = f.operands_of(p.instruction(shuffle))[0];
  const bool kept =
      (to.kind == ptx::OperandKind::pair ? f.children(to)[0] : to).kind == ptx::OperandKind::reg;
  std::size_t n = 0;
  for (const std::uint32_t reg : uses_of(p, shuffle).writes) {
    const bool value = kept && n++ == 0;
    write(w, reg, value ? poisoned : 0, poisoned | clean, &shuffle);
  }
}

void poison_stored(Warp& w, const Step& s, Mask bad, const MemoryForm& form, const Pointers& to) {
  bad &= to.lanes;
  if (bad == 0) return;
  if (to.space == ptx::Space::shared) {
    Pointers again = to;
    again.lanes = bad;
    mark_written(w, again, form.total(), false);
  } else if (to.space == ptx::Space::global) {
    const auto reads = uses_of(*w.block->program, s).reads;
    const auto first = std::find_if(reads.begin() + (form.fixed ? 0 : 1), reads.end(),
                                    [&](std::uint32_t reg) { return (w.poison[reg] & bad) != 0; });
    report(w, s, bad, "store of it to global memory", *first);
  }
}

void poison_stored(Warp& w, const Step& s, const MemoryForm& form, const Pointers& to) {
  const auto values = uses_of(*w.block->program, s).reads.subspan(form.fixed ? 0 : 1);
  if (to.space == ptx::Space::shared && values.size() == form.count) {
    Pointers bad = to;
    for (unsigned e = 0; e < form.count; ++e) {
      bad.lanes = to.lanes & w.poison[values[e]];
      if (bad.lanes != 0) mark_written(w, bad, form.bytes, false, e * form.bytes);
    }
    return;
  }
  Mask bad = 0;
  for (const std::uint32_t reg : values) bad |= w.poison[reg];
  poison_stored(w, s, bad, form, to);
}

void run_poisoned(Warp& w, std::uint64_t& left, std::uint64_t& threads) {
  const Program& p = *w.block->program;
  while (left != 0 && w.poisoned != 0 && w.stop == Stop::none) {
    const Step& s = p.steps[w.pc++];
    --left;
    threads += w.active_count;
    Mask lanes = w.active;
    const ptx::Opcode& opcode = p.module->opcode(p.instruction(s));
    if (s.guard != kNoSlot) {
      const std::uint32_t guard = p.guards[static_cast<std::size_t>(&s - p.steps.data())];
      if ((w.poison[guard] & w.active) != 0)
        report(w, s, w.poison[guard] & w.active,
               std::string(ptx::mnemonic(opcode.op)) + " under a condition made of it", guard);
      lanes &= s.guard_negated ? ~w.predicate(s.guard) : w.predicate(s.guard);
      if (lanes == 0) continue;
    }
    const Uses uses = uses_of(p, s);
    Mask bad = 0;
    std::uint32_t first = 0;
    for (const std::uint32_t reg : uses.reads)
      if ((w.poison[reg] & lanes) != 0) {
        if (bad == 0) first = reg;
        bad |= w.poison[reg] & lanes;
      }
    const Step* source = bad != 0 ? w.poison_source[first] : nullptr;
    if (bad != 0) switch (opcode.op) {
        case Op::selp: {  // what is not chosen does not matter
          const Mask chosen = w.predicate(s.c);
          bad = (operand_poison(w, s, 3) | (chosen & operand_poison(w, s, 1)) |
                 (~chosen & operand_poison(w, s, 2))) &
                lanes;
          break;
        }
        case Op::and_:
        case Op::or_: {  // one side may settle it
          const std::uint64_t settles = opcode.op == Op::and_ ? 0 : ~std::uint64_t{0};
          const Mask a = operand_poison(w, s, 1), b = operand_poison(w, s, 2);
          bad &= ~((~a & lanes_where(w, s.a, opcode, settles)) | (~b & lanes_where(w, s.b, opcode, settles)));
          break;
        }
        case Op::brx:
        case Op::call:
        case Op::bar:
        case Op::barrier:
        case Op::atom:
        case Op::red:
          report(w, s, bad, std::string(ptx::mnemonic(opcode.op)) + " of it", first);
          bad = 0;
          break;
        default:
          break;  // ld and st tell address from value themselves: access.cpp
      }
    s.run(w, s, lanes);
    switch (opcode.op) {
      case Op::ld:
      case Op::ldu:
      case Op::shfl:
      case Op::ldmatrix:
      case Op::movmatrix:
      case Op::mma:
      case Op::wmma:
      case Op::wgmma:
        continue;  // it has set its destinations
      default:
        break;
    }
    for (const std::uint32_t reg : uses.writes) write(w, reg, bad, lanes, source);
  }
}

}  // namespace warploom::sim
