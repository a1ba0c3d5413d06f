#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace warploom {

/// Processes that solve one problem together, each with a part of it in its own memory, as of `mpirun`. A
/// call that is given one is made by all of them, with the same options; each has one with its own rank. The
/// tool's speaks MPI (--mpi); a program of your own brings a few lines over its communicator.
///
/// All ranks call the same functions in the same order. A function that cannot go on throws; then its process
/// is to end, and the others with it, for they wait.
class Ranks {
 public:
  virtual ~Ranks() = default;

  virtual std::size_t rank() const = 0;   ///< of this process, from 0
  virtual std::size_t count() const = 0;  ///< of all
  /// Sends to[r] to rank r, for each. @return what each sent here, by rank
  virtual std::vector<std::string> exchange(std::vector<std::string> to) = 0;
  /// What `root` has there comes to all.
  virtual void broadcast(std::size_t root, std::span<std::byte> bytes) = 0;
};

}  // namespace warploom
