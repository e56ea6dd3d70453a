// Embeds the web files.
#include "scan/embedded.hpp"

#include "report/embed_file.hpp"

ISENTROPIC_EMBED(isentropic_scan_style, ISENTROPIC_SCAN_CSS)
ISENTROPIC_EMBED(isentropic_scan_basics, ISENTROPIC_BASICS_JS)
ISENTROPIC_EMBED(isentropic_scan_elements, ISENTROPIC_ELEMENTS_JS)
ISENTROPIC_EMBED(isentropic_scan_map, ISENTROPIC_MAP_JS)
ISENTROPIC_EMBED(isentropic_scan_head_plots, ISENTROPIC_HEAD_PLOTS_JS)
ISENTROPIC_EMBED(isentropic_scan_weights, ISENTROPIC_WEIGHTS_JS)
ISENTROPIC_EMBED(isentropic_scan_picture, ISENTROPIC_PICTURE_JS)
ISENTROPIC_EMBED(isentropic_scan_head, ISENTROPIC_HEAD_JS)
ISENTROPIC_EMBED(isentropic_scan_sections, ISENTROPIC_SECTIONS_JS)
ISENTROPIC_EMBED(isentropic_scan_comparison, ISENTROPIC_COMPARISON_JS)
ISENTROPIC_EMBED(isentropic_scan_training, ISENTROPIC_TRAINING_JS)
ISENTROPIC_EMBED(isentropic_scan_alternatives, ISENTROPIC_ALTERNATIVES_JS)
ISENTROPIC_EMBED(isentropic_scan_theory, ISENTROPIC_THEORY_JS)
ISENTROPIC_EMBED(isentropic_scan_script, ISENTROPIC_SCAN_JS)

namespace isentropic::scan {

std::string_view scan_style() { return {isentropic_scan_style_begin, isentropic_scan_style_end}; }
std::array<std::string_view, 12> scan_scripts() {
  return {{{isentropic_scan_basics_begin, isentropic_scan_basics_end},
           {isentropic_scan_elements_begin, isentropic_scan_elements_end},
           {isentropic_scan_map_begin, isentropic_scan_map_end},
           {isentropic_scan_head_plots_begin, isentropic_scan_head_plots_end},
           {isentropic_scan_weights_begin, isentropic_scan_weights_end},
           {isentropic_scan_picture_begin, isentropic_scan_picture_end},
           {isentropic_scan_head_begin, isentropic_scan_head_end},
           {isentropic_scan_sections_begin, isentropic_scan_sections_end},
           {isentropic_scan_comparison_begin, isentropic_scan_comparison_end},
           {isentropic_scan_alternatives_begin, isentropic_scan_alternatives_end},
           {isentropic_scan_theory_begin, isentropic_scan_theory_end},
           {isentropic_scan_script_begin, isentropic_scan_script_end}}};
}

std::array<std::string_view, 2> training_scripts() {
  return {{{isentropic_scan_basics_begin, isentropic_scan_basics_end},
           {isentropic_scan_training_begin, isentropic_scan_training_end}}};
}

}  // namespace isentropic::scan
