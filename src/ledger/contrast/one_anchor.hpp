// One anchor among its candidates: the case on which InfoNCE's gradients are checked.
#pragma once

#include <string>

#include "base/random.hpp"
#include "ledger/check.hpp"
#include "ledger/contrast/losses.hpp"

namespace isentropic::ledger::contrast {

// An anchor and N keys, the first being its positive.
struct Case {
  std::vector<double> query;
  information::Table keys;
  double temperature = 1;

  Contrast contrast() const { return one_anchor(query, keys, temperature); }
  double loss() const { return losses_of(contrast())[0]; }
  std::vector<double> weights() const;   // P
  std::vector<double> mean_key() const;  // E_P[k]
};

// Unit vectors in random directions.
Case random_case(Random& random, double temperature, std::size_t n = 9, std::size_t d = 6);

// Central differences of the loss with respect to the query, and to key j.
std::vector<double> query_slopes(const Case& c);
std::vector<double> key_slopes(const Case& c, std::size_t j);

// a x + b y
std::vector<double> combined(double a, std::span<const double> x, double b, std::span<const double> y);

constexpr double kTemperatures[] = {0.07, 0.2, 1.0, 5.0};
inline std::string at_tau(double temperature) { return ", tau = " + short_text(temperature); }

}  // namespace isentropic::ledger::contrast
