// The files of a page that are part of the program.
#pragma once

#include <string_view>

namespace isentropic::report {

std::string_view page_style();   // web/page.css
std::string_view page_script();  // web/page.js
std::string_view d3_script();    // D3, with its notice in the first line

}  // namespace isentropic::report
