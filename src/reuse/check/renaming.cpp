#include "reuse/check/renaming.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "reuse/check/side.hpp"

namespace warploom::reuse::checking {
namespace {

using ptx::kNone;
using ptx::Module;
using ptx::OperandKind;
using ptx::Span;

class Matcher {
 public:
  Matcher(const Module& input, const Module& output, const CheckOptions& options)
      : in_(input), out_(output), options_(options) {
    if (input.text.find(kAddedRegister) == std::string::npos) out_.find_added();
  }

  Renaming run(const std::vector<PoolEntry>& entries) {
    find_functions();
    if (result_.problems.empty()) walk();
    if (result_.problems.empty()) {
      collect_unnamed();
      for (KernelMatch& kernel : kernels_) {
        check_kernel(kernel);
        if (kernel.pool != kNone || !kernel.shifts.empty() || !kernel.rebased.empty())
          bound_.erase(kernel.function);
      }
      for (const std::uint32_t f : bound_)
        problem(fmt::format("{}: its block size was bound, but no object was moved",
                            out_.module.functions[f].name));
      check_references();
      if (!entries.empty()) compare(entries);
      result_.kernels = std::move(kernels_);
    }
    return std::move(result_);
  }

 private:
  void problem(std::string text) { result_.problems.push_back(std::move(text)); }
  const ptx::Variable& in_variable(std::uint32_t v) const { return in_.module.variables[v]; }
  const ptx::Variable& out_variable(std::uint32_t v) const { return out_.module.variables[v]; }

  void find_functions() {
    if (in_.module.functions.size() != out_.module.functions.size())
      return problem(fmt::format("module: {} functions in the input, {} in the output",
                                 in_.module.functions.size(), out_.module.functions.size()));
    for (std::uint32_t f = 0; f < in_.module.functions.size(); ++f) {
      const ptx::Function& a = in_.module.functions[f];
      const ptx::Function& b = out_.module.functions[f];
      if (!a.entry || !b.entry || a.required_threads || !b.required_threads) continue;
      // A proof for one block size binds the launch to it.
      const auto product = [](const std::array<std::uint32_t, 3>& d) {
        return std::uint64_t{d[0]} * d[1] * d[2];
      };
      if (a.maximal_threads) {
        if (product(*b.required_threads) > product(*a.maximal_threads)) {
          problem(fmt::format("{}: .reqntid of {} threads in place of .maxntid of {}", a.name,
                              product(*b.required_threads), product(*a.maximal_threads)));
        }
        in_.pass_directive(a.maximal_threads_span);
      }
      std::array<std::uint32_t, 3> promised{1, 1, 1};
      std::copy_n(options_.block.begin(), std::min<std::size_t>(3, options_.block.size()), promised.begin());
      if (!options_.block.empty() && promised != *b.required_threads)
        problem(fmt::format("{}: .reqntid {}, {}, {} is not the block size promised, {}, {}, {}", a.name,
                            (*b.required_threads)[0], (*b.required_threads)[1], (*b.required_threads)[2],
                            promised[0], promised[1], promised[2]));
      out_.pass_directive(b.required_threads_span);
      bound_.insert(f);
      result_.notes.push_back(fmt::format("{}: launched with {} x {} x {} threads only (.reqntid was added)",
                                          a.name, (*b.required_threads)[0], (*b.required_threads)[1],
                                          (*b.required_threads)[2]));
    }
  }

  /// The function whose body holds a position of the output.
  std::uint32_t function_at(std::uint32_t offset) {
    const auto& functions = out_.module.functions;
    while (function_ < functions.size() && functions[function_].span.end <= offset) ++function_;
    return function_ < functions.size() && functions[function_].has_body &&
                   functions[function_].body.begin <= offset
               ? function_
               : kNone;
  }

  KernelMatch& kernel(std::uint32_t function) {
    for (KernelMatch& k : kernels_)
      if (k.function == function) return k;
    kernels_.push_back({});
    kernels_.back().function = function;
    return kernels_.back();
  }

  std::uint32_t object(KernelMatch& k, std::uint32_t variable) {
    for (std::uint32_t i = 0; i < k.objects.size(); ++i)
      if (k.objects[i].variable == variable) return i;
    k.objects.push_back({variable, {}});
    return static_cast<std::uint32_t>(k.objects.size()) - 1;
  }

  /// Whether the input declares a shared variable of that name in the same scope.
  bool in_input(std::uint32_t output_variable) const {
    const ptx::Variable& o = out_variable(output_variable);
    const auto& all = in_.module.variables;
    return std::any_of(all.begin(), all.end(), [&](const ptx::Variable& v) {
      return v.space == ptx::Space::shared && v.function == o.function && v.name == o.name;
    });
  }

  bool same_declaration(std::uint32_t in_end, std::uint32_t out_end) const {
    std::size_t i = in_.at, o = out_.at;
    for (;; ++i, ++o) {
      const bool in_done = i >= in_.tokens.size() || in_.tokens[i].begin >= in_end;
      const bool out_done = o >= out_.tokens.size() || out_.tokens[o].begin >= out_end;
      if (in_done || out_done) return in_done && out_done;
      if (in_.module.text_of(in_.tokens[i]) != out_.module.text_of(out_.tokens[o])) return false;
    }
  }

  /// Declarations, directives and barriers that only one side has; true if something was passed.
  bool pass_differences() {
    const auto in_declaration = in_.done() ? in_.declarations.end() : in_.declarations.find(in_.begin());
    const auto out_declaration = out_.done() ? out_.declarations.end() : out_.declarations.find(out_.begin());
    const bool in_at = !in_.done() && in_declaration != in_.declarations.end();
    const bool out_at = !out_.done() && out_declaration != out_.declarations.end();
    const auto end_in = [&] { return in_variable(in_declaration->second[0]).declaration.end; };
    const auto end_out = [&] { return out_variable(out_declaration->second[0]).declaration.end; };
    if (in_at && out_at && same_declaration(end_in(), end_out())) {
      for (std::size_t i = 0; i < in_declaration->second.size(); ++i)
        kept_[in_declaration->second[i]] = out_declaration->second[i];
      in_.skip_to(end_in());
      out_.skip_to(end_out());
      return true;
    }
    if (out_at && !in_input(out_declaration->second[0])) {
      pools_.insert(out_declaration->second.begin(), out_declaration->second.end());
      out_.skip_to(end_out());
      return true;
    }
    // Before a declaration that is gone: registers are added in front of all others.
    if (!out_.done() && out_.added.contains(out_.begin())) return pass_added();
    if (in_at) {
      removed_.insert(in_declaration->second.begin(), in_declaration->second.end());
      in_.skip_to(end_in());
      return true;
    }
    if (!in_.done())
      if (const auto d = in_.directives.find(in_.begin()); d != in_.directives.end()) {
        in_.skip_to(d->second);
        return true;
      }
    if (!out_.done())
      if (const auto d = out_.directives.find(out_.begin()); d != out_.directives.end()) {
        out_.skip_to(d->second);
        return true;
      }
    if (out_.bare_barrier() && !in_.bare_barrier()) return pass_barrier();
    return false;
  }

  /// The instruction of the output that begins here; kNone: none, or its guard stands before.
  std::uint32_t instruction_here(std::uint32_t f) const {
    const auto& all = out_.module.functions[f].instructions;
    const auto here =
        std::lower_bound(all.begin(), all.end(), out_.begin(),
                         [](const ptx::Instruction& i, std::uint32_t b) { return i.span.begin < b; });
    return here == all.end() || here->span.begin != out_.begin()
               ? kNone
               : static_cast<std::uint32_t>(here - all.begin());
  }

  /// An instruction that writes an added register, or the declaration of some.
  bool pass_added() {
    const std::uint32_t f = function_at(out_.begin());
    if (f == kNone) return false;
    if (out_.word() != ".reg") kernel(f).added.push_back(instruction_here(f));
    out_.skip_to(out_.added.at(out_.begin()));
    return true;
  }

  /// The base of an access's address is an added register (carved.cpp sees what it holds).
  bool pass_rebased() {
    const std::uint32_t f = function_at(out_.begin());
    if (f == kNone || !out_.word().starts_with(kAddedRegister)) return false;
    const ptx::Function &a = in_.module.functions[f], &b = out_.module.functions[f];
    const ptx::Operand *was = address_at(in_.module, a, in_.begin(), true),
                       *is = address_at(out_.module, b, out_.begin(), true);
    if (was == nullptr || is == nullptr || a.operands[was->id].kind != OperandKind::reg ||
        a.operands[was->id].span.begin != in_.begin() || b.operands[is->id].span.begin != out_.begin())
      return false;
    kernel(f).rebased.push_back(instruction_at(b, out_.begin()));
    ++in_.at;
    ++out_.at;
    if (was->value != is->value) return false;
    in_.skip_to(was->span.end);  // the number may be written otherwise
    out_.skip_to(is->span.end);
    return true;
  }

  bool pass_barrier() {
    const std::uint32_t f = function_at(out_.begin());
    if (f == kNone) return false;
    const std::uint32_t here = instruction_here(f);
    if (here == kNone) return false;  // a guard stands before it
    kernel(f).inserted.push_back(here);
    out_.at += 3;
    return true;
  }

  /// A name that now is the pool's; true if one stood here.
  bool pass_name() {
    const auto a = in_.symbols.find(in_.begin());
    if (a == in_.symbols.end()) return false;
    const auto b = out_.symbols.find(out_.begin());
    // Kept for other kernels, it may have moved in this one.
    const bool moved = kept_.contains(a->second.first) && in_variable(a->second.first).function == kNone &&
                       b != out_.symbols.end() && pools_.contains(b->second.first);
    if (!removed_.contains(a->second.first) && !moved) return false;
    const ptx::Variable& v = in_variable(a->second.first);
    const std::uint32_t at = out_.begin();
    if (b == out_.symbols.end() || !pools_.contains(b->second.first)) {
      problem(fmt::format("output line {}: expected a pool address for '{}', found '{}'", out_.line(), v.name,
                          out_.word()));
      return false;
    }
    const std::uint32_t f = function_at(at);
    const bool accessed = in_.at > 0 && in_.previous_word() == "[";
    const auto was = in_.take_name_and_offset(a->second.second);
    const auto is = out_.take_name_and_offset(b->second.second);
    if (f == kNone || !was || !is) {
      problem(
          fmt::format("output line {}: the address for '{}' is no name with a number", out_.line(), v.name));
      return false;
    }
    KernelMatch& k = kernel(f);
    if (k.pool == kNone) k.pool = b->second.first;
    if (k.pool != b->second.first)
      problem(fmt::format("{}: two pools, '{}' and '{}'", out_.module.functions[f].name,
                          out_variable(k.pool).name, out_variable(b->second.first).name));
    const std::uint32_t o = object(k, a->second.first);
    const std::int64_t offset = *is - *was;
    k.object_at[at] = o;
    if (accessed) {
      k.objects[o].accesses.emplace_back(instruction_at(out_.module.functions[f], at), offset);
      return true;
    }
    if (offset < 0 || (k.objects[o].offset && *k.objects[o].offset != static_cast<std::uint64_t>(offset)))
      problem(
          fmt::format("{}: output line {}: '{}' is at offset {} of '{}' here, and at {} elsewhere",
                      out_.module.functions[f].name, out_.line(), v.name, offset, out_variable(k.pool).name,
                      k.objects[o].offset ? std::to_string(*k.objects[o].offset) : "a place not below 0"));
    k.objects[o].offset = static_cast<std::uint64_t>(std::max<std::int64_t>(offset, 0));
    return true;
  }

  /// The last instruction that begins at or before a position.
  static std::uint32_t instruction_at(const ptx::Function& f, std::uint32_t position) {
    const auto after =
        std::upper_bound(f.instructions.begin(), f.instructions.end(), position,
                         [](std::uint32_t p, const ptx::Instruction& i) { return p < i.span.begin; });
    return static_cast<std::uint32_t>(after - f.instructions.begin()) - 1;
  }

  /// The address operand that holds a position or ends there; nullptr: none.
  static const ptx::Operand* address_at(const Module& m, const ptx::Function& f, std::uint32_t position,
                                        bool at_begin = false) {
    if (f.instructions.empty() || position < f.instructions[0].span.begin) return nullptr;
    const ptx::Instruction& i = f.instructions[instruction_at(f, position)];
    auto all = f.operands_of(i);
    // Of a copy the first is in shared memory, and no other one may change.
    if (m.opcode(i).op == ptx::Op::cp) all = all.first(std::min<std::size_t>(1, all.size()));
    for (const ptx::Operand& o : all)
      if (o.kind == OperandKind::address && o.count == 1 &&
          (at_begin ? o.span.begin == position : o.span.begin < position && position <= o.span.end))
        return &o;
    return nullptr;
  }

  /// The two texts differ in the number behind an address's base, which is the same.
  bool pass_shift() {
    const std::uint32_t f = function_at(out_.begin());
    if (f == kNone) return false;
    const ptx::Function &a = in_.module.functions[f], &b = out_.module.functions[f];
    const ptx::Operand* was = address_at(in_.module, a, in_.begin());
    const ptx::Operand* is = address_at(out_.module, b, out_.begin());
    const auto base = [](const Module& m, const ptx::Function& of, const ptx::Operand& address) {
      const ptx::Operand& o = of.operands[address.id];
      return o.kind == OperandKind::symbol ? m.variables[o.id].name : m.text_of(o.span);
    };
    if (was == nullptr || is == nullptr || was->value == is->value ||
        base(in_.module, a, *was) != base(out_.module, b, *is))
      return false;
    kernel(f).shifts[instruction_at(b, out_.begin())] = is->value - was->value;
    in_.skip_to(was->span.end);
    out_.skip_to(is->span.end);
    return true;
  }

  void walk() {
    while (result_.problems.empty()) {
      if (!in_.is_special() && !out_.is_special() && !in_.done() && !out_.done() &&
          in_.word() == out_.word() && out_.word() != "bar.sync") {  // that may be an added one
        ++in_.at;
        ++out_.at;
        continue;
      }
      if (pass_differences()) continue;
      if (in_.done() || out_.done()) break;
      if (pass_name()) continue;
      if (!result_.problems.empty()) return;
      if (in_.word() != out_.word() && (pass_rebased() || pass_shift())) continue;
      if (in_.word() != out_.word())
        return problem(fmt::format("input line {}: expected '{}' in the output, found '{}' at line {}",
                                   in_.line(), in_.word(), out_.word(), out_.line()));
      const auto named = in_.symbols.find(in_.begin());
      const auto now = out_.symbols.find(out_.begin());
      if ((named != in_.symbols.end()) != (now != out_.symbols.end()) ||
          (named != in_.symbols.end() &&
           (!kept_.contains(named->second.first) || kept_[named->second.first] != now->second.first)))
        return problem(fmt::format("output line {}: '{}' means another variable than in the input",
                                   out_.line(), out_.word()));
      if (named != in_.symbols.end()) unmoved_.emplace(function_at(out_.begin()), named->second.first);
      ++in_.at;
      ++out_.at;
    }
    if (!result_.problems.empty()) return;
    if (!in_.done())
      problem(fmt::format("the output ends before '{}' of input line {}", in_.word(), in_.line()));
    if (!out_.done())
      problem(fmt::format("the output has more text than the input, from '{}' at line {}", out_.word(),
                          out_.line()));
  }

  /// Objects that lost their declaration without being named by any instruction, and pools nobody names.
  void collect_unnamed() {
    for (const std::uint32_t v : removed_)
      if (const std::uint32_t f = in_variable(v).function; f != kNone) object(kernel(f), v);
  }

  void check_kernel(KernelMatch& k) {
    const ptx::Function& f = out_.module.functions[k.function];
    if (!f.entry) problem(fmt::format("{}: only kernels may be rewritten, this is a .func", f.name));
    if (in_.module.debug)
      problem(fmt::format("{}: the module was compiled for debugging (-G) and may not change", f.name));
    for (PooledObject& o : k.objects) {
      if (!o.offset && !o.accesses.empty())
        o.offset = static_cast<std::uint64_t>(std::max<std::int64_t>(o.accesses[0].second, 0));
      for (const auto& [instruction, offset] : o.accesses)
        if (offset != static_cast<std::int64_t>(*o.offset))
          k.shifts[instruction] = offset - static_cast<std::int64_t>(*o.offset);
    }
    if (k.pool == kNone) {
      if (!k.added.empty() && k.rebased.empty())
        problem(fmt::format("{}: instructions were added, but no object was moved", f.name));
      if (!k.inserted.empty() && k.shifts.empty() && k.rebased.empty())
        problem(fmt::format("{}: a barrier was added, but no object was moved", f.name));
      return;
    }
    const ptx::Variable& pool = out_variable(k.pool);
    const bool dynamic = pool.linkage == ptx::Linkage::external && pool.bytes == 0;
    if (!dynamic && (pool.linkage != ptx::Linkage::none || pool.bytes == 0))
      problem(fmt::format("{}: '{}' is no pool: it must be a sized .shared array, or .extern and unsized",
                          f.name, pool.name));
    for (const PooledObject& o : k.objects) {
      const ptx::Variable& v = in_variable(o.variable);
      if (v.linkage != ptx::Linkage::none && !(options_.whole_program && v.linkage == ptx::Linkage::visible))
        problem(fmt::format("{}: '{}' is visible outside the module or dynamic, and may not move", f.name,
                            v.name));
      if (!o.offset) continue;
      if (!removed_.contains(o.variable)) check_shared_by_kernels(k, o.variable);
      const std::uint64_t align = std::max(16u, v.align);
      if (*o.offset % align != 0)
        problem(fmt::format("{}: '{}' at offset {} is not aligned to {} bytes", f.name, v.name, *o.offset,
                            align));
      if (pool.align < align)
        problem(fmt::format("{}: pool '{}' is aligned to {} bytes, '{}' needs {}", f.name, pool.name,
                            pool.align, v.name, align));
      // Where parts moved each is looked at by itself (parts.cpp).
      if (!dynamic && k.shifts.empty() && (*o.offset > pool.bytes || v.bytes > pool.bytes - *o.offset))
        problem(fmt::format("{}: '{}' ends at byte {} of pool '{}', which has {}", f.name, v.name,
                            *o.offset + v.bytes, pool.name, pool.bytes));
    }
    check_dynamic(f, pool, dynamic);
  }

  /// An array of the module that moved in one kernel and is still declared: each kernel has storage of its
  /// own of that name, if this one names it nowhere any more and no function that it may call does.
  void check_shared_by_kernels(const KernelMatch& k, std::uint32_t variable) {
    const ptx::Variable& v = in_variable(variable);
    const std::string_view kernel = out_.module.functions[k.function].name;
    if (unmoved_.contains({k.function, variable}))
      problem(fmt::format("{}: '{}' moved in one place and not in another", kernel, v.name));
    for (const ptx::Function& f : in_.module.functions) {
      if (f.entry) continue;
      for (const ptx::Operand& o : f.operands)
        if (o.kind == OperandKind::symbol && o.id == variable)
          return problem(fmt::format("{}: '{}' moved, but function '{}' uses it", kernel, v.name, f.name));
    }
    for (const ptx::Reference& r : in_.module.references)
      if (r.variable == variable)
        problem(fmt::format("{}: '{}' is named outside instructions, and may not move", kernel, v.name));
    for (const ptx::Operand& o : out_.module.functions[k.function].operands)
      if (o.kind == OperandKind::unknown && mentions(out_.module.text_of(o.span), v.name))
        problem(fmt::format("{}: '{}' stands in an expression that is not understood", kernel, v.name));
  }

  /// All dynamic arrays of a kernel begin at one address, and where that is depends on the static bytes.
  void check_dynamic(const ptx::Function& f, const ptx::Variable& pool, bool dynamic) {
    for (const auto& [at, symbol] : in_.symbols) {
      const ptx::Variable& v = in_variable(symbol.first);
      if (v.linkage != ptx::Linkage::external || v.bytes != 0) continue;
      const std::uint32_t user = input_function_at(at);
      if (in_.module.functions[user].entry && in_.module.functions[user].name != f.name) continue;
      if (dynamic)
        return problem(fmt::format("{}: the dynamic pool '{}' would lie over dynamic array '{}'", f.name,
                                   pool.name, v.name));
      if (pool.bytes % 16 != 0)
        return problem(fmt::format("{}: pool '{}' of {} bytes would shift dynamic array '{}' off 16 bytes",
                                   f.name, pool.name, pool.bytes, v.name));
    }
  }

  std::uint32_t input_function_at(std::uint32_t offset) const {
    const auto& functions = in_.module.functions;
    const auto it =
        std::upper_bound(functions.begin(), functions.end(), offset,
                         [](std::uint32_t o, const ptx::Function& f) { return o < f.span.begin; });
    return static_cast<std::uint32_t>(it - functions.begin()) - 1;
  }

  void check_references() {
    for (const ptx::Reference& r : in_.module.references)
      if (removed_.contains(r.variable))
        problem(fmt::format("module: '{}' is named outside instructions, and may not move",
                            in_variable(r.variable).name));
    for (const ptx::Reference& r : out_.module.references)
      if (pools_.contains(r.variable))
        problem(
            fmt::format("module: pool '{}' is named outside instructions", out_variable(r.variable).name));
    for (const ptx::Function& f : out_.module.functions)
      for (const ptx::Operand& o : f.operands)
        if (o.kind == OperandKind::unknown)
          for (const std::uint32_t v : removed_)
            if (mentions(out_.module.text_of(o.span), in_variable(v).name))
              problem(fmt::format("{}: '{}' stands in an expression that is not understood", f.name,
                                  in_variable(v).name));
  }

  static bool mentions(std::string_view text, std::string_view name) {
    for (const Span s : tokens_of(text))
      if (text.substr(s.begin, s.end - s.begin) == name) return true;
    return false;
  }

  void compare(const std::vector<PoolEntry>& entries) {
    std::set<std::pair<std::string_view, std::string_view>> given;
    for (const PoolEntry& e : entries) {
      if (e.object == e.pool) continue;  // its parts moved in it
      given.emplace(e.kernel, e.object);
      bool known = false;
      for (KernelMatch& k : kernels_) {
        if (out_.module.functions[k.function].name != e.kernel) continue;
        for (PooledObject& o : k.objects) {
          if (in_variable(o.variable).name != e.object) continue;
          known = true;
          if (o.offset && *o.offset != e.offset)
            problem(fmt::format("{}: '{}' was said to be at offset {}, the text has {}", e.kernel, e.object,
                                e.offset, *o.offset));
          if (k.pool != kNone && out_variable(k.pool).name != e.pool)
            problem(fmt::format("{}: '{}' was said to be in pool '{}', the text has '{}'", e.kernel, e.object,
                                e.pool, out_variable(k.pool).name));
        }
      }
      // A module-scope object that nothing names has left no trace to compare with.
      if (!known && std::none_of(removed_.begin(), removed_.end(),
                                 [&](std::uint32_t v) { return in_variable(v).name == e.object; }))
        problem(fmt::format("{}: '{}' was said to be in pool '{}', but was not moved", e.kernel, e.object,
                            e.pool));
    }
    for (const KernelMatch& k : kernels_)
      for (const PooledObject& o : k.objects)
        if (o.offset &&
            !given.contains({out_.module.functions[k.function].name, in_variable(o.variable).name}))
          problem(fmt::format("{}: '{}' was moved, but no pool entry says so",
                              out_.module.functions[k.function].name, in_variable(o.variable).name));
  }

  Side in_, out_;
  const CheckOptions& options_;
  Renaming result_;
  std::vector<KernelMatch> kernels_;
  std::set<std::uint32_t> removed_, pools_;      ///< variables: input, output
  std::map<std::uint32_t, std::uint32_t> kept_;  ///< input variable -> output variable
  std::set<std::pair<std::uint32_t, std::uint32_t>>
      unmoved_;                    ///< function, input variable that it still names
  std::set<std::uint32_t> bound_;  ///< functions that got a .reqntid
  std::uint32_t function_ = 0;
};

}  // namespace

Renaming match_modules(const Module& input, const Module& output, const std::vector<PoolEntry>& entries,
                       const CheckOptions& options) {
  return Matcher(input, output, options).run(entries);
}

}  // namespace warploom::reuse::checking
