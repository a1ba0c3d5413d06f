#include "oracle/random_kernel_phases.hpp"

#include <algorithm>
#include <bit>

namespace warploom::oracle {

using Kind = SharedAccess::Kind;

PhaseWriter::PhaseWriter(std::uint64_t seed) : Writer(seed) {
  all_ = threads_ == 64 ? ~Threads{0} : (Threads{1} << threads_) - 1;
  exotic_ = chance(20);
  for (std::size_t a = 0; a < arrays_.size(); ++a)
    if (chance(30)) arrays_[a].base = fmt::format("%b{}", a);
  begin_anew();
}

void PhaseWriter::begin_anew() {
  state_ = {};
  accesses_.clear();
  loops_.clear();
  divergence_ = 0;
  state_.may = state_.must = state_.may_stay = state_.must_stay = all_;
  for (const RandomArray& a : arrays_) state_.written.emplace_back(a.bytes);
  state_.written_if.fill(state_.written);
}

void PhaseWriter::barrier() {
  // A thread that leaves is not counted; in a loop it may leave after this barrier, and before it comes
  // again.
  const bool all_stay = state_.must_stay == all_ && loops_.empty();
  const std::uint32_t whole_warps = (threads_ + 31) / 32 * 32;
  const std::uint32_t what = pick(100);
  if (what < 6) {
    const std::string in = p(), out = p();
    emit("setp.{}.u32 {}, %t, {};", chance(50) ? "lt" : "eq", in, pick(threads_));
    if (chance(50)) {
      emit("bar.red.{}.pred {}, 0, {};", chance(50) ? "and" : "or", out, in);
    } else {
      const std::string count = r();
      emit("bar.red.popc.u32 {}, 0, {};", count, in);
      mix(count);
    }
    uses(Feature::barrier_red);
  } else if (what < 14) {
    emit("barrier.sync 0;");
  } else if (exotic_ && what < 26) {
    emit("bar.sync 1;");
    uses(Feature::barrier_with_id);
  } else if (exotic_ && all_stay && what < 40) {
    emit("{} {}, {};", chance(50) ? "bar.sync" : "barrier.sync", pick(2), whole_warps);
    uses(Feature::barrier_with_count);
  } else {
    emit("bar.sync 0;");
  }
  state_.recent.clear();
  state_.open = state_.warp_open = 0;
}

void PhaseWriter::warp_barrier() {
  emit("bar.warp.sync 0xffffffff;");
  uses(Feature::warp_barrier);
  for (Knowledge::Recent& r : state_.recent) r.warp_barrier = true;
  state_.warp_open = 0;
}

bool PhaseWriter::ready(const SharedAccess& access) {
  bool conflicts = false, with_warp_barrier = false;
  for (const Knowledge::Recent& r : state_.recent) {
    conflicts = conflicts || conflict(accesses_[r.access], access, r.warp_barrier);
    with_warp_barrier = with_warp_barrier || conflict(accesses_[r.access], access, true);
  }
  if (!conflicts) return true;
  if (!may_synchronise()) return false;
  if (!with_warp_barrier && chance(15))
    warp_barrier();
  else
    barrier();
  return true;
}

void PhaseWriter::record(SharedAccess access) {
  const auto id = static_cast<std::uint32_t>(accesses_.size());
  if (access.kind == Kind::store) state_.write(access);
  state_.recent.push_back({id, false});
  for (std::size_t l = 0; l < loops_.size(); ++l)
    if ((state_.open >> l & 1) != 0) loops_[l].prefix.push_back({id, (state_.warp_open >> l & 1) != 0});
  accesses_.push_back(std::move(access));
}

bool PhaseWriter::runs_into_next(const Loop& loop) const {
  for (const Knowledge::Recent& r : state_.recent)
    for (const Loop::Exposed& e : loop.prefix)
      if (conflict(accesses_[r.access], accesses_[e.access], r.warp_barrier || !e.warp_open)) return true;
  return false;
}

std::uint32_t PhaseWriter::any_array() {
  const auto usable = [&](std::uint32_t a) {
    const RandomArray& array = arrays_[a];
    return !array.retired && !array.locked &&
           (array.loop == 0 ||
            std::any_of(loops_.begin(), loops_.end(), [&](const Loop& l) { return l.number == array.loop; }));
  };
  const auto count = static_cast<std::uint32_t>(arrays_.size());
  if (!loops_.empty() && chance(40))
    for (std::uint32_t a = 0; a < count; ++a)
      if (arrays_[a].loop == loops_.back().number && !arrays_[a].locked) return a;
  if (chance(15)) hot_[pick(2)] = pick(count);
  const std::uint32_t hot = chance(75) ? hot_[pick(2)] : pick(count);
  for (std::uint32_t a = 0; a < count; ++a)
    if (usable((hot + a) % count)) return (hot + a) % count;
  // All are over: nothing of them is written any more, and they are stored anew.
  for (std::uint32_t a = 0; a < count; ++a)
    if (!arrays_[(hot + a) % count].locked) return (hot + a) % count;
  return hot;
}

SharedAccess PhaseWriter::access(Kind kind, std::uint32_t array, const Index& index, std::uint32_t row,
                                 std::uint32_t offset, std::uint32_t bytes, Threads may, Threads must) const {
  const RandomArray& a = arrays_[array];
  SharedAccess made{kind, array, {}, {}, 0};
  const std::uint32_t begin = row * threads_ * a.unit();
  const std::uint32_t turns = index.kind == Index::rotating ? loops_.back().turns : 1;
  for (std::uint32_t t = 0; t < threads_; ++t) {
    if ((may >> t & 1) == 0) continue;
    if (index.kind == Index::unknown) {
      made.possible.push_back({t, begin, begin + threads_ * a.unit()});
      continue;
    }
    for (std::uint32_t turn = 0; turn < turns; ++turn) {
      const std::uint32_t at = begin + unit_of(index, t, turn) * a.unit() + offset;
      made.possible.push_back({t, at, at + bytes});
      // Turned by whatever number, all units are stored, if by all threads.
      if (kind == Kind::store && turn == 0 && (turns == 1 ? (must >> t & 1) != 0 : must == all_))
        made.certain.push_back(made.possible.back());
    }
  }
  return made;
}

Index PhaseWriter::any_index(const RandomArray& array, bool store) {
  if (array.rows == 0) return {Index::fixed, pick(4)};
  if (chance(35)) return {Index::own, 0};
  Index index{static_cast<Index::Kind>(pick(Index::kinds)), 0};
  if (index.kind == Index::unknown && (store || chance(50))) index.kind = Index::own;
  if (index.kind == Index::rotating && loops_.empty()) index.kind = Index::shifted;
  if (index.kind == Index::swapped && !std::has_single_bit(threads_)) index.kind = Index::shifted;
  if (store && (index.kind == Index::halved || index.kind == Index::fixed)) index.kind = Index::own;
  if (index.kind == Index::swapped || index.kind == Index::shifted) index.parameter = 1 + pick(threads_ - 1);
  if (index.kind == Index::fixed) index.parameter = pick(std::min(threads_, 4u));
  if (index.kind == Index::unknown) uses(Feature::unknown_index);
  return index;
}

void PhaseWriter::store() {
  const std::uint32_t array = any_array();
  const RandomArray& a = arrays_[array];
  if (a.rows == 0) return store_by_one(array, pick(4));
  const Index index = any_index(a, true);
  const std::uint32_t row = pick(a.rows);
  const Form form = this->form(a);
  const std::uint32_t offset = form.bytes() * pick(a.unit() / form.bytes());
  Threads guarded = ~Threads{0};
  const std::uint32_t below = 1 + pick(threads_ - 1);
  const bool some = chance(15);
  if (some) guarded = (Threads{1} << below) - 1;
  SharedAccess made = access(Kind::store, array, index, row, offset, form.bytes(), state_.may_run() & guarded,
                             some && index.kind == Index::rotating ? 0 : state_.must_run() & guarded);
  if (!ready(made)) return;
  const std::string guard = some ? guard_below(below) : "";
  const Address at = address(a, index, row * threads_ * a.unit() + offset, counter());
  emit_store(form, at, guard);
  record(std::move(made));
}

std::string PhaseWriter::guard_below(std::uint32_t threads) {
  const std::string some = p();
  if (chance(50)) {
    emit("setp.lt.u32 {}, %t, {};", some, threads);
    return fmt::format("@{} ", some);
  }
  emit("setp.ge.u32 {}, %t, {};", some, threads);
  return fmt::format("@!{} ", some);
}

void PhaseWriter::store_by_one(std::uint32_t array, std::uint32_t unit) {
  const RandomArray& a = arrays_[array];
  const std::uint32_t thread = pick(2);
  const Threads one = Threads{1} << thread;
  SharedAccess made = access(Kind::store, array, {Index::fixed, unit}, 0, 0, a.unit(), state_.may_run() & one,
                             state_.must_run() & one);
  if (!ready(made)) return;
  const std::string guard = p();
  emit("setp.eq.u32 {}, %t, {};", guard, thread);
  const Form whole{a.type, a.width, a.lanes};
  if (chance(50)) {
    const Address at = address(a, {Index::fixed, unit}, 0, counter());
    emit_store(whole, at, fmt::format("@{} ", guard));
  } else {
    const std::string over = label();
    emit("@!{} bra {};", guard, over);
    const Address at = address(a, {Index::fixed, unit}, 0, counter());
    emit_store(whole, at, "");
    emit("{}:", over);
  }
  record(std::move(made));
}

/// Stores a whole row, each thread a unit. False if it cannot be done here.
bool PhaseWriter::fill(std::uint32_t array, std::uint32_t row) {
  const RandomArray& a = arrays_[array];
  Index index = any_index(a, true);
  if (index.kind == Index::rotating) index.kind = Index::own;
  SharedAccess made =
      access(Kind::store, array, index, row, 0, a.unit(), state_.may_run(), state_.must_run());
  if (!ready(made)) return false;
  if (a.lanes > 1) uses(Feature::vector_access);
  const Address at = address(a, index, row * threads_ * a.unit(), counter());
  emit_store({a.type, a.width, a.lanes}, at, "");
  record(std::move(made));
  return true;
}

void PhaseWriter::load(std::uint32_t array) {
  const RandomArray& a = arrays_[array];
  const Index index = any_index(a, false);
  const std::uint32_t row = a.rows == 0 ? 0 : pick(a.rows);
  const Form form = this->form(a);
  const std::uint32_t offset = form.bytes() * pick(a.unit() / form.bytes());
  SharedAccess made =
      access(Kind::load, array, index, row, offset, form.bytes(), state_.may_run(), state_.must_run());
  if (!state_.writes_known(made)) {
    if (!loops_.empty() && loops_.back().divergence == divergence_ && chance(30)) carried_load(array);
    return;
  }
  if (!ready(made)) return;
  const Address at = address(a, index, row * threads_ * a.unit() + offset, counter());
  for (const std::string& piece : emit_load(form, at, "", "")) mix(piece);
  record(std::move(made));
}

/// Loads what the iteration before stored; the first iteration does without.
void PhaseWriter::carried_load(std::uint32_t array) {
  const RandomArray& a = arrays_[array];
  Index index = any_index(a, false);
  if (index.kind == Index::rotating || index.kind == Index::unknown) index.kind = Index::own;
  const Form whole{a.type, a.width, a.lanes};
  SharedAccess made = access(Kind::load, array, index, 0, 0, a.unit(), state_.may_run(), 0);
  if (!ready(made)) return;
  uses(Feature::carried_load);
  const std::string later = p();
  emit("setp.ne.u32 {}, {}, 0;", later, counter());
  const Address at = address(a, index, 0, counter());
  if (whole.lanes == 1 && whole.type == "u32" && chance(40)) {  // as compilers do: load early, select later
    const std::string value = emit_load(whole, at, "", "").front();
    emit("selp.b32 {}, {}, 7, {};", value, value, later);
    mix(value);
  } else if (chance(50)) {
    for (const std::string& piece : emit_load(whole, at, fmt::format("@{} ", later), "9")) mix(piece);
  } else {
    const std::string over = label();
    emit("@!{} bra {};", later, over);
    for (const std::string& piece : emit_load(whole, at, "", "")) mix(piece);
    emit("{}:", over);
  }
  loops_.back().debts.push_back(made);
  record(std::move(made));
}

/// Stores what the next iteration loads, unless it is stored. False if it cannot be done here.
bool PhaseWriter::pay(const SharedAccess& debt) {
  if (state_.writes_known(debt)) return true;
  const RandomArray& a = arrays_[debt.array];
  if (a.rows != 0) {
    fill(debt.array, 0);
  } else {
    for (std::uint32_t unit = 0; unit < 4; ++unit) store_by_one(debt.array, unit);
  }
  return state_.writes_known(debt);
}

/// One array stored as a whole, then loaded by other threads.
void PhaseWriter::phase() {
  const std::uint32_t array = any_array();
  const RandomArray& a = arrays_[array];
  if (a.rows == 0)
    store_by_one(array, pick(4));
  else
    for (std::uint32_t row = 0; row < a.rows; ++row)
      if (!fill(array, row)) return;
  for (std::uint32_t k = 1 + pick(3); k > 0; --k) load(array);
}

/// Writes a value where the host sees it.
void PhaseWriter::report() {
  emit("st.global.u32 [%out+{}], %acc;", 4 * (1 + pick(RandomKernel::kOutWords - 1)));
}

}  // namespace warploom::oracle
