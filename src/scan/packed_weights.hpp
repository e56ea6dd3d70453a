// Weights in [0, 1] as text for a page, 16 bits each, in base64.
//
//   q = round(65534 sqrt p), low byte first; 65535 if not measured
//
// The root preserves small weights: the error is at most sqrt(p) / 65534, so 0.01 comes back as 0.0100 and 1e-4 as
// 1.00e-4. A weight of 1 is "/v8=". web/elements.js unpacks them.
#pragma once

#include <span>
#include <string>

namespace isentropic::scan {

std::string packed(std::span<const double> weights);

}  // namespace isentropic::scan
