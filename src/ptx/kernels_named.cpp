#include "warploom/core/demangle.hpp"
#include "warploom/ptx/module.hpp"

namespace warploom::ptx {

std::vector<std::string> kernels_named(const Module& module, std::string_view asked) {
  std::vector<std::string> named, containing;
  for (const Function& f : module.functions) {
    if (!f.entry || !f.has_body) continue;
    const std::string symbol(f.name), declaration = demangle(symbol);
    if (symbol == asked) return {symbol};
    if (declaration == asked || function_name(symbol) == asked) named.push_back(symbol);
    if (declaration.find(asked) != declaration.npos) containing.push_back(symbol);
  }
  return named.empty() ? containing : named;
}

}  // namespace warploom::ptx
