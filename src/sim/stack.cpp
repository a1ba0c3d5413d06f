// alloca, stacksave and stackrestore: a stack of each thread in its local memory.
#include <fmt/format.h>

#include "sim/access.hpp"
#include "sim/decode.hpp"

namespace warploom::sim {

using namespace ptx;

namespace {

constexpr std::uint32_t kStackBytes = 16384;

/// a: the size; immediate: the alignment; extra: where the stack begins; second: register of the bytes in
/// use.
template <typename T>
void run_alloca(Registers& r, const Step& s, Mask lanes) {
  Warp& w = warp_of(r);
  auto* used = r.write<std::uint32_t>(s.second);
  const T* size = r.read<T>(s.a);
  T* to = r.write<T>(s.destination);
  for (unsigned i = 0; i < kLanes; ++i) {
    if ((lanes >> i & 1) == 0) continue;
    const auto align = static_cast<std::uint32_t>(s.immediate);
    const std::uint32_t begin = (s.extra + used[i] + align - 1) / align * align;
    const std::uint64_t bytes = size[i];
    if (bytes > kStackBytes || begin + bytes > s.extra + kStackBytes)
      return fault(w, s, FindingKind::out_of_bounds, i, "alloca",
                   fmt::format("{} bytes; the simulator's stack of a thread has {} in all, {} are in use",
                               bytes, kStackBytes, used[i]));
    used[i] = static_cast<std::uint32_t>(begin + bytes - s.extra);
    to[i] = static_cast<T>(begin);
  }
}

template <typename T>
void run_save(Registers& r, const Step& s, Mask lanes) {
  for (unsigned i = 0; i < kLanes; ++i)
    if ((lanes >> i & 1) != 0) r.write<T>(s.destination)[i] = r.read<std::uint32_t>(s.a)[i];
}
template <typename T>
void run_restore(Registers& r, const Step& s, Mask lanes) {
  for (unsigned i = 0; i < kLanes; ++i)
    if ((lanes >> i & 1) != 0)
      r.write<std::uint32_t>(s.destination)[i] = static_cast<std::uint32_t>(r.read<T>(s.a)[i]);
}

}  // namespace

bool Decoder::stack_operation() {
  if (opcode->op != Op::alloca_ && opcode->op != Op::stacksave && opcode->op != Op::stackrestore)
    return false;
  if (stack_pointer == kNoSlot) {
    stack_pointer = allocate_register(4);
    stack_begin = (program.thread_bytes + 16 + 255) / 256 * 256;
    program.thread_variables.push_back({kNone, stack_begin, kStackBytes});
    program.thread_bytes = stack_begin + kStackBytes;
  }
  const unsigned bytes = opcode->bytes;
  if (bytes != 4 && bytes != 8) unsupported();
  switch (opcode->op) {
    case Op::alloca_: {
      if (operands.size() < 2 || operands.size() > 3) unsupported();
      step.a = source(operands[1], bytes);
      step.destination = destination(operands[0], bytes);
      step.immediate = operands.size() == 3 ? operands[2].value : 8;
      if (step.immediate < 1 || step.immediate > 256) unsupported("this alignment");
      step.extra = stack_begin;
      step.second = stack_pointer;
      step.run = bytes == 8 ? &run_alloca<std::uint64_t> : &run_alloca<std::uint32_t>;
      return true;
    }
    case Op::stacksave:
      step.a = in_registers(stack_pointer);
      step.destination = destination(operands[0], bytes);
      step.run = bytes == 8 ? &run_save<std::uint64_t> : &run_save<std::uint32_t>;
      return true;
    default:
      step.a = source(operands[0], bytes);
      step.destination = stack_pointer;
      step.run = bytes == 8 ? &run_restore<std::uint64_t> : &run_restore<std::uint32_t>;
      return true;
  }
}

}  // namespace warploom::sim
