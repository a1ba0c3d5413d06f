// How often each word of three letters occurs in a transfer RNA.

#include <iostream>
#include <warploom/count/count.hpp>

int main(int count, char** arguments) {
  using namespace warploom;
  io::SequenceStream sequences({count > 1 ? arguments[1] : "trna_phe.fa"});
  table::KmerOptions options;
  options.k = 3;
  options.top = 3;
  const table::Counts words = table::count_kmers(sequences, options);
  std::cout << words.total << " words, " << words.statistics.pairs << " different\n";
  for (const table::Counted& word : words.listed) std::cout << word.value << " " << word.count << "\n";
}
