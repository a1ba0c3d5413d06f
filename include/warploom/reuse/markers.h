#pragma once

/// Marks for `warploom reuse` in the source of a CUDA kernel. Needs no other part of Warploom.
///
///   __shared__ float a[1024], b[1024];
///   ...                     // the last reads of a
///   WARPLOOM_DEAD(a);       // a's contents are not needed any more: b may take its place
///
/// WARPLOOM_DEAD(array): what the array holds here is read by no thread of the block after this point;
/// later stores begin a new life. It is a promise: `reuse` believes it and does not check it (its report
/// lists it among the assumptions). It separates nothing: where a barrier is missing between the last
/// read and a partner's first store, `reuse` inserts one or lets the two lie apart.
///
/// WARPLOOM_KEEP(array): the array keeps storage of its own in this kernel. It may stand anywhere in
/// the kernel that is reached by the code.
///
/// `array` is a __shared__ variable: an array, a structure or a scalar. Both are statements that expand
/// to one PTX instruction whose result is not used, which ptxas removes; the compiler, however, moves no
/// memory access across them. On the host, and with another compiler than a CUDA one, they are empty.
///
/// In the PTX: { .reg .b32 warploom_dead; mov.b32 warploom_dead, ADDRESS; }
#if defined(__CUDA_ARCH__)
#define WARPLOOM_MARK_(mark, array)                                                                    \
  asm volatile("{ .reg .b32 " mark "; mov.b32 " mark ", %0; }" ::"r"(static_cast<unsigned>(            \
      __cvta_generic_to_shared(const_cast<const void*>(static_cast<const volatile void*>(&(array)))))) \
               : "memory")
#define WARPLOOM_DEAD(array) WARPLOOM_MARK_("warploom_dead", array)
#define WARPLOOM_KEEP(array) WARPLOOM_MARK_("warploom_keep", array)
#else
#define WARPLOOM_DEAD(array) static_cast<void>(&(array))
#define WARPLOOM_KEEP(array) static_cast<void>(&(array))
#endif
