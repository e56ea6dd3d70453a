// The files of a page, embedded in the program.
#pragma once

#include <array>
#include <string_view>

namespace isentropic::report {

std::string_view page_style();  // web/page.css
std::string_view d3_script();   // D3, with its licence notice in the first line
// web/formulas.js, plots.js, frames.js and text_parts.js: drawing functions, in the order in which they run.
std::array<std::string_view, 4> drawing_scripts();
std::string_view page_script();  // web/page.js, which draws the parts of a page with them

}  // namespace isentropic::report
