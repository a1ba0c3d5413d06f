#include "oracle/ptx_interpreter.hpp"

#include <algorithm>
#include <bit>
#include <map>
#include <random>
#include <stdexcept>

namespace warploom::oracle {

using namespace ptx;

namespace {

constexpr std::uint64_t kOut = 0x7000'0000'0000, kData = 0x7100'0000'0000;
constexpr std::uint64_t kSharedWindow = 0x6000'0000'0000;  ///< generic address of shared address 0
constexpr std::uint64_t kSharedBase = 0x400;               ///< shared address of the first variable

struct Broken : std::runtime_error {
  using std::runtime_error::runtime_error;
};

using Threads = std::uint64_t;  ///< a set, a bit a thread

/// Who touched a byte of shared memory since the last barrier: of the block, and of the thread's own warp.
struct Shadow {
  struct Since {
    Threads stored = 0, loaded = 0, changed = 0;  ///< changed: by atomics
  } block, warp;
  bool written = false;
};

Threads warp_of(std::uint32_t t) { return Threads{0xffffffff} << t / 32 * 32; }

/// A number in `bytes` bytes, with its sign.
std::int64_t signed_of(std::uint64_t value, std::uint32_t bits) {
  if (bits == 64) return static_cast<std::int64_t>(value);
  const std::uint64_t sign = std::uint64_t{1} << (bits - 1);
  value &= (sign << 1) - 1;
  return static_cast<std::int64_t>(value ^ sign) - static_cast<std::int64_t>(sign);
}

/// The last type of an instruction name: "u32" of cvt.u64.u32.
struct Type {
  std::uint32_t bits = 32;
  bool is_signed = false, predicate = false;
};
Type type_from(std::string_view name) {
  if (name == "pred") return {1, false, true};
  Type t;
  t.is_signed = name[0] == 's';
  t.bits = static_cast<std::uint32_t>(std::stoul(std::string(name.substr(1))));
  return t;
}
std::uint64_t truncate(std::uint64_t value, std::uint32_t bits) {
  return bits == 64 ? value : value & ((std::uint64_t{1} << bits) - 1);
}

/// One block.
class Machine {
 public:
  Machine(const Module& module, const Function& f, const Run& run, std::uint32_t block, Outcome& outcome)
      : module_(module), run_(run), block_(block), random_(run.seed + block), outcome_(outcome) {
    std::uint64_t at = kSharedBase;
    for (const bool dynamic : {false, true})
      for (std::uint32_t v = 0; v < module.variables.size(); ++v) {
        const Variable& variable = module.variables[v];
        if (variable.space != Space::shared || (variable.bytes == 0) != dynamic) continue;
        at = (at + variable.align - 1) / variable.align * variable.align;
        address_[v] = at;
        at += dynamic ? run.dynamic_shared : variable.bytes;
      }
    shared_.resize(at - kSharedBase);
    for (auto& byte : shared_) byte = static_cast<std::uint8_t>(random_());
    shadow_.resize(shared_.size());
    threads_.resize(run.block[0] * run.block[1]);
    for (Thread& t : threads_) t.frames.push_back(frame(f));
  }

  void go() {
    const auto count = static_cast<std::uint32_t>(threads_.size());
    std::vector<std::uint32_t> turn(count);
    for (std::uint32_t t = 0; t < count; ++t) turn[t] = run_.order == Order::descending ? count - 1 - t : t;
    for (;;) {
      if (run_.order == Order::random) std::shuffle(turn.begin(), turn.end(), random_);
      for (const std::uint32_t t : turn) advance(t);
      if (std::all_of(threads_.begin(), threads_.end(), [](const Thread& t) { return t.frames.empty(); }))
        return;
      if (!release_warps()) release_block();
    }
  }

 private:
  struct Frame {
    const Function* f = nullptr;
    std::vector<std::uint64_t> registers;  ///< four a register: vectors
    std::uint32_t at = 0;
    std::map<std::uint32_t, std::uint64_t> parameters;  ///< .param variables by number
  };
  struct Thread {
    std::vector<Frame> frames;           ///< innermost last; none: it has left
    const Instruction* waits = nullptr;  ///< at a barrier or vote
  };

  static Frame frame(const Function& f) {
    return {&f, std::vector<std::uint64_t>(f.registers.size() * 4), 0, {}};
  }

  /// Runs a thread up to its next barrier or vote.
  void advance(std::uint32_t t) {
    Thread& thread = threads_[t];
    while (!thread.frames.empty() && thread.waits == nullptr) {
      if (++steps_ > run_.max_steps) throw Broken("the kernel does not end");
      Frame& in = thread.frames.back();
      if (in.at >= in.f->instructions.size()) {
        leave(thread);
        continue;
      }
      const Instruction& i = in.f->instructions[in.at++];
      if (i.guard != kNone && (in.registers[i.guard * 4] != 0) == i.guard_negated) continue;
      const Opcode& opcode = module_.opcode(i);
      switch (opcode.op) {
        case Op::bar:
        case Op::barrier:
        case Op::vote:
          thread.waits = &i;
          break;
        case Op::ret:
          leave(thread);
          break;
        case Op::exit_:
          thread.frames.clear();
          break;
        case Op::bra:
          in.at = in.f->labels[in.f->operands[i.first_operand].id].instruction;
          break;
        case Op::call:
          call(thread, i);
          break;
        default:
          execute(t, in, i, opcode);
      }
    }
  }

  void call(Thread& thread, const Instruction& i) {
    const Function& f = *thread.frames.back().f;
    const auto operands = f.operands_of(i);
    const auto callee = std::find_if(operands.begin(), operands.end(),
                                     [](const Operand& o) { return o.kind == OperandKind::function; });
    Frame made = frame(*module_.find_function(module_.functions[callee->id].name));
    const auto arguments = f.children(callee[1]);
    for (std::size_t k = 0; k < arguments.size(); ++k)
      made.parameters[made.f->parameters[k]] = thread.frames.back().parameters[arguments[k].id];
    thread.frames.push_back(std::move(made));
  }

  /// Returns from a function; from the kernel, for good.
  void leave(Thread& thread) {
    const Frame done = std::move(thread.frames.back());
    thread.frames.pop_back();
    if (thread.frames.empty()) return;
    Frame& to = thread.frames.back();
    const Instruction& call = to.f->instructions[to.at - 1];
    const auto results = to.f->children(to.f->operands[call.first_operand]);
    to.parameters[results[0].id] = done.parameters.at(done.f->results[0]);
  }

  bool in_warp(const Instruction& i) const {
    return module_.opcode(i).op == Op::vote || module_.opcode(i).has("warp");
  }

  /// Lets warps go on whose threads all wait for each other.
  bool release_warps() {
    bool any = false;
    for (std::uint32_t first = 0; first < threads_.size(); first += 32) {
      const auto last = std::min<std::uint32_t>(first + 32, static_cast<std::uint32_t>(threads_.size()));
      const Instruction* at = nullptr;
      bool together = true, yes_all = true, yes_any = false;
      for (std::uint32_t t = first; t < last; ++t) {
        if (threads_[t].frames.empty()) continue;
        together = together && (at == nullptr || at == threads_[t].waits);
        at = threads_[t].waits;
      }
      if (at == nullptr || !in_warp(*at)) continue;
      if (!together) throw Broken("threads of a warp wait at different places");
      const bool votes = module_.opcode(*at).op == Op::vote;
      for (std::uint32_t t = first; t < last && votes; ++t) {
        if (threads_[t].frames.empty()) continue;
        Frame& in = threads_[t].frames.back();
        const bool yes = value(t, in, in.f->operands[at->first_operand + 1]) != 0;
        yes_all = yes_all && yes, yes_any = yes_any || yes;
      }
      for (std::uint32_t t = first; t < last; ++t) {
        if (threads_[t].frames.empty()) continue;
        Frame& in = threads_[t].frames.back();
        if (votes)
          reg(in, in.f->operands[at->first_operand]) = module_.opcode(*at).has("any") ? yes_any : yes_all;
        threads_[t].waits = nullptr;
      }
      if (!votes)
        for (Shadow& s : shadow_)
          for (Threads* by : {&s.warp.stored, &s.warp.loaded, &s.warp.changed}) *by &= ~warp_of(first);
      any = true;
    }
    return any;
  }

  /// All threads that are left wait at one barrier; they go on.
  void release_block() {
    const Instruction* at = nullptr;
    std::uint64_t yes = 0, waiting = 0;
    for (std::uint32_t t = 0; t < threads_.size(); ++t) {
      if (threads_[t].frames.empty()) continue;
      if (in_warp(*threads_[t].waits) || (at != nullptr && at != threads_[t].waits))
        throw Broken("threads wait at different barriers");
      at = threads_[t].waits;
      Frame& in = threads_[t].frames.back();
      const auto operands = in.f->operands_of(*at);
      const bool negated = operands.back().negated;
      if (module_.opcode(*at).has("red")) yes += (value(t, in, operands.back()) != 0) != negated ? 1 : 0;
      ++waiting;
    }
    const Opcode& opcode = module_.opcode(*at);
    for (Thread& thread : threads_) {
      if (thread.frames.empty()) continue;
      Frame& in = thread.frames.back();
      if (opcode.has("red"))
        reg(in, in.f->operands[at->first_operand]) = opcode.has("popc")  ? yes
                                                     : opcode.has("and") ? yes == waiting
                                                                         : yes > 0;
      thread.waits = nullptr;
    }
    for (Shadow& s : shadow_) s.block = s.warp = {};
    ++outcome_.barriers;
  }

  static std::uint64_t& reg(Frame& in, const Operand& o) {
    if (o.kind != OperandKind::reg) throw Broken("an operand that is no register");
    return in.registers[o.id * 4 + (o.component == 0xff ? 0 : o.component)];
  }

  std::uint64_t value(std::uint32_t t, Frame& in, const Operand& o) const {
    switch (o.kind) {
      case OperandKind::reg:
        return o.negated ? !reg(in, o) : reg(in, o);
      case OperandKind::integer:
      case OperandKind::real:
        return static_cast<std::uint64_t>(o.value);
      case OperandKind::symbol:
        return address_.at(o.id) + static_cast<std::uint64_t>(o.value);
      case OperandKind::special: {
        const std::string_view name = module_.text_of(o.span);
        if (name == "%tid.x") return t % run_.block[0];
        if (name == "%tid.y") return t / run_.block[0];
        if (name == "%ntid.x") return run_.block[0];
        if (name == "%ctaid.x") return block_;
        [[fallthrough]];
      }
      default:
        throw Broken("operand not known: " + std::string(module_.text_of(o.span)));
    }
  }

  void execute(std::uint32_t t, Frame& in, const Instruction& i, const Opcode& opcode) {
    const auto operand = [&](std::uint32_t k) -> const Operand& {
      return in.f->operands[i.first_operand + k];
    };
    const auto get = [&](std::uint32_t k) { return value(t, in, operand(k)); };
    const Type type = opcode.parts.size() > 1 && opcode.op != Op::cvta ? type_from(opcode.parts.back())
                                                                       : Type{64, false, false};
    const auto u = [&](std::uint32_t k) { return truncate(get(k), type.bits); };
    const auto s = [&](std::uint32_t k) { return signed_of(get(k), type.bits); };
    std::uint64_t result = 0;
    std::uint32_t bits = type.bits;
    switch (opcode.op) {
      case Op::ld:
        load(t, in, i, opcode);
        return;
      case Op::st:
        store(t, in, i, opcode);
        return;
      case Op::red:
      case Op::atom:
        change(t, in, i, opcode);
        return;
      case Op::mov:
        result = get(1);
        break;
      case Op::add:
        result = get(1) + get(2);
        break;
      case Op::sub:
        result = get(1) - get(2);
        break;
      case Op::mul:
      case Op::mad:
        if (opcode.has("wide")) bits = 64;
        result = type.is_signed ? static_cast<std::uint64_t>(s(1) * s(2)) : u(1) * u(2);
        if (opcode.op == Op::mad) result += get(3);
        break;
      case Op::rem:
        if (u(2) == 0) throw Broken("division by zero");
        result = u(1) % u(2);
        break;
      case Op::and_:
        result = get(1) & get(2);
        break;
      case Op::or_:
        result = get(1) | get(2);
        break;
      case Op::xor_:
        result = get(1) ^ get(2);
        break;
      case Op::not_:
        result = ~get(1);
        break;
      case Op::shl:
        result = u(1) << std::min<std::uint64_t>(get(2) & 0xffffffff, 63);
        break;
      case Op::shr:
        result = u(1) >> std::min<std::uint64_t>(get(2) & 0xffffffff, 63);
        break;
      case Op::min_:
        result = type.is_signed ? static_cast<std::uint64_t>(std::min(s(1), s(2))) : std::min(u(1), u(2));
        break;
      case Op::selp:
        result = get(3) != 0 ? get(1) : get(2);
        break;
      case Op::cvt:
        result = type.is_signed ? static_cast<std::uint64_t>(s(1)) : u(1);
        if (opcode.has("f32")) result = std::bit_cast<std::uint32_t>(static_cast<float>(u(1)));
        bits = type_from(opcode.parts[opcode.parts.size() - 2]).bits;
        break;
      case Op::cvta:
        if (opcode.space != Space::shared)
          result = get(1);
        else
          result = opcode.has("to") ? get(1) - kSharedWindow : get(1) + kSharedWindow;
        break;
      case Op::setp:
        result = compare(opcode.parts[1], u(1), u(2), s(1), s(2), type.is_signed), bits = 1;
        break;
      default:
        throw Broken("instruction not known: " + std::string(opcode.text));
    }
    reg(in, operand(0)) = truncate(result, bits);
  }

  static bool compare(std::string_view how, std::uint64_t a, std::uint64_t b, std::int64_t sa,
                      std::int64_t sb, bool is_signed) {
    const bool less = is_signed ? sa < sb : a < b;
    if (how == "eq") return a == b;
    if (how == "ne") return a != b;
    if (how == "lt") return less;
    if (how == "ge") return !less;
    if (how == "le") return less || a == b;
    if (how == "gt") return !less && a != b;
    throw Broken("comparison not known: " + std::string(how));
  }

  std::uint64_t address(std::uint32_t t, Frame& in, const Operand& o) const {
    if (o.kind != OperandKind::address) return value(t, in, o);
    return value(t, in, in.f->operands[o.id]) + static_cast<std::uint64_t>(o.value);
  }

  /// The bytes [at, at + count) of whatever memory; `shared` is the offset in shared memory, if they lie
  /// there.
  std::uint8_t* memory(Space space, std::uint64_t at, std::uint64_t count, std::uint64_t& shared) {
    shared = kNone;
    if (at % count != 0) throw Broken("misaligned access");
    if (space == Space::shared) at += kSharedWindow;
    const auto within = [&](std::uint64_t base, std::uint64_t bytes) {
      return at >= base && at + count <= base + bytes;
    };
    if (within(kSharedWindow + kSharedBase, shared_.size())) {
      shared = at - kSharedWindow - kSharedBase;
      return shared_.data() + shared;
    }
    if (within(kOut, outcome_.out.size() * 4))
      return reinterpret_cast<std::uint8_t*>(outcome_.out.data()) + (at - kOut);
    if (within(kData, run_.data.size() * 4))
      return const_cast<std::uint8_t*>(reinterpret_cast<const std::uint8_t*>(run_.data.data())) +
             (at - kData);
    throw Broken("out of bounds");
  }

  static std::vector<const Operand*> elements(const Frame& in, const Operand& o) {
    std::vector<const Operand*> all;
    if (o.kind == OperandKind::vector)
      for (std::uint32_t c = 0; c < o.count; ++c) all.push_back(&in.f->operands[o.id + c]);
    else
      all.push_back(&o);
    return all;
  }

  std::uint64_t parameter(const Frame& in, std::uint32_t variable) const {
    const std::string_view name = module_.variables[variable].name;
    if (!in.f->entry) return in.parameters.at(variable);
    if (const auto found = in.parameters.find(variable); found != in.parameters.end()) return found->second;
    return name == "out" ? kOut : name == "data" ? kData : run_.n;
  }

  void load(std::uint32_t t, Frame& in, const Instruction& i, const Opcode& opcode) {
    const Operand& to = in.f->operands[i.first_operand];
    const Operand& from = in.f->operands[i.first_operand + 1];
    if (opcode.space == Space::param) {
      reg(in, to) = parameter(in, in.f->operands[from.id].id);
      return;
    }
    const auto all = elements(in, to);
    std::uint64_t shared = 0;
    const std::uint8_t* bytes = memory(opcode.space, address(t, in, from), all.size() * opcode.bytes, shared);
    for (std::size_t e = 0; e < all.size(); ++e) {
      const std::uint64_t v = number(bytes + e * opcode.bytes, opcode.bytes);
      reg(in, *all[e]) = truncate(
          opcode.parts.back()[0] == 's' ? static_cast<std::uint64_t>(signed_of(v, 8u * opcode.bytes)) : v,
          type_from(in.f->registers[all[e]->id].type).bits);
    }
    if (shared == kNone) return;
    const bool dropped = is_dropped(t, in, to);
    for (std::uint64_t b = shared; b < shared + all.size() * opcode.bytes; ++b) {
      Shadow& x = shadow_[b];
      if (!x.written && !dropped) outcome_.unwritten = true;
      if (by_others(x, t, [](const Shadow::Since& s) { return s.stored | s.changed; })) outcome_.race = true;
      note(x, t, &Shadow::Since::loaded);
    }
  }

  /// The next instruction chooses, and does not choose this register.
  bool is_dropped(std::uint32_t t, Frame& in, const Operand& loaded) const {
    if (in.at >= in.f->instructions.size()) return false;
    const Instruction& next = in.f->instructions[in.at];
    return module_.opcode(next).op == Op::selp && in.f->operands[next.first_operand + 1].id == loaded.id &&
           value(t, in, in.f->operands[next.first_operand + 3]) == 0;
  }

  void store(std::uint32_t t, Frame& in, const Instruction& i, const Opcode& opcode) {
    const Operand& to = in.f->operands[i.first_operand];
    const auto all = elements(in, in.f->operands[i.first_operand + 1]);
    if (opcode.space == Space::param) {
      in.parameters[in.f->operands[to.id].id] = value(t, in, *all[0]);
      return;
    }
    std::uint64_t shared = 0;
    std::uint8_t* bytes = memory(opcode.space, address(t, in, to), all.size() * opcode.bytes, shared);
    for (std::size_t e = 0; e < all.size(); ++e) {
      const std::uint64_t v = value(t, in, *all[e]);
      for (std::uint32_t b = 0; b < opcode.bytes; ++b)
        bytes[e * opcode.bytes + b] = static_cast<std::uint8_t>(v >> (8 * b));
    }
    if (shared == kNone) return;
    for (std::uint64_t b = shared; b < shared + all.size() * opcode.bytes; ++b) {
      Shadow& x = shadow_[b];
      if (by_others(x, t, [](const Shadow::Since& s) { return s.stored | s.loaded | s.changed; }))
        outcome_.race = true;
      note(x, t, &Shadow::Since::stored);
      x.written = true;
    }
  }

  /// red and atom: atomic with each other, not with plain accesses.
  void change(std::uint32_t t, Frame& in, const Instruction& i, const Opcode& opcode) {
    const std::uint32_t first = i.first_operand + (opcode.op == Op::atom ? 1 : 0);
    std::uint64_t shared = 0;
    std::uint8_t* bytes = memory(opcode.space, address(t, in, in.f->operands[first]), opcode.bytes, shared);
    const std::uint64_t old = number(bytes, opcode.bytes), with = value(t, in, in.f->operands[first + 1]);
    const std::uint64_t v = opcode.has("add")   ? old + with
                            : opcode.has("min") ? std::min(old, with)
                            : opcode.has("max") ? std::max(old, with)
                            : opcode.has("and") ? old & with
                            : opcode.has("or")  ? old | with
                            : opcode.has("xor") ? old ^ with
                                                : throw Broken("atomic operation not known");
    for (std::uint32_t b = 0; b < opcode.bytes; ++b) bytes[b] = static_cast<std::uint8_t>(v >> (8 * b));
    if (opcode.op == Op::atom) reg(in, in.f->operands[i.first_operand]) = old;
    if (shared == kNone) return;
    for (std::uint64_t b = shared; b < shared + opcode.bytes; ++b) {
      Shadow& x = shadow_[b];
      if (!x.written) outcome_.unwritten = true;
      if (by_others(x, t, [](const Shadow::Since& s) { return s.stored | s.loaded; })) outcome_.race = true;
      note(x, t, &Shadow::Since::changed);
    }
  }

  static std::uint64_t number(const std::uint8_t* bytes, std::uint32_t count) {
    std::uint64_t v = 0;
    for (std::uint32_t b = 0; b < count; ++b) v |= std::uint64_t{bytes[b]} << (8 * b);
    return v;
  }

  /// Another thread did it since the last barrier, its own warp's since the last of that warp.
  template <class Which>
  static bool by_others(const Shadow& x, std::uint32_t t, Which which) {
    return ((which(x.block) & ~warp_of(t)) | (which(x.warp) & warp_of(t) & ~(Threads{1} << t))) != 0;
  }
  static void note(Shadow& x, std::uint32_t t, Threads Shadow::Since::*what) {
    x.block.*what |= Threads{1} << t;
    x.warp.*what |= Threads{1} << t;
  }

  const Module& module_;
  const Run& run_;
  std::uint32_t block_;
  std::mt19937_64 random_;
  std::map<std::uint32_t, std::uint64_t> address_;  ///< of each shared variable
  std::vector<std::uint8_t> shared_;
  std::vector<Shadow> shadow_;
  std::vector<Thread> threads_;
  std::uint64_t steps_ = 0;
  Outcome& outcome_;
};

}  // namespace

Outcome interpret(const Module& module, const Function& kernel, const Run& run) {
  Outcome outcome;
  outcome.out.assign(std::size_t{run.out_words} * run.block[0] * run.block[1] * run.blocks, 0);
  try {
    for (std::uint32_t b = 0; b < run.blocks; ++b) Machine(module, kernel, run, b, outcome).go();
  } catch (const Broken& problem) {
    outcome.broken = problem.what();
  }
  return outcome;
}

}  // namespace warploom::oracle
