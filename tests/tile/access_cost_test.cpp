// What a warp's access costs, against counts by hand, and the devices' figures.
#include "tile/kernels/access_cost.hpp"

#include <gtest/gtest.h>

#include "warploom/core/error.hpp"

namespace warploom::tile {
namespace {

TEST(WarpAccess, NeighboursFillTheirSectors) {
  const WarpAccess access = warp_access({1, 0, 0}, {256, 1, 1}, 4);
  EXPECT_EQ(access.sectors, 4);  // 32 * 4 bytes
  EXPECT_EQ(access.ideal_sectors, 4);
  EXPECT_EQ(access.bank_conflicts, 1);
}
TEST(WarpAccess, DoublesTakeTwiceTheSectorsAndNoConflict) {
  const WarpAccess access = warp_access({1, 0, 0}, {32, 8, 1}, 8);
  EXPECT_EQ(access.sectors, 8);
  EXPECT_EQ(access.bank_conflicts, 1);
}
TEST(WarpAccess, OneElementForAllIsOneSector) {
  const WarpAccess access = warp_access({0, 1, 0}, {32, 8, 1}, 4);
  EXPECT_EQ(access.sectors, 1);
  EXPECT_EQ(access.ideal_sectors, 1);
  EXPECT_EQ(access.bank_conflicts, 1);
}
TEST(WarpAccess, AColumnScattersAndAllItsElementsAreInOneBank) {
  const WarpAccess access = warp_access({32, 0, 0}, {32, 1, 1}, 4);
  EXPECT_EQ(access.sectors, 32);
  EXPECT_EQ(access.ideal_sectors, 4);
  EXPECT_EQ(access.bank_conflicts, 32);
}
TEST(WarpAccess, APaddedColumnHasNoConflicts) {
  EXPECT_EQ(warp_access({33, 0, 0}, {32, 1, 1}, 4).bank_conflicts, 1);
}
TEST(WarpAccess, AStrideOfTwoUsesHalfOfEachSectorAndHalfOfTheBanks) {
  const WarpAccess access = warp_access({2, 0, 0}, {32, 1, 1}, 4);
  EXPECT_EQ(access.sectors, 8);
  EXPECT_EQ(access.ideal_sectors, 4);
  EXPECT_EQ(access.bank_conflicts, 2);
}
TEST(WarpAccess, ABackwardStrideIsAsGood) {
  // Addresses -124 to 3: four sectors below 0 and one above.
  EXPECT_EQ(warp_access({-1, 0, 0}, {32, 1, 1}, 4).sectors, 5);
  EXPECT_EQ(warp_access({-1, 0, 0}, {32, 1, 1}, 4).bank_conflicts, 1);
}
TEST(WarpAccess, AWarpOfTwoRowsCountsBoth) {
  const WarpAccess access = warp_access({1, 1000, 0}, {16, 16, 1}, 4);
  EXPECT_EQ(access.sectors, 4);  // 64 bytes each; 4000 is a multiple of 32
  // Words 0 to 15 and 1000 to 1015 (1000 = 31 * 32 + 8): banks 8 to 15 hold one of each.
  EXPECT_EQ(access.bank_conflicts, 2);
}
TEST(WarpAccess, ABlockBelowAWarpHasFewerThreads) {
  EXPECT_EQ(warp_access({8, 0, 0}, {4, 2, 1}, 4).sectors, 4);
}
TEST(WarpAccess, SixteenByteElementsGoInFourPasses) {
  const WarpAccess access = warp_access({1, 0, 0}, {32, 1, 1}, 16);
  EXPECT_EQ(access.sectors, 16);
  EXPECT_EQ(access.bank_conflicts, 1);
}

TEST(DeviceRates, UnknownArchitecturesGetTheNearestOlder) {
  EXPECT_EQ(&device_rates("sm_87"), &device_rates("sm_86"));
  EXPECT_EQ(&device_rates("sm_90a"), &device_rates("sm_90"));
  EXPECT_NE(&device_rates("sm_80"), &device_rates("sm_90"));
}
TEST(DeviceRates, RatesOfAnH200) {
  const DeviceRates& rates = device_rates("sm_90");
  EXPECT_NEAR(rates.tera_flops, 132 * 128 * 2 * 1.98e-3, 0.1);
  EXPECT_NEAR(rates.shared_gb_s, 132 * 128 * 1.98, 10);
  EXPECT_EQ(rates.multiprocessors, 132);
}
TEST(DeviceRates, AnUnknownNameIsRefused) { EXPECT_THROW(device_rates("sm_9x"), BadInput); }

}  // namespace
}  // namespace warploom::tile
