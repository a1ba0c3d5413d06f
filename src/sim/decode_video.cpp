// The video instructions: types, selected parts and modifiers, which stand in the operands as well.
#include <algorithm>
#include <optional>
#include <vector>

#include "core/instruction_sets.hpp"
#include "sim/block.hpp"
#include "sim/decode.hpp"
#include "sim/form.hpp"
#include "sim/video_form.hpp"

namespace warploom::sim {

using namespace ptx;

namespace baseline {
Handler integer_video_scalar(Op op, bool clamps);
}
#ifdef WARPLOOM_HAS_avx2
namespace avx2 {
Handler integer_video_scalar(Op op, bool clamps);
}
#endif

namespace {

constexpr std::uint32_t kWord = 6;

/// Of `%r1.h0`; a whole word without a selector; nothing if there is no such part.
std::optional<std::uint32_t> part_of(std::string_view operand) {
  const std::size_t dot = operand.rfind('.');
  if (dot == std::string_view::npos) return kWord;
  constexpr std::string_view kParts[] = {"b0", "b1", "b2", "b3", "h0", "h1"};
  const auto at = std::find(std::begin(kParts), std::end(kParts), operand.substr(dot + 1));
  if (at == std::end(kParts)) return std::nullopt;
  return static_cast<std::uint32_t>(at - std::begin(kParts));
}

/// Elements of a and b chosen, put into two registers of our own, worked on, and where the mask lacks an
/// element c stays. extra: of Program::selected_video.
void run_selected(Registers& r, const Step& s, Mask lanes) {
  const SelectedVideo& form = warp_of(r).block->program->selected_video[s.extra];
  const auto *a = r.read<std::uint32_t>(s.a), *b = r.read<std::uint32_t>(s.b),
             *c = r.read<std::uint32_t>(s.c);
  auto *first = r.write<std::uint32_t>(form.first), *second = r.write<std::uint32_t>(form.second);
  const unsigned bits = form.bits;
  const std::uint32_t element_mask = (1u << bits) - 1;
  std::uint32_t before[kLanes], written = 0;
  for (unsigned e = 0; e < 32 / bits; ++e)
    if ((form.mask >> e & 1) != 0) written |= element_mask << e * bits;
  for (unsigned i = 0; i < kLanes; ++i) {
    const std::uint64_t both = std::uint64_t{b[i]} << 32 | a[i];
    std::uint32_t x = 0, y = 0;
    for (unsigned e = 0; e < 32 / bits; ++e) {
      const bool used = (form.mask >> e & 1) != 0;
      const auto pick = [&](std::uint8_t which) {
        return static_cast<std::uint32_t>(both >> which * bits) & element_mask;
      };
      x |= (used ? pick(form.select_a[e]) : form.idle_a) << e * bits;
      y |= (used ? pick(form.select_b[e]) : form.idle_b) << e * bits;
    }
    first[i] = x, second[i] = y, before[i] = c[i];
  }
  Step inner = s;
  inner.a = in_registers(form.first), inner.b = in_registers(form.second);
  form.run(r, inner, lanes);
  if (form.adds_up) return;
  auto* d = r.write<std::uint32_t>(s.destination);
  for (unsigned i = 0; i < kLanes; ++i)
    if ((lanes >> i & 1) != 0) d[i] = (d[i] & written) | (before[i] & ~written);
}

/// Of `.h32`, `.b7610`: the digits, the last first; nothing if it is no such selector.
std::optional<std::vector<std::uint8_t>> digits_of(std::string_view operand, char letter, unsigned most) {
  const std::size_t dot = operand.rfind('.');
  std::vector<std::uint8_t> digits;
  if (dot == std::string_view::npos) return digits;
  if (operand.size() < dot + 3 || operand[dot + 1] != letter) return std::nullopt;
  for (std::size_t i = operand.size(); i-- > dot + 2;) {
    const auto digit = static_cast<unsigned>(operand[i] - '0');
    if (digit >= most) return std::nullopt;
    digits.push_back(static_cast<std::uint8_t>(digit));
  }
  return digits;
}

}  // namespace

void Decoder::select_elements(const Form& form) {
  const bool halves = opcode->parts[0].ends_with('2');
  const unsigned count = halves ? 2 : 4;
  const char letter = halves ? 'h' : 'b';
  std::vector<std::uint8_t> chosen[3];
  bool any = false;
  for (unsigned i = 0; i < 3; ++i) {
    const Operand& operand = operands[i];
    if (operand.kind == OperandKind::integer || operand.kind == OperandKind::sink) continue;
    const auto digits = digits_of(module.text_of(operand.span), letter, i == 0 ? count : 2 * count);
    if (!digits || (i > 0 && !digits->empty() && digits->size() != count))
      unsupported("this selection of elements");
    chosen[i] = *digits;
    any |= !digits->empty();
  }
  if (!any) return;
  if (operands.size() != 4) unsupported();
  SelectedVideo out;
  out.run = step.run;
  out.bits = static_cast<std::uint8_t>(32 / count);
  out.mask = chosen[0].empty() ? (1u << count) - 1 : 0;
  for (const std::uint8_t e : chosen[0]) out.mask |= 1u << e;
  for (unsigned e = 0; e < count; ++e) {
    out.select_a[e] = chosen[1].empty() ? static_cast<std::uint8_t>(e) : chosen[1][e];
    out.select_b[e] = chosen[2].empty() ? static_cast<std::uint8_t>(e + count) : chosen[2][e];
  }
  // Elements outside the mask add nothing.
  out.adds_up = !form.mode.empty();
  out.idle_a = form.comparison == Comparison::le ? 1 : 0;
  out.idle_b = form.comparison == Comparison::eq || form.comparison == Comparison::ge ? 1 : 0;
  out.first = allocate_register(4), out.second = allocate_register(4);
  step.extra = static_cast<std::uint32_t>(program.selected_video.size());
  program.selected_video.push_back(out);
  step.run = &run_selected;
}

bool Decoder::scalar_video() {
  switch (opcode->op) {
    case Op::vadd:
    case Op::vsub:
    case Op::vabsdiff:
    case Op::vmin:
    case Op::vmax:
    case Op::vset:
    case Op::vshl:
    case Op::vshr:
    case Op::vmad:
      break;
    default:
      return false;
  }
  using V = VideoFlags;
  const bool multiplies = opcode->op == Op::vmad, sets = opcode->op == Op::vset;
  std::uint32_t flags = 0, finish = V::none;
  std::vector<bool> is_signed;
  const Form form = form_of(*opcode);
  for (std::size_t i = 1; i < opcode->parts.size(); ++i) {
    const std::string_view part = opcode->parts[i];
    if (part == "s32" || part == "u32")
      is_signed.push_back(part == "s32");
    else if (part == "sat" && !sets)
      flags |= V::sat;
    else if (part == "po" && multiplies)
      flags |= V::plus_one;
    else if ((part == "shr7" || part == "shr15") && multiplies)
      flags |= (part == "shr7" ? 7u : 15u) << V::shift;
    else if (part == "add" && !multiplies)
      finish = V::add;
    else if (part == "min" && !multiplies)
      finish = V::least;
    else if (part == "max" && !multiplies)
      finish = V::most;
    else if (part != "clamp" && part != "wrap" && (!sets || form.comparison == Comparison::none))
      unsupported();
  }
  // vset names no type of its result; an H200 takes a's sign for it where it is compared with c.
  if (sets && !is_signed.empty()) is_signed.insert(is_signed.begin(), is_signed[0]);
  if (is_signed.size() != 3 || operands.size() < 3 || operands.size() > 4 ||
      (multiplies && operands.size() != 4))
    unsupported();
  if (is_signed[0]) flags |= V::d_signed;
  if (is_signed[1]) flags |= V::a_signed;
  if (is_signed[2]) flags |= V::b_signed;
  flags |= static_cast<std::uint32_t>(form.comparison) << V::comparison;

  const auto part = [&](const Operand& operand) {
    if (operand.kind == OperandKind::integer) return kWord;
    const auto found = part_of(module.text_of(operand.span));
    if (!found) unsupported("this part of a register");
    return *found;
  };
  const std::uint32_t merged = part(operands[0]);
  if (merged != kWord) {
    if (finish != V::none || operands.size() != 4 || multiplies) unsupported();
    finish = V::merge;
  }
  if ((finish != V::none) != (operands.size() == 4) && !multiplies) unsupported();
  flags |= part(operands[1]) << V::first | part(operands[2]) << V::second | merged << V::merged |
           finish << V::finish;
  if (operands[1].negated != operands[2].negated) flags |= V::minus_product;
  if (operands.size() == 4 && operands[3].negated) flags |= V::minus_c;
  step.a = source(operands[1], 4);
  step.b = source(operands[2], 4);
  step.c = operands.size() == 4 ? source(operands[3], 4) : constant(0, 4);
  step.destination = destination(operands[0], 4);
  step.immediate = flags;
  step.run = WARPLOOM_PICK(integer_video_scalar)(opcode->op, opcode->has("clamp"));
  return true;
}

}  // namespace warploom::sim
