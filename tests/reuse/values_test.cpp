#include "warploom/ptx/values.hpp"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>
#include <vector>

#include "../oracle/random.hpp"
#include "kernel_text.hpp"

namespace warploom::reuse {
namespace {

using Definitions = std::set<std::int64_t>;  ///< instructions; -1: none, the register is undefined

/// What a value may be, through phis and guarded writes. Inputs from blocks never reached do not count.
Definitions definitions_of(const Values& values, std::uint32_t value) {
  Definitions found;
  std::set<std::uint32_t> seen;
  std::vector<std::uint32_t> work{value};
  while (!work.empty()) {
    const std::uint32_t at = work.back();
    work.pop_back();
    if (!seen.insert(at).second) continue;
    const Value& v = values.all[at];
    if (v.kind == Value::undefined && v.reg != kNone) found.insert(-1);
    if (v.kind == Value::definition || v.kind == Value::guarded) found.insert(v.instruction);
    work.insert(work.end(), values.begin_inputs(v), values.end_inputs(v));
  }
  return found;
}

/// Reaching definitions by plain iteration over instructions, a register's set of definitions at a time.
/// Every instruction of these programs writes its first operand; `frob` is not known and may write all.
class ReachingDefinitions {
 public:
  explicit ReachingDefinitions(const ptx::Cfg& cfg) : cfg_(cfg), f_(*cfg.function) {
    in_.assign(cfg.blocks.size(), std::vector<Definitions>(f_.registers.size()));
    in_[0].assign(f_.registers.size(), {-1});
    for (bool changed = true; changed;) {
      changed = false;
      for (std::uint32_t b = 0; b < cfg.blocks.size(); ++b) {
        if (!cfg.reachable[b]) continue;
        auto state = in_[b];
        for (std::uint32_t i = cfg.blocks[b].first; i < cfg.blocks[b].last; ++i) step(i, state);
        for (const std::uint32_t s : cfg.graph.successors[b])
          for (std::uint32_t r = 0; r < f_.registers.size(); ++r) {
            const std::size_t before = in_[s][r].size();
            in_[s][r].insert(state[r].begin(), state[r].end());
            changed |= in_[s][r].size() != before;
          }
      }
    }
  }

  /// Before instruction i.
  Definitions at(std::uint32_t i, std::uint32_t reg) const {
    const std::uint32_t b = cfg_.block_of[i];
    auto state = in_[b];
    for (std::uint32_t k = cfg_.blocks[b].first; k < i; ++k) step(k, state);
    return state[reg];
  }

 private:
  void write(const ptx::Operand& o, std::uint32_t i, bool whole, std::vector<Definitions>& state) const {
    if (o.kind == ptx::OperandKind::vector || o.kind == ptx::OperandKind::pair) {
      for (const ptx::Operand& child : f_.children(o)) write(child, i, whole, state);
    } else if (o.kind == ptx::OperandKind::reg) {
      // A second component written by the same instruction does not undo the first.
      if (whole && o.component == 0xff) state[o.id].clear();
      state[o.id].insert(i);
    }
  }
  void step(std::uint32_t i, std::vector<Definitions>& state) const {
    const ptx::Instruction& instruction = f_.instructions[i];
    const std::string_view name = cfg_.module->opcode(instruction).text;
    if (name == "bra" || name == "ret" || name == "st.shared.b32") return;
    const auto operands = f_.operands_of(instruction);
    if (name == "frob.b32")
      for (const ptx::Operand& o : operands) write(o, i, false, state);
    else
      write(operands[0], i, instruction.guard == kNone, state);
  }

  const ptx::Cfg& cfg_;
  const ptx::Function& f_;
  std::vector<std::vector<Definitions>> in_;
};

std::string random_program(Random& random) {
  const auto reg = [&] { return fmt::format("%r{}", random.below(4)); };
  const auto part = [&] { return fmt::format("%v.{}", "xyzw"[random.below(4)]); };
  const auto guard = [&] {
    return random.chance(25) ? fmt::format("@{}%p{} ", random.chance(50) ? "!" : "", random.below(2))
                             : std::string();
  };
  std::string text = ".reg .v4 .b32 %v;\n";
  const std::uint32_t blocks = 2 + random.below(7);
  for (std::uint32_t b = 0; b < blocks; ++b) {
    if (b > 0 || random.chance(30)) text += fmt::format("L{}:\n", b);
    const bool scope = random.chance(20);
    if (scope) text += fmt::format("{{ .reg .b32 %r<{}>;\n", 1 + random.below(4));
    for (std::uint32_t n = random.below(4); n > 0; --n) switch (random.below(8)) {
        case 0:
          text += guard() + fmt::format("mov.b32 {}, {};\n", reg(), reg());
          break;
        case 1:
          text += guard() + fmt::format("add.u32 {}, {}, {};\n", reg(), reg(), reg());
          break;
        case 2:
          text += guard() + fmt::format("ld.shared.v2.b32 {{{}, {}}}, [A];\n", reg(), reg());
          break;
        case 3:
          text += guard() + fmt::format("setp.eq.u32 %p{}, {}, {};\n", random.below(2), reg(), reg());
          break;
        case 4:
          text += guard() + fmt::format("mov.b32 {}, {};\n", part(), reg());
          break;
        case 5:
          text += guard() + fmt::format("mov.b64 {{{}, {}}}, %rd1;\n", part(), part());
          break;
        case 6:
          text += guard() + fmt::format("mov.b32 {}, {};\n", reg(), part());
          break;
        default:
          text += guard() + fmt::format("frob.b32 {}, {};\n", reg(), reg());
          break;
      }
    if (scope) text += "}\n";
    const std::uint32_t to = random.below(blocks);
    if ((to > 0 || text.find("L0:") != std::string::npos) && random.chance(70))
      text +=
          fmt::format("{}bra L{};\n", random.chance(75) ? fmt::format("@%p{} ", random.below(2)) : "", to);
    else if (random.chance(15))
      text += "ret;\n";
  }
  return kernel_text(text + "ret;");
}

TEST(Values, EqualReachingDefinitionsOnRandomPrograms) {
  Random random(1);
  int uses = 0, joins = 0;
  for (int round = 0; round < 3000; ++round) {
    const std::string text = random_program(random);
    const ptx::Module module = ptx::parse(text);
    const ptx::Function& f = module.functions[0];
    const ptx::Cfg cfg = ptx::build_cfg(module, f);
    const Values values = number_values(cfg);
    const ReachingDefinitions expected(cfg);
    for (const std::uint32_t b : cfg.order)
      for (std::uint32_t i = cfg.blocks[b].first; i < cfg.blocks[b].last; ++i) {
        const ptx::Instruction& instruction = f.instructions[i];
        const auto compare = [&](std::uint32_t reg, std::uint32_t value) {
          const Definitions want = expected.at(i, reg);
          ASSERT_EQ(definitions_of(values, value), want)
              << text << "line " << instruction.line << " " << f.registers[reg].name;
          ++uses;
          joins += want.size() > 1;
        };
        if (instruction.guard != kNone) compare(instruction.guard, values.of_guard[i]);
        if (module.opcode(instruction).op == ptx::Op::unknown) continue;  // of_operand is the value after it
        for_each_register(module, f, instruction,
                          [&](const ptx::Operand& o, std::uint32_t index, bool written) {
                            if (!written) compare(o.id, values.of_operand[index]);
                          });
        if (HasFatalFailure()) return;
      }
  }
  EXPECT_GT(uses, 10000);
  EXPECT_GT(joins, 3000);
}

TEST(Values, APhiHasOneInputAPredecessor) {
  Random random(2);
  for (int round = 0; round < 500; ++round) {
    const Analysed a(random_program(random));
    const Values& values = a.kernel.values;
    for (std::uint32_t b = 0; b < a.kernel.cfg.blocks.size(); ++b)
      for (const std::uint32_t phi : values.phis[b]) {
        ASSERT_EQ(values.all[phi].block, b);
        ASSERT_EQ(values.all[phi].input_count, a.kernel.cfg.graph.predecessors[b].size());
      }
  }
}

/// The definitions, as PTX text, that the first source of this instruction may see.
std::set<std::string> seen_by(const Analysed& a, std::string_view instruction) {
  const ptx::Function& f = *a.kernel.function;
  for (const ptx::Instruction& i : f.instructions) {
    if (a.module.text_of(i.span) != instruction) continue;
    std::uint32_t source = kNone;
    for_each_register(a.module, f, i, [&](const ptx::Operand&, std::uint32_t index, bool written) {
      if (!written && source == kNone) source = a.kernel.values.of_operand[index];
    });
    std::set<std::string> texts;
    for (const std::int64_t d : definitions_of(a.kernel.values, source))
      texts.insert(d < 0 ? "undefined"
                         : std::string(a.module.text_of(f.instructions[static_cast<std::size_t>(d)].span)));
    return texts;
  }
  return {"no such instruction"};
}
using Texts = std::set<std::string>;

TEST(Values, ARegisterDefinedTwiceIsTwoValues) {
  const Analysed a(
      kernel_text("mov.u64 %rd1, A;\nmov.u64 %rd2, %rd1;\nmov.u64 %rd1, B;\nmov.u64 %rd3, %rd1;\nret;"));
  EXPECT_EQ(seen_by(a, "mov.u64 %rd2, %rd1;"), Texts{"mov.u64 %rd1, A;"});
  EXPECT_EQ(seen_by(a, "mov.u64 %rd3, %rd1;"), Texts{"mov.u64 %rd1, B;"});
}

TEST(Values, AJoinSeesBothArms) {
  const Analysed a(kernel_text(
      "@%p1 bra E;\nmov.u64 %rd1, A;\nbra J;\nE: mov.u64 %rd1, B;\nJ: mov.u64 %rd2, %rd1;\nret;"));
  EXPECT_EQ(seen_by(a, "mov.u64 %rd2, %rd1;"), (Texts{"mov.u64 %rd1, A;", "mov.u64 %rd1, B;"}));
}

TEST(Values, AGuardedWriteMayKeepTheOldValue) {
  const Analysed a(kernel_text("mov.u64 %rd1, A;\n@%p1 mov.u64 %rd1, B;\nmov.u64 %rd2, %rd1;\nret;"));
  EXPECT_EQ(seen_by(a, "mov.u64 %rd2, %rd1;"), (Texts{"mov.u64 %rd1, A;", "@%p1 mov.u64 %rd1, B;"}));
}

TEST(Values, AWrittenComponentKeepsTheOthers) {
  const Analysed a(
      kernel_text(".reg .v2 .b64 %v;\nmov.u64 %v.x, A;\nmov.u64 %v.y, B;\nmov.u64 %rd1, %v.x;\nret;"));
  EXPECT_EQ(seen_by(a, "mov.u64 %rd1, %v.x;"), (Texts{"mov.u64 %v.x, A;", "mov.u64 %v.y, B;", "undefined"}));
}

TEST(Values, AnUnknownInstructionMayWriteAnyRegisterItNames) {
  const Analysed a(kernel_text(
      "mov.u64 %rd1, A;\nfrob.b64 [%rd1], {%rd2};\nmov.u64 %rd3, %rd1;\nmov.u64 %rd4, %rd2;\nret;"));
  EXPECT_EQ(seen_by(a, "mov.u64 %rd3, %rd1;"), (Texts{"mov.u64 %rd1, A;", "frob.b64 [%rd1], {%rd2};"}));
  EXPECT_EQ(seen_by(a, "mov.u64 %rd4, %rd2;"), (Texts{"undefined", "frob.b64 [%rd1], {%rd2};"}));
}

TEST(Values, AReadBeforeAnyDefinitionIsUndefined) {
  const Analysed a(kernel_text("mov.u64 %rd2, %rd1;\nmov.u64 %rd1, A;\nret;"));
  EXPECT_EQ(seen_by(a, "mov.u64 %rd2, %rd1;"), Texts{"undefined"});
}

TEST(Values, ALoopAtTheFirstInstructionSeesTheRoundBefore) {
  const Analysed a(kernel_text("L: mov.u64 %rd2, %rd1;\nmov.u64 %rd1, A;\n@%p1 bra L;\nret;"));
  EXPECT_EQ(seen_by(a, "mov.u64 %rd2, %rd1;"), (Texts{"undefined", "mov.u64 %rd1, A;"}));
}

TEST(Values, AnInnerScopeHidesARegister) {
  const Analysed a(
      kernel_text("mov.u64 %rd1, A;\n{ .reg .b64 %rd1;\nmov.u64 %rd1, B;\n}\nmov.u64 %rd2, %rd1;\nret;"));
  EXPECT_EQ(seen_by(a, "mov.u64 %rd2, %rd1;"), Texts{"mov.u64 %rd1, A;"});
}

TEST(Values, ACallWritesItsResultsAndReadsItsArguments) {
  const Analysed a(kernel_text("mov.u32 %r1, 1;\ncall (%r1), f, (%r1);\nmov.u32 %r2, %r1;\nret;", 80,
                               ".func (.reg .b32 o) f (.reg .b32 i) { mov.b32 o, i; ret; }"));
  EXPECT_EQ(seen_by(a, "call (%r1), f, (%r1);"), Texts{"mov.u32 %r1, 1;"});
  EXPECT_EQ(seen_by(a, "mov.u32 %r2, %r1;"), Texts{"call (%r1), f, (%r1);"});
}

TEST(Values, ACallWithoutResultsWritesNothing) {
  const Analysed a(kernel_text("mov.u32 %r1, 1;\ncall f, (%r1);\nmov.u32 %r2, %r1;\nret;", 80,
                               ".func f (.reg .b32 i) { ret; }"));
  EXPECT_EQ(seen_by(a, "mov.u32 %r2, %r1;"), Texts{"mov.u32 %r1, 1;"});
}

TEST(Values, APredecessorThatIsNeverReachedAddsNothing) {
  const Analysed a(kernel_text("mov.u64 %rd1, A;\nbra J;\nmov.u64 %rd1, B;\nJ: mov.u64 %rd2, %rd1;\nret;"));
  EXPECT_EQ(seen_by(a, "mov.u64 %rd2, %rd1;"), Texts{"mov.u64 %rd1, A;"});
}

TEST(Values, BothDestinationsOfAPairAreWritten) {
  const Analysed a(kernel_text("setp.eq.u32 %p1|%p2, %r1, 0;\nand.pred %p3, %p2, %p1;\nret;"));
  EXPECT_EQ(seen_by(a, "and.pred %p3, %p2, %p1;"), Texts{"setp.eq.u32 %p1|%p2, %r1, 0;"});
}

}  // namespace
}  // namespace warploom::reuse
