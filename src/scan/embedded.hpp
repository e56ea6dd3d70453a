// The pages' own web files, embedded in the program.
#pragma once

#include <array>
#include <string_view>

namespace isentropic::scan {

std::string_view scan_style();  // web/scan.css
// For the page of a scan: web/basics.js, elements.js, map.js, head_plots.js, weights.js, picture.js, head.js,
// sections.js, comparison.js, alternatives.js, theory.js and scan.js, in the order in which they run.
std::array<std::string_view, 12> scan_scripts();
// For the page of a training run: web/basics.js and training.js.
std::array<std::string_view, 2> training_scripts();

}  // namespace isentropic::scan
