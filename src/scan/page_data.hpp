// What the page's scripts read: results with rounded numbers and without most of their drawings.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "scan/page.hpp"
#include "scan/terms.hpp"

namespace isentropic::scan {

// JSON, read by scan/web/elements.js. For a comparison it is that of the first result, with the second one as "against"
// and the changes.
std::string page_data(const Result& result, const PageOptions& options);
std::string page_data(const Comparison& comparison, const PageOptions& options);

// Parts of it: the heads, with a value for each of the columns; the text, with the tokens their drawings name.
nlohmann::ordered_json page_heads(const Result& result, const std::vector<Term>& columns,
                                  const std::vector<bool>& in_full);
nlohmann::ordered_json page_tokens(const Result& result, const std::vector<bool>& in_full);
std::string cut_token(const std::string& token);  // its first characters

}  // namespace isentropic::scan
