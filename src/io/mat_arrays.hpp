#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

namespace warploom::io {

/// Numbers of a MAT file by columns, as they are stored.
struct MatArray {
  std::string name;  ///< "data.acc", "runs(2).acc", "trials{3}"
  std::uint64_t rows = 0, columns = 0;
  std::uint32_t type = 0;  ///< of an element in files of version 5: 1 int8, 2 uint8 ... 7 single, 9 double
  std::string_view bytes;
  bool swapped = false;

  std::uint64_t count() const { return rows * columns; }
  bool is_vector() const { return rows == 1 || columns == 1; }
  std::uint64_t length() const { return std::max(rows, columns); }
  double number(std::uint64_t index) const;
};

/// 0: no type of numbers.
std::size_t bytes_of_type(std::uint32_t type);

/// The arrays of numbers of a MAT file: views of its bytes and of those that were inflated.
struct MatContent {
  std::vector<MatArray> arrays = {};
  std::deque<std::string> inflated = {};
  std::uint64_t held = 0;  ///< bytes in `inflated`

  /// @throws BadInput (too many)
  void add(MatArray array, const std::string& file);
  /// Counts bytes that were inflated. @throws BadInput (more than a file may have)
  void hold(std::uint64_t bytes, const std::string& file);
};

/// Structures and cells lie in one another at most so deep.
inline constexpr int kDeepestMat = 32;

/// Versions 5 to 7. @throws BadInput
MatContent read_mat5(std::string_view bytes, const std::string& file);
/// Version 7.3: HDF5, at `begin` behind MATLAB's header. @throws BadInput
MatContent read_mat73(std::string_view bytes, std::size_t begin, const std::string& file);

}  // namespace warploom::io
