// Arrays in shared memory whose lives do not meet share storage: between NVRTC and cuModuleLoadData, say.

#include <iostream>
#include <warploom/core/file.hpp>
#include <warploom/reuse/check.hpp>
#include <warploom/reuse/reuse.hpp>

int main(int count, char** arguments) {
  using namespace warploom;
  const std::string ptx = read_file(count > 1 ? arguments[1] : "kernels.ptx");
  reuse::Options options;
  options.when = reuse::When::always;
  options.assemble = false;  // true runs ptxas on the result, where there is one
  const reuse::Result result = reuse::optimize(ptx, options);  // the input's text where nothing was rewritten
  for (const reuse::KernelReport& kernel : result.report.kernels)
    std::cout << kernel.name << ": " << kernel.bytes_before << " -> " << kernel.bytes_after << " bytes, "
              << reuse::name(kernel.verdict) << "\n";

  // optimize() has checked it already; a cache of rewritten kernels would check what it reads.
  const reuse::CheckResult check = reuse::check(ptx, result.text);
  std::cout << (check.ok ? "checked\n" : check.problems.front() + "\n");
}
