// The examples after PolyBench compute what their first lines say: checked by the equations that the results
// satisfy.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "warploom/core/file.hpp"
#include "warploom/tile/interpret.hpp"

namespace warploom::tile {
namespace {

class Example {
 public:
  Example(const std::string& name, const std::map<std::string, std::int64_t>& sizes)
      : sizes_(sizes),
        region_(read_source(read_file(path(name)), name + ".c", {}).at(0)),
        before(make_memory(region_, sizes, 3)) {
    EXPECT_TRUE(region_.refusals.empty());
  }

  void run() {
    after = before;
    interpret(region_, region_.body, after);
  }
  std::int64_t size(const std::string& name) const { return sizes_.at(name); }
  double old(const std::string& array, std::initializer_list<std::int64_t> at) const {
    return element(before, array, at);
  }
  double now(const std::string& array, std::initializer_list<std::int64_t> at) const {
    return element(after, array, at);
  }
  double scalar(const std::string& name) const { return before.scalars.at(name); }
  /// A symmetric matrix with a diagonal that outweighs the rest.
  void make_dominant(const std::string& array) {
    std::vector<double>& values = before.arrays.at(array);
    const auto n = static_cast<std::size_t>(std::llround(std::sqrt(static_cast<double>(values.size()))));
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t j = 0; j < i; ++j) values[i * n + j] = values[j * n + i];
      values[i * n + i] += static_cast<double>(2 * n);
    }
  }

 private:
  static std::string path(const std::string& name) {
    return WARPLOOM_EXAMPLES "/tile/polybench/" + name + ".c";
  }
  double element(const Memory& memory, const std::string& array,
                 std::initializer_list<std::int64_t> at) const {
    const Variable* variable = find_variable(region_, array);
    std::int64_t offset = 0;
    std::size_t d = 0;
    for (const std::int64_t subscript : at)
      offset = offset * sizes_.at(variable->extents.at(d++).text) + subscript;
    return memory.arrays.at(array).at(static_cast<std::size_t>(offset));
  }

  std::map<std::string, std::int64_t> sizes_;
  Region region_;

 public:
  Memory before, after;
};

/// Of `n` terms.
double sum(std::int64_t n, const std::function<double(std::int64_t)>& term) {
  double total = 0;
  for (std::int64_t k = 0; k < n; ++k) total += term(k);
  return total;
}

constexpr double kTolerance = 2e-5;  // of sums of up to ten products of numbers near 1, in float

TEST(PolyBench, GemmIsAProduct) {
  Example e("gemm", {{"ni", 4}, {"nj", 5}, {"nk", 6}});
  e.run();
  for (int i = 0; i < 4; ++i)
    for (int j = 0; j < 5; ++j)
      EXPECT_NEAR(e.now("C", {i, j}),
                  e.scalar("beta") * e.old("C", {i, j}) +
                      e.scalar("alpha") * sum(6,
                                              [&](auto k) {
                                                return e.old("A", {i, k}) * e.old("B", {k, j});
                                              }),
                  kTolerance);
}

TEST(PolyBench, RankUpdatesFillTheLowerTriangle) {
  for (const std::string name : {"syrk", "syr2k"}) {
    Example e(name, {{"n", 5}, {"m", 4}});
    e.run();
    const std::string b = name == "syrk" ? "A" : "B";
    for (int i = 0; i < 5; ++i)
      for (int j = 0; j < 5; ++j) {
        double product = sum(4, [&](auto k) { return e.old("A", {i, k}) * e.old(b, {j, k}); });
        if (name == "syr2k")
          product += sum(4, [&](auto k) { return e.old("B", {i, k}) * e.old("A", {j, k}); });
        const double want =
            j > i ? e.old("C", {i, j}) : e.scalar("beta") * e.old("C", {i, j}) + e.scalar("alpha") * product;
        EXPECT_NEAR(e.now("C", {i, j}), want, kTolerance) << name;
      }
  }
}

TEST(PolyBench, TrmmAndSymmReadOneTriangle) {
  Example t("trmm", {{"m", 5}, {"n", 4}});
  t.run();
  const auto unit_lower = [&](std::int64_t i, std::int64_t k) {
    return i == k ? 1 : i > k ? t.old("A", {i, k}) : 0;
  };
  Example s("symm", {{"m", 5}, {"n", 4}});
  s.run();
  const auto symmetric = [&](std::int64_t i, std::int64_t k) {
    return s.old("A", {std::max(i, k), std::min(i, k)});
  };
  for (int i = 0; i < 5; ++i)
    for (int j = 0; j < 4; ++j) {
      EXPECT_NEAR(t.now("B", {i, j}),
                  t.scalar("alpha") * sum(5,
                                          [&](auto k) {
                                            return unit_lower(k, i) * t.old("B", {k, j});
                                          }),
                  kTolerance);
      EXPECT_NEAR(s.now("C", {i, j}),
                  s.scalar("beta") * s.old("C", {i, j}) +
                      s.scalar("alpha") * sum(5,
                                              [&](auto k) {
                                                return symmetric(i, k) * s.old("B", {k, j});
                                              }),
                  kTolerance);
    }
}

TEST(PolyBench, MatrixTimesVector) {
  Example g("gesummv", {{"n", 6}});
  g.run();
  Example a("atax", {{"m", 4}, {"n", 6}});
  a.run();
  Example b("bicg", {{"m", 6}, {"n", 4}});
  b.run();
  Example m("mvt", {{"n", 6}});
  m.run();
  for (int i = 0; i < 6; ++i) {
    EXPECT_NEAR(
        g.now("y", {i}),
        sum(6,
            [&](auto j) {
              return (g.scalar("alpha") * g.old("A", {i, j}) + g.scalar("beta") * g.old("B", {i, j})) *
                     g.old("x", {j});
            }),
        kTolerance);
    EXPECT_NEAR(a.now("y", {i}),
                sum(4,
                    [&](auto r) {
                      return a.old("A", {r, i}) * sum(6, [&](auto j) {
                               return a.old("A", {r, j}) * a.old("x", {j});
                             });
                    }),
                10 * kTolerance);
    EXPECT_NEAR(b.now("s", {i}),
                sum(4,
                    [&](auto r) {
                      return b.old("r", {r}) * b.old("A", {r, i});
                    }),
                kTolerance);
    EXPECT_NEAR(m.now("x1", {i}),
                m.old("x1", {i}) + sum(6,
                                       [&](auto j) {
                                         return m.old("A", {i, j}) * m.old("y1", {j});
                                       }),
                kTolerance);
    EXPECT_NEAR(m.now("x2", {i}),
                m.old("x2", {i}) + sum(6,
                                       [&](auto j) {
                                         return m.old("A", {j, i}) * m.old("y2", {j});
                                       }),
                kTolerance);
  }
  for (int i = 0; i < 4; ++i)
    EXPECT_NEAR(b.now("q", {i}),
                sum(6,
                    [&](auto j) {
                      return b.old("A", {i, j}) * b.old("p", {j});
                    }),
                kTolerance);
}

TEST(PolyBench, GemverUpdatesThenMultiplies) {
  Example e("gemver", {{"n", 5}});
  e.run();
  for (int i = 0; i < 5; ++i) {
    const auto updated = [&](std::int64_t r, std::int64_t c) {
      return e.old("A", {r, c}) + e.old("u1", {r}) * e.old("v1", {c}) + e.old("u2", {r}) * e.old("v2", {c});
    };
    EXPECT_NEAR(e.now("A", {i, 2}), updated(i, 2), kTolerance);
    EXPECT_NEAR(e.now("x", {i}),
                e.old("x", {i}) + e.old("z", {i}) +
                    e.scalar("beta") * sum(5, [&](auto j) { return updated(j, i) * e.old("y", {j}); }),
                5 * kTolerance);
    EXPECT_NEAR(
        e.now("w", {i}),
        e.old("w", {i}) + e.scalar("alpha") * sum(5, [&](auto j) { return updated(i, j) * e.now("x", {j}); }),
        50 * kTolerance);
  }
}

TEST(PolyBench, SeveralProducts) {
  Example d("doitgen", {{"nr", 3}, {"nq", 2}, {"np", 4}});
  d.run();
  for (int p = 0; p < 4; ++p)
    EXPECT_NEAR(d.now("A", {2, 1, p}),
                sum(4,
                    [&](auto s) {
                      return d.old("A", {2, 1, s}) * d.old("C4", {s, p});
                    }),
                kTolerance);
  Example two("2mm", {{"ni", 3}, {"nj", 4}, {"nk", 5}, {"nl", 6}});
  two.run();
  Example three("3mm", {{"ni", 3}, {"nj", 4}, {"nk", 5}, {"nl", 6}, {"nm", 2}});
  three.run();
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 6; ++j) {
      EXPECT_NEAR(
          two.now("D", {i, j}),
          two.scalar("beta") * two.old("D", {i, j}) +
              two.scalar("alpha") * sum(4,
                                        [&](auto m) {
                                          return sum(5,
                                                     [&](auto k) {
                                                       return two.old("A", {i, k}) * two.old("B", {k, m});
                                                     }) *
                                                 two.old("C", {m, j});
                                        }),
          5 * kTolerance);
      EXPECT_NEAR(three.now("G", {i, j}),
                  sum(4,
                      [&](auto m) {
                        return sum(5,
                                   [&](auto k) {
                                     return three.old("A", {i, k}) * three.old("B", {k, m});
                                   }) *
                               sum(2, [&](auto k) {
                                 return three.old("C", {m, k}) * three.old("D", {k, j});
                               });
                      }),
                  10 * kTolerance);
    }
}

TEST(PolyBench, FactorsMultiplyToTheMatrix) {
  Example c("cholesky", {{"n", 6}});
  c.make_dominant("A");
  c.run();
  Example l("lu", {{"n", 6}});
  l.make_dominant("A");
  l.run();
  Example g("gramschmidt", {{"m", 6}, {"n", 6}});
  g.make_dominant("A");
  g.run();
  for (int i = 0; i < 6; ++i)
    for (int j = 0; j < 6; ++j) {
      const std::int64_t least = std::min(i, j);
      if (j <= i) {
        EXPECT_NEAR(sum(least + 1,
                        [&](auto k) {
                          return c.now("A", {i, k}) * c.now("A", {j, k});
                        }),
                    c.old("A", {i, j}), 10 * kTolerance);
      }
      EXPECT_NEAR(sum(least + 1,
                      [&](auto k) {
                        return (k == i ? 1 : l.now("A", {i, k})) * l.now("A", {k, j});
                      }),
                  l.old("A", {i, j}), 10 * kTolerance);
      EXPECT_NEAR(sum(j + 1,
                      [&](auto k) {
                        return g.now("Q", {i, k}) * g.now("R", {k, j});
                      }),
                  g.old("A", {i, j}), 10 * kTolerance);
      EXPECT_NEAR(sum(6,
                      [&](auto k) {
                        return g.now("Q", {k, i}) * g.now("Q", {k, j});
                      }),
                  i == j, kTolerance);
    }
}

TEST(PolyBench, SolutionsSatisfyTheirEquations) {
  Example t("trisolv", {{"n", 7}});
  t.make_dominant("L");
  t.run();
  Example l("ludcmp", {{"n", 7}});
  l.make_dominant("A");
  l.run();
  Example d("durbin", {{"n", 5}});
  for (double& r : d.before.arrays.at("r")) r /= 8;  // a matrix near the unit matrix
  d.run();
  for (int i = 0; i < 7; ++i) {
    EXPECT_NEAR(sum(i + 1,
                    [&](auto j) {
                      return t.old("L", {i, j}) * t.now("x", {j});
                    }),
                t.old("b", {i}), kTolerance);
    EXPECT_NEAR(sum(7,
                    [&](auto j) {
                      return l.old("A", {i, j}) * l.now("x", {j});
                    }),
                l.old("b", {i}), kTolerance);
  }
  for (int i = 0; i < 5; ++i)
    EXPECT_NEAR(
        sum(5, [&](auto j) { return (i == j ? 1 : d.old("r", {std::abs(i - j) - 1})) * d.now("y", {j}); }),
        -d.old("r", {i}), kTolerance);
}

TEST(PolyBench, StatisticsOfColumns) {
  Example v("covariance", {{"m", 3}, {"n", 6}});
  v.before.scalars.at("float_n") = 6;
  v.run();
  Example r("correlation", {{"m", 3}, {"n", 6}});
  r.before.scalars.at("float_n") = 6;
  r.run();
  const auto covariance = [](const Example& e, int i, int j) {
    const auto mean = [&](int column) {
      return sum(6, [&](auto k) { return e.old("data", {k, column}); }) / 6;
    };
    return sum(6, [&](auto k) {
      return (e.old("data", {k, i}) - mean(i)) * (e.old("data", {k, j}) - mean(j));
    });
  };
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 3; ++j) {
      EXPECT_NEAR(v.now("cov", {i, j}), covariance(v, i, j) / 5, kTolerance);
      EXPECT_NEAR(r.now("corr", {i, j}),
                  covariance(r, i, j) / std::sqrt(covariance(r, i, i) * covariance(r, j, j)), kTolerance);
    }
}

TEST(PolyBench, FloydWarshallLeavesNoShorterWay) {
  Example e("floyd-warshall", {{"n", 7}});
  e.run();
  // Bellman and Ford: shortest ways of at most s steps.
  for (int from = 0; from < 7; ++from) {
    std::vector<double> shortest(7);
    for (int to = 0; to < 7; ++to) shortest[to] = e.old("path", {from, to});
    for (int steps = 0; steps < 7; ++steps)
      for (int to = 0; to < 7; ++to)
        for (int k = 0; k < 7; ++k)
          shortest[to] = std::min(shortest[to], shortest[k] + e.old("path", {k, to}));
    for (int to = 0; to < 7; ++to) EXPECT_EQ(e.now("path", {from, to}), shortest[to]);
  }
}

TEST(PolyBench, NussinovFindsTheMostPairs) {
  Example e("nussinov", {{"n", 9}});
  for (double& value : e.before.arrays.at("table")) value = 0;
  for (double& value : e.before.arrays.at("seq")) value = static_cast<int>(value) % 4;
  e.run();
  // All foldings: the first base stays alone, or pairs with one that is no neighbour.
  const std::function<int(int, int)> most = [&](int i, int j) {
    if (i >= j) return 0;
    int best = most(i + 1, j);
    for (int k = i + 2; k <= j; ++k)
      if (e.old("seq", {i}) + e.old("seq", {k}) == 3)
        best = std::max(best, 1 + most(i + 1, k - 1) + most(k + 1, j));
    return best;
  };
  EXPECT_GT(most(0, 8), 1);
  for (int i = 0; i < 9; ++i)
    for (int j = i; j < 9; ++j) EXPECT_EQ(e.now("table", {i, j}), most(i, j));
}

TEST(PolyBench, StencilsKeepAConstantField) {
  for (const std::string name : {"jacobi-2d", "seidel-2d", "heat-3d"}) {
    Example e(name, {{"tsteps", 5}, {"n", 6}});
    for (auto& [array, values] : e.before.arrays) std::fill(values.begin(), values.end(), 0.75);
    e.run();
    for (const double value : e.after.arrays.at("A")) EXPECT_NEAR(value, 0.75, kTolerance) << name;
  }
}

TEST(PolyBench, StencilsAreMeansOfTheirNeighbours) {
  Example j("jacobi-1d", {{"tsteps", 1}, {"n", 7}});
  j.run();
  Example s("seidel-2d", {{"tsteps", 1}, {"n", 5}});
  s.run();
  for (int i = 1; i < 6; ++i)
    EXPECT_NEAR(j.now("B", {i}), (j.old("A", {i - 1}) + j.old("A", {i}) + j.old("A", {i + 1})) / 3, 2e-5);
  for (int r = 1; r < 4; ++r)
    for (int c = 1; c < 4; ++c) {
      double mean = 0;
      for (int dr = -1; dr <= 1; ++dr)
        for (int dc = -1; dc <= 1; ++dc)
          mean +=
              (dr < 0 || (dr == 0 && dc < 0) ? s.now("A", {r + dr, c + dc}) : s.old("A", {r + dr, c + dc})) /
              9;
      EXPECT_NEAR(s.now("A", {r, c}), mean, kTolerance);
    }
}

}  // namespace
}  // namespace warploom::tile
