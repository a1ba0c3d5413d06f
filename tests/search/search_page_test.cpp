#include <gmock/gmock.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <regex>
#include <sstream>

#include "signals.hpp"
#include "warploom/core/error.hpp"
#include "warploom/search/page.hpp"

namespace warploom::search {
namespace {

using testing::HasSubstr;
using testing::Not;

/// A recording, and as a query a stretch of each of its channels.
struct Search {
  io::Recording recording;
  std::vector<search::Query> queries;
  search::Found found;

  Search(std::int32_t channels, std::int64_t samples, std::int64_t length) {
    recording.name = "walk.csv";
    recording.timed = true;
    search::Query& query = queries.emplace_back();
    for (std::int32_t c = 0; c < channels; ++c)
      recording.channels.push_back(
          {"c" + std::to_string(c + 1), "mV", 100,
           search::random_walk(static_cast<std::size_t>(samples), static_cast<unsigned>(c))});
    for (std::int32_t c = 0; c < channels; ++c) {
      query.channels.push_back(std::span(recording.channels[static_cast<std::size_t>(c)].samples)
                                   .subspan(50, static_cast<std::size_t>(length)));
      query.places.push_back(c);
    }
  }

  search::Pair pair(std::int32_t channel, std::int64_t offset) const {
    search::Pair pair;
    pair.query_channel = pair.channel = channel;
    pair.offset = pair.begin = offset;
    pair.length = pair.coverage = queries[0].length();
    pair.distance = 0.25;
    return pair;
  }
  void add(const std::vector<search::Pair>& pairs) {
    search::Match match;
    match.channels = static_cast<std::int32_t>(queries[0].channels.size());
    match.matched = static_cast<std::int32_t>(pairs.size());
    match.first = std::numeric_limits<std::int64_t>::max();
    match.pairs = pairs;
    for (const search::Pair& pair : pairs) {
      match.first = std::min(match.first, pair.offset);
      match.last = std::max(match.last, pair.begin + pair.length);
    }
    found.matches.push_back(match);
  }
  SearchPage page() const {
    SearchPage page;
    page.recording = &recording;
    page.queries = queries;
    page.found = &found;
    return page;
  }
};

std::size_t count(const std::string& text, const std::string& word) {
  std::size_t number = 0;
  for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) ++number;
  return number;
}

nlohmann::json data_of(const std::string& page) {
  const std::string begin = "id=\"data\">";
  const std::size_t from = page.find(begin) + begin.size();
  return nlohmann::json::parse(page.substr(from, page.find("</script>", from) - from));
}

std::vector<unsigned> numbers_of(const nlohmann::json& track) {
  const std::string digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::vector<unsigned> bytes, numbers;
  unsigned bits = 0, have = 0;
  for (const char c : track["data"].get<std::string>()) {
    if (c == '=') break;
    bits = bits << 6 | static_cast<unsigned>(digits.find(c));
    have += 6;
    if (have < 8) continue;
    have -= 8;
    bytes.push_back(bits >> have & 255);
  }
  for (std::size_t k = 0; k + 1 < bytes.size(); k += 2) numbers.push_back(bytes[k] | bytes[k + 1] << 8);
  return numbers;
}

/// Every number of a track is within half a step of the samples that it stands for.
void expect_track_of(const io::Recording& recording, const nlohmann::json& track) {
  const std::vector<unsigned> numbers = numbers_of(track);
  const std::size_t first = track["first"], stride = track["stride"], bins = track["bins"];
  const std::size_t each = stride == 1 ? 1 : 2;
  ASSERT_EQ(numbers.size(), recording.channels.size() * bins * each);
  for (std::size_t c = 0; c < recording.channels.size(); ++c) {
    const double low = track["low"][c], step = track["step"][c];
    for (std::size_t bin = 0; bin < bins; ++bin) {
      double least = INFINITY, most = -INFINITY;
      for (std::size_t k = 0; k < stride; ++k) {
        const std::size_t at = first + bin * stride + k;
        if (at >= recording.channels[c].samples.size()) break;
        const float sample = recording.channels[c].samples[at];
        if (std::isnan(sample)) continue;
        least = std::min<double>(least, sample);
        most = std::max<double>(most, sample);
      }
      const unsigned *number = &numbers[(c * bins + bin) * each], *other = number + each - 1;
      if (least > most) {
        ASSERT_EQ(*number, 0u) << "channel " << c << ", bin " << bin;
        continue;
      }
      ASSERT_NEAR(low + (*number - 1) * step, least, 0.51 * step) << "channel " << c << ", bin " << bin;
      ASSERT_NEAR(low + (*other - 1) * step, most, 0.51 * step) << "channel " << c << ", bin " << bin;
    }
  }
}

TEST(SearchPage, HoldsEverySampleOfAShortRecording) {
  Search search(3, 1000, 100);
  for (std::size_t k = 300; k < 340; ++k) search.recording.channels[1].samples[k] = NAN;
  const nlohmann::json data = data_of(search_page(search.page()));
  ASSERT_EQ(data["tracks"].size(), 1u);
  EXPECT_EQ(data["tracks"][0]["stride"], 1);
  expect_track_of(search.recording, data["tracks"][0]);
}

TEST(SearchPage, HoldsMinimaAndMaximaOfALongRecording) {
  Search search(4, 400'001, 100);
  for (std::size_t k = 3000; k < 3400; ++k) search.recording.channels[1].samples[k] = NAN;
  const nlohmann::json data = data_of(search_page(search.page()));
  EXPECT_GT(data["tracks"][0]["stride"], 1);
  expect_track_of(search.recording, data["tracks"][0]);
}

TEST(SearchPage, HoldsEverySampleAroundTheMatchesOfALongRecording) {
  Search search(4, 400'001, 100);
  search.add({search.pair(0, 200'000), search.pair(1, 200'020)});
  search.add({search.pair(0, 399'901)});
  const nlohmann::json data = data_of(search_page(search.page()));
  ASSERT_EQ(data["tracks"].size(), 3u);
  for (const nlohmann::json& track : data["tracks"]) expect_track_of(search.recording, track);
  const nlohmann::json& near = data["tracks"][1];
  EXPECT_EQ(near["stride"], 1);
  EXPECT_LE(near["first"], 200'000);
  EXPECT_GE(near["first"].get<int>() + near["bins"].get<int>(), 200'120);
}

TEST(SearchPage, StaysSmallWithManyChannelsMatchesAndAnnotations) {
  Search search(99, 60'000, 1024);
  for (std::int64_t k = 0; k < 1000; ++k) {
    std::vector<search::Pair> pairs;
    for (std::int32_t c = 0; c < 99; ++c) pairs.push_back(search.pair(c, 50 * k));
    search.add(pairs);
    for (int n = 0; n < 20; ++n) search.recording.annotations.push_back({0.01 * n, 0.1, "beat"});
  }
  const std::string page = search_page(search.page());
  EXPECT_LT(page.size(), 2'100'000u);
  EXPECT_THAT(page, HasSubstr("The first 500 of 1,000 are listed"));
  EXPECT_THAT(page, HasSubstr("3,000 of 20,000 annotations are drawn"));
  EXPECT_THAT(
      page, HasSubstr("Channels are boxed in the first 40 matches, those after the first 500 are not drawn"));
}

TEST(SearchPage, NamesCannotBecomeMarkup) {
  const std::string evil = "</script><script>alert(1)</script><img src=x onerror=alert(2)>\"'&\xff";
  Search search(2, 1000, 100);
  search.recording.name = evil;
  for (io::Channel& channel : search.recording.channels) channel.name = channel.unit = evil;
  search.recording.annotations = {{1, 2, evil}};
  search.queries[0].label = evil;
  search.add({search.pair(0, 300)});
  search.found.matches[0].label = evil;
  search.found.remarks = {evil};
  SearchPage page = search.page();
  page.query_sources = page.settings = {evil};
  const std::string text = search_page(page);
  EXPECT_EQ(count(text, "<script"), 2u) << "the data and the program";
  EXPECT_EQ(count(text, "</script"), 2u);
  EXPECT_THAT(text, Not(HasSubstr("<img")));
  EXPECT_THAT(data_of(text)["channels"][0]["name"].get<std::string>(),
              HasSubstr("</script><script>alert(1)"));
}

TEST(SearchPage, NeedsNoNetwork) {
  Search search(2, 1000, 100);
  search.add({search.pair(0, 300)});
  const std::string text = search_page(search.page());
  for (const char* word : {"http:", "https:", "src=", "url(", "@import", "fetch("})
    EXPECT_THAT(text, Not(HasSubstr(word)));
}

TEST(SearchPage, SaysHowEachChannelWasFound) {
  Search search(4, 2000, 100);
  search::Pair late = search.pair(0, 512), other = search.pair(1, 500), long_one = search.pair(2, 500);
  other.channel = 2;
  other.switched = other.negated = true;
  other.weight = 1.5;
  long_one.channel = 1;
  long_one.scale = 1.25;
  long_one.length = 125;
  long_one.exhausted = true;
  search.add({late, other, long_one});
  const std::string text = search_page(search.page());
  EXPECT_THAT(text, HasSubstr("0.12 s late; distance 0.250"));
  EXPECT_THAT(text, HasSubstr("<b>c2</b> in <b class=\"other\">c3</b>"));
  EXPECT_THAT(text, HasSubstr("switched, no lag, negated; distance 0.250 weighted 1.5"));
  EXPECT_THAT(text, HasSubstr("no lag, 1.25 times as long, found with a wider band; distance 0.250"));
  EXPECT_THAT(text, HasSubstr("<b>c4</b></p><div class=\"plot\">not found"));
  EXPECT_THAT(
      text,
      HasSubstr(
          "channels up to 0.12 s late; 1 switched; 1 negated; 1.25 times as long; 1 with a wider band; without c4"));
}

struct Drawn {
  std::vector<double> x, y;
};

/// Points of a path that begins with m and goes on with relative lines.
Drawn points(const std::string& path) {
  Drawn out;
  double x = 0, y = 0;
  const std::regex number("-?[0-9]+");
  for (std::sregex_iterator at(path.begin(), path.end(), number), end; at != end; ++at) {
    x += std::stod(at->str());
    y += std::stod((++at)->str());
    out.x.push_back(x);
    out.y.push_back(y);
  }
  return out;
}

/// The query's curve as the first plot shows it, and the largest distance from it to the recording's curve,
/// in units of the plot (2000 x 400).
double distance_of_curves(const std::string& page) {
  std::smatch use, recording, shape;
  EXPECT_TRUE(std::regex_search(page, recording, std::regex("<path class=\"recording\" d=\"([^\"]*)\"")));
  EXPECT_TRUE(std::regex_search(
      page, use, std::regex("<use class=\"query\" href=\"#(\\w+)\" transform=\"matrix\\(([^)]*)\\)")));
  EXPECT_TRUE(std::regex_search(page, shape, std::regex("id=\"" + use[1].str() + "\"[^>]* d=\"([^\"]*)\"")));
  double a = 0, b = 0, c = 0, d = 0, e = 0, f = 0;
  std::istringstream(use[2]) >> a >> b >> c >> d >> e >> f;
  const Drawn query = points(shape[1]), there = points(recording[1]);
  double largest = 0;
  // But its ends, beside which the recording goes elsewhere.
  for (std::size_t k = 1; k + 1 < query.x.size(); ++k) {
    const double x = a * query.x[k] + e, y = d * query.y[k] + f;
    const auto right = std::ranges::lower_bound(there.x, x) - there.x.begin();
    if (right == 0 || right == std::ssize(there.x)) continue;
    const auto r = static_cast<std::size_t>(right);
    const double share = (x - there.x[r - 1]) / (there.x[r] - there.x[r - 1]);
    largest = std::max(largest, std::abs(y - there.y[r - 1] - share * (there.y[r] - there.y[r - 1])));
  }
  EXPECT_GT(query.x.size(), 50u);
  return largest;
}

/// The query is put into the recording at `offset`, times `factor`, stretched to `length` samples.
double drawn_apart(float factor, std::int64_t length, bool negated, search::Normalization normalization) {
  Search search(2, 2000, 100);
  // Slow enough that a pixel to the side is no difference.
  std::vector<float> wave;
  for (int k = 0; k < 100; ++k) wave.push_back(5 + 3 * std::sin(0.06f * static_cast<float>(k)));
  search.queries[0].channels[0] = wave;
  for (std::int64_t k = 0; k < length; ++k)
    search.recording.channels[0].samples[static_cast<std::size_t>(600 + k)] =
        factor * (5 + 3 * static_cast<float>(std::sin(0.06 * 99 * static_cast<double>(k) /
                                                      static_cast<double>(length - 1)))) +
        (normalization == search::Normalization::z ? 40.0f : 0.0f);
  search::Pair pair = search.pair(0, 600);
  pair.length = length;
  pair.scale = static_cast<double>(length) / 100;
  pair.negated = negated;
  search.add({pair, search.pair(1, 590)});
  SearchPage page = search.page();
  page.normalization = normalization;
  return distance_of_curves(search_page(page));
}

TEST(SearchPage, EveryDrawingSaysWhatItShows) {
  Search search(3, 2000, 100);
  search.add({search.pair(0, 512), search.pair(1, 500)});
  const std::string text = search_page(search.page());
  EXPECT_EQ(count(text, "<svg class=\"plot\""), 2u);
  EXPECT_EQ(
      count(text,
            "role=\"img\" aria-label=\"c1: the query over the recording, 5.00 s to 6.12 s; 0.12 s late; "
            "distance 0.250\""),
      1u);
  EXPECT_EQ(count(text, "<canvas id"), count(text, "role=\"img\" aria-label=\"The "));
}

TEST(SearchPage, LaysTheQueryOverTheRecordingWhereItWasFound) {
  EXPECT_LT(drawn_apart(2, 100, false, search::Normalization::z), 12);
}

TEST(SearchPage, DrawsANegatedChannelUpsideDown) {
  EXPECT_LT(drawn_apart(-2, 100, true, search::Normalization::z), 12);
  EXPECT_GT(drawn_apart(-2, 100, false, search::Normalization::z), 200);
}

TEST(SearchPage, StretchesTheQueryAsItWasFound) {
  EXPECT_LT(drawn_apart(2, 125, false, search::Normalization::z), 12);
}

TEST(SearchPage, DrawsInTheSamplesUnitWhereNothingWasNormalised) {
  EXPECT_LT(drawn_apart(1, 100, false, search::Normalization::none), 12);
  EXPECT_GT(drawn_apart(2, 100, false, search::Normalization::none), 50);
}

TEST(SearchPage, SaysThatNothingWasFound) {
  const Search search(2, 1000, 100);
  EXPECT_THAT(search_page(search.page()), HasSubstr("Nothing was found."));
}

TEST(SearchPage, CountsInSamplesWhereTheRateIsNotKnown) {
  Search search(2, 2000, 100);
  search.recording.timed = false;
  search.add({search.pair(0, 1500), search.pair(1, 1501)});
  const std::string text = search_page(search.page());
  EXPECT_THAT(text, HasSubstr("sample 1,500 to sample 1,601"));
  EXPECT_THAT(text, HasSubstr("1 sample late"));
}

TEST(SearchPage, CountsMinutesAndHoursInLongRecordings) {
  Search search(1, 500'000, 100);
  search.add({search.pair(0, 366'198)});
  EXPECT_THAT(search_page(search.page()), HasSubstr("1:01:01.98 h to 1:01:02.98 h"));
}

TEST(SearchPage, RefusesMatchesOfChannelsThatAreNotThere) {
  Search search(2, 1000, 100);
  search.add({search.pair(0, 300)});
  search.found.matches[0].pairs[0].channel = 2;
  EXPECT_THROW(search_page(search.page()), BadInput);
}

TEST(SearchPage, RefusesChannelsOfUnequalLength) {
  Search search(2, 1000, 100);
  search.recording.channels[1].samples.resize(900);
  EXPECT_THROW(search_page(search.page()), BadInput);
}

}  // namespace
}  // namespace warploom::search
