#include "reuse/analysis/barrier_kind.hpp"

namespace warploom::reuse {

using namespace ptx;

BarrierKind barrier_kind(const Module& module, const Function& f, const Instruction& i) {
  const Opcode& o = module.opcode(i);
  if (o.op != Op::bar && o.op != Op::barrier) return BarrierKind::none;
  if (o.has("warp")) return BarrierKind::none;
  if (o.has("cluster")) return BarrierKind::cluster;
  if (o.has("arrive")) return BarrierKind::partial;
  const auto operands = f.operands_of(i);
  // bar.sync id {, threads};  bar.red.op d, id {, threads}, p;
  const bool red = o.has("red");
  const std::size_t id = red ? 1 : 0;
  if (operands.size() != (red ? 3u : 1u)) return BarrierKind::partial;
  return operands[id].kind == OperandKind::integer && operands[id].value == 0 ? BarrierKind::full
                                                                              : BarrierKind::partial;
}

}  // namespace warploom::reuse
