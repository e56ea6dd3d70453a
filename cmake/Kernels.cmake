# The tensor-core kernels, each compiled from its own file: kernel_instances(RESULT FOLDER TYPE...) writes the files for
# these element types into a folder and lists them.

function(kernel_instances result folder)
  set(from ${PROJECT_SOURCE_DIR}/src/attention/cuda)
  set(kernels)
  # Writes one file of a family, from the variables that its template uses.
  macro(instance family name)
    configure_file(${from}/${family}_instance.cu.in ${folder}/${family}_${name}.cu @ONLY)
    list(APPEND kernels ${folder}/${family}_${name}.cu)
  endmacro()

  set(forward_kernels 64_64_partition_none 64_64_entropy_none 64_64_all_none 64_64_all_groups 64_64_all_extras
      64_64_all_dense 128_128_partition_none 128_128_entropy_none 128_128_all_none 128_128_all_groups 128_128_all_extras
      128_128_all_dense 192_128_all_extras 192_128_all_dense 256_256_all_extras 256_256_all_dense)
  set(backward_kernels 64_entropy_large 64_all_large 64_extras_small 64_dense_small 128_entropy_large 128_all_large
      128_extras_small 128_dense_small 192_extras_wide 256_extras_wide)
  foreach(type ${ARGN})
    foreach(name ${forward_kernels})
      string(REPLACE _ ";" parts_of_name ${name})
      list(GET parts_of_name 0 d)
      list(GET parts_of_name 1 d_v)
      list(GET parts_of_name 2 moments)
      list(GET parts_of_name 3 terms)
      instance(forward ${type}_${name})
    endforeach()
    foreach(name ${backward_kernels})
      string(REPLACE _ ";" parts_of_name ${name})
      list(GET parts_of_name 0 d)
      list(GET parts_of_name 1 terms)
      list(GET parts_of_name 2 tile)
      instance(backward ${type}_${name})
    endforeach()
    foreach(d 64 128)
      instance(split ${type}_${d})
      instance(argmax ${type}_${d})
      instance(key_groups ${type}_${d})
      foreach(extras false true)
        instance(key_mass ${type}_${d}_${extras})
      endforeach()
    endforeach()
  endforeach()
  set(${result} ${kernels} PARENT_SCOPE)
endfunction()
