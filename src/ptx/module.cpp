#include "warploom/ptx/module.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "warploom/core/error.hpp"

namespace warploom::ptx {

const Function* Module::find_function(std::string_view name) const {
  const Function* found = nullptr;
  for (const Function& f : functions)
    if (f.name == name && (found == nullptr || f.has_body)) found = &f;
  return found;
}

std::string_view Module::text_of(Span s) const {
  if (s.begin > s.end || s.end > text.size())
    throw BadInput(fmt::format("{}: bytes {} to {} of a text of {}", file, s.begin, s.end, text.size()));
  return std::string_view(text).substr(s.begin, s.end - s.begin);
}

std::string print(const Module& module) { return module.text; }

void Edits::replace(Span span, std::string text) { edits_.push_back({span, std::move(text)}); }

std::string Edits::apply(std::string_view text) const {
  std::vector<const Edit*> order;
  std::size_t grown = text.size();
  for (const Edit& e : edits_) {
    order.push_back(&e);
    grown += e.text.size();
  }
  std::stable_sort(order.begin(), order.end(), [](const Edit* a, const Edit* b) {
    return a->span.begin != b->span.begin ? a->span.begin < b->span.begin : a->span.end < b->span.end;
  });
  std::string out;
  out.reserve(grown);
  std::uint32_t at = 0;
  for (const Edit* e : order) {
    if (e->span.begin < at || e->span.end < e->span.begin || e->span.end > text.size())
      throw Internal(fmt::format("edits overlap at byte {}", e->span.begin));
    out.append(text, at, e->span.begin - at);
    out.append(e->text);
    at = e->span.end;
  }
  out.append(text, at, text.size() - at);
  return out;
}

}  // namespace warploom::ptx
