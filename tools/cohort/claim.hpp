#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <thread>

namespace warploom::tool {

/// Of this machine.
std::string host_name();

/// Who works on an item: a file that only one worker can have made. Workers share a folder and nothing else:
/// no clock, no server, no lock of the file system but that of a name that exists.
///
/// A claim is made by link(), of which one of several succeeds, on NFS, too. Its owner counts in it, a beat
/// in so many seconds. Who wants the item and sees three beats' time, by his own clock, without a new number
/// takes it over; the next beat's owner sees that its claim is gone and throws its work away. On one machine
/// a worker that died is known at once.
class Claims {
 public:
  /// @param folder  of all claims; made if it is not there
  /// @param beat  between two signs of life
  Claims(std::filesystem::path folder, std::chrono::milliseconds beat);
  Claims(const Claims&) = delete;
  Claims& operator=(const Claims&) = delete;
  /// Gives back what is still held.
  ~Claims();

  enum class Taken { mine, busy };
  struct Answer {
    Taken taken = Taken::busy;
    std::string tag;  ///< of this claim: stands in the names of files that are being written for it
  };
  /// Tries once.
  /// @param clear  is called with the tag of a claim whose owner is gone, before the claim is taken over: it
  /// clears
  ///        away what he left
  /// @throws BadInput (the folder cannot be written to)
  Answer take(const std::string& item, const std::function<void(const std::string& tag)>& clear);
  /// Is the claim still this worker's?
  bool holds(const std::string& item);
  void release(const std::string& item);

 private:
  using Clock = std::chrono::steady_clock;
  struct Seen {
    std::string text;
    Clock::time_point since;
  };
  struct Held {
    std::string tag;
    std::uint64_t beats = 0;
  };

  std::filesystem::path path(const std::string& item) const;
  std::string text(const Held& held) const;
  bool make(const std::string& item, const Held& held);
  bool is_dead(const std::string& item, const std::string& text);
  bool take_away(const std::string& item, const std::string& text) const;
  void beat_all();

  const std::filesystem::path folder_;
  const std::chrono::milliseconds beat_;
  const std::string worker_;
  std::mutex mutex_;  // of what follows
  std::map<std::string, Held> held_;
  std::map<std::string, Seen> seen_;
  std::uint64_t made_ = 0;
  std::jthread beating_;
};

}  // namespace warploom::tool
