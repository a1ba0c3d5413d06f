#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <string>
#include <string_view>
#include <vector>

#include "reuse/sample_report.hpp"
#include "warploom/reuse/reuse.hpp"

namespace warploom::reuse {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::size_t count(std::string_view text, std::string_view words) {
  std::size_t found = 0;
  for (std::size_t at = 0; (at = text.find(words, at)) != std::string_view::npos; at += words.size()) ++found;
  return found;
}

/// What stands between `before` and the next `after`, wherever `before` stands.
std::vector<std::string> all_between(std::string_view text, std::string_view before, std::string_view after) {
  std::vector<std::string> found;
  for (std::size_t at = 0; (at = text.find(before, at)) != std::string_view::npos;) {
    at += before.size();
    found.emplace_back(text.substr(at, text.find(after, at) - at));
  }
  return found;
}

std::string_view take_name(std::string_view& text) {
  std::size_t end = 0;
  while (end < text.size() && (std::isalnum(static_cast<unsigned char>(text[end])) || text[end] == '-'))
    ++end;
  const std::string_view name = text.substr(0, end);
  text.remove_prefix(end);
  return name;
}

bool take(std::string_view& text, std::string_view words) {
  if (!text.starts_with(words)) return false;
  text.remove_prefix(words.size());
  return true;
}

/// "" for a page whose elements nest, whose attributes are quoted and whose entities are known; else the
/// first fault. Stricter than HTML asks: every element is closed, also the empty ones.
std::string fault(std::string_view page) {
  std::vector<std::string> open;
  std::string_view rest = page.substr(page.find('\n') + 1);  // after the document type
  while (!rest.empty()) {
    const std::string here(rest.substr(0, rest.find('>') + 1));
    if (take(rest, "&")) {
      const std::string_view name = rest.substr(0, rest.find(';'));
      if (name != "amp" && name != "lt" && name != "gt" && name != "quot" && !name.starts_with("#"))
        return "unknown entity: " + here;
    } else if (take(rest, "</")) {
      if (open.empty() || take_name(rest) != open.back() || !take(rest, ">"))
        return "closes what is not open: " + here;
      open.pop_back();
    } else if (take(rest, "<")) {
      const std::string name(take_name(rest));
      if (name.empty()) return "no tag: " + here;
      while (take(rest, " ")) {
        if (take_name(rest).empty()) return "no attribute: " + here;
        if (!take(rest, "=")) continue;
        if (!take(rest, "\"")) return "unquoted attribute: " + here;
        const std::string_view value = rest.substr(0, rest.find('"'));
        if (value.find('<') != std::string_view::npos) return "'<' in an attribute: " + here;
        rest.remove_prefix(std::min(value.size() + 1, rest.size()));
      }
      if (take(rest, "/>")) continue;
      if (!take(rest, ">")) return "no tag: " + here;
      if (name == "style" || name == "script") rest.remove_prefix(rest.find("</" + name));
      open.push_back(name);
    } else if (take(rest, ">")) {
      return "stray '>'";
    } else {
      rest.remove_prefix(1);
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
  EXPECT_EQ(fault("<!DOCTYPE html>\n<p class=x></p>"), "unquoted attribute: <p class=x>");
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
  const std::string page = to_html(sample::only(sample::refused()));
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
  const std::vector<std::string> links = all_between(page, "href=\"#", "\"");
  EXPECT_FALSE(links.empty());
  for (const std::string& link : links) EXPECT_EQ(count(page, " id=\"" + link + "\""), 1u) << link;
}

TEST(MemoryMap, HasARectangleForEveryLiveRangeBeforeAndAfter) {
  const std::string page = to_html(sample::only(sample::cub()));
  // a lives twice, b and c once; drawn before and after, and one more as the key.
  EXPECT_EQ(count(page, "<rect class=\"life\""), 2 * 4 + 1u);
}

TEST(MemoryMap, OfAnUnchangedKernelIsDrawnOnce) {
  const std::string page = to_html(sample::only(sample::unchanged()));
  EXPECT_EQ(count(page, "<figure>"), 1u);
  EXPECT_EQ(count(page, "<rect class=\"life\""), 1 + 1u);
}

TEST(MemoryMap, LeavesAHoleBetweenTwoLivesOfOneArray) {
  const std::string page = to_html(sample::only(sample::cub()));
  const std::vector<std::string> lives = all_between(page, "<title>a: ", "height=");
  ASSERT_EQ(lives.size(), 4u);  // two before, two after
  const auto percent = [](const std::string& life, const std::string& attribute) {
    return std::stod(all_between(life, attribute + "=\"", "%").at(0));
  };
  EXPECT_LT(percent(lives[0], " x") + percent(lives[0], "width"), percent(lives[1], " x") - 1);
}

TEST(MemoryMap, ShowsInsertedBarriersOnlyAfter) {
  const std::string page = to_html(sample::only(sample::cub()));
  EXPECT_EQ(count(page, "<g class=\"barrier inserted\" role=\"img\""), 1u);
  EXPECT_EQ(count(page, "<g class=\"barrier found\" role=\"img\""), 2u);
}

TEST(MemoryMap, SaysInWordsWhatItDraws) {
  const std::string page = to_html(sample::only(sample::cub()));
  EXPECT_THAT(
      page,
      HasSubstr(
          "aria-label=\"b: 1,184 bytes at offset 0, alive from sort_scan_reduce.cu:39 (PTX line 604) to sort_scan_reduce.cu:39 (PTX line 732)\""));
  EXPECT_THAT(
      page,
      HasSubstr(
          "aria-label=\"Inserted barrier before sort_scan_reduce.cu:39 (PTX line 598), keeps a from b apart\""));
}

TEST(MemoryMap, CountsInPtxLinesWithoutLineInfo) {
  KernelReport kernel = sample::cub();
  kernel.lines.clear();
  const std::string page = to_html(sample::only(kernel));
  EXPECT_THAT(page, HasSubstr("PTX line &#8594;"));
  EXPECT_THAT(page, HasSubstr("text-anchor=\"middle\">598</text>"));
}

TEST(MemoryMap, CountsInPtxLinesWhereAllIsInlinedFromOneSourceLine) {
  KernelReport kernel = sample::curvature();
  for (SourcePosition& line : kernel.lines) line.line = 6;
  EXPECT_THAT(to_html(sample::only(kernel)), HasSubstr("PTX line &#8594;"));
}

TEST(MemoryMap, ClosesTheGapsThatLabelsLeave) {
  KernelReport kernel = sample::unchanged();
  kernel.objects[0].live_lines = {{1190, 1200}, {1203, 1220}, {1224, 1240}};
  EXPECT_EQ(count(to_html(sample::only(kernel)), "<rect class=\"life\""), 1 + 1u);
}

TEST(MemoryMap, OfAnArrayThatIsNeverUsedIsEmptyAndWellFormed) {
  KernelReport kernel = sample::unchanged();
  kernel.objects[0].live_lines.clear();
  const std::string page = to_html(sample::only(kernel));
  EXPECT_EQ(fault(page), "");
  EXPECT_EQ(count(page, "<rect class=\"life\""), 1u);  // the key
  EXPECT_THAT(page, Not(HasSubstr("nan")));
}

}  // namespace
}  // namespace warploom::reuse
