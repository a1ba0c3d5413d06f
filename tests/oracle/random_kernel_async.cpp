// Uses of shared memory that do not wait: copies in groups, mbarriers, and matrices loaded by whole warps.

#include <algorithm>
#include <bit>

#include "oracle/random_kernel_phases.hpp"

namespace warploom::oracle {

using Kind = SharedAccess::Kind;

bool PhaseWriter::all_come() const {
  return may_synchronise() && loops_.empty() && state_.must_stay == all_ && state_.must_run() == all_;
}

std::string PhaseWriter::source(std::uint32_t bytes) {
  const std::string w = r(), wide = rd();
  emit("add.u32 {}, %t, {};\nand.b32 {}, {}, {};", w, pick(64), w, w,
       4 * RandomKernel::kDataWords / bytes - 1);
  emit("mul.wide.u32 {}, {}, {};\nadd.s64 {}, %data, {};", wide, w, bytes, wide, wide);
  return wide;
}

void PhaseWriter::emit_copies(std::uint32_t array, std::uint32_t row) {
  const RandomArray& a = arrays_[array];
  const std::uint32_t bytes = a.unit(), offset = row * threads_ * bytes;
  const std::string from = source(bytes), to = pointer(a, {}, "");
  const std::string plus = offset == 0 ? "" : fmt::format("+{}", offset);
  const std::uint32_t part = chance(20) ? pick(bytes + 1) : bytes;  // the rest becomes zero
  emit("cp.async.{}.shared.global [{}{}], [{}], {}{};", bytes == 16 && chance(50) ? "cg" : "ca", to, plus,
       from, bytes, part == bytes ? "" : fmt::format(", {}", part));
}

/// Rows that are on their way while other arrays are used; they are there after the wait.
void PhaseWriter::async_copy() {
  const std::uint32_t array = any_array();
  RandomArray& a = arrays_[array];
  if (a.locked || a.rows == 0 || a.unit() < 4) return;
  SharedAccess all{Kind::store, array, {}, {}, 0};
  for (std::uint32_t row = 0; row < a.rows; ++row) {
    const SharedAccess one =
        access(Kind::store, array, {}, row, 0, a.unit(), state_.may_run(), state_.must_run());
    all.possible.insert(all.possible.end(), one.possible.begin(), one.possible.end());
    all.certain.insert(all.certain.end(), one.certain.begin(), one.certain.end());
  }
  if (!ready(all)) return;
  uses(Feature::async_copy);
  const bool groups = chance(70);
  for (std::uint32_t row = 0; row < a.rows; ++row) emit_copies(array, row);
  if (groups) emit("cp.async.commit_group;");
  record(SharedAccess(all));  // it may land any time from now on
  a.locked = true;
  for (std::uint32_t k = pick(4); k > 0; --k) {
    const std::uint32_t other = any_array();
    if (arrays_[other].locked) continue;
    const std::uint32_t what = pick(3);
    what == 0 ? store() : what == 1 ? load(other) : phase();
  }
  arrays_[array].locked = false;
  emit("cp.async.{};", groups && chance(60) ? "wait_group 0" : "wait_all");
  record(std::move(all));
  if (may_synchronise() && chance(60)) barrier();
  load(array);
}

/// Two arrays by turns: one is filled while the other is read.
void PhaseWriter::async_pipeline() {
  if (!may_synchronise() || state_.must_run() != all_ || iterations_ > 3) return;
  const auto first = array_with([](const RandomArray& a) { return a.rows != 0 && a.unit() >= 4; });
  if (!first) return;
  const auto second = array_with([&](const RandomArray& b) {
    return &b != &arrays_[*first] && b.rows != 0 && b.unit() == arrays_[*first].unit();
  });
  if (!second) return;
  const std::uint32_t x = *first, y = *second;
  uses(Feature::async_pipeline);
  barrier();
  emit_copies(x, 0);
  emit("cp.async.commit_group;");
  std::uint32_t now = x, next = y;
  const std::uint32_t steps = 2 + pick(3);
  for (std::uint32_t s = 0; s < steps; ++s) {
    if (s + 1 < steps) emit_copies(next, 0);
    emit("cp.async.commit_group;\ncp.async.wait_group 1;");
    barrier();
    const RandomArray& here = arrays_[now];
    const Address at = address(here, {chance(50) ? Index::mirrored : Index::own, 0}, 0, "");
    for (const std::string& piece : emit_load({here.type, here.width, here.lanes}, at, "", "")) mix(piece);
    barrier();
    std::swap(now, next);
  }
  emit("cp.async.wait_all;");
  for (const std::uint32_t array : {x, y})
    state_.write(access(Kind::store, array, {}, 0, 0, arrays_[array].unit(), all_, all_));
}

/// Arrives at the mbarrier, and waits for the end of its phase.
void PhaseWriter::emit_phase_wait(const std::string& barrier, std::uint32_t round, bool with_copies) {
  const std::string done = p(), again = label();
  if (with_copies) {
    uses(Feature::async_mbarrier);
    emit("cp.async.mbarrier.arrive.noinc.shared.b64 [{}];", barrier);
  }
  const std::string token = rd();
  if (!with_copies)
    emit("mbarrier.arrive{}.shared.b64 {}, [{}];", chance(30) ? ".release.cta" : "", token, barrier);
  emit("{}:", again);
  if (with_copies || chance(50))
    emit("mbarrier.test_wait.parity.shared.b64 {}, [{}], {};", done, barrier, round & 1);
  else
    emit("mbarrier.test_wait.shared.b64 {}, [{}], {};", done, barrier, token);
  emit("@!{} bra {};", done, again);
  state_.recent.clear();
}

/// An mbarrier by itself or in an array's first bytes, from its init to its inval: rounds in which arrays are
/// stored, or copied to, and loaded by other threads.
void PhaseWriter::mbarrier_rounds() {
  if (!all_come()) return;
  const auto found = array_with([](const RandomArray& a) { return a.unit() % 8 == 0; });
  const bool in_array = found && chance(60);
  const std::uint32_t home = found.value_or(0);
  std::string where = fmt::format("mb{}", mbarriers_);
  SharedAccess made{Kind::store, home, {{0, 0, 8}}, {}, 0};
  if (in_array) {
    if (!ready(made)) return;
    where = arrays_[home].name + "+0";
    arrays_[home].locked = true;
    uses(Feature::mbarrier_in_array);
  } else {
    ++mbarriers_;
  }
  uses(Feature::mbarrier);
  const std::string first = p();
  emit("setp.eq.u32 {}, %t, 0;", first);
  if (chance(50)) {  // through a register
    const std::string to = r();
    emit("mov.u32 {}, {};", to, where);
    where = to;
  }
  emit("@{} mbarrier.init.shared.b64 [{}], {};", first, where, threads_);
  barrier();
  for (std::uint32_t round = 0, rounds = 1 + pick(3); round < rounds; ++round) {
    const std::uint32_t array = any_array();
    const RandomArray& a = arrays_[array];
    if (a.locked || a.rows == 0) break;
    const bool copies = a.unit() >= 4 && chance(40);
    SharedAccess stored = access(Kind::store, array, {}, 0, 0, a.unit(), all_, all_);
    if (copies) {
      if (!ready(stored)) break;
      emit_copies(array, 0);
    } else if (!fill(array, 0)) {
      break;
    }
    emit_phase_wait(where, round, copies);
    if (copies) state_.write(stored);
    load(array);
  }
  barrier();
  emit("@{} mbarrier.inval.shared.b64 [{}];", first, where);
  barrier();
  if (!in_array) return;
  arrays_[home].locked = false;
  state_.forget(home, 0, 8);
}

/// Eight or 32 rows of 16 bytes, one a lane, that all lanes of a warp get pieces of.
void PhaseWriter::matrix_load() {
  const auto found = array_with([](const RandomArray& a) { return a.unit() == 16 && a.rows != 0; });
  if (threads_ % 32 != 0 || divergence_ != 0 || state_.must_run() != all_ || !found) return;
  const std::uint32_t array = *found;
  const RandomArray& a = arrays_[array];
  SharedAccess made{Kind::load, array, {}, {}, 0};
  for (std::uint32_t t = 0; t < threads_; ++t) {
    const std::uint32_t warp = t / 32 * 32 * 16;
    made.possible.push_back({t, warp, warp + 32 * 16});
  }
  if ((!state_.writes_known(made) && !fill(array, 0)) || !ready(made)) return;
  uses(Feature::matrix_load);
  const std::string at = pointer(a, {}, "");
  const std::string transposed = chance(30) ? ".trans" : "";
  std::vector<std::string> pieces;
  for (std::uint32_t k = chance(50) ? 4 : 1; k > 0; --k) pieces.push_back(r());
  emit("ldmatrix.sync.aligned.m8n8.x{}{}.shared.b16 {{{}}}, [{}];", pieces.size(), transposed,
       fmt::join(pieces, ", "), at);
  for (const std::string& piece : pieces) mix(piece);
  record(std::move(made));
}

/// The first bytes of an array come by a bulk copy of one thread; the others wait at an mbarrier.
void PhaseWriter::bulk_load() {
  if (!all_come()) return;
  const auto found = array_with([](const RandomArray& a) { return a.align >= 16 && a.bytes >= 16; });
  if (!found) return;
  const std::uint32_t array = *found;
  const RandomArray& a = arrays_[array];
  const std::uint32_t bytes = std::min(a.bytes, 4 * RandomKernel::kDataWords) / 16 * 16;
  SharedAccess made{Kind::store, array, {{0, 0, bytes}}, {{0, 0, bytes}}, 0};
  if (!ready(made)) return;
  uses(Feature::bulk_load);
  const std::string where = fmt::format("mb{}", mbarriers_++), first = p(), from = rd();
  emit("setp.eq.u32 {}, %t, 0;", first);
  emit("@{} mbarrier.init.shared.b64 [{}], 1;", first, where);
  const bool fresh = std::none_of(accesses_.begin(), accesses_.end(),
                                  [&](const SharedAccess& s) { return s.array == array; });
  if (!fresh || chance(50)) emit("fence.proxy.async;");
  barrier();
  emit("add.s64 {}, %data, {};", from, 16 * pick((4 * RandomKernel::kDataWords - bytes) / 16 + 1));
  const std::string to = base_register(a);
  emit("@{} mbarrier.arrive.expect_tx.shared.b64 _, [{}], {};", first, where, bytes);
  emit("@{} cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [{}], [{}], {}, [{}];", first,
       to, from, bytes, where);
  // Meanwhile others are used.
  arrays_[array].locked = true;
  for (std::uint32_t k = pick(3); k > 0; --k) {
    const std::uint32_t other = any_array();
    if (arrays_[other].locked) continue;
    const std::uint32_t what = pick(3);
    what == 0 ? store() : what == 1 ? load(other) : phase();
  }
  arrays_[array].locked = false;
  const std::string done = p(), again = label();
  emit("{}:\nmbarrier.try_wait.parity.shared.b64 {}, [{}], 0;\n@!{} bra {};", again, done, where, done,
       again);
  record(std::move(made));
  state_.recent.clear();
  barrier();
  if (chance(50)) emit("@{} mbarrier.inval.shared.b64 [{}];", first, where);
  load(array);
}

/// One thread copies an array's first bytes to where its results lie.
void PhaseWriter::bulk_store() {
  if (!all_come()) return;
  const auto found =
      array_with([](const RandomArray& a) { return a.unit() == 16 && a.align >= 16 && a.rows != 0; });
  if (!found) return;
  SharedAccess made{Kind::load, *found, {{0, 0, 16}}, {}, 0};
  if (!state_.writes_known(made) && !fill(*found, 0)) return;
  if (!state_.writes_known(made) || !ready(made)) return;
  uses(Feature::bulk_store);
  const std::string first = p(), to = base_register(arrays_[*found]);
  emit("setp.eq.u32 {}, %t, 0;\nfence.proxy.async;", first);
  barrier();
  const std::string over = label();
  emit(
      "@!{} bra {};\ncp.async.bulk.global.shared::cta.bulk_group [%out], [{}], 16;\ncp.async.bulk.commit_group;",
      first, over, to);
  const bool read_only = chance(50);  // only what it reads is over
  emit("cp.async.bulk.wait_group{} 0;\n{}:", read_only ? ".read" : "", over);
  record(std::move(made));
  barrier();
  if (!read_only) return;
  if (chance(70)) phase();
  emit("@{} cp.async.bulk.wait_group 0;", first);
}

}  // namespace warploom::oracle
