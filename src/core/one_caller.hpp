#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <string_view>

#include "core/doors.hpp"
#include "warploom/core/error.hpp"

namespace warploom {

/// Of an object that one thread at a time may use: each call of it holds a Call, and a second one at the same
/// moment is refused, which would else break the object. Cost: an atomic exchange a call.
class OneCaller {
 public:
  class Call {
   public:
    /// @throws BadInput (another call is under way); `object` as users call it: "search::Index"
    Call(OneCaller& of, std::string_view object) : of_(of) {
      if (of_.busy_.exchange(true, std::memory_order_acquire))
        throw BadInput("two threads use one " + std::string(object) +
                       " at once: give each thread its own, or let them take turns, by a mutex for instance");
    }
    Call(const Call&) = delete;
    Call& operator=(const Call&) = delete;
    ~Call() { of_.busy_.store(false, std::memory_order_release); }

   private:
    OneCaller& of_;
  };

 private:
  std::atomic<bool> busy_ = false;
};

/// The right to an object's state, which has a OneCaller `caller`: one call at a time has it.
template <class State>
class CallOf {
 public:
  /// @throws BadInput (moved from; another call is under way)
  CallOf(const std::unique_ptr<State>& state, std::string_view what, std::string_view object)
      : state_(held(state, what)), call_(state_.caller, object) {}

  State& operator*() const { return state_; }
  State* operator->() const { return &state_; }

 private:
  State& state_;
  OneCaller::Call call_;
};

}  // namespace warploom
