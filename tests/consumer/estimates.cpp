// A fair coin seen twice: one bit. Exit status 0 if the installed estimators agree.
#include <cmath>
#include <cstdio>

#include "isentropic/information/distribution.hpp"

int main() {
  using namespace isentropic::information;
  const double bits = to_bits(mutual_information(Table{{0.5, 0}, {0, 0.5}}));
  std::printf("I = %.6f bits\n", bits);
  return std::abs(bits - 1) < 1e-12 ? 0 : 1;
}
