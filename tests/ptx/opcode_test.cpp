// decode() against the instruction tables of the PTX ISA, version 9.0.

#include "warploom/ptx/opcode.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>

namespace warploom::ptx {
namespace {

struct Row {
  std::string_view text;
  Op op;
  Space space;
  int bytes, vector, destinations;
};

// clang-format off
constexpr Row kRows[] = {
    // Loads and stores.
    {"ld.f32", Op::ld, Space::generic, 4, 1, 1},
    {"ld.param.u64", Op::ld, Space::param, 8, 1, 1},
    {"ld.param::entry.b8", Op::ld, Space::param, 1, 1, 1},
    {"ld.param::func.b32", Op::ld, Space::param, 4, 1, 1},
    {"ld.const.v2.f64", Op::ld, Space::constant, 8, 2, 1},
    {"ld.local.s16", Op::ld, Space::local, 2, 1, 1},
    {"ld.shared.v4.f32", Op::ld, Space::shared, 4, 4, 1},
    {"ld.shared::cta.u8", Op::ld, Space::shared, 1, 1, 1},
    {"ld.shared::cluster.u32", Op::ld, Space::shared_cluster, 4, 1, 1},
    {"ld.global.nc.L1::no_allocate.L2::cache_hint.L2::256B.v8.b32", Op::ld, Space::global, 4, 8, 1},
    {"ld.acquire.gpu.global.b128", Op::ld, Space::global, 16, 1, 1},
    {"ld.mmio.relaxed.sys.global.u32", Op::ld, Space::global, 4, 1, 1},
    {"ldu.global.v4.u32", Op::ldu, Space::global, 4, 4, 1},
    {"st.u64", Op::st, Space::generic, 8, 1, 0},
    {"st.param.b32", Op::st, Space::param, 4, 1, 0},
    {"st.shared.v2.b16", Op::st, Space::shared, 2, 2, 0},
    {"st.release.cta.shared::cta.b32", Op::st, Space::shared, 4, 1, 0},
    {"st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v4.b32", Op::st, Space::shared_cluster, 4, 4, 0},
    {"st.bulk.weak.shared::cta", Op::st, Space::shared, 0, 1, 0},
    {"prefetch.global.L2::evict_last", Op::prefetch, Space::global, 0, 1, 0},
    {"prefetch.tensormap", Op::prefetch, Space::generic, 0, 1, 0},
    {"prefetchu.L1", Op::prefetchu, Space::generic, 0, 1, 0},
    {"applypriority.global.L2::evict_normal", Op::applypriority, Space::global, 0, 1, 0},
    {"discard.global.L2", Op::discard, Space::global, 0, 1, 0},
    {"createpolicy.fractional.L2::evict_last.b64", Op::createpolicy, Space::none, 8, 1, 1},
    // Atomics.
    {"atom.add.f32", Op::atom, Space::generic, 4, 1, 1},
    {"atom.shared.cas.b64", Op::atom, Space::shared, 8, 1, 1},
    {"atom.acq_rel.cluster.shared::cluster.exch.b128", Op::atom, Space::shared_cluster, 16, 1, 1},
    {"atom.global.v4.f32.add", Op::atom, Space::global, 4, 4, 1},
    {"atom.global.v2.add.noftz.bf16x2", Op::atom, Space::global, 4, 2, 1},
    {"red.shared.max.s32", Op::red, Space::shared, 4, 1, 0},
    {"red.global.add.noftz.f16x2", Op::red, Space::global, 4, 1, 0},
    {"red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u32", Op::red, Space::shared_cluster, 4, 1, 0},
    {"multimem.ld_reduce.global.add.acc::f32.v4.f16x2", Op::multimem, Space::global, 4, 4, 1},
    {"multimem.st.weak.global.f32", Op::multimem, Space::global, 4, 1, 0},
    {"multimem.red.relaxed.sys.add.u64", Op::multimem, Space::generic, 8, 1, 0},
    // Addresses.
    {"cvta.to.shared.u64", Op::cvta, Space::shared, 8, 1, 1},
    {"cvta.param.u64", Op::cvta, Space::param, 8, 1, 1},
    {"isspacep.shared::cluster", Op::isspacep, Space::shared_cluster, 0, 1, 1},
    {"mapa.shared::cluster.u32", Op::mapa, Space::shared_cluster, 4, 1, 1},
    {"mapa.u64", Op::mapa, Space::generic, 8, 1, 1},
    {"getctarank.shared::cluster.u32", Op::getctarank, Space::shared_cluster, 4, 1, 1},
    {"alloca.u32", Op::alloca_, Space::none, 4, 1, 1},
    {"stacksave.u32", Op::stacksave, Space::none, 4, 1, 1},
    {"stackrestore.u32", Op::stackrestore, Space::none, 4, 1, 0},
    // Copies: the destination's space.
    {"cp.async.ca.shared.global", Op::cp, Space::shared, 0, 1, 0},
    {"cp.async.cg.shared::cta.global.L2::128B", Op::cp, Space::shared, 0, 1, 0},
    {"cp.async.commit_group", Op::cp, Space::none, 0, 1, 0},
    {"cp.async.wait_group", Op::cp, Space::none, 0, 1, 0},
    {"cp.async.wait_all", Op::cp, Space::none, 0, 1, 0},
    {"cp.async.mbarrier.arrive.noinc.shared::cta.b64", Op::cp, Space::shared, 8, 1, 0},
    {"cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes", Op::cp, Space::shared_cluster, 0, 1, 0},
    {"cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes", Op::cp, Space::shared, 0, 1, 0},
    {"cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes", Op::cp, Space::shared_cluster, 0, 1, 0},
    {"cp.async.bulk.global.shared::cta.bulk_group", Op::cp, Space::global, 0, 1, 0},
    {"cp.reduce.async.bulk.global.shared::cta.bulk_group.add.noftz.f16", Op::cp, Space::global, 2, 1, 0},
    {"cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.add.u64", Op::cp, Space::shared_cluster, 8, 1, 0},
    {"cp.async.bulk.prefetch.L2.global", Op::cp, Space::global, 0, 1, 0},
    {"cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster", Op::cp, Space::shared_cluster, 0, 1, 0},
    {"cp.async.bulk.tensor.1d.global.shared::cta.tile.bulk_group", Op::cp, Space::global, 0, 1, 0},
    {"cp.reduce.async.bulk.tensor.1d.global.shared::cta.add.tile.bulk_group", Op::cp, Space::global, 0, 1, 0},
    {"cp.async.bulk.prefetch.tensor.3d.L2.global.tile", Op::cp, Space::global, 0, 1, 0},
    {"cp.async.bulk.commit_group", Op::cp, Space::none, 0, 1, 0},
    {"cp.async.bulk.wait_group.read", Op::cp, Space::none, 0, 1, 0},
    {"tensormap.replace.tile.global_address.shared::cta.b1024.b64", Op::tensormap, Space::shared, 8, 1, 0},
    {"tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned", Op::tensormap, Space::global, 0, 1, 0},
    // Matrices.
    {"ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16", Op::ldmatrix, Space::shared, 2, 1, 1},
    {"ldmatrix.sync.aligned.m8n16.x1.shared::cta.b8x16.b6x16_p32", Op::ldmatrix, Space::shared, 16, 1, 1},
    {"stmatrix.sync.aligned.m16n8.x2.trans.shared::cta.b8", Op::stmatrix, Space::shared, 1, 1, 0},
    {"movmatrix.sync.aligned.m8n8.trans.b16", Op::movmatrix, Space::none, 2, 1, 1},
    {"wmma.load.a.sync.aligned.row.m16n16k16.shared.f16", Op::wmma, Space::shared, 2, 1, 1},
    {"wmma.store.d.sync.aligned.row.m16n16k16.f32", Op::wmma, Space::generic, 4, 1, 0},
    {"wmma.mma.sync.aligned.row.col.m16n16k16.f32.f16", Op::wmma, Space::none, 2, 1, 1},
    {"mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32", Op::mma, Space::none, 4, 1, 1},
    {"mma.sp::ordered_metadata.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32", Op::mma, Space::none, 4, 1, 1},
    {"wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16", Op::wgmma, Space::none, 2, 1, 1},
    {"wgmma.mma_async.sp.sync.aligned.m64n8k32.f32.f16.f16", Op::wgmma, Space::none, 2, 1, 1},
    {"wgmma.fence.sync.aligned", Op::wgmma, Space::none, 0, 1, 0},
    {"wgmma.commit_group.sync.aligned", Op::wgmma, Space::none, 0, 1, 0},
    {"wgmma.wait_group.sync.aligned", Op::wgmma, Space::none, 0, 1, 0},
    {"tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32", Op::tcgen05, Space::shared, 4, 1, 0},
    {"tcgen05.alloc.cta_group::1.sync.aligned.b32", Op::tcgen05, Space::generic, 4, 1, 0},
    {"tcgen05.dealloc.cta_group::1.sync.aligned.b32", Op::tcgen05, Space::none, 4, 1, 0},
    {"tcgen05.ld.sync.aligned.16x64b.x1.b32", Op::tcgen05, Space::none, 4, 1, 1},
    {"tcgen05.ld.red.sync.aligned.32x32b.x2.max.f32", Op::tcgen05, Space::none, 4, 1, 2},
    {"tcgen05.st.sync.aligned.32x32b.x2.unpack::16b.b32", Op::tcgen05, Space::none, 4, 1, 0},
    {"tcgen05.cp.cta_group::1.128x256b", Op::tcgen05, Space::none, 0, 1, 0},
    {"tcgen05.mma.cta_group::1.kind::f16", Op::tcgen05, Space::none, 0, 1, 0},
    {"tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64", Op::tcgen05, Space::shared_cluster, 8, 1, 0},
    {"tcgen05.wait::ld.sync.aligned", Op::tcgen05, Space::none, 0, 1, 0},
    {"tcgen05.fence::before_thread_sync", Op::tcgen05, Space::none, 0, 1, 0},
    // Barriers, fences, votes.
    {"bar.sync", Op::bar, Space::none, 0, 1, 0},
    {"bar.arrive", Op::bar, Space::none, 0, 1, 0},
    {"bar.red.popc.u32", Op::bar, Space::none, 4, 1, 1},
    {"bar.cta.red.and.pred", Op::bar, Space::none, 1, 1, 1},
    {"bar.warp.sync", Op::bar, Space::none, 0, 1, 0},
    {"barrier.sync.aligned", Op::barrier, Space::none, 0, 1, 0},
    {"barrier.red.or.pred", Op::barrier, Space::none, 1, 1, 1},
    {"barrier.cluster.arrive.release.aligned", Op::barrier, Space::none, 0, 1, 0},
    {"barrier.cluster.wait", Op::barrier, Space::none, 0, 1, 0},
    {"membar.gl", Op::membar, Space::none, 0, 1, 0},
    {"fence.acq_rel.gpu", Op::fence, Space::none, 0, 1, 0},
    {"fence.proxy.async.shared::cta", Op::fence, Space::shared, 0, 1, 0},
    {"vote.sync.ballot.b32", Op::vote, Space::none, 4, 1, 1},
    {"match.all.sync.b64", Op::match, Space::none, 8, 1, 1},
    {"activemask.b32", Op::activemask, Space::none, 4, 1, 1},
    {"elect.sync", Op::elect, Space::none, 0, 1, 1},
    {"redux.sync.add.s32", Op::redux, Space::none, 4, 1, 1},
    {"shfl.sync.bfly.b32", Op::shfl, Space::none, 4, 1, 1},
    {"griddepcontrol.wait", Op::griddepcontrol, Space::none, 0, 1, 0},
    {"clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes.b128", Op::clusterlaunchcontrol, Space::shared, 16, 1, 0},
    {"clusterlaunchcontrol.query_cancel.is_canceled.pred.b128", Op::clusterlaunchcontrol, Space::none, 16, 1, 1},
    {"clusterlaunchcontrol.query_cancel.get_first_ctaid.v4.b32.b128", Op::clusterlaunchcontrol, Space::none, 16, 4, 1},
    {"mbarrier.init.shared::cta.b64", Op::mbarrier, Space::shared, 8, 1, 0},
    {"mbarrier.inval.shared.b64", Op::mbarrier, Space::shared, 8, 1, 0},
    {"mbarrier.expect_tx.relaxed.cta.shared::cta.b64", Op::mbarrier, Space::shared, 8, 1, 0},
    {"mbarrier.complete_tx.shared::cluster.b64", Op::mbarrier, Space::shared_cluster, 8, 1, 0},
    {"mbarrier.arrive.shared.b64", Op::mbarrier, Space::shared, 8, 1, 1},
    {"mbarrier.arrive.release.cluster.shared::cluster.b64", Op::mbarrier, Space::shared_cluster, 8, 1, 1},
    {"mbarrier.arrive.expect_tx.b64", Op::mbarrier, Space::generic, 8, 1, 1},
    {"mbarrier.arrive_drop.noComplete.shared.b64", Op::mbarrier, Space::shared, 8, 1, 1},
    {"mbarrier.test_wait.parity.shared::cta.b64", Op::mbarrier, Space::shared, 8, 1, 1},
    {"mbarrier.try_wait.acquire.cta.b64", Op::mbarrier, Space::generic, 8, 1, 1},
    {"mbarrier.pending_count.b64", Op::mbarrier, Space::none, 8, 1, 1},
    // Textures and surfaces.
    {"tex.2d.v4.f32.s32", Op::tex, Space::tex, 4, 4, 1},
    {"tld4.r.2d.v4.u32.f32", Op::tld4, Space::tex, 4, 4, 1},
    {"txq.width.b32", Op::txq, Space::none, 4, 1, 1},
    {"suld.b.2d.v2.b32.clamp", Op::suld, Space::none, 4, 2, 1},
    {"sust.p.1d.b32.trap", Op::sust, Space::none, 4, 1, 0},
    {"sured.b.min.1d.u64.zero", Op::sured, Space::none, 8, 1, 0},
    {"suq.height.b32", Op::suq, Space::none, 4, 1, 1},
    {"istypep.texref", Op::istypep, Space::none, 8, 1, 1},
    // Arithmetic, moves, control.
    {"mad.lo.s32", Op::mad, Space::none, 4, 1, 1},
    {"setp.lt.and.f64", Op::setp, Space::none, 8, 1, 1},
    {"mov.b128", Op::mov, Space::none, 16, 1, 1},
    {"mov.pred", Op::mov, Space::none, 1, 1, 1},
    {"cvt.rn.satfinite.e4m3x2.f32", Op::cvt, Space::none, 4, 1, 1},
    {"fma.rn.f32x2", Op::fma, Space::none, 8, 1, 1},
    {"vadd4.u32.u32.u32.sat", Op::vadd4, Space::none, 4, 1, 1},
    {"call.uni", Op::call, Space::none, 0, 1, 0},
    {"bra.uni", Op::bra, Space::none, 0, 1, 0},
    {"brx.idx", Op::brx, Space::none, 0, 1, 0},
    {"ret.uni", Op::ret, Space::none, 0, 1, 0},
    {"exit", Op::exit_, Space::none, 0, 1, 0},
    {"trap", Op::trap, Space::none, 0, 1, 0},
    {"brkpt", Op::brkpt, Space::none, 0, 1, 0},
    {"nanosleep.u32", Op::nanosleep, Space::none, 4, 1, 0},
    {"pmevent.mask", Op::pmevent, Space::none, 0, 1, 0},
    {"setmaxnreg.inc.sync.aligned.u32", Op::setmaxnreg, Space::none, 4, 1, 0},
    {"frobnicate.shared.b32", Op::unknown, Space::shared, 4, 1, 0},
};
// clang-format on

TEST(Decode, EveryMemoryBarrierAndControlInstruction) {
  for (const Row& row : kRows) {
    const Opcode o = decode(row.text);
    EXPECT_EQ(o.text, row.text);
    EXPECT_EQ(o.op, row.op) << row.text;
    EXPECT_EQ(o.space, row.space) << row.text;
    EXPECT_EQ(o.bytes, row.bytes) << row.text;
    EXPECT_EQ(o.vector, row.vector) << row.text;
    EXPECT_EQ(o.destinations, row.destinations) << row.text;
  }
}

TEST(Decode, PartsKeepDoubleColons) {
  EXPECT_THAT(decode("ld.global.L2::128B.b32").parts,
              testing::ElementsAre("ld", "global", "L2::128B", "b32"));
}

TEST(Decode, HasComparesWholeParts) {
  const Opcode o = decode("mbarrier.arrive_drop.shared::cta.b64");
  EXPECT_TRUE(o.has("arrive_drop"));
  EXPECT_FALSE(o.has("arrive"));
  EXPECT_FALSE(o.has("shared"));
}

TEST(Decode, SeesVolatile) {
  EXPECT_TRUE(decode("ld.volatile.shared.u32").volatile_);
  EXPECT_FALSE(decode("ld.shared.u32").volatile_);
}

TEST(Mnemonic, OfEveryOpIsDistinctAndComesBack) {
  std::set<std::string_view> seen;
  for (int i = 1; i < static_cast<int>(Op::count_); ++i) {
    const auto op = static_cast<Op>(i);
    EXPECT_EQ(op_from(mnemonic(op)), op) << mnemonic(op);
    EXPECT_TRUE(seen.insert(mnemonic(op)).second) << mnemonic(op);
  }
}

TEST(Mnemonic, OfNoOpIsUnknown) {
  for (const std::string_view word : {"", "?", "LD", "ld ", "frobnicate"})
    EXPECT_EQ(op_from(word), Op::unknown) << word;
}

TEST(TypeBytes, OfEveryFundamentalType) {
  EXPECT_EQ(type_bytes("pred"), 1);
  for (const std::string_view letter : {"b", "u", "s"})
    for (const int bits : {8, 16, 32, 64, 128})
      EXPECT_EQ(type_bytes(std::string(letter) + std::to_string(bits)), bits / 8);
  for (const int bits : {16, 32, 64}) EXPECT_EQ(type_bytes("f" + std::to_string(bits)), bits / 8);
}

TEST(TypeBytes, OfPackedAndSmallFloats) {
  EXPECT_EQ(type_bytes("f16x2"), 4);
  EXPECT_EQ(type_bytes("bf16x2"), 4);
  EXPECT_EQ(type_bytes("e4m3x2"), 2);
  EXPECT_EQ(type_bytes("e2m1x2"), 1);
  EXPECT_EQ(type_bytes("ue8m0x2"), 2);
  EXPECT_EQ(type_bytes("tf32"), 4);
}

TEST(TypeBytes, OfOtherWordsIsZero) {
  for (const std::string_view word : {"", "b", "b33", "f8", "v4", "sync", "x4"})
    EXPECT_EQ(type_bytes(word), 0) << word;
}

}  // namespace
}  // namespace warploom::ptx
