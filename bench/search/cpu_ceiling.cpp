#include "cpu_ceiling.hpp"

#include "search/cpu_vector.hpp"

namespace warploom::search::WARPLOOM_INSTRUCTION_SET {
namespace {

std::int64_t run(std::int64_t rounds, float* vector) {
  constexpr int kCells = kLanes == 16 ? 16 : 8;  // side by side, so that none waits
  const Vector query = load(vector);
  Vector cell[kCells], other = query * 0.5F;
  for (int c = 0; c < kCells; ++c) cell[c] = query * static_cast<float>(c);
  for (std::int64_t r = 0; r < rounds; ++r) {
#pragma GCC unroll 16
    for (int c = 0; c < kCells; ++c) {
      const Vector difference = query - cell[c];
      cell[c] = difference * difference + lesser(lesser(cell[c], other), query);
    }
    asm volatile("" : "+v"(other));  // nothing moves out of the loop
  }
  for (int c = 1; c < kCells; ++c) cell[0] += cell[c];
  store(vector, cell[0]);
  return rounds * kCells * kLanes;
}

}  // namespace

extern const Ceiling ceiling;
const Ceiling ceiling = {run};

}  // namespace warploom::search::WARPLOOM_INSTRUCTION_SET
