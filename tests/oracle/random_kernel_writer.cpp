#include "oracle/random_kernel_writer.hpp"

#include <algorithm>
#include <bit>

namespace warploom::oracle {

Writer::Writer(std::uint64_t seed) : bulk_(seed >= kBulkSeeds), random_(seed) {
  // Numbers of threads with which warps are full, half empty, and two with the second half empty.
  threads_ = std::array<std::uint32_t, 12>{8, 8, 8, 12, 16, 16, 20, 24, 32, 32, 40, 64}[pick(12)];
  kernel_.block = {threads_, 1};
  if (chance(12)) kernel_.block = {threads_ / 2, 2}, uses(Feature::two_dimensional);
  kernel_.n = pick(16);

  const std::uint32_t count = 3 + pick(4);
  for (std::uint32_t a = 0; a < count; ++a) {
    RandomArray array;
    array.name = fmt::format("sh_{}", static_cast<char>('a' + a));
    struct Element {
      const char* type;
      std::uint32_t width, lanes;
    };
    const Element element = std::array<Element, 14>{{{"u32", 4, 1},
                                                     {"u32", 4, 1},
                                                     {"u32", 4, 1},
                                                     {"u32", 4, 1},
                                                     {"u32", 4, 2},
                                                     {"u32", 4, 4},
                                                     {"f32", 4, 1},
                                                     {"f32", 4, 1},
                                                     {"f32", 4, 4},
                                                     {"u8", 1, 1},
                                                     {"u8", 1, 4},
                                                     {"u16", 2, 1},
                                                     {"u64", 8, 1},
                                                     {"u64", 8, 2}}}[pick(14)];
    array.type = element.type, array.width = element.width, array.lanes = element.lanes;
    array.rows = array.unit() >= 16 ? pick(2) : std::array<std::uint32_t, 6>{1, 1, 1, 2, 3, 0}[pick(6)];
    array.bytes = array.rows == 0 ? 4 * array.unit() : array.rows * threads_ * array.unit();
    array.align = array.unit() << (chance(60) ? 0 : pick(4));
    array.typed = array.align == array.width && chance(40);
    if (chance(15)) array.kind = RandomArray::Kind::of_module, uses(Feature::module_array);
    arrays_.push_back(array);
  }
  if (chance(12))
    for (std::uint32_t a = 0; a < 2; ++a)
      arrays_[a].kind = RandomArray::Kind::of_module, uses(Feature::module_array);
  if (chance(12)) {
    arrays_.back().kind = RandomArray::Kind::dynamic;
    kernel_.dynamic_shared = arrays_.back().bytes;
    uses(Feature::dynamic_array);
  }
}

std::uint32_t Writer::unit_of(const Index& index, std::uint32_t t, std::uint32_t turn) const {
  switch (index.kind) {
    case Index::swapped:
      return t ^ index.parameter;
    case Index::shifted:
      return (t + index.parameter) % threads_;
    case Index::mirrored:
      return threads_ - 1 - t;
    case Index::rotating:
      return (t + turn) % threads_;
    case Index::halved:
      return t / 2;
    case Index::fixed:
      return index.parameter;
    default:
      return t;
  }
}

std::string Writer::index_register(const Index& index, const std::string& counter) {
  const std::string w = r();
  const auto around = [&](const auto& step) {
    emit("add.u32 {}, %t, {};", w, step);
    if (std::has_single_bit(threads_))
      emit("and.b32 {}, {}, {};", w, w, threads_ - 1);
    else
      emit("rem.u32 {}, {}, {};", w, w, threads_);
  };
  switch (index.kind) {
    case Index::swapped:
      emit("xor.b32 {}, %t, {};", w, index.parameter);
      break;
    case Index::shifted:
      around(index.parameter);
      break;
    case Index::mirrored:
      emit("sub.u32 {}, {}, %t;", w, threads_ - 1);
      break;
    case Index::rotating:
      around(counter);
      break;
    case Index::halved:
      emit("shr.u32 {}, %t, 1;", w);
      break;
    case Index::fixed:
      emit("mov.u32 {}, {};", w, index.parameter);
      break;
    case Index::unknown:
      emit("rem.u32 {}, %acc, {};", w, threads_);
      break;
    default:
      if (chance(60)) return "%t";
      emit("mov.u32 {}, %t;", w);
  }
  return w;
}

std::string Writer::base_register(const RandomArray& array) {
  std::string base = array.base;
  if (base.empty() || chance(30)) emit("mov.u32 {}, {};", base = r(), array.name);
  if (chance(12)) {
    uses(Feature::mov_chain);
    for (std::uint32_t k = 1 + pick(2); k > 0; --k) {
      const std::string copy = r();
      emit("mov.b32 {}, {};", copy, base);
      base = copy;
    }
  }
  return base;
}

std::string Writer::pointer(const RandomArray& array, const Index& index, const std::string& counter) {
  const std::string base = base_register(array), w = index_register(index, counter), to = r();
  emit("mad.lo.u32 {}, {}, {}, {};", to, w, array.unit(), base);
  return to;
}

Writer::Address Writer::address(const RandomArray& array, const Index& index, std::uint32_t offset,
                                const std::string& counter) {
  const std::uint32_t unit = array.unit();
  if (index.kind == Index::fixed && chance(70))
    return {fmt::format("[{}+{}]", array.name, index.parameter * unit + offset), ".shared"};
  const auto at = [](const std::string& to, std::int64_t plus) {
    return plus == 0 ? fmt::format("[{}]", to) : fmt::format("[{}+{}]", to, plus);
  };
  switch (pick(11)) {
    case 0: {
      const std::string w = index_register(index, counter), scaled = r(), to = r();
      emit("shl.b32 {}, {}, {};", scaled, w, std::countr_zero(unit));
      emit("add.s32 {}, {}, {};", to, base_register(array), scaled);
      if (offset != 0) emit("add.s32 {}, {}, {};", to, to, offset);
      return {at(to, 0), ".shared"};
    }
    case 1: {  // a generic address, from the start
      const std::string w = index_register(index, counter), base = rd(), generic = rd(), wide = rd(),
                        to = rd();
      emit("mov.u64 {}, {};\ncvta.shared.u64 {}, {};", base, array.name, generic, base);
      emit("mul.wide.u32 {}, {}, {};\nadd.s64 {}, {}, {};", wide, w, unit, to, generic, wide);
      uses(Feature::generic_address);
      return {at(to, offset), ""};
    }
    case 2: {  // and one made at the end
      const std::string narrow = pointer(array, index, counter), wide = rd(), to = rd();
      emit("cvt.u64.u32 {}, {};\ncvta.shared.u64 {}, {};", wide, narrow, to, wide);
      uses(Feature::generic_address);
      if (chance(60)) return {at(to, offset), ""};
      const std::string back = rd();
      emit("cvta.to.shared.u64 {}, {};", back, to);
      return {at(back, offset), ".shared"};
    }
    case 3: {
      const std::string w = index_register(index, counter), base = rd(), wide = rd(), to = rd();
      emit("mul.wide.u32 {}, {}, {};\nmov.u64 {}, {};\nadd.s64 {}, {}, {};", wide, w, unit, base, array.name,
           to, base, wide);
      return {at(to, offset), ".shared"};
    }
    case 4: {  // from past its beginning
      const std::string w = index_register(index, counter), base = r(), to = r();
      emit("mov.u32 {}, {}+{};\nmad.lo.s32 {}, {}, {}, {};", base, array.name, 8, to, w, unit, base);
      return {at(to, static_cast<std::int64_t>(offset) - 8), ".shared"};
    }
    case 5: {  // minus a negative number
      const std::string w = index_register(index, counter), less = r(), to = r();
      emit("mul.lo.s32 {}, {}, -{};\nsub.s32 {}, {}, {};", less, w, unit, to, base_register(array), less);
      return {at(to, offset), ".shared"};
    }
    case 6:
      if (array.align >= array.bytes && array.kind != RandomArray::Kind::dynamic) {  // no carry
        const std::string w = index_register(index, counter), scaled = r(), to = r();
        emit("shl.b32 {}, {}, {};\nor.b32 {}, {}, {};", scaled, w, std::countr_zero(unit), to,
             base_register(array), scaled);
        return {at(to, offset), ".shared"};
      }
      [[fallthrough]];
    default:
      return {at(pointer(array, index, counter), offset), ".shared"};
  }
}

Writer::Form Writer::form(const RandomArray& array) {
  Form form{array.type, array.width, array.lanes};
  if (form.lanes > 1 && chance(25)) form.lanes /= 2;
  if (chance(12)) {  // other bytes at once than were declared
    static const std::array<Form, 4> forms{{{"u8", 1, 1}, {"u16", 2, 1}, {"u32", 4, 1}, {"u64", 8, 1}}};
    const Form& other = forms[pick(4)];
    if (array.unit() % other.width == 0) form = other;
  }
  if (form.type[0] == 'u' && chance(25)) form.type[0] = chance(50) ? 'b' : 's';
  if (form.lanes > 1) uses(Feature::vector_access);
  if (form.width < 4) uses(Feature::narrow_access);
  if (form.width > 4) uses(Feature::wide_access);
  if (form.type[0] == 'f') uses(Feature::float_access);
  return form;
}

std::string Writer::value_register(const Form& form, bool narrow) {
  const std::string value = r();
  if (form.width == 8) {
    const std::string wide = rd();
    emit("mul.wide.u32 {}, %acc, {};", wide, 0x1000'0001u + 2 * pick(100'000'000));
    return wide;
  }
  emit("mad.lo.u32 {}, %acc, {}, {};", value, 2 * pick(1000) + 1, pick(1000));
  if (form.type[0] == 'f') {
    const std::string real = f();
    emit("shr.u32 {}, {}, 9;\ncvt.rn.f32.u32 {}, {};", value, value, real, value);
    return real;
  }
  if (narrow) {
    const std::string half = rs();
    emit("cvt.u16.u32 {}, {};", half, value);
    return half;
  }
  return value;
}

namespace {

/// ".v2.u32" and the operand "{%r1, %r2}" of one, two or four registers.
std::string suffix(std::uint32_t lanes, const std::string& type) {
  return lanes == 1 ? "." + type : fmt::format(".v{}.{}", lanes, type);
}
std::string operand(const std::vector<std::string>& registers) {
  return registers.size() == 1 ? registers[0] : fmt::format("{{{}}}", fmt::join(registers, ", "));
}

}  // namespace

void Writer::emit_store(const Form& form, const Address& at, const std::string& guard) {
  std::vector<std::string> values;
  const bool narrow = form.width < 4 && chance(50);  // all of a vector alike
  for (std::uint32_t k = 0; k < form.lanes; ++k) values.push_back(value_register(form, narrow));
  const bool is_volatile = chance(3);
  if (is_volatile) uses(Feature::volatile_access);
  emit("{}st{}{}{} {}, {};", guard, is_volatile ? ".volatile" : "", at.space, suffix(form.lanes, form.type),
       at.operand, operand(values));
}

std::vector<std::string> Writer::emit_load(const Form& form, const Address& at, const std::string& guard,
                                           const std::string& otherwise) {
  const bool real = form.type[0] == 'f', wide = form.width == 8, narrow = form.width < 4 && chance(50);
  std::vector<std::string> loaded, pieces;
  for (std::uint32_t k = 0; k < form.lanes; ++k) {
    loaded.push_back(real ? f() : wide ? rd() : narrow ? rs() : r());
    if (otherwise.empty()) continue;
    emit("mov.{} {}, {};",
         real     ? "f32"
         : wide   ? "b64"
         : narrow ? "b16"
                  : "b32",
         loaded.back(), real ? "0f3F800000" : otherwise);
  }
  const bool is_volatile = chance(3);
  if (is_volatile) uses(Feature::volatile_access);
  emit("{}ld{}{}{} {}, {};", guard, is_volatile ? ".volatile" : "", at.space, suffix(form.lanes, form.type),
       operand(loaded), at.operand);
  for (const std::string& value : loaded) {
    if (!real && !wide && !narrow) {
      pieces.push_back(value);
      continue;
    }
    pieces.push_back(r());
    if (real)
      emit("mov.b32 {}, {};", pieces.back(), value);
    else if (narrow)
      emit("cvt.u32.u16 {}, {};", pieces.back(), value);
    else {
      const std::string high = rd();
      emit("cvt.u32.u64 {}, {};\nshr.u64 {}, {}, 32;", pieces.back(), value, high, value);
      pieces.push_back(r());
      emit("cvt.u32.u64 {}, {};", pieces.back(), high);
    }
  }
  return pieces;
}

void Writer::mix(const std::string& value) {
  const std::string high = r();
  emit("xor.b32 %acc, %acc, {};\nshr.u32 {}, %acc, 15;\nxor.b32 %acc, %acc, {};", value, high, high);
  emit("mad.lo.u32 %acc, %acc, {}, {};", 8 * pick(100'000) + 5, 2 * pick(10'000) + 1);
}

void Writer::carve(std::string& text, bool dynamic) {
  std::uint32_t end = 0;
  for (const RandomArray& a : arrays_) {
    const std::uint32_t align = std::max(a.align, 16u);  // where each would lie by itself
    end = (end + align - 1) / align * align;
    std::string carved;
    std::size_t from = 0;
    for (std::size_t at = 0; (at = text.find(a.name, at)) != std::string::npos;) {
      carved.append(text, from, at - from);
      at += a.name.size();
      std::uint32_t offset = end;
      if (at < text.size() && text[at] == '+') {
        std::size_t digits = 0;
        offset += static_cast<std::uint32_t>(std::stoul(text.substr(at + 1), &digits));
        at += 1 + digits;
      }
      carved += fmt::format("carved+{}", offset);
      from = at;
    }
    text = carved.append(text, from);
    end += a.bytes;
  }
  if (dynamic) kernel_.dynamic_shared = end;
  arrays_.resize(1);
  arrays_[0] = RandomArray();
  arrays_[0].name = "carved", arrays_[0].align = 128, arrays_[0].bytes = end;
  arrays_[0].kind = dynamic ? RandomArray::Kind::dynamic : RandomArray::Kind::of_kernel;
  uses(Feature::carved_array);
}

void Writer::carve_by_launch(std::string& text) {
  std::string bases = "ld.param.u32 %k, [n];\nmov.u32 %w, %ntid.x;\nmov.u32 %k0, carved;\n";
  const bool in_one_row = kernel_.block[1] == 1;
  std::vector<std::string> names;
  std::uint32_t end = 0;  // for the number of threads and the parameter that it is run with
  for (std::size_t a = 0; a < arrays_.size(); ++a) {
    const RandomArray& array = arrays_[a];
    const std::string here = fmt::format("%k{}", a);
    names.push_back(here);
    const std::uint32_t align = std::max(array.align, 16u);
    if (const std::uint32_t gap = (align - end % align) % align; gap != 0) {
      bases += fmt::format("add.s32 {}, {}, {};\n", here, here, gap);
      end += gap;
    }
    const std::string next = fmt::format("%k{}", a + 1);
    if (in_one_row && array.rows != 0 && chance(60))
      bases += fmt::format("mad.lo.s32 {}, %w, {}, {};\n", next, array.rows * array.unit(), here);
    else
      bases += fmt::format("add.s32 {}, {}, {};\n", next, here, array.bytes);
    end += array.bytes;
    if (!chance(40)) continue;
    bases += fmt::format("mad.lo.s32 {}, %k, 16, {};\n", next, next);
    end += 16 * kernel_.n;
  }
  std::string carved;
  for (std::size_t from = 0, to = 0; from < text.size(); from = to) {
    to = text.find('\n', from) + 1;
    std::string line = text.substr(from, to - from);
    for (std::size_t a = 0; a < arrays_.size(); ++a) {
      const std::size_t at = line.find(arrays_[a].name);
      if (at == line.npos) continue;
      if (line.starts_with("mov.u64 "))
        line.replace(0, 7, "cvt.u64.u32");
      else if (const std::size_t plus = line.find('+', at); line.starts_with("mov.u32 ") && plus != line.npos)
        line.replace(plus, 1, ", "), line.replace(0, 7, "add.u32");
      line.replace(at + (line.starts_with("cvt") ? 4 : 0), arrays_[a].name.size(), names[a]);
    }
    carved += line;
  }
  text = bases + carved;
  kernel_.dynamic_shared = end;
  launch_bases_ = arrays_.size() + 1;
  arrays_.resize(1);
  arrays_[0] = RandomArray();
  arrays_[0].name = "carved", arrays_[0].align = 128, arrays_[0].bytes = end;
  arrays_[0].kind = RandomArray::Kind::dynamic;
  uses(Feature::carved_by_launch);
}

void Writer::finish(std::string_view prologue, std::string_view functions, const std::string& second) {
  std::string of_module, of_kernel, bases, second_bases;
  for (const RandomArray& a : arrays_) {
    if (a.base.empty()) continue;
    const std::string line = fmt::format("mov.u32 {}, {};\n", a.base, a.name);
    bases += line;
    if (a.kind == RandomArray::Kind::of_module) second_bases += line;
  }
  const std::size_t base_registers = arrays_.size();
  body_.insert(0, bases);
  if (!kernel_.has(Feature::dynamic_array) && !kernel_.has(Feature::callee_of_module) && second.empty() &&
      chance(35)) {
    const std::uint32_t what = pick(100);
    what < 35 ? carve_by_launch(body_) : carve(body_, what < 75);
  }
  for (std::uint32_t m = 0; m < mbarriers_; ++m)
    of_kernel += fmt::format(".shared .align 8 .b8 mb{}[8];\n", m);
  for (const RandomArray& a : arrays_) {
    using Kind = RandomArray::Kind;
    const std::string line =
        fmt::format("{}.shared .align {} .{} {}[{}];\n", a.kind == Kind::dynamic ? ".extern " : "", a.align,
                    a.typed ? a.type : "b8", a.name,
                    a.kind == Kind::dynamic ? "" : fmt::to_string(a.bytes / (a.typed ? a.width : 1)));
    (a.kind == Kind::of_kernel ? of_kernel : of_module) += line;
  }
  std::string declared;
  if (kernel_.has(Feature::block_declared))
    declared = fmt::format(".{} {}, {}, 1\n", chance(70) ? "reqntid" : "maxntid", kernel_.block[0],
                           kernel_.block[1]);
  const std::string registers = fmt::format(
      ".reg .b16 %rs<{}>;\n.reg .b32 %r<{}>;\n.reg .f32 %f<{}>;\n.reg .b64 %rd<{}>;\n.reg .pred %p<{}>, "
      "%c<3>;\n.reg .b32 %t, %n, %acc, %b<{}>, %k, %w, %k<{}>;\n.reg .b64 %out, %data;\n",
      rs_ + 1, r_ + 1, f_ + 1, rd_ + 1, p_ + 1, base_registers, launch_bases_ + 1);
  const auto entry = [&](std::string_view name, const std::string& arrays, const std::string& body) {
    return fmt::format(
        ".visible .entry {}(.param .u64 out, .param .u64 data, .param .u32 n)\n{}{{\n{}{}{}{}DONE:\n"
        "st.global.u32 [%out], %acc;\nret;\n}}\n",
        name, declared, arrays, registers, prologue, body);
  };
  kernel_.text = fmt::format(".version 8.0\n.target sm_{}0\n.address_size 64\n{}{}{}{}", bulk_ ? 9 : 8,
                             of_module, functions, entry("k", of_kernel, body_),
                             second.empty() ? "" : entry("k2", "", second_bases + second));
}

}  // namespace warploom::oracle
