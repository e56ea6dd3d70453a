// What the source concludes.
#include "ledger/concentration/subjects.hpp"

namespace isentropic::ledger::concentration {
namespace {

// Quadratic attention: exp, or relu^2 with a negative mean score; without the condition, relu^2 with a positive one.
void quadratic_can_linear_cannot(Check& check) {
  double least = 1;
  for (const double gamma : {0.2, 0.5, 1.0, 2.0, 3.0, 4.0}) {
    const double found =
        check.choose(sparsity_by_partitions({0.5, gamma}), sparsity_by_quadrature(relu_squared, {0.5, gamma}));
    least = std::min(least, found);
  }
  check.at_most("least S of quadratic attention, gamma up to 4", least, 0.01);
  check.at_most("relu^2 with beta = -1, gamma = 0.25", sparsity_by_quadrature(relu_squared, {-1, 0.25}), 0.01);
  double linear = 1;
  for (const double gamma : {0.2, 0.5, 1.0, 2.0, 3.0, 4.0, 1000.0})
    linear = std::min(linear, sparsity_by_quadrature([](double x) { return x; }, {0.5, gamma}));
  check.at_least("least S of the identity", linear, kIdentitySparsityFloor, 1e-9);
}

}  // namespace

std::vector<Claim> conclusion_claims() {
  return {computed(
      "004-13", Verdict::holds_if, "Quadratic attention can be as sparse as one likes; linear attention cannot easily",
      "if the map is exp, or relu^2 with beta < 0, the keys are Gaussian and n -> inf", quadratic_can_linear_cannot)};
}

}  // namespace isentropic::ledger::concentration
