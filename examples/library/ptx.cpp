// What a PTX file holds: its kernels, their parameters and their shared memory.

#include <iostream>
#include <warploom/core/demangle.hpp>
#include <warploom/core/file.hpp>
#include <warploom/ptx/module.hpp>

int main(int count, char** arguments) {
  using namespace warploom;
  const std::string file = count > 1 ? arguments[1] : "kernels.ptx";
  const ptx::Module module = ptx::parse(read_file(file), file);
  std::cout << "for " << module.target << "\n";
  for (const ptx::Function& function : module.functions) {
    if (!function.entry) continue;
    std::uint64_t shared = 0;
    for (const std::uint32_t variable : function.variables)
      if (module.variables[variable].space == ptx::Space::shared) shared += module.variables[variable].bytes;
    std::cout << function.name << ": " << function.parameters.size() << " parameters, "
              << function.instructions.size() << " instructions, " << shared << " bytes of shared memory\n";
  }
}
