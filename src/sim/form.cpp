#include "sim/form.hpp"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <optional>
#include <utility>

namespace warploom::sim {
namespace {

using ptx::Op;

template <typename T>
using Names = std::initializer_list<std::pair<std::string_view, T>>;

template <typename T>
std::optional<T> find(const Names<T>& names, std::string_view part) {
  for (const auto& [name, value] : names) {
    if (name == part) return value;
  }
  return std::nullopt;
}

std::optional<Rounding> rounding_of(std::string_view part) {
  return find<Rounding>({{"rn", Rounding::rn},
                         {"rz", Rounding::rz},
                         {"rm", Rounding::rm},
                         {"rp", Rounding::rp},
                         {"rna", Rounding::rna},
                         {"rni", Rounding::rni},
                         {"rzi", Rounding::rzi},
                         {"rmi", Rounding::rmi},
                         {"rpi", Rounding::rpi}},
                        part);
}

std::optional<Comparison> comparison_of(std::string_view part) {
  using C = Comparison;
  return find<C>({{"eq", C::eq},
                  {"ne", C::ne},
                  {"lt", C::lt},
                  {"le", C::le},
                  {"gt", C::gt},
                  {"ge", C::ge},
                  {"lo", C::lo},
                  {"ls", C::ls},
                  {"hi", C::hi},
                  {"hs", C::hs},
                  {"equ", C::equ},
                  {"neu", C::neu},
                  {"ltu", C::ltu},
                  {"leu", C::leu},
                  {"gtu", C::gtu},
                  {"geu", C::geu},
                  {"num", C::num},
                  {"nan", C::nan}},
                 part);
}

std::optional<Combine> combine_of(std::string_view part) {
  return find<Combine>({{"and", Combine::and_}, {"or", Combine::or_}, {"xor", Combine::xor_}}, part);
}

/// The flag that a part sets, of the instructions where it is one.
bool Form::*flag_of(std::string_view part) {
  return find<bool Form::*>({{"hi", &Form::hi},
                             {"lo", &Form::lo},
                             {"wide", &Form::wide},
                             {"ftz", &Form::ftz},
                             {"sat", &Form::sat},
                             {"satfinite", &Form::satfinite},
                             {"relu", &Form::relu},
                             {"NaN", &Form::nan},
                             {"xorsign", &Form::xorsign},
                             {"abs", &Form::abs},
                             {"approx", &Form::approx},
                             {"full", &Form::full},
                             {"cc", &Form::carry_out},
                             {"l", &Form::left},
                             {"r", &Form::right},
                             {"clamp", &Form::clamp},
                             {"wrap", &Form::wrap},
                             {"shiftamt", &Form::shift_amount},
                             {"uni", &Form::uniform}},
                            part)
      .value_or(nullptr);
}

bool compares(Op op) {
  return op == Op::set || op == Op::setp || op == Op::vset || op == Op::vset2 || op == Op::vset4;
}

/// SIMD video instructions, which end in .add where they add their elements up.
bool video(Op op) {
  // clang-format off
  switch (op) {
    case Op::vabsdiff2: case Op::vabsdiff4: case Op::vadd2: case Op::vadd4: case Op::vavrg2: case Op::vavrg4:
    case Op::vmax2: case Op::vmax4: case Op::vmin2: case Op::vmin4: case Op::vset2: case Op::vset4:
    case Op::vsub2: case Op::vsub4: return true;
    default: return false;
  }
  // clang-format on
}

bool is_mode(Op op, std::string_view part) {
  constexpr std::array<std::string_view, 6> kPermutations = {"f4e", "b4e", "rc8", "ecl", "ecr", "rc16"};
  constexpr std::array<std::string_view, 6> kClasses = {"finite",     "infinite", "number",
                                                        "notanumber", "normal",   "subnormal"};
  const auto among = [&](const auto& names) {
    return std::find(names.begin(), names.end(), part) != names.end();
  };
  if (op == Op::prmt) return among(kPermutations);
  if (op == Op::testp) return among(kClasses);
  return video(op) && part == "add";
}

/// Reads one part after the mnemonic; false when it says nothing that a Form can hold. `types`: how many came
/// before.
bool read(Form& form, std::string_view part, unsigned& types) {
  if (const Type type = type_of(part); type.kind != Type::none) {
    if (types == 0) form.type = type;
    if (types < 2) form.from = type;
    // Of three types (video instructions) the sources' must agree.
    return types++ < 2 || (types == 3 && type == form.from);
  }
  // `lo`, `hi` and `and` mean other things elsewhere.
  if (compares(form.op)) {
    if (const auto comparison = comparison_of(part)) {
      form.comparison = *comparison;
      return true;
    }
  }
  if (compares(form.op) || form.op == Op::lop3) {
    if (const auto combine = combine_of(part)) {
      form.combine = *combine;
      return true;
    }
  }
  if (is_mode(form.op, part)) {
    form.mode = part;
    return true;
  }
  if (const auto rounding = rounding_of(part)) {
    form.rounding = *rounding;
    return true;
  }
  if (bool Form::*const flag = flag_of(part)) {
    form.*flag = true;
    return true;
  }
  return false;
}

}  // namespace

Type type_of(std::string_view name) {
  return find<Type>(
             {{"b8", {Type::b, 8}},           {"b16", {Type::b, 16}},         {"b32", {Type::b, 32}},
              {"b64", {Type::b, 64}},         {"b128", {Type::b, 128}},       {"u8", {Type::u, 8}},
              {"u16", {Type::u, 16}},         {"u32", {Type::u, 32}},         {"u64", {Type::u, 64}},
              {"s8", {Type::s, 8}},           {"s16", {Type::s, 16}},         {"s32", {Type::s, 32}},
              {"s64", {Type::s, 64}},         {"u16x2", {Type::u, 16, 2}},    {"s16x2", {Type::s, 16, 2}},
              {"f16", {Type::f, 16}},         {"f32", {Type::f, 32}},         {"f64", {Type::f, 64}},
              {"f16x2", {Type::f, 16, 2}},    {"f32x2", {Type::f, 32, 2}},    {"bf16", {Type::bf, 16}},
              {"bf16x2", {Type::bf, 16, 2}},  {"tf32", {Type::tf, 32}},       {"e4m3", {Type::e4m3, 8}},
              {"e4m3x2", {Type::e4m3, 8, 2}}, {"e4m3x4", {Type::e4m3, 8, 4}}, {"e5m2", {Type::e5m2, 8}},
              {"e5m2x2", {Type::e5m2, 8, 2}}, {"e5m2x4", {Type::e5m2, 8, 4}}, {"pred", {Type::pred, 1}}},
             name)
      .value_or(Type{});
}

Form form_of(const ptx::Opcode& opcode) {
  Form form;
  form.op = opcode.op;
  unsigned types = 0;
  for (std::size_t i = 1; i < opcode.parts.size(); ++i) {
    if (!read(form, opcode.parts[i], types)) form.unknown_part = true;
  }
  form.carry_in = form.op == Op::addc || form.op == Op::subc || form.op == Op::madc;
  form.carry = form.carry_in || form.carry_out;
  return form;
}

}  // namespace warploom::sim
