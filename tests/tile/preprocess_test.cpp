// Macros, conditions and included files.
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "source_text.hpp"

namespace warploom::tile::test {
namespace {

/// What is assigned to a[0] after the lines in front of the function.
std::string preprocessed(const std::string& lines, const std::string& value,
                         const SourceOptions& options = {}) {
  const Region region = read_region(
      lines + "\nvoid f(int n, float a[n]) { for (int i = 0; i < 1; i++) a[0] = " + value + "; }", options);
  return to_text(region.body.children.at(0).children.at(0).value);
}

TEST(Macro, ReplacesNamesAlsoWithinEachOther) {
  EXPECT_EQ(preprocessed("#define A B + 1\n#define B 2\n", "A"), "2 + 1");
  EXPECT_EQ(preprocessed("#define A 1\n#undef A\n#define A 2\n", "A"), "2");
}

TEST(Macro, TakesArguments) {
  EXPECT_EQ(preprocessed("#define MAX(x, y) ((x) > (y) ? (x) : (y))\n", "MAX(a[0], MAX(1.0f, a[1]))"),
            "a[0] > (1.0f > a[1] ? 1.0f : a[1]) ? a[0] : 1.0f > a[1] ? 1.0f : a[1]");
  EXPECT_EQ(preprocessed("#define F(x) x + 1\n#define G F\n", "G(3)"), "3 + 1");
  EXPECT_EQ(preprocessed("#define F(x, ...) x + fmaxf(__VA_ARGS__)\n", "F(1, 2, 3)"), "1 + fmaxf(2, 3)");
  EXPECT_EQ(preprocessed("#define SECOND(x, y) y\n", "SECOND((1, 2), 3)"), "3");
}

TEST(Macro, ANameWithoutArgumentsStays) {
  const std::vector<Region> regions =
      read("#define i(x) x\nvoid f(int n, float a[n]) { for (int i = 0; i < n; i++) a[i] = i; }");
  EXPECT_TRUE(regions.at(0).refusals.empty());
}

TEST(Macro, DoesNotReplaceItselfWithoutEnd) {
  EXPECT_EQ(preprocessed("#define sqrtf(x) sqrtf((x) + 1)\n", "sqrtf(2)"), "sqrtf(2 + 1)");
  EXPECT_EQ(preprocessed("#define sinf cosf\n#define cosf sinf\n", "sinf(1)"), "sinf(1)");
}

TEST(Macro, PastesTokens) {
  EXPECT_EQ(preprocessed("#define JOIN(x, y) x ## y\n", "JOIN(sq, rtf)(1.0f)"), "sqrtf(1.0f)");
  EXPECT_EQ(preprocessed("#define SINGLE(x) x##f\n", "SINGLE(0.5)"), "0.5f");
  EXPECT_EQ(preprocessed("#define JOIN(x, y) x ## y\n", "JOIN(, 3)"), "3");
  EXPECT_NE(parse_error_of("#define JOIN(x, y) x ## y\nint a = JOIN(+, 3);").find("no token"),
            std::string::npos);
}

TEST(Macro, MakesText) {
  EXPECT_EQ(
      refusals_of(
          "#define TEXT(x) #x\nvoid f(int n, float a[n]) { for (int i = 0; i < n; i++) a[i] = TEXT(a \"b\"); }"),
      std::vector<std::string>{"2:64: string literal"});
}

TEST(Macro, GoesOverLinesAndComments) {
  EXPECT_EQ(preprocessed("#define SUM(x, y) \\\n  x + /* a comment \n over lines */ y // and one more\n",
                         "SUM(1,\n  2)"),
            "1 + 2");
  EXPECT_EQ(preprocessed("#def\\\nine A 4\n", "A"), "4");
}

TEST(Macro, ComesFromOptions) {
  SourceOptions options;
  options.macros = {{"WIDTH", "16"}, {"TWICE(x)", "(2 * (x))"}};
  EXPECT_EQ(preprocessed("", "TWICE(WIDTH)", options), "2 * 16");
}

TEST(Macro, StandsWhereItIsUsed) {
  EXPECT_EQ(refusals_of("#define STOP break\nvoid f(int n) {\n  for (int i = 0; i < n; i++)\n    STOP;\n}"),
            std::vector<std::string>{"4:5: break"});
}

TEST(Macro, ErrorsAreLocated) {
  EXPECT_EQ(parse_error_of("#define F(x, y) x\nint a = F(1);"), "2:9: macro F takes 2 arguments, not 1");
  EXPECT_EQ(parse_error_of("#define F(x) x\nint a = F(1;"),
            "2:9: arguments of macro F do not end: expected ')'");
  EXPECT_EQ(parse_error_of("#define 3 x\n"), "1:9: #define: expected a name");
  EXPECT_EQ(parse_error_of("#define F(x, 3) x\n"), "1:14: #define: expected a parameter's name");
  EXPECT_EQ(parse_error_of("#define A ## B\n"), "1:11: #define: '##' needs two neighbours");
}

TEST(Macro, DoublingWithoutEndIsAnError) {
  std::string text = "#define A0 1 + 1\n";
  for (int i = 1; i < 100; ++i)
    text += "#define A" + std::to_string(i) + " A" + std::to_string(i - 1) + " + A" + std::to_string(i - 1) +
            "\n";
  EXPECT_NE(parse_error_of(text + "int a = A99;").find("more than 2000000 tokens"), std::string::npos);
}

TEST(Macro, DeepNestingIsAnError) {
  std::string text = "#define A0 1\n";
  for (int i = 1; i < 1000; ++i)
    text += "#define A" + std::to_string(i) + " A" + std::to_string(i - 1) + "\n";
  EXPECT_NE(parse_error_of(text + "int a = A999;").find("macros nested deeper than 200"), std::string::npos);
}

TEST(Condition, ChoosesGroups) {
  const std::string lines =
      "#if defined(X) && X > 2\n#define V 1\n#elif defined Y\n#define V 2\n#else\n#define V 3\n#endif\n";
  EXPECT_EQ(preprocessed("#define X 3\n" + lines, "V"), "1");
  EXPECT_EQ(preprocessed("#define X 2\n#define Y\n" + lines, "V"), "2");
  EXPECT_EQ(preprocessed(lines, "V"), "3");
  EXPECT_EQ(preprocessed("#ifndef X\n#ifdef Y\n#else\n#define V 4\n#endif\n#endif\n", "V"), "4");
}

TEST(Condition, CalculatesAsCDoes) {
  const auto holds = [](const std::string& condition) {
    return preprocessed("#if " + condition + "\n#define V 1\n#else\n#define V 0\n#endif\n", "V") == "1";
  };
  EXPECT_TRUE(holds("1 + 2 * 3 == 7 && (1 << 4) == 16 && 7 % 4 == 3 && -7 / 2 == -3"));
  EXPECT_TRUE(holds("(1 ? 2 : 3) == 2 && !0 && ~0 == -1 && 0x10 == 020 && 5u >= 5L"));
  EXPECT_TRUE(holds("(6 & 3) == 2 && (6 | 3) == 7 && (6 ^ 3) == 5 && 10 - 2 - 3 == 5"));
  EXPECT_FALSE(holds("UNKNOWN"));
  EXPECT_TRUE(holds("1 || 1 / 0"));
  EXPECT_FALSE(holds("0 && 1 / 0"));
  EXPECT_TRUE(holds("'a' == 97"));
}

TEST(Condition, WhatIsNotChosenNeedNotBeC) {
  EXPECT_EQ(
      preprocessed("#if 0\nit's not C @ all\n#if 1\n#error inside\n#endif\n#else\n#define V 5\n#endif", "V"),
      "5");
}

TEST(Condition, ErrorsAreLocated) {
  EXPECT_EQ(parse_error_of("int a;\n#if 1\n"), "2:1: conditional without #endif");
  EXPECT_EQ(parse_error_of("#endif\n"), "1:1: #endif without #if");
  EXPECT_EQ(parse_error_of("#if 0\n#else\n#else\n#endif\n"), "3:1: #else after #else");
  EXPECT_EQ(parse_error_of("#if 1 / 0\n#endif\n"), "1:7: #if: division by zero, found '/'");
  EXPECT_EQ(parse_error_of("#if 1 +\n#endif\n"), "1:8: #if: expected a value, found the end of the line");
  EXPECT_EQ(parse_error_of("#if 99999999999999999999\n#endif\n"),
            "1:5: #if: expected an integer of at most 64 bits, found '99999999999999999999'");
  EXPECT_EQ(parse_error_of("#error no luck\n"), "1:1: #error no luck");
  EXPECT_EQ(parse_error_of("#nonsense\n"), "1:2: unknown directive '#nonsense'");
  EXPECT_NE(parse_error_of("#if " + std::string(100000, '(') + "\n#endif\n").find("nested deeper than 200"),
            std::string::npos);
}

class Include : public testing::Test {
 protected:
  Include() {
    std::filesystem::create_directories(folder_ / "inner");
    write("sizes.h", "#pragma once\n#define N 12\n#include \"inner/type.h\"\n");
    write("inner/type.h", "typedef double real;\n#include \"deep.h\"\n");
    write("inner/deep.h", "#define DEEP 7\n");
    write("itself.h", "#include \"itself.h\"\n");
  }
  ~Include() override { std::filesystem::remove_all(folder_); }
  void write(const std::string& name, const std::string& text) { std::ofstream(folder_ / name) << text; }
  std::vector<Region> read_beside(const std::string& text, const SourceOptions& options = {}) {
    return read_source(text, (folder_ / "nest.c").string(), options);
  }

  std::filesystem::path folder_ = testing::TempDir() + "/warploom_include_" + std::to_string(::getpid());
};

constexpr const char* kNest = "void f(real a[N]) { for (int i = 0; i < N; i++) a[i] = DEEP; }\n";

TEST_F(Include, IsLookedForBesideTheFileThatNamesIt) {
  const Region region = read_beside(std::string("#include \"sizes.h\"\n") + kNest).at(0);
  EXPECT_TRUE(region.refusals.empty());
  EXPECT_EQ(region.variables.at(0).type, ScalarType::float64);
  EXPECT_EQ(to_text(region.body), "for (int i = 0; i < 12; i++)\n  a[i] = 7;\n");
}

TEST_F(Include, IsLookedForInTheFolders) {
  SourceOptions options;
  options.include_folders = {(folder_ / "inner").string(), folder_.string()};
  EXPECT_TRUE(read(std::string("#include \"sizes.h\"\n") + kNest, options).at(0).refusals.empty());
  EXPECT_TRUE(read(std::string("#include <sizes.h>\n") + kNest, options).at(0).refusals.empty());
}

TEST_F(Include, OfTheSystemIsSkipped) {
  EXPECT_TRUE(read("#include <stdio.h>\n#include <no/such/file.h>\n").empty());
}

TEST_F(Include, ErrorsAreLocated) {
  EXPECT_EQ(parse_error_of("\n#include \"missing.h\"\n"),
            "2:1: #include \"missing.h\": no such file beside this one or in the include folders");
  EXPECT_EQ(parse_error_of("#include 3\n"), "1:10: #include: expected \"file\" or <file>");
  EXPECT_THROW(read_beside("#include \"itself.h\"\n"), ParseError);
  write("wrong.h", "int a;\n@\n");
  try {
    read_beside("#include \"wrong.h\"\n");
    FAIL() << "no error";
  } catch (const ParseError& error) {
    EXPECT_EQ(error.where().file, (folder_ / "wrong.h").string());
    EXPECT_EQ(error.where().line, 2u);
  }
}

}  // namespace
}  // namespace warploom::tile::test
