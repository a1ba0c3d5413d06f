#include "tile/kernels/sequential_code.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "tile/c/predicate.hpp"
#include "tile/kernels/affine.hpp"

namespace warploom::tile {
namespace {

using Kind = Expression::Kind;

/// A mention of an element inside a loop.
struct Use {
  const Expression* element = nullptr;
  bool is_write = false;
  bool conditional = false;        ///< under a branch or an inner loop
  std::vector<const Node*> loops;  ///< from the loop in question inwards
};

class Uses {
 public:
  std::vector<Use> of(const Node& node) {
    visit(node, false);
    return std::move(uses_);
  }

 private:
  void read(const Expression& e, bool conditional) {
    if (e.kind == Kind::element || e.kind == Kind::name) uses_.push_back({&e, false, conditional, loops_});
    for (const Expression& operand : e.operands) read(operand, conditional);
  }
  void visit(const Node& node, bool conditional) {
    if (node.kind == Node::Kind::loop) {
      read(node.first, conditional);
      read(node.limit, conditional);
      loops_.push_back(&node);
      for (const Node& child : node.children) visit(child, conditional || loops_.size() > 1);
      loops_.pop_back();
      return;
    }
    if (node.kind == Node::Kind::branch) read(node.condition, conditional);
    if (node.kind == Node::Kind::assignment) {
      read(node.value, conditional);
      for (const Expression& subscript : node.target.operands) read(subscript, conditional);
      uses_.push_back({&node.target, true, conditional, loops_});
    }
    for (const Node& child : node.children) visit(child, conditional || node.kind == Node::Kind::branch);
  }

  std::vector<const Node*> loops_;
  std::vector<Use> uses_;
};

bool constant_in(const Use& use, const Expression& element) {
  return std::ranges::none_of(use.loops,
                              [&](const Node* loop) { return depends_on(element, loop->iterator); });
}

/// A loop of statements only. Loads of eight iterations are under way together: a stream of 256 x 2048^2
/// elements in columns runs at 4.4 TB/s on an H200, with four iterations at 3.8, with one at 2.5.
bool is_innermost(const Node& loop) {
  return std::ranges::all_of(loop.children,
                             [](const Node& node) { return node.kind == Node::Kind::assignment; });
}

class StatementWriter {
 public:
  StatementWriter(TextWriter& writer, const CudaNames& names) : writer_(writer), names_(names) {
    inner_.instead = [this](const Expression& e) -> std::string {
      for (const auto& [element, name] : registers_)
        if (element == e) return name;
      return names_.instead ? names_.instead(e) : "";
    };
  }

  void write(const std::vector<Node>& nodes) {
    for (const Node& node : nodes) {
      if (node.kind == Node::Kind::block) {
        write(node.children);
      } else if (node.kind == Node::Kind::branch) {
        writer_.open("if ({})", cuda_text(inner_, node.condition));
        write(node.children[0].children);
        if (node.children.size() > 1) {
          writer_.close();
          writer_.open("else");
          write(node.children[1].children);
        }
        writer_.close();
      } else if (node.kind == Node::Kind::loop) {
        write_loop(node, nodes);
      } else {
        writer_.tree(cuda_tree(inner_, node));
      }
    }
  }

 private:
  void write_loop(const Node& loop, const std::vector<Node>& around) {
    const std::vector<Expression> kept = registers_of(loop);
    const bool runs_for_sure = std::ranges::all_of(kept, [&](const Expression& element) {
      return std::ranges::any_of(around, [&](const Node& node) {
        return node.kind == Node::Kind::assignment && node.target == element;
      });
    });
    // A loop that does not run touches nothing, which other threads may own.
    if (!runs_for_sure)
      writer_.open("if ({} {} {})", cuda_text(inner_, loop.first), loop.comparison,
                   cuda_text(inner_, loop.limit));
    const std::size_t before = registers_.size();
    for (const Expression& element : kept) {
      const std::string name = fresh_(element.text + "_here");
      writer_.line("{} {} = {};", c_name(shape_of(names_, element.text).type), name,
                   cuda_text(inner_, element));
      added_.emplace_back(element, name);
    }
    registers_.insert(registers_.end(), added_.begin(), added_.end());
    added_.clear();
    if (is_innermost(loop)) writer_.line("#pragma unroll 8");
    writer_.open(loop_header(inner_, loop));
    write(loop.children);
    writer_.close();
    const std::vector<std::pair<Expression, std::string>> here(
        registers_.begin() + static_cast<std::ptrdiff_t>(before), registers_.end());
    registers_.resize(before);
    for (const auto& [element, name] : here) writer_.line("{} = {};", cuda_text(inner_, element), name);
    if (!runs_for_sure) writer_.close();
  }

  /// Elements in memory that the loop changes and that are one and the same element in all its iterations.
  std::vector<Expression> registers_of(const Node& loop) {
    std::vector<Expression> result;
    const std::vector<Use> uses = Uses().of(loop);
    for (const Use& use : uses) {
      const Expression& element = *use.element;
      if (!use.is_write || use.conditional || !constant_in(use, element) ||
          std::ranges::any_of(element.operands, [&](const Expression& subscript) {
            return reads_data(names_.nest.region(), subscript);
          }))
        continue;
      if (std::ranges::find(result, element) != result.end()) continue;
      if (!inner_.instead(element).empty()) continue;
      const bool alone = std::ranges::all_of(uses, [&](const Use& other) {
        return other.element->text != element.text || *other.element == element ||
               never_meet(element, *other.element, other.loops);
      });
      if (alone) result.push_back(element);
    }
    return result;
  }

  TextWriter& writer_;
  const CudaNames& names_;
  CudaNames inner_ = names_;
  std::vector<std::pair<Expression, std::string>> registers_, added_;
  FreshNames fresh_{names_};
};

}  // namespace

std::string loop_header(const CudaNames& names, const Node& loop) {
  Node empty = loop;
  empty.children.clear();
  const std::string text = to_text(cuda_tree(names, empty));
  return text.substr(0, text.find(" {"));
}

void write_statements(TextWriter& writer, const CudaNames& names, const std::vector<Node>& nodes) {
  StatementWriter(writer, names).write(nodes);
}

}  // namespace warploom::tile
