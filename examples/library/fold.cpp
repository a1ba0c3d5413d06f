// The structure of an RNA whose free energy is least, and what its loops cost.

#include <iostream>
#include <warploom/fold/fold.hpp>
#include <warploom/fold/formats.hpp>

int main() {
  using namespace warploom::fold;
  const std::string sequence = "GCGGAUUUAGCUCAGUUGGGAGAGCGCCAGACUGAAGAUCUGGAGGUCCUGUGUUCGAUCCACAGAAUUCGCACCA";
  const Folding folding = fold(sequence, {.temperature = 25});
  std::cout << sequence << '\n' << folding.structure << ' ' << kcal(folding.energy) << " kcal/mol\n";
  for (const Loop& loop : evaluate(sequence, folding.structure, {.temperature = 25}).loops)
    if (loop.kind == Loop::Kind::hairpin || loop.kind == Loop::Kind::multi)
      std::cout << (loop.kind == Loop::Kind::multi ? "multiloop " : "hairpin ") << loop.i << '-' << loop.j
                << ' ' << kcal(loop.energy) << '\n';
}
