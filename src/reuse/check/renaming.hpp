#pragma once

#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "warploom/ptx/module.hpp"
#include "warploom/reuse/check.hpp"

/// First half of the check: the output is the input with names replaced and barriers added, nothing else.
namespace warploom::reuse::checking {

struct PooledObject {
  std::uint32_t variable = ptx::kNone;  ///< of the input module
  std::optional<std::uint64_t> offset;  ///< none: no instruction names it
  std::vector<std::pair<std::uint32_t, std::int64_t>> accesses =
      {};  ///< `[name+4]`: instruction, offset in the pool
};

/// One kernel whose text differs.
struct KernelMatch {
  std::uint32_t function = 0;       ///< index in both modules
  std::uint32_t pool = ptx::kNone;  ///< variable of the output module; kNone: no name was replaced
  std::vector<PooledObject> objects;
  /// Where an operand of the output that names the pool begins -> index into `objects`.
  std::unordered_map<std::uint32_t, std::uint32_t> object_at;
  std::vector<std::uint32_t> inserted;  ///< barriers: instructions of the output
  /// Accesses whose displacement differs, and by how much: a part of an array that moved in it [bytes].
  std::unordered_map<std::uint32_t, std::int64_t> shifts;
  std::vector<std::uint32_t>
      added;  ///< other instructions of the output, that write added registers, ascending
  std::vector<std::uint32_t> rebased;  ///< accesses whose base is such a register, ascending
};

struct Renaming {
  std::vector<KernelMatch> kernels;
  std::vector<std::string> problems;
  std::vector<std::string> notes;
};

/// Walks the tokens of both texts in step. Linear in their length.
Renaming match_modules(const ptx::Module& input, const ptx::Module& output,
                       const std::vector<PoolEntry>& entries, const CheckOptions& options);

}  // namespace warploom::reuse::checking
