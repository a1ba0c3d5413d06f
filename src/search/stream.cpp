#include "warploom/search/stream.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <limits>
#include <optional>
#include <utility>

#include "core/doors.hpp"
#include "core/one_caller.hpp"
#include "search/plan.hpp"
#include "search/turned.hpp"
#include "search/windows.hpp"
#include "warploom/core/error.hpp"
#include "warploom/core/log.hpp"
#include "warploom/core/parse.hpp"
#include "warploom/search/boundaries.hpp"
#include "warploom/signal/prepare.hpp"

namespace warploom::search {
namespace {

constexpr const char* kStream = "a stream";
constexpr std::int64_t kEnd = std::numeric_limits<std::int64_t>::max();

/// Finds the candidates of a pair among the places within the threshold, which come in the order of offsets.
class Minima {
 public:
  explicit Minima(std::int64_t exclusion) : exclusion_(exclusion) {}

  void add(const Candidate& place) { places_.push_back(place); }

  /// The candidates before `end`, each once. All places in the zone of the last have been added.
  std::vector<Candidate> take(std::int64_t end) {
    std::vector<Candidate> taken;
    for (; decided_ < places_.size() && places_[decided_].offset < end; ++decided_)
      if (least(decided_)) taken.push_back(places_[decided_]);
    while (decided_ > 0 && places_.front().offset < end - exclusion_) {
      places_.pop_front();
      --decided_;
    }
    return taken;
  }

 private:
  bool least(std::size_t k) const {
    const Candidate& place = places_[k];
    for (std::size_t j = k; j-- > 0 && place.offset - places_[j].offset <= exclusion_;)
      if (places_[j].distance <= place.distance) return false;
    for (std::size_t j = k + 1; j < places_.size() && places_[j].offset - place.offset <= exclusion_; ++j)
      if (places_[j].distance < place.distance) return false;
    return true;
  }

  std::int64_t exclusion_;
  std::deque<Candidate> places_;
  std::size_t decided_ = 0;  // of them
};

}  // namespace

/// Offsets are worked off in blocks that lie where they lie whatever is pushed, so that each distance is
/// always computed from the same samples in the same way. Of a block all places within the threshold are
/// asked for: what is farther can neither be a candidate nor keep another place from it.
struct Stream::State {
  OneCaller caller;
  State(std::int32_t recorded, const Query& given, const FindOptions& wanted,
        const IndexOptions& index_wanted);
  std::vector<Match> push(const Signal& pushed);
  std::vector<Match> finish();
  std::int64_t delay() const { return 2 * exclusion + assembling.max_lag + longest + block - 1; }

 private:
  void advance(std::int64_t end);
  void settle(std::int64_t certain, std::vector<Match>& out);
  void report(std::int64_t end, std::vector<Match>& out);

  const std::int32_t channels;
  std::vector<std::vector<float>> query_samples;
  Query query;  // views of them
  const FindOptions options;
  const IndexOptions index_options;
  Plan plan;
  AssembleOptions assembling;
  std::int64_t exclusion = 0;
  std::int64_t block = 0, longest = 0;  // offsets in a block; samples that a pattern reaches from its offset
  std::vector<Task> tasks;              // a group of patterns in a channel
  std::vector<Minima> minima;           // [tasks]

  std::int64_t kept = 0, received = 0;      // samples [kept, received)
  std::vector<std::vector<float>> samples;  // of each channel
  bool finished = false;
  std::int64_t next = 0;       // places are known before it,
  std::int64_t solved = 0;     // M(t) before this,
  std::int64_t reported = 0;   // and the matches that begin before this are out
  std::vector<Piece> pieces;   // from `solved` on
  std::vector<Match> matches;  // M(t) not out yet, or near such, by begin, then rank
};

Stream::State::State(std::int32_t recorded, const Query& given, const FindOptions& wanted,
                     const IndexOptions& index_wanted)
    : channels(recorded), query(given), options(wanted), index_options(index_wanted) {
  if (channels < 1) throw BadInput(fmt::format("a stream of {} channels: it needs at least one", channels));
  check_query(query, channels);
  check_options(options, query, channels);
  if (!options.max_distance)
    throw BadInput(
        "a stream needs max_distance: what is significant is not known before the recording's end");
  if (!options.exhaust.empty())
    throw BadInput(
        "a stream cannot search again with wider bands (exhaust): that is done for the best of all matches");
  for (std::span<const float>& channel : query.channels)
    channel = query_samples.emplace_back(channel.begin(), channel.end());
  plan = make_plan(query, options, options.band, index_options.normalization);
  if (plan.groups.empty())
    throw BadInput("all channels of the query are constant: there is no shape to look for");
  std::int64_t lead = 0;
  for (const Pattern& pattern : plan.patterns) {
    lead = std::max(lead, pattern.lead);
    longest = std::max(longest, pattern.lead + std::ssize(pattern.samples));
  }
  block = std::max<std::int64_t>(64, query.length() / 2);
  for (const Group& group : plan.groups)
    for (const std::int32_t channel :
         channels_for(query.places[plan.variant(group).query_channel], options, channels)) {
      Task task;
      task.channel = channel;
      task.first_pattern = group.first_pattern;
      task.patterns = group.patterns;
      task.limit = block;
      task.max_distance = static_cast<float>(*options.max_distance);
      tasks.push_back(task);
      minima.emplace_back(group.exclusion);
    }
  assembling = assemble_options(options, query, plan);
  exclusion = assembling.exclusion;
  assembling.exclusion = 0;  // every M(t) is wanted
  assembling.limit = kEnd;
  next = solved = reported = -lead;
  samples.resize(channels);
}

std::vector<Match> Stream::State::push(const Signal& pushed) {
  if (finished) throw BadInput("samples were pushed after finish(): begin another stream");
  if (std::ssize(pushed) != channels)
    throw BadInput(
        fmt::format("samples of {} channels were pushed to a stream of {}", pushed.size(), channels));
  for (const std::span<const float>& channel : pushed)
    if (channel.size() != pushed[0].size())
      throw BadInput(fmt::format("{} samples were pushed of one channel and {} of another: push equally many",
                                 pushed[0].size(), channel.size()));
  std::vector<Match> out;
  std::int64_t taken = 0;
  while (true) {
    // No more than the next block needs, so that a large push takes no memory.
    const std::int64_t needed = next + block - 1 + longest;
    const std::int64_t count = std::min(std::ssize(pushed[0]) - taken, needed - received);
    for (std::int32_t c = 0; c < channels; ++c) {
      const std::span<const float> some = pushed[c].subspan(taken, count);
      samples[c].insert(samples[c].end(), some.begin(), some.end());
    }
    taken += count;
    received += count;
    if (received < needed) break;
    advance(next + block);
    settle(next - exclusion, out);
  }
  return out;
}

std::vector<Match> Stream::State::finish() {
  if (finished) throw BadInput("a stream was finished twice");
  finished = true;
  std::int64_t end = next;
  for (const Pattern& pattern : plan.patterns)
    end = std::max(end, received - std::ssize(pattern.samples) - pattern.lead + 1);
  while (next < end) advance(std::min(next + block, end));
  std::vector<Match> out;
  settle(kEnd, out);
  return out;
}

/// Places of the offsets from `next` to `end`, whose windows begin where the samples kept do, or later.
void Stream::State::advance(std::int64_t end) {
  Signal signal;
  for (const std::vector<float>& channel : samples)
    signal.push_back(std::span(channel).first(std::min(received, end - 1 + longest) - kept));
  for (Task& task : tasks) {
    task.first = next - kept;
    task.last = end - kept;
  }
  std::vector<std::vector<Candidate>> places = Index(signal, index_options).best(plan.patterns, tasks);
  for (std::size_t t = 0; t < tasks.size(); ++t) {
    std::ranges::sort(places[t], {}, &Candidate::offset);
    for (const Candidate& place : places[t])
      minima[t].add({place.offset + kept, place.distance, place.pattern});
  }
  next = end;
  const std::int64_t drop = std::max(kept, next) - kept;
  for (std::vector<float>& channel : samples) channel.erase(channel.begin(), channel.begin() + drop);
  kept += drop;
}

/// With all candidates before `certain` known: M(t) as far as it depends on no others, then the matches as
/// far as they depend on no other M(t).
void Stream::State::settle(std::int64_t certain, std::vector<Match>& out) {
  for (std::size_t t = 0; t < tasks.size(); ++t)
    for (const Candidate& candidate : minima[t].take(certain))
      pieces.push_back(piece_of(candidate, tasks[t].channel, plan, query, options, channels));
  const std::int64_t end = certain == kEnd ? kEnd : certain - assembling.max_lag;
  if (end <= solved) return;
  std::vector<Match> made = assemble(pieces, query, assembling);
  std::erase_if(made, [end](const Match& match) { return match.first >= end; });
  std::stable_sort(made.begin(), made.end(),
                   [](const Match& a, const Match& b) { return a.first < b.first; });
  matches.insert(matches.end(), made.begin(), made.end());
  std::erase_if(pieces, [end](const Piece& piece) { return piece.pair.offset < end; });
  solved = end;
  report(end == kEnd ? kEnd : end - exclusion, out);
}

void Stream::State::report(std::int64_t end, std::vector<Match>& out) {
  const auto near = [this](const Match& match) {
    return std::ranges::equal_range(matches, 0, {}, [&](const Match& other) {
      return other.first < match.first - exclusion ? -1 : other.first > match.first + exclusion;
    });
  };
  for (std::size_t k = 0; k < matches.size() && matches[k].first < end;) {
    // The best at its begin; what follows with the same are its alternatives.
    const Match& match = matches[k];
    const bool wins = match.first >= reported && std::ranges::none_of(near(match), [&](const Match& other) {
                        return other.first != match.first && ranked_before(other, match);
                      });
    for (; k < matches.size() && matches[k].first == match.first; ++k)
      if (wins) out.push_back(matches[k]);
  }
  reported = std::max(reported, end);
  if (end == kEnd) return matches.clear();
  std::erase_if(matches, [&](const Match& match) { return match.first < reported - exclusion; });
}

Stream::Stream(std::int32_t channels, const Query& query, const FindOptions& options,
               const IndexOptions& index_options)
    : state_(std::make_unique<State>(channels, query, options, index_options)) {
  check(index_options.normalization);
}
Stream::Stream(Stream&&) noexcept = default;
Stream& Stream::operator=(Stream&&) noexcept = default;
Stream::~Stream() = default;
std::vector<Match> Stream::push(const Signal& samples) {
  State& state = held(state_, kStream);
  const OneCaller::Call call(state.caller, "search::Stream");
  return state.push(samples);
}
std::vector<Match> Stream::finish() {
  State& state = held(state_, kStream);
  const OneCaller::Call call(state.caller, "search::Stream");
  return state.finish();
}
std::int64_t Stream::delay() const { return held(state_, kStream).delay(); }

struct LineStream::State {
  OneCaller caller;
  RecordedQuery query;
  SearchOptions options;
  io::RecordingOptions reading;
  TextPosition where;
  SearchResult about;
  std::optional<Stream> stream;
  char separator = ',';
  std::size_t columns = 0;
  std::vector<std::size_t> used;  // columns that are channels
  FindOptions find;
  std::vector<Query> searched;  // one
  std::optional<ComparedQueries> compared;
  std::int64_t kept = 0;                   // samples before this are forgotten
  std::vector<std::vector<float>> recent;  // from there on, of each channel
  static constexpr std::int64_t kLongAgo = std::numeric_limits<std::int64_t>::min() / 2;
  std::int64_t place = kLongAgo, begin_here = kLongAgo, begin_before = kLongAgo;  // of what was reported

  std::vector<std::string> fields_of(std::string_view line) const {
    std::vector<std::string> fields;
    for (std::size_t end = 0; end != line.npos;) {
      end = line.find(separator);
      const std::string_view word = line.substr(0, end);
      if (end != line.npos) line.remove_prefix(end + 1);
      const std::size_t begin = word.find_first_not_of(" \t\r\"");
      if (begin != word.npos)
        fields.emplace_back(word.substr(begin, word.find_last_not_of(" \t\r\"") + 1 - begin));
      else if (separator != ' ')
        fields.emplace_back();
    }
    return fields;
  }

  /// Which column is which channel. @return their names
  std::vector<std::string> choose_columns(const std::vector<std::string>& fields, bool header) {
    columns = fields.size();
    used.clear();  // of a line that was refused
    std::optional<std::size_t> time;
    if (!reading.time_column.empty() && reading.time_column != "none")
      time = signal::find_channel(reading.time_column, header ? fields : std::vector<std::string>(columns),
                                  "`time_column`");
    for (std::size_t c = 0; header && reading.time_column.empty() && c < columns; ++c) {
      std::string name = fields[c].substr(0, fields[c].find_first_of(" [("));
      std::ranges::transform(name, name.begin(), [](unsigned char x) { return std::tolower(x); });
      if (!time && (name == "time" || name == "t" || name == "timestamp")) time = c;
    }
    std::vector<std::string> names;
    for (std::size_t c = 0; c < columns; ++c)
      if (c != time) {
        names.push_back(header ? fields[c] : "");
        used.push_back(c);
      }
    if (reading.select.empty()) return names;
    const std::vector<std::size_t> places = std::exchange(used, {});
    std::vector<std::string> selected;
    for (const std::string& word : reading.select) {
      const auto index = static_cast<std::size_t>(signal::find_channel(word, names, "`select`"));
      selected.push_back(names[index]);
      used.push_back(places[index]);
    }
    return selected;
  }

  /// The first line: a header, or numbers. @return whether it was a header
  bool begin(const std::string& line) {
    separator = ' ';
    for (const char c : {'\t', ';', ','})
      if (line.find(c) != line.npos) separator = c;
    const std::vector<std::string> fields = fields_of(line);
    double number = 0;
    const bool header =
        std::ranges::any_of(fields, [&](const auto& f) { return !f.empty() && !parse_whole(f, number); });
    io::Recording recording;
    for (const std::string& name : choose_columns(fields, header))
      recording.channels.push_back({name, "", reading.rate.value_or(1), {}});
    if (recording.channels.empty()) throw BadInput(where.file + ": no column but time");
    recording.timed = reading.rate.has_value();
    if (const double rate = query.rate; (query = at_rate_of(recording, {&query, 1})[0]).rate != rate)
      log(LogLevel::warning,
          fmt::format("{}: the query of {} has {:.6g} Hz and was resampled to the {:.6g} Hz of `rate`",
                      where.file, query.file.string(), rate, query.rate));
    match_rates({&query, 1}, recording, where.file);
    about.rate = recording.channels.at(0).rate;
    about.timed = recording.timed;
    about.channels = signal::channel_names(recording);
    searched = placed({&query, 1}, recording, where.file, options.by_number);
    compared.emplace(searched);
    find = find_options(options, query, recording);
    recent.resize(used.size());
    stream.emplace(static_cast<std::int32_t>(used.size()), searched[0], find, options);
    return header;
  }

  /// A row's samples; empty fields and what is not finite are missing.
  std::vector<float> parse(const std::string& line) const {
    const std::vector<std::string> fields = fields_of(line);
    if (fields.size() != columns)
      throw ParseError(where, fmt::format("{} fields, where the first line has {}", fields.size(), columns));
    std::vector<float> samples;
    for (const std::size_t column : used) {
      double value = std::numeric_limits<double>::quiet_NaN();
      if (!fields[column].empty() && !parse_whole(fields[column], value))
        throw ParseError(where, fmt::format("'{}' is no number", fields[column]));
      const auto sample = static_cast<float>(value);
      samples.push_back(std::isfinite(sample) ? sample : std::numeric_limits<float>::quiet_NaN());
    }
    return samples;
  }

  /// What a match that is to come may be refined in.
  void keep(std::span<const float> row) {
    for (std::size_t c = 0; c < recent.size(); ++c) recent[c].push_back(row[c]);
    const std::int64_t wanted = 2 * stream->delay();
    if (const std::int64_t many = std::ssize(recent[0]) - wanted; many > wanted) {
      for (std::vector<float>& channel : recent) channel.erase(channel.begin(), channel.begin() + many);
      kept += many;
    }
  }

  std::vector<Hit> hits(std::vector<Match> matches) {
    for (Match& match : matches) refine(match);
    return make_hits(std::move(matches), about.rate, {}, options);
  }

  /// As refine_all(), but that matches come by their begin: one gives way to those before it.
  void refine(Match& match) {
    if (match.first != place) begin_here = begin_before = std::max(begin_before, begin_here);
    place = match.first;
    if (!match.in_parts()) {
      Match here = match;
      for (Pair& pair : here.pairs) pair.offset -= kept;
      const Boundaries at = refine_boundaries({recent.begin(), recent.end()}, compared->of(match, find), here,
                                              options.normalization);
      const std::int64_t earliest = begin_before + samples_of(find.exclusion, searched[0].length()) + 1;
      const std::int64_t first = std::max(at.first + kept, earliest);
      match.refined = {first, std::max(at.last + kept, first + 1)};
    }
    begin_here = std::max(begin_here, match.boundaries().first);
  }
};

LineStream::LineStream(RecordedQuery query, const SearchOptions& options, const io::RecordingOptions& reading,
                       std::string name)
    : state_(new State) {
  state_->query = std::move(query);
  state_->options = options;
  state_->reading = reading;
  state_->where = {std::move(name), 0, 1};
}
LineStream::LineStream(LineStream&&) noexcept = default;
LineStream& LineStream::operator=(LineStream&&) noexcept = default;
LineStream::~LineStream() = default;

std::vector<Hit> LineStream::push(const std::string& line) {
  State& s = held(state_, kStream);
  const OneCaller::Call call(s.caller, "search::LineStream");
  ++s.where.line;
  if (line.find_first_not_of(" \t\r") == line.npos || (!s.stream && s.begin(line))) return {};
  const std::vector<float> samples = s.parse(line);
  Signal signal;
  for (const float& sample : samples) signal.emplace_back(&sample, 1);
  s.keep(samples);
  return s.hits(s.stream->push(signal));
}

std::vector<Hit> LineStream::finish() {
  State& s = held(state_, kStream);
  const OneCaller::Call call(s.caller, "search::LineStream");
  return s.stream ? s.hits(s.stream->finish()) : std::vector<Hit>();
}

const SearchResult& LineStream::recording() const { return held(state_, kStream).about; }

}  // namespace warploom::search
