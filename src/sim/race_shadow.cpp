#include "sim/race_shadow.hpp"

#include <array>
#include <cstring>
#include <new>

namespace warploom::sim {
namespace {

// Four cells at a time, in vectors that every processor has; a comparison gives all ones or 0.
constexpr unsigned kWide = 4;
using Times = Time __attribute__((vector_size(4 * kWide)));
using Whos = Who __attribute__((vector_size(4 * kWide)));

}  // namespace

Layer::Layer(std::size_t cells)
    // Zeroed pages that cost nothing until they are touched.
    : cells_(cells),
      words_(static_cast<std::uint32_t*>(std::calloc(rows * cells + kWide, sizeof(std::uint32_t)))) {
  if (!words_) throw std::bad_alloc();
}

std::vector<WarpReads>& Layer::make_reads(std::size_t cell) {
  if (whos(list)[cell] == 0) {
    lists_.emplace_back(cell, std::vector<WarpReads>{});
    whos(list)[cell] = static_cast<std::uint32_t>(lists_.size());
  }
  return *reads(cell);
}

void Layer::drop_lists() {
  for (const auto& [cell, reads] : lists_) whos(list)[cell] = 0;
  lists_.clear();
}

namespace {

template <typename V, typename T>
V load(const T* from) {
  V v;
  std::memcpy(&v, from, sizeof v);
  return v;
}
template <typename V, typename T>
void store(T* to, V v) {
  std::memcpy(to, &v, sizeof v);
}
template <typename V>
V choose(Times condition, V yes, V no) {
  return (V)(((Times)yes & condition) | ((Times)no & ~condition));
}
bool any(Times condition) {
  const auto halves = load<std::array<std::uint64_t, 2>>(&condition);
  return (halves[0] | halves[1]) != 0;
}

constexpr bool of_launch(Regime r) { return r == Regime::launch || r == Regime::launch_exact; }

/// Moments of another block.
template <Regime regime>
Times elsewhere(Times time, const Present& p) {
  if constexpr (regime == Regime::simple || regime == Regime::exact) return Times{};
  if constexpr (regime == Regime::interleaved) return (time > 0) & ((time < p.first) | (time > p.now));
  return (time > 0) & (time < p.first);
}

/// Before the last barrier of all threads.
template <Regime regime>
Times long_before(Times time, const Present& p) {
  return (time <= p.floor) & ~elsewhere<regime>(time, p);
}

/// Comes before what the threads `mine` do now.
template <Regime regime>
Times before(Times time, Whos who, Whos mine, const Present& p) {
  const Whos apart = (who ^ mine) & kThreadMask;
  const Times known =
      (time <= p.floor) | (Times)(apart == 0) | ((Times)((apart & kWarpMask) == 0) & (time <= p.warp_floor));
  return known & ~elsewhere<regime>(time, p);
}

/// Calls body(first cell of four, their threads, which of the four are in the run). Rows have room for the
/// rest.
template <typename Body>
void by_four(const Run& run, Body body) {
  constexpr Times index = {0, 1, 2, 3};
  for (std::uint32_t c = 0; c < run.cells; c += kWide) {
    const Times cell = index + static_cast<Time>(c);
    body(run.cell + c, run.who + (Whos)(cell >> static_cast<Time>(run.shift)),
         cell < static_cast<Time>(run.cells));
  }
}

template <Regime regime>
bool all_before(const Layer& layer, Layer::Row row, const Run& run, const Present& present) {
  const Present p = present;
  const Time* time = layer.times(row);
  const Who* who = layer.whos(static_cast<Layer::Row>(row + 1));
  Times bad{};
  by_four(run, [&](std::size_t c, Whos mine, Times in) {
    const Times t = load<Times>(time + c);
    const Times open = in & ~long_before<regime>(t, p);
    if (any(open)) bad |= open & ~before<regime>(t, load<Whos>(who + c), mine, p);
  });
  return !any(bad);
}

/// Whether each read can take one of the two places, and nothing is lost.
template <Regime regime>
bool room(const Layer& layer, const Run& run, const Present& present) {
  const Present p = present;
  const Time *time = layer.times(Layer::read_time), *time_2 = layer.times(Layer::read_time_2);
  const Who *who = layer.whos(Layer::reader), *who_2 = layer.whos(Layer::reader_2);
  Times bad{};
  by_four(run, [&](std::size_t c, Whos mine, Times in) {
    const Times t = load<Times>(time + c);
    Times fits = before<regime>(t, load<Whos>(who + c), mine, p) |
                 before<regime>(load<Times>(time_2 + c), load<Whos>(who_2 + c), mine, p);
    if constexpr (of_launch(regime)) fits |= elsewhere<regime>(t, p);
    bad |= in & ~fits;
  });
  return !any(bad);
}

template <Regime regime>
void take(const Layer& layer, const Run& run, const Present& present) {
  const Present p = present;
  Time *time = layer.times(Layer::read_time), *time_2 = layer.times(Layer::read_time_2);
  Who *who = layer.whos(Layer::reader), *who_2 = layer.whos(Layer::reader_2);
  const Times now = Times{} + p.now;
  by_four(run, [&](std::size_t c, Whos mine, Times in) {
    const Times t = load<Times>(time + c);
    Times first = long_before<regime>(t, p);
    if (!any(in & ~first)) {
      store(time + c, choose(in, now, t));
      store(who + c, choose(in, mine, load<Whos>(who + c)));
      return;
    }
    const Whos w = load<Whos>(who + c);
    first = before<regime>(t, w, mine, p) & in;
    Times rest = in & ~first;
    // Whoever writes next races with the reader of the earlier block.
    if constexpr (of_launch(regime)) rest &= ~elsewhere<regime>(t, p);
    if (any(rest)) {
      const Times t2 = load<Times>(time_2 + c);
      const Whos w2 = load<Whos>(who_2 + c);
      Times second = rest;
      // Two of different warps are enough.
      if constexpr (!keeps_all(regime)) second &= ~((t2 > p.floor) & (Times)(((w ^ w2) & kWarpMask) != 0));
      store(time_2 + c, choose(second, now, t2));
      store(who_2 + c, choose(second, mine, w2));
    }
    store(time + c, choose(first, now, t));
    store(who + c, choose(first, mine, w));
  });
}

template <Regime regime>
bool reads(const Region& region, const Run& run, const Present& p) {
  if (!all_before<regime>(region.weak, Layer::write_time, run, p)) return false;
  if (region.strong && !all_before<regime>(*region.strong, Layer::write_time, run, p)) return false;
  if (keeps_all(regime) && !room<regime>(region.weak, run, p)) return false;
  take<regime>(region.weak, run, p);
  return true;
}

template <Regime regime>
bool free_to_write(const Layer& layer, const Run& run, const Present& p) {
  if (!all_before<regime>(layer, Layer::write_time, run, p) ||
      !all_before<regime>(layer, Layer::read_time, run, p) ||
      !all_before<regime>(layer, Layer::read_time_2, run, p))
    return false;
  const Who* const list = layer.whos(Layer::list);
  Who more = 0;
  if constexpr (keeps_all(regime))
    for (std::size_t c = run.cell; c < run.cell + run.cells; ++c) more |= list[c];
  return more == 0;
}

template <Regime regime>
bool writes(const Region& region, const Run& run, const Present& p) {
  if (!free_to_write<regime>(region.weak, run, p)) return false;
  if (region.strong && !free_to_write<regime>(*region.strong, run, p)) return false;
  Time* const time = region.weak.times(Layer::write_time);
  Who* const who = region.weak.whos(Layer::writer);
  const Times now = Times{} + p.now;
  by_four(run, [&](std::size_t c, Whos mine, Times in) {
    store(time + c, choose(in, now, load<Times>(time + c)));
    store(who + c, choose(in, mine, load<Whos>(who + c)));
  });
  return true;
}

}  // namespace

bool note_reads(Regime regime, const Region& region, const Run& run, const Present& present) {
  switch (regime) {
    case Regime::simple:
      return reads<Regime::simple>(region, run, present);
    case Regime::exact:
      return reads<Regime::exact>(region, run, present);
    case Regime::launch:
      return reads<Regime::launch>(region, run, present);
    case Regime::launch_exact:
      return reads<Regime::launch_exact>(region, run, present);
    case Regime::interleaved:
      break;
  }
  return reads<Regime::interleaved>(region, run, present);
}

bool note_writes(Regime regime, const Region& region, const Run& run, const Present& present) {
  switch (regime) {
    case Regime::simple:
      return writes<Regime::simple>(region, run, present);
    case Regime::exact:
      return writes<Regime::exact>(region, run, present);
    case Regime::launch:
      return writes<Regime::launch>(region, run, present);
    case Regime::launch_exact:
      return writes<Regime::launch_exact>(region, run, present);
    case Regime::interleaved:
      break;
  }
  return writes<Regime::interleaved>(region, run, present);
}

}  // namespace warploom::sim
