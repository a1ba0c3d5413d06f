// mma and wmma.mma: D = A B + C of matrices that the lanes of a warp hold together.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>

#include "sim/block.hpp"
#include "sim/decode.hpp"
#include "sim/matrix_form.hpp"
#include "sim/poison.hpp"
#include "sim/tensor_sum.hpp"

namespace warploom::sim {

using namespace ptx;

std::optional<Element> element_of(std::string_view type) {
  constexpr std::pair<std::string_view, Element> kNames[] = {
      {"f16", Element::f16},  {"bf16", Element::bf16}, {"tf32", Element::tf32}, {"f32", Element::f32},
      {"f64", Element::f64},  {"s32", Element::s32},   {"s8", Element::s8},     {"u8", Element::u8},
      {"s4", Element::s4},    {"u4", Element::u4},     {"b1", Element::b1},     {"e4m3", Element::e4m3},
      {"e5m2", Element::e5m2}};
  for (const auto& [name, element] : kNames)
    if (name == type) return element;
  return {};
}

unsigned bits_of(Element element) {
  switch (element) {
    case Element::f64:
      return 64;
    case Element::tf32:
    case Element::f32:
    case Element::s32:
      return 32;
    case Element::f16:
    case Element::bf16:
      return 16;
    case Element::s4:
    case Element::u4:
      return 4;
    case Element::b1:
      return 1;
    default:
      return 8;
  }
}

SparseRows::SparseRows(const std::uint32_t* metadata, unsigned selector, Element element, unsigned kept_)
    : kept(kept_), at(std::size_t{16} * kept_) {
  const unsigned bits = bits_of(element);
  // Elements of a unit, and units of an element; a chunk of four units has four bits of metadata.
  const unsigned together = bits < 8 ? 8 / bits : 1, parts = bits == 32 ? 2 : 1;
  const unsigned chunk_kept = 2 * together / parts, chunks = kept / chunk_kept;
  const unsigned first = chunks == 4 ? selector : chunks == 8 ? 2 * selector : 0;
  for (unsigned row = 0; row < 16; ++row)
    for (unsigned k = 0; k < kept; ++k) {
      const unsigned chunk = k / chunk_kept, in_chunk = k % chunk_kept;
      // A lane has four chunks of each of two rows, or (of bytes and less) eight of one.
      const unsigned holder = bits <= 8 ? chunk / 8 * 2 + row / 8 : chunk / 4;
      const unsigned shift = bits <= 8 ? 4 * (chunk % 8) : 4 * (chunk % 4) + row / 8 * 16;
      const std::uint32_t four = metadata[row % 8 * 4 + (first + holder) % 4] >> shift & 0xf;
      const std::uint32_t unit = four >> (2 * (in_chunk / together)) & 3;
      at[row * kept + k] = static_cast<std::uint16_t>(
          parts == 2 ? 2 * chunk + unit / 2 : chunk * 4 * together + unit * together + in_chunk % together);
    }
}

namespace {

/// The largest matrices: of m32n8k16 and m16n8k256.
constexpr std::size_t kMostA = 16 * 256, kMostB = 8 * 256, kMostC = 256;

/// use(place, bits) for each element.
template <typename Use>
void each(const Warp& w, const Fragment& f, Use use) {
  const unsigned held = f.held(), bits = bits_of(f.element);
  const std::uint64_t mask = bits == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << bits) - 1;
  for (unsigned reg = 0; reg < f.distinct_registers(); ++reg)
    for (unsigned lane = 0; lane < kLanes; ++lane) {
      const std::uint64_t all = f.register_bytes() == 8 ? w.read<std::uint64_t>(f.registers[reg])[lane]
                                                        : w.read<std::uint32_t>(f.registers[reg])[lane];
      for (unsigned e = 0; e < held; ++e) use(place(f, reg, lane, e), all >> (e * bits) & mask);
    }
}

/// Puts elements by rows into the registers, where wmma's hold one twice into both.
void write(const Warp& w, const Fragment& f, const std::uint64_t* elements) {
  const unsigned held = f.held(), bits = bits_of(f.element);
  for (unsigned reg = 0; reg < f.registers.size(); ++reg)
    for (unsigned lane = 0; lane < kLanes; ++lane) {
      std::uint64_t all = 0;
      for (unsigned e = 0; e < held; ++e) {
        const Place at = place(f, reg, lane, e);
        all |= elements[at.row * f.columns + at.column] << (e * bits);
      }
      if (f.register_bytes() == 8)
        w.write<std::uint64_t>(f.registers[reg].offset)[lane] = all;
      else
        w.write<std::uint32_t>(f.registers[reg].offset)[lane] = static_cast<std::uint32_t>(all);
    }
}

/// A by rows and B by columns, so that a sum goes over neighbours; value(element, bits) of each.
template <typename T>
struct Factors {
  std::array<T, kMostA> a;
  std::array<T, kMostB> b;
  template <typename Value>
  Factors(const Warp& w, const MatrixForm& form, Value value) {
    const unsigned k = form.a.columns;
    each(w, form.a,
         [&](Place at, std::uint64_t bits) { a[at.row * k + at.column] = value(form.a.element, bits); });
    each(w, form.b, [&](Place at, std::uint64_t bits) {
      b[at.column * form.b.rows + at.row] = value(form.b.element, bits);
    });
    if (form.sparse)
      kept.emplace(w.read<std::uint32_t>(form.metadata), form.selector, form.a.element, form.a.columns);
  }
  std::optional<SparseRows> kept;  ///< of a sparse A
};

/// elements[i] of D, which hold those of C, become sum(row of A, column of B, element of C).
template <typename T, typename Sum>
void multiply(const MatrixForm& form, const Factors<T>& factors, std::uint64_t* elements, Sum sum) {
  const unsigned m = form.a.rows, n = form.b.columns, k = form.a.columns;
  std::vector<T> met(factors.kept ? k : 0);
  for (unsigned row = 0; row < m; ++row)
    for (unsigned column = 0; column < n; ++column) {
      std::uint64_t& element = elements[row * n + column];
      const T* b = &factors.b[column * form.b.rows];
      if (factors.kept) {
        for (unsigned i = 0; i < k; ++i) met[i] = b[factors.kept->row(row)[i]];
        b = met.data();
      }
      element = sum(&factors.a[row * k], b, element);
    }
}

void multiply_integers(const Warp& w, const MatrixForm& form, std::uint64_t* elements) {
  const Factors<std::int32_t> factors(w, form, [](Element element, std::uint64_t bits) {
    switch (element) {
      case Element::s8:
        return static_cast<std::int32_t>(static_cast<std::int8_t>(bits));
      case Element::s4:
        return static_cast<std::int32_t>(bits ^ 8) - 8;
      default:
        return static_cast<std::int32_t>(bits);
    }
  });
  const unsigned k = form.a.columns;
  const bool single_bits = form.a.element == Element::b1;
  multiply(form, factors, elements,
           [&](const std::int32_t* a, const std::int32_t* b, std::uint64_t c) -> std::uint64_t {
             std::int64_t sum = static_cast<std::int32_t>(c);
             for (unsigned i = 0; i < k; ++i)
               sum += !single_bits ? a[i] * b[i] : form.exclusive_or ? a[i] ^ b[i] : a[i] & b[i];
             using Limits = std::numeric_limits<std::int32_t>;
             if (form.saturate) sum = std::clamp<std::int64_t>(sum, Limits::min(), Limits::max());
             return static_cast<std::uint32_t>(sum);
           });
}

/// One fma after the other, k going up.
void multiply_doubles(const Warp& w, const MatrixForm& form, std::uint64_t* elements) {
  const Factors<double> factors(w, form,
                                [](Element, std::uint64_t bits) { return std::bit_cast<double>(bits); });
  const unsigned k = form.a.columns;
  multiply(form, factors, elements, [&](const double* a, const double* b, std::uint64_t c) {
    double sum = std::bit_cast<double>(c);
    for (unsigned i = 0; i < k; ++i) sum = std::fma(a[i], b[i], sum);
    // A GPU's NaN has one pattern.
    return std::isnan(sum) ? 0x7fffffffffffffffull : std::bit_cast<std::uint64_t>(sum);
  });
}

void multiply_floats(const Warp& w, const MatrixForm& form, std::uint64_t* elements) {
  const Factors<Factor> factors(w, form, [](Element element, std::uint64_t bits) {
    return factor(element, static_cast<std::uint32_t>(bits));
  });
  const bool narrowed = form.d.element == Element::f16 && form.c.element == Element::f32;
  multiply(form, factors, elements, [&](const Factor* a, const Factor* b, std::uint64_t c) -> std::uint64_t {
    const std::uint32_t sum = tensor_sum(form.a.element, {a, form.a.columns}, {b, form.a.columns}, form.group,
                                         static_cast<std::uint32_t>(c),
                                         form.c.element == Element::f32 ? Element::f32 : form.d.element);
    return narrowed ? half_of_single(sum) : sum;
  });
}

/// Bits of the f16 that an 8-bit float is.
std::uint32_t half_of(Element element, std::uint32_t bits) {
  const std::uint32_t sign = (bits & 0x80) << 8, magnitude = bits & 0x7f;
  if (element == Element::e5m2) return bits << 8;
  if (magnitude == 0x7f) return 0x7fff;
  if (magnitude >= 8) return sign | ((magnitude << 7) + (8u << 10));
  if (magnitude == 0) return sign;
  const auto top = static_cast<std::uint32_t>(std::bit_width(magnitude)) - 1;  // magnitude 2^-9
  return sign | (top + 6) << 10 | (magnitude << (10 - top) & 0x3ff);
}

/// As code for compute capability 9.0 does: factors become f16; of each four along k the first two, then the
/// others are added up from 0 on, and C is added to that, rounded to the nearest.
void multiply_8_bit_floats(const Warp& w, const MatrixForm& form, std::uint64_t* elements) {
  const Factors<Factor> factors(w, form, [](Element element, std::uint64_t bits) {
    return factor(Element::f16, half_of(element, static_cast<std::uint32_t>(bits)));
  });
  const unsigned k = form.a.columns;
  std::vector<Factor> x(k), y(k);
  const Factor one = factor(Element::f16, 0x3c00);
  multiply(form, factors, elements, [&](const Factor* a, const Factor* b, std::uint64_t c) -> std::uint64_t {
    for (unsigned i = 0; i < k; ++i) {
      const unsigned at = i % 4 / 2 * (k / 2) + i / 4 * 2 + i % 2;
      x[at] = a[i];
      y[at] = b[i];
    }
    const Element result = form.d.element;
    const std::uint32_t sum = tensor_sum(Element::f16, x, y, k / 2, 0, result);
    if (result == Element::f16) {
      if (sum == 0x8000 && c == 0x8000) return c;
      const Factor partial = factor(Element::f16, sum);
      return tensor_sum(Element::f16, {&partial, 1}, {&one, 1}, 1, static_cast<std::uint32_t>(c), result);
    }
    const float all = std::bit_cast<float>(static_cast<std::uint32_t>(c)) + std::bit_cast<float>(sum);
    return std::isnan(all) ? 0x7fffffff : std::bit_cast<std::uint32_t>(all);
  });
}

/// D's element is made of a row of A, a column of B and one element of C: what nobody wrote spreads so.
void spread_poison(Warp& w, const Step& s, const MatrixForm& form) {
  std::size_t reads = 0;
  const auto each_poisoned = [&](const Fragment& f, auto use) {
    for (unsigned reg = 0; reg < f.registers.size(); ++reg) {
      if (f.registers[reg].constant != 0) continue;
      for (Mask rest = read_poison(w, s, reads++); rest != 0; rest &= rest - 1)
        for (unsigned e = 0; e < f.held(); ++e)
          use(place(f, reg, static_cast<unsigned>(std::countr_zero(rest)), e));
    }
  };
  const unsigned n = form.d.columns;
  std::array<bool, kMostC> bad{};
  each_poisoned(form.a, [&](Place at) {
    for (unsigned column = 0; column < n; ++column) bad[at.row * n + column] = true;
  });
  each_poisoned(form.b, [&](Place at) {
    for (unsigned row = 0; row < form.d.rows; ++row) bad[row * n + at.column] = true;
  });
  each_poisoned(form.c, [&](Place at) { bad[at.row * n + at.column] = true; });
  if (form.sparse && form.metadata.constant == 0 && read_poison(w, s, reads) != 0) bad.fill(true);
  std::vector<Mask> poisoned(form.d.registers.size());
  for (unsigned reg = 0; reg < poisoned.size(); ++reg)
    for (unsigned lane = 0; lane < kLanes; ++lane)
      for (unsigned e = 0; e < form.d.held(); ++e) {
        const Place at = place(form.d, reg, lane, e);
        if (bad[at.row * n + at.column]) poisoned[reg] |= Mask{1} << lane;
      }
  set_poison(w, s, poisoned);
}

/// extra: of Program::matrices.
void run_product(Registers& r, const Step& s, Mask lanes) {
  Warp& w = warp_of(r);
  if (!whole_warp(w, s, lanes)) return;
  const MatrixForm& form = w.block->program->matrices[s.extra];
  std::array<std::uint64_t, kMostC> elements{};
  each(w, form.c,
       [&](Place at, std::uint64_t bits) { elements[at.row * form.c.columns + at.column] = bits; });
  if (form.c.element == Element::f16 && form.d.element == Element::f32)
    for (unsigned i = 0; i < form.c.rows * form.c.columns; ++i)
      elements[i] = float_of(Element::f16, static_cast<std::uint32_t>(elements[i]));
  if (form.d.element == Element::s32)
    multiply_integers(w, form, elements.data());
  else if (form.d.element == Element::f64)
    multiply_doubles(w, form, elements.data());
  else if (of_8_bit_floats(form.a.element))
    multiply_8_bit_floats(w, form, elements.data());
  else
    multiply_floats(w, form, elements.data());
  if (w.poisoned != 0) spread_poison(w, s, form);
  write(w, form.d, elements.data());
}

}  // namespace

void Decoder::fill(Fragment& f, const Operand& operand, bool written) {
  const std::span<const Operand> parts = operand.kind == OperandKind::vector
                                             ? function->children(operand)
                                             : std::span<const Operand>(&operand, 1);
  const bool real = f.element == Element::f32 || f.element == Element::f64;
  for (const Operand& part : parts)
    f.registers.push_back(written ? in_registers(destination(part, f.register_bytes()))
                                  : source(part, f.register_bytes(), real));
  const unsigned distinct = f.distinct_registers();
  if (distinct == 0 || f.registers.size() % distinct != 0 || (!f.of_wmma && f.registers.size() != distinct))
    unsupported(fmt::format("{} registers of a matrix of {} x {}", f.registers.size(), f.rows, f.columns));
}

MatrixShape Decoder::matrix_shape() const {
  const auto number = [](std::string_view& text, char before) {
    std::uint16_t value = 0;
    if (text.empty() || text.front() != before) return value;
    const auto end = std::from_chars(text.data() + 1, text.data() + text.size(), value).ptr;
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    return value;
  };
  for (std::string_view part : opcode->parts) {
    const MatrixShape shape{number(part, 'm'), number(part, 'n'), number(part, 'k')};
    if (shape.m != 0 && shape.n != 0 && shape.k != 0 && part.empty()) return shape;
  }
  unsupported("it names no shape");
}

void Decoder::matrix_product() {
  const bool of_wmma = opcode->op == Op::wmma;
  if (!of_wmma && opcode->has("m8n8k4") && !opcode->has("f64")) return quad_product();
  MatrixForm form;
  form.sparse = opcode->has("sp") || opcode->has("sp::ordered_metadata");
  if (operands.size() != (form.sparse ? 6u : 4u)) unsupported();
  const MatrixShape shape = matrix_shape();
  std::vector<Element> elements;  // of D, A, B, C; of wmma on f16 D and C alone
  for (std::size_t i = 1; i < opcode->parts.size(); ++i) {
    const std::string_view part = opcode->parts[i];
    if (const auto element = element_of(part))
      elements.push_back(*element);
    else if (part == "satfinite")
      form.saturate = true;
    else if (part == "xor")
      form.exclusive_or = true;
    else if (part != "sync" && part != "aligned" && part != "row" && part != "col" && part != "popc" &&
             part != "and" && part != "mma" && part != "rn" && !part.starts_with("sp") && part.front() != 'm')
      unsupported();
  }
  if (of_wmma && elements.size() == 2) elements = {elements[0], Element::f16, Element::f16, elements[1]};
  if (elements.size() != 4) unsupported();
  const Element a = elements[1], b = elements[2];
  const bool integer =
      a == Element::s8 || a == Element::u8 || a == Element::s4 || a == Element::u4 || a == Element::b1;
  const Element result = integer ? Element::s32 : a == Element::f64 ? Element::f64 : Element::f32;
  const bool half = elements[0] == Element::f16 && result == Element::f32;
  if (bits_of(a) != bits_of(b) || (elements[0] != result && !half) ||
      (elements[3] != elements[0] && !(elements[3] == Element::f16 && result == Element::f32) &&
       !(of_wmma && half && elements[3] == Element::f32)) ||
      (form.saturate && !integer) || of_8_bit_floats(a) != of_8_bit_floats(b) ||
      (of_wmma && of_8_bit_floats(a)))
    unsupported();
  // Factors of 128 or 256 bits a row, 64 of f64; Volta's m8n8k4 of f16 has another layout.
  if (!of_wmma && (!opcode->has("row") || !opcode->has("col") || (shape.m != 8 && shape.m != 16) ||
                   shape.n != 8 || (shape.m == 8 && !integer && a != Element::f64)))
    unsupported();
  const auto fragment = [&](Fragment::Role role, Element element, std::uint16_t rows, std::uint16_t columns) {
    Fragment f;
    f.role = role;
    f.of_wmma = of_wmma;
    f.element = element;
    f.rows = rows;
    f.columns = columns;
    return f;
  };
  form.d = fragment(Fragment::c, elements[0], shape.m, shape.n);
  form.a = fragment(Fragment::a, a, shape.m, form.sparse ? shape.k / 2 : shape.k);
  form.b = fragment(Fragment::b, b, shape.k, shape.n);
  form.c = fragment(Fragment::c, elements[3], shape.m, shape.n);
  if (std::size_t{shape.m} * shape.k > kMostA || std::size_t{shape.k} * shape.n > kMostB ||
      std::size_t{shape.m} * shape.n > kMostC)
    unsupported();
  // What one step of the tensor cores takes; wmma on tf32 goes in halves of it.
  form.group = of_wmma && a == Element::tf32 ? 4 : 256 / bits_of(a);
  fill(form.d, operands[0], true);
  fill(form.a, operands[1], false);
  fill(form.b, operands[2], false);
  fill(form.c, operands[3], false);
  if (form.sparse) {
    if (of_wmma || shape.m != 16 || a == Element::f64 || a == Element::b1 ||
        operands[5].kind != OperandKind::integer)
      unsupported();
    form.metadata = source(operands[4], 4);
    form.selector = static_cast<std::uint8_t>(operands[5].value & 3);
  }
  step.extra = static_cast<std::uint32_t>(program.matrices.size());
  program.matrices.push_back(std::move(form));
  step.run = &run_product;
}

}  // namespace warploom::sim
