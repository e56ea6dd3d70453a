// The plots of a page as a picture: what a study shows in a browser, for a document.
#pragma once

#include <string>
#include <vector>

#include "report/chart.hpp"
#include "report/plot.hpp"

namespace isentropic::report {

// Axes hold every curve. Logarithmic ones are marked at powers of two where all values are whole numbers.
Panel panel_of(const Plot& plot);

// columns: panels in a row; 0: all.
Figure figure_of(const std::string& title, const std::string& subtitle, const std::vector<Plot>& plots,
                 std::size_t columns = 0);

}  // namespace isentropic::report
