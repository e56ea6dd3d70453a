#include "information/validate.hpp"

#include <cmath>
#include <sstream>

#include "isentropic/error.hpp"

namespace isentropic {

void require_distribution(const std::string& name, std::span<const double> p) {
  if (p.empty()) throw Error(name, "empty", "at least one probability");
  double sum = 0;
  for (std::size_t i = 0; i < p.size(); ++i) {
    if (!(p[i] >= 0) || std::isinf(p[i])) {
      std::ostringstream met;
      met << p[i];
      throw Error(name + "[" + std::to_string(i) + "]", met.str(), "a probability");
    }
    sum += p[i];
  }
  if (std::abs(sum - 1) > 1e-9) {
    std::ostringstream met;
    met.precision(12);
    met << sum;
    throw Error("the sum of " + name, met.str(), "1 within 1e-9");
  }
}

}  // namespace isentropic
