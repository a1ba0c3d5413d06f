#include "mutants.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <random>
#include <set>

#include "reuse/analysis/coverage.hpp"
#include "reuse/analysis/flights.hpp"
#include "reuse/analysis/privacy.hpp"
#include "reuse/rewrite/plan.hpp"
#include "reuse/rewrite/rewrite.hpp"
#include "warploom/core/error.hpp"

namespace warploom::reuse::mutation {

using ptx::kNone;

std::string_view name(Fault fault) {
  switch (fault) {
    case Fault::barrier_removed:
      return "barrier removed";
    case Fault::barrier_moved_up:
      return "barrier moved up";
    case Fault::barrier_moved_down:
      return "barrier moved down";
    case Fault::barrier_illegal:
      return "barrier added where none may stand";
    case Fault::overlap_forgotten:
      return "overlap forgotten by barrier planning";
    case Fault::offset_by_a_word:
      return "offset: overlap by a word";
    case Fault::offset_wholly:
      return "offset: overlap wholly";
    case Fault::edge_dropped:
      return "interference edge dropped";
    case Fault::branch_uniform:
      return "divergent branch called uniform";
    case Fault::all_branches_uniform:
      return "all divergent branches called uniform";
    case Fault::separator_trusted:
      return "partial or guarded barrier trusted";
    case Fault::insertion_allowed:
      return "barriers added where a kernel may get none";
    case Fault::dead_unproved:
      return "dead without proof";
    case Fault::access_missed:
      return "access missed";
    case Fault::access_misattributed:
      return "access taken for another object's";
    case Fault::pin_ignored:
      return "pinned object moved";
    case Fault::placed_at_random:
      return "placed at random";
    case Fault::name_misplaced:
      return "name misplaced";
    case Fault::pool_short:
      return "pool too short";
  }
  return "";
}

namespace {

std::uint64_t round_up(std::uint64_t value, std::uint64_t unit) { return (value + unit - 1) / unit * unit; }

/// One place of a kernel's text that names a variable.
struct Use {
  ptx::Span span;
  std::uint32_t variable = kNone;
  std::int64_t displacement = 0;
};

/// In the order of the text.
std::vector<Use> uses_of_symbols(const ptx::Function& f) {
  std::vector<Use> uses;
  std::vector<bool> done(f.operands.size());
  for (const ptx::Operand& o : f.operands)
    if (o.kind == ptx::OperandKind::address && f.operands[o.id].kind == ptx::OperandKind::symbol) {
      done[o.id] = true;
      uses.push_back({o.span, f.operands[o.id].id, o.value});
    }
  for (std::uint32_t k = 0; k < f.operands.size(); ++k)
    if (f.operands[k].kind == ptx::OperandKind::symbol && !done[k])
      uses.push_back({f.operands[k].span, f.operands[k].id, f.operands[k].value});
  std::sort(uses.begin(), uses.end(), [](const Use& a, const Use& b) { return a.span.begin < b.span.begin; });
  return uses;
}

}  // namespace

/// The passes of pipeline.cpp, in its order, with a seam between each two.
class Subject::Passes {
 public:
  Passes(std::string text, std::string_view kernel, std::array<std::uint32_t, 3> block)
      : module_(ptx::parse(std::move(text))), block_(block) {
    kernel_.module = &module_;
    kernel_.function = module_.find_function(kernel);
    if (kernel_.function == nullptr) throw BadInput(fmt::format("no kernel '{}'", kernel));
    kernel_.block = kernel_.function->required_threads ? kernel_.function->required_threads : block;
    kernel_.cfg = ptx::build_cfg(module_, *kernel_.function);
    kernel_.values = number_values(kernel_.cfg);
    kernel_.use = find_shared_use(kernel_.cfg, kernel_.values);
    find_flights(kernel_.cfg, kernel_.values, kernel_.use, true);
    kernel_.uniformity = find_uniformity(kernel_.cfg, kernel_.values, kernel_.use, true);
    if (!nothing_to_do().empty()) return;
    // As in the pipeline: where the check cannot follow a proof by evaluation, all of them are left out.
    for (use_coverage_ = true;; use_coverage_ = false) {
      dead_ = dead_points(kernel_);
      graph_ = find_interference(kernel_, find_liveness(kernel_, dead_));
      Planner planner(kernel_, graph_, {});
      planner.pool_everything = true;
      plan_ = planner.smallest(true);
      if (use_coverage_) full_graph_ = planner.interference();
      promise_block_ = !kernel_.function->required_threads &&
                       std::any_of(dead_.begin(), dead_.end(),
                                   [](const DeadPoint& d) { return d.proof == DeadPoint::covered; });
      faultless_ = rewritten(plan_);
      if (!use_coverage_ || check(faultless_).ok) break;
    }
  }

  std::string nothing_to_do() const {
    if (kernel_.use.refusal) return "refused: " + kernel_.use.refusal->text;
    if (kernel_.uniformity.divergent_barrier) return "refused: " + kernel_.uniformity.divergent_barrier->text;
    std::set<std::uint32_t> named;
    for (const Use& u : uses_of_symbols(*kernel_.function)) named.insert(u.variable);
    const auto& objects = kernel_.use.objects;
    const auto movable = std::count_if(objects.begin(), objects.end(), [&](const Object& o) {
      return !o.pinned && named.contains(o.variable);
    });
    return movable < 2 ? "fewer than two objects that it names may move" : "";
  }
  const std::string& original() const { return module_.text; }
  const Rewritten& faultless() const { return faultless_; }

  CheckResult check(const Rewritten& output) const {
    CheckOptions options;
    options.block.assign(block_.begin(), block_.end());
    return reuse::check(module_.text, output.text, output.entries, options);
  }

  std::vector<Mutation> mutations() const {
    std::vector<Mutation> all;
    barrier_faults(all);
    offset_faults(all);
    edge_faults(all);
    uniformity_faults(all);
    life_faults(all);
    text_faults(all);
    return all;
  }

 private:
  std::vector<DeadPoint> dead_points(const Kernel& kernel) const {
    std::vector<DeadPoint> dead;
    for (const Marker& m : kernel.use.dead) dead.push_back({DeadPoint::stated, m.object, m.instruction});
    std::vector<NotPrivate> not_private;
    const auto add = [&](const std::vector<DeadPoint>& more) {
      dead.insert(dead.end(), more.begin(), more.end());
    };
    add(find_iteration_private(kernel, not_private));
    std::vector<NotCovered> not_covered;
    if (use_coverage_) add(find_covered(kernel, dead, not_covered));
    return dead;
  }

  Plan planned(const Kernel& kernel, const Interference& graph) const {
    Planner planner(kernel, graph, {});
    planner.pool_everything = true;
    return planner.smallest(true);
  }
  /// From the dead points on.
  Plan planned(const Kernel& kernel, const std::vector<DeadPoint>& dead) const {
    return planned(kernel, find_interference(kernel, find_liveness(kernel, dead)));
  }

  Rewritten rewritten(const Plan& plan) const {
    Rewritten result;
    ptx::Edits edits;
    result.entries = rewrite(kernel_, plan, false, promise_block_, edits);
    result.text = edits.apply(module_.text);
    return result;
  }

  const Object& object(std::uint32_t o) const { return kernel_.use.objects[o]; }
  std::string object_name(std::uint32_t o) const { return fmt::format("'{}'", variable_name(o)); }
  std::string pair_name(std::uint32_t a, std::uint32_t b) const {
    return fmt::format("{} and {}", object_name(a), object_name(b));
  }
  std::string line(std::uint32_t instruction) const {
    return fmt::format("line {}", kernel_.line(instruction));
  }
  bool movable(std::uint32_t o) const { return !object(o).pinned; }

  std::vector<ObjectSet> overlaps(const Plan& plan) const {
    std::vector<ObjectSet> result(kernel_.object_count());
    for (std::size_t i = 0; i < plan.pooled.size(); ++i)
      for (std::size_t j = 0; j < plan.pooled.size(); ++j)
        if (i != j && plan.offsets[i] < plan.offsets[j] + object(plan.pooled[j]).bytes &&
            plan.offsets[j] < plan.offsets[i] + object(plan.pooled[i]).bytes)
          result[plan.pooled[i]].set(plan.pooled[j]);
    return result;
  }

  std::string_view variable_name(std::uint32_t o) const { return module_.variables[object(o).variable].name; }

  void find_violation(const Plan& plan, Mutant& m) const {
    const auto about = [&](std::uint32_t a, std::uint32_t b, const std::string& text) {
      m.violation = text;
      m.objects = std::pair(std::string(variable_name(a)), std::string(variable_name(b)));
    };
    for (const std::uint32_t o : plan.pooled)
      if (!movable(o))
        return about(o, o, fmt::format("{} keeps its storage: {}", object_name(o), object(o).pinned->text));
    const std::vector<ObjectSet> overlap = overlaps(plan);
    for (const Interference::Edge& e : full_graph_.edges())
      if (overlap[e.a][e.b])
        return about(
            e.a, e.b,
            fmt::format("{} overlap: {} (line {})", pair_name(e.a, e.b), e.reason.text, e.reason.line));
    const BarrierPlanner barriers(kernel_);
    for (const std::uint32_t i : plan.insertions)
      if (!barriers.legal(kernel_.cfg.blocks[kernel_.cfg.block_of[i]].first)) {
        m.violation = fmt::format("no barrier may stand at {}", line(i));
        return;
      }
    for (const Hazard& h : find_hazards(kernel_, overlap, plan.insertions))
      return about(h.earlier, h.later,
                   fmt::format("no barrier between accesses of {} ({})", pair_name(h.earlier, h.later),
                               line(h.instruction)));
  }

  std::optional<Mutant> mutant(const Plan& plan) const {
    Mutant m{rewritten(plan), {}, {}};
    if (m.output.text == faultless_.text) return std::nullopt;
    find_violation(plan, m);
    return m;
  }
  void add(std::vector<Mutation>& all, Fault fault, std::string what, std::function<Plan()> plan) const {
    all.push_back({fault, std::move(what), [this, plan = std::move(plan)] { return mutant(plan()); }});
  }

  /// The passes after uniformity, over a kernel of which something wrong was found out.
  void add_misled(std::vector<Mutation>& all, Fault fault, std::string what,
                  std::function<void(Kernel&)> mislead) const {
    add(all, fault, std::move(what), [this, mislead = std::move(mislead)] {
      Kernel kernel = kernel_;
      mislead(kernel);
      return planned(kernel, dead_points(kernel));
    });
  }

  // ---- barriers

  Plan with_insertions(Insertions insertions) const {
    Plan plan = plan_;
    std::sort(insertions.begin(), insertions.end());
    insertions.erase(std::unique(insertions.begin(), insertions.end()), insertions.end());
    plan.insertions = std::move(insertions);
    return plan;
  }

  bool accesses(std::uint32_t i) const {
    return std::any_of(kernel_.use.accesses.begin(), kernel_.use.accesses.end(),
                       [&](const Access& a) { return a.instruction == i; });
  }

  /// Where a barrier before `from` is moved to.
  std::vector<std::uint32_t> places_above(std::uint32_t from) const {
    const std::uint32_t b = kernel_.cfg.block_of[from];
    std::vector<std::uint32_t> places;
    for (std::uint32_t i = from; i-- > kernel_.cfg.blocks[b].first;)
      if (accesses(i)) {
        places.push_back(i);
        break;
      }
    for (const std::uint32_t p : kernel_.cfg.graph.predecessors[b])
      if (kernel_.cfg.reachable[p] && kernel_.cfg.blocks[p].first < kernel_.cfg.blocks[p].last)
        places.push_back(kernel_.cfg.blocks[p].last - 1);
    return places;
  }
  std::vector<std::uint32_t> places_below(std::uint32_t from) const {
    const std::uint32_t b = kernel_.cfg.block_of[from];
    std::vector<std::uint32_t> places;
    for (std::uint32_t i = from; i + 1 < kernel_.cfg.blocks[b].last; ++i)
      if (accesses(i)) {
        places.push_back(i + 1);
        break;
      }
    for (const std::uint32_t s : kernel_.cfg.graph.successors[b])
      if (kernel_.cfg.blocks[s].first < kernel_.cfg.blocks[s].last)
        places.push_back(kernel_.cfg.blocks[s].first);
    return places;
  }

  void barrier_faults(std::vector<Mutation>& all) const {
    for (const std::uint32_t i : plan_.insertions) {
      Insertions others = plan_.insertions;
      std::erase(others, i);
      add(all, Fault::barrier_removed, line(i), [this, others] { return with_insertions(others); });
      const auto move = [&](Fault fault, const std::vector<std::uint32_t>& places) {
        for (const std::uint32_t to : places) {
          if (to == i) continue;
          Insertions moved = others;
          moved.push_back(to);
          add(all, fault, fmt::format("{} to {}", line(i), kernel_.line(to)),
              [this, moved] { return with_insertions(moved); });
        }
      };
      move(Fault::barrier_moved_up, places_above(i));
      move(Fault::barrier_moved_down, places_below(i));
    }
    const BarrierPlanner barriers(kernel_);
    for (const std::uint32_t b : kernel_.cfg.order) {
      const ptx::Block& block = kernel_.cfg.blocks[b];
      // Who is in a tail waits for nobody, and who is elsewhere has left: a barrier there does no harm.
      if (block.first == block.last || barriers.legal(block.first) || kernel_.uniformity.tail[b]) continue;
      Insertions more = plan_.insertions;
      more.push_back(block.first);
      add(all, Fault::barrier_illegal, line(block.first), [this, more] { return with_insertions(more); });
    }
    for (const std::uint32_t a : plan_.pooled)
      for (const std::uint32_t b : plan_.pooled)
        if (a < b && plan_.overlap[a][b])
          add(all, Fault::overlap_forgotten, pair_name(a, b), [this, a, b] {
            std::vector<ObjectSet> overlap = plan_.overlap;
            overlap[a].reset(b);
            overlap[b].reset(a);
            Hazard stuck;
            return with_insertions(*BarrierPlanner(kernel_).plan(overlap, stuck));
          });
  }

  // ---- offsets

  std::size_t index_in_pool(std::uint32_t o) const {
    return static_cast<std::size_t>(std::find(plan_.pooled.begin(), plan_.pooled.end(), o) -
                                    plan_.pooled.begin());
  }

  /// The two go to the pool's end, where they overlap each other and nothing else: one fault, not several.
  Plan overlapped(std::uint32_t a, std::uint32_t b, bool wholly) const {
    Plan plan = plan_;
    const std::uint64_t start = round_up(plan.pool_bytes, plan.pool_alignment);
    const std::uint64_t last_word = start + object(a).bytes - std::min<std::uint64_t>(4, object(a).bytes);
    const std::uint64_t second = wholly ? start : last_word / object(b).alignment * object(b).alignment;
    plan.offsets[index_in_pool(a)] = start;
    plan.offsets[index_in_pool(b)] = second;
    plan.pool_bytes = std::max(start + object(a).bytes, second + object(b).bytes);
    return plan;
  }

  void offset_faults(std::vector<Mutation>& all) const {
    for (const std::uint32_t a : plan_.pooled)
      for (const std::uint32_t b : plan_.pooled) {
        if (a >= b || !full_graph_.between(a, b)) continue;
        add(all, Fault::offset_by_a_word, pair_name(a, b), [this, a, b] { return overlapped(a, b, false); });
        add(all, Fault::offset_wholly, pair_name(a, b), [this, a, b] { return overlapped(a, b, true); });
      }
    for (std::uint64_t seed = 1; seed <= 12; ++seed)
      add(all, Fault::placed_at_random, fmt::format("seed {}", seed),
          [this, seed] { return random_plan(seed); });
  }

  /// With barriers at most places, lives alone decide.
  Plan random_plan(std::uint64_t seed) const {
    std::mt19937_64 random(seed);
    Plan plan = plan_;
    plan.pool_bytes = 0;
    for (std::size_t p = 0; p < plan.pooled.size(); ++p) {
      const Object& o = object(plan.pooled[p]);
      plan.offsets[p] = random() % 4 * (o.bytes / 2) / o.alignment * o.alignment;
      plan.pool_bytes = std::max(plan.pool_bytes, plan.offsets[p] + o.bytes);
    }
    const BarrierPlanner barriers(kernel_);
    const std::uint64_t share = std::array{2, 6, 8}[seed % 3];  // of 8
    plan.insertions.clear();
    for (std::uint32_t i = 0; i < kernel_.function->instructions.size(); ++i)
      if (barriers.legal(i) && random() % 8 < share) plan.insertions.push_back(i);
    return plan;
  }

  // ---- interference

  void edge_faults(std::vector<Mutation>& all) const {
    for (const Interference::Edge& dropped : graph_.edges()) {
      if (!movable(dropped.a) || !movable(dropped.b)) continue;
      add(all, Fault::edge_dropped, pair_name(dropped.a, dropped.b), [this, dropped] {
        Interference graph(graph_.size());
        for (const Interference::Edge& e : graph_.edges())
          if (e.a != dropped.a || e.b != dropped.b) graph.add(e.a, e.b, e.reason);
        return planned(kernel_, graph);
      });
    }
  }

  // ---- uniformity

  void uniformity_faults(std::vector<Mutation>& all) const {
    const auto& of_value = kernel_.uniformity.of_value;
    const auto& values = kernel_.values.all;
    const auto value = std::find_if(values.begin(), values.end(), [&](const Value& v) {
      return v.kind == Value::definition &&
             of_value[static_cast<std::size_t>(&v - values.data())] == Variation::uniform;
    });
    // The pass sees a value that all threads share where the branches' predicates stand.
    const auto call_uniform = [uniform = static_cast<std::uint32_t>(value - values.begin())](
                                  Kernel& kernel, const std::vector<std::uint32_t>& branches) {
      const Values right = kernel.values;
      for (const std::uint32_t i : branches) kernel.values.of_guard[i] = uniform;
      kernel.uniformity = find_uniformity(kernel.cfg, kernel.values, kernel.use, true);
      kernel.values = right;
    };
    std::vector<std::uint32_t> branches;
    for (const DivergentBranch& d : kernel_.uniformity.divergent) {
      const std::uint32_t i = kernel_.cfg.blocks[d.block].last - 1;
      if (kernel_.values.of_guard[i] == kNone || value == values.end()) continue;
      branches.push_back(i);
      add_misled(all, Fault::branch_uniform, line(i), [=](Kernel& kernel) { call_uniform(kernel, {i}); });
    }
    if (branches.size() > 1)
      add_misled(all, Fault::all_branches_uniform, fmt::format("{} branches", branches.size()),
                 [=](Kernel& kernel) { call_uniform(kernel, branches); });

    for (std::uint32_t i = 0; i < kernel_.function->instructions.size(); ++i) {
      const ptx::Op op = module_.opcode(kernel_.instruction(i)).op;
      if ((op != ptx::Op::bar && op != ptx::Op::barrier) || separates(kernel_, i)) continue;
      add_misled(all, Fault::separator_trusted, line(i), [i](Kernel& kernel) {
        auto& separators = kernel.uniformity.separators;
        separators.insert(std::lower_bound(separators.begin(), separators.end(), i), i);
      });
    }
    if (!kernel_.use.inserts_allowed)
      add_misled(all, Fault::insertion_allowed,
                 kernel_.use.no_insert ? fmt::format("line {}", kernel_.use.no_insert->line) : "",
                 [](Kernel& kernel) { kernel.use.inserts_allowed = true; });
  }

  // ---- lives

  void life_faults(std::vector<Mutation>& all) const {
    std::vector<std::uint32_t> points;
    for (const ptx::Loop& loop : kernel_.cfg.loops) points.push_back(kernel_.cfg.blocks[loop.header].first);
    for (const std::uint32_t i : kernel_.uniformity.separators)
      if (i + 1 < kernel_.cfg.blocks[kernel_.cfg.block_of[i]].last) points.push_back(i + 1);
    std::sort(points.begin(), points.end());
    points.erase(std::unique(points.begin(), points.end()), points.end());
    for (const std::uint32_t at : points)
      for (const std::uint32_t o : plan_.pooled) {
        if (std::any_of(dead_.begin(), dead_.end(),
                        [&](const DeadPoint& d) { return d.object == o && d.instruction == at; }))
          continue;
        add(all, Fault::dead_unproved, fmt::format("{} at {}", object_name(o), line(at)), [this, o, at] {
          std::vector<DeadPoint> dead = dead_;
          dead.push_back({DeadPoint::iteration_private, o, at});
          const Interference graph = find_interference(kernel_, find_liveness(kernel_, dead));
          return graph.edges().size() == graph_.edges().size() ? plan_ : planned(kernel_, graph);
        });
      }
    for (std::size_t a = 0; a < kernel_.use.accesses.size(); ++a) {
      const Access& access = kernel_.use.accesses[a];
      const std::string what = fmt::format(
          "{} at {}", access.write ? access.read ? "atomic" : "store" : "load", line(access.instruction));
      add_misled(all, Fault::access_missed, what, [a](Kernel& kernel) {
        kernel.use.accesses.erase(kernel.use.accesses.begin() + static_cast<std::ptrdiff_t>(a));
      });
      const auto other = std::find_if(plan_.pooled.begin(), plan_.pooled.end(),
                                      [&](std::uint32_t o) { return !access.objects[o]; });
      if (other == plan_.pooled.end()) continue;
      add_misled(all, Fault::access_misattributed, fmt::format("{}, as {}", what, object_name(*other)),
                 [a, o = *other](Kernel& kernel) { kernel.use.accesses[a].objects = ObjectSet().set(o); });
    }
    for (std::uint32_t o = 0; o < kernel_.object_count(); ++o)
      if (object(o).pinned && !object(o).dynamic && object(o).bytes > 0)
        add_misled(all, Fault::pin_ignored, object_name(o),
                   [o](Kernel& kernel) { kernel.use.objects[o].pinned.reset(); });
  }

  // ---- the rewriter

  void text_faults(std::vector<Mutation>& all) const {
    std::vector<Use> uses = uses_of_symbols(*kernel_.function);
    std::erase_if(uses, [&](const Use& u) { return pooled_as(u.variable) == plan_.pooled.size(); });
    if (uses.empty()) return;
    std::uint64_t end = 0;  // of the last object that an instruction names
    for (const Use& u : uses) {
      const std::size_t p = pooled_as(u.variable);
      end = std::max(end, plan_.offsets[p] + object(plan_.pooled[p]).bytes);
    }
    all.push_back({Fault::pool_short, fmt::format("{} bytes", end - 1), [this, end] {
                     Plan plan = plan_;
                     plan.pool_bytes = end - 1;
                     return mutant_of_rewriter(rewritten(plan));
                   }});
    for (std::size_t u = 0; u < uses.size(); ++u) {
      const std::size_t from = pooled_as(uses[u].variable);
      // To the next object that lies elsewhere.
      std::size_t to = from;
      do to = (to + 1) % plan_.pooled.size();
      while (to != from && plan_.offsets[to] == plan_.offsets[from]);
      if (to == from) continue;
      const auto shift =
          static_cast<std::int64_t>(plan_.offsets[to]) - static_cast<std::int64_t>(plan_.offsets[from]);
      all.push_back({Fault::name_misplaced,
                     fmt::format("{} as {}, use {}", object_name(plan_.pooled[from]),
                                 object_name(plan_.pooled[to]), u + 1),
                     [this, u, shift] { return mutant_of_rewriter(misplaced(u, shift)); }});
    }
  }

  std::optional<Mutant> mutant_of_rewriter(Rewritten output) const {
    if (output.text == faultless_.text) return std::nullopt;
    return Mutant{std::move(output), "the output is not what the plan says", {}};
  }

  /// Index of a variable in the pool, or its size.
  std::size_t pooled_as(std::uint32_t variable) const {
    std::size_t p = 0;
    while (p < plan_.pooled.size() && object(plan_.pooled[p]).variable != variable) ++p;
    return p;
  }

  /// The pool's names in the output stand in the order of the objects' names in the input.
  Rewritten misplaced(std::size_t use, std::int64_t shift) const {
    const ptx::Module output = ptx::parse(faultless_.text);
    const ptx::Function& f = *output.find_function(kernel_.function->name);
    const std::string pool = pool_name(module_, *kernel_.function);
    std::vector<Use> uses = uses_of_symbols(f);
    std::erase_if(uses, [&](const Use& u) { return output.variables[u.variable].name != pool; });
    ptx::Edits edits;
    edits.replace(uses.at(use).span, fmt::format("{}+{}", pool, uses[use].displacement + shift));
    return {edits.apply(faultless_.text), faultless_.entries};
  }

  ptx::Module module_;
  std::array<std::uint32_t, 3> block_;
  Kernel kernel_;
  bool use_coverage_ = true, promise_block_ = false;
  std::vector<DeadPoint> dead_;
  Interference graph_;  ///< as placement gets it
  /// With the pairs that no barrier can part, and all proofs by evaluation.
  Interference full_graph_;
  Plan plan_;
  Rewritten faultless_;
};

Subject::Subject(std::string module_text, std::string_view kernel, std::array<std::uint32_t, 3> block)
    : passes_(std::make_unique<Passes>(std::move(module_text), kernel, block)) {}
Subject::~Subject() = default;
std::string Subject::nothing_to_do() const { return passes_->nothing_to_do(); }
const std::string& Subject::original() const { return passes_->original(); }
const Rewritten& Subject::faultless() const { return passes_->faultless(); }
std::vector<Mutation> Subject::mutations() const { return passes_->mutations(); }
CheckResult Subject::check(const Rewritten& output) const { return passes_->check(output); }

}  // namespace warploom::reuse::mutation
