#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <future>
#include <numeric>

#include "core/doors.hpp"
#include "fold/alone.hpp"
#include "fold/ends.hpp"
#include "fold/shuffle.hpp"
#include "warploom/core/error.hpp"
#include "warploom/core/memory.hpp"
#include "warploom/core/progress.hpp"
#include "warploom/core/threads.hpp"

namespace warploom::fold {
namespace {

/// Windows side by side that are folded together.
constexpr std::int64_t windows_together(const WindowOptions& options) {
  // k windows have window + (k - 1) step bases, whose square by k is least here.
  const std::int64_t best = options.window / options.step - 1;
  return std::max<std::int64_t>(1, std::min(best, (kMostBases - options.window) / options.step + 1));
}

class Scan {
 public:
  Scan(std::string_view sequence, const WindowOptions& options, const LoopTables& tables,
       const FoldingDevice& device)
      : letters_(capitals(sequence)),
        options_(options),
        tables_(tables),
        device_(device),
        count_(count_windows(std::ssize(letters_), options)),
        progress_("folding windows", static_cast<std::uint64_t>(count_ * (1 + options.shuffles)), "windows") {
  }

  Windows run() {
    require_memory_for(
        static_cast<std::uint64_t>(count_),
        sizeof(std::int32_t) +
            (options_.structures ? sizeof(std::string) + static_cast<std::uint64_t>(options_.window) : 0) +
            (options_.shuffles > 0 ? 4 * sizeof(double) : 0),
        "windows");
    out_.energies.resize(static_cast<std::size_t>(count_));
    if (options_.structures) out_.structures.resize(static_cast<std::size_t>(count_));
    if (device_.is_gpu())
      each_alone();
    else
      together();
    if (options_.shuffles > 0) shuffles();
    return std::move(out_);
  }

 private:
  /// Checked as bases_of() does, without its limit.
  static std::string capitals(std::string_view sequence) {
    std::string letters;
    letters.reserve(sequence.size());
    for (std::int64_t begin = 0; begin < std::ssize(sequence); begin += kMostBases) {
      const std::string_view piece = sequence.substr(static_cast<std::size_t>(begin), kMostBases);
      try {
        letters += bases_of(piece).letters;
      } catch (const BadInput&) {
        for (std::size_t k = 0; k < piece.size(); ++k)
          if (const auto c = static_cast<unsigned char>(piece[k]); (c | 32) < 'a' || (c | 32) > 'z')
            throw BadInput(fmt::format("the sequence's character {} of {} is no letter (byte {})",
                                       static_cast<std::size_t>(begin) + k + 1, sequence.size(), c));
        throw;
      }
    }
    return letters;
  }

  std::string_view window(std::int64_t k) const {
    return std::string_view(letters_).substr(static_cast<std::size_t>(k * options_.step),
                                             static_cast<std::size_t>(options_.window));
  }

  void together() {
    const std::int64_t each = windows_together(options_);
    const std::int64_t bases = options_.window + (each - 1) * options_.step,
                       pieces = (count_ + each - 1) / each;
    check_range(bases, tables_.loops());
    const auto piece = [&](std::int64_t k) {
      windows(k * each, std::min(count_, (k + 1) * each));
      progress_.advance(static_cast<std::uint64_t>(std::min(each, count_ - k * each)));
    };
    if (bases <= kShort) return parallel_for(pieces, piece);
    require_memory(bytes_to_fold(bases), fmt::format("windows of {} bases", options_.window));
    for (std::int64_t k = 0; k < pieces; ++k) piece(k);
  }

  /// Windows begin .. end - 1, of matrices that they share.
  void windows(std::int64_t begin, std::int64_t end) {
    const Bases s = bases_of(std::string_view(letters_).substr(
        static_cast<std::size_t>(begin * options_.step),
        static_cast<std::size_t>(options_.window + (end - 1 - begin) * options_.step)));
    const Loops& loops = tables_.loops();
    const Extras extras(s, loops, {});
    const Matrices matrices = fill(s, tables_, {}, extras);
    Ends ends(s, loops, matrices);
    std::vector<std::int32_t> f;
    for (std::int64_t k = begin; k < end; ++k) {
      const std::int64_t first = 1 + (k - begin) * options_.step, last = first + options_.window - 1;
      ends.fill({first, last}, f);
      out_.energies[static_cast<std::size_t>(k)] = f.back();
      if (!options_.structures) continue;
      std::string& structure = out_.structures[static_cast<std::size_t>(k)];
      structure = trace(s, loops, matrices, extras, first, last, f);
      if (const std::int32_t check = evaluate(bases_of(window(k)), structure, loops).energy;
          check != f.back())
        throw Internal(fmt::format("window {} folds with {} but its structure has {} [0.01 kcal/mol]", k + 1,
                                   f.back(), check));
    }
  }

  void each_alone() {
    for (std::int64_t begin = 0; begin < count_; begin += kBatch) {
      const std::int64_t end = std::min(count_, begin + kBatch);
      std::vector<std::string> sequences;
      for (std::int64_t k = begin; k < end; ++k) sequences.emplace_back(window(k));
      std::vector<Folding> foldings = device_.fold(sequences, {}, tables_, options_.structures);
      for (std::int64_t k = begin; k < end; ++k) {
        Folding& folding = foldings[static_cast<std::size_t>(k - begin)];
        out_.energies[static_cast<std::size_t>(k)] = folding.energy;
        if (options_.structures) out_.structures[static_cast<std::size_t>(k)] = std::move(folding.structure);
      }
      progress_.advance(static_cast<std::uint64_t>(end - begin));
    }
  }

  using Sequences = std::vector<std::string>;

  /// Shuffles begin .. end - 1 of all, those of the first window first.
  void draw(std::int64_t begin, std::int64_t end, Sequences& sequences) const {
    sequences.resize(static_cast<std::size_t>(end - begin));
    constexpr std::int64_t kTogether = 64;
    parallel_for((end - begin + kTogether - 1) / kTogether, [&](std::int64_t piece) {
      const std::int64_t last = std::min(end, begin + (piece + 1) * kTogether);
      for (std::int64_t k = begin + piece * kTogether; k < last; ++k) {
        const std::int64_t number = k / options_.shuffles;
        shuffle_letters(window(number), options_.shuffle,
                        seed_of(options_.seed, number * options_.step, k % options_.shuffles),
                        sequences[static_cast<std::size_t>(k - begin)]);
      }
    });
  }

  /// A batch at a time; while a GPU folds it, the next one is drawn.
  void shuffles() {
    for (auto* values : {&out_.means, &out_.deviations, &out_.z_scores, &out_.p_values})
      values->resize(static_cast<std::size_t>(count_));
    const std::int64_t batch = device_.is_gpu() ? kBatch : kBatch / 256, total = count_ * options_.shuffles;
    Sequences sequences, next;
    std::vector<std::int32_t> energies;  // of shuffles from that of `open` on
    std::int64_t open = 0;               // the first window that is not done
    draw(0, std::min(total, batch), sequences);
    for (std::int64_t begin = 0; begin < total; begin += batch) {
      const std::int64_t end = std::min(total, begin + batch), after = std::min(total, end + batch);
      const auto draw_next = [&, run = current_run()] {
        const RunScope scope(run);
        draw(end, after, next);
      };
      // A future waits at its end.
      std::future<void> drawn =
          std::async(device_.is_gpu() ? std::launch::async : std::launch::deferred, draw_next);
      for (const Folding& folding : device_.fold(sequences, {}, tables_, false))
        energies.push_back(folding.energy);
      drawn.get();
      std::swap(sequences, next);
      progress_.advance(static_cast<std::uint64_t>(end - begin));
      const auto each = static_cast<std::size_t>(options_.shuffles);
      std::size_t used = 0;
      for (; used + each <= energies.size(); used += each, ++open)
        compare(static_cast<std::size_t>(open), std::span(energies).subspan(used, each));
      energies.erase(energies.begin(), energies.begin() + static_cast<std::ptrdiff_t>(used));
    }
  }

  void compare(std::size_t k, std::span<const std::int32_t> energies) {
    const auto n = static_cast<double>(energies.size());
    const double energy = out_.energies[k];
    // Whole numbers: the sum is exact, whatever its order.
    const double mean =
        static_cast<double>(std::accumulate(energies.begin(), energies.end(), std::int64_t{0})) / n;
    double squares = 0, at_most = 1;
    for (const std::int32_t e : energies) {
      squares += (e - mean) * (e - mean);
      at_most += e <= energy ? 1 : 0;
    }
    const double deviation = std::sqrt(squares / (n - 1));
    out_.means[k] = mean / 100;
    out_.deviations[k] = deviation / 100;
    out_.z_scores[k] = deviation > 0 ? (energy - mean) / deviation : 0;
    out_.p_values[k] = at_most / (n + 1);
  }

  static constexpr std::int64_t kBatch = 1 << 20;  // sequences that are there at once

  std::string letters_;
  const WindowOptions& options_;
  const LoopTables& tables_;
  const FoldingDevice& device_;
  std::int64_t count_;
  Windows out_ = {};
  Progress progress_;
};

}  // namespace

std::int64_t count_windows(std::int64_t n, const WindowOptions& options) {
  if (options.window < 1 || options.window > kMostBases)
    throw BadInput(fmt::format("a window of {} bases: it has 1 to {}", options.window, kMostBases));
  if (options.step < 1) throw BadInput(fmt::format("a step of {} bases: it is 1 or more", options.step));
  if (options.shuffles != 0 && (options.shuffles < 2 || options.shuffles > kMostShuffles))
    throw BadInput(
        fmt::format("{} shuffles of a window: they are 0, or 2 to {}", options.shuffles, kMostShuffles));
  if (options.shuffle != Shuffle::dinucleotides && options.shuffle != Shuffle::mononucleotides)
    refuse_enumerator(options.shuffle, "the shuffle");
  if (n < 0) throw BadInput(fmt::format("a sequence of {} bases", n));
  return n < options.window ? 0 : (n - options.window) / options.step + 1;
}

Windows fold_windows(std::string_view sequence, const WindowOptions& options, const Model& model,
                     const Run& run) {
  const auto n = std::ssize(sequence);
  if (count_windows(n, options) == 0)
    throw BadInput(fmt::format("the sequence has {} bases, a window {}", n, options.window));
  const PseudoEnergies& pseudo = model.pseudo;
  if (model.circular) throw BadInput("windows of a circle: a window is a linear piece of a sequence");
  if (!pseudo.stack.empty() || !pseudo.unpaired.empty() || !pseudo.paired.empty())
    throw BadInput("windows with pseudo-energies: they are not there");
  // A CPU shares cells between windows.
  const auto window = static_cast<double>(options.window);
  const double cells = static_cast<double>(count_windows(n, options)) *
                       (2 * window + static_cast<double>(options.shuffles) * window * window / 2);
  const FoldingDevice device(run, model, cells);
  const Loops loops(model);
  const LoopTables tables(loops);
  check_range(options.window, loops);
  return Scan(sequence, options, tables, device).run();
}

}  // namespace warploom::fold
