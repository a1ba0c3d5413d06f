#include "reuse/check/parts.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "reuse/check/table.hpp"

namespace warploom::reuse::checking {
namespace {

using ptx::kNone;

struct Part {
  std::int64_t begin = 0, end = 0;        ///< in the array, before
  std::int64_t moved = 0;                 ///< by so much in all accesses
  std::vector<std::uint32_t> accesses{};  ///< Kernel::accesses
};

class Divider {
 public:
  Divider(Kernel& k, const ptx::Module& input, const KernelMatch& match, std::uint64_t pool_bytes)
      : k_(k),
        input_(input),
        f_(input.functions[match.function]),
        match_(match),
        pool_bytes_(static_cast<std::int64_t>(pool_bytes)),
        cfg_(ptx::build_cfg(input, f_)),
        values_(ptx::number_values(cfg_)),
        ranges_(cfg_, values_, {k.block}),
        walk_(k, match, cfg_, values_, ranges_) {}

  void run() {
    std::vector<bool> moved(k_.objects.size());
    for (const auto& [instruction, by] : match_.shifts) {
      const std::uint32_t a = k_.access_of[instruction];
      if (a == kNone || k_.accesses[a].objects.count() != 1)
        refuse(instruction, "its address differs from the input's, and it is no access of one shared array");
      else
        k_.accesses[a].objects.for_each([&](std::uint32_t o) { moved[o] = true; });
    }
    std::vector<std::vector<Part>> parts(k_.objects.size());
    for (std::uint32_t o = 0; o < moved.size(); ++o)
      if (moved[o] && !find(o, parts[o])) return;
    if (k_.refusals.empty()) replace(parts);
  }

 private:
  void refuse(std::uint32_t instruction, std::string_view why) {
    k_.refusals.push_back(fmt::format("line {}: {}", k_.line(instruction), why));
  }

  bool find(std::uint32_t o, std::vector<Part>& parts) {
    const Object& object = k_.objects[o];
    if (!k_.escapes[o].empty()) {
      k_.refusals.push_back(
          fmt::format("parts of '{}' moved, but it escapes: {}", object.name, k_.escapes[o]));
      return false;
    }
    for (const Kernel::Mixed& m : k_.mixed)
      if (m.first == o || m.second == o) {
        k_.refusals.push_back(fmt::format("line {}: parts of '{}' moved, and its address meets another's",
                                          m.line, object.name));
        return false;
      }
    for (std::uint32_t a = 0; a < k_.accesses.size(); ++a)
      if (k_.accesses[a].objects.test(o) && !reach(o, a, parts)) return false;
    // What no thread executes goes with anything: it is left aside.
    std::erase_if(parts, [](const Part& p) { return p.begin == p.end; });
    // Those that overlap are one.
    std::ranges::sort(parts, {}, &Part::begin);
    std::vector<Part> joined;
    for (Part& p : parts) {
      if (joined.empty() || p.begin >= joined.back().end) {
        joined.push_back(std::move(p));
        continue;
      }
      Part& into = joined.back();
      into.end = std::max(into.end, p.end);
      into.accesses.insert(into.accesses.end(), p.accesses.begin(), p.accesses.end());
      if (into.moved != p.moved) {
        refuse(
            k_.accesses[p.accesses[0]].instruction,
            fmt::format("this access of '{}' may reach bytes {} to {}, which others find moved by {}, not {}",
                        object.name, p.begin, p.end, into.moved, p.moved));
        return false;
      }
    }
    parts = std::move(joined);
    return true;
  }

  /// The bytes that one access may reach.
  bool reach(std::uint32_t o, std::uint32_t a, std::vector<Part>& parts) {
    const Object& object = k_.objects[o];
    const std::uint32_t at = k_.accesses[a].instruction;
    const ptx::Opcode& opcode = k_.opcode(at);
    const std::int64_t width = width_of(k_.module, k_.function, at);
    const bool matrix = opcode.op == ptx::Op::wmma || opcode.op == ptx::Op::ldmatrix ||
                        opcode.op == ptx::Op::stmatrix || opcode.op == ptx::Op::wgmma;
    const auto before =
        static_cast<std::uint32_t>(std::ranges::lower_bound(match_.inserted, at) - match_.inserted.begin());
    const ptx::Operand* named = address_of(input_, f_, at - before);
    const std::uint32_t address =
        named == nullptr ? kNone : static_cast<std::uint32_t>(named - f_.operands.data());
    const std::int64_t size = object.bytes == 0 ? kMost : static_cast<std::int64_t>(object.bytes);
    Part p{0, size, 0, {a}};
    if (k_.accesses[a].objects.count() != 1 || width == 0 || matrix || address == kNone) {
      refuse(at, fmt::format("what this access of '{}' reaches is not known, and parts of it moved",
                             object.name));
      return false;
    }
    const ptx::AddressRange range = ranges_.of(at - before, address);
    if (range.variable != kNone && input_.variables[range.variable].name == object.name) {
      const auto reach = walk_.reach(at - before, range);
      if (reach && !reach->executed) {
        p.begin = p.end = 0;
      } else if (reach && reach->least >= -kFar && reach->most <= kFar) {
        // No other number that is the same address modulo 2^32 lies in the array.
        p.begin = std::clamp<std::int64_t>(reach->least, 0, size);
        p.end = std::clamp<std::int64_t>(reach->most + width, 0, size);
        if (p.begin >= p.end) p.begin = 0, p.end = size;
      }
    }
    if (const auto shift = match_.shifts.find(at); shift != match_.shifts.end()) p.moved = shift->second;
    parts.push_back(std::move(p));
    return true;
  }

  void replace(const std::vector<std::vector<Part>>& parts) {
    const std::size_t old = k_.objects.size();
    for (std::uint32_t o = 0; o < old; ++o) {
      const Object array = k_.objects[o];
      const auto base = static_cast<std::int64_t>(array.offset.value_or(0));
      const bool in_pool = array.offset.has_value();
      if (parts[o].empty()) {
        if (in_pool && base + static_cast<std::int64_t>(array.bytes) > pool_bytes_)
          k_.refusals.push_back(
              fmt::format("'{}' ends behind its pool of {} bytes", array.name, pool_bytes_));
        continue;
      }
      k_.objects[o].offset.reset();  // the whole is nowhere any more
      for (const Part& p : parts[o]) {
        const std::int64_t begin = base + p.begin + p.moved, end = base + p.end + p.moved;
        const std::string name = fmt::format("{}[{}..{})", array.name, p.begin, p.end);
        if (begin < 0 || (in_pool ? end > pool_bytes_ : array.bytes != 0))
          k_.refusals.push_back(fmt::format("'{}' would lie at bytes {} to {}", name, begin, end));
        if ((base + p.moved) % 16 != 0)
          k_.refusals.push_back(
              fmt::format("'{}' moved by {} bytes, no multiple of 16", name, base + p.moved));
        for (const std::uint32_t a : p.accesses)
          part_of_.emplace_back(a, static_cast<std::uint32_t>(k_.objects.size()));
        k_.objects.push_back({name, static_cast<std::uint64_t>(p.end - p.begin),
                              static_cast<std::uint64_t>(std::max<std::int64_t>(begin, 0)), !in_pool});
      }
    }
    const auto widened = [&](const Bits& bits) {
      Bits more(k_.objects.size());
      bits.for_each([&](std::uint32_t o) { more.set(o); });
      return more;
    };
    for (Access& a : k_.accesses) a.objects = widened(a.objects);
    for (Bits& p : k_.points_to) p = widened(p);
    for (const auto& [access, object] : part_of_) {
      k_.accesses[access].objects.clear();
      k_.accesses[access].objects.set(object);
    }
    k_.escapes.resize(k_.objects.size());
    // What was stated of the whole is left aside.
    for (std::uint32_t& o : k_.stated_dead)
      if (o != kNone && !parts[o].empty()) o = kNone;
  }

  static constexpr std::int64_t kMost = 1 << 20;  ///< bytes of shared memory, and more
  static constexpr std::int64_t kFar = std::int64_t{1} << 31;

  Kernel& k_;
  const ptx::Module& input_;
  const ptx::Function& f_;
  const KernelMatch& match_;
  std::int64_t pool_bytes_;
  ptx::Cfg cfg_;
  ptx::Values values_;
  ptx::AddressRanges ranges_;
  Walk walk_;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> part_of_;  ///< access, object
};

}  // namespace

void find_parts(Kernel& k, const ptx::Module& input, const KernelMatch& match, std::uint64_t pool_bytes) {
  Divider(k, input, match, pool_bytes).run();
}

}  // namespace warploom::reuse::checking
