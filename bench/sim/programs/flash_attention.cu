// FlashAttention-2's forward kernel, head dimension 64, f16: plain, causal, and lengths that are no multiple
// of a tile, with fewer heads of keys than of queries.
#include <cmath>

#include "flash_fwd_launch_template.h"
#include "program.hpp"

template <bool Causal>
void attention(const char* name, int queries, int keys, int heads, int key_heads) {
  constexpr int width = 64;
  using Element = cutlass::half_t;
  auto q = programs::random_buffer<Element>(std::size_t(queries) * heads * width, 1),
       k = programs::random_buffer<Element>(std::size_t(keys) * key_heads * width, 2),
       v = programs::random_buffer<Element>(std::size_t(keys) * key_heads * width, 3);
  programs::Buffer<Element> out(std::size_t(queries) * heads * width);
  programs::Buffer<float> sums(std::size_t(queries) * heads);
  flash::Flash_fwd_params p{};
  p.q_ptr = q.data(), p.k_ptr = k.data(), p.v_ptr = v.data(), p.o_ptr = out.data();
  p.softmax_lse_ptr = sums.data();
  p.q_row_stride = p.o_row_stride = heads * width;
  p.k_row_stride = p.v_row_stride = key_heads * width;
  p.q_head_stride = p.k_head_stride = p.v_head_stride = p.o_head_stride = width;
  p.q_batch_stride = p.o_batch_stride = std::int64_t(queries) * heads * width;
  p.k_batch_stride = p.v_batch_stride = std::int64_t(keys) * key_heads * width;
  p.b = 1, p.h = heads, p.h_k = key_heads, p.h_h_k_ratio = heads / key_heads;
  p.seqlen_q = queries, p.seqlen_k = keys, p.d = p.d_rounded = width;
  p.seqlen_q_rounded = (queries + 127) / 128 * 128, p.seqlen_k_rounded = (keys + 127) / 128 * 128;
  p.scale_softmax = 1 / std::sqrt(float(width));
  p.scale_softmax_log2 = p.scale_softmax * float(M_LOG2E);
  p.p_dropout = p.rp_dropout = 1, p.p_dropout_in_uint8_t = 255;
  p.scale_softmax_rp_dropout = p.scale_softmax;
  p.is_causal = Causal;
  p.window_size_left = -1, p.window_size_right = Causal ? 0 : -1;
  flash::run_flash_fwd<Flash_fwd_kernel_traits<width, 128, 128, 4, false, false, Element>, false, Causal>(
      p, nullptr);
  out.save(name, "f16");
  sums.save(std::string(name) + "_lse", "f32");
}

int main() {
  attention<false>("attention", 128, 256, 2, 2);
  attention<true>("attention_causal", 256, 256, 1, 1);
  attention<false>("attention_ragged", 100, 203, 2, 1);
}
