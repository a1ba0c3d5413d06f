#pragma once

/// What the files of RaceDetector share: races.cpp (accesses that a thread makes itself, and what orders
/// them), races_async.cpp (what lands later: copies and products, mbarriers and clusters that wait for them).

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "sim/memory.hpp"
#include "sim/race_order.hpp"
#include "sim/race_shadow.hpp"
#include "sim/races.hpp"

namespace warploom::sim {

using Synchronised = std::unordered_map<std::uint64_t, Released>;

/// What the detector keeps about a block in flight.
struct Tracked {
  Tracked(Timeline& timeline, bool communicates, std::size_t cells)
      : order(timeline, communicates), shared(cells) {}
  BlockOrder order;
  Region shared;
  Synchronised released;  ///< by cell of shared memory

  // Copies land by themselves, neither before nor after what their thread does next. So each mbarrier has an
  // agent, a thread more, that writes what lands. A block with too many threads has none; then it is as if
  // the thread that issued the copy wrote.
  struct Phases {
    Released arriving, completed;
    std::uint32_t agent = ptx::kNone;
  };
  // Products of a warpgroup have one as well, behind these.
  static constexpr std::uint32_t kAgents = kLanes, kProductAgents = kLanes;
  std::unordered_map<std::uint32_t, Phases> mbarriers;  ///< by place in shared memory
  std::uint32_t first_agent = ptx::kNone;
  std::array<std::uint32_t, kAgents + kProductAgents> issuers{};  ///< thread whose copy an agent wrote last

  /// A fence.proxy.async of a thread: when, and what came before it.
  struct ProxyFence {
    Time time = 0;
    BlockClock known;
    std::uint8_t memory = kProxyShared | kProxyGlobal;
    std::uint32_t thread = 0;
    Clock foreign;  ///< where blocks see each other's writes
  };
  /// Of each thread the last few, newest last; empty until the first.
  std::vector<std::deque<ProxyFence>> proxy_fences;
  static constexpr std::size_t kFences = 16;
  Time began = 0;

  /// A proxy fence lies between that access and what `thread` does now.
  bool fenced(Seen seen, std::uint32_t thread, std::uint8_t memory) const {
    const std::uint32_t by = seen.who & kThreadMask;
    return std::any_of(proxy_fences.begin(), proxy_fences.end(), [&](const auto& fences) {
      const auto fencing = static_cast<std::uint32_t>(&fences - proxy_fences.data());
      return std::any_of(fences.begin(), fences.end(), [&](const ProxyFence& f) {
        return (f.memory & memory) != 0 &&
               (by == fencing ? seen.time <= f.time : seen.time <= f.known.of(by)) &&
               order.before(f.time, fencing, thread);
      });
    });
  }

  /// The thread of the block that stands for it.
  std::uint32_t thread_of(std::uint32_t thread) const {
    return thread >= first_agent ? issuers[thread - first_agent] : thread;
  }
};

inline Tracked& tracked(const Block& block) { return *static_cast<Tracked*>(block.race_state.get()); }

/// An instruction that accesses, and how.
struct Accessor {
  const Step* step = nullptr;
  Access::Kind kind = Access::read;
  Scope scope = Scope::none;
  std::uint32_t bytes = 0;

  std::string what() const {
    constexpr std::string_view kKinds[] = {"read", "write", "atomic"};
    return fmt::format("{} of {} bytes", kKinds[kind], bytes);
  }
};

struct RaceDetector::State {
  State(const Program& p, Memory& m, Findings& f, bool of_clusters);

  // Where the shadow of global memory lies: in pages of so many bytes of it.
  static constexpr unsigned kPageShift = 14;

  /// One lane's access to neighbouring cells.
  struct LaneAccess {
    const Block& block;
    const Access& access;
    unsigned warp, lane;
    std::uint32_t thread;
    Who who;
    bool silent;
  };

  Who number(const Access& a);
  Region& page(Address address);
  /// Of mbarriers and what lands.
  Scope scope() const { return clusters ? Scope::cluster : Scope::block; }
  unsigned shift(const Access& a) const { return a.shared ? shared_shift : global_shift; }
  std::uint32_t cells_of(const Access& a) const { return ((a.bytes - 1) >> shift(a)) + 1; }
  Regime regime(const Access& a) const { return a.shared ? shared_regime : global_regime; }

  void weak_access(Warp& warp, const Access& a);
  void strong_access(Warp& warp, const Access& a);
  void examine(const LaneAccess& l);
  std::uint64_t block_of(const LaneAccess& l, Time time) const;
  bool before(const LaneAccess& l, Seen seen) const;
  std::optional<Seen> rival(const LaneAccess& l, Layer& layer, std::size_t cell, bool strong) const;
  void note_read(const LaneAccess& l, Layer& layer, std::size_t cell) const;
  void list_read(const LaneAccess& l, Layer& layer, std::size_t cell) const;
  void report(const LaneAccess& l, Seen other, std::uint64_t at);
  /// A finding, and true, if an ordinary write to cells [first, last] comes before an asynchronous access
  /// without a fence.proxy.async in between.
  template <typename Describe>
  bool missing_fence(Warp& warp, unsigned lane, const Step& step, Access::Kind kind, const Region& region,
                     std::size_t first, std::size_t last, std::uint32_t bytes, std::uint8_t memory,
                     Describe describe);
  /// Of a block of the grid, its index.
  static std::array<std::uint32_t, 3> place_of(const Block& of_grid, std::uint64_t number);
  /// Two instructions, as `reported` has them.
  static std::uint64_t pair(Who one, Who other) {
    return std::uint64_t{one >> kThreadBits} << 32 | other >> kThreadBits;
  }

  /// A proxy fence for global memory lies between a write of another block and what `thread` does now.
  bool fenced_elsewhere(const Tracked& t, Seen write, std::uint64_t writer, std::uint32_t thread) const;

  const Program& program;
  Memory& memory;
  Findings& findings;
  const unsigned shared_shift, global_shift;
  const bool clusters;
  bool has_mbarriers = false, has_products = false;
  bool ordinary_global_writes = false;  ///< there was one: proxy fences matter
  Regime shared_regime = Regime::simple, global_regime = Regime::launch;
  Timeline timeline;
  std::vector<std::unique_ptr<Region>> pages;
  Synchronised released;  ///< by cell of global memory
  /// The last of each block that are for global memory, where blocks see each other's writes.
  std::unordered_map<std::uint64_t, std::deque<Tracked::ProxyFence>> global_fences;
  static constexpr std::size_t kGlobalFences = 64;
  std::vector<std::shared_ptr<Tracked>> pool;
  std::vector<std::uint32_t> numbers;  ///< of reads and writes of each step
  std::vector<Accessor> accessors;     ///< by number
  std::unordered_set<std::uint64_t> reported;
};

}  // namespace warploom::sim
