#include "module.hpp"

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "warploom/config.hpp"
#include "warploom/core/device.hpp"
#include "warploom/core/error.hpp"
#include "warploom/core/version.hpp"

namespace warploom::python {
namespace {

/// Errors of the library by their kinds, the general ones first: the last that fits is taken.
void bind_errors(nb::module_& module) {
  nb::exception<Error>(module, "Error", PyExc_RuntimeError);
  nb::exception<Internal>(module, "Internal", PyExc_RuntimeError);
  nb::exception<BadInput>(module, "BadInput", PyExc_ValueError);
  nb::exception<NoDevice>(module, "NoDevice", PyExc_RuntimeError);
  nb::exception<OutOfMemory>(module, "OutOfMemory", PyExc_MemoryError);
  nb::register_exception_translator([](const std::exception_ptr& error, void*) {
    try {
      std::rethrow_exception(error);
    } catch (const Interrupted& interrupted) {
      PyErr_SetString(PyExc_KeyboardInterrupt, interrupted.what());
    }
  });
}

NB_MODULE(_core, module) {
  nb::set_leak_warnings(false);  // what modules keep lives until the interpreter has gone
  module.doc() = "What warploom's Python layer calls; not for users.";
  bind_errors(module);
  module.attr("built_with_cuda") = bool{WARPLOOM_HAS_CUDA};
  module.attr("version") = std::string(version());
  module.def("devices", [] {
    std::vector<std::string> names{"cpu"};
    for (const CudaDevice& device : cuda_devices().devices)
      names.push_back(name(Device::gpu(device.ordinal)));
    return names;
  });
  nb::class_<Asked>(module, "Asked")
      .def(
          "__init__",
          [](Asked* self, std::string device, unsigned threads, nb::object progress) {
            new (self) Asked{std::move(device), threads, std::move(progress)};
          },
          nb::arg("device") = "auto", nb::arg("threads") = 0, nb::arg("progress") = nb::none());
  bind_dp(module);
  bind_search(module);
  bind_imaging(module);
  bind_denoise(module);
  bind_registration(module);
  bind_tile(module);
  bind_tables(module);
  bind_kernels(module);
  bind_fold(module);
  bind_fold_scan(module);
}

}  // namespace
}  // namespace warploom::python
