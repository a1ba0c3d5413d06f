#pragma once

#include <string>
#include <vector>

#include "warploom/imaging/image.hpp"
#include "warploom/page/html.hpp"
#include "warploom/registration/folding.hpp"

namespace warploom::tool {

/// "128 x 150 x 128 voxels", "320 x 240 pixels"
std::string size_text(const imaging::Grid& grid);

/// The tiles at the top of a registration's page: the fixed image's voxels, what else there is to say,
/// folding.
std::string page_facts(const imaging::Grid& fixed, const std::vector<page::Fact>& more,
                       const registration::FoldCertificate& certificate);

}  // namespace warploom::tool
