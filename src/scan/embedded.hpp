// The page's own web files, as part of the program.
#pragma once

#include <array>
#include <string_view>

namespace isentropic::scan {

std::string_view scan_style();  // web/scan.css
// web/elements.js, map.js, head_plots.js, head.js, sections.js, alternatives.js, theory.js and scan.js, in the order in
// which they run.
std::array<std::string_view, 8> scan_scripts();

}  // namespace isentropic::scan
