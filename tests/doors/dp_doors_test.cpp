#include <cmath>

#include "doors/doors.hpp"
#include "warploom/dp/base_pairs.hpp"
#include "warploom/dp/chain.hpp"
#include "warploom/dp/polygon.hpp"
#include "warploom/dp/read.hpp"
#include "warploom/dp/search_tree.hpp"
#include "warploom/dp/user_table.hpp"

namespace warploom::doors {
namespace {

using namespace dp;

template <Value T>
Problem<T> problem_of_five() {
  Problem<T> problem;
  problem.leaves = {1, 2, 3, 4, 5};
  return problem;
}

/// Problems whose parts disagree.
template <Value T>
std::vector<Problem<T>> broken_problems() {
  std::vector<Problem<T>> all(14, problem_of_five<T>());
  move_away(all[0]);
  all[1].row_weight = {1};
  all[2].row_weight.assign(6, 1);
  all[3].row_weight.assign(5, 1), all[3].column_weight.assign(5, 1);
  all[4].factors.assign(7, 1);
  all[5].cell_weight = Triangle<T>(5, 0);
  all[6].cell_weight = Triangle<T>(7, 0);
  all[7].optimum = no_enumerator<Optimum>();
  all[8].bound = -1;
  all[9].leaves[2] = std::numeric_limits<T>::max();
  all[9].leaves[3] = std::numeric_limits<T>::lowest();
  for (std::size_t k = 10; k < 14; ++k) {
    all[k].pairing = Pairing<T>{.codes = {0, 1, 0, 1, 0}, .letters = 2, .scores = {1, 1, 1, 1}};
    Pairing<T>& pairing = *all[k].pairing;
    if (k == 10) pairing.codes.pop_back();
    if (k == 11) pairing.codes[1] = 2;
    if (k == 12) pairing.letters = kMost;
    if (k == 13) pairing.scores.pop_back();
  }
  return all;
}

template <Value T>
void solves_or_refuses() {
  for (const Problem<T>& problem : broken_problems<T>()) {
    const bool reals = std::is_floating_point_v<T> && problem.leaves.size() == 5 &&
                       problem.leaves[2] == std::numeric_limits<T>::max();
    if (reals)
      survives([&] { return solve(problem).optimum(); });
    else
      refused([&] { return solve(problem).optimum(); });
    survives([&] { return bytes_needed(problem, Storage::best); });
    survives([&] { return in_range(problem); });
  }
  Problem<T> problem = problem_of_five<T>();
  problem.pairing =
      Pairing<T>{.codes = {0, 1, 0, 1, 0}, .letters = 2, .scores = {1, 1, 1, 1}, .minimum_span = kMost};
  survives([&] { return solve(problem).optimum(); });
  for (const std::int64_t span : {std::int64_t{1}, kLeast}) {
    problem.pairing->minimum_span = span;
    refused([&] { return solve(problem).optimum(); });
  }
  problem = problem_of_five<T>();
  for (const Options& options :
       std::vector<Options>{{.decomposition = no_enumerator<Decomposition>()},
                            {.block = -1},
                            {.block = 17},
                            {.block = kMost32},
                            {.triangular = no_enumerator<Triangular>()},
                            {.storage = no_enumerator<Storage>()},
                            {.multiprocessors = -1},
                            {.run = {.devices = {Device::cpu, Device::cpu}}},
                            {.run = {.devices = {Device::cpu}}, .decomposition = Decomposition::persistent}})
    refused([&] { return solve(problem, options).optimum(); });
  refused([&] { return bytes_needed(problem, no_enumerator<Storage>()); });
  EXPECT_TRUE(solve_batch<T>({}).empty());
  refused([] { return solve_batch<T>(std::vector(2, Problem<T>{})); });

  const Solution<T> solution = solve(problem);
  for (const auto& [i, j] : {std::pair{std::int64_t{-1}, std::int64_t{2}},
                             {std::int64_t{2}, std::int64_t{2}},
                             {kLeast, kMost},
                             {std::int64_t{0}, std::int64_t{6}}})
    refused([&] { return solution.value(i, j); });
  EXPECT_EQ(solution.table().points(), 6);
  EXPECT_EQ(solution.trace().size(), 4u);
  Solution<T> moved = solution;
  move_away(moved);
  EXPECT_EQ(moved.points(), 6);
  EXPECT_EQ(moved.optimum(), solution.optimum());
  EXPECT_FALSE(format_table(moved).empty());
  refused([] { return Solution<T>(nullptr, 0, {}).points(); });
}

DOOR(SolveInt32, "dp::solve", "dp::solve_batch", "dp::bytes_needed", "dp::in_range",
     "dp::Solution::Solution<T>", "dp::Solution::optimum", "dp::Solution::points", "dp::Solution::report",
     "dp::Solution::table", "dp::Solution::trace", "dp::Solution::value", "dp::format_table") {
  solves_or_refuses<std::int32_t>();
}
TEST(Doors, SolveInt64) { solves_or_refuses<std::int64_t>(); }
TEST(Doors, SolveFloat) { solves_or_refuses<float>(); }
TEST(Doors, SolveDouble) { solves_or_refuses<double>(); }

DOOR(Triangles, "dp::Triangle::Triangle<T>(std::int64_t)", "dp::Triangle::Triangle<T>(std::int64_t, T)",
     "dp::Triangle::Triangle<T>(const Triangle<T> &)", "dp::Triangle::Triangle<T>(Triangle<T> &&)",
     "dp::Triangle::operator=(Triangle<T>)", "dp::Triangle::stored()", "dp::Triangle::stored() const") {
  for (const std::int64_t points :
       {std::int64_t{-1}, kLeast, kMost, std::int64_t{1} << 62, std::int64_t{1} << 30}) {
    refused([&] { return Triangle<float>(points).points(); });
    refused([&] { return Triangle<std::int64_t>(points, 7).points(); });
  }
  EXPECT_TRUE(Triangle<float>(0).stored().empty());
  Triangle<float> triangle(5, 1);
  move_away(triangle);
  EXPECT_TRUE(triangle.empty());
  EXPECT_TRUE(triangle.stored().empty());
  const Triangle<float> copy = triangle;
  EXPECT_TRUE(copy.stored().empty());
  triangle = Triangle<float>(3, 2);
  EXPECT_EQ(triangle(0, 2), 2);
}

DOOR(NamesOfDp, "dp::name(Decomposition)", "dp::name(Optimum)", "dp::name(Storage)", "dp::name(Triangular)",
     "dp::name(ValueType)", "dp::parse_decomposition", "dp::parse_optimum", "dp::parse_storage",
     "dp::parse_triangular", "dp::parse_value_type", "dp::text", "dp::with_value_type",
     "dp::choose_value_type(ValueType, std::int64_t, std::string_view)") {
  refused([] { return name(no_enumerator<Decomposition>()); });
  refused([] { return name(no_enumerator<Optimum>()); });
  refused([] { return name(no_enumerator<Storage>()); });
  refused([] { return name(no_enumerator<Triangular>()); });
  refused([] { return name(no_enumerator<ValueType>()); });
  for (const std::string& text : odd_texts()) {
    refused([&] { return parse_decomposition(text); });
    refused([&] { return parse_optimum(text); });
    refused([&] { return parse_storage(text); });
    refused([&] { return parse_triangular(text); });
    refused([&] { return parse_value_type(text); });
  }
  for (const double odd : {kNan, kInfinity}) EXPECT_FALSE(text(odd).empty());
  refused([] { return with_value_type(no_enumerator<ValueType>(), [](auto) { return 0; }); });
  refused([] { return with_value_type(ValueType::best, [](auto) { return 0; }); });
  refused([] { return choose_value_type(no_enumerator<ValueType>(), 1, ""); });
  refused([] { return choose_value_type(ValueType::best, kMost, ""); });
  survives([] { return choose_value_type(ValueType::int32, kLeast, ""); });
}

DOOR(Chains, "dp::chain_order", "dp::parenthesisation") {
  for (const std::vector<std::int64_t>& dimensions : std::vector<std::vector<std::int64_t>>{
           {}, {1}, {0, 1}, {1, -1}, {kLeast, kMost}, {1, kMost, kMost, kMost, kMost}})
    for (const ValueType type :
         {ValueType::best, ValueType::int32, ValueType::float32, no_enumerator<ValueType>()})
      if (dimensions.size() < 5 || type != ValueType::float32)
        refused([&] { return chain_order(dimensions, {.type = type}).cost; });
  survives(
      [] { return chain_order(std::vector<std::int64_t>(5, kMost), {.type = ValueType::float32}).cost; });
  survives(
      [] { return chain_order(std::vector<std::int64_t>(5, kMost), {.type = ValueType::float64}).cost; });
  for (const std::int64_t matrices : {std::int64_t{-1}, kLeast, kMost, std::int64_t{1} << 40})
    refused([&] { return parenthesisation({}, matrices); });
  for (const Split& split :
       {Split{-1, 1, 2}, Split{0, 1, 0}, Split{0, 1, 4}, Split{kLeast, 0, kMost}, Split{kMost, 0, kLeast}})
    refused([&] { return parenthesisation(std::span(&split, 1), 3); });
  refused([] { return parenthesisation({}, 3, "A", kMost); });
  EXPECT_EQ(parenthesisation({}, 0), "");
}

DOOR(
    SearchTrees,
    "dp::search_tree(std::span<const double>, std::span<const double>, const SearchTreeOptions &)",
    "dp::search_tree(std::span<const std::int64_t>, std::span<const std::int64_t>, const SearchTreeOptions &)") {
  const std::vector<double> p{1, 2}, q{1, 1, 1};
  const std::vector<std::int64_t> whole_p{1, 2}, whole_q{1, 1, 1};
  refused([&] { return search_tree(std::vector<double>{}, q).root; });
  refused([&] { return search_tree(p, p).root; });
  refused([&] { return search_tree(std::vector<std::int64_t>{}, std::vector<std::int64_t>{}).root; });
  refused([&] { return search_tree(whole_p, whole_p).root; });
  for (const double odd : {-1.0, kNan, kInfinity, 1e308}) {
    refused([&] { return search_tree(std::vector{1, odd}, q).root; });
    refused([&] { return search_tree(p, std::vector{odd, odd, odd}).root; });
  }
  for (const std::int64_t odd : {std::int64_t{-1}, kLeast, kMost})
    refused([&] { return search_tree(whole_p, std::vector{odd, odd, odd}).root; });
  refused([&] { return search_tree(p, q, {.type = no_enumerator<ValueType>()}).root; });
  refused([&] { return search_tree(whole_p, whole_q, {.type = no_enumerator<ValueType>()}).root; });
  refused([&] { return search_tree(p, q, {.type = ValueType::int32}).root; });
}

DOOR(BasePairing, "dp::base_pairs(std::string_view, const BasePairOptions &)",
     "dp::base_pairs(std::span<const std::string>, const BasePairOptions &)", "dp::arcs_svg",
     "dp::connectivity_table", "dp::dot_bracket", "dp::report_of") {
  for (const std::string& text : odd_texts()) {
    refused([&] { return base_pairs(text).pairs; });
    refused([&] { return base_pairs(std::vector{std::string("ACGU"), text}); });
  }
  for (const std::int32_t odd : {-1, kMost32, -kMost32 - 1}) {
    survives([&] { return base_pairs("GGGAAACCC", {.gc = odd}).pairs; });
    survives([&] { return base_pairs("GGGAAACCC", {.au = odd, .gu = odd}).pairs; });
  }
  for (const std::int64_t odd : {std::int64_t{-1}, kLeast, kMost})
    survives([&] { return base_pairs("GC", {.minimum_loop = odd}).pairs; });
  EXPECT_TRUE(base_pairs(std::span<const std::string>()).empty());
  refused([] { return report_of({}, 1).seconds; });
  const BasePairs good = base_pairs("GGGAAACCC");
  std::vector<BasePairs> bad(7, good);
  bad[0].partner.pop_back(), bad[1].sequence.pop_back(), bad[2].partner[1] = 9, bad[3].partner[1] = kMost;
  bad[4].partner[1] = kLeast, bad[5].score = kLeast;
  move_away(bad[6]);
  for (const BasePairs& structure : bad) {
    refused([&] { return connectivity_table(structure, ""); });
    refused([&] { return arcs_svg(structure); });
    survives([&] { return dot_bracket(structure); });
  }
  BasePairs strange = good;
  strange.partner.assign(9, 0);
  survives([&] { return arcs_svg(strange); });
}

DOOR(Polygons, "dp::triangulate", "dp::triangulation_svg") {
  const std::vector<Point> square{{0, 0}, {1, 0}, {1, 1}, {0, 1}};
  std::vector<std::vector<Point>> bad{
      {}, {{0, 0}}, {{0, 0}, {1, 1}}, {{0, 0}, {0, 0}, {1, 1}}, {{0, 0}, {1, 1}, {1, 0}, {0, 1}}};
  for (const double odd : {kNan, kInfinity, 1e300, 1e-300}) bad.push_back({{odd, 0}, {1, 0}, {1, 1}});
  for (const std::vector<Point>& polygon : bad) {
    refused([&] { return triangulate(polygon).weight; });
    survives([&] { return triangulation_svg(polygon, {}); });
  }
  survives([] { return triangulate(std::vector<Point>{{0, 0}, {1, 1}, {2, 2}}).weight; });
  survives([] { return triangulation_svg(std::vector<Point>(3, {1, 1}), {}); });
  for (const ValueType type : {ValueType::int32, no_enumerator<ValueType>()})
    refused([&] { return triangulate(square, {.type = type}).weight; });
  for (const std::int64_t odd : {std::int64_t{-1}, std::int64_t{4}, kMost, kLeast}) {
    Triangulation triangulation = triangulate(square);
    triangulation.diagonals.push_back({0, odd});
    refused([&] { return triangulation_svg(square, triangulation); });
  }
}

DOOR(TextsOfDp, "dp::parse_dimensions", "dp::parse_frequencies(std::string_view, const std::string &)",
     "dp::parse_frequencies(std::string_view, const std::string &, std::string_view, const std::string &)",
     "dp::parse_points", "dp::parse_shapes", "dp::parse_user_table") {
  for (const std::string& text : odd_texts()) {
    survives([&] { return parse_dimensions(std::vector{text, text}); });
    survives([&] { return parse_dimensions(std::vector{text + "x" + text}); });
    survives([&] { return parse_shapes(text, ""); });
    survives([&] { return parse_points(text, ""); });
    survives([&] { return parse_frequencies(text, "").index(); });
    survives([&] { return parse_frequencies(text, "", "1 2", "").index(); });
    survives([&] { return parse_frequencies("1", "", text, "").index(); });
    survives([&] { return parse_user_table(text, "").leaves; });
    survives([&] { return parse_user_table("\x93NUMPY" + text, "").leaves; });
  }
  EXPECT_TRUE(parse_dimensions({}).empty());
}

DOOR(UserTables, "dp::choose_value_type(const UserTable &, ValueType)", "dp::problem_of",
     "dp::UserTable::place", "dp::user_table") {
  const std::vector<double> turned{1, 3, 0, 2, 4, 0};  // columns of three, of which the table has two
  const UserTable read = user_table(turned.data(), 2, {1, 3}, "t");
  EXPECT_EQ(read.reals, (std::vector<double>{1, 2, 3, 4}));
  const std::array<std::uint8_t, 4> bytes{4, 3, 2, 255};
  EXPECT_EQ(user_table(bytes.data() + 3, 2, {-2, -1}, "").integers,
            (std::vector<std::int64_t>{255, 2, 3, 4}));
  refused([&] { return user_table(static_cast<const float*>(nullptr), 2, {2, 1}, "").leaves; });
  for (const std::int64_t leaves : {std::int64_t{0}, std::int64_t{-2}, kMost, kLeast})
    refused([&] { return user_table(turned.data(), leaves, {1, 3}, "").leaves; });
  const UserTable good{.leaves = 2, .whole = true, .integers = {1, 2, 3, 4}};
  std::vector<UserTable> bad(7, good);
  bad[0].integers.pop_back(), bad[1].leaves = -2, bad[2].leaves = kMost,
                              bad[3].leaves = std::int64_t{1} << 32, bad[4].whole = false;
  move_away(bad[5]), bad[6].leaves = 0;
  for (const UserTable& table : bad) {
    refused([&] { return choose_value_type(table, ValueType::best); });
    refused([&] { return problem_of<double>(table, Optimum::minimum).points(); });
    refused([&] { return problem_of<std::int32_t>(table, Optimum::minimum).points(); });
  }
  for (const std::int64_t odd : {kMost, kLeast, std::int64_t{1} << 40}) {
    UserTable table = good;
    table.integers[1] = odd;
    survives([&] { return choose_value_type(table, ValueType::best); });
    refused([&] { return problem_of<std::int32_t>(table, Optimum::minimum).points(); });
    survives([&] { return problem_of<float>(table, Optimum::maximum).points(); });
  }
  for (const double odd : {kNan, kInfinity, 1e300, 0.5}) {
    const UserTable table{.leaves = 1, .reals = {odd}};
    survives([&] { return problem_of<float>(table, Optimum::minimum).points(); });
    refused([&] { return problem_of<std::int64_t>(table, Optimum::minimum).points(); });
  }
  refused([&] { return problem_of<float>(good, no_enumerator<Optimum>()).points(); });
  refused([&] { return choose_value_type(good, no_enumerator<ValueType>()); });
  for (const std::int64_t odd : {std::int64_t{-1}, std::int64_t{2}, kMost, kLeast}) {
    refused([&] { return good.place(odd, 0); });
    refused([&] { return good.place(0, odd); });
  }
  UserTable lines = good;
  lines.lines = {1};
  refused([&] { return lines.place(1, 0); });
}

}  // namespace
}  // namespace warploom::doors
