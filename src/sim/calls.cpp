// Calls: a function's registers have one place a warp, since nothing calls itself; a lane remembers the step
// it returns to. Arguments and results are bytes in the thread's memory. Functions that the GPU's system
// library defines (vprintf, __assertfail, malloc, free) are done here.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "sim/block.hpp"
#include "sim/decode.hpp"
#include "sim/print_format.hpp"

namespace warploom::sim {

using namespace ptx;

namespace {

void transfer(Warp& w, const std::vector<Transfer>& all, Mask lanes) {
  const std::uint32_t stride = w.block->program->thread_bytes;
  for (const Transfer& t : all)
    for (Mask rest = lanes; rest != 0; rest &= rest - 1) {
      const auto lane = static_cast<unsigned>(std::countr_zero(rest));
      const auto place = [&](std::uint32_t at, bool in_register) {
        return in_register ? w.base[0] + at + std::size_t{lane} * t.bytes
                           : w.thread_memory + std::size_t{lane} * stride + at;
      };
      std::memmove(place(t.to, t.to_register), place(t.from, t.from_register), t.bytes);
    }
}

void enter(Warp& w, const CallForm& form, Mask lanes) {
  const Program& p = *w.block->program;
  transfer(w, form.in, lanes);
  const FunctionCode& callee = p.functions[form.target];
  auto* back = w.write<std::uint32_t>(callee.return_slot);
  for (unsigned i = 0; i < kLanes; ++i)
    if ((lanes >> i & 1) != 0) back[i] = w.pc;
  branch(w, lanes, callee.first);
}

/// Step::extra: the first of Program::calls; immediate: how many, the callees it may have; a: the function's
/// address, if it is called through a register.
void run_call(Registers& r, const Step& s, Mask lanes) {
  Warp& w = warp_of(r);
  enter(w, w.block->program->calls[s.extra], lanes);
}

void run_indirect_call(Registers& r, const Step& s, Mask lanes) {
  Warp& w = warp_of(r);
  const Program& p = *w.block->program;
  const auto* target = r.read<std::uint64_t>(s.a);
  const auto first = static_cast<unsigned>(std::countr_zero(lanes));
  // The lanes that call what the first of them calls; the others come again.
  Mask same = 0;
  for (unsigned i = first; i < kLanes; ++i)
    if ((lanes >> i & 1) != 0 && target[i] == target[first]) same |= Mask{1} << i;
  const auto called = std::find_if(
      p.calls.begin() + s.extra, p.calls.begin() + s.extra + s.immediate,
      [&](const CallForm& c) { return kFunctionWindow + 16 * std::uint64_t{c.callee} == target[first]; });
  if (called == p.calls.begin() + s.extra + s.immediate) {
    w.block->worker->findings.add(
        *w.block, FindingKind::illegal, s, w.index, first, "call through a pointer",
        fmt::format("{:#x} is the address of no function that takes these arguments", target[first]));
    w.block->worker->halted = true;
    w.stop = Stop::halt;
    return;
  }
  if (same != lanes) {
    w.groups.push_back(
        {static_cast<std::uint32_t>(&s - p.steps.data()), lanes & ~same, Wait::none, 0, 0, nullptr});
    w.activate(w.active & ~(lanes & ~same));
  }
  auto* chosen = w.write<std::uint32_t>(s.destination);
  for (unsigned i = 0; i < kLanes; ++i)
    if ((same >> i & 1) != 0) chosen[i] = static_cast<std::uint32_t>(called - p.calls.begin());
  enter(w, *called, same);
}

void run_results(Registers& r, const Step& s, Mask lanes) {
  Warp& w = warp_of(r);
  not_counted(w);
  transfer(w, w.block->program->calls[s.extra].out, lanes);
}

void run_indirect_results(Registers& r, const Step& s, Mask lanes) {
  Warp& w = warp_of(r);
  not_counted(w);
  const auto* chosen = w.write<std::uint32_t>(s.destination);
  for (Mask rest = lanes; rest != 0; rest &= rest - 1) {
    const auto lane = static_cast<unsigned>(std::countr_zero(rest));
    transfer(w, w.block->program->calls[chosen[lane]].out, Mask{1} << lane);
  }
}

void run_return(Registers& r, const Step& s, Mask lanes) {
  Warp& w = warp_of(r);
  const auto* back = r.write<std::uint32_t>(s.destination);
  std::uint32_t targets[kLanes];
  std::memcpy(targets, back, sizeof targets);
  for (Mask rest = lanes; rest != 0;) {
    const std::uint32_t to = targets[std::countr_zero(rest)];
    Mask same = 0;
    for (unsigned i = 0; i < kLanes; ++i)
      if ((rest >> i & 1) != 0 && targets[i] == to) same |= Mask{1} << i;
    rest &= ~same;
    if (same == w.active) return branch(w, same, to);
    // Not yet the last: this one goes aside, whatever is behind whom.
    w.groups.push_back({to, same, Wait::none, 0, 0, nullptr});
    w.activate(w.active & ~same);
    if (w.active == 0) {
      w.stop = Stop::blocked;
      return;
    }
  }
  reconverge(w);
}

/// Bytes that a generic address stands for, up to `bytes` of them; nullptr: none.
const std::byte* host(Warp& w, unsigned lane, Address address, std::uint64_t bytes) {
  Block& block = *w.block;
  if (address >= kLocalWindow && address < kLocalWindow + kWindowBytes) {
    const Address at = address - kLocalWindow;
    return at + bytes <= block.program->thread_bytes
               ? w.thread_memory + std::size_t{lane} * block.program->thread_bytes + at
               : nullptr;
  }
  if (address >= kSharedWindow && address < kSharedWindow + kWindowBytes) {
    const Address at = address - kSharedWindow;
    return at + bytes <= block.shared.size() ? block.shared.data() + at : nullptr;
  }
  const Allocation* a = block.worker->memory->page_owner(address);
  return a != nullptr && a->contains(address, bytes) ? a->data.get() + (address - a->begin) : nullptr;
}

std::string text_at(Warp& w, unsigned lane, Address address) {
  std::string text;
  for (; text.size() < 4096; ++address) {
    const std::byte* at = host(w, lane, address, 1);
    if (at == nullptr || *at == std::byte{0}) break;
    text += static_cast<char>(*at);
  }
  return text;
}

template <typename T>
T argument(Warp& w, unsigned lane, const Transfer& t) {
  T value{};
  const std::byte* from = t.from_register
                              ? w.base[0] + t.from + std::size_t{lane} * t.bytes
                              : w.thread_memory + std::size_t{lane} * w.block->program->thread_bytes + t.from;
  std::memcpy(&value, from, std::min<std::size_t>(sizeof value, t.bytes));
  return value;
}

void run_vprintf(Registers& r, const Step& s, Mask lanes) {
  Warp& w = warp_of(r);
  const CallForm& form = w.block->program->calls[s.extra];
  for (Mask rest = lanes; rest != 0; rest &= rest - 1) {
    const auto lane = static_cast<unsigned>(std::countr_zero(rest));
    const std::string format = text_at(w, lane, argument<Address>(w, lane, form.in[0]));
    const auto values = argument<Address>(w, lane, form.in[1]);
    const int count = print_format(
        format, w.block->printed,
        [&](std::size_t at, std::size_t bytes) {
          return values == 0 ? nullptr : host(w, lane, values + at, bytes);
        },
        [&](Address text) { return text_at(w, lane, text); });
    for (const Transfer& t : form.out) {
      std::byte* to = t.to_register
                          ? w.base[0] + t.to + std::size_t{lane} * t.bytes
                          : w.thread_memory + std::size_t{lane} * w.block->program->thread_bytes + t.to;
      std::memcpy(to, &count, std::min<std::size_t>(t.bytes, sizeof count));
    }
  }
}

/// __assertfail(message, file, line, function, size of a character)
void run_assertion(Registers& r, const Step& s, Mask lanes) {
  Warp& w = warp_of(r);
  const CallForm& form = w.block->program->calls[s.extra];
  const auto lane = static_cast<unsigned>(std::countr_zero(lanes));
  w.block->worker->findings.add(
      *w.block, FindingKind::assertion, s, w.index, lane,
      fmt::format("assertion `{}`", text_at(w, lane, argument<Address>(w, lane, form.in[0]))),
      fmt::format("{}:{}, {}", text_at(w, lane, argument<Address>(w, lane, form.in[1])),
                  argument<std::uint32_t>(w, lane, form.in[2]),
                  text_at(w, lane, argument<Address>(w, lane, form.in[3]))));
  w.block->worker->halted = true;
  w.stop = Stop::halt;
}

struct System {
  std::string_view name;
  std::size_t parameters;
  Handler run;
};
constexpr System kSystem[] = {{"vprintf", 2, &run_vprintf}, {"__assertfail", 5, &run_assertion}};

}  // namespace

std::vector<std::uint32_t> Decoder::callees(const Function& caller, const Instruction& call) const {
  const auto all = caller.operands_of(call);
  for (const Operand& o : all)
    if (o.kind == OperandKind::function) {
      const Function* f = module.find_function(module.functions[o.id].name);
      if (!f->has_body) return {};
      return {static_cast<std::uint32_t>(f - module.functions.data())};
    }
  // Through a register: every function of as many parameters and results that is not calling already.
  std::size_t results = 0, parameters = 0;
  bool target_seen = false;
  for (const Operand& o : all) {
    if (o.kind == OperandKind::reg) target_seen = true;
    if (o.kind != OperandKind::list) continue;
    (target_seen ? parameters : results) = o.count;
  }
  std::vector<std::uint32_t> found;
  for (std::uint32_t f = 0; f < module.functions.size(); ++f) {
    const Function& candidate = module.functions[f];
    if (!candidate.entry && candidate.has_body && candidate.parameters.size() == parameters &&
        candidate.results.size() == results && std::find(calling.begin(), calling.end(), f) == calling.end())
      found.push_back(f);
  }
  return found;
}

std::uint32_t Decoder::return_slot(std::uint32_t index) {
  const auto [at, fresh] = return_slots_.try_emplace(index, 0);
  if (fresh) at->second = allocate_register(4);
  return at->second;
}

void Decoder::finish_function(bool kernel, std::uint32_t index) {
  step.run = kernel ? &run_leave : &run_return;
  if (!kernel) step.destination = return_slot(index);
}

void Decoder::call() {
  std::span<const Operand> results, parameters;
  const Operand* target = nullptr;
  for (const Operand& o : operands) {
    if (o.kind == OperandKind::list) {
      (target == nullptr ? results : parameters) = function->children(o);
    } else if (target == nullptr) {
      target = &o;
    }
  }
  if (target == nullptr) unsupported("it names no function");
  // Where the caller has an argument or takes a result.
  const auto place = [&](const Operand& o, bool to) {
    Transfer t;
    if (o.kind == OperandKind::reg) {
      t.bytes = register_bytes(o, 4);
      if (t.bytes == 0) unsupported("a predicate as an argument");
      (to ? t.to_register : t.from_register) = true;
      (to ? t.to : t.from) = register_offset[o.id];
    } else if (o.kind == OperandKind::symbol && thread_place.contains(o.id)) {
      t.bytes = static_cast<std::uint32_t>(module.variables[o.id].bytes);
      (to ? t.to : t.from) = thread_place.at(o.id);
    } else if (o.kind == OperandKind::integer && !to) {
      unsupported("a number as an argument");
    }
    return t;
  };
  const auto form_for = [&](std::uint32_t callee) {
    const Function& f = module.functions[callee];
    if (!code_of.contains(callee))
      unsupported(fmt::format("function '{}' calls itself; the simulator has no recursion", f.name));
    CallForm form;
    form.callee = callee;
    if (f.parameters.size() != parameters.size() || f.results.size() < results.size())
      unsupported(fmt::format("'{}' has {} parameters and {} results", f.name, f.parameters.size(),
                              f.results.size()));
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      Transfer t = place(parameters[i], false);
      t.to = thread_place.at(f.parameters[i]);
      t.bytes = std::min<std::uint32_t>(t.bytes,
                                        static_cast<std::uint32_t>(module.variables[f.parameters[i]].bytes));
      form.in.push_back(t);
    }
    for (std::size_t i = 0; i < results.size(); ++i) {
      if (results[i].kind == OperandKind::sink) continue;
      Transfer t = place(results[i], true);
      t.from = thread_place.at(f.results[i]);
      t.bytes =
          std::min<std::uint32_t>(t.bytes, static_cast<std::uint32_t>(module.variables[f.results[i]].bytes));
      form.out.push_back(t);
    }
    form.target = code_of.at(callee);
    return form;
  };
  step.extra = static_cast<std::uint32_t>(program.calls.size());
  const std::vector<std::uint32_t> to = callees(*function, *instruction);
  if (target->kind == OperandKind::function) {
    if (!to.empty()) {
      program.calls.push_back(form_for(to.front()));
      step.run = &run_call;
      results_after_ = {&run_results, step.extra, 0};
      return;
    }
    const std::string_view name = module.functions[target->id].name;
    for (const System& system : kSystem)
      if (system.name == name && parameters.size() == system.parameters) {
        CallForm form;
        for (const Operand& o : parameters) form.in.push_back(place(o, false));
        for (const Operand& o : results)
          if (o.kind != OperandKind::sink) form.out.push_back(place(o, true));
        program.calls.push_back(std::move(form));
        step.run = system.run;
        return;
      }
    unsupported(fmt::format("function '{}' has no body in this module", name));
  }
  if (target->kind != OperandKind::reg) unsupported("a call through this operand");
  step.a = source(*target, 8);
  for (const std::uint32_t callee : to) program.calls.push_back(form_for(callee));
  step.immediate = static_cast<std::int64_t>(to.size());
  step.destination = allocate_register(4);
  step.run = &run_indirect_call;
  results_after_ = {&run_indirect_results, step.extra, step.destination};
}

void Decoder::after_instruction() {
  if (results_after_.run == nullptr) return;
  const std::uint32_t instruction_index = step.instruction, guard = step.guard;
  const bool negated = step.guard_negated;
  step = {};
  step.run = results_after_.run;
  step.added = true;
  step.extra = results_after_.extra;
  step.destination = results_after_.destination;
  step.function = function_index;
  step.instruction = instruction_index;
  step.guard = guard;
  step.guard_negated = negated;
  program.steps.push_back(step);
  results_after_ = {};
}

}  // namespace warploom::sim
