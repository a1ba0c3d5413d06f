#include "random_nest.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>

namespace warploom::tile::test {
namespace {

constexpr const char* iterators = "ijk";

int value_of(const Linear& form, const std::array<int, 3>& iteration, int n) {
  int value = form.size * n + form.constant;
  for (int l = 0; l < 3; ++l) value += form.loops[l] * iteration[l];
  return value;
}

std::string text_of(const Linear& form) {
  std::string text;
  const auto add = [&](int factor, std::string name) {
    if (factor == 0) return;
    const std::string sign = factor < 0 ? (text.empty() ? "-" : " - ") : (text.empty() ? "" : " + ");
    text += sign + (std::abs(factor) == 1 ? name : fmt::format("{} * {}", std::abs(factor), name));
  };
  for (int l = 0; l < 3; ++l) add(form.loops[l], std::string(1, iterators[l]));
  add(form.size, "n");
  if (form.constant != 0 || text.empty())
    text += fmt::format("{}{}",
                        text.empty() ? (form.constant < 0 ? "-" : "") : (form.constant < 0 ? " - " : " + "),
                        std::abs(form.constant));
  return text;
}

class Maker {
 public:
  explicit Maker(std::mt19937& random) : random_(random) {}

  RandomNest make() {
    nest_.n = pick(2, 6);
    nest_.arrays = {{"A", {0, 0}}, {"B", {0}}, {"s", {}}};
    depth_limit_ = pick(1, 3);
    statements_left_ = pick(1, 3);
    while (statements_left_ > 0) nest_.body.push_back(loop(0));
    shift_into_arrays();
    return std::move(nest_);
  }

 private:
  int pick(int least, int most) { return std::uniform_int_distribution<int>(least, most)(random_); }
  bool chance(int percent) { return pick(1, 100) <= percent; }

  Item loop(int depth) {
    Item item;
    item.is_loop = true;
    item.number = nest_.loops++;
    item.depth = depth;
    Linear low, high;  // from low to below high
    low.constant = pick(0, 2) ? 0 : pick(1, 2);
    high.size = 1;
    high.constant = pick(0, 2) ? 0 : pick(-1, 1);
    if (depth > 0 && chance(25)) {
      low.loops[pick(0, depth - 1)] = 1;
    } else if (depth > 0 && chance(20)) {
      high = Linear{};
      high.loops[pick(0, depth - 1)] = 1;
      high.constant = pick(0, 2);
    }
    item.step = chance(70) ? 1 : pick(2, 3);
    item.first = low;
    item.limit = high;
    if (chance(15)) {  // from high - 1 down to low
      item.first = high;
      --item.first.constant;
      item.limit = low;
      --item.limit.constant;
      item.step = -item.step;
    }
    if (depth + 1 < depth_limit_) {
      const bool before = statements_left_ > 1 && chance(20);
      if (before) item.children.push_back(statement(depth));
      item.children.push_back(loop(depth + 1));
      while (statements_left_ > 0 && chance(30))
        item.children.push_back(chance(50) ? statement(depth) : loop(depth + 1));
    } else {
      do item.children.push_back(statement(depth));
      while (statements_left_ > 0 && chance(60));
    }
    return item;
  }

  Item statement(int depth) {
    --statements_left_;
    Item item;
    item.number = nest_.statements++;
    item.depth = depth;
    item.target = access(depth);
    for (int reads = pick(0, 2); reads > 0; --reads) item.reads.push_back(access(depth));
    if (!item.reads.empty() && chance(30)) item.reads[0] = near(item.target);
    item.accumulates = chance(25);
    if (chance(10)) {
      item.guard = subscript(depth);
      item.guard->size = pick(-1, 1);
      item.guard->constant = pick(-1, 2);
    }
    return item;
  }

  Linear subscript(int depth) {
    Linear form;
    form.constant = pick(-1, 1);
    if (chance(8)) return form;
    const int l = pick(0, depth);
    form.loops[l] = chance(85) ? 1 : chance(50) ? 2 : -1;
    if (depth > 0 && chance(15)) form.loops[pick(0, depth)] += chance(50) ? 1 : -1;
    return form;
  }

  Access access(int depth) {
    Access result;
    result.array = chance(60) ? 0 : chance(80) ? 1 : 2;
    for (std::size_t d = 0; d < nest_.arrays[result.array].extents.size(); ++d)
      result.subscripts.push_back(subscript(depth));
    if (result.array == 0 && depth > 0 && chance(50)) {  // what programs do: A[i + c][j + d]
      result.subscripts[0].loops = {1, 0, 0};
      result.subscripts[1].loops = {0, 1, 0};
    }
    return result;
  }

  Access near(Access other) {
    for (Linear& form : other.subscripts) form.constant += pick(-2, 2);
    return other;
  }

  /// Constants and extents such that no access leaves its array.
  void shift_into_arrays() {
    std::vector<std::vector<std::pair<int, int>>> ranges;
    for (const Array& array : nest_.arrays)
      ranges.emplace_back(array.extents.size(), std::pair(1 << 20, -(1 << 20)));
    std::vector<Access*> accesses;
    const std::function<void(std::vector<Item>&)> collect = [&](std::vector<Item>& items) {
      for (Item& item : items) {
        if (item.is_loop) {
          collect(item.children);
          continue;
        }
        accesses.push_back(&item.target);
        for (Access& read : item.reads) accesses.push_back(&read);
      }
    };
    collect(nest_.body);
    for (Array& array : nest_.arrays) std::fill(array.extents.begin(), array.extents.end(), 1);
    for (const Instance& instance : source_order(nest_)) {
      const auto widen = [&](const Access& access) {
        for (std::size_t d = 0; d < access.subscripts.size(); ++d) {
          const int value = value_of(access.subscripts[d], instance.iteration, nest_.n);
          auto& [least, most] = ranges[access.array][d];
          least = std::min(least, value);
          most = std::max(most, value);
        }
      };
      widen(instance.statement->target);
      for (const Access& read : instance.statement->reads) widen(read);
    }
    for (Access* access : accesses)
      for (std::size_t d = 0; d < access->subscripts.size(); ++d)
        if (ranges[access->array][d].first <= ranges[access->array][d].second)
          access->subscripts[d].constant -= ranges[access->array][d].first;
    for (std::size_t a = 0; a < nest_.arrays.size(); ++a)
      for (std::size_t d = 0; d < ranges[a].size(); ++d)
        nest_.arrays[a].extents[d] = std::max(1, ranges[a][d].second - ranges[a][d].first + 1);
  }

  std::mt19937& random_;
  RandomNest nest_;
  int depth_limit_ = 1, statements_left_ = 1;
};

std::string text_of(const RandomNest& nest, const Access& access) {
  std::string text = nest.arrays[access.array].name;
  for (const Linear& subscript : access.subscripts) text += "[" + text_of(subscript) + "]";
  return text;
}

void print(const RandomNest& nest, const Item& item, int level, std::string& out) {
  const std::string margin(static_cast<std::size_t>(2 * level), ' ');
  if (item.is_loop) {
    out += fmt::format("{0}for (int {1} = {2}; {1} {3} {4}; {1} {5}= {6}) {{\n", margin,
                       iterators[item.depth], text_of(item.first), item.step > 0 ? '<' : '>',
                       text_of(item.limit), item.step > 0 ? '+' : '-', std::abs(item.step));
    for (const Item& child : item.children) print(nest, child, level + 1, out);
    out += margin + "}\n";
    return;
  }
  std::string value = std::to_string(item.number + 1);
  for (std::size_t r = 0; r < item.reads.size(); ++r)
    value += fmt::format(" + {} * {}", 3 + 2 * r, text_of(nest, item.reads[r]));
  for (int l = 0; l <= item.depth; ++l) value += fmt::format(" + {} * {}", 7 + l, iterators[l]);
  if (item.guard) out += fmt::format("{}if ({} >= 0)\n  ", margin, text_of(*item.guard));
  out += fmt::format("{}{} {} ({}) % {};\n", margin, text_of(nest, item.target),
                     item.accumulates ? "+=" : "=", value, item.accumulates ? 7 : 1009);
}

using Visit = std::function<void(const Item&, const std::array<int, 3>&)>;

using Handled = std::function<bool(const Item&, const std::array<int, 3>&)>;

void enumerate(const RandomNest& nest, const std::vector<Item>& items, const std::array<int, 3>& iteration,
               const Visit& visit, const Handled& handled);

void enumerate_loop(const RandomNest& nest, const Item& loop, std::array<int, 3> iteration,
                    const Visit& visit, const Handled& handled) {
  const int limit = value_of(loop.limit, iteration, nest.n);
  for (int v = value_of(loop.first, iteration, nest.n); loop.step > 0 ? v < limit : v > limit;
       v += loop.step) {
    iteration[loop.depth] = v;
    enumerate(nest, loop.children, iteration, visit, handled);
  }
}

/// Visits the runs of statements in the order of the text, but of loops that `handled` takes over.
void enumerate(const RandomNest& nest, const std::vector<Item>& items, const std::array<int, 3>& iteration,
               const Visit& visit, const Handled& handled) {
  for (const Item& item : items) {
    if (!item.is_loop) {
      if (!item.guard || value_of(*item.guard, iteration, nest.n) >= 0) visit(item, iteration);
    } else if (!handled || !handled(item, iteration)) {
      enumerate_loop(nest, item, iteration, visit, handled);
    }
  }
}

Instance instance_of(const RandomNest& nest, const Item& statement, const std::array<int, 3>& iteration) {
  Instance instance{&statement, iteration, {}};
  const auto touch = [&](const Access& access, bool writes) {
    int element = 0;
    for (std::size_t d = 0; d < access.subscripts.size(); ++d)
      element =
          element * nest.arrays[access.array].extents[d] + value_of(access.subscripts[d], iteration, nest.n);
    instance.touches.push_back({access.array, element, writes});
  };
  for (const Access& read : statement.reads) touch(read, false);
  touch(statement.target, true);
  return instance;
}

/// One component of the time of an iteration.
struct Component {
  int depth = -1;  ///< which loop; -1: a strip
  std::array<int, 3> factors{};
  int strip = 0, lower = 0;  ///< floor((value - lower) / strip), if strip > 0
  bool text = false;         ///< the place of the statement in the text

  int at(const Instance& instance) const {
    if (text) return instance.statement->number;
    const std::array<int, 3>& iteration = instance.iteration;
    int value = -lower;
    for (int l = 0; l < 3; ++l) value += factors[l] * iteration[l];
    if (strip == 0) return value;
    return value >= 0 ? value / strip : -((-value + strip - 1) / strip);
  }
};

int depth_of(const std::string& loop) { return static_cast<int>(std::string(iterators).find(loop)); }

std::vector<std::string> loops_of(const Step& step) {
  if (const auto* permute = std::get_if<Permute>(&step)) return permute->order;
  if (const auto* strip = std::get_if<StripMine>(&step)) return {strip->loop};
  if (const auto* skew = std::get_if<Skew>(&step)) return {skew->loop, skew->by};
  std::vector<std::string> loops;
  if (const auto* jam = std::get_if<Jam>(&step)) {
    for (const auto& [loop, size] : jam->sizes) loops.push_back(loop);
    return loops;
  }
  for (const auto& [loop, size] : std::get<Tile>(step).sizes) loops.push_back(loop);
  return loops;
}

/// Where strips begin: the lower bound of an increasing loop if it is a number.
int strip_origin(const std::vector<Item>& items, int depth) {
  for (const Item& item : items) {
    if (!item.is_loop) continue;
    const bool number = item.first.loops == std::array<int, 3>{} && item.first.size == 0;
    if (item.depth == depth && item.step > 0 && number && item.first.constant != 0)
      return item.first.constant;
    if (const int inside = strip_origin(item.children, depth)) return inside;
  }
  return 0;
}

void apply(const RandomNest& nest, const Step& step, std::vector<Component>& time) {
  const auto place = [&](const std::string& loop) {
    return std::find_if(time.begin(), time.end(),
                        [&](const Component& c) { return c.depth == depth_of(loop); });
  };
  const std::vector<std::string> loops = loops_of(step);
  if (const auto* permute = std::get_if<Permute>(&step)) {
    std::vector<std::ptrdiff_t> slots;
    std::vector<Component> chosen;
    for (const std::string& loop : permute->order) {
      slots.push_back(place(loop) - time.begin());
      chosen.push_back(*place(loop));
    }
    std::sort(slots.begin(), slots.end());
    for (std::size_t k = 0; k < slots.size(); ++k) time[slots[k]] = chosen[k];
  } else if (const auto* jam = std::get_if<Jam>(&step)) {
    // Strips in the loops' places; within them statement after statement, and the points innermost.
    Component text;
    text.text = true;
    text.depth = -1;
    std::vector<Component> points;
    for (const auto& [loop, size] : jam->sizes) {
      points.push_back(*place(loop));
      place(loop)->strip = static_cast<int>(size);
      place(loop)->lower = strip_origin(nest.body, depth_of(loop));
      place(loop)->depth = -1;
    }
    time.push_back(text);
    time.insert(time.end(), points.begin(), points.end());
  } else if (const auto* skew = std::get_if<Skew>(&step)) {
    for (int l = 0; l < 3; ++l)
      place(skew->loop)->factors[l] += static_cast<int>(skew->factor) * place(skew->by)->factors[l];
  } else {
    const auto sizes =
        std::holds_alternative<Tile>(step)
            ? std::get<Tile>(step).sizes
            : decltype(Tile::sizes){{std::get<StripMine>(step).loop, std::get<StripMine>(step).size}};
    auto outermost = time.end();
    std::vector<Component> strips;
    for (const auto& [loop, size] : sizes) {
      outermost = std::min(outermost, place(loop));
      Component strip = *place(loop);
      strip.depth = -1;
      strip.strip = static_cast<int>(size);
      strip.lower = strip_origin(nest.body, depth_of(loop));
      strips.push_back(strip);
    }
    time.insert(outermost, strips.begin(), strips.end());
  }
}

/// For each statement within: the loop at `depth` around it, or -1.
void innermost_loops(const Item& loop, int depth, int around, std::map<int, int>& chains) {
  if (loop.depth == depth && loop.is_loop) around = loop.number;
  for (const Item& child : loop.children) {
    if (child.is_loop) {
      innermost_loops(child, depth, around, chains);
    } else {
      chains[child.number] = around;
    }
  }
}

/// The initial time: the loops from `outer` to `inner`, as they run.
std::vector<Component> initial_time(const Item& loop, int inner, int chain) {
  Component component;
  component.depth = loop.depth;
  component.factors[loop.depth] = loop.step > 0 ? 1 : -1;
  std::vector<Component> time = {component};
  if (loop.depth == inner) return time;
  for (const Item& child : loop.children) {
    std::map<int, int> chains;
    if (!child.is_loop) continue;
    innermost_loops(child, inner, -1, chains);
    if (std::none_of(chains.begin(), chains.end(), [&](const auto& entry) { return entry.second == chain; }))
      continue;
    const std::vector<Component> inside = initial_time(child, inner, chain);
    time.insert(time.end(), inside.begin(), inside.end());
  }
  return time;
}

}  // namespace

RandomNest random_nest(std::mt19937& random) { return Maker(random).make(); }

std::string RandomNest::text() const {
  std::string out = fmt::format("void nest(int n, int A[{}][{}], int B[{}], int s) {{\n",
                                arrays[0].extents[0], arrays[0].extents[1], arrays[1].extents[0]);
  for (const Item& item : body) print(*this, item, 1, out);
  return out + "}\n";
}

std::vector<Instance> source_order(const RandomNest& nest) {
  std::vector<Instance> order;
  enumerate(nest, nest.body, {},
            [&](const Item& s, const auto& iteration) { order.push_back(instance_of(nest, s, iteration)); },
            {});
  return order;
}

static int deepest(const std::vector<Item>& items) {
  int depth = 0;
  for (const Item& item : items) depth = std::max({depth, item.depth, deepest(item.children)});
  return depth;
}

std::vector<Instance> transformed_order(const RandomNest& nest, const std::vector<Step>& steps) {
  int outer = 2, inner = 0;
  for (const Step& step : steps)
    for (const std::string& loop : loops_of(step)) {
      outer = std::min(outer, depth_of(loop));
      inner = std::max(inner, depth_of(loop));
    }
  if (std::any_of(steps.begin(), steps.end(), [](const Step& s) { return std::holds_alternative<Jam>(s); }))
    inner = deepest(nest.body);  // points run within all loops
  std::vector<Instance> order;
  const auto record = [&](const Item& s, const auto& iteration) {
    order.push_back(instance_of(nest, s, iteration));
  };
  // The outermost loop named: statements that stand in all of the loops get loops of their own, and new
  // times.
  enumerate(nest, nest.body, {}, record, [&](const Item& loop, const std::array<int, 3>& iteration) {
    if (loop.depth != outer) return false;
    std::map<int, int> chains;
    innermost_loops(loop, inner, -1, chains);
    std::vector<std::pair<int, std::vector<int>>> groups;  // neighbours of one chain
    for (const auto& [statement, chain] : chains) {
      if (groups.empty() || groups.back().first != chain) groups.push_back({chain, {}});
      groups.back().second.push_back(statement);
    }
    std::vector<Instance> all;
    enumerate_loop(nest, loop, iteration,
                   [&](const Item& s, const auto& at) { all.push_back(instance_of(nest, s, at)); }, {});
    for (const auto& [chain, statements] : groups) {
      std::vector<Instance> mine;
      for (const Instance& instance : all)
        if (std::count(statements.begin(), statements.end(), instance.statement->number))
          mine.push_back(instance);
      if (chain >= 0) {
        std::vector<Component> time = initial_time(loop, inner, chain);
        for (const Step& step : steps) apply(nest, step, time);
        std::stable_sort(mine.begin(), mine.end(), [&](const Instance& a, const Instance& b) {
          for (const Component& component : time) {
            const int x = component.at(a), y = component.at(b);
            if (x != y) return x < y;
          }
          return false;
        });
      }
      order.insert(order.end(), mine.begin(), mine.end());
    }
    return true;
  });
  return order;
}

bool keeps_dependences(const std::vector<Instance>& before, const std::vector<Instance>& after) {
  using Key = std::pair<int, std::array<int, 3>>;
  std::map<Key, int> place;
  for (std::size_t t = 0; t < after.size(); ++t)
    place[{after[t].statement->number, after[t].iteration}] = static_cast<int>(t);
  struct Use {
    int before, after;
    bool writes;
  };
  std::map<std::pair<int, int>, std::vector<Use>> uses;
  for (std::size_t t = 0; t < before.size(); ++t)
    for (const Touch& touch : before[t].touches)
      uses[{touch.array, touch.element}].push_back(
          {static_cast<int>(t), place.at({before[t].statement->number, before[t].iteration}), touch.writes});
  for (const auto& [element, list] : uses)
    for (std::size_t a = 0; a < list.size(); ++a)
      for (std::size_t b = a + 1; b < list.size(); ++b)
        if (list[a].before != list[b].before && (list[a].writes || list[b].writes) &&
            list[a].after > list[b].after)
          return false;
  return true;
}

std::vector<std::vector<int>> run(const std::vector<Instance>& order, std::vector<std::vector<int>> arrays) {
  for (const Instance& instance : order) {
    const Item& statement = *instance.statement;
    int value = statement.number + 1;
    for (std::size_t r = 0; r < statement.reads.size(); ++r)
      value += static_cast<int>(3 + 2 * r) * arrays[instance.touches[r].array][instance.touches[r].element];
    for (int l = 0; l <= statement.depth; ++l) value += (7 + l) * instance.iteration[l];
    int& target = arrays[instance.touches.back().array][instance.touches.back().element];
    target = statement.accumulates ? target + value % 7 : value % 1009;
  }
  return arrays;
}

}  // namespace warploom::tile::test
