// mma, wmma, ldmatrix, stmatrix and movmatrix against sums written out here, with fragments laid out from the
// other side: which lane and register hold an element. What an H200 gives is in matrix_bits.hpp, and
// gpu_test_sim runs tests/sim/kernels/matrix.cu on both.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <random>

#include "sim/tensor_sum.hpp"
#include "warploom/sim/sim.hpp"

namespace warploom::sim {
namespace {

using testing::HasSubstr;

/// A shape and its types; D and C have `result`.
struct Product {
  unsigned m, n, k;
  std::string a, b, result, modifier = {};
  std::string name() const {
    return fmt::format("mma.sync.aligned.m{}n{}k{}.row.col{}.{}.{}.{}.{}{}", m, n, k,
                       a == "b1" ? "" : modifier, result, a, b, result, a == "b1" ? modifier : "");
  }
};
void PrintTo(const Product& p, std::ostream* out) { *out << p.name(); }

unsigned width(const std::string& type) { return bits_of(*element_of(type)); }
unsigned register_width(const std::string& type) { return type == "f64" ? 64 : 32; }

/// Where an element lies: PTX ISA 9.0, 9.7.14.5, "Matrix Fragments".
struct Home {
  unsigned reg, lane, shift;
};
/// Of A (row, k) or, with `rows` 8, of B (column, k).
Home home_of_factor(const std::string& type, unsigned rows, unsigned row, unsigned k) {
  const unsigned held = register_width(type) / width(type);
  return {(k / (4 * held)) * (rows / 8) + row / 8, row % 8 * 4 + k / held % 4, k % held * width(type)};
}
Home home_of_sum(const std::string& type, unsigned row, unsigned column) {
  const unsigned held = register_width(type) / width(type), at = row / 8 * 2 + column % 2;
  return {at / held, row % 8 * 4 + column / 2, at % held * width(type)};
}

/// The registers of a matrix: [register][lane].
struct Matrix {
  unsigned registers, bits;
  std::vector<std::uint64_t> words;
  Matrix(const std::string& type, unsigned elements)
      : registers(elements * width(type) / 32 / register_width(type)),
        bits(register_width(type)),
        words(std::size_t{registers} * 32) {}
  std::uint64_t get(Home h, unsigned w) const {
    const std::uint64_t all = words[h.reg * 32 + h.lane] >> h.shift;
    return w == 64 ? all : all & ((std::uint64_t{1} << w) - 1);
  }
  void put(Home h, std::uint64_t value) { words[h.reg * 32 + h.lane] |= value << h.shift; }
};

/// A kernel that loads A, B and C, one 64-bit word a register and lane, executes `name` and stores D.
std::string kernel_for(const std::string& name, const Matrix& a, const Matrix& b, const Matrix& c,
                       unsigned d_registers) {
  std::string body, text;
  const auto list = [](char which, unsigned count) {
    std::string all;
    for (unsigned r = 0; r < count; ++r) all += fmt::format("{}%{}{}", r == 0 ? "" : ", ", which, r);
    return "{" + all + "}";
  };
  unsigned at = 0;
  for (const auto& [which, m] : {std::pair{'a', &a}, {'b', &b}, {'c', &c}})
    for (unsigned r = 0; r < m->registers; ++r, ++at)
      body += m->bits == 64 ? fmt::format("ld.global.u64 %{}{}, [%rd3+{}];\n", which, r, at * 256)
                            : fmt::format("ld.global.u64 %rd4, [%rd3+{}];\ncvt.u32.u64 %{}{}, %rd4;\n",
                                          at * 256, which, r);
  body += fmt::format("{} {}, {}, {}, {};\n", name, list('d', d_registers), list('a', a.registers),
                      list('b', b.registers), list('c', c.registers));
  for (unsigned r = 0; r < d_registers; ++r, ++at)
    body += c.bits == 64
                ? fmt::format("st.global.u64 [%rd3+{}], %d{};\n", at * 256, r)
                : fmt::format("cvt.u64.u32 %rd4, %d{};\nst.global.u64 [%rd3+{}], %rd4;\n", r, at * 256);
  return fmt::format(
      ".version 8.7\n.target sm_90a\n.address_size 64\n.visible .entry k(.param .u64 data)\n{{\n"
      ".reg .b32 %r<4>;\n.reg .b64 %rd<9>;\n.reg .b{0} %a<20>, %b<20>;\n.reg .b{1} %c<20>, %d<20>;\n"
      "ld.param.u64 %rd1, [data];\nmov.u32 %r1, %tid.x;\nmul.wide.u32 %rd2, %r1, 8;\nadd.u64 %rd3, %rd1, %rd2;\n"
      "{2}ret;\n}}\n",
      a.bits, c.bits, body);
}

Matrix run(const Product& p, const Matrix& a, const Matrix& b, const Matrix& c) {
  Machine machine(ptx::parse(kernel_for(p.name(), a, b, c, c.registers), "k.ptx"));
  std::vector<std::uint64_t> data;
  for (const Matrix* m : {&a, &b, &c}) data.insert(data.end(), m->words.begin(), m->words.end());
  data.resize(data.size() + c.words.size());
  const Address at = machine.upload(std::span(data), "data");
  const Outcome outcome = machine.launch("k", Arguments().add(at), {.block = {32}});
  EXPECT_TRUE(outcome.clean()) << outcome.findings.front().text();
  machine.download(at, std::span(data));
  Matrix d = c;
  std::copy(data.end() - static_cast<std::ptrdiff_t>(c.words.size()), data.end(), d.words.begin());
  return d;
}

/// Fills with `value(row, column)`.
template <typename Value>
Matrix factors(const std::string& type, unsigned rows, unsigned k, Value value) {
  Matrix m(type, rows * k);
  for (unsigned row = 0; row < rows; ++row)
    for (unsigned i = 0; i < k; ++i) m.put(home_of_factor(type, rows, row, i), value(row, i));
  return m;
}
template <typename Value>
Matrix sums(const Product& p, Value value) {
  Matrix m(p.result, p.m * p.n);
  for (unsigned row = 0; row < p.m; ++row)
    for (unsigned column = 0; column < p.n; ++column)
      m.put(home_of_sum(p.result, row, column), value(row, column));
  return m;
}
std::uint64_t element(const Product& p, const Matrix& m, bool is_b, unsigned row, unsigned k) {
  const std::string& type = is_b ? p.b : p.a;
  return m.get(home_of_factor(type, is_b ? 8 : p.m, row, k), width(type));
}
std::uint64_t sum_at(const Product& p, const Matrix& m, unsigned row, unsigned column) {
  return m.get(home_of_sum(p.result, row, column), width(p.result));
}

class IntegerProducts : public testing::TestWithParam<Product> {};

std::int64_t integer(const std::string& type, std::uint64_t bits) {
  if (type == "s8") return static_cast<std::int8_t>(bits);
  if (type == "s4") return bits >= 8 ? static_cast<std::int64_t>(bits) - 16 : static_cast<std::int64_t>(bits);
  return static_cast<std::int64_t>(bits);
}

TEST_P(IntegerProducts, AreExact) {
  const Product& p = GetParam();
  std::mt19937_64 random(1);
  const auto bits = [&](const std::string& type) {
    return [&random, w = width(type)](unsigned, unsigned) { return random() >> (64 - w); };
  };
  const Matrix a = factors(p.a, p.m, p.k, bits(p.a)), b = factors(p.b, 8, p.k, bits(p.b));
  // Some sums overflow.
  const Matrix c = sums(p, [&](unsigned row, unsigned column) -> std::uint64_t {
    return row % 4 == 0 ? (column % 2 == 0 ? 0x7fffffffu - column : 0x80000000u + column) : random() >> 32;
  });
  const Matrix d = run(p, a, b, c);
  for (unsigned row = 0; row < p.m; ++row)
    for (unsigned column = 0; column < p.n; ++column) {
      std::int64_t sum = static_cast<std::int32_t>(sum_at(p, c, row, column));
      for (unsigned k = 0; k < p.k; ++k) {
        const std::int64_t x = integer(p.a, element(p, a, false, row, k)),
                           y = integer(p.b, element(p, b, true, column, k));
        sum += p.a != "b1" ? x * y : p.modifier == ".xor.popc" ? x ^ y : x & y;
      }
      if (p.modifier == ".satfinite")
        sum = std::clamp<std::int64_t>(sum, std::int64_t{INT32_MIN}, std::int64_t{INT32_MAX});
      ASSERT_EQ(sum_at(p, d, row, column), static_cast<std::uint32_t>(sum)) << row << ", " << column;
    }
}

const Product kIntegerProducts[] = {{8, 8, 16, "s8", "s8", "s32"},
                                    {16, 8, 16, "u8", "u8", "s32"},
                                    {16, 8, 32, "s8", "s8", "s32"},
                                    {16, 8, 32, "s8", "u8", "s32"},
                                    {16, 8, 32, "u8", "s8", "s32", ".satfinite"},
                                    {16, 8, 32, "s8", "s8", "s32", ".satfinite"},
                                    {8, 8, 32, "s4", "u4", "s32"},
                                    {16, 8, 32, "u4", "u4", "s32"},
                                    {16, 8, 64, "s4", "s4", "s32", ".satfinite"},
                                    {8, 8, 128, "b1", "b1", "s32", ".xor.popc"},
                                    {16, 8, 128, "b1", "b1", "s32", ".and.popc"},
                                    {16, 8, 256, "b1", "b1", "s32", ".xor.popc"}};
INSTANTIATE_TEST_SUITE_P(, IntegerProducts, testing::ValuesIn(kIntegerProducts));

long double number(Element type, std::uint64_t bits) {
  const Factor f = factor(type, static_cast<std::uint32_t>(bits));
  return std::ldexp(static_cast<long double>(f.significand), f.exponent);
}

/// mma.sp of a selector, with exact products and sums.
struct SparseProduct {
  Product product;
  unsigned selector;
  bool ordered = true;
};
void PrintTo(const SparseProduct& p, std::ostream* out) {
  *out << p.product.name() << " selector " << p.selector;
}
class SparseProducts : public testing::TestWithParam<SparseProduct> {};

TEST_P(SparseProducts, TakeTheElementsOfBThatTheMetadataName) {
  const auto& [p, selector, ordered] = GetParam();
  const bool real = p.result == "f32";
  const unsigned kept = p.k / 2, bits = width(p.a);
  // Of four places two are taken, of 4 bits in pairs, of tf32 one of two.
  const unsigned together = bits == 4 ? 2 : 1, chunk = bits == 32 ? 2 : 4 * together, chunks = p.k / chunk;
  std::mt19937_64 random(3);
  std::vector<std::uint32_t> metadata(32);
  std::vector<std::array<unsigned, 2>> places(std::size_t{16} * chunks);
  const unsigned holders = chunks / 4;  // lanes of four that hold it
  for (unsigned row = 0; row < 16; ++row)
    for (unsigned c = 0; c < chunks; ++c) {
      unsigned first = static_cast<unsigned>(random() % 4),
               second = (first + 1 + static_cast<unsigned>(random() % 3)) % 4;
      if (bits == 32) first = static_cast<unsigned>(random() % 2) * 2, second = first + 1;
      if (ordered && first > second) std::swap(first, second);
      places[row * chunks + c] = {first, second};
      // PTX ISA, figures of metadata: of 16 and 32 bits a lane has four chunks of two rows, else eight of
      // one.
      const unsigned of_lane = bits <= 8 ? c / 8 * 2 + row / 8 : c / 4,
                     shift = bits <= 8 ? 4 * (c % 8) : 4 * (c % 4) + 16 * (row / 8);
      metadata[row % 8 * 4 + selector * holders + of_lane] |= (first | second << 2) << shift;
    }
  const auto value = [&](const std::string& type) -> std::uint64_t {
    if (!real) return random() >> (64 - width(type));
    constexpr std::uint32_t kSmall[] = {0xc0000000, 0xbf800000, 0, 0x3f800000,
                                        0x40400000};  // -2, -1, 0, 1, 3
    const std::uint32_t single = kSmall[random() % 5];
    if (type == "tf32") return single;
    if (type == "bf16") return single >> 16;
    return single == 0
               ? 0
               : (single >> 16 & 0x8000) | ((single >> 23 & 0xff) - 112) << 10 | (single >> 13 & 0x3ff);
  };
  const auto from = [&](const std::string& type) {
    return [&, type](unsigned, unsigned) { return value(type); };
  };
  const Matrix a = factors(p.a, 16, kept, from(p.a)), b = factors(p.b, 8, p.k, from(p.b));
  const Matrix c = sums(p, [&](unsigned row, unsigned) -> std::uint64_t { return real ? 0x40400000 : row; });
  std::string text = kernel_for(p.name(), a, b, c, c.registers);
  text.replace(text.find("mma.sync"), 8, ordered ? "mma.sp::ordered_metadata.sync" : "mma.sp.sync");
  const std::size_t end = text.find(';', text.find("mma.sp"));
  text.insert(end, fmt::format(", %r2, {}", selector));
  text.insert(text.find("mma.sp"),
              "cvt.u64.u32 %rd5, %r1;\nshl.b64 %rd5, %rd5, 2;\nadd.u64 %rd6, %rd1, %rd5;\n"
              "ld.global.u32 %r2, [%rd6+" +
                  std::to_string(256 * (a.registers + b.registers + 2 * c.registers)) + "];\n");
  std::vector<std::uint64_t> data;
  for (const Matrix* m : {&a, &b, &c, &c}) data.insert(data.end(), m->words.begin(), m->words.end());
  const std::size_t before = data.size();
  data.resize(before + 16);
  std::memcpy(&data[before], metadata.data(), 128);
  Machine machine(ptx::parse(text, "k.ptx"));
  const Address at = machine.upload(std::span(data), "data");
  const Outcome outcome = machine.launch("k", Arguments().add(at), {.block = {32}});
  ASSERT_TRUE(outcome.clean()) << outcome.findings.front().text();
  machine.download(at, std::span(data));
  Matrix d = c;
  std::copy_n(data.begin() + static_cast<std::ptrdiff_t>(before - c.words.size()), c.words.size(),
              d.words.begin());
  const auto number_of = [&](const std::string& type, std::uint64_t word) {
    return real ? static_cast<double>(number(*element_of(type), word))
                : static_cast<double>(integer(type, word));
  };
  for (unsigned row = 0; row < 16; ++row)
    for (unsigned column = 0; column < 8; ++column) {
      double sum = real ? 3 : row;
      for (unsigned i = 0; i < kept; ++i) {
        const unsigned of_chunk = kept / chunks, in_chunk = i % of_chunk;
        const unsigned place = places[row * chunks + i / of_chunk][in_chunk / together];
        const unsigned k =
            i / of_chunk * chunk + (bits == 32 ? place / 2 : place * together + in_chunk % together);
        sum += number_of(p.a, element(p, a, false, row, i)) * number_of(p.b, element(p, b, true, column, k));
      }
      const std::uint64_t word = sum_at(p, d, row, column);
      const double found = real ? static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(word)))
                                : static_cast<double>(static_cast<std::int32_t>(word));
      ASSERT_EQ(found, sum) << row << ", " << column;
    }
}

INSTANTIATE_TEST_SUITE_P(, SparseProducts,
                         testing::Values(SparseProduct{{16, 8, 16, "f16", "f16", "f32"}, 3},
                                         SparseProduct{{16, 8, 32, "f16", "f16", "f32"}, 1},
                                         SparseProduct{{16, 8, 32, "bf16", "bf16", "f32"}, 0, false},
                                         SparseProduct{{16, 8, 8, "tf32", "tf32", "f32"}, 2},
                                         SparseProduct{{16, 8, 16, "tf32", "tf32", "f32"}, 1},
                                         SparseProduct{{16, 8, 32, "s8", "u8", "s32"}, 1},
                                         SparseProduct{{16, 8, 64, "u8", "s8", "s32"}, 0, false},
                                         SparseProduct{{16, 8, 64, "s4", "u4", "s32"}, 1},
                                         SparseProduct{{16, 8, 128, "u4", "s4", "s32"}, 0}));

/// Small whole numbers, whose sums are exact: lane l of product q (lanes 4q to 4q + 3 and 16 more) has row,
/// or column, l % 4, or 4 more in the upper half of the warp.
TEST(QuadProducts, OfEightLanesEach) {
  for (const bool a_rows : {true, false})
    for (const bool b_rows : {true, false})
      for (const bool half : {true, false}) {
        const std::string to = half ? "f16" : "f32";
        const unsigned count = half ? 4 : 8;
        const auto list = [&](char which, unsigned n) {
          std::string all;
          for (unsigned i = 0; i < n; ++i) all += fmt::format("{}%{}{}", i == 0 ? "" : ", ", which, i);
          return "{" + all + "}";
        };
        std::string body;
        for (unsigned i = 0; i < 4; ++i)
          body += fmt::format("ld.global.u32 %{}{}, [%rd3+{}];\n", i < 2 ? 'a' : 'b', i % 2, 128 * i);
        for (unsigned i = 0; i < count; ++i)
          body += fmt::format("ld.global.u32 %c{}, [%rd3+{}];\n", i, 128 * (4 + i));
        body += fmt::format("mma.sync.aligned.m8n8k4.{}.{}.{}.f16.f16.{} {}, {}, {}, {};\n",
                            a_rows ? "row" : "col", b_rows ? "row" : "col", to, to, list('d', count),
                            list('a', 2), list('b', 2), list('c', count));
        for (unsigned i = 0; i < count; ++i)
          body += fmt::format("st.global.u32 [%rd3+{}], %d{};\n", 128 * (4 + i), i);
        Machine machine(ptx::parse(
            ".version 8.7\n.target sm_90a\n.address_size 64\n.visible .entry k(.param .u64 data)\n{\n.reg .b32 %r<4>;\n"
            ".reg .b64 %rd<9>;\n.reg .b32 %a<4>, %b<4>, %c<9>, %d<9>;\nld.param.u64 %rd1, [data];\nmov.u32 %r1, %tid.x;\n"
            "mul.wide.u32 %rd2, %r1, 4;\nadd.u64 %rd3, %rd1, %rd2;\n" +
                body + "ret;\n}\n",
            "k.ptx"));
        constexpr std::uint32_t kHalf[] = {0xc000, 0xbc00, 0, 0x3c00, 0x4000};  // -2 to 2
        const auto value = [](unsigned at) { return static_cast<int>(at * at % 5) - 2; };
        const auto word = [&](unsigned reg, unsigned lane) {
          return kHalf[(2 * (reg * 32 + lane)) * (2 * (reg * 32 + lane)) % 5] |
                 kHalf[(2 * (reg * 32 + lane) + 1) * (2 * (reg * 32 + lane) + 1) % 5] << 16;
        };
        std::vector<std::uint32_t> data(12 * 32);
        for (unsigned reg = 0; reg < 4; ++reg)
          for (unsigned lane = 0; lane < 32; ++lane) data[reg * 32 + lane] = word(reg, lane);
        const Address at = machine.upload(std::span(data), "data");
        const Outcome outcome = machine.launch("k", Arguments().add(at), {.block = {32}, .races = true});
        ASSERT_TRUE(outcome.clean()) << outcome.findings.front().text();
        machine.download(at, std::span(data));
        const auto factor_at = [&](bool is_b, bool along, unsigned q, unsigned outer, unsigned k) {
          const unsigned lane = 4 * q + (along ? outer % 4 : k) + (outer < 4 ? 0 : 16),
                         i = along ? k : outer % 4;
          return value(2 * (((is_b ? 2 : 0) + i / 2) * 32 + lane) + i % 2);
        };
        for (unsigned q = 0; q < 4; ++q)
          for (unsigned row = 0; row < 8; ++row)
            for (unsigned column = 0; column < 8; ++column) {
              float sum = 0;
              for (unsigned k = 0; k < 4; ++k)
                sum += static_cast<float>(factor_at(false, a_rows, q, row, k) *
                                          factor_at(true, !b_rows, q, column, k));
              const unsigned high = row < 4 ? 0 : 16;
              const unsigned lane = 4 * q + (half ? row % 4 : (row & 1) + (column & 2)) + high;
              const unsigned i = half ? column : (row & 2) + (column & 4) + (column & 1);
              const std::uint32_t found =
                  half ? data[(4 + i / 2) * 32 + lane] >> (16 * (i % 2)) & 0xffff : data[(4 + i) * 32 + lane];
              ASSERT_EQ(
                  half ? std::bit_cast<float>(float_of(Element::f16, found)) : std::bit_cast<float>(found),
                  sum)
                  << q << " " << row << " " << column;
            }
      }
}

class RealProducts : public testing::TestWithParam<Product> {};

/// Bits of a number between 2^-range and 2^range.
std::uint64_t random_bits(Element type, std::mt19937_64& random, int range) {
  const auto x = static_cast<float>(std::ldexp(1.0 + static_cast<double>(random() >> 12) * 0x1p-52,
                                               static_cast<int>(random() % (2 * range)) - range));
  const std::uint32_t single = std::bit_cast<std::uint32_t>(random() % 2 == 0 ? x : -x);
  const std::uint32_t sign = single >> 31, field = single >> 23 & 0xff, fraction = single & 0x7fffff;
  const auto narrow = [&](unsigned mantissa, unsigned bias, unsigned w) {
    return sign << (w - 1) | (field - 127 + bias) << mantissa | fraction >> (23 - mantissa);
  };
  switch (type) {
    case Element::f16:
      return narrow(10, 15, 16);
    case Element::bf16:
      return narrow(7, 127, 16);
    default:
      return single;  // tf32 takes no notice of the low 13 bits
  }
}

TEST_P(RealProducts, AreWithinTheBound) {
  const Product& p = GetParam();
  const Element a_type = *element_of(p.a), result = *element_of(p.result);
  const unsigned group = std::min(p.k, 256 / width(p.a));
  for (const int range : {1, 5}) {
    std::mt19937_64 random(range);
    const auto bits = [&](Element type) {
      return [&random, type, range](unsigned, unsigned) { return random_bits(type, random, range); };
    };
    const Matrix a = factors(p.a, p.m, p.k, bits(a_type)), b = factors(p.b, 8, p.k, bits(a_type)),
                 c = sums(p, bits(result));
    const Matrix d = run(p, a, b, c);
    for (unsigned row = 0; row < p.m; ++row)
      for (unsigned column = 0; column < p.n; ++column) {
        // The header's bound, group after group; what one group leaves is within the bound of its sum.
        long double exact = number(result, sum_at(p, c, row, column)), bound = 0;
        for (unsigned first = 0; first < p.k; first += group) {
          long double sum = std::fabs(exact) + bound;
          for (unsigned k = first; k < first + group; ++k) {
            const long double product =
                number(a_type, element(p, a, false, row, k)) * number(a_type, element(p, b, true, column, k));
            exact += product;
            sum += std::fabs(product);
          }
          bound += (group + 1) * 0x1p-25L * sum +
                   (result == Element::f16 ? 0x1p-11L : 0x1p-23L) * (std::fabs(exact) + bound);
        }
        ASSERT_LE(std::fabs(number(result, sum_at(p, d, row, column)) - exact), bound)
            << row << ", " << column;
      }
  }
}

INSTANTIATE_TEST_SUITE_P(
    , RealProducts,
    testing::Values(Product{16, 8, 8, "f16", "f16", "f32"}, Product{16, 8, 16, "f16", "f16", "f32"},
                    Product{16, 8, 8, "f16", "f16", "f16"}, Product{16, 8, 16, "f16", "f16", "f16"},
                    Product{16, 8, 8, "bf16", "bf16", "f32"}, Product{16, 8, 16, "bf16", "bf16", "f32"},
                    Product{16, 8, 4, "tf32", "tf32", "f32"}, Product{16, 8, 8, "tf32", "tf32", "f32"}));

class DoubleProducts : public testing::TestWithParam<Product> {};

TEST_P(DoubleProducts, AreFusedMultiplyAddsInOrder) {
  const Product& p = GetParam();
  std::mt19937_64 random(3);
  const auto bits = [&](unsigned, unsigned) {
    return std::bit_cast<std::uint64_t>(std::ldexp(static_cast<double>(static_cast<std::int64_t>(random())),
                                                   static_cast<int>(random() % 8) - 64));
  };
  const Matrix a = factors(p.a, p.m, p.k, bits), b = factors(p.b, 8, p.k, bits), c = sums(p, bits),
               d = run(p, a, b, c);
  for (unsigned row = 0; row < p.m; ++row)
    for (unsigned column = 0; column < p.n; ++column) {
      double sum = std::bit_cast<double>(sum_at(p, c, row, column));
      for (unsigned k = 0; k < p.k; ++k)
        sum = std::fma(std::bit_cast<double>(element(p, a, false, row, k)),
                       std::bit_cast<double>(element(p, b, true, column, k)), sum);
      ASSERT_EQ(std::bit_cast<double>(sum_at(p, d, row, column)), sum);
    }
}

INSTANTIATE_TEST_SUITE_P(, DoubleProducts,
                         testing::Values(Product{8, 8, 4, "f64", "f64", "f64"},
                                         Product{16, 8, 4, "f64", "f64", "f64"},
                                         Product{16, 8, 8, "f64", "f64", "f64"},
                                         Product{16, 8, 16, "f64", "f64", "f64"}));

}  // namespace
}  // namespace warploom::sim
