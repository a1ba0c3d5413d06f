#include "warploom/page/page.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "page/embedded.hpp"
#include "warploom/page/text.hpp"

namespace warploom::page {

std::string to_html(const Page& page) {
  return fmt::format(
             "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"/>"
             "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>"
             "<title>{}</title><style>\n{}{}</style></head>\n<body><header><h1>{}</h1>{}</header>\n",
             escaped(page.title), embedded::common_css, fmt::join(page.styles, ""), escaped(page.heading),
             page.lead) +
         page.body +
         fmt::format("\n<footer>{}</footer>{}{}{}</body></html>\n", page.footer,
                     page.scripts.empty() ? "" : "<script>\n", fmt::join(page.scripts, ""),
                     page.scripts.empty() ? "" : "</script>");
}

std::string_view reveal_script() { return embedded::reveal_js; }

}  // namespace warploom::page
