// Kernels: ptx, hw, page, reuse and sim.
#include <cmath>
#include <limits>

#include "doors/doors.hpp"
#include "warploom/hw/occupancy.hpp"
#include "warploom/page/base64.hpp"
#include "warploom/page/chart.hpp"
#include "warploom/page/html.hpp"
#include "warploom/page/page.hpp"
#include "warploom/page/text.hpp"
#include "warploom/page/ticks.hpp"
#include "warploom/ptx/cfg.hpp"
#include "warploom/ptx/launch.hpp"
#include "warploom/ptx/linear.hpp"
#include "warploom/ptx/ranges.hpp"
#include "warploom/reuse/check.hpp"
#include "warploom/reuse/launchability.hpp"
#include "warploom/reuse/place.hpp"
#include "warploom/reuse/ptxas.hpp"
#include "warploom/reuse/reuse.hpp"
#include "warploom/sim/arguments.hpp"
#include "warploom/sim/element_type.hpp"
#include "warploom/sim/launch_text.hpp"
#include "warploom/sim/sim.hpp"

namespace warploom::doors {
namespace {

constexpr std::uint32_t kMostU32 = 0xFFFFFFFF;
constexpr double kOdd[] = {0, -1, 1e-300, 1e300, -1e300, kInfinity, -kInfinity, kNan};

/// out[0] = value, through shared memory.
const std::string kKernel = R"(.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 out, .param .u32 value)
{
  .reg .b32 %r<3>;
  .reg .b64 %d<3>;
  .shared .align 4 .b8 a[16];
  .shared .align 4 .b8 b[16];
  ld.param.u64 %d1, [out];
  ld.param.u32 %r1, [value];
  st.shared.u32 [a], %r1;
  ld.shared.u32 %r2, [a];
  st.shared.u32 [b], %r2;
  ld.shared.u32 %r2, [b];
  cvta.to.global.u64 %d2, %d1;
  st.global.u32 [%d2], %r2;
  ret;
}
)";

DOOR(WordsOfPages, "page::base64", "page::block", "page::bullets", "page::change", "page::code",
     "page::collapsed", "page::escaped", "page::facts", "page::file_name", "page::grouped(Number)",
     "page::grouped(std::uint64_t)", "page::hue", "page::json_string", "page::listed", "page::prefixed",
     "page::reveal_script", "page::swatch", "page::table", "page::to_html", "page::where_it_lies",
     "page::without_tags", "page::wrapped") {
  for (const std::string& text : odd_texts()) {
    survives([&] { return page::base64(text); });
    survives([&] { return page::block(text, text, text); });
    survives([&] { return page::bullets({text, text}); });
    survives([&] { return page::code(text); });
    survives([&] { return page::collapsed(text, text); });
    survives([&] { return page::facts({{text, text, text}}); });
    survives([&] { return page::file_name(text); });
    survives([&] { return page::json_string(text); });
    survives([&] { return page::listed({text}); });
    survives([&] { return page::table({{text, text}}, text, text); });
    survives(
        [&] { return page::to_html({.title = text, .body = text, .styles = {text}, .scripts = {text}}); });
    survives([&] { return page::where_it_lies(text); });
    survives([&] { return page::without_tags(text); });
    survives([&] { return page::wrapped(text, text); });
    EXPECT_EQ(page::escaped(text).find('<'), std::string::npos);
  }
  EXPECT_EQ(page::grouped(kLeast), "\u22129,223,372,036,854,775,808");
  EXPECT_EQ(page::grouped(std::int8_t{-128}), "\u2212128");
  EXPECT_EQ(page::grouped(~std::uint64_t{0}), "18,446,744,073,709,551,615");
  EXPECT_EQ(page::change(0, 0), "the same");
  survives([] { return page::change(1, ~std::uint64_t{0}); });
  EXPECT_LT(page::hue(~std::size_t{0}), 360);
  EXPECT_FALSE(page::swatch(-kMost32).empty());
  for (const double odd : kOdd) EXPECT_FALSE(page::prefixed(odd, true).empty());
  EXPECT_TRUE(page::bullets({}).empty());
  EXPECT_TRUE(page::listed({}).empty());
  EXPECT_FALSE(page::reveal_script().empty());
}

DOOR(Charts, "page::figure", "page::svg", "page::svg_document", "page::histogram", "page::least_step",
     "page::round_step", "page::Scale::Scale", "page::Scale::add", "page::Scale::at", "page::Scale::close",
     "page::Scale::shows", "page::Scale::ticks") {
  using page::Scale;
  for (const double odd : kOdd) {
    survives([&] { return page::round_step(odd, 5); });
    survives([&] { return page::round_step(5, odd); });
    survives([&] { return page::least_step(odd, 20); });
    survives([&] { return page::least_step(20, odd); });
    survives([&] { return Scale(odd, Scale::Ends::ticks, 5).ticks(); });
    survives([&] { return Scale(0, Scale::Ends::ticks, odd).ticks(); });
    for (const double base : {0.0, 2.0, 10.0})
      for (const auto ends : {Scale::Ends::values, Scale::Ends::ticks, Scale::Ends::beyond})
        for (const double other : kOdd) {
          Scale scale(base, ends, 5);
          scale.add(odd);
          scale.add(other);
          scale.close(true);
          EXPECT_LT(scale.ticks().size(), 5000u) << odd << " " << other;
          survives([&] { return scale.at(odd); });
        }
    const page::Panel panel{.title = "<",
                            .x = {.base = 0},
                            .y = {.base = 10},
                            .series = {{.label = "a", .points = {{odd, odd}, {1, 1}}, .filled = true}, {}},
                            .rule = odd};
    survives([&] { return page::figure(panel); });
    survives([&] { return page::svg("", "", {panel, {}}); });
    survives([&] { return page::svg("", "", {{.x = {.base = odd}}}); });
    survives([&] { return page::svg_document(odd, odd, "", "", ""); });
    survives([&] { return page::histogram({1, 2, static_cast<float>(odd)}, odd, 2, 5); });
    survives([&] { return page::histogram({1, 2, 3}, 1, odd, 5); });
  }
  refused([] { return Scale(0, static_cast<Scale::Ends>(99), 5).ticks(); });
  for (const int odd : {-1, 0, kMost32}) {
    refused([&] { return page::histogram({1}, 0, 1, odd); });
    if (odd != 0) refused([&] { return page::svg_document(1, 1, "", "", "", odd); });
  }
  Scale fresh(0, Scale::Ends::ticks, 5);
  EXPECT_TRUE(fresh.ticks().empty());
  survives([&] { return fresh.at(1); });
}

DOOR(Hardware, "hw::architecture", "hw::architectures", "hw::name", "hw::occupancy") {
  for (const std::string& text : odd_texts()) refused([&] { return hw::architecture(text).name; });
  refused([] { return hw::name(no_enumerator<hw::Limit>()); });
  refused([] { return hw::occupancy({}, {.threads_per_block = 1}).blocks; });
  for (const hw::Architecture& known : hw::architectures()) {
    refused([&] { return hw::occupancy(known, {}).blocks; });
    for (const std::uint32_t threads : {1u, 1024u, kMostU32})
      for (const std::uint32_t registers : {0u, 255u, kMostU32})
        for (const std::uint64_t shared : {std::uint64_t{0}, std::uint64_t{1} << 62, ~std::uint64_t{0}})
          survives([&] { return hw::occupancy(known, {threads, registers, shared, shared}).blocks; });
    for (auto member : {&hw::Architecture::threads_per_sm, &hw::Architecture::register_granularity,
                        &hw::Architecture::warp_granularity, &hw::Architecture::shared_granularity}) {
      hw::Architecture own = known;
      own.*member = 0;
      refused([&] { return hw::occupancy(own, {.threads_per_block = 1}).blocks; });
    }
  }
}

DOOR(Graphs, "ptx::Graph::Graph", "ptx::Graph::add_edge", "ptx::Graph::check", "ptx::Graph::reversed",
     "ptx::Graph::size", "ptx::reverse_postorder", "ptx::immediate_dominators", "ptx::post_dominators",
     "ptx::DominatorTree::DominatorTree", "ptx::build_cfg", "ptx::Loop::contains") {
  ptx::Graph graph(2);
  for (const std::uint32_t node : {2u, kMostU32}) {
    refused([&] { return graph.add_edge(0, node), 0; });
    refused([&] { return graph.add_edge(node, 0), 0; });
    refused([&] { return ptx::reverse_postorder(graph, node); });
    refused([&] { return ptx::immediate_dominators(graph, node); });
    refused([&] { return ptx::DominatorTree({ptx::kNone, node == kMostU32 ? 7 : node}).parent(0); });
  }
  refused([] { return ptx::reverse_postorder(ptx::Graph(), 0); });
  survives([] { return ptx::post_dominators(ptx::Graph()).parent(0); });
  survives([] { return ptx::DominatorTree({1, 0}).parent(0); });  // a ring
  ptx::Graph broken = graph;
  broken.successors[0].push_back(9);
  ptx::Graph uneven = graph;
  uneven.predecessors.pop_back();
  for (const ptx::Graph& bad : {broken, uneven, broken.reversed()}) {
    refused([&] { return bad.check(), 0; });
    refused([&] { return ptx::reverse_postorder(bad, 0); });
    refused([&] { return ptx::immediate_dominators(bad, 0); });
    refused([&] { return ptx::post_dominators(bad).parent(0); });
  }
  move_away(graph);
  EXPECT_EQ(graph.size(), 0u);
  EXPECT_FALSE(ptx::Loop{}.contains(kMostU32));
  const ptx::Module module = ptx::parse(kKernel);
  const ptx::Function stranger = module.functions[0];
  refused([&] { return ptx::build_cfg(module, stranger).order; });
  refused([&] { return ptx::build_cfg(module, {}).order; });
}

DOOR(Ranges, "ptx::number_values", "ptx::AddressRanges::AddressRanges", "ptx::AddressRanges::of",
     "ptx::AddressRanges::at_most", "ptx::AddressRanges::extremes", "ptx::AddressRanges::unknown",
     "ptx::AddressRanges::unknowns", "ptx::add(const Linear &, const Linear &, std::int64_t)",
     "ptx::add(const MaybeLinear &, const MaybeLinear &, std::int64_t)", "ptx::times", "ptx::number",
     "ptx::AddressRanges::sum_of", "ptx::AddressRanges::bounds", "ptx::AddressRanges::conditions") {
  refused([] { return ptx::number_values(ptx::Cfg()).all.size(); });
  const ptx::Module module = ptx::parse(kKernel);
  const ptx::Cfg cfg = ptx::build_cfg(module, module.functions[0]);
  const ptx::Values values = ptx::number_values(cfg);
  refused([&] { return ptx::AddressRanges(cfg, ptx::Values()).extremes({}); });
  refused([&] { return ptx::AddressRanges(ptx::Cfg(), values).extremes({}); });
  for (const std::uint32_t threads : {0u, kMostU32})
    refused([&] { return ptx::AddressRanges(cfg, values, {{{threads, 1, 1}}}).extremes({}); });
  ptx::AddressRanges ranges(cfg, values);
  refused([&] { return ranges.of(kMostU32, 0); });
  refused([&] { return ranges.of(0, kMostU32); });
  refused([&] { return ranges.unknown(kMostU32); });
  refused([&] { return ranges.sum_of(kMostU32); });
  refused([&] { return ranges.conditions(kMostU32); });
  refused([&] { return ranges.bounds({}, kMostU32); });
  refused([&] { return ranges.bounds({{{kMostU32, 1}}, 0}, 0); });
  EXPECT_EQ(ranges.unknowns().size(), 3u);
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  EXPECT_FALSE(ptx::add(ptx::number(kMost), ptx::number(kMost), kMost));
  EXPECT_FALSE(ptx::add(ptx::MaybeLinear(), ptx::number(1)));
  EXPECT_FALSE(ptx::times({{{kMostU32, kMost}}, 1}, -kMost));
  EXPECT_FALSE(ranges.extremes({{{kMostU32, 1}}, 0}));
  EXPECT_FALSE(ranges.at_most({{{kMostU32, 1}}, 0}, {}));
}

DOOR(Modules, "ptx::parse", "ptx::print", "ptx::kernels_named", "ptx::Module::find_function",
     "ptx::Module::text_of", "ptx::Edits::append", "ptx::Edits::apply", "ptx::Edits::empty",
     "ptx::Edits::insert", "ptx::Edits::replace", "ptx::decode", "ptx::Opcode::has", "ptx::mnemonic",
     "ptx::op_from", "ptx::type_bytes", "ptx::parse_block", "ptx::parse_grid") {
  for (const std::string& text : odd_texts()) {
    refused([&] { return ptx::parse(text, text).functions.size(); });
    survives([&] { return ptx::parse(kKernel + text, text).functions.size(); });
    EXPECT_FALSE(ptx::decode(text).has(text + "x"));
    survives([&] { return ptx::op_from(text); });
    EXPECT_EQ(ptx::type_bytes(text), 0);
    refused([&] { return ptx::parse_block(text); });
    refused([&] { return ptx::parse_grid(text); });
  }
  refused([] { return ptx::mnemonic(static_cast<ptx::Op>(255)); });
  refused([] { return ptx::mnemonic(ptx::Op::count_); });
  ptx::Module module = ptx::parse(kKernel);
  for (const ptx::Span span : {ptx::Span{5, 4}, ptx::Span{0, kMostU32}, ptx::Span{kMostU32, kMostU32}})
    refused([&] { return module.text_of(span); });
  EXPECT_EQ(module.find_function("none"), nullptr);
  EXPECT_EQ(ptx::kernels_named(module, "").size(), 1u);
  for (const ptx::Span span : {ptx::Span{5, 4}, ptx::Span{0, 9}, ptx::Span{kMostU32, kMostU32}}) {
    ptx::Edits edits;
    edits.replace(span, "x");
    refused([&] { return edits.apply("12345678"); });
  }
  ptx::Edits edits;
  edits.insert(3, "x");
  edits.append({});
  EXPECT_EQ(edits.apply("12345678").size(), 9u);
  edits.append(edits);
  EXPECT_EQ(edits.apply("12345678").size(), 10u);
  edits.replace({2, 4}, "y");
  edits.replace({3, 5}, "z");
  refused([&] { return edits.apply("12345678"); });
  move_away(edits);
  EXPECT_TRUE(edits.empty());
  const ptx::Module small = [] {
    ptx::Module m = ptx::parse(".version 8.0");
    return m;
  }();
  EXPECT_EQ(small.version, "8.0");
  move_away(module);
  EXPECT_EQ(module.find_function("k"), nullptr);
  EXPECT_TRUE(ptx::kernels_named(module, "k").empty());
  survives([&] { return ptx::print(module); });
}

DOOR(Placements, "reuse::place", "reuse::name(PlacementMethod)") {
  using reuse::PlacementProblem;
  refused([] { return reuse::name(no_enumerator<reuse::PlacementMethod>()); });
  for (const PlacementProblem& problem :
       std::vector<PlacementProblem>{{.objects = {{0, 1}}},
                                     {.objects = {{1, 0}}},
                                     {.objects = {{1, 3}}},
                                     {.objects = {{~0ull, 1}, {1, 1}}},
                                     {.objects = {{1, 1ull << 63}, {1, 1ull << 63}}},
                                     {.objects = {{1, 1}}, .edges = {{0, 1}}},
                                     {.objects = {{1, 1}}, .edges = {{0, 0}}},
                                     {.edges = {{kMostU32, 0}}}})
    refused([&] { return reuse::place(problem).bytes; });
  EXPECT_EQ(reuse::place({}).bytes, 0u);
  const PlacementProblem good{.objects = {{4, 4}, {8, 8}, {4, 4}}, .edges = {{0, 1}, {1, 2}, {0, 1}}};
  refused([&] { return reuse::place(good, {.method = no_enumerator<reuse::PlacementMethod>()}).bytes; });
  for (const auto limit :
       {std::chrono::milliseconds::min(), std::chrono::milliseconds(0), std::chrono::milliseconds::max()})
    survives([&] { return reuse::place(good, {.exact_up_to = kMostU32, .time_limit = limit}).bytes; });
}

DOOR(Reuse, "reuse::optimize",
     "reuse::check(const Module &, std::string_view, std::vector<PoolEntry>, const CheckOptions &)",
     "reuse::check(std::string_view, std::string_view, std::vector<PoolEntry>, const CheckOptions &)",
     "reuse::name(When)", "reuse::name(Origin)", "reuse::name(Verdict)", "reuse::passes",
     "reuse::launchability", "reuse::shared_declared", "reuse::parse_ptxas_output", "reuse::run_ptxas",
     "reuse::find_ptxas") {
  refused([] { return reuse::name(no_enumerator<reuse::When>()); });
  refused([] { return reuse::name(no_enumerator<reuse::Origin>()); });
  refused([] { return reuse::name(no_enumerator<reuse::Verdict>()); });
  for (const std::string& text : odd_texts()) {
    refused([&] { return reuse::optimize(text, {}, text).text; });
    refused([&] { return reuse::check(text, kKernel).ok; });
    refused([&] { return reuse::check(kKernel, text).ok; });
    survives([&] { return reuse::check(kKernel, kKernel, {{text, text, text, ~0ull}}).ok; });
    refused([&] { return reuse::check(ptx::parse(kKernel), text).ok; });
    if (!text.empty()) {
      refused([&] { return reuse::optimize(kKernel, {.architecture = text}).text; });
      survives([&] {
        return reuse::optimize(kKernel, {.only = {text}, .except = {text}, .assemble = false}).text;
      });
      survives([&] { return reuse::optimize(kKernel, {.disabled = {text}, .assemble = false}).text; });
    }
    survives([&] { return reuse::parse_ptxas_output(text).size(); });
    if (text.size() < 200)
      survives([&] {
        return reuse::run_ptxas(text, text, {.executable = "/nowhere", .arguments = {text}})->ok();
      });
  }
  survives([] {
    return reuse::optimize(kKernel, {.when = no_enumerator<reuse::When>(), .assemble = false}).text;
  });
  survives([] {
    return reuse::optimize(
               kKernel, {.placement = {.method = no_enumerator<reuse::PlacementMethod>()}, .assemble = false})
        .text;
  });
  for (const std::uint32_t odd : {0u, kMostU32}) {
    survives([&] { return reuse::optimize(kKernel, {.block = {{odd, odd, odd}}, .assemble = false}).text; });
    survives([&] { return reuse::check(kKernel, kKernel, {}, {.block = {odd}}).ok; });
    survives([&] { return reuse::check(kKernel, kKernel, {}, {.block = {odd, odd, odd, odd}}).ok; });
  }
  const ptx::Module module = ptx::parse(kKernel);
  const hw::Architecture& sm_90 = hw::architecture("sm_90");
  refused([&] {
    return reuse::launchability(module, {.architectures = {nullptr}, .use_ptxas = false}).kernels.size();
  });
  refused([&] {
    return reuse::launchability(module, {.architectures = {&sm_90}, .kernel = "none"}).kernels.size();
  });
  for (const std::uint32_t odd : {0u, kMostU32}) {
    survives([&] {
      return reuse::launchability(module, {.architectures = {&sm_90},
                                           .block = {{odd, odd, odd}},
                                           .shared_dynamic = ~0ull,
                                           .registers = odd,
                                           .use_ptxas = false})
          .kernels.size();
    });
  }
  EXPECT_TRUE(reuse::launchability({}, {}).kernels.empty());
  const ptx::Function stranger;
  refused([&] { return reuse::shared_declared(module, stranger).bytes; });
  EXPECT_FALSE(reuse::passes().empty());
  survives([] { return reuse::find_ptxas(); });
}

DOOR(Reports, "reuse::advice", "reuse::explain", "reuse::launch_header", "reuse::to_html", "reuse::to_json",
     "reuse::to_text", "reuse::DynamicFormula::text") {
  EXPECT_EQ(reuse::DynamicFormula().text(), "max()");
  const reuse::Report good =
      reuse::optimize(kKernel, {.when = reuse::When::always, .assemble = false}).report;
  ASSERT_EQ(good.kernels.size(), 1u);
  ASSERT_FALSE(good.kernels[0].objects.empty());
  std::vector<reuse::Report> bad(7, good);
  bad[0].kernels[0].objects[0].shares_with = {kMostU32};
  bad[1].kernels[0].partitions = {{0, 99}};
  bad[2].kernels[0].interference = {{.first = 0, .second = 99}};
  bad[3].kernels[0].barriers = {{.separates = {{99, 0}}}};
  bad[4].kernels[0].verdict = no_enumerator<reuse::Verdict>();
  bad[5].kernels[0].objects[0].alignment = 0;
  bad[6].kernels[0].objects.clear();
  for (std::size_t k = 0; k < bad.size(); ++k) {
    const reuse::Report& report = bad[k];
    const auto call = [&](const auto& writes) { k < 6 ? refused(writes) : survives(writes); };
    call([&] { return reuse::to_text(report, true); });
    call([&] { return reuse::to_json(report); });
    call([&] { return reuse::launch_header(report); });
    call([&] { return reuse::to_html(report); });
    call([&] { return reuse::explain(report, "a"); });
    call([&] { return reuse::advice(report.kernels[0]); });
  }
  reuse::Report odd = good;
  odd.kernels[0].objects[0].bytes = ~0ull, odd.kernels[0].objects[0].offset = ~0ull,
  odd.kernels[0].objects[0].alignment = 3;
  odd.kernels[0].objects[0].live_lines = {{5, 1}, {0, kMostU32}}, odd.kernels[0].first_line = kMostU32;
  odd.kernels[0].occupancy.clear(), odd.kernels[0].partitions = {{}, {0, 0}};
  for (const reuse::Report& report : {odd, reuse::Report{}, reuse::Report{.kernels = {{}}}}) {
    survives([&] { return reuse::to_text(report, true); });
    survives([&] { return reuse::to_json(report); });
    survives([&] { return reuse::launch_header(report); });
    survives([&] { return reuse::to_html(report); });
    survives([&] { return reuse::explain(report, "a"); });
    if (!report.kernels.empty()) survives([&] { return reuse::advice(report.kernels[0]); });
  }
}

DOOR(Machines, "sim::Machine::Machine(Machine &&)", "sim::Machine::Machine(Module)",
     "sim::Machine::operator=", "sim::Machine::allocate", "sim::Machine::copy_from_device",
     "sim::Machine::copy_to_device", "sim::Machine::download", "sim::Machine::free", "sim::Machine::launch",
     "sim::Machine::module", "sim::Machine::upload", "sim::Machine::variable", "sim::Arguments::add",
     "sim::Arguments::add_bytes", "sim::Finding::text", "sim::name(FindingKind)", "sim::name(Schedule)") {
  refused([] { return sim::Machine(ptx::Module()).module().sm; });
  sim::Machine machine(ptx::parse(kKernel));
  for (const std::uint64_t bytes :
       {std::uint64_t{1} << 40, std::uint64_t{1} << 46, std::uint64_t{1} << 62, ~std::uint64_t{0}})
    refused([&] { return machine.allocate(bytes); });
  const sim::Address empty = machine.allocate(0), eight = machine.allocate(8);
  std::vector<std::byte> host(9);
  for (const sim::Address address : {sim::Address{0}, eight + 1, eight - 1, ~sim::Address{0}, empty}) {
    refused([&] { return machine.copy_to_device(address, std::span(host).first(8)), 0; });
    refused([&] { return machine.copy_from_device(std::span(host).first(8), address), 0; });
    if (address != empty) refused([&] { return machine.free(address), 0; });
  }
  refused([&] { return machine.copy_to_device(eight, host), 0; });
  refused([&] { return machine.download(eight, std::span(host)), 0; });
  std::vector<char> odd_place(9);
  const auto misaligned = std::as_writable_bytes(std::span(odd_place)).subspan(1, 8);
  survives([&] { return machine.copy_to_device(eight, misaligned), 0; });
  survives([&] { return machine.upload(std::span<const float>()); });
  survives([&] { return machine.copy_to_device(~sim::Address{0}, {}), 0; });
  for (const std::string& text : odd_texts()) {
    refused([&] { return machine.variable(text); });
    refused([&] { return machine.launch(text, {}, {}).clean(); });
  }
  sim::Arguments arguments;
  arguments.add(eight).add(std::uint32_t{7});
  EXPECT_TRUE(machine.launch("k", arguments, {}).clean());
  sim::Arguments wrong;
  refused([&] { return machine.launch("k", wrong, {}).clean(); });
  wrong.add(eight).add_bytes({});
  refused([&] { return machine.launch("k", wrong, {}).clean(); });
  sim::Arguments astray;
  astray.add(~sim::Address{0}).add(std::uint32_t{7});
  EXPECT_FALSE(machine.launch("k", astray, {}).clean());
  for (const sim::LaunchOptions& options :
       std::vector<sim::LaunchOptions>{{.grid = {0}},
                                       {.grid = {kMostU32}},
                                       {.grid = {1, kMostU32, 1}},
                                       {.block = {0}},
                                       {.block = {kMostU32, kMostU32, kMostU32}},
                                       {.block = {1025}},
                                       {.dynamic_shared = kMostU32},
                                       {.schedule = no_enumerator<sim::Schedule>()},
                                       {.resident_blocks = kMostU32},
                                       {.max_instructions = 0}})
    refused([&] { return machine.launch("k", arguments, options).clean(); });
  survives([&] { return machine.launch("k", arguments, {.max_instructions = 1}).completed; });
  move_away(arguments);
  refused([&] { return machine.launch("k", arguments, {}).clean(); });
  machine.free(eight);
  refused([&] { return machine.free(eight), 0; });

  move_away(machine);
  refused([&] { return machine.module().sm; });
  refused([&] { return machine.allocate(8); });
  refused([&] { return machine.free(eight), 0; });
  refused([&] { return machine.variable("x"); });
  refused([&] { return machine.copy_to_device(eight, host), 0; });
  refused([&] { return machine.copy_from_device(host, eight), 0; });
  refused([&] { return machine.launch("k", arguments, {}).clean(); });
  machine = sim::Machine(ptx::parse(kKernel));
  EXPECT_EQ(machine.module().sm, 80u);
  refused([] { return sim::name(no_enumerator<sim::Schedule>()); });
  refused([] { return sim::name(no_enumerator<sim::FindingKind>()); });
  EXPECT_FALSE(sim::Finding{}.text().empty());
}

DOOR(LaunchTexts, "sim::ArgumentText::bytes", "sim::parse_argument", "sim::parse_launches", "sim::prepare",
     "sim::set_launch_option", "sim::find_element_type", "sim::encode", "sim::TensorMap::bytes",
     "sim::encode_texture", "sim::Texture::bytes", "sim::Texture::texels") {
  refused([] { return sim::encode_texture({.type = "f64"}).size(); });
  refused([] { return sim::encode_texture({.extents = {0}}).size(); });
  refused([] { return sim::encode_texture({.extents = {1, ~0u, ~0u}, .layers = ~0u}).size(); });
  refused([] { return sim::encode_texture({.channels = 0}).size(); });
  refused([] { return sim::Texture{.type = "q"}.bytes(); });
  survives([] { return sim::Texture{.extents = {~0u, ~0u, ~0u}, .layers = ~0u, .channels = ~0u}.texels(); });
  survives([] { return sim::encode_texture({}).size(); });
  refused([] { return sim::encode({}).size(); });
  refused([] { return sim::encode({.extents = {1}}).size(); });
  refused([] { return sim::TensorMap{.type = "q"}.bytes(); });
  refused([] { return sim::TensorMap{.extents = {1, ~0ull}, .strides = {~0ull}}.bytes(); });
  survives([] { return sim::TensorMap{.extents = {0, ~0ull}, .strides = {1, 2, 3}}.bytes(); });
  sim::LaunchText launch;
  for (const std::string& text : odd_texts()) {
    refused([&] { return sim::parse_argument(text).count; });
    refused([&] { return sim::parse_argument("buf:" + text).count; });
    refused([&] { return sim::parse_argument("buf:f32:" + text + ":zero").count; });
    refused([&] { return sim::parse_argument("buf:f32:4:" + text).count; });
    refused([&] { return sim::parse_argument("bytes:" + text).count; });
    survives([&] { return sim::parse_argument("f32:" + text).count; });
    survives([&] { return sim::parse_launches(text, text.size() < 200 ? text : "").size(); });
    survives([&] { return sim::parse_launches("--kernel k --grid " + text, "f").size(); });
    for (const char* option : {"--kernel", "--grid", "--block", "--dynamic-shared", "--arg", "--none"})
      survives([&] { return sim::set_launch_option(launch, option, text); });
    EXPECT_EQ(sim::find_element_type(text), nullptr);
  }
  using Fill = sim::ArgumentText::Fill;
  sim::Machine machine(ptx::parse(kKernel));
  for (const sim::ArgumentText& argument : std::vector<sim::ArgumentText>{
           {},
           {.buffer = true},
           {.buffer = true, .type = "bytes", .count = 1},
           {.buffer = true, .type = "f32", .count = ~0ull},
           {.buffer = true, .type = "f64", .count = 1ull << 60},
           {.buffer = true, .type = "f32", .count = 1ull << 40},
           {.buffer = true, .type = "f32", .count = 1, .fill = static_cast<Fill>(99)},
           {.buffer = true, .type = "i8", .count = 1, .fill = Fill::range, .low = 5, .high = 1},
           {.buffer = true, .type = "i8", .count = 1, .fill = Fill::range, .low = kNan, .high = 1},
           {.buffer = true, .type = "i64", .count = 1, .fill = Fill::range, .low = -1e300, .high = 1e300},
           {.buffer = true, .type = "f32", .count = 1, .fill = Fill::range, .low = 0, .high = kInfinity},
           {.buffer = true, .type = "f32", .count = 1, .fill = Fill::file, .path = "/nowhere.npy"}}) {
    refused([&] { return argument.bytes(); });
    refused([&] { return sim::prepare(machine, {.kernel = "k", .arguments = {argument}}).buffers; });
  }
  EXPECT_TRUE((sim::ArgumentText{.buffer = true, .type = "f32"}.bytes().empty()));
}

}  // namespace
}  // namespace warploom::doors
