#include "search/shared_backend.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numeric>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/several_devices.hpp"
#include "search/selection.hpp"

namespace warploom::search {
namespace {

double cells_of(const Pattern& pattern) {
  const std::int64_t length = std::ssize(pattern.samples);
  return static_cast<double>(band_cells(length, std::min(pattern.radius, length - 1)));
}
double cells_of(const JointPattern& pattern) {
  const std::int64_t length = pattern.length();
  return static_cast<double>(band_cells(length, std::min(pattern.radius, length - 1))) *
         static_cast<double>(pattern.samples.size());
}
std::int64_t length_of(const Pattern& pattern) { return std::ssize(pattern.samples); }
std::int64_t length_of(const JointPattern& pattern) { return pattern.length(); }
std::int64_t lead_of(const Pattern& pattern) { return pattern.lead; }
std::int64_t lead_of(const JointPattern&) { return 0; }

/// A stretch of item `of` of the work: [first, first + count) of its places.
struct Stretch {
  std::size_t of;
  std::int64_t first, count;
};

/// An item of the work: so many places, each of which costs the same.
struct Item {
  std::int64_t count;
  double cost;  ///< of a place
};

/// For each device its stretches, in the order of items, which they cover. Depends on nothing but the
/// arguments.
std::vector<std::vector<Stretch>> deal(std::span<const Item> items, std::size_t devices, double least) {
  double all = 0;
  for (const Item& item : items) all += static_cast<double>(item.count) * item.cost;
  std::vector<std::vector<Stretch>> dealt(devices);
  const double share = all < least ? all : all / static_cast<double>(devices);
  double before = 0;  // cost of the items before
  for (std::size_t i = 0; i < items.size(); ++i) {
    const Item& item = items[i];
    const double cost = static_cast<double>(item.count) * item.cost;
    // The place at which device d's stretch of the line begins.
    const auto begin_of = [&](std::size_t d) {
      if (d == 0 || share == 0) return std::int64_t{0};
      const double places = (share * static_cast<double>(d) - before) / item.cost;
      return static_cast<std::int64_t>(std::clamp(std::round(places), 0.0, static_cast<double>(item.count)));
    };
    for (std::size_t d = 0; d < devices; ++d) {
      const std::int64_t first = begin_of(d);
      const std::int64_t end = d + 1 == devices || share == 0 ? item.count : begin_of(d + 1);
      if (end > first) dealt[d].push_back({i, first, end - first});
      if (share == 0) break;
    }
    before += cost;
  }
  return dealt;
}

class SharedBackend : public Backend {
 public:
  SharedBackend(std::span<const Device> devices, const Signal& signal, const IndexOptions& options,
                MakeBackend make, double least)
      : devices_(devices.begin(), devices.end()),
        samples_(std::ssize(signal[0])),
        least_(least),
        parts_(devices.size()) {
    on_devices(devices_, [&](std::size_t d) {
      IndexOptions own = options;
      own.run.devices = {devices_[d]};
      parts_[d] = make(devices_[d], signal, own);
    });
  }
  SharedBackend(const SharedBackend&) = delete;
  SharedBackend& operator=(const SharedBackend&) = delete;
  ~SharedBackend() override {
    for (std::size_t d = 0; d < parts_.size(); ++d) {
      const OnDevice current(devices_[d]);
      parts_[d].reset();
    }
  }

  std::vector<float> profile(const Pattern& pattern, std::int32_t channel, std::int64_t first,
                             std::int64_t count) override {
    return profile_of(cells_of(pattern), first, count,
                      [&](Backend& part, std::int64_t from, std::int64_t many) {
                        return part.profile(pattern, channel, from, many);
                      });
  }
  std::vector<float> profile(const JointPattern& pattern, std::int64_t first, std::int64_t count) override {
    return profile_of(cells_of(pattern), first, count,
                      [&](Backend& part, std::int64_t from, std::int64_t many) {
                        return part.profile(pattern, from, many);
                      });
  }
  std::vector<std::vector<float>> distances(std::span<const Pattern> patterns,
                                            std::span<const Windows> windows) override {
    return distances_of(patterns, windows);
  }
  std::vector<std::vector<float>> distances(std::span<const JointPattern> patterns,
                                            std::span<const JointWindows> windows) override {
    return distances_of(patterns, windows);
  }
  std::vector<std::vector<Candidate>> best(std::span<const Pattern> patterns, std::span<const Task> tasks,
                                           Choice choice) override {
    return best_of(patterns, tasks, choice);
  }
  std::vector<std::vector<Candidate>> best(std::span<const JointPattern> patterns,
                                           std::span<const JointTask> tasks, Choice choice) override {
    return best_of(patterns, tasks, choice);
  }
  const WindowMoments* moments(std::int32_t channel, std::int64_t length) override {
    return parts_[0]->moments(channel, length);
  }

 private:
  /// work(d, stretches of device d) for each device that has some.
  template <class Work>
  void share(const std::vector<std::vector<Stretch>>& dealt, const Work& work) {
    std::vector<double> seconds_before;
    for (const auto& part : parts_) seconds_before.push_back(part->effort.device_seconds);
    const auto busy = static_cast<std::size_t>(
        dealt.rend() - std::ranges::find_if(dealt.rbegin(), dealt.rend(),
                                            [](const auto& stretches) { return !stretches.empty(); }));
    on_devices(std::span(devices_).first(busy), [&](std::size_t d) {
      if (!dealt[d].empty()) work(d, std::span<const Stretch>(dealt[d]));
    });
    effort.windows = effort.skipped = effort.bounded = effort.cells = 0;
    double longest = 0;  // the devices work at the same time
    for (std::size_t d = 0; d < parts_.size(); ++d) {
      const Effort& own = parts_[d]->effort;
      effort.windows += own.windows;
      effort.skipped += own.skipped;
      effort.bounded += own.bounded;
      effort.cells += own.cells;
      longest = std::max(longest, own.device_seconds - seconds_before[d]);
    }
    effort.device_seconds += longest;
    effort.choice = parts_[0]->effort.choice;
    if (busy > 1) effort.choice = fmt::format("{} devices, of which the first: {}", busy, effort.choice);
  }

  template <class Profile>
  std::vector<float> profile_of(double cells, std::int64_t first, std::int64_t count,
                                const Profile& profile) {
    const Item item{count, cells};
    std::vector<float> all(static_cast<std::size_t>(count));
    share(deal({&item, 1}, parts_.size(), least_), [&](std::size_t d, std::span<const Stretch> stretches) {
      for (const Stretch& one : stretches)
        std::ranges::copy(profile(*parts_[d], first + one.first, one.count), all.begin() + one.first);
    });
    return all;
  }

  template <class SomePattern, class SomeWindows>
  std::vector<std::vector<float>> distances_of(std::span<const SomePattern> patterns,
                                               std::span<const SomeWindows> windows) {
    std::vector<Item> items;
    std::vector<std::vector<float>> all;
    for (const SomeWindows& some : windows) {
      items.push_back({std::ssize(some.offsets), cells_of(patterns[some.pattern])});
      all.emplace_back(some.offsets.size());
    }
    share(deal(items, parts_.size(), least_), [&](std::size_t d, std::span<const Stretch> stretches) {
      std::vector<SomeWindows> own;
      for (const Stretch& one : stretches) {
        own.push_back(windows[one.of]);
        own.back().offsets = own.back().offsets.subspan(static_cast<std::size_t>(one.first),
                                                        static_cast<std::size_t>(one.count));
      }
      const std::vector<std::vector<float>> found = parts_[d]->distances(patterns, own);
      for (std::size_t s = 0; s < stretches.size(); ++s)
        std::ranges::copy(found[s], all[stretches[s].of].begin() + stretches[s].first);
    });
    return all;
  }

  template <class SomePattern, class SomeTask>
  std::vector<std::vector<Candidate>> best_of(std::span<const SomePattern> patterns,
                                              std::span<const SomeTask> tasks, Choice choice) {
    std::vector<Item> items;
    std::vector<std::int64_t> begins;  // of tasks: their first offset that is one of a window
    for (const SomeTask& task : tasks) {
      constexpr std::int64_t kFar = std::int64_t{1} << 61;  // to which a lead can be added
      std::int64_t begin = kFar, end = -kFar;
      double cost = 0;
      for (const SomePattern& pattern : patterns.subspan(static_cast<std::size_t>(task.first_pattern),
                                                         static_cast<std::size_t>(task.patterns))) {
        const std::int64_t lead = lead_of(pattern);
        begin = std::min(begin, std::max(std::max(task.first, -kFar), -lead));
        end = std::max(end, std::min(std::min(task.last, kFar), samples_ - length_of(pattern) + 1 - lead));
        cost += cells_of(pattern);
      }
      begins.push_back(begin);
      items.push_back({std::max<std::int64_t>(0, end - begin), cost});
    }
    // [device][stretch of it]
    std::vector<std::vector<std::vector<Candidate>>> found(parts_.size());
    const std::vector<std::vector<Stretch>> dealt = deal(items, parts_.size(), least_);
    const auto is_whole = [&](const Stretch& one) { return one.count == items[one.of].count; };
    share(dealt, [&](std::size_t d, std::span<const Stretch> stretches) {
      // At most the first and the last of a device's stretches are parts of tasks.
      for (const auto& group : {Choice::chosen, Choice::kept}) {
        std::vector<SomeTask> own;
        std::vector<std::size_t> places;
        for (std::size_t s = 0; s < stretches.size(); ++s) {
          const Stretch& one = stretches[s];
          if ((is_whole(one) ? choice : Choice::kept) != group) continue;
          SomeTask& task = own.emplace_back(tasks[one.of]);
          task.first = begins[one.of] + one.first;
          task.last = task.first + one.count;
          places.push_back(s);
        }
        found[d].resize(stretches.size());
        if (own.empty()) continue;
        std::vector<std::vector<Candidate>> some = parts_[d]->best(patterns, own, group);
        for (std::size_t k = 0; k < places.size(); ++k) {
          if (group == Choice::kept) std::ranges::sort(some[k], chosen_before);
          found[d][places[k]] = std::move(some[k]);
        }
      }
    });
    std::vector<std::vector<Candidate>> all(tasks.size());
    for (std::size_t d = 0; d < dealt.size(); ++d)
      for (std::size_t s = 0; s < dealt[d].size(); ++s) {
        const Stretch& one = dealt[d][s];
        std::vector<Candidate>& to = all[one.of];
        if (is_whole(one)) {
          to = std::move(found[d][s]);
        } else {
          const auto middle = std::ssize(to);
          to.insert(to.end(), found[d][s].begin(), found[d][s].end());
          std::inplace_merge(to.begin(), to.begin() + middle, to.end(), chosen_before);
        }
      }
    if (choice == Choice::chosen)
      for (const std::vector<Stretch>& stretches : dealt)
        for (const Stretch& one : stretches) {
          const SomeTask& task = tasks[one.of];
          if (!is_whole(one) && one.first == 0)
            all[one.of] = choose(all[one.of], task.limit, std::min(task.exclusion, kLargestZone));
        }
    return all;
  }

  std::vector<Device> devices_;
  std::int64_t samples_;
  double least_;
  std::vector<std::unique_ptr<Backend>> parts_;  // of the devices
};

}  // namespace

std::unique_ptr<Backend> make_shared_backend(std::span<const Device> devices, const Signal& signal,
                                             const IndexOptions& options, MakeBackend make, double least) {
  return std::make_unique<SharedBackend>(devices, signal, options, make, least);
}

}  // namespace warploom::search
