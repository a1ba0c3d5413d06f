#include "search/cpu_blocks.hpp"
#include "search/cpu_shared_costs.hpp"

namespace warploom::search::WARPLOOM_INSTRUCTION_SET {
namespace {

#if defined(__AVX512F__)

constexpr int kWindows = kOnce;  // a block in each lane of 32 bits, two matrices in each of 16

inline Ints products(const Ints& a, const Ints& b) {
  return reinterpret_cast<Ints>(_mm512_madd_epi16(reinterpret_cast<Raw>(a), reinterpret_cast<Raw>(b)));
}
/// a += products(b, c) in one instruction, which not every processor with the others has.
inline void add_products(Ints& a, const Ints& b, const Ints& c) {
  asm("vpdpwssd %2, %1, %0" : "+v"(a) : "v"(b), "v"(c));
}

/// Of the words of packed_not_negative(): which block, and which of its matrices.
constexpr int block_of_word(int word) { return word / 8 * 4 + word % 4; }
constexpr int matrix_of_word(int word) { return word / 4 % 2; }

/// How a channel of each block is normalised, (x - mean) * scale - shift, and how far each of its windows is
/// from that: the window's sample is within scale_off * |z| + off of z.
struct Common {
  Vector mean, scale, shift, scale_off, off;
};

struct Memory {
  std::int64_t samples, stride;  // of a block's windows; blocks of samples that a channel has
  Common* channels;
  Ints *z, *levels;  // of sample t of all blocks: [t * pairs + pair], [t]
  Ints* costs;       // [8][kRows] of samples t, at t % 8
  Words* row;        // of column j at [j + 1]
  float* parted;     // of each channel [kBlock][stride]: samples k, k + 8, ...
  char* end;

  Memory(const SharedCostsQuery& q, void* at)
      : samples(q.length + kBlock - 1),
        stride((samples + kWindows - kBlock + kWindows - 1) / kWindows * kLanes + kLanes),
        channels(static_cast<Common*>(at)),
        z(reinterpret_cast<Ints*>(channels + q.channels)),
        levels(z + samples * q.pairs()),
        costs(levels + samples),
        row(reinterpret_cast<Words*>(costs + 8 * kRows)),
        parted(reinterpret_cast<float*>(row + q.length + kTogether)),
        end(reinterpret_cast<char*>(parted + q.channels * kBlock * stride)) {}
};

std::int64_t bytes(const SharedCostsQuery& query) {
  return Memory(query, nullptr).end - static_cast<char*>(nullptr);
}

Common common(const LaneMoments& moments, const std::uint8_t* asked, bool all_asked, float parts) {
  Vector mean[kBlock], rest[kBlock], scale[kBlock];
  const auto take = [&](const float* from, Vector(&to)[kBlock]) {
    if (all_asked) return part_by_eight(from, to);
    float some[kWindows];
    __builtin_memcpy(some, from, sizeof some);
    take_others(asked, some);
    part_by_eight(some, to);
  };
  take(moments.mean, mean);
  take(moments.rest, rest);
  take(moments.scale, scale);
  Vector least_scale = scale[0], most_scale = scale[0], least{}, most{};  // means less the first
  for (int k = 1; k < kBlock; ++k) {
    least_scale = lesser(least_scale, scale[k]);
    most_scale = greater(most_scale, scale[k]);
    const Vector shift = (mean[k] - mean[0]) + (rest[k] - rest[0]);
    least = lesser(least, shift);
    most = greater(most, shift);
  }
  const Vector middle = (least_scale + most_scale) * .5F;
  const Vector differs = (most_scale - least_scale) * .5F / middle;
  return {mean[0], middle, (rest[0] + (least + most) * .5F) * middle,
          (middle > Vector{} ? differs : all(1)) + kRounding,
          // Samples of query and recording are rounded to parts, by half of one each.
          (most - least) * .5F * most_scale + kRounding + 1.001F / parts};
}

/// What is computed of the windows of one call. @tparam kPairs  of channels; 0: any number
template <int kPairs>
class Blocks {
 public:
  Blocks(const SharedCostsQuery& query, const AdjacentWindows& windows, void* memory)
      : q_(query), w_(windows), memory_(query, memory) {}

  void within_bound(std::uint8_t* within_them) {
    const std::uint32_t worth = choose(within_them);
    if (worth == 0) return;
    Words limit;
    std::uint32_t asked = 0;  // words
    {
      const Vector most =
          (1.F + a_) * (w_.bound * half_square_ * 1.00001F / static_cast<float>(1U << shift_));
      const Ints limits = rounded(most) + 1;
      limit = packed_not_negative(limits, limits);
    }
    for (int w = 0; w < 2 * kLanes; ++w) {
      const int block = block_of_word(w);
      const unsigned four = within_them[block] >> (kTogether * matrix_of_word(w)) & 15;
      if ((worth >> block & 1) != 0 && four != 0) asked |= 1U << w;
    }
    const std::uint32_t left = matrices(limit, asked);
    for (std::uint32_t out = asked & ~left; out != 0; out &= out - 1) {
      const int w = __builtin_ctz(out);
      within_them[block_of_word(w)] &= static_cast<std::uint8_t>(matrix_of_word(w) == 0 ? 0xF0 : 0x0F);
    }
  }

 private:
  std::int64_t pairs() const { return kPairs > 0 ? kPairs : q_.pairs(); }

  /// @return blocks of which something may be excluded
  std::uint32_t choose(const std::uint8_t* asked) {
    std::uint32_t some = 0;
    bool all_asked = true;
    for (int b = 0; b < kLanes; ++b) {
      some |= asked[b] != 0 ? 1U << b : 0;
      all_asked &= asked[b] == 0xFF;
    }
    if (some == 0 || !(w_.bound > 0) || !(w_.bound < 1e30F)) return 0;
    Vector loss{};  // of a cell, on an average
    for (std::int64_t c = 0; c < q_.channels; ++c) {
      memory_.channels[c] = common(w_.moments[c], asked, all_asked, q_.parts);
      const Vector off = memory_.channels[c].scale_off + memory_.channels[c].off;
      loss += off * off;
    }
    // The best for cells that cost what those of a path at the bound do.
    a_ = root(loss * (static_cast<float>(q_.length) / w_.bound));
    const std::uint32_t worth = some & bits(a_ < all(kWorthIt));
    // Of few blocks it would cost more than their matrices.
    if (4 * __builtin_popcount(worth) < kLanes) return 0;
    a_ = lesser(a_, all(kWorthIt));
    half_square_ = q_.parts * q_.parts / 2;
    shift_ = 0;
    for (float limit = w_.bound * (1 + kWorthIt) * half_square_; limit > kLimit; limit /= 2) ++shift_;
    slack_ = (1.F + a_) / a_ * (half_square_ * 1.0001F);
    return worth;
  }

  /// Samples that the blocks share with their neighbours, up to those of sample t of the last block.
  void part_to(std::int64_t t) {
    const std::int64_t there = memory_.samples + kWindows - kBlock;
    const std::int64_t needed = smaller(t + kWindows - kBlock, there);
    for (; parted_ < needed; parted_ += kWindows)
      for (std::int64_t c = 0; c < q_.channels; ++c) {
        const float* from = w_.samples[c] + parted_;
        float some[kWindows];
        if (parted_ + kWindows > there) {
          for (std::int64_t k = 0; k < kWindows; ++k) some[k] = parted_ + k < there ? from[k] : 0;
          from = some;
        }
        Vector parts[kBlock];
        part_by_eight(from, parts);
        for (int k = 0; k < kBlock; ++k)
          store(memory_.parted + (c * kBlock + k) * memory_.stride + parted_ / kBlock, parts[k]);
      }
  }

  /// Samples [normalised_, end) of all blocks.
  void normalise_to(std::int64_t end) {
    part_to(end);
    const Vector most = all(static_cast<float>(q_.most)), sign = all(-0.F);
    const std::int64_t pairs = this->pairs();
    for (std::int64_t t = normalised_; t < end; ++t) {
      Vector off{};
      Ints level{};
      const auto sample = [&](std::int64_t c) {
        const Common& how = memory_.channels[c];
        const Vector x =
            load(memory_.parted + (c * kBlock + t % kBlock) * memory_.stride + t / kBlock) - how.mean;
        const Vector z = x * how.scale - how.shift;
        const Vector size =
            reinterpret_cast<Vector>(reinterpret_cast<Ints>(z) & ~reinterpret_cast<Ints>(sign));
        const Vector v = size * how.scale_off + how.off;
        off += v * v;
        return rounded(lesser(greater(z * q_.parts, -most), most));
      };
      for (std::int64_t k = 0; k < pairs; ++k) {
        Ints two = sample(2 * k) & 0xFFFF;
        if (2 * k + 1 < q_.channels) two |= sample(2 * k + 1) << 16;
        memory_.z[t * pairs + k] = two;
        level += products(two, two);
      }
      memory_.levels[t] = (level >> 1) - rounded(lesser(off * slack_, all(0x1p29F))) - 1;
    }
    normalised_ = end;
  }

  /// Some rows of the query, in all lanes.
  template <int R>
  struct Rows {
    Ints level[R], samples[R][kPairs > 0 ? kPairs : 1];
    const std::int32_t* query;

    Rows(const SharedCostsQuery& q, std::int64_t i) : query(q.products.data() + i * q.pairs()) {
      for (int k = 0; k < R; ++k) {
        level[k] = Ints{} + q.levels[i + k];
        for (int c = 0; c < kPairs; ++c) samples[k][c] = Ints{} + query[k * kPairs + c];
      }
    }
  };

  /// Costs of rows and sample t, of all blocks: half of |q - z|^2, less what is lost.
  template <int R>
  [[gnu::always_inline]] void costs(const Rows<R>& of, std::int64_t t, Ints (&to)[R]) const {
    const std::int64_t pairs = this->pairs();
    const Ints level = memory_.levels[t];
#pragma GCC unroll 4
    for (int k = 0; k < R; ++k) to[k] = level + of.level[k];
#pragma GCC unroll 4
    for (std::int64_t c = 0; c < pairs; ++c) {
      const Ints z = memory_.z[t * pairs + c];
#pragma GCC unroll 4
      for (int k = 0; k < R; ++k) {
        const Ints q = kPairs > 0 ? of.samples[k][c] : Ints{} + of.query[k * pairs + c];
        add_products(to[k], z, q);
      }
    }
#pragma GCC unroll 4
    for (int k = 0; k < R; ++k) to[k] >>= shift_;
  }

  /// R rows from row i on; see cpu_dtw.cpp.
  /// @return the least of the last of them
  template <int R>
  Words rows(std::int64_t i) const {
    const std::int64_t right = q_.radius + kTogether - 1, columns = q_.length + kTogether - 1;
    const std::int64_t begin = larger(0, i - q_.radius), inner_end = smaller(columns, i + right + 1);
    const Rows<R> of(q_, i);
    Words left[R], least = most_words();
    for (int k = 0; k < R; ++k) left[k] = most_words();
    Words corner = begin > 0 || i == 0 ? memory_.row[begin] : most_words();
    for (std::int64_t t = begin; t < begin + kTogether; ++t) {
      Ints some[R];
      costs<R>(of, t, some);
      for (int k = 0; k < R; ++k) memory_.costs[t % 8 * kRows + k] = some[k];
    }
    const auto column = [&]<int kFrom, int kTo>(std::int64_t j) [[gnu::always_inline]] {
      Ints later[R];  // of the second matrix of each block
      costs<R>(of, j + kTogether, later);
      Ints *const keep = memory_.costs + (j + kTogether) % 8 * kRows, *const first =
                                                                          memory_.costs + j % 8 * kRows;
      Words above = most_words(), diagonal = corner;
      if constexpr (kFrom == 0)
        corner = above = memory_.row[j + 1];
      else
        diagonal = left[kFrom - 1];
#pragma GCC unroll 8
      for (int k = 0; k < R; ++k) keep[k] = later[k];
#pragma GCC unroll 8
      for (int k = kFrom; k < kTo; ++k) {
        const Words best = lesser(lesser(left[k], diagonal), above);
        diagonal = left[k];
        above = left[k] = sum(packed_not_negative(first[k], later[k]), best);
      }
      if constexpr (kTo == R) {
        memory_.row[j + 1] = above;
        least = lesser(least, above);
      }
    };
    std::int64_t j = begin;
    for_each<R - 1>([&]<int c>() {
      if (j == i - q_.radius + c) column.template operator()<0, c + 1>(j++);
    });
    for (; j < inner_end; ++j) column.template operator()<0, R>(j);
    for_each<R - 1>([&]<int c>() {
      if (j == i + right + 1 + c && j < columns) column.template operator()<c + 1, R>(j++);
    });
    return least;
  }

  /// @return words of `asked` whose sums are within the limit
  std::uint32_t matrices(const Words& limit, std::uint32_t asked) {
    // A path of any of the windows begins with no cost.
    for (std::int64_t j = 0; j < q_.length + kTogether; ++j)
      memory_.row[j] = j < kTogether ? Words{} : most_words();
    for (std::int64_t i = 0; i < q_.length;) {
      const bool many = i + kRows <= q_.length;
      const std::int64_t needed = smaller(i + kRows + q_.radius + kTogether - 1 + kTogether, memory_.samples);
      if (normalised_ < needed) normalise_to(smaller(needed + kAhead, memory_.samples));
      const Words least = many ? rows<kRows>(i) : rows<1>(i);
      if ((within(least, limit) & asked) == 0) return 0;
      i += many ? kRows : 1;
    }
    Words best = most_words();
    for (int k = 0; k < kTogether; ++k) best = lesser(best, memory_.row[q_.length + k]);
    return within(best, limit) & asked;
  }

  const SharedCostsQuery& q_;
  const AdjacentWindows& w_;
  Memory memory_;
  Vector a_, slack_;
  float half_square_ = 0;
  int shift_ = 0;
  std::int64_t parted_ = 0, normalised_ = 0;
};

void within_bound(const SharedCostsQuery& query, const AdjacentWindows& windows, void* memory,
                  std::uint8_t* within_them) {
  const auto run = [&]<int kPairs>() { Blocks<kPairs>(query, windows, memory).within_bound(within_them); };
  switch (query.pairs()) {
    case 1:
      return run.template operator()<1>();
    case 2:
      return run.template operator()<2>();
    case 3:
      return run.template operator()<3>();
    default:
      return run.template operator()<0>();
  }
}

#endif

}  // namespace

extern const CpuSharedCosts cpu_shared_products;
#if defined(__AVX512F__)
const CpuSharedCosts cpu_shared_products = {kWindows, within_bound, nullptr, bytes};
#else
const CpuSharedCosts cpu_shared_products = {0, nullptr, nullptr, nullptr};
#endif

}  // namespace warploom::search::WARPLOOM_INSTRUCTION_SET
