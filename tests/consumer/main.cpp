// Equal scores: the entropy of a row that sees n keys is log n. Exit status 0 if the installed library agrees.
#include <array>
#include <cmath>
#include <cstdio>
#include <cstring>

#include "isentropic/attention.hpp"
#include "isentropic/hierarchical_attention.hpp"
#include "isentropic/version.hpp"

int main() {
  using namespace isentropic;
  constexpr std::int64_t n = 8, d = 4;
  const std::array<float, n * d> zeros{};
  const View rows(zeros.data(), {1, 1, n, d});

  const AttentionResult result =
      attention({.query = rows, .key = rows, .value = rows, .statistics = Statistics::all()});
  const double entropy = result.statistics.entropy.at({0, 0, n - 1});
  std::printf("isentropic %s: H = %.6f, log n = %.6f\n", ISENTROPIC_VERSION, entropy, std::log(n));

  const bool entropy_is_right = std::abs(entropy - std::log(n)) < 1e-6;
  const bool version_is_right = std::strcmp(ISENTROPIC_VERSION, PACKAGE_VERSION) == 0;
  return entropy_is_right && version_is_right ? 0 : 1;
}
