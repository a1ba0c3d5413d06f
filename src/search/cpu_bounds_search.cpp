#include "search/cpu_bounds_search.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>

#include "search/cpu_bounds.hpp"
#include "search/cpu_shared_costs.hpp"
#include "search/cpu_sketch.hpp"
#include "search/sketch.hpp"
#include "search/sum_bound.hpp"
#include "search/windows.hpp"
#include "warploom/core/threads.hpp"

namespace warploom::search {
namespace {

constexpr std::int64_t kWindowsBeforeChoice =
    256;  // [windows] after which it is decided whether lower bounds pay

/// The envelope of a query, in its own order and in the order in which positions tell most.
class QueryEnvelope {
 public:
  QueryEnvelope(const CpuQuery& query, const CpuBounds& bounds)
      : query_(query),
        lower_(static_cast<std::size_t>(query.length * query.count())),
        upper_(lower_),
        told_(lower_.size()) {
    Lines lower(query.length + 2 * query.radius + 32), upper = lower;
    for (std::int64_t c = 0; c < query.count(); ++c) {
      const std::vector<float>& samples = query.channels[c].samples;
      bounds.envelope(samples.data(), query.length, query.radius, lower.data(), upper.data());
      for (const std::int64_t end : {std::int64_t{0}, query.length - 1})
        lower.data()[end] = upper.data()[end] = samples[end];
      for (std::int64_t j = 0; j < query.length; ++j) {
        lower_[at(c, j)] = lower.data()[j];
        upper_[at(c, j)] = upper.data()[j];
      }
    }
    sort();
  }

  /// Of a matrix whose first channel is this, laid out as Matrices::query.
  const float* lower(std::int64_t channel) const { return lower_.data() + query_.place(channel); }
  const float* upper(std::int64_t channel) const { return upper_.data() + query_.place(channel); }
  /// Positions of one channel.
  struct Slice {
    std::int64_t channel;
    Envelope envelope;
  };
  /// All positions, in the order in which they are looked at.
  const std::vector<Slice>& slices() const { return slices_; }

  void learn(const CpuWindowsOfAll& window) {
    for (std::int64_t c = 0; c < query_.count(); ++c) {
      const CpuWindows& w = window.channels[c];
      for (std::int64_t j = 0; j < query_.length; ++j) {
        const float x = (w.samples[j] - w.mean[0]) * w.scale[0];
        const float beyond = x - std::clamp(x, lower_[at(c, j)], upper_[at(c, j)]);
        told_[at(c, j)] += beyond * beyond;
      }
    }
  }
  /// Positions in which windows lie far from the envelope come first: those of one channel in one slice,
  /// those of several a few at a time.
  void sort() {
    constexpr std::int64_t kFew = 8;
    const std::int64_t size = query_.count() == 1 ? query_.length : kFew;
    for (auto* list : {&ordered_query_, &ordered_lower_, &ordered_upper_}) list->clear();
    position_.clear();
    std::vector<std::pair<double, Slice>> slices;  // and what each tells
    for (std::int64_t c = 0; c < query_.count(); ++c) {
      std::vector<std::int32_t> positions(static_cast<std::size_t>(query_.length));
      std::iota(positions.begin(), positions.end(), 0);
      std::stable_sort(positions.begin(), positions.end(),
                       [&](std::int32_t a, std::int32_t b) { return told_[at(c, a)] > told_[at(c, b)]; });
      for (std::int64_t k = 0; k < query_.length; ++k) {
        if (k % size == 0)
          slices.push_back({0, {c, {std::min(size, query_.length - k), nullptr, nullptr, nullptr, nullptr}}});
        const std::int32_t j = positions[k];
        slices.back().first += told_[at(c, j)];
        position_.push_back(j);
        ordered_query_.push_back(query_.channels[c].samples[j]);
        ordered_lower_.push_back(lower_[at(c, j)]);
        ordered_upper_.push_back(upper_[at(c, j)]);
      }
    }
    std::int64_t first = 0;
    for (auto& [tells, slice] : slices) {
      slice.envelope.position = position_.data() + first;
      slice.envelope.query = ordered_query_.data() + first;
      slice.envelope.lower = ordered_lower_.data() + first;
      slice.envelope.upper = ordered_upper_.data() + first;
      first += slice.envelope.length;
    }
    std::stable_sort(slices.begin(), slices.end(),
                     [](const auto& a, const auto& b) { return a.first > b.first; });
    slices_.clear();
    for (const auto& [tells, slice] : slices) slices_.push_back(slice);
  }

 private:
  std::int64_t at(std::int64_t channel, std::int64_t j) const {
    return query_.place(channel) + j * query_.in_a_matrix();
  }

  const CpuQuery& query_;
  std::vector<float> lower_, upper_;
  std::vector<double> told_;  // how far windows lay from the envelope
  std::vector<std::int32_t> position_;
  std::vector<float> ordered_query_, ordered_lower_, ordered_upper_;
  std::vector<Slice> slices_;
};

/// What the threads share.
struct BoundedSearch {
  const CpuQuery& query;
  const CpuRange& range;
  Prune prune;
  SharedSelection& selection;
  CpuCounts& counts;
  const CpuBounds& bounds;
  QueryEnvelope envelope;
  std::optional<SharedCostsQuery> shared_costs;
};

/// Lower bounds of windows side by side. @param add  adds those of a slice: CpuBounds
/// @return the lanes that do not exceed the bound
template <class Add>
unsigned within_bounds(const QueryEnvelope& envelope, float* sums, const Add& add) {
  std::fill_n(sums, kMostLanes, 0.F);
  unsigned alive = 0;
  for (const QueryEnvelope::Slice& slice : envelope.slices())
    if ((alive = add(slice.envelope, slice.channel, sums)) == 0) break;
  return alive;
}

/// What one thread needs for CpuSharedCosts.
class SharedCosts {
 public:
  std::vector<const float*> samples;  ///< of each channel
  std::vector<LaneMoments> moments;

  explicit SharedCosts(const std::optional<SharedCostsQuery>& query)
      : query_(query),
        costs_(query && query->dot ? *WARPLOOM_PICK(cpu_shared_products) : *WARPLOOM_PICK(cpu_shared_costs)),
        each_(*WARPLOOM_PICK(cpu_shared_costs)),
        memory_(query ? costs_.bytes(*query) / 4 : 0),
        memory_of_each_(query ? each_.bytes(*query) / 4 : 0) {
    if (!query) return;
    samples.resize(static_cast<std::size_t>(query->channels));
    moments.resize(samples.size());
  }

  bool wanted() const { return query_ && patience_ == 0; }
  int windows() const { return costs_.windows; }
  void within_bound(float bound, std::uint8_t* within) {
    costs_.within_bound(*query_, {samples.data(), moments.data(), bound}, memory_.data(), within);
  }
  bool wanted_of_each() const { return query_ && patience_of_each_ == 0; }
  /// Of windows that were loaded, twice as many as a vector has lanes.
  std::uint32_t each_within_bound(const float* const (&windows)[2], float bound, std::uint32_t asked) {
    return each_.each_within_bound(*query_, windows, bound, memory_of_each_.data(), asked);
  }
  /// Where matrices are computed of most of them, the next ones go without.
  void end_each(int asked, int left, bool may_do_without) {
    if (may_do_without && 2 * left > asked) patience_of_each_ = 32 * kMostLanes;
  }
  void without_each(int windows) { patience_of_each_ = std::max(patience_of_each_ - windows, 0); }
  /// Where less than a quarter was excluded, the next blocks go without.
  void end_block(std::int64_t asked, std::int64_t left, bool may_do_without) {
    if (patience_ > 0)
      --patience_;
    else if (may_do_without && 4 * left > 3 * asked)
      patience_ = 7;
  }

 private:
  const std::optional<SharedCostsQuery>& query_;
  const CpuSharedCosts &costs_, &each_;
  Lines memory_, memory_of_each_;
  int patience_ = 0;          // blocks that go without
  int patience_of_each_ = 0;  // windows that go without
};

/// One thread's work.
class Worker final : BatchBounds {
 public:
  explicit Worker(const BoundedSearch& search)
      : search_(search),
        query_(search.query),
        batch_(query_),
        other_(query_),
        shared_(search.shared_costs),
        tails_(query_.channels.size()),
        pending_of_(query_.channels.size()),
        waiting_of_{pending_of_, pending_of_} {}

  /// Looks at lower bounds, and computes what they leave.
  void run(const CpuUnit& unit) {
    const CpuWindowsOfAll windows(query_, unit.begin, unit.size);
    lower_.clear();
    upper_.clear();
    for (std::int64_t begin = 0; begin < unit.size; begin += kWindowsBeforeChoice) {
      check_interrupt();
      run_block(windows, begin, std::min(begin + kWindowsBeforeChoice, unit.size));
    }
    flush_waiting();
    flush();
    add_counts();
  }

  /// Computes the windows at `offsets`, none of which misses a sample.
  void run(std::span<const std::int64_t> offsets) {
    CpuWindowsAt windows(query_);
    for (const std::int64_t offset : offsets) {
      const CpuWindowsOfAll& block = windows.around(offset);
      push(block, offset - block.first);
    }
    flush();
    add_counts();
  }

 private:
  /// Shared costs come first, where they exclude something: they take less time than envelopes, and hardly
  /// anything is left to these. Of windows that they leave side by side (they differ too much) envelopes may
  /// exclude some.
  void run_block(const CpuWindowsOfAll& windows, std::int64_t begin, std::int64_t end) {
    const int lanes = batch_.lanes();
    const bool whole = patience_ > 0, automatic = search_.prune == Prune::automatic;
    std::uint8_t alive[kWindowsBeforeChoice / 8] = {};  // bit l of byte b: window begin + 8 b + l
    const auto count = [&] {
      std::int64_t sum = 0;
      for (const std::uint8_t eight : alive) sum += std::popcount(eight);
      return sum;
    };
    float scales[kWindowsBeforeChoice] =
        {};  // sums over channels: none is a number where a sample is missing
    for (const CpuWindows& channel : windows.channels)
      for (std::int64_t t = begin; t < end; ++t) scales[t - begin] += channel.scale[t];
    for (std::int64_t t = 0; t < end - begin; ++t)
      alive[t / 8] |= static_cast<std::uint8_t>((scales[t] == scales[t]) << t % 8);
    const std::int64_t present = count();
    const bool shared = shared_.wanted();
    if (shared) within_shared_costs(windows, begin, end, alive);
    shared_.end_block(present, shared ? count() : present, automatic);
    std::int64_t asked = 0, left = 0, computed = 0;  // of envelopes; computed: matrices
    for (std::int64_t first = 0; first < end - begin; first += lanes) {
      unsigned some = 0;
      for (int b = 0; 8 * b < lanes; ++b) some |= unsigned{alive[first / 8 + b]} << 8 * b;
      if (lanes < 8) some = alive[first / 8] >> first % 8 & ((1U << lanes) - 1);
      if (some == 0) continue;
      if (!whole && (!shared || !automatic || 2 * std::popcount(some) >= lanes)) {
        asked += std::popcount(some);
        some &= not_excluded(windows, begin + first, some);
        left += std::popcount(some);
      }
      computed += std::popcount(some);
      if (shared_.wanted_of_each()) {
        for (int l = 0; l < lanes; ++l)
          if ((some >> l & 1) != 0) wait(windows, begin + first + l);
        continue;
      }
      shared_.without_each(std::popcount(some));
      if (4 * std::popcount(some) >= 3 * lanes) {
        for (std::int64_t c = 0; c < query_.count(); ++c)
          batch_.load_adjacent(c, samples(windows, c, begin + first),
                               windows.channels[c].lanes(begin + first));
        compute(windows.first + begin + first, some);
      } else {
        for (int l = 0; l < lanes; ++l)
          if ((some >> l & 1) != 0) push(windows, begin + first + l);
      }
    }
    counts_.windows += end - begin;
    counts_.skipped += end - begin - present;
    counts_.bounded += present - computed;
    ++counts_.blocks;
    counts_.whole += whole;
    // Where bounds leave almost all, the next blocks go without.
    if (whole)
      --patience_;
    else if (automatic && 8 * left > 7 * asked)
      patience_ = 31;
  }

  /// Of windows [begin, end) those `alive` that are within the bound with costs that they share.
  void within_shared_costs(const CpuWindowsOfAll& windows, std::int64_t begin, std::int64_t end,
                           std::uint8_t* alive) {
    const int many = shared_.windows();
    for (std::int64_t t = begin; t < end; t += many) {
      for (std::int64_t c = 0; c < query_.count(); ++c) {
        shared_.samples[c] = samples(windows, c, t, many);
        shared_.moments[c] = windows.channels[c].lanes(t);
      }
      if (t + many > windows.count) take_tails(windows, t, many);
      shared_.within_bound(sum_bound(search_.selection.bound(), query_.length * query_.count()),
                           alive + (t - begin) / 8);
    }
  }

  /// Moments of windows from t on, which are fewer than `many`.
  void take_tails(const CpuWindowsOfAll& windows, std::int64_t t, std::int64_t many) {
    tail_moments_.assign(static_cast<std::size_t>(3 * many * query_.count()), 0);
    for (std::int64_t c = 0; c < query_.count(); ++c) {
      const LaneMoments from = windows.channels[c].lanes(t);
      float* const to = tail_moments_.data() + 3 * many * c;
      std::copy_n(from.mean, windows.count - t, to);
      std::copy_n(from.rest, windows.count - t, to + many);
      std::copy_n(from.scale, windows.count - t, to + 2 * many);
      shared_.moments[c] = {to, to + many, to + 2 * many};
    }
  }

  /// Of the lanes `here`, those whose lower bounds are within the bound.
  unsigned not_excluded(const CpuWindowsOfAll& windows, std::int64_t t, unsigned here) {
    const float most = sum_bound(search_.selection.bound(), query_.length * query_.count());
    alignas(64) float sums[kMostLanes];
    const unsigned alive =
        here & within_bounds(search_.envelope, sums, [&](const Envelope& slice, std::int64_t c, float* to) {
          return search_.bounds.by_query(slice, samples(windows, c, t), windows.channels[c].lanes(t), most,
                                         to);
        });
    if (alive == 0) return 0;
    // Where the query's envelope tells little, the windows' do, too.
    if (2 * *std::max_element(sums, sums + batch_.lanes()) < most) return alive;
    if (lower_.empty()) find_envelopes(windows);
    return alive &
           within_bounds(search_.envelope, sums, [&](const Envelope& slice, std::int64_t c, float* to) {
             return search_.bounds.by_windows(slice, lower_[c].data() + t, upper_[c].data() + t,
                                              windows.channels[c].lanes(t), most, to);
           });
  }

  void find_envelopes(const CpuWindowsOfAll& windows) {
    const std::int64_t count = windows.count + query_.length - 1;
    for (const CpuWindows& channel : windows.channels) {
      Lines& lower = lower_.emplace_back(count + 2 * query_.radius + 32);
      Lines& upper = upper_.emplace_back(count + 2 * query_.radius + 32);
      search_.bounds.envelope(channel.samples, count, query_.radius, lower.data(), upper.data());
    }
  }

  /// Where window t of a channel begins, with as many samples as so many adjacent windows read.
  const float* samples(const CpuWindowsOfAll& windows, std::int64_t channel, std::int64_t t,
                       std::int64_t adjacent = kMostLanes) {
    const float* const begin = windows.channels[channel].samples + t;
    const std::int64_t needed = query_.length + adjacent - 1;
    const std::int64_t there = std::ssize(query_.channels[channel].recorded) - windows.first - t;
    if (there >= needed) return begin;
    std::vector<float>& tail = tails_[channel];
    tail.assign(static_cast<std::size_t>(needed), 0);
    std::copy_n(begin, there, tail.begin());
    return tail.data();
  }

  void push(const CpuWindowsOfAll& windows, std::int64_t t) {
    for (std::int64_t c = 0; c < query_.count(); ++c) pending_of_[c].set(pending_, windows.channels[c], t);
    pending_begin_[pending_] = windows.first + t;
    if (++pending_ == batch_.lanes()) flush();
  }

  /// To be looked at by itself before its matrix is computed.
  void wait(const CpuWindowsOfAll& windows, std::int64_t t) {
    const int half = waiting_ / batch_.lanes(), lane = waiting_ % batch_.lanes();
    for (std::int64_t c = 0; c < query_.count(); ++c) waiting_of_[half][c].set(lane, windows.channels[c], t);
    waiting_begin_[waiting_] = windows.first + t;
    if (++waiting_ == 2 * batch_.lanes()) flush_waiting();
  }

  void flush_waiting() {
    if (waiting_ == 0) return;
    const int lanes = batch_.lanes(), asked = waiting_;
    // The first window counts for lanes that stay empty.
    for (; waiting_ < 2 * lanes; ++waiting_)
      for (std::int64_t c = 0; c < query_.count(); ++c)
        waiting_of_[waiting_ / lanes][c].set(waiting_ % lanes, waiting_of_[0][c], 0);
    waiting_ = 0;
    for (std::int64_t c = 0; c < query_.count(); ++c) {
      batch_.load(c, waiting_of_[0][c].begin, waiting_of_[0][c].moments());
      other_.load(c, waiting_of_[1][c].begin, waiting_of_[1][c].moments());
    }
    const std::uint32_t left =
        shared_.each_within_bound({batch_.windows(0), other_.windows(0)},
                                  sum_bound(search_.selection.bound(), query_.length * query_.count()),
                                  asked == 32 ? ~0U : (1U << asked) - 1);
    for (std::uint32_t some = left; some != 0; some &= some - 1) {
      const int from = std::countr_zero(some);
      for (std::int64_t c = 0; c < query_.count(); ++c)
        pending_of_[c].set(pending_, waiting_of_[from / lanes][c], from % lanes);
      pending_begin_[pending_] = waiting_begin_[from];
      if (++pending_ == lanes) flush();
    }
    counts_.bounded += asked - std::popcount(left);
    shared_.end_each(asked, std::popcount(left), search_.prune == Prune::automatic);
  }

  void flush() {
    if (pending_ == 0) return;
    for (std::int64_t c = 0; c < query_.count(); ++c)
      for (int l = pending_; l < batch_.lanes(); ++l) pending_of_[c].set(l, pending_of_[c], 0);
    for (std::int64_t c = 0; c < query_.count(); ++c)
      batch_.load(c, pending_of_[c].begin, pending_of_[c].moments());
    float distances[kMostLanes];
    bounded_distances(distances);
    found_.clear();
    for (int l = 0; l < pending_; ++l) add(pending_begin_[l], distances[l]);
    pending_ = 0;
    publish();
  }

  /// Of windows that were loaded as adjacent ones.
  void compute(std::int64_t offset, unsigned lanes) {
    float distances[kMostLanes];
    bounded_distances(distances);
    found_.clear();
    for (int l = 0; l < batch_.lanes(); ++l)
      if ((lanes >> l & 1) != 0) add(offset + l, distances[l]);
    publish();
  }

  void bounded_distances(float* distances) {
    bound = sum_bound(search_.selection.bound(), query_.length * query_.count());
    counts_.cells += batch_.compute(distances, this);
  }
  void remaining(std::int64_t channel, const float* more, float* to) override {
    search_.bounds.remaining(search_.envelope.lower(channel), search_.envelope.upper(channel),
                             batch_.windows(channel), query_.length, query_.in_a_matrix(), more, to);
  }

  void add(std::int64_t begin, float distance) {
    if (distance <= search_.selection.bound())
      found_.push_back({begin - search_.range.lead, distance, search_.range.pattern});
  }
  void publish() {
    if (!found_.empty()) search_.selection.add(found_);
  }

  void add_counts() {
    search_.counts.windows += counts_.windows;
    search_.counts.skipped += counts_.skipped;
    search_.counts.bounded += counts_.bounded;
    search_.counts.cells += counts_.cells;
    search_.counts.blocks += counts_.blocks;
    search_.counts.whole += counts_.whole;
    counts_ = {};
  }

  const BoundedSearch& search_;
  const CpuQuery& query_;
  DtwBatch batch_, other_;
  SharedCosts shared_;
  std::vector<std::vector<float>> tails_;  // of channels
  std::vector<float> tail_moments_;
  std::vector<Lines> lower_, upper_;  // the unit's envelopes, when they are first needed
  int patience_ = 0;                  // blocks to be computed whole
  int pending_ = 0;
  std::int64_t pending_begin_[kMostLanes];
  std::vector<LaneWindows> pending_of_;  // channels
  int waiting_ = 0;
  std::int64_t waiting_begin_[2 * kMostLanes];
  std::vector<LaneWindows> waiting_of_[2];  // of the first lanes' windows and the others': channels
  std::vector<Candidate> found_;
  struct {
    std::int64_t windows = 0, skipped = 0, bounded = 0, cells = 0, blocks = 0, whole = 0;
  } counts_;
};

/// Computes windows that a sketch takes for the nearest.
/// @return false: the range is too short for that
bool sow_by_sketch(BoundedSearch& search, const JointTask& task, std::int64_t apart) {
  constexpr std::int64_t kAround = 8, kTeachers = 128;
  const CpuQuery& query = search.query;
  const auto& [first, last, lead, pattern] = search.range;
  const std::int64_t step = std::max<std::int64_t>(query.length / CpuSketch::kParts / kAround, 1);
  // A sixteenth of the windows at most.
  const std::int64_t seeds = std::min(2 * std::min(task.limit, last - first), (last - first) / 16 / kAround);
  std::vector<std::int64_t> offsets;
  // The nearest window lies between two that the sketch has.
  const std::int64_t beyond = kAround * step;
  for (const std::int64_t t :
       nearest_by_sketch(query, search.range, seeds, apart < kLargestZone ? apart + beyond : apart))
    for (std::int64_t k = -kAround / 2; k < kAround / 2; ++k) {
      const std::int64_t offset = t + k * step;
      if (offset < first || offset >= last) continue;
      if (!CpuWindowsOfAll(query, offset, 1, MomentsBegin::here).missing(0)) offsets.push_back(offset);
    }
  if (offsets.empty()) return false;
  for (std::int64_t k = 0; k < kTeachers; ++k) {
    const CpuWindowsOfAll some(query, first + (last - first - 1) * k / kTeachers, 1, MomentsBegin::here);
    if (!some.missing(0)) search.envelope.learn(some);
  }
  search.envelope.sort();
  std::sort(offsets.begin(), offsets.end());
  Worker(search).run(offsets);
  return true;
}

/// Looks at windows all over the range, and computes those that look nearest, so that there is a bound to
/// begin with.
void sow(BoundedSearch& search, const JointTask& task) {
  const CpuQuery& query = search.query;
  const int lanes = WARPLOOM_PICK(cpu_dtw)->lanes;
  const std::int64_t apart = 2 * std::min(task.exclusion, kLargestZone);  // as Selection's bound needs them
  // To look at, not to compute.
  const auto glimpse = [&](std::int64_t begin, std::int64_t count) {
    return CpuWindowsOfAll(query, begin, count, MomentsBegin::here);
  };
  if (search.shared_costs && sow_by_sketch(search, task, apart)) return;
  const std::int64_t stride = lanes * std::max<std::int64_t>(16, query.length / 16);
  const std::int64_t groups = (search.range.last - search.range.first) / stride;
  if (groups < 2) return;
  std::vector<Candidate> nearest(static_cast<std::size_t>(groups));  // of each group of adjacent windows
  constexpr std::int64_t kPart = 64;
  parallel_for((groups + kPart - 1) / kPart, [&](std::int64_t part) {
    check_interrupt();
    for (std::int64_t g = part * kPart; g < std::min(groups, (part + 1) * kPart); ++g) {
      const std::int64_t begin = search.range.first + g * stride;
      const CpuWindowsOfAll group = glimpse(begin, lanes);
      alignas(64) float sums[kMostLanes] = {};
      for (const auto& [channel, slice] : search.envelope.slices()) {
        const CpuWindows& of = group.channels[channel];
        search.bounds.by_query(slice, of.samples, of.lanes(0), std::numeric_limits<float>::max(), sums);
      }
      nearest[g] = {-1, std::numeric_limits<float>::max(), 0};
      for (int l = 0; l < lanes; ++l)
        if (!group.missing(l) && sums[l] < nearest[g].distance) nearest[g] = {begin + l, sums[l], 0};
    }
  });
  std::erase_if(nearest, [](const Candidate& c) { return c.offset < 0; });
  const std::size_t teachers = nearest.size() / 128 + 1;
  for (std::size_t g = 0; g < nearest.size(); g += teachers)
    search.envelope.learn(glimpse(nearest[g].offset, 1));
  search.envelope.sort();
  std::sort(nearest.begin(), nearest.end(), chosen_before);
  std::vector<std::int64_t> offsets;
  const std::int64_t seeds = std::max<std::int64_t>(4 * std::min(task.limit, groups), 2 * lanes);
  for (const Candidate& c : choose(nearest, seeds, apart)) offsets.push_back(c.offset);
  std::sort(offsets.begin(), offsets.end());
  Worker(search).run(offsets);
}

}  // namespace

std::vector<CpuUnit> units_of(const CpuQuery& query, std::int64_t first, std::int64_t last) {
  constexpr std::int64_t kCells = 1'000'000'000, kLargest = 8192;
  const std::int64_t windows = kCells / band_cells(query.length, query.radius) / query.count();
  const std::int64_t size = std::clamp<std::int64_t>(windows / 64 * 64, 64, kLargest);
  std::vector<CpuUnit> units;
  for (std::int64_t t = first; t < last; t += size) units.push_back({t, std::min(size, last - t)});
  return units;
}

void search_bounded(const CpuQuery& query, const CpuRange& range, const JointTask& task, Prune prune,
                    SharedSelection& selection, CpuCounts& counts, Progress& progress) {
  const CpuBounds& bounds = *WARPLOOM_PICK(cpu_bounds);
  BoundedSearch search{query,
                       range,
                       prune,
                       selection,
                       counts,
                       bounds,
                       QueryEnvelope(query, bounds),
                       shared_costs_query(query)};
  sow(search, task);
  const std::vector<CpuUnit> units = units_of(query, range.first, range.last);
  parallel_for(std::ssize(units), [&](std::int64_t u) {
    Worker(search).run(units[u]);
    progress.advance(static_cast<std::uint64_t>(units[u].size));
  });
}

}  // namespace warploom::search
