#pragma once

#include <cstdint>
#include <functional>

namespace warploom {

/// Threads that parallel_for uses: those of the current Run, else one a processor this process may run on;
/// inside a body, where it runs on the calling thread, 1.
unsigned threads();

/// Calls body(k) once for each k in [0, count), on several threads; the calling thread takes part. Which
/// thread runs which k is not specified, so a body that sums writes its part to a place of its own, k, and
/// the parts are added in order afterwards: then the result does not depend on the number of threads.
///
/// The first exception that a body throws is thrown again here, after the other threads have stopped; then
/// not every k was run. An empty function is BadInput. A parallel_for inside a body runs on the thread that
/// calls it. Calls from several threads run at once: each on its caller's thread, and all share the others.
/// @note About 5 us where the threads wait already; a body should be worth 10 us and more.
void parallel_for(std::int64_t count, const std::function<void(std::int64_t)>& body);

}  // namespace warploom
