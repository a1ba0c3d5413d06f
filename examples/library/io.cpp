// A recording from a file of any of the known forms, and a picture written.

#include <iostream>
#include <warploom/io/png.hpp>
#include <warploom/io/recording.hpp>

int main(int count, char** arguments) {
  using namespace warploom;
  const io::Recording recording = io::read_recording(count > 1 ? arguments[1] : "walk.csv");
  for (const io::Channel& channel : recording.channels)
    std::cout << channel.name << " [" << channel.unit << "]: " << channel.samples.size() << " samples at "
              << channel.rate << " Hz\n";
  for (const io::Annotation& event : recording.annotations)
    std::cout << event.label << " from " << event.onset << " s for " << event.duration << " s\n";

  io::Picture picture{.width = 256, .height = 16};
  for (std::int64_t k = 0; k < picture.width * picture.height; ++k)
    picture.data.push_back(static_cast<std::uint16_t>(k % picture.width));
  io::write_png("ramp.png", picture);
}
