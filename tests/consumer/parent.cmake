# A project that adds our folder to its own installs nothing of ours.
include(${CMAKE_CURRENT_LIST_DIR}/steps.cmake)

configure(${CMAKE_CURRENT_LIST_DIR}/parent ${BINARY}/build -DWARPLOOM=${SOURCE})
step(${CMAKE_COMMAND} --build ${BINARY}/build)
step(${CMAKE_COMMAND} --install ${BINARY}/build --prefix ${BINARY}/prefix)
file(GLOB_RECURSE installed RELATIVE ${BINARY}/prefix ${BINARY}/prefix/*)
if(NOT installed STREQUAL "bin/parent")
  message(FATAL_ERROR "installed are: ${installed}; wanted is bin/parent alone")
endif()
step(${BINARY}/prefix/bin/parent)
