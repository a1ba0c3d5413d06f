// Names of hash functions, assignments, operations and outcomes; how evenly keys are placed.

#include "warploom/table/hash.hpp"

#include <gmock/gmock.h>

#include <set>
#include <vector>

#include "warploom/core/error.hpp"
#include "warploom/table/operation.hpp"

namespace warploom::table {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

TEST(Hash, IsParsedFromItsName) {
  for (const Hash hash : {Hash::mix, Hash::dek, Hash::sdbm, Hash::pjw})
    EXPECT_EQ(parse_hash(name(hash)), hash);
  EXPECT_EQ(parse_hash("dek"), Hash::dek);
  EXPECT_THAT([] { parse_hash("DEK"); },
              ThrowsMessage<BadInput>(HasSubstr("'DEK' is unknown; it is mix, dek, sdbm, pjw")));
}

TEST(Assignment, IsParsedFromItsName) {
  for (const Assignment assignment : {Assignment::mix, Assignment::decimal})
    EXPECT_EQ(parse_assignment(name(assignment)), assignment);
  EXPECT_EQ(parse_assignment("decimal"), Assignment::decimal);
  EXPECT_THAT([] { parse_assignment(""); },
              ThrowsMessage<BadInput>(HasSubstr("'' is unknown; it is mix, decimal")));
}

TEST(Operation, HasANameOfItsOwn) {
  std::set<std::string_view> names;
  for (int i = 0; i < kOperations; ++i) names.insert(name(static_cast<Operation>(i)));
  EXPECT_EQ(names, (std::set<std::string_view>{"add", "assign", "erase", "find", "insert", "max", "min"}));
  EXPECT_EQ(name(Operation::assign), "assign");
  EXPECT_EQ(name(Operation::max), "max");
}

TEST(Outcome, HasANameOfItsOwn) {
  EXPECT_EQ(name(Outcome::absent), "absent");
  EXPECT_EQ(name(Outcome::inserted), "inserted");
  EXPECT_EQ(name(Outcome::updated), "updated");
  EXPECT_EQ(name(Outcome::full), "full");
  EXPECT_EQ(name(Outcome::invalid), "invalid");
}

TEST(Placement, SpreadsKeysThatFollowOneAnotherEvenly) {
  constexpr std::uint64_t kKeys = 200000;
  for (const std::uint64_t step : {std::uint64_t{1}, std::uint64_t{1} << 20, std::uint64_t{1} << 44}) {
    const Placement placement{.tables = 7, .buckets = 143, .key_bytes = 8};
    std::vector<double> pairs(placement.chains());
    for (std::uint64_t i = 0; i < kKeys; ++i) {
      const std::uint32_t home = placement.home(i * step);
      ASSERT_LT(home, placement.chains());
      ++pairs[home];
    }
    // Chi squared of 1000 degrees of freedom: mean 1000, standard deviation 45
    double chi = 0;
    const double mean = static_cast<double>(kKeys) / 1001;
    for (const double count : pairs) chi += (count - mean) * (count - mean) / mean;
    EXPECT_LT(chi, 1000 + 5 * 45) << "keys " << step << " apart";
    EXPECT_GT(chi, 1000 - 5 * 45) << "keys " << step << " apart";
  }
}

}  // namespace
}  // namespace warploom::table
