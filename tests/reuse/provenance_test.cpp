#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "../oracle/random.hpp"
#include "kernel_text.hpp"
#include "reuse/analysis/objects.hpp"

namespace warploom::reuse {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

Analysed analyse(std::string_view body, std::string_view before = "") {
  return Analysed(kernel_text(body, 90, before));
}

// --- an oracle: what each register may point into after each instruction, iterated over the whole text ---

/// Objects as letters. Every instruction is arithmetic on registers, a load, a store or a branch.
class MayPointTo {
 public:
  using State = std::vector<ObjectSet>;  ///< per register
  std::map<std::uint32_t, ObjectSet> accessed;
  ObjectSet stored;  ///< addresses that are stored to memory

  explicit MayPointTo(const Analysed& a) : a_(a), f_(*a.kernel.function) {
    const ptx::Cfg& cfg = a.kernel.cfg;
    std::vector<State> in(cfg.blocks.size(), State(f_.registers.size()));
    for (bool changed = true; changed;) {
      changed = false;
      for (std::uint32_t b = 0; b < cfg.blocks.size(); ++b) {
        if (!cfg.reachable[b]) continue;
        State state = in[b];
        for (std::uint32_t i = cfg.blocks[b].first; i < cfg.blocks[b].last; ++i) step(i, state);
        for (const std::uint32_t s : cfg.graph.successors[b])
          for (std::uint32_t r = 0; r < state.size(); ++r) {
            changed |= (in[s][r] | state[r]) != in[s][r];
            in[s][r] |= state[r];
          }
      }
    }
  }

 private:
  ObjectSet points(const ptx::Operand& o, const State& state) const {
    ObjectSet set;
    if (o.kind == ptx::OperandKind::reg) return state[o.id];
    if (o.kind == ptx::OperandKind::symbol)
      for (std::uint32_t n = 0; n < a_.kernel.use.objects.size(); ++n)
        set[n] = a_.kernel.use.objects[n].variable == o.id;
    if (o.kind == ptx::OperandKind::address || o.kind == ptx::OperandKind::vector)
      for (const ptx::Operand& child : f_.children(o)) set |= points(child, state);
    return set;
  }
  void step(std::uint32_t i, State& state) {
    const ptx::Instruction& instruction = f_.instructions[i];
    const auto operands = f_.operands_of(instruction);
    const std::string_view name = a_.module.opcode(instruction).text;
    if (name == "bra" || name == "ret") return;
    if (name.starts_with("st.")) {
      accessed[i] |= points(operands[0], state);
      stored |= points(operands[1], state);
      return;
    }
    ObjectSet from;
    if (name.starts_with("ld."))
      accessed[i] |= points(operands[1], state);
    else
      for (std::size_t k = 1; k < operands.size(); ++k) from |= points(operands[k], state);
    const auto write = [&](const ptx::Operand& to) {
      if (to.kind != ptx::OperandKind::reg) return;
      if (instruction.guard == kNone && to.component == 0xff)
        state[to.id] = from;
      else
        state[to.id] |= from;
    };
    if (operands[0].kind == ptx::OperandKind::vector)
      for (const ptx::Operand& child : f_.children(operands[0])) write(child);
    else
      write(operands[0]);
  }

  const Analysed& a_;
  const ptx::Function& f_;
};

std::string random_addresses(Random& random) {
  const auto r = [&] { return fmt::format("%rd{}", random.below(5)); };
  const auto half = [&] { return fmt::format("%r{}", random.below(3)); };
  const auto symbol = [&] { return std::string(1, "ABCD"[random.below(4)]); };
  const auto any = [&] { return random.chance(40) ? symbol() : r(); };
  const auto guard = [&] {
    return random.chance(20) ? fmt::format("@%p{} ", random.below(2)) : std::string();
  };
  std::string text = ".reg .v2 .b64 %v;\nmov.u64 %rd0, A;\nmov.u64 %rd1, B;\n";
  const std::uint32_t blocks = 2 + random.below(6);
  for (std::uint32_t b = 0; b < blocks; ++b) {
    text += fmt::format("L{}:\n", b);
    for (std::uint32_t n = random.below(5); n > 0; --n) {
      text += guard();
      switch (random.below(13)) {
        case 0:
          text += fmt::format("mov.u64 {}, {};\n", r(), any());
          break;
        case 1:
          text += fmt::format("add.s64 {}, {}, {};\n", r(), r(), r());
          break;
        case 2:
          text += fmt::format("mad.wide.u32 {}, {}, 4, {};\n", r(), half(), r());
          break;
        case 3:
          text += fmt::format("selp.b64 {}, {}, {}, %p1;\n", r(), any(), any());
          break;
        case 4:
          text += fmt::format("cvta.shared.u64 {}, {};\n", r(), r());
          break;
        case 5:
          text += fmt::format("mov.b64 {{{}, {}}}, {};\n", half(), half(), r());
          break;
        case 6:
          text += fmt::format("mov.b64 {}, {{{}, {}}};\n", r(), half(), half());
          break;
        case 7:
          text += fmt::format("prmt.b32 {}, {}, {}, 0x5410;\n", half(), half(), half());
          break;
        case 8:
          text += fmt::format("mov.b64 %v.{}, {};\n", "xy"[random.below(2)], r());
          break;
        case 9:
          text += fmt::format("mov.b64 {}, %v.{};\n", r(), "xy"[random.below(2)]);
          break;
        case 10:
          text += fmt::format("ld.b32 {}, [{}];\n", half(), r());
          break;
        case 11:
          text += fmt::format("st.b32 [{}], {};\n", r(), random.chance(10) ? half() : "7");
          break;
        default:
          text += fmt::format("mov.u64 {}, {};\n", r(), random.below(100));
          break;
      }
    }
    if (random.chance(70)) text += fmt::format("@%p{} bra L{};\n", random.below(2), random.below(blocks));
  }
  return kernel_text(text + "ret;");
}

TEST(Provenance, EqualsAPlainDataFlowOnRandomPrograms) {
  Random random(1);
  int accesses = 0, several = 0, escaped = 0;
  for (int round = 0; round < 8000; ++round) {
    const std::string text = random_addresses(random);
    const Analysed a(text);
    MayPointTo expected(a);
    for (const Access& access : a.kernel.use.accesses) {
      ASSERT_EQ(a.names(access.objects), a.names(expected.accessed[access.instruction]))
          << text << a.kernel.line(access.instruction);
      expected.accessed.erase(access.instruction);
      ++accesses;
      several += access.objects.count() > 1;
    }
    for (const auto& [instruction, objects] : expected.accessed)
      ASSERT_TRUE(objects.none()) << text << a.kernel.line(instruction);
    ASSERT_EQ(a.pinned(), a.names(expected.stored)) << text;
    escaped += expected.stored.any();
  }
  EXPECT_GT(accesses, 3000);
  EXPECT_GT(several, 1000);
  EXPECT_GT(escaped, 80);
}

// --- through which instructions an address passes ---

struct Passes {
  const char* name;
  const char* text;
};  // from %rd1 = A to %rd2
class AddressPasses : public testing::TestWithParam<Passes> {};
TEST_P(AddressPasses, AndStaysKnown) {
  const Analysed a = analyse(
      fmt::format("mov.u64 %rd1, A;\nmov.u64 %rd9, B;\n{}\nst.shared.u32 [%rd2], 1;\nret;", GetParam().text));
  ASSERT_EQ(a.kernel.use.accesses.size(), 1u);
  EXPECT_THAT(a.accessed(0), HasSubstr("A"));
  EXPECT_THAT(a.pinned(), IsEmpty());
  EXPECT_THAT(a.refusal(), IsEmpty());
}
INSTANTIATE_TEST_SUITE_P(
    Provenance, AddressPasses,
    testing::Values(
        Passes{"mov", "mov.u64 %rd2, %rd1;"}, Passes{"add", "add.s64 %rd2, %rd3, %rd1;"},
        Passes{"mad", "mad.lo.s64 %rd2, %rd3, 4, %rd1;"},
        Passes{"mad_wide", "mad.wide.u32 %rd2, %r3, 4, %rd1;"}, Passes{"shl", "shl.b64 %rd2, %rd1, 0;"},
        Passes{"and_for_alignment", "and.b64 %rd2, %rd1, -16;"}, Passes{"or", "or.b64 %rd2, %rd1, 4;"},
        Passes{"xor_swizzle", "xor.b64 %rd2, %rd3, %rd1;"},
        Passes{"selp_of_registers", "selp.b64 %rd2, %rd3, %rd1, %p1;"},
        Passes{"selp_of_symbols", "selp.b64 %rd2, A, B, %p1;"},
        Passes{"cvta_round_trip", "cvta.shared.u64 %rd3, %rd1;\ncvta.to.shared.u64 %rd2, %rd3;"},
        Passes{"cvt", "cvt.u32.u64 %r1, %rd1;\ncvt.u64.u32 %rd2, %r1;"},
        Passes{"packing", "mov.b64 {%r1, %r2}, %rd1;\nmov.b64 %rd2, {%r1, %r2};"},
        Passes{"half_of_a_pack", "mov.b64 {%r1, _}, %rd1;\ncvt.u64.u32 %rd2, %r1;"},
        Passes{"prmt", "cvt.u32.u64 %r1, %rd1;\nprmt.b32 %r2, %r3, %r1, 0x7654;\ncvt.u64.u32 %rd2, %r2;"},
        Passes{"lop3", "cvt.u32.u64 %r1, %rd1;\nlop3.b32 %r2, %r3, %r1, 7, 0xf8;\ncvt.u64.u32 %rd2, %r2;"},
        Passes{"shf", "cvt.u32.u64 %r1, %rd1;\nshf.l.wrap.b32 %r2, %r3, %r1, 32;\ncvt.u64.u32 %rd2, %r2;"},
        Passes{"bfi", "cvt.u32.u64 %r1, %rd1;\nbfi.b32 %r2, %r1, %r3, 0, 32;\ncvt.u64.u32 %rd2, %r2;"},
        Passes{"vector_register", ".reg .v2 .b64 %v;\nmov.u64 %v.y, %rd1;\nmov.u64 %rd2, %v.y;"},
        Passes{"symbol_with_offset", "mov.u64 %rd2, A+16;"},
        Passes{"shuffle",
               "cvt.u32.u64 %r1, %rd1;\nshfl.sync.idx.b32 %r2, %r1, 0, 31, -1;\ncvt.u64.u32 %rd2, %r2;"},
        Passes{"add_with_carry", "add.cc.s64 %rd2, %rd1, 4;"},
        Passes{"guarded_write", "@%p1 mov.u64 %rd2, %rd1;"},
        Passes{"difference_as_an_index", "sub.s64 %rd2, %rd1, 16;"},
        Passes{"loop", "mov.u64 %rd2, %rd1;\nL: add.s64 %rd2, %rd2, 4;\n@%p1 bra L;"},
        Passes{
            "table_branch",
            "T: .branchtargets X, Y;\nbrx.idx %r1, T;\nX: mov.u64 %rd2, B;\nbra Z;\nY: mov.u64 %rd2, %rd1;\nZ:"}),
    [](const auto& test) { return test.param.name; });

TEST(Provenance, ARegisterUsedForTwoArraysInTurnPointsIntoOneAtATime) {
  const Analysed a =
      analyse("mov.u64 %rd1, A;\nst.shared.u32 [%rd1], 1;\nmov.u64 %rd1, B;\nst.shared.u32 [%rd1], 1;\nret;");
  EXPECT_EQ(a.accessed(0), "A");
  EXPECT_EQ(a.accessed(1), "B");
}

TEST(Provenance, AGuardedLoadMayLeaveAPointerInItsRegister) {
  const Analysed a = analyse("mov.u64 %rd1, A;\n@%p1 ld.global.u64 %rd1, [%rd8];\nst.u32 [%rd1], 1;\nret;");
  ASSERT_EQ(a.kernel.use.accesses.size(), 1u);
  EXPECT_EQ(a.accessed(0), "A");
}

TEST(Provenance, ACyclicExchangeOfPointersPointsIntoAllOfThem) {
  const Analysed a = analyse(
      "mov.u64 %rd1, A;\nmov.u64 %rd2, B;\nL: st.shared.u32 [%rd1], 1;\n"
      "mov.u64 %rd3, %rd1;\nmov.u64 %rd1, %rd2;\nmov.u64 %rd2, %rd3;\n@%p1 bra L;\nret;");
  EXPECT_EQ(a.accessed(0), "AB");
}

TEST(Provenance, SelpOfSymbolsPointsIntoBoth) {
  EXPECT_EQ(analyse("selp.b64 %rd2, A, B+4, %p1;\nst.shared.u32 [%rd2], 1;\nret;").accessed(0), "AB");
}

// --- what lets an address escape ---

struct Escape {
  const char* name;
  const char* text;
};  // %rd1 = A, %r1 its low word, %rd8 a pointer to global memory
class AddressEscapes : public testing::TestWithParam<Escape> {};
TEST_P(AddressEscapes, SoItsObjectKeepsItsStorageAndTheLineIsNamed) {
  const Analysed a =
      analyse(fmt::format("ld.param.u64 %rd8, [pointer];\nmov.u64 %rd1, A;\ncvt.u32.u64 %r1, %rd1;\n{}\n"
                          "st.shared.u32 [A], 1;\nret;",
                          GetParam().text),
              ".func inside (.param .b64 x) { ret; }");
  EXPECT_EQ(a.pinned(), "A");
  EXPECT_EQ(a.object("A").pinned.value_or(Reason{}).line, 17u)
      << a.object("A").pinned.value_or(Reason{}).text;
}
INSTANTIATE_TEST_SUITE_P(
    Provenance, AddressEscapes,
    testing::Values(
        Escape{"store_to_global", "st.global.u64 [%rd8], %rd1;"},
        Escape{"store_to_shared", "st.shared.u64 [A], %rd1;"},
        Escape{"store_to_local", "st.local.u64 [%rd8], %rd1;"},
        Escape{"store_of_a_symbol", "st.global.u64 [%rd8], A;"},
        Escape{"store_of_one_element", "st.global.v2.u64 [%rd8], {%rd8, %rd1};"},
        Escape{"volatile_store", "st.volatile.global.u64 [%rd8], %rd1;"},
        Escape{"exchange", "atom.global.exch.b64 %rd2, [%rd8], %rd1;"},
        Escape{"compare_and_swap", "atom.global.cas.b64 %rd2, [%rd8], 0, %rd1;"},
        Escape{"reduction", "red.global.max.u64 [%rd8], %rd1;"},
        Escape{"call_argument", "call inside, (%rd1);"},
        Escape{"call_of_a_pointer", "P: .callprototype _ (.param .b64 _); call %rd8, (%rd1), P;"},
        Escape{"unknown_instruction", "frob.b64 %rd2, %rd1;"},
        Escape{"unknown_instruction_with_brackets", "frob.b64 [%rd8], {%rd1};"},
        Escape{"float_function", "sqrt.rn.f32 %r2, %r1;"},
        Escape{"match", "match.any.sync.b32 %r2, %r1, -1;"},
        Escape{"warp_reduction", "redux.sync.add.s32 %r2, %r1, -1;"},
        Escape{"other_state_space_load", "ld.global.u32 %r2, [%rd1];"},
        Escape{"other_state_space_store", "st.global.u32 [%rd1], 3;"},
        Escape{"other_state_space_atomic", "atom.global.add.u32 %r2, [%rd1], 1;"},
        Escape{
            "bulk_copy_to_it",
            "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%rd1], [%rd8], 64, [%rd1];"},
        Escape{"bulk_copy_of_no_group", "cp.async.bulk.global.shared::cta [%rd8], [%rd1], 64;"},
        Escape{"texture_coordinate", "tex.1d.v4.u32.s32 {%r2,%r3,%r4,%r5}, [%rd8, {%r1}];"}),
    [](const auto& test) { return test.param.name; });

TEST(Provenance, AnAddressPassedThroughAParameterEscapes) {
  const Analysed a =
      analyse("mov.u64 %rd1, A;\n{ .param .b64 x;\nst.param.b64 [x], %rd1;\ncall f, (x);\n}\nret;",
              ".func f (.param .b64 x) { ret; }");
  EXPECT_EQ(a.pinned(), "A");
  EXPECT_THAT(a.object("A").pinned->text, HasSubstr("passed to a call"));
}

TEST(Provenance, AnUnknownInstructionMayPutTheAddressIntoAnyRegisterItNames) {
  const Analysed a = analyse("mov.u64 %rd2, B;\nfrob.b64 %rd2, A;\nst.shared.u32 [%rd2], 1;\nret;");
  EXPECT_EQ(a.accessed(0), "AB");
  EXPECT_EQ(a.pinned(), "AB");
}

TEST(Provenance, AnUnknownInstructionIsRefusedByName) {
  for (const std::string text :
       {"fly.away %r1;", "frob;", "frob.u32 %r1, %r2;", "frob.shared.b64 %rd2, [%rd8];"})
    EXPECT_THAT(analyse("mov.u64 %rd1, A;\n" + text + "\nret;").refusal(),
                HasSubstr("'" + text.substr(0, text.find_first_of(" ;")) + "' is no instruction"))
        << text;
  // Where no thread comes, nothing is done.
  EXPECT_THAT(analyse("mov.u64 %rd1, A;\nret;\nfly.away %r1;\nret;").refusal(), IsEmpty());
}

TEST(Provenance, AComparisonWithANumberIsNoEscape) {
  const Analysed a = analyse(
      "mov.u64 %rd1, A;\nsetp.eq.s64 %p1, %rd1, 0;\nisspacep.shared %p2, %rd1;\nprefetch.global.L1 [%rd1];\nret;");
  EXPECT_THAT(a.pinned(), IsEmpty());
  EXPECT_THAT(a.kernel.use.compared, IsEmpty());
}

TEST(Provenance, ComparedAddressesAreNamed) {
  for (const char* text :
       {"setp.lt.u64 %p1, %rd1, %rd2;", "set.eq.u32.u64 %r1, %rd1, %rd2;", "setp.eq.u64 %p1, %rd1, B;",
        "xor.b64 %rd3, %rd1, %rd2;\nsetp.eq.u64 %p1, %rd3, 0;",
        "selp.b64 %rd3, %rd1, %rd2, %p2;\nsetp.eq.u64 %p1, %rd3, %rd1;"}) {
    const Analysed a = analyse(fmt::format("mov.u64 %rd1, A;\nmov.u64 %rd2, B;\n{}\nret;", text));
    ASSERT_EQ(a.kernel.use.compared.size(), 1u) << text;
    EXPECT_EQ(a.kernel.use.compared[0], (std::pair<std::uint32_t, std::uint32_t>{0, 1})) << text;
  }
}

TEST(Provenance, TheDistanceOfTwoObjectsPinsThem) {
  EXPECT_EQ(analyse("mov.u64 %rd1, A;\nmov.u64 %rd2, C;\nsub.s64 %rd3, %rd1, %rd2;\nret;").pinned(), "AC");
}

TEST(Provenance, TheDistanceInsideOneObjectIsNoEscape) {
  EXPECT_THAT(analyse("mov.u64 %rd1, A;\nadd.s64 %rd2, %rd1, 8;\nsub.s64 %rd3, %rd2, %rd1;\nret;").pinned(),
              IsEmpty());
}

// --- accesses ---

struct Touch {
  const char* name;
  const char* text;
  bool read, write;
  std::uint32_t bytes;
};
class Touches : public testing::TestWithParam<Touch> {};
TEST_P(Touches, AreReadAndWritten) {
  const Analysed a = analyse(fmt::format("mov.u64 %rd1, A;\n{}\nret;", GetParam().text));
  ASSERT_EQ(a.kernel.use.accesses.size(), 1u);
  const Access& access = a.kernel.use.accesses[0];
  EXPECT_EQ(a.names(access.objects), "A");
  EXPECT_EQ(access.read, GetParam().read);
  EXPECT_EQ(access.write, GetParam().write);
  EXPECT_EQ(access.bytes, GetParam().bytes);
  EXPECT_THAT(a.pinned(), IsEmpty());
}
INSTANTIATE_TEST_SUITE_P(
    Provenance, Touches,
    testing::Values(
        Touch{"load", "ld.shared.u32 %r1, [%rd1+4];", true, false, 4},
        Touch{"generic_load", "ld.u32 %r1, [%rd1];", true, false, 4},
        Touch{"volatile_load", "ld.volatile.shared.u32 %r1, [%rd1];", true, false, 4},
        Touch{"vector_load", "ld.shared.v4.u32 {%r1,%r2,%r3,%r4}, [A];", true, false, 16},
        Touch{"store", "st.shared.u8 [A+63], 1;", false, true, 1},
        Touch{"volatile_store", "st.volatile.shared.u32 [%rd1], 1;", false, true, 4},
        Touch{"own_block_of_a_cluster", "st.shared::cta.u32 [%rd1], 1;", false, true, 4},
        Touch{"atomic", "atom.shared.add.u32 %r1, [%rd1], 1;", true, true, 4},
        Touch{"compare_and_swap", "atom.shared.cas.b64 %rd2, [%rd1], 0, 1;", true, true, 8},
        Touch{"generic_atomic", "atom.add.u32 %r1, [%rd1], 1;", true, true, 4},
        Touch{"reduction", "red.shared.add.u32 [%rd1], 1;", true, true, 4},
        Touch{"ldmatrix", "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r1}, [%rd1];", true, false, 0},
        Touch{"stmatrix", "stmatrix.sync.aligned.m8n8.x1.shared.b16 [%rd1], {%r1};", false, true, 0},
        Touch{
            "wmma_load",
            "wmma.load.a.sync.aligned.row.m16n16k16.shared.f16 {%r1,%r2,%r3,%r4,%r5,%r6,%r7,%r8}, [%rd1], 16;",
            true, false, 0},
        Touch{
            "wmma_store",
            "wmma.store.d.sync.aligned.row.m16n16k16.shared.f32 [%rd1], {%r1,%r2,%r3,%r4,%r5,%r6,%r7,%r8}, 16;",
            false, true, 0}),
    [](const auto& test) { return test.param.name; });

TEST(Provenance, MatrixObjectsAreAlignedForTheirLoads) {
  const Analysed a = analyse(
      "wmma.load.a.sync.aligned.row.m16n16k16.shared.f16 {%r1,%r2,%r3,%r4,%r5,%r6,%r7,%r8}, [A], 16;\nret;");
  EXPECT_EQ(a.object("A").alignment, 32u);
}

TEST(Provenance, AGenericAccessOfUnknownOriginTouchesNoObjectThatKeepsToItself) {
  const Analysed a = analyse("st.shared.u32 [A], 1;\nld.param.u64 %rd1, [pointer];\nst.u32 [%rd1], 1;\nret;");
  EXPECT_EQ(a.kernel.use.accesses.size(), 1u);
  EXPECT_THAT(a.refusal(), IsEmpty());
}

TEST(Provenance, ASharedAccessOfUnknownOriginIsRefused) {
  for (const char* text :
       {"st.shared.u32 [%rd1], 1;", "ld.shared.u32 %r1, [%rd1];", "ld.shared.u32 %r1, [16];",
        "atom.shared.add.u32 %r1, [%rd1], 1;", "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r1}, [%rd1];",
        "cp.async.ca.shared.global [%rd1], [%rd2], 16;",
        "cp.async.bulk.global.shared::cta.bulk_group [%rd2], [%rd1], 64;",
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%rd1], [%rd2], 64, [%rd1];",
        "mbarrier.init.shared.b64 [%rd1], 1;",
        "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%r2,%r3,%r4,%r5}, %rd1, %rd1, 1, 1, 1, 0, 0;"}) {
    const Analysed a =
        analyse(fmt::format("st.shared.u32 [A], 1;\nld.global.u64 %rd1, [%rd8];\n{}\nret;", text));
    EXPECT_THAT(a.refusal(), HasSubstr("unknown origin")) << text;
  }
}

TEST(Provenance, AnAccessThatLeavesItsObjectIsRefused) {
  EXPECT_THAT(analyse("st.shared.u64 [A+60], %rd1;\nret;").refusal(), HasSubstr("leaves 'A'"));
  EXPECT_THAT(analyse("st.shared.u32 [A+-4], 1;\nret;").refusal(), HasSubstr("leaves 'A'"));
  EXPECT_THAT(analyse("st.shared.u32 [A+60], 1;\nret;").refusal(), IsEmpty());
}

TEST(Provenance, AnAccessThatLeavesItsObjectThroughARegisterIsRefused) {
  const std::string pointer = "mov.u64 %rd1, A;\nadd.s64 %rd2, %rd1, 64;\ncvta.shared.u64 %rd3, %rd2;\n";
  EXPECT_THAT(analyse(pointer + "st.shared.u32 [%rd2], 1;\nret;").refusal(),
              HasSubstr("at offset 64 leaves 'A'"));
  EXPECT_THAT(analyse(pointer + "ld.u32 %r1, [%rd3+4];\nret;").refusal(),
              HasSubstr("at offset 68 leaves 'A'"));
  EXPECT_THAT(analyse(pointer + "st.shared.u32 [%rd2+-4], 1;\nret;").refusal(), IsEmpty());
  EXPECT_THAT(analyse(pointer + "@%p1 mov.u64 %rd2, B;\nst.shared.u32 [%rd2], 1;\nret;").refusal(),
              IsEmpty());
}

TEST(Provenance, InstructionsThatLackOperandsAreRefused) {
  for (const char* text :
       {"ld.shared.u32 %r1;", "st.shared.u32 [A];", "atom.shared.add.u32 %r1;", "red.shared.add.u32;",
        "sub.s64 %rd1, A;", "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r1};", "mov.u64 %rd1;"})
    EXPECT_THAT(analyse(std::string(text) + "\nret;").refusal(), HasSubstr("too few operands")) << text;
}

TEST(Provenance, ClustersAndCopiesToOtherBlocksAreRefused) {
  for (
      const char* text :
      {"mapa.shared::cluster.u64 %rd2, %rd1, 1;", "st.shared::cluster.u32 [%rd1], 1;",
       "ld.shared::cluster.u32 %r1, [%rd1];", "atom.shared::cluster.add.u32 %r1, [%rd1], 1;",
       "getctarank.shared::cluster.u64 %r1, %rd1;", "barrier.cluster.arrive;", "barrier.cluster.wait;",
       "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%rd1], [%rd8], 64, [%rd1], %r1;",
       "cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%rd8], [%rd1], 64, [%rd1];",
       "st.async.shared::cluster.mbarrier::complete_tx::bytes.u32 [%rd1], 1, [%rd2];",
       "cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.add.u32 [%rd8], [%rd1], 64, [%rd1];",
       "red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.inc.u32 [%rd1], 1, [%rd2];"})
    EXPECT_NE(analyse(fmt::format("mov.u64 %rd1, A;\n{}\nret;", text)).refusal(), "") << text;
}

TEST(Provenance, AKernelForClustersIsRefused) {
  std::string text = kernel_text("st.shared.u32 [A], 1;\nret;", 90);
  text.insert(text.find("{\n.shared"), ".reqnctapercluster 2, 1, 1\n");
  EXPECT_THAT(Analysed(text).refusal(), HasSubstr("cluster"));
}

// --- objects ---

TEST(Provenance, DynamicSharedMemoryKeepsItsStorage) {
  const Analysed a = analyse("mov.u64 %rd1, E;\nst.shared.u32 [%rd1], 1;\nst.shared.u32 [A], 1;\nret;",
                             ".extern .shared .align 16 .b8 E[];");
  EXPECT_TRUE(a.object("E").dynamic);
  EXPECT_EQ(a.pinned(), "E");
}

TEST(Provenance, SymbolsThatOtherModulesSeeKeepTheirStorage) {
  for (const char* linkage : {".visible", ".weak"}) {
    const Analysed a =
        analyse("st.shared.u32 [M], 1;\nret;", fmt::format("{} .shared .align 4 .b8 M[64];", linkage));
    EXPECT_EQ(a.pinned(), "M") << linkage;
  }
}

TEST(Provenance, AnArrayOfTheModuleThatASecondKernelNamesMayMoveForEachHasItsOwn) {
  const Analysed a =
      analyse("st.shared.u32 [M], 1;\nst.shared.u32 [N], 1;\nret;",
              ".shared .b32 M;\n.shared .b32 N;\n.visible .entry other() { st.shared.u32 [M], 1; ret; }");
  EXPECT_EQ(a.pinned(), "");
}

TEST(Provenance, AnArrayThatAFunctionNamesKeepsItsStorageEvenIfOnlyItsAddressIsTaken) {
  const Analysed a = analyse("st.shared.u32 [M], 1;\nret;",
                             ".shared .b32 M;\n.func f() { .reg .b64 %a; selp.b64 %a, M, 0, 1; ret; }");
  EXPECT_EQ(a.pinned(), "M");
}

TEST(Provenance, AnArrayWhoseAddressAnInitialiserTakesKeepsItsStorage) {
  EXPECT_EQ(analyse("st.shared.u32 [M], 1;\nret;", ".shared .b32 M;\n.global .u64 G[2] = {0, generic(M)};")
                .pinned(),
            "M");
}

TEST(Provenance, ArraysOfOneDeclarationKeepTheirStorage) {
  EXPECT_EQ(analyse(".shared .b32 X, Y;\nst.shared.u32 [X], 1;\nret;").pinned(), "XY");
}

TEST(Provenance, MoreVariablesThanAreAnalysedAreRefused) {
  std::string before = ".shared .b32 M0;\n.global .u64 G = generic(M399);\n", body;
  std::string declarations;
  for (int i = 0; i < 400; ++i) {
    declarations += fmt::format(".shared .b32 M{};\n", i);
    body += fmt::format("st.shared.u32 [M{}], 1;\n", i);
  }
  const Analysed a = analyse(
      body + "ret;",
      declarations + ".global .u64 G = generic(M399);\n.func f() { .reg .b64 %a; mov.u64 %a, M398; ret; }");
  EXPECT_THAT(a.refusal(), HasSubstr("at most 256"));
}

// --- barriers and calls ---

TEST(Provenance, NothingIsInsertedBesideNamedOrPartialBarriers) {
  for (const char* text : {"bar.sync 1;", "bar.sync 0, 64;", "bar.arrive 0, 64;", "bar.sync %r1;",
                           "barrier.sync 2, 32;", "bar.red.popc.u32 %r1, 0, 64, %p1;"}) {
    const Analysed a = analyse(fmt::format("st.shared.u32 [A], 1;\n{}\nret;", text));
    EXPECT_FALSE(a.kernel.use.inserts_allowed) << text;
    EXPECT_THAT(a.refusal(), IsEmpty()) << text;
  }
}

TEST(Provenance, FullBarriersAndWarpBarriersAllowInsertions) {
  EXPECT_TRUE(analyse("bar.sync 0;\nbarrier.sync 0;\nbar.warp.sync -1;\nbar.red.popc.u32 %r1, 0, %p1;\nret;")
                  .kernel.use.inserts_allowed);
}

TEST(Provenance, NothingIsInsertedBesideCallsThatMayHoldABarrier) {
  struct Case {
    const char* before;
    const char* call;
  };
  for (const Case& c :
       {Case{".extern .func outside ();", "call outside;"},
        Case{".func inside () { bar.sync 0; ret; }", "call inside;"},
        Case{".func deep () { barrier.sync 1; ret; }\n.func inside () { call deep; ret; }", "call inside;"},
        Case{".extern .func outside ();\n.func inside () { call outside; ret; }", "call inside;"},
        Case{".func inside (.reg .b64 f) { P: .callprototype _ ();\ncall f, P; ret; }",
             "call inside, (%rd1);"},
        Case{"", "P: .callprototype _ ();\ncall %rd1, P;"}}) {
    const Analysed a = analyse(fmt::format("st.shared.u32 [A], 1;\n{}\nret;", c.call), c.before);
    EXPECT_FALSE(a.kernel.use.inserts_allowed) << c.before << c.call;
  }
}

TEST(Provenance, CallsOfPrintfAssertAndPlainFunctionsAllowInsertions) {
  const Analysed a = analyse(
      "{ .param .b64 f; .param .b64 v; .param .b32 r;\ncall.uni (r), vprintf, (f, v);\n}\ncall.uni __assertfail;\ncall loop;\nret;",
      ".extern .func (.param .b32 r) vprintf (.param .b64 f, .param .b64 v);\n.extern .func __assertfail ();\n"
      ".func loop () { call loop; ret; }");
  EXPECT_TRUE(a.kernel.use.inserts_allowed);
}

// --- what the programmer states ---

TEST(Provenance, AMarkerOfADeadArrayIsNoUseOfIt) {
  const Analysed a =
      analyse("{ .reg .b64 warploom_dead;\nmov.u64 %rd1, A;\nmov.u64 warploom_dead, %rd1;\n}\nret;");
  ASSERT_EQ(a.kernel.use.dead.size(), 1u);
  EXPECT_EQ(a.name(a.kernel.use.dead[0].object), "A");
  EXPECT_THAT(a.pinned(), IsEmpty());
}

TEST(Provenance, AMarkerThatMayMeanEitherOfTwoArraysSaysNothing) {
  EXPECT_THAT(
      analyse("{ .reg .b64 warploom_dead;\nselp.b64 %rd1, A, B, %p1;\nmov.u64 warploom_dead, %rd1;\n}\nret;")
          .kernel.use.dead,
      IsEmpty());
}

TEST(Provenance, AKeptArrayKeepsItsStorage) {
  EXPECT_EQ(analyse("{ .reg .b64 warploom_keep;\nmov.u64 warploom_keep, A;\n}\nret;").pinned(), "A");
}

TEST(Provenance, CodeThatIsNeverReachedTouchesNothing) {
  const Analysed a =
      analyse("st.shared.u32 [A], 1;\nret;\nst.global.u64 [%rd1], B;\nst.shared.u32 [C], 1;\nret;");
  EXPECT_EQ(a.kernel.use.accesses.size(), 1u);
  EXPECT_THAT(a.pinned(), IsEmpty());
}

}  // namespace
}  // namespace warploom::reuse
