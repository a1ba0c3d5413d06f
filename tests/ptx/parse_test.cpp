#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "ptx/describe.hpp"
#include "warploom/core/error.hpp"
#include "warploom/core/file.hpp"

namespace warploom::ptx {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Module case_module(const std::string& name) {
  return parse(read_file(WARPLOOM_TESTS_DIR "/ptx/cases/" + name + ".ptx"), name + ".ptx");
}

const Variable* variable(const Module& m, std::string_view name) {
  for (const Variable& v : m.variables)
    if (v.name == name) return &v;
  return nullptr;
}

/// The operands of every instruction of the first function that has a body.
std::vector<std::string> operands(const Module& m) {
  for (const Function& f : m.functions) {
    if (!f.has_body) continue;
    std::vector<std::string> all;
    for (const Instruction& i : f.instructions) all.push_back(describe(m, f, i));
    return all;
  }
  return {};
}

TEST(ParseModule, ReadsVersionTargetAndAddressSize) {
  const Module m = parse(".version 8.3\n.target sm_90a, debug\n.address_size 64\n", "k.ptx");
  EXPECT_EQ(m.file, "k.ptx");
  EXPECT_EQ(m.version, "8.3");
  EXPECT_EQ(m.target, "sm_90a, debug");
  EXPECT_EQ(m.sm, 90u);
  EXPECT_EQ(m.address_bits, 64u);
  EXPECT_TRUE(m.debug);
}

TEST(ParseModule, DefaultsTo32BitAddressesAndNoDebug) {
  const Module m = parse(".version 6.0\n.target sm_60\n");
  EXPECT_EQ(m.address_bits, 32u);
  EXPECT_FALSE(m.debug);
}

TEST(ParseModule, EveryVersionFrom6To9) {
  for (const std::string version : {"6.0", "6.5", "7.8", "8.8", "9.0"})
    EXPECT_EQ(parse(".version " + version + " .target sm_75").version, version);
}

TEST(ParseFunction, KernelWithParametersAndDirectives) {
  const Module m = case_module("entry_parameters");
  ASSERT_EQ(m.functions.size(), 2u);
  const Function& f = m.functions[0];
  EXPECT_EQ(f.name, "scale");
  EXPECT_TRUE(f.entry && f.has_body && f.cluster);
  EXPECT_EQ(f.linkage, Linkage::visible);
  EXPECT_EQ(f.line, 6u);
  ASSERT_EQ(f.parameters.size(), 3u);
  const Variable& pointer = m.variables[f.parameters[0]];
  EXPECT_EQ(pointer.name, "scale_param_0");
  EXPECT_EQ(pointer.space, Space::param);
  EXPECT_EQ(pointer.type, "u64");
  EXPECT_EQ(pointer.function, 0u);
  EXPECT_EQ(m.text_of(pointer.declaration), ".param .u64 .ptr .global .align 16 scale_param_0");
  const Variable& bytes = m.variables[f.parameters[1]];
  EXPECT_EQ(bytes.bytes, 24u);
  EXPECT_EQ(bytes.align, 8u);
  EXPECT_EQ(f.maximal_threads, (std::array<std::uint32_t, 3>{256, 1, 1}));
  EXPECT_EQ(m.text_of(f.maximal_threads_span), ".maxntid 256, 1, 1");
  EXPECT_FALSE(f.required_threads);
  EXPECT_EQ(f.minimal_blocks_per_sm, 2u);
  EXPECT_EQ(f.maximal_registers, 64u);
  EXPECT_TRUE(m.text_of(f.header).starts_with(".visible .entry scale("));
  EXPECT_TRUE(m.text_of(f.header).ends_with(".reqnctapercluster 2, 1"));
  EXPECT_EQ(m.text_of(f.body), "{\n\tret;\n}");
}

TEST(ParseFunction, RequiredThreadsDefaultToOneInTheOtherDimensions) {
  const Module m = case_module("entry_parameters");
  EXPECT_EQ(m.functions[1].required_threads, (std::array<std::uint32_t, 3>{16, 16, 1}));
  EXPECT_EQ(m.text_of(m.functions[1].required_threads_span), ".reqntid 16, 16");
  EXPECT_FALSE(m.functions[1].cluster);
}

TEST(ParseFunction, DeclarationsAndResults) {
  const Module m = case_module("func_results");
  ASSERT_EQ(m.functions.size(), 4u);
  const Function &vprintf = m.functions[0], &pair_of = m.functions[2], &twice = m.functions[3];
  EXPECT_FALSE(vprintf.entry || vprintf.has_body);
  EXPECT_EQ(vprintf.linkage, Linkage::external);
  EXPECT_EQ(vprintf.results.size(), 1u);
  EXPECT_EQ(vprintf.parameters.size(), 2u);
  EXPECT_TRUE(m.text_of(vprintf.span).ends_with(";"));
  EXPECT_EQ(m.functions[1].parameters.size(), 5u);
  EXPECT_EQ(m.variables[pair_of.results[0]].bytes, 16u);
  EXPECT_EQ(twice.linkage, Linkage::weak);
  EXPECT_EQ(describe(m, twice, twice.instructions[0]), "reg %out; reg %in; reg %in");
}

TEST(ParseFunction, DefinitionIsFoundBeforeItsDeclaration) {
  const Module m = parse(".version 7.0 .target sm_70 .func f(); .func f() { ret; } .entry k() { call f; }");
  ASSERT_EQ(m.functions.size(), 3u);
  EXPECT_EQ(m.find_function("f"), &m.functions[1]);
  EXPECT_EQ(m.find_function("k"), &m.functions[2]);
  EXPECT_EQ(m.find_function("g"), nullptr);
  EXPECT_EQ(m.functions[2].operands[0].id, 1u);
}

TEST(ParseFunction, AnAttributeMayStandBeforeTheName) {
  const Module m = parse(".version 8.0 .target sm_90 .func .attribute(.unified(1, 2)) f() { ret; }");
  EXPECT_EQ(m.functions[0].name, "f");
}

TEST(ParseRegisters, RangesNamesAndVectors) {
  const Module m = case_module("registers");
  const Function& f = m.functions[0];
  EXPECT_THAT(operands(m), ElementsAre("reg %h; reg %rs2", "reg %r100; reg %r0",
                                       "reg a; reg quad1 component 0", "reg b; reg quad1 component 3",
                                       "reg $c_1; reg a; reg b", "reg %r1; reg two component 1",
                                       "reg %rq1; {reg %rd1, reg %rd2}", "reg %p1; reg a; reg b", ""));
  const auto type_of = [&](std::string_view name) {
    for (const Register& r : f.registers)
      if (r.name == name) return fmt::format("v{} {}", r.vector, r.type);
    return std::string("none");
  };
  EXPECT_EQ(type_of("%h"), "v1 b16");
  EXPECT_EQ(type_of("%r100"), "v1 b32");
  EXPECT_EQ(type_of("quad1"), "v4 f32");
  EXPECT_EQ(type_of("two"), "v2 u32");
  EXPECT_EQ(type_of("%rq1"), "v1 b128");
  EXPECT_EQ(type_of("%p1"), "v1 pred");
  EXPECT_EQ(type_of("%r50"), "none") << "only registers that the body uses are listed";
}

TEST(ParseRegisters, ARegisterIsOneHoweverOftenItIsUsed) {
  const Module m = parse(kernel(".reg .b32 %r<3>; add.s32 %r1, %r1, %r2; add.s32 %r2, %r1, %r1;"));
  EXPECT_EQ(m.functions[0].registers.size(), 2u);
  EXPECT_EQ(m.functions[0].operands[0].id, m.functions[0].operands[5].id);
}

TEST(ParseRegisters, AHugeRangeCostsNothing) {
  const Module m = parse(kernel(".reg .b32 %r<4000000000>; mov.b32 %r3999999999, %r7; mov.b32 %r7, 1;"));
  EXPECT_THAT(operands(m), ElementsAre("reg %r3999999999; reg %r7", "reg %r7; 1"));
  EXPECT_EQ(m.functions[0].registers.size(), 2u);
}

TEST(ParseScopes, InnerNamesHideOuterOnes) {
  const Module m = case_module("scopes");
  const Function& f = m.functions[0];
  EXPECT_THAT(operands(m), ElementsAre("reg %r1; symbol buffer", "reg %r1; bits 3f800000",
                                       "reg %r2; symbol buffer", "label L at 6", "reg %r1; 1", "reg %r4; 1",
                                       "label L at 6", "reg %r3; symbol buffer", "label L at 1", ""));
  const auto first = [&](std::size_t instruction) {
    return f.operands_of(f.instructions[instruction])[0].id;
  };
  EXPECT_EQ(f.registers[first(0)].type, "b32");
  EXPECT_EQ(f.registers[first(1)].type, "f32");
  EXPECT_EQ(f.registers[first(4)].type, "b64");
  EXPECT_EQ(f.registers[first(5)].type, "b32") << "%r4 is outside the inner range, so it is the outer one";
  const auto symbol = [&](std::size_t instruction) {
    return f.operands_of(f.instructions[instruction])[1].id;
  };
  EXPECT_EQ(m.variables[symbol(2)].bytes, 32u);
  EXPECT_EQ(symbol(0), symbol(7));
  EXPECT_EQ(m.variables[symbol(7)].bytes, 64u);
}

TEST(ParseScopes, LabelsOfInlineAssemblyStayInTheirScope) {
  const Module m = case_module("inline_asm");
  const Function& f = m.functions[0];
  ASSERT_EQ(f.labels.size(), 4u);
  EXPECT_EQ(f.labels[0].name, f.labels[2].name);
  EXPECT_EQ(describe(m, f, f.instructions[2]), "label DONE at 4");
  EXPECT_EQ(describe(m, f, f.instructions[3]), "label LAB_WAIT at 1");
  EXPECT_EQ(describe(m, f, f.instructions[5]), "label DONE at 7");
  EXPECT_EQ(describe(m, f, f.instructions[6]), "label LAB_WAIT at 4");
  EXPECT_NE(f.instructions[2].guard, f.instructions[5].guard) << "each scope has its own P1";
}

TEST(ParseScopes, SeveralInstructionsOnOneLine) {
  const Module m = case_module("inline_asm");
  const Function& f = m.functions[0];
  const Instruction &laneid = f.instructions[7], &clock = f.instructions[8], &sum = f.instructions[9];
  EXPECT_EQ(laneid.line, clock.line);
  EXPECT_EQ(sum.line, clock.line + 1);
  EXPECT_EQ(m.text_of(sum.span), "add.u32 %r6, %r4, %r5;");
}

TEST(ParseOperands, EveryForm) {
  EXPECT_THAT(
      operands(case_module("operands")),
      ElementsAre("reg %rd1; [symbol k_param_0]", "reg %r1; [symbol tile]", "reg %r1; [symbol tile + 12]",
                  "reg %r1; [symbol tile + -4]", "reg %r1; [reg %r2 + -128]", "reg %r1; [reg %r2 + 16]",
                  "{reg %f1, reg %f2, reg %f3, reg %f4}; [reg %rd1 + 16]", "reg %rs1; [symbol table + 3]",
                  "reg %r1; [16]", "reg %r3; symbol tile + 64", "reg %r3; symbol dynamic",
                  "{reg %r4, reg %r5}; reg %rd1", "{_, reg %r5}; reg %rd1", "reg %r6; special %tid.x",
                  "reg %rd2; special %clock64", "reg %r6; reg %r6; -1", "reg %r6; reg %r6; special WARP_SZ",
                  "reg %f5; reg %f5; bits bf800000", "reg %fd1; reg %fd2; bits 3ff0000000000000",
                  "reg %fd1; reg %fd1; bits 3f589374bc6a7efa", "reg %p1 | reg %p2; reg %r1; 0; not reg %p3",
                  "reg %r7 | reg %p1; reg %r6; 16; 31; -1", "reg %r7 | _; reg %r6; 1; 31; -1",
                  "reg %r8; 1; 0; reg %p1", "reg %r9; reg %r1; reg %r2",
                  "reg %r9; reg %r9; unknown '(1 << 4) - 1'", "[reg %r3 + 4]; reg %f5", ""));
}

TEST(ParseOperands, TheOffsetOfASymbolInBracketsBelongsToTheAddress) {
  const Module m =
      parse(kernel(".shared .b8 tile[64]; .reg .b32 %r; ld.shared.u32 %r, [tile+12]; mov.u32 %r, tile+8;"));
  const Function& f = m.functions[0];
  const Operand& address = f.operands_of(f.instructions[0])[1];
  EXPECT_EQ(address.value, 12);
  EXPECT_EQ(f.children(address)[0].value, 0);
  EXPECT_EQ(m.text_of(address.span), "tile+12");
  EXPECT_EQ(m.text_of(f.operands_of(f.instructions[1])[1].span), "tile+8");
}

TEST(ParseOperands, ANegativeFloatKeepsItsSign) {
  const Module m = parse(kernel(".reg .f32 %f; mov.f32 %f, -0f3F800000; mov.f64 %f, -1.5;"));
  EXPECT_THAT(operands(m), ElementsAre("reg %f; bits bf800000", "reg %f; bits bff8000000000000"));
}

TEST(ParseOperands, AVectorMayBePairedWithAPredicate) {
  EXPECT_THAT(
      operands(case_module("textures")),
      testing::Contains(
          "{reg %f1, reg %f2, reg %f3, reg %f4} | reg %p1; [reg %rd1, reg %rd2, {reg %f5, reg %f6}]"));
}

TEST(ParseOperands, TexturesAndSurfaces) {
  const std::vector<std::string> all = operands(case_module("textures"));
  EXPECT_EQ(all[1], "{reg %f1, reg %f2, reg %f3, reg %f4}; [reg %rd1, {reg %f5, reg %f6}]");
  EXPECT_EQ(all[2], "{reg %f1, reg %f2, reg %f3, reg %f4}; [symbol image, {reg %r1}]");
  EXPECT_EQ(all[3], "{reg %f1, reg %f2, reg %f3, reg %f4}; [reg %rd1, {reg %f5, reg %f6}]; reg %f7");
  EXPECT_EQ(all[9], "[reg %rd1, {reg %r3, reg %r4}]; {reg %r5}");
}

TEST(ParseOperands, MatrixAndTensorInstructions) {
  const std::vector<std::string> all = operands(case_module("tensor"));
  EXPECT_EQ(all[6], "{reg %f1, reg %f2, reg %f3, reg %f4}; reg %rd1; reg %rd2; reg %p1; 1; -1; 0; 1");
  EXPECT_EQ(all[11], "[reg %r9]; [reg %rd3, {reg %r10, reg %r11}]; [reg %r12]");
  EXPECT_THAT(all, testing::Contains("_; [symbol bar]; 256"));
  EXPECT_THAT(all, testing::Contains("{reg %r1, reg %r2}; [reg %r3]"));
  EXPECT_THAT(all, testing::Contains("_ | reg %p2; -1"));
}

TEST(ParseOperands, AnUndeclaredNameIsUnknownNotAnError) {
  EXPECT_THAT(operands(parse(kernel(".reg .b64 %rd; mov.u64 %rd, nowhere;"))),
              ElementsAre("reg %rd; unknown 'nowhere'"));
}

TEST(ParseGuard, OfAnInstruction) {
  const Module m = parse(kernel(".reg .pred %p<3>; @%p1 bar.sync 0; @!%p2 ret; exit;"));
  const Function& f = m.functions[0];
  EXPECT_EQ(f.registers[f.instructions[0].guard].name, "%p1");
  EXPECT_FALSE(f.instructions[0].guard_negated);
  EXPECT_EQ(f.registers[f.instructions[1].guard].name, "%p2");
  EXPECT_TRUE(f.instructions[1].guard_negated);
  EXPECT_EQ(f.instructions[2].guard, kNone);
  EXPECT_EQ(m.text_of(f.instructions[1].span), "@!%p2 ret;");
}

TEST(ParseCalls, DirectIndirectAndWithoutLists) {
  EXPECT_THAT(
      operands(case_module("calls")),
      ElementsAre("reg %rd1; function f", "[symbol param0]; reg %r1",
                  "(symbol retval0); function f; (symbol param0)", "reg %r2; [symbol retval0]", "function g",
                  "function g; ()", "(symbol retval0); reg %rd1; (symbol param0); label prototype_1 at 6",
                  "(_); reg %rd1; (symbol param0); label targets at 7", ""));
}

TEST(ParseCalls, ParametersOfACallAreVariablesOfTheFunction) {
  const Module m = case_module("calls");
  const Function& k = *m.find_function("k");
  EXPECT_EQ(k.variables.size(), 5u);
  for (const std::uint32_t id : k.variables) EXPECT_EQ(m.variables[id].space, Space::param);
}

TEST(ParseBranches, ForwardBackwardAndByTable) {
  const Module m = case_module("branches");
  const Function& f = m.functions[0];
  EXPECT_THAT(operands(m), ElementsAre("reg %r1; [symbol n]", "reg %p1; reg %r1; 2", "label $L__BB0_4 at 6",
                                       "reg %r1; label $L_brx_0 at 3", "label $L__BB0_4 at 6",
                                       "label $L__BB0_1 at 4", ""));
  std::vector<std::string_view> targets;
  for (const std::uint32_t t : f.labels[0].targets) targets.push_back(f.labels[t].name);
  EXPECT_THAT(targets, ElementsAre("$L__BB0_1", "$L__BB0_2", "$L__BB0_1"));
  EXPECT_EQ(f.labels.back().name, "$end");
  EXPECT_EQ(f.labels.back().instruction, f.instructions.size());
}

TEST(ParseBranches, AnInnerLabelDefinedLaterHidesAnOuterOneDefinedEarlier) {
  const Module m = parse(kernel("L: { bra L; exit; L: ret; } bra L;"));
  EXPECT_THAT(operands(m), ElementsAre("label L at 2", "", "", "label L at 0"));
}

TEST(ParseBranches, ALabelMayHaveTheNameOfAVariable) {
  const Module m = parse(".version 8.0 .target sm_90 .shared .b8 L[4]; .entry k() { bra L; L: ret; }");
  EXPECT_THAT(operands(m), ElementsAre("label L at 1", ""));
}

TEST(ParseLocations, InlinedTwoDeep) {
  const Module m = case_module("locations");
  const Function& f = m.functions[0];
  EXPECT_EQ(m.files.at(1), R"(/src/my kernels/C:\a.cu)");
  EXPECT_EQ(m.files.at(2), "b.cuh");
  const auto at = [&](std::size_t instruction) { return m.locations[f.instructions[instruction].location]; };
  EXPECT_EQ(at(0).line, 10u);
  EXPECT_EQ(at(0).inlined_at, kNone);
  EXPECT_EQ(at(1).line, 20u);
  EXPECT_EQ(m.locations[at(1).inlined_at].line, 10u);
  const Location& middle = m.locations[at(2).inlined_at];
  EXPECT_EQ(middle.line, 20u);
  EXPECT_EQ(m.locations[middle.inlined_at].line, 10u);
  EXPECT_EQ(f.instructions[2].location, f.instructions[3].location) << "a .loc holds until the next";
  EXPECT_EQ(at(4).line, 11u);
}

TEST(ParseLocations, EndWithTheFunction) {
  const Module m = parse(".version 8.0 .target sm_90 .entry a() { .loc 1 2 3 \n ret; } .entry b() { ret; }");
  EXPECT_EQ(m.functions[0].instructions[0].location, 0u);
  EXPECT_EQ(m.functions[1].instructions[0].location, kNone);
}

TEST(ParseSections, NamesOfVariablesAreReferences) {
  const Module m = case_module("sections");
  EXPECT_TRUE(m.debug);
  ASSERT_EQ(m.references.size(), 1u);
  EXPECT_EQ(m.variables[m.references[0].variable].name, "tile");
  EXPECT_EQ(m.text_of(m.references[0].span), "tile");
}

TEST(ParseNvcc, DebugOutputOfReverse) {
  const Module m = case_module("nvcc_debug");
  EXPECT_TRUE(m.debug);
  EXPECT_EQ(m.sm, 75u);
  const Variable* tile = variable(m, "_ZZ7reversePfiE4tile");
  ASSERT_NE(tile, nullptr);
  EXPECT_EQ(tile->bytes, 1024u);
  std::size_t in_sections = 0;
  for (const Reference& r : m.references) in_sections += &m.variables[r.variable] == tile;
  EXPECT_EQ(in_sections, 1u) << ".debug_info gives the address of the array, which is declared in the kernel";
}

TEST(ParseNvcc, LineInformationOfReverse) {
  const Module m = case_module("nvcc_lineinfo");
  EXPECT_FALSE(m.debug);
  EXPECT_EQ(m.files.at(1), "reverse.cu");
  const Function& k = *m.find_function("_Z7reversePfi");
  ASSERT_TRUE(k.has_body && k.entry);
  ASSERT_EQ(k.variables.empty(), false);
  EXPECT_EQ(m.variables[*std::find_if(k.variables.begin(), k.variables.end(),
                                      [&](std::uint32_t v) { return m.variables[v].space == Space::shared; })]
                .bytes,
            1024u);
  for (const Instruction& i : k.instructions) {
    if (m.opcode(i).op != Op::bar) continue;
    ASSERT_NE(i.location, kNone);
    EXPECT_EQ(m.locations[i.location].line, 12u) << "__syncthreads() of reverse.cu";
  }
}

TEST(ParseVariables, EveryShape) {
  const Module m = case_module("variables");
  const auto words = [&](std::string_view name) {
    const Variable* v = variable(m, name);
    return v == nullptr ? "none"
                        : fmt::format("{} bytes align {} {} {}", v->bytes, v->align, v->type,
                                      v->alone ? "alone" : "shared declaration");
  };
  EXPECT_EQ(words("counter"), "4 bytes align 4 u32 alone");
  EXPECT_EQ(words("weights"), "24 bytes align 8 f64 alone");
  EXPECT_EQ(words("pool"), "0 bytes align 16 b8 alone");
  EXPECT_EQ(words("matrix"), "24 bytes align 4 f32 alone");
  EXPECT_EQ(words("quad"), "16 bytes align 16 f32 alone");
  EXPECT_EQ(words("a"), "4 bytes align 4 b32 shared declaration");
  EXPECT_EQ(words("b"), "12 bytes align 4 b32 shared declaration");
  EXPECT_EQ(words("c"), "16 bytes align 4 b32 shared declaration");
  EXPECT_EQ(words("image"), "8 bytes align 8 texref alone");
  EXPECT_EQ(words("managed"), "4 bytes align 4 u32 alone");
  EXPECT_EQ(words("depot"), "8 bytes align 1 b8 alone");
}

TEST(ParseVariables, LinkageAndSpace) {
  const Module m = case_module("variables");
  EXPECT_EQ(variable(m, "counter")->linkage, Linkage::visible);
  EXPECT_EQ(variable(m, "weights")->linkage, Linkage::weak);
  EXPECT_EQ(variable(m, "pool")->linkage, Linkage::external);
  EXPECT_EQ(variable(m, "scratch")->linkage, Linkage::common);
  EXPECT_EQ(variable(m, "quad")->linkage, Linkage::none);
  EXPECT_EQ(variable(m, "counter")->space, Space::global);
  EXPECT_EQ(variable(m, "weights")->space, Space::constant);
  EXPECT_EQ(variable(m, "pool")->space, Space::shared);
  EXPECT_EQ(variable(m, "depot")->space, Space::local);
  EXPECT_EQ(m.text_of(variable(m, "pool")->declaration), ".extern .shared .align 16 .b8 pool[];");
  EXPECT_EQ(m.text_of(variable(m, "b")->declaration), ".shared .b32 a, b[3], c[2][2];");
  EXPECT_EQ(m.text_of(variable(m, "b")->name_span), "b");
}

TEST(ParseVariables, InitialisersReferToOthers) {
  const Module m = case_module("variables");
  std::vector<std::string_view> names;
  for (const Reference& r : m.references) names.push_back(m.text_of(r.span));
  EXPECT_THAT(names, ElementsAre("counter", "counter", "scratch", "counter", "counter"));
}

TEST(ParseUnknown, AnInstructionIsCarriedWithTheNamesItUses) {
  const Module m = case_module("unknown");
  const Function& f = *m.find_function("k");
  ASSERT_EQ(f.instructions.size(), 2u);
  EXPECT_EQ(m.opcode(f.instructions[0]).op, Op::unknown);
  EXPECT_EQ(m.opcode(f.instructions[0]).text, "frobnicate.shared::moon.b32");
  EXPECT_EQ(describe(m, f, f.instructions[0]), "reg %r1; reg %r2; 4; reg %r3; symbol tile + 8; reg %r1");
  EXPECT_TRUE(m.text_of(f.instructions[0].span).ends_with("\"text; more\"};"));
}

TEST(ParseUnknown, ADirectiveRefersToTheVariablesItNames) {
  const Module m = case_module("unknown");
  ASSERT_EQ(m.references.size(), 1u);
  EXPECT_EQ(m.variables[m.references[0].variable].name, "tile");
}

TEST(ParseComments, StandAnywhere) {
  const Module m = case_module("comments");
  EXPECT_EQ(m.version, "8.0");
  EXPECT_TRUE(m.debug);
  const Function& f = *m.find_function("k");
  EXPECT_EQ(f.maximal_threads, (std::array<std::uint32_t, 3>{32, 1, 1}));
  EXPECT_THAT(operands(m), ElementsAre("reg %r1; [symbol n]", "reg %r2; reg %r1; reg %r1",
                                       "reg %r3; reg %r2; reg %r2", "reg %r1; reg %r2", ""));
  EXPECT_EQ(f.labels[0].instruction, 1u);
}

// Malformed input.

struct Malformed {
  std::string_view name, text;
  unsigned line, column;
  std::string_view message;
  friend void PrintTo(const Malformed& m, std::ostream* out) { *out << m.name; }
};

#define HEAD ".version 8.0 .target sm_90\n"

class EveryMalformed : public testing::TestWithParam<Malformed> {};

TEST_P(EveryMalformed, IsRefusedWhereItIsWrong) {
  const Malformed& c = GetParam();
  try {
    parse(std::string(c.text), "bad.ptx");
    FAIL() << "parsed";
  } catch (const ParseError& e) {
    EXPECT_EQ(e.where().file, "bad.ptx");
    EXPECT_EQ(e.where().line, c.line) << e.what();
    EXPECT_EQ(e.where().column, c.column) << e.what();
    EXPECT_THAT(std::string(e.what()), HasSubstr(c.message));
  }
}

INSTANTIATE_TEST_SUITE_P(
    Parse, EveryMalformed,
    testing::Values(
        Malformed{"empty", "", 1, 1,
                  "expected '.version' at the head of the module, found the end of the text"},
        Malformed{"not_ptx", "hello\n", 1, 1, "expected a directive, found 'hello'"},
        Malformed{"binary",
                  std::string_view("\x7f"
                                   "ELF\0",
                                   5),
                  1, 1, "found byte 0x7f"},
        Malformed{"no_version", "\n .target sm_90\n", 2, 2,
                  "expected '.version' before anything else, found '.target'"},
        Malformed{"integer_version", ".version 8\n", 1, 10, "expected a version such as 8.0"},
        Malformed{"no_target_name", ".version 8.0\n.target 90\n", 2, 9,
                  "expected a target such as sm_90, found '90'"},
        Malformed{"address_size", HEAD ".address_size 16\n", 2, 1,
                  "expected .address_size 32 or 64, found 16"},
        Malformed{"open_comment", HEAD "/* never", 2, 1, "comment is never closed"},
        Malformed{"open_string", HEAD ".file 1 \"abc\n", 2, 9, "string is never closed"},
        Malformed{"no_kernel_name", HEAD ".entry (", 2, 8, "expected the kernel's name, found '('"},
        Malformed{"parameter_space", HEAD ".entry k(.global .b32 a) {}", 2, 10,
                  "expected .param or .reg before the parameter"},
        Malformed{"parameter_type", HEAD ".entry k(.param .b33 a) {}", 2, 17,
                  "expected a type such as .b8 or .f32, found '.b33'"},
        Malformed{"parameter_comma", HEAD ".entry k(.param .b32 a .param .b32 b) {}", 2, 24,
                  "expected ')' after the parameters, found '.param'"},
        Malformed{"no_body", HEAD ".entry k() ret;", 2, 12,
                  "expected ';' or '{' after the function's header, found 'ret'"},
        Malformed{"open_body", HEAD ".entry k() {\n ret;\n", 4, 1, "found the end of the text"},
        Malformed{"stray_brace", HEAD ".entry k() { ret; } }", 2, 21, "expected a directive, found '}'"},
        Malformed{"four_dimensions", HEAD ".entry k() .reqntid 1, 2, 3, 4 {}", 2, 12,
                  "one to three positive numbers"},
        Malformed{"zero_threads", HEAD ".entry k() .maxntid 0 {}", 2, 12, "one to three positive numbers"},
        Malformed{"alignment", HEAD ".shared .align 3 .b8 a[4];", 2, 9, "alignment 3 is not a power of two"},
        Malformed{"no_type", HEAD ".shared a[4];", 2, 9, "expected a type such as .b8 or .f32, found 'a'"},
        Malformed{"no_array_bound_end", HEAD ".shared .b8 a[4;", 2, 16,
                  "expected ']' after the number of elements, found ';'"},
        Malformed{"huge", HEAD ".shared .b64 a[0xffffffffffff][0xffffff];", 2, 14,
                  "'a' is larger than 2^56 bytes"},
        Malformed{"no_variable_end", HEAD ".shared .b8 a[4]\n.shared .b8 b[4];", 3, 1,
                  "expected ';' after the variable, found '.shared'"},
        Malformed{"initialiser_brace", HEAD ".global .b8 a[1] = {1}};", 2, 23,
                  "'}' closes nothing in the initialiser"},
        Malformed{"register_type", HEAD ".entry k() { .reg .b33 %r; }", 2, 19,
                  "expected a register type such as .b32, found '.b33'"},
        Malformed{"register_range", HEAD ".entry k() { .reg .b32 %r<x>; }", 2, 27,
                  "expected a number of registers, found 'x'"},
        Malformed{"twice", HEAD ".entry k() { .reg .b32 a; .reg .b64 a; }", 2, 37,
                  "'a' is declared twice in one scope"},
        Malformed{"twice_by_range", HEAD ".entry k() { .reg .b32 %r<4>; .reg .b64 %r3; }", 2, 41,
                  "'%r3' is declared twice in one scope"},
        Malformed{"label_twice", HEAD ".entry k() { L: ret; L: ret; }", 2, 22,
                  "'L' is declared twice in one scope"},
        Malformed{"guard", HEAD ".entry k() { @%p1 ret; }", 2, 15, "guard '%p1' is no declared register"},
        Malformed{"register", HEAD ".entry k() { .reg .b32 %r<4>; mov.b32 %r1, %r4; }", 2, 44,
                  "register '%r4' is not declared"},
        Malformed{"no_semicolon", HEAD ".entry k() {\n .reg .b32 a;\n mov.b32 a, a\n ret;\n}", 5, 2,
                  "expected ';' after the instruction, found 'ret'"},
        Malformed{"no_operand", HEAD ".entry k() { .reg .b32 a; mov.b32 a, ; }", 2, 38,
                  "expected an operand, found ';'"},
        Malformed{"open_address", HEAD ".entry k() { .reg .b32 a; ld.b32 a, [a+4; }", 2, 41,
                  "expected ']' after the address, found ';'"},
        Malformed{"open_vector", HEAD ".entry k() { .reg .b32 a; mov.b64 {a, a; }", 2, 40,
                  "expected '}' after the operands, found ';'"},
        Malformed{"offset", HEAD ".entry k() { .reg .b32 a; ld.b32 a, [a+b]; }", 2, 40,
                  "expected an offset, found 'b'"},
        Malformed{"negated_label", HEAD ".entry k() { L: bra !L; }", 2, 22, "expected a predicate after '!'"},
        Malformed{"negated_twice", HEAD ".entry k() { .reg .pred p; not.pred p, !!p; }", 2, 41,
                  "expected a predicate after '!'"},
        Malformed{"no_destination", HEAD ".entry k() { ld.b32; }", 2, 14,
                  "'ld.b32' writes 1 operands, found 0"},
        Malformed{"nested_address", HEAD ".entry k() { .reg .b32 a; ld.b32 a, [[a]]; }", 2, 38,
                  "expected a register, a name or a number in an address"},
        Malformed{"deep_operand", HEAD ".entry k() { mov.b32 {{{{{{{{{{1}}}}}}}}}}; }", 2, 31,
                  "operands are nested deeper than 8"},
        Malformed{"label", HEAD ".entry k() {\n bra nowhere;\n}", 3, 6,
                  "label 'nowhere' is not defined in 'k'"},
        Malformed{"inner_label", HEAD ".entry k() { bra L; { L: ret; } }", 2, 18,
                  "label 'L' is not defined in 'k'"},
        Malformed{"table_label", HEAD ".entry k() { t: .branchtargets a; a1: ret; }", 2, 32,
                  "label 'a' is not defined in 'k'"},
        Malformed{"unknown_instruction_end", HEAD ".entry k() { frobnicate a }", 2, 27,
                  "expected ';' after the instruction, found '}'"},
        Malformed{"unknown_directive_end", HEAD ".entry k() { .frobnicate }", 2, 26,
                  "expected ';' after the directive, found '}'"},
        Malformed{"unknown_directive_brace", HEAD ".frobnicate { a", 2, 16,
                  "expected '}', found the end of the text"},
        Malformed{"loc", HEAD ".entry k() { .loc 1 2 ret; }", 2, 23, "expected a column, found 'ret'"},
        Malformed{"loc_word", HEAD ".entry k() { .loc 1 2 3, somewhere 4\n ret; }", 2, 26,
                  "expected function_name or inlined_at, found 'somewhere'"},
        Malformed{"section", HEAD ".section .debug_info { .b8 1", 2, 29, "expected '}' to close the section"},
        Malformed{"statement", HEAD ".entry k() { = }", 2, 14,
                  "expected an instruction, a label, a directive or '}', found '='"}),
    [](const auto& test) { return std::string(test.param.name); });

TEST(ParseMalformed, NestedScopesAreBounded) {
  const std::string open(300, '{');
  EXPECT_THROW(parse(HEAD ".entry k() " + open), ParseError);
}

}  // namespace
}  // namespace warploom::ptx
