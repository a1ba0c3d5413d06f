#pragma once

#include "warploom/imaging/denoise_workflow.hpp"

namespace warploom::tool {

using imaging::DenoiseInput;
using imaging::ImageKind;
using imaging::SeriesFacts;

}  // namespace warploom::tool
