#include "tile/clang/records.hpp"

#include <algorithm>
#include <charconv>

namespace warploom::tile {
namespace {

constexpr std::int64_t kMostBytes = std::int64_t{1} << 40;

std::optional<std::int64_t> number(const std::string& text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 1) return std::nullopt;
  return value;
}

bool is_record(const Syntax& node) { return node.is("RecordDecl") || node.is("CXXRecordDecl"); }

}  // namespace

Records::Records(const Translation& translation) : translation_(translation) { visit(translation.root); }

void Records::visit(const Syntax& scope) {
  const Syntax* unnamed = nullptr;
  for (const Syntax& node : scope.children) {
    if (node.is("NamespaceDecl") || node.is("LinkageSpecDecl")) visit(node);
    if (is_record(node)) {
      unnamed = node.name.empty() ? &node : nullptr;
      if (node.name.empty() || node.children.empty()) continue;
      if (auto found = layout(node)) layouts_.insert_or_assign(node.name, std::move(*found));
    } else if (node.is("TypedefDecl") && unnamed) {  // typedef struct { ... } name;
      if (auto found = layout(*unnamed); found && read_type(node.type, {}).is_plain())
        layouts_.insert_or_assign(node.name, std::move(*found));
      unnamed = nullptr;
    }
  }
}

std::optional<Records::Layout> Records::layout(const Syntax& record) const {
  Layout all;
  if (record.is_special || record.value == "union") return std::nullopt;
  for (const Syntax& field : record.children) {
    if (field.is_special || field.kind.ends_with("Attr") || (is_record(field) && field.name.empty()))
      return std::nullopt;
    if (!field.is("FieldDecl")) continue;
    const CType type = read_type(field.type, translation_.aliases);
    const auto bytes = size(type), multiple = alignment(type);
    if (!bytes || !multiple || type.is_reference()) return std::nullopt;
    all.bytes = (all.bytes + *multiple - 1) / *multiple * *multiple;
    all.members[field.name] = {all.bytes, type};
    all.bytes += *bytes;
    all.alignment = std::max(all.alignment, *multiple);
    if (all.bytes > kMostBytes) return std::nullopt;
  }
  if (all.members.empty()) return std::nullopt;
  all.bytes = (all.bytes + all.alignment - 1) / all.alignment * all.alignment;
  return all;
}

std::optional<Records::Member> Records::member(const std::string& record, const std::string& name) const {
  const auto found = layouts_.find(record);
  if (found == layouts_.end()) return std::nullopt;
  const auto member = found->second.members.find(name);
  return member == found->second.members.end() ? std::nullopt : std::optional(member->second);
}

std::optional<std::int64_t> Records::size(const CType& type) const {
  std::int64_t elements = 1;
  for (const CType::Layer& layer : type.layers) {
    if (layer.kind == CType::Layer::Kind::pointer) return elements * 8;
    const auto extent = layer.kind == CType::Layer::Kind::array ? number(layer.extent) : std::nullopt;
    if (!extent || __builtin_mul_overflow(elements, *extent, &elements) || elements > kMostBytes)
      return std::nullopt;
  }
  std::optional<std::int64_t> one;
  if (const auto scalar = type.scalar())
    one = size_of(*scalar);
  else if (const auto found = layouts_.find(type.base); found != layouts_.end())
    one = found->second.bytes;
  else if (type.base == "bool" || type.base == "_Bool")
    one = 1;
  if (!one || *one > kMostBytes / elements) return std::nullopt;
  return elements * *one;
}

std::optional<std::int64_t> Records::alignment(const CType& type) const {
  const bool pointer = std::ranges::any_of(
      type.layers, [](const CType::Layer& layer) { return layer.kind == CType::Layer::Kind::pointer; });
  if (pointer) return 8;
  CType element = type;
  element.layers.clear();
  const auto found = layouts_.find(element.base);
  return found != layouts_.end() && !element.scalar() ? std::optional(found->second.alignment)
                                                      : size(element);
}

}  // namespace warploom::tile
