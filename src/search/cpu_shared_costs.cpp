#include "search/cpu_shared_costs.hpp"

#include "search/cpu_blocks.hpp"

namespace warploom::search::WARPLOOM_INSTRUCTION_SET {
namespace {

#if defined(__AVX2__)

constexpr int kWindows = kBlock * kWords;  // a block in each lane of 16 bits
constexpr int kColumns = 32;               // of which costs are found before they are added up
constexpr float kUnit = 65'536;            // products of samples in a unit of costs

/// How a channel of each block is normalised, z = x * scale - shift, and how far each of its windows is from
/// that, at most |z| * scale_off + off; in the end, so that its square is in units of costs.
struct Common {
  Vector scale, shift, scale_off, off;
};

/// Sums in another order, which compilers choose, would need more registers than there are.
[[gnu::always_inline]] inline void keep_order(Words& sum) { asm("" : "+v"(sum)); }

struct Memory {
  std::int64_t samples, stride;  // of a block's windows; blocks of samples that a channel has
  Common (*channels)[2];         // of each half of the blocks
  Words *z, *level, *loss;       // of sample t of all blocks: [t * channels + c], [t], [t]
  Words* costs;                  // [kColumns][kRows]
  Words* row[2];                 // of the blocks' first and second matrices: of column j at [j + 1]
  Words* rows_of_query;          // [kRows][channels]
  float* parted;                 // of each channel [kBlock][stride]: samples k, k + 8, ...
  float* bases;                  // of channels: taken from samples when they are parted
  float* parts;                  // those that query and levels are of
  std::int16_t* query;           // negated: [i * channels + c]
  std::uint16_t* levels;         // of row i
  char* end;

  Memory(const SharedCostsQuery& q, void* at)
      : samples(q.length + kBlock - 1),
        stride((samples + kWindows - kBlock + kOnce - 1) / kOnce * kLanes + kLanes),
        channels(static_cast<Common (*)[2]>(at)),
        z(reinterpret_cast<Words*>(channels + q.channels)),
        level(z + samples * q.channels),
        loss(level + samples),
        costs(loss + samples),
        row{costs + kColumns * kRows, costs + kColumns * kRows + q.length + kTogether},
        rows_of_query(row[1] + q.length + kTogether),
        parted(reinterpret_cast<float*>(rows_of_query + kRows * q.channels)),
        bases(parted + q.channels * kBlock * stride),
        parts(bases + q.channels),
        query(reinterpret_cast<std::int16_t*>(parts + 1)),
        levels(reinterpret_cast<std::uint16_t*>(query + q.length * q.channels)),
        end(reinterpret_cast<char*>(levels + q.length)) {}
};

/// The query's samples times `parts`, unless they are there.
void take_parts(const SharedCostsQuery& q, const Memory& memory, float parts) {
  if (*memory.parts == parts) return;
  *memory.parts = parts;
  for (std::int64_t i = 0; i < q.length; ++i) {
    std::int64_t level = 0;
    for (std::int64_t c = 0; c < q.channels; ++c) {
      const float z = -parts * q.samples[i * q.channels + c];
      const float x = z < -32'767.F ? -32'767.F : z > 32'767.F ? 32'767.F : z;
      const auto rounded = static_cast<std::int32_t>(x + (x < 0 ? -.5F : .5F));
      memory.query[i * q.channels + c] = static_cast<std::int16_t>(rounded);
      level += std::int64_t{rounded} * rounded;
    }
    memory.levels[i] = static_cast<std::uint16_t>(level >> 16);
  }
}

/// Units of costs in the square of a sample.
float units_of(const SharedCostsQuery& q, float bound) {
  const float most = 32'767 / q.reach, units = kLimit / ((1 + kWorthIt) * bound);
  return units < most * most / kUnit ? units : most * most / kUnit;
}

/// What sums of rounded products and levels exceed the costs by at most, and fall below by at most.
struct Rounding {
  int above, below;
};
constexpr Rounding rounding(std::int64_t channels) {
  const int half = static_cast<int>(channels + 1) / 2;
  return {half, half + 2};
}

/// Sums up the squares of a sample's channels, modulo 2^32: a sum may be 2^31 and more.
struct Level {
  using Sums [[gnu::vector_size(4 * kLanes)]] = std::uint32_t;
  Sums first{}, second{};
  Words before{};

  void add(std::int64_t channel, const Words& z) {
    if (channel % 2 == 0)
      before = z;
    else
      add(before, z);
  }
  void add(const Words& a, const Words& b) {
    const Squares of = squares(a, b);
    first += reinterpret_cast<Sums>(of.first);
    second += reinterpret_cast<Sums>(of.second);
  }
  /// In units of costs, so much more than they are that sums are not negative.
  Words of(std::int64_t channels) {
    if (channels % 2 != 0) add(before, Words{});
    const auto units = [](const Sums& sum) { return reinterpret_cast<Ints>(sum >> 16); };
    return packed_not_negative(units(first), units(second)) +
           static_cast<std::uint16_t>(rounding(channels).below);
  }
};

/// Matrices of the samples in memory. @tparam kChannels  0: any number @tparam kEnds  adjacent windows that
/// one is of @tparam kMatrices  of each block, each of the windows after those of the one before
template <int kChannels, int kEnds, int kMatrices>
class Paths {
 public:
  Paths(const SharedCostsQuery& query, const Memory& memory) : q_(query), memory_(memory) {}

  struct Set {
    std::uint32_t of[kMatrices];  // bit w: word w
  };

  /// @param normalise  (t): fills the memory's z, level and loss of samples before t
  /// @return words of `asked` whose sums are within the limit
  template <class Normalise>
  Set matrices(const Words& limit, const Set& asked, const Normalise& normalise) const {
    // A path of any of the windows begins with no cost.
    for (int s = 0; s < kMatrices; ++s)
      for (std::int64_t j = 0; j < q_.length + kEnds; ++j)
        memory_.row[s][j] = j < kEnds ? Words{} : most_words();
    const bool wide = 2 * q_.radius + kEnds >= kRows;
    for (std::int64_t i = 0; i < q_.length;) {
      const bool many = wide && i + kRows <= q_.length;
      normalise(smaller(i + kRows + q_.radius + kMatrices * kEnds - 1, q_.length + kMatrices * kEnds - 1));
      const Set left = many ? rows<kRows>(i, limit) : rows<1>(i, limit);
      std::uint32_t some = 0;
      for (int s = 0; s < kMatrices; ++s) some |= left.of[s] & asked.of[s];
      if (some == 0) return {};
      i += many ? kRows : 1;
    }
    Set result;
    for (int s = 0; s < kMatrices; ++s) {
      Words best = most_words();
      for (int k = 0; k < kEnds; ++k) best = lesser(best, memory_.row[s][q_.length + k]);
      result.of[s] = within(best, limit) & asked.of[s];
    }
    return result;
  }

 private:
  std::int64_t channels() const { return kChannels > 0 ? kChannels : q_.channels; }

  /// Some rows of the query, in all lanes.
  template <int R>
  struct Query {
    Words level[R], samples[R][kChannels > 0 ? kChannels : 1];
    Words* more;

    Query(const SharedCostsQuery& q, const Memory& memory, std::int64_t i) : more(memory.rows_of_query) {
      Words* const to = kChannels > 0 ? samples[0] : more;
      const std::int64_t channels = kChannels > 0 ? kChannels : q.channels;
      for (int k = 0; k < R; ++k) level[k] = Words{} + memory.levels[i + k];
      for (std::int64_t k = 0; k < R * channels; ++k)
        to[k] = Words{} + static_cast<std::uint16_t>(memory.query[i * channels + k]);
    }
  };

  /// Costs of rows and samples [begin, end), of all blocks.
  template <int R>
  void costs(const Query<R>& of, std::int64_t begin, std::int64_t end) const {
    const std::int64_t channels = this->channels();
    for (std::int64_t t = begin; t < end; ++t) {
      const Words level = memory_.level[t], loss = memory_.loss[t];
      Words to[R];
#pragma GCC unroll 4
      for (int k = 0; k < R; ++k) to[k] = level + of.level[k];
#pragma GCC unroll 8
      for (std::int64_t c = 0; c < channels; ++c) {
        const Words z = memory_.z[t * channels + c];
#pragma GCC unroll 4
        for (int k = 0; k < R; ++k) {
          to[k] += product(z, kChannels > 0 ? of.samples[k][c] : of.more[k * channels + c]);
          keep_order(to[k]);
        }
      }
#pragma GCC unroll 4
      for (int k = 0; k < R; ++k) memory_.costs[(t - begin) * kRows + k] = difference(to[k], loss);
    }
  }

  /// Of a matrix, from column j on.
  template <int R>
  struct Sums {
    std::int64_t j;
    Words left[R], corner, least;
  };

  /// Rows from i on, up to column `end`; see cpu_dtw.cpp. @param costs  of column 0
  template <int R>
  void add(std::int64_t i, std::int64_t end, const Words* costs, Words* row, Sums<R>& sums) const {
    const std::int64_t left_edge = i - q_.radius, right_edge = i + q_.radius + kEnds;
    Words left[R], corner = sums.corner, least = sums.least;
    for (int k = 0; k < R; ++k) left[k] = sums.left[k];
    const auto column = [&]<int kFrom, int kTo>(std::int64_t j) [[gnu::always_inline]] {
      Words above = most_words(), diagonal = corner;
      if constexpr (kFrom == 0)
        corner = above = row[j + 1];
      else
        diagonal = left[kFrom - 1];
#pragma GCC unroll 4
      for (int k = kFrom; k < kTo; ++k) {
        const Words best = lesser(lesser(left[k], diagonal), above);
        diagonal = left[k];
        above = left[k] = sum(costs[j * kRows + k], best);
      }
      if constexpr (kTo == R) {
        row[j + 1] = above;
        least = lesser(least, above);
      }
    };
    std::int64_t j = sums.j;
    for_each<R - 1>([&]<int c>() {
      if (j == left_edge + c && j < end) column.template operator()<0, c + 1>(j++);
    });
    for (const std::int64_t inner = smaller(end, right_edge); j < inner; ++j)
      column.template operator()<0, R>(j);
    for_each<R - 1>([&]<int c>() {
      if (j == right_edge + c && j < end) column.template operator()<c + 1, R>(j++);
    });
    for (int k = 0; k < R; ++k) sums.left[k] = left[k];
    sums.j = j;
    sums.corner = corner;
    sums.least = least;
  }

  /// R rows from row i on. @return words whose least sums are within the limit
  template <int R>
  Set rows(std::int64_t i, const Words& limit) const {
    const std::int64_t begin = larger(0, i - q_.radius),
                       end = smaller(q_.length + kEnds - 1, i + R - 1 + q_.radius + kEnds);
    const Query<R> of(q_, memory_, i);
    Sums<R> sums[kMatrices];
    for (int s = 0; s < kMatrices; ++s) {
      sums[s] = {begin, {}, begin > 0 || i == 0 ? memory_.row[s][begin] : most_words(), most_words()};
      for (int k = 0; k < R; ++k) sums[s].left[k] = most_words();
    }
    constexpr std::int64_t kShift = kEnds * (kMatrices - 1);
    for (std::int64_t t = begin; t < end + kShift; t += kColumns) {
      const std::int64_t some = smaller(t + kColumns, end + kShift);
      costs<R>(of, t, some);
      for (int s = 0; s < kMatrices; ++s)
        add<R>(i, smaller(end, some - s * kEnds), memory_.costs + (s * kEnds - t) * kRows, memory_.row[s],
               sums[s]);
    }
    Set result;
    for (int s = 0; s < kMatrices; ++s) result.of[s] = within(sums[s].least, limit);
    return result;
  }

  const SharedCostsQuery& q_;
  const Memory& memory_;
};

/// Adjacent windows of one call.
template <int kChannels>
class Blocks {
 public:
  Blocks(const SharedCostsQuery& query, const AdjacentWindows& windows, void* memory)
      : q_(query), w_(windows), memory_(query, memory) {}

  void within_bound(std::uint8_t* within_them) {
    const std::uint32_t worth = choose(within_them);
    if (worth == 0) return;
    take_parts(q_, memory_, parts_);
    using AllPaths = Paths<kChannels, kTogether, kBlock / kTogether>;
    typename AllPaths::Set asked = {};
    for (int b = 0; b < kWords; ++b)
      for (int s = 0; s < kBlock / kTogether; ++s)
        if ((worth >> b & 1) != 0 && (within_them[b] & windows_of(s)) != 0) asked.of[s] |= 1U << word_of(b);
    const auto left = AllPaths(q_, memory_).matrices(limit(), asked, [&](std::int64_t t) {
      if (normalised_ < t) normalise_to(smaller(t + kAhead, memory_.samples));
    });
    for (int b = 0; b < kWords; ++b)
      for (int s = 0; s < kBlock / kTogether; ++s)
        if ((asked.of[s] & ~left.of[s]) >> word_of(b) & 1)
          within_them[b] &= static_cast<std::uint8_t>(~windows_of(s));
  }

 private:
  static constexpr unsigned windows_of(int matrix) { return 15U << kTogether * matrix; }
  std::int64_t channels() const { return kChannels > 0 ? kChannels : q_.channels; }

  /// How windows of half the blocks are normalised, and A and B.
  Common common(std::int64_t channel, int half, const std::uint8_t* asked, bool all_asked) const {
    Vector mean[kBlock], rest[kBlock], scale[kBlock];
    const auto take = [&](const float* all_of_them, Vector(&to)[kBlock]) {
      const float* const from = all_of_them + half * kOnce;
      if (all_asked) return part_by_eight(from, to);
      float some[kOnce];
      __builtin_memcpy(some, from, sizeof some);
      take_others(asked + half * kLanes, some);
      part_by_eight(some, to);
    };
    const LaneMoments& moments = w_.moments[channel];
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
    const Vector from_base = mean[0] - memory_.bases[channel];
    // Samples of query and recording are rounded to parts.
    return {middle * parts_, (from_base + rest[0] + (least + most) * .5F) * middle * parts_,
            middle > Vector{} ? differs + kRounding : Vector{},
            ((most - least) * .5F + greater(from_base, -from_base) * 5e-7F) * most_scale + kRounding +
                2.001F / parts_};
  }

  /// @return blocks of which something may be excluded
  std::uint32_t choose(const std::uint8_t* asked) {
    std::uint32_t some = 0;
    bool all_asked = true;
    for (int b = 0; b < kWords; ++b) {
      some |= asked[b] != 0 ? 1U << b : 0;
      all_asked &= asked[b] == 0xFF;
    }
    // Windows and query are normalised, so that no distance is above 2.
    if (some == 0 || !(w_.bound > 0) || !(w_.bound < 8.F * static_cast<float>(q_.length * q_.channels)))
      return 0;
    units_ = search::WARPLOOM_INSTRUCTION_SET::units_of(q_, w_.bound);
    parts_ = __builtin_sqrtf(units_ * kUnit);
    int first = 0;  // block that is asked for, and its first window
    while (asked[first] == 0) ++first;
    first = first * kBlock + __builtin_ctz(asked[first]);
    Vector loss[2] = {};  // of a cell, on an average
    for (std::int64_t c = 0; c < q_.channels; ++c) {
      memory_.bases[c] = w_.moments[c].mean[first];
      for (int h = 0; h < 2; ++h) {
        Common& of = memory_.channels[c][h];
        of = common(c, h, asked, all_asked);
        const Vector off = of.scale_off + of.off;
        // Then |z| is at most twice the largest that a window may have.
        loss[h] += of.scale_off <= all(.5F) ? off * off : all(1e9F);
      }
    }
    std::uint32_t worth = 0;
    for (int h = 0; h < 2; ++h) {
      // The best for cells that cost what those of a path at the bound do.
      a_[h] = root(loss[h] * (static_cast<float>(q_.length) / w_.bound));
      worth |= bits(a_[h] < all(kWorthIt)) << h * kLanes;
      a_[h] = lesser(a_[h], all(kWorthIt));
    }
    worth &= some;
    // Of few blocks it would cost more than their matrices.
    if (4 * __builtin_popcount(worth) < kWords) return 0;
    for (int h = 0; h < 2; ++h) {
      const Vector times = root((1.F + a_[h]) / a_[h] * 1.0001F);
      for (std::int64_t c = 0; c < q_.channels; ++c) {
        Common& of = memory_.channels[c][h];
        of.scale_off *= times * (1 / __builtin_sqrtf(kUnit));
        of.off *= times * __builtin_sqrtf(units_);
      }
    }
    return worth;
  }

  Words limit() const {
    Ints most[2];
    for (int h = 0; h < 2; ++h) most[h] = rounded((1.F + a_[h]) * (w_.bound * units_ * 1.00001F)) + 1;
    return packed_not_negative(most[0], most[1]);
  }

  /// Samples that the blocks share with their neighbours, up to those of sample t of the last block.
  void part_to(std::int64_t t) {
    const std::int64_t there = memory_.samples + kWindows - kBlock;
    const std::int64_t needed = smaller(t + kWindows - kBlock, there);
    for (; parted_ < needed; parted_ += kOnce)
      for (std::int64_t c = 0; c < channels(); ++c) {
        const float* from = w_.samples[c] + parted_;
        float some[kOnce];
        if (parted_ + kOnce > there) {
          for (std::int64_t k = 0; k < kOnce; ++k) some[k] = parted_ + k < there ? from[k] : 0;
          from = some;
        }
        Vector parts[kBlock];
        part_by_eight(from, parts);
        for (int k = 0; k < kBlock; ++k)
          store(memory_.parted + (c * kBlock + k) * memory_.stride + parted_ / kBlock,
                parts[k] - memory_.bases[c]);
      }
  }

  /// Samples [normalised_, end) of all blocks.
  void normalise_to(std::int64_t end) {
    part_to(end);
    const std::int64_t channels = this->channels();
    const auto [above, below] = rounding(channels);
    const Vector subtract = all(static_cast<float>(above + below) + .5F);
    const Vector sign = all(-0.F);
    for (std::int64_t t = normalised_; t < end; ++t) {
      Vector loss[2] = {subtract, subtract};
      Level level;
      const float* from = memory_.parted + t % kBlock * memory_.stride + t / kBlock;
      for (std::int64_t c = 0; c < channels; ++c, from += kBlock * memory_.stride) {
        Ints parts[2];
#pragma GCC unroll 2
        for (int h = 0; h < 2; ++h) {
          const Common& how = memory_.channels[c][h];
          const Vector z = load(from + h * kLanes) * how.scale - how.shift;
          const Vector size =
              reinterpret_cast<Vector>(reinterpret_cast<Ints>(z) & ~reinterpret_cast<Ints>(sign));
          const Vector v = size * how.scale_off + how.off;
          loss[h] += v * v;
          parts[h] = rounded(z);
        }
        const Words z = packed(parts[0], parts[1]);
        memory_.z[t * channels + c] = z;
        level.add(c, z);
      }
      memory_.level[t] = level.of(channels);
      memory_.loss[t] = packed_not_negative(rounded(loss[0]), rounded(loss[1]));
    }
    normalised_ = end;
  }

  const SharedCostsQuery& q_;
  const AdjacentWindows& w_;
  Memory memory_;
  Vector a_[2];
  float units_ = 0, parts_ = 0;
  std::int64_t parted_ = 0, normalised_ = 0;
};

/// Windows that are normalised by themselves.
template <int kChannels>
std::uint32_t each(const SharedCostsQuery& q, const float* const (&windows)[2], float bound, void* at,
                   std::uint32_t asked) {
  if (!(bound > 0) || !(bound < 8.F * static_cast<float>(q.length * q.channels))) return asked;
  const Memory memory(q, at);
  const float units = units_of(q, bound), parts = __builtin_sqrtf(units * kUnit);
  const std::int64_t channels = kChannels > 0 ? kChannels : q.channels;
  const float off = kRounding + 2.001F / parts, loss = off * off * static_cast<float>(channels);
  const float a = __builtin_sqrtf(loss * static_cast<float>(q.length) / bound);
  if (!(a < kWorthIt)) return asked;
  take_parts(q, memory, parts);
  const auto [above, below] = rounding(channels);
  const int subtract = above + below + 1 + static_cast<int>(loss * ((1 + a) / a * 1.0001F) * units);
  const Words losses = Words{} + static_cast<std::uint16_t>(smaller(subtract, 65'535));
  const Words limit =
      Words{} + static_cast<std::uint16_t>(static_cast<int>((1 + a) * bound * units * 1.00001F) + 1);
  std::int64_t normalised = 0;
  using AllPaths = Paths<kChannels, 1, 1>;
  typename AllPaths::Set of = {};
  for (int l = 0; l < kWords; ++l) of.of[0] |= (asked >> l & 1) << word_of(l);
  const auto left = AllPaths(q, memory).matrices(limit, of, [&](std::int64_t end) {
    for (; normalised < end; ++normalised) {
      const std::int64_t t = normalised;
      Level level;
      for (std::int64_t c = 0; c < channels; ++c) {
        const std::int64_t from = (t * channels + c) * kLanes;
        const Words z =
            packed(rounded(load(windows[0] + from) * parts), rounded(load(windows[1] + from) * parts));
        memory.z[t * channels + c] = z;
        level.add(c, z);
      }
      memory.level[t] = level.of(channels);
      memory.loss[t] = losses;
    }
  });
  std::uint32_t result = 0;
  for (int l = 0; l < kWords; ++l) result |= (left.of[0] >> word_of(l) & 1) << l;
  return result;
}

/// Calls f.operator()<channels>(), 0 for numbers that are rare.
auto with_channels(const SharedCostsQuery& query, const auto& f) {
  switch (query.channels) {
    case 2:
      return f.template operator()<2>();
    case 3:
      return f.template operator()<3>();
    case 6:
      return f.template operator()<6>();
    default:
      return f.template operator()<0>();
  }
}

void within_bound(const SharedCostsQuery& query, const AdjacentWindows& windows, void* memory,
                  std::uint8_t* within_them) {
  with_channels(
      query, [&]<int kChannels>() { Blocks<kChannels>(query, windows, memory).within_bound(within_them); });
}

std::uint32_t each_within_bound(const SharedCostsQuery& query, const float* const (&windows)[2], float bound,
                                void* memory, std::uint32_t asked) {
  return with_channels(
      query, [&]<int kChannels>() { return each<kChannels>(query, windows, bound, memory, asked); });
}

std::int64_t bytes(const SharedCostsQuery& query) {
  return Memory(query, nullptr).end - static_cast<char*>(nullptr);
}

#endif

}  // namespace

extern const CpuSharedCosts cpu_shared_costs;
#if defined(__AVX2__)
const CpuSharedCosts cpu_shared_costs = {kWindows, within_bound, each_within_bound, bytes};
#else
const CpuSharedCosts cpu_shared_costs = {0, nullptr, nullptr, nullptr};
#endif

}  // namespace warploom::search::WARPLOOM_INSTRUCTION_SET
