// fold::ensemble() beside the oracle in long double of the tests: random sequences, or those of a FASTA file.
//
//   ensemble_oracle LENGTH[,LENGTH...] [SEED] [TEMPERATURE] [DANGLES]
#include "fold/ensemble_oracle.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <random>

#include "fold/random_sequence.hpp"
#include "warploom/fold/ensemble.hpp"

int main(int argc, char** argv) {
  using namespace warploom;
  if (argc < 2) {
    fmt::print(stderr, "ensemble_oracle LENGTH[,LENGTH...] [SEED] [TEMPERATURE] [DANGLES]\n");
    return 2;
  }
  fold::Model model;
  const unsigned seed = argc > 2 ? static_cast<unsigned>(std::stoul(argv[2])) : 1;
  if (argc > 3) model.temperature = std::stod(argv[3]);
  if (argc > 4) model.dangles = std::stoi(argv[4]);
  std::string rest = argv[1];
  while (!rest.empty()) {
    const std::size_t length = std::stoul(rest.substr(0, rest.find(',')));
    rest = rest.find(',') == std::string::npos ? "" : rest.substr(rest.find(',') + 1);
    std::mt19937 random(seed);
    const std::string sequence = fold::random_sequence(random, length);
    const fold::Ensemble found = fold::ensemble(sequence, model, {.cutoff = 0});
    const fold::EnsembleOracle oracle(sequence, model);
    double pair = 0, relative = 0, unpaired = 0;
    std::vector<double> alone(length, 1);
    for (const fold::PairProbability& one : found.pairs) {
      const double expected = oracle.probability(static_cast<int>(one.i), static_cast<int>(one.j));
      pair = std::max(pair, std::abs(one.probability - expected));
      if (expected > 1e-12) relative = std::max(relative, std::abs(one.probability / expected - 1));
    }
    for (int i = 1; i <= static_cast<int>(length); ++i)
      for (int j = i + 1; j <= static_cast<int>(length); ++j)
        for (const int base : {i, j}) alone[static_cast<std::size_t>(base - 1)] -= oracle.probability(i, j);
    for (std::size_t k = 0; k < length; ++k)
      unpaired = std::max(unpaired, std::abs(alone[k] - found.unpaired[k]));
    fmt::print(
        "{{\"bases\": {}, \"seed\": {}, \"temperature\": {}, \"dangles\": {}, \"energy\": {:.12g}, \"energy, relative difference\": {:.3g}, "
        "\"pair, largest difference\": {:.3g}, \"pair above 1e-12, largest relative difference\": {:.3g}, \"unpaired, largest difference\": {:.3g}}}\n",
        length, seed, model.temperature, model.dangles, found.energy,
        std::abs(found.energy / oracle.energy() - 1), pair, relative, unpaired);
    std::fflush(stdout);
  }
}
