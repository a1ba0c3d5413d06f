#include "oracle/random_kernel.hpp"

#include <algorithm>
#include <bit>

#include "oracle/random_kernel_phases.hpp"

namespace warploom::oracle {

std::string_view name(Feature feature) {
  static constexpr std::array<std::string_view, static_cast<std::size_t>(Feature::count)> names{
      "uniform branch",
      "divergent branch",
      "nested branch",
      "loop",
      "nested loop",
      "divergent loop",
      "iteration-private",
      "carried load",
      "break",
      "continue",
      "early exit",
      "divergent exit",
      "repeated condition",
      "selected pointer",
      "carried pointer",
      "swapped pointers",
      "mov chain",
      "generic address",
      "unknown index",
      "vector access",
      "8 or 16 bits",
      "64 bits",
      "float",
      "volatile",
      "atomic",
      "tree reduction",
      "bar.red",
      "barrier with id",
      "barrier with count",
      "bar.warp.sync",
      "vote",
      "device call",
      "callee with shared",
      "dynamic array",
      "module array",
      "carved array",
      "carved by launch",
      "callee with array",
      "callee of module",
      "two kernels",
      "async copy",
      "async pipeline",
      "mbarrier",
      "mbarrier in array",
      "async mbarrier",
      "ldmatrix",
      "block declared",
      "2-D block",
      "bulk load",
      "bulk store"};
  return names[static_cast<std::size_t>(feature)];
}

namespace {

class Generator : PhaseWriter {
 public:
  explicit Generator(std::uint64_t seed) : PhaseWriter(seed) {}

  RandomKernel kernel() {
    if (chance(60)) uses(Feature::block_declared);
    hot_ = {pick(static_cast<std::uint32_t>(arrays_.size())),
            pick(static_cast<std::uint32_t>(arrays_.size()))};
    calls_ = chance(10);
    asynchronous_ = chance(bulk_ ? 80 : 30);
    if (chance(10)) exit_kernel();
    sequence(0, 5 + pick(8));
    const std::string second = second_kernel();
    finish(prologue(), functions(), second);
    return std::move(kernel_);
  }

 private:
  struct Condition {
    std::string predicate;
    bool uniform = true;
    Threads possible = 0, certain = 0;  ///< threads for which it may hold, does hold
    std::size_t fact = Knowledge::kFacts;
  };

  /// What a piece of the kernel changes, so that it can be taken back.
  struct Draft {
    std::string body;
    Knowledge state;
    std::vector<Loop> loops;
    std::vector<RandomArray> arrays;
    std::uint64_t features;
    std::array<bool, 6> functions;
  };

  /// A body that uses the arrays of the module anew; empty: there are not two of them.
  std::string second_kernel() {
    std::uint32_t count = 0;
    for (const RandomArray& a : arrays_) count += a.kind == RandomArray::Kind::of_module && a.rows != 0;
    if (count < 2 || !chance(60)) return "";
    std::string first = std::move(body_);
    body_.clear();
    const std::vector<RandomArray> kept = arrays_;
    for (RandomArray& a : arrays_) {
      a.loop = 0, a.retired = false;
      a.locked = a.kind != RandomArray::Kind::of_module || a.rows == 0;
    }
    begin_anew();
    for (std::uint32_t k = 3 + pick(4); k > 0; --k) chance(70) ? phase() : load(any_array());
    arrays_ = kept;
    std::swap(first, body_);
    if (!first.empty()) uses(Feature::two_kernels);
    return first;
  }

  std::string prologue() {
    std::string text =
        kernel_.block[1] == 1
            ? "mov.u32 %t, %tid.x;\n"
            : "mov.u32 %n, %ntid.x;\nmov.u32 %acc, %tid.y;\nmov.u32 %t, %tid.x;\nmad.lo.u32 %t, %acc, %n, %t;\n";
    text += fmt::format(
        "ld.param.u64 %out, [out];\nld.param.u64 %data, [data];\nld.param.u32 %n, [n];\nmov.u32 %r0, "
        "%ctaid.x;\nadd.u32 %n, %n, %r0;\nmad.lo.u32 %acc, %r0, {}, %t;\nmul.wide.u32 %rd0, %acc, {};\nadd.s64 "
        "%out, %out, %rd0;\nmul.wide.u32 %rd0, %t, 4;\nadd.s64 %rd0, %data, %rd0;\nld.global.u32 %r0, [%rd0];\nmad.lo.u32 %acc, %t, 77, %r0;\n",
        threads_, 4 * RandomKernel::kOutWords);
    for (int c = 0; c < 3; ++c)
      text += fmt::format("and.b32 %r0, %n, {};\nsetp.ne.u32 %c{}, %r0, 0;\n", 1 << c, c);
    return text;
  }

  std::string functions() {
    const std::array<std::string, 6> bodies{
        "xor.b32 %x, %a, %y;\nmad.lo.u32 %x, %x, 29, 7;\n",
        "mov.u32 %x, kept;\nmad.lo.u32 %x, %y, 4, %x;\nst.shared.u32 [%x], %a;\nld.shared.u32 %x, [%x];\n",
        "bar.sync 0;\nadd.u32 %x, %a, 3;\n",
        "ld.shared.u32 %x, [%a];\nadd.u32 %x, %x, %y;\n",
        fmt::format(
            ".shared .align 4 .b8 own[{}];\nmov.u32 %x, own;\nmad.lo.u32 %x, %y, 4, %x;\nst.shared.u32 [%x], "
            "%a;\nbar.sync 0;\nsub.u32 %y, {}, %y;\nmov.u32 %x, own;\nmad.lo.u32 %x, %y, 4, %x;\n"
            "ld.shared.u32 %x, [%x];\nbar.sync 0;\n",
            4 * threads_, threads_ - 1),
        functions_[5]
            ? fmt::format("mov.u32 %x, {};\nmad.lo.u32 %x, %y, {}, %x;\nld.shared.u32 %x, [%x];\nadd.u32 "
                          "%x, %x, %a;\n",
                          arrays_[callee_array_].name, arrays_[callee_array_].unit())
            : ""};
    std::string text;
    if (functions_[1]) text += fmt::format(".shared .align 4 .b8 kept[{}];\n", 4 * threads_);
    for (std::size_t k = 0; k < bodies.size(); ++k)
      if (functions_[k])
        text += fmt::format(
            ".func (.param .b32 result) f{}(.param .b32 first, .param .b32 second)\n{{\n.reg .b32 %x, %y, "
            "%a;\nld.param.u32 %a, [first];\nld.param.u32 %y, [second];\n{}st.param.b32 [result], %x;\nret;\n}}\n",
            k, bodies[k]);
    return text;
  }

  std::string guard(const Condition& c, bool holds) {
    return fmt::format("@{}{} ", holds ? "" : "!", c.predicate);
  }

  void assume(std::size_t fact) {
    if (fact == Knowledge::kFacts) return;
    for (std::size_t a = 0; a < arrays_.size(); ++a) state_.written[a] |= state_.written_if[fact][a];
  }

  /// The same for all threads that come here.
  Condition uniform_condition() {
    Condition c;
    const std::uint32_t bit = pick(3), what = pick(100);
    const auto of = [&](const std::string& value) {
      const std::string x = r();
      c.predicate = p();
      emit("and.b32 {}, {}, {};\nsetp.ne.u32 {}, {}, 0;", x, value, 1u << bit, c.predicate, x);
      return c;
    };
    if (!loops_.empty() && what < 30) {
      c.predicate = p();
      emit("setp.{}.u32 {}, {}, {};", chance(50) ? "eq" : "ne", c.predicate, counter(), pick(3));
      return c;
    }
    if (what < 45) {
      if (const std::string value = same_value(); !value.empty()) return of(value);
    } else if (what < 50) {
      const std::string value = r();
      emit("ld.global.u32 {}, [%data+{}];", value, 4 * pick(RandomKernel::kDataWords));
      return of(value);
    } else if (what < 53 && may_synchronise()) {
      const std::string mine = p();
      c.predicate = p();
      emit("setp.lt.u32 {}, %acc, {};", mine, 1u << 31);
      emit("bar.red.{}.pred {}, 0, {};", chance(50) ? "and" : "or", c.predicate, mine);
      uses(Feature::barrier_red);
      state_.recent.clear();
      state_.open = state_.warp_open = 0;
      return c;
    }
    // A bit of `n`: the same all through the kernel, so what was stored under it is there under it.
    if (chance(50))
      c.predicate = fmt::format("%c{}", bit);
    else
      of("%n");
    c.fact = 2 * bit;
    return c;
  }

  /// A register with a word from one place of shared memory for all threads; empty if there is none.
  std::string same_value() {
    const std::uint32_t array = any_array();
    const RandomArray& a = arrays_[array];
    if (a.unit() < 4) return "";
    SharedAccess made = access(SharedAccess::Kind::load, array, {Index::fixed, pick(4)}, 0, 0, 4,
                               state_.may_run(), state_.must_run());
    if (made.possible.empty() || !state_.writes_known(made) || !ready(made)) return "";
    const std::string value = r();
    emit("ld.shared.u32 {}, [{}+{}];", value, a.name, made.possible.front().begin);
    record(std::move(made));
    return value;
  }

  /// Not the same for all.
  Condition thread_condition(bool known) {
    Condition c;
    c.uniform = false;
    c.predicate = p();
    const std::uint32_t what = known ? pick(75) : pick(100);
    if (what < 55) {
      const std::uint32_t below = pick(threads_ + 1);
      const bool less = chance(50);
      emit("setp.{}.u32 {}, %t, {};", less ? "lt" : "ge", c.predicate, below);
      const Threads first = below == 64 ? ~Threads{0} : (Threads{1} << below) - 1;
      c.possible = c.certain = (less ? first : ~first) & all_;
    } else if (what < 75) {
      const std::string x = r();
      emit("and.b32 {}, %t, 1;\nsetp.eq.u32 {}, {}, 0;", x, c.predicate, x);
      c.possible = c.certain = 0x5555'5555'5555'5555 & all_;
    } else if (what < 85 && divergence_ == 0 && state_.must_run() == all_) {
      const std::string mine = p();
      emit("setp.lt.u32 {}, %acc, {};\nvote.sync.{}.pred {}, {}, 0xffffffff;", mine, 1u << 31,
           chance(50) ? "any" : "all", c.predicate, mine);
      uses(Feature::warp_vote);
      c.possible = all_;
    } else {
      const std::string x = r();
      emit("and.b32 {}, %acc, {};\nsetp.ne.u32 {}, {}, 0;", x, 1u << pick(3), c.predicate, x);
      c.possible = all_;
    }
    return c;
  }

  void branch(int depth) {
    const bool by_thread = chance(divergence_ > 0 ? 50 : 30);
    const Condition c = by_thread ? thread_condition(false) : uniform_condition();
    uses(by_thread ? Feature::divergent_branch : Feature::uniform_branch);
    if (depth > 0) uses(Feature::nested_branch);
    const std::string other = label(), join = label();
    const bool has_else = chance(50);
    emit("{}bra {};", guard(c, false), other);
    const auto second_arm = [&] {
      if (has_else) emit("bra.uni {};", join);
      emit("{}:", other);
      if (!has_else) return;
      sequence(depth + 1, 1 + pick(3));
      emit("{}:", join);
    };
    if (!c.uniform) {
      const Threads may = state_.may, must = state_.must;
      ++divergence_;
      state_.may = may & c.possible, state_.must = must & c.certain;
      sequence(depth + 1, 1 + pick(3));
      state_.may = may & ~c.certain, state_.must = must & ~c.possible;
      second_arm();
      state_.may = may, state_.must = must;
      --divergence_;
      return;
    }
    const Knowledge before = state_;
    assume(c.fact);
    sequence(depth + 1, 1 + pick(3));
    Knowledge then = state_;
    state_ = before;
    assume(opposite(c.fact));
    second_arm();
    const std::vector<Bytes> written_then = then.written, written_else = state_.written;
    state_.join(then);
    if (c.fact == Knowledge::kFacts) return;
    state_.written_if[c.fact] = written_then;
    state_.written_if[opposite(c.fact)] = written_else;
    if ((decided_ >> c.fact / 2 & 1) != 0) uses(Feature::repeated_condition);
    decided_ |= 1u << c.fact / 2;
  }

  static std::size_t opposite(std::size_t fact) { return fact == Knowledge::kFacts ? fact : fact ^ 1; }

  Draft draft() const { return {body_, state_, loops_, arrays_, kernel_.features, functions_}; }
  void take_back(Draft&& d) {
    body_ = std::move(d.body), state_ = std::move(d.state), loops_ = std::move(d.loops);
    arrays_ = std::move(d.arrays), kernel_.features = d.features, functions_ = d.functions;
  }

  void loop(int depth) {
    const std::uint32_t turns = 1 + pick(3);
    if (iterations_ * turns > 9) return;
    Draft before = draft();
    if (write_loop(depth, turns)) return;
    take_back(std::move(before));
  }

  /// False: its iterations would race.
  bool write_loop(int depth, std::uint32_t turns) {
    Loop loop;
    loop.number = ++numbered_loops_;
    loop.turns = turns;
    loop.divergent = divergence_ > 0 || chance(10);
    loop.divergence = divergence_ + (loop.divergent ? 1 : 0);
    loop.counter = r(), loop.latch = label(), loop.end = label();
    const bool by_thread = loop.divergent && chance(60), constant = !by_thread && chance(50);
    const bool as_while = chance(50);
    const std::string head = label(), trips = r(), test = p();
    if (by_thread)
      emit("and.b32 {}, %t, {};", trips, turns);
    else if (constant)
      emit("mov.u32 {}, {};", trips, turns);
    else
      emit("and.b32 {}, %n, {};", trips, turns);
    emit("mov.u32 {}, 0;\n{}:", loop.counter, head);
    if (as_while) emit("setp.ge.u32 {}, {}, {};\n@{} bra {};", test, loop.counter, trips, test, loop.end);

    const Knowledge before = state_;
    const std::uint64_t number = loop.number;
    const auto index = loops_.size();
    const std::uint32_t bit = 1u << index;
    const int outer_divergence = divergence_;
    uses(loop.divergent ? Feature::divergent_loop : Feature::loop);
    if (index > 0) uses(Feature::nested_loop);
    choose_private_array(loop.number);
    loops_.push_back(std::move(loop));
    divergence_ = loops_[index].divergence;
    iterations_ *= turns;
    state_.open |= bit, state_.warp_open |= bit;
    if (by_thread) {
      for (std::uint32_t t = 0; t < threads_; ++t)
        if (as_while && (t & turns) == 0) state_.may &= ~(Threads{1} << t);
      state_.must &= state_.may;
    }
    sequence(depth + 1, 2 + pick(4));
    iterations_ /= turns;
    const bool closed = close_iteration();
    divergence_ = outer_divergence;
    Loop done = std::move(loops_[index]);
    loops_.pop_back();
    if (!closed) return false;

    emit("add.u32 {}, {}, 1;", done.counter, done.counter);
    if (as_while)
      emit("bra.uni {};", head);
    else
      emit("setp.lt.u32 {}, {}, {};\n@{} bra {};", test, done.counter, trips, test, head);
    emit("{}:", done.end);
    if (as_while && !constant) state_.join(before);
    for (const Knowledge& k : done.exits) state_.join(k);
    state_.may = before.may, state_.must = before.must;
    state_.open &= ~bit, state_.warp_open &= ~bit;
    for (RandomArray& a : arrays_)
      if (a.loop == number) a.loop = 0, a.retired = chance(85);
    return true;
  }

  void choose_private_array(std::uint32_t loop) {
    if (!chance(60)) return;
    const std::uint32_t a = pick(static_cast<std::uint32_t>(arrays_.size()));
    const bool fresh =
        std::none_of(accesses_.begin(), accesses_.end(), [&](const SharedAccess& s) { return s.array == a; });
    if (!fresh || arrays_[a].loop != 0) return;
    arrays_[a].loop = loop;
    uses(Feature::iteration_private);
  }

  /// The end of the innermost loop's body: everything that the next iteration relies on.
  bool close_iteration() {
    const std::size_t index = loops_.size() - 1;
    if (loops_[index].latch_used) emit("{}:", loops_[index].latch);
    for (const Knowledge& k : loops_[index].latches) state_.join(k);
    for (std::size_t d = 0; d < loops_[index].debts.size(); ++d)
      if (!pay(SharedAccess(loops_[index].debts[d]))) return false;
    if (!runs_into_next(loops_[index])) {
      if (may_synchronise() && chance(30)) barrier();
      return true;
    }
    if (may_synchronise()) barrier();
    return may_synchronise();
  }

  /// Threads leave the kernel or the loop, or go to its next iteration.
  void leave() {
    const bool in_loop = !loops_.empty() && loops_.back().divergence == divergence_;
    if (!in_loop || chance(30)) return exit_kernel();
    Loop& loop = loops_.back();
    const bool by_thread = loop.divergent && chance(50), goes_on = chance(40);
    const Condition c = by_thread ? thread_condition(false) : uniform_condition();
    emit("{}bra {};", guard(c, true), goes_on ? loop.latch : loop.end);
    uses(goes_on ? Feature::loop_continue : Feature::loop_break);
    loop.latch_used = loop.latch_used || goes_on;
    (goes_on ? loop.latches : loop.exits).push_back(state_);
    if (by_thread) state_.must = 0;
  }

  void exit_kernel() {
    if (chance(35)) {
      // Where some threads are elsewhere, they stay, and it is not known whether these do.
      const Threads stay = divergence_ > 0 ? state_.must_stay & ~state_.may_run() : state_.must_stay;
      if (std::popcount(stay) < 4) return;
      state_.must_stay = stay;
      const Condition c = uniform_condition();
      emit("{}bra DONE;", guard(c, true));
      uses(Feature::early_exit);
      return assume(opposite(c.fact));
    }
    const Condition c = thread_condition(true);
    const Threads stay = state_.must_stay & ~(c.possible & state_.may_run());
    if (std::popcount(stay) < 4) return;
    uses(Feature::divergent_exit);
    state_.may_stay &= ~(c.certain & state_.must_run());
    state_.must_stay = stay;
    if (chance(70)) return emit("{}bra DONE;", guard(c, true));
    emit("{}st.global.u32 [%out], %acc;\n{}ret;", guard(c, true), guard(c, true));
  }

  void sequence(int depth, std::uint32_t count) {
    for (std::uint32_t s = 0; s < count; ++s) {
      if (asynchronous_ && chance(depth == 0 ? 30 : 12)) {
        asynchronous();
        continue;
      }
      if (calls_ && chance(10)) {
        call();
        continue;
      }
      const std::uint32_t what = pick(100);
      if (what < 15)
        store();
      else if (what < 35)
        load(any_array());
      else if (what < 54)
        phase();
      else if (what < 57) {
        if (may_synchronise()) chance(70) ? barrier() : warp_barrier();
      } else if (what < 61)
        through_selected_pointer();
      else if (what < 64)
        walk();
      else if (what < 66)
        swap_buffers();
      else if (what < 69)
        histogram();
      else if (what < 71)
        tree_reduction();
      else if (what < 73)
        report();
      else if (what < 79) {
        if (depth > 0) leave();
      } else if (what < 88) {
        if (depth < 3) branch(depth);
      } else if (depth < 3)
        loop(depth);
    }
  }

  /// Of kernels that do so at all: copies, mbarriers, matrices.
  void asynchronous() {
    if (bulk_ && chance(50)) return chance(60) ? bulk_load() : bulk_store();
    const std::uint32_t what = pick(100);
    if (what < 35)
      async_copy();
    else if (what < 55)
      async_pipeline();
    else if (what < 75)
      mbarrier_rounds();
    else
      matrix_load();
  }

  bool calls_ = false, asynchronous_ = false;
  std::uint32_t decided_ = 0;  ///< bits of `n` that some branch has asked for
};

}  // namespace

RandomKernel random_kernel(std::uint64_t seed) { return Generator(seed).kernel(); }

}  // namespace warploom::oracle
