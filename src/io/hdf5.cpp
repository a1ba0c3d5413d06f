#include "io/hdf5.hpp"

#include <fmt/format.h>
#include <libdeflate.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <new>
#include <utility>

#include "io/deflate.hpp"
#include "warploom/core/error.hpp"
#include "warploom/core/file.hpp"

namespace warploom::io {
namespace {

constexpr std::string_view kSignature = "\x89HDF\r\n\x1a\n";
constexpr int kDeepestTree = 16;
constexpr std::size_t kMostSizes = 32;
constexpr std::uint64_t kNowhere = ~std::uint64_t{0};

/// Little-endian numbers, one after the other.
class Fields {
 public:
  explicit Fields(std::string_view bytes) : bytes_(bytes) {}
  /// 0 past the end, which `short_of` tells.
  std::uint64_t number(std::size_t count) {
    const std::string_view some = take(count);
    std::uint64_t value = 0;
    for (std::size_t k = some.size(); k-- > 0;) value = value << 8 | static_cast<unsigned char>(some[k]);
    return value;
  }
  std::string_view take(std::uint64_t count) {
    short_ = short_ || count > bytes_.size();
    const std::string_view some = bytes_.substr(0, count);
    bytes_.remove_prefix(some.size());
    return some;
  }
  std::string_view rest() const { return bytes_; }
  bool short_of() const { return short_; }

 private:
  std::string_view bytes_;
  bool short_ = false;
};

std::uint64_t padded(std::uint64_t size) { return (size + 7) / 8 * 8; }

/// Without the zeros that fill it.
std::string text_of(std::string_view bytes) { return std::string(bytes.substr(0, bytes.find('\0'))); }

}  // namespace

std::size_t hdf5_begin(std::string_view bytes) {
  for (std::size_t begin = 0; begin < bytes.size(); begin = begin == 0 ? 512 : 2 * begin)
    if (bytes.substr(begin).starts_with(kSignature)) return begin;
  return bytes.npos;
}

Hdf5::Hdf5(std::string_view bytes, std::size_t begin, const std::string& file) : bytes_(bytes), file_(file) {
  Fields head(at(begin, std::min<std::uint64_t>(bytes.size() - begin, 128)));
  head.take(kSignature.size());
  const std::uint64_t version = head.number(1);
  if (version > 1)
    unread(fmt::format("a superblock of version {}, which newer programs write when they are asked for",
                       version));
  head.take(4);  // versions, reserved
  const std::uint64_t offsets = head.number(1), lengths = head.number(1);
  head.take(version == 0 ? 9 : 13);  // reserved, sizes of nodes, flags
  base_ = head.number(8);
  head.take(24 + 8);  // free space, end, driver; the root's name
  root_ = head.number(8);
  if (head.short_of()) damaged("the superblock is cut off");
  if (offsets != 8 || lengths != 8)
    unread(fmt::format("addresses of {} bytes and lengths of {}", offsets, lengths));
}

void Hdf5::damaged(const std::string& what) const {
  throw BadInput(fmt::format("{}: damaged: {}", file_, what));
}

void Hdf5::unread(const std::string& what) const {
  throw BadInput(fmt::format(
      "{}: HDF5 of a form that is not read: {}; in MATLAB save(name, ..., '-v7'), or write CSV or "
      "NPY",
      file_, what));
}

std::string_view Hdf5::at(std::uint64_t address, std::uint64_t count) const {
  std::uint64_t from = 0;
  if (__builtin_add_overflow(base_, address, &from) || from > bytes_.size() || count > bytes_.size() - from)
    damaged(fmt::format("{} bytes at {}, where the file has {}", count, address, bytes_.size()));
  return bytes_.substr(from, count);
}

Hdf5Object Hdf5::object(std::uint64_t address) const {
  constexpr std::uint64_t kPrefix = 16;
  Fields head(at(address, kPrefix));
  const std::uint64_t version = head.number(1);
  head.take(1);
  std::uint64_t messages = head.number(2);
  head.take(4);
  const std::uint64_t size = head.number(4);
  if (version != 1) unread(fmt::format("an object's header of version {}", version));
  Hdf5Object object;
  std::vector<std::string_view> blocks = {at(address + kPrefix, size)};
  constexpr std::size_t kMostBlocks = 1000;
  for (std::size_t b = 0; b < blocks.size(); ++b) {
    Fields block(blocks[b]);
    for (; messages > 0 && block.rest().size() >= 8; --messages) {
      const auto type = static_cast<std::uint16_t>(block.number(2));
      const std::uint64_t length = block.number(2), flags = block.number(1);
      block.take(3);
      Fields content(block.take(length));
      if (block.short_of()) damaged("an object's header is cut off");
      constexpr std::uint16_t kContinuation = 0x10;
      constexpr std::uint64_t kShared = 2;
      if (type == kContinuation) {
        const std::uint64_t where = content.number(8), count = content.number(8);
        if (blocks.size() == kMostBlocks) damaged("an object's header has no end");
        blocks.push_back(at(where, count));
      } else if ((flags & kShared) == 0) {
        read_message(type, content.rest(), object);
      }
    }
  }
  return object;
}

void Hdf5::read_message(std::uint16_t type, std::string_view content, Hdf5Object& object) const {
  Fields fields(content);
  switch (type) {
    case 0x01:
      return read_sizes(content, object);
    case 0x03:
      return read_type(content, object);
    case 0x08:
      object.layout = content;
      return;
    case 0x0B:
      object.filters = content;
      return;
    case 0x0C:
      return read_attribute(content, object);
    case 0x02:
      return unread("a group of the form that HDF5 1.8 introduced");
    case 0x11:
      object.group = true;
      object.tree = fields.number(8);
      object.heap = fields.number(8);
      if (fields.short_of()) damaged("a group without its names");
      return;
    default:
      return;
  }
}

void Hdf5::read_sizes(std::string_view content, Hdf5Object& object) const {
  Fields fields(content);
  const std::uint64_t version = fields.number(1), rank = fields.number(1);
  fields.take(version == 1 ? 6 : 2);
  object.sizes.clear();
  if (version == 0 || version > 2 || rank > kMostSizes)
    damaged(fmt::format("sizes of version {}, {} of them", version, rank));
  for (std::uint64_t k = 0; k < rank; ++k) object.sizes.push_back(fields.number(8));
  if (fields.short_of()) damaged("a dataset's sizes are cut off");
}

void Hdf5::read_type(std::string_view content, Hdf5Object& object) const {
  Fields fields(content);
  const std::uint64_t kind = fields.number(1) & 0xF, bits = fields.number(3);
  object.each = fields.number(4);
  if (fields.short_of()) damaged("a type is cut off");
  object.kind = kind == 0   ? Hdf5Object::Kind::integer
                : kind == 1 ? Hdf5Object::Kind::real
                : kind == 7 ? Hdf5Object::Kind::reference
                            : Hdf5Object::Kind::other;
  object.big_endian = (bits & 1) != 0;
  object.is_signed = (bits & 8) != 0;
}

void Hdf5::read_attribute(std::string_view content, Hdf5Object& object) const {
  Fields fields(content);
  const std::uint64_t version = fields.number(1);
  if (version == 0 || version > 3) damaged(fmt::format("an attribute of version {}", version));
  const bool shared = (fields.number(1) & 3) != 0 && version > 1;
  const std::uint64_t name_size = fields.number(2), type_size = fields.number(2), sizes = fields.number(2);
  if (version == 3) fields.take(1);
  const auto take = [&](std::uint64_t size) { return fields.take(version == 1 ? padded(size) : size); };
  const std::string name = text_of(take(name_size));
  const std::string_view type = take(type_size), space = take(sizes);
  if (fields.short_of()) damaged("an attribute is cut off");
  if (shared || type.empty()) return;
  Hdf5Object of;
  read_type(type, of);
  constexpr int kText = 3;
  if ((static_cast<unsigned char>(type[0]) & 0xF) == kText) {
    object.texts[name] = text_of(fields.rest().substr(0, of.each));
  } else if (of.kind == Hdf5Object::Kind::integer && !space.empty()) {
    const std::string_view value = fields.rest().substr(0, of.each);
    object.flags[name] = std::ranges::any_of(value, [](char byte) { return byte != '\0'; });
  }
}

std::vector<std::pair<std::string, std::uint64_t>> Hdf5::members(const Hdf5Object& group) const {
  Fields heap(at(group.heap, 32));
  if (heap.take(4) != "HEAP") damaged("a group's names are not where it says");
  heap.take(4);
  const std::uint64_t size = heap.number(8);
  heap.take(8);
  const std::string_view names = at(heap.number(8), size);
  std::vector<std::pair<std::string, std::uint64_t>> members;
  std::uint64_t left = bytes_.size() / 8;  // of nodes and names: no file holds more
  add_members(group.tree, kDeepestTree, names, left, members);
  return members;
}

/// Children of a tree's node: a key stands before each.
void Hdf5::add_members(std::uint64_t node, int deepest, std::string_view names, std::uint64_t& left,
                       std::vector<std::pair<std::string, std::uint64_t>>& members) const {
  if (deepest == 0 || left-- == 0) damaged("a group's tree has no end");
  const std::string_view begin = at(node, 4);
  if (begin == "SNOD") {
    Fields head(at(node, 8));
    head.take(6);
    const std::uint64_t count = head.number(2);
    Fields entries(at(node + 8, count * 40));
    for (std::uint64_t k = 0; k < count; ++k) {
      const std::uint64_t name = entries.number(8), address = entries.number(8);
      const std::uint64_t linked = entries.number(4);  // 2: by name, to elsewhere
      entries.take(20);
      if (name >= names.size() || left-- == 0) damaged("a name outside its group's");
      if (linked != 2) members.emplace_back(text_of(names.substr(name)), address);
    }
    return;
  }
  Fields head(at(node, 24));
  if (begin != "TREE" || head.take(5).back() != '\0') damaged("a group's tree is not where it says");
  head.take(1);
  const std::uint64_t count = head.number(2);
  Fields entries(at(node + 24, count * 16 + 8));
  for (std::uint64_t k = 0; k < count; ++k) {
    entries.take(8);
    add_members(entries.number(8), deepest - 1, names, left, members);
  }
}

/// A dataset in chunks.
struct Hdf5::Chunks {
  struct Filter {
    std::uint64_t number = 0;
    std::uint64_t value = 0;  ///< the first
  };
  std::vector<std::uint64_t> sizes, chunk;  ///< [rank] elements
  std::uint64_t each = 0;
  std::vector<Filter> filters;
  std::uint64_t bytes() const {
    std::uint64_t bytes = each;
    for (const std::uint64_t size : chunk) bytes *= size;
    return bytes;
  }
};

std::string_view Hdf5::content(const Hdf5Object& dataset, std::string& kept) const {
  std::uint64_t count = dataset.each;
  for (const std::uint64_t size : dataset.sizes)
    if (__builtin_mul_overflow(count, size, &count)) damaged("a dataset of more than 2^64 bytes");
  // Zeros may be left out, but not more than could be written.
  if (count > kMaxFileBytes || count / kMostExpansion > bytes_.size())
    throw BadInput(
        fmt::format("{}: a dataset of {} bytes: more than the limit of {}, or than {} times the file's {}",
                    file_, count, kMaxFileBytes, kMostExpansion, bytes_.size()));
  Fields layout(dataset.layout);
  const std::uint64_t version = layout.number(1), form = layout.number(1);
  if (dataset.layout.empty()) damaged("a dataset without a layout");
  if (version != 3) unread(fmt::format("a dataset's layout of version {}", version));
  if (form == 0) {
    layout.number(2);
    if (layout.rest().size() < count) damaged("a compact dataset is cut off");
    return layout.rest().substr(0, count);
  }
  if (form == 1) {
    const std::uint64_t address = layout.number(8);
    if (address != kNowhere) return at(address, count);
    kept.assign(count, '\0');  // nothing was written
    return kept;
  }
  if (form != 2) damaged(fmt::format("a dataset's layout {}", form));
  Chunks chunks{.sizes = dataset.sizes, .chunk = {}, .each = dataset.each, .filters = {}};
  const std::uint64_t rank = layout.number(1);
  const std::uint64_t tree = layout.number(8);
  if (rank != dataset.sizes.size() + 1 || dataset.sizes.empty())
    damaged(fmt::format("chunks of {} sizes in a dataset of {}", rank, dataset.sizes.size()));
  std::uint64_t chunk_bytes = dataset.each;
  for (std::uint64_t k = 0; k + 1 < rank; ++k) {
    chunks.chunk.push_back(layout.number(4));
    if (chunks.chunk.back() == 0 || __builtin_mul_overflow(chunk_bytes, chunks.chunk.back(), &chunk_bytes) ||
        chunk_bytes > kMaxFileBytes || chunk_bytes / kMostExpansion > bytes_.size())
      damaged("a chunk that no file of this size holds");
  }
  if (layout.short_of()) damaged("a dataset's layout is cut off");
  Fields filters(dataset.filters);
  const std::uint64_t filter_version = filters.number(1), how_many = filters.number(1);
  if (filter_version == 1) filters.take(6);
  for (std::uint64_t k = 0; !dataset.filters.empty() && k < how_many; ++k) {
    Chunks::Filter filter{.number = filters.number(2)};
    const std::uint64_t name = filter_version == 1 || filter.number >= 256 ? filters.number(2) : 0;
    filters.take(2);
    const std::uint64_t values = filters.number(2);
    filters.take(filter_version == 1 ? padded(name) : name);
    for (std::uint64_t v = 0; v < values; ++v) {
      const std::uint64_t value = filters.number(4);
      if (v == 0) filter.value = value;
    }
    if (filter_version == 1 && values % 2 == 1) filters.take(4);
    if (filters.short_of()) damaged("a dataset's filters are cut off");
    if (filter.number < 1 || filter.number > 3) unread(fmt::format("the filter of number {}", filter.number));
    chunks.filters.push_back(filter);
  }
  kept.assign(count, '\0');
  std::uint64_t left = bytes_.size() / 24;
  if (tree != kNowhere && count > 0) add_chunks(tree, kDeepestTree, chunks, left, kept);
  return kept;
}

void Hdf5::add_chunks(std::uint64_t node, int deepest, const Chunks& chunks, std::uint64_t& left,
                      std::string& content) const {
  if (deepest == 0 || left-- == 0) damaged("a dataset's tree has no end");
  Fields head(at(node, 24));
  if (head.take(4) != "TREE" || head.number(1) != 1) damaged("a dataset's tree is not where it says");
  const std::uint64_t level = head.number(1), count = head.number(2);
  const std::size_t rank = chunks.sizes.size();
  const std::uint64_t key = 8 + 8 * (rank + 1);
  Fields entries(at(node + 24, count * (key + 8)));
  for (std::uint64_t k = 0; k < count; ++k) {
    const std::uint64_t size = entries.number(4);
    const auto skipped = static_cast<std::uint32_t>(entries.number(4));
    std::array<std::uint64_t, kMostSizes> first{};
    for (std::size_t d = 0; d < rank; ++d) first[d] = entries.number(8);
    entries.take(8);
    const std::uint64_t child = entries.number(8);
    if (level > 0) {
      add_chunks(child, deepest - 1, chunks, left, content);
      continue;
    }
    if (left-- == 0) damaged("a dataset's tree has no end");
    const std::string chunk = unfiltered(at(child, size), skipped, chunks);
    for (std::size_t d = 0; d < rank; ++d)
      if (first[d] >= chunks.sizes[d] || first[d] % chunks.chunk[d] != 0)
        damaged("a chunk outside its dataset");
    // Runs along the last size; those of the others that lie within the dataset.
    const std::uint64_t run = std::min(chunks.chunk[rank - 1], chunks.sizes[rank - 1] - first[rank - 1]);
    std::array<std::uint64_t, kMostSizes> in{};
    for (bool more = true; more;) {
      std::uint64_t from = 0, to = 0;
      for (std::size_t d = 0; d < rank; ++d) {
        from = from * chunks.chunk[d] + in[d];
        to = to * chunks.sizes[d] + first[d] + in[d];
      }
      std::memcpy(content.data() + to * chunks.each, chunk.data() + from * chunks.each, run * chunks.each);
      more = false;
      for (std::size_t d = rank - 1; d-- > 0 && !more;) {
        more = ++in[d] < std::min(chunks.chunk[d], chunks.sizes[d] - first[d]);
        if (!more) in[d] = 0;
      }
    }
  }
}

/// Filters were applied in their order; `skipped` has a bit for each that was not.
std::string Hdf5::unfiltered(std::string_view stored, std::uint32_t skipped, const Chunks& chunks) const {
  constexpr std::uint64_t kDeflate = 1, kShuffle = 2, kChecksum = 3;
  const std::uint64_t wanted = chunks.bytes();
  std::string bytes(stored);
  for (std::size_t f = chunks.filters.size(); f-- > 0;) {
    if ((skipped >> f & 1) != 0) continue;
    const auto [number, value] = chunks.filters[f];
    if (number == kChecksum) {
      if (bytes.size() < 4) damaged("a chunk without its checksum");
      bytes.resize(bytes.size() - 4);
    } else if (number == kDeflate) {
      std::string out(wanted, '\0');
      const std::unique_ptr<libdeflate_decompressor, decltype(&libdeflate_free_decompressor)> inflate(
          libdeflate_alloc_decompressor(), &libdeflate_free_decompressor);
      if (!inflate) throw std::bad_alloc();
      if (libdeflate_zlib_decompress(inflate.get(), bytes.data(), bytes.size(), out.data(), out.size(),
                                     nullptr) != LIBDEFLATE_SUCCESS)
        damaged("a chunk cannot be inflated");
      bytes = std::move(out);
    } else if (number == kShuffle) {  // first all first bytes, then all second ones
      const std::uint64_t each = value == 0 ? chunks.each : value, count = bytes.size() / each;
      std::string out = bytes;
      for (std::uint64_t k = 0; k < count; ++k)
        for (std::uint64_t b = 0; b < each; ++b) out[k * each + b] = bytes[b * count + k];
      bytes = std::move(out);
    }
  }
  if (bytes.size() != wanted)
    damaged(fmt::format("a chunk of {} bytes, where {} are said", bytes.size(), wanted));
  return bytes;
}

std::vector<std::uint64_t> Hdf5::references(const Hdf5Object& dataset) const {
  std::string kept;
  std::vector<std::uint64_t> addresses;
  if (dataset.each != 8) return addresses;  // to parts of datasets
  for (Fields fields(content(dataset, kept)); fields.rest().size() >= 8;)
    addresses.push_back(fields.number(8));
  return addresses;
}

}  // namespace warploom::io
