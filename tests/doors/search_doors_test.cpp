#include <cmath>
#include <limits>

#include "doors/doors.hpp"
#include "warploom/search/boundaries.hpp"
#include "warploom/search/distance_matrix.hpp"
#include "warploom/search/euclidean.hpp"
#include "warploom/search/find.hpp"
#include "warploom/search/in_place.hpp"
#include "warploom/search/matching.hpp"
#include "warploom/search/page.hpp"
#include "warploom/search/reading.hpp"
#include "warploom/search/recordings.hpp"
#include "warploom/search/stream.hpp"

namespace warploom::doors {
namespace {

using namespace search;

constexpr double kOddNumbers[] = {-1, 1e300, HUGE_VAL, -HUGE_VAL, std::numeric_limits<double>::quiet_NaN()};

std::vector<float> waves(std::size_t samples, int seed = 0) {
  std::vector<float> all(samples);
  for (std::size_t k = 0; k < samples; ++k)
    all[k] = static_cast<float>(std::sin(0.3 * static_cast<double>(k) + seed) +
                                0.1 * static_cast<double>(k * k % 7));
  return all;
}
const std::vector<float>& long_one() {
  static const std::vector<float> samples = waves(200);
  return samples;
}
const std::vector<float>& other_one() {
  static const std::vector<float> samples = waves(200, 1);
  return samples;
}
Signal signal_of_two() { return {long_one(), other_one()}; }
Query small_query() {
  return {.label = "q",
          .channels = {std::span(long_one()).subspan(40, 20), std::span(other_one()).subspan(40, 20)},
          .places = {0, 1}};
}

DOOR(Distances, "search::dtw_distance", "search::euclidean_distance", "search::band_radius") {
  const auto a = waves(20), b = waves(20, 1);
  refused([&] { return dtw_distance(a, std::span(b).first(19), 3, Normalization::z); });
  refused([&] { return dtw_distance({}, {}, 3, Normalization::z); });
  refused([&] { return dtw_distance(a, b, -1, Normalization::z); });
  refused([&] { return dtw_distance(a, b, 3, no_enumerator<Normalization>()); });
  refused([&] { return euclidean_distance(a, {}, Normalization::none); });
  EXPECT_EQ(dtw_distance(a, a, kMost, Normalization::z), 0);  // the same memory twice
  for (const float value : {std::nanf(""), HUGE_VALF, 1e38F})
    survives([&] { return dtw_distance(a, std::vector<float>(20, value), 3, Normalization::z); });
  for (const double odd : kOddNumbers) survives([&] { return band_radius(odd, 10); });
  refused([] { return band_radius(0.5, 0); });
  refused([] { return band_radius(0.5, kLeast); });
  EXPECT_EQ(band_radius(1e300, 10), 9);
  survives([] { return band_radius(0.5, kMost); });
}

DOOR(Indices, "search::Index::Index(Signal, const IndexOptions &)", "search::Index::Index(Index &&)",
     "search::Index::operator=", "search::Index::best(std::span<const Pattern>, std::span<const Task>)",
     "search::Index::device", "search::Index::effort", "search::Index::normalization", "search::Index::run",
     "search::Index::samples", "search::Index::signal",
     "search::Index::profile(const Pattern &, std::int32_t, std::int64_t, std::int64_t)",
     "search::Index::distances(const Pattern &, std::int32_t, std::span<const std::int64_t>)",
     "search::Index::distances(std::span<const Pattern>, std::span<const Windows>)") {
  const auto make = [](const Signal& signal, const IndexOptions& options = {}) {
    return Index(signal, options).samples();
  };
  refused([&] { return make({}); });
  refused([&] { return make({long_one(), std::span(long_one()).first(3)}); });
  refused([&] { return make(signal_of_two(), {.normalization = no_enumerator<Normalization>()}); });
  refused([&] { return make(signal_of_two(), {.prune = no_enumerator<Prune>()}); });
  refused([&] { return make(signal_of_two(), {.run = {.devices = {Device::cpu, Device::best}}}); });
  survives([&] { return make(signal_of_two(), {.run = {.devices = {Device::cpu, Device::cpu}}}); });
  EXPECT_EQ(make({std::span<const float>()}), 0);

  Index index(signal_of_two());
  const Pattern good{.samples = waves(10), .radius = 2};
  std::vector<Pattern> bad(6, good);
  bad[0].samples.clear(), bad[1].samples.resize(1), bad[2].samples[3] = std::nanf("");
  bad[3].radius = -1, bad[4].lead = kMost, bad[5].samples.resize(201);
  for (const Pattern& pattern : bad) {
    survives([&] { return index.profile(pattern, 0, 0, 1); });
    survives([&] { return index.distances(pattern, 0, std::vector<std::int64_t>{0}); });
    survives([&] { return index.best(std::span(&pattern, 1), std::vector<Task>(1)); });
  }
  Pattern wide = good;
  wide.radius = kMost;
  EXPECT_EQ(index.profile(wide, 0, 0, 3).size(), 3u);
  for (const std::int32_t channel : {-1, 2, kMost32}) {
    refused([&] { return index.profile(good, channel, 0, 1); });
    refused([&] { return index.distances(good, channel, std::vector<std::int64_t>{0}); });
    refused([&] { return index.best(std::span(&good, 1), std::vector{Task{.channel = channel}}); });
  }
  for (const auto& [first, count] : {std::pair{std::int64_t{0}, kMost},
                                     {kMost, std::int64_t{1}},
                                     {kMost, kMost},
                                     {kLeast, kMost},
                                     {std::int64_t{-1}, std::int64_t{1}},
                                     {std::int64_t{0}, std::int64_t{192}},
                                     {std::int64_t{0}, std::int64_t{-1}},
                                     {std::int64_t{191}, std::int64_t{1}}})
    refused([&] { return index.profile(good, 0, first, count); });
  for (const std::int64_t offset : {std::int64_t{-1}, std::int64_t{191}, kMost, kLeast})
    refused([&] { return index.distances(good, 0, std::vector{offset}); });
  const std::vector<std::int64_t> offsets{0, 5};
  for (const std::int32_t pattern : {-1, 1, kMost32})
    refused([&] { return index.distances(std::span(&good, 1), std::vector{Windows{pattern, 0, offsets}}); });
  EXPECT_TRUE(index.distances(std::span<const Pattern>(), std::span<const Windows>()).empty());
  EXPECT_TRUE(index.best(std::span<const Pattern>{}, {}).empty());
  std::vector<Task> tasks{{.first_pattern = -1},
                          {.first_pattern = 1},
                          {.patterns = 0},
                          {.patterns = kMost32},
                          {.first_pattern = kMost32, .patterns = kMost32},
                          {.limit = 0},
                          {.limit = -1},
                          {.exclusion = -1},
                          {.max_distance = -1},
                          {.max_distance = std::nanf("")}};
  for (const Task& task : tasks)
    refused([&] { return index.best(std::span(&good, 1), std::span(&task, 1)); });
  tasks = {{.limit = kMost},
           {.exclusion = kMost},
           {.limit = kMost, .exclusion = kMost},
           {.first = kMost},
           {.last = kLeast},
           {.first = kLeast, .last = kLeast},
           {.first = kMost, .last = kMost},
           {.first = -1, .last = 1000}};
  for (const Task& task : tasks) EXPECT_EQ(index.best(std::span(&good, 1), std::span(&task, 1)).size(), 1u);

  move_away(index);
  refused([&] { return index.samples(); });
  refused([&] { return index.signal(); });
  refused([&] { return index.device(); });
  refused([&] { return index.effort().cells; });
  refused([&] { return index.run().threads; });
  refused([&] { return index.normalization(); });
  refused([&] { return index.profile(good, 0, 0, 1); });
  refused([&] { return index.best(std::span(&good, 1), std::vector<Task>(1)); });
  refused([&] { return index.distances(good, 0, offsets); });
  refused([&] { return find(index, small_query()).pairs; });
  index = Index(signal_of_two());
  EXPECT_EQ(index.samples(), 200);
}

std::vector<Query> odd_queries() {
  std::vector<Query> all(9, small_query());
  static const std::vector<float> missing(20, std::nanf("")), constant(20, 1);
  all[0].channels.clear(), all[0].places.clear();
  all[1].places = {0};
  all[2].places = {0, kMost32};
  all[3].places = {-1, 0};
  all[4].channels[1] = all[4].channels[1].first(3);
  all[5].channels[0] = missing;
  all[6].channels = {std::span(long_one()).first(3), std::span(long_one()).first(3)};
  all[7].channels = {constant, constant};
  move_away(all[8]);
  return all;
}

std::vector<FindOptions> odd_find_options() {
  std::vector<FindOptions> all;
  for (const double odd : kOddNumbers) {
    all.push_back({.band = odd});
    all.push_back({.exclusion = odd});
    all.push_back({.max_lag = odd});
    all.push_back({.switched_weight = odd});
    all.push_back({.weights = {odd, odd, odd, odd}});
    all.push_back({.scales = {odd}});
    all.push_back({.exhaust = {odd}});
    all.push_back({.max_distance = odd});
    all.push_back({.significance = odd});
  }
  for (const std::int32_t odd : {-1, kMost32}) {
    all.push_back({.neighbours = odd == -1 ? -1 : -kMost32});
    all.push_back({.adjacency = {{odd}, {odd}}});
    all.push_back({.rotations = odd});
    all.push_back({.rotations = 1, .sensors = {{odd, 0, 1}}});
    all.push_back({.segments = odd});
    all.push_back({.min_channels = odd});
    all.push_back({.alternatives = odd == -1 ? odd : 0});
  }
  all.push_back({.limit = 0});
  all.push_back({.limit = kMost});
  all.push_back({.candidates = 0});
  all.push_back({.candidates = kMost});
  all.push_back({.adjacency = {{0}}});
  all.push_back({.weights = {1}});
  all.push_back({.scales = {}});
  all.push_back({.rotations = 1});
  all.push_back({.rotations = 1, .sensors = {{0, 0, 0}}});
  return all;
}

DOOR(JointPatterns, "search::Index::best(std::span<const JointPattern>, std::span<const JointTask>)",
     "search::Index::distances(std::span<const JointPattern>, std::span<const JointWindows>)",
     "search::Index::profile(const JointPattern &, std::int64_t, std::int64_t)",
     "search::JointPattern::length() const") {
  Index index(signal_of_two());
  const JointPattern good{.samples = {waves(10), waves(10, 1)}, .channels = {0, 1}, .radius = 2};
  EXPECT_EQ(good.length(), 10);
  EXPECT_EQ(JointPattern{}.length(), 0);
  std::vector<JointPattern> bad(9, good);
  bad[0].samples.clear(), bad[1].samples[1].resize(9), bad[2].samples[0][3] = std::nanf(""),
                                                       bad[3].radius = -1;
  bad[4].channels = {0}, bad[5].channels = {0, 2}, bad[6].channels = {-1, 0};
  bad[7].warping = no_enumerator<Warping>(), bad[8].samples = {{1}, {1}};
  const std::vector<std::int64_t> offsets{0, 5};
  for (const JointPattern& pattern : bad) {
    refused([&] { return index.profile(pattern, 0, 1); });
    refused([&] { return index.distances(std::span(&pattern, 1), std::vector{JointWindows{0, offsets}}); });
    refused([&] { return index.best(std::span(&pattern, 1), std::vector<JointTask>(1)); });
  }
  JointPattern wide = good;
  wide.radius = kMost;
  wide.channels = {1, 1};  // the same memory twice
  EXPECT_EQ(index.profile(wide, 0, 3).size(), 3u);
  for (const auto& [first, count] : {std::pair{std::int64_t{0}, kMost},
                                     {kMost, kMost},
                                     {kLeast, kMost},
                                     {std::int64_t{-1}, std::int64_t{1}},
                                     {std::int64_t{0}, std::int64_t{192}}})
    refused([&] { return index.profile(good, first, count); });
  for (const std::int32_t pattern : {-1, 1, kMost32})
    refused([&] {
      return index.distances(std::span(&good, 1), std::vector{JointWindows{pattern, offsets}});
    });
  EXPECT_TRUE(index.distances(std::span<const JointPattern>(), std::span<const JointWindows>()).empty());
  for (const JointTask& task :
       {JointTask{.first_pattern = -1}, JointTask{.first_pattern = kMost32, .patterns = kMost32},
        JointTask{.patterns = 0}, JointTask{.limit = 0}, JointTask{.exclusion = -1},
        JointTask{.max_distance = std::nanf("")}})
    refused([&] { return index.best(std::span(&good, 1), std::span(&task, 1)); });
  for (const JointTask& task :
       {JointTask{.limit = kMost, .exclusion = kMost}, JointTask{.first = kMost, .last = kMost},
        JointTask{.first = kLeast, .last = kLeast}})
    EXPECT_EQ(index.best(std::span(&good, 1), std::span(&task, 1)).size(), 1u);
  Index moved = std::move(index);
  refused([&] { return index.profile(good, 0, 1); });
}

DOOR(
    MatrixOfDistances, "search::distance_matrix",
    "search::StridedSequences::StridedSequences(const Sequences &)",
    "search::StridedSequences::StridedSequences(const float *, const std::array<std::int64_t, 3> &, const std::array<std::int64_t, 3> &)") {
  const auto a = waves(60), b = waves(40, 1);
  std::vector<float> out(6);
  const Sequences x(a.data(), 3, 1, 20), y(b.data(), 2, 1, 20);
  const Matrix<float> six(out.data(), 3, 2);
  const DistanceMatrixOptions good{.radius = 3};
  refused([&] { distance_matrix(x, Sequences(b.data(), 1, 2, 20), six, good); });
  refused([&] { distance_matrix(x, Sequences(b.data(), 2, 1, 19), six, good); });
  refused([&] { distance_matrix(x, y, Matrix<float>(out.data(), 2, 3), good); });
  refused([&] { distance_matrix(Sequences(), Sequences(), Matrix<float>(), good); });
  refused([&] { distance_matrix(StridedSequences(nullptr, {3, 1, 20}, {20, 20, 1}), y, six, good); });
  refused([&] { distance_matrix(StridedSequences(a.data(), {3, -1, 20}, {20, 20, 1}), y, six, good); });
  refused([&] { distance_matrix(StridedSequences(a.data(), {kMost, kMost, 20}, {}), y, six, good); });
  refused([&] { distance_matrix(x, y, six, {.radius = -1}); });
  refused([&] { distance_matrix(x, y, six, {.normalization = no_enumerator<Normalization>()}); });
  refused([&] { distance_matrix(x, y, six, {.warping = no_enumerator<Warping>()}); });
  EXPECT_THROW(distance_matrix(x, y, six, {.run = {.devices = {Device::cuda}}}), NoDevice);
  for (const float odd : {std::nanf(""), HUGE_VALF, -HUGE_VALF}) {
    auto holed = a;
    holed[59] = odd;
    refused([&] { distance_matrix(Sequences(holed.data(), 3, 1, 20), y, six, good); });
    refused([&] {
      distance_matrix(y, Sequences(holed.data(), 3, 1, 20), Matrix<float>(out.data(), 2, 3), good);
    });
  }
  survives([&] { distance_matrix(x, y, six, {.radius = kMost}); });
  survives([&] { distance_matrix(x, Sequences(b.data(), 0, 1, 20), Matrix<float>(out.data(), 3, 0), good); });
}

DOOR(InPlace, "search::find_in_place", "search::joint_patterns", "search::joint_distance",
     "search::refine_boundaries", "search::refine_all") {
  Index index(signal_of_two());
  const Query good = small_query();
  EXPECT_EQ(find_in_place(index, good, {.limit = 1}).front().first, 40);
  std::vector<Query> bad(4, good);
  bad[0].channels.clear(), bad[1].places = {0}, bad[2].places = {0, 2}, bad[3].channels[1] = {};
  for (const Query& query : bad) {
    refused([&] { return find_in_place(index, query); });
    refused([&] { return joint_patterns(query, {}, 2, Normalization::z); });
    refused([&] { return refine_boundaries(signal_of_two(), query, {}, Normalization::z); });
  }
  for (const double odd : kOddNumbers) {
    survives([&] { return find_in_place(index, good, {.band = odd}); });
    survives([&] { return find_in_place(index, good, {.exclusion = odd}); });
    refused([&] { return find_in_place(index, good, {.scales = {odd}}); });
    survives([&] { return find_in_place(index, good, {.max_distance = odd}); });
  }
  refused([&] { return joint_patterns(good, {}, kLeast, Normalization::z); });
  refused([&] { return joint_patterns(good, {}, 2, no_enumerator<Normalization>()); });
  refused([&] { return joint_patterns(good, {.warping = no_enumerator<Warping>()}, 2, Normalization::z); });
  refused([&] { return joint_distance({}, {}, 0, Normalization::z); });
  refused([&] { return joint_distance(good.channels, {}, 0, Normalization::z); });
  EXPECT_EQ(joint_distance(good.channels, good.channels, kMost, Normalization::z), 0);
  Match match = find_in_place(index, good, {.limit = 1}).front();
  for (const double odd : kOddNumbers)
    refused([&] { return refine_boundaries(index.signal(), good, match, Normalization::z, {.slack = odd}); });
  refused([&] { return refine_boundaries({}, good, match, Normalization::z); });
  std::vector<Match> matches = {match, match};
  const std::vector<const Query*> one = {&good}, none = {nullptr, &good}, both = {&good, &good};
  refused([&] { return refine_all(index.signal(), one, matches, Normalization::z), 0; });
  refused([&] { return refine_all(index.signal(), none, matches, Normalization::z), 0; });
  for (const double odd : {-1., HUGE_VAL, std::nan("")})
    refused(
        [&] { return refine_all(index.signal(), both, matches, Normalization::z, {.exclusion = odd}), 0; });
  for (const std::int64_t offset : {kMost, kLeast}) {
    match.pairs[0].offset = matches[1].pairs[0].offset = offset;
    refused([&] { return refine_boundaries(index.signal(), good, match, Normalization::z); });
    refused([&] { return refine_all(index.signal(), both, matches, Normalization::z), 0; });
    // Windows say where to look for what is near.
    matches[1].pairs[0].offset = 40, matches[1].first = offset;
    survives([&] { return refine_all(index.signal(), both, matches, Normalization::z), 0; });
  }
}

DOOR(Find, "search::find", "search::find_labels", "search::rotations", "search::stretch",
     "search::ranked_before") {
  Index index(signal_of_two());
  for (const Query& query : odd_queries()) {
    refused([&] { return find(index, query).pairs; });
    refused([&] { return find_labels(index, std::span(&query, 1)).pairs; });
  }
  refused([&] { return find_labels(index, {}).pairs; });
  for (const FindOptions& options : odd_find_options())
    refused([&] { return find(index, small_query(), options).pairs; });
  const Query query = small_query();
  for (const FindOptions& options :
       std::vector<FindOptions>{{.limit = 1'000'000'000, .candidates = 1'000'000'000},
                                {.band = 1000, .exclusion = 1000, .max_lag = 1000},
                                {.exclusion = 0},
                                {.neighbours = 1'000'000'000},
                                {.scales = {0.1, 10}},
                                {.alternatives = 1'000'000},
                                {.max_distance = 0},
                                {.significance = 1e-300},
                                {.segments = 5},
                                {.min_channels = 2, .max_distance = 1e30}})
    survives([&] { return find(index, query, options).pairs; });
  Index short_one({std::span(long_one()).first(5), std::span(other_one()).first(5)});
  refused([&] { return find(short_one, query).pairs; });
  for (const std::int32_t count : {0, -1, std::numeric_limits<std::int32_t>::min()})
    refused([&] { return rotations(count); });
  survives([] { return rotations(1000); });
  for (const std::int64_t length : {kLeast, std::int64_t{1}, std::int64_t{1} << 62, kMost})
    refused([&] { return stretch(long_one(), length); });
  refused([] { return stretch(std::span(long_one()).first(1), 5); });
  refused([] { return stretch({}, 5); });
  Match match;
  match.coverage = match.distance = std::nan("");
  EXPECT_FALSE(ranked_before(match, match));
}

DOOR(FindAutomatic, "search::find_automatic", "search::sensors_by_name", "search::FoundAs::chosen",
     "search::Reading::switched", "search::Reading::lagged", "search::Reading::missing",
     "search::Reading::rotated", "search::Reading::in_place") {
  Index index(signal_of_two());
  for (const Query& query : odd_queries()) refused([&] { return find_automatic(index, query).pairs; });
  for (const FindOptions& options : odd_find_options())
    survives([&] { return find_automatic(index, small_query(), options).pairs; });
  const Query query = small_query();
  for (const FindOptions& options :
       std::vector<FindOptions>{{.limit = 1'000'000'000},
                                {.band = 1000, .exclusion = 1000, .max_lag = 1000},
                                {.exclusion = 0},
                                {.scales = {0.1, 10}},
                                {.max_distance = 0}})
    survives([&] { return find_automatic(index, query, options).pairs; });
  Index short_one({std::span(long_one()).first(5), std::span(other_one()).first(5)});
  refused([&] { return find_automatic(short_one, query).pairs; });
  survives([] { return sensors_by_name({"", "", ""}); });
  refused([] { return FoundAs().chosen().nearer; });
  EXPECT_TRUE(Reading().in_place());
  EXPECT_FALSE(Reading().switched() || Reading().lagged() || Reading().missing() || Reading().rotated());
}

DOOR(Euclidean, "search::euclidean_profile", "search::find_euclidean") {
  for (const Query& query : odd_queries()) {
    survives([&] { return euclidean_profile(signal_of_two(), query, Normalization::z); });
    survives([&] { return find_euclidean(signal_of_two(), query, Normalization::none, 5, 3); });
  }
  const Query query = small_query();
  refused([&] { return euclidean_profile({}, query, Normalization::z); });
  refused([&] {
    return euclidean_profile({long_one(), std::span(long_one()).first(30)}, query, Normalization::z);
  });
  refused([&] {
    return euclidean_profile({std::span(long_one()).first(3), std::span(long_one()).first(3)}, query,
                             Normalization::z);
  });
  refused([&] { return euclidean_profile(signal_of_two(), query, no_enumerator<Normalization>()); });
  for (const std::int64_t odd : {std::int64_t{0}, std::int64_t{-1}, kLeast})
    refused([&] { return find_euclidean(signal_of_two(), query, Normalization::z, odd, 0); });
  refused([&] { return find_euclidean(signal_of_two(), query, Normalization::z, 1, -1); });
  survives([&] { return find_euclidean(signal_of_two(), query, Normalization::z, kMost, kMost); });
  survives([&] { return find_euclidean(signal_of_two(), query, Normalization::z, kMost, 0); });
}

DOOR(Evaluate, "search::evaluate", "search::judge", "search::mean_of", "search::mean_with_confidence",
     "search::student_quantile", "search::value_of", "search::read_truth") {
  const std::vector<Interval> good{{1, 2, "a"}};
  for (const double odd : kOddNumbers) {
    const std::vector<Interval> bad{{odd, odd, "a"}}, tiny{{1, 1e-300, "a"}};
    survives([&] { return evaluate(bad, good, good, 5); });
    survives([&] { return evaluate(good, bad, {}, 5); });
    survives([&] { return evaluate(good, good, bad, 5); });
    survives([&] { return evaluate(tiny, std::vector<Interval>{{0, 1e300, "a"}}, {}, 5); });
    refused([&] { return evaluate(good, good, good, 5, {.overlap = odd}); });
    refused([&] { return evaluate(good, good, good, 5, {.self_overlap = odd}); });
    refused([&] { return student_quantile(3, odd); });
    survives([&] { return mean_with_confidence(std::vector{odd, 1.0}); });
    survives([&] { return judge({.name = "", .matches = bad}, good, "", "", 1); });
  }
  for (const std::int64_t k : {std::int64_t{0}, std::int64_t{-1}, kMost, kLeast}) {
    refused([&] { return evaluate(good, good, good, k); });
    refused([&] { return student_quantile(k, 0.5); });
    refused([&] { return judge({}, good, "", "", k); });
  }
  EXPECT_EQ(evaluate({}, {}, {}, 1).results, 0);
  refused([] { return mean_with_confidence({}); });
  refused([] { return mean_of({}, kMeasures[0]); });
  refused([] { return value_of({}, Measure{.name = "none"}); });
  for (const std::string path : {"", "/", "/nowhere.csv"}) refused([&] { return read_truth(path, {}); });
}

DOOR(Matchings, "search::best_matching", "search::best_matchings", "search::maximal_matchings",
     "search::pay") {
  const auto calls = [](const std::vector<Edge>& edges) {
    refused([&] { return best_matching(edges); });
    refused([&] { return best_matchings(edges, 2); });
    refused([&] { return maximal_matchings(edges); });
    refused([&] { return pay(edges, {}).left; });
  };
  for (const std::int32_t end : {-1, kMost32, std::numeric_limits<std::int32_t>::min(), 1 << 20}) {
    calls({{end, 0, {1, 1}}});
    calls({{0, end, {1, 1}}});
  }
  for (const double odd : kOddNumbers)
    if (odd != 1e300) calls({{0, 0, {1, odd}}});
  for (const std::int64_t odd : {kMost, kLeast}) calls({{0, 0, {odd, 0}}});
  const std::vector<Edge> good{{0, 0, {1, 1e300}}, {0, 1, {2, 0}}, {1, 0, {1, 1e-300}}};
  std::vector<Worth> prices(7);
  EXPECT_EQ(best_matching(good, &prices).size(), 2u);
  EXPECT_TRUE(best_matching({}, &prices).empty());
  for (const std::int64_t count : {std::int64_t{0}, std::int64_t{-1}, kLeast})
    EXPECT_TRUE(best_matchings(good, count).empty());
  EXPECT_EQ(best_matchings(good, kMost).size(), 2u);
  refused([&] { return maximal_matchings(good, -1); });
  refused([&] { return maximal_matchings(good, 0); });
  refused([&] { return maximal_matchings(std::vector<Edge>(200'000, {0, 0, {1, 1}})); });
  survives([&] { return pay(good, std::vector<Worth>(9)).right; });
  survives([&] { return pay({}, {}).left; });
}

DOOR(Assemble, "search::assemble") {
  const Query query = small_query();
  Piece good;
  good.pair.offset = 40, good.pair.length = good.pair.coverage = 20;
  std::vector<Piece> bad(13, good);
  bad[0].pair.query_channel = -1, bad[1].pair.query_channel = 2, bad[2].pair.channel = -1,
  bad[3].pair.channel = kMost32;
  bad[4].pair.rotation = -1, bad[5].pair.rotation = kMost32, bad[6].pair.segment = kMost32,
  bad[7].pair.segment = -2;
  bad[8].pair.offset = kMost, bad[9].pair.coverage = kLeast, bad[10].pair.distance = std::nan(""),
  bad[11].pair.weight = HUGE_VAL;
  bad[12].pair.length = kMost;
  for (const Piece& piece : bad) refused([&] { return assemble(std::vector{good, piece}, query, {}); });
  for (const AssembleOptions& options : std::vector<AssembleOptions>{{.max_lag = -1},
                                                                     {.max_lag = kMost},
                                                                     {.exclusion = -1},
                                                                     {.exclusion = kMost},
                                                                     {.alternatives = 0},
                                                                     {.alternatives = -1}})
    refused([&] { return assemble(std::span(&good, 1), query, options); });
  refused([&] { return assemble(std::span(&good, 1), Query{}, {}); });
  EXPECT_TRUE(assemble({}, query, {}).empty());
  EXPECT_TRUE(assemble(std::span(&good, 1), query, {.limit = -1}).empty());
  EXPECT_EQ(
      assemble(std::vector{good, good}, query, {.min_channels = -1, .limit = kMost, .alternatives = kMost32})
          .size(),
      1u);
}

io::Recording recording_of_two() {
  io::Recording recording;
  recording.timed = true;
  for (const auto* samples : {&long_one(), &other_one()})
    recording.channels.push_back({.rate = 10, .samples = *samples});
  recording.annotations = {{4, 2, "step"}};
  return recording;
}

DOOR(
    RecordedQueries,
    "search::query_of_range(const Recording &, const Signal &, const std::filesystem::path &, const std::string &, double, double)",
    "search::query_of_range(const Recording &, const std::filesystem::path &, const std::string &, double, double)",
    "search::queries_labelled", "search::match_rates",
    "search::at_rate_of(const Recording &, std::span<const RecordedQuery>)", "search::placed",
    "search::sources_in", "search::find_options", "search::RecordedQuery::channel",
    "search::RecordedQuery::channels", "search::RecordedQuery::length", "search::RecordedQuery::source",
    "search::search_recording(Recording &, const Signal &, const std::filesystem::path &, std::span<const RecordedQuery>, const SearchOptions &)",
    "search::search_recording(Recording &, const std::filesystem::path &, std::span<const RecordedQuery>, const SearchOptions &)",
    "search::make_hits", "search::ranking", "search::Ranked::operator*") {
  io::Recording recording = recording_of_two();
  const RecordedQuery query = query_of_range(recording, "f", "step", 4, 6);
  for (const double odd : kOddNumbers) {
    refused([&] { return query_of_range(recording, "f", "", odd, 6).length(); });
    refused([&] { return query_of_range(recording, "f", "", 4, odd).length(); });
    io::Recording strange = recording_of_two();
    strange.annotations = {{odd, odd, "step"}};
    refused([&] { return queries_labelled(strange, "f", "step", ""); });
    RecordedQuery other = query;
    other.rate = odd;
    survives([&] { return match_rates(std::span(&other, 1), strange, ""), 0; });
    survives([&] { return at_rate_of(strange, std::span(&other, 1)).size(); });
    strange.channels[0].rate = odd;
    survives([&] { return at_rate_of(strange, std::span(&query, 1)).size(); });
    survives([&] { return make_hits(std::vector<Match>(1), odd, {}, {}).size(); });
  }
  refused([&] { return queries_labelled(recording, "f", "none", ""); });
  io::Recording none;
  refused([&] { return query_of_range(none, "f", "", 4, 6).length(); });
  refused([&] { return match_rates(std::span(&query, 1), none, ""), 0; });
  refused([&] { return at_rate_of(none, std::span(&query, 1)).size(); });
  refused([&] { return search_recording(none, "f", std::span(&query, 1), {}).samples; });
  refused([&] { return search_recording(recording, "f", {}, {}).samples; });
  // Samples that lie elsewhere have to be those of the channels, all of one length.
  const std::vector<float> values(recording.channels[0].samples.size());
  for (const Signal& odd : {Signal{}, Signal{values}, Signal(recording.channels.size() + 1, values),
                            Signal{values, std::span(values).first(values.size() - 1)}}) {
    refused([&] { return query_of_range(recording, odd, "f", "", 4, 6).length(); });
    refused([&] { return search_recording(recording, odd, "f", std::span(&query, 1), {}).samples; });
  }
  const RecordedQuery empty;
  EXPECT_EQ(empty.length(), 0);
  EXPECT_TRUE(empty.channels().empty());
  EXPECT_FALSE(empty.source().empty());
  for (const std::int32_t channel : {-1, 0, kMost32}) refused([&] { return empty.channel(channel); });
  EXPECT_EQ(placed(std::span(&empty, 1), recording, "", false).size(), 1u);
  refused([&] { return search_recording(recording, "f", std::span(&empty, 1), {}).samples; });
  RecordedQuery uneven = query;
  uneven.names.push_back("x");
  refused([&] { return search_recording(recording, "f", std::span(&uneven, 1), {}).samples; });
  uneven = query, uneven.samples.pop_back();
  refused([&] { return search_recording(recording, "f", std::span(&uneven, 1), {}).samples; });
  uneven = query, uneven.samples[1].pop_back();
  refused([&] { return search_recording(recording, "f", std::span(&uneven, 1), {}).samples; });
  for (const FindOptions& find : odd_find_options())
    for (const bool euclidean : {false, true}) {
      SearchOptions options;
      options.find = find, options.euclidean = euclidean;
      survives([&] { return search_recording(recording, "f", std::span(&query, 1), options).samples; });
    }
  SearchOptions options;
  options.lag_in_seconds = true;
  survives([&] { return find_options(options, empty, recording).max_lag; });
  refused([&] { return find_options(options, query, none).max_lag; });
  for (const std::string& text : odd_texts()) {
    if (text.size() > 200) continue;
    options = {};
    options.sensors = {text};
    refused([&] { return find_options(options, query, recording).max_lag; });
    options = {}, options.weights = "/nowhere" + text;
    refused([&] { return find_options(options, query, recording).max_lag; });
  }
  survives([&] { return sources_in(std::span(&query, 1), ""); });
  std::vector<Match> far(1);
  far[0].first = kLeast, far[0].last = kMost;
  survives([&] { return make_hits(far, 0, std::vector<Interval>{{0, 1, ""}}, {}).size(); });
  EXPECT_TRUE(ranking({}).empty());
  refused([] { return (*Ranked{}).self; });
  const SearchResult result;
  refused([&] { return (*Ranked{&result, 0}).self; });
}

DOOR(Streams, "search::Stream::Stream(Stream &&)",
     "search::Stream::Stream(std::int32_t, const Query &, const FindOptions &, const IndexOptions &)",
     "search::Stream::operator=", "search::Stream::push", "search::Stream::finish", "search::Stream::delay") {
  FindOptions options{.max_distance = 0.5};
  for (const std::int32_t channels : {0, -1, 1})
    refused([&] { return Stream(channels, small_query(), options).delay(); });
  for (const Query& query : odd_queries()) refused([&] { return Stream(2, query, options).delay(); });
  for (FindOptions odd : odd_find_options())
    if (odd.max_distance || (odd.max_distance = 0.5))
      refused([&] { return Stream(2, small_query(), odd).delay(); });
  refused([&] { return Stream(2, small_query(), {}).delay(); });
  refused([&] {
    return Stream(2, small_query(), options, {.normalization = no_enumerator<Normalization>()}).delay();
  });
  Stream stream(2, small_query(), options);
  refused([&] { return stream.push({}); });
  refused([&] { return stream.push({long_one()}); });
  refused([&] { return stream.push({long_one(), std::span(long_one()).first(3)}); });
  survives([&] { return stream.push({std::span<const float>(), std::span<const float>()}); });
  survives([&] { return stream.push(signal_of_two()); });
  survives([&] { return stream.finish(); });
  refused([&] { return stream.finish(); });
  refused([&] { return stream.push(signal_of_two()); });
  move_away(stream);
  refused([&] { return stream.delay(); });
  refused([&] { return stream.push(signal_of_two()); });
  refused([&] { return stream.finish(); });
  stream = Stream(2, small_query(), options);
  EXPECT_GT(stream.delay(), 0);
}

DOOR(
    LineStreams, "search::LineStream::LineStream(LineStream &&)",
    "search::LineStream::LineStream(RecordedQuery, const SearchOptions &, const RecordingOptions &, std::string)",
    "search::LineStream::operator=", "search::LineStream::push", "search::LineStream::finish",
    "search::LineStream::recording") {
  SearchOptions options;
  options.find.max_distance = 0.5;
  const RecordedQuery query = query_of_range(recording_of_two(), "f", "step", 4, 6);
  for (const std::string& text : odd_texts()) {
    LineStream stream(query, options, {.rate = 10}, text);
    survives([&] { return stream.push(text).size(); });
    survives([&] { return stream.push("1,2").size(); });
    survives([&] { return stream.push(text).size(); });
    survives([&] { return stream.finish().size(); });
    survives([&] { return stream.finish().size(); });
  }
  LineStream stream(query, options, {.rate = 10}, "");
  refused([&] { return stream.push("1").size(); });  // the line that comes next begins anew
  EXPECT_TRUE(stream.push("1,2").empty());
  survives([&] { return stream.push("3,4").size(); });
  EXPECT_EQ(stream.recording().channels.size(), 2u);
  move_away(stream);
  refused([&] { return stream.push("1,2").size(); });
  refused([&] { return stream.finish().size(); });
  refused([&] { return stream.recording().samples; });
  stream = LineStream(RecordedQuery{}, options, {}, "");
  refused([&] { return stream.push("1,2").size(); });
}

DOOR(PageOfASearch, "search::search_page") {
  const io::Recording recording = recording_of_two();
  const std::vector<Query> queries{small_query()};
  Found found;
  const auto page = [&](const Match& match) {
    found.matches = {match};
    return search_page({.recording = &recording, .queries = queries, .found = &found});
  };
  refused([&] { return search_page({}); });
  refused([&] { return search_page({.recording = &recording}); });
  io::Recording uneven = recording;
  uneven.channels[1].samples.clear();
  refused([&] { return search_page({.recording = &uneven, .found = &found}); });
  Match match{.first = 40,
              .last = 60,
              .matched = 1,
              .channels = 2,
              .pairs = {{.offset = 40, .begin = 40, .length = 20, .coverage = 20}}};
  EXPECT_FALSE(page(match).empty());
  for (const std::int32_t odd : {-1, 2, kMost32, std::numeric_limits<std::int32_t>::min()}) {
    Match bad = match;
    bad.query = odd;
    refused([&] { return page(bad); });
    bad = match, bad.pairs[0].channel = odd;
    refused([&] { return page(bad); });
    bad = match, bad.pairs[0].query_channel = odd;
    refused([&] { return page(bad); });
    bad = match, bad.pairs[0].rotation = odd;
    survives([&] { return page(bad); });
    bad = match, bad.pairs[0].segment = odd;
    survives([&] { return page(bad); });
    bad = match, bad.matched = bad.channels = odd;
    survives([&] { return page(bad); });
  }
  for (const std::int64_t odd : {kMost, kLeast, std::int64_t{-5}, std::int64_t{0}, std::int64_t{1} << 40}) {
    Match bad = match;
    bad.first = odd;
    survives([&] { return page(bad); });
    bad = match, bad.last = odd;
    survives([&] { return page(bad); });
    bad = match, bad.pairs[0].offset = odd;
    survives([&] { return page(bad); });
    bad = match, bad.pairs[0].begin = odd;
    survives([&] { return page(bad); });
    bad = match, bad.pairs[0].length = odd;
    survives([&] { return page(bad); });
    bad = match, bad.pairs[0].coverage = odd;
    survives([&] { return page(bad); });
  }
  for (const double odd : kOddNumbers) {
    Match bad = match;
    bad.coverage = bad.distance = bad.pairs[0].distance = bad.pairs[0].scale = bad.pairs[0].weight = odd;
    survives([&] { return page(bad); });
    io::Recording strange = recording;
    strange.channels[0].rate = odd, strange.channels[0].samples[3] = static_cast<float>(odd);
    strange.annotations = {{odd, odd, "<script>"}};
    survives([&] { return search_page({.recording = &strange, .queries = queries, .found = &found}); });
  }
  std::vector<Query> bad = queries;
  bad[0].places = {kMost32, 0};
  refused([&] { return search_page({.recording = &recording, .queries = bad, .found = &found}); });
  bad = queries, bad[0].channels.pop_back();
  survives([&] { return search_page({.recording = &recording, .queries = bad, .found = &found}); });
  bad = queries, bad[0].channels = {{}, {}};
  found.matches = {match};
  survives([&] { return search_page({.recording = &recording, .queries = bad, .found = &found}); });
  survives([&] {
    return search_page({.recording = &recording,
                        .queries = queries,
                        .found = &found,
                        .normalization = no_enumerator<Normalization>()});
  });
  for (const std::int32_t odd : {0, -1, kMost32})
    survives([&] {
      return search_page({.recording = &recording,
                          .queries = queries,
                          .found = &found,
                          .options = {.rotations = odd, .sensors = {{odd, odd, odd}}, .segments = odd}});
    });
}

}  // namespace
}  // namespace warploom::doors
