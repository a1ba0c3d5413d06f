// eigen() of eigen.hpp in lanes: each takes the operations of one tensor in their order, and what a lane need
// not do it throws away. Multiplications and additions stay apart (CMakeLists.txt), as they are there.

#include "imaging/eigen_lanes.hpp"

// Nothing from the standard library with a body: one copy of it is linked, and it could be the one that was
// compiled for a processor that is not there.
namespace warploom::imaging::WARPLOOM_INSTRUCTION_SET {
namespace {

constexpr std::size_t kCount = EigenLanes::kCount;

/// rotate_axes() of eigen.hpp; pp to qr are elements of the tensor.
template <int p, int q, int pp, int pq, int qq, int pr, int qr>
void rotate(EigenLanes& lanes, const double* active) {
  double(&a)[6][kCount] = lanes.tensor;
  double(&v)[3][3][kCount] = lanes.vectors;
#pragma omp simd
  for (std::size_t i = 0; i < kCount; ++i) {
    const double off = a[pq][i], app = a[pp][i], aqq = a[qq][i];
    const bool turns = (active[i] != 0) & (off != 0);
    const double theta = (aqq - app) / (2 * off);
    const double t =
        __builtin_copysign(1 / (__builtin_fabs(theta) + __builtin_sqrt(theta * theta + 1)), theta);
    const double c = 1 / __builtin_sqrt(t * t + 1), s = t * c;
    a[pp][i] = turns ? app - t * off : app;
    a[qq][i] = turns ? aqq + t * off : aqq;
    a[pq][i] = turns ? 0 : off;
    const double rp = a[pr][i], rq = a[qr][i];
    a[pr][i] = turns ? c * rp - s * rq : rp;
    a[qr][i] = turns ? s * rp + c * rq : rq;
    for (int k = 0; k < 3; ++k) {
      const double vp = v[p][k][i], vq = v[q][k][i];
      v[p][k][i] = turns ? c * vp - s * vq : vp;
      v[q][k][i] = turns ? s * vp + c * vq : vq;
    }
  }
}

template <int j, int k>
void order(EigenLanes& lanes) {
#pragma omp simd
  for (std::size_t i = 0; i < kCount; ++i) {
    const double first = lanes.values[j][i], second = lanes.values[k][i];
    const bool stay = first >= second;
    lanes.values[j][i] = stay ? first : second;
    lanes.values[k][i] = stay ? second : first;
    for (int c = 0; c < 3; ++c) {
      const double of_first = lanes.vectors[j][c][i], of_second = lanes.vectors[k][c][i];
      lanes.vectors[j][c][i] = stay ? of_first : of_second;
      lanes.vectors[k][c][i] = stay ? of_second : of_first;
    }
  }
}

void decompose(EigenLanes& lanes) {
  constexpr int kSweeps = 10;
  constexpr double kOffDiagonal = 1e-40;
  double(&a)[6][kCount] = lanes.tensor;
  double stop[kCount], active[kCount];
#pragma omp simd
  for (std::size_t i = 0; i < kCount; ++i) {
    const double xx = a[0][i], xy = a[1][i], xz = a[2][i], yy = a[3][i], yz = a[4][i], zz = a[5][i];
    stop[i] = kOffDiagonal * (xx * xx + yy * yy + zz * zz + 2 * (xy * xy + xz * xz + yz * yz));
    active[i] = 1;
    for (int k = 0; k < 9; ++k) lanes.vectors[k / 3][k % 3][i] = k % 4 == 0 ? 1 : 0;
  }
  for (int sweep = 0; sweep < kSweeps; ++sweep) {
    double left = 0;
#pragma omp simd reduction(+ : left)
    for (std::size_t i = 0; i < kCount; ++i) {
      const double off = a[1][i] * a[1][i] + a[2][i] * a[2][i] + a[4][i] * a[4][i];
      active[i] = off <= stop[i] ? 0 : active[i];
      left += active[i];
    }
    if (left == 0) break;
    rotate<0, 1, 0, 1, 3, 2, 4>(lanes, active);
    rotate<0, 2, 0, 2, 5, 1, 4>(lanes, active);
    rotate<1, 2, 3, 4, 5, 1, 2>(lanes, active);
  }
  for (int k = 0; k < 3; ++k)
    for (std::size_t i = 0; i < kCount; ++i) lanes.values[k][i] = a[k == 0 ? 0 : 2 * k + 1][i];
  order<0, 1>(lanes);
  order<1, 2>(lanes);
  order<0, 1>(lanes);
  for (int k = 0; k < 3; ++k) {
    double(&v)[3][kCount] = lanes.vectors[k];
#pragma omp simd
    for (std::size_t i = 0; i < kCount; ++i) {
      double largest = v[0][i];
      largest = __builtin_fabs(largest) < __builtin_fabs(v[1][i]) ? v[1][i] : largest;
      largest = __builtin_fabs(largest) < __builtin_fabs(v[2][i]) ? v[2][i] : largest;
      for (int c = 0; c < 3; ++c) v[c][i] = largest < 0 ? -v[c][i] : v[c][i];
    }
  }
}

}  // namespace

extern const EigenLoops eigen_loops;
const EigenLoops eigen_loops = {decompose};

}  // namespace warploom::imaging::WARPLOOM_INSTRUCTION_SET
