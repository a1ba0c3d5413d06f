// mma.m8n8k4 of f16: four products of 8 x 4 and 4 x 8, each of eight lanes, four of the lower half of the
// warp and four of the upper. PTX ISA, "Matrix Fragments for mma.m8n8k4 with .f16 floating point type".
//
// Processors of 8.0 and later have no instruction for it: ptxas calls functions that multiply and add in f32,
// each step rounded, in this order.
#include <array>
#include <bit>
#include <cmath>

#include "sim/block.hpp"
#include "sim/decode.hpp"
#include "sim/matrix_form.hpp"
#include "sim/poison.hpp"
#include "sim/tensor_sum.hpp"

namespace warploom::sim {

using namespace ptx;

namespace {

constexpr unsigned kSide = 8, kDepth = 4, kProducts = 4;

/// Row and column, or the other way round, of element `i` of a lane's A or B.
Place place_of_factor(bool along, unsigned lane, unsigned i) {
  const unsigned high = lane < 16 ? 0 : 4;
  return along ? Place{lane % 4 + high, i} : Place{i + high, lane % 4};
}

Place place_of_sum(Element element, unsigned lane, unsigned i) {
  const unsigned high = lane < 16 ? 0 : 4;
  if (element == Element::f16) return {lane % 4 + high, i};
  return {(lane & 1) + (i & 2) + high, (i & 4) + (lane & 2) + (i & 1)};
}

std::uint32_t half_in(const Warp& w, Source reg, unsigned lane, unsigned which) {
  return w.read<std::uint32_t>(reg)[lane] >> (16 * which) & 0xffff;
}

using Quad = std::array<float, kDepth>;

/// Bits of f32.
std::uint32_t canonical(float x) { return std::isnan(x) ? 0x7fffffffU : std::bit_cast<std::uint32_t>(x); }

std::uint32_t single_sum(const Quad& a, const Quad& b, float c) {
  float products = 0;
  for (unsigned k = 0; k < kDepth; ++k) products = std::fma(a[k], b[k], products);
  return canonical(c + products);
}

std::uint32_t half_sum(const Quad& a, const Quad& b, float c) {
  const float first = std::fma(a[1], b[1], a[0] * b[0]), second = std::fma(a[3], b[3], a[2] * b[2]);
  const float sum = c + first;  // a step of its own
  return half_of_single(canonical(sum + second));
}

/// extra: of Program::quad_products.
void run_quad_products(Registers& r, const Step& s, Mask lanes) {
  Warp& w = warp_of(r);
  if (!whole_warp(w, s, lanes)) return;
  const QuadForm& form = w.block->program->quad_products[s.extra];
  const auto bits = [](Element e) { return e == Element::f16 ? 16u : 32u; };
  std::array<std::array<std::uint32_t, kLanes>, kSide> results{};
  for (unsigned product = 0; product < kProducts; ++product) {
    std::array<Quad, kSide> a{}, b{};  // by rows of A, by columns of B
    std::array<std::array<float, kSide>, kSide> before{};
    std::array<std::array<std::uint32_t, kSide>, kSide> sums{};
    const auto number = [](std::uint32_t half) { return std::bit_cast<float>(float_of(Element::f16, half)); };
    const auto each_lane = [&](auto use) {
      for (unsigned i = 0; i < kSide; ++i) use(4 * product + i % 4 + (i < 4 ? 0u : 16u));
    };
    each_lane([&](unsigned lane) {
      for (unsigned i = 0; i < kDepth; ++i) {
        const Place x = place_of_factor(form.a_by_rows, lane, i),
                    y = place_of_factor(!form.b_by_rows, lane, i);
        a[x.row][x.column] = number(half_in(w, form.a[i / 2], lane, i % 2));
        b[y.row][y.column] = number(half_in(w, form.b[i / 2], lane, i % 2));
      }
      for (unsigned i = 0; i < kSide; ++i) {
        const Place at = place_of_sum(form.before, lane, i);
        before[at.row][at.column] = form.before == Element::f16
                                        ? number(half_in(w, form.c[i / 2], lane, i % 2))
                                        : std::bit_cast<float>(w.read<std::uint32_t>(form.c[i])[lane]);
      }
    });
    for (unsigned row = 0; row < kSide; ++row)
      for (unsigned column = 0; column < kSide; ++column)
        sums[row][column] = form.after == Element::f16 ? half_sum(a[row], b[column], before[row][column])
                                                       : single_sum(a[row], b[column], before[row][column]);
    each_lane([&](unsigned lane) {
      for (unsigned i = 0; i < kSide; ++i) {
        const Place at = place_of_sum(form.after, lane, i);
        const unsigned width = bits(form.after), held = 32 / width;
        results[i / held][lane] |= sums[at.row][at.column] << (i % held * width);
      }
    });
  }
  const std::size_t written = form.after == Element::f16 ? 4 : 8;
  if (w.poisoned != 0) {
    Mask any = 0;
    for (std::size_t n = 0; n < 12; ++n) any |= read_poison(w, s, n);
    set_poison(w, s, std::vector<Mask>(written, any != 0 ? kAllLanes : 0));
  }
  for (std::size_t reg = 0; reg < written; ++reg)
    std::copy_n(results[reg].data(), kLanes, w.write<std::uint32_t>(form.d[reg]));
}

}  // namespace

void Decoder::quad_product() {
  if (operands.size() != 4) unsupported();
  std::vector<Element> elements;
  QuadForm form;
  std::vector<bool> by_rows;
  for (std::size_t i = 1; i < opcode->parts.size(); ++i) {
    const std::string_view part = opcode->parts[i];
    if (const auto element = element_of(part))
      elements.push_back(*element);
    else if (part == "row" || part == "col")
      by_rows.push_back(part == "row");
    else if (part != "sync" && part != "aligned" && part != "m8n8k4")
      unsupported();
  }
  if (elements.size() != 4 || by_rows.size() != 2 || elements[1] != Element::f16 ||
      elements[2] != Element::f16)
    unsupported();
  form.a_by_rows = by_rows[0], form.b_by_rows = by_rows[1];
  form.after = elements[0], form.before = elements[3];
  if ((form.after != Element::f16 && form.after != Element::f32) ||
      (form.before != Element::f16 && form.before != form.after))
    unsupported();
  const auto parts = [&](const Operand& operand, std::size_t count) {
    if (operand.kind != OperandKind::vector || operand.count != count) unsupported();
    return function->children(operand);
  };
  const std::size_t written = form.after == Element::f16 ? 4 : 8, read = form.before == Element::f16 ? 4 : 8;
  const auto d = parts(operands[0], written), a = parts(operands[1], 2), b = parts(operands[2], 2),
             c = parts(operands[3], read);
  for (std::size_t i = 0; i < written; ++i) form.d[i] = destination(d[i], 4);
  for (std::size_t i = 0; i < 2; ++i) form.a[i] = source(a[i], 4), form.b[i] = source(b[i], 4);
  for (std::size_t i = 0; i < read; ++i)
    form.c[i] = source(c[i], 4, form.before == Element::f32 && c[i].kind == OperandKind::real);
  step.extra = static_cast<std::uint32_t>(program.quad_products.size());
  program.quad_products.push_back(form);
  step.run = &run_quad_products;
}

}  // namespace warploom::sim
