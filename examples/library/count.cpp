// How often each word of three letters occurs in a transfer RNA.

#include <iostream>
#include <warploom/count/count.hpp>

int main(int count, char** arguments) {
  using namespace warploom;
  const auto records = io::read_fasta(count > 1 ? arguments[1] : "trna_phe.fa");
  const table::Counts words =
      table::count_kmers(records, 3, false, {.table = {.run = {.devices = {Device::cpu}}}, .top = 3});
  std::cout << words.total << " words, " << words.statistics.pairs << " different\n";
  for (const table::Counted& word : words.listed) std::cout << word.value << " " << word.count << "\n";
}
