// Work that runs on the threads you say, tells how far it is, and stops when you say so.

#include <atomic>
#include <cmath>
#include <iostream>
#include <vector>
#include <warploom/core/error.hpp>
#include <warploom/core/run.hpp>
#include <warploom/core/threads.hpp>

int main() {
  std::vector<double> roots(1000);
  std::atomic<bool> stop = false;
  const warploom::RunScope scope({.threads = 2, .stop = &stop});  // what is not said stays as it is
  const auto work = [&] {
    warploom::Progress progress("taking roots", roots.size(), "roots");
    warploom::parallel_for(std::ssize(roots), [&](std::int64_t k) {
      roots[static_cast<std::size_t>(k)] = std::sqrt(static_cast<double>(k));
      progress.advance();
    });
  };
  work();
  std::cout << "the last root is " << roots.back() << "\n";

  stop = true;  // any thread may ask for it, a signal handler too
  try {
    work();
  } catch (const warploom::Interrupted& error) {
    std::cout << "the second time: " << error.what() << "\n";
  }
}
