#include "theory/require.hpp"

#include <cmath>

#include "isentropic/error.hpp"

namespace isentropic {

void require_positive(const std::string& name, double x) {
  if (!(std::isfinite(x) && x > 0)) throw Error(name, std::to_string(x), "a finite number > 0");
}

void require_at_least_zero(const std::string& name, double x) {
  if (!(std::isfinite(x) && x >= 0)) throw Error(name, std::to_string(x), "a finite number >= 0");
}

void require_keys(const std::string& name, std::int64_t n) {
  if (n < 1) throw Error(name, std::to_string(n), "a number of keys >= 1");
}

void require_scores(const std::string& name, std::span<const double> scores) {
  if (scores.empty()) throw Error(name, "empty", "at least one score");
  for (std::size_t i = 0; i < scores.size(); ++i)
    if (!std::isfinite(scores[i]))
      throw Error(name + "[" + std::to_string(i) + "]", std::to_string(scores[i]), "a finite score");
}

}  // namespace isentropic
