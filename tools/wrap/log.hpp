#pragma once

#include <string>
#include <string_view>

#include "warploom/reuse/reuse.hpp"

/// $WARPLOOM_LOG: one line of JSON for each kernel with shared memory that a build compiles, so that
/// `warploom wrap --summary LOG` can tell of the whole build.
namespace warploom::tool {

/// Appends a line for each kernel. Does nothing without $WARPLOOM_LOG; one write a call, so that the
/// compilations of a parallel build do not mix their lines.
void log_kernels(const std::string& source, const reuse::Report& report);
/// The same for a module that was passed through as a whole.
/// @param verdict  "untouched", or "failed" if it is our fault
void log_module(const std::string& source, std::string_view verdict, const std::string& reason);

/// A text for people, or JSON, on a whole log. Of several lines on the same kernel the last counts.
std::string summary(const std::string& log, bool json);

}  // namespace warploom::tool
