#include "result.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "cli/content_hash.hpp"
#include "warploom/core/error.hpp"
#include "warploom/core/log.hpp"

namespace warploom::tool {
namespace {

using search::Ranked;

/// [s] with as many decimals as tell samples apart; samples where no rate is known.
std::string time_text(double seconds, const SearchResult& result) {
  if (!result.timed) return fmt::format("{:.0f}", seconds);
  const int decimals = std::clamp(static_cast<int>(std::ceil(std::log10(result.rate))), 1, 6);
  return fmt::format("{:.{}f}", seconds, decimals);
}

std::vector<Json> pairs_json(const Hit& hit, const SearchResult& result, const RecordedQuery& query) {
  std::vector<Json> pairs;
  for (const search::Pair& pair : hit.match.pairs)
    pairs.push_back({{"query_channel", query.channel(pair.query_channel)},
                     {"query_number", pair.query_channel + 1},
                     {"channel", result.channels[static_cast<std::size_t>(pair.channel)]},
                     {"number", pair.channel + 1},
                     {"offset", pair.offset},
                     {"length", pair.length},
                     {"onset", static_cast<double>(pair.offset) / result.rate},
                     {"lag", static_cast<double>(hit.match.lag(pair)) / result.rate},
                     {"distance", pair.distance},
                     {"weight", pair.weight},
                     {"switched", pair.switched},
                     {"negated", pair.negated},
                     {"scale", pair.scale},
                     {"rotation", pair.rotation},
                     {"segment", pair.segment + 1},
                     {"coverage", pair.coverage},
                     {"exhausted", pair.exhausted}});
  return pairs;
}

const RecordedQuery& query_of(const Hit& hit, const std::vector<RecordedQuery>& queries) {
  return queries[static_cast<std::size_t>(hit.match.query)];
}

/// Rows of equally many fields; those that `left` says are aligned left.
std::string aligned(const std::vector<std::vector<std::string>>& rows, const std::vector<bool>& left) {
  std::vector<std::size_t> widths(left.size());
  // fmt pads by characters, not bytes.
  const auto width = [](const std::string& text) {
    return static_cast<std::size_t>(std::ranges::count_if(text, [](char c) { return (c & 0xc0) != 0x80; }));
  };
  for (const auto& row : rows)
    for (std::size_t c = 0; c < row.size(); ++c) widths[c] = std::max(widths[c], width(row[c]));
  std::string text;
  for (const auto& row : rows) {
    std::string line;
    for (std::size_t c = 0; c < row.size(); ++c) {
      const std::string blanks(widths[c] - width(row[c]), ' ');
      line += (c > 0 ? "  " : "") + (left[c] ? row[c] + blanks : blanks + row[c]);
    }
    text += line.substr(0, line.find_last_not_of(' ') + 1) + '\n';
  }
  return text;
}

/// Each remark once, with the recordings it is on if it is not on all.
std::string remarks_text(const std::vector<SearchResult>& results) {
  if (!log_enabled(LogLevel::warning)) return "";  // --quiet
  std::vector<std::string> remarks;
  std::map<std::string, std::vector<std::string>> recordings;  // that a remark is on
  for (const SearchResult& result : results)
    for (const std::string& remark : result.remarks) {
      std::vector<std::string>& names = recordings[remark];
      if (names.empty()) remarks.push_back(remark);
      names.push_back(result.name);
    }
  constexpr std::size_t kMostRemarks = 6;
  std::string text;
  for (std::size_t k = 0; k < std::min(kMostRemarks, remarks.size()); ++k) {
    const std::vector<std::string>& names = recordings[remarks[k]];
    if (names.size() < results.size())
      text += names[0] + (names.size() > 1 ? fmt::format(" and {} more", names.size() - 1) : "") + ": ";
    text += remarks[k] + "\n";
  }
  if (remarks.size() > kMostRemarks)
    text += fmt::format("{} more remarks; --json has all\n", remarks.size() - kMostRemarks);
  return text;
}

/// "y in z, x negated, no w; y +0.120 s"
std::string differences(const Hit& hit, const SearchResult& result, const RecordedQuery& query) {
  const auto short_name = [](const std::string& name, std::int32_t index) {
    return name.starts_with("channel ") ? std::to_string(index + 1) : name;
  };
  std::vector<std::string> parts, lags;
  std::vector<bool> found(query.names.size());
  double least_scale = 1e9, largest_scale = 0, largest_lag = 0;
  bool exhausted = false;
  std::int32_t rotation = 0;
  for (const search::Pair& pair : hit.match.pairs) {
    found[static_cast<std::size_t>(pair.query_channel)] = true;
    std::string name = short_name(query.channel(pair.query_channel), pair.query_channel);
    if (pair.segment >= 0) name += fmt::format(" part {}", pair.segment + 1);
    std::string changed;
    if (pair.switched)
      changed += " in " + short_name(result.channels[static_cast<std::size_t>(pair.channel)], pair.channel);
    if (pair.negated) changed += " negated";
    if (pair.segment >= 0 || !changed.empty()) parts.push_back(name + changed);
    const double lag = static_cast<double>(hit.match.lag(pair)) / result.rate;
    if (lag > 0)
      lags.push_back(fmt::format("{} +{}{}", name, time_text(lag, result), result.timed ? " s" : ""));
    largest_lag = std::max(largest_lag, lag);
    least_scale = std::min(least_scale, pair.scale);
    largest_scale = std::max(largest_scale, pair.scale);
    exhausted = exhausted || pair.exhausted;
    rotation = std::max(rotation, pair.rotation);
  }
  for (std::size_t c = 0; c < found.size(); ++c) {
    const auto index = static_cast<std::int32_t>(c);
    if (!found[c]) parts.push_back("no " + short_name(query.channel(index), index));
  }
  constexpr std::size_t kMost = 4;
  if (const std::size_t all = parts.size(); all > kMost) {
    parts.resize(kMost);
    parts.push_back(fmt::format("{} more", all - kMost));
  }
  if (rotation > 0) parts.push_back(fmt::format("rotation {}", rotation));
  if (largest_scale > 0 && (std::abs(least_scale - 1) > 5e-3 || std::abs(largest_scale - 1) > 5e-3))
    parts.push_back(largest_scale - least_scale < 5e-3
                        ? fmt::format("scale {:.2f}", least_scale)
                        : fmt::format("scales {:.2f} to {:.2f}", least_scale, largest_scale));
  if (exhausted) parts.push_back("wider band");
  constexpr std::size_t kMostLags = 3;
  if (lags.size() > kMostLags)
    lags = {fmt::format("lags to {}{}", time_text(largest_lag, result), result.timed ? " s" : "")};
  parts.insert(parts.end(), lags.begin(), lags.end());
  return fmt::format("{}{}", hit.self ? parts.empty() ? "the query itself" : "the query itself: " : "",
                     fmt::join(parts, ", "));
}

}  // namespace

Json readings_json(const SearchResult& result) {
  Json list = Json::array();
  for (const search::ReadingTried& one : result.readings)
    list.push_back({{"query", one.query + 1},
                    {"reading", one.name},
                    {"nearer", one.nearer},
                    {"nearer_by_chance", one.price},
                    {"chosen", one.chosen}});
  return list;
}

std::vector<search::ReadingTried> readings_from_json(const Json& json) {
  std::vector<search::ReadingTried> readings;
  for (const Json& from : json.elements())
    readings.push_back({from.at("query").get<std::int32_t>() - 1, from.at("reading").get<std::string>(),
                        from.at("nearer").get<double>(), from.at("nearer_by_chance").get<double>(),
                        from.at("chosen").get<bool>()});
  return readings;
}

std::string clock_of(const Hit& hit, const SearchResult& result) {
  return result.begin ? io::clock_text(*result.begin, hit.onset) : "";
}

Json as_json(const Hit& hit, std::size_t rank, const SearchResult& result,
             const std::vector<RecordedQuery>& queries) {
  const search::Match& match = hit.match;
  return {{"rank", rank},
          {"label", match.label},
          {"query", match.query + 1},
          {"onset", hit.onset},
          {"duration", hit.duration},
          {"first", match.boundaries().first},
          {"last", match.boundaries().last},
          {"matched", match.matched},
          {"channels", match.channels},
          {"coverage", match.coverage},
          {"distance", match.distance},
          {"self", hit.self},
          {"clock", result.begin ? Json(clock_of(hit, result)) : Json(nullptr)},
          {"chance", match.chance ? Json(*match.chance) : Json(nullptr)},
          {"pairs", pairs_json(hit, result, query_of(hit, queries))}};
}

Hit hit_from_json(const Json& json, const SearchResult& result, const std::vector<RecordedQuery>& queries) {
  Hit hit;
  search::Match& match = hit.match;
  // A number from 1, as an index of `count` things.
  const auto index = [](const Json& from, const char* key, std::size_t count) {
    const auto number = from.at(key).get<std::int64_t>();
    if (number < 1 || std::cmp_greater(number, count))
      throw BadInput(fmt::format("{} is {}, and there are {}", key, number, count));
    return static_cast<std::int32_t>(number - 1);
  };
  json.at("label").to(match.label);
  match.query = index(json, "query", queries.size());
  json.at("onset").to(hit.onset);
  json.at("duration").to(hit.duration);
  match.refined = {json.at("first").get<std::int64_t>(), json.at("last").get<std::int64_t>()};
  json.at("matched").to(match.matched);
  json.at("channels").to(match.channels);
  json.at("coverage").to(match.coverage);
  json.at("distance").to(match.distance);
  json.at("self").to(hit.self);
  if (const Json& chance = json.at("chance"); !chance.is_null()) match.chance = chance.get<double>();
  for (const Json& from : json.at("pairs").elements()) {
    search::Pair& pair = match.pairs.emplace_back();
    pair.query_channel = index(from, "query_number", query_of(hit, queries).samples.size());
    pair.channel = index(from, "number", result.channels.size());
    from.at("offset").to(pair.offset);
    from.at("length").to(pair.length);
    from.at("distance").to(pair.distance);
    from.at("weight").to(pair.weight);
    from.at("switched").to(pair.switched);
    from.at("negated").to(pair.negated);
    from.at("scale").to(pair.scale);
    from.at("rotation").to(pair.rotation);
    pair.segment = from.at("segment").get<std::int32_t>() - 1;
    from.at("coverage").to(pair.coverage);
    from.at("exhausted").to(pair.exhausted);
    match.first = match.pairs.size() == 1 ? pair.offset : std::min(match.first, pair.offset);
    match.last = std::max(match.last, pair.offset + pair.length);
  }
  return hit;
}

std::string as_text(const std::vector<SearchResult>& results, const std::vector<RecordedQuery>& queries,
                    std::size_t limit) {
  const bool labelled = queries.size() > 1, several = results.size() > 1;
  const bool timed = std::ranges::all_of(results, &SearchResult::timed);
  const std::vector<Ranked> ranked = search::ranking(results);
  std::vector<std::vector<std::string>> rows;
  std::vector<bool> left;
  const auto column = [&](bool shown, std::string title, bool align_left, const auto& text) {
    if (!shown) return;
    left.push_back(align_left);
    rows.resize(std::min(ranked.size(), limit) + 1);
    rows[0].push_back(std::move(title));
    for (std::size_t k = 1; k < rows.size(); ++k) rows[k].push_back(text(ranked[k - 1], k));
  };
  const std::string unit = timed ? " [s]" : " [samples]";
  column(true, "rank", false, [](const Ranked&, std::size_t k) { return std::to_string(k); });
  column(several, "recording", true, [](const Ranked& r, std::size_t) { return r.result->name; });
  column(labelled, "label", true, [](const Ranked& r, std::size_t) { return (*r).match.label; });
  column(true, "onset" + unit, false,
         [](const Ranked& r, std::size_t) { return time_text((*r).onset, *r.result); });
  column(std::ranges::any_of(results, [](const SearchResult& result) { return result.begin.has_value(); }),
         "clock", true, [](const Ranked& r, std::size_t) { return clock_of(*r, *r.result); });
  column(true, "duration", false,
         [](const Ranked& r, std::size_t) { return time_text((*r).duration, *r.result); });
  column(true, "channels", false, [](const Ranked& r, std::size_t) {
    return fmt::format("{}/{}", (*r).match.matched, (*r).match.channels);
  });
  column(true, "distance", false,
         [](const Ranked& r, std::size_t) { return fmt::format("{:.4g}", (*r).match.distance); });
  column(true, "differences", true,
         [&](const Ranked& r, std::size_t) { return differences(*r, *r.result, query_of(*r, queries)); });
  std::string text = ranked.empty() ? "" : aligned(rows, left);
  text +=
      fmt::format("{}{} match{}", text.empty() ? "" : "\n", ranked.size(), ranked.size() == 1 ? "" : "es");
  if (several) text += fmt::format(" in {} recordings", results.size());
  if (ranked.size() > limit) text += fmt::format(", {} shown", limit);
  double seconds = 0;
  for (const SearchResult& result : results) seconds += result.seconds;
  text += fmt::format(", {:.3g} s\n", seconds);
  return text + remarks_text(results);
}

Json as_json(const std::vector<RecordedQuery>& queries) {
  Json list = Json::array();
  for (const RecordedQuery& query : queries) {
    std::string bytes;
    for (const std::vector<float>& channel : query.samples)
      bytes.append(reinterpret_cast<const char*>(channel.data()), channel.size() * sizeof(float));
    list.push_back({{"label", query.label},
                    {"file", query.file.string()},
                    {"from", query.from},
                    {"to", query.to},
                    {"samples", query.length()},
                    {"channels", query.channels()},
                    {"hash", content_hash(bytes)}});
  }
  return list;
}

Json as_json(const std::vector<SearchResult>& results, const std::vector<RecordedQuery>& queries,
             const SearchSettings& settings) {
  Json options = Json::object();
  for (const auto& [name, value] : described(settings)) options[name] = value;
  Json recordings = Json::array();
  for (const SearchResult& result : results) {
    Json matches = Json::array();
    for (std::size_t k = 0; k < result.hits.size(); ++k)
      matches.push_back(as_json(result.hits[k], k + 1, result, queries));
    recordings.push_back({{"recording", result.name},
                          {"file", result.path},
                          {"rate", result.timed ? Json(result.rate) : Json(nullptr)},
                          {"begin", result.begin ? Json(io::clock_text(*result.begin, 0)) : Json(nullptr)},
                          {"samples", result.samples},
                          {"channels", result.channels},
                          {"seconds", result.seconds},
                          {"remarks", result.remarks},
                          {"readings", readings_json(result)},
                          {"gains", result.gains},
                          {"matches", std::move(matches)}});
  }
  Json order = Json::array();
  const std::vector<Ranked> ranked = search::ranking(results);
  for (std::size_t k = 0; k < ranked.size(); ++k)
    order.push_back({{"rank", k + 1}, {"recording", ranked[k].result->name}, {"match", ranked[k].hit + 1}});
  return {{"options", std::move(options)},
          {"queries", as_json(queries)},
          {"recordings", std::move(recordings)},
          {"ranking", std::move(order)}};
}

std::string pairs_csv(const SearchResult& result, const std::vector<RecordedQuery>& queries) {
  std::string text =
      "rank,label,onset,duration,matched,channels,match_distance,self,query_channel,channel,offset,length,lag,distance,"
      "weight,switched,negated,scale,rotation,segment,exhausted,clock\n";
  for (std::size_t k = 0; k < result.hits.size(); ++k) {
    const Hit& hit = result.hits[k];
    for (const search::Pair& pair : hit.match.pairs)
      text += fmt::format(
          "{},{},{},{},{},{},{},{:d},{},{},{},{},{},{},{},{:d},{:d},{},{},{},{:d},{}\n", k + 1,
          io::csv_field(hit.match.label), hit.onset, hit.duration, hit.match.matched, hit.match.channels,
          hit.match.distance, hit.self, io::csv_field(query_of(hit, queries).channel(pair.query_channel)),
          io::csv_field(result.channels[static_cast<std::size_t>(pair.channel)]), pair.offset, pair.length,
          static_cast<double>(hit.match.lag(pair)) / result.rate, pair.distance, pair.weight, pair.switched,
          pair.negated, pair.scale, pair.rotation, pair.segment + 1, pair.exhausted, clock_of(hit, result));
  }
  return text;
}

std::string ranking_csv(const std::vector<SearchResult>& results) {
  std::string text =
      "rank,recording,rank_in_recording,label,onset,duration,matched,channels,coverage,distance,self,clock\n";
  const std::vector<Ranked> ranked = search::ranking(results);
  for (std::size_t k = 0; k < ranked.size(); ++k) {
    const Hit& hit = *ranked[k];
    text +=
        fmt::format("{},{},{},{},{},{},{},{},{},{},{:d},{}\n", k + 1, io::csv_field(ranked[k].result->name),
                    ranked[k].hit + 1, io::csv_field(hit.match.label), hit.onset, hit.duration,
                    hit.match.matched, hit.match.channels, hit.match.coverage, hit.match.distance, hit.self,
                    clock_of(hit, *ranked[k].result));
  }
  return text;
}

std::string annotations_csv(const SearchResult& result) {
  std::vector<io::Annotation> annotations;
  for (const Hit& hit : result.hits) annotations.push_back({hit.onset, hit.duration, hit.match.label});
  return io::format_annotations(annotations);
}

}  // namespace warploom::tool
