# An install tree of BUILD, moved to TREE.
file(REMOVE_RECURSE ${TREE} ${TREE}-before)
execute_process(COMMAND ${CMAKE_COMMAND} --install ${BUILD} --prefix ${TREE}-before COMMAND_ERROR_IS_FATAL ANY OUTPUT_QUIET)
file(RENAME ${TREE}-before ${TREE})
