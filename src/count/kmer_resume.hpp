#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "count/kmer_store.hpp"

namespace warploom::table {

/// The folder that keeps what was read, so that a run that was stopped goes on: the store's file, and beside
/// it what is complete in it.
class KmerResume {
 public:
  /// Makes the folder, and fills the store with what an earlier run left there.
  /// @param asked  what has to be the same: k and the files, a line each
  /// @throws BadInput (the folder cannot be made, is in use, has what another run asked for, or was changed)
  KmerResume(const std::filesystem::path& folder, std::string asked, KmerStore& store);

  std::uint64_t pieces() const { return pieces_; }  ///< of the sequences that are in the store
  bool complete() const { return complete_; }       ///< all of them are
  void save(KmerStore& store, std::uint64_t pieces, bool complete);
  void remove() const;

 private:
  std::filesystem::path records_, state_;
  std::string asked_;
  std::uint64_t pieces_ = 0;
  bool complete_ = false;
};

}  // namespace warploom::table
