// What the recorder writes when CUPTI reports launches.
#include <cuda_runtime_api.h>
#include <cupti.h>
#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "io/scratch.hpp"
#include "warploom/core/file.hpp"
#include "warploom/sim/launch_text.hpp"

namespace warploom {
namespace {

using Call = int (*)(CUpti_CallbackDomain, CUpti_CallbackId, CUpti_ApiCallbackSite, const char*, const void*);

/// The recorder as the driver loads it: once.
class LaunchRecorder : public Scratch {
 protected:
  std::string path = directory / "launches.sim";
  Call call = nullptr;
  int (*initialize)() = nullptr;

  void SetUp() override {
    setenv("WARPLOOM_CUPTI", CUPTI_STUB, 1);
    void* const cupti = dlopen(CUPTI_STUB, RTLD_NOW);
    void* const recorder = dlopen(RECORDER, RTLD_NOW);
    ASSERT_TRUE(cupti != nullptr && recorder != nullptr && dlopen(DRIVER_STUB, RTLD_NOW) != nullptr)
        << dlerror();
    call = reinterpret_cast<Call>(dlsym(cupti, "stub_call"));
    initialize = reinterpret_cast<int (*)()>(dlsym(recorder, "InitializeInjection"));
    ASSERT_TRUE(call != nullptr && initialize != nullptr) << dlerror();
  }

  void driver(CUpti_CallbackId id, const char* symbol, const void* parameters) const {
    EXPECT_TRUE(call(CUPTI_CB_DOMAIN_DRIVER_API, id, CUPTI_API_ENTER, symbol, parameters));
    call(CUPTI_CB_DOMAIN_DRIVER_API, id, CUPTI_API_EXIT, symbol, parameters);
  }
  void runtime(CUpti_CallbackId id, const char* symbol, const void* parameters) const {
    EXPECT_TRUE(call(CUPTI_CB_DOMAIN_RUNTIME_API, id, CUPTI_API_ENTER, symbol, parameters));
  }
};

TEST_F(LaunchRecorder, WithoutAFileThereIsNothingToDo) {
  unsetenv("WARPLOOM_LAUNCHES");
  testing::internal::CaptureStderr();
  EXPECT_EQ(initialize(), 0);
  setenv("WARPLOOM_LAUNCHES", (directory / "missing" / "f").c_str(), 1);
  EXPECT_EQ(initialize(), 0);
  const std::string told = testing::internal::GetCapturedStderr();
  EXPECT_THAT(told, testing::HasSubstr("WARPLOOM_LAUNCHES names no file"));
  EXPECT_THAT(told, testing::HasSubstr("missing/f: No such file"));
}

TEST_F(LaunchRecorder, WritesEachShapeOfALaunchOnce) {
  setenv("WARPLOOM_LAUNCHES", path.c_str(), 1);
  ASSERT_EQ(initialize(), 1);
  cuLaunchKernel_params launch{};
  launch.gridDimX = 12, launch.gridDimY = 3, launch.gridDimZ = 1;
  launch.blockDimX = 256, launch.blockDimY = 1, launch.blockDimZ = 1;
  driver(CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel, "k", &launch);
  launch.gridDimX = 13;  // another grid alone
  driver(CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel, "k", &launch);
  launch.sharedMemBytes = 4096;
  driver(CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel_ptsz, "k", &launch);

  CUlaunchAttribute attributes[2] = {};
  attributes[0].id = CU_LAUNCH_ATTRIBUTE_PRIORITY;
  attributes[1].id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
  attributes[1].value.clusterDim = {2, 1, 1};
  CUlaunchConfig config{};
  config.gridDimX = 8, config.gridDimY = config.gridDimZ = 1;
  config.blockDimX = 32, config.blockDimY = 4, config.blockDimZ = 2;
  config.attrs = attributes, config.numAttrs = 2;
  cuLaunchKernelEx_params extended{};
  extended.config = &config;
  driver(CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx, "clustered", &extended);

  cudaLaunchKernel_v7000_params by_runtime{};
  by_runtime.gridDim = {5, 1, 1}, by_runtime.blockDim = {64, 2, 1}, by_runtime.sharedMem = 128;
  runtime(CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000, "_Z1kPf", &by_runtime);

  // Nodes of graphs have handles; the stub's are their names.
  CUDA_KERNEL_NODE_PARAMS node{};
  node.func = reinterpret_cast<CUfunction>(const_cast<char*>("in_graph"));
  node.gridDimX = node.gridDimY = node.gridDimZ = 1;
  node.blockDimX = 96, node.blockDimY = node.blockDimZ = 1;
  cuGraphAddKernelNode_v2_params add{};
  add.nodeParams = &node;
  driver(CUPTI_DRIVER_TRACE_CBID_cuGraphAddKernelNode_v2, nullptr, &add);
  CUgraphNodeParams any{};
  any.type = CU_GRAPH_NODE_TYPE_MEMSET;
  cuGraphAddNode_v2_params add_any{};
  add_any.nodeParams = &any;
  driver(CUPTI_DRIVER_TRACE_CBID_cuGraphAddNode_v2, nullptr, &add_any);
  any.type = CU_GRAPH_NODE_TYPE_KERNEL;
  any.kernel.kern = reinterpret_cast<CUkernel>(const_cast<char*>("of_library"));
  any.kernel.gridDimX = any.kernel.gridDimY = any.kernel.gridDimZ = 2;
  any.kernel.blockDimX = 512, any.kernel.blockDimY = any.kernel.blockDimZ = 1;
  driver(CUPTI_DRIVER_TRACE_CBID_cuGraphAddNode_v2, nullptr, &add_any);

  EXPECT_EQ(read_file(path),
            "--kernel k --grid 12,3,1 --block 256,1,1\n"
            "--kernel k --grid 13,3,1 --block 256,1,1 --dynamic-shared 4096\n"
            "--kernel clustered --grid 8,1,1 --block 32,4,2 --cluster 2,1,1\n"
            "--kernel _Z1kPf --grid 5,1,1 --block 64,2,1 --dynamic-shared 128\n"
            "--kernel in_graph --grid 1,1,1 --block 96,1,1\n"
            "--kernel of_library --grid 2,2,2 --block 512,1,1\n");
  const std::vector<sim::LaunchText> read = sim::parse_launches(read_file(path), path);
  ASSERT_EQ(read.size(), 6u);
  EXPECT_EQ(read[2].cluster.x, 2u);
  EXPECT_EQ(read[3].dynamic_shared, 128u);
}

}  // namespace
}  // namespace warploom
