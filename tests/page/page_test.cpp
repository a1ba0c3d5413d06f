#include "warploom/page/page.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "warploom/page/html.hpp"

namespace warploom::page {
namespace {

using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

Page page() {
  return {.title = "a < b",
          .heading = "c & d",
          .lead = "<p>lead</p>",
          .body = "<main>body</main>",
          .footer = "foot",
          .styles = {".own{}", ".too{}"},
          .scripts = {"one();", "two();"}};
}

TEST(Page, HasItsPartsInOrderAndTheCommonStyleFirst) {
  EXPECT_THAT(
      to_html(page()),
      AllOf(StartsWith("<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"/>"),
            HasSubstr("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>"),
            HasSubstr("<title>a &lt; b</title>"), HasSubstr("color-scheme: light dark"),
            HasSubstr("}\n.own{}.too{}</style>"),
            HasSubstr("<h1>c &amp; d</h1><p>lead</p></header>\n<main>body</main>\n<footer>foot</footer>"),
            EndsWith("<script>\none();two();</script></body></html>\n")));
}

TEST(Page, WithoutScriptsHasNone) {
  Page plain = page();
  plain.scripts = {};
  EXPECT_THAT(to_html(plain), AllOf(Not(HasSubstr("<script")), EndsWith("</footer></body></html>\n")));
}

TEST(Page, NeedsNothingFromElsewhere) {
  const std::string text = to_html(page()) + std::string(reveal_script());
  for (const char* words : {"http:", "https:", "url(", "@import", "src=", "<link"})
    EXPECT_THAT(text, Not(HasSubstr(words)));
}

TEST(Page, IsLightOnPaper) {
  const std::string text = to_html(page());
  EXPECT_THAT(text,
              AllOf(HasSubstr("@media print"), HasSubstr("@media screen and (prefers-color-scheme: dark)"),
                    Not(HasSubstr("@media (prefers-color-scheme"))));
  EXPECT_THAT(std::string(reveal_script()), HasSubstr("beforeprint"));
}

TEST(Pieces, AreWhatCommonCssStyles) {
  EXPECT_EQ(
      facts({{"what", "1", "more"}, {"x", "2", ""}}),
      "<dl class=\"facts\"><div><dt>what</dt><dd>1<small>more</small></dd></div><div><dt>x</dt><dd>2</dd></div></dl>");
  EXPECT_EQ(
      table({{"a"}, {"b", "number"}}, "<tr></tr>", "cards"),
      "<div class=\"scroll\" tabindex=\"0\" role=\"group\" aria-label=\"Table: a, b\"><table class=\"cards\"><thead><tr><th scope=\"col\">a</th>"
      "<th scope=\"col\" class=\"number\">b</th></tr></thead><tbody><tr></tr></tbody></table></div>");
  EXPECT_EQ(bullets({"a", "b"}), "<ul class=\"plain\"><li>a</li><li>b</li></ul>");
  EXPECT_EQ(bullets({}), "");
  EXPECT_EQ(collapsed("t", "c"), "<details class=\"more\"><summary>t</summary>c</details>");
  EXPECT_EQ(block("x", "C & D", "source"),
            "<pre class=\"source\" tabindex=\"0\" role=\"group\" aria-label=\"C &amp; D\">x</pre>");
  EXPECT_EQ(without_tags("in <code>i</code>"), "in i");
  EXPECT_EQ(where_it_lies("a/b.c"), "<code>a/b.c</code> &#183; ");
  EXPECT_EQ(where_it_lies("b.c"), "");
  EXPECT_EQ(code("a<b"), "<code>a&lt;b</code>");
}

}  // namespace
}  // namespace warploom::page
