// Functions: where their variables and registers are, and in what order their blocks come.
#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "sim/decode.hpp"

namespace warploom::sim {

using namespace ptx;

namespace {

/// Nobody's bytes between two arrays, so that running over an array's end is seen.
constexpr std::uint32_t kSharedGap = 256, kThreadGap = 16;

std::uint32_t align_up(std::uint64_t value, std::uint32_t align) {
  return static_cast<std::uint32_t>((value + align - 1) / align * align);
}

/// Reachable blocks, a block after all that come before it but by a back edge. Of two successors the one that
/// leaves a loop comes later: so threads that left it wait, at a higher step, for those that have not.
std::vector<std::uint32_t> execution_order(const Cfg& cfg) {
  std::vector<std::uint32_t> order;
  std::vector<bool> seen(cfg.blocks.size(), false);
  struct Visit {
    std::uint32_t block;
    std::vector<std::uint32_t> next;
  };
  const auto visit = [&](std::uint32_t block) {
    seen[block] = true;
    std::vector<std::uint32_t> next = cfg.graph.successors[block];
    // Those visited first end last.
    std::stable_sort(next.begin(), next.end(), [&](std::uint32_t a, std::uint32_t b) {
      if (cfg.depth(a) != cfg.depth(b)) return cfg.depth(a) < cfg.depth(b);
      return a > b;
    });
    std::reverse(next.begin(), next.end());  // taken from the back
    return Visit{block, std::move(next)};
  };
  std::vector<Visit> stack;
  stack.push_back(visit(0));
  while (!stack.empty()) {
    Visit& top = stack.back();
    if (top.next.empty()) {
      order.push_back(top.block);
      stack.pop_back();
      continue;
    }
    const std::uint32_t next = top.next.back();
    top.next.pop_back();
    if (!seen[next]) stack.push_back(visit(next));
  }
  std::reverse(order.begin(), order.end());
  return order;
}

}  // namespace

/// Gives storage to the variables that a function declares or names: shared, local, parameters.
void Decoder::place_variables(std::uint32_t index) {
  const Function& f = module.functions[index];
  const auto in_thread = [&](std::uint32_t v) {
    if (thread_place.contains(v)) return;
    const Variable& variable = module.variables[v];
    if (variable.bytes > 1u << 26)
      throw BadInput(fmt::format("{}:{}: '{}' has {} bytes; the simulator gives a thread at most 64 MiB",
                                 module.file, variable.line, variable.name, variable.bytes));
    const std::uint32_t at = align_up(program.thread_bytes + kThreadGap, std::max(variable.align, 16u));
    thread_place[v] = at;
    program.thread_variables.push_back({v, at, static_cast<std::uint32_t>(variable.bytes)});
    program.thread_bytes = align_up(at + variable.bytes, 16);
  };
  if (f.entry) {
    for (const std::uint32_t v : f.parameters) {
      const Variable& variable = module.variables[v];
      const std::uint32_t at = align_up(program.parameter_bytes, variable.align);
      parameter_place[v] = at;
      program.parameters.push_back({v, at, static_cast<std::uint32_t>(variable.bytes)});
      program.parameter_bytes = at + static_cast<std::uint32_t>(variable.bytes);
    }
  } else {
    for (const std::uint32_t v : f.parameters) in_thread(v);
    for (const std::uint32_t v : f.results)
      if (module.variables[v].space == Space::param) in_thread(v);
  }
  for (const std::uint32_t v : f.variables)
    if (module.variables[v].space == Space::local || module.variables[v].space == Space::param) in_thread(v);
  for (const Operand& o : f.operands) {
    if (o.kind == OperandKind::special && module.text_of(o.span).starts_with(kReservedOffset)) {
      program.reserved_shared = kReservedUsable;
      program.shared_bytes = std::max(program.shared_bytes, kReservedShared);
    }
    if (o.kind != OperandKind::symbol) continue;
    const Variable& variable = module.variables[o.id];
    if (variable.space == Space::local) in_thread(o.id);
    if (variable.space != Space::shared || shared_place.contains(o.id)) continue;
    if (variable.bytes == 0) {
      if (program.dynamic_variable == kNone) program.dynamic_variable = o.id;
      continue;
    }
    constexpr std::uint64_t kMostShared = 1 << 24;  // as dynamic
    if (program.static_shared + variable.bytes > kMostShared)
      throw BadInput(fmt::format(
          "{}:{}: kernel '{}': with {} its static shared memory has {} bytes; the simulator gives a block at most 16 MiB",
          module.file, variable.line, program.kernel->name, variable.name,
          program.static_shared + variable.bytes));
    program.static_shared =
        align_up(program.static_shared, variable.align) + static_cast<std::uint32_t>(variable.bytes);
    const std::uint32_t at =
        align_up(std::max(program.shared_bytes, kReservedShared), std::max(variable.align, 16u));
    shared_place[o.id] = at;
    program.shared.push_back({o.id, at, static_cast<std::uint32_t>(variable.bytes)});
    program.shared_bytes = align_up(at + variable.bytes + kSharedGap, 128);
  }
}

void Decoder::place_reachable(std::uint32_t index) {
  if (!placed.insert(index).second) return;
  place_variables(index);
  const Function& f = module.functions[index];
  for (const Instruction& i : f.instructions)
    if (module.opcode(i).op == Op::call)
      for (const std::uint32_t callee : callees(f, i)) place_reachable(callee);
}

std::uint32_t Decoder::add_function(std::uint32_t index) {
  if (const auto known = code_of.find(index); known != code_of.end()) return known->second;
  calling.push_back(index);
  const Function& f = module.functions[index];
  // Callees first: see Program.
  for (const Instruction& i : f.instructions)
    if (module.opcode(i).op == Op::call)
      for (const std::uint32_t callee : callees(f, i))
        if (std::find(calling.begin(), calling.end(), callee) == calling.end()) add_function(callee);

  function = &f;
  function_index = index;
  register_offset.assign(f.registers.size(), kNoSlot);
  for (std::size_t r = 0; r < f.registers.size(); ++r) {
    const unsigned bytes =
        f.registers[r].type == "pred" ? 0 : std::max<unsigned>(2, type_bytes(f.registers[r].type));
    for (unsigned v = 0; v < f.registers[r].vector; ++v) {
      const std::uint32_t at = allocate_register(bytes);
      if (v == 0) register_offset[r] = at;
    }
  }
  find_constants();
  FunctionCode code;
  code.function = index;
  code.first = static_cast<std::uint32_t>(program.steps.size());
  if (!f.entry) code.return_slot = return_slot(index);

  const Cfg cfg = build_cfg(module, f);
  const std::vector<std::uint32_t> order = execution_order(cfg);
  std::vector<std::uint32_t> first_step(cfg.blocks.size(), kNone);
  struct Patch {
    std::uint32_t step, block;
  };
  std::vector<Patch> patches;
  const auto leave_step = [&](std::uint32_t instruction_index) {
    step = {};
    step.function = index;
    step.instruction = instruction_index;
    step.added = true;
    finish_function(f.entry, index);
    program.steps.push_back(step);
  };
  const auto block_of_label = [&](std::uint32_t label) {
    const std::uint32_t target = f.labels[label].instruction;
    // A label at the end of the body stands for the empty last block.
    return target < f.instructions.size() ? cfg.block_of[target]
                                          : static_cast<std::uint32_t>(cfg.blocks.size() - 1);
  };
  for (std::size_t position = 0; position < order.size(); ++position) {
    const std::uint32_t b = order[position];
    const ptx::Block& block = cfg.blocks[b];
    first_step[b] = static_cast<std::uint32_t>(program.steps.size());
    const std::uint32_t here =
        std::min<std::uint32_t>(block.first, static_cast<std::uint32_t>(f.instructions.size() - 1));
    if (cfg.graph.predecessors[b].size() > 1) {
      Step join;
      join.run = &run_join;
      join.added = true;
      join.function = index;
      join.instruction = here;
      program.steps.push_back(join);
    }
    for (std::uint32_t i = block.first; i < block.last; ++i) {
      try {
        instruction_at(i);
      } catch (const Unsupported& lacking) {
        refuse(lacking.what());
      }
      if (jump_label != kNone)
        patches.push_back({static_cast<std::uint32_t>(program.steps.size()), block_of_label(jump_label)});
      if (!switch_labels.empty()) {
        // Blocks for now; steps when all are placed.
        std::vector<std::uint32_t> blocks;
        for (const std::uint32_t l : switch_labels) blocks.push_back(block_of_label(l));
        step.extra = static_cast<std::uint32_t>(program.jumps.size());
        program.jumps.push_back(std::move(blocks));
      }
      program.steps.push_back(step);
      after_instruction();
    }
    // Where the block may fall through.
    bool ends = false;
    if (block.first < block.last) {
      const Instruction& last = f.instructions[block.last - 1];
      const Op op = module.opcode(last).op;
      ends = last.guard == kNone &&
             (op == Op::bra || op == Op::brx || op == Op::ret || op == Op::exit_ || op == Op::trap);
    }
    if (ends) continue;
    const std::uint32_t next = b + 1 < cfg.blocks.size() ? b + 1 : kNone;
    if (next == kNone) {
      leave_step(here);  // the end of the body
    } else if (position + 1 == order.size() || order[position + 1] != next) {
      Step jump;
      jump.run = &run_on;
      jump.added = true;
      jump.function = index;
      jump.instruction = here;
      patches.push_back({static_cast<std::uint32_t>(program.steps.size()), next});
      program.steps.push_back(jump);
    }
  }
  for (const Patch& p : patches) program.steps[p.step].immediate = first_step[p.block];
  for (std::size_t s = code.first; s < program.steps.size(); ++s)
    if (program.steps[s].run == &run_switch)
      for (std::uint32_t& target : program.jumps[program.steps[s].extra]) target = first_step[target];
  code.last = static_cast<std::uint32_t>(program.steps.size());
  code_of[index] = static_cast<std::uint32_t>(program.functions.size());
  program.functions.push_back(code);
  calling.pop_back();
  return code_of[index];
}

void Decoder::find_constants() {
  const Function& f = *function;
  std::vector<std::uint32_t> writes(f.registers.size()), writer(f.registers.size(), kNone);
  for (std::uint32_t i = 0; i < f.instructions.size(); ++i) {
    const auto all = f.operands_of(f.instructions[i]);
    const Opcode& o = module.opcode(f.instructions[i]);
    const auto note = [&](const auto& self, const Operand& operand) -> void {
      if (operand.kind == OperandKind::reg) {
        ++writes[operand.id];
        writer[operand.id] = i;
      }
      if (operand.kind == OperandKind::vector || operand.kind == OperandKind::pair ||
          operand.kind == OperandKind::list)
        for (const Operand& c : f.children(operand)) self(self, c);
    };
    for (std::size_t n = 0; n < all.size() && n < o.destinations; ++n) note(note, all[n]);
    if (o.op == Op::call)
      for (const Operand& operand : all) note(note, operand);
  }
  is_constant.assign(f.registers.size(), false);
  for (bool changed = true; changed;) {
    changed = false;
    for (std::size_t r = 0; r < f.registers.size(); ++r) {
      if (is_constant[r] || writes[r] != 1) continue;
      const Instruction& i = f.instructions[writer[r]];
      const auto all = f.operands_of(i);
      switch (module.opcode(i).op) {
        case Op::mov:
        case Op::add:
        case Op::sub:
        case Op::mul:
        case Op::mad:
        case Op::and_:
        case Op::or_:
        case Op::xor_:
        case Op::shl:
        case Op::shr:
        case Op::cvt:
        case Op::cvta:
          break;
        default:
          continue;
      }
      if (i.guard != kNone || all[0].kind != OperandKind::reg) continue;
      if (!std::all_of(all.begin() + 1, all.end(), [&](const Operand& o) {
            return o.kind == OperandKind::integer || o.kind == OperandKind::symbol ||
                   (o.kind == OperandKind::reg && is_constant[o.id]);
          }))
        continue;
      is_constant[r] = changed = true;
    }
  }
}

void Decoder::instruction_at(std::uint32_t i) {
  instruction = &function->instructions[i];
  opcode = &module.opcode(*instruction);
  operands = function->operands_of(*instruction);
  step = {};
  step.function = function_index;
  step.instruction = i;
  jump_label = kNone;
  switch_labels.clear();
  if (instruction->guard != kNone) {
    step.guard = register_offset[instruction->guard];
    step.guard_negated = instruction->guard_negated;
  }
  switch (opcode->op) {
    case Op::unknown:
      unsupported();
    case Op::bra:
      if (operands.size() != 1 || operands[0].kind != OperandKind::label) unsupported();
      step.run = &run_jump;
      jump_label = operands[0].id;
      return;
    case Op::brx: {
      if (operands.size() != 2 || operands[1].kind != OperandKind::label) unsupported();
      step.run = &run_switch;
      step.a = source(operands[0], 4);
      switch_labels = function->labels[operands[1].id].targets;
      if (switch_labels.empty()) unsupported("it has no targets");
      return;
    }
    case Op::ret:
    case Op::exit_:
      finish_function(function->entry || opcode->op == Op::exit_, function_index);
      return;
    case Op::trap:
    case Op::brkpt:
      step.run = &run_trap;
      return;
    case Op::call:
      return call();
    case Op::pmevent:
      step.run = &run_nothing;
      return;
    case Op::mov:
      return move();
    default:
      break;
  }
  if (memory_operation() || texture_operation() || stack_operation() || cluster_operation() ||
      warp_operation() || barrier_operation() || matrix_operation())
    return;
  arithmetic();
}

void Decoder::refuse(const std::string& why) {
  Step refused;
  refused.run = &run_refused;
  refused.guard = step.guard;
  refused.guard_negated = step.guard_negated;
  refused.extra = static_cast<std::uint32_t>(program.refusals.size());
  refused.function = step.function;
  refused.instruction = step.instruction;
  program.refusals.push_back(why);
  step = refused;
  jump_label = kNone;
  switch_labels.clear();
  results_after_ = {};
}

/// What every step reads and writes, for the loop that follows values nobody wrote.
void Decoder::note_uses() {
  std::unordered_map<std::uint64_t, std::uint32_t> numbers;
  const auto number = [&](const Step& s, std::uint32_t reg) {
    const auto [at, fresh] =
        numbers.try_emplace(std::uint64_t{s.function} << 32 | reg, program.register_count);
    if (fresh) ++program.register_count;
    return at->second;
  };
  program.first_use.reserve(program.steps.size() + 1);
  for (const Step& s : program.steps) {
    program.first_use.push_back(static_cast<std::uint32_t>(program.uses.size()));
    std::uint8_t reads = 0;
    const std::uint32_t guard =
        s.guard == kNoSlot ? kNone : module.functions[s.function].instructions[s.instruction].guard;
    program.guards.push_back(guard == kNone ? kNone : number(s, guard));
    if (s.added) {
      program.reads.push_back(0);
      continue;
    }
    const Function& f = module.functions[s.function];
    const Instruction& i = f.instructions[s.instruction];
    const Opcode& o = module.opcode(i);
    std::vector<std::uint32_t> written;
    const auto visit = [&](const auto& self, const Operand& operand, bool write) -> void {
      if (operand.kind == OperandKind::reg) {
        const std::uint32_t n = number(s, operand.id);
        if (write) {
          written.push_back(n);
        } else {
          program.uses.push_back(n);
          ++reads;
        }
      } else if (operand.kind == OperandKind::address || operand.kind == OperandKind::vector ||
                 operand.kind == OperandKind::list || operand.kind == OperandKind::pair) {
        for (const Operand& c : f.children(operand))
          self(self, c, write && operand.kind != OperandKind::address);
      }
    };
    const auto all = f.operands_of(i);
    for (std::size_t n = o.destinations; n < all.size(); ++n) visit(visit, all[n], false);
    for (std::size_t n = 0; n < all.size() && n < o.destinations; ++n) visit(visit, all[n], true);
    program.uses.insert(program.uses.end(), written.begin(), written.end());
    program.reads.push_back(reads);
  }
  program.first_use.push_back(static_cast<std::uint32_t>(program.uses.size()));
}

/// Whether blocks may see each other's writes, or leave what depends on their order; and how fine races go.
void Decoder::note_memory() {
  for (const Step& s : program.steps) {
    if (s.added || s.run == &run_refused) continue;
    const Instruction& i = program.instruction(s);
    const Opcode& o = module.opcode(i);
    const bool load = o.op == Op::ld || o.op == Op::ldu, store = o.op == Op::st,
               atom = o.op == Op::atom || o.op == Op::red;
    program.communicates |= o.op == Op::cp && o.has("reduce");
    const bool element = o.op == Op::wmma && (o.has("load") || o.has("store"));
    if (o.op == Op::suld || o.op == Op::sust || o.op == Op::sured) {
      const TextureForm& form = program.textures[s.extra];
      program.global_cell =
          std::min<std::uint8_t>(program.global_cell, static_cast<std::uint8_t>(form.bytes));
    }
    if (!load && !store && !atom && !element) continue;
    const MemoryForm& form = program.memory[s.extra];
    const bool shared =
        form.space == Space::shared || form.space == Space::shared_cluster || form.space == Space::generic;
    const bool global = form.space == Space::global || form.space == Space::generic;
    if (shared) program.shared_cell = std::min(program.shared_cell, form.bytes);
    if (global) program.global_cell = std::min(program.global_cell, form.bytes);
    if (!global) continue;
    const std::string_view type = o.parts.back();
    const bool ordered = o.op == Op::atom || o.has("inc") || o.has("dec") ||
                         (atom && (type.front() == 'f' || type.starts_with("bf")));
    program.communicates |= (load && form.strength != Strength::weak) || ordered;
  }
}

std::unique_ptr<const Program> decode(const Module& module, const Function& kernel, const Memory& memory) {
  auto program = std::make_unique<Program>();
  program->module = &module;
  program->kernel = &kernel;
  Decoder decoder(module, memory, *program);
  const auto index = static_cast<std::uint32_t>(&kernel - module.functions.data());
  decoder.place_reachable(index);  // before any address is used: the dynamic array lies behind all others
  const std::uint32_t code = decoder.add_function(index);
  program->entry = program->functions[code].first;
  decoder.note_uses();
  decoder.note_memory();
  program->constant_base = reinterpret_cast<std::byte*>(program->constants.data());
  return program;
}

}  // namespace warploom::sim
