# Embeds the parts of an HTML report in the program: passes the paths of web files to `source` as definitions.
# web/page.css is ISENTROPIC_PAGE_CSS.
function(embed_web_files source)
  foreach(file ${ARGN})
    cmake_path(GET file FILENAME name)
    string(REPLACE "." "_" symbol ${name})
    string(TOUPPER ${symbol} symbol)
    list(APPEND definitions "ISENTROPIC_${symbol}=\"${file}\"")
  endforeach()
  # The files are included through assembly, which link-time optimisation does not see.
  set_source_files_properties(${source} PROPERTIES OBJECT_DEPENDS "${ARGN}" COMPILE_DEFINITIONS "${definitions}"
                                                   COMPILE_OPTIONS -fno-lto)
endfunction()
