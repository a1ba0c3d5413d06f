// What is outside of the subset is refused where it stands; the rest is read all the same. What is no C is an
// error.
#include "source_text.hpp"

namespace warploom::tile::test {
namespace {

std::string text_of_all(const std::vector<std::string>& refusals) {
  std::string text;
  for (const std::string& refusal : refusals) text += refusal + '\n';
  return text;
}

/// Refusals of statements that stand in line 2 within a loop over i.
std::string refused(const std::string& statement) {
  return text_of_all(refusals_of(function_of("for (int i = 0; i < n; i++) {\n" + statement + "\n}")));
}

TEST(Refusal, NamesEveryConstructAndItsPlace) {
  EXPECT_EQ(refused("while (x[i] > 0) x[i] -= 1;"), "3:1: while loop\n");
  EXPECT_EQ(refused("do x[i] -= 1; while (x[i] > 0);"), "3:1: do loop\n");
  EXPECT_EQ(refused("break;"), "3:1: break\n");
  EXPECT_EQ(refused("continue;"), "3:1: continue\n");
  EXPECT_EQ(refused("return;"), "3:1: return\n");
  EXPECT_EQ(refused("goto end;"), "3:1: goto\n");
  EXPECT_EQ(refused("switch (i) { case 1: x[i] = 2; break; default: ; }"), "3:1: switch\n");
  EXPECT_EQ(refused("x[i] = f(i);"), "3:8: call of f\n");
  EXPECT_EQ(refused("*x = 1;"), "3:1: pointer dereference\n");
  EXPECT_EQ(refused("x[i] = *y;"), "3:8: pointer dereference\n");
  EXPECT_EQ(refused("x = y;"), "3:1: x with 0 of 1 subscripts\n");
  EXPECT_EQ(refused("sinf(&x[i]);"), "3:6: address-of\n");
  EXPECT_EQ(refused("if (x[i] > 0) x[i] = 0;"), "");
  EXPECT_EQ(refused("if (alpha > 0) break;"), "3:16: break\n");
  EXPECT_EQ(refused("i = 3;"), "3:1: assignment to loop variable i\n");
  EXPECT_EQ(refused("++i;"), "3:1: assignment to loop variable i\n");
  EXPECT_EQ(refused("x[i] = x[i++];"), "3:11: '++' within an expression\n");
  EXPECT_EQ(refused("x[i] = (alpha = 2);"), "3:15: '=' within an expression\n");
  EXPECT_EQ(refused("x[i] = \"text\";"), "3:8: string literal\n");
  EXPECT_EQ(refused("x[i] = 'a';"), "3:8: character 'a'\n");
  EXPECT_EQ(refused("x[i] = p.z;"), "3:8: name p\n");
  EXPECT_EQ(refused("x[i] = x[i].z;"), "3:12: struct member\n");
  EXPECT_EQ(refused("x[i] = n << 2;"), "3:10: operator '<<'\n");
  EXPECT_EQ(refused("x[i] %= 2;"), "3:6: operator '%='\n");
  EXPECT_EQ(refused("x[i] = sizeof(float);"), "3:8: sizeof\n");
  EXPECT_EQ(refused("A[i] = 0;"), "3:1: A with 1 of 2 subscripts\n");
  EXPECT_EQ(refused("x[i][0] = 0;"), "3:1: x with more than 1 subscripts\n");
  EXPECT_EQ(refused("alpha[i] = 0;"), "3:1: subscript of alpha\n");
  EXPECT_EQ(refused("x[x[i]] = 0;"), "3:3: subscript x[i]\n");
  EXPECT_EQ(refused("x[(int)y[i]] = 0;"), "");  // any element
  EXPECT_EQ(refused("x[i] == 3;"), "3:1: statement without effect\n");
  EXPECT_EQ(refused("n + 1 = 3;"), "3:1: assignment to n + 1\n");
  EXPECT_EQ(refused("powf(x[i]);"), "3:1: call of powf with 1 arguments\n");
  EXPECT_EQ(refused("short c = x[i];"), "3:7: variable c of type short\n");
  EXPECT_EQ(refused("float *p = x;"), "3:8: p\n");
  EXPECT_EQ(refused("FILE *p = 0;"), "3:7: p\n");
}

TEST(Refusal, NamesWhatIsWrongWithALoop) {
  EXPECT_EQ(refused("for (int j = 0; j != n; j++) x[j] = 0;"), "");
  EXPECT_EQ(refused("for (int j = 0; j != n; j += 2) x[j] = 0;"), "3:17: loop condition j != n\n");
  EXPECT_EQ(refused("for (int j = 0; j < n; j += m) x[j] = 0;"), "3:24: step m\n");
  EXPECT_EQ(refused("for (int j = 0; j < n; j *= 2) x[j] = 0;"), "3:24: step of for\n");
  EXPECT_EQ(refused("for (int j = 0; j < n; j += 0) x[j] = 0;"), "3:24: step 0\n");
  EXPECT_EQ(refused("for (int j = 0; j < n; j--) x[j] = 0;"), "3:24: step -1 towards <\n");
  EXPECT_EQ(refused("for (int j = 0; j < n; ) x[j] = 0;"), "3:24: for without a step\n");
  EXPECT_EQ(refused("for (int j = 0; ; j++) x[j] = 0;"), "3:17: for without a condition\n");
  EXPECT_EQ(refused("for (; i < n; i++) x[i] = 0;"), "3:6: for without a first value\n");
  EXPECT_EQ(refused("for (int j = 0, k = 1; j < n; j++) x[j] = 0;"), "3:15: second part before ';' in for\n");
  EXPECT_EQ(refused("for (int j = 0; j < n; j++, alpha = 2) x[j] = 0;"), "3:27: second step of for\n");
  EXPECT_EQ(refused("for (i = 0; i < n; i++) x[i] = 0;"), "3:6: assignment to loop variable i\n");
  EXPECT_EQ(refused("for (float j = 0; j < n; j++) x[0] = 0;"), "3:12: loop variable j\n");
  EXPECT_EQ(refused("for (int j = 0; j < x[i]; j++) x[j] = 0;"), "3:17: loop condition j < x[i]\n");
  EXPECT_EQ(refused("for (int j = 0; j < j + 2; j++) x[j] = 0;"), "3:17: loop condition j < j + 2\n");
  EXPECT_EQ(refused("for (unsigned j = n; j > 0; j--) x[j] = 0;"),
            "3:15: decreasing loop over an unsigned variable\n");
}

TEST(Refusal, ALoopVariableHasNoValueAfterItsLoop) {
  EXPECT_EQ(refusals_of(function_of("int i; for (i = 0; i < n; i++) x[i] = 0;\nx[i] = 1;")),
            std::vector<std::string>{"3:3: loop variable i outside of its loop"});
}

TEST(Refusal, OtherStatementsAndFunctionsAreStillRead) {
  const std::vector<Region> regions = read(
      "void f(int n, float a[n]) { for (int i = 0; i < n; i++) { a[i] = 1; goto out; a[i] = 2; } out: ; }\n"
      "void g(int n, float a[n]) { for (int i = 0; i < n; i++) a[i] = 3; }");
  ASSERT_EQ(regions.size(), 2u);
  EXPECT_EQ(regions[0].refusals.size(), 2u);
  EXPECT_EQ(to_text(regions[0].body), "for (int i = 0; i < n; i++) {\n  a[i] = 1;\n  a[i] = 2;\n}\n");
  EXPECT_TRUE(regions[1].refusals.empty());
}

TEST(Refusal, SkipsTheWholeStatement) {
  EXPECT_EQ(
      refused(
          "if (x[i] > 0) { x[i] = 1; } else if (x[i] < 0) while (1) { ; } else x[i] = f(2);\nx[i] = g();"),
      "3:48: while loop\n3:76: call of f\n4:8: call of g\n");
  EXPECT_EQ(refused("do if (x[i] > 0) break; else do ; while (0); while (1);\nx[i] = g();"),
            "3:1: do loop\n4:8: call of g\n");
}

TEST(Refusal, SaysWhatTypesAreNotThere) {
  EXPECT_EQ(refusals_of("void f(int n, short a[n]) { for (int i = 0; i < n; i++) a[i] = 0; }"),
            std::vector<std::string>{"1:57: array a of type short"});
  EXPECT_EQ(refusals_of("void f(int n, float **a) { for (int i = 0; i < n; i++) a[i][0] = 0; }"),
            std::vector<std::string>{"1:56: a"});
  EXPECT_EQ(refusals_of("void f(int n, struct s *a) { for (int i = 0; i < n; i++) a[i] = 0; }"),
            std::vector<std::string>{"1:58: a"});
}

TEST(Refusal, TextSaysFilePlaceConstructAndReason) {
  const Region region = read(function_of("for (int i = 0; i < n; i++) break;")).at(0);
  EXPECT_EQ(to_text("nest.c", region.refusals.at(0)),
            "nest.c:2:29: break: a loop's iterations have to be known from its head");
}

TEST(NotC, IsAnErrorWithItsPlace) {
  EXPECT_EQ(parse_error_of("void f( {"), "1:9: '{' is not closed");
  EXPECT_EQ(parse_error_of("void f(int n) { for (int i = 0; i < n; i++) } "),
            "1:45: expected a value, found '}'");
  EXPECT_EQ(parse_error_of("void f(int n, float a[n]) { for (int i = 0; i < n; i++) a[i] = ; }"),
            "1:64: expected a value, found ';'");
  EXPECT_EQ(parse_error_of("void f(int n, float a[n]) { for (int i = 0; i < n; i++) a[i] = 1 }"),
            "1:66: expected ';' after a statement, found '}'");
  EXPECT_EQ(parse_error_of("void f(int n) { for (int i = 0; i < n i++) ; }"),
            "1:39: expected ';' after a loop's condition, found 'i'");
  EXPECT_EQ(parse_error_of("3 + 4"), "1:1: expected a declaration, found '3'");
  EXPECT_EQ(parse_error_of("void f(int n) { ) }"), "1:17: ')' does not close the '{' of line 1");
  EXPECT_EQ(parse_error_of("}"), "1:1: '}' without '{'");
  EXPECT_EQ(parse_error_of("int a;\n@"), "2:1: '@' is no token of C");
  EXPECT_EQ(parse_error_of(std::string("int a;\n\0", 8)), "2:1: '\\x00' is no token of C");
  EXPECT_EQ(parse_error_of("/* never"), "1:1: comment without end: expected '*/'");
  EXPECT_EQ(parse_error_of("#pragma scop\n"), "1:1: #pragma scop outside of a function");
  EXPECT_EQ(parse_error_of("void f(void) {\n#pragma scop\n}"),
            "2:1: #pragma scop without #pragma endscop in the same function");
  EXPECT_EQ(parse_error_of("void f(int n) { else ; for (;;) ; }"), "1:17: 'else' without 'if'");
}

TEST(NotC, NumbersThatDoNotFitAreLocated) {
  const auto with = [](const std::string& number) {
    return parse_error_of("void f(int n, float a[n]) { for (int i = 0; i < n; i++) a[i] = " + number + "; }");
  };
  EXPECT_EQ(with("9223372036854775807"), "none");
  EXPECT_EQ(with("-9223372036854775808"), "none");
  EXPECT_EQ(with("9223372036854775808"), "1:64: integer 9223372036854775808 does not fit 64 bits");
  EXPECT_EQ(with("0x10000000000000000"), "1:64: integer 0x10000000000000000 does not fit 64 bits");
  EXPECT_EQ(with("1e999"), "1:64: number 1e999 is outside of its type's range");
  EXPECT_EQ(with("1e39f"), "1:64: number 1e39f is outside of its type's range");
  EXPECT_EQ(with("08"), "1:64: '08' is no number of type int, float or double");
  EXPECT_EQ(with("1.5.2"), "1:64: '1.5.2' is no number of type int, float or double");
}

std::string repeated(const std::string& part, int times) {
  std::string text;
  for (int i = 0; i < times; ++i) text += part;
  return text;
}

TEST(NotC, DeepNestingIsAnErrorAndNoCrash) {
  const auto in_loop = [](const std::string& statement) {
    return function_of("for (int i = 0; i < n; i++) " + statement);
  };
  for (const std::string& text : {
           in_loop("x[i] = " + repeated("(", 100000) + "1" + repeated(")", 100000) + ";"),
           in_loop("x[i] = " + repeated("- ", 100000) + "1;"),
           in_loop(repeated("{", 100000) + repeated("}", 100000)),
           in_loop(repeated("if (n) ", 100000) + "x[i] = 1;"),
           in_loop("x[i] = " + repeated("x[", 1000) + "1" + repeated("]", 1000) + ";"),
           in_loop("x[i] = " + repeated("i ? i : ", 100000) + "1;"),
       })
    EXPECT_NE(parse_error_of(text).find("nested deeper than 200"), std::string::npos) << text.substr(0, 200);
  EXPECT_NE(
      parse_error_of(in_loop("x[i] = 1" + repeated(" + 1", 100000) + ";")).find("more than 1000 operators"),
      std::string::npos);
  EXPECT_EQ(parse_error_of(in_loop("x[i] = 1" + repeated(" + 1", 900) + ";")), "none");
}

TEST(NotC, SkippedStatementsMayNestAsDeepAsTheyLike) {
  EXPECT_EQ(refused("while (1) " + repeated("if (n) ", 100000) + ";"), "3:1: while loop\n");
  EXPECT_EQ(refused("do " + repeated("do ", 50000) + "; " + repeated("while (0); ", 50001)),
            "3:1: do loop\n");
}

TEST(NotC, ConstantsOfConstantsDoNotGrowWithoutEnd) {
  std::string text = "int a0 = n + 1; ";
  for (int i = 1; i < 200; ++i)
    text +=
        "int a" + std::to_string(i) + " = a" + std::to_string(i - 1) + " + a" + std::to_string(i - 1) + "; ";
  const Region region = read_region(function_of(text + "for (int i = 0; i < n; i++) x[i] = a199;"));
  EXPECT_LT(to_text(region.body).size(), 10000u);
}

TEST(NotC, AMegabyteOfTokensByChanceIsReadOrRefused) {
  const std::vector<std::string> words{"for",         "(",     ")",  "{",    "}",     "int",   "i",    "=",
                                       "0",           ";",     "<",  "n",    "++",    "a",     "[",    "]",
                                       "+",           "*",     "if", "else", "float", "while", ",",    "1.5f",
                                       "#define x\n", "/*x*/", "\n", "?",    ":",     "f",     "const"};
  std::uint32_t state = 1;
  for (int round = 0; round < 4; ++round) {
    std::string text = round % 2 ? "void f(int n, float a[n]) { " : "";
    while (text.size() < 1'000'000) {
      state = state * 1664525u + 1013904223u;
      text += words[(state >> 8) % words.size()] + ' ';
    }
    EXPECT_NE(parse_error_of(text), "none");
  }
}

TEST(NotC, EveryBeginningOfASourceIsReadOrRefused) {
  const std::string text = function_of(
      "float s = 0;\nfor (int i = 0; i < n; i++) { for (int j = i; j < m; j += 2) A[i][j] = x[i] > 0 ? sqrtf(2.0f) : -s;\n"
      "if (i > 2) { s += x[i]; } else while (1) ; }");
  for (std::size_t length = 0; length < text.size(); ++length) {
    try {
      read(text.substr(0, length));
    } catch (const ParseError& error) {
      EXPECT_LE(error.where().line, 6u);
    }
  }
}

}  // namespace
}  // namespace warploom::tile::test
