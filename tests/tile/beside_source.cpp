#include "beside_source.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/wait.h>

#include <algorithm>
#include <fstream>
#include <optional>
#include <set>

#include "warploom/core/error.hpp"
#include "warploom/core/file.hpp"
#include "warploom/core/process.hpp"
#include "warploom/tile/transform.hpp"

namespace warploom::tile::test {
namespace {

namespace fs = std::filesystem;
using Sizes = std::map<std::string, std::int64_t>;

constexpr std::int64_t kMostElements = 1 << 22;  // of one array
constexpr std::int64_t kLengthOfIndexed = 1000;  // more than any subscript that memory holds
constexpr auto kTimeLimit = std::chrono::seconds(60);

void replace_all(std::string& text, std::string_view what, std::string_view by) {
  for (std::size_t at = text.find(what); at != text.npos; at = text.find(what, at + by.size()))
    text.replace(at, what.size(), by);
}

bool is_cpp(const fs::path& file) { return file.extension() != ".c"; }

/// The nest's own statements.
std::string text_of(const Region& region) {
  if (region.text.end == 0) throw BadInput("its text is in several files");
  const std::string whole = read_file(region.file);
  std::size_t end = region.text.end;
  if (end > whole.size()) throw BadInput("its file is shorter");
  // Of a statement that is an expression the tree does not have the semicolon.
  if (whole[end - 1] != '}' && whole[end - 1] != ';')
    end = std::min(whole.find(';', end), whole.size() - 1) + 1;
  return whole.substr(region.text.begin, end - region.text.begin);
}

/// A parameter of the nest beside what it is in the source.
struct Parameter {
  std::string name, expression;        // "s_n", "s->n"; no expression: the source does not have it
  const Variable* variable = nullptr;  // none: a size
  bool is_array() const { return variable && !variable->extents.empty(); }
};

std::vector<Parameter> parameters_of(const Region& region) {
  std::vector<Parameter> all;
  std::set<std::string> seen;
  for (const std::string& name : region.parameters) {
    const auto found = region.text.expressions.find(name);
    std::string expression = found == region.text.expressions.end() ? "" : found->second;
    // Of a member function's object the tree says `this`, a pointer.
    for (const SourceText::Local& local : region.text.locals)
      if (expression.starts_with(local.name + "->") && !local.type.ends_with("*"))
        expression.replace(local.name.size(), 2, ".");
    all.push_back({name, std::move(expression), find_variable(region, name)});
    // The value of a loop variable before, a size, and after, a result, are two parameters.
    if (all.back().variable && !all.back().expression.empty() && !seen.insert(all.back().expression).second)
      throw BadInput(all.back().expression + " is two parameters");
  }
  return all;
}

std::string c_type(const Parameter& p) { return p.variable ? std::string(c_name(p.variable->type)) : "long"; }

/// The wrapper's own: sizes by value, all else by address, with its bytes.
std::string signature(std::size_t number, const std::vector<Parameter>& parameters) {
  std::vector<std::string> words;
  for (const Parameter& p : parameters)
    words.push_back(p.variable ? fmt::format("void *warploom_{0}, long warploom_{0}_bytes", p.name)
                               : "long warploom_" + p.name);
  return fmt::format("void warploom_source_{}({})", number, fmt::join(words, ", "));
}

/// The text in a function of its own.
class Wrapper {
 public:
  explicit Wrapper(const Region& region) : region_(region), parameters_(parameters_of(region)) {}

  std::string text(std::size_t number) {
    // What declarations compute, they compute from parameters.
    const auto is_computed = [&](const SourceText::Local& local) {
      return !local.value.empty() && !whole(local.name) && !has_part(local.name);
    };
    for (const SourceText::Local& local : region_.text.locals)
      if (!is_computed(local)) declare(local);
    for (const Parameter& p : parameters_) allocate_before(p);
    for (const Parameter& p : parameters_)
      if (!p.expression.empty() && !declared_.count(p.expression) && !is_declared_inside(p)) give(p);
    for (const SourceText::Local& local : region_.text.locals)
      if (is_computed(local)) declare(local);
    text_ += "#define return (void)\n" + text_of(region_) + "\n#undef return\n";
    for (const Parameter& p : parameters_) take(p);
    return signature(number, parameters_) + " {\n" + text_ + "}\n";
  }

 private:
  static std::string plain_type(std::string type) {
    for (const char* word : {"const ", " const", "*const", "volatile ", "__restrict", "restrict"})
      replace_all(type, word, std::string_view(word).starts_with("*") ? "*" : "");
    if (type.ends_with("&")) type.pop_back();
    return type;
  }
  static bool is_pointer(const std::string& type) {
    return type.ends_with("*") || type.find("(*)") != type.npos;
  }

  /// A result that the text itself declares.
  bool is_declared_inside(const Parameter& p) const {
    if (!p.variable || p.variable->at.line == 0) return false;
    const std::string whole = read_file(region_.file);
    std::size_t at = 0;
    for (unsigned line = 1; line < p.variable->at.line && at < whole.size(); ++line)
      at = whole.find('\n', at) + 1;
    at += p.variable->at.column - 1;
    return at >= region_.text.begin && at < region_.text.end;
  }

  const Parameter* whole(const std::string& expression) const {
    const Parameter* found = nullptr;
    for (const Parameter& p : parameters_)
      if (p.expression == expression && (!found || !p.variable)) found = &p;
    return found;
  }
  /// Whether a part of it is a parameter: "s->n" of s.
  bool has_part(const std::string& name) const {
    return std::ranges::any_of(parameters_, [&](const Parameter& p) {
      return p.expression.size() > name.size() && p.expression.starts_with(name) &&
             !std::isalnum(static_cast<unsigned char>(p.expression[name.size()])) &&
             p.expression[name.size()] != '_';
    });
  }

  void declare(const SourceText::Local& local) {
    const std::string type = fmt::format("__typeof__({})", plain_type(local.type));
    const bool pointer = is_pointer(plain_type(local.type)), reference = local.type.ends_with("&");
    const Parameter* p = whole(local.name);
    declared_.insert(local.name);
    if (p && p->is_array() && pointer) {
      text_ += fmt::format("  {0} {1} = ({0})warploom_{2};\n", type, local.name, p->name);
    } else if (p && p->is_array()) {
      text_ += fmt::format("  {} {};\n", type, local.name);
      give(*p);
    } else if (p) {
      text_ += fmt::format("  {} {} = {};\n", type, local.name, value(*p));
    } else if (has_part(local.name)) {
      if (pointer)
        text_ += fmt::format("  {0} {1} = ({0})__builtin_calloc(4096, sizeof(*{1}));\n", type, local.name);
      else if (reference)
        text_ += fmt::format("  {0} &{1} = *({0} *)__builtin_calloc(1, sizeof({0}));\n", type, local.name);
      else
        text_ +=
            fmt::format("  {0} {1};\n  __builtin_memset((void *)&{1}, 0, sizeof({1}));\n", type, local.name);
    } else {
      text_ += fmt::format("  {} {}{}{};\n", type, local.name, local.value.empty() ? "" : " = ", local.value);
    }
  }

  /// Pointers on the way to a member.
  void allocate_before(const Parameter& p) {
    for (std::size_t at = p.expression.find("->"); at != p.expression.npos;
         at = p.expression.find("->", at + 2)) {
      const std::string pointer = p.expression.substr(0, at);
      if (declared_.insert(pointer).second)
        text_ += fmt::format("  {0} = (__typeof__({0}))__builtin_calloc(4096, sizeof(*({0})));\n", pointer);
    }
  }

  static std::string value(const Parameter& p) {
    return p.variable ? fmt::format("*({} *)warploom_{}", c_type(p), p.name) : "warploom_" + p.name;
  }
  void give(const Parameter& p) {
    if (p.variable && p.variable->has_row_pointers)
      text_ += fmt::format("  {0} = (__typeof__({0}))warploom_{1};\n", p.expression, p.name);
    else if (!p.is_array())
      text_ += fmt::format("  {} = {};\n", p.expression, value(p));
    else if (p.variable->is_flat && is_cpp(region_.file))
      text_ += fmt::format("  warploom_give({0}, warploom_{1}, warploom_{1}_bytes);\n", p.expression, p.name);
    else if (p.variable->is_flat)
      text_ += fmt::format("  {0} = (__typeof__({0}))warploom_{1};\n", p.expression, p.name);
    else if (p.variable->is_constant)  // a table: the other way round
      text_ += fmt::format("  __builtin_memcpy(warploom_{0}, (void *){1}, warploom_{0}_bytes);\n", p.name,
                           p.expression);
    else
      text_ += fmt::format("  __builtin_memcpy((void *){1}, warploom_{0}, warploom_{0}_bytes);\n", p.name,
                           p.expression);
  }
  void take(const Parameter& p) {
    if (!p.variable || p.expression.empty() || p.variable->is_constant || p.variable->has_row_pointers)
      return;
    const auto local = std::ranges::find(region_.text.locals, p.expression, &SourceText::Local::name);
    const bool pointer =
        local != region_.text.locals.end() ? is_pointer(plain_type(local->type)) : p.variable->is_flat;
    if (!p.is_array())
      text_ += p.variable->is_result ? fmt::format("  {} = {};\n", value(p), p.expression) : "";
    else if (p.variable->is_flat && is_cpp(region_.file))
      text_ += fmt::format("  warploom_take({0}, warploom_{1}, warploom_{1}_bytes);\n", p.expression, p.name);
    else if (!pointer)
      text_ += fmt::format("  __builtin_memcpy(warploom_{0}, (void *){1}, warploom_{0}_bytes);\n", p.name,
                           p.expression);
  }

  const Region& region_;
  std::vector<Parameter> parameters_;
  std::set<std::string> declared_;
  std::string text_;
};

constexpr std::string_view kForCpp = R"(#include <vector>
template <class T> void warploom_give(T *&to, void *from, long) { to = (T *)from; }
template <class T> void warploom_give(std::vector<T> &to, void *from, long bytes) {
  to.assign((T *)from, (T *)((char *)from + bytes));
}
template <class T> void warploom_take(T *, void *, long) {}
template <class T> void warploom_take(std::vector<T> &from, void *to, long bytes) {
  __builtin_memcpy(to, from.data(), bytes);
}
)";

constexpr std::string_view kMain = R"(#include <stdio.h>
#include <stdlib.h>
#include <string.h>
const char *__asan_default_options(void) { return "detect_leaks=0"; }
static unsigned long state = 1;
static unsigned next(void) { state = state * 6364136223846793005ul + 1442695040888963407ul; return state >> 33; }
#define FILL(type, name, n) \
  type *name##_1 = malloc((n) * sizeof(type)), *name##_2 = malloc((n) * sizeof(type)); \
  for (long i = 0; i < (n); i++) name##_1[i] = name##_2[i] = (type)0.5 ? (type)((next() % 4000 + 100) / 512.0) : (type)(next() % 17)
static void *rows(void *from, long n, long bytes) {
  char **to = malloc(n * sizeof(char *) + 1);
  for (long i = 0; i < n; i++) to[i] = (char *)from + i * bytes;
  return to;
}
#define COMPARE(type, name, n) \
  for (long i = 0; i < (n); i++) { \
    if (!memcmp(name##_1 + i, name##_2 + i, sizeof(type)) || (name##_1[i] != name##_1[i] && name##_2[i] != name##_2[i])) continue; \
    printf("DIFFERS %s, element %ld: %.9g instead of %.9g\n", #name, i, (double)name##_2[i], (double)name##_1[i]); \
    return 3; \
  }
)";

/// A nest in the program, with the sizes that it runs with.
struct Member {
  std::size_t number = 0;
  const BesidePart* part = nullptr;
  std::vector<Sizes> sizes = {};
  std::set<std::size_t> fit = {};  ///< numbers of the sizes for which the source runs
  std::string wrapper = {}, written = {}, prototypes = {}, runs = {};
};

/// Pointers to the rows of elements that lie one after the other.
std::string with_rows(const Variable& variable, std::string at, const Sizes& sizes) {
  std::string bytes = fmt::format("sizeof({})", c_name(variable.type));
  for (std::size_t d = variable.extents.size() - 1; d > 0; --d) {
    std::int64_t count = 1;
    for (std::size_t outer = 0; outer < d; ++outer) count *= value_of(variable.extents[outer], sizes);
    at = fmt::format("rows({}, {}, {} * {})", at, std::max<std::int64_t>(count, 0),
                     value_of(variable.extents[d], sizes), bytes);
    bytes = "sizeof(void *)";
  }
  return at;
}

/// One run: both on the same data.
std::string block(const Member& member, const Sizes& sizes) {
  const Region& region = member.part->nest.region();
  std::vector<std::string> source, written;
  std::string fill, tables, compare, returned;
  for (const Parameter& p : parameters_of(region)) {
    if (!p.variable) {
      source.push_back(std::to_string(sizes.at(p.name)));
      written.push_back(source.back());
      continue;
    }
    std::int64_t elements = 1;
    for (const Expression& extent : p.variable->extents) {
      elements *= std::max<std::int64_t>(value_of(extent, sizes), 0);
      if (elements > kMostElements)
        throw BadInput(fmt::format("{} has more than {} elements", p.name, kMostElements));
    }
    const std::string type = c_type(p);
    fill += fmt::format("    FILL({}, {}, {}l);\n", type, p.name, elements);
    if (!p.is_array() && type != "float" && type != "double")
      fill += fmt::format("    ++*{0}_1, ++*{0}_2;\n", p.name);
    const auto given = [&](const std::string& array) {
      return p.variable->has_row_pointers ? with_rows(*p.variable, array, sizes) : array;
    };
    source.push_back(fmt::format("{0}, {1}l * sizeof({2})", given(p.name + "_1"), elements, type));
    if (p.variable->is_constant)
      tables += fmt::format("    memcpy({0}_2, {0}_1, {1}l * sizeof({2}));\n", p.name, elements, type);
    if (p.is_array() || p.variable->is_result)
      compare += fmt::format("    COMPARE({}, {}, {}l);\n", type, p.name, elements);
    if (p.name == region.returned)
      returned = fmt::format("*{}_2 = ", p.name);
    else
      written.push_back((p.is_array() || p.variable->is_result ? "" : "*") + given(p.name + "_2"));
  }
  return fmt::format(
      "{{\n{}    printf(\"SOURCE\\n\"); fflush(stdout);\n    warploom_source_{}({});\n{}"
      "    printf(\"WRITTEN\\n\"); fflush(stdout);\n    {}warploom_written_{}({});\n{}  }}\n",
      fill, member.number, fmt::join(source, ", "), tables, returned, member.number, fmt::join(written, ", "),
      compare);
}

std::string prototypes(std::size_t number, const Region& region) {
  std::vector<std::string> types;
  for (const std::string& name : region.parameters) {
    const Variable* variable = find_variable(region, name);
    if (name == region.returned) continue;
    types.push_back(!variable
                        ? (region.size_declarations.at(name).wider_than_int ? "long" : "int")
                        : std::string(c_name(variable->type)) +
                              (variable->has_row_pointers ? " " + std::string(variable->extents.size(), '*')
                               : variable->extents.empty() && !variable->is_result ? ""
                                                                                   : " *"));
  }
  const Variable* returned = find_variable(region, region.returned);
  return fmt::format("{};\n{} warploom_written_{}({});\n", signature(number, parameters_of(region)),
                     returned ? c_name(returned->type) : "void", number, fmt::join(types, ", "));
}

/// Of a size that stands for a product of others, as the region's remarks say.
std::optional<std::int64_t> product_of(const Region& region, const std::string& size, const Sizes& sizes) {
  for (const std::string& remark : region.remarks) {
    const std::string head = size + " stands for ";
    if (!remark.starts_with(head) || remark.find(" * ") == remark.npos) continue;
    std::int64_t product = 1;
    std::size_t at = head.size();
    while (at < remark.size()) {
      const std::size_t end = std::min(remark.find(" * ", at), remark.size());
      const auto factor = sizes.find(remark.substr(at, end - at));
      if (factor == sizes.end()) return std::nullopt;
      product *= factor->second;
      at = end + 3;
    }
    return product;
  }
  return std::nullopt;
}

/// Near the bases, and such that the nest is right.
std::vector<Sizes> sizes_of(const Nest& nest, const std::vector<int>& bases) {
  std::vector<Sizes> all;
  for (const int base : bases) {
    Sizes wanted;
    int k = 0;
    for (const std::string& size : nest.region().sizes)
      wanted[size] = nest.region().text.expressions.count(size) ? base + 3 * k++ : kLengthOfIndexed;
    try {
      wanted = sizes_near(nest, wanted);
      for (const auto& [size, value] : wanted)
        wanted[size] = product_of(nest.region(), size, wanted).value_or(value);
      if (sizes_near(nest, wanted) != wanted) continue;  // products do not allow them
    } catch (const BadInput&) {
      continue;
    }
    if (std::ranges::find(all, wanted) == all.end()) all.push_back(std::move(wanted));
  }
  return all;
}

std::string line_with(const std::string& output, std::initializer_list<std::string_view> words) {
  for (const std::string_view word : words)
    if (const std::size_t at = output.find(word); at != output.npos) {
      const std::size_t begin = output.rfind('\n', at) + 1;
      return output.substr(begin, output.find('\n', at) - begin);
    }
  return output.substr(0, 300);
}

/// What the program is made from. @param result  why it cannot be, if so
std::optional<Member> member_of(std::size_t number, const BesidePart& part, const std::vector<int>& bases,
                                Beside& result) {
  const Region& region = part.nest.region();
  Member member{number, &part};
  result.kind = Beside::Kind::not_compiled;
  try {
    member.wrapper = Wrapper(region).text(number);
    member.prototypes = prototypes(number, region);
    member.written = fmt::format("#define {} warploom_written_{}\n{}", region.function, number,
                                 emit_c(part.nest, part.code));
    member.sizes = sizes_of(part.nest, bases);
    if (member.sizes.empty()) throw BadInput("no sizes are allowed");
    result.kind = Beside::Kind::too_large;
    for (std::size_t k = 0; k < member.sizes.size(); ++k) {
      member.fit.insert(k);
      member.runs += fmt::format("  if (atoi(words[1]) == {} && atoi(words[2]) == {}) {}", number, k,
                                 block(member, member.sizes[k]));
    }
  } catch (const BadInput& error) {
    result.why = error.what();
    return std::nullopt;
  }
  result.kind = Beside::Kind::equal;
  return member;
}

class Program {
 public:
  Program(const fs::path& file, const std::vector<Member>& members, const BesideOptions& options)
      : file_(file), members_(members), options_(options) {
    std::string whole = fmt::format("#define main warploom_main_of_source\n#include \"{}\"\n#undef main\n{}",
                                    fs::absolute(file).string(), is_cpp(file) ? kForCpp : "");
    std::string main(kMain);
    for (const Member& member : members) {
      whole += fmt::format("#line 1 \"nest_{}.\"\n{}{}", member.number, is_cpp(file) ? "extern \"C\" " : "",
                           member.wrapper);
      main += member.prototypes;
    }
    main += "int main(int count, char **words) {\n";
    for (const Member& member : members) main += member.runs;
    std::ofstream(whole_) << whole;
    std::ofstream(main_) << main << "  printf(\"DONE\\n\");\n  return 0;\n}\n";
    for (const Member& member : members) {
      written_.push_back(place_.path() / fmt::format("written_{}.c", member.number));
      std::ofstream(written_.back()) << member.written;
    }
  }

  /// @return what the compiler says against it
  std::string compile(bool threads) {
    std::vector<std::string> words{find_clang(options_.clang).string(),
                                   "-w",
                                   "-g1",
                                   "-O0",
                                   "-no-pie",
                                   "-ffp-contract=off",
                                   "-fno-access-control",
                                   "-ferror-limit=0",
                                   "-Wl,--unresolved-symbols=ignore-all"};
    const auto add = [&](std::initializer_list<std::string> more) {
      words.insert(words.end(), more.begin(), more.end());
    };
    if (threads)
      add({"-lgomp"});
    else
      add({"-fsanitize=address,undefined", "-fno-sanitize=vptr", "-fno-sanitize-recover=all"});
    words.insert(words.end(), options_.clang.flags.begin(), options_.clang.flags.end());
    add({"-I" + file_.parent_path().string(), whole_.string()});
    for (const fs::path& one : options_.with) words.push_back(one.string());
    add({"-x", "c", main_.string()});
    for (const fs::path& one : written_)
      if (!threads) words.push_back(one.string());
    add({"-x", "none"});
    for (fs::path one : written_) {
      if (!threads) continue;
      fs::path object = one;
      object.replace_extension(".o");
      if (std::string bad = said({"gcc", "-w", "-O3", "-fno-builtin", "-march=native", "-ffp-contract=off",
                                  "-fopenmp", "-c", one.string(), "-o", object.string()});
          !bad.empty())
        return bad;
      words.push_back(object.string());
    }
    add({"-lm", "-lstdc++", "-o", program_.string()});
    return said(words);
  }

  /// Once for each of the sizes.
  void run(Member& member, Beside& result) const {
    const std::set<std::size_t> numbers = member.fit;
    for (const std::size_t k : numbers) {
      const Answer answer =
          ask_program({program_.string(), std::to_string(member.number), std::to_string(k)}, kTimeLimit);
      if (answer.output.ends_with("DONE\n") && answer.status == 0) {
        ++result.runs;
        continue;
      }
      result.why =
          answer.failure + line_with(answer.output, {"DIFFERS", "ERROR: Addr", "runtime error", "DEADLY"});
      if (answer.output.find("WRITTEN\n") == answer.output.npos) {
        ++result.failing;
        member.fit.erase(k);
        continue;
      }
      result.kind = Beside::Kind::wrong;
      for (const auto& [name, value] : member.sizes[k]) result.why += fmt::format("; {} = {}", name, value);
      return;
    }
  }

 private:
  static std::string said(const std::vector<std::string>& words) {
    const Answer answer = ask_program(words, std::chrono::minutes(5));
    if (answer.status == 0 && answer.failure.empty()) return "";
    return answer.failure + answer.output;
  }

  const fs::path& file_;
  const std::vector<Member>& members_;
  const BesideOptions& options_;
  TemporaryDirectory place_;
  fs::path whole_ = place_.path() / (is_cpp(file_) ? "whole.cpp" : "whole.c"),
           main_ = place_.path() / "main.c", program_ = place_.path() / "program";
  std::vector<fs::path> written_;
};

/// Takes those out of a program that a compiler complains of. @return whether there are some
bool leave_out(std::vector<Member>& members, const std::string& said, std::vector<Beside>& results) {
  return std::erase_if(members, [&](const Member& member) {
    Beside& result = results[member.number];
    const std::string written = fmt::format("written_{}.c:", member.number);
    for (const std::string& name : {written, fmt::format("nest_{}.:", member.number)}) {
      if (said.find(name) == said.npos) continue;
      result.kind = name == written ? Beside::Kind::wrong : Beside::Kind::not_compiled;
      result.why = line_with(said.substr(said.find(name)), {"error:"});
      return true;
    }
    return false;
  });
}

/// @param results  of all parts
void run_all(const fs::path& file, std::vector<Member> members, const BesideOptions& options,
             std::vector<Beside>& results) {
  for (const bool threads : {false, true}) {
    if (threads && !options.threads) break;
    while (!members.empty()) {
      Program program(file, members, options);
      if (const std::string bad = program.compile(threads); !bad.empty()) {
        if (leave_out(members, bad, results)) continue;
        for (const Member& member : members)
          results[member.number] = {Beside::Kind::not_compiled, line_with(bad, {"error:"})};
        return;
      }
      for (Member& member : members)
        if (Beside& result = results[member.number]; result.kind == Beside::Kind::equal)
          program.run(member, result);
      break;
    }
  }
}

}  // namespace

std::vector<Beside> run_beside_source(const fs::path& file, const std::vector<BesidePart>& parts,
                                      const BesideOptions& options) {
  std::vector<Beside> results(parts.size());
  std::vector<Member> members;
  for (std::size_t k = 0; k < parts.size(); ++k)
    if (std::optional<Member> member = member_of(k, parts[k], options.bases, results[k]))
      members.push_back(std::move(*member));
  run_all(file, std::move(members), options, results);
  for (Beside& result : results)
    if (result.kind == Beside::Kind::equal && result.runs == 0) result.kind = Beside::Kind::source_fails;
  return results;
}

}  // namespace warploom::tile::test
