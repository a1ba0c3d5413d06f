#include "search/cpu_bounds_search.hpp"

#include <algorithm>
#include <bit>
#include <limits>
#include <numeric>
#include <optional>

#include "search/cpu_bounds.hpp"
#include "search/sum_bound.hpp"
#include "search/windows.hpp"
#include "warploom/core/threads.hpp"

namespace warploom::search {
namespace {

constexpr std::int64_t kWindowsBeforeChoice =
    1024;  // [windows] after which it is decided whether lower bounds pay

/// The envelope of a query, in its own order and in the order in which positions tell most.
class QueryEnvelope {
 public:
  QueryEnvelope(const CpuQuery& query, const CpuBounds& bounds)
      : query_(query), lower_(query.length + 2 * query.radius + 32), upper_(lower_) {
    bounds.envelope(query.samples.data(), query.length, query.radius, lower_.data(), upper_.data());
    for (const std::int64_t end : {std::int64_t{0}, query.length - 1})
      lower_.data()[end] = upper_.data()[end] = query.samples[end];
    position_.resize(query.samples.size());
    std::iota(position_.begin(), position_.end(), 0);
    order();
  }

  const float* lower() const { return lower_.data(); }
  const float* upper() const { return upper_.data(); }
  Envelope ordered() const {
    return {query_.length, position_.data(), ordered_query_.data(), ordered_lower_.data(),
            ordered_upper_.data()};
  }

  /// Positions in which windows lie far from the envelope come first.
  void learn(const CpuWindows& window, std::vector<double>& told) const {
    for (std::int64_t j = 0; j < query_.length; ++j) {
      const float x = (window.samples[j] - window.mean[0]) * window.scale[0];
      const float beyond = x - std::clamp(x, lower()[j], upper()[j]);
      told[j] += beyond * beyond;
    }
  }
  void sort(const std::vector<double>& told) {
    std::stable_sort(position_.begin(), position_.end(),
                     [&](std::int32_t a, std::int32_t b) { return told[a] > told[b]; });
    order();
  }

 private:
  void order() {
    for (auto* list : {&ordered_query_, &ordered_lower_, &ordered_upper_}) list->clear();
    for (const std::int32_t j : position_) {
      ordered_query_.push_back(query_.samples[j]);
      ordered_lower_.push_back(lower()[j]);
      ordered_upper_.push_back(upper()[j]);
    }
  }

  const CpuQuery& query_;
  Lines lower_, upper_;
  std::vector<std::int32_t> position_;
  std::vector<float> ordered_query_, ordered_lower_, ordered_upper_;
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
};

/// One thread's work.
class Worker {
 public:
  explicit Worker(const BoundedSearch& search)
      : search_(search),
        query_(search.query),
        batch_(query_),
        remaining_((query_.length + 1) * batch_.lanes()),
        tail_(static_cast<std::size_t>(query_.length + kMostLanes)) {}

  /// Looks at lower bounds, and computes what they leave.
  void run(const CpuUnit& unit) {
    const CpuWindows windows(search_.range.channel, query_, search_.range.normalization, unit.begin,
                             unit.size);
    lower_.reset();
    for (std::int64_t begin = 0; begin < unit.size; begin += kWindowsBeforeChoice) {
      check_interrupt();
      run_block(windows, begin, std::min(begin + kWindowsBeforeChoice, unit.size));
    }
    flush();
    add_counts();
  }

  /// Computes the windows at `offsets`, none of which misses a sample.
  void run(std::span<const std::int64_t> offsets) {
    CpuWindowsAt windows(search_.range.channel, query_, search_.range.normalization);
    for (const std::int64_t offset : offsets) {
      const CpuWindows& block = windows.around(offset);
      push(block, offset - block.first);
    }
    flush();
    add_counts();
  }

 private:
  void run_block(const CpuWindows& windows, std::int64_t begin, std::int64_t end) {
    const int lanes = batch_.lanes();
    const bool whole = patience_ > 0;
    std::int64_t present = 0, left = 0;
    for (std::int64_t t = begin; t < end; t += lanes) {
      unsigned here = 0;
      for (int l = 0; l < std::min<std::int64_t>(lanes, end - t); ++l)
        here |= windows.missing(t + l) ? 0 : 1U << l;
      const unsigned alive = here == 0 || whole ? here : not_excluded(windows, t, here);
      const int count = std::popcount(alive);
      present += std::popcount(here);
      left += count;
      if (4 * count >= 3 * lanes) {
        batch_.load_adjacent(samples(windows, t), windows.lanes(t));
        compute(windows.first + t, alive);
      } else {
        for (int l = 0; l < lanes; ++l)
          if ((alive >> l & 1) != 0) push(windows, t + l);
      }
    }
    counts_.windows += end - begin;
    counts_.skipped += end - begin - present;
    counts_.bounded += present - left;
    ++counts_.blocks;
    counts_.whole += whole;
    // Where bounds leave almost all, the next blocks go without.
    if (whole)
      --patience_;
    else if (search_.prune == Prune::automatic && 8 * left > 7 * present)
      patience_ = 7;
  }

  /// Of the lanes `here`, those whose lower bounds are within the bound.
  unsigned not_excluded(const CpuWindows& windows, std::int64_t t, unsigned here) {
    const float bound = sum_bound(search_.selection.bound(), query_.length);
    alignas(64) float sums[kMostLanes];
    const auto within = [&] {
      unsigned alive = 0;
      for (int l = 0; l < batch_.lanes(); ++l) alive |= sums[l] <= bound ? 1U << l : 0;
      return alive & here;
    };
    const Envelope envelope = search_.envelope.ordered();
    search_.bounds.by_query(envelope, samples(windows, t), windows.lanes(t), bound, sums);
    unsigned alive = within();
    if (alive == 0) return 0;
    if (!lower_) {
      const std::int64_t count = windows.count + query_.length - 1;
      lower_.emplace(count + 2 * query_.radius + 32);
      upper_.emplace(count + 2 * query_.radius + 32);
      search_.bounds.envelope(windows.samples, count, query_.radius, lower_->data(), upper_->data());
    }
    search_.bounds.by_windows(envelope, lower_->data() + t, upper_->data() + t, windows.lanes(t), bound,
                              sums);
    return alive & within();
  }

  /// Where window t begins, with as many samples as a vector reads.
  const float* samples(const CpuWindows& windows, std::int64_t t) {
    const std::int64_t needed = query_.length + batch_.lanes() - 1;
    const std::int64_t there = std::ssize(search_.range.channel) - windows.first - t;
    if (there >= needed) return windows.samples + t;
    std::copy_n(windows.samples + t, there, tail_.begin());
    return tail_.data();
  }

  void push(const CpuWindows& windows, std::int64_t t) {
    // Into all lanes that are left, so that the last window counts for those that stay empty.
    for (int l = pending_; l < batch_.lanes(); ++l) {
      pending_begin_[l] = windows.samples + t;
      pending_mean_[l] = windows.mean[t];
      pending_rest_[l] = windows.rest[t];
      pending_scale_[l] = windows.scale[t];
    }
    if (++pending_ == batch_.lanes()) flush();
  }

  void flush() {
    if (pending_ == 0) return;
    batch_.load(pending_begin_, {pending_mean_, pending_rest_, pending_scale_});
    float distances[kMostLanes];
    bounded_distances(distances);
    found_.clear();
    for (int l = 0; l < pending_; ++l) add(pending_begin_[l] - search_.range.channel.data(), distances[l]);
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
    search_.bounds.remaining(search_.envelope.lower(), search_.envelope.upper(), batch_.windows(),
                             query_.length, remaining_.data());
    counts_.cells +=
        batch_.compute(distances, remaining_.data(), sum_bound(search_.selection.bound(), query_.length));
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
  DtwBatch batch_;
  Lines remaining_;
  std::vector<float> tail_;
  std::optional<Lines> lower_, upper_;  // the unit's envelope, when it is first needed
  int patience_ = 0;                    // blocks to be computed whole
  int pending_ = 0;
  const float* pending_begin_[kMostLanes];
  float pending_mean_[kMostLanes], pending_rest_[kMostLanes], pending_scale_[kMostLanes];
  std::vector<Candidate> found_;
  struct {
    std::int64_t windows = 0, skipped = 0, bounded = 0, cells = 0, blocks = 0, whole = 0;
  } counts_;
};

/// The `count` windows from `begin` on, to look at, not to compute: where moments are not kept they begin
/// anew here.
CpuWindows glimpse(const BoundedSearch& search, std::int64_t begin, std::int64_t count) {
  const std::span<const float> channel = search.range.channel;
  const auto first = static_cast<std::size_t>(begin),
             size = static_cast<std::size_t>(search.query.length + count - 1);
  const bool kept = search.query.moments != nullptr;
  return {kept ? channel : channel.subspan(first, size), search.query, search.range.normalization,
          kept ? begin : 0, count};
}

/// Looks at windows all over the range, and computes those that look nearest, so that there is a bound to
/// begin with.
void sow(BoundedSearch& search, const Task& task) {
  const CpuQuery& query = search.query;
  const int lanes = WARPLOOM_PICK(cpu_dtw)->lanes;
  const std::int64_t stride = lanes * std::max<std::int64_t>(16, query.length / 16);
  const std::int64_t groups = (search.range.last - search.range.first) / stride;
  if (groups < 2) return;
  std::vector<Candidate> nearest(static_cast<std::size_t>(groups));  // of each group of adjacent windows
  constexpr std::int64_t kPart = 64;
  parallel_for((groups + kPart - 1) / kPart, [&](std::int64_t part) {
    check_interrupt();
    for (std::int64_t g = part * kPart; g < std::min(groups, (part + 1) * kPart); ++g) {
      const std::int64_t begin = search.range.first + g * stride;
      const CpuWindows group = glimpse(search, begin, lanes);
      alignas(64) float sums[kMostLanes];
      search.bounds.by_query(search.envelope.ordered(), group.samples, group.lanes(0),
                             std::numeric_limits<float>::max(), sums);
      nearest[g] = {-1, std::numeric_limits<float>::max(), 0};
      for (int l = 0; l < lanes; ++l)
        if (!group.missing(l) && sums[l] < nearest[g].distance) nearest[g] = {begin + l, sums[l], 0};
    }
  });
  std::erase_if(nearest, [](const Candidate& c) { return c.offset < 0; });
  std::vector<double> told(query.samples.size());
  const std::size_t teachers = nearest.size() / 128 + 1;
  for (std::size_t g = 0; g < nearest.size(); g += teachers)
    search.envelope.learn(glimpse(search, nearest[g].offset, 1), told);
  search.envelope.sort(told);
  std::sort(nearest.begin(), nearest.end(), chosen_before);
  std::vector<std::int64_t> offsets;
  const std::int64_t apart = 2 * std::min(task.exclusion, kLargestZone);  // as Selection's bound needs them
  const std::int64_t seeds = std::max<std::int64_t>(4 * std::min(task.limit, groups), 2 * lanes);
  for (const Candidate& c : choose(nearest, seeds, apart)) offsets.push_back(c.offset);
  std::sort(offsets.begin(), offsets.end());
  Worker(search).run(offsets);
}

}  // namespace

std::vector<CpuUnit> units_of(const CpuQuery& query, std::int64_t first, std::int64_t last) {
  constexpr std::int64_t kCells = 1'000'000'000, kLargest = 8192;
  const std::int64_t windows = kCells / band_cells(query.length, query.radius);
  const std::int64_t size = std::clamp<std::int64_t>(windows / 64 * 64, 64, kLargest);
  std::vector<CpuUnit> units;
  for (std::int64_t t = first; t < last; t += size) units.push_back({t, std::min(size, last - t)});
  return units;
}

void search_bounded(const CpuQuery& query, const CpuRange& range, const Task& task, Prune prune,
                    SharedSelection& selection, CpuCounts& counts, Progress& progress) {
  const CpuBounds& bounds = *WARPLOOM_PICK(cpu_bounds);
  BoundedSearch search{query, range, prune, selection, counts, bounds, QueryEnvelope(query, bounds)};
  sow(search, task);
  const std::vector<CpuUnit> units = units_of(query, range.first, range.last);
  parallel_for(std::ssize(units), [&](std::int64_t u) {
    Worker(search).run(units[u]);
    progress.advance(static_cast<std::uint64_t>(units[u].size));
  });
}

}  // namespace warploom::search
