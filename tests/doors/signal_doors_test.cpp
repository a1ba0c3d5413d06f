#include <cmath>
#include <limits>

#include "doors/doors.hpp"
#include "warploom/signal/filter.hpp"
#include "warploom/signal/prepare.hpp"

namespace warploom::doors {
namespace {

using namespace signal;

constexpr double kOdd[] = {
    0, -1, 1e-300, 1e300, HUGE_VAL, -HUGE_VAL, std::numeric_limits<double>::quiet_NaN()};

io::Recording walk(double rate = 50, std::size_t samples = 100) {
  io::Recording recording;
  recording.timed = true;
  for (std::size_t c = 0; c < 2; ++c) {
    recording.channels.push_back({.rate = rate, .samples = std::vector<float>(samples)});
    for (std::size_t k = 0; k < samples; ++k)
      recording.channels[c].samples[k] = static_cast<float>(k * k % 17);
  }
  return recording;
}

DOOR(Butterworth, "signal::butterworth") {
  for (const double odd : kOdd) {
    refused([&] { return butterworth(odd, {}, 50); });
    refused([&] { return butterworth({}, odd, 50); });
    survives([&] { return butterworth(1, 2, odd); });
    refused([&] { return butterworth(2, odd, 50); });
  }
  refused([] { return butterworth({}, {}, 50); });
}

DOOR(FilterBothWays, "signal::filter_both_ways", "signal::filter", "signal::detrend") {
  const auto sections = butterworth(1, 5, 50);
  for (const std::size_t samples : {std::size_t{0}, std::size_t{1}, std::size_t{2}, std::size_t{15}})
    for (const float value : {0.0F, 1e38F, HUGE_VALF, std::nanf("")}) {
      io::Channel channel{.rate = 50, .samples = std::vector<float>(samples, value)};
      survives([&] { return filter_both_ways(sections, channel.samples), 0; });
      survives([&] { return filter_both_ways({}, channel.samples), 0; });
      channel.samples.assign(samples, value);
      survives([&] { return filter(channel, 1, 2), 0; });
      survives([&] { return detrend(channel), 0; });
    }
  for (const double odd : kOdd) {
    io::Channel channel{.rate = odd, .samples = {1, 2, 3}};
    survives([&] { return filter(channel, 1, 2), 0; });
    survives([&] { return detrend(channel), 0; });
  }
  io::Channel channel{.rate = 50, .samples = {1, 2, 3}};
  move_away(channel);
  survives([&] { return filter(channel, 1, 2), 0; });
}

DOOR(Resample, "signal::resample", "signal::common_rate", "signal::prepare") {
  for (const double odd : kOdd) {
    io::Recording recording = walk();
    refused([&] { return resample(recording, odd), 0; });
    recording = walk(), recording.channels[1].rate = odd;
    if (odd != 1e-300 && odd != 1e300) refused([&] { return resample(recording, 50), 0; });
    survives([&] { return common_rate(recording); });
    recording = walk();
    refused([&] { return prepare(recording, {.resample = odd}, ""), 0; });
    recording = walk();
    refused([&] { return prepare(recording, {.low = odd}, ""), 0; });
    recording = walk(odd);
    survives([&] { return prepare(recording, {.detrend = true}, ""), 0; });
  }
  io::Recording recording;
  survives([&] { return resample(recording, 50), 0; });
  refused([&] { return prepare(recording, {}, ""), 0; });
  EXPECT_EQ(common_rate(recording), 0);
  recording = walk();
  move_away(recording);
  refused([&] { return prepare(recording, {}, "x"), 0; });
  recording = walk(50, 0);
  refused([&] { return prepare(recording, {}, "x"), 0; });
}

DOOR(
    Cut, "signal::cut(const Recording &, double, double, const std::string &)",
    "signal::cut(const Recording &, std::span<const std::span<const float>>, double, double, const std::string &)") {
  refused([] { return cut({}, 0, 1, "").channels; });
  for (const double odd : kOdd) {
    survives([&] { return cut(walk(), odd, 1, "").channels; });
    survives([&] { return cut(walk(), 1, odd, "").channels; });
    survives([&] { return cut(walk(odd), 0, 1, "").channels; });
  }
  io::Recording uneven = walk();
  uneven.channels[1].samples.resize(3);
  refused([&] { return cut(uneven, 0, 1, "").channels; });
  const std::vector<std::span<const float>> none, one{uneven.channels[0].samples};
  for (const auto& values : {none, one}) refused([&] { return cut(uneven, values, 0, 1, "").channels; });
  uneven.channels[1].samples.clear();
  refused([&] { return cut(uneven, 0, 1, "").channels; });
}

DOOR(NamesOfChannels, "signal::find_channel", "signal::parse_adjacency", "signal::channel_name",
     "signal::channel_names", "signal::channels_text", "signal::read_prepared") {
  for (const std::string& text : odd_texts()) {
    refused([&] { return find_channel(text, {"a", "b"}, ""); });
    refused([&] { return find_channel(text, {}, text); });
    survives([&] { return parse_adjacency(text, text, {"a", "b"}); });
    survives([&] { return parse_adjacency(text, text, {}); });
    EXPECT_FALSE(channel_name(text, std::numeric_limits<std::size_t>::max()).empty());
    EXPECT_FALSE(channels_text({text}).empty());
    if (text.size() < 200) refused([&] { return read_prepared(text, {}, {}).channels; });
  }
  EXPECT_FALSE(channels_text({}).empty());
  EXPECT_TRUE(channel_names({}).empty());
}

}  // namespace
}  // namespace warploom::doors
