#pragma once

#include <gtest/gtest.h>

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "registration/greedy_queue.hpp"
#include "warploom/core/demangle.hpp"
#include "warploom/core/file.hpp"
#include "warploom/sim/sim.hpp"

namespace warploom::registration {

/// Runs the kernels in the simulator, launched as on a GPU. A race, and whatever else the simulator finds, is
/// a failure.
class SimulatedQueue final : public GreedyQueue {
 public:
  SimulatedQueue() : machine_(ptx::parse(read_file(WARPLOOM_KERNEL_PTX), "sim_kernels.ptx")) {}

  /// An array of its own, so that an access beside it is found.
  template <class T>
  T* array(const std::vector<T>& values) {
    return reinterpret_cast<T*>(machine_.upload(std::span(values)));
  }
  template <class T>
  std::vector<T> values(const T* from, std::size_t count) {
    std::vector<T> out(count);
    download(out.data(), from, count * sizeof(T));
    return out;
  }

  std::byte* allocate(std::uint64_t bytes) override {
    return reinterpret_cast<std::byte*>(machine_.allocate(bytes));
  }
  void upload(void* to, const void* from, std::uint64_t bytes) override {
    machine_.copy_to_device(reinterpret_cast<sim::Address>(to), {static_cast<const std::byte*>(from), bytes});
  }
  void download(void* to, const void* from, std::uint64_t bytes) override {
    machine_.copy_from_device({static_cast<std::byte*>(to), bytes}, reinterpret_cast<sim::Address>(from));
  }
  void clear(void* what, std::uint64_t bytes) override {
    upload(what, std::vector<std::byte>(bytes).data(), bytes);
  }

  void copy(void* to, const void* from, std::uint64_t bytes) override {
    std::vector<std::byte> values(bytes);
    download(values.data(), from, bytes);
    upload(to, values.data(), bytes);
  }

  void draw(const DrawArguments& a) override { run("draw_image", voxel_launch(a.grid.voxels()), a); }
  void lncc_moments(const MomentArguments& a) override {
    run(a.lncc.radius == 2 ? "lncc_moments<2>" : "lncc_moments<-1>",
        lncc_launch(a.lncc, WindowPass::statistics), a);
  }
  void add_up_moments(const MomentSums& a) override { run("add_up_moments", moment_sums_launch(), a); }
  void warp(const WarpArguments& a) override { run("warp_images", tile_launch(a.grid), a); }
  void lncc_statistics(const LnccArguments& a) override {
    run(a.radius == 2 ? "lncc_statistics<2>" : "lncc_statistics<-1>", lncc_launch(a), a);
  }
  void lncc_force(const LnccArguments& a) override {
    run(a.radius == 2 ? "lncc_force<2>" : "lncc_force<-1>", lncc_launch(a, WindowPass::force), a);
  }
  void ssd_force(const SsdArguments& a) override { run("ssd_force", reducing_launch(a.grid.voxels()), a); }
  void smooth(const SmoothArguments& a) override {
    const bool two = a.b != nullptr;
    const int radius = a.radius == 2 || (a.radius == 6 && !two) ? a.radius : -1;
    run("smooth_field<" + std::to_string(radius) + (two ? ", true>" : ", false>"), smooth_launch(a), a);
  }
  void longest(const float* field, std::int64_t voxels, unsigned* longest) override {
    run("longest_vector", reducing_launch(voxels), address(field), voxels, address(longest));
  }
  void add_up(const double* parts, int count, double scale, double* sum) override {
    run("add_up", {{1, 1, 1}, kVoxelThreads, 0}, address(parts), count, scale, address(sum));
  }
  void normalise(const NormaliseArguments& a) override { run("normalise", voxel_launch(a.voxels), a); }
  void halve(const HalveArguments& a) override { run("halve", voxel_launch(a.to.voxels()), a); }
  void refine(const RefineArguments& a) override { run("refine_field", voxel_launch(a.grid.voxels()), a); }
  void through_the_middle(const MiddleArguments& a) override {
    run("through_the_middle", voxel_launch(a.fixed.voxels()), a);
  }
  void count_suspects(const FoldArguments& a) override { run("count_suspects", tile_launch(a.grid), a); }
  void find_folds(const FoldArguments& a) override { run("find_folds", voxel_launch(a.grid.voxels()), a); }
  void smooth_folds(const FoldArguments& a) override {
    run("average_folds", voxel_launch(a.grid.voxels()), a);
    run("replace_folds", voxel_launch(a.grid.voxels()), a);
  }
  void look(const LookArguments& a) override { run("look_at_field", reducing_launch(a.grid.voxels()), a); }
  void count_smoothed(const FoldArguments& a) override {
    run("count_smoothed", voxel_launch(a.grid.voxels()), a);
  }

 private:
  template <class T>
  static sim::Address address(T* pointer) {
    return reinterpret_cast<sim::Address>(pointer);
  }
  template <class... Arguments>
  void run(std::string_view kernel, const LaunchShape& shape, const Arguments&... values) {
    sim::Arguments arguments;
    (arguments.add(values), ...);
    const sim::Outcome outcome = machine_.launch(symbol(kernel), arguments,
                                                 {.grid = {shape.grid[0], shape.grid[1], shape.grid[2]},
                                                  .block = {shape.threads},
                                                  .dynamic_shared = shape.shared,
                                                  .schedule = sim::Schedule::random,
                                                  .races = true});
    EXPECT_TRUE(outcome.completed) << kernel;
    for (const sim::Finding& finding : outcome.findings) ADD_FAILURE() << finding.text();
  }
  /// Of the kernel that has this name in C++.
  std::string symbol(std::string_view name) const {
    for (const ptx::Function& function : machine_.module().functions)
      if (function.entry && function_name(function.name).ends_with("::" + std::string(name)))
        return std::string(function.name);
    ADD_FAILURE() << "no kernel " << name;
    return {};
  }
  sim::Machine machine_;
};

}  // namespace warploom::registration
