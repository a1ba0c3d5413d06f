#pragma once

#include <gtest/gtest.h>

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "warploom/core/demangle.hpp"
#include "warploom/core/file.hpp"
#include "warploom/sim/sim.hpp"

namespace warploom::search {

/// Runs the kernels of sim_kernels.cu. A race is a failure.
class Simulator {
 public:
  Simulator() : machine_(ptx::parse(read_file(WARPLOOM_KERNEL_PTX), "sim_kernels.ptx")) {}

  template <class T>
  T* upload(std::vector<T> values) {
    return reinterpret_cast<T*>(machine_.upload(std::span(values)));
  }
  template <class T>
  std::vector<T> download(const T* from, std::size_t count) {
    std::vector<T> values(count);
    machine_.download(reinterpret_cast<sim::Address>(from), std::span(values));
    return values;
  }
  template <class... Arguments>
  void launch(std::string_view kernel, unsigned blocks, unsigned threads, unsigned shared,
              Arguments... values) {
    for (const sim::Schedule schedule : {sim::Schedule::random}) {
      sim::Arguments arguments;
      (arguments.add(values), ...);
      const sim::Outcome outcome = machine_.launch(symbol(kernel), arguments,
                                                   {.grid = {blocks},
                                                    .block = {threads},
                                                    .dynamic_shared = shared,
                                                    .schedule = schedule,
                                                    .races = true});
      EXPECT_TRUE(outcome.completed);
      for (const sim::Finding& finding : outcome.findings) ADD_FAILURE() << finding.text();
    }
  }

 private:
  /// Of the kernel that has this name in C++.
  std::string symbol(std::string_view name) const {
    for (const ptx::Function& function : machine_.module().functions)
      if (function.entry && function_name(function.name).ends_with(name)) return std::string(function.name);
    ADD_FAILURE() << "no kernel " << name;
    return {};
  }
  sim::Machine machine_;
};

template <class T>
sim::Address address(T* pointer) {
  return reinterpret_cast<sim::Address>(pointer);
}

}  // namespace warploom::search
