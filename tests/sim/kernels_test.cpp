// Every CUDA kernel of the repository in the simulator: each launch of the .sim file beside its .cu file, in
// the PTX that nvcc made of it for each architecture, under each schedule, with the race detector.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <set>
#include <string>

#include "sim/kernel_cases.hpp"
#include "sim/kernel_oracles.hpp"
#include "warploom/core/file.hpp"

namespace warploom::sim {
namespace {

const std::filesystem::path kSource = std::filesystem::path(WARPLOOM_TESTS_DIR).parent_path();

std::vector<std::filesystem::path> kernel_sources() {
  std::vector<std::filesystem::path> sources;
  for (const char* directory : {"bench", "src", "examples", "tests"})
    for (const auto& entry : std::filesystem::recursive_directory_iterator(kSource / directory))
      if (entry.path().extension() == ".cu" &&
          read_file(entry.path()).find("__global__") != std::string::npos)
        sources.push_back(entry.path());
  std::ranges::sort(sources);
  return sources;
}

TEST(KernelSources, EachHasItsLaunches) {
  const auto sources = kernel_sources();
  EXPECT_GE(sources.size(), 20U);
  for (std::filesystem::path path : sources) {
    const std::string source = path.string();
    path.replace_extension(".sim");
    ASSERT_TRUE(std::filesystem::exists(path))
        << source << " holds kernels, but no .sim file beside it runs them";
    const KernelFile file = read_kernel_file(path);
    EXPECT_NE(file.cases.empty(), file.not_run.empty())
        << path << ": launches, or a reason why there are none";
  }
}

TEST(KernelSources, EachIsCompiled) {
  const auto modules = find_kernel_modules(WARPLOOM_SIM_KERNELS);
  if (modules.empty())
    GTEST_SKIP() << "the build had no CUDA toolkit: no kernel of the repository runs in the simulator";
  for (std::filesystem::path path : kernel_sources()) {
    if (!read_kernel_file(path.replace_extension(".sim")).not_run.empty()) continue;
    const std::string name = path.lexically_relative(kSource).replace_extension().string();
    EXPECT_TRUE(std::ranges::any_of(modules, [&](const KernelModule& module) { return module.name == name; }))
        << name << ".cu was added after the build was made";
  }
}

class KernelsOfModule : public testing::TestWithParam<KernelModule> {};

TEST_P(KernelsOfModule, AreAllLaunched) {
  const Machine machine = load(GetParam());
  std::set<std::string, std::less<>> launched;
  for (const KernelCase& kernel : read_cases(GetParam(), machine)) launched.insert(kernel.launch.kernel);
  for (const ptx::Function& function : machine.module().functions) {
    if (!function.entry) continue;
    EXPECT_TRUE(launched.contains(function.name))
        << "no launch in " << GetParam().sim << " is of " << function.name;
  }
}

void expect_clean(const Outcome& outcome) {
  EXPECT_TRUE(outcome.completed);
  for (const Finding& finding : outcome.findings) ADD_FAILURE() << finding.text();
}

void expect_same(const KernelCase& kernel, const Buffers& a, const Buffers& b) {
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (!kernel.launch.arguments[i].buffer) continue;
    const ElementType& type = *find_element_type(kernel.launch.arguments[i].type);
    const Comparison result = compare(type, a[i], b[i], kernel.order_dependent);
    EXPECT_EQ(result.outside, 0U) << "argument " << i << ", " << result.first_outside;
    EXPECT_EQ(result.nan_payloads, 0U) << "argument " << i;
  }
}

TEST_P(KernelsOfModule, AreCleanAndEqualUnderEachSchedule) {
  Machine in_order = load(GetParam()), random = load(GetParam()), adversarial = load(GetParam());
  for (const KernelCase& kernel : read_cases(GetParam(), in_order)) {
    SCOPED_TRACE(kernel.launch.line);
    try {
      const auto run = [&](Machine& machine, Schedule schedule) {
        SCOPED_TRACE(name(schedule));
        KernelRun result = run_case(machine, kernel, schedule, true);
        expect_clean(result.outcome);
        return result.buffers;
      };
      const Buffers buffers = run(in_order, Schedule::in_order);
      if (!kernel.oracle.empty()) {
        EXPECT_EQ(check_oracle(kernel, buffers), "");
      }
      expect_same(kernel, buffers, run(random, Schedule::random));
      expect_same(kernel, buffers, run(adversarial, Schedule::adversarial));
    } catch (const Error& error) {
      ADD_FAILURE() << error.what();
    }
  }
}

/// The text's line number `at` of characters.
std::uint32_t line_at(const std::string& text, std::size_t at) {
  return 1 + static_cast<std::uint32_t>(
                 std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(at), '\n'));
}

/// tests/sim/kernels/gemm.cu, where the last `what` before each `before` is left out (a wait's condition
/// holds at once): a finding of one of these kinds stands at a line with such a text.
void expect_fault_in_product(const std::string& what, const std::string& before,
                             const std::set<FindingKind>& kinds, const std::vector<std::string>& places) {
  const auto modules = find_kernel_modules(WARPLOOM_SIM_KERNELS);
  const auto module = std::ranges::find(modules, "tests/sim/kernels/gemm", &KernelModule::name);
  if (module == modules.end()) GTEST_SKIP() << "the build had no CUDA toolkit";
  std::string text = read_file(module->ptx);
  for (std::size_t place = text.find(before); place != text.npos;
       place = text.find(before, place + before.size())) {
    const std::size_t at = text.rfind(what, place);
    ASSERT_NE(at, text.npos) << what;
    const std::string instead = what.starts_with("mbarrier.try_wait") ? "setp.eq.u32 p, 0, 0" : "";
    const std::size_t length = text.find(';', at) - at;
    text.replace(at, length, instead);
    place -= length - instead.size();
  }
  std::set<std::uint32_t> lines;
  for (const std::string& line : places)
    for (std::size_t place = text.find(line); place != text.npos; place = text.find(line, place + 1))
      lines.insert(line_at(text, place));
  Machine machine(ptx::parse(text, "gemm.ptx"));
  const KernelCase kernel = read_cases(*module, machine).front();
  for (const Schedule schedule : {Schedule::in_order, Schedule::random}) {
    const Outcome outcome = run_case(machine, kernel, schedule, true).outcome;
    EXPECT_TRUE(std::ranges::any_of(outcome.findings,
                                    [&](const Finding& finding) {
                                      return kinds.contains(finding.kind) &&
                                             (lines.contains(finding.site.ptx_line) ||
                                              (finding.other && lines.contains(finding.other->ptx_line)));
                                    }))
        << what << ": " << (outcome.findings.empty() ? "clean" : outcome.findings.front().text());
  }
}

TEST(WarpSpecialisedProduct, WithoutAWaitForItsTilesIsFound) {
  expect_fault_in_product("mbarrier.try_wait", "wgmma.fence", {FindingKind::uninitialised, FindingKind::race},
                          {"wgmma.mma_async"});
}

TEST(WarpSpecialisedProduct, WithoutAWaitForItsProductsIsFound) {
  expect_fault_in_product("wgmma.wait_group", "fence.proxy.async.shared", {FindingKind::uninitialised},
                          {"cp.async.bulk.tensor.2d.global"});
}

TEST(WarpSpecialisedProduct, WithoutAFenceBeforeItsStoreIsFound) {
  expect_fault_in_product("fence.proxy.async.shared", "cp.async.bulk.tensor.2d.global", {FindingKind::proxy},
                          {"cp.async.bulk.tensor.2d.global"});
}

TEST(WarpSpecialisedProduct, WithoutAWaitForAFreeStageIsFound) {
  expect_fault_in_product("mbarrier.try_wait", "mbarrier.arrive.expect_tx",
                          {FindingKind::illegal, FindingKind::race},
                          {"mbarrier.arrive.expect_tx", "cp.async.bulk.tensor.2d.shared"});
}

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(KernelsOfModule);
INSTANTIATE_TEST_SUITE_P(Repository, KernelsOfModule,
                         testing::ValuesIn(find_kernel_modules(WARPLOOM_SIM_KERNELS)),
                         [](const auto& module) { return test_name(module.param); });

}  // namespace
}  // namespace warploom::sim
