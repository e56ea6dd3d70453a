// Puts the page together: its data, and the scripts that draw it.
#include "scan/page.hpp"

#include "report/chart.hpp"
#include "report/document.hpp"
#include "scan/embedded.hpp"
#include "scan/page_data.hpp"

namespace isentropic::scan {

std::string page(const Result& result) {
  const std::string title = result.model.empty() ? "A model" : result.model;
  report::Document document{.title = title + ": what its heads do", .data_id = "scan"};
  document.body =
      "<header>\n<h1>" + report::escape(title) + "</h1>\n</header>\n<main></main>\n<aside hidden></aside>\n";
  document.data = page_data(result);
  document.styles = {scan_style()};
  for (const std::string_view script : scan_scripts()) document.scripts.push_back(script);
  return report::html(document);
}

}  // namespace isentropic::scan
