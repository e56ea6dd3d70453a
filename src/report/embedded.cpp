// Embeds the files.
#include "report/embedded.hpp"

#include "report/embed_file.hpp"

ISENTROPIC_EMBED(isentropic_page_style, ISENTROPIC_PAGE_CSS)
ISENTROPIC_EMBED(isentropic_formulas_script, ISENTROPIC_FORMULAS_JS)
ISENTROPIC_EMBED(isentropic_plots_script, ISENTROPIC_PLOTS_JS)
ISENTROPIC_EMBED(isentropic_frames_script, ISENTROPIC_FRAMES_JS)
ISENTROPIC_EMBED(isentropic_text_parts_script, ISENTROPIC_TEXT_PARTS_JS)
ISENTROPIC_EMBED(isentropic_page_script, ISENTROPIC_PAGE_JS)
ISENTROPIC_EMBED(isentropic_d3_script, ISENTROPIC_D3_MIN_JS)

namespace isentropic::report {

std::string_view page_style() { return {isentropic_page_style_begin, isentropic_page_style_end}; }
std::string_view d3_script() { return {isentropic_d3_script_begin, isentropic_d3_script_end}; }
std::array<std::string_view, 4> drawing_scripts() {
  return {{{isentropic_formulas_script_begin, isentropic_formulas_script_end},
           {isentropic_plots_script_begin, isentropic_plots_script_end},
           {isentropic_frames_script_begin, isentropic_frames_script_end},
           {isentropic_text_parts_script_begin, isentropic_text_parts_script_end}}};
}
std::string_view page_script() { return {isentropic_page_script_begin, isentropic_page_script_end}; }

}  // namespace isentropic::report
