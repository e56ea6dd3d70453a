// The frame of a page: one HTML file with its data, styles, D3 and scripts inside. It fetches nothing, and its data is
// never interpreted as markup.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace isentropic::report {

struct Document {
  std::string title = {};
  std::string body = {};                       // HTML
  std::string data_id = {}, data = {};         // JSON, in an element with that id
  std::vector<std::string_view> styles = {};   // after page.css
  std::vector<std::string_view> scripts = {};  // after D3 and the functions that draw
};

std::string html(const Document& document);

}  // namespace isentropic::report
