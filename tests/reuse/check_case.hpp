#pragma once

#include <gmock/gmock.h>

#include <map>
#include <regex>
#include <string>
#include <vector>

#include "warploom/reuse/check.hpp"

/// Small kernels before and after a rewrite, for the tests of the independent check.
namespace warploom::reuse::check_case {

/// Kernels of three arrays of 1024 bytes, written as a body in which ADD stands where the output has a new
/// barrier. %r1 is 4 * tid, %r2 is tid, %p1 is tid < 32 (differs in a block), %p2 is n > 7 (does not).
struct Module {
  std::string target = "sm_90";
  std::string directives = {};         ///< of the kernel, in the input
  std::string output_directives = {};  ///< in the output; empty: the same
  std::string scope = {};              ///< at module scope, before the kernel
  std::string pool = ".shared .align 16 .b8 pool[1024];";
  bool pool_at_module_scope = false;
  std::map<std::string, int> offsets = {{"arrA", 0}, {"arrB", 0}};

  std::string text(const std::string& body, bool output) const {
    std::string declarations, b = body;
    for (const std::string name : {"arrA", "arrB", "arrC"})
      if (!output || !offsets.contains(name)) declarations += ".shared .align 4 .b8 " + name + "[1024];\n";
    b = std::regex_replace(b, std::regex("ADD"), output ? "bar.sync 0;" : "");
    if (output)
      for (const auto& [name, offset] : offsets) {
        std::string replaced;
        const std::regex use(name + R"((\+(\d+))?)");
        auto at = b.cbegin();
        for (std::sregex_iterator m(b.begin(), b.end(), use), end; m != end; ++m) {
          replaced.append(at, (*m)[0].first);
          replaced += "pool+" + std::to_string(offset + ((*m)[2].matched ? std::stoi((*m)[2]) : 0));
          at = (*m)[0].second;
        }
        replaced.append(at, b.cend());
        b = replaced;
      }
    const std::string& with = output && !output_directives.empty() ? output_directives : directives;
    return ".version 8.0\n.target " + target + "\n.address_size 64\n" + scope +
           (output && pool_at_module_scope ? pool : "") +
           "\n.visible .entry k(.param .u64 out, .param .u32 n)\n" + with +
           "\n{\n.reg .pred %p<20>;\n.reg .b32 %r<60>;\n.reg .b64 %rd<20>;\n.reg .f32 %f<20>;\n" +
           declarations + (output && !pool_at_module_scope ? pool : "") +
           "\nmov.u32 %r2, %tid.x;\nshl.b32 %r1, %r2, 2;\nsetp.lt.u32 %p1, %r2, 32;\nld.param.u32 %r3, [n];\n"
           "setp.gt.u32 %p2, %r3, 7;\nld.param.u64 %rd1, [out];\nmov.u32 %r10, arrA;\nmov.u32 %r11, arrB;\n"
           "mov.u32 %r12, arrC;\nadd.s32 %r20, %r10, %r1;\nadd.s32 %r21, %r11, %r1;\nadd.s32 %r22, %r12, %r1;\n" +
           b + "\nret;\n}\n";
  }
};

inline std::string with_names(std::string text, const Module& m) {
  // The fixed first lines of the body name the arrays too.
  for (const auto& [name, offset] : m.offsets)
    text = std::regex_replace(text, std::regex("mov.u32 (%r1[012]), " + name + ";"),
                              "mov.u32 $1, pool+" + std::to_string(offset) + ";");
  return text;
}

inline CheckResult run(const std::string& body, const Module& m = {}, const CheckOptions& options = {}) {
  return check(m.text(body, false), with_names(m.text(body, true), m), {}, options);
}

inline std::string all(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

MATCHER(Accepted, "") {
  *result_listener << all(arg.problems);
  return arg.ok && arg.problems.empty();
}
MATCHER_P(RejectedFor, reason, "") {
  *result_listener << all(arg.problems);
  return !arg.ok && all(arg.problems).find(reason) != std::string::npos;
}

inline const std::string kUseA = "st.shared.f32 [%r20], %f1;\nbar.sync 0;\nld.shared.f32 %f2, [%r20+4];\n";
inline const std::string kUseB = "st.shared.f32 [%r21], %f2;\nbar.sync 0;\nld.shared.f32 %f3, [%r21+4];\n";
inline const std::string kUseOut = "st.global.f32 [%rd1], %f3;\n";
inline const std::string kStraight = kUseA + "ADD\n" + kUseB + kUseOut;

}  // namespace warploom::reuse::check_case
