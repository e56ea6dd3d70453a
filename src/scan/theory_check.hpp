// Closed-form predictions for a model's heads, next to the measurements.
//
// In a row that sees n keys, the scores s_j (as they enter the softmax) have a standard deviation b over its keys. If
// they were Gaussian, the row would be spread over many keys below the freezing point b = sqrt(2 log n) and rest on a
// few above it, and its expected entropy would be a known function of b and n (theory/random_energy.hpp,
// random_scores.hpp).
//
// Noise eps on the scores, independent between keys, moves the output o = sum a_j v_j by (theory/noise.hpp)
//
//   bias ~ -r sum a_j^2 (v_j - o),     rms ~ sqrt(r sum a_j^2 |v_j - o|^2),     r = Var(e^eps) / (E e^eps)^2
//
// The worst perturbation of the scores with |ds| = 1 moves it, to first order, by the largest singular value of [a_j
// (v_j - o)]_j. Omitting all but a row's kTopKeys heaviest keys, with total mass m, moves it by at most 2 m max|v -
// vbar|, vbar the mean of v (theory/top_k.hpp), whatever the values are.
//
// A row whose token has occurred before has a match: the key after the latest earlier occurrence, where a copying head
// should look. Scores multiplied by f have the mean surprise S(f) = mean -log p(match) and the mean entropy H(f). The
// two are equal exactly where S is minimal (dS/df = mean E_p s - s_match): there the head is as uncertain as it should
// be. f < 1: it is overconfident; f > 1: underconfident.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace isentropic::scan {

struct Result;

inline constexpr std::int64_t kTopKeys = 32;

// Means over sampled rows of the second half of a window; NaN: not measured.
struct TheoryHead {
  static constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
  double spread = kNone;             // b
  double freezing_point = kNone;     // sqrt(2 log n)
  double skewness = kNone;           // of the scores: 0 for Gaussian ones
  double excess_kurtosis = kNone;    // of the scores: 0 for Gaussian ones
  double entropy = kNone;            // of the sampled rows
  double predicted_entropy = kNone;  // of as many Gaussian scores with this spread
  double worst_gain = kNone;         // |do| over |ds| in the worst direction, over the mean |o|
  double left_out = kNone;           // m, the mass outside the kTopKeys heaviest keys
  double left_out_change = kNone;    // of the output, over the mean |o|
  double left_out_bound = kNone;     // 2 m max|v - mean v| over the mean |o|
  double noise_rms = kNone;          // rms of |o~ - o| over the mean |o|
  double predicted_rms = kNone;
  double noise_bias = kNone;  // of o~ - o along the predicted direction, over the mean |o|
  double predicted_bias = kNone;
  double match_entropy = kNone, match_surprise = kNone;  // H(1) and S(1), over rows with a match
  double calibrated_factor = kNone;  // f with H(f) = S(f), in [1/256, 256]; NaN: smaller, the head ignores matches

  bool is_spread() const { return spread < freezing_point; }
  // |skewness| < 0.5 and |excess kurtosis| < 1; the thresholds are ours.
  bool has_gaussian_scores() const;
};

struct TheoryCheck {
  std::string noise = {};              // "gaussian:0.5"; empty: none
  std::vector<TheoryHead> heads = {};  // as Result::heads; empty: not requested
};

std::string theory_text(const Result& result);

nlohmann::ordered_json json_of(const TheoryCheck& check);
TheoryCheck theory_of(const nlohmann::ordered_json& json);  // throws nlohmann's exceptions
// For the page: names, titles and sentences of the numbers, and one row per head.
nlohmann::ordered_json theory_page_data(const Result& result);

}  // namespace isentropic::scan
