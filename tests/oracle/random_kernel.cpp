#include "oracle/random_kernel.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <random>
#include <set>
#include <string_view>
#include <vector>

namespace warploom::oracle {
namespace {

/// Which word of an array a thread accesses.
enum Index { own, swapped, shifted, mirrored, rotating, first, index_kinds = rotating + 1 };

class Generator {
 public:
  Generator(std::uint64_t seed, std::uint32_t threads) : random_(seed), threads_(threads) {
    const std::uint32_t count = 3 + pick(4);
    for (std::uint32_t a = 0; a < count; ++a) {
      Array array;
      array.name = fmt::format("sh_{}", static_cast<char>('a' + a));
      array.rows = std::vector<std::uint32_t>{1, 1, 2, 3, 0}[pick(5)];
      array.align = 4u << pick(3);
      array.module_scope = chance(20);
      arrays_.push_back(array);
    }
  }

  std::string text() {
    sequence(0, 4 + pick(7));
    std::string head, module;
    for (const Array& a : arrays_)
      (a.module_scope ? module : head) += fmt::format(".shared .align {} .b8 {}[{}];\n", a.align, a.name,
                                                      a.rows == 0 ? 16 : 4 * threads_ * a.rows);
    return fmt::format(
        ".version 8.0\n.target sm_80\n.address_size 64\n{}\n.visible .entry k(.param .u64 out, .param .u64 "
        "data, .param .u32 n)\n{{\n{}"
        ".reg .b32 %r<{}>;\n.reg .b64 %rd<{}>;\n.reg .pred %p<{}>;\n.reg .b32 %t, %n, %acc, %a<3>;\n.reg "
        ".b64 %out;\n"
        "ld.param.u64 %out, [out];\nld.param.u32 %n, [n];\nmov.u32 %t, %tid.x;\nmad.lo.u32 %acc, %t, 77, "
        "5;\n{}"
        "DONE:\nmul.wide.u32 %rd0, %t, 4;\nadd.u64 %rd0, %rd0, %out;\nst.global.u32 [%rd0], "
        "%acc;\nret;\n}}\n",
        module, head, r_ + 1, rd_ + 1, p_ + 1, body_);
  }

 private:
  struct Array {
    std::string name;
    std::uint32_t rows = 1;  ///< of one word a thread; 0: four words in all
    std::uint32_t align = 4;
    bool module_scope = false;
    std::uint32_t stored = 0;               ///< rows known to be written, as bits
    std::set<std::uint32_t> loads, stores;  ///< since the last barrier: index and its parameter
  };

  std::uint32_t pick(std::uint32_t below) { return static_cast<std::uint32_t>(random_() % below); }
  bool chance(std::uint32_t percent) { return pick(100) < percent; }
  template <class... T>
  void emit(fmt::format_string<T...> format, T&&... arguments) {
    body_ += fmt::format(format, std::forward<T>(arguments)...);
    body_ += '\n';
  }
  std::string r() { return fmt::format("%r{}", ++r_); }
  std::string rd() { return fmt::format("%rd{}", ++rd_); }
  std::string p() { return fmt::format("%p{}", ++p_); }
  std::string label() { return fmt::format("L{}", ++labels_); }

  void barrier() {
    if (divergent_) return;
    emit("{} 0;", chance(90) ? "bar.sync" : "barrier.sync");
    for (Array& a : arrays_) a.loads.clear(), a.stores.clear();
  }

  /// A register with the word that this thread accesses.
  std::string word(Index index, std::uint32_t parameter) {
    const std::string w = r();
    switch (index) {
      case swapped:
        emit("xor.b32 {}, %t, {};", w, parameter);
        break;
      case shifted:
        emit("add.u32 {}, %t, {};\nand.b32 {}, {}, {};", w, parameter, w, w, threads_ - 1);
        break;
      case mirrored:
        emit("sub.u32 {}, {}, %t;", w, threads_ - 1);
        break;
      case rotating:
        emit("add.u32 {}, %t, {};\nand.b32 {}, {}, {};", w, counter_, w, w, threads_ - 1);
        break;
      default:
        emit("mov.u32 {}, %t;", w);
    }
    return w;
  }

  struct Address {
    std::string operand, space;
  };
  /// The same address in one of the ways that compilers form it.
  Address address(const Array& a, Index index, std::uint32_t parameter, std::uint32_t row) {
    const std::uint32_t offset = 4 * threads_ * row;
    if (index == first) return {fmt::format("[{}+{}]", a.name, 4 * parameter), ".shared"};
    const std::string w = word(index, parameter);
    switch (pick(5)) {
      case 0: {
        const std::string base = r(), to = chance(50) ? fmt::format("%a{}", pick(3)) : r();
        emit("mov.u32 {}, {};\nmad.lo.u32 {}, {}, 4, {};", base, a.name, to, w, base);
        return {fmt::format("[{}+{}]", to, offset), ".shared"};
      }
      case 1: {
        const std::string base = r(), to = r();
        emit("shl.b32 {}, {}, 2;\nmov.u32 {}, {};\nadd.u32 {}, {}, {};", w, w, base, a.name, to, base, w);
        if (offset != 0) emit("add.u32 {}, {}, {};", to, to, offset);
        return {fmt::format("[{}]", to), ".shared"};
      }
      case 2: {
        const std::string base = rd(), wide = rd(), to = rd();
        emit("mov.u64 {}, {};\ncvta.shared.u64 {}, {};\nmul.wide.u32 {}, {}, 4;\nadd.u64 {}, {}, {};", base,
             a.name, base, base, wide, w, to, base, wide);
        return {fmt::format("[{}+{}]", to, offset), ""};
      }
      case 3: {
        const std::string base = rd(), wide = rd(), to = rd();
        emit("mul.wide.u32 {}, {}, 4;\nmov.u64 {}, {};\nadd.u64 {}, {}, {};", wide, w, base, a.name, to, base,
             wide);
        return {fmt::format("[{}+{}]", to, offset), ".shared"};
      }
      default: {
        const std::string base = r(), to = r();
        emit("mov.u32 {}, {}+8;\nmad.lo.u32 {}, {}, 4, {};", base, a.name, to, w, base);
        return {fmt::format("[{}+{}]", to, static_cast<std::int64_t>(offset) - 8), ".shared"};
      }
    }
  }

  /// Adds the barrier that an access needs; false when it is better left out.
  bool ready(Array& a, bool store, std::uint32_t key) {
    const auto differs = [&](const std::set<std::uint32_t>& keys) {
      return keys.size() > 1 || (keys.size() == 1 && *keys.begin() != key);
    };
    if (differs(a.stores) || (store && differs(a.loads))) {
      if (divergent_) return false;
      if (chance(98)) barrier();
    }
    (store ? a.stores : a.loads).insert(key);
    return true;
  }

  struct Choice {
    Index index;
    std::uint32_t parameter, row, key;
  };
  Choice choose(const Array& a) {
    Choice c{first, pick(4), 0, 0};
    if (a.rows != 0) {
      c.index = static_cast<Index>(pick(counter_.empty() || chance(70) ? rotating : index_kinds));
      if (chance(30)) c.index = own;
      c.parameter = c.index == swapped || c.index == shifted ? 1 + pick(threads_ - 1) : 0;
      c.row = pick(a.rows);
    }
    c.key =
        c.index == rotating ? 1'000'000 + pick(1000) : c.index * 10'000 + c.parameter * 10 + c.row * 100'000;
    return c;
  }

  /// No sum of equal values cancels out.
  void mix(const std::string& value) {
    const std::string high = r();
    emit(
        "xor.b32 %acc, %acc, {};\nshr.u32 {}, %acc, 15;\nxor.b32 %acc, %acc, {};\nmad.lo.u32 %acc, %acc, "
        "739982445, 1;",
        value, high, high);
  }

  Array& any_array() { return arrays_[pick(static_cast<std::uint32_t>(arrays_.size()))]; }

  /// One row is filled and then read by others: in a loop, often an array private to the iteration.
  void phase() {
    Array& a = any_array();
    if (a.rows == 0 || divergent_ || !ready(a, true, 0)) return;
    const Address to = address(a, own, 0, 0);
    emit("st{}.u32 {}, %acc;", to.space, to.operand);
    a.stored |= 1;
    if (chance(30)) leave();
    barrier();
    load(a);
  }

  void store() {
    Array& a = any_array();
    const Choice c = choose(a);
    if (a.rows == 0) {  // one thread stores
      if (divergent_ || !ready(a, true, c.key + 500'000)) return;
      const std::string one = p();
      emit("setp.eq.u32 {}, %t, {};", one, pick(2));
      if (chance(50)) {
        emit("@{} st.shared.u32 [{}+{}], %acc;", one, a.name, 4 * c.parameter);
      } else {
        const std::string over = label();
        emit("@!{} bra {};\nst.shared.u32 [{}+{}], %acc;\n{}:", one, over, a.name, 4 * c.parameter, over);
      }
      a.stored |= 1u << c.parameter;
      return;
    }
    if (!ready(a, true, c.key)) return;
    const std::string value = r();
    emit("mad.lo.u32 {}, %acc, {}, {};", value, 2 * pick(1000) + 1, pick(1000));
    const Address at = address(a, c.index, c.parameter, c.row);
    if (chance(15)) {
      const std::string some = p();
      emit("setp.{}.u32 {}, %t, {};\n@{} st{}.u32 {}, {};", chance(50) ? "lt" : "ge", some, pick(threads_),
           some, at.space, at.operand, value);
    } else {
      emit("st{}.u32 {}, {};", at.space, at.operand, value);
      if (!divergent_) a.stored |= 1u << c.row;
    }
  }

  void load(Array& a) {
    Choice c = choose(a);
    if (a.rows != 0 && chance(12)) c = {first, pick(4), 0, 2'000'000};
    const bool known = (a.stored >> (a.rows == 0 ? c.parameter : c.row) & 1) != 0;
    // Carried from the iteration before: not in the first.
    const bool carried = !known && !counter_.empty() && chance(25);
    if ((!known && !carried && !chance(1)) || !ready(a, false, c.key)) return;
    const Address at = address(a, c.index, c.parameter, c.row);
    const std::string value = r();
    if (!carried) {
      emit("ld{}.u32 {}, {};", at.space, value, at.operand);
    } else {
      const std::string later = p();
      emit("setp.ne.u32 {}, {}, 0;\nmov.u32 {}, 9;", later, counter_, value);
      if (c.index == first) {  // as compilers do: load early, select later
        emit("ld.shared.u32 {}, {};\nselp.b32 {}, {}, 7, {};", value, at.operand, value, value, later);
      } else if (chance(50)) {
        emit("@{} ld{}.u32 {}, {};", later, at.space, value, at.operand);
      } else {
        const std::string over = label();
        emit("@!{} bra {};\nld{}.u32 {}, {};\n{}:", later, over, at.space, value, at.operand, over);
      }
    }
    mix(value);
  }

  /// A pointer to one of two arrays.
  void through_pointer() {
    Array& a = any_array();
    Array& b = any_array();
    if (a.rows == 0 || b.rows == 0 || &a == &b) return;
    const bool store = chance(50);
    if (!store && (a.stored & b.stored & 1) == 0) return;
    if (!ready(a, store, 0) || !ready(b, store, 0)) return;
    const std::string left = r(), right = r(), to = r(), bit = r(), which = p();
    emit("mov.u32 {}, {};\nmov.u32 {}, {};\nand.b32 {}, %n, {};\nsetp.eq.u32 {}, {}, 0;", left, a.name, right,
         b.name, bit, 1u << pick(3), which, bit);
    emit("selp.b32 {}, {}, {}, {};\nmad.lo.u32 {}, %t, 4, {};", to, left, right, which, to, to);
    if (store) return emit("st.shared.u32 [{}], %acc;", to);
    emit("ld.shared.u32 {}, [{}];", to, to);
    mix(to);
  }

  /// Zeroed, then added to by all threads.
  void reduction() {
    Array& a = any_array();
    if (a.rows == 0 || divergent_ || !ready(a, true, 0)) return;
    emit("mad.lo.u32 %a0, %t, 4, 0;\nmov.u32 %a1, {};\nadd.u32 %a0, %a0, %a1;\nst.shared.u32 [%a0], 0;",
         a.name);
    barrier();
    const std::string w = r();
    emit("and.b32 {}, %acc, {};\nmad.lo.u32 {}, {}, 4, %a1;\nred.shared.add.u32 [{}], %acc;", w,
         threads_ / 2 - 1, w, w, w);
    barrier();
    a.stored |= 1;
  }

  /// Something decides: all threads alike (`n`, a counter), or by thread, or by what is in shared memory.
  std::string condition(bool by_thread) {
    const std::string c = p(), x = r();
    if (by_thread)
      emit("setp.{}.u32 {}, %t, {};", chance(50) ? "lt" : "ge", c, pick(threads_ + 1));
    else if (!counter_.empty() && chance(40))
      emit("setp.{}.u32 {}, {}, {};", chance(50) ? "eq" : "ne", c, counter_, pick(3));
    else
      emit("and.b32 {}, %n, {};\nsetp.ne.u32 {}, {}, 0;", x, 1u << pick(3), c, x);
    return c;
  }

  void branch(int depth) {
    const bool by_thread = divergent_ || chance(25);
    const bool was_divergent = divergent_;
    const std::string c = condition(by_thread), other = label(), join = label();
    const std::vector<Array> before = arrays_;
    emit("@{}{} bra {};", chance(50) ? "" : "!", c, other);
    divergent_ = by_thread;
    sequence(depth + 1, 1 + pick(3));
    const bool has_else = chance(50);
    if (has_else) emit("bra.uni {};", join);
    emit("{}:", other);
    const std::vector<Array> then = arrays_;
    for (std::size_t a = 0; a < arrays_.size(); ++a) {  // a barrier may have stood in one arm only
      arrays_[a].stored = before[a].stored;
      arrays_[a].loads = before[a].loads, arrays_[a].stores = before[a].stores;
    }
    if (has_else) {
      sequence(depth + 1, 1 + pick(3));
      emit("{}:", join);
    }
    for (std::size_t a = 0; a < arrays_.size(); ++a) {
      arrays_[a].stored =
          chance(90) ? arrays_[a].stored & then[a].stored : arrays_[a].stored | then[a].stored;
      arrays_[a].loads.insert(then[a].loads.begin(), then[a].loads.end());
      arrays_[a].stores.insert(then[a].stores.begin(), then[a].stores.end());
    }
    divergent_ = was_divergent;
  }

  void loop(int depth) {
    const std::string outer_counter = counter_, outer_break = break_;
    const std::string head = label(), end = label(), trips = r(), i = r(), p_end = p();
    const bool was_divergent = divergent_;
    divergent_ = divergent_ || chance(10);
    if (divergent_)
      emit("and.b32 {}, %t, 3;", trips);
    else if (chance(50))
      emit("mov.u32 {}, {};", trips, 1 + pick(3));
    else
      emit("and.b32 {}, %n, 3;", trips);
    const bool as_while = chance(50);
    emit("mov.u32 {}, 0;\n{}:", i, head);
    if (as_while) emit("setp.ge.u32 {}, {}, {};\n@{} bra {};", p_end, i, trips, p_end, end);
    counter_ = i;
    break_ = end;
    const std::vector<Array> before = arrays_;
    if (!divergent_ && chance(60)) barrier();
    sequence(depth + 1, 2 + pick(4));
    if (!divergent_ && chance(85)) barrier();
    emit("add.u32 {}, {}, 1;", i, i);
    if (as_while)
      emit("bra.uni {};\n{}:", head, end);
    else
      emit("setp.lt.u32 {}, {}, {};\n@{} bra {};\n{}:", p_end, i, trips, p_end, head, end);
    for (std::size_t a = 0; a < arrays_.size(); ++a)
      if (as_while && chance(80)) arrays_[a].stored &= before[a].stored;
    divergent_ = was_divergent;
    counter_ = outer_counter;
    break_ = outer_break;
  }

  /// Threads leave: the kernel or the loop, all or some, on a value that all or none share.
  void leave() {
    const std::string to = break_.empty() || chance(40) ? "DONE" : break_;
    Array& a = any_array();
    if (!divergent_ && to != "DONE" && a.stored & 1 && chance(50) && ready(a, false, 77)) {
      const std::string value = r(), c = p();
      emit("ld.shared.u32 {}, [{}];\nand.b32 {}, {}, 3;\nsetp.eq.u32 {}, {}, {};\n@{} bra {};", value, a.name,
           value, value, c, value, pick(4), c, to);
      return;
    }
    if (to == "DONE" && chance(60)) {
      if (chance(40)) return emit("@{} bra DONE;", condition(true));
      const std::string over = label(), some = condition(true), all = condition(false);
      emit("@{} bra {};\n@{} bra DONE;\n{}:", some, over, all, over);  // alike in all that come there
      return;
    }
    emit("@{} bra {};", condition(false), to);
  }

  void sequence(int depth, std::uint32_t count) {
    for (std::uint32_t s = 0; s < count; ++s) {
      const std::uint32_t what = pick(100);
      if (what < 26)
        store();
      else if (what < 50)
        load(any_array());
      else if (what < 64)
        phase();
      else if (what < 67)
        barrier();
      else if (what < 71)
        through_pointer();
      else if (what < 74)
        reduction();
      else if (what < 79 && depth > 0)
        leave();
      else if (what < 88 && depth < 3)
        branch(depth);
      else if (depth < 3)
        loop(depth);
    }
  }

  std::mt19937_64 random_;
  std::uint32_t threads_;
  std::vector<Array> arrays_;
  std::string body_, counter_, break_;
  bool divergent_ = false;
  std::uint32_t r_ = 0, rd_ = 0, p_ = 0, labels_ = 0;
};

}  // namespace

std::string random_kernel(std::uint64_t seed, std::uint32_t threads) {
  return Generator(seed, threads).text();
}

}  // namespace warploom::oracle
