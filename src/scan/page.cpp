// Assembles the page: its data, and the scripts that draw it.
#include "scan/page.hpp"

#include "report/chart.hpp"
#include "report/document.hpp"
#include "scan/embedded.hpp"
#include "scan/page_data.hpp"

namespace isentropic::scan {
namespace {

std::string name_or(const std::string& name, const char* otherwise) { return name.empty() ? otherwise : name; }

std::string document_of(const std::string& title, const std::string& heading, std::string data) {
  report::Document document{.title = title, .data_id = "scan"};
  document.body = "<header>\n<h1>" + heading + "</h1>\n</header>\n<main></main>\n<aside hidden></aside>\n";
  document.data = std::move(data);
  document.styles = {scan_style()};
  for (const std::string_view script : scan_scripts()) document.scripts.push_back(script);
  return report::html(document);
}

}  // namespace

std::string page(const Result& result, const PageOptions& options) {
  const std::string name = name_or(result.model, "A model");
  return document_of(name + ": what its heads do", report::escape(name), page_data(result, options));
}

std::string page(const Comparison& comparison, const PageOptions& options) {
  const std::string first = name_or(comparison.first_name, "first"), second = name_or(comparison.second_name, "second");
  return document_of(first + " and " + second + ": what changed in their heads",
                     report::escape(first) + " <span class=\"quiet\">→</span> " + report::escape(second),
                     page_data(comparison, options));
}

}  // namespace isentropic::scan
