#include "imaging/patch_lanes.hpp"

#include "imaging/patch_batch.hpp"
#include "imaging/patch_eigen.hpp"

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
  V even = {}, odd = {};
  std::int64_t c = 0;
  for (; c + 1 < n; c += 2) {
    even += load(values + c * stride) * static_cast<T>(u[c]);
    odd += load(values + (c + 1) * stride) * static_cast<T>(u[c + 1]);
  }
  if (c < n) even += load(values + c * stride) * static_cast<T>(u[c]);
  const V sum = even + odd;
  const V times = sum * static_cast<T>(p.reflector_factors[reflector]);
  for (c = 0; c < n; ++c) {
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
