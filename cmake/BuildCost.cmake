# Included by -DCMAKE_PROJECT_INCLUDE (./dev build-cost): every command of the build runs under build_cost.py. Not as a
# compiler launcher, which `warploom wrap` would take for the compiler: so the rewriting of our own kernels counts, too.
# The interpreter itself: `python3` may be a script that looks for it, at several times its cost.
execute_process(COMMAND python3 -c "import sys; print(sys.executable)" COMMAND_ERROR_IS_FATAL ANY
  OUTPUT_VARIABLE python OUTPUT_STRIP_TRAILING_WHITESPACE)
set(measured "${python} -SE ${CMAKE_CURRENT_LIST_DIR}/build_cost.py unit")
set_property(GLOBAL PROPERTY RULE_LAUNCH_COMPILE "${measured} <OBJECT> --")
set_property(GLOBAL PROPERTY RULE_LAUNCH_LINK "${measured} <TARGET> --")
set_property(GLOBAL PROPERTY RULE_LAUNCH_CUSTOM "${measured} <OUTPUT> --")
