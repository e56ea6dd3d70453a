// Which estimator sees which layer compress, and how that correlates with the test accuracy.
//
//   drop        max over epochs of I(X;T), minus I(X;T) at the last epoch; the mean over seeds
//   spread      the standard error of that mean; 0 for one seed, whose spread is unknown
//   compresses  drop - spread > threshold
//
// A layer is a function of the one before it, so I(X;T) cannot rise with depth: the exact estimator must not show a
// rise (a violation of data processing). Binned and noisy estimates may: a layer that stretches its input lifts it
// above both.
//
// Compression and test accuracy are correlated over seeds; no sign is assumed. Undefined (NaN) for fewer than three
// seeds and if one of the two does not vary.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "plane/record.hpp"

namespace isentropic::plane {

inline constexpr double kThreshold = .05;      // bits
inline constexpr std::size_t kLeastSeeds = 3;  // for a correlation

struct Phase {
  std::string estimator = {}, layer = {};
  double start = 0, peak = 0, end = 0;  // I(X;T), means over seeds
  double drop = 0, spread = 0;
  bool compresses = false;
};

// One per estimator and layer. A record without moments has none.
std::vector<Phase> phases(const Record& record, double threshold = kThreshold);

struct Rise {
  std::string estimator = {};
  std::size_t compared = 0, risen = 0;  // pairs of neighbouring layers, at all epochs and seeds
  double largest = 0;                   // bits
};
std::vector<Rise> rises_with_depth(const Record& record);

struct Agreement {
  std::string estimator = {};
  std::size_t seeds = 0;
  double correlation = 0;  // between the mean drop over layers and the final test accuracy
};
std::vector<Agreement> compression_and_accuracy(const Record& record);

// Everything above as JSON, and warnings as sentences: {"threshold", "phases", "rises_with_depth",
// "compression_and_test_accuracy", "warnings"}.
nlohmann::ordered_json findings(const Record& record);
std::vector<std::string> warnings(const Record& record);

}  // namespace isentropic::plane
