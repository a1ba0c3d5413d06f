// Every CUDA kernel of the repository on a GPU and in the simulator: the same PTX, launches and bytes, and
// equal results. What is approximate is compared within the bound that its .sim file declares. The GPU is
// asked in another process, so that the launches behind one that fails run as well. The PTX stands in
// sim-kernels/ beside this executable. With $OUT set, a table goes to $OUT/sim_kernels.json.
#include <cuda.h>
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <regex>
#include <sstream>
#include <string>

#include "reuse/gpu_driver.hpp"
#include "sim/kernel_cases.hpp"
#include "sim/other_process.hpp"
#include "warploom/core/file.hpp"

namespace warploom::sim {
namespace {

using bench::check;

std::vector<KernelModule> modules() {
  return find_kernel_modules(std::filesystem::read_symlink("/proc/self/exe").parent_path() / "sim-kernels");
}

std::string serve(const std::string& request);

/// The GPU that all tests share, and the table of what they found.
class Session : public testing::Environment {
 public:
  void SetUp() override {
    std::istringstream answer(gpu_.call("who"));
    answer >> compute_capability_ >> driver_ >> std::ws;
    std::getline(answer, name_);
  }
  void TearDown() override {
    const char* directory = std::getenv("OUT");
    if (directory == nullptr) return;
    const nlohmann::json document = {{"device", name_},
                                     {"compute_capability", compute_capability_},
                                     {"driver", driver_},
                                     {"launches", launches_}};
    write_file_atomically(std::filesystem::path(directory) / "sim_kernels.json", document.dump(1) + "\n");
  }

  int compute_capability() const { return compute_capability_; }
  void add(nlohmann::json launch) { launches_.push_back(std::move(launch)); }
  /// What a GPU leaves of a launch of modules()[module].
  Buffers run(std::size_t module, std::size_t launch, bool rounded) {
    const std::string answer = gpu_.call(fmt::format("{} {} {}", module, launch, rounded ? 1 : 0));
    Buffers all;
    for (std::size_t at = 0; at < answer.size();) {
      std::uint64_t size = 0;
      std::memcpy(&size, answer.data() + at, sizeof size);
      const auto* const bytes = reinterpret_cast<const std::byte*>(answer.data() + at + sizeof size);
      all.emplace_back(bytes, bytes + size);
      at += sizeof size + size;
    }
    return all;
  }

 private:
  OtherProcess gpu_{serve};
  int compute_capability_ = 0, driver_ = 0;
  std::string name_;
  nlohmann::json launches_ = nlohmann::json::array();
};

Session* const session = static_cast<Session*>(testing::AddGlobalTestEnvironment(new Session));

/// Device memory with a launch argument's contents.
class DeviceBuffer {
 public:
  explicit DeviceBuffer(const std::vector<std::byte>& contents) : bytes_(contents.size()) {
    check(cuMemAlloc(&address_, bytes_), "cuMemAlloc of " + std::to_string(bytes_) + " bytes");
    check(cuMemcpyHtoD(address_, contents.data(), bytes_), "cuMemcpyHtoD");
  }
  ~DeviceBuffer() { cuMemFree(address_); }
  DeviceBuffer(const DeviceBuffer&) = delete;

  std::vector<std::byte> read() const {
    std::vector<std::byte> contents(bytes_);
    check(cuMemcpyDtoH(contents.data(), address_, bytes_), "cuMemcpyDtoH");
    return contents;
  }
  CUdeviceptr* address() { return &address_; }

 private:
  CUdeviceptr address_ = 0;
  std::size_t bytes_;
};

/// What a kernel takes of a tensor map.
CUtensorMap encoded(const TensorMap& map, CUdeviceptr address) {
  constexpr std::pair<std::string_view, CUtensorMapDataType> kTypes[] = {
      {"u8", CU_TENSOR_MAP_DATA_TYPE_UINT8},    {"u16", CU_TENSOR_MAP_DATA_TYPE_UINT16},
      {"u32", CU_TENSOR_MAP_DATA_TYPE_UINT32},  {"u64", CU_TENSOR_MAP_DATA_TYPE_UINT64},
      {"i32", CU_TENSOR_MAP_DATA_TYPE_INT32},   {"i64", CU_TENSOR_MAP_DATA_TYPE_INT64},
      {"f16", CU_TENSOR_MAP_DATA_TYPE_FLOAT16}, {"bf16", CU_TENSOR_MAP_DATA_TYPE_BFLOAT16},
      {"f32", CU_TENSOR_MAP_DATA_TYPE_FLOAT32}, {"f64", CU_TENSOR_MAP_DATA_TYPE_FLOAT64}};
  const auto type = std::ranges::find(kTypes, map.type, [](const auto& t) { return t.first; });
  const std::size_t rank = map.extents.size();
  std::vector<cuuint64_t> extents(map.extents.begin(), map.extents.end()),
      strides(map.strides.begin(), map.strides.end());
  std::vector<cuuint32_t> steps(map.steps.begin(), map.steps.end());
  steps.resize(rank, 1);
  std::uint64_t dense = find_element_type(map.type)->bytes;
  for (std::size_t d = 0; map.strides.empty() && d + 1 < rank; ++d) strides.push_back(dense *= extents[d]);
  strides.resize(std::max<std::size_t>(1, rank - 1));  // of one dimension none is read
  CUtensorMap out;
  const auto swizzle = map.swizzle == 0    ? CU_TENSOR_MAP_SWIZZLE_NONE
                       : map.swizzle == 32 ? CU_TENSOR_MAP_SWIZZLE_32B
                       : map.swizzle == 64 ? CU_TENSOR_MAP_SWIZZLE_64B
                                           : CU_TENSOR_MAP_SWIZZLE_128B;
  const auto fill =
      map.fill_nan ? CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA : CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE;
  if (const auto& columns = map.columns) {
    check(cuTensorMapEncodeIm2col(&out, type->second, static_cast<cuuint32_t>(rank),
                                  reinterpret_cast<void*>(address), extents.data(), strides.data(),
                                  columns->lower.data(), columns->upper.data(), columns->channels,
                                  columns->pixels, steps.data(), CU_TENSOR_MAP_INTERLEAVE_NONE, swizzle,
                                  CU_TENSOR_MAP_L2_PROMOTION_NONE, fill),
          "cuTensorMapEncodeIm2col");
    return out;
  }
  check(cuTensorMapEncodeTiled(&out, type->second, static_cast<cuuint32_t>(rank),
                               reinterpret_cast<void*>(address), extents.data(), strides.data(),
                               map.box.data(), steps.data(), CU_TENSOR_MAP_INTERLEAVE_NONE, swizzle,
                               CU_TENSOR_MAP_L2_PROMOTION_NONE, fill),
        "cuTensorMapEncodeTiled");
  return out;
}

/// A texture or surface with a launch argument's contents.
class DeviceTexture {
 public:
  DeviceTexture(const Texture& of, const std::vector<std::byte>& contents)
      : of_(of), bytes_(contents.size()) {
    constexpr std::pair<std::string_view, CUarray_format> kFormats[] = {
        {"u8", CU_AD_FORMAT_UNSIGNED_INT8},   {"i8", CU_AD_FORMAT_SIGNED_INT8},
        {"u16", CU_AD_FORMAT_UNSIGNED_INT16}, {"i16", CU_AD_FORMAT_SIGNED_INT16},
        {"u32", CU_AD_FORMAT_UNSIGNED_INT32}, {"i32", CU_AD_FORMAT_SIGNED_INT32},
        {"f16", CU_AD_FORMAT_HALF},           {"f32", CU_AD_FORMAT_FLOAT}};
    CUDA_ARRAY3D_DESCRIPTOR shape{};
    shape.Width = of.extents[0], shape.Height = of.extents[1];
    shape.Depth = of.layers != 0 ? of.layers : of.extents[2];
    shape.Format = std::ranges::find(kFormats, of.type, [](const auto& f) { return f.first; })->second;
    shape.NumChannels = of.channels;
    shape.Flags = (of.layers != 0 ? CUDA_ARRAY3D_LAYERED : 0u) |
                  (of.surface ? CUDA_ARRAY3D_SURFACE_LDST : 0u) |
                  (!of.surface && of.levels == 1 && of.extents[1] != 0 && of.extents[2] == 0 && of.layers == 0
                       ? CUDA_ARRAY3D_TEXTURE_GATHER
                       : 0u);
    if (of.cube) shape.Flags = CUDA_ARRAY3D_CUBEMAP | (of.layers > 6 ? CUDA_ARRAY3D_LAYERED : 0u);
    CUDA_RESOURCE_DESC resource{};
    if (of.levels > 1) {
      check(cuMipmappedArrayCreate(&levels_, &shape, of.levels), "cuMipmappedArrayCreate");
      std::size_t at = 0;
      for (unsigned level = 0; level < of.levels; ++level) {
        check(cuMipmappedArrayGetLevel(&array_, levels_, level), "cuMipmappedArrayGetLevel");
        at += copy(const_cast<std::byte*>(contents.data()) + at, true, level);
      }
      resource.resType = CU_RESOURCE_TYPE_MIPMAPPED_ARRAY;
      resource.res.mipmap.hMipmappedArray = levels_;
    } else {
      check(cuArray3DCreate(&array_, &shape), "cuArray3DCreate");
      copy(const_cast<std::byte*>(contents.data()), true);
      resource.resType = CU_RESOURCE_TYPE_ARRAY;
      resource.res.array.hArray = array_;
    }
    if (of.surface) {
      CUsurfObject surface = 0;
      check(cuSurfObjectCreate(&surface, &resource), "cuSurfObjectCreate");
      handle_ = surface;
      return;
    }
    CUDA_TEXTURE_DESC use{};
    for (unsigned d = 0; d < 3; ++d)
      use.addressMode[d] = of.edges[d] == Texture::Edge::wrap     ? CU_TR_ADDRESS_MODE_WRAP
                           : of.edges[d] == Texture::Edge::clamp  ? CU_TR_ADDRESS_MODE_CLAMP
                           : of.edges[d] == Texture::Edge::mirror ? CU_TR_ADDRESS_MODE_MIRROR
                                                                  : CU_TR_ADDRESS_MODE_BORDER;
    use.filterMode = of.linear ? CU_TR_FILTER_MODE_LINEAR : CU_TR_FILTER_MODE_POINT;
    const bool integer = of.type != "f16" && of.type != "f32";
    use.flags = (integer && !of.as_floats ? CU_TRSF_READ_AS_INTEGER : 0u) |
                (of.normalised || of.cube ? CU_TRSF_NORMALIZED_COORDINATES : 0u);
    use.mipmapFilterMode = of.between_levels ? CU_TR_FILTER_MODE_LINEAR : CU_TR_FILTER_MODE_POINT;
    use.maxMipmapLevelClamp = static_cast<float>(of.levels - 1);
    use.maxAnisotropy = 1;
    CUtexObject texture = 0;
    check(cuTexObjectCreate(&texture, &resource, &use, nullptr), "cuTexObjectCreate");
    handle_ = texture;
  }
  ~DeviceTexture() {
    if (of_.surface)
      cuSurfObjectDestroy(handle_);
    else
      cuTexObjectDestroy(handle_);
    if (levels_ != nullptr)
      cuMipmappedArrayDestroy(levels_);
    else
      cuArrayDestroy(array_);
  }
  DeviceTexture(const DeviceTexture&) = delete;

  std::vector<std::byte> read() const {
    std::vector<std::byte> contents(bytes_);
    if (levels_ == nullptr) return copy(contents.data(), false), contents;
    std::size_t at = 0;
    for (unsigned level = 0; level < of_.levels; ++level) {
      CUarray array = nullptr;
      check(cuMipmappedArrayGetLevel(&array, levels_, level), "cuMipmappedArrayGetLevel");
      at += copy(contents.data() + at, false, level, array);
    }
    return contents;
  }
  std::uint64_t* handle() { return &handle_; }

 private:
  /// One level, of so many bytes.
  std::size_t copy(std::byte* host, bool to_device, unsigned level = 0, CUarray array = nullptr) const {
    CUDA_MEMCPY3D all{};
    const std::size_t width = std::max(1u, of_.extents[0] >> level),
                      rows = std::max(1u, of_.extents[1] >> level),
                      slices = std::max({1u, of_.extents[2] >> level, of_.layers});
    all.WidthInBytes = width * of_.channels * find_element_type(of_.type)->bytes;
    all.Height = rows, all.Depth = slices;
    all.srcMemoryType = to_device ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_ARRAY;
    all.dstMemoryType = to_device ? CU_MEMORYTYPE_ARRAY : CU_MEMORYTYPE_HOST;
    (to_device ? all.dstArray : all.srcArray) = array != nullptr ? array : array_;
    if (to_device)
      all.srcHost = host, all.srcPitch = all.WidthInBytes, all.srcHeight = rows;
    else
      all.dstHost = host, all.dstPitch = all.WidthInBytes, all.dstHeight = rows;
    check(cuMemcpy3D(&all), "cuMemcpy3D");
    return all.WidthInBytes * rows * slices;
  }

  Texture of_;
  std::size_t bytes_;
  CUarray array_ = nullptr;  ///< of a mipmap the last level
  CUmipmappedArray levels_ = nullptr;
  std::uint64_t handle_ = 0;
};

/// A PTX file that the driver compiled for the GPU at hand.
class GpuModule {
 public:
  GpuModule(const std::string& text, const std::string& name) {
    std::string log(16384, '\0');
    CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
    void* values[] = {log.data(), reinterpret_cast<void*>(log.size())};
    check(cuModuleLoadDataEx(&module_, text.c_str(), 2, options, values),
          "compiling " + name + ": " + log.c_str());
  }
  ~GpuModule() { cuModuleUnload(module_); }
  GpuModule(const GpuModule&) = delete;

  Buffers run(const LaunchText& launch) const {
    CUfunction function = nullptr;
    check(cuModuleGetFunction(&function, module_, launch.kernel.c_str()), launch.kernel);
    std::vector<std::vector<std::byte>> scalars;
    std::vector<std::unique_ptr<DeviceBuffer>> buffers;
    std::vector<std::unique_ptr<DeviceTexture>> textures;
    for (const ArgumentText& argument : launch.arguments) {
      scalars.push_back(argument.bytes());
      textures.push_back(argument.texture ? std::make_unique<DeviceTexture>(*argument.texture, scalars.back())
                                          : nullptr);
      buffers.push_back(argument.buffer && !argument.texture ? std::make_unique<DeviceBuffer>(scalars.back())
                                                             : nullptr);
    }
    std::vector<std::unique_ptr<CUtensorMap>> maps(scalars.size());
    std::vector<void*> arguments;
    for (std::size_t i = 0; i < scalars.size(); ++i) {
      if (const auto& tensor = launch.arguments[i].tensor)
        maps[i] = std::make_unique<CUtensorMap>(encoded(*tensor, *buffers[i]->address()));
      arguments.push_back(textures[i]  ? static_cast<void*>(textures[i]->handle())
                          : maps[i]    ? static_cast<void*>(maps[i].get())
                          : buffers[i] ? static_cast<void*>(buffers[i]->address())
                                       : scalars[i].data());
    }
    if (launch.dynamic_shared > 48 * 1024)
      check(cuFuncSetAttribute(function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                               static_cast<int>(launch.dynamic_shared)),
            launch.line);
    CUlaunchAttribute cluster{};
    cluster.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
    cluster.value.clusterDim = {launch.cluster.x, launch.cluster.y, launch.cluster.z};
    CUlaunchConfig config{};
    config.gridDimX = launch.grid.x, config.gridDimY = launch.grid.y, config.gridDimZ = launch.grid.z;
    config.blockDimX = launch.block.x, config.blockDimY = launch.block.y, config.blockDimZ = launch.block.z;
    config.sharedMemBytes = launch.dynamic_shared;
    config.attrs = &cluster;
    config.numAttrs = launch.cluster.count() > 1 ? 1 : 0;
    check(cuLaunchKernelEx(&config, function, arguments.data(), nullptr), launch.line);
    check(cuCtxSynchronize(), launch.line);
    Buffers contents;
    for (std::size_t i = 0; i < buffers.size(); ++i)
      contents.push_back(buffers[i]    ? buffers[i]->read()
                         : textures[i] ? textures[i]->read()
                                       : std::vector<std::byte>());
    return contents;
  }

 private:
  CUmodule module_ = nullptr;
};

/// Products and sums that ptxas may fuse become such that it may not: PTX leaves it open for those alone that
/// name no rounding.
std::string rounded(const std::string& text) {
  return std::regex_replace(text, std::regex(R"(\b(mul|add|sub)(\.ftz)?(\.sat)?\.f(16x2|16|32|64)\b)"),
                            "$1.rn$2$3.f$4");
}

/// Runs in the process that has the GPU: one module at a time stays there.
std::string serve(const std::string& request) {
  static const bench::Gpu gpu;
  static const std::vector<KernelModule> all = modules();
  static std::size_t loaded = all.size();
  static std::vector<KernelCase> cases;
  static std::array<std::unique_ptr<GpuModule>, 2> compiled;  // as it is, and rounded()
  if (request == "who")
    return fmt::format("{} {} {}",
                       10 * gpu.attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR) +
                           gpu.attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR),
                       bench::Gpu::driver_version(), gpu.name());
  std::istringstream words(request);
  std::size_t module = 0, launch = 0, how = 0;
  words >> module >> launch >> how;
  if (module != loaded) {
    compiled = {};
    cases = read_cases(all.at(module), load(all.at(module)));
    loaded = module;
  }
  if (!compiled.at(how)) {
    const std::string text = read_file(all[module].ptx);
    compiled[how] = std::make_unique<GpuModule>(how == 0 ? text : rounded(text), all[module].ptx.filename());
  }
  std::string answer;
  for (const std::vector<std::byte>& buffer : compiled[how]->run(cases.at(launch).launch)) {
    const auto size = static_cast<std::uint64_t>(buffer.size());
    answer.append(reinterpret_cast<const char*>(&size), sizeof size);
    answer.append(reinterpret_cast<const char*>(buffer.data()), buffer.size());
  }
  return answer;
}

class KernelsOnGpu : public testing::TestWithParam<KernelModule> {
 protected:
  /// PTX runs on its architecture and on later ones; with an `a` on its own alone.
  bool can_run() const {
    const std::string& text = GetParam().architecture;
    int architecture = 0;
    std::from_chars(text.data(), text.data() + text.size(), architecture);
    return text.ends_with('a') ? session->compute_capability() == architecture
                               : session->compute_capability() >= architecture;
  }
};

/// Order may matter as well on a GPU as in the simulator.
Tolerance with_order(Tolerance tolerance, const KernelCase& kernel) {
  const auto& more = kernel.order_dependent.bounds;
  tolerance.bounds.insert(tolerance.bounds.end(), more.begin(), more.end());
  tolerance.any_order = kernel.order_dependent.any_order;
  return tolerance;
}

/// What a GPU left where the simulator is too far from it, to be looked at: $OUT/KERNEL-LAUNCH-ARGUMENT.bin.
void keep_difference(const KernelCase& kernel, std::size_t argument, const std::vector<std::byte>& bytes) {
  const char* directory = std::getenv("OUT");
  if (directory == nullptr) return;
  const std::size_t launch = std::hash<std::string>()(kernel.launch.line) % 100'000;
  write_file_atomically(
      std::filesystem::path(directory) / fmt::format("{}-{}-{}.bin", kernel.launch.kernel, launch, argument),
      std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
}

/// What all buffers of a launch have in common with another run's; differences beyond the tolerance fail the
/// test.
nlohmann::json compare_buffers(const KernelCase& kernel, const Buffers& simulated, const Buffers& on_gpu,
                               const Tolerance& tolerance) {
  Comparison all;
  for (std::size_t i = 0; i < on_gpu.size(); ++i) {
    if (!kernel.launch.arguments[i].buffer) continue;
    const ElementType& type = *find_element_type(kernel.launch.arguments[i].type);
    const Comparison one = compare(type, simulated[i], on_gpu[i], tolerance);
    if (one.outside != 0) keep_difference(kernel, i, on_gpu[i]);
    EXPECT_EQ(one.outside, 0U) << "argument " << i << ": " << one.differing << " of " << one.elements
                               << " elements differ, " << one.outside << " too much, by up to "
                               << one.largest_ulp << " ulp; first (simulator and GPU) " << one.first_outside;
    EXPECT_EQ(one.nan_payloads, 0U) << "argument " << i << ": NaNs with other bits";
    all.elements += one.elements;
    all.differing += one.differing;
    all.nan_payloads += one.nan_payloads;
    all.outside += one.outside;
    all.largest_ulp = std::max(all.largest_ulp, one.largest_ulp);
  }
  return {{"elements", all.elements},
          {"differing", all.differing},
          {"nan_payloads_differing", all.nan_payloads},
          {"outside_tolerance", all.outside},
          {"largest_ulp", all.largest_ulp},
          {"must_be_equal", tolerance.bounds.empty()}};
}

TEST_P(KernelsOnGpu, GiveWhatTheyGiveInTheSimulator) {
  if (!can_run()) GTEST_SKIP() << "sm_" << GetParam().architecture << " code does not run on this GPU";
  Machine machine = load(GetParam());
  const std::vector<KernelModule> all = modules();
  const auto module =
      static_cast<std::size_t>(std::ranges::find(all, GetParam().ptx, &KernelModule::ptx) - all.begin());
  const std::vector<KernelCase> cases = read_cases(GetParam(), machine);
  for (std::size_t launch = 0; launch < cases.size(); ++launch) {
    const KernelCase& kernel = cases[launch];
    SCOPED_TRACE(kernel.launch.line);
    nlohmann::json row = {{"file", GetParam().name},
                          {"architecture", GetParam().architecture},
                          {"kernel", kernel.launch.kernel},
                          {"launch", kernel.launch.line}};
    try {
      const KernelRun simulated = run_case(machine, kernel, Schedule::in_order, false);
      EXPECT_TRUE(simulated.outcome.completed && simulated.outcome.clean());
      row["thread_instructions"] = simulated.outcome.thread_instructions;
      const bool contracted = !kernel.contracted.bounds.empty();
      row["result"] =
          compare_buffers(kernel, simulated.buffers, session->run(module, launch, false),
                          with_order(contracted ? kernel.contracted : kernel.approximate, kernel));
      if (contracted)
        row["result_without_contraction"] =
            compare_buffers(kernel, simulated.buffers, session->run(module, launch, true),
                            with_order(kernel.approximate, kernel));
    } catch (const std::exception& error) {
      row["error"] = error.what();
      ADD_FAILURE() << error.what();
    }
    session->add(std::move(row));
  }
}

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(KernelsOnGpu);
INSTANTIATE_TEST_SUITE_P(Repository, KernelsOnGpu, testing::ValuesIn(modules()),
                         [](const auto& module) { return test_name(module.param); });

TEST(KernelModules, WereBuilt) {
  EXPECT_FALSE(modules().empty()) << "sim-kernels/modules is not beside the executable";
}

}  // namespace
}  // namespace warploom::sim
