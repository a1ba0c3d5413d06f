#include "mpi/ranks.hpp"

#include "warploom/core/error.hpp"

#ifdef WARPLOOM_HAVE_MPI
#include <mpi.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <thread>
#include <utility>
#include <vector>

#include "warploom/core/progress.hpp"
#endif

namespace warploom::tool {

#ifdef WARPLOOM_HAVE_MPI
namespace {

/// Errors of MPI itself end all processes: that is its default.
class MpiRanks : public Ranks {
 public:
  MpiRanks() {
    int begun = 0;
    MPI_Initialized(&begun);
    if (begun != 0) throw BadInput("--mpi is of one run; a cohort shares its items out without MPI");
    int provided = 0;
    MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided);
    if (provided < MPI_THREAD_FUNNELED) throw BadInput("this MPI knows no threads; take one that does");
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    MPI_Comm_size(MPI_COMM_WORLD, &count_);
  }

  std::size_t rank() const override { return static_cast<std::size_t>(rank_); }
  std::size_t count() const override { return static_cast<std::size_t>(count_); }

  std::vector<std::string> exchange(std::vector<std::string> to) override {
    std::vector<std::uint64_t> sent(count()), comes(count());
    for (std::size_t other = 0; other < count(); ++other) sent[other] = to[other].size();
    MPI_Request sizes;
    MPI_Ialltoall(sent.data(), 1, MPI_UINT64_T, comes.data(), 1, MPI_UINT64_T, MPI_COMM_WORLD, &sizes);
    wait({sizes});
    std::vector<std::string> from(count());
    from[rank()] = std::move(to[rank()]);
    std::vector<MPI_Request> open;
    for (int other = 0; other < count_; ++other) {
      if (other == rank_) continue;
      const auto at = static_cast<std::size_t>(other);
      from[at].resize(comes[at]);
      in_pieces(from[at], [&](char* begin, int bytes) {
        MPI_Irecv(begin, bytes, MPI_BYTE, other, 0, MPI_COMM_WORLD, &open.emplace_back());
      });
      in_pieces(to[at], [&](char* begin, int bytes) {
        MPI_Isend(begin, bytes, MPI_BYTE, other, 0, MPI_COMM_WORLD, &open.emplace_back());
      });
    }
    wait(std::move(open));
    return from;
  }

  void broadcast(std::size_t root, std::span<std::byte> bytes) override {
    in_pieces(bytes, [&](std::byte* begin, int count) {
      MPI_Request request;
      MPI_Ibcast(begin, count, MPI_BYTE, static_cast<int>(root), MPI_COMM_WORLD, &request);
      wait({request});
    });
  }

 private:
  /// MPI counts in int.
  template <class Bytes, class Take>
  static void in_pieces(Bytes& bytes, const Take& take) {
    constexpr std::size_t kPiece = std::size_t{1} << 30;
    for (std::size_t begin = 0; begin < bytes.size(); begin += kPiece)
      take(bytes.data() + begin, static_cast<int>(std::min(kPiece, bytes.size() - begin)));
  }

  /// MPI's own waiting does not hear Ctrl-C, and takes a whole processor.
  static void wait(std::vector<MPI_Request> open) {
    constexpr int kSpins = 2000;
    for (int spins = 0;; ++spins) {
      int done = 0;
      MPI_Testall(static_cast<int>(open.size()), open.data(), &done, MPI_STATUSES_IGNORE);
      if (done != 0) return;
      if (spins < kSpins) {
        std::this_thread::yield();
      } else {
        check_interrupt();
        std::this_thread::sleep_for(std::chrono::microseconds(50));
      }
    }
  }

  int rank_ = 0, count_ = 1;
};

}  // namespace

MpiRun::MpiRun(bool asked) {
  if (asked) ranks_ = std::make_shared<MpiRanks>();
}

void MpiRun::end() {
  if (ranks_ != nullptr) MPI_Finalize();
}

#else

MpiRun::MpiRun(bool asked) {
  if (asked) throw BadInput("--mpi: this warploom was built without MPI; configure with -DWARPLOOM_MPI=ON");
}
void MpiRun::end() {}

#endif

void add_mpi(Command& command, bool& mpi) {
  command.add(
      "--mpi", &mpi,
      "Share the problem among the processes that mpirun started, each with its part in its own memory; rank 0 "
      "writes the result");
}

}  // namespace warploom::tool
