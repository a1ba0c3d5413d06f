#include "warploom/ptx/opcode.hpp"

#include <algorithm>
#include <array>
#include <unordered_map>

#include "core/doors.hpp"

namespace warploom::ptx {
namespace {

// clang-format off
// In the order of Op.
constexpr std::array<std::string_view, static_cast<std::size_t>(Op::count_)> kMnemonics = {
    "?",          "abs",      "activemask", "add",     "addc",         "alloca",   "and",       "applypriority",
    "atom",       "bar",      "barrier",    "bfe",     "bfi",          "bfind",    "bmsk",      "bra",
    "brev",       "brkpt",    "brx",        "call",    "clmad",        "clusterlaunchcontrol",  "clz",
    "cnot",       "copysign", "cos",        "cp",      "createpolicy", "cvt",      "cvta",      "discard",
    "div",        "dp2a",     "dp4a",       "elect",   "ex2",          "exit",     "fence",     "fma",
    "fns",        "getctarank", "griddepcontrol", "isspacep", "istypep", "ld",     "ldmatrix",  "ldu",
    "lg2",        "lop3",     "mad",        "mad24",   "madc",         "mapa",     "match",     "max",
    "mbarrier",   "membar",   "min",        "mma",     "mov",          "movmatrix", "mul",      "mul24",
    "multimem",   "nanosleep", "neg",       "not",     "or",           "pmevent",  "popc",      "prefetch",
    "prefetchu",  "prmt",     "rcp",        "red",     "redux",        "rem",      "ret",       "rsqrt",
    "sad",        "selp",     "set",        "setmaxnreg", "setp",      "shf",      "shfl",      "shl",
    "shr",        "sin",      "slct",       "sqrt",    "st",           "stackrestore", "stacksave", "stmatrix",
    "sub",        "subc",     "suld",       "suq",     "sured",        "sust",     "szext",     "tanh",
    "tcgen05",    "tensormap", "testp",     "tex",     "tld4",         "trap",     "txq",       "vabsdiff",
    "vabsdiff2",  "vabsdiff4", "vadd",      "vadd2",   "vadd4",        "vavrg2",   "vavrg4",    "vmad",
    "vmax",       "vmax2",    "vmax4",      "vmin",    "vmin2",        "vmin4",    "vote",      "vset",
    "vset2",      "vset4",    "vshl",       "vshr",    "vsub",         "vsub2",    "vsub4",     "wgmma",
    "wmma",       "xor"};
// clang-format on

// clang-format off
/// Takes an address (or makes one) whose state space is generic unless the name says otherwise.
bool names_memory(const Opcode& o) {
  switch (o.op) {
    case Op::applypriority: case Op::atom: case Op::cvta: case Op::discard: case Op::getctarank: case Op::isspacep:
    case Op::ld: case Op::ldmatrix: case Op::ldu: case Op::mapa: case Op::multimem: case Op::prefetch:
    case Op::prefetchu: case Op::red: case Op::st: case Op::stmatrix: case Op::tensormap: return true;
    case Op::clusterlaunchcontrol: return o.has("try_cancel");
    case Op::cp: return !o.has("commit_group") && !o.has("wait_group") && !o.has("wait_all");
    case Op::mbarrier: return !o.has("pending_count");
    case Op::tcgen05: return o.has("alloc") || o.has("commit");
    case Op::wmma: return o.has("load") || o.has("store");
    default: return false;
  }
}

std::uint8_t destinations_of(const Opcode& o) {
  switch (o.op) {
    case Op::unknown: case Op::applypriority: case Op::bra: case Op::brkpt: case Op::brx: case Op::call: case Op::cp:
    case Op::discard: case Op::exit_: case Op::fence: case Op::griddepcontrol: case Op::membar: case Op::nanosleep:
    case Op::pmevent: case Op::prefetch: case Op::prefetchu: case Op::red: case Op::ret: case Op::setmaxnreg:
    case Op::st: case Op::stackrestore: case Op::stmatrix: case Op::sured: case Op::sust: case Op::tensormap:
    case Op::trap: return 0;
    case Op::bar: case Op::barrier: return o.has("red") ? 1 : 0;
    case Op::clusterlaunchcontrol: return o.has("query_cancel") ? 1 : 0;
    case Op::mbarrier:
      return o.has("arrive") || o.has("arrive_drop") || o.has("test_wait") || o.has("try_wait") ||
                     o.has("pending_count") ? 1 : 0;
    case Op::multimem: return o.has("ld_reduce") ? 1 : 0;
    case Op::tcgen05: return !o.has("ld") ? 0 : o.has("red") ? 2 : 1;
    case Op::wgmma: return o.has("mma_async") ? 1 : 0;
    case Op::wmma: return o.has("store") ? 0 : 1;
    default: return 1;
  }
}
// clang-format on

Space space_of(std::string_view part) {
  if (part == "shared" || part == "shared::cta") return Space::shared;
  if (part == "shared::cluster") return Space::shared_cluster;
  if (part == "global") return Space::global;
  if (part == "local") return Space::local;
  if (part == "const") return Space::constant;
  if (part == "param" || part == "param::entry" || part == "param::func") return Space::param;
  return Space::none;
}

}  // namespace

bool Opcode::has(std::string_view part) const {
  return std::find(parts.begin(), parts.end(), part) != parts.end();
}

Op op_from(std::string_view mnemonic) {
  static const auto table = [] {
    std::unordered_map<std::string_view, Op> t;
    for (std::size_t i = 1; i < kMnemonics.size(); ++i) t.emplace(kMnemonics[i], static_cast<Op>(i));
    return t;
  }();
  const auto it = table.find(mnemonic);
  return it == table.end() ? Op::unknown : it->second;
}

std::string_view mnemonic(Op op) { return at_enumerator(kMnemonics, op, "the mnemonic"); }

std::uint16_t type_bytes(std::string_view t) {
  if (t == "pred") return 1;
  if (t.size() < 2) return 0;
  if (t.size() < 4 && (t[0] == 'b' || t[0] == 'u' || t[0] == 's' || t[0] == 'f')) {  // nearly all
    const std::string_view bits = t.substr(1);
    if (bits == "32") return 4;
    if (bits == "64") return 8;
    if (bits == "16") return 2;
  }
  // clang-format off
  static const std::unordered_map<std::string_view, std::uint16_t> sizes = {
      {"b8", 1}, {"u8", 1}, {"s8", 1}, {"e4m3", 1}, {"e5m2", 1}, {"e2m1x2", 1},
      {"b16", 2}, {"u16", 2}, {"s16", 2}, {"f16", 2}, {"bf16", 2}, {"e4m3x2", 2}, {"e5m2x2", 2}, {"e2m3x2", 2},
      {"e3m2x2", 2}, {"ue8m0x2", 2}, {"e2m1x4", 2},
      {"b32", 4}, {"u32", 4}, {"s32", 4}, {"f32", 4}, {"tf32", 4}, {"f16x2", 4}, {"bf16x2", 4}, {"u16x2", 4},
      {"s16x2", 4}, {"e4m3x4", 4}, {"e5m2x4", 4}, {"e2m3x4", 4}, {"e3m2x4", 4},
      {"b64", 8}, {"u64", 8}, {"s64", 8}, {"f64", 8}, {"f32x2", 8}, {"texref", 8}, {"samplerref", 8}, {"surfref", 8},
      {"b128", 16}, {"u128", 16}, {"s128", 16}, {"b6x16_p32", 16}, {"b4x16_p64", 16}, {"b1024", 128}};
  // clang-format on
  const auto it = sizes.find(t);
  return it == sizes.end() ? 0 : it->second;
}

Opcode decode(std::string_view text) {
  Opcode o;
  o.text = text;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t dot = std::min(text.find('.', at), text.size());
    o.parts.push_back(text.substr(at, dot - at));
    at = dot + 1;
  }
  o.op = op_from(o.parts[0]);
  for (std::size_t i = 1; i < o.parts.size(); ++i) {
    const std::string_view part = o.parts[i];
    if (const Space space = space_of(part); space != Space::none) {
      if (o.space == Space::none) o.space = space;  // a copy names its destination first
    } else if (part == "volatile") {
      o.volatile_ = true;
    } else if (part == "v2" || part == "v4" || part == "v8") {
      o.vector = static_cast<std::uint8_t>(part[1] - '0');
    } else if (const std::uint16_t bytes = type_bytes(part)) {
      o.bytes = bytes;
    }
  }
  if (o.space == Space::none && names_memory(o)) o.space = Space::generic;
  if (o.op == Op::tex || o.op == Op::tld4) o.space = Space::tex;
  o.destinations = destinations_of(o);
  return o;
}

}  // namespace warploom::ptx
