#pragma once

#include "reuse/analysis/privacy.hpp"
#include "reuse/rewrite/plan.hpp"
#include "warploom/reuse/reuse.hpp"

/// From the passes' data to the report: source names, source lines, reasons in words.
namespace warploom::reuse {

/// The kernel's own source line of an instruction: of inlined code, where it was called from.
SourcePosition source_of(const Kernel& kernel, std::uint32_t instruction);
SourcePosition source_of_line(const Kernel& kernel, std::uint32_t ptx_line);

/// Name, position, block size, lines.
void describe_kernel(const ptx::Module& module, const ptx::Function& function, KernelReport& report);
/// What --assume-parts took for granted, a part a line.
void describe_assumed_parts(const Kernel& kernel, const Carving& carving, KernelReport& report);
/// What parts of the dynamic array could be overlaid, if it were proved that accesses keep to them.
void describe_suggestion(const Kernel& kernel, const Carving& carving, KernelReport& report);
DynamicFormula describe_formula(const Kernel& kernel, const Carving& carving, const CarvedPlan& plan);
void describe_objects(const Kernel& kernel, const Liveness& liveness, KernelReport& report);
void describe_interference(const Kernel& kernel, const Interference& interference, KernelReport& report);
/// Why each object shares or cannot, partitions, barriers.
void describe_plan(const Kernel& kernel, const Plan& plan, const Interference& interference,
                   const std::vector<NotPrivate>& failures, KernelReport& report);
/// What was taken for granted: uniform branches, no uninitialised reads, the block size, markers.
void describe_assumptions(const Kernel& kernel, const Plan& plan, const std::vector<DeadPoint>& dead,
                          bool promised_block, bool recorded, KernelReport& report);

}  // namespace warploom::reuse
