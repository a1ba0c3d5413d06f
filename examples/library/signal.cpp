// A recording made ready to be compared: another rate, and nothing below 0.5 or above 10 Hz.

#include <iostream>
#include <warploom/signal/prepare.hpp>

int main(int count, char** arguments) {
  using namespace warploom;
  const std::string file = count > 1 ? arguments[1] : "walk.csv";
  const io::Recording walk =
      signal::read_prepared(file, {.select = {"heel", "toe"}}, {.resample = 25, .low = 0.5, .high = 10});
  const io::Recording second = signal::cut(walk, 1, 2, file);
  std::cout << signal::channels_text(signal::channel_names(walk)) << ": " << walk.channels[0].samples.size()
            << " samples, " << second.channels[0].samples.size() << " in the second second\n";
}
