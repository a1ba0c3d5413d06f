#pragma once

#include <span>

#include "sim/block.hpp"

/// Reads of shared memory that nobody wrote, and shuffles from lanes that do not take part. Compilers load
/// ahead of the condition that the load stands under, so a load alone is no fault; it becomes one when the
/// value decides a branch, an address, or what leaves the thread. As Valgrind's memcheck does, a bit goes
/// with each such value: a lane mask a register, and only while a warp holds such a value at all.
namespace warploom::sim {

/// The lanes of a load's destinations hold what nobody wrote, or (clean) what somebody did.
void set_poison(Warp& warp, const Step& load, Mask poisoned, Mask clean);
/// The same with a mask for each register that is written.
void set_poison(Warp& warp, const Step& step, std::span<const Mask> poisoned, Mask lanes = kAllLanes);
/// Of the n-th register that a step reads.
Mask read_poison(const Warp& warp, const Step& step, std::size_t n);
/// The number of the n-th register that a step writes, as in Program::uses; Warp::poison has its lanes.
std::uint32_t written_register(const Warp& warp, const Step& step, std::size_t n);
/// Of one register in all lanes; `source` wrote it.
void set_register_poison(Warp& warp, std::uint32_t register_number, Mask poisoned, const Step& source);
/// The same of a shuffle: its value, not its predicate.
void poison_shuffled(Warp& warp, const Step& shuffle, Mask poisoned, Mask clean);
void clear_poison(Warp& warp);
/// Where a register's poison came from.
std::optional<Site> poison_site(const Warp& warp, std::uint32_t register_number, unsigned lane);
/// Lanes in which that operand of an instruction without composite sources is a poisoned register.
Mask operand_poison(const Warp& warp, const Step& step, std::size_t operand);
struct MemoryForm;
struct Pointers;
/// A store of such values: the shared bytes of those are what nobody wrote again; global ones are a finding.
void poison_stored(Warp& warp, const Step& step, const MemoryForm& form, const Pointers& to);
/// The same, in which lanes the value is such.
void poison_stored(Warp& warp, const Step& step, Mask bad, const MemoryForm& form, const Pointers& to);
/// The loop of scheduler.cpp for a warp that holds poison; comes back when it holds none, stops, or `left` is
/// 0.
void run_poisoned(Warp& warp, std::uint64_t& left, std::uint64_t& threads);

}  // namespace warploom::sim
