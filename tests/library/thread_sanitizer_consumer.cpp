// A user's program, compiled with ThreadSanitizer against a library that was not: no race is reported. What
// it instruments is what headers hold, the operations of ConcurrentMap above all, and what it sees of the
// library are its locks.

#include <cstdint>
#include <iostream>
#include <thread>
#include <vector>
#include <warploom/core/run.hpp>
#include <warploom/core/threads.hpp>
#include <warploom/table/concurrent_map.hpp>

int main() {
  using Map = warploom::table::ConcurrentMap<std::uint64_t, std::uint64_t>;
  using Narrow = warploom::table::ConcurrentMap<std::uint32_t, std::uint32_t>;
  Map map(1);  // it grows many times
  Narrow narrow(1);
  std::vector<std::thread> threads;
  for (std::uint32_t t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (std::uint32_t k = 0; k < 20'000; ++k) {
        const std::uint32_t key = (k * 2'654'435'761U + t) % 30'000;
        switch (k % 4) {
          case 0:
            map.insert(key, k), narrow.insert(key, k);
            break;
          case 1:
            map.fetch_add(key, 1), narrow.fetch_add(key, 1);
            break;
          case 2:
            map.find(key), narrow.find(key);
            break;
          default:
            if (k % 8 == 7) map.erase(key), narrow.erase(key);
        }
      }
      const warploom::RunScope two({.threads = 2});
      std::vector<int> squares(100);
      warploom::parallel_for(
          100, [&](std::int64_t i) { squares[static_cast<std::size_t>(i)] = static_cast<int>(i * i); });
    });
  for (std::thread& thread : threads) thread.join();
  std::cout << (map.size() > 10'000 && narrow.size() > 10'000 ? "right\n" : "wrong\n");
}
