// Loads and stores: where the lanes of a warp point, whether they may, and the bytes they move.
#include "sim/access.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "sim/poison.hpp"
#include "sim/races.hpp"

namespace warploom::sim {

using ptx::Space;

namespace {

Space generic_space(std::uint64_t address) {
  if (address >= kGlobalBegin) return Space::global;
  if (address >= kParameterWindow && address < kParameterWindow + kWindowBytes) return Space::param;
  if (address >= kLocalWindow && address < kLocalWindow + kWindowBytes) return Space::local;
  if (address >= kSharedWindow && address < kSharedWindow + kWindowBytes) return Space::shared;
  return Space::global;  // nobody's: out of bounds
}

std::uint64_t window(Space space) {
  switch (space) {
    case Space::shared:
      return kSharedWindow;
    case Space::local:
      return kLocalWindow;
    case Space::param:
      return kParameterWindow;
    default:
      return 0;
  }
}

/// A lane's own bytes: local variables and the parameters of functions. Not those of a gap.
bool in_thread_variable(const Program& p, std::uint64_t address, std::uint32_t bytes) {
  auto after = std::upper_bound(p.thread_variables.begin(), p.thread_variables.end(), address,
                                [](std::uint64_t a, const Placed& v) { return a < v.begin; });
  if (after == p.thread_variables.begin()) return false;
  --after;
  return bytes <= after->bytes && address - after->begin <= after->bytes - bytes;  // no sum: it may wrap
}

/// Of addresses of a warp, all of which count.
struct Extent {
  std::uint64_t low, high;
};
Extent extent(const std::uint64_t (&address)[kLanes]) {
  Extent e{address[0], address[0]};
  for (unsigned i = 1; i < kLanes; ++i) {
    e.low = std::min(e.low, address[i]);
    e.high = std::max(e.high, address[i]);
  }
  return e;
}

/// A warp mostly reads and writes neighbours: what lies between the first and the last is looked at at once,
/// if it is no more than this.
constexpr std::uint64_t kNeighbours = 1024;  // bytes

/// What Block::written says of so many bytes, 8 at a time, added up by `or` of what is other than kWritten.
std::uint64_t other_than_written(const std::uint8_t* at, std::uint64_t bytes) {
  constexpr std::uint64_t kAll = 0x0101010101010101u * kWritten;
  std::uint64_t other = 0, word = 0, i = 0;
  for (; i + 8 <= bytes; i += 8) {
    std::memcpy(&word, at + i, 8);
    other |= word ^ kAll;
  }
  if (i < bytes) {
    word = kAll;
    std::memcpy(&word, at + i, bytes - i);
    other |= word ^ kAll;
  }
  return other;
}

void point(Pointers& to, std::byte* base, std::uint64_t begin) {
  for (unsigned i = 0; i < kLanes; ++i) to.at[i] = base + (to.address[i] - begin);
}

}  // namespace

std::string_view space_name(Space space) {
  switch (space) {
    case Space::shared:
      return "shared memory";
    case Space::local:
      return "local memory";
    case Space::param:
      return "parameters";
    default:
      return "global memory";
  }
}

std::string describe(const Warp& w, Space space, std::uint64_t address) {
  const Program& p = *w.block->program;
  if (space == Space::shared) return describe_shared(*w.block, address);
  if (space == Space::global) return describe_global(*w.block->worker->memory, address);
  const std::vector<Placed>& places = space == Space::param ? p.parameters : p.thread_variables;
  for (const Placed& v : places)
    if (address >= v.begin && address < std::uint64_t{v.begin} + v.bytes + 16)
      return v.variable == ptx::kNone
                 ? fmt::format("stack of the thread, byte {} of {}", address - v.begin, v.bytes)
                 : fmt::format("{} {}, byte {} of {}", space == Space::param ? "parameter" : "local variable",
                               p.module->variables[v.variable].name, address - v.begin, v.bytes);
  return fmt::format("{} address {:#x}", space == Space::param ? "parameter" : "local", address);
}

void fault(Warp& w, const Step& s, FindingKind kind, unsigned lane, std::string what, std::string where) {
  w.block->worker->findings.add(*w.block, kind, s, w.index, lane, std::move(what), std::move(where));
  w.block->worker->halted = true;
  w.stop = Stop::halt;
}

void addresses(const Warp& w, const Step& s, const MemoryForm& form, std::uint64_t (&address)[kLanes]) {
  const auto displacement = static_cast<std::uint64_t>(s.immediate);
  if (form.fixed) {
    for (unsigned i = 0; i < kLanes; ++i) address[i] = displacement;
  } else if (form.wide_base) {
    const auto* base = w.read<std::uint64_t>(s.a);
    for (unsigned i = 0; i < kLanes; ++i) address[i] = base[i] + displacement;
  } else {
    const auto* base = w.read<std::uint32_t>(s.a);
    for (unsigned i = 0; i < kLanes; ++i)
      address[i] = static_cast<std::uint32_t>(base[i] + static_cast<std::uint32_t>(displacement));
  }
}

bool resolve(Warp& w, const Step& s, Space space, const std::uint64_t (&address)[kLanes], Mask lanes,
             std::uint32_t bytes, std::uint32_t align, bool write, Pointers& to) {
  Block& b = *w.block;
  const Space from = space;
  const auto verb = [&] { return fmt::format("{} of {} bytes", write ? "write" : "read", bytes); };
  to.lanes = lanes;
  if (space == Space::generic) {
    space = generic_space(address[std::countr_zero(lanes)]);
    const std::uint64_t base = window(space);
    for (unsigned i = 0; i < kLanes; ++i) {
      if ((lanes >> i & 1) != 0 && generic_space(address[i]) != space) to.lanes &= ~(Mask{1} << i);
      to.address[i] = address[i] - base;
    }
  } else {
    std::copy_n(address, kLanes, to.address);
  }
  if (space == Space::constant) space = Space::global;
  const bool anywhere = from == Space::generic || from == Space::shared_cluster;
  if (space == Space::shared_cluster) space = Space::shared;
  to.space = space;
  to.block = nullptr;
  if (space == Space::shared && anywhere && b.shared.size() <= kPlaceMask) {
    // Lanes that point into one block's memory, with the first of them.
    const std::uint64_t above = to.address[std::countr_zero(to.lanes)] >> kRankShift;
    for (unsigned i = 0; i < kLanes; ++i) {
      if (to.address[i] >> kRankShift != above) to.lanes &= ~(Mask{1} << i);
      to.address[i] &= kPlaceMask;
    }
    if (above > b.cluster->blocks.size()) {
      fault(w, s, FindingKind::out_of_bounds, static_cast<unsigned>(std::countr_zero(to.lanes)), verb(),
            fmt::format("shared memory of rank {} in a cluster of {} blocks", above - 1,
                        b.cluster->blocks.size()));
      return false;
    }
    if (above != 0 && above - 1 != b.rank) to.block = b.cluster->blocks[above - 1];
    if (to.block != nullptr && to.block->alive == 0) {
      fault(w, s, FindingKind::illegal, static_cast<unsigned>(std::countr_zero(to.lanes)), verb(),
            fmt::format("shared memory of block ({},{},{}), whose threads have left", to.block->index[0],
                        to.block->index[1], to.block->index[2]));
      return false;
    }
  }
  Block& holder = owner(w, to);
  const auto described = [&](unsigned lane) {
    return to.block != nullptr ? describe_shared(*to.block, to.address[lane])
                               : describe(w, space, to.address[lane]);
  };
  to.written = to.whole = false;
  const auto one = static_cast<unsigned>(std::countr_zero(to.lanes));
  const bool alone = std::has_single_bit(to.lanes);
  std::uint64_t bits = to.address[one];
  if (!alone && to.lanes != kAllLanes)
    // Lanes that take no part point where one does that does.
    for (unsigned i = 0; i < kLanes; ++i)
      if ((to.lanes >> i & 1) == 0) to.address[i] = bits;
  for (unsigned i = 0; !alone && i < kLanes; ++i) bits |= to.address[i];
  const auto extent_of_all = [&] { return alone ? Extent{bits, bits} : extent(to.address); };
  const auto point_all = [&](std::byte* base, std::uint64_t begin) {
    if (alone)
      to.at[one] = base + (to.address[one] - begin);
    else
      point(to, base, begin);
    return true;
  };
  if ((bits & (align - 1)) != 0) {
    unsigned lane = 0;
    while ((to.lanes >> lane & 1) == 0 || (to.address[lane] & (align - 1)) == 0) ++lane;
    fault(w, s, FindingKind::misaligned, lane, verb(),
          described(lane) + fmt::format(", no multiple of {}", align));
    return false;
  }
  const auto outside = [&](unsigned lane) {
    fault(w, s, FindingKind::out_of_bounds, lane, verb(), described(lane));
    return false;
  };
  const auto in_object = [&](unsigned lane) {
    return to.address[lane] < holder.shared.size() && bytes <= holder.shared.size() - to.address[lane] &&
           ((holder.written[to.address[lane]] | holder.written[to.address[lane] + bytes - 1]) & kGap) == 0;
  };
  const auto touches_object = [&](unsigned lane) {
    fault(w, s, FindingKind::illegal, lane, verb(),
          described(lane) + ": an mbarrier in use (mbarrier.inval ends that)");
    return false;
  };
  switch (space) {
    case Space::shared: {
      const std::uint64_t size = holder.shared.size();
      if (const Extent e = extent_of_all();
          e.high < size && bytes <= size - e.high && e.high - e.low <= kNeighbours) {
        constexpr std::uint64_t kOthers = 0x0101010101010101u * (kGap | kObject);
        const std::uint64_t other = other_than_written(holder.written.data() + e.low, e.high - e.low + bytes);
        if ((other & kOthers) == 0) {
          to.written = other == 0;
          to.whole = true;
          return point_all(holder.shared.data(), 0);
        }
      }
      for (Mask rest = to.lanes; rest != 0; rest &= rest - 1) {
        const auto i = static_cast<unsigned>(std::countr_zero(rest));
        // A gap is at least as wide as any access: the first and the last byte tell.
        if (to.address[i] + bytes > size || to.address[i] > size ||
            ((holder.written[to.address[i]] | holder.written[to.address[i] + bytes - 1]) &
             (kGap | kObject)) != 0)
          return in_object(i) ? touches_object(i) : outside(i);
        to.at[i] = holder.shared.data() + to.address[i];
      }
      return true;
    }
    case Space::local: {
      const std::uint32_t stride = b.program->thread_bytes;
      for (Mask rest = to.lanes; rest != 0; rest &= rest - 1) {
        const auto i = static_cast<unsigned>(std::countr_zero(rest));
        if (!in_thread_variable(*b.program, to.address[i], bytes)) return outside(i);
        to.at[i] = w.thread_memory + std::size_t{i} * stride + to.address[i];
      }
      return true;
    }
    case Space::param: {
      for (Mask rest = to.lanes; rest != 0; rest &= rest - 1) {
        const auto i = static_cast<unsigned>(std::countr_zero(rest));
        if (to.address[i] > b.program->parameter_bytes ||
            to.address[i] + bytes > b.program->parameter_bytes || write)
          return outside(i);
        to.at[i] = const_cast<std::byte*>(b.worker->parameters) + to.address[i];
      }
      return true;
    }
    default: {
      Allocation* a = b.worker->last;
      if (a != nullptr && !(write && a->constant)) {
        const Extent e = extent_of_all();
        if (e.high - e.low <= a->bytes && a->contains(e.low, e.high - e.low + bytes))
          return point_all(a->data.get(), a->begin);
      }
      for (Mask rest = to.lanes; rest != 0; rest &= rest - 1) {
        const auto i = static_cast<unsigned>(std::countr_zero(rest));
        if (a == nullptr || !a->contains(to.address[i], bytes)) {
          a = b.worker->memory->page_owner(to.address[i]);
          if (a == nullptr || !a->contains(to.address[i], bytes)) return outside(i);
          b.worker->last = a;
        }
        if (write && a->constant) {
          fault(w, s, FindingKind::illegal, i, verb(),
                "constant memory: " + describe(w, space, to.address[i]));
          return false;
        }
        to.at[i] = a->data.get() + (to.address[i] - a->begin);
      }
      return true;
    }
  }
}

Mask unwritten(const Warp& w, const Pointers& to, std::uint32_t bytes, std::uint32_t first) {
  if (to.written) return 0;
  Mask found = 0;
  const std::uint8_t* written = owner(w, to).written.data() + first;
  for (Mask rest = to.lanes; rest != 0; rest &= rest - 1) {
    const auto i = static_cast<unsigned>(std::countr_zero(rest));
    const std::uint8_t* at = written + to.address[i];
    bool all = true;
    if (bytes == 4) {
      std::uint32_t four;
      std::memcpy(&four, at, 4);
      all = four == 0x01010101u;
    } else {
      for (std::uint32_t n = 0; n < bytes; ++n) all &= at[n] == kWritten;
    }
    if (!all) found |= Mask{1} << i;
  }
  return found;
}

void mark_written(Warp& w, const Pointers& to, std::uint32_t bytes, bool is_written, std::uint32_t first) {
  if (to.written && is_written) return;
  std::uint8_t* written = owner(w, to).written.data() + first;
  const std::uint8_t value = is_written ? kWritten : kUnwritten;
  for (Mask rest = to.lanes; rest != 0; rest &= rest - 1) {
    const auto i = static_cast<unsigned>(std::countr_zero(rest));
    if (bytes == 4) {
      const std::uint32_t four = value * 0x01010101u;
      std::memcpy(written + to.address[i], &four, 4);
    } else {
      std::memset(written + to.address[i], value, bytes);
    }
  }
}

void note_access(Warp& w, const Step& s, const MemoryForm& form, const Pointers& to, Access::Kind kind,
                 Mask silent) {
  if (to.space != Space::shared && to.space != Space::global) return;
  Worker& worker = *w.block->worker;
  if (worker.races) {
    Access access;
    access.kind = kind;
    access.shared = to.space == Space::shared;
    access.strength = form.strength;
    access.scope = form.scope;
    access.bytes = form.total();
    access.lanes = to.lanes;
    access.address = to.address;
    access.silent = silent;
    access.step = &s;
    access.owner = to.block;
    worker.races->access(w, access);
  }
  if (worker.yield_at_access && w.stop == Stop::none) w.stop = Stop::yield;
}

namespace {

/// registers[lane] = element `e` at each pointer.
template <typename T, typename R>
void take(Registers& r, const MemoryForm& form, const Pointers& to) {
  for (unsigned e = 0; e < form.count; ++e) {
    R* destination = r.write<R>(form.values[e]);
    if (to.lanes == kAllLanes) {
      for (unsigned i = 0; i < kLanes; ++i)
        destination[i] = static_cast<R>(load_relaxed<T>(to.at[i] + e * sizeof(T)));
    } else {
      for (Mask rest = to.lanes; rest != 0; rest &= rest - 1) {
        const auto i = static_cast<unsigned>(std::countr_zero(rest));
        destination[i] = static_cast<R>(load_relaxed<T>(to.at[i] + e * sizeof(T)));
      }
    }
  }
}

template <typename T>
void take(Registers& r, const MemoryForm& form, const Pointers& to) {
  using S = std::make_signed_t<T>;
  switch (form.register_bytes) {
    case 2:
      if constexpr (sizeof(T) <= 2)
        form.sign ? take<S, std::int16_t>(r, form, to) : take<T, std::uint16_t>(r, form, to);
      return;
    case 4:
      if constexpr (sizeof(T) <= 4)
        form.sign ? take<S, std::int32_t>(r, form, to) : take<T, std::uint32_t>(r, form, to);
      return;
    default:
      form.sign ? take<S, std::int64_t>(r, form, to) : take<T, std::uint64_t>(r, form, to);
  }
}

/// Lanes in which every element at its pointer already is what would be stored.
template <typename T, typename R>
Mask put(Registers& r, const MemoryForm& form, const Pointers& to, bool dry) {
  Mask same = to.lanes;
  for (unsigned e = 0; e < form.count; ++e) {
    const R* source = r.read<R>(form.stored[e]);
    for (Mask rest = to.lanes; rest != 0; rest &= rest - 1) {
      const auto i = static_cast<unsigned>(std::countr_zero(rest));
      if (!dry)
        store_relaxed<T>(to.at[i] + e * sizeof(T), static_cast<T>(source[i]));
      else if (load_relaxed<T>(to.at[i] + e * sizeof(T)) != static_cast<T>(source[i]))
        same &= ~(Mask{1} << i);
    }
  }
  return same;
}

template <typename T>
Mask put(Registers& r, const MemoryForm& form, const Pointers& to, bool dry) {
  switch (form.register_bytes) {
    case 2:
      if constexpr (sizeof(T) <= 2) return put<T, std::uint16_t>(r, form, to, dry);
      return 0;
    case 4:
      if constexpr (sizeof(T) <= 4) return put<T, std::uint32_t>(r, form, to, dry);
      return 0;
    default:
      return put<T, std::uint64_t>(r, form, to, dry);
  }
}

Mask put(Registers& r, const MemoryForm& form, const Pointers& to, bool dry) {
  switch (form.bytes) {
    case 1:
      return put<std::uint8_t>(r, form, to, dry);
    case 2:
      return put<std::uint16_t>(r, form, to, dry);
    case 4:
      return put<std::uint32_t>(r, form, to, dry);
    case 8:
      return put<std::uint64_t>(r, form, to, dry);
    default: {
      const Wide* source = r.read<Wide>(form.stored[0]);
      Mask same = 0;
      for (Mask rest = to.lanes; rest != 0; rest &= rest - 1) {
        const auto i = static_cast<unsigned>(std::countr_zero(rest));
        if (!dry)
          std::memcpy(to.at[i], &source[i], 16);
        else if (std::memcmp(to.at[i], &source[i], 16) == 0)
          same |= Mask{1} << i;
      }
      return same;
    }
  }
}

/// Lanes that store what a lower one stores to the same place in the same instruction.
Mask repeated(const Registers& r, const MemoryForm& form, const Pointers& to) {
  bool ascending = true;
  std::uint64_t last = 0;
  for (Mask rest = to.lanes; rest != 0; rest &= rest - 1) {
    const std::uint64_t address = to.address[std::countr_zero(rest)];
    ascending &= rest == to.lanes || address > last;
    last = address;
  }
  if (ascending) return 0;
  Mask found = 0;
  const auto same = [&](unsigned i, unsigned j) {
    for (unsigned e = 0; e < form.count; ++e) {
      const auto* values = reinterpret_cast<const std::byte*>(r.read<std::uint8_t>(form.stored[e]));
      if (std::memcmp(values + std::size_t{i} * form.register_bytes,
                      values + std::size_t{j} * form.register_bytes, form.bytes) != 0)
        return false;
    }
    return true;
  };
  for (Mask rest = to.lanes; rest != 0; rest &= rest - 1) {
    const auto i = static_cast<unsigned>(std::countr_zero(rest));
    for (Mask below = to.lanes & ((Mask{1} << i) - 1); below != 0; below &= below - 1) {
      const auto j = static_cast<unsigned>(std::countr_zero(below));
      if (to.address[i] == to.address[j] && same(i, j)) {
        found |= Mask{1} << i;
        break;
      }
    }
  }
  return found;
}

}  // namespace

bool poisoned_address(Warp& w, const Step& s, const MemoryForm& form, Mask lanes) {
  if (w.poisoned == 0 || form.fixed) return false;
  const Program& p = *w.block->program;
  const std::uint32_t base = p.uses[p.first_use[static_cast<std::size_t>(&s - p.steps.data())]];
  const Mask bad = w.poison[base] & lanes;
  if (bad == 0) return false;
  const auto lane = static_cast<unsigned>(std::countr_zero(bad));
  w.block->worker->findings.add(*w.block, FindingKind::uninitialised, s, w.index, lane, "address made of it",
                                "", poison_site(w, base, lane));
  return true;
}

void run_load(Registers& r, const Step& s, Mask lanes) {
  Warp& w = warp_of(r);
  const MemoryForm& form = w.block->program->memory[s.extra];
  std::uint64_t address[kLanes];
  addresses(w, s, form, address);
  poisoned_address(w, s, form, lanes);
  Pointers to;
  for (Mask rest = lanes; rest != 0; rest &= ~to.lanes) {
    if (!resolve(w, s, form.space, address, rest, form.total(), form.total(), false, to)) return;
    if (to.space == Space::shared) {
      const Mask bad = unwritten(w, to, form.total());
      if (bad != 0 && form.count > 1) {  // compilers load the padding of a structure with its members
        Mask poisoned[8];
        for (unsigned e = 0; e < form.count; ++e) poisoned[e] = unwritten(w, to, form.bytes, e * form.bytes);
        set_poison(w, s, std::span(poisoned, form.count), to.lanes);
      } else if (bad != 0 || w.poisoned != 0) {
        set_poison(w, s, bad, to.lanes & ~bad);
      }
      if (bad != 0 && w.block->worker->options->strict_initialisation && !form.constant_address) {
        const auto lane = static_cast<unsigned>(std::countr_zero(bad));
        w.block->worker->findings.add(*w.block, FindingKind::uninitialised, s, w.index, lane,
                                      "load of shared memory that nobody wrote",
                                      describe(w, to.space, to.address[lane]));
      }
    } else if (w.poisoned != 0) {
      set_poison(w, s, 0, to.lanes);
    }
    note_access(w, s, form, to, Access::read);
    switch (form.bytes) {
      case 1:
        take<std::uint8_t>(r, form, to);
        break;
      case 2:
        take<std::uint16_t>(r, form, to);
        break;
      case 4:
        take<std::uint32_t>(r, form, to);
        break;
      case 8:
        take<std::uint64_t>(r, form, to);
        break;
      default:
        for (Mask each = to.lanes; each != 0; each &= each - 1) {
          const auto i = static_cast<unsigned>(std::countr_zero(each));
          std::memcpy(r.write<Wide>(form.values[0]) + i, to.at[i], 16);
        }
    }
  }
}

void run_store(Registers& r, const Step& s, Mask lanes) {
  Warp& w = warp_of(r);
  const MemoryForm& form = w.block->program->memory[s.extra];
  std::uint64_t address[kLanes];
  addresses(w, s, form, address);
  poisoned_address(w, s, form, lanes);
  Pointers to;
  for (Mask rest = lanes; rest != 0; rest &= ~to.lanes) {
    if (!resolve(w, s, form.space, address, rest, form.total(), form.total(), true, to)) return;
    const Mask silent = w.block->worker->races ? put(r, form, to, true) | repeated(r, form, to) : 0;
    note_access(w, s, form, to, Access::write, silent);
    put(r, form, to, false);
    if (to.space == Space::shared) mark_written(w, to, form.total());
    if (w.poisoned != 0) poison_stored(w, s, form, to);
  }
}

}  // namespace warploom::sim
