#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>

#include "doors/doors.hpp"
#include "warploom/core/process.hpp"
#include "warploom/io/fasta.hpp"
#include "warploom/io/gradients.hpp"
#include "warploom/io/gzip.hpp"
#include "warploom/io/nifti.hpp"
#include "warploom/io/png.hpp"
#include "warploom/io/recording.hpp"
#include "warploom/io/sequence_stream.hpp"
#include "warploom/io/sequences.hpp"
#include "warploom/io/table.hpp"

namespace warploom::doors {
namespace {

using namespace io;

/// A file of a text, as long as it lives.
class TextFile {
 public:
  TextFile(const std::string& name, const std::string& text) : path_(folder_.path() / name) {
    std::ofstream(path_, std::ios::binary) << text;
  }
  const std::filesystem::path& path() const { return path_; }

 private:
  TemporaryDirectory folder_;
  std::filesystem::path path_;
};

DOOR(TextsOfIo, "io::parse_annotations", "io::parse_fasta", "io::parse_frame", "io::parse_list",
     "io::parse_nifti", "io::parse_png", "io::parse_sequences", "io::parse_table", "io::gunzip",
     "io::gunzip_head", "io::gzip", "io::uncompressed", "io::is_gzip", "io::csv_field", "io::name(Frame)") {
  for (const std::string& text : odd_texts()) {
    survives([&] { return parse_annotations("onset,duration,label\n" + text, text); });
    survives([&] { return parse_annotations(text, ""); });
    survives([&] { return parse_fasta(text, text, {text, text}); });
    survives([&] { return parse_fasta(">" + text, ""); });
    survives([&] { return parse_sequences(text, text); });
    survives([&] { return parse_sequences("@a\n" + text, ""); });
    refused([&] { return parse_frame(text); });
    survives([&] { return parse_table<double>(text, ""); });
    survives([&] { return parse_table<std::int64_t>(text, text, 0); });
    survives([&] { return parse_list<double>(text, ""); });
    refused([&] { return parse_nifti(text, ""); });
    refused([&] { return parse_nifti(gzip(text, 1), "", 0); });
    refused([&] { return parse_png("\x89PNG\r\n\x1a\n" + text, ""); });
    refused([&] { return gunzip("\x1f\x8b" + text, "", 0); });
    survives([&] { return gunzip_head("\x1f\x8b" + text, text, 100); });
    EXPECT_EQ(gunzip_head(gzip(text, 1), "", 100), text.substr(0, 100));
    refused([&] { return parse_png("\x89PNG\r\n\x1a\n" + text, "", 0); });
    refused([&] { return gunzip("\x1f\x8b\x08\x04" + text, text, ~0ull); });
    EXPECT_EQ(gunzip(gzip(text, 12), "", text.size()), text);
    if (!text.empty()) refused([&] { return gunzip(gzip(text, 1), "", text.size() - 1); });
    EXPECT_EQ(gunzip(gzip(text, 1), "", text.size(), ~0ull), text);
    refused([&] { return parse_fasta(gzip(text + "a", 1), "", {}, 0); });
    refused([&] { return uncompressed(gzip(text + "a", 1), "", 0); });
    survives([&] { return uncompressed(text, ""); });
    EXPECT_GE(csv_field(text).size(), text.size());
    survives([&] { return is_gzip(text); });
  }
  for (const std::int64_t infinity :
       {std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::max()})
    survives([&] { return parse_table<std::int64_t>("inf -inf", "", infinity); });
  for (const int level : {0, -1, 13, std::numeric_limits<int>::max()})
    refused([&] { return gzip("x", level); });
  refused([] { return name(no_enumerator<Frame>()); });
  refused([] { return gunzip("", "", 0); });
}

DOOR(Niftis, "io::Nifti::elements", "io::write_nifti", "io::read_nifti", "io::determinant",
     "io::unplaced_affine", "io::is_complex") {
  const double huge = std::numeric_limits<double>::max();
  for (const std::int64_t extent : {std::int64_t{-1}, std::int64_t{0}, std::int64_t{1} << 62})
    for (const double spacing : {0.0, std::nan(""), huge})
      survives([&] { return unplaced_affine({extent, extent}, {spacing, spacing, spacing})[0][0]; });
  survives([] { return unplaced_affine({}, {1, 1, 1})[0][0]; });
  const TextFile place("a.nii", "x");
  const auto write = [&](const Nifti& image) { return write_nifti(place.path(), image), 0; };
  const auto with = [](std::vector<std::int64_t> shape, std::size_t values) {
    Nifti image;
    image.shape = std::move(shape);
    image.data.resize(values);
    return image;
  };
  for (const Nifti& image : {with({}, 0), with({2, 2}, 3), with({2, 2}, 5), with({0}, 0), with({-2, -2}, 4),
                             with({1LL << 40, 1LL << 40}, 1), with({1, 1, 1, 1, 1, 1, 1, 1}, 1)})
    refused([&] { return write(image); });
  refused([&] { return with({1LL << 40, 1LL << 40}, 0).elements(); });
  refused([&] { return with({-1}, 0).elements(); });
  Nifti image = with({2, 2}, 4);
  EXPECT_EQ(write(image), 0);
  move_away(image);
  refused([&] { return write(image); });
  for (const double odd : {0.0, -1.0, std::nan(""), HUGE_VAL}) {
    image = with({2, 2}, 4), image.spacing[1] = odd;
    refused([&] { return write(image); });
    image = with({2, 2}, 4), image.affine[1][1] = odd == -1 ? 0 : odd;
    refused([&] { return write(image); });
    survives([&] { return determinant(image.affine); });
  }
  image = with({2, 2}, 4), image.type = no_enumerator<NiftiType>();
  refused([&] { return write(image); });
  EXPECT_FALSE(is_complex(no_enumerator<NiftiType>()));
  for (const NiftiType type : {NiftiType::complex64, NiftiType::complex128}) {
    image = with({2, 2}, 4), image.type = type;
    refused([&] { return write(image); });
    image.complex_data.resize(4, {std::nanf(""), 1e38F});
    refused([&] { return write(image); });
    image.data.clear();
    EXPECT_EQ(write(image), 0);
    refused([&] { return read_nifti(place.path()).data; });
    refused([&] { return read_nifti(place.path(), 31, NiftiNumbers::real_or_complex).data; });
    EXPECT_EQ(read_nifti(place.path(), 4096, NiftiNumbers::real_or_complex).complex_data.size(), 4U);
  }
  image = with({2, 2}, 4), image.intent = std::numeric_limits<int>::min();
  image.intent_name = image.description = std::string(1000, 'x');
  survives([&] { return write(image); });
  for (const NiftiType type : {NiftiType::uint8, NiftiType::int64, NiftiType::uint64}) {
    image = with({2, 2}, 4), image.type = type;
    image.data = {std::nanf(""), HUGE_VALF, -HUGE_VALF, 1e38F};
    EXPECT_EQ(write(image), 0);
    refused([&] { return read_nifti(place.path(), 8).data; });
  }
  refused([&] { return write_nifti(place.path(), with({2, 2}, 4), {.compression = -1}), 0; });
  for (const int code : {-1, 40000}) {
    image = with({2, 2}, 4), image.sform_code = code;
    refused([&] { return write(image); });
  }
  for (const std::string path : {"", "/", "/nowhere/a.nii", "a", ".nii", ".hdr", ".img.gz"}) {
    refused([&] { return read_nifti(path).data; });
    if (path != ".nii") refused([&] { return write_nifti(path, with({2, 2}, 4)), 0; });
  }
  for (const std::string& text : odd_texts())
    refused([&] { return read_nifti(TextFile("b.nii", text).path()).data; });
}

DOOR(Pictures, "io::format_png", "io::write_png", "io::read_png") {
  const auto with = [](std::int64_t width, std::int64_t height, int channels, std::size_t samples,
                       std::uint16_t most = 255) {
    return Picture{.width = width,
                   .height = height,
                   .channels = channels,
                   .data = std::vector<std::uint16_t>(samples),
                   .maximum = most};
  };
  const std::int64_t huge = std::int64_t{1} << 62;
  for (const Picture& picture :
       {with(0, 0, 1, 0), with(2, 2, 1, 3), with(2, 2, 1, 5), with(2, 2, 2, 8), with(-2, -2, 1, 4),
        with(huge, huge, 1, 0), with(huge, 4, 1, 0), with(1, 1, -3, 0), with(2, 2, 3, 4), with(2, 2, 1, 4, 0),
        with(2, 2, 1, 4, 256), Picture{}}) {
    refused([&] { return format_png(picture); });
    refused([&] { return write_png("/nowhere/x.png", picture), 0; });
  }
  Picture picture = with(2, 2, 1, 4);
  picture.data[1] = 256;
  refused([&] { return format_png(picture); });
  move_away(picture);
  refused([&] { return format_png(picture); });
  refused([] { return write_png("", Picture{.width = 1, .height = 1, .data = {0}}), 0; });
  for (const std::string path : {"", "/", "/nowhere"}) refused([&] { return read_png(path); });
}

DOOR(GradientFiles, "io::read_fsl_gradients", "io::fsl_gradients", "io::read_mrtrix_gradients",
     "io::frame_change", "io::parse_bvalue_scaling", "io::name(BValueScaling)", "io::remark_on_lengths") {
  for (const std::string& text : odd_texts()) {
    const TextFile b("b", text), g("g", text);
    for (const std::int64_t volumes :
         {std::int64_t{-1}, std::int64_t{0}, std::int64_t{1}, std::int64_t{1} << 62}) {
      survives([&] { return read_fsl_gradients(b.path(), g.path(), volumes, std::nan("")); });
      survives([&] { return read_mrtrix_gradients(b.path(), volumes, HUGE_VAL); });
    }
  }
  const TextFile good("b", "0 1000\n"), row("g", "0 0 0 0\n1 0 0 inf\n");
  refused([&] { return read_fsl_gradients(good.path(), row.path(), 2); });
  refused([&] { return read_mrtrix_gradients(row.path(), 2); });
  refused([&] { return read_mrtrix_gradients("", 2); });
  const TextFile unit("u", "0 1\n0 0\n0 0\n");
  const auto none = no_enumerator<BValueScaling>();
  refused([&] { return read_fsl_gradients(good.path(), unit.path(), 2, 50, none); });
  refused([&] { return name(none); });
  for (const std::int64_t rows :
       {std::int64_t{-1}, std::int64_t{0}, std::int64_t{4}, std::int64_t{6}, std::int64_t{1} << 62})
    refused([&] { return fsl_gradients({.b = {0, 1}, .directions = {0, 0, 0, 1, 0, 0}, .rows = rows}, 2); });
  refused([&] { return fsl_gradients({}, 0); });
  for (const std::string& text : odd_texts()) survives([&] { return parse_bvalue_scaling(text); });
  for (const double length : {-1.0, std::nan(""), HUGE_VAL})
    survives([&] { return remark_on_lengths({.lengths = {length, length}}); });
  refused([] { return frame_change(no_enumerator<Frame>(), Frame::fsl, Nifti{}.affine); });
  refused([] { return frame_change(Frame::fsl, no_enumerator<Frame>(), Nifti{}.affine); });
  refused([] { return frame_change(Frame::fsl, Frame::scanner, {}); });
  for (const double scale : {1e-100, 1e100, 1e-200, 1e200})
    survives([&] {
      return frame_change(Frame::fsl, Frame::scanner,
                          {{{scale, 0, 0, 0}, {0, scale, 0, 0}, {0, 0, scale, 0}}});
    });
}

std::vector<RecordingOptions> odd_reading() {
  std::vector<RecordingOptions> all;
  for (const double odd : {0.0, -1.0, std::nan(""), HUGE_VAL, 1e-300, 1e300}) {
    all.push_back({.rate = odd});
    all.push_back({.time_unit = odd});
  }
  for (const std::int32_t odd :
       {-1, 3, std::numeric_limits<std::int32_t>::max(), std::numeric_limits<std::int32_t>::min()}) {
    all.push_back({.channels = odd});
    all.push_back({.series = odd});
  }
  for (const std::string odd : {"", "0", "-1", "1", "18446744073709551617", "x"}) {
    all.push_back({.select = {odd, odd}});
    all.push_back({.time_column = odd, .label_column = odd});
    all.push_back({.format = odd});
  }
  return all;
}

DOOR(Clocks, "io::parse_clock", "io::clock_text", "io::Clock::absolute") {
  for (const std::string& text : odd_texts()) survives([&] { return parse_clock(text).has_value(); });
  for (const std::int64_t nanoseconds :
       {std::numeric_limits<std::int64_t>::min(), std::int64_t{0}, std::numeric_limits<std::int64_t>::max()})
    for (const std::int32_t offset : {std::numeric_limits<std::int32_t>::min(), 0, kMost32})
      for (const bool dated : {false, true}) {
        const Clock clock{nanoseconds, dated, offset};
        survives([&] { return clock.absolute(); });
        for (const double seconds : {-kInfinity, -1e300, -2e11, 0.0, 2e11, 1e300, kInfinity, kNan})
          survives([&] { return clock_text(clock, seconds); });
      }
}

DOOR(Recordings, "io::read_recording", "io::holds_series", "io::list_recordings", "io::recording_file",
     "io::recording_parts", "io::recording_stem", "io::series_of", "io::series_path") {
  std::vector<std::string> texts = odd_texts();
  texts.push_back("time,x\n0,1\n1,nan\n2,inf\n3,1e300\n");
  texts.push_back("time;x;y\n;[s];\n23:59:59,9;\"1\";a\n00:00:00;2;b\n");
  texts.push_back("2024-05-01 10:00:00Z,1\n2024-05-01 10:00:01+02:00,1\n");
  texts.push_back("@data\n1,2,3:4,5,6:a\n");
  for (const std::string& text : texts)
    for (const std::string name :
         {"a.csv", "a.npy", "a.f32", "a.f64", "a.ts", "a.edf", "a.hea", "a.dat", "a.csv.gz", "a"}) {
      const TextFile file(name, text);
      survives([&] { return read_recording(file.path()).seconds(); });
      survives([&] { return series_of(file.path()); });
      survives([&] { return recording_parts(file.path()).size(); });
      if (text.size() > 100) continue;
      for (const RecordingOptions& options : odd_reading()) {
        survives([&] { return read_recording(file.path(), options).seconds(); });
        survives([&] { return list_recordings(std::vector{file.path().string()}, options).size(); });
        survives([&] { return holds_series(file.path(), options); });
      }
    }
  for (const std::string& text : texts) {
    if (text.size() > 200) continue;
    refused([&] { return read_recording(text).seconds(); });
    survives([&] { return list_recordings(std::vector{text + "#x"}, {}); });
    survives([&] { return recording_file(text); });
    survives([&] { return recording_stem(text); });
    survives([&] { return recording_parts(text).size(); });
    survives([&] { return series_path(text + "#99999999999999999999"); });
  }
  EXPECT_TRUE(list_recordings({}, {}).empty());
}

DOOR(ValuesOfRecordings, "io::Recording::seconds", "io::format_annotations", "io::read_fasta",
     "io::read_sequences") {
  Recording recording;
  EXPECT_EQ(recording.seconds(), 0);
  for (const double rate : {0.0, -1.0, std::nan("")}) {
    recording.channels = {{.rate = rate, .samples = {1, 2}}};
    survives([&] { return recording.seconds(); });
  }
  move_away(recording);
  EXPECT_EQ(recording.seconds(), 0);
  EXPECT_FALSE(format_annotations({{std::nan(""), -HUGE_VAL, std::string("a\0\"\n", 4)}}).empty());
  for (const std::string path : {"", "/", "/nowhere"}) {
    refused([&] { return read_fasta(path); });
    refused([&] { return read_sequences(path); });
  }
}

DOOR(SequenceStreams, "io::FastqText::least_quality", "io::FastqText::letters", "io::FastqText::read",
     "io::FastqText::size", "io::SequenceStream::SequenceStream(SequenceStream &&)",
     "io::SequenceStream::SequenceStream(std::vector<std::filesystem::path>, int)",
     "io::SequenceStream::identity", "io::SequenceStream::next", "io::SequenceStream::next_fastq",
     "io::SequenceStream::of_text", "io::SequenceStream::rewind",
     "io::SequenceStream::operator=", "io::SequenceStream::records", "io::SequenceStream::stored_bytes",
     "io::SequenceStream::stored_taken") {
  std::string piece;
  for (const std::string& text : odd_texts())
    for (const std::string start : {"", ">", ">a\n", "@", "@a\nAC\n+\n"})
      survives([&] {
        SequenceStream stream = SequenceStream::of_text(start + text, text, 93);
        while (stream.next(piece, 1, 3)) continue;
        return stream.records() + stream.stored_taken() + *stream.stored_bytes();
      });
  SequenceStream stream = SequenceStream::of_text(">a\nAC\n", "");
  EXPECT_TRUE(stream.next(piece, 0, std::numeric_limits<std::size_t>::max()));
  EXPECT_FALSE(stream.next(piece, std::numeric_limits<std::size_t>::max(), 0));
  move_away(stream);
  refused([&] { return stream.next(piece, 1, 0); });
  refused([&] { return stream.records(); });
  refused([&] { return stream.identity(); });
  refused([&] { return stream.next_fastq(1); });
  refused([&] { return stream.rewind(), 0; });
  SequenceStream missing({"/nowhere"});
  EXPECT_FALSE(missing.next_fastq(1));
  const FastqText nothing;
  nothing.read(0, {});
  std::string more(1, ' ');
  refused([&] { return nothing.read(0, more), 0; });
  refused([&] { return nothing.read(std::numeric_limits<std::size_t>::max(), more), 0; });
  EXPECT_EQ(nothing.letters(more), "");
  EXPECT_EQ(nothing.size(), 0U);
  EXPECT_EQ(nothing.least_quality(), 0);
  refused([&] { return missing.rewind(), 0; });
  EXPECT_EQ(SequenceStream({"/nowhere"}).identity(), "");
  refused([] { return SequenceStream({}).records(); });
  for (const int quality : {-1, 94, kMost32})
    refused([&] { return SequenceStream({"a"}, quality).records(); });
  for (const std::string path : {"", "/", "/nowhere"})
    refused([&] { return SequenceStream(std::vector<std::filesystem::path>{path}).next(piece, 1, 0); });
}

}  // namespace
}  // namespace warploom::doors
