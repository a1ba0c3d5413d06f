#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "io/hdf5.hpp"
#include "io/mat_arrays.hpp"
#include "io/printable.hpp"
#include "warploom/core/error.hpp"

// MATLAB's version 7.3 is HDF5 behind a header of 512 bytes: a variable is a dataset, its sizes in reversed
// order, a structure a group, an array of structures a group of datasets of references, and cells are
// references into the group #refs#. The attribute MATLAB_class names the class.

namespace warploom::io {
namespace {

using Kind = Hdf5Object::Kind;

class Mat73 {
 public:
  Mat73(std::string_view bytes, std::size_t begin, const std::string& file)
      : hdf5_(bytes, begin, file), file_(file) {
    const Hdf5Object root = hdf5_.object(hdf5_.root());
    if (!root.group) throw BadInput(fmt::format("{}: damaged: its root is no group", file_));
    add_fields(root, "", kDeepestMat);
  }
  MatContent content() && { return std::move(content_); }

 private:
  void add_fields(const Hdf5Object& group, const std::string& path, int deeper) {
    for (const auto& [name, address] : hdf5_.members(group))
      if (!name.starts_with('#'))  // #refs#, #subsystem#
        add(address, path.empty() ? name : fmt::format("{}.{}", path, name), deeper);
  }

  void add(std::uint64_t address, const std::string& path, int deeper) {
    if (deeper == 0)
      throw BadInput(
          fmt::format("{}: damaged: structures in one another, more than {} deep", file_, kDeepestMat));
    count(1);
    const Hdf5Object object = hdf5_.object(address);
    const auto of_class = object.texts.find("MATLAB_class");
    const std::string kind = of_class == object.texts.end() ? "" : of_class->second;
    if (const auto empty = object.flags.find("MATLAB_empty"); empty != object.flags.end() && empty->second)
      return;
    if (object.group) {
      if (!object.flags.contains("MATLAB_sparse")) add_fields(object, path, deeper - 1);
    } else if (object.kind == Kind::reference) {
      add_references(object, path, kind == "cell", deeper);
    } else if (kind != "char" && !object.flags.contains("MATLAB_object_decode")) {
      add_numbers(object, path);
    }
  }

  /// Cells, or a field of an array of structures: "trials{3}", "runs(2).acc".
  void add_references(const Hdf5Object& object, const std::string& path, bool cells, int deeper) {
    const std::vector<std::uint64_t> addresses = hdf5_.references(object);
    count(addresses.size());
    const std::size_t dot = path.rfind('.');
    for (std::size_t k = 0; k < addresses.size(); ++k)
      add(addresses[k],
          cells || dot == path.npos
              ? fmt::format("{}{{{}}}", path, k + 1)
              : fmt::format("{}({}).{}", path.substr(0, dot), k + 1, path.substr(dot + 1)),
          deeper - 1);
  }

  void add_numbers(const Hdf5Object& object, const std::string& path) {
    const std::size_t rank = object.sizes.size();
    if (rank < 2 ||
        std::ranges::any_of(object.sizes.begin(), object.sizes.end() - 2, [](auto n) { return n != 1; }))
      return;  // none of MATLAB's, or of more than two sizes
    MatArray array{path, object.sizes[rank - 1], object.sizes[rank - 2], type_of(object),
                   {},   object.big_endian};
    if (array.type == 0 || array.rows == 0 || array.columns == 0) return;
    array.bytes = hdf5_.content(object, content_.inflated.emplace_back());
    content_.hold(content_.inflated.back().size(), file_);
    content_.add(std::move(array), file_);
  }

  /// As in files of version 5.
  static std::uint32_t type_of(const Hdf5Object& object) {
    if (object.kind == Kind::real) return object.each == 4 ? 7 : object.each == 8 ? 9 : 0;
    if (object.kind != Kind::integer) return 0;  // complex numbers
    for (const auto& [each, type] : {std::pair{1U, 1U}, {2U, 3U}, {4U, 5U}, {8U, 12U}})
      if (object.each == each) return object.is_signed ? type : type + 1;
    return 0;
  }

  /// Objects that references lead to may be the same again and again.
  void count(std::uint64_t more) {
    constexpr std::uint64_t kMost = 1'000'000;
    if ((seen_ += more) > kMost)
      throw BadInput(
          fmt::format("{}: it holds more than {} variables and cells; save fewer of them", file_, kMost));
  }

  Hdf5 hdf5_;
  const std::string& file_;
  MatContent content_;
  std::uint64_t seen_ = 0;
};

}  // namespace

MatContent read_mat73(std::string_view bytes, std::size_t begin, const std::string& file) {
  return Mat73(bytes, begin, file).content();
}

}  // namespace warploom::io
