// atom and red. Lanes take turns in lane order; blocks on other CPU threads are kept out by the host's own
// compare-and-swap.
#include <algorithm>
#include <cstring>
#include <optional>

#include "sim/access.hpp"
#include "sim/bulk_copy.hpp"
#include "sim/decode.hpp"

namespace warploom::sim {

using namespace ptx;

namespace {

enum class Change : std::uint16_t { add, and_, or_, xor_, min, max, inc, dec, exchange, compare };

/// memory = change(memory, operand); the value before.
template <typename T, typename F>
T update(std::byte* at, F change) {
  T before = load_relaxed<T>(at);
  for (;;) {
    T after = change(before);
    if (__atomic_compare_exchange_n(reinterpret_cast<T*>(at), &before, after, false, __ATOMIC_RELAXED,
                                    __ATOMIC_RELAXED))
      return before;
  }
}

template <typename U>
U integer(Change change, U before, U a, U b, bool sign) {
  using S = std::make_signed_t<U>;
  switch (change) {
    case Change::add:
      return static_cast<U>(before + a);
    case Change::and_:
      return before & a;
    case Change::or_:
      return before | a;
    case Change::xor_:
      return before ^ a;
    case Change::min:
      return sign ? static_cast<U>(std::min(static_cast<S>(before), static_cast<S>(a))) : std::min(before, a);
    case Change::max:
      return sign ? static_cast<U>(std::max(static_cast<S>(before), static_cast<S>(a))) : std::max(before, a);
    case Change::inc:
      return before >= a ? 0 : static_cast<U>(before + 1);
    case Change::dec:
      return before == 0 || before > a ? a : static_cast<U>(before - 1);
    case Change::exchange:
      return a;
    case Change::compare:
      return before == a ? b : before;
  }
  return before;
}

/// before + a by a lane handler, bits in and out.
template <typename T>
T sum(Handler add, T before, T a) {
  alignas(64) std::byte registers[3 * kLanes * sizeof(T)];
  std::memcpy(registers, &before, sizeof(T));
  std::memcpy(registers + kLanes * sizeof(T), &a, sizeof(T));
  Step step;
  step.a = in_registers(0);
  step.b = in_registers(kLanes * sizeof(T));
  step.destination = 2 * kLanes * sizeof(T);
  Registers r{{registers, nullptr}};
  add(r, step, 1);
  T result;
  std::memcpy(&result, registers + step.destination, sizeof(T));
  return result;
}

/// Step: a the base, b and c the operands (of element 0), destination of the value before; flags: Change |
/// sign << 8.
template <typename T>
void run_atomic(Registers& r, const Step& s, Mask lanes) {
  Warp& w = warp_of(r);
  const Program& p = *w.block->program;
  const MemoryForm& form = p.memory[s.extra];
  const auto change = static_cast<Change>(s.flags & 0xff);
  const bool sign = (s.flags & 0x100) != 0;
  const bool real = (s.flags & 0x200) != 0;
  std::uint64_t address[kLanes];
  addresses(w, s, form, address);
  Pointers to;
  for (Mask rest = lanes; rest != 0; rest &= ~to.lanes) {
    if (!resolve(w, s, form.space, address, rest, form.total(), form.total(), true, to)) return;
    note_access(w, s, form, to, Access::atomic);
    if (to.space == Space::shared && w.stop != Stop::halt) {
      const Mask bad = unwritten(w, to, form.total());
      if (bad != 0 && change != Change::exchange) {
        const auto lane = static_cast<unsigned>(std::countr_zero(bad));
        w.block->worker->findings.add(*w.block, FindingKind::uninitialised, s, w.index, lane,
                                      "atomic of what nobody wrote", describe(w, to.space, to.address[lane]));
      }
      mark_written(w, to, form.total());
    }
    // PTX ISA, atom: add.f32 on global memory flushes subnormal inputs and results, on shared memory it does
    // not.
    Handler add = nullptr;
    if (real)
      add = to.space == Space::global ? p.real_atomics[s.second].flushing : p.real_atomics[s.second].plain;
    for (Mask each = to.lanes; each != 0; each &= each - 1) {
      const auto i = static_cast<unsigned>(std::countr_zero(each));
      for (unsigned e = 0; e < form.count; ++e) {
        const T a = r.read<T>(form.stored[e])[i];
        const T b = change == Change::compare ? r.read<T>(s.c)[i] : T{};
        const T before = update<T>(to.at[i] + e * sizeof(T), [&](T old) {
          if (add != nullptr) return sum(add, old, a);
          return integer<T>(change, old, a, b, sign);
        });
        r.write<T>(form.values[e])[i] = before;
      }
    }
  }
}

/// exch and cas of 128 bits.
void run_wide_atomic(Registers& r, const Step& s, Mask lanes) {
  Warp& w = warp_of(r);
  const MemoryForm& form = w.block->program->memory[s.extra];
  std::uint64_t address[kLanes];
  addresses(w, s, form, address);
  Pointers to;
  for (Mask rest = lanes; rest != 0; rest &= ~to.lanes) {
    if (!resolve(w, s, form.space, address, rest, 16, 16, true, to)) return;
    note_access(w, s, form, to, Access::atomic);
    if (to.space == Space::shared) mark_written(w, to, 16);
    for (Mask each = to.lanes; each != 0; each &= each - 1) {
      const auto i = static_cast<unsigned>(std::countr_zero(each));
      // Programs with such atomics see each other's blocks and run on one CPU thread.
      Wide before;
      std::memcpy(&before, to.at[i], 16);
      const Wide a = r.read<Wide>(form.stored[0])[i];
      const bool compare = (s.flags & 0xff) == static_cast<std::uint16_t>(Change::compare);
      if (!compare)
        std::memcpy(to.at[i], &a, 16);
      else if (before.low == a.low && before.high == a.high)
        std::memcpy(to.at[i], &r.read<Wide>(s.c)[i], 16);
      r.write<Wide>(form.values[0])[i] = before;
    }
  }
}

/// red.async: done at once; its mbarrier counts it when somebody waits, as it counts copies.
void run_async_reduction(Registers& r, const Step& s, Mask lanes) {
  Warp& w = warp_of(r);
  const MemoryForm& form = w.block->program->memory[s.extra];
  (form.bytes == 8 ? &run_atomic<std::uint64_t> : &run_atomic<std::uint32_t>)(r, s, lanes);
  std::uint64_t address[kLanes];
  addresses(w, s, form, address);
  for (Mask rest = lanes; rest != 0 && w.stop != Stop::halt; rest &= rest - 1) {
    const auto lane = static_cast<unsigned>(std::countr_zero(rest));
    const auto object = tracking_mbarrier(w, s, lane);
    Pointers to;
    if (!object || !resolve(w, s, form.space, address, Mask{1} << lane, form.bytes, form.bytes, true, to))
      return;
    if (to.space != Space::shared)
      return fault(w, s, FindingKind::illegal, lane, "red.async", "the address is none of shared memory");
    if (!in_one_block(w, s, lane, to, *object)) return;
    TrackedCopies tracked;
    tracked.thread = w.thread(lane);
    tracked.bytes = form.bytes;
    track(w, *object, std::move(tracked));
  }
}

}  // namespace

void Decoder::atomic() {
  static const std::unordered_map<std::string_view, Change> changes = {
      {"add", Change::add},       {"and", Change::and_},   {"or", Change::or_},  {"xor", Change::xor_},
      {"min", Change::min},       {"max", Change::max},    {"inc", Change::inc}, {"dec", Change::dec},
      {"exch", Change::exchange}, {"cas", Change::compare}};
  const bool has_result = opcode->op == Op::atom;
  MemoryForm form = memory_form();
  // Without a word on it, an atomic is relaxed at the scope of the GPU.
  if (form.strength == Strength::weak) form.strength = Strength::relaxed;
  if (form.scope == Scope::none) form.scope = Scope::gpu;
  std::optional<Change> change;
  for (const std::string_view part : opcode->parts)
    if (const auto found = changes.find(part); found != changes.end()) change = found->second;
  const Type type = type_of(opcode->parts.back());
  if (!change || type.kind == Type::none) unsupported();
  const bool asynchronous = opcode->has("async");
  const std::size_t wanted = (asynchronous ? 1u : 0u) + (has_result ? 2u : 1u) +
                             (*change == Change::compare ? 2u : 1u) +
                             (opcode->has("L2::cache_hint") ? 1u : 0u);
  if (operands.size() != wanted) unsupported();
  const bool real = type.kind == Type::f || type.kind == Type::bf;
  if (real && *change != Change::add && *change != Change::exchange) unsupported();
  MemoryForm object;
  if (asynchronous) {
    if (!opcode->has("mbarrier::complete_tx::bytes") || real || type.bytes() < 4) unsupported();
    object = tracking_mbarrier_form(operands[2]);
  }
  address(operands[has_result ? 1 : 0], form);
  const unsigned bytes = std::max<unsigned>(2, type.bytes());
  form.bytes = static_cast<std::uint8_t>(type.bytes());
  form.register_bytes = static_cast<std::uint8_t>(bytes);
  const Operand& operand = operands[has_result ? 2 : 1];
  const auto parts = [&](const Operand& o) {
    return o.kind == OperandKind::vector ? function->children(o) : std::span<const Operand>(&o, 1);
  };
  const auto stored = parts(operand);
  if (stored.size() != form.count || stored.size() > 8) unsupported();
  for (std::size_t i = 0; i < stored.size(); ++i) form.stored[i] = source(stored[i], bytes, real);
  if (has_result) {
    const auto values = parts(operands[0]);
    for (std::size_t i = 0; i < form.count; ++i)
      form.values[i] = destination(values.size() == form.count ? values[i] : values[0], bytes);
  } else {
    if (scratch == kNoSlot) scratch = allocate_register(16);
    for (std::uint32_t& v : form.values) v = scratch;
  }
  if (*change == Change::compare) step.c = source(operands[has_result ? 3 : 2], bytes);
  step.flags =
      static_cast<std::uint16_t>(static_cast<unsigned>(*change) | (type.kind == Type::s ? 0x100u : 0u) |
                                 (real && *change == Change::add ? 0x200u : 0u));
  if (real && *change == Change::add) {
    Form sum;
    sum.op = Op::add;
    sum.type = sum.from = type;
    const auto handler = [&] { return type.bits == 16 ? lanes::half(sum) : lanes::floating(sum); };
    RealAdd add;
    add.plain = handler();
    sum.ftz = type.is(Type::f, 32);
    add.flushing = handler();
    if (add.plain == nullptr || add.flushing == nullptr) unsupported();
    step.second = static_cast<std::uint32_t>(program.real_atomics.size());
    program.real_atomics.push_back(add);
  }
  step.extra = static_cast<std::uint32_t>(program.memory.size());
  program.memory.push_back(form);
  if (asynchronous) {
    program.memory.push_back(object);
    step.run = &run_async_reduction;
    return;
  }
  switch (type.bytes()) {
    case 2:
      step.run = &run_atomic<std::uint16_t>;
      break;
    case 4:
      step.run = &run_atomic<std::uint32_t>;
      break;
    case 8:
      step.run = &run_atomic<std::uint64_t>;
      break;
    case 16:
      step.run = &run_wide_atomic;
      break;
    default:
      unsupported();
  }
}

}  // namespace warploom::sim
