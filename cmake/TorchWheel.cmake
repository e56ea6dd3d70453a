# The libtorch of a Python environment's PyTorch, as the target torch_wheel.
#
# find_package(Torch) would need a whole CUDA toolkit for a CUDA build; headers and three libraries are enough.
function(find_torch_wheel python)
  execute_process(
    COMMAND ${python} -c
            "import torch\nfrom torch.utils.cpp_extension import include_paths, library_paths\n\
print(torch.__version__, ';'.join(include_paths()), library_paths()[0], int(torch._C._GLIBCXX_USE_CXX11_ABI), sep='\\n')"
    OUTPUT_VARIABLE found
    ERROR_VARIABLE trouble
    RESULT_VARIABLE status)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "${python} has no PyTorch: install torch there, or name another Python with "
                        "-DISENTROPIC_PYTHON=<path>.\n${trouble}")
  endif()
  string(REPLACE ";" "\\;" found "${found}")
  string(REGEX REPLACE "\n$" "" found "${found}")
  string(REPLACE "\n" ";" found "${found}")
  list(GET found 0 version)
  list(GET found 1 includes)
  list(GET found 2 libraries)
  list(GET found 3 abi)
  if(version VERSION_LESS 2.8)
    message(FATAL_ERROR "PyTorch ${version} is too old: 2.8 or newer is needed")
  endif()
  message(STATUS "PyTorch ${version} in ${libraries}")
  set_property(GLOBAL PROPERTY ISENTROPIC_TORCH_VERSION ${version})
  add_library(torch_wheel INTERFACE)
  target_include_directories(torch_wheel SYSTEM INTERFACE ${includes})
  # Its headers include their own fmt, whose library is not linked.
  target_compile_definitions(torch_wheel INTERFACE _GLIBCXX_USE_CXX11_ABI=${abi} FMT_HEADER_ONLY)
  # Nothing refers to libtorch.so directly, but it registers the devices: a linker that drops unreferenced libraries
  # (Ubuntu's does, Debian's does not) would leave a program without CUDA.
  target_link_libraries(
    torch_wheel INTERFACE -Wl,--push-state,--no-as-needed ${libraries}/libtorch.so -Wl,--pop-state
                          ${libraries}/libtorch_cpu.so ${libraries}/libc10.so)
endfunction()
