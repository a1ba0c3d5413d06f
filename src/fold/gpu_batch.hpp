#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "fold/fill.hpp"
#include "fold/gpu.hpp"

/// What kernels take, made on the host; without CUDA, so that the simulator's tests make it, too.
namespace warploom::fold::gpu {

/// @throws BadInput: a special hairpin with another letter than A, C, G, U
std::unique_ptr<Tables> make_tables(const LoopTables& loops);
/// hairpin_of by unpaired bases, of sequences of so many.
std::vector<std::int32_t> make_hairpins(const LoopTables& loops, std::int64_t longest);

/// Where a batch's sequences lie.
struct Layout {
  std::vector<Sequence> sequences = {};
  std::vector<Task> tasks = {};
  std::int64_t codes = 0, cells = 0, columns = 0, candidates = 0, flags = 0, bases = 0, longest = 0;
  void add(std::int64_t n);
  /// The tasks as Launch::chunks.
  std::vector<Task> chunks() const;
};
/// Of device memory that a sequence takes.
std::uint64_t bytes_on_gpu(std::int64_t n);

/// The codes of a sequence: n + 2 of them. @throws BadInput as fold()
void write_codes(std::string_view sequence, std::uint8_t* codes);
/// What a constraint, which may be empty, says of the n + 2 of them. @throws BadInput as fold()
void write_marks(std::string_view sequence, std::string_view constraint, const Loops& loops, Mark* marks);

}  // namespace warploom::fold::gpu
