#include "oracle/random_kernel_memory.hpp"

#include <algorithm>

namespace warploom::oracle {

bool conflict(const SharedAccess& a, const SharedAccess& b, bool warps_ordered) {
  using Kind = SharedAccess::Kind;
  if (a.array != b.array) return false;
  if (a.kind == b.kind && a.kind != Kind::store && a.operation == b.operation) return false;
  std::uint32_t bytes = 0;
  for (const Touch& t : a.possible) bytes = std::max(bytes, t.end);
  std::vector<Threads> by(bytes);
  for (const Touch& t : a.possible)
    for (std::uint32_t at = t.begin; at < t.end; ++at) by[at] |= Threads{1} << t.thread;
  for (const Touch& t : b.possible) {
    const Threads same = warps_ordered ? Threads{0xffffffff} << t.thread / 32 * 32 : Threads{1} << t.thread;
    for (std::uint32_t at = t.begin; at < std::min(t.end, bytes); ++at)
      if ((by[at] & ~same) != 0) return true;
  }
  return false;
}

Bytes& Bytes::operator&=(const Bytes& other) {
  for (std::size_t w = 0; w < words_.size(); ++w) words_[w] &= other.words_[w];
  return *this;
}

Bytes& Bytes::operator|=(const Bytes& other) {
  for (std::size_t w = 0; w < words_.size(); ++w) words_[w] |= other.words_[w];
  return *this;
}

bool Knowledge::writes_known(const SharedAccess& load) const {
  return std::all_of(load.possible.begin(), load.possible.end(),
                     [&](const Touch& t) { return written[load.array].holds(t.begin, t.end); });
}

void Knowledge::write(const SharedAccess& store) {
  for (const Touch& t : store.certain) written[store.array].insert(t.begin, t.end);
}

void Knowledge::forget(std::uint32_t array, std::uint32_t begin, std::uint32_t end) {
  written[array].erase(begin, end);
  for (auto& of : written_if) of[array].erase(begin, end);
}

void Knowledge::join(const Knowledge& other) {
  for (const Recent& r : other.recent) {
    const auto mine =
        std::find_if(recent.begin(), recent.end(), [&](const Recent& m) { return m.access == r.access; });
    if (mine == recent.end())
      recent.push_back(r);
    else
      mine->warp_barrier &= r.warp_barrier;
  }
  for (std::size_t a = 0; a < written.size(); ++a) {
    written[a] &= other.written[a];
    for (std::size_t f = 0; f < kFacts; ++f) written_if[f][a] &= other.written_if[f][a];
  }
  may |= other.may;
  must &= other.must;
  may_stay |= other.may_stay;
  must_stay &= other.must_stay;
  open |= other.open;
  warp_open |= other.warp_open;
}

}  // namespace warploom::oracle
