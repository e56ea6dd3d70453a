// Do two columns depend on each other, and how much? Nearest neighbours find what correlation misses.
#include <cmath>
#include <cstdio>
#include <random>

#include "isentropic/information/mutual_information.hpp"
#include "isentropic/information/significance.hpp"

namespace isentropic::information {}  // namespace isentropic::information

int main() {
  using namespace isentropic;
  using namespace isentropic::information;
  const std::size_t n = 500;
  const double rho = 0.8;
  Table x(n, 1), line(n, 1), circle_x(n, 1), circle_y(n, 1), apart(n, 1);
  std::mt19937 generator(6);
  std::normal_distribution<double> normal;
  for (std::size_t i = 0; i < n; ++i) {
    x(i, 0) = normal(generator);
    line(i, 0) = rho * x(i, 0) + std::sqrt(1 - rho * rho) * normal(generator);
    const double angle = 10 * normal(generator);
    circle_x(i, 0) = std::cos(angle) + 0.1 * normal(generator);
    circle_y(i, 0) = std::sin(angle) + 0.1 * normal(generator);
    apart(i, 0) = normal(generator);
  }

  const auto measure = [](const Table& a, const Table& b, const Table&) { return ksg_mutual_information(a, b); };
  std::printf("                            KSG   Gaussian      p   (nats)\n");
  const auto report = [&](const char* what, const Table& a, const Table& b) {
    const Significance found = permutation_significance(a, b, {}, measure, 49, 1);
    std::printf("%-24s %6.3f %10.3f %6.2f\n", what, found.estimate, gaussian_mutual_information_from_samples(a, b),
                found.p_value);
    return found;
  };
  const Significance linear = report("a line, rho = 0.8", x, line);
  const Significance round = report("a circle", circle_x, circle_y);
  const Significance none = report("nothing", x, apart);
  const double truth = -std::log(1 - rho * rho) / 2;
  std::printf("the line in closed form: %.3f\n", truth);

  const bool right = std::abs(linear.estimate - truth) < 0.1 && linear.p_value == 0.02 && round.p_value == 0.02 &&
                     gaussian_mutual_information_from_samples(circle_x, circle_y) < 0.02 && none.p_value > 0.05;
  return right ? 0 : 1;
}
