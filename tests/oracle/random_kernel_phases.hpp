#pragma once

#include <optional>
#include <string>
#include <vector>

#include "oracle/random_kernel_memory.hpp"
#include "oracle/random_kernel_writer.hpp"

namespace warploom::oracle {

/// Straight-line uses of shared memory that are free of races: each access is compared with those since the
/// last barrier, and one that does not go with them gets a barrier before it, or is not made.
class PhaseWriter : protected Writer {
 protected:
  explicit PhaseWriter(std::uint64_t seed);

  struct Loop {
    struct Exposed {
      std::uint32_t access = 0;
      bool warp_open = true;  ///< no warp barrier comes before it in the iteration either
    };
    std::uint32_t number = 0;
    std::string counter, latch, end;  ///< a register, labels
    std::uint32_t turns = 1;          ///< at most
    int divergence = 0;               ///< of its body
    bool divergent = false;           ///< threads may leave it one by one: no barrier in it
    bool latch_used = false;
    std::vector<Exposed> prefix;            ///< that the iteration before may run into
    std::vector<Knowledge> latches, exits;  ///< where `continue` and `break` stand
    std::vector<SharedAccess> debts;        ///< loads of what the iteration before must have stored
  };

  bool may_synchronise() const { return divergence_ == 0; }
  /// Some barrier that all threads of the block wait at.
  void barrier();
  void warp_barrier();
  /// Adds the barrier that an access needs. False: there can be none here, so it must not be made.
  bool ready(const SharedAccess& access);
  void record(SharedAccess access);
  /// Whether an iteration without a barrier at its end would run into the next one's beginning.
  bool runs_into_next(const Loop& loop) const;

  std::uint32_t any_array();
  /// One of those of which this is true, if there is one.
  template <class Condition>
  std::optional<std::uint32_t> array_with(Condition condition) {
    const auto count = static_cast<std::uint32_t>(arrays_.size());
    const std::uint32_t first = pick(count);
    for (std::uint32_t a = 0; a < count; ++a)
      if (const RandomArray& array = arrays_[(first + a) % count];
          !array.locked && !array.retired && array.loop == 0 && condition(array))
        return (first + a) % count;
    return std::nullopt;
  }
  std::string counter() const { return loops_.empty() ? std::string() : loops_.back().counter; }
  /// @param offset  in a unit [bytes]; @param row  of the array
  SharedAccess access(SharedAccess::Kind kind, std::uint32_t array, const Index& index, std::uint32_t row,
                      std::uint32_t offset, std::uint32_t bytes, Threads may, Threads must) const;
  Index any_index(const RandomArray& array, bool store);
  /// `%t == k` or the like, as the guard "@%p1 ".
  std::string guard_below(std::uint32_t threads);

  void store();
  void store_by_one(std::uint32_t array, std::uint32_t unit);
  bool fill(std::uint32_t array, std::uint32_t row);
  void load(std::uint32_t array);
  void carried_load(std::uint32_t array);
  bool pay(const SharedAccess& debt);
  void phase();
  void through_selected_pointer();
  void walk();
  void swap_buffers();
  void histogram();
  void tree_reduction();
  void call();
  void report();
  void async_copy();
  void async_pipeline();
  void mbarrier_rounds();
  void matrix_load();
  void bulk_load();
  void bulk_store();
  /// Forgets all that is known of shared memory: another kernel begins.
  void begin_anew();

  Knowledge state_;
  std::vector<SharedAccess> accesses_;
  std::vector<Loop> loops_;
  Threads all_ = 0;
  int divergence_ = 0;   ///< branches around that threads may take differently
  bool exotic_ = false;  ///< barriers with an id or a count, too
  std::uint32_t iterations_ = 1, numbered_loops_ = 0;
  std::array<std::uint32_t, 2> hot_{};  ///< arrays in use around here
  std::array<bool, 6> functions_{};     ///< that the kernel calls
  std::uint32_t callee_array_ = 0;      ///< that the last of them names

 private:
  void atomic(std::uint32_t array);
  /// That all threads can be counted on to come here, each once.
  bool all_come() const;
  /// A register with the address of as many bytes of `data`, other ones for each thread.
  std::string source(std::uint32_t bytes);
  /// Each thread copies its unit of a row.
  void emit_copies(std::uint32_t array, std::uint32_t row);
  void emit_phase_wait(const std::string& barrier, std::uint32_t round, bool with_copies);
};

}  // namespace warploom::oracle
