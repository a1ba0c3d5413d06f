// Integer instructions: arithmetic of every width, bit operations, packed and three-operand forms.
// Launch: a thread an element, any grid and block; out [m, n]: result k of element i is out[k * n + i].
#include <cstdint>

#include "column.cuh"

namespace {

template <typename T>
__device__ void arithmetic(const T* a, const T* b, T* out, int n) {
  const int i = element();
  if (i >= n) return;
  const T x = a[i], y = b[i], divisor = y == 0 ? T(7) : y;
  Column<T> put{out, n, i};
  put(x + y), put(x - y), put(x * y), put(x * y + x);
  put(divisor == T(-1) ? T(0) : x / divisor), put(divisor == T(-1) ? T(0) : x % divisor);
  put(x < y ? x : y), put(x > y ? x : y), put(x & y), put(x | y), put(x ^ y), put(~x), put(-x), put(!x);
  put(x << (int(y) & (sizeof(T) * 8 - 1))), put(x >> (int(y) & (sizeof(T) * 8 - 1)));
  put(x / 7), put(x % 10), put(x == y), put(x <= y), put(x != y && y > 3);
}

}  // namespace

#define ARITHMETIC(name, T)                                                            \
  extern "C" __global__ void name(const T* a, const T* b, T* out /*[21, n]*/, int n) { \
    arithmetic(a, b, out, n);                                                          \
  }
ARITHMETIC(arithmetic_i8, std::int8_t)
ARITHMETIC(arithmetic_u8, std::uint8_t)
ARITHMETIC(arithmetic_i16, std::int16_t)
ARITHMETIC(arithmetic_u16, std::uint16_t)
ARITHMETIC(arithmetic_i32, std::int32_t)
ARITHMETIC(arithmetic_u32, std::uint32_t)
ARITHMETIC(arithmetic_i64, std::int64_t)
ARITHMETIC(arithmetic_u64, std::uint64_t)

/// Products' upper halves, 24-bit and wide products, differences' magnitudes, averages, saturation.
extern "C" __global__ void multiply(const int* a, const int* b, long long* out /*[16, n]*/, int n) {
  const int i = element();
  if (i >= n) return;
  const int x = a[i], y = b[i];
  const unsigned ux = x, uy = y;
  const long long w = (long long)(x)*0x100000001 + y, v = (long long)(y)*0x10001 - x;
  Column<long long> put{out, n, i};
  put(__mulhi(x, y)), put(__umulhi(ux, uy)), put(__mul24(x, y)), put(__umul24(ux, uy));
  put((long long)(x)*y), put((long long)((unsigned long long)(ux)*uy)), put((long long)(x)*y + w);
  put(__mul64hi(w, v)), put((long long)(__umul64hi(w, v))), put((long long)(short(x)) * short(y));
  put(__sad(x, y, ux)), put(__usad(ux, uy, 5)), put(__hadd(x, y)), put(__rhadd(x, y)), put(__uhadd(ux, uy));
  put(__urhadd(ux, uy));
}

/// 128-bit sums and products: chains of add.cc, addc, mad.cc, madc.
extern "C" __global__ void multiword(const unsigned long long* a, const unsigned long long* b,
                                     unsigned long long* out /*[8, n]*/, int n) {
  const int i = element();
  if (i >= n) return;
  unsigned __int128 x = (unsigned __int128)(a[i]) << 64 | b[i],
                    y = (unsigned __int128)(b[i]) << 64 | a[n - 1 - i];
  Column<unsigned long long> put{out, n, i};
  const auto put_both = [&](unsigned __int128 v) {
    put((unsigned long long)(v >> 64)), put((unsigned long long)(v));
  };
  put_both(x + y), put_both(x - y), put_both(x * y);
  unsigned lo, mid, hi;
  asm("add.cc.u32 %0, %3, %4;\n\taddc.cc.u32 %1, %3, %3;\n\taddc.u32 %2, %4, 0;"
      : "=r"(lo), "=r"(mid), "=r"(hi)
      : "r"(unsigned(a[i])), "r"(unsigned(b[i])));
  put((unsigned long long)(mid) << 32 | lo);
  asm("sub.cc.u32 %0, %3, %4;\n\tsubc.cc.u32 %1, %4, %3;\n\tsubc.u32 %2, %3, 0;\n\t"
      "mad.lo.cc.u32 %0, %3, %4, %0;\n\tmadc.hi.u32 %1, %3, %4, %1;"
      : "=r"(lo), "=r"(mid), "=r"(hi)
      : "r"(unsigned(a[i])), "r"(unsigned(b[i])));
  put((unsigned long long)(mid) << 32 | (lo ^ hi));
}

extern "C" __global__ void bits(const unsigned* a, const unsigned* b, unsigned* out /*[24, n]*/, int n) {
  const int i = element();
  if (i >= n) return;
  const unsigned x = a[i], y = b[i];
  const unsigned long long w = (unsigned long long)(x) << 32 | y;
  Column<unsigned> put{out, n, i};
  put(__popc(x)), put(__popcll(w)), put(__clz(x)), put(__clzll(w)), put(__clz(x & 255)), put(__ffs(x)),
      put(__ffsll(w));
  put(__brev(x)), put(unsigned(__brevll(w))), put(__fns(x, y & 31, 1));
  put(__byte_perm(x, y, 0x5140)), put(__byte_perm(x, y, y)), put(__byte_perm(x, 0, 0x0123));
  put(__funnelshift_l(x, y, y & 63)), put(__funnelshift_r(x, y, x & 63)), put(__funnelshift_lc(x, y, y & 63));
  put(__funnelshift_rc(x, y, x & 63)), put(x << 5 | x >> 27);
  put((x & y) | (~x & (x >> 3))), put(x ^ y ^ (y << 9)), put((x & 0xff00) | (y & 0xff)), put(x & ~y);
  put((x >> 5) & 31), put((x & 0xffff) << 16 | (y >> 16));
}

/// The forms that C++ does not name: bit fields, masks, logic tables, shifts past the width, bfind, prmt
/// modes.
extern "C" __global__ void bit_fields(const unsigned* a, const unsigned* b, unsigned* out /*[21, n]*/,
                                      int n) {
  const int i = element();
  if (i >= n) return;
  const unsigned x = a[i], y = b[i], position = y & 63, length = x & 63;
  Column<unsigned> put{out, n, i};
  unsigned d;
#define TWO(text)                                      \
  asm(text " %0, %1, %2;" : "=r"(d) : "r"(x), "r"(y)); \
  put(d)
#define THREE(text, c, e)                                          \
  asm(text " %0, %1, %2, %3;" : "=r"(d) : "r"(x), "r"(c), "r"(e)); \
  put(d)
  THREE("bfe.u32", position, length);
  THREE("bfe.s32", position, length);
  asm("bfi.b32 %0, %1, %2, %3, %4;" : "=r"(d) : "r"(x), "r"(y), "r"(position), "r"(length));
  put(d);
  asm("bmsk.clamp.b32 %0, %1, %2;" : "=r"(d) : "r"(position), "r"(length));
  put(d);
  asm("bmsk.wrap.b32 %0, %1, %2;" : "=r"(d) : "r"(position), "r"(length));
  put(d);
  asm("szext.clamp.s32 %0, %1, %2;" : "=r"(d) : "r"(x), "r"(position));
  put(d);
  asm("szext.wrap.u32 %0, %1, %2;" : "=r"(d) : "r"(x), "r"(position));
  put(d);
  asm("shl.b32 %0, %1, %2;" : "=r"(d) : "r"(x), "r"(position));
  put(d);
  asm("shr.u32 %0, %1, %2;" : "=r"(d) : "r"(x), "r"(position));
  put(d);
  asm("shr.s32 %0, %1, %2;" : "=r"(d) : "r"(x), "r"(position));
  put(d);
  asm("lop3.b32 %0, %1, %2, %3, 0xd8;" : "=r"(d) : "r"(x), "r"(y), "r"(x >> 7));
  put(d);
  asm("lop3.b32 %0, %1, %2, %3, 0x1e;" : "=r"(d) : "r"(x), "r"(y), "r"(x >> 7));
  put(d);
  THREE("prmt.b32.f4e", y, length);
  THREE("prmt.b32.rc8", y, length);
  THREE("prmt.b32.ecl", y, length);
  asm("bfind.u32 %0, %1;" : "=r"(d) : "r"(x));
  put(d);
  asm("bfind.shiftamt.s32 %0, %1;" : "=r"(d) : "r"(x));
  put(d);
  asm("cnot.b32 %0, %1;" : "=r"(d) : "r"(x & 1));
  put(d);
  TWO("add.sat.s32");
  TWO("sub.sat.s32");
  asm("slct.u32.s32 %0, %1, %2, %3;" : "=r"(d) : "r"(x), "r"(y), "r"(int(x - y)));
  put(d);
#undef TWO
#undef THREE
}

/// Dot products of packed bytes and halves of a word.
extern "C" __global__ void dot_products(const int* a, const int* b, int* out /*[6, n]*/, int n) {
  const int i = element();
  if (i >= n) return;
  const int x = a[i], y = b[i];
  Column<int> put{out, n, i};
  put(__dp4a(x, y, i)), put(__dp4a(unsigned(x), unsigned(y), 3u)), put(__dp2a_lo(x, y, i)),
      put(__dp2a_hi(x, y, i));
  put(__dp2a_lo(unsigned(x), unsigned(y), 9u));
  int d;
  asm("dp4a.s32.u32 %0, %1, %2, %3;" : "=r"(d) : "r"(x), "r"(y), "r"(i));
  put(d);
}

/// Four bytes or two halves of a word at a time.
extern "C" __global__ void packed(const unsigned* a, const unsigned* b, unsigned* out /*[28, n]*/, int n) {
  const int i = element();
  if (i >= n) return;
  const unsigned x = a[i], y = b[i];
  Column<unsigned> put{out, n, i};
  put(__vadd4(x, y)), put(__vaddss4(x, y)), put(__vaddus4(x, y)), put(__vsub4(x, y)), put(__vsubss4(x, y));
  put(__vabs4(x)), put(__vabsdiffu4(x, y)), put(__vabsdiffs4(x, y)), put(__vavgu4(x, y)), put(__vneg4(x));
  put(__vmaxs4(x, y)), put(__vmaxu4(x, y)), put(__vmins4(x, y)), put(__vminu4(x, y)),
      put(__vcmpeq4(x, y & x));
  put(__vcmpgts4(x, y)), put(__vsetleu4(x, y)), put(__vsads4(x, y)), put(__vsadu4(x, y));
  put(__vadd2(x, y)), put(__vaddss2(x, y)), put(__vsub2(x, y)), put(__vmaxs2(x, y)), put(__vminu2(x, y));
  put(__vabsdiffs2(x, y)), put(__vavgs2(x, y)), put(__vcmpltu2(x, y)), put(__vseteq2(x, x & y));
}

/// Least and greatest of three, with a floor of zero, and with a predicate that says which; packed halves.
extern "C" __global__ void extremes(const int* a, const int* b, int* out /*[16, n]*/, int n) {
  const int i = element();
  if (i >= n) return;
  const int x = a[i], y = b[i], z = a[n - 1 - i];
  bool first, second;
  Column<int> put{out, n, i};
  put(__vimax3_s32(x, y, z)), put(__vimin3_s32(x, y, z)), put(__vimax3_u32(x, y, z)),
      put(__vimin3_u32(x, y, z));
  put(__vimax_s32_relu(x, y)), put(__vimin_s32_relu(x, y)), put(__vimax3_s32_relu(x, y, z));
  put(__vimax3_s16x2(x, y, z)), put(__vimin3_u16x2(x, y, z)), put(__vimax_s16x2_relu(x, y));
  put(__viaddmax_s32(x, y, z)), put(__viaddmin_u32(x, y, z)), put(__viaddmax_s16x2_relu(x, y, z));
  const int most = __vibmax_s32(x, y, &first);
  put(most + first);
  const int least = __vibmin_u16x2(x, y, &first, &second);
  put(least ^ (first + 2 * second));
  put(__viaddmin_s16x2(x, y, z));
}
