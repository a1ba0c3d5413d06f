# What the scripts of this folder do one after the other; SOURCE, BINARY, GENERATOR and COMPILER are given by -D. Each
# begins with nothing, ends at the first failure, and configures what it builds with COMPILER in release mode.

file(REMOVE_RECURSE ${BINARY})
file(MAKE_DIRECTORY ${BINARY})

function(step)
  execute_process(COMMAND ${ARGN} COMMAND_ERROR_IS_FATAL ANY)
endfunction()

# configure(FROM INTO [OPTION...])
function(configure from into)
  step(${CMAKE_COMMAND} -S ${from} -B ${into} -G ${GENERATOR} -DCMAKE_CXX_COMPILER=${COMPILER} -DCMAKE_BUILD_TYPE=Release ${ARGN})
endfunction()

function(build_and_run project)
  step(${CMAKE_COMMAND} --build ${project})
  step(${project}/consumer)
endfunction()
