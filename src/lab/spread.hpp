// Mean and sample standard deviation of a quantity over seeds.
//
//   spread_of({1, 3}): mean 2, deviation sqrt 2.  One value: deviation 0.
#pragma once

#include <string>
#include <vector>

namespace isentropic::lab {

struct Spread {
  double mean = 0, deviation = 0;
};

Spread spread_of(const std::vector<double>& values);

// Over all layers and heads of a quantity measured for each.
double mean_of(const std::vector<std::vector<double>>& numbers);

// "0.981 ± 0.004"; for one seed, the mean alone.
std::string text_of(const std::vector<double>& values, int digits);

}  // namespace isentropic::lab
