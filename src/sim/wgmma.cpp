// wgmma: products of matrices by four warps, whose factors lie in shared memory. A descriptor says where, in
// rows of 16-byte chunks: PTX ISA 9.0, "Asynchronous wgmma", matrix descriptor and canonical layouts.
#include "sim/wgmma.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <limits>
#include <optional>
#include <span>

#include "sim/access.hpp"
#include "sim/decode.hpp"
#include "sim/poison.hpp"
#include "sim/races.hpp"
#include "sim/tensor_sum.hpp"

namespace warploom::sim {

using namespace ptx;

namespace {

constexpr unsigned kWarpRows = 16;  // of D a warp
constexpr unsigned kChunk = 16;     // bytes that lie together in every layout
/// Of products of 8-bit floats: bits below the greatest exponent, of a sum in f32 as well.
constexpr int kKeptOf8Bits = 13;

/// A matrix in shared memory, of 32 bytes along k, or 64 that meet a sparse one.
struct Descriptor {
  std::uint32_t start, leading, stride;
  unsigned pitch;  ///< bytes of a row of a swizzled layout; 16: not swizzled
  unsigned base;

  explicit Descriptor(std::uint64_t bits)
      : start(static_cast<std::uint32_t>(bits & 0x3fff) << 4),
        leading(static_cast<std::uint32_t>(bits >> 16 & 0x3fff) << 4),
        stride(static_cast<std::uint32_t>(bits >> 32 & 0x3fff) << 4),
        pitch((bits >> 62) == 0 ? kChunk : 256u >> (bits >> 62)),
        base(static_cast<unsigned>(bits >> 49 & 7)) {}

  /// Where the chunk lies that begins with that element: along k row by row, or (transposed) column by column
  /// of 8 elements along the other dimension.
  std::uint32_t chunk(unsigned row, unsigned along) const {
    const bool plain = pitch == kChunk;
    return swizzled(start + row / 8 * stride + row % 8 * pitch + along * (plain ? leading : kChunk));
  }
  std::uint32_t transposed_chunk(unsigned k, unsigned along) const {
    const unsigned width = pitch / kChunk;
    if (width == 1) return start + along * stride + k / 8 * leading + k % 8 * kChunk;
    return swizzled(start + along / width * leading + k / 8 * stride + k % 8 * pitch +
                    along % width * kChunk);
  }

 private:
  /// The pattern begins `base` lines of 128 bytes behind a multiple of its length.
  std::uint32_t swizzled(std::uint32_t at) const {
    return at ^ (((at >> 7) - base) & (pitch / kChunk - 1)) << 4;
  }
};

/// A factor as it is used: `rows` times k elements, by rows, with what nobody wrote.
struct Tile {
  std::vector<std::uint32_t> bits;
  std::vector<bool> bad;  ///< a row
  explicit Tile(unsigned rows, unsigned k) : bits(std::size_t{rows} * k), bad(rows) {}
};

/// Reads rows [first, first + rows) of the matrix. False: a finding ended the kernel.
bool read_shared(Warp& w, const Step& s, const Descriptor& d, bool transposed, unsigned first, unsigned rows,
                 Element element, unsigned k, Tile& to, std::vector<std::uint32_t>& chunks) {
  const unsigned bytes = bits_of(element) / 8, held = kChunk / bytes;
  const unsigned count = rows * k / held;
  RaceDetector* const races = w.block->worker->races.get();
  for (unsigned begin = 0; begin < count; begin += kLanes) {
    std::uint64_t address[kLanes] = {};
    const unsigned some = std::min(count - begin, kLanes);
    const auto row_and_k = [&](unsigned i) {
      // Of a chunk's first element.
      const unsigned c = begin + i;
      return transposed ? std::pair{c / k * held, c % k} : std::pair{c / (k / held), c % (k / held) * held};
    };
    for (unsigned i = 0; i < some; ++i) {
      const auto [row, at] = row_and_k(i);
      address[i] =
          transposed ? d.transposed_chunk(at, (first + row) / held) : d.chunk(first + row, at / held);
    }
    const Mask lanes = some == kLanes ? kAllLanes : (Mask{1} << some) - 1;
    Pointers from;
    if (!resolve(w, s, Space::shared, address, lanes, kChunk, kChunk, false, from)) return false;
    const Mask missing = unwritten(w, from, kChunk);
    for (unsigned i = 0; i < some; ++i) {
      const auto offset = static_cast<std::uint32_t>(from.address[i]);
      if (races != nullptr) {
        races->asynchronous(w, i, s, Access::read, offset, kChunk);
        races->product_reads(w, s, offset, kChunk);
        chunks.push_back(offset);
      }
      const auto [row, at] = row_and_k(i);
      for (unsigned e = 0; e < held; ++e) {
        const unsigned r = transposed ? row + e : row, column = transposed ? at : at + e;
        std::memcpy(&to.bits[r * k + column], from.at[i] + e * bytes, bytes);
        if ((missing >> i & 1) != 0) to.bad[r] = true;
      }
    }
  }
  return true;
}

/// A's rows of this warp from registers, laid out as those of mma.
void read_registers(const Warp& w, const Step& s, const WarpgroupForm& form, Tile& to) {
  const unsigned bits = bits_of(form.factor), held = 32 / bits;
  for (unsigned reg = 0; reg < form.a.size(); ++reg) {
    const auto* values = w.read<std::uint32_t>(form.a[reg]);
    const Mask bad = w.poisoned != 0 ? read_poison(w, s, reg) : 0;
    for (unsigned lane = 0; lane < kLanes; ++lane)
      for (unsigned e = 0; e < held; ++e) {
        const unsigned row = lane / 4 + 8 * (reg % 2), k = reg / 2 * 4 * held + lane % 4 * held + e;
        to.bits[row * form.kept + k] =
            bits == 32 ? values[lane] : values[lane] >> (e * bits) & ((1u << bits) - 1);
        if ((bad >> lane & 1) != 0) to.bad[row] = true;
      }
  }
}

/// Of element `e` of a register of D.
Place place_of(const WarpgroupForm& form, unsigned reg, unsigned lane, unsigned e) {
  const unsigned at = reg * (32 / bits_of(form.result)) + e;
  return {lane / 4 + 8 * (at / 2 % 2), at / 4 * 8 + lane % 4 * 2 + at % 2};
}

std::uint32_t sum_of_integers(const WarpgroupForm& form, const std::uint32_t* a, const std::uint32_t* b,
                              std::uint32_t c) {
  const auto value = [](Element element, std::uint32_t bits) {
    return element == Element::s8 ? std::int32_t{static_cast<std::int8_t>(bits)}
                                  : static_cast<std::int32_t>(bits);
  };
  std::int64_t sum = static_cast<std::int32_t>(c);
  for (unsigned i = 0; i < form.kept; ++i)
    sum +=
        form.single_bits ? std::popcount(a[i] & b[i]) : value(form.factor, a[i]) * value(form.second, b[i]);
  using Limits = std::numeric_limits<std::int32_t>;
  if (form.saturate) sum = std::clamp<std::int64_t>(sum, Limits::min(), Limits::max());
  return static_cast<std::uint32_t>(sum);
}

std::vector<Factor> taken_apart_all(const Tile& from, Element element, bool negated) {
  std::vector<Factor> to(from.bits.size());
  const std::uint32_t sign = negated ? 1u << (bits_of(element) - 1) : 0;
  std::transform(from.bits.begin(), from.bits.end(), to.begin(),
                 [&](std::uint32_t bits) { return factor(element, bits ^ sign); });
  return to;
}

void illegal_product(Warp& w, const Step& s, Mask lanes, const std::string& why) {
  fault(w, s, FindingKind::illegal, static_cast<unsigned>(std::countr_zero(lanes)), "wgmma", why);
}

WarpgroupProducts::Values values_of(const Warp& w, std::uint32_t reg) {
  WarpgroupProducts::Values values;
  std::memcpy(values.data(), w.read<std::uint32_t>(in_registers(reg)), sizeof values);
  return values;
}

bool written_since_fence(const Warp& w, const WarpgroupForm& form) {
  const WarpgroupProducts& all = w.warpgroup_products;
  for (unsigned reg = 0; reg < form.d.size(); ++reg) {
    const WarpgroupProducts::Values now = values_of(w, form.d[reg]);
    const auto known = all.held.find(form.d[reg]);
    if ((known == all.held.end() || known->second != now) &&
        (reg >= all.last_sums.size() || all.last_sums[reg] != now))
      return true;
  }
  return false;
}

/// A register of A has a value that no register had at the last fence.
bool factor_written_since_fence(const Warp& w, const WarpgroupForm& form) {
  const std::vector<std::byte>& all = w.warpgroup_products.at_fence;
  constexpr std::size_t kBytes = sizeof(WarpgroupProducts::Values);
  return std::ranges::any_of(form.a, [&](Source reg) {
    if (reg.constant != 0) return false;
    const auto now = std::as_bytes(std::span(w.read<std::uint32_t>(reg), kLanes));
    if (std::equal(now.begin(), now.end(), all.begin() + reg.offset)) return false;
    for (std::size_t at = 0; at + kBytes <= all.size(); at += 64)
      if (std::memcmp(&all[at], now.data(), kBytes) == 0) return false;
    return true;
  });
}

/// a, b: descriptors; c: predicate, whether D is added to; extra: of Program::warpgroup_products; second: of
/// Program::refusals, what is said of a descriptor that we cannot follow.
void run_warpgroup_product(Registers& r, const Step& s, Mask lanes) {
  Warp& w = warp_of(r);
  if (!whole_warp(w, s, lanes)) return;
  const Program& p = *w.block->program;
  const WarpgroupForm& form = p.warpgroup_products[s.extra];
  WarpgroupProducts& all = w.warpgroup_products;
  if (w.block->warps.size() < w.index / 4 * 4 + 4)
    return illegal_product(w, s, lanes, "it needs four warps, the first with a multiple of 4 as its number");
  if (!all.fenced) return illegal_product(w, s, lanes, "no wgmma.fence came before it");
  const std::uint64_t b_bits = r.read<std::uint64_t>(s.b)[0],
                      a_bits = form.a.empty() ? r.read<std::uint64_t>(s.a)[0] : 0;
  for (unsigned i = 1; i < kLanes; ++i)
    if (r.read<std::uint64_t>(s.b)[i] != b_bits ||
        (form.a.empty() && r.read<std::uint64_t>(s.a)[i] != a_bits))
      return illegal_product(w, s, Mask{1} << i, "the threads of a warp give different descriptors");
  const Descriptor a_at(a_bits), b_at(b_bits);
  // A row of 32 swizzled bytes does not hold the 64 of k that a sparse A meets.
  if (form.sparse() && !form.transposed_b && b_at.pitch == 32) throw Unsupported(p.refusals[s.second]);

  if (w.block->worker->races) w.block->worker->races->product_issued(w);
  WarpgroupProducts::Product product;
  product.step = &s;
  Tile a(kWarpRows, form.kept), b(form.n, form.k);
  if (!form.a.empty())
    read_registers(w, s, form, a);
  else if (!read_shared(w, s, a_at, form.transposed_a, kWarpRows * (w.index % 4), kWarpRows, form.factor,
                        form.kept, a, product.read))
    return;
  if (!read_shared(w, s, b_at, form.transposed_b, 0, form.n, form.second, form.k, b, product.read)) return;

  const bool integer = form.result == Element::s32;
  std::vector<Factor> x, y;
  if (!integer)
    x = taken_apart_all(a, form.factor, form.negated_a), y = taken_apart_all(b, form.second, form.negated_b);
  std::optional<SparseRows> rows;
  if (form.sparse())
    rows.emplace(r.read<std::uint32_t>(form.metadata), form.selector, form.factor, form.kept);
  std::vector<std::uint32_t> met_bits(rows ? form.kept : 0);
  std::vector<Factor> met(rows ? form.kept : 0);
  SumForm sum_form{form.factor, form.second, form.result, form.kept};
  if (of_8_bit_floats(form.factor)) {
    sum_form.kept = kKeptOf8Bits;
    if (form.result == Element::f32) sum_form.lost = 23 - kKeptOf8Bits;
  }
  const bool accumulate = (w.predicate(s.c) & 1) != 0;
  if (!form.a.empty() && factor_written_since_fence(w, form))
    return illegal_product(w, s, lanes, "a register of A was written since the last wgmma.fence");
  if (accumulate && written_since_fence(w, form))
    return illegal_product(w, s, lanes, "a register of its sums was written since the last wgmma.fence");
  const unsigned bits = bits_of(form.result), held = 32 / bits;
  const std::uint32_t mask = bits == 32 ? ~0u : (1u << bits) - 1;
  std::vector<Mask> undefined(form.d.size());
  if (rows && w.poisoned != 0 && read_poison(w, s, std::max<std::size_t>(form.a.size(), 1) + 1) != 0)
    undefined.assign(form.d.size(), kAllLanes);
  for (unsigned reg = 0; reg < form.d.size(); ++reg) {
    auto* d = w.write<std::uint32_t>(form.d[reg]);
    if (accumulate && w.poisoned != 0) {
      const std::uint32_t number = written_register(w, s, reg);
      const auto known = all.undefined.find(number);
      undefined[reg] |= known != all.undefined.end() ? known->second : w.poison[number];
    }
    for (unsigned lane = 0; lane < kLanes; ++lane) {
      const std::uint32_t before = accumulate ? d[lane] : 0;
      std::uint32_t after = 0;
      for (unsigned e = 0; e < held; ++e) {
        const Place at = place_of(form, reg, lane, e);
        const std::uint32_t c = before >> (e * bits) & mask;
        const std::size_t row = std::size_t{at.row} * form.kept, column = std::size_t{at.column} * form.k;
        const std::uint32_t* const integers = rows ? met_bits.data() : &b.bits[column];
        const Factor* const factors = integer ? nullptr : rows ? met.data() : &y[column];
        for (unsigned i = 0; rows && i < form.kept; ++i) {
          const std::size_t from = column + rows->row(at.row)[i];
          if (integer)
            met_bits[i] = b.bits[from];
          else
            met[i] = y[from];
        }
        const std::uint32_t sum = integer
                                      ? sum_of_integers(form, &a.bits[row], integers, c)
                                      : tensor_sum(sum_form, {&x[row], form.kept}, {factors, form.kept}, c);
        after |= sum << (e * bits);
        if (a.bad[at.row] || b.bad[at.column]) undefined[reg] |= Mask{1} << lane;
      }
      d[lane] = after;
    }
  }
  all.last_sums.resize(form.d.size());
  for (unsigned reg = 0; reg < form.d.size(); ++reg)
    all.held[form.d[reg]] = all.last_sums[reg] = values_of(w, form.d[reg]);
  if (all.groups.empty() || all.groups.back().committed) all.groups.emplace_back();
  all.groups.back().products.push_back(std::move(product));
  set_poison(w, s, std::vector<Mask>(form.d.size(), kAllLanes));
  for (unsigned reg = 0; reg < form.d.size(); ++reg)
    all.undefined[written_register(w, s, reg)] = undefined[reg];
}

void run_warpgroup_fence(Registers& r, const Step& s, Mask lanes) {
  Warp& w = warp_of(r);
  if (!whole_warp(w, s, lanes)) return;
  w.warpgroup_products.fenced = true;
  const Program& p = *w.block->program;
  for (const std::uint32_t reg : p.warpgroup_sums) w.warpgroup_products.held[reg] = values_of(w, reg);
  if (std::ranges::any_of(p.warpgroup_products, [](const WarpgroupForm& f) { return !f.a.empty(); }))
    w.warpgroup_products.at_fence.assign(w.base[0], w.base[0] + p.register_bytes);
}

void run_warpgroup_commit(Registers& r, const Step& s, Mask lanes) {
  Warp& w = warp_of(r);
  if (!whole_warp(w, s, lanes)) return;
  auto& groups = w.warpgroup_products.groups;
  if (groups.empty() || groups.back().committed) groups.emplace_back();
  groups.back().committed = true;
}

/// The products of all but the last `under_way` groups have read their factors.
void note_reads_of(Warp& w, std::int64_t under_way) {
  RaceDetector* const races = w.block->worker->races.get();
  if (races == nullptr) return;
  auto& groups = w.warpgroup_products.groups;
  auto due =
      std::count_if(groups.begin(), groups.end(), [](const auto& g) { return g.committed; }) - under_way;
  for (auto group = groups.begin(); due > 0; ++group, --due)
    for (auto& product : group->products) {
      for (const std::uint32_t offset : product.read) races->product_reads(w, *product.step, offset, kChunk);
      product.read.clear();
    }
}

/// Whether the four warps have all come to the wait that this one is at: they begin and end their products
/// together. Otherwise this warp waits for them.
bool all_at_wait(Warp& w, const Step& s, Mask lanes) {
  WarpgroupProducts& mine = w.warpgroup_products;
  const bool comes = !mine.waiting;  // else it was here and waited for the others
  if (comes) ++mine.waits;
  mine.waiting = true;
  const auto first = w.block->warps.begin() + w.index / 4 * 4;
  const auto last = first + std::min<std::ptrdiff_t>(4, w.block->warps.end() - first);
  bool all = true;
  for (auto other = first; other != last; ++other) {
    all &= other->alive == 0 || other->warpgroup_products.waits >= mine.waits;
    for (Group& g : other->groups)
      if (g.wait == Wait::warpgroup && other->warpgroup_products.waits <= mine.waits) g.wait = Wait::none;
  }
  if (all) {
    // Before any of them goes on, and says that what they read is free.
    for (auto other = first; comes && other != last; ++other) note_reads_of(*other, s.immediate);
    mine.waiting = false;
    return true;
  }
  const auto here = static_cast<std::uint32_t>(&s - w.block->program->steps.data());
  suspend(w, lanes, {here, lanes, Wait::warpgroup, 0, 0, &s});
  return false;
}

/// immediate: groups that may still be under way.
void run_warpgroup_wait(Registers& r, const Step& s, Mask lanes) {
  Warp& w = warp_of(r);
  if (!whole_warp(w, s, lanes) || !all_at_wait(w, s, lanes)) return;
  WarpgroupProducts& all = w.warpgroup_products;
  RaceDetector* const races = w.block->worker->races.get();
  auto committed =
      std::count_if(all.groups.begin(), all.groups.end(), [](const auto& g) { return g.committed; });
  std::vector<const Step*> done;
  for (; committed > s.immediate; --committed) {
    for (const auto& product : all.groups.front().products) done.push_back(product.step);
    all.groups.erase(all.groups.begin());
  }
  if (races != nullptr) races->product_waited(w, lanes);
  // A register that a later product adds to is not there yet.
  const auto& forms = w.block->program->warpgroup_products;
  const auto registers = [&](const Step* step, auto use) {
    for (unsigned reg = 0; reg < forms[step->extra].d.size(); ++reg) use(written_register(w, *step, reg));
  };
  std::unordered_map<std::uint32_t, bool> later;
  for (const auto& group : all.groups)
    for (const auto& product : group.products)
      registers(product.step, [&](std::uint32_t n) { later[n] = true; });
  for (const Step* step : done)
    registers(step, [&](std::uint32_t n) {
      const auto known = all.undefined.find(n);
      if (later.contains(n) || known == all.undefined.end()) return;
      set_register_poison(w, n, known->second, *step);
      all.undefined.erase(known);
    });
}

}  // namespace

void Decoder::warpgroup_product() {
  if (opcode->has("fence")) {
    step.run = &run_warpgroup_fence;
    return;
  }
  if (opcode->has("commit_group")) {
    step.run = &run_warpgroup_commit;
    return;
  }
  if (opcode->has("wait_group")) {
    step.immediate = operands[0].value;
    step.run = &run_warpgroup_wait;
    return;
  }
  const MatrixShape shape = matrix_shape();
  std::vector<Element> elements;
  WarpgroupForm form;
  for (std::size_t i = 1; i < opcode->parts.size(); ++i) {
    const std::string_view part = opcode->parts[i];
    if (const auto element = element_of(part))
      elements.push_back(*element);
    else if (part == "satfinite")
      form.saturate = true;
    else if (part != "mma_async" && part != "sync" && part != "aligned" && part != "and" && part != "popc" &&
             part != "sp" && part.front() != 'm')
      unsupported();
  }
  if (elements.size() != 3 || operands.size() < 4 || shape.m != 64 || shape.n > 256 || shape.n % 8 != 0)
    unsupported();
  form.result = elements[0];
  form.factor = elements[1];
  form.second = elements[2];
  form.n = shape.n;
  form.k = form.kept = shape.k;
  form.single_bits = form.factor == Element::b1 && form.second == Element::b1 && opcode->has("and");
  if (form.single_bits) {
    form.factor = form.second = Element::u8;
    form.k = form.kept = shape.k / 8;
  }
  const bool sparse = opcode->has("sp");
  if (sparse) form.kept = shape.k / 2;
  const bool integer = form.factor == Element::s8 || form.factor == Element::u8;
  const bool of_16_bits = form.factor == Element::f16 || form.factor == Element::bf16;
  const bool of_8_bits = of_8_bit_floats(form.factor);
  if ((!integer && !of_16_bits && !of_8_bits && form.factor != Element::tf32) ||
      of_8_bits != of_8_bit_floats(form.second) || bits_of(form.second) != bits_of(form.factor) ||
      form.kept * bits_of(form.factor) != 256 || (sparse && form.single_bits) ||
      (form.result != (integer ? Element::s32 : Element::f32) &&
       (form.result != Element::f16 || (form.factor != Element::f16 && !of_8_bits))))
    unsupported();
  const auto registers = [&](const Operand& operand, std::size_t count) {
    const auto parts = operand.kind == OperandKind::vector ? function->children(operand)
                                                           : std::span<const Operand>(&operand, 1);
    if (parts.size() != count) unsupported(fmt::format("{} registers for {}", parts.size(), count));
    return parts;
  };
  for (const Operand& part : registers(operands[0], std::size_t{shape.n} * bits_of(form.result) / 64))
    form.d.push_back(destination(part, 4));
  if (operands[1].kind == OperandKind::vector)
    for (const Operand& part : registers(operands[1], 4)) form.a.push_back(source(part, 4));
  else
    step.a = source(operands[1], 8);
  step.b = source(operands[2], 8);
  if (sparse) {
    if (operands.size() < 6 || operands[4].kind != OperandKind::integer) unsupported();
    form.metadata = source(operands[3], 4);
    form.selector = static_cast<std::uint8_t>(operands[4].value & 3);
    operands = operands.subspan(2);
  }
  step.c = source(operands[3], 0);
  if (operands[3].negated) unsupported("a negated predicate");
  // Behind the predicate: signs of A and B, then which of those in shared memory are transposed.
  const auto number = [&](std::size_t i) { return i < operands.size() ? operands[i].value : 0; };
  form.negated_a = number(4) == -1;
  form.negated_b = number(5) == -1;
  const std::size_t transposes = of_16_bits ? (form.a.empty() ? 2 : 1) : 0;
  if (operands.size() != 4 + (integer ? 0 : 2) + transposes) unsupported();
  form.transposed_a = transposes == 2 && number(6) != 0;
  form.transposed_b = transposes != 0 && number(5 + transposes) != 0;
  step.second = static_cast<std::uint32_t>(program.refusals.size());
  try {
    unsupported("a matrix of 32-byte rows beside a sparse one");
  } catch (const Unsupported& lacking) {
    program.refusals.emplace_back(lacking.what());
  }
  for (const std::uint32_t reg : form.d)
    if (std::find(program.warpgroup_sums.begin(), program.warpgroup_sums.end(), reg) ==
        program.warpgroup_sums.end())
      program.warpgroup_sums.push_back(reg);
  step.extra = static_cast<std::uint32_t>(program.warpgroup_products.size());
  program.warpgroup_products.push_back(std::move(form));
  step.run = &run_warpgroup_product;
}

}  // namespace warploom::sim
