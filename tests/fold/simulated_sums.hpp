#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "fold/gpu_batch.hpp"
#include "fold/gpu_sum_batch.hpp"
#include "fold/partition.hpp"
#include "fold/random_sequence.hpp"
#include "warploom/core/demangle.hpp"
#include "warploom/core/file.hpp"
#include "warploom/sim/sim.hpp"

namespace warploom::fold {

/// A batch in the memory of a simulated GPU, and the CPU's sums.
class SimulatedSums {
 public:
  /// @param constraints  none, or one of each
  /// @param turns        as long sequences are
  SimulatedSums(const std::vector<std::string>& sequences, const Model& model,
                const std::vector<std::string>& constraints = {}, bool turns = false)
      : machine_(ptx::parse(read_file(WARPLOOM_KERNEL_PTX), "fold.ptx")),
        loops_(model),
        weights_(model, loops_) {
    for (std::size_t k = 0; k < sequences.size(); ++k) {
      layout_.add(std::ssize(sequences[k]), turns);
      bases_.push_back(bases_of(sequences[k]));
      marks_.push_back(constraints.empty() ? Marks{} : marks_of(bases_[k], constraints[k], loops_));
      const Extras extras(bases_[k], loops_, {});
      const Allowed allowed(bases_[k], loops_, marks_[k]);
      const Problem problem{bases_[k], weights_, extras, allowed};
      sums_.push_back(partition(problem));
      probabilities_.emplace_back(bases_[k].size());
      outside(problem, sums_[k], probabilities_[k]);
    }
    std::vector<std::uint8_t> codes(static_cast<std::size_t>(layout_.codes));
    std::vector<gpu::Mark> marks(codes.size());
    for (std::size_t k = 0; k < sequences.size(); ++k) {
      gpu::write_codes(sequences[k], codes.data() + layout_.sequences[k].codes);
      gpu::write_marks(sequences[k], constraints.empty() ? "" : constraints[k], loops_,
                       marks.data() + layout_.sequences[k].codes);
    }
    launch_.tables = upload(std::vector<gpu::SumTables>{*gpu::make_sum_tables(weights_)});
    launch_.sizes = size_weights(weights_);
    launch_.hairpin_of = upload(gpu::make_sum_hairpins(weights_, layout_.longest));
    launch_.max_span = static_cast<std::int32_t>(std::min<std::int64_t>(loops_.max_span(), 2'000'000'000));
    launch_.lonely_pairs = loops_.lonely_pairs();
    launch_.sequences = upload(layout_.sequences);
    launch_.count = static_cast<std::int32_t>(layout_.sequences.size());
    launch_.tasks = upload(layout_.tasks);
    launch_.task_count = static_cast<std::int32_t>(layout_.tasks.size());
    launch_.next_task = zeros<std::uint32_t>(1), launch_.next_outside = zeros<std::uint32_t>(1);
    launch_.codes = upload(codes);
    if (!constraints.empty()) launch_.marks = upload(marks);
    launch_.exponents = zeros<std::int32_t>(layout_.exponents);
    launch_.handed = zeros<gpu::HandedSums>(layout_.columns);
    launch_.done = zeros<std::uint32_t>(layout_.flags),
    launch_.done_outside = zeros<std::uint32_t>(layout_.flags);
    launch_.next_ends = zeros<std::uint32_t>(1), launch_.next_worths = zeros<std::uint32_t>(1);
    launch_.done_ends = zeros<std::uint32_t>(layout_.flags),
    launch_.done_worths = zeros<std::uint32_t>(layout_.flags);
    launch_.end_exponents = zeros<std::int64_t>(layout_.end_exponents);
    launch_.ends = zeros<double>(layout_.columns), launch_.worths = zeros<double>(layout_.columns);
    launch_.totals = zeros<gpu::SumTotal>(launch_.count);
    launch_.unpaired = zeros<double>(layout_.columns);
    launch_.stop = zeros<std::uint32_t>(1), launch_.stopped = zeros<std::uint32_t>(1);
    launch_.far = zeros<double>(turns ? 16 * gpu::kFarCells : 0);
    for (double** turned : {&launch_.turned, &launch_.m_turned})
      *turned = upload(std::vector<double>(static_cast<std::size_t>(layout_.turned), std::nan("")));
    for (double** panel : {&launch_.b, &launch_.m1, &launch_.m, &launch_.split}) {
      // What is not written is not a number.
      *panel = upload(std::vector<double>(static_cast<std::size_t>(layout_.cells), std::nan("")));
    }
  }

  void inside(unsigned blocks, sim::Schedule schedule) {
    run("sum_inside", blocks, gpu::kSumThreads, schedule);
    for (const auto& [panel, member, name] :
         {std::tuple(launch_.b, &Partition::b, "B"), std::tuple(launch_.m1, &Partition::m1, "M1"),
          std::tuple(launch_.m, &Partition::m, "M")}) {
      const std::vector<double> got = download(panel, layout_.cells);
      const std::vector<std::int32_t> exponents = download(launch_.exponents, layout_.exponents);
      each([&](std::size_t k, std::int64_t i, std::int64_t j, std::int64_t place) {
        const Scaled want = sums_[k].at(sums_[k].*member, i, j);
        const gpu::SumSequence& s = layout_.sequences[k];
        const std::int32_t exponent = exponents[static_cast<std::size_t>(
            s.exponents + (i - 1) / kStripRows * s.tiles + (j - 1) / kTileColumns)];
        const double number =
            std::ldexp(got[static_cast<std::size_t>(place)], exponent - static_cast<int>(want.exponent));
        ASSERT_NEAR(number, want.number, 1e-11 * want.number)
            << name << "(" << i << ", " << j << ") of " << bases_[k].size();
      });
      if (testing::Test::HasFatalFailure()) return;
    }
  }

  /// From sums of the CPU.
  void outside_of(unsigned blocks, sim::Schedule schedule) {
    take_the_cpus(true);
    run("sum_outside", blocks, gpu::kSumThreads, schedule);
    const std::vector<double> got = download(launch_.b, layout_.cells);
    each([&](std::size_t k, std::int64_t i, std::int64_t j, std::int64_t place) {
      ASSERT_NEAR(
          got[static_cast<std::size_t>(place)],
          probabilities_[k].column(Tiling::strip_of(i), j)[i - Tiling::first_row(Tiling::strip_of(i))], 1e-12)
          << "p(" << i << ", " << j << ") of " << bases_[k].size();
    });
  }

  /// From B of the CPU. @param blocks  of blocks, so many; 0: a warp a sequence
  void ends(unsigned blocks, sim::Schedule schedule = sim::Schedule::random) {
    take_the_cpus(false);
    const auto run_ends = [&](bool outside) {
      const std::string way = outside ? "<true>" : "<false>";
      if (blocks == 0)
        run("sum_ends" + way, (static_cast<unsigned>(bases_.size()) + 3) / 4, 128, schedule);
      else
        run("end_blocks" + way, blocks, 256, schedule);
    };
    run_ends(false);
    const std::vector<double> ends = download(launch_.ends, layout_.columns);
    const std::vector<std::int64_t> exponents = download(launch_.end_exponents, layout_.end_exponents);
    for (std::size_t k = 0; k < bases_.size(); ++k)
      for (std::int64_t j = 0; j <= bases_[k].size(); ++j) {
        ASSERT_NEAR(ends[static_cast<std::size_t>(layout_.sequences[k].columns + j)],
                    sums_[k].ends[static_cast<std::size_t>(j)],
                    1e-12 * sums_[k].ends[static_cast<std::size_t>(j)]);
        ASSERT_EQ(exponents[static_cast<std::size_t>(layout_.sequences[k].end_exponents + j / kStripRows)],
                  sums_[k].end_exponent(j));
      }
    const std::vector<gpu::SumTotal> totals = download(launch_.totals, launch_.count);
    for (std::size_t k = 0; k < bases_.size(); ++k)
      EXPECT_NEAR(std::log(totals[k].number) + static_cast<double>(totals[k].exponent) * std::log(2.),
                  sums_[k].log, 1e-12);
    run_ends(true);
    const std::vector<double> worths = download(launch_.worths, layout_.columns), want = the_worths();
    for (std::size_t k = 0; k < bases_.size(); ++k)
      for (std::int64_t j = 0; j <= bases_[k].size(); ++j) {
        const auto at = static_cast<std::size_t>(layout_.sequences[k].columns + j);
        ASSERT_NEAR(worths[at], want[at], 1e-12 * want[at]) << j << " of " << bases_[k].size();
      }
  }

  /// From probabilities of the CPU.
  void read(const gpu::SumChoice& choice) {
    std::vector<double> cells(static_cast<std::size_t>(layout_.cells), std::nan(""));
    each([&](std::size_t k, std::int64_t i, std::int64_t j, std::int64_t place) {
      cells[static_cast<std::size_t>(place)] = probability(k, i, j);
    });
    launch_.b = upload(cells);
    launch_.choice = choice;
    const unsigned tasks = static_cast<unsigned>(layout_.tasks.size());
    launch_.read = zeros<gpu::ReadStrip>(tasks);
    run("read_rows", tasks, 256, sim::Schedule::random);
    run("read_columns", static_cast<unsigned>(bases_.size()), 256, sim::Schedule::random, 2);
    run("count_pairs", tasks, 256, sim::Schedule::random);
    const std::vector<gpu::ReadStrip> strips = download(launch_.read, tasks);
    std::vector<std::uint64_t> places;
    std::uint64_t count = 0;
    for (const gpu::ReadStrip& strip : strips) places.push_back(count), count += strip.count;
    launch_.pair_places = upload(places);
    launch_.pairs = zeros<gpu::ListedPair>(static_cast<std::int64_t>(count));
    run("list_pairs", tasks, 256, sim::Schedule::random);
    const std::vector<gpu::ListedPair> pairs = download(launch_.pairs, static_cast<std::int64_t>(count));
    const std::vector<double> unpaired = download(launch_.unpaired, layout_.columns);
    for (std::size_t k = 0; k < bases_.size(); ++k) {
      const std::int64_t n = bases_[k].size();
      std::vector<double> want(static_cast<std::size_t>(n + 1), 1);
      double differ = 0;
      std::size_t listed = 0, most = 0;
      for (std::int64_t i = 1; i <= n; ++i)
        for (std::int64_t j = i + 4; j <= n; ++j) {
          const double p = probability(k, i, j);
          want[static_cast<std::size_t>(i)] -= p, want[static_cast<std::size_t>(j)] -= p,
              differ += p * (1 - p);
          listed += p >= choice.cutoff ? 1 : 0, most += p != 0 ? 1 : 0;
        }
      for (std::int64_t i = 1; i <= n; ++i)
        ASSERT_NEAR(unpaired[static_cast<std::size_t>(layout_.sequences[k].columns + i)],
                    want[static_cast<std::size_t>(i)], 1e-12);
      double got_differ = 0;
      std::size_t got = 0;
      for (std::size_t task = 0; task < layout_.tasks.size(); ++task) {
        if (layout_.tasks[task].sequence != static_cast<std::int32_t>(k)) continue;
        got_differ += strips[task].differ;
        for (std::uint64_t at = places[task]; at < places[task] + strips[task].count; ++at, ++got) {
          const gpu::ListedPair& pair = pairs[at];
          EXPECT_EQ(pair.probability, probability(k, pair.i, pair.j));
          EXPECT_EQ((pair.i - 1) / kStripRows, layout_.tasks[task].strip);
          if (at > places[task]) {
            EXPECT_LT(std::pair(pairs[at - 1].i, pairs[at - 1].j), std::pair(pair.i, pair.j));
          }
        }
      }
      EXPECT_NEAR(got_differ, differ, 1e-12);
      EXPECT_GE(got, listed);
      EXPECT_LE(got, most);
    }
  }

 private:
  double probability(std::size_t k, std::int64_t i, std::int64_t j) const {
    return probabilities_[k].column(Tiling::strip_of(i), j)[i - Tiling::first_row(Tiling::strip_of(i))];
  }
  template <class Visit>
  void each(const Visit& visit) const {
    for (std::size_t k = 0; k < bases_.size(); ++k)
      for (std::int64_t j = 1; j <= bases_[k].size(); ++j)
        for (std::int64_t i = 1; i <= j; ++i) {
          visit(k, i, j, layout_.sequences[k].cells + gpu::panel_cell(bases_[k].size(), i, j));
          if (testing::Test::HasFatalFailure()) return;
        }
  }
  void take_the_cpus(bool and_ends) {
    for (const auto& [panel, member] :
         {std::pair(&launch_.b, &Partition::b), std::pair(&launch_.m1, &Partition::m1),
          std::pair(&launch_.m, &Partition::m)}) {
      std::vector<double> cells(static_cast<std::size_t>(layout_.cells), std::nan(""));
      for (std::size_t k = 0; k < bases_.size(); ++k) {
        const std::int64_t n = bases_[k].size();
        for (std::int64_t t = 0; t < sums_[k].tiling.strips(); ++t)
          for (std::int64_t j = Tiling::first_row(t); j <= n; ++j)
            std::copy_n(
                (sums_[k].*member).column(t, j), kStripRows,
                cells.begin() + layout_.sequences[k].cells + gpu::panel_cell(n, Tiling::first_row(t), j));
      }
      *panel = upload(cells);
    }
    std::vector<std::int32_t> exponents;
    std::vector<std::int64_t> end_exponents;
    std::vector<double> ends;
    for (std::size_t k = 0; k < bases_.size(); ++k) {
      exponents.insert(exponents.end(), sums_[k].exponents.begin(), sums_[k].exponents.end());
      end_exponents.insert(end_exponents.end(), sums_[k].end_exponents.begin(), sums_[k].end_exponents.end());
      ends.insert(ends.end(), sums_[k].ends.begin(), sums_[k].ends.end());
    }
    launch_.exponents = upload(exponents);
    if (!and_ends) return;
    std::vector<double> turned(static_cast<std::size_t>(layout_.turned), std::nan(""));
    if (layout_.turned > 0)
      each([&](std::size_t k, std::int64_t i, std::int64_t j, std::int64_t) {
        const std::int64_t at = layout_.sequences[k].turned + gpu::turned_of((j - 1) / kTileColumns) +
                                (i - 1) / gpu::kTurnedRows * (kTileColumns * gpu::kTurnedRows) +
                                (j - 1) % kTileColumns * gpu::kTurnedRows + (i - 1) % gpu::kTurnedRows;
        turned[static_cast<std::size_t>(at)] =
            sums_[k].m.column(Tiling::strip_of(i), j)[i - Tiling::first_row(Tiling::strip_of(i))];
      });
    launch_.m_turned = upload(turned);
    launch_.end_exponents = upload(end_exponents), launch_.ends = upload(ends);
    launch_.worths = upload(the_worths());
  }
  /// What sums of the first bases are worth, from the CPU's.
  std::vector<double> the_worths() const {
    std::vector<double> worths(static_cast<std::size_t>(layout_.columns));
    for (std::size_t k = 0; k < bases_.size(); ++k) {
      const Partition& p = sums_[k];
      const std::int64_t n = bases_[k].size();
      double* const worth = worths.data() + layout_.sequences[k].columns;
      worth[n] = 1;
      for (std::int64_t j = n; j >= 1; --j) {
        worth[j - 1] += worth[j] * power(p.end_exponent(j - 1) - p.end_exponent(j));
        for (std::int64_t i = 1; i + 4 <= j; ++i) {
          const int type = loops_.pair(bases_[k].codes[static_cast<std::size_t>(i)],
                                       bases_[k].codes[static_cast<std::size_t>(j)]);
          if (type == 0) continue;
          const Scaled b = p.at(p.b, i, j);
          const double stem =
              weights_.exterior_stem(type, i > 1 ? bases_[k].codes[static_cast<std::size_t>(i - 1)] : -1,
                                     j < n ? bases_[k].codes[static_cast<std::size_t>(j + 1)] : -1);
          worth[i - 1] +=
              worth[j] * stem * b.number * power(p.end_exponent(i - 1) + b.exponent - p.end_exponent(j));
        }
      }
    }
    return worths;
  }

  void run(std::string_view name, unsigned blocks, unsigned threads, sim::Schedule schedule,
           unsigned blocks_y = 1) {
    std::string kernel;
    for (const ptx::Function& function : machine_.module().functions)
      if (function.entry && demangle(function.name).find(name) != std::string::npos)
        kernel = std::string(function.name);
    ASSERT_FALSE(kernel.empty()) << name;
    sim::LaunchOptions options;
    options.grid = {blocks, blocks_y};
    options.block = {threads};
    options.dynamic_shared = threads == gpu::kSumThreads && !name.starts_with("sum_ends") ? 113 * 1024 : 0;
    options.schedule = schedule;
    options.races = true;
    const sim::Outcome outcome = machine_.launch(kernel, sim::Arguments().add(launch_), options);
    EXPECT_TRUE(outcome.completed);
    for (const sim::Finding& finding : outcome.findings) ADD_FAILURE() << finding.text();
  }
  template <class Element>
  Element* upload(const std::vector<Element>& values) {
    return values.empty() ? nullptr : reinterpret_cast<Element*>(machine_.upload(std::span(values)));
  }
  template <class Element>
  Element* zeros(std::int64_t count) {
    return upload(std::vector<Element>(static_cast<std::size_t>(count)));
  }
  template <class Element>
  std::vector<Element> download(const Element* from, std::int64_t count) const {
    std::vector<Element> values(static_cast<std::size_t>(count));
    if (count > 0) machine_.download(reinterpret_cast<sim::Address>(from), std::span(values));
    return values;
  }

  sim::Machine machine_;
  Loops loops_;
  Weights weights_;
  gpu::SumLayout layout_;
  std::vector<Bases> bases_;
  std::vector<Marks> marks_;
  std::vector<Partition> sums_;
  std::vector<Panels> probabilities_;
  gpu::SumLaunch launch_ = {};
};

}  // namespace warploom::fold
