#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cctype>
#include <regex>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "reuse/sample_report.hpp"
#include "warploom/reuse/reuse.hpp"

namespace warploom::reuse {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

Report only(KernelReport kernel) { return {"k.ptx", "sm_90", "", {std::move(kernel)}}; }

std::size_t count(std::string_view text, std::string_view words) {
  std::size_t found = 0;
  for (std::size_t at = 0; (at = text.find(words, at)) != std::string_view::npos; at += words.size()) ++found;
  return found;
}

/// "" for a page whose elements nest, whose attributes are quoted and whose entities are known; else the
/// first fault. Stricter than HTML asks: every element is closed.
std::string fault(std::string_view page) {
  static const std::regex tag(R"(<(/?)([A-Za-z][A-Za-z0-9]*)((?: [a-z][a-z0-9-]*(?:="[^"<]*")?)*)(/?)>)",
                              std::regex::icase);
  static const std::regex entity("&(amp|lt|gt|quot|#[0-9]+);.*");
  std::vector<std::string> open;
  std::string_view rest = page.substr(page.find('\n') + 1);  // after the document type
  while (!rest.empty()) {
    if (rest[0] == '&' && !std::regex_match(std::string(rest.substr(0, 12)), entity) &&
        !std::regex_search(std::string(rest.substr(0, 8)), std::regex("^&(amp|lt|gt|quot|#[0-9]+);")))
      return "unknown entity: " + std::string(rest.substr(0, 20));
    if (rest[0] == '>') return "stray '>' before: " + std::string(rest.substr(0, 30));
    if (rest[0] != '<') {
      rest.remove_prefix(1);
      continue;
    }
    const std::string head(rest.substr(0, rest.find('>') + 1));
    std::smatch match;
    if (!std::regex_match(head, match, tag)) return "no tag: " + head;
    rest.remove_prefix(head.size());
    if (match[1].length() > 0) {
      if (open.empty() || open.back() != match[2]) return "closes what is not open: " + head;
      open.pop_back();
    } else if (match[4].length() == 0) {
      open.push_back(match[2]);
      if (open.back() == "style" || open.back() == "script")
        rest.remove_prefix(rest.find("</" + open.back()));
    }
  }
  return open.empty() ? "" : "never closed: " + open.back();
}

TEST(ReportPage, IsWellFormed) { EXPECT_EQ(fault(to_html(sample::report())), ""); }

TEST(ReportPage, OfAnEmptyReportIsWellFormed) {
  EXPECT_EQ(fault(to_html({"k.ptx", "", "compiled with -G: left unchanged", {}})), "");
}

TEST(ReportPage, CheckerFindsFaults) {
  EXPECT_EQ(fault("<!DOCTYPE html>\n<p><b>x</p></b>"), "closes what is not open: </p>");
  EXPECT_EQ(fault("<!DOCTYPE html>\n<p>a & b</p>"), "unknown entity: & b</p>");
  EXPECT_EQ(fault("<!DOCTYPE html>\n<p>"), "never closed: p");
  EXPECT_EQ(fault("<!DOCTYPE html>\n<p class=x></p>"), "no tag: <p class=x>");
}

TEST(ReportPage, NeedsNothingFromElsewhere) {
  const std::string page = to_html(sample::report());
  for (const char* words : {"http:", "https:", "url(", "@import", "src=", "<link", "<iframe"})
    EXPECT_THAT(page, Not(HasSubstr(words)));
}

TEST(ReportPage, FitsAPhoneAndBothColourSchemes) {
  const std::string page = to_html(sample::report());
  EXPECT_THAT(page, HasSubstr("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>"));
  EXPECT_THAT(page, HasSubstr("prefers-color-scheme: dark"));
}

TEST(ReportPage, EscapesEveryNameAndReason) {
  const std::string bad = "<script>alert('x')</script>\"&";
  Report report = sample::report();
  report.file = report.note = report.architecture = bad;
  for (KernelReport& kernel : report.kernels) {
    kernel.name = kernel.symbol = kernel.reason = bad;
    kernel.reason_at.file = kernel.at.file = bad;
    for (ObjectReport& object : kernel.objects) {
      object.name = object.symbol = object.reason = object.declared.file = object.reason_at.file = bad;
    }
    for (BarrierReport& barrier : kernel.barriers) barrier.at.file = bad;
    for (InterferenceReport& pair : kernel.interference) pair.reason = pair.at.file = bad;
    for (OccupancyReport& row : kernel.occupancy) {
      row.architecture = bad;
      row.after.blocks = 0;
      row.after.reason = bad;
    }
    for (Assumption& assumption : kernel.assumptions) assumption.text = assumption.at.file = bad;
    for (std::string& sentence : kernel.certificate) sentence = bad;
    for (SourcePosition& line : kernel.lines) line.file = bad;
  }
  const std::string page = to_html(report);
  EXPECT_EQ(fault(page), "");
  EXPECT_EQ(count(page, "<script"), 1u);  // the page's own
  EXPECT_THAT(page, HasSubstr("&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt;&quot;&amp;"));
}

TEST(ReportPage, LinksKernelsFromAnIndexAndOpensTheFirstRewritten) {
  Report report = sample::report();
  std::swap(report.kernels[0], report.kernels[2]);  // refused first
  const std::string page = to_html(report);
  for (std::size_t i = 0; i < report.kernels.size(); ++i) {
    EXPECT_EQ(count(page, "<a href=\"#k" + std::to_string(i) + "\">"), 1u) << i;
    EXPECT_EQ(count(page, "id=\"k" + std::to_string(i) + "\""), 1u) << i;
  }
  EXPECT_THAT(page, HasSubstr("id=\"k1\" open>"));
  EXPECT_EQ(count(page, "\" open>"), 1u);
}

TEST(ReportPage, OfOneKernelHasNoIndexAndIsOpen) {
  const std::string page = to_html(only(sample::refused()));
  EXPECT_THAT(page, Not(HasSubstr("<nav")));
  EXPECT_THAT(page, HasSubstr("id=\"k0\" open>"));
}

TEST(ReportPage, HasARowForEveryObject) {
  const Report report = sample::report();
  const std::string page = to_html(report);
  for (std::size_t k = 0; k < report.kernels.size(); ++k)
    for (std::size_t o = 0; o < report.kernels[k].objects.size(); ++o)
      EXPECT_EQ(count(page, "<tr id=\"k" + std::to_string(k) + "-o" + std::to_string(o) + "\">"), 1u);
}

TEST(ReportPage, LinksLeadToIdsThatExist) {
  const std::string page = to_html(sample::report());
  const std::regex link("href=\"#([^\"]*)\"");
  std::size_t links = 0;
  for (std::sregex_iterator at(page.begin(), page.end(), link), end; at != end; ++at, ++links)
    EXPECT_EQ(count(page, " id=\"" + (*at)[1].str() + "\""), 1u) << (*at)[1];
  EXPECT_GT(links, 0u);
}

TEST(MemoryMap, HasARectangleForEveryLiveRangeBeforeAndAfter) {
  const std::string page = to_html(only(sample::cub()));
  // a lives twice, b and c once; drawn before and after, and one more as the key.
  EXPECT_EQ(count(page, "<rect class=\"life\""), 2 * 4 + 1u);
}

TEST(MemoryMap, OfAnUnchangedKernelIsDrawnOnce) {
  const std::string page = to_html(only(sample::unchanged()));
  EXPECT_EQ(count(page, "<figure>"), 1u);
  EXPECT_EQ(count(page, "<rect class=\"life\""), 1 + 1u);
}

TEST(MemoryMap, LeavesAHoleBetweenTwoLivesOfOneArray) {
  const std::string page = to_html(only(sample::cub()));
  const std::regex life(
      "aria-label=\"a: [^\"]*\"><title>[^<]*</title><svg x=\"([0-9.]+)%\" y=\"[0-9.]+\" "
      "width=\"([0-9.]+)%\"");
  std::vector<std::pair<double, double>> lives;
  for (std::sregex_iterator at(page.begin(), page.end(), life), end; at != end; ++at)
    lives.emplace_back(std::stod((*at)[1]), std::stod((*at)[2]));
  ASSERT_EQ(lives.size(), 4u);
  EXPECT_LT(lives[0].first + lives[0].second, lives[1].first - 1);
}

TEST(MemoryMap, ShowsInsertedBarriersOnlyAfter) {
  const std::string page = to_html(only(sample::cub()));
  EXPECT_EQ(count(page, "<g class=\"barrier inserted\" role=\"img\""), 1u);
  EXPECT_EQ(count(page, "<g class=\"barrier found\" role=\"img\""), 2u);
}

TEST(MemoryMap, SaysInWordsWhatItDraws) {
  const std::string page = to_html(only(sample::cub()));
  EXPECT_THAT(
      page,
      HasSubstr(
          "aria-label=\"b: 1,184 bytes at offset 0, alive from sort_scan_reduce.cu:39 (PTX line 604) to "
          "sort_scan_reduce.cu:39 (PTX line 732)\""));
  EXPECT_THAT(page, HasSubstr("aria-label=\"Inserted barrier before sort_scan_reduce.cu:39 (PTX line 598), "
                              "keeps a from b apart\""));
}

TEST(MemoryMap, CountsInPtxLinesWithoutLineInfo) {
  KernelReport kernel = sample::cub();
  kernel.lines.clear();
  const std::string page = to_html(only(kernel));
  EXPECT_THAT(page, HasSubstr("PTX line &#8594;"));
  EXPECT_THAT(page, HasSubstr("text-anchor=\"middle\">598</text>"));
}

TEST(MemoryMap, OfAnArrayThatIsNeverUsedIsEmptyAndWellFormed) {
  KernelReport kernel = sample::unchanged();
  kernel.objects[0].live_lines.clear();
  const std::string page = to_html(only(kernel));
  EXPECT_EQ(fault(page), "");
  EXPECT_EQ(count(page, "<rect class=\"life\""), 1u);  // the key
  EXPECT_THAT(page, Not(HasSubstr("nan")));
}

}  // namespace
}  // namespace warploom::reuse
