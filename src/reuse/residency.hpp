#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "warploom/ptx/module.hpp"
#include "warploom/reuse/reuse.hpp"

namespace warploom::reuse {

/// How many blocks of a kernel are resident on a multiprocessor, for every block size that it is launched
/// with as far as that is known: recorded launches, else .reqntid, else --block, else .maxntid. A smaller
/// block than .maxntid allows gains at least where the largest does, so the bound decides for all of them.
class Residency {
 public:
  Residency(const ptx::Function& kernel, const Options& options, const hw::Architecture& target,
            bool accelerated);

  /// Where the block sizes come from; unknown: they are kUsual, which decide nothing.
  Origin from() const { return from_; }
  bool known() const { return from_ != Origin::unknown; }
  /// The size that a proof may use: .reqntid, or --block where no recorded launch contradicts it.
  const std::optional<BlockShape>& block() const { return block_; }
  /// The only size of all recorded launches of a kernel that nothing else tells the size of: a proof that
  /// needs one may take it, if the output then takes no other (.reqntid).
  const std::optional<BlockShape>& recorded_block() const { return recorded_block_; }
  /// Of the only block size; 0: not known, or several.
  std::uint32_t threads() const { return known() && launches_.size() == 1 ? launches_[0].threads : 0; }

  /// What a kernel needs.
  struct Need {
    std::uint64_t bytes = 0;      ///< static
    std::uint32_t registers = 0;  ///< 0: not known
    bool dynamic_pool = false;    ///< the static bytes are passed at launch
    std::uint64_t dynamic = 0;    ///< [bytes], of launches that are not recorded; 0: as recorded
    bool for_all = false;         ///< of recorded ones, too
  };
  /// For each launch size, on `architecture`.
  std::vector<hw::Occupancy> on(const hw::Architecture& architecture, const Need& need) const;
  /// Blocks of each launch size on the target; 0 where it cannot launch.
  std::vector<std::uint32_t> blocks(const Need& need) const;
  /// The rows of a report. @throws Internal (not one entry a launch size)
  std::vector<ResidencyReport> report(const std::vector<hw::Occupancy>& before,
                                      const std::vector<hw::Occupancy>& after) const;

 private:
  struct Launch {
    std::uint32_t threads;
    std::uint64_t shared_dynamic;
    bool operator==(const Launch&) const = default;
  };
  std::vector<Launch> launches_;
  Origin from_ = Origin::unknown;
  std::optional<BlockShape> block_, recorded_block_;
  const hw::Architecture& target_;
  bool accelerated_;  ///< an sm_90a-like target takes static arrays as large as dynamic ones
};

/// More blocks for one launch size, and fewer for none.
bool more_resident(const std::vector<std::uint32_t>& before, const std::vector<std::uint32_t>& after);
/// At least as many for each.
bool as_many_resident(const std::vector<std::uint32_t>& wanted, const std::vector<std::uint32_t>& have);
/// "5 -> 7 blocks resident on sm_90"; of several sizes "5 -> 7 blocks of 128 threads and 3 -> 4 of 256
/// resident on sm_90".
std::string gain_text(const std::vector<ResidencyReport>& rows, std::string_view architecture);

}  // namespace warploom::reuse
