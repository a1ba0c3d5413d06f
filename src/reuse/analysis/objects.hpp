#pragma once

#include <bitset>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "warploom/ptx/cfg.hpp"
#include "warploom/ptx/values.hpp"

namespace warploom::reuse {

using ptx::kNone;
using ptx::number_values;
using ptx::Value;
using ptx::Values;

inline constexpr std::size_t kMaxObjects = 256;
using ObjectSet = std::bitset<kMaxObjects>;

/// A reason, and the PTX line that gives it (0: none).
struct Reason {
  std::string text;
  std::uint32_t line = 0;
};

/// One shared-memory variable that the kernel names, or a part of one (parts.hpp).
struct Object {
  std::uint32_t variable = kNone;  ///< Module::variables
  bool part = false;
  std::uint64_t begin = 0;  ///< of a part: where it begins in the variable, rounded down to 16 [bytes]
  std::uint32_t lead = 0;   ///< and how far behind that its first byte is
  std::uint64_t bytes = 0;
  std::string formula =
      {};  ///< of a part where the launch decides: its place, and the numbers are an example's
  std::uint32_t alignment = 16;    ///< at least 16, since kernels access wider than they declare [bytes]
  bool dynamic = false;            ///< extern .shared: sized at launch
  bool divisible = false;          ///< dynamic, and pinned for nothing else: its parts may move in it
  std::optional<Reason> pinned;    ///< why it keeps storage of its own
  std::optional<Reason> obstacle;  ///< of that what the user may change or vouch for
};

/// What an instruction only begins: it goes on until a wait for its group (flights.hpp).
enum class Flight : std::uint8_t {
  none,
  copy,     ///< cp.async, which stores: cp.async.wait_group, cp.async.wait_all
  bulk,     ///< a bulk copy from shared memory, which reads: cp.async.bulk.wait_group
  product,  ///< wgmma.mma_async, which reads: wgmma.wait_group
  load,     ///< a bulk copy to shared memory, which stores: its mbarrier tells when it is over
};

/// One instruction that reads or writes shared objects.
struct Access {
  std::uint32_t instruction = 0;
  ObjectSet objects;  ///< it touches one of these
  bool read = false, write = false;
  std::uint32_t bytes = 0;        ///< width; 0: not known (matrix loads)
  std::uint32_t address = kNone;  ///< operand index of the address; kNone: none names it
  Flight flight = Flight::none;
  std::uint32_t mbarrier = kNone;  ///< of Flight::load: the variable that holds it, which keeps its storage
  bool landing = false;            ///< the wait for flights: these objects' may have gone on until here
};

/// One of the two is accessed while a flight of the other is under way.
struct MetInFlight {
  std::uint32_t flying = 0, other = 0;  ///< objects
  std::uint32_t instruction = 0;        ///< the access of the other
  bool proxy = false;  ///< or before: no fence.proxy.async keeps it from a flight that stores later
};

/// What an instruction does with an mbarrier.
struct MbarrierStep {
  enum What : std::uint8_t {
    init,
    inval,
    arrive,         ///< gives a token
    copies_arrive,  ///< when the thread's cp.async so far are over
    wait,           ///< asks whether a phase is over
    other
  } what = other;
  std::uint32_t instruction = 0, object = 0;
  std::uint32_t address = kNone;  ///< operand
  std::int64_t place = -1;        ///< of the mbarrier in the object [bytes]; -1: not known
};

/// A statement of the programmer in the source, WARPLOOM_DEAD(array): what it held is not read again.
struct Marker {
  std::uint32_t instruction = 0;
  std::uint32_t object = 0;
};

/// Which shared objects each register may point into, and what the kernel does with them.
struct SharedUse {
  std::vector<Object> objects;         ///< in order of declaration
  std::vector<Access> accesses;        ///< in order of the text
  std::vector<ObjectSet> points_into;  ///< per value
  std::vector<Marker> dead;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> compared;  ///< addresses compared: may not coincide
  std::vector<MetInFlight> in_flight;
  std::vector<MbarrierStep> mbarriers;  ///< in order of the text
  std::optional<Reason> refusal;        ///< the kernel as a whole cannot be analysed
  bool inserts_allowed = true;          ///< false: partial barriers or unknown callees; see `no_insert`
  std::optional<Reason> no_insert;
};

/// `whole_program`: nothing else is linked with the module, so what is visible is used here alone.
SharedUse find_shared_use(const ptx::Cfg& cfg, const Values& values, bool whole_program = false);

/// A function of the system, without a body: it neither synchronises nor touches the caller's shared memory.
bool is_harmless_callee(std::string_view name);

}  // namespace warploom::reuse
