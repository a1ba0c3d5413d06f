#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace warploom::page {

/// A page in one HTML file that needs nothing else. What is HTML is taken as it is.
struct Page {
  std::string title = {};    ///< of the window; text
  std::string heading = {};  ///< text
  std::string lead = {};     ///< HTML under the heading
  std::string body = {};     ///< HTML, with its <main>
  std::string footer = {};   ///< HTML
  /// Style sheets, after the one that all pages share, src/page/common.css. Scripts run when all has been
  /// read.
  std::vector<std::string_view> styles = {}, scripts = {};
};
std::string to_html(const Page& page);

/// A script for pages with <details>: opens those that hold what the address names, and all of them in print.
std::string_view reveal_script();

}  // namespace warploom::page
