// Maps with possibly zero weights: sparsemax and entmax on one row, and their gradients. Hidden keys have score -inf.
#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <span>
#include <vector>

namespace isentropic {

template <class T>
bool hidden(T score) {
  return score == -std::numeric_limits<T>::infinity();
}

// Whether the scores give no finite weights; if so, sets the weights of visible keys to NaN.
template <class T>
bool is_not_finite(std::span<const T> scores, std::span<T> weights) {
  const auto spoils = [](T s) { return s != s || s == std::numeric_limits<T>::infinity(); };
  if (std::none_of(scores.begin(), scores.end(), spoils)) return false;
  std::transform(scores.begin(), scores.end(), weights.begin(),
                 [](T s) { return hidden(s) ? T(0) : std::numeric_limits<T>::quiet_NaN(); });
  return true;
}

// The threshold t with sum max(s - t, 0) = 1, by sorting the scores within 1 of the maximum: no others can have weight.
template <class T>
void sparsemax(std::span<const T> scores, std::span<T> weights) {
  if (is_not_finite(scores, weights)) return;
  std::vector<T> sorted(scores.begin(), scores.end());
  const T highest = sorted.empty() ? T(0) : *std::max_element(sorted.begin(), sorted.end());
  std::erase_if(sorted, [&](T s) { return hidden(s) || !(s >= highest - 1); });
  std::sort(sorted.begin(), sorted.end(), std::greater<>());
  double sum = 0, threshold = 0;
  for (std::size_t rank = 1; rank <= sorted.size(); ++rank) {
    const double score = static_cast<double>(sorted[rank - 1]) - static_cast<double>(highest);
    sum += score;
    if (static_cast<double>(rank) * score <= sum - 1) break;
    threshold = (sum - 1) / static_cast<double>(rank);
  }
  for (std::size_t j = 0; j < scores.size(); ++j)
    weights[j] =
        hidden(scores[j])
            ? T(0)
            : static_cast<T>(std::max(0.0, static_cast<double>(scores[j]) - static_cast<double>(highest) - threshold));
}

// The weight for `above` = (alpha - 1) s - t.
inline double entmax_weight(double alpha, double above) { return above > 0 ? std::pow(above, 1 / (alpha - 1)) : 0.0; }

// t with sum max(x - t, 0)^{1 / (alpha - 1)} = 1, where the largest x is 0. The bracket: at t = -1 the largest alone
// has weight 1, and at t = -k^{1 - alpha} the k keys have at most 1/k each. Newton's steps, with bisection when they
// leave the bracket.
inline double entmax_threshold(double alpha, std::span<const double> x) {
  constexpr int kMostSteps = 100;
  double low = -1, high = -std::pow(static_cast<double>(x.size()), 1 - alpha), t = low;
  for (int step = 0; step < kMostSteps && low < high; ++step) {
    double sum = -1, slope = 0;
    for (double value : x) {
      const double weight = entmax_weight(alpha, value - t);
      sum += weight;
      if (weight > 0) slope -= std::pow(weight, 2 - alpha) / (alpha - 1);
    }
    (sum >= 0 ? low : high) = t;
    const double next = t - sum / slope, last = t;
    t = next > low && next < high ? next : low + (high - low) / 2;
    if (std::abs(t - last) <= 1e-16 * std::abs(t)) break;
  }
  return t;
}

template <class T>
void entmax(double alpha, std::span<const T> scores, std::span<T> weights) {
  std::fill(weights.begin(), weights.end(), T(0));
  if (is_not_finite(scores, weights) || std::all_of(scores.begin(), scores.end(), hidden<T>)) return;
  const double highest = *std::max_element(scores.begin(), scores.end());
  const auto raised = [&](T s) { return (alpha - 1) * (static_cast<double>(s) - highest); };
  std::vector<double> candidates;  // all others are below any threshold
  for (T s : scores)
    if (raised(s) > -1) candidates.push_back(raised(s));
  const double threshold = entmax_threshold(alpha, candidates);
  double sum = 0;
  for (double x : candidates) sum += entmax_weight(alpha, x - threshold);
  for (std::size_t j = 0; j < scores.size(); ++j)
    weights[j] = static_cast<T>(entmax_weight(alpha, raised(scores[j]) - threshold) / sum);
}

// For entmax, and for sparsemax, which is alpha = 2:
// dS_j = r_j (dA_j - sum_k r_k dA_k / sum_k r_k), r = a^{2 - alpha} where a is not 0.
template <class T>
void entmax_backward(double alpha, std::span<const T> weights, std::span<T> gradient) {
  const auto rate = [&](T a) { return a != 0 ? std::pow(static_cast<double>(a), 2 - alpha) : 0.0; };
  double sum = 0, rates = 0;
  for (std::size_t j = 0; j < weights.size(); ++j) {
    if (weights[j] == 0) continue;
    sum += rate(weights[j]) * static_cast<double>(gradient[j]);
    rates += rate(weights[j]);
  }
  for (std::size_t j = 0; j < weights.size(); ++j)
    gradient[j] =
        weights[j] != 0 ? static_cast<T>(rate(weights[j]) * (static_cast<double>(gradient[j]) - sum / rates)) : T(0);
}

// <dA, da / dalpha>, the formula of attention.hpp in terms of l = log a and w = a^{1 - alpha} - 1, since
// a_j - r_j = a_j (sum_k a_k w_k - w_j) / (1 + sum_k a_k w_k): near alpha = 1, where its terms cancel, differences of
// nearly equal numbers would leave no digits.
template <class T>
double entmax_alpha_gradient(double alpha, std::span<const T> weights, std::span<const T> gradient) {
  const double excess = alpha - 1;
  double total = 0;  // 1 up to rounding to T
  for (T a : weights) total += static_cast<double>(a);
  const auto log_of = [&](T a) { return std::log(static_cast<double>(a) / total); };
  double entropy = 0, w = 0;
  for (T a : weights) {
    if (a == 0) continue;
    const double share = static_cast<double>(a) / total;
    entropy -= share * log_of(a);
    w += share * std::expm1(-excess * log_of(a));
  }
  double sum = 0;
  for (std::size_t j = 0; j < weights.size(); ++j) {
    if (weights[j] == 0) continue;
    const double here = std::expm1(-excess * log_of(weights[j]));
    const double from_rest = (w - here) / (1 + w) / excess - log_of(weights[j]) - entropy * (1 + here) / (1 + w);
    sum += static_cast<double>(gradient[j]) * static_cast<double>(weights[j]) / total * from_rest / excess;
  }
  return sum;
}

}  // namespace isentropic
