#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "fold/gpu_batch.hpp"
#include "fold/random_sequence.hpp"
#include "warploom/core/demangle.hpp"
#include "warploom/core/file.hpp"
#include "warploom/sim/sim.hpp"

namespace warploom::fold {
/// A batch in the memory of a simulated GPU.
class Simulated {
 public:
  /// @param most_candidates  that are kept of a column; -1: as usual
  /// @param constraints  none, or one of each
  Simulated(const std::vector<std::string>& sequences, const Model& model, int most_candidates = -1,
            const std::vector<std::string>& constraints = {})
      : machine_(ptx::parse(read_file(WARPLOOM_KERNEL_PTX), "fold.ptx")), loops_(model), tables_(loops_) {
    for (const std::string& sequence : sequences) layout_.add(std::ssize(sequence));
    if (most_candidates >= 0)
      for (gpu::Sequence& sequence : layout_.sequences) sequence.most_candidates = most_candidates;
    std::vector<std::uint8_t> codes(static_cast<std::size_t>(layout_.codes));
    for (std::size_t k = 0; k < sequences.size(); ++k) {
      gpu::write_codes(sequences[k], codes.data() + layout_.sequences[k].codes);
      bases_.push_back(bases_of(sequences[k]));
      marks_.push_back(constraints.empty() ? Marks{} : marks_of(bases_[k], constraints[k], loops_));
    }
    if (!constraints.empty()) {
      std::vector<gpu::Mark> marks(static_cast<std::size_t>(layout_.codes));
      for (std::size_t k = 0; k < sequences.size(); ++k)
        gpu::write_marks(sequences[k], constraints[k], loops_, marks.data() + layout_.sequences[k].codes);
      launch_.marks = upload(marks);
    }
    launch_.tables = upload(std::vector<gpu::Tables>{*gpu::make_tables(tables_)});
    launch_.constants = tables_.constants();
    launch_.max_span = static_cast<std::int32_t>(std::min<std::int64_t>(loops_.max_span(), 2'000'000'000));
    launch_.hairpin_of = upload(gpu::make_hairpins(tables_, layout_.longest));
    launch_.sequences = upload(layout_.sequences);
    launch_.count = static_cast<std::int32_t>(layout_.sequences.size());
    launch_.tasks = upload(layout_.tasks);
    launch_.task_count = static_cast<std::int32_t>(layout_.tasks.size());
    launch_.next_task = upload(std::vector<std::uint32_t>(1));
    launch_.codes = upload(codes);
    c_.resize(static_cast<std::size_t>(layout_.cells));
    m_ = c_;
    launch_.c = upload(c_), launch_.m = upload(m_);
    launch_.handed = upload(std::vector<gpu::Handed>(static_cast<std::size_t>(layout_.columns)));
    launch_.candidates = upload(std::vector<Candidate>(static_cast<std::size_t>(layout_.candidates)));
    launch_.candidate_counts = upload(std::vector<std::int32_t>(static_cast<std::size_t>(layout_.columns)));
    launch_.done = upload(std::vector<std::uint32_t>(static_cast<std::size_t>(layout_.flags)));
    launch_.stop = upload(std::vector<std::uint32_t>(1));
    launch_.stopped = upload(std::vector<std::uint32_t>(1));
  }

  /// As if the batch was no longer wanted.
  void stop() { launch_.stop = upload(std::vector<std::uint32_t>{1}); }
  bool stopped() const {
    std::uint32_t word = 0;
    machine_.download(reinterpret_cast<sim::Address>(launch_.stopped), std::span(&word, 1));
    return word != 0;
  }

  void fill(unsigned blocks, sim::Schedule schedule) {
    run("fold_strips", blocks, gpu::kThreads, 100 * 1024, schedule);
    machine_.download(reinterpret_cast<sim::Address>(launch_.c), std::span(c_));
    machine_.download(reinterpret_cast<sim::Address>(launch_.m), std::span(m_));
  }

  /// f from C of the CPU.
  void end(unsigned blocks, sim::Schedule schedule) {
    take_the_cpus();
    launch_.chunks = upload(layout_.chunks());
    launch_.next_chunk = upload(std::vector<std::uint32_t>(1));
    launch_.ended = upload(std::vector<std::uint32_t>(bases_.size()));
    run("fold_ends", blocks, 512, 80 * 1024, schedule);
    std::vector<std::int32_t> f(static_cast<std::size_t>(layout_.bases));
    machine_.download(reinterpret_cast<sim::Address>(launch_.f), std::span(f));
    for (std::size_t k = 0; k < bases_.size(); ++k)
      for (std::size_t j = 0; j < want_[k].f.size(); ++j)
        ASSERT_EQ(f[static_cast<std::size_t>(layout_.sequences[k].bases) + j], want_[k].f[j])
            << "f(" << j << ") of " << bases_[k].size();
  }

  /// Energies and structures from C and M of the CPU, and, of a block a sequence, f.
  void finish(std::string_view kernel, unsigned blocks, unsigned threads, sim::Schedule schedule) {
    take_the_cpus();
    const auto bases = static_cast<std::size_t>(layout_.bases);
    launch_.stack = upload(std::vector<std::uint64_t>(bases));
    std::vector<char> structures(bases);
    launch_.structures = upload(structures);
    std::vector<std::int32_t> energies(bases_.size());
    launch_.energies = upload(energies);
    launch_.parts = upload(std::vector<std::uint64_t>(bases + gpu::kPartBlocks));
    launch_.part_count = upload(std::vector<std::uint32_t>(1));
    launch_.next_part = upload(std::vector<std::uint32_t>(1));
    launch_.open_parts = upload(std::vector<std::uint32_t>(1));
    if (threads == 512) {
      std::vector<std::int32_t> f(bases);
      for (std::size_t k = 0; k < bases_.size(); ++k)
        std::ranges::copy(want_[k].f, f.begin() + layout_.sequences[k].bases);
      launch_.f = upload(f);
    }
    run(kernel, blocks, threads, 0, schedule);
    if (threads == 512) run("fold_parts", 3, 256, 0, schedule);
    machine_.download(reinterpret_cast<sim::Address>(launch_.structures), std::span(structures));
    machine_.download(reinterpret_cast<sim::Address>(launch_.energies), std::span(energies));
    for (std::size_t k = 0; k < bases_.size(); ++k) {
      const std::string structure = structures.data() + layout_.sequences[k].bases;
      ASSERT_EQ(energies[k], want_[k].f.back()) << bases_[k].letters;
      ASSERT_EQ(std::ssize(structure), bases_[k].size());
      EXPECT_EQ(evaluate(bases_[k], structure, loops_).energy, energies[k]) << bases_[k].letters << '\n'
                                                                            << structure;
    }
  }

 private:
  void take_the_cpus() {
    for (std::size_t k = 0; k < bases_.size(); ++k) {
      want_.push_back(fold::fill(bases_[k], tables_, {}, Extras(bases_[k], loops_, {})));
      for (std::int64_t j = 1; j <= bases_[k].size(); ++j)
        for (std::int64_t i = 1; i <= j; ++i) {
          c_[place(k, i, j)] = want_.back().c.at(i, j);
          m_[place(k, i, j)] = want_.back().m.at(i, j);
        }
    }
    launch_.c = upload(c_), launch_.m = upload(m_);
    launch_.f = upload(std::vector<std::int32_t>(static_cast<std::size_t>(layout_.bases)));
  }

  void run(std::string_view name, unsigned blocks, unsigned threads, std::uint32_t shared,
           sim::Schedule schedule) {
    std::string kernel;
    for (const ptx::Function& function : machine_.module().functions)
      if (function.entry && function_name(function.name).find(name) != std::string::npos)
        kernel = std::string(function.name);
    sim::LaunchOptions options;
    options.grid = {blocks};
    options.block = {threads};
    options.dynamic_shared = shared;
    options.schedule = schedule;
    options.races = true;
    const sim::Outcome outcome = machine_.launch(kernel, sim::Arguments().add(launch_), options);
    EXPECT_TRUE(outcome.completed);
    for (const sim::Finding& finding : outcome.findings) ADD_FAILURE() << finding.text();
  }

 public:
  void expect_right() const {
    for (std::size_t k = 0; k < bases_.size(); ++k) {
      const Matrices want = fold::fill(bases_[k], tables_, marks_[k], Extras(bases_[k], loops_, {}));
      for (std::int64_t j = 1; j <= bases_[k].size(); ++j)
        for (std::int64_t i = 1; i < j - kMinHairpin; ++i) {
          ASSERT_EQ(c_[place(k, i, j)], want.c.at(i, j))
              << "C(" << i << ", " << j << ") of " << bases_[k].size();
          ASSERT_EQ(m_[place(k, i, j)], want.m.at(i, j))
              << "M(" << i << ", " << j << ") of " << bases_[k].size();
        }
    }
  }

 private:
  std::size_t place(std::size_t sequence, std::int64_t i, std::int64_t j) const {
    return static_cast<std::size_t>(layout_.sequences[sequence].cells +
                                    gpu::cell_of(bases_[sequence].size(), i, j));
  }
  template <class Element>
  Element* upload(const std::vector<Element>& values) {
    return values.empty() ? nullptr : reinterpret_cast<Element*>(machine_.upload(std::span(values)));
  }

  sim::Machine machine_;
  Loops loops_;
  LoopTables tables_;
  gpu::Layout layout_;
  std::vector<Bases> bases_;
  std::vector<Marks> marks_;
  std::vector<Matrices> want_;
  std::vector<std::int32_t> c_, m_;
  gpu::Launch launch_ = {};
};

}  // namespace warploom::fold
