#pragma once

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <random>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "sim/form.hpp"
#include "sim/step.hpp"
#include "warploom/ptx/opcode.hpp"

// The two builds of the lane handlers. Where there is no AVX2 build, its name means the other one.
namespace warploom::sim {
namespace baseline {
Handler integer(const Form& form);
Handler comparison(const Form& form);
Handler floating(const Form& form);
Handler half(const Form& form);
Handler conversion(const Form& form, unsigned to_bytes, unsigned from_bytes);
}  // namespace baseline
#if defined(__x86_64__)
namespace avx2 {
Handler integer(const Form& form);
Handler comparison(const Form& form);
Handler floating(const Form& form);
Handler half(const Form& form);
Handler conversion(const Form& form, unsigned to_bytes, unsigned from_bytes);
}  // namespace avx2
#else
namespace avx2 = baseline;
#endif
}  // namespace warploom::sim

namespace warploom::sim::testing {

/// Of the two builds of one lookup, those that this processor can run: builds(baseline::half, avx2::half).
template <typename Find>
std::vector<Find*> builds(Find* baseline, [[maybe_unused]] Find* avx2) {
  std::vector<Find*> found = {baseline};
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) found.push_back(avx2);
#endif
  return found;
}

inline Form form(std::string_view name) { return form_of(ptx::decode(name)); }

/// One value a lane. Of bool, a predicate register: one Mask.
template <typename T>
using Lanes = std::array<T, kLanes>;

/// The registers of one instruction: destination, second, a, b, c, d, each with room for 16 bytes a lane, and
/// all full of bytes that no test expects.
class Warp {
 public:
  Warp() {
    for (std::byte& b : memory_) b = std::byte{0xa5};
    step.destination = slot(0);
    step.second = slot(1);
    Source* const sources[] = {&step.a, &step.b, &step.c, &step.d};
    for (unsigned i = 0; i < 4; ++i) sources[i]->offset = slot(i + 2) & 0x7fffffffu;
  }

  /// Source 0 is a.
  template <typename T>
  void set_source(unsigned source, const Lanes<T>& values) {
    put(source + 2, values);
  }
  /// The register that Step::second names.
  void set_second(const Lanes<bool>& values) { put(1, values); }
  void set_destination_as_source(unsigned source) {
    std::memcpy(memory_ + slot(0), memory_ + slot(source + 2), kSlotBytes);
    Source* const sources[] = {&step.a, &step.b, &step.c, &step.d};
    sources[source]->offset = slot(0) & 0x7fffffffu;
  }

  /// Runs the handler, and fails the test where it writes outside the lanes' part of the destination (which
  /// has elements D) and of the second one (a predicate, where the instruction has one).
  template <typename D>
  void run(Handler handler, Mask lanes = kAllLanes) {
    std::array<std::byte, sizeof memory_> before;
    std::memcpy(before.data(), memory_, sizeof memory_);
    Registers registers;
    registers.base[0] = memory_;
    handler(registers, step, lanes);
    std::array<std::byte, sizeof memory_> expected = before;
    const auto allow = [&](std::size_t at, std::size_t bytes) {
      std::memcpy(expected.data() + at, memory_ + at, bytes);
    };
    const auto allow_predicate = [&](std::size_t at) {
      Mask old, now;
      std::memcpy(&old, before.data() + at, sizeof old);
      std::memcpy(&now, memory_ + at, sizeof now);
      now = (old & ~lanes) | (now & lanes);
      std::memcpy(expected.data() + at, &now, sizeof now);
    };
    if constexpr (std::is_same_v<D, bool>) {
      allow_predicate(slot(0));
    } else {
      for (unsigned lane = 0; lane < kLanes; ++lane) {
        if (lanes >> lane & 1) allow(slot(0) + lane * sizeof(D), sizeof(D));
      }
    }
    if (step.second != kNoSlot) allow_predicate(slot(1));
    EXPECT_EQ(std::memcmp(expected.data(), memory_, sizeof memory_), 0)
        << "wrote outside the lanes " << std::hex << lanes << " of its destination";
  }

  template <typename T>
  Lanes<T> destination() const {
    return get<T>(0);
  }
  Lanes<bool> second() const { return get<bool>(1); }

  Step step;  ///< its offsets are set; a test adds immediate, negated, second = kNoSlot

 private:
  static constexpr std::size_t kSlotBytes = kLanes * 16;
  static constexpr std::uint32_t slot(unsigned i) { return static_cast<std::uint32_t>(i * kSlotBytes); }

  template <typename T>
  void put(unsigned i, const Lanes<T>& values) {
    if constexpr (std::is_same_v<T, bool>) {
      Mask mask = 0;
      for (unsigned lane = 0; lane < kLanes; ++lane) mask |= Mask{values[lane]} << lane;
      std::memcpy(memory_ + slot(i), &mask, sizeof mask);
    } else {
      std::memcpy(memory_ + slot(i), values.data(), sizeof values);
    }
  }
  template <typename T>
  Lanes<T> get(unsigned i) const {
    Lanes<T> values;
    if constexpr (std::is_same_v<T, bool>) {
      Mask mask;
      std::memcpy(&mask, memory_ + slot(i), sizeof mask);
      for (unsigned lane = 0; lane < kLanes; ++lane) values[lane] = mask >> lane & 1;
    } else {
      std::memcpy(values.data(), memory_ + slot(i), sizeof values);
    }
    return values;
  }

  alignas(64) std::byte memory_[6 * kSlotBytes];
};

/// Runs the handler on every tuple of sources (a, b, ...; bool is a predicate), 32 tuples at a time, on full
/// and on partial masks in turn, and calls check(result, sources...) for each lane that ran. `step` gives
/// negated, flags, extra and immediate. `second`: whether Step::second is a register (which check then cannot
/// see).
template <typename D, typename... S, typename Check>
void for_lanes(Handler handler, const std::vector<std::tuple<S...>>& tuples, const Check& check,
               const Step& step = {}) {
  ASSERT_NE(handler, nullptr);
  constexpr Mask kMasks[] = {kAllLanes, 0x5a0ff0c3u, kAllLanes, 0x80000001u, 0x00010000u, 0xfffffffeu};
  std::mt19937_64 random(7);
  for (std::size_t first = 0, run = 0; first < tuples.size(); first += kLanes, ++run) {
    Warp warp;
    warp.step.negated = step.negated;
    warp.step.flags = step.flags;
    warp.step.extra = step.extra;
    warp.step.immediate = step.immediate;
    warp.step.second = kNoSlot;
    std::tuple<Lanes<S>...> sources;
    for (unsigned lane = 0; lane < kLanes; ++lane) {
      const auto& tuple = tuples[(first + lane) % tuples.size()];
      [&]<std::size_t... I>(std::index_sequence<I...>) {
        ((std::get<I>(sources)[lane] = std::get<I>(tuple)), ...);
      }
      (std::index_sequence_for<S...>());
    }
    [&]<std::size_t... I>(std::index_sequence<I...>) { (warp.set_source(I, std::get<I>(sources)), ...); }
    (std::index_sequence_for<S...>());
    // A partial mask is run after its complement, so that every tuple is checked.
    const Mask mask = kMasks[run % std::size(kMasks)];
    for (const Mask lanes : {static_cast<Mask>(~mask), mask}) {
      if (lanes == 0) continue;
      warp.template run<D>(handler, lanes);
      const Lanes<D> result = warp.template destination<D>();
      for (unsigned lane = 0; lane < kLanes; ++lane) {
        if ((lanes >> lane & 1) == 0) continue;
        std::apply([&](const auto&... source) { check(D{result[lane]}, S{source[lane]}...); }, sources);
      }
      if (::testing::Test::HasFailure()) return;
    }
  }
}

/// Every tuple of the values given.
template <typename S, typename... Rest>
std::vector<std::tuple<S, Rest...>> product(const std::vector<S>& first, const std::vector<Rest>&... rest) {
  std::vector<std::tuple<S, Rest...>> tuples;
  for (const S value : first) {
    if constexpr (sizeof...(Rest) == 0) {
      tuples.emplace_back(value);
    } else {
      for (const auto& tuple : product<Rest...>(rest...)) {
        tuples.push_back(std::tuple_cat(std::make_tuple(value), tuple));
      }
    }
  }
  return tuples;
}

/// Tuples of random bits, of random widths, so that small values are as likely as large ones.
template <typename... S>
std::vector<std::tuple<S...>> random_tuples(std::size_t count, std::uint64_t seed = 1) {
  std::mt19937_64 random(seed);
  std::vector<std::tuple<S...>> tuples(count);
  const auto draw = [&]<typename T>(T& value) {
    std::uint64_t bits = random();
    if constexpr (std::is_same_v<T, bool>) {
      value = bits & 1;
    } else {
      if constexpr (std::is_integral_v<T>) {
        bits >>= random() % (8 * sizeof(T)) + 64 - 8 * sizeof(T);
        if (random() & 1) bits = ~bits + 1;
      }
      std::memcpy(&value, &bits, sizeof value);
    }
  };
  for (auto& tuple : tuples) std::apply([&](auto&... value) { (draw(value), ...); }, tuple);
  return tuples;
}

}  // namespace warploom::sim::testing
