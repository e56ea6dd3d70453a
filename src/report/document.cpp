// Writes the file, element by element.
#include "report/document.hpp"

#include "report/chart.hpp"
#include "report/embedded.hpp"

namespace isentropic::report {
namespace {

// JSON that no browser can mistake for markup: it contains no "<", so neither "</script>" nor "<!--".
std::string inert(std::string_view json) {
  std::string out;
  for (char c : json) c == '<' ? out += "\\u003c" : out += c;
  return out;
}

std::string element(std::string_view open, std::string_view body, std::string_view close) {
  return std::string(open).append(body).append(close).append("\n");
}

}  // namespace

std::string html(const Document& document) {
  std::string out = "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n";
  out += "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n";
  out += "<meta name=\"color-scheme\" content=\"light dark\">\n";
  out +=
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; "
      "script-src 'unsafe-inline'; img-src data:\">\n";
  out += element("<title>", escape(document.title), "</title>");
  out += element("<style>\n", page_style(), "</style>");
  for (const std::string_view style : document.styles) out += element("<style>\n", style, "</style>");
  out += "</head>\n<body>\n" + document.body;
  out += "<noscript>This page draws itself with JavaScript.</noscript>\n";
  out +=
      element("<script type=\"application/json\" id=\"" + document.data_id + "\">", inert(document.data), "</script>");
  out += element("<script>\n", d3_script(), "</script>");
  for (const std::string_view script : drawing_scripts()) out += element("<script>\n", script, "</script>");
  for (const std::string_view script : document.scripts) out += element("<script>\n", script, "</script>");
  return out + "</body>\n</html>\n";
}

}  // namespace isentropic::report
