#include <cmath>
#include <filesystem>
#include <map>

#include "doors/doors.hpp"
#include "warploom/core/demangle.hpp"
#include "warploom/core/file.hpp"
#include "warploom/core/memory.hpp"
#include "warploom/core/npy.hpp"
#include "warploom/core/parse.hpp"
#include "warploom/core/process.hpp"
#include "warploom/core/run.hpp"
#include "warploom/core/threads.hpp"
#include "warploom/core/version.hpp"
#include "warploom/core/view.hpp"
#include "warploom/json/json.hpp"

namespace warploom::doors {
namespace {

DOOR(Views, "Tensor::Tensor<T, Rank>(T *, Extents...)", "Tensor::Tensor<T, Rank>(const Tensor<U, Rank> &)",
     "Tensor::Tensor<T, Rank>(std::span<T>, const Shape &)", "Tensor::empty", "Tensor::extent",
     "Tensor::flat", "Tensor::operator[]", "Tensor::size", "element_count", "require_shape", "shape_text") {
  std::vector<float> data(6);
  const std::span<float> span(data);
  const std::int64_t huge = std::int64_t{1} << 40;
  for (const auto& shape : std::vector<std::array<std::int64_t, 2>>{
           {2, 4}, {2, 2}, {-2, -3}, {huge, huge}, {kMost, 2}, {0, 0}, {0, kMost}})
    refused([&] { return Matrix<float>(span, shape).size(); });
  refused([&] { return Matrix<float>(nullptr, 2, 3).size(); });
  refused([&] { return Matrix<float>(data.data(), kMost, kMost).size(); });
  refused([&] { return Matrix<float>(data.data(), -1, 3).size(); });
  EXPECT_TRUE(Matrix<float>(std::span<float>(), {0, kMost}).empty());
  const Matrix<float> view(span, {2, 3});
  const Matrix<const float> constant = view;
  for (const std::int64_t index : {std::int64_t{-1}, std::int64_t{2}, kMost, kLeast})
    refused([&] { return constant[index].size(); });
  for (const std::size_t dimension : {std::size_t{2}, ~std::size_t{0}})
    refused([&] { return view.extent(dimension); });
  EXPECT_EQ(view.flat().size(), 6u);
  EXPECT_TRUE(Matrix<float>().flat().empty());
  refused([&] { return require_shape(view, {3, 2}, ""), 0; });
  EXPECT_EQ(element_count(std::array{kMost, std::int64_t{0}, kMost}), 0);
  refused([] { return element_count(std::array{kMost, std::int64_t{2}}); });
  refused([] { return element_count(std::array{kLeast}); });
  EXPECT_EQ(element_count({}), 1);
  EXPECT_EQ(shape_text({}), "[]");
}

DOOR(Files, "InputFile::InputFile", "InputFile::contents", "InputFile::read_at", "InputFile::size",
     "read_file", "write_file_atomically(const std::filesystem::path &, std::string_view)",
     "write_file_atomically(const std::filesystem::path &, std::span<const std::string_view>)",
     "TemporaryDirectory::TemporaryDirectory", "TemporaryDirectory::path") {
  const TemporaryDirectory folder;
  const std::filesystem::path path = folder.path() / "f";
  for (const std::filesystem::path& bad :
       {std::filesystem::path(), std::filesystem::path("/"), folder.path() / "no" / "f",
        std::filesystem::path(std::string(5000, 'x')),
        std::filesystem::path(std::string("/nowhere\0x", 10))}) {
    refused([&] { return InputFile(bad).size(); });
    refused([&] { return read_file(bad); });
    refused([&] { return write_file_atomically(bad, "x"), 0; });
  }
  write_file_atomically(path, std::span<const std::string_view>());
  EXPECT_EQ(read_file(path, 0), "");
  write_file_atomically(path, "12345678");
  refused([&] { return read_file(path, 7); });
  const InputFile file(path);
  std::vector<char> buffer(9);
  EXPECT_EQ(file.read_at(4, std::span(buffer).subspan(1, 8)), 4u);
  EXPECT_EQ(file.read_at(4, {}), 0u);
  for (const std::uint64_t offset : {std::uint64_t{8}, std::uint64_t{1} << 62, ~std::uint64_t{0}})
    survives([&] { return file.read_at(offset, buffer); });
  refused([&] { return file.contents(7); });
}

/// A file that says it is an array, with this header.
std::string npy(const std::string& header) {
  return std::string("\x93NUMPY\x01\x00", 8) + static_cast<char>(header.size() & 255) +
         static_cast<char>(header.size() >> 8) + header;
}

DOOR(Arrays, "NpyArray::count", "parse_npy", "parse_npy_header", "format_npy", "read_npy", "write_npy") {
  const std::uint64_t huge = std::uint64_t{1} << 40;
  for (const NpyArray& array :
       std::vector<NpyArray>{{"f4", {huge, huge}, {}},
                             {"f4", {~0ull}, {}},
                             {"f4", {2}, std::vector<std::byte>(7)},
                             {"", {}, {}},
                             {"x9", {1}, std::vector<std::byte>(8)},
                             {"f4", std::vector<std::uint64_t>(65, 1), std::vector<std::byte>(4)},
                             {}}) {
    refused([&] { return format_npy(array); });
    refused([&] { return write_npy("/nowhere/a.npy", array), 0; });
    survives([&] { return array.count(); });
  }
  refused([&] { return NpyArray{"f4", {huge, huge}, {}}.count(); });
  EXPECT_EQ((NpyArray{"f4", {huge, huge, 0}, {}}.count()), 0u);
  NpyArray array{"f4", {2}, std::vector<std::byte>(8)};
  EXPECT_FALSE(format_npy(array).empty());
  move_away(array);
  refused([&] { return format_npy(array); });
  for (const std::string& text : odd_texts()) {
    refused([&] { return parse_npy(text, text); });
    refused([&] { return parse_npy_header(text, text.size(), text); });
    refused([&] { return parse_npy_header(npy(text.substr(0, 60'000)), ~0ull, ""); });
    refused([&] { return parse_npy(npy(text.substr(0, 60'000)), ""); });
    refused([&] {
      return parse_npy(
          npy("{'descr': '<f4', 'fortran_order': False, 'shape': (" + text.substr(0, 100) + ",), }\n"), "");
    });
  }
  for (const std::string path : {"", "/", "/nowhere"}) refused([&] { return read_npy(path); });
}

DOOR(JsonValues, "Json::Json(T)", "Json::Json(const Map &)", "Json::Json(const Range &)",
     "Json::Json(const char *)", "Json::Json(const Json &)", "Json::Json(std::floating_point auto)",
     "Json::Json(std::initializer_list<Json>)", "Json::Json(std::nullptr_t)",
     "Json::Json(std::same_as<bool> auto)", "Json::Json(std::string)", "Json::Json(std::string_view)",
     "Json::Json(Json &&)", "Json::array", "Json::at(std::size_t) const", "Json::at(std::string_view) const",
     "Json::contains", "Json::dump", "Json::elements()", "Json::elements() const", "Json::empty",
     "Json::erase", "Json::get", "Json::is_array", "Json::is_null", "Json::is_object", "Json::is_string",
     "Json::items", "Json::object", "Json::operator=(const Json &)", "Json::operator=(Json &&)",
     "Json::operator==", "Json::operator[]", "Json::parse", "Json::push_back", "Json::size", "Json::to",
     "Json::update", "Json::value") {
  for (const std::string& text : odd_texts()) {
    survives([&] { return Json::parse(text); });
    survives([&] { return Json(text).dump(); });
    survives([&] { return Json(std::string_view(text)).dump(1); });
    survives([&] { return Json({{text, text}}).dump(); });
  }
  for (const char open : {'[', '{'}) {
    std::string deep;
    for (int k = 0; k < 100'000; ++k) deep += open == '[' ? "[" : "{\"a\":";
    refused([&] { return Json::parse(deep); });
    deep += "1";
    for (int k = 0; k < 100'000; ++k) deep += open == '[' ? ']' : '}';
    refused([&] { return Json::parse(deep); });
  }
  refused([] { return Json(static_cast<const char*>(nullptr)); });
  for (const double odd : {kNan, kInfinity}) survives([&] { return Json(odd).dump(); });
  for (const int indent : {-2, kMost32 / 1024})
    survives([&] { return Json(std::vector{1, 2}).dump(indent > 0 ? 100 : indent); });
  const std::vector<Json> values{nullptr,          true, 1, 1.5, "x", Json::array({1, 2}), Json({{"a", 1}}),
                                 ~std::uint64_t{0}};
  for (const Json& value : values) {
    survives([&] { return value.at("b"); });
    refused([&] { return value.at(std::size_t{2}); });
    refused([&] { return value.at(~std::size_t{0}); });
    survives([&] { return value.elements().size(); });
    survives([&] { return value.items().size(); });
    survives([&] { return value.get<bool>(); });
    survives([&] { return value.get<std::int8_t>(); });
    survives([&] { return value.get<double>(); });
    survives([&] { return value.get<std::string>(); });
    survives([&] { return value.get<std::vector<std::uint64_t>>(); });
    survives([&] { return value.value("a", std::string()); });
    EXPECT_FALSE(value.contains(""));
    Json copy = value;
    survives([&] { return copy.push_back(copy).size(); });  // itself
    copy = value;
    survives([&] { return (copy["x"] = copy).size(); });
    copy = value;
    survives([&] { return copy.update(copy), 0; });
    survives([&] { return copy.erase("a"), 0; });
    Json& same = copy;  // a name of its own, for compilers warn of what stands on both sides
    copy = same;
    EXPECT_EQ(copy, copy);
    int number = 0;
    survives([&] { return value.to(number), number; });
    copy = std::move(same);
    move_away(copy);
    survives([&] { return copy.dump(); });
    survives([&] { return copy.size(); });
    copy = value;
    EXPECT_EQ(copy, value);
  }
  refused([] { return Json(300).get<std::int8_t>(); });
  EXPECT_TRUE(Json::object().empty());
  EXPECT_TRUE(Json(std::map<std::string, int>()).is_object());
}

DOOR(WordsOfCore, "demangle", "function_name", "object_names", "parse_whole", "parse_hexadecimal",
     "parse_devices", "parse_log_level", "name(Device)", "name(LogLevel)", "bytes_text", "progress_text",
     "version", "log", "log_enabled") {
  for (const std::string& text : odd_texts()) {
    survives([&] { return demangle(text); });
    survives([&] { return demangle("_Z" + text); });
    survives([&] { return demangle("__nv_static_" + text); });
    survives([&] { return function_name("_Z3f" + text); });
    survives([&] { return object_names(std::vector{text, text, "_Z" + text}); });
    std::int8_t small = 0;
    double real = 0;
    std::uint64_t bits = 0;
    survives([&] { return parse_whole(text, small); });
    survives([&] { return parse_whole(text, real); });
    survives([&] { return parse_hexadecimal(text, bits); });
    refused([&] { return parse_devices(text); });
    refused([&] { return parse_devices("cuda:" + text); });
    refused([&] { return parse_log_level(text); });
  }
  EXPECT_TRUE(object_names({}).empty());
  refused([] { return name(no_enumerator<LogLevel>()); });
  survives([] { return name(Device{no_enumerator<Device::Kind>(), -5}); });
  survives([] { return name(Device{Device::Kind::cuda, kMost32}); });
  for (const std::uint64_t bytes : {std::uint64_t{0}, ~std::uint64_t{0}})
    EXPECT_FALSE(bytes_text(bytes).empty());
  for (const double elapsed : {0.0, -1.0, kNan, kInfinity, 1e300})
    for (const std::uint64_t done : {std::uint64_t{0}, std::uint64_t{1}, ~std::uint64_t{0}})
      for (const std::uint64_t total : {std::uint64_t{0}, std::uint64_t{1}, ~std::uint64_t{0}})
        survives([&] { return progress_text({"", "", done, total, elapsed, true}); });
  EXPECT_FALSE(version().empty());
  log(no_enumerator<LogLevel>(), "");
  EXPECT_FALSE(log_enabled(no_enumerator<LogLevel>()));
}

DOOR(Runs, "Device::gpu", "DeviceScope::DeviceScope", "DeviceScope::device", "OnDevice::OnDevice(Device)",
     "choose_device(Device)", "choose_device(Device, bool)", "one_device", "cuda_devices",
     "RunScope::RunScope", "RunScope::run", "RunScope::stop_requested", "current_run", "within_cap",
     "threads", "parallel_for", "check_interrupt", "Progress::Progress", "Progress::advance",
     "available_memory", "require_memory") {
  for (const Device device :
       {Device::gpu(-5), Device::gpu(kMost32), Device{no_enumerator<Device::Kind>(), kMost32}}) {
    survives([&] { return choose_device(device).ordinal; });
    survives([&] { return choose_device(device, false).ordinal; });
    survives([&] { return OnDevice(device), 0; });
    survives([&] { return DeviceScope({.devices = {device}}, "", false).device().ordinal; });
  }
  const std::vector<Device> two{Device::cpu, Device::cpu};
  refused([&] { return one_device(two, "").ordinal; });
  EXPECT_EQ(one_device({}, ""), Device::best);
  refused([&] { return DeviceScope({.devices = two}, "", false).device().ordinal; });
  survives([] { return cuda_devices().devices.size(); });
  {
    const RunScope scope({.memory = 1, .threads = 0xFFFFFFFF});
    EXPECT_EQ(within_cap(~std::uint64_t{0}), 1u);
    EXPECT_GE(threads(), 1u);
    std::atomic<int> bodies = 0;
    parallel_for(10'000, [&](std::int64_t) { ++bodies; });
    EXPECT_EQ(bodies, 10'000);
    EXPECT_FALSE(scope.stop_requested());
    EXPECT_EQ(&scope.run(), &current_run());
  }
  int calls = 0;
  for (const std::int64_t count : {std::int64_t{0}, std::int64_t{-1}, kLeast})
    parallel_for(count, [&](std::int64_t) { ++calls; });
  EXPECT_EQ(calls, 0);
  refused([] { return parallel_for(1, {}), 0; });
  const std::atomic<bool> stop = true;
  {
    const RunScope scope({.stop = &stop});
    refused([] { return check_interrupt(), 0; });
    refused([] {
      Progress progress("", 0, "");
      return progress.advance(~std::uint64_t{0}), 0;
    });
  }
  Progress progress("", 0, "");
  progress.advance(0);
  for (const std::string root : {"", "/nowhere", "/dev/null"})
    survives([&] { return available_memory(root); });
  refused([] { return require_memory(~std::uint64_t{0}, ""), 0; });
  refused([] { return require_memory(1, "", 0), 0; });
}

DOOR(Programs, "ask_program", "run_program", "find_program", "find_cuda_tool", "replace_process") {
  for (const Words& words : std::vector<Words>{
           {}, {""}, {"/nowhere/program"}, {std::string(5000, 'x')}, {std::string("a\0b", 3)}}) {
    survives([&] { return ask_program(words, std::chrono::milliseconds(500)).status; });
    refused([&] { return run_program(words); });
    refused([&] { return replace_process(words), 0; });
  }
  for (const auto limit : {std::chrono::milliseconds(0), std::chrono::milliseconds(-5),
                           std::chrono::milliseconds::min(), std::chrono::milliseconds::max()})
    survives([&] { return ask_program({"true"}, limit).status; });
  refused([] { return run_program({"true"}, {.out = "/nowhere/out"}); });
  for (const std::string& text : odd_texts()) {
    EXPECT_EQ(find_program("/nowhere" + text), std::nullopt);
    survives([&] { return find_program(text); });
    survives([&] { return find_cuda_tool(text); });
  }
}

}  // namespace
}  // namespace warploom::doors
