#pragma once

#include <string>
#include <vector>

#include "reuse/analysis/privacy.hpp"
#include "reuse/rewrite/plan.hpp"

/// The passes' data as text, for --dump-after. One line an item, PTX lines as positions.
namespace warploom::reuse {

std::string dump_cfg(const Kernel& kernel);
std::string dump_values(const Kernel& kernel);
std::string dump_provenance(const Kernel& kernel);
std::string dump_uniformity(const Kernel& kernel);
std::string dump_parts(const Kernel& kernel);
std::string dump_dead_points(const Kernel& kernel, const std::vector<DeadPoint>& dead,
                             const std::vector<NotPrivate>& failures);
std::string dump_liveness(const Kernel& kernel, const Liveness& liveness);
std::string dump_interference(const Kernel& kernel, const Interference& interference);
std::string dump_plan(const Kernel& kernel, const Plan& plan);

}  // namespace warploom::reuse
