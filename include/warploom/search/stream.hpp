#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "warploom/search/find.hpp"
#include "warploom/search/match.hpp"
#include "warploom/search/recordings.hpp"

namespace warploom::search {

/// Search in samples as they come. Matches are those of a threshold, not of a rank, so that each is decided
/// by what is near it:
///
/// * A candidate of a pair of channels is an offset whose distance (of the nearest pattern: scale, sign) is
///   at most FindOptions::max_distance and the least within the exclusion zone on both sides; of equal ones
///   the earlier.
/// * M(t) is the best matching that begins with a candidate at t, as in assemble(); none if it has fewer than
///   min_channels.
/// * M(t) is a match unless a better one, by ranked_before(), begins within the exclusion zone: be that one a
///   match or kept from it by a still better one on its other side.
///
/// This differs from find() where places crowd: there, the best of all is chosen first, and what it excludes
/// excludes nothing itself. Zones and the lag are those of find(); limit, candidates and significance do not
/// apply.
///
/// What comes out does not depend on how the samples are cut into pushes. Memory does not grow with the
/// samples pushed: at most about delay() samples of each channel are held, and as many places of each pair.
/// Methods of one that was moved from throw BadInput.
class Stream {
 public:
  /// @param channels  of the recording
  /// @param query     copied
  /// @throws BadInput as find(); no max_distance; `exhaust`, which needs a rank
  Stream(std::int32_t channels, const Query& query, const FindOptions& options,
         const IndexOptions& index_options = {});
  Stream(Stream&&) noexcept;
  Stream& operator=(Stream&&) noexcept;
  ~Stream();

  /// @param samples  of each channel, as many as one likes, of all equally many; NaN: missing. Not kept
  /// @return matches that are now certain, by their begin; offsets count from the first sample ever pushed
  /// @throws BadInput (other channels, unequally many samples, after finish()), NoDevice, Interrupted
  /// Cost: that of Index::best() for all pairs, in blocks of half a query.
  std::vector<Match> push(const Signal& samples);
  /// Those that waited for samples which will not come. Nothing can be pushed afterwards.
  std::vector<Match> finish();

  /// A match that begins at t is out once t + delay() samples have been pushed: twice the exclusion zone, the
  /// lag, the longest pattern and a block, which with the defaults is three times the query's length.
  /// [samples]
  std::int64_t delay() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Stream for lines of text, a line a sample: fields separated by what the first line has of comma, semicolon
/// or tab, else by blanks; its header, if it is one, names the channels. An empty field is a missing sample.
/// Methods of one that was moved from throw BadInput.
class LineStream {
 public:
  /// @param reading  heeds rate, select and time_column, whose column is left out
  /// @param name     for messages, "<stdin>", which write options as those of recordings.hpp
  LineStream(RecordedQuery query, const SearchOptions& options, const io::RecordingOptions& reading,
             std::string name);
  LineStream(LineStream&&) noexcept;
  LineStream& operator=(LineStream&&) noexcept;
  ~LineStream();

  /// @return hits that are now certain, as Stream::push(), begun and ended as refine_boundaries() says in
  /// what came
  ///         until then; begins stay the exclusion apart: one gives way to those before it. Blank lines are
  ///         nothing
  /// @throws ParseError (fields that are no numbers, more or fewer than the first line has), BadInput (as
  ///         search_recording() and Stream), NoDevice, Interrupted
  std::vector<Hit> push(const std::string& line);
  /// Those that waited for lines which will not come.
  std::vector<Hit> finish();

  /// What is known of the recording: its rate and channels, once there was a line.
  const SearchResult& recording() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace warploom::search
