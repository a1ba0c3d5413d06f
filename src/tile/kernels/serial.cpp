// No loop is parallel: one thread.
#include <fmt/format.h>

#include "tile/kernels/sequential_code.hpp"
#include "tile/kernels/thread_loops.hpp"

namespace warploom::tile {

KernelGroup serial(const KernelRequest& request) {
  const CudaNames names{request.parallel.nest, request.parallel};
  const std::vector<Node> body =
      request.tree.kind == Node::Kind::block ? request.tree.children : std::vector{request.tree};
  const KernelParameters parameters = kernel_parameters(request, names, body, {}, {});
  Kernel kernel;
  kernel.name = request.name;
  kernel.pattern = "serial";
  kernel.statements = statements_of(body);
  kernel.grid = kernel.block = {Expression::integer(1), Expression::integer(1), Expression::integer(1)};
  kernel.parameters = parameters.all;
  kernel.reasons = {"warning: no loop here is parallel, one thread runs it all"};
  TextWriter writer;
  writer.open(kernel_signature({names, kernel.name, kernel.parameters, parameters.written, 1, 0}));
  write_statements(writer, names, body);
  writer.close();
  kernel.text = writer.text();
  kernel.placements = memory_placements(names, body, "", "", {1, 1, 1}, {});
  KernelGroup group;
  group.kernels.push_back(std::move(kernel));
  return group;
}

}  // namespace warploom::tile
