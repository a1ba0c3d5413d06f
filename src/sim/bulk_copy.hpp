#pragma once

#include "sim/access.hpp"

/// What the copies of the asynchronous proxy share: cp.async.bulk of bytes and of tensors.
namespace warploom::sim {

/// Bytes [address, address + bytes) of one lane, checked; a multiple of 16 of shared memory in one object.
/// Empty space: a finding ended the kernel.
Pointers bulk_range(Warp& warp, const Step& step, ptx::Space space, unsigned lane, std::uint64_t address,
                    std::uint32_t bytes, bool write);
/// Tells the race detector; `begins`: of shared memory, and now for the first time (see
/// RaceDetector::asynchronous).
void note_bulk(Warp& warp, const Step& step, unsigned lane, const Pointers& range, std::uint32_t bytes,
               Access::Kind kind, bool begins = false);
/// A copy's mbarrier lies with what it writes. False: a finding ended the kernel.
bool in_one_block(Warp& warp, const Step& step, unsigned lane, const Pointers& to,
                  const MBarrierPlace& object);
/// To be done when its group is waited for.
void add_bulk_store(Warp& warp, unsigned lane, Warp::BulkStore store);

/// Of st.async and red.async: the mbarrier that counts what a lane does. Empty: a finding ended the kernel.
std::optional<MBarrierPlace> tracking_mbarrier(Warp& warp, const Step& step, unsigned lane);

// tensor_copy.cpp

/// A tensor's store is done. False: a finding ended the kernel.
bool finish_tensor_store(Warp& warp, unsigned lane, const Warp::BulkStore& store);

}  // namespace warploom::sim
