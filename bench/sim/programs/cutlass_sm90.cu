// CUTLASS' warp-specialised products for compute capability 9.0, with tensor copies: the ping-pong and the
// cooperative schedule, in clusters of two blocks with multicast, in f16, bf16, 8-bit floats and integers.
#include "cute/tensor.hpp"
#include "cutlass/cutlass.h"
#include "cutlass/epilogue/collective/collective_builder.hpp"
#include "cutlass/gemm/collective/collective_builder.hpp"
#include "cutlass/gemm/device/gemm_universal_adapter.h"
#include "cutlass/gemm/kernel/gemm_universal.hpp"
#include "cutlass/util/packed_stride.hpp"
#include "program.hpp"

using namespace cute;

template <typename In, typename Out, typename Sum, typename Tile, typename Cluster, typename Schedule>
void run_product(const char* name, const char* type, int m, int n, int k, double scale) {
  using Epilogue = typename cutlass::epilogue::collective::CollectiveBuilder<
      cutlass::arch::Sm90, cutlass::arch::OpClassTensorOp, Tile, Cluster,
      cutlass::epilogue::collective::EpilogueTileAuto, Sum, Sum, Out, cutlass::layout::RowMajor,
      128 / cutlass::sizeof_bits<Out>::value, Out, cutlass::layout::RowMajor,
      128 / cutlass::sizeof_bits<Out>::value,
      std::conditional_t<std::is_same_v<Schedule, cutlass::gemm::KernelTmaWarpSpecializedPingpong>,
                         cutlass::epilogue::TmaWarpSpecialized,
                         cutlass::epilogue::TmaWarpSpecializedCooperative>>::CollectiveOp;
  using Mainloop = typename cutlass::gemm::collective::CollectiveBuilder<
      cutlass::arch::Sm90, cutlass::arch::OpClassTensorOp, In, cutlass::layout::RowMajor,
      128 / cutlass::sizeof_bits<In>::value, In, cutlass::layout::ColumnMajor,
      128 / cutlass::sizeof_bits<In>::value, Sum, Tile, Cluster, cutlass::gemm::collective::StageCount<3>,
      Schedule>::CollectiveOp;
  using Kernel = cutlass::gemm::kernel::GemmUniversal<Shape<int, int, int, int>, Mainloop, Epilogue>;
  using Gemm = cutlass::gemm::device::GemmUniversalAdapter<Kernel>;

  programs::Buffer<In> a = programs::random_buffer<In>(std::size_t(m) * k, 1, scale),
                       b = programs::random_buffer<In>(std::size_t(n) * k, 2, scale);
  programs::Buffer<Out> c = programs::random_buffer<Out>(std::size_t(m) * n, 3, scale), d(std::size_t(m) * n);
  cutlass::KernelHardwareInfo hardware;
  hardware.device_id = 0;
  hardware.sm_count = 2;  // a persistent kernel's blocks take several tiles, everywhere the same
  hardware.max_active_clusters = 2 / size(Cluster{});
  typename Gemm::Arguments arguments{
      cutlass::gemm::GemmUniversalMode::kGemm,
      {m, n, k, 1},
      {a.data(), cutlass::make_cute_packed_stride(typename Kernel::StrideA{}, {m, k, 1}), b.data(),
       cutlass::make_cute_packed_stride(typename Kernel::StrideB{}, {n, k, 1})},
      {{Sum(1), Sum(2)},
       c.data(),
       cutlass::make_cute_packed_stride(typename Kernel::StrideC{}, {m, n, 1}),
       d.data(),
       cutlass::make_cute_packed_stride(typename Kernel::StrideD{}, {m, n, 1})},
      hardware};
  Gemm gemm;
  const std::size_t workspace_bytes = Gemm::get_workspace_size(arguments);
  programs::Buffer<std::uint8_t> workspace(workspace_bytes + 1);
  const auto done = [&](cutlass::Status status, const char* what) {
    if (status == cutlass::Status::kSuccess) return;
    std::fprintf(stderr, "%s: %s: %s\n", name, what, cutlassGetStatusString(status));
    std::exit(2);
  };
  done(gemm.can_implement(arguments), "can_implement");
  done(gemm.initialize(arguments, workspace.data()), "initialize");
  done(gemm.run(), "run");
  d.save(name, type);
}

int main() {
  using namespace cutlass::gemm;
#if PART == 1
  run_product<cutlass::half_t, cutlass::half_t, float, Shape<_64, _128, _64>, Shape<_2, _1, _1>,
              KernelTmaWarpSpecializedPingpong>("pingpong_f16", "f16", 256, 256, 384, 1);
#elif PART == 2
  run_product<cutlass::bfloat16_t, float, float, Shape<_128, _128, _64>, Shape<_1, _2, _1>,
              KernelTmaWarpSpecializedCooperative>("cooperative_bf16", "f32", 256, 256, 320, 1);
#elif PART == 3
  run_product<cutlass::float_e4m3_t, float, float, Shape<_64, _64, _128>, Shape<_1, _1, _1>,
              KernelTmaWarpSpecializedPingpong>("pingpong_e4m3", "f32", 192, 128, 512, 4);
#else
  run_product<std::int8_t, std::int32_t, std::int32_t, Shape<_64, _64, _128>, Shape<_2, _1, _1>,
              KernelTmaWarpSpecializedPingpong>("pingpong_s8", "i32", 256, 128, 384, 127);
#endif
}
