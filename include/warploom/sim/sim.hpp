#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "warploom/core/error.hpp"
#include "warploom/core/run.hpp"
#include "warploom/ptx/module.hpp"

/// A GPU in software: it runs the kernels of a PTX module on the CPU, a warp at a time, and reports what a
/// kernel may not do: races, accesses out of bounds, reads of what nobody wrote, barriers that not all reach.
///
///   sim::Machine machine(ptx::parse(text, "k.ptx"));
///   const sim::Address x = machine.upload(std::span(values));
///   sim::Arguments arguments;
///   arguments.add(x).add(std::uint32_t(values.size()));
///   const sim::Outcome outcome = machine.launch("scale", arguments, {.grid = {4}, .block = {256}});
///   if (outcome.clean()) machine.download(x, std::span(values));
namespace warploom::sim {

/// A generic device address, as a kernel sees it. 0 is no allocation's.
using Address = std::uint64_t;

/// Which of the threads that can run does so next.
enum class Schedule : std::uint8_t {
  in_order,     ///< the first warp until it waits, then the next
  random,       ///< any group of threads of a warp, for a random number of instructions
  adversarial,  ///< another group at every access to shared or global memory; warps split at random
};
std::string_view name(Schedule schedule);

struct Dim {
  std::uint32_t x = 1, y = 1, z = 1;
  std::uint64_t count() const { return std::uint64_t{x} * y * z; }
};

struct LaunchOptions {
  Dim grid{}, block{};
  Dim cluster{};  ///< blocks of a cluster, at most 16; 1 x 1 x 1: what the kernel requires, or none
  std::uint32_t dynamic_shared = 0;  ///< of the extern array [bytes]
  Schedule schedule = Schedule::in_order;
  std::uint64_t seed = 1;  ///< of Schedule::random and adversarial, and of what shared memory holds at first
  bool races = false;      ///< look for races in shared and global memory; about twice the time
  /// A load of shared memory that nobody wrote is a finding even if nothing comes of its value, unless the
  /// address is a constant: compilers move only such loads ahead of their condition. What `reuse` assumes of
  /// a kernel.
  bool strict_initialisation = false;
  /// Blocks run on its threads. Kernels whose blocks can see each other's global
  /// writes (by atomics with a result, or by volatile, relaxed or acquiring loads) run on one, their blocks
  /// interleaved. What a launch does and reports does not depend on this number.
  Run run = {};
  /// Blocks that are in flight together where blocks see each other (above); 0: all, up to 1024; at most
  /// 65536.
  std::uint32_t resident_blocks = 0;
  /// Of all threads together, at least 1; more is a finding. Looked at every so many steps of a warp and
  /// after each block, so that a launch stops within 3.2 million instructions, or one step of each warp,
  /// beyond it.
  std::uint64_t max_instructions = 100'000'000'000;
};

enum class FindingKind : std::uint8_t {
  race,                ///< two accesses, one a write, that nothing orders
  out_of_bounds,       ///< no variable or allocation holds all bytes of the access
  misaligned,          ///< the address is no multiple of the access's size
  uninitialised,       ///< shared memory nobody wrote decides a branch, an address or a result
  barrier_divergence,  ///< threads of one warp wait at different aligned barriers, or a wrong count
  deadlock,            ///< all threads that are left wait
  illegal,    ///< an operand has no meaning: a shuffle or mask without its own thread, a bad barrier number
  assertion,  ///< the kernel's assert() failed
  trap,       ///< the kernel executed trap or brkpt
  endless,    ///< more than max_instructions
  proxy,      ///< an asynchronous access after an ordinary write without fence.proxy.async in between
};
std::string_view name(FindingKind kind);

/// One access or wait, where a finding stands.
struct Site {
  std::uint32_t ptx_line = 0;
  std::string file = {};   ///< of the source, from .loc; empty without line information
  std::uint32_t line = 0;  ///< of the source
  std::array<std::uint32_t, 3> block{}, thread{};
  std::string what = {};  ///< "write of 4 bytes", "atomic add of 4 bytes", "barrier 0"
};

struct Finding {
  FindingKind kind = FindingKind::race;
  std::string module = {};  ///< ptx::Module::file
  std::string kernel = {};
  Site site = {};
  std::optional<Site> other = {};  ///< of a race: the earlier access; of a divergence: a thread elsewhere
  std::string where = {};   ///< the memory: "shared array tile, byte 128", "argument 0 (out), byte 4096"
  std::uint64_t count = 1;  ///< how often, at these two instructions
  /// "k.ptx:31 (k.cu:12): race: ...": one or two lines, complete.
  std::string text() const;
};

struct Outcome {
  /// One for each kind and pair of instructions, in order of first appearance; at most 100 kinds are kept.
  std::vector<Finding> findings = {};
  bool completed = true;  ///< false: stopped at a finding that ends a kernel (all but race and uninitialised)
  std::string printed = {};  ///< by vprintf, block after block
  std::uint64_t thread_instructions = 0;
  std::uint64_t warp_instructions = 0;
  std::uint64_t barriers = 0;  ///< completed, of all blocks
  std::uint64_t divergent_branches = 0;
  std::uint32_t static_shared = 0;  ///< of one block [bytes]
  unsigned cpu_threads = 1;         ///< that ran it
  bool clean() const { return findings.empty(); }
};

/// Values for a kernel's parameters, in order. Sizes are checked at launch.
class Arguments {
 public:
  template <typename T>
  requires std::is_trivially_copyable_v<T> Arguments& add(const T& value) {
    return add_bytes(std::as_bytes(std::span(&value, 1)));
  }
  Arguments& add_bytes(std::span<const std::byte> value) {
    values_.emplace_back(value.begin(), value.end());
    return *this;
  }
  const std::vector<std::vector<std::byte>>& values() const { return values_; }

 private:
  std::vector<std::vector<std::byte>> values_;
};

/// A thread reached an instruction, or a form of one, that the simulator does not know; code that no thread
/// reaches may hold any. "k.ptx:31: kernel 'k': the simulator has no wgmma.mma_async.sync.aligned...".
class Unsupported : public BadInput {
 public:
  using BadInput::BadInput;
};

/// One module loaded on one simulated GPU: memory, and kernels to launch. Not for use from several threads
/// at once. Methods of one that was moved from throw BadInput. Memory stays as a launch left it. Launches are
/// ordered: the next sees all that the last wrote.
class Machine {
 public:
  /// Takes the module; variables in .global and .const space get storage and their initial values.
  /// @throws BadInput (32-bit addresses, an initialiser it cannot read)
  explicit Machine(ptx::Module module);
  Machine(Machine&&) noexcept;
  Machine& operator=(Machine&&) noexcept;
  ~Machine();

  const ptx::Module& module() const;

  /// Zeroed memory, 256-byte aligned, with a gap after it that nothing may touch. `label` names it in
  /// findings. @throws OutOfMemory
  Address allocate(std::uint64_t bytes, std::string label = "");
  /// @throws BadInput when it is no allocation's first byte
  void free(Address address);
  /// @throws BadInput when the range is not within one allocation
  void copy_to_device(Address to, std::span<const std::byte> from);
  void copy_from_device(std::span<std::byte> to, Address from) const;
  /// Address of a .global or .const variable. @throws BadInput
  Address variable(std::string_view name) const;

  template <typename T>
  Address upload(std::span<T> values, std::string label = "") {
    const Address address = allocate(values.size_bytes(), std::move(label));
    copy_to_device(address, std::as_bytes(values));
    return address;
  }
  template <typename T>
  void download(Address from, std::span<T> values) const {
    copy_from_device(std::as_writable_bytes(values), from);
  }

  /// Runs a kernel to its end or to a finding that ends it. Deterministic: equal calls on equal memory
  /// give equal memory and findings, on any number of CPU threads.
  /// @param kernel  name in the PTX
  /// @throws BadInput (no such kernel, count or size of the arguments, launch limits), Unsupported (memory
  ///         is then as the threads left it), OutOfMemory, Interrupted
  Outcome launch(std::string_view kernel, const Arguments& arguments, const LaunchOptions& options);

 private:
  struct State;
  State& state() const;
  std::unique_ptr<State> state_;
};

}  // namespace warploom::sim
