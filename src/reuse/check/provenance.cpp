#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "reuse/check/kernel.hpp"
#include "reuse/check/operations.hpp"

namespace warploom::reuse::checking {
namespace {

using ptx::kNone;
using ptx::Op;
using ptx::OperandKind;
using ptx::Space;

/// Instructions through which an address may pass, whole or in parts, and stay known.
bool carries_addresses(Op op) {
  return kAddressArithmetic.contains(op) || op == Op::addc || op == Op::subc || op == Op::madc ||
         op == Op::shfl;
}

/// Instructions that look at an address and keep nothing of it but a truth value.
bool tests_addresses(Op op) {
  return op == Op::setp || op == Op::set || op == Op::isspacep || op == Op::prefetch || op == Op::prefetchu;
}

bool chooses(Op op) { return op == Op::mov || op == Op::selp; }

bool outside_contract(const ptx::Opcode& o) {
  switch (o.op) {
    case Op::unknown:
    case Op::mapa:
    case Op::getctarank:
    case Op::clusterlaunchcontrol:
    case Op::multimem:
    case Op::tcgen05:
    case Op::tensormap:
      return true;
    case Op::barrier:
      return o.has("cluster");
    case Op::cp:  // to or from other blocks
      return o.has("multicast::cluster") || (o.has("shared::cluster") && o.has("shared::cta"));
    case Op::st:
    case Op::red:
      return o.has("async") || o.space == Space::shared_cluster;
    case Op::mbarrier:
      return o.has("shared::cluster");
    default:
      return o.space == Space::shared_cluster;
  }
}

class Finder {
 public:
  explicit Finder(Kernel& k) : k_(k) {}

  void run() {
    k_.points_to.assign(k_.flow.definitions().size(), Bits(k_.objects.size()));
    for (bool changed = true; changed;) {
      changed = false;
      for (const std::uint32_t b : k_.cfg.order)
        for (std::uint32_t i = k_.cfg.blocks[b].first; i < k_.cfg.blocks[b].last; ++i)
          changed |= propagate(i);
    }
    k_.escapes.assign(k_.objects.size(), {});
    k_.access_of.assign(k_.function.instructions.size(), kNone);
    k_.stated_dead.assign(k_.function.instructions.size(), kNone);
    if (k_.function.cluster)
      k_.refusals.push_back(fmt::format("line {}: the kernel is launched in clusters", k_.function.line));
    for (std::uint32_t i = 0; i < k_.function.instructions.size(); ++i)
      if (k_.cfg.reachable[k_.cfg.block_of[i]]) inspect(i);
  }

 private:
  Bits all_sources(std::uint32_t i) const {
    Bits sum(k_.objects.size());
    for (const ptx::Operand& o : k_.flow.sources(i)) sum.merge(k_.pointed_to(i, o));
    return sum;
  }

  bool propagate(std::uint32_t i) {
    if (!carries_addresses(k_.op(i))) return false;
    const auto [first, last] = k_.flow.defined_by(i);
    if (first == last) return false;
    const Bits sum = all_sources(i);
    bool changed = false;
    for (std::uint32_t d = first; d < last; ++d) changed |= k_.points_to[d].merge(sum);
    return changed;
  }

  void escape(const Bits& objects, std::uint32_t i, std::string_view how) {
    objects.for_each([&](std::uint32_t o) {
      if (k_.escapes[o].empty()) k_.escapes[o] = fmt::format("line {}: its address {}", k_.line(i), how);
    });
  }

  void inspect(std::uint32_t i) {
    const ptx::Opcode& opcode = k_.opcode(i);
    if (outside_contract(opcode))
      k_.refusals.push_back(fmt::format("line {}: '{}' is not modelled", k_.line(i), opcode.text));
    for (const ptx::Operand& o : k_.function.operands_of(k_.function.instructions[i]))
      if (const std::string_view name = k_.module.text_of(o.span);
          o.kind == ptx::OperandKind::special && (name == "%total_smem_size" || name == "%aggr_smem_size"))
        k_.refusals.push_back(fmt::format("line {}: {} tells the size of shared memory", k_.line(i), name));
    switch (opcode.op) {
      case Op::ld:
      case Op::ldu:
      case Op::ldmatrix:
        return memory(i, true, false);
      case Op::st:
      case Op::stmatrix:
        return memory(i, false, true);
      case Op::atom:
      case Op::red:
        return memory(i, true, true);
      case Op::wmma:
        if (opcode.has("load")) return memory(i, true, false);
        if (opcode.has("store")) return memory(i, false, true);
        return escape(all_sources(i), i, "is used by a matrix instruction");
      case Op::wgmma:
        return product(i);
      case Op::cp:
        if (begins_copy(i)) return;
        [[fallthrough]];
      case Op::mbarrier: {
        if (uses_mbarrier(k_, i)) return memory(i, !opcode.has("init"), true);
        const Bits objects = all_sources(i);
        if (opcode.space == Space::shared || opcode.space == Space::shared_cluster) {
          if (!objects.any()) unattributed(i);
        }
        return escape(objects, i, fmt::format("is used by '{}'", opcode.text));
      }
      case Op::call:
        return escape(all_sources(i), i, "is passed to a call");
      case Op::mov:
        note_marker(i);
        break;
      default:
        break;
    }
    if (carries_addresses(opcode.op) || tests_addresses(opcode.op)) {
      if (!chooses(opcode.op)) note_mixed(i);
    } else {
      escape(all_sources(i), i, fmt::format("is used by '{}'", opcode.text));
    }
  }

  /// A copy to shared memory, or a bulk copy from it, that a wait for its group ends. False: it is none.
  bool begins_copy(std::uint32_t i) {
    const ptx::Opcode& o = k_.opcode(i);
    const auto operands = k_.function.operands_of(k_.function.instructions[i]);
    const bool bulk = o.has("bulk_group");
    if (o.has("mbarrier::complete_tx::bytes") && o.has("bulk") && operands.size() > 2) return begins_load(i);
    if (o.has("bulk") != bulk || o.has("mbarrier") || o.has("prefetch") || operands.size() < 2 ||
        (bulk && o.space != Space::global))
      return false;
    const std::size_t shared = bulk ? 1 : 0;
    for (std::size_t n = 0; n < operands.size(); ++n)
      if (n != shared) escape(k_.pointed_to(i, operands[n]), i, fmt::format("is used by '{}'", o.text));
    Bits objects = k_.pointed_to(i, operands[shared]);
    if (!objects.any()) unattributed(i);
    if (!bulk) check_bounds(i, operands[shared]);
    if (bulk) check_tile(i, objects, o.has("tensor") ? 1024 : 16);
    asynchronous(i, std::move(objects), bulk ? Group::bulk_copies : Group::copies);
    return true;
  }

  /// A bulk copy to shared memory, whose end an mbarrier tells.
  bool begins_load(std::uint32_t i) {
    const ptx::Opcode& o = k_.opcode(i);
    const auto operands = k_.function.operands_of(k_.function.instructions[i]);
    Bits target = k_.pointed_to(i, operands[0]), holders(k_.objects.size());
    for (std::size_t n = 1; n < operands.size(); ++n) holders.merge(k_.pointed_to(i, operands[n]));
    if (!target.any() || !holders.any()) unattributed(i);
    escape(holders, i, fmt::format("is used by '{}'", o.text));
    if (target.count() != 1 || holders.count() != 1 || target == holders) {
      escape(target, i, fmt::format("is used by '{}'", o.text));
      return true;
    }
    std::uint32_t holder = kNone;
    holders.for_each([&](std::uint32_t h) { holder = h; });
    check_tile(i, target, o.has("tensor") ? 1024 : 16);
    k_.access_of[i] = static_cast<std::uint32_t>(k_.accesses.size());
    k_.accesses.push_back({i, std::move(target), false, true, Group::loads, holder});
    return true;
  }

  /// It reads the tiles of its descriptors.
  void product(std::uint32_t i) {
    if (!k_.opcode(i).has("mma_async")) return;
    Bits tiles(k_.objects.size());
    for (const ptx::Operand& o : k_.flow.sources(i)) {
      const Bits here = k_.pointed_to(i, o);
      if (o.kind == OperandKind::reg && ptx::type_bytes(k_.function.registers[o.id].type) == 8 && !here.any())
        unattributed(i);
      tiles.merge(here);
    }
    if (!tiles.any()) unattributed(i);
    check_tile(i, tiles, 1024);
    asynchronous(i, std::move(tiles), Group::products);
  }

  void asynchronous(std::uint32_t i, Bits objects, Group group) {
    if (!objects.any()) return;
    k_.access_of[i] = static_cast<std::uint32_t>(k_.accesses.size());
    const bool stores = group == Group::copies;
    k_.accesses.push_back({i, std::move(objects), !stores, stores, group, kNone});
  }

  /// Where the rows of a tile lie may depend on its address.
  void check_tile(std::uint32_t i, const Bits& objects, std::uint64_t alignment) {
    objects.for_each([&](std::uint32_t o) {
      if (k_.objects[o].offset.value_or(0) % alignment != 0)
        k_.refusals.push_back(fmt::format("line {}: the tile at '{}', offset {}, is not aligned to {} bytes",
                                          k_.line(i), k_.objects[o].name, *k_.objects[o].offset, alignment));
      else if (k_.objects[o].offset && k_.pool_alignment % alignment != 0)
        k_.refusals.push_back(fmt::format("line {}: the pool of '{}' is aligned to {} bytes, not to {}",
                                          k_.line(i), k_.objects[o].name, k_.pool_alignment, alignment));
    });
  }

  void unattributed(std::uint32_t i) {
    k_.refusals.push_back(
        fmt::format("line {}: no object is known for this access of shared memory", k_.line(i)));
  }

  void memory(std::uint32_t i, bool load, bool store) {
    Bits objects(k_.objects.size());
    bool pointed = true;
    for (const ptx::Operand& o : k_.flow.sources(i)) {
      const Bits here = k_.pointed_to(i, o);
      if (o.kind != OperandKind::address) {
        escape(here, i, "is stored to memory");
        continue;
      }
      pointed &= here.any();
      objects.merge(here);
      check_bounds(i, o);
    }
    const Space space = k_.opcode(i).space;
    if (space == Space::shared && !pointed) return unattributed(i);
    if (k_.op(i) == Op::wmma) check_matrix_alignment(i, objects);
    if (space != Space::shared && space != Space::generic) return;
    if (!objects.any()) return;  // generic: it can only be global memory, or an object that escaped
    k_.access_of[i] = static_cast<std::uint32_t>(k_.accesses.size());
    k_.accesses.push_back({i, std::move(objects), load, store, Group::none, kNone});
  }

  /// An address that is a name and a number must lie inside its object.
  void check_bounds(std::uint32_t i, const ptx::Operand& address) {
    const ptx::Operand& base = k_.function.children(address)[0];
    const auto object = k_.object_at.find(base.span.begin);
    if (base.kind != OperandKind::symbol || object == k_.object_at.end()) return;
    const Object& o = k_.objects[object->second];
    if (!o.offset || k_.moved_in_parts) return;  // then parts.cpp looks at each
    const std::int64_t at = address.value - static_cast<std::int64_t>(*o.offset);
    const std::int64_t width = width_of(k_.module, k_.function, i);
    if (at < 0 || at + width > static_cast<std::int64_t>(o.bytes))
      k_.refusals.push_back(fmt::format("line {}: the access of bytes {} to {} runs over '{}', which has {}",
                                        k_.line(i), at, at + width, o.name, o.bytes));
  }

  /// Matrix loads and stores need 32 bytes, whatever the declaration says.
  void check_matrix_alignment(std::uint32_t i, const Bits& objects) {
    objects.for_each([&](std::uint32_t o) {
      if (k_.objects[o].offset.value_or(0) % 32 != 0)
        k_.refusals.push_back(
            fmt::format("line {}: the matrix at '{}', offset {}, is not aligned to 32 bytes", k_.line(i),
                        k_.objects[o].name, *k_.objects[o].offset));
    });
  }

  void note_marker(std::uint32_t i) {
    const auto [first, last] = k_.flow.defined_by(i);
    if (last != first + 1) return;
    if (k_.function.registers[k_.flow.definitions()[first].reg].name != "warploom_dead" || k_.guarded(i))
      return;
    const Bits objects = all_sources(i);
    if (objects.count() == 1) objects.for_each([&](std::uint32_t o) { k_.stated_dead[i] = o; });
  }

  /// Two operands that depend on different objects: the result depends on where they lie to each other.
  void note_mixed(std::uint32_t i) {
    const auto sources = k_.flow.sources(i);
    for (std::size_t a = 0; a < sources.size(); ++a) {
      const Bits left = k_.pointed_to(i, sources[a]);
      if (!left.any()) continue;
      for (std::size_t b = a + 1; b < sources.size(); ++b)
        k_.pointed_to(i, sources[b]).for_each([&](std::uint32_t second) {
          left.for_each([&](std::uint32_t first) {
            if (first != second)
              k_.mixed.push_back({std::min(first, second), std::max(first, second), k_.line(i)});
          });
        });
    }
  }

  Kernel& k_;
};

/// The callee of a call, or nullptr.
const ptx::Function* callee(const Kernel& k, const ptx::Function& f, const ptx::Instruction& i) {
  for (const ptx::Operand& o : f.operands_of(i))
    if (o.kind == OperandKind::function) return k.module.find_function(k.module.functions[o.id].name);
  return nullptr;
}

bool may_synchronise(const Kernel& k, const ptx::Function* f, std::set<const ptx::Function*>& seen) {
  if (f == nullptr) return true;
  static constexpr std::array<std::string_view, 6> kQuiet = {
      "__assertfail", "vprintf", "malloc", "free", "__cxa_pure_virtual", "__assert_fail"};
  if (!f->has_body) return std::find(kQuiet.begin(), kQuiet.end(), f->name) == kQuiet.end();
  if (!seen.insert(f).second) return false;
  for (const ptx::Instruction& i : f->instructions) {
    const ptx::Opcode& o = k.module.opcode(i);
    if ((o.op == Op::bar || o.op == Op::barrier) && !o.has("warp")) return true;
    if (o.op == Op::call && may_synchronise(k, callee(k, *f, i), seen)) return true;
  }
  return false;
}

bool may_wait(const Kernel& k, const ptx::Function* f, std::set<const ptx::Function*>& seen) {
  if (f == nullptr) return true;
  if (!f->has_body) return may_synchronise(k, f, seen);
  if (!seen.insert(f).second) return false;
  const ptx::Cfg cfg = ptx::build_cfg(k.module, *f);
  for (std::uint32_t i = 0; i < f->instructions.size(); ++i) {
    const ptx::Opcode& o = k.module.opcode(f->instructions[i]);
    if (o.op == Op::unknown || o.has("sync")) return true;
    if (reads_of_others(o) && in_cycle(cfg, cfg.block_of[i])) return true;
    if (o.op == Op::call && may_wait(k, callee(k, *f, f->instructions[i]), seen)) return true;
  }
  return false;
}

}  // namespace

Bits Kernel::pointed_to(std::uint32_t i, const ptx::Operand& o) const {
  Bits sum(objects.size());
  switch (o.kind) {
    case OperandKind::reg:
      for (const std::uint32_t d : flow.reaching(i, o.id)) sum.merge(points_to[d]);
      break;
    case OperandKind::symbol:
      if (const auto object = object_at.find(o.span.begin); object != object_at.end())
        sum.set(object->second);
      break;
    case OperandKind::address:
    case OperandKind::vector:
    case OperandKind::list:
    case OperandKind::pair:
      for (const ptx::Operand& child : function.children(o)) sum.merge(pointed_to(i, child));
      break;
    case OperandKind::unknown:  // an expression: any object it could name
      for (std::uint32_t n = 0; n < objects.size(); ++n)
        if (module.text_of(o.span).find(objects[n].name) != std::string_view::npos) sum.set(n);
      break;
    default:
      break;
  }
  return sum;
}

void Kernel::find_full_barriers() {
  const auto is_zero = [](const ptx::Operand& operand) {
    return operand.kind == OperandKind::integer && operand.value == 0;
  };
  full_barriers.assign(function.instructions.size(), false);
  for (std::uint32_t i = 0; i < function.instructions.size(); ++i) {
    const ptx::Opcode& o = opcode(i);
    if ((o.op != Op::bar && o.op != Op::barrier) || o.has("warp") || o.has("cluster")) continue;
    const auto operands = function.operands_of(function.instructions[i]);
    full_barriers[i] = o.has("sync")  ? operands.size() == 1 && is_zero(operands[0])
                       : o.has("red") ? operands.size() == 3 && is_zero(operands[1])
                                      : false;
  }
}

bool is_partial_barrier(const Kernel& k, std::uint32_t i) {
  const ptx::Opcode& o = k.opcode(i);
  return (o.op == Op::bar || o.op == Op::barrier) && !o.has("warp") && !is_full_barrier(k, i);
}

bool leaves_kernel(const Kernel& k, std::uint32_t i) {
  const Op op = k.op(i);
  if (op != Op::bra) return op == Op::ret || op == Op::exit_;
  const auto operands = k.function.operands_of(k.function.instructions[i]);
  return std::any_of(operands.begin(), operands.end(), [&](const ptx::Operand& o) {
    return o.kind == OperandKind::label &&
           k.function.labels[o.id].instruction >= k.function.instructions.size();
  });
}

bool uses_mbarrier(const Kernel& k, std::uint32_t i) {
  const ptx::Opcode& o = k.opcode(i);
  if (o.op == Op::cp) return o.has("mbarrier") && !o.has("bulk");
  return o.op == Op::mbarrier && !o.has("pending_count");
}

bool call_may_synchronise(const Kernel& k, std::uint32_t i) {
  if (k.op(i) != Op::call) return false;
  std::set<const ptx::Function*> seen;
  return may_synchronise(k, callee(k, k.function, k.function.instructions[i]), seen);
}

bool reads_of_others(const ptx::Opcode& o) {
  switch (o.op) {
    case Op::ld:
    case Op::ldu:
      return o.volatile_ || o.has("relaxed") || o.has("acquire") || o.has("mmio") || o.has("cv");
    case Op::atom:
    case Op::mbarrier:
    case Op::unknown:
      return true;
    default:
      return false;
  }
}

bool call_may_wait(const Kernel& k, std::uint32_t i) {
  if (k.op(i) != Op::call) return false;
  std::set<const ptx::Function*> seen;
  return may_wait(k, callee(k, k.function, k.function.instructions[i]), seen);
}

bool in_cycle(const ptx::Cfg& cfg, std::uint32_t block) {
  if (cfg.reducible) return cfg.loop_of[block] != kNone;
  std::vector<bool> seen(cfg.blocks.size());
  std::vector<std::uint32_t> work{block};
  while (!work.empty()) {
    const std::uint32_t b = work.back();
    work.pop_back();
    for (const std::uint32_t s : cfg.graph.successors[b]) {
      if (s == block) return true;
      if (!seen[s]) seen[s] = true, work.push_back(s);
    }
  }
  return false;
}

void find_provenance(Kernel& k) { Finder(k).run(); }

std::int64_t width_of(const ptx::Module& module, const ptx::Function& f, std::uint32_t instruction) {
  const ptx::Opcode& o = module.opcode(f.instructions[instruction]);
  if (o.op != Op::cp) return std::int64_t{o.bytes} * o.vector;
  const auto operands = f.operands_of(f.instructions[instruction]);
  if (o.has("mbarrier") && !o.has("bulk")) return 8;
  if (o.has("bulk") || operands.size() < 3 || operands[2].kind != OperandKind::integer) return 0;
  return operands[2].value;
}

const ptx::Operand* address_of(const ptx::Module& module, const ptx::Function& f, std::uint32_t instruction) {
  const auto operands = f.operands_of(f.instructions[instruction]);
  const ptx::Operand* address = nullptr;
  for (const ptx::Operand& o : operands)
    if (o.kind == OperandKind::address &&
        (address == nullptr || module.opcode(f.instructions[instruction]).op != Op::cp))
      address = &o;
  return address;
}

}  // namespace warploom::reuse::checking
