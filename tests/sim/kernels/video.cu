// The scalar video instructions, and the SIMD ones with selected elements. Left out are forms that ptxas 13.0
// makes other code for than PTX says, as an H200 showed: results beyond 32 bits that saturate to u32, or in
// vshl and vmad at all; saturated parts of a word; .max of results that do not saturate; vmad with .shr.
// Those have unit tests.
#include "column.cuh"

#define WARPLOOM_VIDEO(name, d, a, b)                                                        \
  {                                                                                          \
    unsigned r;                                                                              \
    asm volatile(name " %0" d ", %1" a ", %2" b ", %3;" : "=r"(r) : "r"(x), "r"(y), "r"(z)); \
    put(r);                                                                                  \
  }
#define WARPLOOM_VIDEO_2(name, a, b)                                        \
  {                                                                         \
    unsigned r;                                                             \
    asm volatile(name " %0, %1" a ", %2" b ";" : "=r"(r) : "r"(x), "r"(y)); \
    put(r);                                                                 \
  }
/// A kernel of three columns of numbers.
#define WARPLOOM_KERNEL(kernel, body)                                                             \
  extern "C" __global__ void kernel(const unsigned* a, const unsigned* b, unsigned* out, int n) { \
    const int i = element();                                                                      \
    if (i >= n) return;                                                                           \
    const unsigned x = a[i], y = b[i], z = a[n - 1 - i] ^ b[i];                                   \
    Column<unsigned> put{out, n, i};                                                              \
    body                                                                                          \
  }

#define WARPLOOM_OF_TYPES(op, types)                \
  WARPLOOM_VIDEO_2(op types, "", "")                \
  WARPLOOM_VIDEO_2(op types, ".b1", ".h0")          \
  WARPLOOM_VIDEO(op types ".add", "", ".h1", ".b3") \
  WARPLOOM_VIDEO(op types, ".b2", ".b0", "")
#define WARPLOOM_SATURATED(op, types)             \
  WARPLOOM_VIDEO_2(op types ".sat", ".b1", ".h0") \
  WARPLOOM_VIDEO_2(op types ".sat", "", "")       \
  WARPLOOM_VIDEO(op types ".sat.min", "", "", "") \
  WARPLOOM_VIDEO(op types ".sat.max", "", "", ".b0")
#define WARPLOOM_ALL_TYPES(op)           \
  WARPLOOM_OF_TYPES(op, ".u32.u32.u32")  \
  WARPLOOM_OF_TYPES(op, ".u32.u32.s32")  \
  WARPLOOM_OF_TYPES(op, ".u32.s32.u32")  \
  WARPLOOM_OF_TYPES(op, ".u32.s32.s32")  \
  WARPLOOM_OF_TYPES(op, ".s32.u32.u32")  \
  WARPLOOM_OF_TYPES(op, ".s32.u32.s32")  \
  WARPLOOM_OF_TYPES(op, ".s32.s32.u32")  \
  WARPLOOM_OF_TYPES(op, ".s32.s32.s32")  \
  WARPLOOM_SATURATED(op, ".s32.u32.u32") \
  WARPLOOM_SATURATED(op, ".s32.u32.s32") \
  WARPLOOM_SATURATED(op, ".s32.s32.u32") \
  WARPLOOM_SATURATED(op, ".s32.s32.s32")

WARPLOOM_KERNEL(video_add, WARPLOOM_ALL_TYPES("vadd"))
WARPLOOM_KERNEL(video_sub, WARPLOOM_ALL_TYPES("vsub"))
WARPLOOM_KERNEL(video_absdiff, WARPLOOM_ALL_TYPES("vabsdiff"))
WARPLOOM_KERNEL(video_min, WARPLOOM_ALL_TYPES("vmin"))
WARPLOOM_KERNEL(video_max, WARPLOOM_ALL_TYPES("vmax"))

#define WARPLOOM_SHIFT(op, types)                     \
  WARPLOOM_VIDEO_2(op types ".clamp", "", ".b0")      \
  WARPLOOM_VIDEO_2(op types ".wrap", "", "")          \
  WARPLOOM_VIDEO(op types ".wrap.add", "", ".b3", "") \
  WARPLOOM_VIDEO(op types ".clamp", ".h0", ".h1", ".b3")
#define WARPLOOM_SHIFTS(op)          \
  WARPLOOM_SHIFT(op, ".u32.u32.u32") \
  WARPLOOM_SHIFT(op, ".u32.s32.u32") \
  WARPLOOM_SHIFT(op, ".s32.u32.u32") \
  WARPLOOM_SHIFT(op, ".s32.s32.u32")
WARPLOOM_KERNEL(video_shift, WARPLOOM_SHIFTS("vshl") WARPLOOM_SHIFTS("vshr"))

#define WARPLOOM_COMPARE(types, cmp)                        \
  WARPLOOM_VIDEO_2("vset" types cmp, ".b1", ".b2")          \
  WARPLOOM_VIDEO_2("vset" types cmp, "", "")                \
  WARPLOOM_VIDEO("vset" types cmp ".add", "", ".h0", ".h1") \
  WARPLOOM_VIDEO("vset" types cmp ".min", "", ".b0", "")    \
  WARPLOOM_VIDEO("vset" types cmp ".max", "", "", ".b3")    \
  WARPLOOM_VIDEO("vset" types cmp, ".b3", ".b3", ".b0")
#define WARPLOOM_COMPARISONS(types) \
  WARPLOOM_COMPARE(types, ".eq")    \
  WARPLOOM_COMPARE(types, ".ne")    \
  WARPLOOM_COMPARE(types, ".lt")    \
  WARPLOOM_COMPARE(types, ".le")    \
  WARPLOOM_COMPARE(types, ".gt")    \
  WARPLOOM_COMPARE(types, ".ge")
WARPLOOM_KERNEL(video_set, WARPLOOM_COMPARISONS(".u32.u32") WARPLOOM_COMPARISONS(".u32.s32")
                               WARPLOOM_COMPARISONS(".s32.u32") WARPLOOM_COMPARISONS(".s32.s32"))

#define WARPLOOM_MULTIPLY_SIGNED(name, a, b, c)                                        \
  {                                                                                    \
    unsigned r;                                                                        \
    asm volatile(name " %0, " a ", " b ", " c ";" : "=r"(r) : "r"(x), "r"(y), "r"(z)); \
    put(r);                                                                            \
  }
#define WARPLOOM_MULTIPLY(types)           \
  WARPLOOM_VIDEO("vmad" types, "", "", "") \
  WARPLOOM_VIDEO("vmad" types ".po", "", ".b1", ".b2")
WARPLOOM_KERNEL(video_multiply, WARPLOOM_MULTIPLY(".u32.u32.u32") WARPLOOM_MULTIPLY(".s32.s32.u32")
                                    WARPLOOM_MULTIPLY(".s32.u32.s32") WARPLOOM_MULTIPLY(".s32.s32.s32")
                                        WARPLOOM_VIDEO("vmad.s32.s32.u32.sat", "", ".b0", ".h1")
                                            WARPLOOM_VIDEO("vmad.s32.u32.s32.sat", "", ".b0", ".h1")
                                                WARPLOOM_VIDEO("vmad.s32.s32.s32.sat", "", ".b0", ".h1"))
#define WARPLOOM_SIGNS(types)                               \
  WARPLOOM_MULTIPLY_SIGNED("vmad" types, "-%1", "%2", "%3") \
  WARPLOOM_MULTIPLY_SIGNED("vmad" types, "%1.b3", "-%2.h1", "%3")
WARPLOOM_KERNEL(video_multiply_signs,
                WARPLOOM_SIGNS(".s32.u32.u32") WARPLOOM_SIGNS(".s32.s32.u32") WARPLOOM_SIGNS(".s32.s32.s32"))

#define WARPLOOM_SELECTED_4(op, types)                 \
  WARPLOOM_VIDEO(op types, ".b20", ".b7610", ".b3254") \
  WARPLOOM_VIDEO(op types, "", ".b0000", "")           \
  WARPLOOM_VIDEO(op types, ".b3", "", ".b4567")        \
  WARPLOOM_VIDEO(op types ".add", ".b310", ".b1234", ".b7654")
#define WARPLOOM_SELECTED_2(op, types)            \
  WARPLOOM_VIDEO(op types, ".h0", ".h31", ".h20") \
  WARPLOOM_VIDEO(op types, "", ".h11", "")        \
  WARPLOOM_VIDEO(op types ".add", ".h1", "", ".h03")
WARPLOOM_KERNEL(
    video_selected,
    WARPLOOM_SELECTED_4("vadd4", ".s32.s32.s32") WARPLOOM_SELECTED_4("vsub4", ".u32.u32.u32")
        WARPLOOM_SELECTED_4("vavrg4", ".s32.s32.s32") WARPLOOM_SELECTED_4("vabsdiff4", ".u32.u32.u32")
            WARPLOOM_SELECTED_4("vmin4", ".s32.s32.s32") WARPLOOM_SELECTED_4("vmax4", ".u32.u32.u32")
                WARPLOOM_SELECTED_4("vset4", ".u32.u32.le") WARPLOOM_SELECTED_4("vset4", ".s32.s32.eq")
                    WARPLOOM_SELECTED_2("vadd2", ".s32.s32.s32") WARPLOOM_SELECTED_2("vsub2", ".u32.u32.u32")
                        WARPLOOM_SELECTED_2("vavrg2", ".u32.u32.u32")
                            WARPLOOM_SELECTED_2("vabsdiff2", ".s32.s32.s32")
                                WARPLOOM_SELECTED_2("vset2", ".s32.s32.ge"))
