#include "oracle/ptx_interpreter.hpp"

#include <algorithm>
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

/// Who touched a byte of shared memory in which barrier interval.
struct Shadow {
  std::uint64_t stored = 0, loaded = 0, reduced = 0;  ///< interval + 1
  std::uint32_t storer = 0, loader = 0, reducer = 0;
  bool several_loaders = false, several_reducers = false, written = false;
};

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

class Machine {
 public:
  Machine(const Module& module, const Function& f, const Run& run)
      : module_(module), f_(f), run_(run), random_(run.seed) {
    std::uint64_t at = kSharedBase;
    for (std::uint32_t v = 0; v < module.variables.size(); ++v) {
      const Variable& variable = module.variables[v];
      if (variable.space != Space::shared) continue;
      at = (at + variable.align - 1) / variable.align * variable.align;
      address_[v] = at;
      at += variable.bytes;
    }
    shared_.resize(at - kSharedBase);
    for (auto& byte : shared_) byte = static_cast<std::uint8_t>(random_());
    shadow_.resize(shared_.size());
    outcome_.shared_bytes = shared_.size();
    outcome_.out.assign(64 * run.threads, 0);
    threads_.resize(run.threads);
    for (Thread& t : threads_) t.registers.resize(f.registers.size() * 4);
  }

  Outcome go() {
    try {
      std::vector<std::uint32_t> turn(run_.threads);
      for (std::uint32_t t = 0; t < run_.threads; ++t)
        turn[t] = run_.order == Order::descending ? run_.threads - 1 - t : t;
      for (;;) {
        if (run_.order == Order::random) std::shuffle(turn.begin(), turn.end(), random_);
        bool alive = false;
        std::uint32_t met = kNone;
        for (const std::uint32_t t : turn) {
          if (threads_[t].done) continue;
          advance(t);
          if (threads_[t].done) continue;
          alive = true;
          if (met != kNone && met != threads_[t].at) throw Broken("threads wait at different barriers");
          met = threads_[t].at;
        }
        if (!alive) break;
        ++interval_;
        ++outcome_.barriers;
      }
    } catch (const Broken& problem) {
      outcome_.broken = problem.what();
    }
    return std::move(outcome_);
  }

 private:
  struct Thread {
    std::vector<std::uint64_t> registers;  ///< four a register: vectors
    std::uint32_t at = 0;
    bool done = false;
  };

  /// Runs a thread up to the instruction after its next barrier.
  void advance(std::uint32_t t) {
    Thread& thread = threads_[t];
    while (thread.at < f_.instructions.size()) {
      if (++steps_ > run_.max_steps) throw Broken("the kernel does not end");
      const Instruction& i = f_.instructions[thread.at];
      ++thread.at;
      if (i.guard != kNone && (thread.registers[i.guard * 4] != 0) == i.guard_negated) continue;
      const Opcode& opcode = module_.opcode(i);
      switch (opcode.op) {
        case Op::bar:
        case Op::barrier:
          if (opcode.has("warp")) break;
          return;
        case Op::ret:
        case Op::exit_:
          thread.done = true;
          return;
        case Op::bra:
          thread.at = f_.labels[f_.operands[i.first_operand].id].instruction;
          break;
        default:
          execute(t, thread, i, opcode);
      }
    }
    thread.done = true;
  }

  std::uint64_t& reg(Thread& thread, const Operand& o) const {
    return thread.registers[o.id * 4 + (o.component == 0xff ? 0 : o.component)];
  }

  std::uint64_t value(std::uint32_t t, Thread& thread, const Operand& o) const {
    switch (o.kind) {
      case OperandKind::reg:
        return o.negated ? !reg(thread, o) : reg(thread, o);
      case OperandKind::integer:
        return static_cast<std::uint64_t>(o.value);
      case OperandKind::symbol:
        return address_.at(o.id) + static_cast<std::uint64_t>(o.value);
      case OperandKind::special: {
        const std::string_view name = module_.text_of(o.span);
        if (name == "%tid.x") return t;
        if (name == "%ntid.x") return run_.threads;
        if (name == "%laneid") return t % 32;
        if (name == "%ctaid.x" || name == "%tid.y" || name == "%tid.z") return 0;
        [[fallthrough]];
      }
      default:
        throw Broken("operand not known: " + std::string(module_.text_of(o.span)));
    }
  }

  void execute(std::uint32_t t, Thread& thread, const Instruction& i, const Opcode& opcode) {
    const auto operand = [&](std::uint32_t k) -> const Operand& { return f_.operands[i.first_operand + k]; };
    const auto in = [&](std::uint32_t k) { return value(t, thread, operand(k)); };
    const Type type = opcode.parts.size() > 1 && opcode.op != Op::cvta ? type_from(opcode.parts.back())
                                                                       : Type{64, false, false};
    const auto u = [&](std::uint32_t k) { return truncate(in(k), type.bits); };
    const auto s = [&](std::uint32_t k) { return signed_of(in(k), type.bits); };
    std::uint64_t result = 0;
    std::uint32_t bits = type.bits;
    switch (opcode.op) {
      case Op::ld:
        load(t, thread, i, opcode);
        return;
      case Op::st:
        store(t, thread, i, opcode);
        return;
      case Op::red:
        reduce(t, thread, i, opcode);
        return;
      case Op::mov:
        result = in(1);
        break;
      case Op::add:
        result = in(1) + in(2);
        break;
      case Op::sub:
        result = in(1) - in(2);
        break;
      case Op::mul:
      case Op::mad:
        if (opcode.has("wide")) bits = 64;
        result = type.is_signed ? static_cast<std::uint64_t>(s(1) * s(2)) : u(1) * u(2);
        if (opcode.op == Op::mad) result += in(3);
        break;
      case Op::rem:
        if (u(2) == 0) throw Broken("division by zero");
        result = u(1) % u(2);
        break;
      case Op::and_:
        result = in(1) & in(2);
        break;
      case Op::or_:
        result = in(1) | in(2);
        break;
      case Op::xor_:
        result = in(1) ^ in(2);
        break;
      case Op::not_:
        result = ~in(1);
        break;
      case Op::shl:
        result = u(1) << std::min<std::uint64_t>(in(2) & 0xffffffff, 63);
        break;
      case Op::shr:
        result = u(1) >> std::min<std::uint64_t>(in(2) & 0xffffffff, 63);
        break;
      case Op::min_:
        result = type.is_signed ? static_cast<std::uint64_t>(std::min(s(1), s(2))) : std::min(u(1), u(2));
        break;
      case Op::selp:
        result = in(3) != 0 ? in(1) : in(2);
        break;
      case Op::cvt:
        result = type.is_signed ? static_cast<std::uint64_t>(s(1)) : u(1);
        bits = type_from(opcode.parts[opcode.parts.size() - 2]).bits;
        break;
      case Op::cvta:
        if (opcode.space != Space::shared)
          result = in(1);
        else
          result = opcode.has("to") ? in(1) - kSharedWindow : in(1) + kSharedWindow;
        break;
      case Op::setp:
        result = compare(opcode.parts[1], u(1), u(2), s(1), s(2), type.is_signed), bits = 1;
        break;
      default:
        throw Broken("instruction not known: " + std::string(opcode.text));
    }
    reg(thread, operand(0)) = truncate(result, bits);
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

  std::uint64_t address(std::uint32_t t, Thread& thread, const Operand& o) const {
    if (o.kind != OperandKind::address) return value(t, thread, o);
    return value(t, thread, f_.operands[o.id]) + static_cast<std::uint64_t>(o.value);
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

  std::vector<const Operand*> elements(const Operand& o) const {
    std::vector<const Operand*> all;
    if (o.kind == OperandKind::vector)
      for (std::uint32_t c = 0; c < o.count; ++c) all.push_back(&f_.operands[o.id + c]);
    else
      all.push_back(&o);
    return all;
  }

  void load(std::uint32_t t, Thread& thread, const Instruction& i, const Opcode& opcode) {
    const Operand& to = f_.operands[i.first_operand];
    const Operand& from = f_.operands[i.first_operand + 1];
    if (opcode.space == Space::param) {
      const std::string_view name = module_.variables[f_.operands[from.id].id].name;
      reg(thread, to) = name == "out" ? kOut : name == "data" ? kData : run_.n;
      return;
    }
    const auto all = elements(to);
    std::uint64_t shared = 0;
    const std::uint8_t* bytes =
        memory(opcode.space, address(t, thread, from), all.size() * opcode.bytes, shared);
    for (std::size_t e = 0; e < all.size(); ++e) {
      std::uint64_t v = 0;
      for (std::uint32_t b = 0; b < opcode.bytes; ++b)
        v |= std::uint64_t{bytes[e * opcode.bytes + b]} << (8 * b);
      reg(thread, *all[e]) = v;
    }
    if (shared == kNone) return;
    const bool dropped = is_dropped(t, thread, to);
    for (std::uint64_t b = shared; b < shared + all.size() * opcode.bytes; ++b) {
      Shadow& x = shadow_[b];
      if (!x.written && !dropped) outcome_.unwritten = true;
      if ((x.stored == interval_ && x.storer != t) || touched(x.reduced, x.reducer, x.several_reducers, t))
        outcome_.race = true;
      touch(x.loaded, x.loader, x.several_loaders, t);
    }
  }

  /// The next instruction chooses, and does not choose this register.
  bool is_dropped(std::uint32_t t, Thread& thread, const Operand& loaded) const {
    if (thread.at >= f_.instructions.size()) return false;
    const Instruction& next = f_.instructions[thread.at];
    return module_.opcode(next).op == Op::selp && f_.operands[next.first_operand + 1].id == loaded.id &&
           value(t, thread, f_.operands[next.first_operand + 3]) == 0;
  }

  void store(std::uint32_t t, Thread& thread, const Instruction& i, const Opcode& opcode) {
    const auto all = elements(f_.operands[i.first_operand + 1]);
    std::uint64_t shared = 0;
    std::uint8_t* bytes = memory(opcode.space, address(t, thread, f_.operands[i.first_operand]),
                                 all.size() * opcode.bytes, shared);
    for (std::size_t e = 0; e < all.size(); ++e) {
      const std::uint64_t v = value(t, thread, *all[e]);
      for (std::uint32_t b = 0; b < opcode.bytes; ++b)
        bytes[e * opcode.bytes + b] = static_cast<std::uint8_t>(v >> (8 * b));
    }
    if (shared == kNone) return;
    for (std::uint64_t b = shared; b < shared + all.size() * opcode.bytes; ++b) {
      Shadow& x = shadow_[b];
      if ((x.stored == interval_ && x.storer != t) || touched(x.loaded, x.loader, x.several_loaders, t) ||
          touched(x.reduced, x.reducer, x.several_reducers, t))
        outcome_.race = true;
      x.stored = interval_;
      x.storer = t;
      x.written = true;
    }
  }

  /// red.add: atomic with each other, not with plain accesses.
  void reduce(std::uint32_t t, Thread& thread, const Instruction& i, const Opcode& opcode) {
    if (!opcode.has("add") || opcode.bytes != 4) throw Broken("reduction not known");
    std::uint64_t shared = 0;
    std::uint8_t* bytes = memory(opcode.space, address(t, thread, f_.operands[i.first_operand]), 4, shared);
    std::uint64_t v = value(t, thread, f_.operands[i.first_operand + 1]);
    for (std::uint32_t b = 0; b < 4; ++b) v += std::uint64_t{bytes[b]} << (8 * b);
    for (std::uint32_t b = 0; b < 4; ++b) bytes[b] = static_cast<std::uint8_t>(v >> (8 * b));
    if (shared == kNone) return;
    for (std::uint64_t b = shared; b < shared + 4; ++b) {
      Shadow& x = shadow_[b];
      if (!x.written) outcome_.unwritten = true;
      if ((x.stored == interval_ && x.storer != t) || touched(x.loaded, x.loader, x.several_loaders, t))
        outcome_.race = true;
      touch(x.reduced, x.reducer, x.several_reducers, t);
    }
  }

  /// Some other thread did it in this interval.
  bool touched(std::uint64_t when, std::uint32_t who, bool several, std::uint32_t t) const {
    return when == interval_ && (several || who != t);
  }
  void touch(std::uint64_t& when, std::uint32_t& who, bool& several, std::uint32_t t) const {
    several = when == interval_ && (several || who != t);
    when = interval_;
    who = t;
  }

  const Module& module_;
  const Function& f_;
  const Run& run_;
  std::mt19937_64 random_;
  std::map<std::uint32_t, std::uint64_t> address_;  ///< of each shared variable
  std::vector<std::uint8_t> shared_;
  std::vector<Shadow> shadow_;
  std::vector<Thread> threads_;
  std::uint64_t steps_ = 0, interval_ = 1;
  Outcome outcome_;
};

}  // namespace

Outcome interpret(const Module& module, const Function& kernel, const Run& run) {
  return Machine(module, kernel, run).go();
}

}  // namespace warploom::oracle
