#pragma once

#include <string>
#include <string_view>

namespace warploom::page {

/// RFC 4648, with padding: bytes as they may stand in a page.
std::string base64(std::string_view bytes);

}  // namespace warploom::page
