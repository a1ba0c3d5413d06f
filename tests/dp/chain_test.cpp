#include "warploom/dp/chain.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <limits>

#include "child.hpp"
#include "oracle/random.hpp"

namespace warploom::dp {
namespace {

using testing::HasSubstr;
using Dimensions = std::vector<std::int64_t>;

const ChainOptions kCpu{.solve = {.run = {.devices = {Device::cpu}}}};

ChainOrder order(const Dimensions& dimensions, ValueType type = ValueType::best) {
  ChainOptions options = kCpu;
  options.type = type;
  return chain_order(dimensions, options);
}

std::int64_t whole(const Number& number) { return std::get<std::int64_t>(number); }

/// The least cost over all sequences of products: each merges two neighbours and removes the dimension
/// between.
std::int64_t least_of_all_sequences(const Dimensions& d) {
  if (d.size() == 2) return 0;
  std::int64_t least = std::numeric_limits<std::int64_t>::max();
  for (std::size_t k = 1; k + 1 < d.size(); ++k) {
    Dimensions rest = d;
    rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(k));
    least = std::min(least, d[k - 1] * d[k] * d[k + 1] + least_of_all_sequences(rest));
  }
  return least;
}

/// Carries out what a parenthesisation says, in brackets as a reader sees them.
struct Reader {
  std::string_view text;
  const Dimensions& d;
  std::size_t at = 0;
  std::int64_t next = 1, cost = 0;

  void expect(char c) {
    ASSERT_LT(at, text.size());
    ASSERT_EQ(text[at++], c) << "at " << at - 1 << " of " << text;
  }
  /// The rows and columns of the factor that begins here.
  std::pair<std::int64_t, std::int64_t> factor() {
    if (text[at] == 'A') {
      const std::string label = "A" + std::to_string(next++);
      EXPECT_EQ(text.substr(at, label.size()), label);
      at += label.size();
      const auto k = static_cast<std::size_t>(next - 2);
      return {d[k], d[k + 1]};
    }
    expect('(');
    const auto left = factor();
    expect(' ');
    const auto right = factor();
    expect(')');
    EXPECT_EQ(left.second, right.first);
    cost += left.first * left.second * right.second;
    return {left.first, right.second};
  }
};

std::int64_t cost_as_written(const std::string& text, const Dimensions& d) {
  Reader reader{text, d};
  reader.factor();
  EXPECT_EQ(reader.at, text.size());
  EXPECT_EQ(reader.next, std::ssize(d));
  return reader.cost;
}

TEST(MatrixChain, TextbookExample) {
  // Cormen et al., Introduction to Algorithms, 3rd ed., section 15.2.
  const ChainOrder result = order({30, 35, 15, 5, 10, 20, 25});
  EXPECT_EQ(whole(result.cost), 15125);
  EXPECT_EQ(result.parenthesisation, "((A1 (A2 A3)) ((A4 A5) A6))");
  EXPECT_EQ(whole(result.left_to_right), 40500);  // 30 (35*15 + 15*5 + 5*10 + 10*20 + 20*25)
  EXPECT_EQ(result.type, ValueType::int32);
  const std::vector<Split> splits{{0, 3, 6}, {0, 1, 3}, {1, 2, 3}, {3, 5, 6}, {3, 4, 5}};
  EXPECT_EQ(result.splits, splits);
}

TEST(MatrixChain, TextbookExercise) {
  // The same book's exercise 15.2-1.
  const Dimensions d{5, 10, 3, 12, 5, 50, 6};
  EXPECT_EQ(whole(order(d).cost), 2010);
  EXPECT_EQ(order(d).parenthesisation, "((A1 A2) ((A3 A4) (A5 A6)))");
}

TEST(MatrixChain, CostsTheLeastOfAllSequencesOfProducts) {
  Random random(1);
  for (int repeat = 0; repeat < 303; ++repeat) {
    Dimensions d(repeat < 300 ? 2 + random.below(7) : 11);    // of the last three all 9! sequences
    const std::uint32_t largest = repeat % 2 == 0 ? 4 : 100;  // many ties, and few
    for (std::int64_t& dimension : d) dimension = 1 + random.below(largest);
    const std::int64_t least = least_of_all_sequences(d);
    for (const ValueType type :
         {ValueType::best, ValueType::int32, ValueType::int64, ValueType::float32, ValueType::float64}) {
      const ChainOrder result = order(d, type);
      EXPECT_EQ(text(result.cost), std::to_string(least)) << testing::PrintToString(d);
      EXPECT_EQ(cost_as_written(result.parenthesisation, d), least) << result.parenthesisation;
      EXPECT_EQ(std::ssize(result.splits), std::ssize(d) - 2);
    }
  }
}

TEST(MatrixChain, IsFreeForOneMatrix) {
  const ChainOrder result = order({7, 9});
  EXPECT_EQ(whole(result.cost), 0);
  EXPECT_EQ(whole(result.left_to_right), 0);
  EXPECT_EQ(result.parenthesisation, "A1");
  EXPECT_TRUE(result.splits.empty());
}

TEST(MatrixChain, ComparesWithLeftToRight) {
  const ChainOrder result = order({2, 3, 4, 5, 6});
  EXPECT_EQ(whole(result.left_to_right), 2 * (3 * 4 + 4 * 5 + 5 * 6));
  const std::string rightmost = order({9, 1, 1, 1}).parenthesisation;
  EXPECT_EQ(rightmost, "(A1 (A2 A3))");
}

TEST(MatrixChain, OfManyIsWhatItsTextCosts) {
  Random random(2);
  Dimensions d(401);
  for (std::int64_t& dimension : d) dimension = 1 + random.below(50);
  const ChainOrder result = order(d);
  EXPECT_EQ(cost_as_written(result.parenthesisation, d), whole(result.cost));
  EXPECT_LT(whole(result.cost), whole(result.left_to_right));
  EXPECT_EQ(order(d, ValueType::int64).parenthesisation, result.parenthesisation);
}

TEST(MatrixChain, TakesTheTypeThatHoldsItsCosts) {
  // Either way round costs at most 2 * 812^3, above 2^29 - 1; one product less fits.
  EXPECT_EQ(order({812, 812, 812}).type, ValueType::int32);
  EXPECT_EQ(order({812, 812, 812, 812}).type, ValueType::int64);
  // From the right any part is cheap, from the left 800 * 299 * 50^2 = 5.98e8: the cheaper way counts.
  Dimensions d(301, 50);
  d[0] = 800;
  EXPECT_EQ(order(d).type, ValueType::int32);
  std::ranges::reverse(d);
  EXPECT_EQ(order(d).type, ValueType::int32);
  EXPECT_EQ(order({1, 813, 1}).type, ValueType::int64);  // 813^3 is above 2^29 - 1
}

TEST(MatrixChain, WithOneLargeDimensionIsExact) {
  // One tall matrix among small ones; 5,000,000^3 is beyond int64, the costs are not.
  const ChainOrder tall = order({10, 5'000'000, 10, 10});
  EXPECT_EQ(tall.type, ValueType::float64);
  EXPECT_EQ(whole(tall.cost), 500'000'000 + 1000);
  Random random(9);
  for (int repeat = 0; repeat < 100; ++repeat) {
    Dimensions d(3 + random.below(5));
    for (std::int64_t& dimension : d) dimension = 1 + random.below(100);
    d[random.below(static_cast<std::uint32_t>(d.size()))] = repeat % 2 == 0 ? 100'000 : 10'000'000;
    const ChainOrder result = order(d);
    EXPECT_EQ(result.type, repeat % 2 == 0 ? ValueType::int64 : ValueType::float64);
    EXPECT_EQ(whole(result.cost), least_of_all_sequences(d)) << testing::PrintToString(d);
    EXPECT_EQ(cost_as_written(result.parenthesisation, d), whole(result.cost));
  }
}

TEST(MatrixChain, IsExactUpToTheEndOfInt64) {
  // No order costs more than 2^61 - 2^40; with one more in the last dimension 2^61 is out of range.
  const std::int64_t side = std::int64_t{1} << 20;
  const ChainOrder result = order({side, side, side, side - 1});
  EXPECT_EQ(whole(result.cost), (std::int64_t{1} << 61) - (std::int64_t{1} << 41));
  EXPECT_EQ(result.parenthesisation, "(A1 (A2 A3))");
  EXPECT_EQ(whole(result.left_to_right), (std::int64_t{1} << 61) - (std::int64_t{1} << 40));
  EXPECT_THAT(message_of([&] {
                order({side, side, side, side});
              }),
              HasSubstr("may reach 2305843009213693952; "));
}

TEST(MatrixChain, RefusesCostsBeyondTheType) {
  EXPECT_EQ(
      message_of([] {
        order({812, 812, 812, 812}, ValueType::int32);
      }),
      "costs of this chain, or the cube of its largest dimension, may reach 1070774656; int32 is for up to 536870911; use int64");
  EXPECT_EQ(
      message_of([] {
        order({2'000'000, 2'000'000, 2'000'000});
      }),
      "costs of this chain, or the cube of its largest dimension, may reach 8000000000000000000; int64 is for up to 2305843009213693951; use "
      "float64, which rounds");
  EXPECT_THAT(message_of([] {
                order({3'000'000, 3'000'000, 3'000'000}, ValueType::int32);
              }),
              HasSubstr("may reach more than 2^63; int32 is for up to 536870911; use float64"));
}

TEST(MatrixChain, RoundsInFloatingPointWhatIntegersDoNotHold) {
  const std::int64_t d = 3'000'000;
  const ChainOrder result = order({d, d, d, d}, ValueType::float64);
  EXPECT_DOUBLE_EQ(std::get<double>(result.cost), 5.4e19);
  EXPECT_DOUBLE_EQ(std::get<double>(result.left_to_right), 5.4e19);
  EXPECT_THAT(message_of([] {
                order({1LL << 43, 1LL << 43, 1LL << 43}, ValueType::float32);
              }),
              HasSubstr("beyond float32's range; use float64"));
}

TEST(MatrixChain, RefusesWhatIsNoChain) {
  EXPECT_THAT(message_of([] { order({}); }), HasSubstr("the chain is empty"));
  EXPECT_THAT(message_of([] { order({5}); }), HasSubstr("one matrix has two dimensions, one is given"));
  EXPECT_EQ(message_of([] {
              order({5, 0, 3});
            }),
            "dimensions[1] is 0; a matrix has at least 1 row and column");
  EXPECT_THAT(message_of([] { order({5, 7, -3}); }), HasSubstr("dimensions[2] is -3"));
}

TEST(Parenthesisation, OfAHundredThousandNeedsNoStack) {
  const std::int64_t matrices = 100'000;
  std::vector<Split> left_to_right;
  for (std::int64_t j = matrices; j >= 2; --j) left_to_right.push_back({0, j - 1, j});
  const std::string text = parenthesisation(left_to_right, matrices);
  EXPECT_TRUE(text.starts_with(std::string(99'999, '(') + "A1 A2) A3)"));
  EXPECT_TRUE(text.ends_with(" A99999) A100000)"));
  EXPECT_EQ(std::ranges::count(text, '('), std::ranges::count(text, ')'));
}

}  // namespace
}  // namespace warploom::dp
