// The assembler takes the files in as they are; CMake names them and rebuilds this file when they change.
#include "report/embedded.hpp"

#define ISENTROPIC_EMBED(symbol, file)                                                                             \
  asm(".pushsection .rodata\n" #symbol "_begin:\n.incbin \"" file "\"\n" #symbol "_end:\n.byte 0\n.popsection\n"); \
  extern "C" __attribute__((visibility("hidden"))) const char symbol##_begin[], symbol##_end[];

ISENTROPIC_EMBED(isentropic_page_style, ISENTROPIC_PAGE_CSS)
ISENTROPIC_EMBED(isentropic_formulas_script, ISENTROPIC_FORMULAS_JS)
ISENTROPIC_EMBED(isentropic_plots_script, ISENTROPIC_PLOTS_JS)
ISENTROPIC_EMBED(isentropic_page_script, ISENTROPIC_PAGE_JS)
ISENTROPIC_EMBED(isentropic_d3_script, ISENTROPIC_D3_SCRIPT)

namespace isentropic::report {

std::string_view page_style() { return {isentropic_page_style_begin, isentropic_page_style_end}; }
std::string_view d3_script() { return {isentropic_d3_script_begin, isentropic_d3_script_end}; }
std::array<std::string_view, 3> page_scripts() {
  return {{{isentropic_formulas_script_begin, isentropic_formulas_script_end},
           {isentropic_plots_script_begin, isentropic_plots_script_end},
           {isentropic_page_script_begin, isentropic_page_script_end}}};
}

}  // namespace isentropic::report
