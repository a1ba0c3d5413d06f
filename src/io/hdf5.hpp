#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace warploom::io {

/// Where an HDF5 file begins within others' bytes: 0, 512, 1,024 and so on; npos: nowhere.
std::size_t hdf5_begin(std::string_view bytes);

/// What is in an object's header.
struct Hdf5Object {
  /// As they stand in a datatype message.
  enum class Kind { integer = 0, real = 1, reference = 7, other = -1 };

  bool group = false;
  std::map<std::string, std::string> texts = {};  ///< attributes that are texts of one length
  std::map<std::string, bool> flags = {};         ///< attributes that are an integer: not 0

  std::vector<std::uint64_t> sizes = {};  ///< of a dataset
  Kind kind = Kind::other;
  std::uint64_t each = 0;  ///< bytes of an element
  bool big_endian = false, is_signed = false;

  std::uint64_t tree = 0, heap = 0;  ///< of a group
  std::string_view layout = {}, filters = {};
};

/// The part of HDF5 that MATLAB, and HDF5 1.8 unless asked for more, write: superblocks 0 and 1, object
/// headers 1, groups as trees of names, datasets compact, contiguous or in chunks, filters deflate, shuffle
/// and checksum. All else is refused. Nothing is taken that does not lie within the bytes. Source: HDF5 File
/// Format Specification 3.0, The HDF Group.
class Hdf5 {
 public:
  /// @param bytes  kept by the caller
  /// @throws BadInput, as all methods do: damaged, or of a form that is not read
  Hdf5(std::string_view bytes, std::size_t begin, const std::string& file);

  std::uint64_t root() const { return root_; }
  Hdf5Object object(std::uint64_t address) const;
  /// Names and addresses, ordered by name.
  std::vector<std::pair<std::string, std::uint64_t>> members(const Hdf5Object& group) const;
  /// @return the elements of a dataset, in rows; of a contiguous one a view of the file, else of `kept`
  std::string_view content(const Hdf5Object& dataset, std::string& kept) const;
  /// Addresses of a dataset of references.
  std::vector<std::uint64_t> references(const Hdf5Object& dataset) const;

 private:
  struct Chunks;
  [[noreturn]] void damaged(const std::string& what) const;
  [[noreturn]] void unread(const std::string& what) const;
  std::string_view at(std::uint64_t address, std::uint64_t count) const;
  void read_message(std::uint16_t type, std::string_view content, Hdf5Object& object) const;
  void read_type(std::string_view content, Hdf5Object& object) const;
  void read_sizes(std::string_view content, Hdf5Object& object) const;
  void read_attribute(std::string_view content, Hdf5Object& object) const;
  void add_members(std::uint64_t node, int deepest, std::string_view names, std::uint64_t& left,
                   std::vector<std::pair<std::string, std::uint64_t>>& members) const;
  void add_chunks(std::uint64_t node, int deepest, const Chunks& chunks, std::uint64_t& left,
                  std::string& content) const;
  std::string unfiltered(std::string_view stored, std::uint32_t skipped, const Chunks& chunks) const;

  std::string_view bytes_;
  std::uint64_t base_ = 0, root_ = 0;
  const std::string& file_;
};

}  // namespace warploom::io
