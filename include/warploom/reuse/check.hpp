#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "warploom/ptx/module.hpp"

namespace warploom::reuse {

/// Where the rewriter says it put an object: symbol `object` is now `pool` + `offset`.
struct PoolEntry {
  std::string kernel = {}, object = {}, pool = {};
  std::uint64_t offset = 0;
};

struct CheckOptions {
  bool strict = false;         ///< as Options::strict
  bool whole_program = false;  ///< as Options::whole_program
  bool assume_parts = false;   ///< as Options::assume_parts
  /// Block size promised for kernels without .reqntid; empty: not known.
  std::vector<std::uint32_t> block = {};
  std::string input_file = "<input>", output_file = "<output>";  ///< the texts' names in messages
};

struct CheckResult {
  bool ok = false;
  std::vector<std::string> problems =
      {};  ///< each with kernel and PTX lines, of the output unless it says else; empty if ok
  std::vector<std::string> certificate =
      {};  ///< "kernel: a / b: why no byte of one is read while it may hold the other's data"
};

/// Independent check of a rewritten module. It trusts nothing of the optimiser: first that `output` is
/// `input` with names of shared objects replaced by pool addresses, and barriers added; then, with an
/// analysis of its own, that no byte is read as one object while it may hold another's data, and that no
/// added barrier is divergent. With `entries` empty they are recovered from the two texts.
/// @throws ParseError when a text is no PTX
CheckResult check(std::string_view input, std::string_view output, std::vector<PoolEntry> entries = {},
                  const CheckOptions& options = {});
/// The same for an input that is parsed already. @throws ParseError
CheckResult check(const ptx::Module& input, std::string_view output, std::vector<PoolEntry> entries = {},
                  const CheckOptions& options = {});

}  // namespace warploom::reuse
