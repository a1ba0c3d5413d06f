#include "warploom/core/version.hpp"

#include "warploom/config.hpp"

namespace warploom {

std::string_view version() { return WARPLOOM_VERSION; }

}  // namespace warploom
