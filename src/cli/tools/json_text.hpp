// JSON as the commands write it: objects indented by two spaces, except that those without nested objects go on one
// line, so that arrays of numbers stay compact.
//
//   {
//     "heads": [
//       {
//         "entropy": {"mean":1.5,"deviation":0},
//         "blocks": [[1,0],[0.5,0.5]]
//       }
//     ]
//   }
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace isentropic::cli {

// Ends with a newline. Names of files and columns may contain any bytes: invalid UTF-8 is replaced.
std::string json_text(const nlohmann::ordered_json& json);

}  // namespace isentropic::cli
