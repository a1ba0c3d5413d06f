#include "fuzz/optimizer_fuzz_workers.hpp"

#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <memory>
#include <thread>

#include "warploom/core/error.hpp"

namespace warploom::fuzz {
namespace {

using Clock = std::chrono::steady_clock;
using oracle::RandomKernel;

constexpr std::uint64_t kChunk = 16;      ///< seeds that a worker takes at once
constexpr std::size_t kMaxFailures = 64;  ///< kept; more are only counted
constexpr std::chrono::seconds kTooLong{30};

double since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

struct FailureSlot {
  std::uint64_t seed;
  std::array<char, 128> kind;
};

/// Of one worker, in memory that it shares with its parent.
struct Slot {
  std::atomic<std::uint64_t> seed;  ///< at work
  std::atomic<std::uint64_t> end;   ///< of its chunk
  std::atomic<std::int64_t> began;  ///< ticks of Clock
  Tally tally;
};

struct Shared {
  std::atomic<std::uint64_t> next;
  std::atomic<bool> stop;
  std::atomic<std::uint32_t> taken, failures;  ///< slots given out, and filled
  std::array<FailureSlot, kMaxFailures> failure;

  void fail(std::uint64_t seed, const std::string& kind) {
    const std::uint32_t at = taken++;
    if (at >= kMaxFailures) return;
    failure[at].seed = seed;
    std::strncpy(failure[at].kind.data(), kind.c_str(), failure[at].kind.size() - 1);
    while (failures != at) std::this_thread::yield();  // those before are filled
    failures = at + 1;
  }
};

/// Zeroed memory that child processes share.
template <class T>
T* share(std::size_t count) {
  void* at = mmap(nullptr, count * sizeof(T), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (at == MAP_FAILED) throw OutOfMemory("no memory to share with child processes");
  return static_cast<T*>(at);
}

volatile std::sig_atomic_t interrupted = 0;
void interrupt(int) { interrupted = 1; }

class Workers {
 public:
  Workers(const Job& job, const Optimizer& optimizer)
      : job_(job), optimizer_(optimizer), end_(job.count == 0 ? ~std::uint64_t{0} : job.from + job.count) {
    shared_ = share<Shared>(1);
    slots_ = share<Slot>(job.jobs);
    shared_->next = job.from;
  }
  ~Workers() {
    munmap(shared_, sizeof(Shared));
    munmap(slots_, sizeof(Slot) * job_.jobs);
  }
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  Findings run() {
    interrupted = 0;
    const auto before = std::signal(SIGINT, interrupt);
    for (unsigned w = 0; w < job_.jobs; ++w) pids_.push_back(start(w));
    while (std::any_of(pids_.begin(), pids_.end(), [](pid_t p) { return p != 0; })) {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      if (interrupted != 0 || (job_.seconds > 0 && since(start_) > job_.seconds)) shared_->stop = true;
      for (unsigned w = 0; w < job_.jobs; ++w) look_after(w);
      report();
      if (job_.progress) show();
    }
    report();
    if (job_.progress) std::fputc('\n', stderr);
    std::signal(SIGINT, before);
    return findings();
  }

 private:
  pid_t start(unsigned w) {
    std::fflush(nullptr);
    slots_[w].began = Clock::now().time_since_epoch().count();
    const pid_t pid = fork();
    if (pid < 0) throw OutOfMemory("no further process can be started");
    if (pid > 0) return pid;
    std::signal(SIGINT, SIG_IGN);  // the parent says when to stop
    try {
      work(slots_[w]);
    } catch (...) {  // nothing may go on in the parent's place
      _exit(1);
    }
    _exit(0);
  }

  void work(Slot& slot) {
    for (;;) {
      for (std::uint64_t seed = slot.seed; seed < slot.end; slot.seed = ++seed) {
        slot.began = Clock::now().time_since_epoch().count();
        const RandomKernel kernel = oracle::random_kernel(seed);
        const Judgement judgement = judge(kernel, ways(seed, kernel), optimizer_);
        slot.tally.add(kernel, judgement);
        if (judgement.verdict == Verdict::wrong) shared_->fail(seed, judgement.kind);
      }
      if (shared_->stop) return;
      const std::uint64_t begin = shared_->next.fetch_add(kChunk);
      if (begin >= end_) return;
      slot.end = std::min(begin + kChunk, end_);
      slot.seed = begin;
    }
  }

  void look_after(unsigned w) {
    if (pids_[w] == 0) return;
    int status = 0;
    if (waitpid(pids_[w], &status, WNOHANG) != pids_[w]) {
      const Clock::time_point began{Clock::duration(slots_[w].began.load())};
      if (Clock::now() - began > kTooLong) kill(pids_[w], SIGKILL);
      return;
    }
    pids_[w] = 0;
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return;
    const bool killed = WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
    Slot& slot = slots_[w];
    shared_->fail(slot.seed, killed ? "endless"
                             : WIFSIGNALED(status)
                                 ? fmt::format("a crash, signal {}", WTERMSIG(status))
                                 : fmt::format("a crash, exit code {}", WEXITSTATUS(status)));
    ++slot.tally.kernels;
    ++slot.tally.wrong;
    ++slot.seed;
    pids_[w] = start(w);
  }

  void show() const {
    const Tally t = tally();
    fmt::print(stderr, "\r{} kernels, {:.0f} a second, {} wrong ", t.kernels,
               static_cast<double>(t.kernels) / since(start_), t.wrong);
    std::fflush(stderr);
  }

  Tally tally() const {
    Tally sum;
    for (unsigned w = 0; w < job_.jobs; ++w) sum += slots_[w].tally;
    return sum;
  }

  std::uint32_t kept() const { return std::min<std::uint32_t>(shared_->failures, kMaxFailures); }
  Failure failure(std::uint32_t k) const {
    return {shared_->failure[k].seed, shared_->failure[k].kind.data()};
  }

  void report() {
    for (; reported_ < kept(); ++reported_)
      if (job_.failed) job_.failed(failure(reported_));
  }

  Findings findings() const {
    Findings all{std::min(shared_->next.load(), end_), since(start_), tally(), {}};
    for (std::uint32_t k = 0; k < kept(); ++k) all.failures.push_back(failure(k));
    return all;
  }

  const Job& job_;
  const Optimizer& optimizer_;
  std::uint64_t end_;
  Clock::time_point start_ = Clock::now();
  Shared* shared_;
  Slot* slots_;
  std::vector<pid_t> pids_;
  std::uint32_t reported_ = 0;
};

void put(int to, const std::string& text) {
  const auto size = static_cast<std::uint64_t>(text.size());
  std::string bytes(reinterpret_cast<const char*>(&size), sizeof size);
  bytes += text;
  for (std::size_t at = 0; at < bytes.size();) {
    const ssize_t written = write(to, bytes.data() + at, bytes.size() - at);
    if (written <= 0) _exit(1);
    at += static_cast<std::size_t>(written);
  }
}

}  // namespace

void Tally::add(const RandomKernel& kernel, const Judgement& judgement) {
  ++kernels;
  outside_contract += judgement.verdict == Verdict::outside_contract;
  wrong += judgement.verdict == Verdict::wrong;
  rewritten += judgement.any_rewritten;
  barrier_inserted += judgement.barrier_inserted;
  runs += judgement.runs;
  for (std::size_t f = 0; f < features.size(); ++f)
    features[f] += kernel.has(static_cast<oracle::Feature>(f));
}

Tally& Tally::operator+=(const Tally& other) {
  kernels += other.kernels, outside_contract += other.outside_contract, rewritten += other.rewritten;
  barrier_inserted += other.barrier_inserted, wrong += other.wrong, runs += other.runs;
  for (std::size_t f = 0; f < features.size(); ++f) features[f] += other.features[f];
  return *this;
}

Findings judge_all(const Job& job, const Optimizer& optimizer) { return Workers(job, optimizer).run(); }

Judgement judge_apart(const RandomKernel& kernel, const std::vector<Way>& ways, const Optimizer& optimizer) {
  std::array<int, 2> ends{};
  if (pipe(ends.data()) != 0) throw OutOfMemory("no further pipe can be opened");
  std::fflush(nullptr);
  const pid_t pid = fork();
  if (pid < 0) throw OutOfMemory("no further process can be started");
  if (pid == 0) {
    close(ends[0]);
    alarm(static_cast<unsigned>(kTooLong.count()));
    Judgement j;
    try {
      j = judge(kernel, ways, optimizer);
    } catch (...) {  // nothing may go on in the parent's place
      _exit(1);
    }
    put(ends[1], fmt::format("{} {}", static_cast<int>(j.verdict), j.way ? static_cast<int>(*j.way) : -1));
    for (const std::string* text : {&j.kind, &j.detail, &j.rewritten}) put(ends[1], *text);
    _exit(0);
  }
  close(ends[1]);
  std::string bytes;
  std::array<char, 4096> buffer{};
  for (ssize_t got = 0; (got = read(ends[0], buffer.data(), buffer.size())) > 0;)
    bytes.append(buffer.data(), static_cast<std::size_t>(got));
  close(ends[0]);
  int status = 0;
  waitpid(pid, &status, 0);

  Judgement j;
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
    j.verdict = Verdict::wrong;
    j.kind = !WIFSIGNALED(status)          ? fmt::format("a crash, exit code {}", WEXITSTATUS(status))
             : WTERMSIG(status) == SIGALRM ? "endless"
                                           : fmt::format("a crash, signal {}", WTERMSIG(status));
    return j;
  }
  std::size_t at = 0;
  const auto get = [&] {
    std::uint64_t size = 0;
    std::memcpy(&size, bytes.data() + at, sizeof size);
    at += sizeof size + size;
    return bytes.substr(at - size, size);
  };
  int verdict = 0, way = -1;
  std::sscanf(get().c_str(), "%d %d", &verdict, &way);
  j.verdict = static_cast<Verdict>(verdict);
  if (way >= 0) j.way = static_cast<std::size_t>(way);
  j.kind = get(), j.detail = get(), j.rewritten = get();
  return j;
}

}  // namespace warploom::fuzz
