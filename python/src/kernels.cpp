#include <nanobind/stl/array.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>

#include <variant>

#include "arrays.hpp"
#include "module.hpp"
#include "warploom/core/error.hpp"
#include "warploom/hw/occupancy.hpp"
#include "warploom/reuse/check.hpp"
#include "warploom/reuse/launchability.hpp"
#include "warploom/reuse/reuse.hpp"
#include "warploom/sim/sim.hpp"

namespace warploom::python {
namespace {

using Shape = std::array<std::uint32_t, 3>;

reuse::When parse_when(const std::string& text) {
  for (const reuse::When when : {reuse::When::occupancy, reuse::When::always, reuse::When::fits})
    if (text == name(when)) return when;
  throw BadInput("when: '" + text + "' is none of occupancy, always and fits");
}

/// The text and the report, as text for people and as JSON.
auto optimize(const std::string& ptx, const std::string& file, const std::string& when,
              std::optional<Shape> block, const std::string& architecture, bool strict, bool whole_program,
              bool barriers, bool ptxas, const std::vector<std::string>& only, const Asked& asked) {
  const reuse::Options options{.when = parse_when(when),
                               .strict = strict,
                               .whole_program = whole_program,
                               .insert_barriers = barriers,
                               .block = block,
                               .architecture = architecture,
                               .only = only,
                               .assemble = ptxas};
  const reuse::Result result = run_asked(asked, Length::long_, [&](const Run& run) {
    const RunScope scope(run);
    return reuse::optimize(ptx, options, file);
  });
  return std::tuple(result.text, reuse::to_text(result.report), reuse::to_json(result.report),
                    reuse::to_html(result.report));
}

auto check(const std::string& input, const std::string& output, bool strict, bool whole_program,
           const std::vector<std::uint32_t>& block, const Asked& asked) {
  reuse::CheckResult result = run_asked(asked, Length::long_, [&](const Run& run) {
    const RunScope scope(run);
    return reuse::check(input, output, {},
                        {.strict = strict, .whole_program = whole_program, .block = block});
  });
  return std::tuple(result.ok, std::move(result.problems), std::move(result.certificate));
}

/// Of each kernel and architecture: kernel, architecture, threads, registers, shared bytes, blocks, active
/// threads, fraction, limit, reason.
auto occupancy(const std::string& ptx, const std::vector<std::string>& architectures,
               std::optional<Shape> block, std::uint64_t dynamic, std::optional<std::uint32_t> registers,
               bool ptxas, const Asked& asked) {
  reuse::LaunchOptions options{
      .block = block, .shared_dynamic = dynamic, .registers = registers, .use_ptxas = ptxas};
  const ptx::Module module = ptx::parse(ptx);
  for (const std::string& name : architectures) options.architectures.push_back(&hw::architecture(name));
  if (architectures.empty())
    for (const hw::Architecture& each : hw::architectures())
      if (each.compute_capability == static_cast<int>(module.sm)) options.architectures.push_back(&each);
  const reuse::Launchability found = run_asked(asked, Length::long_, [&](const Run& run) {
    const RunScope scope(run);
    return reuse::launchability(module, options);
  });
  using Row = std::tuple<std::string, std::string, std::optional<std::uint32_t>, std::optional<std::uint32_t>,
                         std::uint64_t, std::uint32_t, std::uint32_t, double, std::string, std::string>;
  std::vector<Row> rows;
  for (const reuse::KernelLaunch& kernel : found.kernels)
    for (const reuse::LaunchOn& on : kernel.on) {
      std::optional<std::uint32_t> known;
      if (on.registers_from != reuse::Origin::unknown) known = on.resources.registers_per_thread;
      rows.emplace_back(kernel.name, std::string(on.architecture->name), kernel.threads, known,
                        on.resources.shared_static + on.resources.shared_dynamic, on.occupancy.blocks,
                        on.occupancy.active_threads, on.occupancy.fraction,
                        std::string(name(on.occupancy.limit)), on.occupancy.reason);
    }
  return rows;
}

using Buffer = View1<const std::uint8_t>;
using WrittenBuffer = View1<std::uint8_t>;

sim::Schedule parse_schedule(const std::string& text) {
  for (const sim::Schedule schedule :
       {sim::Schedule::in_order, sim::Schedule::random, sim::Schedule::adversarial})
    if (text == name(schedule)) return schedule;
  throw BadInput("schedule: '" + text + "' is none of in-order, random and adversarial");
}

/// A site as file, line, PTX line, block, thread and what.
using Place = std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>;
using Told = std::tuple<std::string, std::uint32_t, std::uint32_t, Place, Place, std::string>;
Told told(const sim::Site& site) {
  const auto place = [](const Shape& at) { return Place(at[0], at[1], at[2]); };
  return {site.file, site.line, site.ptx_line, place(site.block), place(site.thread), site.what};
}

/// A module on a simulated GPU.
class Machine {
 public:
  Machine(std::string ptx, std::string file) : machine_(ptx::parse(std::move(ptx), std::move(file))) {}

  /// Type ("u64", "f32", "b8") and bytes of each parameter of a kernel; of the only one, where no name is
  /// given.
  std::vector<std::tuple<std::string, std::uint64_t>> parameters(const std::string& kernel) const {
    std::vector<std::tuple<std::string, std::uint64_t>> all;
    for (const std::uint32_t index : function(kernel).parameters) {
      const ptx::Variable& parameter = machine_.module().variables[index];
      all.emplace_back(parameter.type, parameter.bytes);
    }
    return all;
  }
  std::string kernel(const std::string& name) const { return std::string(function(name).name); }

  /// @param arguments  bytes of scalars, or arrays: those in `written` get what their memory holds afterwards
  auto launch(const std::string& kernel, Shape grid, Shape block, std::uint32_t dynamic_shared,
              const std::vector<std::variant<nb::bytes, Buffer>>& arguments,
              const std::vector<std::pair<std::size_t, WrittenBuffer>>& written, bool races,
              const std::string& schedule, std::uint64_t seed, std::uint64_t max_instructions,
              const Asked& asked) {
    sim::LaunchOptions options{.grid = {grid[0], grid[1], grid[2]},
                               .block = {block[0], block[1], block[2]},
                               .dynamic_shared = dynamic_shared,
                               .schedule = parse_schedule(schedule),
                               .seed = seed,
                               .races = races,
                               .max_instructions = max_instructions};
    sim::Arguments passed;
    std::vector<sim::Address> buffers(arguments.size());
    for (std::size_t k = 0; k < arguments.size(); ++k) {
      if (const auto* scalar = std::get_if<nb::bytes>(&arguments[k])) {
        passed.add_bytes(std::as_bytes(std::span(scalar->c_str(), scalar->size())));
        continue;
      }
      const Buffer& array = std::get<Buffer>(arguments[k]);
      const std::span from(reinterpret_cast<const std::byte*>(array.data()), array.size());
      buffers[k] = machine_.allocate(from.size(), "argument " + std::to_string(k));
      machine_.copy_to_device(buffers[k], from);
      passed.add(buffers[k]);
    }
    sim::Outcome outcome = run_asked(asked, Length::long_, [&](const Run& run) {
      options.run = run;
      return machine_.launch(kernel, passed, options);
    });
    for (const auto& [k, array] : written)
      machine_.copy_from_device({reinterpret_cast<std::byte*>(array.data()), array.size()}, buffers[k]);
    for (const sim::Address buffer : buffers)
      if (buffer != 0) machine_.free(buffer);
    std::vector<std::tuple<std::string, std::string, std::string, std::uint64_t, Told, std::optional<Told>>>
        findings;
    for (const sim::Finding& f : outcome.findings)
      findings.emplace_back(std::string(name(f.kind)), f.text(), f.where, f.count, told(f.site),
                            f.other ? std::optional(told(*f.other)) : std::nullopt);
    return std::tuple(std::move(findings), outcome.completed, std::move(outcome.printed),
                      outcome.thread_instructions, outcome.barriers);
  }

 private:
  const ptx::Function& function(const std::string& name) const {
    const ptx::Function* found = nullptr;
    std::string known;
    for (const ptx::Function& each : machine_.module().functions) {
      if (!each.entry || !each.has_body) continue;
      known += (known.empty() ? "" : ", ") + std::string(each.name);
      if (name.empty() && found != nullptr) throw BadInput("kernel: say which: " + known + ", ...");
      if (name.empty()) found = &each;
    }
    const std::vector<std::string> named = ptx::kernels_named(machine_.module(), name);
    if (!name.empty() && named.size() > 1)
      throw BadInput("kernel: '" + name + "' could be " + named[0] + ", " + named[1] +
                     ", ...; give more of the name");
    if (!name.empty() && named.size() == 1) found = machine_.module().find_function(named[0]);
    if (found == nullptr)
      throw BadInput("kernel: '" + name + "' is not defined in the PTX; there is " +
                     (known.empty() ? "none" : known));
    return *found;
  }
  sim::Machine machine_;
};

}  // namespace

void bind_kernels(nb::module_& module) {
  module.def("reuse_optimize", &optimize);
  module.def("reuse_check", &check);
  module.def("occupancy", &occupancy, nb::arg("ptx"), nb::arg("architectures"), nb::arg("block").none(),
             nb::arg("dynamic"), nb::arg("registers").none(), nb::arg("ptxas"), nb::arg("asked"));
  nb::class_<Machine>(module, "Machine")
      .def(nb::init<std::string, std::string>())
      .def("parameters", &Machine::parameters)
      .def("kernel", &Machine::kernel)
      .def("launch", &Machine::launch);
}

}  // namespace warploom::python
