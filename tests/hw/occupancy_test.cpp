#include "warploom/hw/occupancy.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

#include "warploom/core/error.hpp"

#ifdef WARPLOOM_HAVE_CUDA_OCCUPANCY
#include <cuda_occupancy.h>
#endif

namespace warploom::hw {
namespace {

using ::testing::HasSubstr;

Occupancy on(std::string_view arch, const KernelResources& kernel) {
  return occupancy(architecture(arch), kernel);
}

KernelResources kernel(std::uint32_t threads, std::uint64_t shared, std::uint32_t registers = 0) {
  return {.threads_per_block = threads, .registers_per_thread = registers, .shared_static = shared};
}

// The dissertation's Table 7: denoising on a G80, 16x16 threads; occupancy 66 -> 100 %.
TEST(OccupancyOfThePapers, DenoisingGoesFromTwoBlocksToThree) {
  const Occupancy before = on("G80", kernel(256, 6220)), after = on("G80", kernel(256, 3916));
  EXPECT_EQ(before.blocks, 2u);
  EXPECT_EQ(before.limit, Limit::shared_memory);
  EXPECT_NEAR(before.fraction, 2.0 / 3.0, 1e-12);
  EXPECT_EQ(after.blocks, 3u);
  EXPECT_EQ(after.active_threads, 768u);
  EXPECT_EQ(after.limit, Limit::threads);
  EXPECT_DOUBLE_EQ(after.fraction, 1.0);
}

// The other paper prints 4940 bytes for segmentation, of which 16 KB hold three blocks already.
TEST(OccupancyOfThePapers, SegmentationAt4940BytesHasThreeBlocksBeforeAndAfter) {
  EXPECT_EQ(on("G80", kernel(256, 4940)).blocks, 3u);
  EXPECT_EQ(on("G80", kernel(256, 3084)).blocks, 3u);
}

TEST(OccupancyOfThePapers, EightToTenKilobytesAt128ThreadsLosesOneOfTwoBlocks) {
  EXPECT_EQ(on("G80", kernel(128, 8 * 1024)).blocks, 2u);
  EXPECT_EQ(on("G80", kernel(128, 10 * 1024)).blocks, 1u);
}

TEST(OccupancyOfThePapers, RegistrationAt13596BytesAndSixteenBy24ThreadsHasOneBlock) {
  EXPECT_EQ(on("G80", kernel(384, 13596)).blocks, 1u);
}

// The same kernel beside the hardware's own 16 bytes of parameters, which a caller may add.
TEST(OccupancyOnG80, SixteenBytesOfParametersCostTheSecondBlockOfEightKilobytes) {
  EXPECT_EQ(on("G80", kernel(128, 8 * 1024 + 16)).blocks, 1u);
}

// The example with which NVIDIA's spreadsheet (version 1.2) opens.
TEST(OccupancyOnG80, SpreadsheetExampleIsThreeBlocks) {
  const Occupancy got = on("G80", kernel(256, 4096, 10));
  EXPECT_EQ(got.blocks, 3u);
  EXPECT_DOUBLE_EQ(got.fraction, 1.0);
}

// 11 registers * 256 threads = 2816 of 8192 registers: two blocks, the classic G80 cliff.
TEST(OccupancyOnG80, OneRegisterMoreCostsABlock) {
  const Occupancy got = on("G80", kernel(256, 4096, 11));
  EXPECT_EQ(got.blocks, 2u);
  EXPECT_EQ(got.limit, Limit::registers);
}

TEST(OccupancyOnG80, AnOddWarpIsRoundedToTwoForRegisters) {
  // 3 warps count as 4: 4 * 32 * 20 = 2560 registers, three blocks; unrounded it were four.
  EXPECT_EQ(on("G80", kernel(96, 0, 20)).blocks, 3u);
}

TEST(OccupancyOnGt200, HoldsThirtyTwoWarpsAndTwiceTheRegisters) {
  EXPECT_EQ(on("GT200", kernel(256, 0)).blocks, 4u);
  EXPECT_EQ(on("GT200", kernel(256, 0, 17)).blocks, 3u);  // 4352 -> 4608 registers
}

TEST(OccupancyOnFermi, RegistersAreGivenToWarpsInUnitsOf64) {
  // 21 * 32 = 672 -> 704 a warp; 32768 / 704 = 46 warps; 5 blocks of 8 warps.
  const Occupancy got = on("Fermi", kernel(256, 0, 21));
  EXPECT_EQ(got.blocks, 5u);
  EXPECT_EQ(got.limit, Limit::registers);
  EXPECT_EQ(on("Fermi", kernel(256, 0, 20)).blocks, 6u);
}

// Measured on an H200: curvature in 3-D, static and dynamic bytes alike.
TEST(OccupancyOnH200, CurvatureInTilesOf16x16x4GoesFromTwoBlocksToThree) {
  EXPECT_EQ(on("sm_90", {.threads_per_block = 256, .shared_dynamic = 101088}).blocks, 2u);
  EXPECT_EQ(on("sm_90", {.threads_per_block = 256, .shared_dynamic = 62208}).blocks, 3u);
}

TEST(OccupancyOnH200, CurvatureInTilesOf8x8x8GoesFromFiftyTo88Percent) {
  const Occupancy before = on("sm_90", {.threads_per_block = 256, .shared_dynamic = 52000});
  const Occupancy after = on("sm_90", {.threads_per_block = 256, .shared_dynamic = 32000});
  EXPECT_DOUBLE_EQ(before.fraction, 0.5);
  EXPECT_DOUBLE_EQ(after.fraction, 0.875);
  EXPECT_EQ(after.limit, Limit::shared_memory);
}

TEST(Occupancy, TheReservedKilobyteOfABlockCounts) {
  EXPECT_EQ(on("sm_90", {.threads_per_block = 128, .shared_dynamic = 113 * 1024}).blocks, 2u);
  EXPECT_EQ(on("sm_90", {.threads_per_block = 128, .shared_dynamic = 113 * 1024 + 1}).blocks, 1u);
}

TEST(Occupancy, NamesSharedMemoryOnlyWhereItAloneLimits) {
  EXPECT_EQ(on("sm_75", kernel(256, 16 * 1024)).limit, Limit::threads);  // both allow four blocks
  EXPECT_EQ(on("sm_75", kernel(256, 16 * 1024 + 1)).limit, Limit::shared_memory);
}

TEST(Occupancy, SmallBlocksAreLimitedByBlockSlots) {
  const Occupancy got = on("sm_86", kernel(32, 0));
  EXPECT_EQ(got.blocks, 16u);
  EXPECT_EQ(got.limit, Limit::blocks);
  EXPECT_EQ(got.active_threads, 512u);
}

TEST(Occupancy, APartialWarpTakesAWholeOne) {
  const Occupancy got = on("sm_75", kernel(33, 0));
  EXPECT_EQ(got.blocks, 16u);
  EXPECT_EQ(got.active_threads, 16u * 33u);
  EXPECT_DOUBLE_EQ(got.fraction, 1.0);
}

TEST(Launchability, StaticBytesAbove48KilobytesAreNamedInHexAsPtxasDoes) {
  const Occupancy got = on("sm_90", kernel(256, 0xc400));
  EXPECT_EQ(got.blocks, 0u);
  EXPECT_TRUE(got.exceeds_static_limit);
  EXPECT_EQ(got.limit, Limit::shared_memory);
  EXPECT_THAT(got.reason, HasSubstr("0xc400"));
  EXPECT_THAT(got.reason, HasSubstr("0xc000"));
}

TEST(Launchability, ExactlyTheStaticLimitLaunches) {
  const Occupancy got = on("sm_90", kernel(256, 0xc000));
  EXPECT_EQ(got.blocks, 4u);
  EXPECT_FALSE(got.exceeds_static_limit);
  EXPECT_EQ(got.reason, "");
}

TEST(Launchability, DynamicBytesUpToTheOptInLimitLaunchAndSayThatTheyNeedIt) {
  const Occupancy most = on("sm_90", {.threads_per_block = 64, .shared_dynamic = 227 * 1024});
  EXPECT_EQ(most.blocks, 1u);
  EXPECT_TRUE(most.needs_opt_in);
  const Occupancy above = on("sm_90", {.threads_per_block = 64, .shared_dynamic = 227 * 1024 + 1});
  EXPECT_EQ(above.blocks, 0u);
  EXPECT_THAT(above.reason, HasSubstr("232448"));
  EXPECT_FALSE(on("sm_90", {.threads_per_block = 64, .shared_dynamic = 48 * 1024}).needs_opt_in);
}

TEST(Launchability, StaticAndDynamicBytesAreAdded) {
  const KernelResources sum{.threads_per_block = 64, .shared_static = 40 * 1024, .shared_dynamic = 60 * 1024};
  EXPECT_EQ(on("sm_86", sum).blocks, 0u);  // 100 KB of 99
  EXPECT_EQ(on("sm_80", sum).blocks, 1u);
}

TEST(Launchability, BytesNearTheEndOfTheIntegerRangeDoNotWrap) {
  const std::uint64_t huge = std::numeric_limits<std::uint64_t>::max();
  EXPECT_EQ(on("sm_90", {.threads_per_block = 64, .shared_static = 1024, .shared_dynamic = huge}).blocks, 0u);
  EXPECT_EQ(on("sm_90", {.threads_per_block = 64, .shared_static = huge, .shared_dynamic = huge}).blocks, 0u);
}

TEST(Launchability, TooManyThreadsOrRegistersCannotLaunch) {
  EXPECT_THAT(on("sm_90", kernel(1025, 0)).reason, HasSubstr("1025 threads"));
  EXPECT_EQ(on("G80", kernel(513, 0)).limit, Limit::threads);
  EXPECT_THAT(on("sm_90", kernel(32, 0, 256)).reason, HasSubstr("256 registers"));
  const Occupancy block = on("sm_90", kernel(1024, 0, 65));
  EXPECT_EQ(block.blocks, 0u);
  EXPECT_EQ(block.limit, Limit::registers);
  EXPECT_THAT(block.reason, HasSubstr("__launch_bounds__(1024)"));
}

TEST(OccupancyBadInput, ZeroThreadsAreRefused) { EXPECT_THROW(on("sm_90", kernel(0, 0)), BadInput); }

TEST(OccupancyBadInput, AnUnknownArchitectureIsAnsweredWithThoseKnown) {
  try {
    architecture("sm_42");
    FAIL() << "sm_42 was accepted";
  } catch (const BadInput& error) {
    EXPECT_THAT(error.what(), HasSubstr("'sm_42'"));
    EXPECT_THAT(error.what(), HasSubstr("sm_90"));
    EXPECT_THAT(error.what(), HasSubstr("G80"));
  }
  for (const char* text : {"", "sm_", "sm_9", "90", "sm_90x", "sm_90aa"})
    EXPECT_THROW(architecture(text), BadInput) << text;
}

TEST(Architectures, AreFoundByEveryNameInUse) {
  for (const char* text : {"sm_90", "SM_90", "sm_90a", "compute_90"})
    EXPECT_EQ(architecture(text).compute_capability, 90) << text;
  EXPECT_EQ(architecture("sm_100f").compute_capability, 100);
  EXPECT_EQ(architecture("sm_101").compute_capability, 110);
  EXPECT_EQ(architecture("g80").name, "G80");
  EXPECT_EQ(architecture("sm_11").name, "G80");
  EXPECT_EQ(architecture("compute_20").name, "Fermi");
}

TEST(Architectures, AreListedOldestFirstAndEachIsFoundByItsName) {
  int last = 0;
  for (const Architecture& arch : architectures()) {
    EXPECT_GT(arch.compute_capability, last);
    last = arch.compute_capability;
    EXPECT_EQ(&architecture(arch.name), &arch);
  }
  EXPECT_EQ(architectures().size(), 16u);
}

#ifdef WARPLOOM_HAVE_CUDA_OCCUPANCY

// The CUDA programming guide's table, transcribed a second time: the header below asks for it.
struct GuideRow {
  int major, minor, threads_per_sm, shared_kb_per_sm, shared_kb_optin, reserved;
};
constexpr GuideRow guide[] = {
    {7, 0, 2048, 96, 96, 0},       {7, 2, 2048, 96, 48, 0},       {7, 5, 1024, 64, 64, 0},
    {8, 0, 2048, 164, 163, 1024},  {8, 6, 1536, 100, 99, 1024},   {8, 7, 1536, 164, 163, 1024},
    {8, 9, 1536, 100, 99, 1024},   {9, 0, 2048, 228, 227, 1024},  {10, 0, 2048, 228, 227, 1024},
    {10, 3, 2048, 228, 227, 1024}, {11, 0, 1536, 228, 227, 1024}, {12, 0, 1536, 100, 99, 1024},
    {12, 1, 1536, 100, 99, 1024},
};

cudaOccDeviceProp device_of(const GuideRow& row) {
  cudaOccDeviceProp device;
  device.computeMajor = row.major;
  device.computeMinor = row.minor;
  device.maxThreadsPerBlock = 1024;
  device.maxThreadsPerMultiprocessor = row.threads_per_sm;
  device.regsPerBlock = device.regsPerMultiprocessor = 65536;
  device.warpSize = 32;
  device.sharedMemPerBlock = 48 * 1024;
  device.sharedMemPerMultiprocessor = static_cast<std::size_t>(row.shared_kb_per_sm) * 1024;
  device.sharedMemPerBlockOptin = static_cast<std::size_t>(row.shared_kb_optin) * 1024;
  device.reservedSharedMemPerBlock = static_cast<std::size_t>(row.reserved);
  device.numSms = 1;
  return device;
}

class AgainstCudaOccupancyHeader : public ::testing::TestWithParam<GuideRow> {};

TEST_P(AgainstCudaOccupancyHeader, BlocksAgreeOverThreadsRegistersAndSharedBytes) {
  const cudaOccDeviceProp device = device_of(GetParam());
  const Architecture& arch = architecture("sm_" + std::to_string(GetParam().major * 10 + GetParam().minor));
  std::vector<std::uint32_t> shared;  // around every unit's edge is seen: 97 is coprime to 128 and 256
  for (std::uint32_t bytes = 0; bytes < 240 * 1024; bytes += bytes < 4096 ? 97 : 997) shared.push_back(bytes);
  for (std::uint32_t kb = 1; kb < 240; ++kb)
    for (std::uint32_t bytes : {kb * 1024 - 1, kb * 1024, kb * 1024 + 1}) shared.push_back(bytes);

  std::int64_t compared = 0, wrong = 0;
  const cudaOccDeviceState state;
  for (std::uint32_t threads :
       {1, 31, 32, 33, 64, 96, 128, 160, 192, 256, 288, 384, 480, 512, 640, 768, 992, 1024, 1025})
    for (std::uint32_t registers = 0; registers <= 255; registers += registers < 40 ? 1 : 5)
      for (const std::uint32_t bytes : shared)
        for (const bool dynamic : {false, true}) {
          if (!dynamic && bytes > 48 * 1024) continue;  // ptxas refuses these; the header does not
          cudaOccFuncAttributes function;
          function.maxThreadsPerBlock = 1024;
          function.numRegs = static_cast<int>(registers);
          function.sharedSizeBytes = dynamic ? 0 : bytes;
          function.shmemLimitConfig = FUNC_SHMEM_LIMIT_OPTIN;
          function.maxDynamicSharedSizeBytes = dynamic ? bytes : 0;
          function.numBlockBarriers = 1;
          cudaOccResult want{};
          ASSERT_EQ(cudaOccMaxActiveBlocksPerMultiprocessor(&want, &device, &function, &state,
                                                            static_cast<int>(threads), dynamic ? bytes : 0),
                    CUDA_OCC_SUCCESS);
          const Occupancy got = occupancy(arch, {.threads_per_block = threads,
                                                 .registers_per_thread = registers,
                                                 .shared_static = dynamic ? 0 : bytes,
                                                 .shared_dynamic = dynamic ? bytes : 0});
          ++compared;
          const bool same = static_cast<int>(got.blocks) == want.activeBlocksPerMultiprocessor &&
                            (got.blocks == 0) == !got.reason.empty();
          if (!same && ++wrong <= 5)
            ADD_FAILURE() << arch.name << ": " << threads << " threads, " << registers << " registers, "
                          << bytes << (dynamic ? " dynamic" : " static") << " bytes: " << got.blocks
                          << " blocks, the header says " << want.activeBlocksPerMultiprocessor;
        }
  EXPECT_EQ(wrong, 0) << "of " << compared;
  RecordProperty("compared", std::to_string(compared));
}

INSTANTIATE_TEST_SUITE_P(EveryArchitecture, AgainstCudaOccupancyHeader, ::testing::ValuesIn(guide),
                         [](const auto& row) {
                           return "sm_" + std::to_string(row.param.major * 10 + row.param.minor);
                         });

#else

TEST(AgainstCudaOccupancyHeader, BlocksAgreeOverThreadsRegistersAndSharedBytes) {
  GTEST_SKIP() << "built without the CUDA toolkit: cuda_occupancy.h was not found";
}

#endif

}  // namespace
}  // namespace warploom::hw
