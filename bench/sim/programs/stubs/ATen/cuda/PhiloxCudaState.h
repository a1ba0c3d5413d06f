// What FlashAttention's headers take of PyTorch; nothing drops out here.
#pragma once
#include <cstdint>
#include <tuple>
namespace at {
struct PhiloxCudaState {};
}  // namespace at
