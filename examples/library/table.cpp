// A map that four threads use at once, without locks: how often each remainder occurs.

#include <iostream>
#include <thread>
#include <vector>
#include <warploom/table/concurrent_map.hpp>

int main() {
  warploom::table::ConcurrentMap<std::uint64_t, std::uint64_t> counts;
  std::vector<std::jthread> threads;
  for (std::uint64_t t = 0; t < 4; ++t)
    threads.emplace_back([&counts, t] {
      for (std::uint64_t k = t; k < 100'000; k += 4)
        counts.fetch_add(k * k % 11, 1);  // inserts 1, or adds it
    });
  threads.clear();  // joins them
  // All is quiet now: the map may be walked through.
  std::cout << counts.size() << " remainders; of 3 there are " << counts.find(3).value << "\n";
}
