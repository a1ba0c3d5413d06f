#include "search/cpu_bounds.hpp"

#include "search/cpu_vector.hpp"

namespace warploom::search::WARPLOOM_INSTRUCTION_SET {
namespace {

constexpr int kStep = 8;  // positions between two looks at the sums

/// Adds square(term(k)) over the positions to the sums, until all lanes exceed the bound.
template <class Term>
inline unsigned add_until(std::int64_t length, float bound, float* sums, const Term& term) {
  Vector sum[2] = {load(sums), Vector{}};
  const auto add = [&](int s, std::int64_t k) {
    const Vector t = term(k);
    sum[s] = t * t + sum[s];
  };
  std::int64_t k = 0;
  for (; k + kStep <= length; k += kStep) {
#pragma GCC unroll 8
    for (int s = 0; s < kStep; ++s) add(s % 2, k + s);
    if (bits(sum[0] + sum[1] <= all(bound)) == 0) break;
  }
  if (k + kStep > length)
    for (; k < length; ++k) add(0, k);
  store(sums, sum[0] + sum[1]);
  return bits(sum[0] + sum[1] <= all(bound));
}

unsigned by_query(const Envelope& query, const float* samples, const LaneMoments& moments, float bound,
                  float* sums) {
  const Normalizer normalized(moments);
  return add_until(query.length, bound, sums, [&](std::int64_t k) {
    const Vector x = normalized(load(samples + query.position[k]));
    return x - lesser(greater(x, all(query.lower[k])), all(query.upper[k]));
  });
}

unsigned by_windows(const Envelope& query, const float* lower, const float* upper, const LaneMoments& moments,
                    float bound, float* sums) {
  const Normalizer normalized(moments);
  return add_until(query.length, bound, sums, [&](std::int64_t k) {
    const Vector q = all(query.query[k]);
    const Vector least = normalized(load(lower + query.position[k]));
    const Vector most = normalized(load(upper + query.position[k]));
    return q - lesser(greater(q, least), most);
  });
}

void remaining(const float* lower, const float* upper, const float* windows, std::int64_t length,
               std::int64_t channels, const float* more, float* to) {
  Vector sum = load(more);
  store(to + length * kLanes, sum);
  const auto add = [&](std::int64_t at) {
    const Vector x = load(windows + at * kLanes);
    const Vector term = x - lesser(greater(x, all(lower[at])), all(upper[at]));
    sum = term * term + sum;
  };
  for (std::int64_t j = length - 1; j >= 0; --j) {
    if (channels == 1)
      add(j);
    else
      for (std::int64_t c = 0; c < channels; ++c) add(j * channels + c);
    store(to + j * kLanes, sum);
  }
}

/// best of [i, i + width) at each i, by doubling what is known; values lie in `a`, which is overwritten, from
/// 0 to count.
template <class Best>
void slide(float* a, std::int64_t count, std::int64_t width, const Best& best) {
  const auto combine = [&](std::int64_t shift) {
    for (std::int64_t i = 0; i < count; i += kLanes) store(a + i, best(load(a + i), load(a + i + shift)));
  };
  std::int64_t known = 1;
  for (; 2 * known <= width; known *= 2) combine(known);
  if (known < width) combine(width - known);
}

void envelope(const float* samples, std::int64_t count, std::int64_t radius, float* lower, float* upper) {
  const auto fill = [&](float* to, float nothing) {
    for (std::int64_t i = 0; i < radius; ++i) to[i] = nothing;
    for (std::int64_t i = 0; i < count; ++i)
      to[radius + i] = samples[i] - samples[i] == 0 ? samples[i] : nothing;
    for (std::int64_t i = radius + count; i < count + 2 * radius + 2 * kLanes; ++i) to[i] = nothing;
  };
  fill(lower, kInfinity);
  slide(lower, count + radius, 2 * radius + 1, [](const Vector& a, const Vector& b) { return lesser(a, b); });
  fill(upper, -kInfinity);
  slide(upper, count + radius, 2 * radius + 1,
        [](const Vector& a, const Vector& b) { return greater(a, b); });
}

}  // namespace

extern const CpuBounds cpu_bounds;
const CpuBounds cpu_bounds = {by_query, by_windows, remaining, envelope};

}  // namespace warploom::search::WARPLOOM_INSTRUCTION_SET
