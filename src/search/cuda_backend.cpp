/// All tasks' matrices in a few launches, their profiles and the choice of candidates on the device, in
/// pieces of tasks where memory asks for it: samples are copied while the piece before is computed.

#include <algorithm>
#include <bit>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <type_traits>

#include "search/backend.hpp"
#include "search/bounds_choice.hpp"
#include "search/cuda_patterns.hpp"
#include "search/cuda_pieces.hpp"
#include "search/selection.hpp"
#include "search/windows.hpp"
#include "warploom/core/cuda_check.cuh"
#include "warploom/core/error.hpp"
#include "warploom/core/progress.hpp"

namespace warploom::search {
namespace {

constexpr std::int64_t kFarAway = std::int64_t{1} << 61;
/// Of one piece of work: enough to keep a device busy, little enough to be there at once.
constexpr std::int64_t kPieceBytes = std::int64_t{512} << 20;
/// Of one piece of work, so that it can be interrupted.
constexpr double kPieceInstructions = 1e14;
/// More choices than this are left to the host, which sorts all distances.
constexpr std::int64_t kMostChosen = 8192;
/// Collected of a piece of a task.
constexpr std::int64_t kRoom = 1 << 18;

float distance_of(ProfileEntry entry) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(entry >> 32));
}

// What tasks of one channel and of several have.
std::int32_t channel_of(const Task& task) { return task.channel; }
std::int32_t channel_of(const JointTask&) { return 0; }

class CudaBackend : public Backend {
  template <class SomePattern>
  auto uploaded(std::span<const SomePattern> patterns) {
    return upload(patterns, options_.normalization, query_memory_);
  }

 public:
  CudaBackend(const Signal& signal, const IndexOptions& options) : signal_(signal), options_(options) {
    std::size_t free = 0, all = 0;
    cuda_check(cudaMemGetInfo(&free, &all), "cudaMemGetInfo");
    budget_ = static_cast<std::int64_t>(within_cap(free / 10 * 9));
    const std::int64_t samples = std::ssize(signal[0]);
    stride_ = (samples + kSamplePad + 63) / 64 * 64;
    const std::int64_t bytes = std::ssize(signal) * stride_ * std::int64_t{sizeof(float)};
    if (bytes > budget_ / 2) return;
    resident_ = make_device<float>(static_cast<std::size_t>(std::ssize(signal) * stride_));
    budget_ -= bytes;
    const SignalOnGpu& there = options.on_gpu;
    require_reachable(there.first, "the recording");
    for (std::int64_t c = 0; c < std::ssize(signal); ++c) {
      float* const channel = resident_.get() + c * stride_;
      const float* const from = there.first != nullptr ? there.first + c * there.stride : signal[c].data();
      cuda_check(cudaMemcpy(channel, from, signal[c].size_bytes(), cudaMemcpyDefault),
                 "copying channel " + std::to_string(c) + " of " + std::to_string(samples) + " samples");
      cuda_check(
          cudaMemset(channel + samples, 0, static_cast<std::size_t>(stride_ - samples) * sizeof(float)),
          "cudaMemset");
    }
  }

  std::vector<float> profile(const Pattern& pattern, std::int32_t channel, std::int64_t first,
                             std::int64_t count) override {
    return profile_of(uploaded(std::span(&pattern, 1))[0], channel, first, count);
  }
  std::vector<float> profile(const JointPattern& pattern, std::int64_t first, std::int64_t count) override {
    return profile_of(uploaded(std::span(&pattern, 1))[0], 0, first, count);
  }

  std::vector<std::vector<float>> distances(std::span<const Pattern> patterns,
                                            std::span<const Windows> windows) override {
    return distances_of(uploaded(patterns), windows, [](const Windows& some) { return some.channel; });
  }
  std::vector<std::vector<float>> distances(std::span<const JointPattern> patterns,
                                            std::span<const JointWindows> windows) override {
    return distances_of(uploaded(patterns), windows, [](const JointWindows&) { return 0; });
  }

  std::vector<std::vector<Candidate>> best(std::span<const Pattern> patterns, std::span<const Task> tasks,
                                           Choice choice) override {
    return best_of(patterns, tasks, choice);
  }
  std::vector<std::vector<Candidate>> best(std::span<const JointPattern> patterns,
                                           std::span<const JointTask> tasks, Choice choice) override {
    return best_of(patterns, tasks, choice);
  }

 private:
  template <class Query>
  std::vector<float> profile_of(const Query& query, std::int32_t channel, std::int64_t first,
                                std::int64_t count) {
    std::vector<float> distances(static_cast<std::size_t>(count));
    const Comparison<Query> all{query, channel, first, count, {}, distances.data()};
    compare<Query>({&all, 1});
    return distances;
  }
  template <class Query, class SomeWindows, class ChannelOf>
  std::vector<std::vector<float>> distances_of(const std::vector<Query>& queries,
                                               std::span<const SomeWindows> windows,
                                               const ChannelOf& channel_of_windows) {
    std::vector<std::vector<float>> distances;
    std::vector<Comparison<Query>> all;
    for (const SomeWindows& some : windows) {
      const std::span<const std::int64_t> offsets = some.offsets;
      const Query& query = queries[some.pattern];
      const std::int32_t channel = channel_of_windows(some);
      float* const to = distances.emplace_back(offsets.size()).data();
      if (resident_ != nullptr)
        all.push_back({query, channel, 0, std::ssize(offsets), offsets, to});
      else  // only their samples are copied
        for (std::size_t i = 0; i < offsets.size(); ++i)
          all.push_back({query, channel, offsets[i], 1, {}, to + i});
    }
    compare<Query>(all);
    return distances;
  }
  template <class SomePattern, class SomeTask>
  std::vector<std::vector<Candidate>> best_of(std::span<const SomePattern> patterns,
                                              std::span<const SomeTask> tasks, Choice choice);
  Work new_work(WorkLane& lane) const {
    return Work({signal_, resident_.get(), stride_, options_.normalization}, lane.device.memory.get(),
                lane.device_results.memory.get());
  }
  void reserve(WorkLane& lane, const Work& measured) const {
    try {
      lane.device.reserve(measured.bytes());
      lane.device_results.reserve(measured.result_bytes());
      lane.results.reserve(measured.result_bytes());
      lane.jobs.reserve(measured.job_bytes());
    } catch (const OutOfMemory& error) {
      throw OutOfMemory(std::string(error.what()) + ": a piece of the search needs " +
                        std::to_string(measured.bytes() + measured.result_bytes()) +
                        " bytes of the device; give Run::memory less than " + std::to_string(budget_) +
                        " bytes, so that pieces are smaller");
    }
  }
  void finish(const WorkLane& lane, const char* what) {
    cuda_check(cudaEventSynchronize(lane.done.get()), what);
    const auto since_origin = [&](const CudaEvent& event) {
      float milliseconds = 0;
      cuda_check(cudaEventElapsedTime(&milliseconds, origin_.get(), event.get()), "cudaEventElapsedTime");
      return milliseconds * 1e-3;
    };
    // What two pieces did at the same time counts once.
    const double end = since_origin(lane.end);
    effort.device_seconds += std::max(end - std::max(since_origin(lane.begin), counted_), 0.0);
    counted_ = std::max(counted_, end);
  }
  /// Time in kernels is counted from here on.
  void start_clock() {
    cuda_check(cudaEventRecord(origin_.get(), kernels_.get()), "cudaEventRecord");
    counted_ = 0;
  }
  template <class Query>
  void compare(std::span<const Comparison<Query>> all);
  template <class Query>
  void compare_at_once(std::span<const Comparison<Query>> piece);

  template <class SomePattern>
  std::pair<std::int64_t, std::int64_t> windows_of(const SomePattern& pattern, std::int64_t first,
                                                   std::int64_t last) const;
  template <class SomePattern, class SomeTask, class Query>
  std::vector<std::vector<Piece>> plan(std::span<const SomePattern> patterns, std::span<const SomeTask> tasks,
                                       const std::vector<Query>& queries) const;
  template <class SomePattern, class SomeTask, class Query>
  std::vector<Pending> ask(Work& work, const std::vector<Piece>& pieces,
                           std::span<const SomePattern> patterns, std::span<const SomeTask> tasks,
                           const std::vector<Query>& queries);
  void choose_pruning(std::span<const Pattern> patterns, std::span<const Task> tasks,
                      const std::vector<DeviceQuery>& queries);
  /// Of several channels all matrices are computed.
  void choose_pruning(std::span<const JointPattern>, std::span<const JointTask>,
                      const std::vector<DeviceJoint>&) {
    choice_ = {.asked = Prune::never};
    tries_bounds_ = false;
  }
  float known_bound(std::size_t task, float most) const;
  bool prune(Work& work, const Pending& pending, float most, const Task& task,
             std::span<const Pattern> patterns, const std::vector<DeviceQuery>& queries) const;
  void count(const WorkLane& lane, const Pending& pending);
  template <class SomeTask>
  void collect(const WorkLane& lane, const std::vector<Pending>& pending, std::span<const SomeTask> tasks,
               std::vector<std::vector<Candidate>>& found);

  const Signal& signal_;
  IndexOptions options_;
  std::int64_t budget_, stride_;  // bytes, samples
  DeviceArray<float> resident_;   // null: does not fit
  DeviceBuffer query_memory_;
  CudaStream kernels_ = make_stream();
  std::array<WorkLane, 2> lanes_;
  CudaEvent origin_ = make_event();
  double counted_ = 0;                                // [s] since origin_
  std::vector<std::optional<Selection>> selections_;  // of tasks in more than one piece
  bool tries_bounds_ = false;                         // in the present best()
  Choice wanted_ = Choice::chosen;                    // also
  BoundsChoice choice_;
};

template <class Query>
void CudaBackend::compare(std::span<const Comparison<Query>> all) {
  start_clock();
  in_pieces<Query>(all, std::min(budget_, kPieceBytes),
                   [&](const std::vector<Comparison<Query>>& piece) { compare_at_once<Query>(piece); });
}

template <class Query>
void CudaBackend::compare_at_once(std::span<const Comparison<Query>> piece) {
  check_interrupt();
  std::int64_t windows = 0;
  std::vector<std::int64_t> begins;
  std::map<std::pair<const std::int64_t*, std::size_t>, std::int64_t> places;  // in `begins`
  for (const Comparison<Query>& one : piece) {
    windows += one.count;
    if (places.try_emplace({one.begins.data(), one.begins.size()}, std::ssize(begins)).second)
      begins.insert(begins.end(), one.begins.begin(), one.begins.end());
  }
  ProfileEntry* profile = nullptr;
  const auto ask = [&](Work& work) {
    profile = work.take_profile(windows);
    const std::int64_t* const device_begins = work.take_begins(begins);
    ProfileEntry* to = profile;
    for (const Comparison<Query>& one : piece) {
      const std::int64_t* const at =
          one.begins.empty() ? nullptr : device_begins + places.at({one.begins.data(), one.begins.size()});
      work.compare(one.query, 0, one.channel, one.first, one.count, at, to);
      to += one.count;
    }
    work.finish();
  };
  WorkLane& lane = lanes_[0];
  Work measured({signal_, resident_.get(), stride_, options_.normalization}, nullptr, nullptr);
  ask(measured);
  reserve(lane, measured);
  Work work = new_work(lane);
  ask(work);
  const WaitAtEnd wait(kernels_.get()), wait_copies(lane.copies.get());
  work.start(lane, kernels_.get());
  finish(lane, "computing distances");
  std::vector<ProfileEntry> entries(static_cast<std::size_t>(windows));
  cuda_check(
      cudaMemcpy(entries.data(), profile, entries.size() * sizeof(ProfileEntry), cudaMemcpyDeviceToHost),
      "copying distances");
  const ProfileEntry* from = entries.data();
  for (const Comparison<Query>& one : piece) {
    std::transform(from, from + one.count, one.distances, distance_of);
    from += one.count;
  }
}

/// Where the pattern's windows begin for offsets [first, last); none where the second is not the
/// larger.
template <class SomePattern>
std::pair<std::int64_t, std::int64_t> CudaBackend::windows_of(const SomePattern& pattern, std::int64_t first,
                                                              std::int64_t last) const {
  const std::int64_t windows = std::ssize(signal_[0]) - length_of(pattern) + 1, lead = lead_of(pattern);
  return {std::max<std::int64_t>(0, std::max(first, -kFarAway) + lead),
          std::min(windows, std::min(last, kFarAway) + lead)};
}

/// Whether bounds are tried at all.
void CudaBackend::choose_pruning(std::span<const Pattern> patterns, std::span<const Task> tasks,
                                 const std::vector<DeviceQuery>& queries) {
  double work = 0;
  for (const Task& task : tasks)
    for (std::int32_t p = task.first_pattern; p < task.first_pattern + task.patterns; ++p) {
      const auto [begin, end] = windows_of(patterns[p], task.first, task.last);
      if (begin < end) work += static_cast<double>(end - begin) * queries[p].kernel.cost;
    }
  choice_ = {.asked = options_.prune, .too_little = options_.prune == Prune::automatic && work < kLeastWork};
  tries_bounds_ = options_.prune != Prune::never && !choice_.too_little;
}

/// Pieces that are done together, in the order of tasks.
template <class SomePattern, class SomeTask, class Query>
std::vector<std::vector<Piece>> CudaBackend::plan(std::span<const SomePattern> patterns,
                                                  std::span<const SomeTask> tasks,
                                                  const std::vector<Query>& queries) const {
  constexpr bool kShares = std::is_same_v<SomeTask, Task>;  // scales, with other tasks of a batch
  const std::int64_t most = budget_ / 2;
  std::vector<std::vector<Piece>> batches(1);
  std::set<std::pair<std::int32_t, std::int32_t>> scaled;  // channels and lengths of the batch
  std::int64_t batch_bytes = 0;
  double batch_cost = 0;
  for (std::size_t t = 0; t < tasks.size(); ++t) {
    const SomeTask& task = tasks[t];
    std::int64_t first = kFarAway * 2, last = -kFarAway * 2, longest = 0;
    double cost = 0;
    std::set<std::int32_t> lengths;
    std::int64_t scaled_windows = 0;                            // at an offset: of all channels and lengths
    std::vector<std::pair<std::int64_t, std::int64_t>> ranges;  // of offsets that patterns have
    for (std::int32_t p = task.first_pattern; p < task.first_pattern + task.patterns; ++p) {
      const auto [begin, end] = windows_of(patterns[p], task.first, task.last);
      if (begin >= end) continue;
      ranges.emplace_back(begin - lead_of(patterns[p]), end - lead_of(patterns[p]));
      first = std::min(first, ranges.back().first);
      last = std::max(last, ranges.back().second);
      longest = std::max<std::int64_t>(longest, queries[p].length);
      if (lengths.insert(queries[p].length).second || !kShares) scaled_windows += channels_of(queries[p]);
      cost += queries[p].kernel.cost;
    }
    if (first >= last) continue;
    std::sort(ranges.begin(), ranges.end());
    const std::int64_t sample_bytes = resident_ != nullptr ? 0 : scaled_windows * std::int64_t{sizeof(float)};
    std::int64_t each = 9 + scaled_windows * std::int64_t{sizeof(WindowScale)} + sample_bytes;
    std::int64_t fixed = (longest + 1024) * (sample_bytes + 8) + 16384 * (kShares ? 1 : scaled_windows);
    // Lists and seeds; envelopes and jobs.
    const std::int64_t bound_each = task.patterns * std::int64_t{sizeof(std::uint32_t) + 1};
    const std::int64_t bound_fixed = task.patterns * (longest * std::int64_t{sizeof(EnvelopeSample)} + 2048);
    const bool bounded = tries_bounds_ && most >= fixed + bound_fixed + (each + bound_each) * kMomentRun;
    if (bounded) {
      each += bound_each;
      fixed += bound_fixed;
    }
    if (most < fixed + each * kMomentRun)
      throw OutOfMemory("a pattern of " + std::to_string(longest) + " samples needs at least " +
                        std::to_string(2 * (fixed + each * kMomentRun)) +
                        " bytes of the device: it may use " + std::to_string(budget_));
    std::int64_t size = std::min((most - fixed) / each, std::int64_t{0xFFFF0000});
    size = std::max<std::int64_t>(std::min(size, static_cast<std::int64_t>(kPieceInstructions / cost)),
                                  kMomentRun);
    for (std::int64_t begin = first; begin < last;) {
      // Leads may lie far apart: nothing is between.
      std::int64_t next = last;
      for (const auto& [from, to] : ranges)
        if (to > begin) next = std::min(next, std::max(begin, from));
      begin = next;
      std::int64_t end = begin;
      for (const auto& [from, to] : ranges)
        if (from <= end) end = std::max(end, to);
      end = std::min(end, begin + size);
      std::int64_t shared = 0;  // bytes of scales that others of the batch have
      for (const std::int32_t length : lengths)
        if (kShares && scaled.contains({channel_of(task), length}))
          shared += (end - begin) * std::int64_t{sizeof(WindowScale)};
      const std::int64_t bytes = each * (end - begin) + fixed;
      const double work = cost * static_cast<double>(end - begin);
      const bool full = batch_bytes + bytes - shared > std::min(most, kPieceBytes) ||
                        batch_cost + work > kPieceInstructions;
      if (full && !batches.back().empty()) {
        batches.emplace_back();
        scaled.clear();
        batch_bytes = shared = 0;
        batch_cost = 0;
      }
      const bool alone = begin == first && end == last;
      batches.back().push_back({t, begin, end, alone, alone && wanted_ == Choice::chosen, bounded});
      for (const std::int32_t length : lengths) scaled.emplace(channel_of(task), length);
      batch_bytes += bytes - shared;
      batch_cost += work;
      begin = end;
    }
  }
  if (batches.back().empty()) batches.pop_back();
  return batches;
}

template <class SomePattern, class SomeTask, class Query>
std::vector<Pending> CudaBackend::ask(Work& work, const std::vector<Piece>& pieces,
                                      std::span<const SomePattern> patterns, std::span<const SomeTask> tasks,
                                      const std::vector<Query>& queries) {
  std::vector<Pending> pending;
  std::int64_t entries = 0;
  for (const Piece& piece : pieces) entries += piece.last - piece.first;
  ProfileEntry* profile = work.take_profile(entries);
  for (const Piece& piece : pieces) {
    const SomeTask& task = tasks[piece.task];
    const std::int64_t count = piece.last - piece.first;
    const float most = std::min(task.max_distance, std::numeric_limits<float>::max());
    Pending one{.piece = piece, .profile = profile, .limit = 0};
    bool pruned = false;
    if constexpr (std::is_same_v<SomeTask, Task>) pruned = prune(work, one, most, task, patterns, queries);
    for (std::int32_t p = task.first_pattern; p < task.first_pattern + task.patterns; ++p) {
      const auto [begin, end] = windows_of(patterns[p], piece.first, piece.last);
      if (begin >= end) continue;
      ProfileEntry* const entries_of = profile + (begin - lead_of(patterns[p]) - piece.first);
      const auto number = static_cast<std::uint32_t>(p);
      const auto compare = [&] {
        if constexpr (std::is_same_v<SomeTask, Task>)
          if (pruned)
            return work.compare_pruned(queries[p], number, task.channel, begin, end - begin, entries_of);
        return work.compare(queries[p], number, channel_of(task), begin, end - begin, nullptr, entries_of);
      };
      one.compared.push_back(compare());
    }
    // Offsets of a task that are chosen with twice its zone say how far all others can be that are ever
    // chosen.
    const std::int64_t zone = std::min(task.exclusion, count) * (piece.whole ? 1 : 2);
    one.limit = std::min(task.limit, count / (zone + 1) + 1);
    if (piece.whole && one.limit > kMostChosen) one.limit = 0;
    if (!piece.whole && (one.limit > kMostChosen || one.limit < task.limit)) one.limit = 1;  // no bound
    if (one.limit > 0) {
      auto* const chosen = work.take_result<ProfileEntry>(one.limit);
      auto* const of = work.take_result<std::uint32_t>(one.limit);
      auto* const chosen_count = work.take_result<std::int32_t>(1);
      work.select({.profile = profile,
                   .fans = work.take<ProfileEntry>(fans_of(count)),
                   .superfans = work.take<ProfileEntry>(fans_of(fans_of(count))),
                   .count = count,
                   .exclusion = zone,
                   .limit = static_cast<std::int32_t>(one.limit),
                   .max_distance = most,
                   .chosen = chosen,
                   .patterns = of,
                   .chosen_count = chosen_count,
                   .first_block = 0});
      one.chosen = chosen;
      one.patterns = of;
      one.chosen_count = chosen_count;
      if (!piece.whole) {
        const std::int64_t room = std::min(count, kRoom);
        auto* const places = work.take_result<std::uint32_t>(room);
        auto* const collected_entries = work.take_result<ProfileEntry>(room);
        auto* const collected = work.take_result<std::uint32_t>(1);
        work.collect({.profile = profile,
                      .count = count,
                      .bound = known_bound(piece.task, most),
                      .chosen = chosen,
                      .chosen_count = chosen_count,
                      .limit = one.limit == task.limit ? static_cast<std::int32_t>(one.limit) : -1,
                      .room = static_cast<std::int32_t>(room),
                      .places = places,
                      .entries = collected_entries,
                      .collected = collected});
        one.places = places;
        one.entries = collected_entries;
        one.collected = collected;
      }
    }
    pending.push_back(std::move(one));
    profile += count;
  }
  work.finish();
  for (Pending& one : pending) one.bounds = work.bound_counts();
  return pending;
}

/// What is known of a task's largest distance.
float CudaBackend::known_bound(std::size_t task, float most) const {
  return selections_[task] ? std::min(most, selections_[task]->bound()) : most;
}

/// @return whether what is compared next may be left out
bool CudaBackend::prune(Work& work, const Pending& pending, float most, const Task& task,
                        std::span<const Pattern> patterns, const std::vector<DeviceQuery>& queries) const {
  const Piece& piece = pending.piece;
  if (!piece.bounded) return false;
  PrunedTask pruned{.profile = pending.profile,
                    .offsets = piece.last - piece.first,
                    .exclusion = task.exclusion,
                    .limit = task.limit,
                    .length = 0,
                    .matrix_cost = std::numeric_limits<double>::infinity(),
                    .most = known_bound(piece.task, most),
                    .always = options_.prune == Prune::always};
  for (std::int32_t p = task.first_pattern; p < task.first_pattern + task.patterns; ++p) {
    const auto [begin, end] = windows_of(patterns[p], piece.first, piece.last);
    if (begin >= end) continue;
    pruned.length = std::max<std::int64_t>(pruned.length, queries[p].length);
    pruned.matrix_cost = std::min(pruned.matrix_cost, queries[p].kernel.cost);
  }
  const bool has_bound = pruned.seeds().groups > 0 || pruned.most < std::numeric_limits<float>::max();
  if (!pruned.always && !has_bound) return false;
  work.prune(pruned);
  return true;
}

/// Of a piece whose results have come.
void CudaBackend::count(const WorkLane& lane, const Pending& pending) {
  for (const Compared& one : pending.compared) {
    const auto missing = static_cast<std::int64_t>(*lane.host(one.missing));
    std::int64_t computed = one.windows;
    effort.windows += static_cast<std::uint64_t>(one.windows);
    effort.skipped += static_cast<std::uint64_t>(missing);
    if (one.bounds < 0) {
      ++choice_.boundless;
    } else {
      const BoundCounts& counts = lane.host(pending.bounds)[one.bounds];
      if (counts.used != 0) {
        computed = counts.left;
        ++choice_.pruned;
        choice_.windows += one.windows;
        choice_.left += counts.left;
        effort.bounded += static_cast<std::uint64_t>(one.windows - missing - computed);
      } else {
        ++choice_.refused;
        choice_.sampled += sampling(one.windows).windows;
        choice_.sample_left += counts.sample_left;
      }
    }
    effort.cells += static_cast<std::uint64_t>((one.seeds + computed) * one.cells);
  }
}

template <class SomeTask>
void CudaBackend::collect(const WorkLane& lane, const std::vector<Pending>& pending,
                          std::span<const SomeTask> tasks, std::vector<std::vector<Candidate>>& found) {
  for (const Pending& one : pending) {
    const Piece& piece = one.piece;
    const SomeTask& task = tasks[piece.task];
    count(lane, one);
    if (piece.whole && one.limit > 0) {
      for (std::int32_t k = 0; k < *lane.host(one.chosen_count); ++k) {
        const ProfileEntry entry = lane.host(one.chosen)[k];
        found[piece.task].push_back({piece.first + static_cast<std::uint32_t>(entry), distance_of(entry),
                                     static_cast<std::int32_t>(lane.host(one.patterns)[k])});
      }
      continue;
    }
    const auto candidate = [&](std::int64_t place, ProfileEntry entry) {
      return Candidate{piece.first + place, distance_of(entry), static_cast<std::int32_t>(entry)};
    };
    const std::int64_t count = piece.last - piece.first;
    std::optional<std::vector<Candidate>> collected;
    if (one.limit > 0 && *lane.host(one.collected) <= std::min(count, kRoom)) {
      collected.emplace();
      for (std::uint32_t i = 0; i < *lane.host(one.collected); ++i)
        collected->push_back(candidate(lane.host(one.places)[i], lane.host(one.entries)[i]));
      if (wanted_ == Choice::kept && piece.alone) {  // they keep to the bound that a selection would find
        found[piece.task] = std::move(*collected);
        continue;
      }
    }
    std::optional<Selection>& selection = selections_[piece.task];
    if (!selection) selection.emplace(task.limit, task.exclusion, task.max_distance);
    if (collected) {
      selection->add(*collected);
      continue;
    }
    std::vector<ProfileEntry> entries(static_cast<std::size_t>(count));
    cuda_check(cudaMemcpy(entries.data(), one.profile, entries.size() * sizeof(ProfileEntry),
                          cudaMemcpyDeviceToHost),
               "copying a profile");
    for (std::int64_t i = 0; i < count; ++i)
      selection->add(candidate(i, entries[static_cast<std::size_t>(i)] & ~kExcluded));
  }
}

template <class SomePattern, class SomeTask>
std::vector<std::vector<Candidate>> CudaBackend::best_of(std::span<const SomePattern> patterns,
                                                         std::span<const SomeTask> tasks, Choice choice) {
  std::vector<std::vector<Candidate>> found(tasks.size());
  wanted_ = choice;
  selections_.assign(tasks.size(), {});
  start_clock();
  const auto queries = uploaded(patterns);
  choose_pruning(patterns, tasks, queries);
  const std::vector<std::vector<Piece>> batches = plan(patterns, tasks, queries);
  std::array<std::vector<Pending>, 2> pending;
  const WaitAtEnd wait_0(lanes_[0].copies.get()), wait_1(lanes_[1].copies.get()), wait(kernels_.get());
  const auto settle = [&](std::size_t lane) {
    if (pending[lane].empty()) return;
    finish(lanes_[lane], "searching");
    collect(lanes_[lane], std::exchange(pending[lane], {}), tasks, found);
  };
  std::set<std::string> kernels;
  for (std::size_t b = 0; b < batches.size(); ++b) {
    check_interrupt();
    WorkLane& lane = lanes_[b % 2];
    settle(b % 2);
    Work measured({signal_, resident_.get(), stride_, options_.normalization}, nullptr, nullptr);
    ask(measured, batches[b], patterns, tasks, queries);
    reserve(lane, measured);
    Work work = new_work(lane);
    std::vector<Pending> asked = ask(work, batches[b], patterns, tasks, queries);
    work.start(lane, kernels_.get());
    pending[b % 2] = std::move(asked);
    kernels.insert(work.kernel());
  }
  settle(batches.size() % 2);
  settle((batches.size() + 1) % 2);
  for (std::size_t t = 0; t < tasks.size(); ++t)
    if (selections_[t])
      found[t] = choice == Choice::chosen ? selections_[t]->finish() : selections_[t]->kept();
  effort.choice = (std::is_same_v<SomeTask, Task> ? choice_.text() : "every matrix was computed") + "; in " +
                  std::to_string(batches.size()) + " pieces";
  for (const std::string& kernel : kernels) effort.choice += "; " + kernel;
  return found;
}

}  // namespace

std::unique_ptr<Backend> make_cuda_backend(const Signal& signal, const IndexOptions& options) {
  return std::make_unique<CudaBackend>(signal, options);
}

}  // namespace warploom::search
