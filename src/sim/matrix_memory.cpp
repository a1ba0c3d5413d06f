// Matrices between memory and registers: ldmatrix and stmatrix (rows of 16 bytes, a lane's address each),
// movmatrix, and wmma's loads and stores. To the race detector they are accesses of the lanes that give the
// addresses.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "sim/access.hpp"
#include "sim/decode.hpp"
#include "sim/poison.hpp"

namespace warploom::sim {

using namespace ptx;

namespace {

constexpr std::uint16_t kTransposed = 0x100;
constexpr unsigned kRowBytes = 16;

bool is_written(const Warp& w, std::uint64_t address, unsigned bytes) {
  const std::uint8_t* written = w.block->written.data() + address;
  return std::all_of(written, written + bytes, [](std::uint8_t b) { return b == kWritten; });
}

/// The two 16-bit elements of a lane's register of an 8 x 8 matrix: the row that holds one and the byte in
/// it.
struct Half {
  unsigned row, byte;
};
Half half_of(unsigned lane, unsigned which, bool transposed) {
  const unsigned slow = lane / 4, fast = 2 * (lane % 4) + which;
  return transposed ? Half{fast, 2 * slow} : Half{slow, 2 * fast};
}

/// The rows of `count` 8 x 8 matrices in shared memory, whose addresses the first 8 count lanes give.
bool rows(Warp& w, const Step& s, const MemoryForm& form, unsigned count, bool write, Pointers& to) {
  std::uint64_t address[kLanes];
  addresses(w, s, form, address);
  const Mask givers = count == 4 ? kAllLanes : (Mask{1} << 8 * count) - 1;
  poisoned_address(w, s, form, givers);
  if (!resolve(w, s, form.space, address, givers, kRowBytes, kRowBytes, write, to)) return false;
  if (to.space == Space::shared && to.lanes == givers) return true;
  const auto lane =
      static_cast<unsigned>(std::countr_zero(to.space == Space::shared ? givers & ~to.lanes : to.lanes));
  fault(w, s, FindingKind::illegal, lane, write ? "stmatrix" : "ldmatrix",
        fmt::format("the address {:#x} is none of shared memory", address[lane]));
  return false;
}

/// Step::extra: the access; flags: matrices, kTransposed; MemoryForm::values: a register a matrix.
void run_load_matrix(Registers& r, const Step& s, Mask lanes) {
  Warp& w = warp_of(r);
  if (!whole_warp(w, s, lanes)) return;
  const MemoryForm& form = w.block->program->memory[s.extra];
  const unsigned count = s.flags & 0xff;
  const bool transposed = (s.flags & kTransposed) != 0;
  Pointers from;
  if (!rows(w, s, form, count, false, from)) return;
  std::array<Mask, 4> unwritten{};
  std::array<std::array<std::uint32_t, kLanes>, 4> values{};
  for (unsigned m = 0; m < count; ++m)
    for (unsigned lane = 0; lane < kLanes; ++lane)
      for (unsigned which = 0; which < 2; ++which) {
        const Half half = half_of(lane, which, transposed);
        const unsigned giver = 8 * m + half.row;
        values[m][lane] |= std::uint32_t{load_relaxed<std::uint16_t>(from.at[giver] + half.byte)}
                           << 16 * which;
        if (!is_written(w, from.address[giver] + half.byte, 2)) unwritten[m] |= Mask{1} << lane;
      }
  const Mask bad = unwritten[0] | unwritten[1] | unwritten[2] | unwritten[3];
  if (bad != 0 || w.poisoned != 0) set_poison(w, s, std::span(unwritten).first(count));
  if (bad != 0 && w.block->worker->options->strict_initialisation && !form.constant_address)
    w.block->worker->findings.add(*w.block, FindingKind::uninitialised, s, w.index,
                                  static_cast<unsigned>(std::countr_zero(bad)),
                                  "load of shared memory that nobody wrote", "");
  note_access(w, s, form, from, Access::read);
  for (unsigned m = 0; m < count; ++m)
    std::copy_n(values[m].data(), kLanes, w.write<std::uint32_t>(form.values[m]));
}

/// The same of MemoryForm::stored.
void run_store_matrix(Registers& r, const Step& s, Mask lanes) {
  Warp& w = warp_of(r);
  if (!whole_warp(w, s, lanes)) return;
  const MemoryForm& form = w.block->program->memory[s.extra];
  const unsigned count = s.flags & 0xff;
  const bool transposed = (s.flags & kTransposed) != 0;
  Pointers to;
  if (!rows(w, s, form, count, true, to)) return;
  // Row by row as it will be, to tell which change nothing.
  std::array<std::array<std::byte, kRowBytes>, kLanes> images{};
  std::array<std::uint32_t, kLanes> undefined{};  // a bit a byte
  const std::size_t address_reads = form.fixed ? 0 : 1;
  for (unsigned m = 0; m < count; ++m) {
    const Mask poisoned = w.poisoned != 0 ? read_poison(w, s, address_reads + m) : 0;
    for (unsigned lane = 0; lane < kLanes; ++lane)
      for (unsigned which = 0; which < 2; ++which) {
        const Half half = half_of(lane, which, transposed);
        const unsigned giver = 8 * m + half.row;
        const auto value =
            static_cast<std::uint16_t>(w.read<std::uint32_t>(form.stored[m])[lane] >> 16 * which);
        std::memcpy(images[giver].data() + half.byte, &value, 2);
        if ((poisoned >> lane & 1) != 0) undefined[giver] |= 3u << half.byte;
      }
  }
  Mask silent = 0;
  for (Mask rest = to.lanes; rest != 0; rest &= rest - 1) {
    const auto giver = static_cast<unsigned>(std::countr_zero(rest));
    if (std::memcmp(to.at[giver], images[giver].data(), kRowBytes) == 0) silent |= Mask{1} << giver;
  }
  note_access(w, s, form, to, Access::write, silent);
  mark_written(w, to, kRowBytes);
  for (Mask rest = to.lanes; rest != 0; rest &= rest - 1) {
    const auto giver = static_cast<unsigned>(std::countr_zero(rest));
    std::memcpy(to.at[giver], images[giver].data(), kRowBytes);
    for (unsigned byte = 0; byte < kRowBytes; ++byte)
      if ((undefined[giver] >> byte & 1) != 0) w.block->written[to.address[giver] + byte] = kUnwritten;
  }
}

/// movmatrix: destination is a, an 8 x 8 matrix of 16-bit elements, transposed.
void run_transpose(Registers& r, const Step& s, Mask lanes) {
  Warp& w = warp_of(r);
  if (!whole_warp(w, s, lanes)) return;
  const auto* a = w.read<std::uint32_t>(s.a);
  std::array<std::uint32_t, kLanes> result{};
  Mask poisoned = 0;
  const Mask before = w.poisoned != 0 ? read_poison(w, s, 0) : 0;
  for (unsigned lane = 0; lane < kLanes; ++lane)
    for (unsigned which = 0; which < 2; ++which) {
      // Element (row, column) of the result is (column, row) of a.
      const unsigned row = 2 * (lane % 4) + which, column = lane / 4;
      const unsigned from = 4 * row + column / 2;
      result[lane] |= (a[from] >> 16 * (column % 2) & 0xffff) << 16 * which;
      if ((before >> from & 1) != 0) poisoned |= Mask{1} << lane;
    }
  if (w.poisoned != 0) set_poison(w, s, std::span(&poisoned, 1));
  std::copy_n(result.data(), kLanes, w.write<std::uint32_t>(s.destination));
}

/// The byte at which a lane's element of a matrix lies: rows (or columns) are `stride` elements apart.
std::uint64_t offset(const MatrixAccess& access, Place at, std::uint32_t stride) {
  const std::uint64_t elements = access.by_columns ? std::uint64_t{at.column} * stride + at.row
                                                   : std::uint64_t{at.row} * stride + at.column;
  return elements * bits_of(access.fragment.element) / 8;
}

/// Elements that are moved at once: all of a register where one has less than a byte.
unsigned at_once(const Fragment& f) { return bits_of(f.element) < 8 ? f.held() : 1; }

/// Element `e` of register `reg` of each lane in memory. False: a finding ended the kernel.
/// use(pointers) for the lanes of each space.
template <typename Use>
bool each_space(Warp& w, const Step& s, const MatrixAccess& access, const MemoryForm& form, unsigned reg,
                unsigned e, bool write, Use use) {
  std::uint64_t address[kLanes];
  addresses(w, s, form, address);
  const auto* strides = w.read<std::uint32_t>(s.c);
  for (unsigned lane = 0; lane < kLanes; ++lane)
    address[lane] += offset(access, place(access.fragment, reg, lane, e), strides[lane]);
  Pointers to;
  for (Mask rest = kAllLanes; rest != 0; rest &= ~to.lanes) {
    if (!resolve(w, s, form.space, address, rest, form.bytes, form.bytes, write, to)) return false;
    use(to);
  }
  return true;
}

/// c: stride; extra: the access to an element, second: to the matrix.
void run_wmma_load(Registers& r, const Step& s, Mask lanes) {
  Warp& w = warp_of(r);
  if (!whole_warp(w, s, lanes)) return;
  const Program& p = *w.block->program;
  const MatrixAccess& access = p.matrix_accesses[s.second];
  const MemoryForm& form = p.memory[s.extra];
  const Fragment& f = access.fragment;
  poisoned_address(w, s, form, kAllLanes);
  const unsigned distinct = f.distinct_registers();
  std::vector<Mask> unwritten(f.registers.size());
  std::vector<std::array<std::uint64_t, kLanes>> values(distinct);
  for (unsigned reg = 0; reg < distinct; ++reg)
    for (unsigned e = 0; e < f.held(); e += at_once(f))
      if (!each_space(w, s, access, form, reg, e, false, [&](const Pointers& from) {
            note_access(w, s, form, from, Access::read);
            for (Mask rest = from.lanes; rest != 0; rest &= rest - 1) {
              const auto lane = static_cast<unsigned>(std::countr_zero(rest));
              std::uint64_t element = 0;
              std::memcpy(&element, from.at[lane], form.bytes);
              values[reg][lane] |= element << 8 * form.bytes * e;
              if (from.space == Space::shared && !is_written(w, from.address[lane], form.bytes))
                unwritten[reg] |= Mask{1} << lane;
            }
          }))
        return;
  Mask bad = 0;
  for (unsigned reg = 0; reg < f.registers.size(); ++reg) {
    unwritten[reg] = unwritten[reg % distinct];
    bad |= unwritten[reg];
    for (unsigned lane = 0; lane < kLanes; ++lane)
      if (f.register_bytes() == 8)
        w.write<std::uint64_t>(f.registers[reg].offset)[lane] = values[reg % distinct][lane];
      else
        w.write<std::uint32_t>(f.registers[reg].offset)[lane] =
            static_cast<std::uint32_t>(values[reg % distinct][lane]);
  }
  if (bad != 0 || w.poisoned != 0) set_poison(w, s, unwritten);
}

void run_wmma_store(Registers& r, const Step& s, Mask lanes) {
  Warp& w = warp_of(r);
  if (!whole_warp(w, s, lanes)) return;
  const Program& p = *w.block->program;
  const MatrixAccess& access = p.matrix_accesses[s.second];
  const MemoryForm& form = p.memory[s.extra];
  const Fragment& f = access.fragment;
  poisoned_address(w, s, form, kAllLanes);
  const std::size_t address_reads = form.fixed ? 0 : 1;
  for (unsigned reg = 0; reg < f.distinct_registers(); ++reg)
    for (unsigned e = 0; e < f.held(); e += at_once(f))
      if (!each_space(w, s, access, form, reg, e, true, [&](const Pointers& to) {
            const auto element = [&](unsigned lane) {
              const std::uint64_t all = f.register_bytes() == 8
                                            ? w.read<std::uint64_t>(f.registers[reg])[lane]
                                            : w.read<std::uint32_t>(f.registers[reg])[lane];
              return all >> 8 * form.bytes * e;
            };
            Mask silent = 0;
            for (Mask rest = to.lanes; rest != 0; rest &= rest - 1) {
              const auto lane = static_cast<unsigned>(std::countr_zero(rest));
              const std::uint64_t value = element(lane);
              if (std::memcmp(to.at[lane], &value, form.bytes) == 0) silent |= Mask{1} << lane;
            }
            note_access(w, s, form, to, Access::write, silent);
            for (Mask rest = to.lanes; rest != 0; rest &= rest - 1) {
              const auto lane = static_cast<unsigned>(std::countr_zero(rest));
              const std::uint64_t value = element(lane);
              std::memcpy(to.at[lane], &value, form.bytes);
            }
            if (to.space == Space::shared) mark_written(w, to, form.bytes);
            if (w.poisoned != 0) poison_stored(w, s, read_poison(w, s, address_reads + reg), form, to);
          }))
        return;
}

}  // namespace

bool Decoder::matrix_operation() {
  switch (opcode->op) {
    case Op::mma:
      matrix_product();
      return true;
    case Op::wgmma:
      warpgroup_product();
      return true;
    case Op::wmma:
      if (opcode->has("mma"))
        matrix_product();
      else
        matrix_access();
      return true;
    case Op::ldmatrix:
    case Op::stmatrix: {
      const bool load = opcode->op == Op::ldmatrix;
      const unsigned count = opcode->has("x4") ? 4 : opcode->has("x2") ? 2 : 1;
      if (operands.size() != 2 || !opcode->has("m8n8") || opcode->parts.back() != "b16") unsupported();
      MemoryForm form = memory_form();
      form.bytes = kRowBytes;
      address(operands[load ? 1 : 0], form);
      const Operand& value = operands[load ? 0 : 1];
      const std::span<const Operand> values =
          value.kind == OperandKind::vector ? function->children(value) : std::span<const Operand>(&value, 1);
      if (values.size() != count) unsupported();
      for (unsigned i = 0; i < count; ++i)
        if (load)
          form.values[i] = destination(values[i], 4);
        else
          form.stored[i] = source(values[i], 4);
      step.extra = static_cast<std::uint32_t>(program.memory.size());
      program.memory.push_back(form);
      step.flags = static_cast<std::uint16_t>(count | (opcode->has("trans") ? kTransposed : 0u));
      step.run = load ? &run_load_matrix : &run_store_matrix;
      return true;
    }
    case Op::movmatrix:
      if (operands.size() != 2 || !opcode->has("trans") || !opcode->has("m8n8")) unsupported();
      step.a = source(operands[1], 4);
      step.destination = destination(operands[0], 4);
      step.run = &run_transpose;
      return true;
    default:
      return false;
  }
}

void Decoder::matrix_access() {
  const bool load = opcode->has("load");
  if (!load && !opcode->has("store")) unsupported();
  const auto element = element_of(opcode->parts.back());
  if (!element || operands.size() < 2 || operands.size() > 3) unsupported();
  const MatrixShape shape = matrix_shape();
  MatrixAccess access;
  Fragment& f = access.fragment;
  f.role = opcode->has("a") ? Fragment::a : opcode->has("b") ? Fragment::b : Fragment::c;
  f.of_wmma = true;
  f.element = *element;
  f.rows = f.role == Fragment::b ? shape.k : shape.m;
  f.columns = f.role == Fragment::a ? shape.k : shape.n;
  access.by_columns = opcode->has("col");
  // Of less than a byte a register's elements lie along k, as PTX has such A and B.
  if (bits_of(*element) < 8 && access.by_columns != (f.role == Fragment::b)) unsupported();
  MemoryForm form = memory_form();
  form.bytes = static_cast<std::uint8_t>(bits_of(*element) < 8 ? 4 : bits_of(*element) / 8);
  address(operands[load ? 1 : 0], form);
  fill(f, operands[load ? 0 : 1], load);
  step.c =
      operands.size() == 3 ? source(operands[2], 4) : constant(access.by_columns ? f.rows : f.columns, 4);
  step.extra = static_cast<std::uint32_t>(program.memory.size());
  program.memory.push_back(form);
  step.second = static_cast<std::uint32_t>(program.matrix_accesses.size());
  program.matrix_accesses.push_back(std::move(access));
  step.run = load ? &run_wmma_load : &run_wmma_store;
}

}  // namespace warploom::sim
