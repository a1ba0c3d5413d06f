#pragma once

#include <array>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "reuse/check/flow.hpp"

/// What the second half of the check knows of one rewritten kernel, and its provenance analysis.
namespace warploom::reuse::checking {

struct Object {
  std::string name;
  std::uint64_t bytes = 0;
  std::optional<std::uint64_t> offset;  ///< in the pool; none: it kept its own storage
  bool in_dynamic = false;              ///< the pool is the dynamic array, of which this is a part
  bool by_launch = false;               ///< a part of which only the launch knows where it lies
};

/// Groups of what goes on behind its instruction; each kind has its commits and waits.
enum class Group : std::uint8_t {
  none,
  copies,
  bulk_copies,
  products,
  loads,  ///< bulk copies to shared memory, which have an mbarrier instead
};
inline constexpr std::size_t kGroups = 3;

struct Access {
  std::uint32_t instruction = 0;
  Bits objects;  ///< one of these
  bool load = false, store = false;
  Group group = Group::none;            ///< it is over at a wait for this
  std::uint32_t mbarrier = ptx::kNone;  ///< of `loads`: the object that holds it
};

/// The output's kernel, with names of the input.
struct Kernel {
  Kernel(const ptx::Module& of, const ptx::Function& body)
      : module(of), function(body), cfg(ptx::build_cfg(of, body)), flow(cfg) {
    find_full_barriers();
  }
  Kernel(const Kernel&) = delete;  // `flow` refers to `cfg`
  Kernel& operator=(const Kernel&) = delete;

  const ptx::Module& module;
  const ptx::Function& function;
  ptx::Cfg cfg;
  Flow flow;
  std::vector<Object> objects;
  std::unordered_map<std::uint32_t, std::uint32_t> object_at;  ///< begin of an operand -> object
  std::vector<bool> inserted;                                  ///< per instruction: an added barrier
  std::vector<bool> full_barriers;                             ///< per instruction: is_full_barrier()
  std::optional<std::array<std::uint32_t, 3>> block;           ///< threads, if known
  std::uint64_t pool_alignment = 1;
  bool strict = false;
  bool assume_parts = false;
  std::vector<std::uint32_t> assumed;  ///< lines of accesses that are taken to keep to their part
  bool moved_in_parts = false;         ///< some accesses' displacements changed
  std::vector<std::pair<std::uint32_t, std::uint32_t>>
      pairs;                   ///< objects whose bytes overlap, first < second
  std::vector<Bits> partners;  ///< per object

  // Filled by find_provenance().
  std::vector<Bits> points_to;           ///< per definition
  std::vector<Access> accesses;          ///< of shared memory, ascending
  std::vector<std::uint32_t> access_of;  ///< instruction -> accesses, or kNone
  std::vector<std::string> escapes;  ///< per object: why it may be accessed out of sight; empty: it does not
  struct Mixed {
    std::uint32_t first, second, line;
  };
  std::vector<Mixed> mixed;                ///< values that depend on two objects' addresses
  std::vector<std::uint32_t> stated_dead;  ///< instruction -> object, or kNone
  std::vector<std::string> refusals;       ///< what lies outside the contract
  Bits asynchronous;                       ///< objects with accesses of a group, and with mbarriers

  ptx::Op op(std::uint32_t i) const { return module.opcode(function.instructions[i]).op; }
  const ptx::Opcode& opcode(std::uint32_t i) const { return module.opcode(function.instructions[i]); }
  std::uint32_t line(std::uint32_t i) const { return function.instructions[i].line; }
  bool guarded(std::uint32_t i) const { return function.instructions[i].guard != ptx::kNone; }
  /// Objects whose address an operand's value may depend on.
  Bits pointed_to(std::uint32_t instruction, const ptx::Operand& o) const;

 private:
  void find_full_barriers();
};

/// `bar.sync 0` and its like: every thread of the block waits, if the instruction is executed.
inline bool is_full_barrier(const Kernel& k, std::uint32_t instruction) {
  return k.full_barriers[instruction];  // asked at every instruction, by each round of each analysis
}
/// Any other barrier that works on parts of the block: an id, a count, an arrival.
bool is_partial_barrier(const Kernel& k, std::uint32_t instruction);
/// `ret`, `exit`, or a branch to the end of the body.
bool leaves_kernel(const Kernel& k, std::uint32_t instruction);
/// Works on an mbarrier in shared memory; of copies the arrival of those of cp.async.
bool uses_mbarrier(const Kernel& k, std::uint32_t instruction);
/// A call that may execute a barrier.
bool call_may_synchronise(const Kernel& k, std::uint32_t instruction);
/// Reads what another thread may be about to write; in a cycle, this may wait for that thread.
bool reads_of_others(const ptx::Opcode& opcode);
/// A call that may wait for another thread of the block, or whose callee is not known.
bool call_may_wait(const Kernel& k, std::uint32_t instruction);
bool in_cycle(const ptx::Cfg& cfg, std::uint32_t block);
inline bool separates(const Kernel& k, std::uint32_t i) { return is_full_barrier(k, i) && !k.guarded(i); }

void find_provenance(Kernel& k);

/// Bytes of an access; of a copy its size, if that is a number. 0: not known.
std::int64_t width_of(const ptx::Module& module, const ptx::Function& f, std::uint32_t instruction);
/// The operand with the address of shared memory: of a copy its target. nullptr: none.
const ptx::Operand* address_of(const ptx::Module& module, const ptx::Function& f, std::uint32_t instruction);

}  // namespace warploom::reuse::checking
