// JSON as the commands write it: objects two spaces deep, but what holds no others in one line, so that arrays of
// numbers stay small.
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

// With a line end. Names of files and columns may hold any bytes: what is not UTF-8 is replaced.
std::string json_text(const nlohmann::ordered_json& json);

}  // namespace isentropic::cli
