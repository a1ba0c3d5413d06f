#include "sim/race_order.hpp"

#include <algorithm>
#include <bit>

namespace warploom::sim {
namespace {

bool beyond_block(Scope scope) { return scope != Scope::none && scope != Scope::block; }

template <typename Visit>
void for_each_thread(const std::vector<Mask>& lanes, Visit visit) {
  for (std::uint32_t w = 0; w < lanes.size(); ++w)
    for (Mask rest = lanes[w]; rest != 0; rest &= rest - 1)
      visit(w * kLanes + static_cast<std::uint32_t>(std::countr_zero(rest)));
}

}  // namespace

Time Timeline::advance(std::uint64_t block, Time& first) {
  if (last_ == kEnd) return last_;
  ++last_;
  if (runs_.empty() || runs_.back().block != block) {
    runs_.push_back({last_, block});
    first = last_;
  }
  return last_;
}

std::uint64_t Timeline::owner(Time time) const {
  const auto after =
      std::upper_bound(runs_.begin(), runs_.end(), time, [](Time t, const Run& r) { return t < r.first; });
  return std::prev(after)->block;
}

void Released::join(const Released& other) {
  gpu.join(other.gpu);
  if (other.block.empty()) return;
  // A location that several blocks release at the scope of a block alone synchronises only the last of them.
  if (number != other.number) block = {};
  number = other.number;
  block.join(other.block);
}

void BlockOrder::begin(std::uint64_t number, std::uint32_t threads) {
  number_ = number;
  count_ = (threads + kLanes - 1) / kLanes * kLanes;
  advance();
  first_ = now_;
  // What the shadow of this block's shared memory holds is of earlier blocks: all of it is before now.
  floor_ = now_ == Timeline::kEnd ? now_ : now_ - 1;
  warp_floor_.assign(count_ / kLanes, 0);
  threads_.clear();
  fences_.clear();
  foreign_ = {};
  fenced_ = {};
  for (Gathered& a : announced_) a = {};
}

bool BlockOrder::before(Time time, std::uint64_t block, std::uint32_t other, std::uint32_t thread) const {
  if (!communicates_) return false;
  const auto knows = [&](const Clock& clock) {
    const BlockClock* known = clock.find(block);
    return known != nullptr && time <= known->of(other);
  };
  return knows(foreign_) || (!threads_.empty() && knows(threads_[thread].foreign));
}

void BlockOrder::Together::add(const BlockClock& known, const Clock& elsewhere, std::uint32_t threads) {
  own.floor = std::max(own.floor, known.floor);
  const auto raise = [&](std::uint32_t t, Time time) {
    if (time <= own.floor) return;
    if (!own.each) own.each = std::make_shared<std::vector<Time>>(threads);
    (*own.each)[t] = std::max((*own.each)[t], time);
  };
  if (known.each && known.each.get() != last)
    for (std::uint32_t t = 0; t < known.each->size(); ++t) raise(t, (*known.each)[t]);
  last = known.each.get();
  if (known.warp_floor > known.floor)
    for (std::uint32_t t = known.warp * kLanes; t < (known.warp + 1) * kLanes; ++t)
      raise(t, known.warp_floor);
  raise(known.thread, known.thread_time);
  foreign.join(elsewhere);
}

void BlockOrder::gather(Gathered& to, const std::vector<Mask>& of) const {
  for_each_thread(of, [&](std::uint32_t t) {
    to.known.add(clock_of(t), threads_.empty() ? Clock{} : threads_[t].foreign, count_);
    if (!fences_.empty() && fences_[t] && fences_[t]->gpu) {
      const Snapshot& f = *fences_[t]->gpu;
      to.fenced.add(f.own, f.foreign, count_);
    }
  });
}

void BlockOrder::barrier_of_all() {
  if (!fences_.empty()) {
    Together fenced;
    for (std::uint32_t t = 0; t < fences_.size(); ++t) {
      if (!fences_[t]) continue;
      complete(t, Scope::system);
      if (const Snapshots& f = fences_[t]->gpu) fenced.add(f->own, f->foreign, count_);
    }
    // What was fenced before the last barrier is known to whoever fenced after it.
    if (!fenced.empty()) fenced_ = std::make_shared<Snapshot>(Snapshot{fenced.own, fenced.foreign});
    fences_.clear();
  }
  for (const Thread& t : threads_) foreign_.join(t.foreign);
  threads_.clear();
  floor_ = now_;
  advance();
}

void BlockOrder::announce(std::uint32_t warp, Mask lanes, std::uint32_t barrier) {
  gather(announced_[barrier], only(warp, lanes));
  advance();
}

void BlockOrder::barrier(const std::vector<Mask>& waiting, std::uint32_t barrier) {
  if (!fences_.empty())
    for_each_thread(waiting, [&](std::uint32_t t) {
      if (fences_[t]) complete(t, Scope::system);
    });
  share(waiting, announced_[barrier]);
  announced_[barrier] = {};
}

void BlockOrder::share(const std::vector<Mask>& takers, Gathered& gathered) {
  gather(gathered, takers);
  const BlockClock& own = gathered.known.own;
  for_each_thread(takers, [&](std::uint32_t t) {
    Thread& thread = threads()[t];
    thread.each = own.each;
    thread.foreign = gathered.known.foreign;
  });
  if (const Together& f = gathered.fenced; !f.empty()) {
    const auto fenced = std::make_shared<const Snapshot>(Snapshot{f.own, f.foreign});
    for_each_thread(takers, [&](std::uint32_t t) { fences_of(t).gpu = fenced; });
  }
  advance();
}

void BlockOrder::warp_sync(std::uint32_t warp, Mask lanes, bool all_live) {
  const auto first = warp * kLanes + static_cast<std::uint32_t>(std::countr_zero(lanes));
  const auto differ = [&] {
    const auto fenced = [&](std::uint32_t t) {
      return fences_.empty() || !fences_[t] ? nullptr : fences_[t]->gpu.get();
    };
    for (Mask rest = lanes; rest != 0; rest &= rest - 1) {
      const auto t = warp * kLanes + static_cast<std::uint32_t>(std::countr_zero(rest));
      if (fenced(t) != fenced(first)) return true;
      if (!threads_.empty() &&
          (threads_[t].each != threads_[first].each || threads_[t].foreign != threads_[first].foreign))
        return true;
    }
    return false;
  };
  if (!all_live || differ()) {
    const ThreadTimes* mine = threads_.empty() ? nullptr : &threads_[first].each;
    if (mine != nullptr && mine->use_count() == std::popcount(lanes) && !differ()) {
      // The same lanes as the last time, and nobody else has their vector: it changes in place.
      for (Mask rest = lanes; rest != 0; rest &= rest - 1)
        (**mine)[warp * kLanes + static_cast<std::uint32_t>(std::countr_zero(rest))] = now_;
      advance();
    } else {
      Gathered gathered;
      share(only(warp, lanes), gathered);
    }
  }
  if (all_live) {
    warp_floor_[warp] = now_;
    advance();
  }
}

const std::vector<Mask>& BlockOrder::only(std::uint32_t warp, Mask lanes) {
  one_warp_.assign(warp_floor_.size(), 0);
  one_warp_[warp] = lanes;
  return one_warp_;
}

BlockOrder::Fences& BlockOrder::fences_of(std::uint32_t thread) {
  if (fences_.empty()) fences_.resize(count_);
  if (!fences_[thread]) fences_[thread] = std::make_unique<Fences>();
  return *fences_[thread];
}

BlockClock BlockOrder::clock_of(std::uint32_t thread) const {
  BlockClock known;
  known.floor = floor_;
  known.warp = thread / kLanes;
  known.warp_floor = warp_floor_[thread / kLanes];
  known.thread = thread;
  known.thread_time = now_;
  if (!threads_.empty()) known.each = threads_[thread].each;
  return known;
}

BlockOrder::Snapshot BlockOrder::snapshot(std::uint32_t thread) const {
  Snapshot s{clock_of(thread), foreign_};
  if (!threads_.empty()) s.foreign.join(threads_[thread].foreign);
  return s;
}

Clock BlockOrder::clock(const Snapshot& s) const {
  Clock clock = s.foreign;
  clock.join(number_, s.own);
  return clock;
}

void BlockOrder::fence(std::uint32_t warp, Mask lanes, Scope scope, Strength sides) {
  for (Mask rest = lanes; rest != 0; rest &= rest - 1) {
    const std::uint32_t t = warp * kLanes + static_cast<std::uint32_t>(std::countr_zero(rest));
    Fences& f = fences_of(t);
    if (acquires(sides)) complete(t, scope);
    if (!releases(sides)) continue;
    f.block = std::make_shared<const Snapshot>(snapshot(t));
    if (beyond_block(scope)) f.gpu = f.block;
  }
  advance();
}

Released BlockOrder::release(std::uint32_t thread, bool releases, Scope scope) const {
  Released result;
  result.number = number_;
  if (!fences_.empty() && fences_[thread]) {
    const Fences& f = *fences_[thread];
    if (f.block) result.block = clock(*f.block);
    if (f.gpu && beyond_block(scope)) result.gpu = clock(*f.gpu);
  }
  if (fenced_ && beyond_block(scope)) result.gpu.join(clock(*fenced_));
  if (releases) {
    const Clock all = clock(snapshot(thread));
    result.block.join(all);
    if (beyond_block(scope)) result.gpu.join(all);
  }
  return result;
}

void BlockOrder::learn(std::uint32_t thread, const BlockClock& own) {
  ThreadTimes copy;
  own.for_each([&](std::uint32_t u, Time time) {
    if (before(time, u, thread)) return;
    if (!copy) {
      const ThreadTimes& have = threads()[thread].each;
      copy = have ? std::make_shared<std::vector<Time>>(*have) : std::make_shared<std::vector<Time>>(count_);
    }
    (*copy)[u] = std::max((*copy)[u], time);
  });
  // A floor of this block that the thread does not know can only be an older one.
  if (copy) threads_[thread].each = std::move(copy);
}

void BlockOrder::learn(std::uint32_t thread, const Clock& clock) {
  if (clock.empty()) return;
  if (const BlockClock* own = clock.find(number_)) learn(thread, *own);
  if (communicates_) threads()[thread].foreign.join(clock);
}

void BlockOrder::acquire(std::uint32_t thread, const Released& from, bool acquires, Scope scope) {
  Released seen;
  seen.number = number_;
  if (beyond_block(scope))
    seen.gpu = from.gpu;
  else if (const BlockClock* own = from.gpu.find(number_))
    seen.block.join(number_, *own);
  if (from.number == number_) seen.block.join(from.block);
  if (seen.empty()) return;
  if (acquires) {
    learn(thread, seen.gpu);
    learn(thread, seen.block);
  } else {
    fences_of(thread).pending.join(seen);
  }
}

void BlockOrder::come_after(std::uint32_t thread, std::uint32_t other) {
  BlockClock known;
  known.thread = other;
  known.thread_time = now_;
  learn(thread, known);
  advance();
}

void BlockOrder::complete(std::uint32_t thread, Scope scope) {
  Released& pending = fences_[thread]->pending;
  learn(thread, pending.block);
  pending.block = {};
  if (!beyond_block(scope)) return;
  learn(thread, pending.gpu);
  pending.gpu = {};
}

}  // namespace warploom::sim
