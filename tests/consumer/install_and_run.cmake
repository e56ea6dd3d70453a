# Installs the library under `scratch`, builds the consumer and the examples against what was installed, and runs them.
# Given: library_build, scratch, generator, compiler, flags, version.
function(run)
  execute_process(COMMAND ${ARGV} COMMAND_ERROR_IS_FATAL ANY)
endfunction()

# What an earlier run installed must not stand in for a file that is no longer installed.
file(REMOVE_RECURSE ${scratch})
run(${CMAKE_COMMAND} --install ${library_build} --prefix ${scratch}/prefix)
set(toolchain -G ${generator} -D CMAKE_PREFIX_PATH=${scratch}/prefix -D CMAKE_CXX_COMPILER=${compiler}
              -D CMAKE_CXX_FLAGS=${flags})
run(${CMAKE_COMMAND} -S ${CMAKE_CURRENT_LIST_DIR} -B ${scratch}/build -D version=${version} ${toolchain})
run(${CMAKE_COMMAND} --build ${scratch}/build)
run(${scratch}/build/consumer)
run(${scratch}/build/estimates)

run(${CMAKE_COMMAND} -S ${CMAKE_CURRENT_LIST_DIR}/../../examples/cpp -B ${scratch}/examples ${toolchain})
run(${CMAKE_COMMAND} --build ${scratch}/examples)
run(${CMAKE_CTEST_COMMAND} --test-dir ${scratch}/examples --output-on-failure)
