// Random rows measured by the kernels: independent scores, and random keys at many lengths.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "experiments/lengths/measure.hpp"
#include "experiments/tools/estimate.hpp"
#include "experiments/tools/kernels.hpp"
#include "isentropic/scale.hpp"
#include "ledger/check.hpp"

namespace isentropic::ledger::invariance {

// Means over rows of n independent scores under softmax(lambda s).
struct RowMeans {
  Mean entropy;
  Mean mean_score;    // E_p s
  Mean log_mean_exp;  // log Z - log n
  Mean peak;
  Mean collision;
  Mean maximum;  // max s
  Mean mean;     // arithmetic mean of s
};

// draw() returns one score.
RowMeans drawn_rows(std::size_t n, double lambda, std::int64_t rows, const std::function<double()>& draw);
RowMeans gaussian_rows(Check& check, std::size_t n, double lambda, std::int64_t rows);
// Expectation of the largest of n standard normal numbers, by quadrature.
double mean_of_maximum(double n);
// Compares `quoted`, a rounded mean of `draws` independent rows, with the expectation; a row varies as those in `rows`.
void compare_with_draws(Check& check, const std::string& name, double quoted, double draws, double rounding,
                        const Mean& rows, double expectation);
// cos(theta) of random directions in R^d, d >= 3.
double random_cosine(Random& random, int d);

std::vector<std::int64_t> powers_of_two(int first, int last);
// 2^6 ... 2^12 in the quick tier, 2^6 ... 2^17 in the thorough one.
std::vector<std::int64_t> context_lengths(const Check& check);

// Random keys of norm sqrt d under several scales, at each length.
struct Curve {
  std::vector<std::int64_t> lengths;
  std::vector<experiments::lengths::Measurement> points;

  Estimate entropy(std::size_t i) const { return {points[i].entropy.mean, points[i].entropy.error}; }
  Estimate needle(std::size_t i) const { return {points[i].needle.mean, points[i].needle.error}; }
  Estimate slope() const;
  std::vector<double> x() const;  // the lengths
  std::vector<double> y() const;  // the entropies
};
// `rows` per length below 2^13, fewer beyond.
std::vector<Curve> draw_curves(Check& check, const std::vector<Scale>& laws, const std::vector<std::int64_t>& lengths,
                               std::int64_t d, std::int64_t rows,
                               experiments::lengths::Keys keys = experiments::lengths::Keys::random);
Curve draw_curve(Check& check, const Scale& law, const std::vector<std::int64_t>& lengths, std::int64_t d,
                 std::int64_t rows);

// Compares every point of the curve with the exact expectation under its law.
void compare_with_theory(Check& check, const std::string& name, const Curve& curve, const Scale& law, std::int64_t d);

// lambda as inferred from the weights: the log-odds of two of n keys whose scores differ by 1.
double scale_in_use(const Scale& scale, std::size_t n, std::size_t d);

// A matrix of independent standard normal numbers.
Table normal_table(Random& random, std::size_t rows, std::size_t columns, double scale = 1);
// The same with every row scaled to the given norm.
Table directions(Random& random, std::size_t rows, std::size_t columns, double norm);

// The maximum of |x - y|.
double difference(std::span<const double> x, std::span<const double> y);

}  // namespace isentropic::ledger::invariance
