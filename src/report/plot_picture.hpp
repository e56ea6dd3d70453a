// The plots of a page as a picture: a study's browser output, for a document.
#pragma once

#include <string>
#include <vector>

#include "report/chart.hpp"
#include "report/plot.hpp"

namespace isentropic::report {

// Axes cover every curve. Logarithmic ones have ticks at powers of two if all values are integers.
Panel panel_of(const Plot& plot);

// columns: panels in a row; 0: all.
Figure figure_of(const std::string& title, const std::string& subtitle, const std::vector<Plot>& plots,
                 std::size_t columns = 0);

}  // namespace isentropic::report
