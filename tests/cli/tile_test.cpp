// `warploom tile` as its users call it: what it explains, and what it writes.

#include "tile_sources.hpp"

namespace warploom {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

TEST_F(TileVerb, ExplainsWhereNothingElseIsAskedFor) {
  const ToolRun run = tile("diagonal.c");
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_EQ(run.err, "");
  EXPECT_THAT(
      run.out,
      StartsWith("diagonal.c:1: diagonal(n)\n  S0  line 4     (i, j)  A[i + 1][j - 1] = A[i][j] + B[j]\n"));
  EXPECT_THAT(run.out, AllOf(HasSubstr("A, B are assumed not to overlap"), HasSubstr("\nReuse"),
                             HasSubstr("\nFootprint"), HasSubstr("(1, -1)"), HasSubstr("illegal  (j, i)")));
  EXPECT_EQ(tile("diagonal.c --explain").out, run.out);
  EXPECT_EQ(tile("- < diagonal.c").out, "<stdin>" + run.out.substr(std::string("diagonal.c").size()));
}

TEST_F(TileVerb, JsonHoldsTheExplanationOfEveryFunction) {
  const Json two = tile_json("two.c");
  EXPECT_EQ(two["file"], "two.c");
  ASSERT_EQ(two["nests"].size(), 2u);
  const Json& product = two["nests"][1];
  EXPECT_EQ(product["function"], "product");
  EXPECT_EQ(product["line"], 4);
  EXPECT_THAT(product["sizes"], ElementsAre("m"));
  ASSERT_EQ(product["statements"].size(), 2u);
  EXPECT_EQ(product["statements"][1]["label"], "S1");
  EXPECT_EQ(product["statements"][1]["line"], 8);
  EXPECT_THAT(product["statements"][1]["loops"], ElementsAre("i", "j", "k"));
  EXPECT_EQ(product["statements"][1]["reduction"], "+");
  for (const char* field :
       {"remarks", "reuse", "footprint", "dependences", "bands", "permutations", "tilings"})
    EXPECT_TRUE(product.contains(field)) << field;
  EXPECT_FALSE(product["dependences"].empty());
  EXPECT_EQ(tile_json("two.c --explain"), two);
}

TEST_F(TileVerb, ExplainsWhereAGpuKeepsArraysAndWhatThatTakes) {
  const std::string unknown = tile("two.c --function product").out;
  EXPECT_THAT(unknown,
              AllOf(HasSubstr("\nOn a GPU (sm_90)\n"), HasSubstr("\n  product_0: contraction of S0, S1, "),
                    HasSubstr("\n    A in shared; bytes: "), HasSubstr(" a block; sectors a warp: "),
                    HasSubstr("; threads on one bank: 1"), HasSubstr(" times in the block"),
                    HasSubstr("\n    C in registers"),
                    HasSubstr("What that takes is estimated where all sizes are known: --size m=...\n"),
                    Not(HasSubstr("Estimated time"))));
  const std::string known = tile("two.c --function product --size m=1024 --arch sm_80").out;
  EXPECT_THAT(known, AllOf(HasSubstr("\nOn a GPU (sm_80)\n"), HasSubstr("\n    Estimated time: "),
                           HasSubstr(" ms (bound by "), HasSubstr("Global memory: "),
                           HasSubstr("Occupancy: "), Not(HasSubstr("are known"))));
}

TEST_F(TileVerb, JsonHoldsKernelsWithPlacementsAndCosts) {
  const Json unknown = tile_json("two.c --function product")["nests"][0]["gpu"];
  EXPECT_EQ(unknown["architecture"], "sm_90");
  ASSERT_EQ(unknown["kernels"].size(), 1u);
  EXPECT_TRUE(unknown["kernels"][0]["cost"].is_null());
  const Json kernel = tile_json("two.c --function product --size m=1024")["nests"][0]["gpu"]["kernels"][0];
  EXPECT_EQ(kernel["name"], "product_0");
  EXPECT_EQ(kernel["pattern"], "contraction");
  EXPECT_THAT(kernel["statements"], ElementsAre("S0", "S1"));
  EXPECT_EQ(kernel["grid"].size(), 3u);
  EXPECT_EQ(kernel["grid"][2], 1);
  EXPECT_TRUE(kernel["block"][0].is_number_integer());
  EXPECT_FALSE(kernel["reasons"].empty());
  ASSERT_EQ(kernel["placements"].size(), 3u);
  for (const Json& placement : kernel["placements"]) {
    EXPECT_FALSE(placement["reason"].get<std::string>().empty());
    EXPECT_EQ(placement["space"], placement["array"] == "C" ? "registers" : "shared");
    EXPECT_GT(placement["bytes"], 0);
    EXPECT_GE(placement["sectors"], placement["ideal_sectors"]);
    EXPECT_GE(placement["bank_conflicts"], 1);
    EXPECT_GE(placement["reuse_in_block"], 1);
    EXPECT_GE(placement["reuse_in_registers"], 1);
  }
  const Json& cost = kernel["cost"];
  EXPECT_NEAR(cost["operations"].get<double>(), 2.0 * 1024 * 1024 * 1024, 1e4);
  EXPECT_GE(cost["global_bytes"], 3 * 1024 * 1024 * 8);
  EXPECT_GT(cost["shared_bytes"], 0);
  EXPECT_GT(cost["blocks_per_sm"], 0);
  EXPECT_GT(cost["milliseconds"], 0);
  EXPECT_FALSE(cost["bound"].get<std::string>().empty());
}

TEST_F(TileVerb, OneFunctionCanBeChosen) {
  const Json one = tile_json("two.c --function scale");
  ASSERT_EQ(one["nests"].size(), 1u);
  EXPECT_EQ(one["nests"][0]["function"], "scale");
  const std::string c = tile("two.c --function product --tile j=8 --c -").out;
  EXPECT_THAT(c, AllOf(HasSubstr("void product("), Not(HasSubstr("void scale("))));
}

TEST_F(TileVerb, SizesOfSeveralFunctionsMayBeGiven) {
  EXPECT_EQ(tile("two.c --size n=100 --size m=1..64").code, 0);
  EXPECT_THAT(tile("fill.c --size n=0").out,
              HasSubstr("fill.c:2:3: loop 'i': it never runs for the sizes that are allowed"));
  EXPECT_THAT(tile("fill.c --size n=1..").out, Not(HasSubstr("never runs")));
  EXPECT_THAT(tile("fill.c --size n=..0").out, HasSubstr("never runs"));
  // A dependence of distance (1, -1) needs two columns.
  EXPECT_THAT(tile("diagonal.c --size n=2").out, Not(HasSubstr("(1, -1)")));
}

TEST_F(TileVerb, WhatNeverRunsIsWrittenAndVerifiedAllTheSame) {
  EXPECT_THAT(tile("fill.c --size n=0").out,
              HasSubstr("\n  no kernel: nothing runs for the sizes that are allowed\n"));
  EXPECT_EQ(tile("fill.c --size n=0 --c new.c --cuda new.cu --html new.html").code, 0);
  EXPECT_THAT(content_of(directory / "new.cu"), HasSubstr("cudaError_t fill("));
  const ToolRun run = tile("fill.c --size n=0 --verify");
  if (run.err.find("needs nvcc") != std::string::npos) GTEST_SKIP() << run.err;
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("n = 0: agrees"));
}

TEST_F(TileVerb, ALoopThatNeverRunsIsARemark) {
  const ToolRun run =
      tile_text("void f(int n, float A[n]) {\n  for (int i = 5; i < 2; i++)\n    A[i] = 1.0f;\n}\n");
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("text.c:2:3: loop 'i': it never runs"));
}

TEST_F(TileVerb, FootprintsAreOfTheTileThatIsGiven) {
  EXPECT_THAT(tile("fill.c").out, HasSubstr("Footprint of a tile with Ti = 32, Tj = 32"));
  EXPECT_THAT(tile("fill.c --footprint i=4").out,
              AllOf(HasSubstr("Footprint of a tile with Ti = 4, Tj = 32"), HasSubstr("512 bytes")));
}

TEST_F(TileVerb, MacrosAndIncludesAreThoseOfACompiler) {
  std::filesystem::create_directory(directory / "folder");
  make("folder/sizes.h", "#define STRIDE 2\n");
  make("macros.c",
       "#include \"sizes.h\"\n#ifdef WIDE\ntypedef double T;\n#else\ntypedef float T;\n#endif\n"
       "void f(int n, T A[STRIDE * n]) { for (int i = 0; i < COUNT; i++) A[STRIDE * i] = 0; }\n");
  const ToolRun run = tile("macros.c -I folder -D COUNT=n -D WIDE --c -");
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_THAT(run.out,
              AllOf(HasSubstr("double A[restrict 2 * n]"), HasSubstr("i < n"), HasSubstr("A[2 * i]")));
  EXPECT_EQ(tile("macros.c -D COUNT=n").code, 2);              // nobody knows STRIDE
  make("folder/sizes.h", "\xEF\xBB\xBF#define STRIDE 2\r\n");  // as some editors write it
  EXPECT_EQ(tile("macros.c -I folder -D COUNT=n -D WIDE --c -").out, run.out);
}

TEST_F(TileVerb, StepsAreTakenInTheOrderOfTheCommandLine) {
  // Only after the skew may the loops be permuted and tiled.
  const ToolRun after = tile("diagonal.c --skew j=1*i --permute j,i --c -");
  EXPECT_EQ(after.code, 0) << after.err;
  EXPECT_THAT(after.out, HasSubstr("A[i + 1][j - i - 1] = A[i][j - i] + B[j - i]"));
  EXPECT_LT(after.out.find("int j ="), after.out.find("int i ="));
  EXPECT_EQ(tile("diagonal.c --skew j=1*i --tile i=4,j=4 --c -").code, 0);
  // Strips have names of their own, which later steps use.
  const ToolRun strips = tile("fill.c --strip-mine j=8 --permute jj,i --c -");
  EXPECT_EQ(strips.code, 0) << strips.err;
  EXPECT_LT(strips.out.find("int jj ="), strips.out.find("int i ="));
  EXPECT_LT(strips.out.find("int i ="), strips.out.find("int j ="));
  EXPECT_EQ(tile("fill.c --permute jj,i --strip-mine j=8 --c -").code, 2);
}

TEST_F(TileVerb, ALabelTakesTheStepAroundOneStatement) {
  const ToolRun run = tile("two.c --function product --permute S1:i,k,j --c -");
  EXPECT_EQ(run.code, 0) << run.err;
  const std::size_t sum = run.out.find("C[i][j] +=");
  EXPECT_LT(run.out.rfind("int k =", sum), run.out.rfind("int j =", sum));
}

TEST_F(TileVerb, WhatIsAskedForIsJudgedInTheExplanationToo) {
  const Json json = tile_json("fill.c --tile i=8,j=8");
  ASSERT_EQ(json["nests"][0]["asked"].size(), 1u);
  EXPECT_EQ(json["nests"][0]["asked"][0]["legal"], true);
}

TEST_F(TileVerb, WritesFilesAndStandardOutputAlike) {
  const ToolRun run = tile("two.c --c out.c --cuda out.cu --html out.html");
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_EQ(run.out + run.err, "");
  const std::string c = content_of(directory / "out.c"), cuda = content_of(directory / "out.cu"),
                    html = content_of(directory / "out.html");
  for (const char* function : {"scale", "product"}) {
    EXPECT_THAT(c, HasSubstr(std::string("void ") + function + "(")) << function;
    EXPECT_THAT(cuda, HasSubstr(function));
    EXPECT_THAT(html, HasSubstr(function));
  }
  EXPECT_THAT(cuda, HasSubstr("__global__"));
  EXPECT_THAT(html, AllOf(StartsWith("<!DOCTYPE html>"), HasSubstr("</html>"), HasSubstr("<svg")));
  EXPECT_EQ(tile("two.c --c -").out, c);
  EXPECT_EQ(tile("two.c --cuda -").out, cuda);
  EXPECT_EQ(tile("two.c --html -").out.size(), html.size());
  EXPECT_EQ(names(), "diagonal.c\nfill.c\nmixed.c\nout.c\nout.cu\nout.html\ntwo.c\n");
}

TEST_F(TileVerb, HelpersThatFunctionsShareStandOnce) {
  const std::string twice = content_of(directory / "two.c");
  std::string other = twice.substr(twice.find("void product"));
  other.replace(0, 12, "void another");
  const auto occurrences = [](const std::string& text, const std::string& what) {
    int count = 0;
    for (std::size_t at = text.find(what); at != text.npos; at = text.find(what, at + 1)) ++count;
    return count;
  };
  const std::string c = tile_text(twice + other, "--auto --c -").out,
                    cuda = tile_text(twice + other, "--cuda -").out;
  const std::string panels = tile("text.c --size m=1024 --memory-cap 2M --cuda -").out;
  EXPECT_EQ(occurrences(panels, "class PanelArray"), 1);
  EXPECT_EQ(occurrences(panels, "struct PanelStreams"), 1);
  EXPECT_EQ(occurrences(c, "int min("), 1);
  EXPECT_EQ(occurrences(c, "void another("), 1);
  for (const char* once :
       {"void copy_or_zero(", "void wait_for_copies()", "/// Until the copies", "#include <algorithm>"})
    EXPECT_EQ(occurrences(cuda, once), 1) << once;
}

TEST_F(TileVerb, AutoTilesAProduct) {
  const ToolRun run = tile("two.c --auto --c -");
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_THAT(run.out, AllOf(HasSubstr("#pragma omp parallel for"), HasSubstr("int kk =")));
}

TEST_F(TileVerb, TheCThatIsWrittenComputesTheSame) {
  if (run_shell("command -v cc").code != 0) GTEST_SKIP() << "no C compiler";
  const std::string main_text =
      "\n#include <stdio.h>\nint main(void) {\n  enum { m = 37 };\n  static double A[m][m], B[m][m], C[m][m];\n"
      "  for (int i = 0; i < m * m; i++) A[0][i] = i % 11 - 5, B[0][i] = i % 7 - 3;\n  product(m, C, A, B);\n"
      "  long sum = 0;\n  for (int i = 0; i < m * m; i++) sum = (sum * 31 + (long)C[0][i]) % 1000003;\n"
      "  printf(\"%ld\\n\", sum);\n}\n";
  make("main.inc", main_text);
  const std::string run = " && cat main.inc >> p.c && cc -O1 -w -o p p.c && ./p";
  const ToolRun plain = shell("cat two.c > p.c" + run);
  ASSERT_EQ(plain.code, 0) << plain.err;
  ASSERT_NE(plain.out, "0\n");
  for (const char* steps : {"--auto", "--function product --tile i=8,j=5",
                            "--function product --permute S1:k,i,j --strip-mine S1:k=4"}) {
    const ToolRun written = shell(std::string("\"$WARPLOOM\" tile two.c --force --c p.c ") + steps + run);
    EXPECT_EQ(written.code, 0) << steps << written.err;
    EXPECT_EQ(written.out, plain.out) << steps;
  }
}

TEST_F(TileVerb, InPlaceReplacesTheNestsAndNothingElse) {
  const std::string head = "\xEF\xBB\xBF/* gr\xC3\xBC\xC3\x9F */\n#include <stdio.h>\n#define N 40\n\n",
                    main_text =
                        "\tint main(void) {\n  static double A[N][N], B[N][N], C[N][N]; /* zero */\n"
                        "  for (int i = 0; i < N * N; i++) A[0][i] = i % 11 - 5, B[0][i] = i % 7 - 3;\n";
  make(
      "whole.c",
      head +
          "static double last;\n"
          "double trace(int n, double A[N][N]) { double s = 0; for (int i = 0; i < n; i++) s += A[i][i]; return s; }\n"
          "void product(int n, double C[N][N], double A[N][N], double B[N][N]) {\n  int i, j, k; // loops\n"
          "#pragma scop\n  for (i = 0; i < n; i++)\n    for (j = 0; j < n; j++)\n      for (k = 0; k < n; k++) {\n"
          "        double t = A[i][k] * B[k][j];\n        C[i][j] += t; }\n#pragma endscop\n  last = C[0][0]; }\n" +
          main_text +
          "  product(37, C, A, B);\n  printf(\"%g %g %g\\n\", C[3][4], last, trace(30, C));\n  return 0; }");
  const std::string before = content_of(directory / "whole.c");
  const ToolRun refused = tile("whole.c --auto --in-place --function product");
  EXPECT_EQ(refused.code, 2);
  EXPECT_THAT(refused.err, HasSubstr("--force"));
  EXPECT_EQ(content_of(directory / "whole.c"), before);
  const auto result = [&] { return shell("cc -O1 -Wall -Werror -Wno-unknown-pragmas -o p whole.c && ./p"); };
  const bool compiles = run_shell("command -v cc").code == 0;
  const std::string want = compiles ? result().out : "";
  const ToolRun run = tile("whole.c --auto --in-place --force --function product");
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_EQ(run.out, "");
  const std::string after = content_of(directory / "whole.c");
  const auto around = [](const std::string& text) {
    const std::size_t first = text.find("#pragma scop\n") + 13, last = text.find("#pragma endscop");
    return std::pair(text.substr(0, first), text.substr(last));
  };
  EXPECT_EQ(around(after), around(before));
  EXPECT_NE(after, before);
  EXPECT_THAT(after, Not(HasSubstr("min(")));
  if (compiles) {
    EXPECT_EQ(result().out, want) << after;
  }
  // Functions without marks: all between their braces but what they give back.
  ASSERT_EQ(tile("whole.c --in-place --force --function trace").code, 0);
  EXPECT_THAT(content_of(directory / "whole.c"),
              AllOf(StartsWith(head), HasSubstr("double trace(int n, double A[N][N]) {\n"),
                    HasSubstr("return s; }\n")));
  if (compiles) {
    EXPECT_EQ(result().out, want) << content_of(directory / "whole.c");
  }
  EXPECT_EQ(tile("- --in-place --force < whole.c").code, 2);
}

TEST_F(TileVerb, InPlaceLeavesWhatNoOrderMakesFaster) {
  const std::string text =
      "void sums(int n, int A[n]) {\n#pragma scop\n  for (int i = 1; i < n; ++i) { A[i] += A[i-1]; }\n#pragma endscop\n}\n";
  make("sums.c", text);
  EXPECT_EQ(tile("sums.c --auto --in-place --force").code, 0);
  EXPECT_EQ(content_of(directory / "sums.c"), text);
}

TEST_F(TileVerb, InPlaceKeepsTheEndsOfLines) {
  make(
      "windows.c",
      "void fill(int n, float A[n]) {\r\n#pragma scop\r\n\tfor (int i = 0; i < n; i++)\r\n\t\tA[i] = 1;\r\n#pragma endscop\r\n}\r\n");
  EXPECT_EQ(tile("windows.c --in-place --force").code, 0);
  EXPECT_EQ(
      content_of(directory / "windows.c"),
      "void fill(int n, float A[n]) {\r\n#pragma scop\r\n#pragma omp parallel for simd if(parallel: n > 100000)\r\n"
      "for (int i = 0; i < n; i++)\r\n  A[i] = 1;\r\n#pragma endscop\r\n}\r\n");
}

TEST_F(TileVerb, TheGpuIsTheOneThatIsNamed) {
  for (const char* arch : {"sm_75", "sm_80", "sm_90"})
    EXPECT_THAT(tile(std::string("two.c --cuda - --arch ") + arch).out, HasSubstr("__global__")) << arch;
  EXPECT_EQ(tile("two.c --cuda - --keep-order").code, 0);
  const std::string whole = tile("two.c --function product --size m=1024 --cuda -").out;
  EXPECT_NE(tile("two.c --function product --size m=1024 --memory-cap 2M --cuda -").out, whole);
}

TEST_F(TileVerb, OneNestOutsideDoesNotStopTheOther) {
  const ToolRun run = tile("mixed.c --c -");
  EXPECT_EQ(run.code, 1);
  EXPECT_THAT(run.out, AllOf(HasSubstr("void inside("), Not(HasSubstr("outside"))));
  EXPECT_EQ(
      run.err,
      "warploom: warning: mixed.c:6:7: subscript 'i * i': 'i * i' is a product of two variables, which is not affine\n");
  EXPECT_EQ(tile("mixed.c --function inside").code, 0);
}

TEST_F(TileVerb, ReadsThroughClangWhatOurOwnReaderRefuses) {
  if (shell("clang --version").code != 0) GTEST_SKIP() << "clang is not installed";
  make("image.h", "typedef struct { int w, h; float *data; } image;\n");
  make(
      "blend.c",
      "#include \"image.h\"\n#include <math.h>\n"
      "void blend(image to, const image *from) {\n"
      "  for (int y = 0; y < to.h; y++)\n"
      "    for (int x = 0; x < to.w; x++) to.data[y * to.w + x] = sqrtf(from->data[y * from->w + x]) * SCALE;\n"
      "}\n");
  make("compile_commands.json", "[{\"directory\": \"" + directory.string() +
                                    "\", \"file\": \"blend.c\", \"command\": \"cc -DSCALE=2 -c blend.c\"}]");
  for (const char* arguments :
       {"blend.c -D SCALE=2 --c -", "blend.c --c - -- -DSCALE=2", "-p . blend.c --c -"}) {
    const ToolRun run = tile(arguments);
    EXPECT_EQ(run.code, 0) << arguments << run.err;
    EXPECT_THAT(run.out, HasSubstr("to_data[y][x] = sqrtf(from_data[y][x]) * 2;")) << arguments;
  }
  EXPECT_EQ(tile("blend.c -D SCALE=2 --front-end own --c -").code, 2);
  // What is written compiles, and takes the same pointers.
  EXPECT_EQ(tile("blend.c -D SCALE=2 --auto --c blended.c").code, 0);
  EXPECT_EQ(shell("cc -std=c99 -Wall -Werror -Wno-unknown-pragmas -c blended.c -o blended.o").code, 0);
}

TEST_F(TileVerb, TakesSourcesAsEditorsLeaveThem) {
  const std::string plain = content_of(directory / "diagonal.c");
  const std::string want = tile("diagonal.c --c -").out;
  std::string windows = "\xEF\xBB\xBF", tabs;
  for (const char c : plain) windows += c == '\n' ? std::string("\r\n") : std::string(1, c);
  for (const char c : plain) tabs += c == ' ' ? '\t' : c;
  for (const std::string& text :
       {windows, tabs, "// one\n/* two\n */ " + plain, "// \\\n continued\n" + plain + "// no line feed"}) {
    const ToolRun run = tile_text(text, "--c -");
    EXPECT_EQ(run.code, 0) << run.err;
    EXPECT_EQ(run.out, want) << text;
  }
}

TEST_F(TileVerb, VerifyRunsTheKernelsInTheSimulator) {
  const ToolRun run = tile("two.c --size m=1..40 --verify");
  if (run.code == 2 && run.err.find("needs nvcc") != std::string::npos) GTEST_SKIP() << run.err;
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_THAT(run.out, AllOf(HasSubstr("scale: 1 kernel"), HasSubstr("product: 1 kernel"),
                             HasSubstr("m = 33: agrees"), HasSubstr("reuse"), Not(HasSubstr("DISAGREES"))));
}

TEST_F(TileVerb, VerifyTakesSizesThatTheNestAllowsAndCoversResults) {
  if (tile("fill.c --verify").code == 2) GTEST_SKIP() << "no CUDA toolkit";
  const ToolRun within =
      tile_text("void f(int n, float a[30]) { for (int i = 0; i < n; i++) a[i] = 2.0f * a[i]; }", "--verify");
  EXPECT_EQ(within.code, 0) << within.err;
  EXPECT_THAT(within.out, AllOf(HasSubstr("n = 30: agrees"), Not(HasSubstr("n = 33"))));
  const ToolRun sum = tile_text(
      "float f(int n, float a[n]) { float s = 0; for (int i = 0; i < n; i++) s += a[i]; return s; }",
      "--verify");
  EXPECT_EQ(sum.code, 0) << sum.err;
  // Orthogonal columns need as many rows; a decomposition without pivots a diagonal that outweighs its rows.
  const ToolRun lu = tile_text(
      "void lu(int n, float A[n][n]) {\n  for (int k = 0; k < n; k++)\n    for (int i = k + 1; i < n; i++) {\n"
      "      A[i][k] /= A[k][k];\n      for (int j = k + 1; j < n; j++) A[i][j] -= A[i][k] * A[k][j];\n    }\n}\n",
      "--verify");
  EXPECT_EQ(lu.code, 0) << lu.out << lu.err;
  EXPECT_THAT(lu.out,
              AllOf(HasSubstr("n = 33: agrees"), HasSubstr("rounding explains"), Not(HasSubstr("badly"))));
}

TEST_F(TileVerb, VerifyEndsAtItsTimeLimitAndSaysWhatWasCompared) {
  if (tile("fill.c --verify").code == 2) GTEST_SKIP() << "no CUDA toolkit";
  const ToolRun at_once = tile("two.c --verify --time-limit 0.05");
  EXPECT_EQ(at_once.code, 1) << at_once.err;
  EXPECT_THAT(at_once.out, HasSubstr("NOT COMPLETE: the time limit of "));
  EXPECT_THAT(at_once.out, HasSubstr(" s passed after 0 comparisons\n"));
  const Json json = tile_json("fill.c --verify --time-limit 1000");
  EXPECT_EQ(json["nests"][0]["verification"]["complete"], true);
  EXPECT_GE(json["nests"][0]["verification"]["compared"], 3);
}

TEST_F(TileVerb, VerifyEndsWithASignalAsOtherVerbsDo) {
  // A compiler that does not end before the test, so that the signal comes while it works.
  std::filesystem::create_directory(directory / "bin");
  make("bin/nvcc", "#!/bin/sh\n: > \"$STARTED\"\nwhile [ -e \"$STARTED\" ]; do sleep 0.1; done\n");
  for (const auto& [signal, code] : {std::pair("INT", 130), std::pair("TERM", 143)}) {
    const ToolRun run = run_and_signal(
        "cd '" + directory.string() +
            "'; rm -f started; chmod +x bin/nvcc\n"
            "STARTED=\"$PWD/started\" PATH=\"$PWD/bin:$PATH\" \"$WARPLOOM\" tile two.c --verify",
        "[ -e started ]", signal);
    EXPECT_EQ(run.code, code) << signal << run.out << run.err;
    EXPECT_TRUE(std::filesystem::exists(directory / "started")) << signal;
  }
}

TEST_F(TileVerb, VerifyWithoutACompilerSaysWhichOneIsMissing) {
  if (tile("fill.c --verify").code == 2) GTEST_SKIP() << "no CUDA toolkit";
  std::filesystem::create_directory(directory / "bin");
  const ToolRun run = shell(
      "for n in \"$(command -v nvcc)\" \"$CUDA_HOME/bin/nvcc\" /usr/local/cuda/bin/nvcc; do [ -x \"$n\" ] && break; done; "
      "ln -s \"$n\" bin/nvcc; for p in rm sh sed; do ln -s \"$(command -v $p)\" bin/$p; done; "
      "PATH=\"$PWD/bin\" \"$WARPLOOM\" tile fill.c --verify");
  EXPECT_EQ(run.code, 2) << run.err;
  EXPECT_EQ(
      run.err,
      "warploom: --verify: nvcc needs the C++ compiler gcc, which is not in $PATH; install it (Debian: g++)\n");
}

TEST_F(TileVerb, VerifyFindsKernelsThatDisagree) {
  if (tile("fill.c --verify").code == 2) GTEST_SKIP() << "no CUDA toolkit";
  // A compiler that takes another program than the one that was written.
  std::filesystem::create_directory(directory / "bin");
  make("bin/nvcc",
       "#!/bin/sh\nfor source; do :; done\nsed -i s/1.0f/2.0f/ \"$source\"\nexec \"$REAL\" \"$@\"\n");
  const ToolRun run = shell(
      "for n in \"$(command -v nvcc)\" \"$CUDA_HOME/bin/nvcc\" /usr/local/cuda/bin/nvcc; do [ -x \"$n\" ] && break; done; "
      "chmod +x bin/nvcc; REAL=\"$n\" PATH=\"$PWD/bin:$PATH\" \"$WARPLOOM\" tile fill.c --verify --json");
  EXPECT_EQ(run.code, 1) << run.out << run.err;
  const Json verification = Json::parse(run.out)["nests"][0]["verification"];
  EXPECT_EQ(verification["good"], false);
  EXPECT_THAT(verification["text"].get<std::string>(),
              HasSubstr("n = 33: DISAGREES, differs by 1.0e+00, rounding explains 0.0e+00\n    "));
}

}  // namespace
}  // namespace warploom
