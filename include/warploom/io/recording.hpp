#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "warploom/io/clock.hpp"

namespace warploom::io {

/// A series of samples of one quantity.
struct Channel {
  std::string name = {}, unit = {};  ///< as the file says, or empty
  double rate = 1;                   ///< [Hz]
  std::vector<float> samples = {};   ///< NaN: missing
};

/// An event that somebody marked.
struct Annotation {
  double onset = 0, duration = 0;  ///< [s] since the recording's begin
  std::string label = {};
};

/// What a recorder wrote: channels that begin together.
struct Recording {
  std::string name = {};                     ///< of the file, without directory
  std::vector<Channel> channels = {};        ///< none where an EDF+ file holds nothing but annotations
  std::vector<Annotation> annotations = {};  ///< that the file itself or one beside it holds, by onset
  bool timed = false;                        ///< the rate is known, from the file or the caller
  std::int64_t gaps = 0;                     ///< where samples were missing in time and NaN was put
  std::optional<Clock> begin = {};           ///< when it began, where the file says so
  double seconds() const;                    ///< of the longest channel
};

struct RecordingOptions {
  /// csv, npy, f32, f64, ts, edf, c3d, mat, wfdb; empty: by the name's ending (.csv .tsv .txt, .npy, .f32
  /// .raw, .f64, .ts, .edf .bdf, .c3d, .mat, .hea .dat), all but the last two perhaps with .gz behind it
  std::string format = {};
  /// [Hz] Where the file has none; an error if it has another, by more than 0.1 %.
  std::optional<double> rate = {};
  std::int32_t channels = 0;  ///< of raw samples, which are [samples, channels]; 0: 1
  /// Names, numbers (from 1) or ranges of numbers ("2-4") of the channels wanted, in order; empty: all.
  /// Columns of time and labels are no channels and do not count.
  std::vector<std::string> select = {};
  /// Of text: a name, or a number from 1. Empty: the first column named time, timestamp, datetime or t,
  /// perhaps with a unit behind it, "time [ms]", "Time (ms)" or "time_ms"; without a rate of the caller's,
  /// the first of dates and times of day, and the first if it grows evenly and has no name or a unit of time.
  /// "none": none.
  std::string time_column = {};
  /// [s] of the time column; 0: as its name says (s, ms, us, ns), else seconds; whole numbers 2 or more apart
  /// are milliseconds, from 1001 on microseconds, from 10^6 + 1 on nanoseconds.
  double time_unit = 0;
  /// Of text: a name or number. Runs of a value or word are annotations, labelled by it. Empty: the last
  /// column if it holds words, or whole numbers from 0 to 20 in runs of 25 rows or more, on average, and
  /// `select` does not name it. "none": none.
  std::string label_column = {};
  std::int32_t series = 1;  ///< of .ts: which, from 1, unless the path says so
};

/// A series of a .ts file by its path: walk.ts#3 is the third of walk.ts.
struct SeriesPath {
  std::filesystem::path file = {};
  std::int32_t series = 0;  ///< 0: the path does not say, and is the file's
};

/// Takes such a path apart. One that is a file's name, or has no number behind the last '#', says no series.
SeriesPath series_path(const std::filesystem::path& path);

/// The paths of all series of a .ts file. @throws as read_recording(). Cost: one pass over the file
std::vector<std::filesystem::path> series_of(const std::filesystem::path& file);

/// Reads a recording in one of these forms:
/// * text, UTF-8 or UTF-16: a row a sample, parted by commas, semicolons, tabs or blanks, perhaps in
/// quotation marks; an
///   empty field, NA, nan, null, - and ? are missing; "1,5" is 1.5 where commas part nothing; "name [unit]"
///   in the header, or units in the line below it. Times are numbers, dates and times of day (clock.hpp; a
///   column of dates before one of times of day is read with it), and must grow. The usual step is the
///   median; one within half of it is one step, since stamps are rounded and jitter; a longer one is a gap,
///   filled with NaN so that the sample after it stands within half a step of its time; a shorter one is an
///   error. The rate is the mean over the longest run without a gap, or the nearest whole number of Hz where
///   that is within 1e-4 of it and moves no stamp of the run by more than a step;
/// * NPY: [samples] or [samples, channels] of f4, f8 and whole numbers; raw 32 or 64-bit floats, little
/// endian;
/// * .ts (sktime): a series of several dimensions, its class an annotation over the whole; which, the path
///   (series_path()) or the options say;
/// * EDF, EDF+ (C and D), BDF: channels of their own rates, annotations, gaps between records as NaN;
/// * C3D: points as channels NAME.x, NAME.y and NAME.z, missing where they were not seen, and analog
/// channels,
///   whose rate is a multiple of the points'; of Intel, DEC and MIPS, whole numbers and floats; events are
///   annotations, "Left Foot Strike";
/// * MATLAB, versions 5 to 7.3 (of HDF5 the part that MATLAB writes): arrays of numbers, also those in
/// structures, by their names
///   ("data.acc"). Vectors and [samples, channels] of the commonest length are channels, NAME or NAME.1,
///   NAME.2; a vector named time or t is their time, a number named fs, rate or srate the rate;
/// * WFDB: .hea with formats 8, 16, 24, 32, 61, 80, 160, 212, 310, 311, several files, frames of several
/// samples a channel
///   (then its rate is that times the frame's), skew, multi-segment records with fixed and variable layout;
///   invalid samples are NaN; annotations of NAME.atr, labelled by mnemonic and text ("N", "+ (AFIB").
///   Checksums must agree.
///
/// What is guessed of text (columns of time and labels, the unit of time) is logged as a warning.
///
/// Everywhere infinite numbers, and those beyond single precision, are NaN.
/// @throws BadInput, ParseError: what, where in the file, which value and which limit; channels that are not
///         there; time that does not grow; more samples missing in gaps than 2^26 and than 64 times those
///         there are. OutOfMemory. Interrupted
/// Memory: the channels selected, and 1 MiB; of text, .ts, .gz and pipes the whole file besides (at most
///         2 GiB).
Recording read_recording(const std::filesystem::path& path, const RecordingOptions& options = {});

/// RecordingOptions::series where each series of .ts files is a recording.
inline constexpr std::int32_t kAllSeries = 0;

/// One recording of many.
struct RecordingFile {
  std::filesystem::path path = {};
  std::string name = {};  ///< of what is made from it: without ending, different from all others
};

/// The recordings that are meant: files as they are, folders searched through, by name. Of WFDB records the
/// header is taken, of .ts files, with kAllSeries, each series.
/// @throws BadInput (missing, a folder without recordings, two that would have the same name)
std::vector<RecordingFile> list_recordings(std::span<const std::string> files_and_folders,
                                           const RecordingOptions& reading);

/// The file that is meant: of a WFDB record the header, which may be named without an ending or by its
/// samples.
std::filesystem::path recording_file(const std::string& name);
/// The files that read_recording() reads of a path: of a WFDB record its header, those of its segments, its
/// samples and its annotations, where they are there; else the file itself.
/// @throws as read_recording() of a WFDB header
std::vector<std::filesystem::path> recording_parts(const std::filesystem::path& path,
                                                   const RecordingOptions& options = {});
/// "walk" of "data/walk.csv.gz", "walk_3" of "data/walk.ts#3".
std::string recording_stem(const std::filesystem::path& path);
/// The file holds several series, of which the path names none.
bool holds_series(const std::filesystem::path& path, const RecordingOptions& reading);

/// Annotations as text: a header line onset,duration,label, then a line each, in seconds. Labels with commas,
/// quotation marks or line ends stand in quotation marks, doubled inside.
/// @throws ParseError
std::vector<Annotation> parse_annotations(std::string_view text, const std::string& name);
/// The same, written: parse_annotations() gives equal ones.
std::string format_annotations(const std::vector<Annotation>& annotations);
/// A field of such a line, in quotation marks where it needs them.
std::string csv_field(std::string text);

}  // namespace warploom::io
