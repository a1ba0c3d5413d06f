// Which shared objects a register may point into: a forward analysis over SSA values.
//
// A pointer is born where an instruction names a shared variable and flows through arithmetic; any
// arithmetic result may point wherever one of its inputs does. It is lost, "escapes", where it is stored,
// passed to a call or used by an instruction we do not know: then any load may bring it back, so such an
// object keeps its own storage. An address with no known origin therefore points to an escaped object, if
// the access is generic; if it names the shared space, it may be any object and the kernel is refused.

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "reuse/analysis/barrier_kind.hpp"
#include "reuse/analysis/instruction_kind.hpp"
#include "reuse/analysis/objects.hpp"

namespace warploom::reuse {

using namespace ptx;

namespace {

class AddressAnalysis {
 public:
  AddressAnalysis(const Cfg& cfg, const Values& values, bool whole_program)
      : cfg_(cfg), module_(*cfg.module), f_(*cfg.function), values_(values), whole_program_(whole_program) {
    use_.points_into.resize(values.all.size());
  }

  SharedUse run() {
    collect_objects();
    if (use_.refusal) return std::move(use_);
    if (f_.cluster)
      refuse("the kernel runs in thread-block clusters, whose blocks reach each other's shared memory",
             f_.line);
    propagate();
    for (const std::uint32_t b : cfg_.order)
      for (std::uint32_t i = cfg_.blocks[b].first; i < cfg_.blocks[b].last; ++i) {
        refuse_sizes(f_.instructions[i]);
        visit(i);
      }
    std::sort(use_.accesses.begin(), use_.accesses.end(),
              [](const Access& a, const Access& b) { return a.instruction < b.instruction; });
    pin_dynamic();
    return std::move(use_);
  }

 private:
  void refuse(std::string text, std::uint32_t line) {
    if (!use_.refusal) use_.refusal = Reason{std::move(text), line};
  }
  void pin(const ObjectSet& which, const std::string& text, std::uint32_t line) {
    for (std::uint32_t o = 0; o < use_.objects.size(); ++o)
      if (which[o] && !use_.objects[o].pinned) use_.objects[o].pinned = Reason{text, line};
  }
  void forbid_inserts(std::string text, std::uint32_t line) {
    use_.inserts_allowed = false;
    if (!use_.no_insert) use_.no_insert = Reason{std::move(text), line};
  }

  /// All dynamic arrays of a kernel are one and the same memory.
  void pin_dynamic() {
    const auto arrays = std::ranges::count_if(use_.objects, [](const Object& o) { return o.dynamic; });
    for (Object& o : use_.objects) {
      if (!o.dynamic) continue;
      o.divisible = !o.pinned && arrays == 1;
      if (!o.pinned)
        o.pinned =
            Reason{"dynamic shared memory: its size is set at launch", module_.variables[o.variable].line};
    }
  }

  /// What a kernel reads of its shared memory's size would change.
  void refuse_sizes(const Instruction& i) {
    for (const Operand& o : f_.operands_of(i)) {
      const std::string_view name = module_.text_of(o.span);
      if (o.kind == OperandKind::special && (name == "%total_smem_size" || name == "%aggr_smem_size"))
        refuse(fmt::format("it reads {}, which would be another number", name), i.line);
    }
  }

  void collect_objects() {
    std::set<std::uint32_t> named;
    for (const Operand& o : f_.operands)
      if (o.kind == OperandKind::symbol && module_.variables[o.id].space == Space::shared) named.insert(o.id);
    for (const std::uint32_t v : f_.variables)
      if (module_.variables[v].space == Space::shared) named.insert(v);
    if (named.size() > kMaxObjects)
      return refuse(fmt::format("{} shared variables; at most {} are analysed", named.size(), kMaxObjects),
                    f_.line);
    for (const std::uint32_t id : named) {
      const Variable& v = module_.variables[id];
      index_[id] = static_cast<std::uint32_t>(use_.objects.size());
      Object o;
      o.variable = id;
      o.bytes = v.bytes;
      o.alignment = std::max<std::uint32_t>(16, v.align);
      o.dynamic = v.bytes == 0 || v.linkage == Linkage::external;
      if (o.dynamic)
        ;  // at the end: what else pins it says whether its parts may move
      else if (v.linkage != Linkage::none && !(whole_program_ && v.linkage == Linkage::visible))
        o.pinned = Reason{"visible to other modules", v.line};
      else if (!v.alone)
        o.pinned = Reason{"declared together with other variables", v.line};
      if (o.pinned && v.linkage == Linkage::visible)
        o.obstacle = Reason{"visible to other modules; --whole-program says that there are none", v.line};
      use_.objects.push_back(o);
    }
    const auto own = static_cast<std::uint32_t>(&f_ - module_.functions.data());
    bool at_module_scope = false;
    for (std::uint32_t o = 0; o < use_.objects.size(); ++o) {
      const Variable& v = module_.variables[use_.objects[o].variable];
      at_module_scope |= v.function == kNone;
      const std::uint32_t other = v.users[0] == own ? v.users[1] : v.users[0];
      // Another kernel has storage of its own of that name; a function that is called has this kernel's.
      if (other == kNone || !v.used_by_function || o >= kMaxObjects) continue;
      const Function& f = module_.functions[other];
      pin(ObjectSet().set(o), fmt::format("also used by '{}'", f.name), f.line);
    }
    if (!at_module_scope) return;
    for (const Reference& r : module_.references)
      if (const auto it = index_.find(r.variable); it != index_.end() && it->second < kMaxObjects)
        pin(ObjectSet().set(it->second), "its address is taken by an initialiser or a debug section",
            module_.variables[r.variable].line);
  }

  ObjectSet objects_of_operand(std::uint32_t index) const {
    const Operand& o = f_.operands[index];
    ObjectSet set;
    switch (o.kind) {
      case OperandKind::reg:
        if (values_.of_operand[index] != kNone) set = use_.points_into[values_.of_operand[index]];
        break;
      case OperandKind::symbol:
        if (const auto it = index_.find(o.id); it != index_.end()) set.set(it->second);
        break;
      case OperandKind::address:
      case OperandKind::vector:
      case OperandKind::list:
      case OperandKind::pair:
        for (std::uint32_t c = 0; c < o.count; ++c) set |= objects_of_operand(o.id + c);
        break;
      default:
        break;
    }
    return set;
  }

  ObjectSet sources(const Instruction& i) const {
    ObjectSet set;
    for (std::uint32_t k = module_.opcode(i).destinations; k < i.operand_count; ++k)
      set |= objects_of_operand(i.first_operand + k);
    return set;
  }

  void propagate() {
    // Round-robin to the fixed point; chains of phis are short, so two or three rounds.
    for (bool changed = true; changed;) {
      changed = false;
      for (const std::uint32_t b : cfg_.order) {
        for (const std::uint32_t phi : values_.phis[b]) {
          ObjectSet set = use_.points_into[phi];
          const Value& v = values_.all[phi];
          for (const std::uint32_t* in = values_.begin_inputs(v); in != values_.end_inputs(v); ++in)
            set |= use_.points_into[*in];
          if (set != use_.points_into[phi]) use_.points_into[phi] = set, changed = true;
        }
        for (std::uint32_t i = cfg_.blocks[b].first; i < cfg_.blocks[b].last; ++i) {
          const Instruction& instruction = f_.instructions[i];
          const Op op = module_.opcode(instruction).op;
          const ObjectSet from = is_arithmetic(op) || op == Op::unknown ? sources(instruction) : ObjectSet();
          for_each_register(module_, f_, instruction, [&](const Operand&, std::uint32_t index, bool written) {
            if (!written) return;
            const std::uint32_t value = values_.of_operand[index];
            ObjectSet set = from;
            const Value& v = values_.all[value];
            for (const std::uint32_t* in = values_.begin_inputs(v); in != values_.end_inputs(v); ++in)
              set |= use_.points_into[*in];
            if (set != use_.points_into[value]) use_.points_into[value] = set, changed = true;
          });
        }
      }
    }
  }

  /// The shared variable and byte offset of an address that is a known distance from a symbol.
  std::optional<std::pair<std::uint32_t, std::int64_t>> fixed_place(std::uint32_t index) const {
    for (std::int64_t offset = 0;;) {
      const Operand& o = f_.operands[index];
      if (o.kind == OperandKind::symbol && index_.contains(o.id)) return std::pair{o.id, offset + o.value};
      if (o.kind == OperandKind::address) {
        offset += o.value;
        index = o.id;
        continue;
      }
      if (o.kind != OperandKind::reg || o.component != 0xff || values_.of_operand[index] == kNone)
        return std::nullopt;
      const Value& v = values_.all[values_.of_operand[index]];
      if (v.kind != Value::definition) return std::nullopt;
      const Instruction& i = f_.instructions[v.instruction];
      const Op op = module_.opcode(i).op;
      if (i.operand_count != (op == Op::add ? 3 : 2) || f_.operands[i.first_operand].kind != OperandKind::reg)
        return std::nullopt;
      index = i.first_operand + 1;
      if (op == Op::add && f_.operands[index + 1].kind == OperandKind::integer)
        offset += f_.operands[index + 1].value;
      else if (op != Op::mov && op != Op::cvta)
        return std::nullopt;
    }
  }

  void access(std::uint32_t i, std::uint32_t operand, bool read, bool write, bool known_width = true,
              std::uint32_t width = 0) {
    const Instruction& instruction = f_.instructions[i];
    const Opcode& opcode = module_.opcode(instruction);
    Access a;
    a.instruction = i;
    a.objects = objects_of_operand(operand);
    a.read = read;
    a.write = write;
    a.bytes = known_width ? std::uint32_t{opcode.bytes} * opcode.vector : width;
    a.address = operand;
    if (opcode.space == Space::shared_cluster)
      return refuse("an access to the shared memory of another block of the cluster", instruction.line);
    if (a.objects.none()) {
      if (opcode.space == Space::shared)
        refuse("an access to shared memory through an address of unknown origin", instruction.line);
      return;
    }
    if (const auto place = fixed_place(operand); place && a.bytes != 0) {
      const auto [variable, offset] = *place;
      const Object& o = use_.objects[index_.at(variable)];
      if (!o.dynamic && (offset < 0 || static_cast<std::uint64_t>(offset) + a.bytes > o.bytes))
        refuse(fmt::format("an access of {} bytes at offset {} leaves '{}' of {} bytes", a.bytes, offset,
                           module_.variables[variable].name, o.bytes),
               instruction.line);
    }
    use_.accesses.push_back(a);
  }

  void visit_marker(std::uint32_t i, std::string_view name) {
    const ObjectSet set = sources(f_.instructions[i]);
    if (name == "warploom_keep") return pin(set, "WARPLOOM_KEEP in the source", f_.instructions[i].line);
    if (set.count() == 1) use_.dead.push_back({i, static_cast<std::uint32_t>(set._Find_first())});
  }

  void visit(std::uint32_t i) {
    const Instruction& instruction = f_.instructions[i];
    const Opcode& opcode = module_.opcode(instruction);
    const std::uint32_t first = instruction.first_operand, line = instruction.line;
    if (instruction.operand_count < least_operands(opcode))
      return refuse(fmt::format("'{}' has too few operands", opcode.text), line);
    switch (opcode.op) {
      case Op::ld:
      case Op::ldu:
        if (opcode.space == Space::shared || opcode.space == Space::generic ||
            opcode.space == Space::shared_cluster)
          access(i, first + 1, true, false);
        else
          pin(sources(instruction), "its address is used in another state space", line);
        return;
      case Op::st:
        if (opcode.has("async")) return refuse("an asynchronous remote store", line);
        if (opcode.space == Space::shared || opcode.space == Space::generic ||
            opcode.space == Space::shared_cluster)
          access(i, first, false, true);
        else
          pin(objects_of_operand(first), "its address is used in another state space", line);
        for (std::uint32_t k = 1; k < instruction.operand_count; ++k)
          pin(objects_of_operand(first + k),
              opcode.space == Space::param ? "its address is passed to a call"
                                           : "its address is stored to memory",
              line);
        return;
      case Op::atom:
      case Op::red: {
        const std::uint32_t at = first + opcode.destinations;
        if (opcode.has("async")) return refuse("an asynchronous remote reduction", line);
        if (opcode.space == Space::global)
          pin(objects_of_operand(at), "its address is used in another state space", line);
        else
          access(i, at, true, true);
        for (std::uint32_t k = opcode.destinations + 1u; k < instruction.operand_count; ++k)
          pin(objects_of_operand(first + k), "its address is stored to memory by an atomic", line);
        return;
      }
      case Op::ldmatrix:
        access(i, first + 1, true, false, false);
        return;
      case Op::stmatrix:
        access(i, first, false, true, false);
        return;
      case Op::wmma:
        if (opcode.has("load") && opcode.space != Space::global) access(i, first + 1, true, false, false);
        if (opcode.has("store") && opcode.space != Space::global) access(i, first, false, true, false);
        for (const Access& a : {use_.accesses.empty() ? Access{} : use_.accesses.back()})
          if (a.instruction == i)
            for (std::uint32_t o = 0; o < use_.objects.size(); ++o)
              if (a.objects[o])
                use_.objects[o].alignment = std::max<std::uint32_t>(use_.objects[o].alignment, 32);
        return;
      case Op::cp:
        return visit_copy(i);
      case Op::mbarrier:
        return visit_mbarrier(i);
      case Op::wgmma:
        return visit_product(i);
      case Op::mapa:
      case Op::getctarank:
        refuse("addresses of the shared memory of other blocks of the cluster are formed", line);
        return;
      case Op::bar:
      case Op::barrier:
        switch (barrier_kind(module_, f_, instruction)) {
          case BarrierKind::partial:
            forbid_inserts("the kernel has a named or partial barrier", line);
            break;
          case BarrierKind::cluster:
            refuse("the kernel synchronises a cluster", line);
            break;
          default:
            break;
        }
        return;
      case Op::call:
        visit_call(instruction);
        return;
      case Op::prefetch:
      case Op::prefetchu:
      case Op::isspacep:
      case Op::discard:
      case Op::applypriority:
        return;
      case Op::bra:
      case Op::ret:
      case Op::exit_:
        return;
      default:
        break;
    }
    if (is_comparison(opcode.op)) {
      const ObjectSet set = sources(instruction);
      for (std::uint32_t a = 0; a < use_.objects.size(); ++a)
        for (std::uint32_t b = a + 1; b < use_.objects.size() && set.count() > 1; ++b)
          if (set[a] && set[b]) use_.compared.emplace_back(a, b);
      return;
    }
    if (opcode.op == Op::mov && instruction.operand_count == 2 &&
        f_.operands[first].kind == OperandKind::reg) {
      const std::string_view name = f_.registers[f_.operands[first].id].name;
      if (name == "warploom_dead" || name == "warploom_keep") return visit_marker(i, name);
    }
    if (opcode.op == Op::sub) {
      // The distance of two objects depends on where they lie.
      const ObjectSet a = objects_of_operand(first + 1), b = objects_of_operand(first + 2);
      if (a.any() && b.any() && (a | b).count() > 1)
        pin(a | b, "the distance to another object is computed", line);
    }
    if (is_arithmetic(opcode.op)) return;
    pin(all_operands(instruction), fmt::format("its address is used by '{}'", opcode.text), line);
    if (opcode.op == Op::unknown)
      refuse(fmt::format("'{}' is no instruction that is known: what it does to shared memory is not",
                         opcode.text),
             line);
  }

  /// An access that goes on until a later wait.
  void flight(std::uint32_t i, std::uint32_t operand, Flight kind, std::uint32_t bytes) {
    const std::size_t before = use_.accesses.size();
    access(i, operand, kind != Flight::copy, kind == Flight::copy, false, bytes);
    if (use_.accesses.size() > before) use_.accesses.back().flight = kind;
  }

  void pin_others(const Instruction& i, std::uint32_t operand, const std::string& text) {
    for (std::uint32_t k = 0; k < i.operand_count; ++k)
      if (i.first_operand + k != operand) pin(objects_of_operand(i.first_operand + k), text, i.line);
  }

  void align(const ObjectSet& which, std::uint32_t alignment) {
    for (std::uint32_t o = 0; o < use_.objects.size(); ++o)
      if (which[o]) use_.objects[o].alignment = std::max(use_.objects[o].alignment, alignment);
  }

  void visit_copy(std::uint32_t i) {
    const Instruction& instruction = f_.instructions[i];
    const Opcode& opcode = module_.opcode(instruction);
    const std::uint32_t first = instruction.first_operand, line = instruction.line;
    const bool bulk = opcode.has("bulk");
    if (opcode.has("commit_group") || opcode.has("wait_group") || opcode.has("wait_all")) return;
    if (opcode.has("prefetch")) return pin(all_operands(instruction), "used by an asynchronous copy", line);
    if (opcode.has("mbarrier") && !bulk) return visit_mbarrier(i);
    if (instruction.operand_count < 2)
      return refuse(fmt::format("'{}' has too few operands", opcode.text), line);
    const ObjectSet target = objects_of_operand(first);
    if (!bulk) {
      if (target.none()) return refuse("an asynchronous copy to an address of unknown origin", line);
      pin_others(instruction, first, "used by an asynchronous copy");
      // Bytes that the source does not have become zero: all of them are stored.
      const bool sized = instruction.operand_count > 2 && f_.operands[first + 2].kind == OperandKind::integer;
      return flight(i, first, Flight::copy,
                    sized ? static_cast<std::uint32_t>(f_.operands[first + 2].value) : 0);
    }
    const bool to_others =
        opcode.has("multicast::cluster") ||
        (opcode.space != Space::global && opcode.has("shared::cluster") && opcode.has("shared::cta"));
    if (to_others) return refuse("a bulk copy to the shared memory of other blocks", line);
    if (opcode.space != Space::global) {
      if (target.none()) return refuse("a bulk copy to an address of unknown origin", line);
      return visit_bulk_load(i);
    }
    const ObjectSet source = objects_of_operand(first + 1);
    if (source.none()) return refuse("a bulk copy from an address of unknown origin", line);
    if (!opcode.has("bulk_group")) {
      pin(source, "read by a bulk copy of no group", line);
      return;
    }
    pin_others(instruction, first + 1, "used by a bulk copy");
    align(source, opcode.has("tensor") ? 1024 : 16);
    flight(i, first + 1, Flight::bulk, 0);
  }

  /// A bulk copy to shared memory: the operand with an mbarrier tells which one it is part of.
  void visit_bulk_load(std::uint32_t i) {
    const Instruction& instruction = f_.instructions[i];
    const Opcode& opcode = module_.opcode(instruction);
    const std::uint32_t first = instruction.first_operand, line = instruction.line;
    const ObjectSet target = objects_of_operand(first);
    ObjectSet holders;
    for (std::uint32_t k = 1; k < instruction.operand_count; ++k) holders |= objects_of_operand(first + k);
    if (holders.none()) return refuse("a bulk copy with an mbarrier at an address of unknown origin", line);
    pin(holders, "holds the mbarrier of a bulk copy", line);
    if (target.count() != 1 || holders.count() != 1 || target == holders ||
        !opcode.has("mbarrier::complete_tx::bytes"))
      return pin(target | holders, "written by a bulk copy, which ends when an mbarrier says so", line);
    align(target, opcode.has("tensor") ? 1024 : 16);
    const auto holder = static_cast<std::uint32_t>(holders._Find_first());
    use_.accesses.push_back(
        {i, target, false, true, 0, first, Flight::load, use_.objects[holder].variable, false});
  }

  void visit_mbarrier(std::uint32_t i) {
    const Instruction& instruction = f_.instructions[i];
    const Opcode& opcode = module_.opcode(instruction);
    if (opcode.has("pending_count")) return;
    const std::uint32_t at = instruction.first_operand + opcode.destinations;
    if (instruction.operand_count <= opcode.destinations)
      return refuse(fmt::format("'{}' has too few operands", opcode.text), instruction.line);
    pin_others(instruction, at, "its address is used by an mbarrier");
    const ObjectSet holder = objects_of_operand(at);
    if (holder.none() && opcode.space == Space::shared)
      return refuse("an mbarrier at an address of unknown origin", instruction.line);
    if (holder.count() > 1) return pin(holder, "holds an mbarrier, which hardware updates", instruction.line);
    const bool init = opcode.has("init");
    const std::size_t before = use_.accesses.size();
    access(i, at, !init, true, false, 8);
    if (use_.accesses.size() == before) return;
    const auto what = init                                                ? MbarrierStep::init
                      : opcode.has("inval")                               ? MbarrierStep::inval
                      : opcode.op == Op::cp                               ? MbarrierStep::copies_arrive
                      : opcode.has("arrive")                              ? MbarrierStep::arrive
                      : opcode.has("test_wait") || opcode.has("try_wait") ? MbarrierStep::wait
                                                                          : MbarrierStep::other;
    const auto object = static_cast<std::uint32_t>(holder._Find_first());
    const auto place = fixed_place(at);
    const bool known = place && index_.at(place->first) == object;
    use_.mbarriers.push_back({what, i, object, at, known ? place->second : -1});
  }

  void visit_product(std::uint32_t i) {
    const Instruction& instruction = f_.instructions[i];
    const Opcode& opcode = module_.opcode(instruction);
    if (!opcode.has("mma_async")) return;
    // The factors: registers or the descriptor of a tile, and another descriptor.
    ObjectSet all;
    for (std::uint32_t k = opcode.destinations; k < instruction.operand_count; ++k) {
      const std::uint32_t at = instruction.first_operand + k;
      const Operand& o = f_.operands[at];
      const ObjectSet factor = objects_of_operand(at);
      const bool descriptor = o.kind == OperandKind::reg && type_bytes(f_.registers[o.id].type) == 8;
      if (descriptor && factor.none())
        return refuse("a matrix product of a tile at an address of unknown origin", instruction.line);
      all |= factor;
    }
    pin(objects_of_operand(instruction.first_operand), "its address is used by a matrix product",
        instruction.line);
    // Swizzled tiles: where a row lies depends on the address within 1,024 bytes.
    align(all, 1024);
    if (all.none()) return refuse("a matrix product of tiles that are not known", instruction.line);
    use_.accesses.push_back({i, all, true, false, 0, kNone, Flight::product, kNone, false});
  }

  ObjectSet all_operands(const Instruction& i) const {
    ObjectSet set;
    for (std::uint32_t k = 0; k < i.operand_count; ++k) set |= objects_of_operand(i.first_operand + k);
    return set;
  }

  void visit_call(const Instruction& i) {
    pin(all_operands(i), "its address is passed to a call", i.line);
    const Function* callee = nullptr;
    std::string_view name = "a function pointer";
    for (const Operand& o : f_.operands_of(i)) {
      if (o.kind == OperandKind::function) callee = &module_.functions[o.id], name = callee->name;
      if (o.kind == OperandKind::reg) {
        callee = nullptr;
        break;
      }
    }
    if (callee != nullptr && !callee->has_body) callee = module_.find_function(name);
    if (callee == nullptr || !callee->has_body) {
      if (!is_harmless_callee(name))
        forbid_inserts(fmt::format("calls '{}', whose body is not in this module", name), i.line);
      return;
    }
    std::set<const Function*> seen;
    if (may_have_barrier(*callee, seen))
      forbid_inserts(fmt::format("calls '{}', which has barriers of its own", name), i.line);
  }

  /// Any barrier in a callee keeps us from adding one: who arrives there is not analysed.
  bool may_have_barrier(const Function& f, std::set<const Function*>& seen) const {
    if (!seen.insert(&f).second) return false;
    for (const Instruction& i : f.instructions) {
      if (barrier_kind(module_, f, i) != BarrierKind::none) return true;
      if (module_.opcode(i).op != Op::call) continue;
      const auto operands = f.operands_of(i);
      const auto target = std::find_if(operands.begin(), operands.end(),
                                       [](const Operand& o) { return o.kind == OperandKind::function; });
      if (target == operands.end()) return true;  // through a pointer
      const Function* callee = module_.find_function(module_.functions[target->id].name);
      if (callee->has_body ? may_have_barrier(*callee, seen) : !is_harmless_callee(callee->name)) return true;
    }
    return false;
  }

  const Cfg& cfg_;
  const Module& module_;
  const Function& f_;
  const Values& values_;
  bool whole_program_;
  SharedUse use_;
  std::map<std::uint32_t, std::uint32_t> index_;  ///< variable -> object
};

}  // namespace

SharedUse find_shared_use(const Cfg& cfg, const Values& values, bool whole_program) {
  return AddressAnalysis(cfg, values, whole_program).run();
}

}  // namespace warploom::reuse
