// ggml's products of matrices: quantised weights (q4_0, q4_K, q8_0) by mul_mat_q, which goes through mma, and
// by mul_mat_vec_q, which goes through dp4a; and f16 by mul_mat_f. Weights are random bits. mmvq_part.cuh is
// mmvq.cu up to the function that lists all types.
#include "mmf.cuh"
#include "mmvq_part.cuh"
#include "program.hpp"
#include "quantize.cu"

extern "C" void ggml_abort(const char* file, int line, const char* what, ...) {
  std::fprintf(stderr, "%s:%d: %s\n", file, line, what);
  std::exit(2);
}
void ggml_cuda_error(const char* what, const char*, const char* file, int line, const char* message) {
  ggml_abort(file, line, "%s: %s", what, message);
}
int ggml_cuda_get_device() { return 0; }
void ggml_cuda_set_device(int) {}
// The kernels are compiled for compute capability 8.0; few multiprocessors make a product's tiles be shared.
const ggml_cuda_device_info& ggml_cuda_info() {
  static const ggml_cuda_device_info info = [] {
    ggml_cuda_device_info made{};
    made.device_count = 1;
    made.devices[0].cc = 800;
    made.devices[0].nsm = 3;
    made.devices[0].smpb = 49152;
    made.devices[0].smpbo = 166912;
    made.devices[0].warp_size = 32;
    return made;
  }();
  return info;
}
struct Pool : ggml_cuda_pool {
  void* alloc(std::size_t bytes, std::size_t* actual) override {
    void* made = nullptr;
    programs::require(cudaMalloc(&made, bytes), "cudaMalloc");
    programs::require(cudaMemset(made, 0, bytes), "cudaMemset");
    *actual = bytes;
    return made;
  }
  void free(void*, std::size_t) override {}
};
std::unique_ptr<ggml_cuda_pool> ggml_backend_cuda_context::new_pool_for_device(int, int) {
  return std::make_unique<Pool>();
}
extern "C" std::int64_t ggml_time_us() { return 0; }
extern "C" bool ggml_is_quantized(enum ggml_type) { return true; }
extern "C" std::int64_t ggml_blck_size(enum ggml_type type) { return type == GGML_TYPE_Q4_K ? 256 : 32; }

template <typename Block>
std::vector<Block> random_blocks(std::size_t count, std::uint64_t seed) {
  programs::Random random(seed);
  std::vector<Block> blocks(count);
  for (Block& block : blocks) {
    auto* bytes = reinterpret_cast<std::uint8_t*>(&block);
    for (std::size_t i = 0; i < sizeof block; ++i) bytes[i] = std::uint8_t(int(random.next() * (1 << 23)));
    if constexpr (requires { block.dm; }) {
      block.dm = __floats2half2_rn(float(random.next()) / 64, float(random.next()) / 64);
    } else {
      block.d = __float2half(float(random.next()) / 64);
    }
  }
  return blocks;
}

template <ggml_type type, typename Block, int Columns>
void quantised(const char* name, int rows, int depth, int columns) {
  constexpr int qk = ggml_cuda_type_traits<type>::qk;
  const programs::Buffer<Block> x(random_blocks<Block>(std::size_t(rows) * depth / qk, 1));
  const auto y = programs::random_buffer<float>(std::size_t(columns) * depth, 2);
  const int padded = GGML_PAD(depth, MATRIX_ROW_PADDING);
  static ggml_backend_cuda_context& context = *new ggml_backend_cuda_context(0);
  {
    programs::Buffer<char> packed(std::size_t(columns) * padded * sizeof(block_q8_1) / QK8_1 +
                                  128 * sizeof(block_q8_1_mmq));
    programs::Buffer<float> out(std::size_t(columns) * rows);
    quantize_mmq_q8_1_cuda(y.data(), nullptr, packed.data(), type, depth, depth, columns * depth,
                           columns * depth, padded, columns, 1, 1, nullptr);
    const std::int64_t channel = std::int64_t(columns) * padded * sizeof(block_q8_1) / (QK8_1 * sizeof(int));
    const mmq_args arguments = {reinterpret_cast<const char*>(x.data()),
                                type,
                                reinterpret_cast<const int*>(packed.data()),
                                nullptr,
                                nullptr,
                                out.data(),
                                nullptr,
                                depth,
                                rows,
                                columns,
                                depth / qk,
                                columns,
                                rows,
                                1,
                                1,
                                rows * depth / qk,
                                channel,
                                columns * rows,
                                1,
                                1,
                                rows * depth / qk,
                                channel,
                                columns * rows,
                                columns};
    launch_mul_mat_q<type, Columns, false>(context, arguments, nullptr);
    out.save(std::string(name) + "_mmq", "f32");
  }
  {
    programs::Buffer<char> packed(std::size_t(padded) * sizeof(block_q8_1) / QK8_1);
    programs::Buffer<float> out(rows);
    quantize_row_q8_1_cuda(y.data(), nullptr, packed.data(), type, depth, depth, depth, depth, padded, 1, 1,
                           1, nullptr);
    mul_mat_vec_q_switch_ncols_dst<type>(x.data(), packed.data(), nullptr, {}, out.data(), depth, rows, 1,
                                         depth / qk, padded / QK8_1, rows, 1, 1, 1, rows * depth / qk,
                                         padded / QK8_1, rows, 1, 1, rows * depth / qk, padded / QK8_1, rows,
                                         0, nullptr);
    out.save(std::string(name) + "_vec", "f32");
  }
}

void half_product() {
  constexpr int rows = 128, depth = 256, columns = 16, warps = 4, tile = MMF_ROWS_PER_BLOCK;
  const auto x = programs::random_buffer<half>(rows * depth, 1);
  const auto y = programs::random_buffer<float>(columns * depth, 2);
  programs::Buffer<float> out(columns * rows);
  const std::size_t pad = mmf_get_padding(800);
  const std::size_t shared = std::max(warps * 16 * (32 + pad) * 4, columns * (warps * tile + pad) * 4);
  mul_mat_f<half2, tile, columns, warps, false><<<dim3(rows / tile, 1, 1), dim3(32, warps, 1), shared>>>(
      reinterpret_cast<const half2*>(x.data()), y.data(), nullptr, out.data(), depth / 2, columns, 1,
      depth / 2, depth / 2, rows, 0, 0, 1, rows * depth / 2, columns * depth / 2, columns * rows, 1,
      rows * depth / 2, columns * depth / 2, columns * rows);
  programs::require(cudaGetLastError(), "mul_mat_f");
  out.save("f16_mmf", "f32");
}

int main() {
  setenv("GGML_CUDA_PDL", "0", 1);
  quantised<GGML_TYPE_Q4_0, block_q4_0, 64>("q4_0", 256, 1024, 64);
  quantised<GGML_TYPE_Q4_K, block_q4_K, 32>("q4_K", 256, 1024, 32);
  quantised<GGML_TYPE_Q8_0, block_q8_0, 64>("q8_0", 256, 1024, 48);
  half_product();
}
