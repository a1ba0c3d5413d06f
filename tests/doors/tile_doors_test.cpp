#include <cmath>

#include "doors/doors.hpp"
#include "warploom/tile/clang.hpp"
#include "warploom/tile/explain.hpp"
#include "warploom/tile/index_range.hpp"
#include "warploom/tile/interpret.hpp"
#include "warploom/tile/rounding.hpp"
#include "warploom/tile/verify.hpp"

namespace warploom::doors {
namespace {

using namespace tile;

const std::string kProduct = R"(
void product(int n, float A[n][n], float B[n][n], float C[n][n]) {
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++)
      for (int k = 0; k < n; k++)
        C[i][j] += A[i][k] * B[k][j];
}
)";

Region product() { return read_source(kProduct, "p.c", {}).at(0); }
Nest nest_of_product() { return Nest::analyse(product(), {{"n", 8, 8}}); }

/// Trees that no reader makes.
std::vector<Expression> broken_expressions() {
  std::vector<Expression> all(6);
  all[0].kind = Expression::Kind::binary, all[0].text = "+";
  all[1].kind = Expression::Kind::unary, all[1].text = "-";
  all[2].kind = Expression::Kind::conditional;
  all[3].kind = no_enumerator<Expression::Kind>();
  all[4].kind = Expression::Kind::cast, all[4].operands.resize(2);
  all[5] = Expression::binary("+", all[0], Expression::integer(1));
  return all;
}
std::vector<Node> broken_nodes() {
  std::vector<Node> all(6);
  all[0].kind = Node::Kind::branch;
  all[1].kind = Node::Kind::loop;
  all[2].kind = Node::Kind::loop, all[2].comparison = "<", all[2].step = 0;
  all[3].kind = no_enumerator<Node::Kind>();
  all[4].kind = Node::Kind::assignment, all[4].value = broken_expressions()[0];
  all[5].children = {all[0]};
  return all;
}

DOOR(Expressions, "tile::Expression::binary", "tile::Expression::call", "tile::Expression::conditional",
     "tile::Expression::element", "tile::Expression::integer", "tile::Expression::name",
     "tile::Expression::operator==", "tile::Expression::unary", "tile::to_text(const Expression &)",
     "tile::value_of", "tile::substitute") {
  for (const Expression& expression : broken_expressions()) {
    refused([&] { return to_text(expression); });
    refused([&] { return value_of(expression, {}); });
    survives([&] { return substitute(expression, {{"", Expression::integer(1)}}).value; });
    EXPECT_EQ(expression, expression);
  }
  const Expression most = Expression::integer(kMost), least = Expression::integer(kLeast),
                   minus = Expression::integer(-1);
  for (const char* op : {"+", "*", "/", "%", "-", "<", "&&", "?", ""})
    for (const Expression& left : {most, least, minus})
      for (const Expression& right : {most, least, minus, Expression::integer(0)})
        survives([&] { return value_of(Expression::binary(op, left, right), {}); });
  refused([&] { return value_of(Expression::binary("+", most, most), {}); });
  refused([&] { return value_of(Expression::binary("/", least, minus), {}); });
  refused([&] { return value_of(Expression::call("floord", {least, minus}), {}); });
  refused([&] { return value_of(Expression::call("floord", {least}), {}); });
  refused([&] { return value_of(Expression::call("min", {}), {}); });
  refused([&] { return value_of(Expression::unary("-", least), {}); });
  refused([&] { return value_of(Expression::name("n"), {}); });
  EXPECT_EQ(value_of(Expression::binary("%", least, minus), {}), 0);
  survives([&] { return to_text(Expression::element("", {})); });
  survives([&] { return to_text(Expression::conditional(most, least, minus)); });
}

DOOR(Texts, "tile::read_source", "tile::to_text(const std::string &, const Refusal &)", "tile::find_variable",
     "tile::c_name", "tile::size_of",
     "tile::to_text(const Node &, int, std::string (*)(const Node &), std::string_view, const Region *)",
     "tile::counts_with_long") {
  for (const std::string& text : odd_texts()) {
    survives([&] { return read_source(text, text, {}).size(); });
    survives([&] { return read_source(kProduct + text, "", {}).size(); });
    survives([&] { return read_source(kProduct, text, {.macros = {{text, text}}}).size(); });
    if (text.size() < 200)
      survives(
          [&] { return read_source("#include \"" + text + "\"\n", "", {.include_folders = {text}}).size(); });
    if (!text.empty()) refused([&] { return read_source(kProduct, "", {.function = text}).size(); });
    EXPECT_FALSE(to_text(text, Refusal{.construct = text, .why = text}).empty());
    EXPECT_EQ(find_variable(product(), text), nullptr);
  }
  refused([] { return c_name(no_enumerator<ScalarType>()); });
  refused([] { return size_of(no_enumerator<ScalarType>()); });
  for (const Node& node : broken_nodes()) refused([&] { return to_text(node); });
  for (const int odd : {-1, kMost32}) refused([&] { return to_text(product().body, odd); });
  EXPECT_FALSE(counts_with_long({}));
}

DOOR(ThroughClang, "tile::find_clang", "tile::read_with_clang", "tile::read_syntax_tree",
     "tile::compile_command") {
  ClangOptions nowhere;
  nowhere.compiler = "/nowhere/clang";
  ClangOptions no_compiler;
  no_compiler.compiler = "true";
  EXPECT_TRUE(find_clang(nowhere).empty());
  for (const std::string& text : odd_texts()) {
    refused([&] { return read_syntax_tree(text, text).size(); });
    refused([&] { return read_with_clang(text, {}, nowhere).size(); });
    refused([&] { return read_with_clang(text, {.function = text}, no_compiler).size(); });
    refused([&] { return compile_command("/nowhere", text).flags.size(); });
    survives([&] { return find_clang({.compiler = text}).empty(); });
  }
  refused([&] {
    return read_with_clang("", {}, {.compiler = "true", .flags = {"", "-o"}, .time_limit = {}}).size();
  });
}

std::vector<Region> broken_regions() {
  std::vector<Region> all(9, product());
  for (std::size_t k = 0; k < 3; ++k) all[k].body.children = {broken_nodes()[k]};
  all[3].statements = 0;
  all[4].statements = kMost32;
  all[5].statements = -1;
  all[6].variables.clear();
  all[7].variables[0].extents = {broken_expressions()[0]};
  all[8].variables[0].type = no_enumerator<ScalarType>();
  return all;
}

DOOR(Nests, "tile::Nest::analyse", "tile::Nest::polyhedra", "tile::Nest::region", "tile::Nest::remarks",
     "tile::Nest::sizes", "tile::Nest::statements", "tile::Reference::is_linear", "tile::dependences",
     "tile::permutable_bands", "tile::reuse", "tile::footprint", "tile::name(DependenceKind)",
     "tile::name(ReuseKind)", "tile::to_text(const Component &)",
     "tile::to_text(const Nest &, const Dependence &)", "tile::is_assigned") {
  for (const Region& region : broken_regions())
    refused([&] { return Nest::analyse(region).statements().size(); });
  survives([] { return Nest::analyse({}).statements().size(); });
  for (const SizeRange& size : std::vector<SizeRange>{
           {"n", 5, 1}, {"n", kMost, kMost}, {"n", kLeast, kLeast}, {"m", 1, 1}, {"", {}, {}}})
    survives([&] { return Nest::analyse(product(), {size}).statements().size(); });
  Nest nest = nest_of_product();
  for (const int odd : {0, -1, kMost32}) refused([&] { return reuse(nest, odd).size(); });
  for (const std::int64_t odd : {std::int64_t{0}, kLeast})
    refused([&] { return footprint(nest, {{"i", odd}}).size(); });
  survives([&] { return footprint(nest, {{"i", kMost}, {"j", kMost}, {"none", kMost}}).size(); });
  refused([] { return name(no_enumerator<DependenceKind>()); });
  refused([] { return name(no_enumerator<ReuseKind>()); });
  survives([] { return to_text(Component{kMost, kLeast}); });
  const Dependence good = dependences(nest).at(0);
  for (const int odd : {-1, 99, kMost32}) {
    Dependence bad = good;
    bad.source = odd;
    refused([&] { return to_text(nest, bad); });
    bad = good, bad.sink_reference = odd;
    refused([&] { return to_text(nest, bad); });
    bad = good, bad.level = odd;
    refused([&] { return to_text(nest, bad); });
  }
  Dependence bad = good;
  bad.distance.resize(9);
  refused([&] { return to_text(nest, bad); });
  EXPECT_TRUE(Reference{}.is_linear(0));
  EXPECT_FALSE(is_assigned(nest, ""));
  move_away(nest);
  refused([&] { return nest.region().file; });
  refused([&] { return nest.statements().size(); });
  refused([&] { return nest.sizes().size(); });
  refused([&] { return nest.remarks().size(); });
  refused([&] { return &nest.polyhedra(); });
  refused([&] { return dependences(nest).size(); });
  refused([&] { return permutable_bands(nest).size(); });
  refused([&] { return reuse(nest).size(); });
  refused([&] { return footprint(nest, {}).size(); });
  refused([&] { return is_assigned(nest, "x"); });
}

DOOR(Schedules, "tile::Schedule::Schedule", "tile::Schedule::code", "tile::Schedule::impl",
     "tile::Schedule::of_source", "tile::Schedule::then", "tile::Schedule::verdict", "tile::transform",
     "tile::skew_for_tiling", "tile::steps_for_cpu", "tile::plan_for_cpu", "tile::replace_in_source",
     "tile::to_text(const Step &)", "tile::emit_c(const Nest &, const Node &)",
     "tile::emit_c(const std::vector<CPart> &, const COptions &)", "tile::check_index_range",
     "tile::parallelise(const Nest &)", "tile::parallelise(const Schedule &)") {
  refused([] { return Schedule(nullptr).code().statement; });
  const Nest nest = nest_of_product(), none;
  const std::vector<Step> steps{Permute{{"none"}},
                                Permute{{}},
                                Permute{{"i", "i"}},
                                Permute{{"i"}, {99}},
                                Permute{{"i"}, {-1}},
                                Tile{{{"i", 0}}},
                                Tile{{{"i", kLeast}}},
                                Tile{{}},
                                Tile{{{"none", 4}}},
                                Tile{{{"i", 4}}, {99}},
                                StripMine{"i", 0},
                                StripMine{"", 4},
                                StripMine{"i", kLeast},
                                Skew{"none", 1, "i"},
                                Skew{"i", 1, "i"},
                                Skew{"j", 1, "none"},
                                Skew{"j", kLeast, "i"},
                                Skew{"j", kMost, "i"},
                                Tile{{{"i", kMost}}},
                                StripMine{"i", kMost},
                                Jam{},
                                Jam{{{"i", 0}}},
                                Jam{{{"none", 4}}},
                                Jam{{{"i", 4}}, {99}},
                                Jam{{{"i", kMost}}},
                                Jam{{{"i", 4}, {"i", 4}}},
                                TimeTile{},
                                TimeTile{"i", {4, 0}},
                                TimeTile{"none", {4, 4}},
                                TimeTile{"i", {4, 4}, {99}},
                                TimeTile{"i", {kMost, kMost, kMost}},
                                TimeTile{"k", {4, 4, 4}}};
  for (std::size_t k = 0; k < steps.size(); ++k) {
    survives([&] { return Schedule::of_source(nest).then(steps[k]).verdict().legal; });
    survives([&] { return transform(nest, {steps[k]}).code().statement; });
    EXPECT_FALSE(to_text(steps[k]).empty());
  }
  for (const Band& band :
       std::vector<Band>{{}, {{"i"}, {99}}, {{"i"}, {-1}}, {{"none"}, {0}}, {{"i", "j"}, {}}})
    survives([&] { return skew_for_tiling(nest, band); });
  Schedule schedule = Schedule::of_source(nest);
  move_away(schedule);
  EXPECT_TRUE(schedule.verdict().legal);
  EXPECT_TRUE(parallelise(schedule).by_steps);
  for (const Node& node : broken_nodes()) {
    refused([&] { return emit_c(nest, node); });
    refused([&] { return check_index_range(nest, node, Emitted::c), 0; });
  }
  refused([&] { return check_index_range(nest, schedule.code(), no_enumerator<Emitted>()), 0; });
  survives([] { return emit_c(std::vector<CPart>{}); });
  refused([&] { return Schedule::of_source(none).code().statement; });
  refused([&] { return transform(none, {}).code().statement; });
  refused([&] { return steps_for_cpu(none).size(); });
  refused([&] { return plan_for_cpu(none).steps.size(); });
  EXPECT_EQ(replace_in_source("int x;", {}), "int x;");
  const Node code = schedule.code();
  refused([&] { return replace_in_source("", {{nest, code}}); });  // shorter than what it was read from
  refused([&] { return replace_in_source("", {{none, code}}); });
  for (const Node& node : broken_nodes()) refused([&] { return replace_in_source("", {{nest, node}}); });
  refused([&] { return skew_for_tiling(none, {}).has_value(); });
  refused([&] { return emit_c(none, {}); });
  refused([&] { return parallelise(none).code.statement; });
  refused([&] { return schedule.code(no_enumerator<Reassociate>()).statement; });
  for (const char* name : {"none", "A", "n"}) {  // no variable, a parameter, a size
    Node loop = schedule.code().children.at(0);
    loop.locals = {name};
    refused([&] { return to_text(loop, 0, nullptr, "int", &nest.region()); });
    Region region = nest.region();
    region.body.children.at(0).locals = {name};
    refused([&] { return Nest::analyse(region).statements().size(); });
  }
}

DOOR(Interpreted, "tile::interpret", "tile::make_memory", "tile::largest_difference", "tile::compare",
     "tile::conditioned_memory", "tile::rounding_bounds", "tile::sizes_near") {
  const Region region = product();
  for (const std::map<std::string, std::int64_t>& sizes : std::vector<std::map<std::string, std::int64_t>>{
           {}, {{"n", -1}}, {{"n", kMost}}, {{"n", kLeast}}, {{"n", 1 << 16}}})
    refused([&] { return make_memory(region, sizes, 1).arrays.size(); });
  for (const std::size_t k : {7, 8})
    refused([&] { return make_memory(broken_regions()[k], {{"n", 4}}, 1).arrays.size(); });
  const Memory good = make_memory(region, {{"n", 4}}, 1);
  for (const Node& node : broken_nodes()) {
    Memory memory = good;
    refused([&] { return interpret(region, node, memory), 0; });
  }
  const auto runs = [&](auto change) {
    Memory memory = good;
    change(memory);
    refused([&] { return interpret(region, region.body, memory), 0; });
  };
  runs([](Memory& m) { m.arrays["A"].pop_back(); });
  runs([](Memory& m) { m.arrays.erase("C"); });
  runs([](Memory& m) { m.sizes["n"] = kMost; });
  runs([](Memory& m) { m.sizes.clear(); });
  runs([](Memory& m) { move_away(m); });
  Memory memory = good;
  survives([&] { return interpret({}, region.body, memory), 0; });
  const Nest nest = nest_of_product();
  Memory shorter = good;
  shorter.arrays["C"].pop_back();
  refused([&] { return largest_difference(nest, shorter, good); });
  refused([&] { return largest_difference(nest, {}, good); });
  EXPECT_EQ(largest_difference(nest, good, {}), 0);
  refused([&] { return largest_difference({}, good, good); });
  const Nest sum = Nest::analyse(
      read_source(
          "float f(int n, float a[n]) { float s = 0; for (int i = 0; i < n; i++) s += a[i]; return s; }",
          "sum.c", {})
          .at(0));
  const Memory whole = make_memory(sum.region(), {{"n", 4}}, 1);
  Memory other = whole;
  other.scalars["s"] = -2;  // the whole's is from .5 to 1.5: the result differs by more than 2
  EXPECT_GT(largest_difference(sum, other, whole), 1);
  other.scalars.clear();
  refused([&] { return largest_difference(sum, other, whole); });

  Memory run = good;
  const Memory bounds = rounding_bounds(nest, run);
  EXPECT_TRUE(compare(nest, run, run, bounds).agrees);
  refused([&] { return compare(nest, shorter, good, bounds).agrees; });
  refused([&] { return compare(nest, good, good, shorter).agrees; });
  refused([&] { return compare({}, good, good, bounds).agrees; });
  Memory missing = good;
  missing.arrays.erase("C");
  refused([&] { return rounding_bounds(nest, missing).arrays.size(); });
  Memory unsized = good;
  unsized.sizes.clear();
  refused([&] { return rounding_bounds(nest, unsized).arrays.size(); });
  refused([&] { return rounding_bounds({}, unsized).arrays.size(); });
  refused([&] { return sizes_near(nest, {}).size(); });
  refused([&] { return sizes_near({}, {{"n", 4}}).size(); });
  for (const std::int64_t odd : {std::int64_t{-1}, kMost, kLeast})
    EXPECT_GE(sizes_near(nest, {{"n", odd}}).at("n"), 0);
  for (const std::map<std::string, std::int64_t>& sizes :
       std::vector<std::map<std::string, std::int64_t>>{{}, {{"n", -1}}, {{"n", kMost}}})
    refused([&] { return conditioned_memory(nest, sizes, 1).arrays.size(); });
  refused([&] { return conditioned_memory({}, {{"n", 4}}, 1).arrays.size(); });
}

DOOR(Explanations, "tile::explain", "tile::to_json(const Nest &, const Explanation &)",
     "tile::to_text(const Nest &, const Explanation &)", "tile::to_html") {
  const Nest nest = nest_of_product();
  for (const int odd : {0, -1, kMost32})
    refused([&] { return explain(nest, {.line_bytes = odd}).reuse.size(); });
  for (const std::int64_t odd : {std::int64_t{0}, kLeast})
    refused([&] { return explain(nest, {.tile = {{"i", odd}}}).reuse.size(); });
  survives([&] { return explain(nest, {.tile = {{"none", 4}, {"i", kMost}}}).reuse.size(); });
  survives([&] { return explain(nest, {.steps = {Permute{{"none"}}}}).reuse.size(); });
  refused([] { return explain({}).reuse.size(); });
  const Explanation good = explain(nest);
  const auto writes = [&](const Explanation& explanation, bool refuse) {
    const auto call = [&](const auto& write) { refuse ? refused(write) : survives(write); };
    call([&] { return to_text(nest, explanation); });
    call([&] { return to_json(nest, explanation); });
    call([&] { return to_html("f", {{.nest = nest, .explanation = explanation}}, kProduct); });
  };
  for (const int odd : {-1, 99, kMost32}) {
    Explanation bad = good;
    bad.reuse.at(0).statement = odd;
    writes(bad, true);
    bad = good, bad.reuse.at(0).reference = odd;
    writes(bad, true);
    bad = good, bad.dependences.at(0).sink = odd;
    writes(bad, true);
    bad = good, bad.bands.at(0).statements = {odd};
    writes(bad, true);
    bad = good, bad.permutations.at(0).steps = {Permute{{"i"}, {odd}}};
    writes(bad, true);
  }
  Explanation strange = good;
  strange.tile.clear(), strange.footprint.clear();
  writes(strange, false);
  writes({}, false);
  survives([] { return to_html("", {}, ""); });
  refused([&] { return to_html("", {{}}, ""); });
}

DOOR(GpuPrograms, "tile::map_to_gpu", "tile::cost",
     "tile::emit_cuda(const Nest &, const GpuProgram &, const GpuOptions &)",
     "tile::emit_cuda(const std::vector<CudaPart> &, const GpuOptions &)", "tile::name(Space)",
     "tile::to_json(const Nest &, const GpuPlan &)", "tile::to_text(const Nest &, const GpuPlan &)",
     "tile::simulate", "tile::verify", "tile::compile_cuda") {
  refused([] { return name(no_enumerator<Space>()); });
  const Nest nest = nest_of_product();
  const ParallelNest parallel = parallelise(nest);
  for (const std::string& text : odd_texts())
    refused([&] { return map_to_gpu(nest, parallel, {.architecture = text}).kernels.size(); });
  for (const std::uint64_t bytes : {std::uint64_t{0}, std::uint64_t{1}, ~std::uint64_t{0}})
    survives([&] {
      return map_to_gpu(nest, parallel, {.memory_cap = bytes, .constant_bytes = bytes}).kernels.size();
    });
  refused(
      [&] { return map_to_gpu(nest, parallel, {.time_tiles = no_enumerator<TimeTiles>()}).kernels.size(); });
  refused([&] { return map_to_gpu({}, parallel, {}).kernels.size(); });
  refused([&] { return map_to_gpu(nest, {}, {}).kernels.size(); });
  const GpuOptions options;
  const GpuProgram good = map_to_gpu(nest, parallel, options);
  ASSERT_FALSE(good.kernels.empty());
  refused([&] { return cost(nest, good, options, {}).size(); });
  for (const std::int64_t odd : {std::int64_t{-1}, kMost, kLeast})
    survives([&] { return cost(nest, good, options, {{"n", odd}}).size(); });
  std::vector<GpuProgram> bad(5, good);
  bad[0].host.kind = Node::Kind::launch, bad[0].host.statement = 99;
  bad[1].host.kind = Node::Kind::launch, bad[1].host.statement = -1;
  bad[2].kernels[0].statements = {99};
  bad[3].kernels[0].tree = broken_nodes()[0];
  bad[4].kernels[0].grid[0] = broken_expressions()[0];
  for (const GpuProgram& program : bad) {
    refused([&] { return emit_cuda(nest, program, options); });
    refused([&] { return cost(nest, program, options, {{"n", 8}}).size(); });
    refused([&] { return to_text(nest, {.program = program}); });
    refused([&] { return to_json(nest, {.program = program}); });
  }
  refused([&] { return emit_cuda({}, good, options); });
  survives([&] { return emit_cuda(std::vector<CudaPart>{}, options); });
  if (good.kernels.size() > 1) refused([&] { return to_text(nest, {.program = good, .costs = {{}}}); });
  survives([&] { return to_text(nest, GpuPlan{}); });

  sim::Machine machine(ptx::parse(".version 8.0\n.target sm_80\n.address_size 64\n"));
  const Memory memory = make_memory(nest.region(), {{"n", 8}}, 1);
  refused(
      [&] { return simulate(machine, nest, good, memory).findings.size(); });  // none of its kernels is there
  refused([&] { return simulate(machine, nest, good, {}).findings.size(); });
  refused([&] { return simulate(machine, nest, bad[0], memory).findings.size(); });
  Memory stranger = memory;
  stranger.arrays["none"] = {1};
  refused([&] { return simulate(machine, nest, good, stranger).findings.size(); });
  move_away(machine);
  refused([&] { return simulate(machine, nest, good, memory).findings.size(); });
  survives([] { return compile_cuda("/nowhere/nvcc", "", {}).good; });
  refused([&] { return verify({}, good, "", options).good; });
  for (const std::int64_t odd : {std::int64_t{-1}, kLeast})
    survives([&] { return verify(nest, good, "", options, std::chrono::milliseconds(odd)).good; });
}

}  // namespace
}  // namespace warploom::doors
