#pragma once

#include "tile/kernels/stencil_steps.hpp"

/// Which rows of which arrays a warp keeps while it walks down a tile and takes several steps on the way.
namespace warploom::tile {

/// Rows of an array as one statement of a step leaves them, or as memory has them. Row 0 is the newest.
struct StreamedLine {
  std::string array;
  int writer = -1;           ///< the statement; -1: no step writes the array
  int rows = 1;              ///< that are kept
  int left = 0, right = 0;   ///< columns of the lanes beside that are kept with a row
  int oldest_beside = 0;     ///< the oldest row whose columns beside are read
  bool within_step = false;  ///< columns beside are read by statements of the same step, too
  /// What steps begin with: absent where another statement leaves the array's last values of a step.
  enum class Source {
    none,
    memory,
    border,  ///< where the loops write, they do so before anybody reads: only what they leave out is loaded
  } source = Source::none;
  int ahead = 0;  ///< such a row is loaded so many rows before the newest of the arrays that steps begin with
};

/// An assignment of a step. In a step it is so many rows behind the ones that the step begins with.
struct StreamedStatement {
  const StencilStage* stage = nullptr;
  const Node* assignment = nullptr;
  int line = 0;  ///< that it writes
  int lag = 0;
};

/// A row of a line, as a statement sees it.
struct StreamedRow {
  int line = 0;
  bool this_step = false;  ///< as it is after this step's writer, not the one's of the step before
  int age = 0;             ///< 0: the newest; of a line that nobody writes: in the first step
};

struct StreamedTiles {
  const StencilSteps* found = nullptr;
  std::vector<StreamedStatement> statements;  ///< of a step
  std::vector<StreamedLine> lines;
  int lag = 0;                                ///< of a step's end behind its beginning
  int up = 0, down = 0, left = 0, right = 0;  ///< how far a step reaches
  int steps = 0;                              ///< a launch
  int columns = 2;                            ///< a lane
  int elements = 0;                           ///< of lines, a lane

  /// Lanes whose columns are wrong after the steps of a launch.
  int halo_lanes(int reach) const { return (steps * reach + columns - 1) / columns; }
  int useful_columns() const { return (32 - halo_lanes(left) - halo_lanes(right)) * columns; }
  const StreamedLine& line_of(const std::string& array) const;  ///< its last one of a step
  /// Of an element that a statement names, so many rows further down.
  StreamedRow row(const std::string& array, int statement, int further) const;
};

/// Nothing where rows and columns of neighbours do not fit into the registers of a warp.
std::optional<StreamedTiles> plan_streamed_tiles(const CudaNames& names, const StencilSteps& found);

/// Subscripts of an element, less those of the iteration: rows and columns.
std::array<int, 2> apart(const Expression& element, const StencilStage& stage);

}  // namespace warploom::tile
