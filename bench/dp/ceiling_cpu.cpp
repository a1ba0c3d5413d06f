#include "ceiling_cpu.hpp"

namespace warploom::dp::WARPLOOM_INSTRUCTION_SET {
namespace {

#if defined(__AVX512F__)
constexpr int kBytes = 64, kAccumulators = 16;
#elif defined(__AVX2__)
constexpr int kBytes = 32, kAccumulators = 12;
#else
constexpr int kBytes = 16, kAccumulators = 12;
#endif

// Each accumulator takes its neighbour's value of the round before, so that no sum is another's and none can
// be left out; there are enough of them to cover the latency of both instructions.
template <class T>
void run(std::int64_t rounds, void* vector) {
  using Vector [[gnu::vector_size(kBytes)]] = T;
  Vector best[kAccumulators], step;
  __builtin_memcpy(&step, vector, sizeof step);
  for (int i = 0; i < kAccumulators; ++i) best[i] = step * T(i);
  for (std::int64_t round = 0; round < rounds; ++round)
    for (int i = 0; i < kAccumulators; ++i) {
      const Vector sum = best[(i + 1) % kAccumulators] + step;
      best[i] = sum < best[i] ? sum : best[i];
    }
  for (int i = 1; i < kAccumulators; ++i) best[0] = best[0] + best[i];
  __builtin_memcpy(vector, &best[0], sizeof step);
}

}  // namespace

extern const Ceiling ceiling;
const Ceiling ceiling = {kBytes,
                         {run<std::int16_t>, run<std::int32_t>, run<std::int64_t>, run<float>, run<double>},
                         kAccumulators};

}  // namespace warploom::dp::WARPLOOM_INSTRUCTION_SET
