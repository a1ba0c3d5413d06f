// What is printed reads back as the tree that it was.
#include <filesystem>
#include <random>

#include "source_text.hpp"
#include "warploom/core/file.hpp"

namespace warploom::tile::test {
namespace {

void expect_same_again(const Region& region) {
  const std::string text = source_of(region);
  const Region again = read_region(text);
  EXPECT_TRUE(same(region.body, again.body)) << text << "read again:\n" << source_of(again);
  EXPECT_EQ(again.parameters, region.parameters);
  EXPECT_EQ(again.sizes, region.sizes);
}

class EveryExample : public testing::TestWithParam<std::filesystem::path> {};

TEST_P(EveryExample, ReadsBackAsItIsPrinted) {
  const std::vector<Region> regions = read_source(read_file(GetParam()), GetParam().string(), {});
  ASSERT_FALSE(regions.empty());
  for (const Region& region : regions) {
    EXPECT_TRUE(region.refusals.empty());
    expect_same_again(region);
  }
}

std::vector<std::filesystem::path> examples() {
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(WARPLOOM_EXAMPLES "/tile"))
    if (entry.path().extension() == ".c") paths.push_back(entry.path());
  std::sort(paths.begin(), paths.end());
  return paths;
}

INSTANTIATE_TEST_SUITE_P(Examples, EveryExample, testing::ValuesIn(examples()), [](const auto& example) {
  std::string name = "of_" + example.param.stem().string();
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
});

TEST(RoundTrip, AllKernelsOfPolyBenchAreThere) {
  const auto paths = examples();
  EXPECT_EQ(std::count_if(paths.begin(), paths.end(),
                          [](const auto& p) { return p.parent_path().filename() == "polybench"; }),
            30);
}

/// Trees by chance over sizes n and m, arrays A (2-D) and x, scalars s and k.
class RandomTree {
 public:
  explicit RandomTree(unsigned seed) : random_(seed) {}

  Region region() {
    Region region = read_region(
        "void f(int n, int m, float A[n][m], double x[n], int k[m], float s) { for (int i = 0; i < n; i++) { A[i][i] = x[i] + s; k[i] = 1; } }");
    region.body.children = statements(region, 0);
    return region;
  }

 private:
  int below(int limit) { return std::uniform_int_distribution<>(0, limit - 1)(random_); }
  template <typename T>
  T any(std::initializer_list<T> values) {
    return values.begin()[below(static_cast<int>(values.size()))];
  }

  Expression index(int depth) {
    const int kind = depth > 3 ? below(2) : below(5);
    if (kind == 0) return Expression::integer(below(20) - 10);
    if (kind == 1)
      return Expression::name(
          loops_.empty() || below(3) == 0 ? any({"n", "m"}) : loops_[below(static_cast<int>(loops_.size()))]);
    if (kind == 2)
      return Expression::call(any({"min", "max", "floord"}), {index(depth + 1), index(depth + 1)});
    return Expression::binary(any({"+", "-", "*", "/", "%"}), index(depth + 1), index(depth + 1));
  }

  Expression with(Expression::Kind kind, std::string text, std::vector<Expression> operands) {
    Expression e;
    e.kind = kind;
    e.text = std::move(text);
    e.operands = std::move(operands);
    return e;
  }

  Expression element() {
    if (below(2) == 0) return Expression::element("A", {index(2), index(2)});
    return Expression::element(any({"x", "k"}), {index(2)});
  }

  Expression value(int depth) {
    switch (depth > 4 ? below(3) : below(9)) {
      case 0:
        return element();
      case 1:
        return Expression::name("s");
      case 2:
        return with(Expression::Kind::real, any({"1.0f", "2.5", "0x1.8p3", "1e-3f"}), {});
      case 3:
        return with(Expression::Kind::conditional, "",
                    {value(depth + 1), value(depth + 1), value(depth + 1)});
      case 4:
        return Expression::call("powf", {value(depth + 1), value(depth + 1)});
      case 5: {  // of a literal it would be the literal's sign
        const Expression operand =
            below(2) ? element() : Expression::binary("*", value(depth + 1), element());
        return with(Expression::Kind::unary, any({"-", "!", "+"}), {operand});
      }
      case 6:
        return with(Expression::Kind::cast, any({"float", "double", "int"}),
                    {Expression::binary("-", element(), value(depth + 1))});
      default:
        return Expression::binary(any({"+", "-", "*", "/", "<", "<=", ">", ">=", "==", "!=", "&&", "||"}),
                                  value(depth + 1), value(depth + 1));
    }
  }

  std::vector<Node> statements(Region& region, int depth) {
    std::vector<Node> list;
    for (int count = below(3) + (depth == 0); count > 0; --count) {
      Node node;
      const int kind = depth == 0 ? 1 : depth > 3 ? 0 : below(3);  // functions without loops are skipped
      if (kind == 0) {
        node.kind = Node::Kind::assignment;
        node.target = below(4) == 0 ? Expression::name("s") : element();
        node.op = any({"=", "+=", "-=", "*=", "/="});
        node.value = value(0);
        node.statement = region.statements++;
      } else if (kind == 1) {
        node.kind = Node::Kind::loop;
        node.first = index(1);
        node.limit = index(1);
        node.step = any({1, -1, 2, -3, 32});
        node.comparison = node.step > 0 ? any({"<", "<="}) : any({">", ">="});
        node.iterator = "ijpq"[depth];
        loops_.push_back(node.iterator);
        node.children = statements(region, depth + 1);
        loops_.pop_back();
      } else {
        node.kind = Node::Kind::branch;
        node.condition = Expression::binary(any({"<", "==", "!="}), index(1), index(1));
        for (int part = 0; part <= below(2); ++part) {
          node.children.emplace_back();
          node.children.back().children = statements(region, depth + 1);
        }
      }
      list.push_back(std::move(node));
    }
    return list;
  }

  std::mt19937 random_;
  std::vector<std::string> loops_;
};

TEST(RoundTrip, TreesByChanceReadBackAsTheyArePrinted) {
  for (unsigned seed = 0; seed < 3000; ++seed) {
    Region region = RandomTree(seed).region();
    region.statements = 0;
    const auto number = [&](const auto& self, Node& node) -> void {
      if (node.kind == Node::Kind::assignment) node.statement = region.statements++;
      for (Node& child : node.children) self(self, child);
    };
    number(number, region.body);
    const std::string text = source_of(region);
    const Region again = read_region(text);
    ASSERT_TRUE(same(region.body, again.body)) << "seed " << seed << '\n'
                                               << text << "read again:\n"
                                               << source_of(again);
  }
}

}  // namespace
}  // namespace warploom::tile::test
