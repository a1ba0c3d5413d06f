#include "warploom/reuse/check.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>

#include "reuse/check/carved.hpp"
#include "reuse/check/lives.hpp"
#include "reuse/check/parts.hpp"
#include "reuse/check/renaming.hpp"

namespace warploom::reuse {
namespace {

using namespace checking;

/// Gives each address in the output's kernel the name of the input's object.
void name_objects(Kernel& k, const ptx::Module& input, const KernelMatch& match,
                  const CheckOptions& options) {
  for (const PooledObject& o : match.objects) {
    const ptx::Variable& v = input.variables[o.variable];
    k.objects.push_back({std::string(v.name), v.bytes, o.offset});
  }
  k.object_at = match.object_at;
  std::map<std::uint32_t, std::uint32_t> others;  // variables that kept their storage
  const ptx::Module& output = k.module;
  for (const ptx::Operand& o : k.function.operands) {
    if (o.kind != ptx::OperandKind::symbol || output.variables[o.id].space != ptx::Space::shared) continue;
    if (match.object_at.contains(o.span.begin)) continue;
    const auto [slot, fresh] = others.emplace(o.id, k.objects.size());
    if (fresh)
      k.objects.push_back({std::string(output.variables[o.id].name), output.variables[o.id].bytes, {}});
    k.object_at[o.span.begin] = slot->second;
  }
  k.inserted.assign(k.function.instructions.size(), false);
  for (const std::uint32_t i : match.inserted) k.inserted[i] = true;
  if (match.pool != ptx::kNone) k.pool_alignment = output.variables[match.pool].align;
  k.strict = options.strict;
  k.assume_parts = options.assume_parts;
  k.moved_in_parts = !match.shifts.empty();
  k.block = k.function.required_threads;
  if (!k.block && !options.block.empty()) {
    k.block = {1, 1, 1};
    std::copy_n(options.block.begin(), std::min<std::size_t>(3, options.block.size()), k.block->begin());
  }
}

/// Parts moved inside the dynamic array: all arrays of that kind are one memory, also those of functions.
void refuse_others_of_dynamic(Kernel& k) {
  const auto is_dynamic = [&](const ptx::Operand& o) {
    if (o.kind != ptx::OperandKind::symbol) return false;
    const ptx::Variable& v = k.module.variables[o.id];
    return v.space == ptx::Space::shared && v.bytes == 0;
  };
  std::set<std::uint32_t> arrays;
  for (const ptx::Operand& o : k.function.operands)
    if (is_dynamic(o)) arrays.insert(o.id);
  if (arrays.size() > 1) k.refusals.push_back("parts moved inside the dynamic array, which has two names");
  for (const ptx::Function& f : k.module.functions)
    if (!f.entry && std::ranges::any_of(f.operands, is_dynamic))
      k.refusals.push_back(fmt::format("parts moved inside the dynamic array, which '{}' uses", f.name));
}

/// Who lies over whom, beside the pairs that are known already.
void find_pairs(Kernel& k) {
  k.partners.assign(k.objects.size(), Bits(k.objects.size()));
  for (const auto& [a, b] : k.pairs) {
    k.partners[a].set(b);
    k.partners[b].set(a);
  }
  for (std::uint32_t a = 0; a < k.objects.size(); ++a)
    for (std::uint32_t b = a + 1; b < k.objects.size(); ++b) {
      const Object &x = k.objects[a], &y = k.objects[b];
      if (!x.offset || !y.offset || x.in_dynamic != y.in_dynamic || *x.offset >= *y.offset + y.bytes ||
          *y.offset >= *x.offset + x.bytes)
        continue;
      k.pairs.emplace_back(a, b);
      k.partners[a].set(b);
      k.partners[b].set(a);
    }
}

class KernelCheck {
 public:
  KernelCheck(Kernel& k, CheckResult& result) : k_(k), result_(result) {}

  void run(const ptx::Module& input, const KernelMatch& match) {
    find_provenance(k_);
    const bool carved = !match.rebased.empty();
    if (carved || (!match.shifts.empty() && match.pool == ptx::kNone)) refuse_others_of_dynamic(k_);
    if (carved)
      find_carved_parts(k_, input, match);
    else if (!match.shifts.empty())
      find_parts(k_, input, match, match.pool == ptx::kNone ? 0 : k_.module.variables[match.pool].bytes);
    find_pairs(k_);
    if (match.shifts.empty() && !carved && k_.pairs.empty() &&
        std::none_of(k_.inserted.begin(), k_.inserted.end(), [](bool b) { return b; })) {
      certify(fmt::format("no two of {} moved objects overlap", k_.objects.size()));
      return;
    }
    add(k_.refusals);
    add(follow_groups(k_));
    check_addresses();
    const Uniformity uniformity(k_);
    add(uniformity.problems);
    add(find_bad_barriers(k_, uniformity));
    add(find_unseparated(k_));
    add(find_divergent_pairs(k_, uniformity));
    check_lives(uniformity);
    if (!failed_) write_certificate(uniformity);
  }

 private:
  void add(const std::vector<std::string>& texts) {
    for (const std::string& text : texts) {
      result_.problems.push_back(fmt::format("{}: {}", k_.function.name, text));
      failed_ = true;
    }
  }
  void certify(const std::string& text) {
    result_.certificate.push_back(fmt::format("{}: {}", k_.function.name, text));
  }
  const std::string& name(std::uint32_t object) const { return k_.objects[object].name; }

  void check_addresses() {
    std::set<std::pair<std::uint32_t, std::uint32_t>> seen;
    for (const Kernel::Mixed& m : k_.mixed)
      if (k_.partners[m.first].test(m.second) && seen.emplace(m.first, m.second).second)
        add({fmt::format("line {}: the addresses of '{}' and '{}' meet in one value, and the objects overlap",
                         m.line, name(m.first), name(m.second))});
    for (std::uint32_t o = 0; o < k_.objects.size(); ++o)
      if (k_.partners[o].any() && !k_.escapes[o].empty())
        add({fmt::format("'{}' overlaps other objects, but escapes: {}", name(o), k_.escapes[o])});
  }

  void check_lives(const Uniformity& uniformity) {
    std::vector<DeadPoint> dead;
    for (std::uint32_t i = 0; i < k_.stated_dead.size(); ++i)
      if (k_.stated_dead[i] != ptx::kNone && !uniformity.divergent[k_.cfg.block_of[i]])
        dead.push_back(
            {i, k_.stated_dead[i], fmt::format("is stated to be dead at line {}", k_.line(i)), false});
    std::vector<Clobbered> clobbered = find_clobbered(k_, dead);
    // What cannot do without proves its dead points; first by the cheap rule, then by evaluation.
    const auto prove = [&](auto points_of) {
      std::set<std::uint32_t> objects;
      for (const Clobbered& c : clobbered) objects.insert(c.object);
      for (const std::uint32_t o : objects)
        if (!k_.objects[o].by_launch && !k_.asynchronous.test(o))  // these proofs reckon with numbers
          for (DeadPoint& point : points_of(o)) dead.push_back(std::move(point));
      if (!objects.empty()) clobbered = find_clobbered(k_, dead);
    };
    prove([&](std::uint32_t o) {
      std::vector<DeadPoint> points;
      for (const std::uint32_t head : private_loop_heads(k_, uniformity, o)) {
        const std::uint32_t first = k_.cfg.blocks[head].first;
        points.push_back({first, o,
                          fmt::format("is private to each iteration of the loop at line {}", k_.line(first)),
                          true});
      }
      return points;
    });
    prove([&](std::uint32_t o) { return covered_points(k_, uniformity, o); });
    std::set<std::pair<std::uint32_t, std::uint32_t>> seen;
    for (const Clobbered& c : clobbered) {
      const auto [a, b] = k_.pairs[c.pair];
      if (seen.emplace(c.pair, c.object).second)
        add({fmt::format("line {}: the load from '{}' may find data of '{}', which was stored since",
                         k_.line(c.load), name(c.object), name(c.object == a ? b : a))});
    }
    dead_ = std::move(dead);
  }

  void write_certificate(const Uniformity& uniformity) {
    if (std::ranges::any_of(k_.objects, &Object::by_launch))
      certify(
          "parts of the dynamic array move down by sums of launch numbers, all of them or none: none where a parameter "
          "in these sums, or in what keeps accesses to their parts, lies outside 0 to 262,144");
    if (!k_.assumed.empty())
      certify(fmt::format(
          "assumed (--assume-parts): accesses keep to their part of the dynamic array, those of lines {}",
          fmt::join(k_.assumed, ", ")));
    const std::vector<std::string> barriers = separating_barriers(k_);
    for (std::uint32_t p = 0; p < k_.pairs.size(); ++p) {
      const auto [a, b] = k_.pairs[p];
      std::string text = fmt::format(
          "{} / {}: no path stores one, stores the other and loads the first again", name(a), name(b));
      std::set<std::string> proofs;
      for (const DeadPoint& d : dead_)
        if (d.object == a || d.object == b) proofs.insert(fmt::format("'{}' {}", name(d.object), d.proof));
      for (const std::string& proof : proofs) text += fmt::format("; {}", proof);
      text += barriers[p].empty() ? "; never both accessed"
                                  : fmt::format("; separated by the barriers at lines {}", barriers[p]);
      certify(text);
    }
    if (k_.block && !k_.function.required_threads)
      certify(fmt::format("assumed: launched with {} x {} x {} threads", (*k_.block)[0], (*k_.block)[1],
                          (*k_.block)[2]));
    for (const Access& a : k_.accesses)
      if (k_.op(a.instruction) == ptx::Op::bra)
        a.objects.for_each([&](std::uint32_t o) {
          if (k_.partners[o].any())
            certify(fmt::format("assumed: copies to '{}' belong to the phase that the wait at line {} is for",
                                name(o), k_.line(a.instruction)));
        });
    for (const std::string& assumption : uniformity.assumptions) certify("assumed: " + assumption);
    std::vector<DeadPoint> unconditional;
    std::copy_if(dead_.begin(), dead_.end(), std::back_inserter(unconditional),
                 [](const DeadPoint& d) { return !d.assumes_initialised; });
    if (!find_clobbered(k_, unconditional).empty())
      certify("assumed: no uninitialised shared memory is read");
  }

  Kernel& k_;
  CheckResult& result_;
  bool failed_ = false;
  std::vector<DeadPoint> dead_;
};

}  // namespace

CheckResult check(std::string_view input, std::string_view output, std::vector<PoolEntry> entries,
                  const CheckOptions& options) {
  return check(ptx::parse(std::string(input), options.input_file), output, std::move(entries), options);
}

CheckResult check(const ptx::Module& before, std::string_view output, std::vector<PoolEntry> entries,
                  const CheckOptions& options) {
  const ptx::Module after = ptx::parse(std::string(output), options.output_file);
  CheckResult result;
  Renaming renaming = match_modules(before, after, entries, options);
  result.problems = std::move(renaming.problems);
  if (result.problems.empty()) {
    result.certificate = std::move(renaming.notes);
    for (const KernelMatch& match : renaming.kernels) {
      Kernel k(after, after.functions[match.function]);
      name_objects(k, before, match, options);
      KernelCheck(k, result).run(before, match);
    }
  }
  result.ok = result.problems.empty();
  if (!result.ok) result.certificate.clear();
  return result;
}

}  // namespace warploom::reuse
