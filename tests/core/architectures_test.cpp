#include "core/architectures.hpp"

#include <gtest/gtest.h>

namespace warploom {
namespace {

// What runs where: NVIDIA, CUDA C++ Programming Guide, "Compute capabilities" and "Application
// compatibility".

TEST(Architectures, MachineCodeRunsOnItsMajorNumberFromItsMinorOneOn) {
  EXPECT_TRUE(runs_on("86-real", 86));
  EXPECT_TRUE(runs_on("86-real", 89));
  EXPECT_FALSE(runs_on("86-real", 80));
  EXPECT_FALSE(runs_on("86-real", 90));
  EXPECT_FALSE(runs_on("90-real", 100));
}

TEST(Architectures, PtxRunsOnAllThatIsNotOlder) {
  EXPECT_TRUE(runs_on("75-virtual", 75));
  EXPECT_TRUE(runs_on("75-virtual", 120));
  EXPECT_FALSE(runs_on("75-virtual", 70));
}

TEST(Architectures, APlainNumberIsBoth) {
  EXPECT_TRUE(runs_on("90", 90));
  EXPECT_TRUE(runs_on("90", 100));
  EXPECT_FALSE(runs_on("90", 89));
}

TEST(Architectures, CodeOfOneArchitectureOrFamilyRunsThereAlone) {
  EXPECT_TRUE(runs_on("90a-real", 90));
  EXPECT_FALSE(runs_on("90a", 100));
  EXPECT_FALSE(runs_on("100a-virtual", 103));
  EXPECT_TRUE(runs_on("100f-virtual", 103));
  EXPECT_FALSE(runs_on("100f-virtual", 110));
}

TEST(Architectures, AnyOfAListWillDo) {
  EXPECT_TRUE(runs_on("75-virtual,90-real", 80));
  EXPECT_TRUE(runs_on("80-real,90-real", 90));
  EXPECT_FALSE(runs_on("80-real,90-real", 75));
}

TEST(Architectures, WhatIsUnknownForbidsNothing) {
  EXPECT_TRUE(runs_on("", 75));
  EXPECT_TRUE(runs_on("native", 75));
}

}  // namespace
}  // namespace warploom
