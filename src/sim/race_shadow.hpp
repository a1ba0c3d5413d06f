#pragma once

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <vector>

#include "sim/race_clocks.hpp"
#include "sim/step.hpp"

namespace warploom::sim {

/// Who accessed: the number of an access instruction (races.cpp) and, in the low bits, the thread in its
/// block.
using Who = std::uint32_t;
inline constexpr unsigned kThreadBits = 10;
inline constexpr Who kThreadMask = (1u << kThreadBits) - 1;
inline constexpr Who kWarpMask = kThreadMask & ~(kLanes - 1);

struct Seen {
  Time time = 0;
  Who who = 0;
};

/// Reads of a cell by lanes of one warp at one time.
struct WarpReads {
  std::uint64_t block = 0;
  Seen seen;  ///< by the warp's lane 0
  Mask lanes = 0;
};

/// Whose accesses a region of memory sees, and how much of its readers must be kept.
enum class Regime : std::uint8_t {
  /// One block's shared memory, ordered by barriers of all threads and of whole warps: of the readers since
  /// the last barrier two of different warps suffice, for whoever writes next races with one of them.
  simple,
  /// One block's shared memory, where some threads may be ordered and others not: all readers are kept.
  exact,
  /// Global memory, one block after another, none of which is ordered with the next: as `simple`, and once a
  /// block has read, reads by later blocks do not matter.
  launch,
  launch_exact,
  /// Global memory of blocks in flight together: as `exact`.
  interleaved,
};
constexpr bool keeps_all(Regime r) { return r != Regime::simple && r != Regime::launch; }

/// The accesses of one strength, weak or strong, to each cell of a region.
///
/// A cell keeps the last write, two reads, and where that is not enough a list of reads. Each is a row of its
/// own, so that one warp's access to neighbouring cells is vector code. A write need not clear the reads:
/// what is ordered after the write is ordered after them too.
class Layer {
 public:
  enum Row : unsigned { write_time, writer, read_time, reader, read_time_2, reader_2, list, rows };

  explicit Layer(std::size_t cells);
  std::size_t cells() const { return cells_; }

  Time* times(Row row) const { return reinterpret_cast<Time*>(words_.get()) + row * cells_; }
  Who* whos(Row row) const { return words_.get() + row * cells_; }
  Seen seen(Row time, std::size_t cell) const {
    return {times(time)[cell], whos(static_cast<Row>(time + 1))[cell]};
  }
  void set(Row time, std::size_t cell, Seen seen) const {
    times(time)[cell] = seen.time;
    whos(static_cast<Row>(time + 1))[cell] = seen.who;
  }
  bool read(std::size_t cell) const { return times(read_time)[cell] != 0 || whos(list)[cell] != 0; }
  bool written(std::size_t cell) const { return times(write_time)[cell] != 0; }

  /// The cell's list of reads; nullptr: it has none.
  std::vector<WarpReads>* reads(std::size_t cell) {
    const std::uint32_t index = whos(list)[cell];
    return index == 0 ? nullptr : &lists_[index - 1].second;
  }
  std::vector<WarpReads>& make_reads(std::size_t cell);
  void drop_lists();

 private:
  struct Free {
    void operator()(std::uint32_t* p) const { std::free(p); }
  };
  std::size_t cells_;
  std::unique_ptr<std::uint32_t[], Free> words_;
  std::vector<std::pair<std::size_t, std::vector<WarpReads>>> lists_;  ///< with their cells
};

struct Region {
  explicit Region(std::size_t cells) : weak(cells) {}
  Layer weak;
  std::unique_ptr<Layer> strong;  ///< null until the first strong access
};

/// What a warp's threads know at once.
struct Present {
  Time first = 0, now = 0;  ///< moments in between are their own block's
  Time floor = 0;           ///< of the block
  Time warp_floor = 0;      ///< of the warp; at least `floor`
};

/// Neighbouring cells that lanes of one warp access in one instruction.
struct Run {
  std::size_t cell = 0;
  std::uint32_t cells = 0;
  Who who = 0;         ///< of the first cell
  unsigned shift = 0;  ///< cell c belongs to lane c >> shift of the run
};

/// Notes weak reads or writes, if all that is in the cells comes before them by what Present says alone.
/// Otherwise false, and nothing has changed.
bool note_reads(Regime regime, const Region& region, const Run& run, const Present& present);
bool note_writes(Regime regime, const Region& region, const Run& run, const Present& present);

}  // namespace warploom::sim
