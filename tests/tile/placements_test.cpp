// What is said of neighbouring threads' elements, beside the addresses that the simulator sees: kernels note
// them.
#include <fmt/format.h>

#include "example_nests.hpp"
#include "kernel_cases.hpp"
#include "tile/kernels/thread_loops.hpp"
#include "warploom/core/error.hpp"

namespace warploom::tile {
namespace {

using testing::HasSubstr;

struct Site {
  std::string kernel, array, index;
  bool operator<(const Site& other) const {
    return std::tie(kernel, array, index) < std::tie(other.kernel, other.array, other.index);
  }
};

constexpr int kRecords = 1 << 19;
constexpr const char* kNote = R"(
__device__ unsigned noted_count;
__device__ int noted[{0}][3];
template <typename T>
__device__ T note(int site, T index) {{
  const unsigned place = atomicAdd(&noted_count, 1u);
  const int block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
  if (place < {0}u) {{
    noted[place][0] = site;
    noted[place][1] = block * 1024 + threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
    noted[place][2] = static_cast<int>(index);
  }}
  return index;
}}
)";

bool is_word(char c) { return std::isalnum(c) || c == '_'; }

/// "A[i]" -> "A[note(3, i)]" for every array of the kernel, behind its signature.
void add_notes(Kernel& kernel, const std::vector<std::string>& arrays, std::map<Site, int>& sites) {
  std::string& text = kernel.text;
  std::size_t at = text.find(") {");
  while ((at = text.find('[', at + 1)) != text.npos) {
    std::size_t word = at;
    while (word > 0 && is_word(text[word - 1])) --word;
    const std::string array = text.substr(word, at - word);
    if (std::ranges::find(arrays, array) == arrays.end()) continue;
    std::size_t end = at + 1;
    for (int depth = 1; depth > 0; ++end) depth += text[end] == '[' ? 1 : text[end] == ']' ? -1 : 0;
    const std::string index = text.substr(at + 1, end - at - 2);
    const int site =
        sites.try_emplace({kernel.name, array, index}, static_cast<int>(sites.size())).first->second;
    const std::string noted = fmt::format("note({}, {})", site, index);
    text.replace(at + 1, index.size(), noted);
    at += noted.size();
  }
}

/// Only the middle one of a host loop's iterations.
Node middle_only(Node node) {
  for (Node& child : node.children) child = middle_only(std::move(child));
  if (node.kind != Node::Kind::loop) return node;
  const Expression half = Expression::binary("/", trip_count(node), Expression::integer(2));
  node.first =
      Expression::binary("+", node.first, Expression::binary("*", half, Expression::integer(node.step)));
  node.limit = Expression::binary("+", node.first, Expression::integer(node.step));
  node.comparison = node.step > 0 ? "<" : ">";
  return node;
}

/// What a placement's sentence says; nothing where it says that distances vary.
struct Said {
  std::string element;
  std::optional<std::int64_t> distance;  ///< none: rows
};
std::optional<Said> read(const Placement& placement) {
  const std::string& reason = placement.reason;
  const std::size_t colon = reason.find(": "), takes = reason.find(" takes ");
  if (colon == reason.npos || takes == reason.npos) return std::nullopt;
  const std::string how = reason.substr(0, colon), element = reason.substr(colon + 2, takes - colon - 2);
  if (how.find("one element") != how.npos) return Said{element, 0};
  if (how.find("use neighbouring elements") != how.npos) return Said{element, 1};
  if (how.find("rows apart") != how.npos) return Said{element, std::nullopt};
  if (how.find("not equally") != how.npos) return std::nullopt;
  const std::string_view before = "neighbouring threads are ";
  EXPECT_THAT(how, testing::StartsWith(std::string(before))) << reason;
  return Said{element, std::stoll(how.substr(before.size()))};
}

void find_element(const Node& node, const std::string& text, std::optional<Expression>& found) {
  const auto visit = [&](const auto& self, const Expression& e) -> void {
    if (to_text(e) == text) found = e;
    for (const Expression& operand : e.operands) self(self, operand);
  };
  for (const Expression* e : {&node.target, &node.value, &node.condition}) visit(visit, *e);
  for (const Node& child : node.children) find_element(child, text, found);
}

struct One {
  Nest nest;
  ParallelNest parallel;
  GpuProgram program, noting;
};

class Placements : public testing::Test {
 protected:
  void add(Nest nest, const std::vector<Step>& steps) {
    Region region = nest.region();
    region.function = fmt::format("nest{}_{}", all_.size(), region.function);
    nest = Nest::analyse(std::move(region), nest.sizes());
    One one{nest, steps.empty() ? parallelise(nest) : parallelise(transform(nest, steps)), {}, {}};
    one.program = map_to_gpu(nest, one.parallel, {});
    one.noting = one.program;
    one.noting.host = middle_only(one.noting.host);
    std::vector<std::string> arrays;
    for (const Variable& variable : one.parallel.nest.region().variables)
      if (!variable.extents.empty()) arrays.push_back(variable.name);
    for (Kernel& kernel : one.noting.kernels) {
      if (kernel.pattern != "pointwise") continue;
      add_notes(kernel, arrays, sites_);
      if (first_) kernel.text = fmt::format(fmt::runtime(kNote), kRecords) + kernel.text;
      first_ = false;
    }
    all_.push_back(std::move(one));
  }

  /// @return how many sentences were looked at
  int check() {
    std::vector<GpuProgram> programs;
    for (const One& one : all_) programs.push_back(one.noting);
    test::SimulatedKernels kernels(programs);
    sim::Machine& machine = kernels.machine();
    int checked = 0;
    for (const One& one : all_) {
      std::map<std::string, std::int64_t> sizes;
      for (const std::string& size : one.nest.region().sizes)
        sizes[size] = size.find("step") != size.npos || size == "tmax" ? 3 : 41 + 2 * std::ssize(sizes);
      const std::uint32_t none = 0;
      machine.copy_to_device(machine.variable("noted_count"), std::as_bytes(std::span(&none, 1)));
      simulate(machine, one.nest, one.noting, make_memory(one.nest.region(), sizes, 1),
               sim::Schedule::in_order);
      std::uint32_t count = 0;
      machine.download(machine.variable("noted_count"), std::span(&count, 1));
      std::vector<std::int32_t> noted(3 * std::min<std::size_t>(count, kRecords));
      machine.download(machine.variable("noted"), std::span(noted));
      for (const Kernel& kernel : one.program.kernels)
        if (kernel.pattern == "pointwise") checked += check(one, kernel, noted);
    }
    return checked;
  }

 private:
  /// How often each distance occurs: of lanes that are neighbours, in one access of a warp.
  static std::map<std::int64_t, int> distances(int site, const std::vector<std::int32_t>& noted) {
    std::map<std::int64_t, int> result;
    for (std::size_t k = 3; k + 2 < noted.size(); k += 3)
      if (noted[k] == site && noted[k - 3] == site && noted[k + 1] == noted[k - 2] + 1 &&
          noted[k + 1] % 32 != 0)
        ++result[noted[k + 2] - noted[k - 1]];
    return result;
  }

  int check(const One& one, const Kernel& kernel, const std::vector<std::int32_t>& noted) const {
    int checked = 0;
    const CudaNames names{one.parallel.nest, one.parallel};
    for (const Placement& placement : kernel.placements) {
      if (placement.space != Space::global && placement.space != Space::read_only) continue;
      const std::optional<Said> said = read(placement);
      if (!said) continue;
      std::optional<Expression> element;
      find_element(kernel.tree, said->element, element);
      if (!element || element->operands.empty()) continue;  // in a bound, or a scalar
      const auto site = sites_.find({kernel.name, placement.array, flat_index(names, *element)});
      if (site == sites_.end()) continue;
      std::map<std::int64_t, int> seen = distances(site->second, noted);
      if (seen.empty()) continue;
      ++checked;
      int most = 0, far = 0;
      for (const auto& [distance, times] : seen) {
        most = std::max(most, times);
        if (std::abs(distance) >= 8) far += times;
      }
      const int agreeing = said->distance ? seen[*said->distance] : far;
      EXPECT_GE(agreeing, most) << one.nest.region().function << ", " << kernel.name << ": "
                                << placement.reason << "\nseen: " << testing::PrintToString(seen) << "\n"
                                << kernel.text;
    }
    return checked;
  }

  std::vector<One> all_;
  std::map<Site, int> sites_;
  bool first_ = true;
};

TEST_F(Placements, SayHowFarNeighbouringThreadsAreApart) {
  if (!test::have_kernel_compiler()) GTEST_SKIP() << "no nvcc";
  std::vector<std::string> names;
  for (const char* name : {"gemver", "mvt", "trmm", "lu", "seidel-2d", "fdtd-2d", "covariance"})
    names.push_back(std::string("polybench/") + name);
  for (const auto& entry : std::filesystem::directory_iterator(test::example_folder() / "lecture"))
    names.push_back("lecture/" + entry.path().stem().string());
  for (const std::string& name : names) {
    const Nest nest = test::example(name);
    add(nest, {});
    Tile tile;
    for (const std::string& loop : nest.statements().back().loops) tile.sizes.emplace_back(loop, 2);
    if (tile.sizes.size() > 2) tile.sizes.resize(2);
    try {
      add(nest, {tile});
    } catch (const BadInput&) {  // not legal
    }
  }
  const Nest skewed = test::example("lecture/not_permutable");
  for (const std::int64_t size : {2, 3, 8})
    add(skewed, {Skew{"j", 1, "i", {}}, Tile{{{"i", size}, {"j", size}}, {}}});
  add(test::analyse(R"(
void strips(int n, float a[n], const float b[2 * n]) {
  for (int i = 1; i < n; i++) a[i] = a[i] + 0.5f * b[2 * i];
})"),
      {StripMine{"i", 4, {}}});
  EXPECT_GE(check(), 40);
}

TEST(PlacementText, AfterASkewAndTilesThreadsReadAtTheTilesStride) {
  const Nest nest = test::example("lecture/not_permutable");
  const ParallelNest parallel =
      parallelise(transform(nest, {Skew{"j", 1, "i", {}}, Tile{{{"i", 2}, {"j", 2}}, {}}}));
  const GpuProgram program = map_to_gpu(nest, parallel, {});
  for (const Placement& placement : program.kernels.at(0).placements)
    if (placement.array == "A") {
      EXPECT_THAT(placement.reason, HasSubstr("neighbouring threads are 2 elements apart"));
    }
}

}  // namespace
}  // namespace warploom::tile
