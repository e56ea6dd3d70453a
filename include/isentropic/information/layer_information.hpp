// A point of the information plane: I(X;T) and I(T;Y) of a layer T = f(X), by named estimators. Bits.
//
// X is one of N inputs, all equally likely; each has a label Y. T is a function of X, so I(X;T) = H(T). That is log2 N
// as soon as no two inputs share their activations: to measure anything else an estimator has to coarsen T or add noise
// to it.
//
//   exact               H of the distinct rows, as float32
//   width:W             every activation cut to floor(t / W); Saxe et al. 2018
//   count:B             B bins of equal width over the range of the whole layer
//   equal_mass:B        B bins of equal mass for each unit
//   kolchinsky_upper:V  T + N(0, V): pairwise bound by the distance of Kullback and Leibler (noise_bounds.hpp)
//   kolchinsky_lower:V  T + N(0, V): pairwise bound by the distance of Bhattacharyya
//   noise:V             T + N(0, V): mean of log2 p(t|x) / p(t) over one t drawn for each x
//
// I(T;Y) is I(X;T) - I(X;T|Y), both terms by the same estimator; for the two bounds that difference is the curve
// usually plotted, but not itself a bound. Estimators with noise use at most 1024 inputs, drawn once: they cannot
// exceed 10 bits. By hand: activations (0, .2, .6, .7), labels (0, 0, 1, 0): exact (2, .811), width:.5 (1, .311).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "isentropic/executor.hpp"
#include "isentropic/export.hpp"
#include "isentropic/information/table.hpp"

namespace isentropic::information {

struct ISENTROPIC_API LayerEstimator {
  enum class Kind : std::uint8_t { exact, width, count, equal_mass, kolchinsky_upper, kolchinsky_lower, noise };
  Kind kind = Kind::exact;
  double parameter = 0;  // W, B or V

  // "width:0.5". Error lists the names.
  static LayerEstimator named(const std::string& text);
  std::string name() const;
};

// exact, two widths, counts, both bounds and noise; the last three with that noise variance.
ISENTROPIC_API std::vector<LayerEstimator> usual_layer_estimators(double noise_variance = .1);

struct ISENTROPIC_API LayerInformation {
  double input = 0, label = 0;  // I(X;T), I(T;Y)
};

// One input per row. `inputs` says which rows are the same X; without it every row is a distinct one. Error: non-finite
// activations; a number of labels or inputs other than the number of rows.
ISENTROPIC_API LayerInformation layer_information(const LayerEstimator& estimator, const Table& activations,
                                                  std::span<const std::int64_t> labels,
                                                  std::span<const std::int64_t> inputs = {},
                                                  Executor& executor = default_executor());

}  // namespace isentropic::information
