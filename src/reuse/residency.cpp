#include "reuse/residency.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "warploom/core/error.hpp"

namespace warploom::reuse {
namespace {

/// What people launch with; shown where the block size is not known.
constexpr std::array<std::uint32_t, 5> kUsual{64, 128, 256, 512, 1024};

std::uint32_t count(const BlockShape& shape) {
  const std::uint64_t threads = std::uint64_t{1} * shape[0] * shape[1] * shape[2];
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(threads, 0xffffffffu));
}

std::string from_to(std::uint32_t before, std::uint32_t after) {
  return before == after ? fmt::format("{}", before) : fmt::format("{} -> {}", before, after);
}

}  // namespace

Residency::Residency(const ptx::Function& kernel, const Options& options, const hw::Architecture& target,
                     bool accelerated)
    : target_(target), accelerated_(accelerated) {
  block_ = kernel.required_threads ? kernel.required_threads : options.block;
  bool one_size = !block_;
  for (const reuse::Launch& l : options.launches) {
    if (l.kernel != kernel.name) continue;
    one_size = one_size && (!recorded_block_ || *recorded_block_ == l.block);
    recorded_block_ = l.block;
    const Launch launch{count(l.block), l.shared_dynamic};
    if (std::ranges::find(launches_, launch) == launches_.end()) launches_.push_back(launch);
    // What is proved for --block would be false for this launch, which .reqntid would end besides.
    if (!kernel.required_threads && block_ && *block_ != l.block) block_.reset();
  }
  if (!one_size) recorded_block_.reset();
  if (!launches_.empty()) {
    from_ = Origin::recorded;
  } else if (block_) {
    from_ = kernel.required_threads ? Origin::required_threads : Origin::given;
    launches_ = {{count(*block_), 0}};
  } else if (kernel.maximal_threads) {
    from_ = Origin::maximal_threads;
    launches_ = {{count(*kernel.maximal_threads), 0}};
  } else {
    for (const std::uint32_t threads : kUsual) launches_.push_back({threads, 0});
  }
}

std::vector<hw::Occupancy> Residency::on(const hw::Architecture& architecture, const Need& need) const {
  const bool dynamic = need.dynamic_pool || accelerated_;
  std::vector<hw::Occupancy> out;
  for (const Launch& l : launches_) {
    const std::uint64_t passed =
        need.dynamic > 0 && (need.for_all || l.shared_dynamic == 0) ? need.dynamic : l.shared_dynamic;
    out.push_back(hw::occupancy(architecture, {.threads_per_block = std::max(l.threads, 1u),
                                               .registers_per_thread = need.registers,
                                               .shared_static = dynamic ? 0 : need.bytes,
                                               .shared_dynamic = passed + (dynamic ? need.bytes : 0)}));
  }
  return out;
}

std::vector<std::uint32_t> Residency::blocks(const Need& need) const {
  std::vector<std::uint32_t> out;
  for (const hw::Occupancy& o : on(target_, need)) out.push_back(o.blocks);
  return out;
}

std::vector<ResidencyReport> Residency::report(const std::vector<hw::Occupancy>& before,
                                               const std::vector<hw::Occupancy>& after) const {
  if (before.size() != launches_.size() || after.size() != launches_.size())
    throw Internal("residency: not one entry a launch size");
  std::vector<ResidencyReport> rows;
  for (std::size_t i = 0; i < launches_.size(); ++i)
    rows.push_back({launches_[i].threads, launches_[i].shared_dynamic, before[i], after[i]});
  return rows;
}

bool more_resident(const std::vector<std::uint32_t>& before, const std::vector<std::uint32_t>& after) {
  return as_many_resident(before, after) && before != after;
}

bool as_many_resident(const std::vector<std::uint32_t>& wanted, const std::vector<std::uint32_t>& have) {
  return std::ranges::equal(have, wanted, std::ranges::greater_equal{});
}

std::string gain_text(const std::vector<ResidencyReport>& rows, std::string_view architecture) {
  if (rows.size() == 1)
    return fmt::format("{} blocks resident on {}", from_to(rows[0].before.blocks, rows[0].after.blocks),
                       architecture);
  std::string text;
  for (std::size_t i = 0; i < rows.size(); ++i)
    text += fmt::format("{}{}{} of {} threads",
                        i == 0                 ? ""
                        : i + 1 == rows.size() ? " and "
                                               : ", ",
                        from_to(rows[i].before.blocks, rows[i].after.blocks), i == 0 ? " blocks" : "",
                        rows[i].threads);
  return fmt::format("{} resident on {}", text, architecture);
}

}  // namespace warploom::reuse
