#include <fmt/format.h>

#include "sim/block.hpp"

namespace warploom::sim {
namespace {

constexpr std::size_t kKept = 100;

std::array<std::uint32_t, 3> split(std::uint64_t number, const Dim& size) {
  return {static_cast<std::uint32_t>(number % size.x), static_cast<std::uint32_t>(number / size.x % size.y),
          static_cast<std::uint32_t>(number / size.x / size.y)};
}

}  // namespace

Site Findings::site(const Block& block, const Step& step, unsigned thread, std::string what) {
  const ptx::Module& module = *block.program->module;
  const ptx::Instruction& instruction = block.program->instruction(step);
  Site site;
  site.ptx_line = instruction.line;
  if (instruction.location != ptx::kNone) {
    const ptx::Location& location = module.locations[instruction.location];
    const auto file = module.files.find(location.file);
    if (file != module.files.end()) site.file = file->second;
    site.line = location.line;
  }
  site.block = block.index;
  site.thread = split(thread, block.size);
  site.what = std::move(what);
  return site;
}

void Findings::add(const Block& block, FindingKind kind, const Step& step, unsigned warp, unsigned lane,
                   std::string what, std::string where, std::optional<Site> other) {
  const std::uint32_t line = block.program->instruction(step).line;
  const auto [known, fresh] =
      known_.try_emplace({static_cast<std::uint64_t>(kind), line, other ? other->ptx_line : 0}, list_.size());
  if (!fresh) {
    if (known->second < list_.size()) ++list_[known->second].count;
    return;
  }
  if (list_.size() == kKept) {
    known->second = kKept;
    return;
  }
  Finding finding;
  finding.kind = kind;
  finding.module = block.program->module->file;
  finding.kernel = block.program->kernel->name;
  finding.site = site(block, step, warp * kLanes + lane, std::move(what));
  finding.other = std::move(other);
  finding.where = std::move(where);
  list_.push_back(std::move(finding));
}

}  // namespace warploom::sim
