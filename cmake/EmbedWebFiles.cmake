# What an HTML report is made of goes into the program: paths of D3 and of our own web files, as definitions of `source`.
function(embed_web_files source web)
  find_file(D3_SCRIPT d3.min.js PATHS /usr/share/nodejs/d3/dist REQUIRED)
  set(definitions "ISENTROPIC_D3_SCRIPT=\"${D3_SCRIPT}\"")
  foreach(file page.css formulas.js plots.js page.js)
    string(REGEX REPLACE "\\.(css|js)$" "_\\1" symbol ${file})
    string(TOUPPER ${symbol} symbol)
    list(APPEND definitions "ISENTROPIC_${symbol}=\"${web}/${file}\"")
    list(APPEND embedded ${web}/${file})
  endforeach()
  # The files come in by assembly, which link-time optimisation does not see.
  set_source_files_properties(${source} PROPERTIES OBJECT_DEPENDS "${D3_SCRIPT};${embedded}"
                                                   COMPILE_DEFINITIONS "${definitions}" COMPILE_OPTIONS -fno-lto)
endfunction()
