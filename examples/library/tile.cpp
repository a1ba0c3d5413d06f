// What a loop nest reuses, and which orders of its loops are legal.

#include <iostream>
#include <warploom/core/file.hpp>
#include <warploom/tile/explain.hpp>

int main(int count, char** arguments) {
  using namespace warploom;
  const std::string file = count > 1 ? arguments[1] : "matmul.c";
  for (tile::Region& region : tile::read_source(read_file(file), file, {})) {
    const tile::Nest nest = tile::Nest::analyse(std::move(region));
    const tile::Explanation explanation = tile::explain(nest);
    std::cout << nest.region().function << ": " << explanation.reuse.size() << " kinds of reuse\n";
    for (const tile::Dependence& dependence : explanation.dependences)
      std::cout << tile::to_text(nest, dependence) << "\n";
    int legal = 0;
    for (const tile::Judged& order : explanation.permutations) legal += order.verdict.legal;
    std::cout << legal << " of " << explanation.permutations.size() << " orders of its loops are legal\n";
  }
}
