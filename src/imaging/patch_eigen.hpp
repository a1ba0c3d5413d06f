#pragma once

/// Eigenvalues of a batch of symmetric matrices, and vectors to their eigenbases and back: of
/// patch_lanes.cpp, for one instruction set. Nothing from the standard library with a body, as there.

#include "imaging/patch_batch.hpp"

namespace warploom::imaging::WARPLOOM_INSTRUCTION_SET {
namespace {

// ---- tridiagonalisation
// ------------------------------------------------------------------------------------

// Rows i (and i + 1): A -= v w^T + w v^T, and q += A u, for columns from `first` to before the diagonal.
template <int kRows, class T>
inline void update_rows(Batch<T>& b, std::int64_t i, std::int64_t first) {
  using V = Vector<T>;
  V *row[kRows], vi[kRows], wi[kRows], ui[kRows], qi[kRows];
  for (int r = 0; r < kRows; ++r) {
    row[r] = b.gram + packed(i + r);
    vi[r] = b.v[i + r], wi[r] = b.w[i + r], ui[r] = b.u[i + r], qi[r] = b.q[i + r];
  }
  for (std::int64_t j = first; j < i; ++j) {
    const V vj = b.v[j], wj = b.w[j], uj = b.u[j];
    V qj = b.q[j];
    for (int r = 0; r < kRows; ++r) {
      const V a = row[r][j] - vi[r] * wj - wi[r] * vj;
      row[r][j] = a;
      qi[r] += a * uj;
      qj += a * ui[r];
    }
    b.q[j] = qj;
  }
  for (int r = 0; r < kRows; ++r)  // the triangle at the diagonal
    for (int s = 0; s <= r; ++s) {
      const V a = row[r][i + s] - vi[r] * wi[s] - wi[r] * vi[s];
      row[r][i + s] = a;
      qi[r] += a * ui[s];
      if (s < r) qi[s] += a * ui[r];
    }
  for (int r = 0; r < kRows; ++r) b.q[i + r] = qi[r];
}

// T is kept from its end to its beginning: the largest elements come first, and QL wants them last.
template <class T>
void tridiagonalise(Batch<T>& b) {
  using V = Vector<T>;
  const std::int64_t n = b.n;
  for (std::int64_t i = 0; i < n; ++i) b.v[i] = b.w[i] = V{};
  for (std::int64_t k = 0; k + 1 < n; ++k) {
    b.diagonal[n - 1 - k] = b.gram[packed(k) + k] - 2 * b.v[k] * b.w[k];
    V rest = {};
    for (std::int64_t i = k + 1; i < n; ++i) {
      const V a = b.gram[packed(i) + k] - b.v[i] * b.w[k] - b.w[i] * b.v[k];
      b.u[i] = a;
      if (i > k + 1) rest += a * a;
    }
    const V first = b.u[k + 1];
    V norm;
    root(rest + first * first, norm);
    const auto reflects = rest > Limits<T>::kTiny;
    const V image = reflects ? (first > 0 ? -norm : norm) : first;
    b.beside[n - 2 - k] = image;
    b.u[k + 1] = first - image;
    const V factor = reflects ? 2 / (rest + b.u[k + 1] * b.u[k + 1]) : V{};
    b.factor[k] = factor;
    for (std::int64_t i = k + 1; i < n; ++i) {
      b.gram[packed(i) + k] = b.u[i];
      b.q[i] = V{};
    }
    std::int64_t i = k + 1;
    for (; i + 1 < n; i += 2) update_rows<2>(b, i, k + 1);
    if (i < n) update_rows<1>(b, i, k + 1);
    V product = {};
    for (i = k + 1; i < n; ++i) product += b.u[i] * b.q[i];
    const V share = factor * (factor * product) / 2;  // factor squared may overflow
    for (i = k + 1; i < n; ++i) {
      b.v[i] = b.u[i];
      b.w[i] = factor * b.q[i] - share * b.u[i];
    }
  }
  b.diagonal[0] = b.gram[packed(n - 1) + n - 1] - 2 * b.v[n - 1] * b.w[n - 1];
  b.beside[n - 1] = V{};
}

template <class T>
inline void reflect(const Batch<T>& b, std::int64_t k, Vector<T>* x) {
  using V = Vector<T>;
  V even = {}, odd = {};
  std::int64_t i = k + 1;
  for (; i + 1 < b.n; i += 2) {
    even += b.gram[packed(i) + k] * x[i];
    odd += b.gram[packed(i + 1) + k] * x[i + 1];
  }
  if (i < b.n) even += b.gram[packed(i) + k] * x[i];
  const V times = b.factor[k] * (even + odd);
  for (i = k + 1; i < b.n; ++i) x[i] -= times * b.gram[packed(i) + k];
}
template <class T>
void reverse(const Batch<T>& b, Vector<T>* x) {
  for (std::int64_t i = 0, j = b.n - 1; i < j; ++i, --j) {
    const Vector<T> first = x[i];
    x[i] = x[j], x[j] = first;
  }
}
template <class T>
void to_tridiagonal_basis(const Batch<T>& b, Vector<T>* x) {
  for (std::int64_t k = 0; k + 1 < b.n; ++k) reflect(b, k, x);
  reverse(b, x);
}
template <class T>
void from_tridiagonal_basis(const Batch<T>& b, Vector<T>* x) {
  reverse(b, x);
  for (std::int64_t k = b.n - 1; k-- > 0;) reflect(b, k, x);
}

// ---- eigenvalues
// -------------------------------------------------------------------------------------------

// The eigenvalue of the 2 x 2 matrix at l that is nearer to its first element.
template <class T>
inline Vector<T> shift(const Batch<T>& b, std::int64_t l) {
  using V = Vector<T>;
  const V here = b.diagonal[l], e = b.beside[l];
  const V g = (b.diagonal[l + 1] - here) / (2 * e);
  V r;
  root(g * g + 1, r);
  return e == 0 ? here : here - e / (g + (g < 0 ? -r : r));
}

// Beside its neighbours, or far below what rounding did to a matrix of trace 1 before.
template <class T>
inline auto negligible(const Batch<T>& b, std::int64_t i) {
  return magnitude(b.beside[i]) <=
         Limits<T>::kEpsilon * (magnitude(b.diagonal[i]) + magnitude(b.diagonal[i + 1])) + Limits<T>::kFloor;
}

// One step of QL from the end up to l, in all lanes at once. A block that ends in a lane, at an element that
// is negligible there, is begun anew above it with the same shift: a step in the lower block is not needed
// then, but does no harm.
template <class T>
void sweep(Batch<T>& b, std::int64_t l, const Vector<T>& sigma, Vector<T>* rotations) {
  using V = Vector<T>;
  V s = {}, c = {}, p = {}, g = {}, next = b.diagonal[b.n - 1], coupling = {};
  for (std::int64_t i = b.n - 2; i >= l; --i) {
    const V e = negligible(b, i) ? V{} : b.beside[i];
    const auto begins = coupling == 0;
    s = begins ? V{} + 1 : s;
    c = begins ? V{} + 1 : c;
    p = begins ? V{} : p;
    g = begins ? next - sigma : g;
    const V f = s * e, h = c * e;
    const V square = f * f + g * g;
    V r;
    root(square, r);
    const V inverse = 1 / r;
    const auto idle = (f == 0) | (square <= Limits<T>::kTiny);  // what is so small is no part of a trace of 1
    s = idle ? V{} : f * inverse;
    c = idle ? V{} + 1 : g * inverse;
    b.beside[i + 1] = begins ? V{} : idle ? g : r;
    const V above = b.diagonal[i], rest = next - p;
    const V turn = (above - rest) * s + 2 * c * h;
    p = s * turn;
    b.diagonal[i + 1] = rest + p;
    g = c * turn - h;
    next = above;
    coupling = e;
    rotations[0] = c;
    rotations[1] = s;
    rotations += 2;
  }
  // A block that reaches l ends there; one that began at l has no element above the diagonal.
  b.diagonal[l] = coupling == 0 ? next : next - p;
  b.beside[l] = coupling == 0 ? V{} : g;
}

template <class T>
bool find_eigenvalues(Batch<T>& b) {
  using V = Vector<T>;
  V* rotations = b.rotations;
  const V* const last = b.rotations + 2 * (kMostRotations - 1) * b.n * b.n;
  b.sweep_count = 0;
  for (std::int64_t l = 0; l + 1 < b.n; ++l)
    for (;;) {
      const auto done = negligible(b, l);
      if (!any(done == 0)) break;
      if (rotations > last || b.sweep_count == kMostSweeps * b.n) return false;
      // Lanes that are done here work on the next one already.
      b.beside[l] = done ? V{} : b.beside[l];
      V sigma = shift(b, l);
      if (l + 2 < b.n) sigma = done ? shift(b, l + 1) : sigma;
      sweep(b, l, sigma, rotations);
      rotations += 2 * (b.n - 1 - l);
      b.sweeps[b.sweep_count++] = static_cast<int>(l);
    }
  return true;
}

template <class T>
void to_eigenbasis(const Batch<T>& b, Vector<T>* x) {
  using V = Vector<T>;
  const V* rotation = b.rotations;
  for (int k = 0; k < b.sweep_count; ++k) {
    V below = x[b.n - 1];
    for (std::int64_t i = b.n - 2; i >= b.sweeps[k]; --i, rotation += 2) {
      const V c = rotation[0], s = rotation[1], above = x[i];
      x[i + 1] = s * above + c * below;
      below = c * above - s * below;
    }
    x[b.sweeps[k]] = below;
  }
}
template <class T>
void from_eigenbasis(const Batch<T>& b, Vector<T>* x) {
  using V = Vector<T>;
  const V* rotation = b.rotations;
  for (int k = 0; k < b.sweep_count; ++k) rotation += 2 * (b.n - 1 - b.sweeps[k]);
  for (int k = b.sweep_count; k-- > 0;) {
    V above = x[b.sweeps[k]];
    for (std::int64_t i = b.sweeps[k]; i < b.n - 1; ++i) {
      rotation -= 2;
      const V c = rotation[0], s = rotation[1], below = x[i + 1];
      x[i] = c * above + s * below;
      above = c * below - s * above;
    }
    x[b.n - 1] = above;
  }
}

}  // namespace
}  // namespace warploom::imaging::WARPLOOM_INSTRUCTION_SET
