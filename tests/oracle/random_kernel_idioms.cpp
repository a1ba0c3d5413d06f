// Uses of shared memory that kernels make with pointers, loops and atomics of their own.

#include <algorithm>
#include <bit>

#include "oracle/random_kernel_phases.hpp"

namespace warploom::oracle {

using Kind = SharedAccess::Kind;

/// A pointer to one of two arrays: which, all threads or each decides.
void PhaseWriter::through_selected_pointer() {
  const std::uint32_t x = any_array(), y = any_array();
  const RandomArray &a = arrays_[x], &b = arrays_[y];
  if (a.rows == 0 || b.rows == 0 || x == y || a.unit() != b.unit()) return;
  const bool store = chance(50), by_thread = chance(40);
  const Kind kind = store ? Kind::store : Kind::load;
  const std::uint32_t below = 1 + pick(threads_ - 1);
  const Threads first = by_thread ? (Threads{1} << below) - 1 : ~Threads{0};
  const Threads second = by_thread ? ~first : ~Threads{0};
  const Threads must = by_thread ? state_.must_run() : 0;
  SharedAccess to_a = access(kind, x, {}, 0, 0, a.unit(), state_.may_run() & first, must & first);
  SharedAccess to_b = access(kind, y, {}, 0, 0, a.unit(), state_.may_run() & second, must & second);
  if (!store && !(state_.writes_known(to_a) && state_.writes_known(to_b))) return;
  if (!ready(to_a) || !ready(to_b)) return;
  uses(Feature::selected_pointer);
  const std::string which = p(), to = r();
  if (by_thread) {
    emit("setp.lt.u32 {}, %t, {};", which, below);
  } else {
    const std::string bit = r();
    emit("and.b32 {}, %n, {};\nsetp.eq.u32 {}, {}, 0;", bit, 1u << pick(3), which, bit);
  }
  if (chance(50)) {
    const std::string base = r(), left = base_register(a), right = base_register(b);
    emit("selp.b32 {}, {}, {}, {};\nmad.lo.u32 {}, %t, {}, {};", base, left, right, which, to, a.unit(),
         base);
  } else {
    const std::string left = pointer(a, {}, ""), right = pointer(b, {}, "");
    emit("mov.u32 {}, {};\n@{} mov.u32 {}, {};", to, right, which, to, left);
  }
  const Form whole{a.type, a.width, a.lanes};
  const Address at{fmt::format("[{}]", to), ".shared"};
  if (store)
    emit_store(whole, at, "");
  else
    for (const std::string& piece : emit_load(whole, at, "", "")) mix(piece);
  record(std::move(to_a));
  record(std::move(to_b));
}

/// A pointer that a loop moves: over the rows of an array, or over its first units.
void PhaseWriter::walk() {
  const std::uint32_t array = any_array();
  const RandomArray& a = arrays_[array];
  if (a.rows == 0) return;
  const bool store = chance(40), over_rows = store || chance(50);
  const std::uint32_t steps = over_rows ? a.rows : std::min(threads_, 2 + pick(4));
  const std::uint32_t stride = over_rows ? threads_ * a.unit() : a.unit();
  SharedAccess all{store ? Kind::store : Kind::load, array, {}, {}, 0};
  for (std::uint32_t s = 0; s < steps; ++s) {
    const SharedAccess one =
        over_rows ? access(all.kind, array, {}, s, 0, a.unit(), state_.may_run(), state_.must_run())
                  : access(all.kind, array, {Index::fixed, s}, 0, 0, a.unit(), state_.may_run(), 0);
    all.possible.insert(all.possible.end(), one.possible.begin(), one.possible.end());
    all.certain.insert(all.certain.end(), one.certain.begin(), one.certain.end());
  }
  if ((!store && !state_.writes_known(all)) || !ready(all)) return;
  uses(Feature::carried_pointer);
  const Form whole{a.type, a.width, a.lanes};
  const bool generic = chance(30), ends_by_address = chance(40) && !generic;
  const std::string start = pointer(a, {over_rows ? Index::own : Index::fixed, 0}, ""), i = r(), again = p(),
                    head = label();
  std::string at = start;
  if (generic) {
    at = rd();
    emit("cvt.u64.u32 {}, {};\ncvta.shared.u64 {}, {};", at, start, at, at);
    uses(Feature::generic_address);
  }
  if (ends_by_address)
    emit("add.u32 {}, {}, {};", i, start, steps * stride);
  else
    emit("mov.u32 {}, 0;", i);
  emit("{}:", head);
  const Address here{fmt::format("[{}]", at), generic ? "" : ".shared"};
  if (store)
    emit_store(whole, here, "");
  else
    for (const std::string& piece : emit_load(whole, here, "", "")) mix(piece);
  emit("add.{} {}, {}, {};", generic ? "s64" : "u32", at, at, stride);
  if (ends_by_address)
    emit("setp.ne.u32 {}, {}, {};", again, at, i);
  else
    emit("add.u32 {}, {}, 1;\nsetp.lt.u32 {}, {}, {};", i, i, again, i, steps);
  emit("@{} bra {};", again, head);
  record(std::move(all));
}

/// Two arrays of which one is loaded and the other stored, by turns.
void PhaseWriter::swap_buffers() {
  const std::uint32_t x = any_array(), y = any_array();
  const RandomArray &a = arrays_[x], &b = arrays_[y];
  if (!may_synchronise() || a.rows == 0 || b.rows == 0 || x == y || a.unit() != b.unit() || iterations_ > 3)
    return;
  if (!fill(x, 0)) return;
  barrier();
  uses(Feature::swapped_pointers);
  const Form whole{a.type, a.width, a.lanes};
  const std::string from = r(), to = r(), swap = r(), i = r(), again = p(), head = label();
  const std::string of_a = base_register(a), of_b = base_register(b);
  emit("mov.u32 {}, {};\nmov.u32 {}, {};\nmov.u32 {}, 0;\n{}:", from, of_a, to, of_b, i, head);
  const std::string w = index_register({Index::shifted, 1 + pick(threads_ - 1)}, ""), load_at = r(),
                    store_at = r();
  emit("mad.lo.u32 {}, {}, {}, {};", load_at, w, a.unit(), from);
  for (const std::string& piece : emit_load(whole, {fmt::format("[{}]", load_at), ".shared"}, "", ""))
    mix(piece);
  emit("mad.lo.u32 {}, %t, {}, {};", store_at, a.unit(), to);
  emit_store(whole, {fmt::format("[{}]", store_at), ".shared"}, "");
  barrier();
  emit("mov.u32 {}, {};\nmov.u32 {}, {};\nmov.u32 {}, {};", swap, from, from, to, to, swap);
  emit("add.u32 {}, {}, 1;\nsetp.lt.u32 {}, {}, {};\n@{} bra {};", i, i, again, i, 1 + pick(3), again, head);
  if (state_.must_run() == all_) state_.write(access(Kind::store, y, {}, 0, 0, a.unit(), all_, all_));
}

/// Zeroed, then changed by all threads where data says.
void PhaseWriter::histogram() {
  const std::uint32_t array = any_array();
  const RandomArray& a = arrays_[array];
  if (a.rows == 0 || a.lanes != 1 || a.type[0] != 'u' || a.width < 4) return;
  if (!state_.writes_known(access(Kind::load, array, {Index::unknown, 0}, 0, 0, a.unit(), all_, all_)) &&
      !fill(array, 0))
    return;
  atomic(array);
}

void PhaseWriter::atomic(std::uint32_t array) {
  const RandomArray& a = arrays_[array];
  SharedAccess made = access(Kind::atomic, array, {Index::unknown, 0}, 0, 0, a.unit(), state_.may_run(), 0);
  static const std::array<const char*, 6> operations{"add", "min", "max", "and", "or", "xor"};
  const std::uint32_t which = made.operation = pick(6);
  if (!state_.writes_known(made) || !ready(made)) return;
  uses(Feature::atomic);
  const bool wide = a.width == 8;
  const std::string value = wide ? rd() : r();
  if (wide)
    emit("mul.wide.u32 {}, %acc, %acc;", value);
  else
    emit("xor.b32 {}, %acc, {};", value, pick(1000));
  const std::string type = fmt::format("{}{}", which < 3 ? 'u' : 'b', 8 * a.width);
  const Address at = address(a, {Index::unknown, 0}, 0, "");
  if (chance(60))
    emit("red{}.{}.{} {}, {};", at.space, operations[which], type, at.operand, value);
  else  // what it returns depends on the order of the threads, and is not used
    emit("atom{}.{}.{} {}, {}, {};", at.space, operations[which], type, wide ? rd() : r(), at.operand, value);
  record(std::move(made));
}

/// The sum of an array, by half as many threads in each step.
void PhaseWriter::tree_reduction() {
  const std::uint32_t array = any_array();
  const RandomArray& a = arrays_[array];
  if (!may_synchronise() || a.rows == 0 || a.lanes != 1 || a.type != "u32" ||
      !std::has_single_bit(threads_) || iterations_ > 3)
    return;
  if (!fill(array, 0)) return;
  barrier();
  uses(Feature::tree_reduction);
  const std::string half = r(), at = pointer(a, {}, ""), far = r(), left = r(), right = r(), some = p(),
                    again = p(), head = label(), over = label();
  emit("mov.u32 {}, {};\n{}:\nsetp.ge.u32 {}, %t, {};\n@{} bra {};", half, threads_ / 2, head, some, half,
       some, over);
  emit("mad.lo.u32 {}, {}, 4, {};\nld.shared.u32 {}, [{}];\nld.shared.u32 {}, [{}];", far, half, at, left, at,
       right, far);
  emit("add.u32 {}, {}, {};\nst.shared.u32 [{}], {};\n{}:", left, left, right, at, left, over);
  barrier();
  emit("shr.u32 {}, {}, 1;\nsetp.ne.u32 {}, {}, 0;\n@{} bra {};", half, half, again, half, again, head);
  load(array);
}

/// A device function: arithmetic, one with shared memory of its own, one with a barrier, one that is given an
/// address, one with an array and a barrier, one that names an array of the module.
void PhaseWriter::call() {
  const auto of_module = array_with([](const RandomArray& a) {
    return a.kind == RandomArray::Kind::of_module && a.rows != 0 && a.unit() >= 4;
  });
  // Few kernels have calls and such an array, so these often call the function that names it.
  const std::uint32_t which = of_module && chance(60) ? 5 : pick(5);
  const std::string result = r();
  std::string argument = "%acc";
  if (which == 2 && !may_synchronise()) return;
  std::optional<SharedAccess> made;
  if (which == 3) {
    const std::uint32_t array = any_array();
    if (arrays_[array].rows == 0 || arrays_[array].unit() < 4) return;
    made = access(Kind::load, array, {}, 0, 0, 4, state_.may_run(), 0);
    if (!state_.writes_known(*made) || !ready(*made)) return;
    argument = pointer(arrays_[array], {}, "");
  }
  if (which == 4) {
    if (!all_come()) return;
    uses(Feature::callee_array);
  }
  if (which == 5) {
    if (functions_[5] && *of_module != callee_array_) return;
    callee_array_ = *of_module;
    made = access(Kind::load, callee_array_, {}, 0, 0, 4, state_.may_run(), 0);
    if (!state_.writes_known(*made) && !fill(callee_array_, 0)) return;
    if (!state_.writes_known(*made) || !ready(*made)) return;
    uses(Feature::callee_of_module);
  }
  functions_[which] = true;
  uses(Feature::device_call);
  if (which == 1) uses(Feature::callee_with_shared);
  emit("{{\n.param .b32 argument;\n.param .b32 second;\n.param .b32 result;\nst.param.b32 [argument], {};",
       argument);
  emit(
      "st.param.b32 [second], %t;\ncall.uni (result), f{}, (argument, second);\nld.param.b32 {}, [result];\n}}",
      which, result);
  mix(result);
  if (made) record(std::move(*made));
  if (which != 2 && which != 4) return;
  state_.recent.clear();
  state_.open = state_.warp_open = 0;
}

}  // namespace warploom::oracle
