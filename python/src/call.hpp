#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <functional>
#include <optional>
#include <string>
#include <type_traits>

#include "warploom/core/run.hpp"

namespace warploom::python {

namespace nb = nanobind;

/// What every call that works takes: where it runs, and who is told how far it is.
struct Asked {
  std::string device = "auto";
  unsigned threads = 0;
  nb::object progress = nb::none();  ///< None, or a callable that takes what ProgressState has
};

/// How long a call may take. Releasing the GIL costs some hundred nanoseconds, a thread some ten
/// microseconds.
enum class Length {
  instant,  ///< microseconds: under the GIL
  brief,    ///< less than some 50 ms: without it
  long_     ///< more: on a thread of its own, while the calling one looks for Ctrl-C every 50 ms and tells of
            ///< progress
};
/// By an estimate [s]
inline Length length_of(double seconds) {
  return seconds < 20e-6 ? Length::instant : seconds < 0.02 ? Length::brief : Length::long_;
}

/// Calls work(run) as it is asked; Length::long_, or with progress, on another thread. @throws what it
/// throws, or what a signal's handler (KeyboardInterrupt) or `progress` raised, after the work has stopped
void run_work(const Asked& asked, Length length, const std::function<void(const Run&)>& work);

/// As it is asked, but for `stop` and `progress`.
Run run_of(const Asked& asked);

/// The same of work that gives something.
template <class Work>
auto run_asked(const Asked& asked, Length length, const Work& work) {
  std::optional<std::invoke_result_t<Work, const Run&>> result;
  run_work(asked, length, [&](const Run& run) { result.emplace(work(run)); });
  return std::move(*result);
}

}  // namespace warploom::python
