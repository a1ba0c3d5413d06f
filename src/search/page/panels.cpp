#include "search/page/panels.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "search/turned.hpp"
#include "warploom/page/text.hpp"
#include "warploom/page/ticks.hpp"

namespace warploom::search {

using page::escaped;
using page::grouped;

TimeText::TimeText(const io::Recording& recording)
    : rate_(recording.channels.front().rate),
      timed_(recording.timed),
      digits_(std::clamp(static_cast<int>(std::ceil(std::log10(rate_) - 1e-9)), 0, 6)) {
  const double seconds = static_cast<double>(recording.channels.front().samples.size()) / rate_;
  clock_ = seconds < 600 ? Clock::seconds : seconds < 3600 ? Clock::minutes : Clock::hours;
}

std::string TimeText::place(std::int64_t sample) const {
  if (!timed_) return "sample " + grouped(sample);
  const double seconds = static_cast<double>(sample) / rate_;
  if (clock_ == Clock::seconds) return fmt::format("{:.{}f} s", seconds, digits_);
  // Rounded before it is split, so that 59.999 s do not become 60.00 s.
  const double unit = std::pow(10, digits_), rounded = std::round(std::abs(seconds) * unit) / unit;
  const auto minutes = static_cast<std::int64_t>(rounded / 60);
  const std::string sign = seconds < 0 ? "\u2212" : "";
  const std::string rest =
      fmt::format("{:0{}.{}f}", std::max(0.0, rounded - 60 * static_cast<double>(minutes)),
                  digits_ == 0 ? 2 : digits_ + 3, digits_);
  return clock_ == Clock::minutes ? fmt::format("{}{}:{} min", sign, minutes, rest)
                                  : fmt::format("{}{}:{:02}:{} h", sign, minutes / 60, minutes % 60, rest);
}

std::string TimeText::duration(std::int64_t samples) const {
  if (!timed_) return grouped(samples) + (samples == 1 ? " sample" : " samples");
  const double seconds = static_cast<double>(samples) / rate_;
  return seconds < 600 ? fmt::format("{:.{}f} s", seconds, digits_) : place(samples);
}

std::string distance_text(double distance, Normalization normalization) {
  return normalization == Normalization::z ? fmt::format("{:.3f}", distance)
                                           : fmt::format("{:.4g}", distance);
}

std::int64_t TimeText::samples(double seconds) const { return std::llround(seconds * rate_); }

std::string channel_name(const io::Recording& recording, std::int32_t channel) {
  const std::string& name = recording.channels[static_cast<std::size_t>(channel)].name;
  return name.empty() ? fmt::format("channel {}", channel + 1) : escaped(name);
}

namespace {

constexpr double kWidth = 2000, kHeight = 400;  // of a plot, in units of its own; stretched to its place
constexpr std::int64_t kMostPlots = 640, kMostPanels = 20;
constexpr std::int64_t kMostPoints = 90'000;  // of all curves

/// Samples as they are compared: (x - mean) * scale.
struct FiniteMoments {
  double mean = 0, scale = 1;
  double of(float sample) const { return (sample - mean) * scale; }
};

FiniteMoments finite_moments(std::span<const float> samples, Normalization normalization) {
  if (normalization == Normalization::none) return {};
  double sum = 0, squares = 0, count = 0;
  for (const float sample : samples)
    if (std::isfinite(sample)) {
      sum += sample;
      ++count;
    }
  const double mean = count > 0 ? sum / count : 0;
  for (const float sample : samples)
    if (std::isfinite(sample)) squares += (sample - mean) * (sample - mean);
  const double deviation = count > 0 ? std::sqrt(squares / count) : 0;
  return {mean, deviation <= kConstantDeviation * std::abs(mean) ? 0 : 1 / deviation};
}

struct Point {
  double x = 0, y = 0;  // NaN: missing
};

/// Points of samples at 0, 1, ... ; where there are too many, the least and the largest of each of some
/// stretches, in their order.
std::vector<Point> curve(std::span<const float> samples, const FiniteMoments& moments,
                         std::size_t most_points) {
  std::vector<Point> points;
  const std::size_t stride = samples.size() <= most_points ? 1 : 2 * samples.size() / most_points + 1;
  for (std::size_t begin = 0; begin < samples.size(); begin += stride) {
    const std::size_t end = std::min(samples.size(), begin + stride);
    std::size_t least = begin, most = begin;
    for (std::size_t k = begin; k < end; ++k) {
      if (samples[k] < samples[least] || std::isnan(samples[least])) least = k;
      if (samples[k] > samples[most] || std::isnan(samples[most])) most = k;
    }
    for (const std::size_t k : {std::min(least, most), std::max(least, most)}) {
      points.push_back({static_cast<double>(k), moments.of(samples[k])});
      if (least == most) break;
    }
  }
  return points;
}

/// A path through points, of whole numbers, each relative to the one before.
std::string path(const std::vector<Point>& points, const auto& to_x, const auto& to_y) {
  std::string out;
  long x = 0, y = 0;
  char command = 'M';
  const auto number = [&out](long value) {
    if (value >= 0 && !out.empty() && out.back() >= '0' && out.back() <= '9') out += ' ';
    out += std::to_string(value);
  };
  bool pen = false;
  for (const Point& point : points) {
    if (!std::isfinite(point.y)) {
      pen = false;
      continue;
    }
    // Far outside the plot, where nobody sees it, numbers must not grow.
    const long px = std::lround(to_x(point.x)), py = std::lround(std::clamp(to_y(point.y), -9999.0, 9999.0));
    const char wanted = pen ? 'l' : 'm';
    if (wanted != command) out += command = wanted;
    number(px - x);
    number(py - y);
    x = px;
    y = py;
    pen = true;
  }
  return out;
}

/// A curve of a query, normalised, which all plots of it refer to.
struct QueryCurve {
  std::string id;
  double centre = 0, half = 1;  // y of the path: -1000 (value - centre) / half; x: 0 to 1000
};

class Panels {
 public:
  explicit Panels(const SearchPage& page) : page_(page), recording_(*page.recording), time_(recording_) {
    std::int64_t plots = 1;
    for (std::int64_t k = 0; k < matches_with_panels(page); ++k)
      plots += page.found->matches[static_cast<std::size_t>(k)].channels;
    most_points_ = static_cast<std::size_t>(std::clamp<std::int64_t>(kMostPoints / plots, 40, 400));
  }

  std::string draw() {
    std::string out;
    for (std::int64_t k = 0; k < matches_with_panels(page_); ++k) out += panel(k);
    return "<svg width=\"0\" height=\"0\" class=\"shapes\" aria-hidden=\"true\"><defs>" + shapes_ +
           "</defs></svg>" + out;
  }

 private:
  std::string panel(std::int64_t number);
  std::string plot(const Match& match, std::span<const Pair> pairs, const std::string& label);
  std::string words(const Match& match, const Pair& pair) const;
  const QueryCurve& query_curve(std::int32_t query, const Pair& pair);
  std::vector<float> query_samples(const Query& query, const Pair& pair) const;

  const Query& query(const Match& match) const {
    return page_.queries[static_cast<std::size_t>(match.query)];
  }
  /// Where in its query a part begins and how long it is [samples of the query].
  std::pair<std::int64_t, std::int64_t> part(const Query& query, const Pair& pair) const {
    const std::int64_t m = query.length(), parts = std::max(1, page_.options.segments);
    if (pair.segment < 0) return {0, m};
    return {m * pair.segment / parts, m * (pair.segment + 1) / parts - m * pair.segment / parts};
  }

  const SearchPage& page_;
  const io::Recording& recording_;
  TimeText time_;
  std::size_t most_points_ = 0;  // of a curve
  std::string shapes_;
  std::map<std::tuple<std::int32_t, std::int32_t, std::int32_t, std::int32_t>, QueryCurve> curves_;
  // What the panel that is drawn shows [samples].
  std::int64_t first_ = 0, last_ = 0;
  double grid_ = 0;
};

std::vector<float> Panels::query_samples(const Query& query, const Pair& pair) const {
  const auto channel = static_cast<std::size_t>(pair.query_channel);
  std::vector<float> samples(query.channels[channel].begin(), query.channels[channel].end());
  if (pair.rotation > 0) {
    const auto turn = rotations(page_.options.rotations + 1)[static_cast<std::size_t>(pair.rotation)];
    const std::vector turns(page_.options.sensors.size(), turn);
    samples = turned(query, page_.options.sensors, turns)[channel];
  }
  const auto [begin, length] = part(query, pair);
  return {samples.begin() + begin, samples.begin() + begin + length};
}

const QueryCurve& Panels::query_curve(std::int32_t number, const Pair& pair) {
  const auto [at, added] = curves_.try_emplace({number, pair.query_channel, pair.rotation, pair.segment});
  QueryCurve& shape = at->second;
  if (!added) return shape;
  const std::vector<float> samples = query_samples(page_.queries[static_cast<std::size_t>(number)], pair);
  const std::vector<Point> points =
      curve(samples, finite_moments(samples, page_.normalization), most_points_);
  const auto [low, high] = std::ranges::minmax(points, {}, &Point::y);
  shape.id = fmt::format("q{}", curves_.size());
  shape.centre = (low.y + high.y) / 2;
  shape.half = high.y > low.y ? (high.y - low.y) / 2 : 1;
  const double steps = std::max(1.0, static_cast<double>(samples.size()) - 1);
  shapes_ += fmt::format("<path id=\"{}\" vector-effect=\"non-scaling-stroke\" d=\"{}\"/>", shape.id,
                         path(
                             points, [&](double x) { return 1000 * x / steps; },
                             [&](double y) { return -1000 * (y - shape.centre) / shape.half; }));
  return shape;
}

std::string Panels::plot(const Match& match, std::span<const Pair> pairs, const std::string& label) {
  const auto to_x = [&](double sample) {
    return kWidth * (sample - static_cast<double>(first_)) / static_cast<double>(last_ - first_);
  };
  std::string out = fmt::format(
      "<svg class=\"plot\" viewBox=\"0 0 {} {}\" preserveAspectRatio=\"none\" role=\"img\" aria-label=\"{}\">",
      kWidth, kHeight, label);
  std::string grid;
  for (double x = std::ceil(static_cast<double>(first_) / grid_) * grid_; x <= static_cast<double>(last_);
       x += grid_)
    grid += fmt::format("M{:.0f} 0v{}", to_x(x), kHeight);
  out += fmt::format("<path class=\"grid\" d=\"{}\"/>", grid);
  std::string over;
  for (const Pair& pair : pairs) {
    const QueryCurve& shape = query_curve(match.query, pair);
    const std::span<const float> samples =
        recording_.channels[static_cast<std::size_t>(pair.channel)].samples;
    const auto size = static_cast<std::int64_t>(samples.size());
    const std::int64_t begin = pair.begin, end = begin + pair.length;
    const auto cut = [&](std::int64_t from, std::int64_t to) {
      from = std::clamp<std::int64_t>(from, 0, size);
      return samples.subspan(static_cast<std::size_t>(from),
                             static_cast<std::size_t>(std::clamp(to, from, size) - from));
    };
    const FiniteMoments window = finite_moments(cut(begin, end), page_.normalization);
    // Both curves fill the plot's height within the window; what lies around it may leave the plot.
    double low = shape.centre - shape.half, high = shape.centre + shape.half;
    if (pair.negated) std::tie(low, high) = std::pair(-high, -low);
    for (const float sample : cut(begin, end))
      if (std::isfinite(sample)) {
        low = std::min(low, window.of(sample));
        high = std::max(high, window.of(sample));
      }
    const double per_unit = 0.84 * kHeight / std::max(high - low, 1e-30);
    const auto to_y = [&](double value) { return 0.92 * kHeight - (value - low) * per_unit; };
    const double sign = pair.negated ? -1 : 1;
    fmt::format_to(std::back_inserter(out),
                   "<rect class=\"window\" x=\"{:.0f}\" width=\"{:.0f}\" height=\"{}\"/>",
                   to_x(static_cast<double>(begin)),
                   to_x(static_cast<double>(end)) - to_x(static_cast<double>(begin)), kHeight);
    // Of parts, each has a normalisation of its own, which says nothing about what lies around it.
    const std::int64_t from = std::clamp<std::int64_t>(pair.segment < 0 ? first_ : begin, 0, size);
    fmt::format_to(std::back_inserter(over), "<path class=\"recording\" d=\"{}\"/>",
                   path(
                       curve(cut(from, pair.segment < 0 ? last_ : end), window, most_points_),
                       [&](double x) { return to_x(x + static_cast<double>(from)); }, to_y));
    fmt::format_to(
        std::back_inserter(over),
        "<use class=\"query\" href=\"#{}\" transform=\"matrix({:.4g} 0 0 {:.4g} {:.1f} {:.1f})\"/>", shape.id,
        (to_x(static_cast<double>(end - 1)) - to_x(static_cast<double>(begin))) / 1000,
        sign * shape.half * per_unit / 1000, to_x(static_cast<double>(begin)), to_y(sign * shape.centre));
    if (match.lag(pair) > 0)
      fmt::format_to(std::back_inserter(over), "<path class=\"lag\" d=\"M{:.0f} {}H{:.0f}\"/>",
                     to_x(static_cast<double>(begin - match.lag(pair))), kHeight - 8,
                     to_x(static_cast<double>(begin)));
  }
  const auto [first, last] = match.boundaries();
  return out + over +
         fmt::format("<path class=\"begin\" d=\"M{:.0f} 0v{}M{:.0f} 0v{}\"/></svg>",
                     to_x(static_cast<double>(first)), kHeight, to_x(static_cast<double>(last)), kHeight);
}

std::string Panels::words(const Match& match, const Pair& pair) const {
  std::vector<std::string> said;
  if (pair.segment >= 0)
    said.push_back(fmt::format("part {} of {}", pair.segment + 1, page_.options.segments));
  if (pair.switched && pair.segment >= 0)
    said.push_back("in " + channel_name(recording_, pair.channel) + " (switched)");
  else if (pair.switched)
    said.push_back("switched");
  said.push_back(match.lag(pair) > 0 ? time_.duration(match.lag(pair)) + " late" : "no lag");
  if (pair.negated) said.push_back("negated");
  if (pair.scale != 1) said.push_back(fmt::format("{:.3g} times as long", pair.scale));
  if (pair.rotation > 0) said.push_back(fmt::format("rotation {}", pair.rotation));
  if (pair.exhausted) said.push_back("found with a wider band");
  std::string out;
  for (const std::string& word : said) out += (out.empty() ? "" : ", ") + word;
  out += "; distance " + distance_text(pair.distance, page_.normalization);
  if (pair.weight != 1) out += fmt::format(" weighted {:.3g}", pair.weight);
  return out;
}

std::string Panels::panel(std::int64_t number) {
  const Match& match = page_.found->matches[static_cast<std::size_t>(number)];
  const Query& searched = query(match);
  const std::int64_t around = std::max<std::int64_t>(2, (match.last - match.first) / 6);
  const auto [first, last] = match.boundaries();
  first_ = std::min(first, match.first) - around;
  last_ = std::max(last, match.last) + around;
  const double rate = recording_.timed ? recording_.channels.front().rate : 1;
  const double step =
      std::max(page::round_step(static_cast<double>(last_ - first_) / rate, 6), recording_.timed ? 0 : 1.0);
  grid_ = step * rate;

  std::string out = fmt::format(
      "<details class=\"card match\" id=\"m{}\"{}><summary><span class=\"rank\">{}</span> <b>{}</b> <span>{} to "
      "{}</span> <small>{} of {} channels, distance {}</small></summary><p>Grid lines are {} apart. The match "
      "begins and ends at the dashed lines. What was compared is shaded.</p><ol class=\"plots\">",
      number + 1, number < 3 ? " open" : "", number + 1, escaped(match.label), time_.place(first),
      time_.place(last), match.matched, match.channels, distance_text(match.distance, page_.normalization),
      recording_.timed ? fmt::format("{:.4g} s", step) : grouped(std::llround(step)) + " samples");
  for (std::int32_t channel = 0; channel < static_cast<std::int32_t>(searched.channels.size()); ++channel) {
    const auto pairs = std::ranges::equal_range(match.pairs, channel, {}, &Pair::query_channel);
    const std::string name = channel_name(recording_, searched.places[static_cast<std::size_t>(channel)]);
    if (pairs.empty()) {
      out +=
          fmt::format("<li class=\"missing\"><p><b>{}</b></p><div class=\"plot\">not found</div></li>", name);
      continue;
    }
    std::string found, said, heard;  // as HTML, and for those who hear the drawing
    std::vector<Pair> parts(pairs.begin(), pairs.end());
    std::ranges::sort(parts, {}, &Pair::segment);
    for (const Pair& pair : parts) {
      if (pair.switched && pair.segment < 0)
        found += fmt::format(" in <b class=\"other\">{}</b>", channel_name(recording_, pair.channel));
      said += (said.empty() ? "" : "<br>") + words(match, pair);
      heard += "; " + words(match, pair);
    }
    out += fmt::format("<li><p><b>{}</b>{}</p>{}<p class=\"said\">{}</p></li>", name, found,
                       plot(match, parts,
                            fmt::format("{}: the query over the recording, {} to {}{}", name,
                                        time_.place(first), time_.place(last), heard)),
                       said);
  }
  return out + "</ol></details>";
}

}  // namespace

std::int64_t matches_with_panels(const SearchPage& page) {
  std::int64_t plots = 0, count = 0;
  for (const Match& match : page.found->matches) {
    plots += match.channels;
    if (count == kMostPanels || (count > 0 && plots > kMostPlots)) break;
    ++count;
  }
  return count;
}

std::string match_panels(const SearchPage& page) { return Panels(page).draw(); }

}  // namespace warploom::search
