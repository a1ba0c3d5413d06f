#pragma once

#include <condition_variable>
#include <cstring>
#include <exception>
#include <functional>
#include <mutex>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "warploom/core/error.hpp"
#include "warploom/core/ranks.hpp"
#include "warploom/core/run.hpp"

namespace warploom {

/// Ranks that are threads of one process.
class ThreadRanks {
 public:
  /// body(ranks) for each of `count` ranks at once, with a thread each to compute on.
  /// @throws what the first that fails throws; the others are let go
  static void run(std::size_t count, const std::function<void(Ranks&)>& body) {
    Shared shared(count);
    std::exception_ptr failed;
    std::vector<std::jthread> threads;
    for (std::size_t rank = 0; rank < count; ++rank)
      threads.emplace_back([&, rank] {
        const RunScope scope({.threads = 1});
        One one(shared, rank);
        try {
          body(one);
        } catch (...) {
          const std::lock_guard lock(shared.mutex);
          if (!shared.failed) failed = std::current_exception();
          shared.failed = true;
          shared.changed.notify_all();
        }
      });
    threads.clear();  // joins
    if (failed) std::rethrow_exception(failed);
  }

 private:
  struct Shared {
    explicit Shared(std::size_t count) : box(count, std::vector<std::string>(count)) {}
    /// Until all ranks are here.
    void meet() {
      std::unique_lock lock(mutex);
      const std::size_t mine = meetings;
      if (++here == box.size()) {
        here = 0;
        ++meetings;
        changed.notify_all();
      }
      changed.wait(lock, [&] { return failed || meetings != mine; });
      if (meetings == mine) throw Interrupted();
    }
    std::mutex mutex;
    std::condition_variable changed;
    std::size_t here = 0, meetings = 0;
    bool failed = false;
    std::vector<std::vector<std::string>> box;  // [from][to]
  };

  class One : public Ranks {
   public:
    One(Shared& shared, std::size_t rank) : shared_(shared), rank_(rank) {}
    std::size_t rank() const override { return rank_; }
    std::size_t count() const override { return shared_.box.size(); }
    std::vector<std::string> exchange(std::vector<std::string> to) override {
      shared_.box[rank_] = std::move(to);
      shared_.meet();
      std::vector<std::string> from;
      for (std::size_t rank = 0; rank < count(); ++rank)
        from.push_back(std::move(shared_.box[rank].at(rank_)));
      shared_.meet();
      return from;
    }
    void broadcast(std::size_t root, std::span<std::byte> bytes) override {
      if (rank_ == root)
        shared_.box[root][0].assign(reinterpret_cast<const char*>(bytes.data()), bytes.size());
      shared_.meet();
      if (rank_ != root) std::memcpy(bytes.data(), shared_.box[root][0].data(), bytes.size());
      shared_.meet();
    }

   private:
    Shared& shared_;
    std::size_t rank_;
  };
};

}  // namespace warploom
