#include "imaging/patch_lanes.hpp"

#if defined(__SSE2__)
#include <immintrin.h>
#endif

// Every array holds a vector where the formulas have a number, and its lanes are as many patches. There is no
// sum over lanes; but all take as many steps of QL as the slowest, so what patches lie beside a patch changes
// its result by rounding, though never the number of threads.
//
//   G = X X^T             patch by patch, from sums over planes that neighbours along x share
//   Q T Q^T = G           Householder's tridiagonalisation (Golub & Van Loan, 8.3.1), the rank-2 update of
//   one
//                         step and the product with the next step's vector in one pass over the matrix
//   Z D Z^T = T           implicit QL with Wilkinson's shift (Wilkinson & Reinsch, II/3), rotations recorded
//   y = Q Z f(D) Z^T Q^T x   for a column x, f being 1 on what is kept and 0 on noise
//
// Eigenvectors are never formed for centre output: one column costs O(n^2).
//
// Nothing from the standard library with a body: one copy of it is linked, and it could be the one that was
// compiled for a processor that is not there.
namespace warploom::imaging::WARPLOOM_INSTRUCTION_SET {
namespace {

#if defined(__AVX512F__)
constexpr int kBytes = 64, kTile = 4;
#elif defined(__AVX2__)
constexpr int kBytes = 32, kTile = 2;
#else
constexpr int kBytes = 16, kTile = 2;
#endif

template <class T>
struct Lanes {
  typedef T V __attribute__((vector_size(kBytes)));
  static constexpr int kCount = kBytes / static_cast<int>(sizeof(T));
};
template <class T>
using Vector = typename Lanes<T>::V;

template <class T>
struct Limits;
template <>
struct Limits<float> {
  static constexpr float kEpsilon = 5.9604645e-8F, kFloor = 1e-11F, kTiny = 1e-30F, kHuge = 1e30F;
};
template <>
struct Limits<double> {
  static constexpr double kEpsilon = 1.1102230246251565e-16, kFloor = 1e-20, kTiny = 1e-280, kHuge = 1e280;
};

template <class T>
inline Vector<T> load(const T* from) {
  Vector<T> v;
  __builtin_memcpy(&v, from, sizeof v);
  return v;
}

inline void root(const Vector<float>& a, Vector<float>& out) {
#if defined(__AVX512F__)
  out = (Vector<float>)_mm512_maskz_sqrt_ps(0xFFFF, (__m512)a);  // the one without a mask warns in GCC 12
#elif defined(__AVX2__)
  out = (Vector<float>)_mm256_sqrt_ps((__m256)a);
#else
  for (int k = 0; k < Lanes<float>::kCount; ++k) out[k] = __builtin_sqrtf(a[k]);
#endif
}
inline void root(const Vector<double>& a, Vector<double>& out) {
#if defined(__AVX512F__)
  out = (Vector<double>)_mm512_maskz_sqrt_pd(0xFF, (__m512d)a);
#elif defined(__AVX2__)
  out = (Vector<double>)_mm256_sqrt_pd((__m256d)a);
#else
  for (int k = 0; k < Lanes<double>::kCount; ++k) out[k] = __builtin_sqrt(a[k]);
#endif
}

template <class V>
inline V magnitude(const V& a) {
  return a < 0 ? -a : a;
}

template <class Mask>
inline bool any(const Mask& mask) {
  bool set = false;
  for (unsigned k = 0; k < sizeof mask / sizeof mask[0]; ++k) set |= mask[k] != 0;
  return set;
}

inline std::int64_t packed(std::int64_t row) { return row * (row + 1) / 2; }
inline std::int64_t round_up(std::int64_t value, std::int64_t step) {
  return (value + step - 1) / step * step;
}

// QL needs about 1.3 n^2 rotations.
constexpr std::int64_t kMostRotations = 4;  // times n^2
constexpr std::int64_t kMostSweeps = 16;    // times n

// The arrays of one batch, in the workspace. Without one it only measures.
template <class T>
struct Batch {
  using V = Vector<T>;
  static constexpr int kLanes = Lanes<T>::kCount;

  explicit Batch(const PatchProblem& p, std::byte* workspace)
      : problem(p),
        n(p.channels),
        rows(p.extent[1] * p.extent[2]),
        width(round_up(kLanes + p.extent[0] - 1, kLanes)),
        at(workspace) {
    const std::int64_t most_kept = (n + 1) / 2;
    strip = take<T>(round_up(n, kTile) * rows * width);
    gram = take<V>(packed(n));
    V** const vectors[] = {&diagonal, &beside, &factor, &u, &v, &w, &q, &x, &sorted};
    for (V** vector : vectors) *vector = take<V>(n + 1);
    rotations = take<V>(2 * kMostRotations * n * n);
    sweeps = take<int>(kMostSweeps * n);
    basis = take<V>(most_kept * n);
    partial = take<T>(kTile * kTile * width);
    used = static_cast<std::size_t>(at - workspace);
  }

  template <class Element>
  Element* take(std::int64_t count) {
    auto* const begin = reinterpret_cast<Element*>(at);
    at += round_up(count * static_cast<std::int64_t>(sizeof(Element)), 64);
    return begin;
  }

  const PatchProblem& problem;
  std::int64_t n, rows, width;
  std::byte* at;
  T *strip, *partial;
  V* gram;  // rows of the lower triangle; then Householder's vectors in its columns below the diagonal
  V *diagonal, *beside, *factor, *u, *v, *w, *q, *x, *sorted;
  V* rotations;  // [cosine, sine] of each
  int* sweeps;   // where each ends
  V* basis;      // [component, channel]
  int sweep_count = 0;
  std::size_t used;
};

// ---- the matrices
// ------------------------------------------------------------------------------------------

// Beyond the row it begins anew: lanes there are nobody's, but a constant would leave them matrices of low
// rank, which take longest.
template <class T>
void gather(Batch<T>& b, const PatchTask& task) {
  const PatchProblem& p = b.problem;
  const std::int64_t there = p.nx - task.x < b.width ? p.nx - task.x : b.width;
  for (std::int64_t c = 0; c < b.n; ++c)
    for (int dz = 0; dz < p.extent[2]; ++dz)
      for (int dy = 0; dy < p.extent[1]; ++dy) {
        const float* from =
            p.series + c * p.channel + (task.z + dz) * p.plane + (task.y + dy) * p.nx + task.x;
        T* to = b.strip + (c * b.rows + dz * p.extent[1] + dy) * b.width;
        for (std::int64_t k = 0; k < there; ++k) to[k] = static_cast<T>(from[k] * p.scale);
        for (std::int64_t k = there; k < b.width; ++k) to[k] = to[k - there];
      }
  const std::int64_t padded = round_up(b.n, kTile);
  for (std::int64_t k = b.n * b.rows * b.width; k < padded * b.rows * b.width; ++k) b.strip[k] = 0;
}

// A voxel's values, `stride` apart, by a reflector of the series.
template <class T>
inline void turn(const PatchProblem& p, int reflector, std::int64_t n, T* values, std::int64_t stride) {
  using V = Vector<T>;
  const float* const u = p.reflectors + reflector * n;
  V part[4] = {};  // shorter sums round less
  for (std::int64_t c = 0; c < n; ++c) part[c % 4] += load(values + c * stride) * static_cast<T>(u[c]);
  const V sum = (part[0] + part[1]) + (part[2] + part[3]);
  const V times = sum * static_cast<T>(p.reflector_factors[reflector]);
  for (std::int64_t c = 0; c < n; ++c) {
    const V turned = load(values + c * stride) - times * static_cast<T>(u[c]);
    __builtin_memcpy(values + c * stride, &turned, sizeof turned);
  }
}
template <class T>
void turn_strip(Batch<T>& b) {
  const std::int64_t stride = b.rows * b.width;
  for (std::int64_t at = 0; at < stride; at += Batch<T>::kLanes)
    for (int k = 0; k < b.problem.reflector_count; ++k) turn(b.problem, k, b.n, b.strip + at, stride);
}
// Batch::x.
template <class T>
void turn_back(Batch<T>& b) {
  for (int k = b.problem.reflector_count; k-- > 0;)
    turn(b.problem, k, b.n, reinterpret_cast<T*>(b.x), std::int64_t{Batch<T>::kLanes});
}

// The sums over y and z of products of kTile by kTile channels, for every x of the strip.
template <class T>
void multiply_tile(Batch<T>& b, std::int64_t i0, std::int64_t j0) {
  using V = Vector<T>;
  const std::int64_t stride = b.rows * b.width;
  for (std::int64_t at = 0; at < b.width; at += Lanes<T>::kCount) {
    V sum[kTile][kTile] = {};
    const T *first = b.strip + i0 * stride + at, *second = b.strip + j0 * stride + at;
    for (std::int64_t row = 0; row < b.rows; ++row, first += b.width, second += b.width) {
      V right[kTile];
      for (int j = 0; j < kTile; ++j) right[j] = load(second + j * stride);
      for (int i = 0; i < kTile; ++i) {
        const V left = load(first + i * stride);
        for (int j = 0; j < kTile; ++j) sum[i][j] += left * right[j];
      }
    }
    for (int i = 0; i < kTile; ++i)
      for (int j = 0; j < kTile; ++j)
        __builtin_memcpy(b.partial + (i * kTile + j) * b.width + at, &sum[i][j], sizeof(V));
  }
}

template <class T>
void multiply(Batch<T>& b) {
  using V = Vector<T>;
  const int extent = b.problem.extent[0];
  for (std::int64_t i0 = 0; i0 < b.n; i0 += kTile)
    for (std::int64_t j0 = 0; j0 <= i0; j0 += kTile) {
      multiply_tile(b, i0, j0);
      for (std::int64_t i = i0; i < i0 + kTile && i < b.n; ++i)
        for (std::int64_t j = j0; j < j0 + kTile && j <= i; ++j) {
          const T* sums = b.partial + ((i - i0) * kTile + j - j0) * b.width;
          V sum = load(sums);
          for (int dx = 1; dx < extent; ++dx) sum += load(sums + dx);
          b.gram[packed(i) + j] = sum;
        }
    }
}

// Of complex data H = A + i B; the matrix (A -B; B A) has the same eigenvalues, each twice.
template <class T>
void embed_hermitian(Batch<T>& b) {
  using V = Vector<T>;
  const std::int64_t half = b.n / 2;
  for (std::int64_t i = 0; i < half; ++i)
    for (std::int64_t j = 0; j <= i; ++j) {
      V& real = b.gram[packed(i) + j];
      V& both = b.gram[packed(half + i) + half + j];
      V& below = b.gram[packed(half + i) + j];
      V& above = b.gram[packed(half + j) + i];
      const V a = real + both, imaginary = below - above;
      real = both = a;
      below = imaginary;
      above = -imaginary;
    }
}

// Divides by the trace, so that no square underflows later. What is not finite, in a lane that nobody wants,
// would not converge: it becomes 0.
template <class T>
Vector<T> normalise(Batch<T>& b) {
  using V = Vector<T>;
  V trace = {};
  for (std::int64_t i = 0; i < b.n; ++i) trace += b.gram[packed(i) + i];
  const auto usable = trace > 0 && trace < Limits<T>::kHuge;
  const V inverse = usable ? 1 / trace : V{};
  for (std::int64_t k = 0; k < packed(b.n); ++k) b.gram[k] = usable ? b.gram[k] * inverse : V{};
  return trace;
}

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

// ---- what is noise
// -----------------------------------------------------------------------------------------

template <class T>
void sort(Batch<T>& b) {
  using V = Vector<T>;
  for (std::int64_t i = 0; i < b.n; ++i) {
    V value = b.diagonal[i];
    for (std::int64_t j = 0; j < i; ++j) {
      const V there = b.sorted[j];
      b.sorted[j] = value < there ? value : there;
      value = value < there ? there : value;
    }
    b.sorted[i] = value;
  }
}

// Of a lane: eigenvalues up to this one are noise; below all if none is.
template <class T>
T judge(const Batch<T>& b, const PatchTask& task, const Vector<T>& trace, int lane) {
  const PatchProblem& p = b.problem;
  const int pairs = p.complex ? 2 : 1, skipped = static_cast<int>(b.n) / pairs - p.spectrum;
  const double scale = static_cast<double>(trace[lane]) * p.inverse_larger / pairs;
  const auto eigenvalue = [&](int k) {  // from the smallest; of a pair the sum
    double sum = 0;
    for (int i = 0; i < pairs; ++i) sum += static_cast<double>(b.sorted[(skipped + k) * pairs + i][lane]);
    return sum > 0 ? sum * scale : 0;
  };
  double sum = 0, variance = 0;
  int noise = 0;
  const double least = eigenvalue(0);
  for (int k = 0; k < p.spectrum; ++k) {
    const double value = eigenvalue(k);
    sum += value;
    if ((value - least) * p.inverse_width[k] * (k + 1) < sum) {
      variance = sum / (k + 1);
      noise = k + 1;
    }
  }
  task.variance[lane] = variance;
  task.rank[lane] = p.spectrum - noise;
  return noise == 0 ? T{-1} : b.sorted[(skipped + noise) * pairs - 1][lane];
}

// ---- the results
// -------------------------------------------------------------------------------------------

template <class T>
void denoise_column(Batch<T>& b, const PatchTask& task, int number, const Vector<T>& noise) {
  using V = Vector<T>;
  const PatchColumn column = task.columns[number];
  V* const x = b.x;
  for (std::int64_t c = 0; c < b.n; ++c)
    x[c] = load(b.strip + (c * b.rows + column.row) * b.width + column.x);
  to_tridiagonal_basis(b, x);
  to_eigenbasis(b, x);
  for (std::int64_t c = 0; c < b.n; ++c) x[c] = b.diagonal[c] > noise ? x[c] : V{};
  from_eigenbasis(b, x);
  from_tridiagonal_basis(b, x);
  turn_back(b);
  float* out = task.denoised + static_cast<std::int64_t>(number) * b.n * Batch<T>::kLanes;
  const float unit = 1 / b.problem.scale;
  for (std::int64_t c = 0; c < b.n; ++c)
    for (int k = 0; k < Batch<T>::kLanes; ++k) *out++ = static_cast<float>(x[c][k]) * unit;
}

// Adds all columns to the strip's sum: U U^T X where few components are kept, else X - U U^T X with those of
// the noise.
template <class T>
void add_columns(Batch<T>& b, const PatchTask& task, const Vector<T>& noise) {
  using V = Vector<T>;
  constexpr int kLanes = Batch<T>::kLanes;
  V whole = {}, sign = {};
  std::int64_t most = 0;
  int next[kLanes], last_of[kLanes];  // components of a lane: eigenvalues in their order, of one side
  bool signal[kLanes];
  for (int k = 0; k < kLanes; ++k) {
    std::int64_t kept = 0;
    for (std::int64_t c = 0; c < b.n; ++c) kept += b.diagonal[c][k] > noise[k];
    signal[k] = kept <= b.n / 2;
    const std::int64_t count = task.wanted[k] == 0 ? 0 : signal[k] ? kept : b.n - kept;
    whole[k] = task.wanted[k] != 0 && !signal[k] ? T{1} : T{0};
    sign[k] = signal[k] ? T{1} : T{-1};
    most = count > most ? count : most;
    next[k] = task.wanted[k] == 0 ? static_cast<int>(b.n) : 0;
    last_of[k] = static_cast<int>(b.n);
  }
  for (std::int64_t component = 0; component < most; ++component) {
    V* const vector = b.basis + component * b.n;
    for (std::int64_t c = 0; c < b.n; ++c) vector[c] = V{};
    for (int k = 0; k < kLanes; ++k) {
      while (next[k] < last_of[k] && (b.diagonal[next[k]][k] > noise[k]) != signal[k]) ++next[k];
      if (next[k] < last_of[k]) vector[next[k]++][k] = T{1};
    }
    from_eigenbasis(b, vector);
    from_tridiagonal_basis(b, vector);
  }
  const std::int64_t stride = b.rows * b.width;
  const float unit = 1 / b.problem.scale;
  for (std::int64_t row = 0; row < b.rows; ++row)
    for (int dx = 0; dx < b.problem.extent[0]; ++dx) {
      const T* const values = b.strip + row * b.width + dx;
      for (std::int64_t c = 0; c < b.n; ++c) b.x[c] = whole * load(values + c * stride);
      std::int64_t component = 0;
      const auto project = [&]<int kCount>() {
        const V* const vectors = b.basis + component * b.n;
        V share[kCount] = {};
        for (std::int64_t c = 0; c < b.n; ++c) {
          const V value = load(values + c * stride);
          for (int m = 0; m < kCount; ++m) share[m] += vectors[m * b.n + c] * value;
        }
        for (int m = 0; m < kCount; ++m) share[m] *= sign;
        for (std::int64_t c = 0; c < b.n; ++c) {
          V sum = b.x[c];
          for (int m = 0; m < kCount; ++m) sum += share[m] * vectors[m * b.n + c];
          b.x[c] = sum;
        }
        component += kCount;
      };
      while (component + 4 <= most) project.template operator()<4>();
      while (component < most) project.template operator()<1>();
      turn_back(b);
      float* sum = task.sum + row * b.width + dx;
      for (std::int64_t c = 0; c < b.n; ++c, sum += stride)
        for (int k = 0; k < kLanes; ++k) sum[k] += static_cast<float>(b.x[c][k]) * unit;
    }
}

template <class T>
bool solve(const PatchProblem& problem, const PatchTask& task, std::byte* workspace) {
  Batch<T> b(problem, workspace);
  gather(b, task);
  turn_strip(b);
  multiply(b);
  if (problem.complex) embed_hermitian(b);
  const Vector<T> trace = normalise(b);
  tridiagonalise(b);
  if (!find_eigenvalues(b)) return false;
  sort(b);
  Vector<T> noise;
  for (int k = 0; k < Batch<T>::kLanes; ++k) noise[k] = judge(b, task, trace, k);
  if (task.denoised != nullptr)
    for (int column = 0; column < task.column_count; ++column) denoise_column(b, task, column, noise);
  if (task.sum != nullptr) add_columns(b, task, noise);
  return true;
}

template <class T>
PatchCode code(const PatchProblem& problem) {
  const Batch<T> measured(problem, nullptr);
  return {Batch<T>::kLanes, static_cast<int>(measured.width), measured.used, &solve<T>};
}

}  // namespace

PatchCode patch_code(const PatchProblem& problem, bool double_precision) {
  return double_precision ? code<double>(problem) : code<float>(problem);
}

}  // namespace warploom::imaging::WARPLOOM_INSTRUCTION_SET
