// The table of instructions in docs/guide/sim.md: each mnemonic of PTX ISA 9.0 stands there once, what is
// said to be modelled runs, and what is said to be refused is refused by its name.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "warploom/core/file.hpp"
#include "warploom/ptx/opcode.hpp"
#include "warploom/sim/sim.hpp"

namespace warploom::sim {
namespace {

/// One instruction each, of registers that the kernel below has.
const std::map<std::string, std::string>& samples() {
  static const std::map<std::string, std::string> all = {
      {"abs", "abs.s32 %r3, %r4;"},
      {"activemask", "activemask.b32 %r3;"},
      {"add", "add.u32 %r3, %r4, %r5;"},
      {"addc", "addc.u32 %r3, %r4, %r5;"},
      {"alloca", "alloca.u64 %rd3, %rd4;"},
      {"and", "and.b32 %r3, %r4, %r5;"},
      {"applypriority", "applypriority.global.L2::evict_normal [%rd1], 128;"},
      {"atom", "atom.global.add.u32 %r3, [%rd1], 1;"},
      {"bar", "bar.sync 0;"},
      {"barrier", "barrier.sync 0;"},
      {"bfe", "bfe.u32 %r3, %r4, 1, 2;"},
      {"bfi", "bfi.b32 %r3, %r4, %r5, 1, 2;"},
      {"bfind", "bfind.u32 %r3, %r4;"},
      {"bmsk", "bmsk.clamp.b32 %r3, %r4, %r5;"},
      {"bra", "bra DONE;"},
      {"brev", "brev.b32 %r3, %r4;"},
      {"brkpt", "brkpt;"},
      {"brx", "table: .branchtargets DONE;\nbrx.idx %r0, table;"},
      {"call", "call.uni f;"},
      {"clmad", "clmad.lo.u64 %rd3, %rd4, %rd5, %rd6;"},
      {"clusterlaunchcontrol",
       "clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes.b128 [%r3], [%r4];"},
      {"clz", "clz.b32 %r3, %r4;"},
      {"cnot", "cnot.b32 %r3, %r4;"},
      {"copysign", "copysign.f32 %f3, %f4, %f5;"},
      {"cos", "cos.approx.f32 %f3, %f4;"},
      {"cp", "cp.async.commit_group;"},
      {"createpolicy", "createpolicy.fractional.L2::evict_last.b64 %rd3, 0f3F800000;"},
      {"cvt", "cvt.u64.u32 %rd3, %r4;"},
      {"cvta", "cvta.global.u64 %rd3, %rd1;"},
      {"discard", "discard.global.L2 [%rd1], 128;"},
      {"div", "div.rn.f32 %f3, %f4, %f5;"},
      {"dp2a", "dp2a.lo.u32.u32 %r3, %r4, %r5, %r6;"},
      {"dp4a", "dp4a.u32.u32 %r3, %r4, %r5, %r6;"},
      {"elect", "elect.sync %r3|%p1, -1;"},
      {"ex2", "ex2.approx.f32 %f3, %f4;"},
      {"exit", "exit;"},
      {"fence", "fence.acq_rel.gpu;"},
      {"fma", "fma.rn.f32 %f3, %f4, %f5, %f6;"},
      {"fns", "fns.b32 %r3, %r4, 0, 1;"},
      {"getctarank", "getctarank.shared::cluster.u32 %r3, %r4;"},
      {"griddepcontrol", "griddepcontrol.wait;"},
      {"isspacep", "isspacep.global %p1, %rd1;"},
      {"istypep", "istypep.texref %p1, %rd1;"},
      {"ld", "ld.global.u32 %r3, [%rd1];"},
      {"ldmatrix", "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r3}, [tile];"},
      {"ldu", "ldu.global.u32 %r3, [%rd1];"},
      {"lg2", "lg2.approx.f32 %f3, %f4;"},
      {"lop3", "lop3.b32 %r3, %r4, %r5, %r6, 0x80;"},
      {"mad", "mad.lo.u32 %r3, %r4, %r5, %r6;"},
      {"mad24", "mad24.lo.u32 %r3, %r4, %r5, %r6;"},
      {"madc", "madc.lo.u32 %r3, %r4, %r5, %r6;"},
      {"mapa", "mapa.shared::cluster.u32 %r3, %r4, 0;"},
      {"match", "match.any.sync.b32 %r3, %r4, -1;"},
      {"max", "max.s32 %r3, %r4, %r5;"},
      {"mbarrier", "mbarrier.init.shared.b64 [tile], 1;"},
      {"membar", "membar.gl;"},
      {"min", "min.s32 %r3, %r4, %r5;"},
      {"mma",
       "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%f1, %f2, %f3, %f4}, {%r3, %r4}, {%r5}, {%f1, %f2, %f3, %f4};"},
      {"mov", "mov.u32 %r3, %r4;"},
      {"movmatrix", "movmatrix.sync.aligned.m8n8.trans.b16 %r3, %r4;"},
      {"mul", "mul.lo.u32 %r3, %r4, %r5;"},
      {"mul24", "mul24.lo.u32 %r3, %r4, %r5;"},
      {"multimem", "multimem.ld_reduce.relaxed.sys.global.add.u32 %r3, [%rd1];"},
      {"nanosleep", "nanosleep.u32 20;"},
      {"neg", "neg.s32 %r3, %r4;"},
      {"not", "not.b32 %r3, %r4;"},
      {"or", "or.b32 %r3, %r4, %r5;"},
      {"pmevent", "pmevent 1;"},
      {"popc", "popc.b32 %r3, %r4;"},
      {"prefetch", "prefetch.global.L2 [%rd1];"},
      {"prefetchu", "prefetchu.L1 [%rd1];"},
      {"prmt", "prmt.b32 %r3, %r4, %r5, %r6;"},
      {"rcp", "rcp.rn.f32 %f3, %f4;"},
      {"red", "red.global.add.u32 [%rd1], 1;"},
      {"redux", "redux.sync.add.u32 %r3, %r4, -1;"},
      {"rem", "rem.u32 %r3, %r4, 7;"},
      {"ret", "ret;"},
      {"rsqrt", "rsqrt.approx.f32 %f3, %f4;"},
      {"sad", "sad.u32 %r3, %r4, %r5, %r6;"},
      {"selp", "selp.u32 %r3, %r4, %r5, %p1;"},
      {"set", "set.eq.u32.u32 %r3, %r4, %r5;"},
      {"setmaxnreg", "setmaxnreg.inc.sync.aligned.u32 64;"},
      {"setp", "setp.eq.u32 %p1, %r4, %r5;"},
      {"shf", "shf.l.wrap.b32 %r3, %r4, %r5, %r6;"},
      {"shfl", "shfl.sync.bfly.b32 %r3, %r4, 1, 31, -1;"},
      {"shl", "shl.b32 %r3, %r4, %r5;"},
      {"shr", "shr.u32 %r3, %r4, %r5;"},
      {"sin", "sin.approx.f32 %f3, %f4;"},
      {"slct", "slct.u32.s32 %r3, %r4, %r5, %r6;"},
      {"sqrt", "sqrt.rn.f32 %f3, %f4;"},
      {"st", "st.global.u32 [%rd1], 1;"},
      {"stackrestore", "stackrestore.u64 %rd3;"},
      {"stacksave", "stacksave.u64 %rd3;"},
      {"stmatrix", "stmatrix.sync.aligned.m8n8.x1.shared.b16 [tile], {%r3};"},
      {"sub", "sub.u32 %r3, %r4, %r5;"},
      {"subc", "subc.u32 %r3, %r4, %r5;"},
      {"suld", "suld.b.1d.b32.trap %r3, [%rd1, {%r4}];"},
      {"suq", "suq.width.b32 %r3, [%rd1];"},
      {"sured", "sured.b.add.1d.u32.trap [%rd1, {%r4}], %r3;"},
      {"sust", "sust.b.1d.b32.trap [%rd1, {%r4}], %r3;"},
      {"szext", "szext.clamp.u32 %r3, %r4, %r5;"},
      {"tanh", "tanh.approx.f32 %f3, %f4;"},
      {"tcgen05", "tcgen05.wait::ld.sync.aligned;"},
      {"tensormap", "tensormap.replace.tile.global_address.global.b1024.b64 [%rd1], %rd3;"},
      {"testp", "testp.finite.f32 %p1, %f3;"},
      {"tex", "tex.1d.v4.f32.s32 {%f1, %f2, %f3, %f4}, [%rd1, {%r3}];"},
      {"tld4", "tld4.r.2d.v4.f32.f32 {%f1, %f2, %f3, %f4}, [%rd1, {%f5, %f6}];"},
      {"trap", "trap;"},
      {"txq", "txq.width.b32 %r3, [%rd1];"},
      {"vabsdiff", "vabsdiff.u32.u32.u32 %r3, %r4, %r5;"},
      {"vabsdiff2", "vabsdiff2.u32.u32.u32 %r3, %r4, %r5, %r6;"},
      {"vabsdiff4", "vabsdiff4.u32.u32.u32 %r3, %r4, %r5, %r6;"},
      {"vadd", "vadd.u32.u32.u32 %r3, %r4, %r5;"},
      {"vadd2", "vadd2.u32.u32.u32 %r3, %r4, %r5, %r6;"},
      {"vadd4", "vadd4.u32.u32.u32 %r3, %r4, %r5, %r6;"},
      {"vavrg2", "vavrg2.u32.u32.u32 %r3, %r4, %r5, %r6;"},
      {"vavrg4", "vavrg4.u32.u32.u32 %r3, %r4, %r5, %r6;"},
      {"vmad", "vmad.u32.u32.u32 %r3, %r4, %r5, %r6;"},
      {"vmax", "vmax.u32.u32.u32 %r3, %r4, %r5;"},
      {"vmax2", "vmax2.u32.u32.u32 %r3, %r4, %r5, %r6;"},
      {"vmax4", "vmax4.u32.u32.u32 %r3, %r4, %r5, %r6;"},
      {"vmin", "vmin.u32.u32.u32 %r3, %r4, %r5;"},
      {"vmin2", "vmin2.u32.u32.u32 %r3, %r4, %r5, %r6;"},
      {"vmin4", "vmin4.u32.u32.u32 %r3, %r4, %r5, %r6;"},
      {"vote", "vote.sync.ballot.b32 %r3, %p1, -1;"},
      {"vset", "vset.u32.u32.eq %r3, %r4, %r5;"},
      {"vset2", "vset2.u32.u32.eq %r3, %r4, %r5, %r6;"},
      {"vset4", "vset4.u32.u32.eq %r3, %r4, %r5, %r6;"},
      {"vshl", "vshl.u32.u32.u32.clamp %r3, %r4, %r5;"},
      {"vshr", "vshr.u32.u32.u32.clamp %r3, %r4, %r5;"},
      {"vsub", "vsub.u32.u32.u32 %r3, %r4, %r5;"},
      {"vsub2", "vsub2.u32.u32.u32 %r3, %r4, %r5, %r6;"},
      {"vsub4", "vsub4.u32.u32.u32 %r3, %r4, %r5, %r6;"},
      {"wgmma", "wgmma.fence.sync.aligned;"},
      {"wmma", "wmma.load.c.sync.aligned.row.m8n8k4.global.f64 {%fd1, %fd2}, [%rd1];"},
      {"xor", "xor.b32 %r3, %r4, %r5;"}};
  return all;
}

/// Empty, or how the simulator refuses it.
std::string refusal_of(const std::string& instruction) {
  Machine machine(ptx::parse(
      ".version 8.7\n.target sm_90a\n.address_size 64\n.func f()\n{\nret;\n}\n"
      ".visible .entry k(.param .u64 out)\n{\n.reg .pred %p<9>;\n.reg .b32 %r<30>;\n.reg .b64 %rd<9>;\n"
      ".reg .f32 %f<9>;\n.reg .f64 %fd<9>;\n.shared .align 128 .b8 tile[512];\nld.param.u64 %rd1, [out];\n"
      "mov.u32 %r0, 0;\n" +
          instruction + "\nDONE:\nret;\n}\n",
      "k.ptx"));
  Arguments arguments;
  arguments.add(machine.allocate(4096, "out"));
  try {
    machine.launch("k", arguments, {.block = {32}});
  } catch (const Unsupported& error) {
    return error.what();
  }
  return "";
}

TEST(InstructionTable, HasEachMnemonicOnceAndSaysWhatIs) {
  const std::string guide = read_file(std::string(WARPLOOM_TESTS_DIR) + "/../docs/guide/sim.md");
  std::map<std::string, bool> modelled;
  const std::size_t begin = guide.find("| | modelled | refused by name |"), end = guide.find("\n\n", begin);
  ASSERT_NE(begin, guide.npos);
  unsigned column = 0;
  for (std::size_t at = begin; at < end; ++at) {
    if (guide[at] == '\n') column = 0;
    if (guide[at] == '|') ++column;
    if (guide[at] != '`') continue;
    const std::size_t close = guide.find('`', at + 1);
    const std::string name = guide.substr(at + 1, close - at - 1);
    EXPECT_TRUE(modelled.emplace(name, column == 2).second) << name << " stands there twice";
    at = close;
  }
  for (unsigned op = 1; op < static_cast<unsigned>(ptx::Op::count_); ++op) {
    const std::string name(ptx::mnemonic(static_cast<ptx::Op>(op)));
    ASSERT_TRUE(samples().contains(name)) << name << " has no sample in this test";
    ASSERT_TRUE(modelled.contains(name)) << name << " is not in the guide's table";
    const std::string refusal = refusal_of(samples().at(name));
    EXPECT_EQ(refusal.empty(), modelled.at(name)) << name << ": " << refusal;
    if (!refusal.empty()) {
      EXPECT_NE(refusal.find("has no '" + name), refusal.npos) << refusal;
    }
    modelled.erase(name);
  }
  EXPECT_TRUE(modelled.empty()) << modelled.begin()->first << " is no instruction of PTX ISA 9.0";
}

}  // namespace
}  // namespace warploom::sim
