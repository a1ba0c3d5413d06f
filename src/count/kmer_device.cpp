#include "count/kmer_device.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "core/cuda/memory.hpp"
#include "core/cuda/owners.hpp"
#include "count/clock.hpp"
#include "count/kmer_file.hpp"
#include "count/kmer_kernels.hpp"
#include "count/kmer_listing.hpp"
#include "count/kmer_sorting.hpp"
#include "warploom/core/error.hpp"
#include "warploom/core/log.hpp"
#include "warploom/core/progress.hpp"
#include "warploom/core/threads.hpp"

namespace warploom::table {
namespace {

constexpr std::size_t kText = std::size_t{16} << 20;              // bytes that go up at once
constexpr std::size_t kPart = std::size_t{1} << 19;               // of them, that a thread reads at once
constexpr std::uint32_t kMostLines = kText / 8;                   // of them: lines of 8 bytes in the mean
constexpr std::size_t kLeastBins = 1 << 16, kMostBins = 1 << 24;  // of how often words came
constexpr int kLeastBits = 20, kMostFirstBits = 28;
static_assert(kText <= std::size_t{kMostKmerTiles} * kKmerTile);

/// Where time went [s].
struct Timeline {
  double reading = 0, waiting = 0, growing = 0;  // of the host
  double copying = 0, kernels = 0;               // of the device, at once with the others
};

/// Adds the time of its life.
class Spent {
 public:
  explicit Spent(double& seconds) : seconds_(seconds) {}
  Spent(const Spent&) = delete;
  Spent& operator=(const Spent&) = delete;
  ~Spent() { seconds_ += seconds_since(begin_); }

 private:
  Clock::time_point begin_ = Clock::now();
  double& seconds_;
};

/// Texts go up in the order of one stream and are counted in that of another, several of them under way,
/// while the host reads on.
class GpuCounter {
 public:
  /// @param letters  that come, as far as that is known
  GpuCounter(const KmerOptions& options, std::uint64_t letters)
      : options_(options),
        first_bits_(bits_for(letters)),
        state_(make_device<KmerState>(1)),
        lines_(make_device<std::uint32_t>(kMostKmerTiles + 1)),
        ends_(make_device<std::uint32_t>(kMostLines)),
        wait_(stream_.get()),
        wait_for_copies_(copies_.get()) {
    for (Batch& batch : batches_) {
      batch.text = make_pinned<char>(kText);
      batch.on_device = make_device<char>(kText);
      batch.state = make_pinned<KmerState>(1);
    }
    clear();
  }

  /// As if nothing had been counted.
  void clear() {
    finish();
    known_ = {};
    under_way_ = 0;
    for (Batch& batch : batches_) batch.letters = 0;
    cuda_check(cudaMemsetAsync(state_.get(), 0, sizeof(KmerState), stream_.get()), "cudaMemset");
    make_table(first_bits_);
  }
  /// Where the host writes the next text.
  std::span<char> room() {
    Batch& batch = batches_[next_];
    take_in(batch);
    return {batch.text.get(), kText};
  }
  /// Counts what the host wrote there.
  void count(std::size_t size, bool fastq) {
    check_interrupt();
    Batch& batch = batches_[next_];
    next_ = (next_ + 1) % batches_.size();
    const std::uint64_t letters = fastq ? size / 2 : size;  // of FASTQ there are as many qualities
    make_room(letters);
    batch.letters = letters;
    under_way_ += letters;
    cuda_check(cudaEventRecord(batch.begun.get(), copies_.get()), "cudaEventRecord");
    cuda_check(
        cudaMemcpyAsync(batch.on_device.get(), batch.text.get(), size, cudaMemcpyHostToDevice, copies_.get()),
        fmt::format("cudaMemcpy of {} bytes", size));
    cuda_check(cudaEventRecord(batch.copied.get(), copies_.get()), "cudaEventRecord");
    cuda_check(cudaStreamWaitEvent(stream_.get(), batch.copied.get(), 0), "cudaStreamWaitEvent");
    cuda_check(cudaEventRecord(batch.started.get(), stream_.get()), "cudaEventRecord");
    launch_count_words(batch.on_device.get(), static_cast<std::uint32_t>(size), fastq, options_.k,
                       options_.canonical, table(), state_.get(), lines_.get(), ends_.get(), kMostLines,
                       stream_.get());
    cuda_check(cudaMemcpyAsync(batch.state.get(), state_.get(), sizeof(KmerState), cudaMemcpyDeviceToHost,
                               stream_.get()),
               "cudaMemcpy of what was counted");
    cuda_check(cudaEventRecord(batch.done.get(), stream_.get()), "cudaEventRecord");
  }
  /// Waits for what is under way. @return false: some text was not four lines a record
  bool finish() {
    for (Batch& batch : batches_) take_in(batch);
    return known_.odd == 0;
  }
  bool odd() const { return known_.odd != 0; }

  /// [c]: how many words came c times; the last of `most`: more often. After finish().
  std::vector<unsigned long long> how_often(std::uint32_t most) {
    const auto bins = make_device<unsigned long long>(most);
    cuda_check(cudaMemsetAsync(bins.get(), 0, most * sizeof(unsigned long long), stream_.get()),
               "cudaMemset");
    launch_count_counts(table(), bins.get(), most, stream_.get());
    std::vector<unsigned long long> result(most);
    cuda_check(cudaMemcpyAsync(result.data(), bins.get(), most * sizeof(unsigned long long),
                               cudaMemcpyDeviceToHost, stream_.get()),
               "cudaMemcpy of a histogram");
    cuda_check(cudaStreamSynchronize(stream_.get()), "counting k-mers");
    return result;
  }
  /// Calls take(words) on all threads, for those that came `least` times. After finish().
  /// @param many  how many they are at most
  template <class Take>
  void for_each(std::uint64_t least, std::uint64_t many, const Take& take) {
    constexpr std::uint64_t kMost = std::uint64_t{1} << 24;
    const std::uint64_t slots = std::uint64_t{1} << bits_, kSlots = many <= kMost ? slots : kMost;
    const std::uint64_t room = std::max<std::uint64_t>(1, std::min(slots, std::min(many, kMost)));
    const auto words = make_device<unsigned long long>(room), counts = make_device<unsigned long long>(room);
    PinnedPair pair(stream_.get(), room * sizeof(unsigned long long));
    std::vector<KmerOf<Word>> found;
    for (std::uint64_t begin = 0; begin < slots; begin += kSlots) {
      check_interrupt();
      cuda_check(cudaMemsetAsync(&state_.get()->exported, 0, sizeof(unsigned long long), stream_.get()),
                 "cudaMemset");
      launch_export(table(), begin, std::min(slots, begin + kSlots), least, words.get(), counts.get(),
                    state_.get(), stream_.get());
      found.resize(read_state().exported);
      pair.download(words.get(), found.size(),
                    [&](std::uint64_t at, const unsigned long long* data, std::uint64_t n) {
                      for (std::uint64_t k = 0; k < n; ++k) found[at + k].word = data[k];
                    });
      pair.download(counts.get(), found.size(),
                    [&](std::uint64_t at, const unsigned long long* data, std::uint64_t n) {
                      for (std::uint64_t k = 0; k < n; ++k) found[at + k].count = data[k];
                    });
      constexpr std::size_t kPart = 1 << 16;
      parallel_for(static_cast<std::int64_t>((found.size() + kPart - 1) / kPart), [&](std::int64_t part) {
        const std::size_t first = static_cast<std::size_t>(part) * kPart;
        take(std::span(found).subspan(first, std::min(kPart, found.size() - first)));
      });
    }
  }
  const KmerState& known() const { return known_; }
  Timeline timeline;
  std::uint64_t bytes() const { return sizeof(KmerSlot) << bits_; }

 private:
  struct Batch {
    PinnedArray<char> text;
    DeviceArray<char> on_device;
    PinnedArray<KmerState> state;  // after it
    CudaEvent begun = make_event(), copied = make_event(), started = make_event(), done = make_event();
    std::uint64_t letters = 0;  // not taken in yet
  };

  /// So many that the table need not grow, up to a quarter of the memory that is free.
  static int bits_for(std::uint64_t letters) {
    std::size_t free = 0, total = 0;
    cuda_check(cudaMemGetInfo(&free, &total), "cudaMemGetInfo");
    int bits = kLeastBits;
    while (bits < kMostFirstBits && (std::uint64_t{3} << bits) < 4 * letters &&
           (sizeof(KmerSlot) << (bits + 1)) <= free / 4)
      ++bits;
    return bits;
  }

  KmerTable table() const { return {slots_.get(), bits_}; }
  void make_table(int bits) {
    slots_.reset();
    slots_ = make_device<KmerSlot>(std::size_t{1} << bits);
    bits_ = bits;
    empty(slots_.get(), bits);
  }
  void empty(KmerSlot* slots, int bits) const {
    cuda_check(cudaMemsetAsync(slots, 0xff, sizeof(KmerSlot) << bits, stream_.get()),
               "cudaMemset of a table");
  }
  KmerState read_state() {
    KmerState state;
    cuda_check(cudaMemcpyAsync(&state, state_.get(), sizeof state, cudaMemcpyDeviceToHost, stream_.get()),
               "cudaMemcpy of what was counted");
    cuda_check(cudaStreamSynchronize(stream_.get()), "counting k-mers");
    return state;
  }
  void take_in(Batch& batch) {
    if (batch.letters == 0) return;
    {
      const Spent waiting(timeline.waiting);
      cuda_check(cudaEventSynchronize(batch.done.get()), "counting k-mers");
    }
    timeline.copying += seconds_between(batch.begun, batch.copied);
    timeline.kernels += seconds_between(batch.started, batch.done);
    under_way_ -= std::exchange(batch.letters, 0);
    if (batch.state[0].total >= known_.total) known_ = batch.state[0];
  }
  /// So that three quarters of the slots are enough, whatever is in the texts under way and the next one.
  void make_room(std::uint64_t letters) {
    const auto fits = [&] {
      return (known_.different + under_way_ + letters) * 4 <= (std::uint64_t{3} << bits_);
    };
    if (fits()) return;
    finish();
    if (fits()) return;
    const Spent growing(timeline.growing);
    int bits = bits_;
    while ((known_.different + letters) * 2 > std::uint64_t{1} << bits) ++bits;
    DeviceArray<KmerSlot> more = make_device<KmerSlot>(std::size_t{1} << bits);
    empty(more.get(), bits);
    cuda_check(cudaMemsetAsync(&state_.get()->different, 0, sizeof(unsigned long long), stream_.get()),
               "cudaMemset");
    launch_rehash(table(), {more.get(), bits}, state_.get(), stream_.get());
    const KmerState state = read_state();
    if (state.different != known_.different) throw Error("k-mers were lost as the table grew");
    slots_ = std::move(more);
    bits_ = bits;
  }

  const KmerOptions& options_;
  int first_bits_;
  CudaStream stream_ = make_stream(), copies_ = make_stream();
  DeviceArray<KmerState> state_;
  DeviceArray<std::uint32_t> lines_, ends_;
  DeviceArray<KmerSlot> slots_;
  int bits_ = 0;
  std::array<Batch, 4> batches_;
  std::size_t next_ = 0;
  std::uint64_t under_way_ = 0;  // letters
  KmerState known_;
  WaitAtEnd wait_, wait_for_copies_;  // the last members: before memory is released
};

/// FASTQ as it stands in the files, which all threads read. @return false: some of it is to be read
/// otherwise, from the begin on
bool count_text(io::SequenceStream& sequences, GpuCounter& counter) {
  if (sequences.stored_taken() > 0) return false;  // rewind() would go back too far
  Progress progress("counting", sequences.stored_bytes().value_or(0), "bytes");
  std::uint64_t taken = 0;
  bool some = false;
  while (const std::optional<io::FastqText> text = sequences.next_fastq(kText - 1)) {
    if (text->size() == 0 && counter.finish()) return true;
    if (text->least_quality() > 0 || text->size() > kText || counter.odd()) {
      sequences.rewind();
      return false;
    }
    const std::span<char> room = counter.room().first(text->size());
    {
      const Spent reading(counter.timeline.reading);
      parallel_for(static_cast<std::int64_t>((room.size() + kPart - 1) / kPart), [&](std::int64_t part) {
        const std::size_t begin = static_cast<std::size_t>(part) * kPart;
        text->read(begin, room.subspan(begin, std::min(kPart, room.size() - begin)));
      });
    }
    counter.count(room.size(), true);
    some = true;
    progress.advance(sequences.stored_taken() - std::exchange(taken, sequences.stored_taken()));
  }
  if (some) sequences.rewind();
  return false;
}

/// Letters that the host finds.
void count_letters(io::SequenceStream& sequences, int k, GpuCounter& counter) {
  Progress progress("counting", sequences.stored_bytes().value_or(0), "bytes");
  std::uint64_t taken = 0;
  const auto overlap = static_cast<std::size_t>(k) - 1;
  std::string piece;
  while (sequences.next(piece, kText / 2, overlap)) {
    // A FASTQ record may be longer than what goes up at once.
    for (std::size_t begin = 0; begin < piece.size();) {
      const std::span<char> room = counter.room();
      const std::size_t size = piece.copy(room.data(), room.size(), begin);
      counter.count(size, false);
      begin += size == room.size() && begin + size < piece.size() ? size - overlap : size;
    }
    progress.advance(sequences.stored_taken() - std::exchange(taken, sequences.stored_taken()));
  }
  counter.finish();
}

}  // namespace

Counts count_on_gpu(io::SequenceStream& sequences, const KmerOptions& options) {
  const auto begin = Clock::now();
  std::optional<KmerFileWriter> writer;
  if (!options.database.empty())
    writer.emplace(options.database, options.k, options.canonical, options.counter_bits);
  // Of FASTQ half and more are headers and qualities; what is packed holds more than it takes.
  GpuCounter counter(options, sequences.stored_bytes().value_or(std::uint64_t{1} << 28) / 2);
  const double prepared = seconds_since(begin);
  if (!count_text(sequences, counter)) {
    counter.clear();
    count_letters(sequences, options.k, counter);
  }
  if (counter.known().full != 0) throw Error("a k-mer found no place in the GPU's table");

  Counts counts;
  counts.total = counter.known().total;
  counts.statistics.pairs = counter.known().different;
  counts.statistics.bytes_nodes = counter.bytes();
  counts.description = "a hash table of k-mers on the GPU, which finds lines and words";
  const auto counted = Clock::now();
  // Where there is no database, those words come back alone that may be listed.
  KmerOptions listing_options = options;
  std::uint64_t least = 1, many = counts.statistics.pairs;
  const std::uint64_t most = greatest_count(options.counter_bits);
  if (!writer && options.histogram < kMostBins) {
    const auto bins = counter.how_often(
        static_cast<std::uint32_t>(std::max<std::size_t>(options.histogram + 2, kLeastBins)));
    listing_options.histogram = 0;
    counts.histogram.resize(options.histogram);
    for (std::size_t count = 1; count < bins.size() && options.histogram > 0; ++count)
      counts.histogram[std::min<std::uint64_t>({count, most, options.histogram}) - 1] += bins[count];
    least = bins.size() - 1;
    // Those that came as often as the last one listed or more often; counts that end at `most` are equal.
    for (many = bins[least];
         least > options.least && (options.top == 0 || many < options.top || least > most);)
      many += bins[--least];
  }
  KmerListing<Word> listing(listing_options);
  std::mutex listed;
  std::optional<KmerSorter<Word>> sorter;
  if (writer) sorter.emplace(options.k, counts.total, options.most_memory, options.scratch);
  counter.for_each(least, many, [&](std::span<KmerOf<Word>> words) {
    KmerListing<Word> part(listing_options);
    for (KmerOf<Word>& word : words) word.count = std::min(word.count, most);
    part.add(std::span<const KmerOf<Word>>(words), most);
    if (sorter) sorter->add(words);
    const std::lock_guard lock(listed);
    listing.add(part);
  });
  const double exporting = seconds_since(counted);
  if (writer) {
    sorter->write(*writer);
    writer->finish();
  }
  std::vector<std::uint64_t> histogram = std::move(counts.histogram);
  listing.finish(counts);
  if (listing_options.histogram != options.histogram) counts.histogram = std::move(histogram);
  counts.seconds = seconds_since(begin);
  if (log_enabled(LogLevel::info)) {
    const Timeline& spent = counter.timeline;
    log(LogLevel::info,
        fmt::format(
            "{:.3f} s: preparing {:.3f}, reading {:.3f}, waiting for the GPU {:.3f}, growing {:.3f}, counted words back {:.3f}; "
            "beside that the GPU copied for {:.3f}, kernels ran for {:.3f}",
            counts.seconds, prepared, spent.reading, spent.waiting, spent.growing, exporting, spent.copying,
            spent.kernels));
  }
  return counts;
}

}  // namespace warploom::table
