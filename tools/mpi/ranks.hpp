#pragma once

#include <memory>

#include "cli/command.hpp"
#include "warploom/core/ranks.hpp"

namespace warploom::tool {

/// Declares --mpi.
void add_mpi(Command& command, bool& mpi);

/// The processes that mpirun started beside this one, for one run of a verb. Where a run fails it is not
/// ended, and the process's exit ends the others: mpirun sees to that.
class MpiRun {
 public:
  /// @param asked  by --mpi; else this process is alone
  /// @throws BadInput (built without MPI)
  explicit MpiRun(bool asked);

  Ranks* ranks() const { return ranks_.get(); }  ///< null: alone
  /// Whether this one reads to the user and writes files.
  bool leads() const { return ranks_ == nullptr || ranks_->rank() == 0; }
  /// When all is done.
  void end();

 private:
  std::shared_ptr<Ranks> ranks_;
};

}  // namespace warploom::tool
