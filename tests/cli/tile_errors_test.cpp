// `warploom tile` and what it cannot take: each is named, located and explained, and no file is left
// half-written.

#include "tile_sources.hpp"

namespace warploom {
namespace {

using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

class TileErrors : public TileVerb {
 protected:
  /// Bad input, with this on standard error and nothing elsewhere.
  void expect_refused(const std::string& arguments, const std::string& says) const {
    expect_refused(tile(arguments), arguments, says);
  }
  void expect_text_refused(const std::string& source, const std::string& says) const {
    expect_refused(tile_text(source, "--front-end own --c - --cuda new.cu"), source, says);
  }
  void expect_refused(const ToolRun& run, const std::string& what, const std::string& says) const {
    EXPECT_EQ(run.code, 2) << what << "\n" << run.out << run.err;
    EXPECT_EQ(run.out, "") << what;
    EXPECT_THAT(run.err, AllOf(StartsWith("warploom: "), HasSubstr(says), EndsWith("\n"))) << what;
    EXPECT_THAT(names(), Not(HasSubstr("new"))) << what;
  }
};

std::string loop_with(const std::string& parameters, const std::string& body) {
  return "void f(" + parameters + ") {\n  for (int i = 0; i < n; i++)\n    " + body + "\n}\n";
}

TEST_F(TileErrors, WhatIsOutsideTheSubsetIsLocatedAndExplained) {
  expect_text_refused(
      loop_with("int n, float A[n]", "A[i * i] = 1.0f;"),
      "text.c:3:7: subscript 'i * i': 'i * i' is a product of two variables, which is not affine");
  expect_text_refused(loop_with("int n, float *A", "*(A + i) = 1.0f;"), "text.c:3:5: pointer dereference: ");
  expect_text_refused(loop_with("int n, float *A", "A++;"), "text.c:3:5: A ");
  expect_text_refused(
      "void f(int n, float A[n]) {\n  float *p = A;\n  for (int i = 0; i < n; i++)\n    p[i] = A[i];\n}\n",
      "text.c:2:10: p: pointers are not in the subset");
  expect_text_refused("void f(int n, float A[n]) {\n  int i = 0;\n  while (i < n) { A[i] = 1.0f; i++; }\n}\n",
                      "text.c:3:3: while loop: the number of iterations is not known before it runs");
  expect_text_refused("float g(float);\n" + loop_with("int n, float A[n]", "A[i] = g(A[i]);"),
                      "text.c:4:12: call of g: ");
  expect_text_refused(loop_with("int n, float A[n]", "A[i + 1] = 1.0f;\n    if (A[i] > 0) A[i] = 0;"),
                      "text.c:4:11: ");
}

TEST_F(TileErrors, EveryFindingOfAFunctionIsALine) {
  const ToolRun run = tile_text(
      "void f(int n, float A[n]) {\n  float *p = A;\n  for (int i = 0; i < n; i++) p[i] = A[i];\n"
      "  while (n) A[0] = 1;\n}\n",
      "--front-end own");
  EXPECT_EQ(run.code, 2);
  EXPECT_THAT(run.err, AllOf(HasSubstr("text.c:2:10: p: "), HasSubstr("\ntext.c:4:3: while loop: ")));
}

TEST_F(TileErrors, WhatClangNeedsIsSaid) {
  expect_refused("--clang /no/such/clang --front-end clang fill.c", "apt-get install clang");
  expect_refused("fill.c two.c", "two.c: one FILE is read at a time; flags for Clang stand behind --");
  expect_refused("--front-end own fill.c -- -DN=3", "leave out -p and what stands behind --");
  expect_refused("-p . fill.c", "compile_commands.json");
  expect_refused("--front-end clang - <fill.c", "standard input is read by our own reader alone");
}

TEST_F(TileErrors, WhatIsNoSourceIsSaid) {
  make("empty.c", "");
  make("no_loops.c", "int x;\nvoid f(int n) { int y = n; }\n");
  make("truncated.c", "void f(int n, float A[n]) {\n  for (int i = 0; i <");
  make("bytes.c", std::string("\x7f"
                              "ELF\0\x01\xff\xfe{{{(",
                              12));
  expect_refused("empty.c", "empty.c: no function has loops");
  expect_refused("no_loops.c", "no_loops.c: no function has loops");
  expect_refused("truncated.c", "truncated.c:2:7: '(' is not closed");
  expect_refused("bytes.c", "bytes.c:1:");
  expect_refused(".", "cannot read .: Is a directory");
  expect_refused("absent.c", "cannot read absent.c: No such file or directory");
  expect_refused("", "FILE is required");
  expect_refused("two.c --function fil", "two.c: has no function fil; there are product, scale");
  expect_refused("empty.c --function fil", "empty.c: has no function fil; none is defined there");
  make("bad.h", "int n;\nint @;\n");
  expect_text_refused("\n#include \"bad.h\"\n", "bad.h:2:5: '@' is no token of C");
}

TEST_F(TileErrors, AHugeFileIsRefusedEarly) {
  std::string many = "void f(void) {}\n";
  for (int k = 0; k < 700'000; ++k) many += "int a;\n";
  make("many.c", many);
  make("zeros.c", std::string(3'000'000, '\0'));
  expect_refused("many.c --front-end own --c new.c", "many.c:666666:5: more than 2000000 tokens in one file");
  expect_refused("zeros.c --front-end own --c new.c",
                 "zeros.c:1:2000001: more than 2000000 tokens in one file");
  expect_refused("/dev/null", "/dev/null: no function has loops");
}

TEST_F(TileErrors, AFileWithoutPermissionIsSaid) {
  std::filesystem::permissions(directory / "fill.c", std::filesystem::perms::none);
  const std::string as_somebody = geteuid() == 0 ? "setpriv --reuid=65534 --clear-groups " : "";
  expect_refused(shell(as_somebody + "\"$WARPLOOM\" tile fill.c"), "no permission",
                 "cannot read fill.c: Permission denied");
}

TEST_F(TileErrors, AnySourceCutAnywhereIsTakenOrRefused) {
  const std::string source = content_of(directory / "two.c");
  for (std::size_t length = 0; length < source.size(); length += 7) {
    const ToolRun run = tile_text(source.substr(0, length), "--front-end own --c -");
    EXPECT_TRUE(run.code == 0 || run.code == 1 || run.code == 2) << length << ": " << run.code << run.err;
    EXPECT_EQ(run.err.find("text.c:") != run.err.npos, run.code != 0) << length << ": " << run.err;
  }
}

TEST_F(TileErrors, SizesOutOfRangeAreRefused) {
  for (const char* size :
       {"n", "n=", "=3", "n=abc", "n=-3", "n=1.5", "n=99999999999999999999", "n=..-1", "n=-2..5", "n=1..x"})
    expect_refused(std::string("fill.c --size ") + size,
                   std::string("--size ") + size + ": expected NAME=VALUE or ");
  expect_refused("fill.c --size n=5..2", "--size n=5..2: expected the lesser size first");
  expect_refused("fill.c --size m=5", "--size m=...: fill.c has no such name; there are n");
  expect_refused("fill.c --size n=9000000000000000000",
                 "fill.c:1:24: array 'A': the sizes that are allowed make it larger than 2^63 bytes");
  expect_refused("fill.c --size n=5 --size n=6", "--size n=... is given twice; give it once");
  expect_refused("two.c --function scale --size m=5", "--size m=...: two.c has no such name; there are n");
}

TEST_F(TileErrors, SizesThatIntCannotHoldAreRefusedWhereTheyWouldBeWritten) {
  make("line.c", "void line(int n, float A[n]) {\n  for (int i = 0; i < n; i++) A[i] = 1.0f;\n}\n");
  make("wide.c", "void wide(long n, float A[n]) {\n  for (long i = 0; i < n; i++) A[i] = 1.0f;\n}\n");
  for (const char* output : {"--c new.c", "--cuda new.cu", "--html new.html", "--verify"})
    expect_refused(std::string("line.c --size n=3000000000 ") + output,
                   "line.c:1:15: size 'n': it may reach 3000000000, and the C");
  expect_refused("wide.c --cuda new.cu",
                 "wide.c:1:16: size 'n': its type long has values that the int of the CUDA");
  EXPECT_THAT(tile("wide.c --c -").out, HasSubstr("for (long i = 0; i < n; i++)"));
  EXPECT_EQ(tile("wide.c --cuda - --size n=..1000000").code, 0);
  // Sets are exact for any size: what is explained holds, but for the kernels.
  const ToolRun explained = tile("line.c --size n=3000000000");
  EXPECT_EQ(explained.code, 0) << explained.err;
  EXPECT_THAT(explained.out,
              AllOf(HasSubstr("Dependences: none"),
                    HasSubstr("On a GPU: not written\n  line.c:1:15: size 'n': it may reach ")));
  EXPECT_THAT(Json::parse(tile("wide.c --json").out)["nests"][0]["gpu"]["refused"].get<std::string>(),
              HasSubstr("size 'n': its type long"));
}

TEST_F(TileErrors, StepsThatCannotBeReadAreRefused) {
  const auto check = [&](const std::string& option, std::initializer_list<const char*> texts,
                         const std::string& expected) {
    for (const std::string text : texts)
      expect_refused("fill.c --c new.c " + option + " '" + text + "'",
                     option + " " + text + ": expected " + expected);
  };
  check("--tile", {"", "i", "i=", "=3", "i=0", "i=-1", "i=x", "i=3,,", "i=9000000000000000000", "S0:i"},
        "LOOP=SIZE,... with");
  check("--tile", {"X:i=3", "Sx:i=3", ":i=3"}, "a statement before the colon, as S1");
  check("--strip-mine", {"i", "i=0"}, "LOOP=SIZE,... with");
  check("--strip-mine", {"i=2,j=2"}, "one LOOP=SIZE, as i=32; --tile takes several");
  check("--permute", {"", "i", ",", "i,", ",j"}, "at least two loops, as k,i,j");
  check("--permute", {"i,i", "i,j,i"}, "each loop once");
  check("--skew", {"", "j", "j=i", "j=1*", "=1*i", "j=x*i", "j=0*i", "j=1*j", "j=99999999999*i"},
        "LOOP=FACTOR*LOOP, ");
  check("--footprint", {"", "i", "i=0"}, "LOOP=SIZE,... with");
  check("--memory-cap", {"0", "-1", "abc", "2T", "G", "99999999999999999999", "99999999999G"},
        "a number of bytes above 0");
}

TEST_F(TileErrors, NamesThatAreUnknownComeWithThoseThereAre) {
  expect_refused("fill.c --c new.c --tile i=32,q=3", "fill.c: fill: there is no loop 'q'; there are i, j");
  expect_refused("fill.c --c new.c --permute j,q", "there is no loop 'q'; there are i, j");
  expect_refused("fill.c --c new.c --skew j=1*q", "there is no loop 'q'; there are i, j");
  expect_refused("fill.c --c new.c --strip-mine q=3", "there is no loop 'q'; there are i, j");
  expect_refused("fill.c --footprint q=3", "--footprint q=...: fill.c has no such name; there are i, j");
  expect_refused("fill.c --c new.c --tile S9:i=3", "no statement lies within all of the loops i");
  expect_refused("fill.c --c new.c --tile i=3,i=3", "loop 'i' is named twice");
  expect_refused("fill.c --arch sm_99", "architecture 'sm_99' is not known; use one of ");
  expect_refused(
      "two.c --c new.c --tile j=8",
      "there is no loop 'j'; there are i; steps are taken in every function: --function NAME chooses one");
}

TEST_F(TileErrors, OptionsThatContradictAreRefused) {
  for (const char* step : {"--tile i=3", "--permute j,i", "--skew j=1*i", "--strip-mine i=2"})
    expect_refused(std::string("fill.c --c new.c --auto ") + step, "--auto chooses the steps itself");
  for (const char* both : {"--c - --cuda -", "--c - --json", "--html - --cuda -"})
    expect_refused(std::string("fill.c ") + both,
                   "write to standard output: only one of them can; name files");
  for (const char* option : {"--c", "--cuda", "--html", "--arch", "--memory-cap", "--function"})
    expect_refused(std::string("fill.c ") + option + " ''",
                   std::string(option) + ": the text behind it is empty");
  expect_refused("fill.c -D =3", "-D =3: expected NAME or NAME=TEXT");
}

TEST_F(TileErrors, OptionsThatWouldChangeNothingAreRefused) {
  for (const char* option : {"--arch sm_80", "--memory-cap 1G", "--keep-order", "--gpu-time-tiles none"})
    expect_refused(std::string("fill.c --c new.c ") + option,
                   std::string(option).substr(0, std::string(option).find(' ')) +
                       " speaks of kernels for a GPU, which is not asked for: add --cuda FILE, ");
  for (const char* output : {"--c new.c", "--cuda new.cu", "--verify"})
    expect_refused(std::string("fill.c --footprint i=3 ") + output,
                   "--footprint speaks of an explanation, which is not asked for: add --explain, ");
  for (const char* output : {"--cuda new.cu", "--verify"})
    expect_refused(std::string("fill.c --auto ") + output,
                   "--auto speaks of the C, which is not asked for: add --c ");
  expect_refused("fill.c --footprint i=3 --footprint i=4", "--footprint i=... is given twice; give it once");
  for (const char* heard :
       {"--arch sm_80 --explain", "--keep-order --json", "--memory-cap 1M --html -",
        "--footprint i=3 --html -", "--auto --explain", "--footprint i=3 --c new.c --json"})
    EXPECT_EQ(tile(std::string("fill.c ") + heard).code, 0) << heard;
}

TEST_F(TileErrors, OneOutputThatCannotBeWrittenKeepsAllAway) {
  expect_refused("fill.c --c new.c --cuda new.cu --html two.c/x.html", "cannot write two.c/x.html: ");
  expect_refused("fill.c --c new.c --cuda two.c/x.cu", "cannot write two.c/x.cu: ");
  expect_refused("fill.c --cuda new.cu --c .", "cannot write .: ");
  expect_refused("fill.c --c new.c --cuda new.c", "new.c is named twice among the outputs");
}

TEST_F(TileErrors, ASourceIsNotReplacedByItsOutput) {
  const std::string before = content_of(directory / "fill.c");
  expect_refused("fill.c --c ./fill.c", "./fill.c is the source, which would be lost; name another file");
  EXPECT_EQ(content_of(directory / "fill.c"), before);
}

TEST_F(TileErrors, AFullDiskIsAnError) {
  const ToolRun run = shell("\"$WARPLOOM\" tile fill.c --c - >/dev/full");
  EXPECT_EQ(run.code, 2);
  EXPECT_THAT(run.err, HasSubstr("cannot write standard output: No space left on device"));
  for (const char* output : {"--c", "--cuda", "--html"})
    expect_refused(std::string("fill.c ") + output + " /dev/full", "cannot write /dev/full: ");
  for (const char* what : {"", "--json", "--cuda -", "--html -"})
    EXPECT_EQ(shell(std::string("\"$WARPLOOM\" tile fill.c >/dev/full ") + what).code, 2) << what;
}

TEST_F(TileErrors, VerifyingWhatWouldTakeHoursIsRefused) {
  expect_refused(
      "two.c --function product --verify --size m=4096",
      "two.c:4: product: --verify would simulate 1.4e+11 operations and accesses, more than the 2e+09 that "
      "take some minutes; m = 4096 is large: allow small sizes, as --size m=1..1000");
}

TEST_F(TileErrors, CtrlCEndsLongWorkAndLeavesNoFile) {
  std::string many;
  for (int function = 0; function < 8; ++function) {
    many += "void f" + std::to_string(function) + "(int n, float A[n]) {\n  for (int i = 0; i < n; i++) {\n";
    for (int k = 0; k < 310; ++k) many += "    A[i] = 2.0f * A[i];\n";
    many += "  }\n}\n";
  }
  make("many.c", many);
  for (const char* arguments :
       {"many.c --c new.c", "two.c --function product --size m=400 --verify --cuda new.cu"}) {
    const ToolRun run = run_and_signal("cd '" + directory.string() + "'\n\"$WARPLOOM\" tile " + arguments);
    if (run.err.find("needs nvcc") != std::string::npos) continue;
    EXPECT_EQ(run.code, 130) << arguments << run.err;
    EXPECT_EQ(run.out, "") << arguments;
    EXPECT_THAT(names(), Not(HasSubstr("new"))) << arguments;
  }
}

TEST_F(TileErrors, StepsThatBreakADependenceAreRefusedWithAWitness) {
  const std::string witness =
      "which writes A[1][1] that it reads (n = 3): flow dependence S0 -> S0, distance (1, -1); --skew j=1*i before makes it legal";
  expect_refused("diagonal.c --c new.c --cuda new.cu --permute j,i",
                 "diagonal.c: diagonal: permute j, i would run (1, 1) before (0, 2), " + witness);
  const ToolRun tiled = tile("diagonal.c --c new.c --tile i=4,j=4");
  expect_refused(tiled, "tile",
                 "flow dependence S0 -> S0, distance (1, -1); --skew j=1*i before makes it legal");
  EXPECT_THAT(tiled.err, HasSubstr("tile i=4, j=4 would run ("));
}

}  // namespace
}  // namespace warploom
