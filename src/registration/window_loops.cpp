#include <algorithm>
#include <cstring>
#include <vector>

#include "registration/loops.hpp"

#if defined(__clang__)
#define WARPLOOM_INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#else
#define WARPLOOM_INDEPENDENT _Pragma("GCC ivdep")
#endif

// Each loop here sums over windows in one pass over memory: rows are summed along z as they are read, the
// last few of these sums wait in a ring in the first cache until they are summed along y, and that row is
// summed along x. Sums are made anew for every voxel: running ones would carry their rounding along.

namespace warploom::registration {
namespace {

constexpr int kFields = 5;

// So many neighbours along x are summed in registers before they are stored.
#if defined(__AVX512F__)
constexpr std::int64_t kLanes = 16;
#elif defined(__AVX__)
constexpr std::int64_t kLanes = 8;
#else
constexpr std::int64_t kLanes = 4;
#endif
using Lanes = float __attribute__((vector_size(kLanes * sizeof(float))));

inline Lanes load(const float* from) {
  Lanes out;
  std::memcpy(&out, from, sizeof out);
  return out;
}
inline void store(const Lanes& lanes, float* to) { std::memcpy(to, &lanes, sizeof lanes); }

// sum(from) for voxels [from, from + 2 kLanes) of a row, the last ones twice if they are no multiple, and one
// by one in short rows.
template <class Sum, class SumOne>
void along_row(std::int64_t nx, Sum&& sum, SumOne&& one) {
  constexpr std::int64_t kStep = 2 * kLanes;
  if (nx < kStep) {
    for (std::int64_t x = 0; x < nx; ++x) one(x);
    return;
  }
  for (std::int64_t x = 0; x < nx; x += kStep) sum(std::min(x, nx - kStep));
}

// out(x) = sum over k of taps[k] row(k)(x)
template <class Row>
void weighted_sum(std::int64_t nx, int count, const float* taps, Row&& row, float* out) {
  along_row(
      nx,
      [&](std::int64_t x) {
        Lanes a{}, b{};
        for (int k = 0; k < count; ++k) {
          const float* in = row(k) + x;
          const float tap = taps[k];
          a += tap * load(in), b += tap * load(in + kLanes);
        }
        store(a, out + x), store(b, out + x + kLanes);
      },
      [&](std::int64_t x) {
        float sum = 0;
        for (int k = 0; k < count; ++k) sum += taps[k] * row(k)[x];
        out[x] = sum;
      });
}

// Rows of several fields, `depth` of them, and room for `margin` zeros on both sides of each.
class Ring {
 public:
  Ring(int fields, std::int64_t depth, std::int64_t nx, std::int64_t margin)
      : depth_(depth),
        pitch_((nx + 2 * margin + 15) / 16 * 16),
        margin_(margin),
        rows_(static_cast<std::size_t>(fields * depth * pitch_), 0.0F) {}
  float* row(int field, std::int64_t y) {
    return rows_.data() + (field * depth_ + y % depth_) * pitch_ + margin_;
  }

 private:
  std::int64_t depth_, pitch_, margin_;
  std::vector<float> rows_;
};

// Calls fill(y, ring) once for each row within reach, in order, and use(y) for each row of the strip.
template <class Fill, class Use>
void roll(const Strip& strip, std::int64_t ny, int radius, Fill&& fill, Use&& use) {
  std::int64_t filled = std::max<std::int64_t>(0, strip.y_from - radius);
  for (std::int64_t y = strip.y_from; y < strip.y_to; ++y) {
    for (const std::int64_t end = std::min(ny, y + radius + 1); filled < end; ++filled) fill(filled);
    use(y);
  }
}

// out(x) = sum over k of row(k)(x)
template <class Row>
void plain_sum(std::int64_t nx, std::int64_t count, Row&& row, float* out) {
  along_row(
      nx,
      [&](std::int64_t x) {
        Lanes a{}, b{};
        for (std::int64_t k = 0; k < count; ++k) {
          const float* in = row(k) + x;
          a += load(in), b += load(in + kLanes);
        }
        store(a, out + x), store(b, out + x + kLanes);
      },
      [&](std::int64_t x) {
        float sum = 0;
        for (std::int64_t k = 0; k < count; ++k) sum += row(k)[x];
        out[x] = sum;
      });
}

inline void sum_rows(Ring& ring, int field, std::int64_t from, std::int64_t to, std::int64_t nx, float* out) {
  plain_sum(
      nx, to - from, [&](std::int64_t k) { return ring.row(field, from + k); }, out);
}

// `padded` has `radius` zeros on both sides.
inline void sum_along(const float* padded, int radius, std::int64_t nx, float* out) {
  plain_sum(
      nx, 2 * radius + 1, [&](std::int64_t k) { return padded + k - radius; }, out);
}

struct Window {
  std::int64_t from, to;
  Window(std::int64_t at, int radius, std::int64_t count)
      : from(std::max<std::int64_t>(0, at - radius)), to(std::min(count, at + radius + 1)) {}
  float size() const { return static_cast<float>(to - from); }
};

}  // namespace

namespace WARPLOOM_INSTRUCTION_SET {

double lncc_strip(const LnccStrip& s) {
  const auto [nx, ny, nz] = s.grid;
  const std::int64_t plane = nx * ny, voxels = s.grid.voxels();
  const Window planes(s.strip.z, s.radius, nz);
  Ring ring(kFields, 2 * s.radius + 1, nx, 0), line(1, 1, nx, s.radius);
  std::vector<float> buffer(static_cast<std::size_t>((kFields + 1) * nx));
  float* sums[kFields];
  for (int f = 0; f < kFields; ++f) sums[f] = buffer.data() + f * nx;
  float* sizes = buffer.data() + kFields * nx;
  for (std::int64_t x = 0; x < nx; ++x) sizes[x] = Window(x, s.radius, nx).size();

  double total = 0;
  roll(
      s.strip, ny, s.radius,
      [&](std::int64_t y) {
        float* r[kFields];
        for (int f = 0; f < kFields; ++f) r[f] = ring.row(f, y);
        const float *a = s.fixed + y * nx, *b = s.moving + y * nx;
        const auto sum = [&]<class T>(std::int64_t x, T, auto&& from, auto&& to) {
          T si{}, sj{}, sii{}, sjj{}, sij{};
          for (std::int64_t z = planes.from; z < planes.to; ++z) {
            const T i = from(a + z * plane + x), j = from(b + z * plane + x);
            si += i, sj += j, sii += i * i, sjj += j * j, sij += i * j;
          }
          to(si, r[0] + x), to(sj, r[1] + x), to(sii, r[2] + x), to(sjj, r[3] + x), to(sij, r[4] + x);
        };
        along_row(
            nx,
            [&](std::int64_t x) {
              const auto put = [](const Lanes& v, float* p) { store(v, p); };
              sum(x, Lanes{}, load, put), sum(x + kLanes, Lanes{}, load, put);
            },
            [&](std::int64_t x) {
              sum(
                  x, 0.0F, [](const float* p) { return *p; }, [](float v, float* p) { *p = v; });
            });
      },
      [&](std::int64_t y) {
        const Window rows(y, s.radius, ny);
        for (int f = 0; f < kFields; ++f) {
          sum_rows(ring, f, rows.from, rows.to, nx, line.row(0, 0));
          sum_along(line.row(0, 0), s.radius, nx, sums[f]);
        }
        const float size = rows.size() * planes.size();
        const std::int64_t row = s.strip.z * plane + y * nx;
        float *p = s.statistics + row, *q = p + voxels, *r = q + voxels, *t = r + voxels, *u = t + voxels;
        const float *si = sums[0], *sj = sums[1], *sii = sums[2], *sjj = sums[3], *sij = sums[4];
        const float floor = s.floor;
        float sum = 0;
        const auto statistics = [&](auto counted) {
#pragma omp simd reduction(+ : sum)
          for (std::int64_t x = 0; x < nx; ++x) {
            const float n = size * sizes[x], mean_i = si[x] / n, mean_j = sj[x] / n;
            const float noise = n * floor, a = sij[x] - si[x] * mean_j + noise;
            const float b = std::max(sii[x] - si[x] * mean_i, 0.0F) + noise;
            const float c = std::max(sjj[x] - sj[x] * mean_j, 0.0F) + noise;
            const float weight = counted(x), share = a / (b * c) * weight, squared = a * share;
            const float of_c = squared / c, of_b = squared / b;
            p[x] = share, q[x] = of_c, r[x] = of_b;
            t[x] = share * mean_i - of_c * mean_j;
            u[x] = share * mean_j - of_b * mean_i;
            sum += squared + (1 - weight) * noise / b;
          }
        };
        if (s.counts != nullptr)
          statistics([c = s.counts + row](std::int64_t x) { return c[x] != 0 ? 1.0F : 0.0F; });
        else
          statistics([](std::int64_t) { return 1.0F; });
        total += double(sum);
      });
  return total;
}

void lncc_derivative_strip(const LnccDerivativeStrip& d) {
  const LnccStrip& s = d.of;
  const auto [nx, ny, nz] = s.grid;
  const std::int64_t plane = nx * ny, voxels = s.grid.voxels();
  const Window planes(s.strip.z, s.radius, nz);
  Ring ring(kFields, 2 * s.radius + 1, nx, 0), line(1, 1, nx, s.radius);
  std::vector<float> buffer(static_cast<std::size_t>((kFields + 2) * nx));
  float* sums[kFields];
  for (int f = 0; f < kFields; ++f) sums[f] = buffer.data() + f * nx;
  float *d_fixed = buffer.data() + kFields * nx, *d_moving = d_fixed + nx;
  roll(
      s.strip, ny, s.radius,
      [&](std::int64_t y) {
        for (int f = 0; f < kFields; ++f) {
          const float* in = s.statistics + f * voxels + planes.from * plane + y * nx;
          plain_sum(
              nx, planes.to - planes.from, [&](std::int64_t k) { return in + k * plane; }, ring.row(f, y));
        }
      },
      [&](std::int64_t y) {
        const Window rows(y, s.radius, ny);
        for (int f = 0; f < kFields; ++f) {
          sum_rows(ring, f, rows.from, rows.to, nx, line.row(0, 0));
          sum_along(line.row(0, 0), s.radius, nx, sums[f]);
        }
        const std::int64_t row = s.strip.z * plane + y * nx;
        const float *i = s.fixed + row, *j = s.moving + row;
        WARPLOOM_INDEPENDENT
        for (std::int64_t x = 0; x < nx; ++x) {
          d_moving[x] = 2 * (i[x] * sums[0][x] - j[x] * sums[1][x] - sums[3][x]);
          d_fixed[x] = 2 * (j[x] * sums[0][x] - i[x] * sums[2][x] - sums[4][x]);
        }
        d.row(d.context, y, d_fixed, d_moving);
      });
}

void smooth_strip(const SmoothStrip& s) {
  const auto [nx, ny, nz] = s.grid;
  const std::int64_t plane = nx * ny;
  const int rx = s.radius[0], ry = s.radius[1], rz = s.radius[2];
  Ring ring(1, 2 * ry + 1, nx, 0), line(1, 1, nx, rx);
  const auto clamped = [](std::int64_t at, std::int64_t count) {
    return std::clamp<std::int64_t>(at, 0, count - 1);
  };
  const float *planes_a[2 * kMostTaps + 1], *planes_b[2 * kMostTaps + 1], *rows[2 * kMostTaps + 1];
  float scaled[2 * kMostTaps + 1];
  for (int k = 0; k <= 2 * rz; ++k) {
    planes_a[k] = s.a + clamped(s.strip.z + k - rz, nz) * plane;
    planes_b[k] = s.b != nullptr ? s.b + (planes_a[k] - s.a) : nullptr;
    scaled[k] = s.scale * s.taps[2][k];
  }
  float* middle = line.row(0, 0);
  roll(
      s.strip, ny, ry,
      [&](std::int64_t y) {
        float* out = ring.row(0, y);
        const std::int64_t at = y * nx;
        if (s.b == nullptr) {
          weighted_sum(
              nx, 2 * rz + 1, s.taps[2], [&](int k) { return planes_a[k] + at; }, out);
          return;
        }
        along_row(
            nx,
            [&](std::int64_t x) {
              Lanes a{}, b{};
              for (int k = 0; k <= 2 * rz; ++k) {
                const float *in = planes_a[k] + at + x, *other = planes_b[k] + at + x;
                a += s.taps[2][k] * load(in) + scaled[k] * load(other);
                b += s.taps[2][k] * load(in + kLanes) + scaled[k] * load(other + kLanes);
              }
              store(a, out + x), store(b, out + x + kLanes);
            },
            [&](std::int64_t x) {
              float sum = 0;
              for (int k = 0; k <= 2 * rz; ++k)
                sum += s.taps[2][k] * planes_a[k][at + x] + scaled[k] * planes_b[k][at + x];
              out[x] = sum;
            });
      },
      [&](std::int64_t y) {
        for (int k = 0; k <= 2 * ry; ++k) rows[k] = ring.row(0, clamped(y + k - ry, ny));
        weighted_sum(
            nx, 2 * ry + 1, s.taps[1], [&](int k) { return rows[k]; }, middle);
        for (int k = 1; k <= rx; ++k) middle[-k] = middle[0], middle[nx - 1 + k] = middle[nx - 1];
        weighted_sum(
            nx, 2 * rx + 1, s.taps[0], [&](int k) { return middle + k - rx; },
            s.out + s.strip.z * plane + y * nx);
      });
}

}  // namespace WARPLOOM_INSTRUCTION_SET
}  // namespace warploom::registration
