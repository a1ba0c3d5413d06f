// What stands at module scope: directives, variables, headers of functions, debug sections.

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <limits>

#include "ptx/parser.hpp"
#include "warploom/core/error.hpp"

namespace warploom::ptx {

Module parse(std::string text, std::string file) {
  if (text.size() >= std::numeric_limits<std::uint32_t>::max())
    throw BadInput(fmt::format("{}: {} bytes of PTX; one module may have at most 4 GiB", file, text.size()));
  Module module;
  module.file = std::move(file);
  module.text = std::move(text);
  module.text.reserve(64);  // on the heap, so that views into it outlive a move of the module
  Parser(module).run();
  return module;
}

void Parser::run() {
  while (!lex_.done()) top_level();
  if (module_.version.empty()) lex_.fail_expected("'.version' at the head of the module");
}

void Parser::top_level() {
  const std::uint32_t begin = lex_.at();
  if (lex_.starts_with("@@")) return lex_.skip_line();  // @@DWARF of old compilers
  if (lex_.take(';')) return;
  std::string_view word = lex_.directive();
  if (word == ".version") {
    lex_.skip();
    const std::uint32_t at = lex_.at();
    if (lex_.number(); lex_.text(at, lex_.end()).find('.') == std::string_view::npos)
      lex_.fail(at, "expected a version such as 8.0");
    module_.version = lex_.text(at, lex_.end());
    return;
  }
  if (module_.version.empty())
    lex_.fail(begin, fmt::format("expected '.version' before anything else, found '{}'", word));
  if (word == ".target") return target();
  if (word == ".address_size") {
    const std::uint64_t bits = lex_.integer("32 or 64");
    if (bits != 32 && bits != 64)
      lex_.fail(begin, fmt::format("expected .address_size 32 or 64, found {}", bits));
    module_.address_bits = static_cast<std::uint32_t>(bits);
    return;
  }
  Linkage linkage = Linkage::none;
  for (;;) {
    if (word == ".extern")
      linkage = Linkage::external;
    else if (word == ".visible")
      linkage = Linkage::visible;
    else if (word == ".weak")
      linkage = Linkage::weak;
    else if (word == ".common")
      linkage = Linkage::common;
    else
      break;
    word = lex_.directive();
  }
  if (word == ".entry" || word == ".func") return function(word == ".entry", linkage, begin);
  if (space_of(word) != Space::none) {
    lex_.rewind(lex_.at() - static_cast<std::uint32_t>(word.size()), lex_.line());
    return variables(linkage, begin, kNone);
  }
  if (word == ".file") return file_directive();
  if (word == ".loc") return location_directive();
  if (word == ".section") return section();
  unknown_directive();
}

void Parser::target() {
  lex_.skip();
  const std::uint32_t begin = lex_.at();
  do {
    const std::string_view word = lex_.name("a target such as sm_90");
    if (word.starts_with("sm_")) {
      const char* first = word.data() + 3;
      std::from_chars(first, word.data() + word.size(), module_.sm);
    }
    module_.debug |= word == "debug";
  } while (lex_.take(','));
  module_.target = lex_.text(begin, lex_.end());
}

void Parser::unknown_directive() {
  // `.pragma "x";`, `.alias a, b;` and what later ISAs bring.
  int depth = 0;
  for (;;) {
    const char c = lex_.peek();
    if (c == '\0' && lex_.done()) {
      if (depth == 0) return;
      lex_.fail_expected("'}'");
    }
    const std::uint32_t begin = lex_.at();
    if (c == '"') {
      lex_.string_literal();
    } else if (Lexer::is_name_start(c)) {
      if (const Name name = find(lex_.name("a name")); name.kind == Name::variable)
        module_.references.push_back({name.id, {begin, lex_.end()}});
    } else if (c == '}' && depth == 0) {
      lex_.fail_expected("';' after the directive");
    } else {
      lex_.advance();
      if (c == '{') ++depth;
      if ((c == '}' && --depth == 0) || (c == ';' && depth == 0)) return;
    }
  }
}

void Parser::file_directive() {
  const std::uint64_t index = lex_.integer("a file's number");
  module_.files[static_cast<std::uint32_t>(index)] = std::string(lex_.string_literal());
  while (lex_.take(',')) lex_.integer("a time stamp or size");
}

void Parser::location_directive() {
  const auto key = [](std::uint64_t file, std::uint64_t line, std::uint64_t column) {
    return file * 0x9e3779b97f4a7c15ull ^ line * 0xc2b2ae3d27d4eb4full ^ column;
  };
  const auto triple = [&] {
    Location l;
    l.file = static_cast<std::uint32_t>(lex_.integer("a file's number"));
    l.line = static_cast<std::uint32_t>(lex_.integer("a line"));
    l.column = static_cast<std::uint32_t>(lex_.integer("a column"));
    return l;
  };
  const auto intern = [&](const Location& l) {
    const auto [slot, fresh] =
        location_index_.emplace(key(l.file, l.line, l.column) * 31 + l.inlined_at, module_.locations.size());
    if (fresh) module_.locations.push_back(l);
    return slot->second;
  };
  Location here = triple();
  while (lex_.take(',')) {
    lex_.skip();
    const std::uint32_t at = lex_.at();
    const std::string_view word = lex_.name("function_name or inlined_at");
    if (word == "function_name") {
      lex_.name("a label");
      if (lex_.take('+')) lex_.integer("an offset");
    } else if (word == "inlined_at") {
      // The call site is given without its own inlining; an earlier .loc of that place knows it.
      const Location site = triple();
      const auto& all = module_.locations;
      const auto known = std::find_if(
          all.rbegin(), all.rbegin() + std::min<std::ptrdiff_t>(std::ssize(all), 64), [&](const Location& l) {
            return l.file == site.file && l.line == site.line && l.column == site.column;
          });
      here.inlined_at = known != all.rbegin() + std::min<std::ptrdiff_t>(std::ssize(all), 64)
                            ? static_cast<std::uint32_t>(all.rend() - known - 1)
                            : intern(site);
    } else {
      lex_.fail(at, fmt::format("expected function_name or inlined_at, found '{}'", word));
    }
  }
  location_ = intern(here);
}

void Parser::section() {
  // `.section .debug_info { ... }`: bytes and names. Only names of variables matter to us, of those in
  // bodies too: there is no scope here.
  lex_.directive();
  lex_.expect('{', "to open the section");
  for (int depth = 1; depth > 0;) {
    const char c = lex_.peek();
    const std::uint32_t begin = lex_.at();
    if (Lexer::is_name_start(c)) {
      const std::string_view name = lex_.name("a name");
      const Span span{begin, lex_.end()};
      if (const auto it = globals_.find(name); it != globals_.end())
        module_.references.push_back({it->second, span});
      const auto [first, last] = demoted_.equal_range(name);
      for (auto it = first; it != last; ++it) module_.references.push_back({it->second, span});
    } else if (c >= '0' && c <= '9') {
      lex_.number();
    } else if (c == '"') {
      lex_.string_literal();
    } else if (lex_.done()) {
      lex_.fail_expected("'}' to close the section");
    } else {
      lex_.advance();
      depth += c == '{' ? 1 : c == '}' ? -1 : 0;
    }
  }
}

Space Parser::space_of(std::string_view d) {
  if (d == ".global") return Space::global;
  if (d == ".shared" || d == ".shared::cta") return Space::shared;
  if (d == ".const") return Space::constant;
  if (d == ".local") return Space::local;
  if (d == ".param") return Space::param;
  if (d == ".tex") return Space::tex;
  return Space::none;
}

void Parser::variables(Linkage linkage, std::uint32_t begin, std::uint32_t function_index) {
  const Space space = space_of(lex_.directive());
  const std::size_t first = module_.variables.size();
  const Variable common = variable_type(space, linkage, function_index);
  do {
    Variable v = common;
    name_and_shape(v);
    if (lex_.take('=')) initializer();
    module_.variables.push_back(v);
  } while (lex_.take(','));
  lex_.expect(';', "after the variable");
  const bool alone = module_.variables.size() == first + 1;
  for (std::size_t i = first; i < module_.variables.size(); ++i) {
    Variable& variable = module_.variables[i];
    variable.declaration = {begin, lex_.end()};
    variable.alone = alone;
    const auto id = static_cast<std::uint32_t>(i);
    if (function_index == kNone) {
      globals_[variable.name] = id;  // an extern declaration may be followed by the definition
    } else {
      declare(variable.name, {Name::variable, id}, variable.name_span.begin);
      module_.functions[function_index].variables.push_back(id);
      if (space != Space::param) demoted_.emplace(variable.name, id);
    }
  }
}

Variable Parser::variable_type(Space space, Linkage linkage, std::uint32_t function_index) {
  Variable v;
  v.space = space;
  v.linkage = linkage;
  v.function = function_index;
  v.line = lex_.line();
  std::uint64_t vector = 1, element = 0, align = 0;
  while (lex_.peek() == '.') {
    const std::uint32_t at = lex_.at();
    const std::string_view word = lex_.directive();
    if (word == ".align") {
      align = lex_.integer("an alignment in bytes");
      if (align == 0 || (align & (align - 1)) != 0 || align > (1u << 30))
        lex_.fail(at, fmt::format("alignment {} is not a power of two up to 2^30", align));
    } else if (word == ".v2" || word == ".v4" || word == ".v8") {
      vector = static_cast<std::uint64_t>(word[2] - '0');
    } else if (word == ".attribute") {
      lex_.rewind(at, lex_.line());
      attribute();
    } else if (const std::uint16_t bytes = type_bytes(word.substr(1))) {
      element = bytes;
      v.type = word.substr(1);
    } else if (word != ".ptr" && space_of(word) == Space::none) {
      lex_.fail(at, fmt::format("expected a type such as .b8 or .f32, found '{}'", word));
    }
  }
  if (element == 0) lex_.fail_expected("a type such as .b8 or .f32");
  v.bytes = element * vector;
  v.align = static_cast<std::uint32_t>(align != 0 ? align : v.bytes);
  return v;
}

void Parser::name_and_shape(Variable& v) {
  lex_.skip();
  const std::uint32_t at = lex_.at();
  v.name = lex_.name("a variable's name");
  v.name_span = {at, lex_.end()};
  bool unsized = false;
  while (lex_.take('[')) {
    if (lex_.peek() == ']')
      unsized = true;
    else if (const std::uint64_t n = lex_.integer("a number of elements");
             __builtin_mul_overflow(v.bytes, n, &v.bytes) || v.bytes > (std::uint64_t{1} << 56))
      lex_.fail(at, fmt::format("variable '{}' is larger than 2^56 bytes", v.name));
    lex_.expect(']', "after the number of elements");
  }
  if (unsized) v.bytes = 0;
}

void Parser::attribute() {
  lex_.directive();
  lex_.expect('(', "after .attribute");
  lex_.skip_past(')', "after the attribute");
  lex_.take(')');  // .unified(a, b)
}

void Parser::initializer() {
  // Numbers, strings, names and `generic(name)` in nested braces, up to a comma or semicolon outside.
  for (int depth = 0;;) {
    const char c = lex_.peek();
    const std::uint32_t begin = lex_.at();
    if (depth == 0 && (c == ';' || c == ',')) return;
    if (Lexer::is_name_start(c)) {
      if (const auto it = globals_.find(lex_.name("a name")); it != globals_.end())
        module_.references.push_back({it->second, {begin, lex_.end()}});
    } else if (c == '"') {
      lex_.string_literal();
    } else if (c >= '0' && c <= '9') {
      lex_.number();
    } else if (lex_.done()) {
      lex_.fail_expected("';' after the initialiser");
    } else {
      lex_.advance();
      depth += c == '{' || c == '(' ? 1 : c == '}' || c == ')' ? -1 : 0;
      if (depth < 0) lex_.fail(begin, fmt::format("'{}' closes nothing in the initialiser", c));
    }
  }
}

std::vector<std::uint32_t> Parser::parameters(std::uint32_t function_index) {
  std::vector<std::uint32_t> ids;
  lex_.expect('(', "before the parameters");
  if (lex_.take(')')) return ids;
  do {
    lex_.skip();
    const std::uint32_t begin = lex_.at();
    const std::string_view word = lex_.directive();
    if (word != ".param" && word != ".reg")
      lex_.fail(begin, fmt::format("expected .param or .reg before the parameter, found '{}'", word));
    Variable v = variable_type(word == ".reg" ? Space::none : Space::param, Linkage::none, function_index);
    name_and_shape(v);
    v.declaration = {begin, lex_.end()};
    ids.push_back(static_cast<std::uint32_t>(module_.variables.size()));
    module_.variables.push_back(v);
  } while (lex_.take(','));
  lex_.expect(')', "after the parameters");
  return ids;
}

void Parser::function(bool entry, Linkage linkage, std::uint32_t begin) {
  const auto index = static_cast<std::uint32_t>(module_.functions.size());
  module_.functions.emplace_back();
  Function f;
  f.entry = entry;
  f.linkage = linkage;
  f.line = lex_.line();
  if (lex_.starts_with(".attribute")) attribute();
  if (!entry && lex_.peek() == '(') f.results = parameters(index);
  f.name = lex_.name(entry ? "the kernel's name" : "the function's name");
  if (lex_.peek() == '(') f.parameters = parameters(index);
  while (lex_.peek() == '.') function_directive(f);
  f.header = {begin, lex_.end()};
  f.has_body = lex_.peek() == '{';
  // A definition overrides a declaration; calls in its own body find it too.
  if (const auto known = functions_.find(f.name);
      known == functions_.end() || !module_.functions[known->second].has_body)
    functions_[f.name] = index;
  module_.functions[index] = std::move(f);
  location_ = kNone;
  if (module_.functions[index].has_body) {
    body(index);
  } else {
    lex_.expect(';', "or '{' after the function's header");
  }
  Function& done = module_.functions[index];
  done.span = {begin, lex_.end()};
}

void Parser::function_directive(Function& f) {
  const std::uint32_t begin = lex_.at();
  const std::string_view word = lex_.directive();
  const auto dimensions = [&] {
    std::array<std::uint32_t, 3> d{1, 1, 1};
    std::size_t n = 0;
    do {
      const std::uint64_t value = lex_.integer("a number of threads");
      if (n == 3 || value == 0 || value > 0xffffffffu)
        lex_.fail(begin, fmt::format("expected one to three positive numbers after {}", word));
      d[n++] = static_cast<std::uint32_t>(value);
    } while (lex_.take(','));
    return d;
  };
  if (word == ".reqntid") {
    f.required_threads = dimensions();
    f.required_threads_span = {begin, lex_.end()};
  } else if (word == ".maxntid") {
    f.maximal_threads = dimensions();
    f.maximal_threads_span = {begin, lex_.end()};
  } else if (word == ".minnctapersm" || word == ".maxnctapersm") {
    f.minimal_blocks_per_sm = static_cast<std::uint32_t>(lex_.integer("a number of blocks"));
  } else if (word == ".maxnreg") {
    f.maximal_registers = static_cast<std::uint32_t>(lex_.integer("a number of registers"));
  } else if (word == ".reqnctapercluster") {
    f.cluster = true;
    f.required_cluster = dimensions();
  } else if (word == ".maxclusterrank") {
    f.cluster = true;
    lex_.integer("a number of blocks");
  } else if (word == ".explicitcluster") {
    f.cluster = true;
  } else if (word == ".pragma") {
    do lex_.string_literal();
    while (lex_.take(','));
    lex_.take(';');
  } else {
    // .noreturn, .blocksareclusters, .abi_preserve 3 and what is to come: a word, perhaps with numbers.
    while (lex_.peek() >= '0' && lex_.peek() <= '9') {
      lex_.number();
      lex_.take(',');
    }
  }
}

}  // namespace warploom::ptx
