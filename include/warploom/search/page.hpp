#pragma once

#include <span>
#include <string>
#include <vector>

#include "warploom/io/recording.hpp"
#include "warploom/search/find.hpp"

namespace warploom::search {

/// A search of one recording, as its page shows it.
struct SearchPage {
  const io::Recording* recording =
      nullptr;  ///< as searched: resampled, filtered; channels of one rate and length
  std::span<const Query> queries = {};
  const Found* found = nullptr;
  std::vector<std::string> query_sources =
      {};  ///< [queries] "walk.csv, 12.4 s to 14.1 s"; what is missing is not said
  std::vector<std::string> settings = {};          ///< "band 0.05", for the foot of the page
  Normalization normalization = Normalization::z;  ///< curves are laid over each other like this
  FindOptions options = {};                        ///< the parts and rotations that were searched
};

/// One self-contained HTML page: the recording as an overview that can be zoomed (the samples thinned to
/// minima and maxima where there are many), ranked matches and annotations as boxes in it, a ranked table,
/// and for each match the query laid over the recording channel by channel, lags, switched and negated
/// channels and missing ones drawn. Names and labels may hold anything. Size: at most about 2 MB, whatever
/// the recording's length; the page says what it leaves out for that. Cost: a few passes over the recording.
/// @throws BadInput (no recording or no result, channels of unequal length, matches of queries, channels,
///         rotations or parts that are not there, or far from the recording; a rate that is none)
std::string search_page(const SearchPage& page);

}  // namespace warploom::search
