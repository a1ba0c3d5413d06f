#pragma once

#include "tile/kernels/pointwise.hpp"

/// Two loops, some references contiguous along one and some along the other: a block turns a tile of them in
/// shared memory.
namespace warploom::tile {

// H200, transpose of fp32, of a copy's bandwidth (4,240 GB/s): 16384 x 16384, then 16381 x 16003.
//   tile of 64, 16 warps                    0.967  0.738
//   stores begin at sectors, tiles overlap  0.957  0.913
//   and loads bring whole lines             0.958  0.935
//   and overlap only if rows need it        0.965  0.924
//   no overlap, one store more a row        0.967  0.770
//   a block marches along the rows          0.939  0.862
// The second with stores at 64 bytes 0.949, 0.898; tiles of 64 x 128 0.956, 0.913; of 32 x 64 0.933, 0.879.
// What matters besides: a thread's loads are all under way before the first one is used; few integer
// operations (indices are a thread's part plus a constant of the step: else 0.798, 0.735); 32 registers, so
// that a multiprocessor has 2048 threads (a loop over a third dimension takes 58: 0.844, without it 0.993).
inline constexpr int kTransposeLanes = 32, kTransposeWarps = 16, kSectorBytes = 32;

/// A reference that neighbouring threads would scatter.
struct Staged {
  Expression element;
  ScalarType type = ScalarType::float32;
  bool read = false, written = false;
};

/// A sector written in parts costs as much as several whole ones, and rows of an array whose length is no
/// multiple of a sector begin anywhere in one. So each row is cut where its own sectors begin: up to `sector`
/// elements after the first that the tile holds.
struct Cut {
  const ThreadLoop* along = nullptr;  ///< the loop along which the array is contiguous; none: not cut
  Expression element = {};
  int sector = 0;  ///< elements
  /// Whether rows are whole sectors, so that it need not be cut: "n % 8 == 0", or 0.
  Expression rows_fit = {};
  std::string reason = {};  ///< why not
  bool always() const { return rows_fit == Expression::integer(0); }
};

/// Loops of a chain whose references are turned, and how.
struct Transpose {
  const ThreadLoop* x = nullptr;  ///< most references are contiguous along it
  const ThreadLoop* y = nullptr;  ///< the staged ones are
  const ThreadLoop* z = nullptr;  ///< may be none
  std::vector<Staged> staged = {};
  int edge = 0;  ///< of a tile
  Cut cut = {};

  bool reads_tiles() const { return any(&Staged::read); }
  /// Tiles are stored last, neighbouring threads along y; else the kernel's last part is along x.
  bool writes_tiles() const { return any(&Staged::written); }
  /// Neighbouring blocks write neighbouring pieces of rows.
  const ThreadLoop& near() const { return writes_tiles() ? *y : *x; }
  const ThreadLoop& far() const { return writes_tiles() ? *x : *y; }
  /// Elements of a tile that a thread has.
  int steps() const { return edge * edge / (kTransposeLanes * kTransposeWarps); }
  /// Blocks along a loop. @param piece  elements of a tile along the loop that is cut which no other tile has
  Expression blocks(const ThreadLoop& loop, const Expression& piece) const;

 private:
  bool any(bool Staged::*what) const;
};
std::optional<Transpose> match_transpose(const KernelRequest& request, const CudaNames& names,
                                         const ParallelChain& chain, const ThreadMapping& mapping);

/// The __global__ function.
std::string transpose_text(const KernelSignature& signature, const ParallelChain& chain,
                           const Transpose& found);

}  // namespace warploom::tile
