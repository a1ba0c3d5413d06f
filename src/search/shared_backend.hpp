#pragma once

#include <memory>
#include <span>

#include "search/backend.hpp"

namespace warploom::search {

/// Makes the back end of one device, while that is the current one.
using MakeBackend = std::unique_ptr<Backend> (*)(Device device, const Signal& signal,
                                                 const IndexOptions& options);

/// Several devices that search together. All work of a call, task behind task, is one line of windows; each
/// device gets a stretch of it, all of about the same cost. So a recording with many channels is dealt out by
/// pairs of them, and one with few is cut. What is found does not depend on where: a device whose stretch
/// begins or ends within a task says which candidates it keeps, and the choice is made from all that are
/// kept.
/// @param least  [cells] calls that compute less are the first device's alone
std::unique_ptr<Backend> make_shared_backend(std::span<const Device> devices, const Signal& signal,
                                             const IndexOptions& options, MakeBackend make, double least);

}  // namespace warploom::search
