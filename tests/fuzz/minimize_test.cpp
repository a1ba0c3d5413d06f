#include "fuzz/minimize.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "oracle/random_kernel.hpp"

namespace warploom::fuzz {
namespace {

bool contains(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

TEST(Minimize, KeepsOnlyTheLinesThatMatter) {
  const std::string kernel = oracle::random_kernel(7).text;
  ASSERT_TRUE(contains(kernel, "bar.sync 0;\n") && contains(kernel, "%ctaid.x;\n"));
  const auto fails = [](const std::string& text) {
    return contains(text, "bar.sync 0;\n") && contains(text, "%ctaid.x;\n");
  };
  EXPECT_EQ(minimize_text(kernel, fails), "mov.u32 %r0, %ctaid.x;\nbar.sync 0;\n");
}

TEST(Minimize, LeavesOutALabelTogetherWithItsBranches) {
  const auto fails = [](const std::string& text) {  // as a parser: a label needs to be there if it is named
    return contains(text, "needed") && contains(text, "bra L;") == contains(text, "L:");
  };
  EXPECT_EQ(minimize_text("bra L;\nneeded\nbra L;\nL:\n", fails), "needed\n");
}

TEST(Minimize, MakesNumbersSmaller) {
  const auto fails = [](const std::string& text) {
    int value = 0;
    return std::sscanf(text.c_str(), "b8 a[%d];", &value) == 1 && value >= 37;
  };
  EXPECT_EQ(minimize_text("b8 a[4096];\n", fails), "b8 a[37];\n");
}

TEST(Minimize, LeavesAlignmentsAlone) {
  const auto fails = [](const std::string& text) { return contains(text, ".align"); };
  EXPECT_EQ(minimize_text(".shared .align 16 .b8 a[64];\n", fails), ".shared .align 16 .b8 a[0];\n");
}

TEST(Minimize, ReplacesGuardsQualifiersAndRegisters) {
  const auto fails = [](const std::string& text) { return contains(text, "st") && contains(text, "[%r1]"); };
  EXPECT_EQ(minimize_text("@!%p1 st.volatile.shared.u32 [%r1], %r2;\n", fails), "st.shared.u32 [%r1], 0;\n");
}

TEST(Minimize, GivesBackWhatCannotBeReduced) {
  const std::string text = "a\nb\n";
  EXPECT_EQ(minimize_text(text, [&](const std::string& t) { return t == text; }), text);
}

}  // namespace
}  // namespace warploom::fuzz
