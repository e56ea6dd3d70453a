// Score maps on a whole row: top-k selection, sparsemax thresholds, normalisers, and their gradients.
#include "attention/cpu/whole_rows/whole_row_map.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>

#include "attention/cpu/kernels/exp.hpp"
#include "attention/cpu/kernels/products.hpp"
#include "attention/cpu/kernels/softmax_row.hpp"

namespace isentropic {
namespace {

template <class T>
bool hidden(T score) {
  return score == -std::numeric_limits<T>::infinity();
}

// Orders need comparable numbers: a row with a NaN score becomes NaN as a whole.
template <class T>
bool spread_nan(std::span<T> scores) {
  if (std::none_of(scores.begin(), scores.end(), [](T s) { return s != s; })) return false;
  for (T& score : scores)
    if (!hidden(score)) score = std::numeric_limits<T>::quiet_NaN();
  return true;
}

// Of (alpha - 1) s - t.
double entmax_weight(double alpha, double above) { return above > 0 ? std::pow(above, 1 / (alpha - 1)) : 0.0; }

// t with sum max(x - t, 0)^{1 / (alpha - 1)} = 1, where the largest x is 0: it alone is 1 at t = -1, and k keys are at
// most 1/k each at t = -k^{1 - alpha}. Newton's steps, halved intervals where they leave it.
double entmax_threshold(double alpha, std::span<const double> x) {
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

}  // namespace

template <class T>
void WholeRowMap<T>::select(std::span<T> scores) {
  selected_.clear();
  if (spread_nan(scores)) return;
  for (std::int64_t j = 0; j < std::ssize(scores); ++j)
    if (!hidden(scores[j])) selected_.push_back(j);
  const auto before = [&](std::int64_t x, std::int64_t y) {
    return scores[x] != scores[y] ? scores[x] > scores[y] : x < y;
  };
  const auto kept = std::min<std::int64_t>(map_.keys(), std::ssize(selected_));
  std::partial_sort(selected_.begin(), selected_.begin() + kept, selected_.end(), before);
  selected_.resize(kept);
  keep(selected_, scores);
}

template <class T>
void WholeRowMap<T>::keep(std::span<const std::int64_t> keys, std::span<T> scores) {
  std::vector<T> kept;
  for (std::int64_t j : keys)
    if (j >= 0) kept.push_back(scores[j]);
  std::fill(scores.begin(), scores.end(), -std::numeric_limits<T>::infinity());
  for (std::size_t x = 0; x < kept.size(); ++x) scores[keys[x]] = kept[x];
}

template <class T>
SoftmaxRecord<double> WholeRowMap<T>::softmax_record(const MapInput& row, std::span<const T> scores) const {
  SoftmaxRecord<double> record;
  record.k = row.visible;
  for (std::int64_t j = 0; j < std::ssize(scores); ++j) {
    if (hidden(scores[j])) continue;
    if (!(scores[j] <= record.m)) record.m = scores[j], record.a = j;  // a NaN is taken too, and stays
  }
  for (T score : scores) {
    if (hidden(score)) continue;
    const double t = score - record.m, e = std::exp(t);
    record.sums = add(record.sums, {e, t * e, t * t * e, e * e});
  }
  return record;
}

// By the kernels of the streaming pass. False, and nothing done, where no finite weights come of it.
template <class T>
bool WholeRowMap<T>::streaming_softmax(std::span<const T> scores, std::span<T> weights) {
  buffer_.assign(static_cast<std::size_t>(padded(std::ssize(scores))), -std::numeric_limits<T>::infinity());
  std::ranges::copy(scores, buffer_.begin());
  const T m = row_maximum(buffer_.data(), std::ssize(buffer_));
  if (!std::isfinite(m)) return false;
  MomentLanes<T> lanes;
  exponentiate(MomentSet::partition, buffer_.data(), std::ssize(buffer_), T(1), m, lanes, nullptr);
  const T z = sum(lanes).z;
  if (!std::isfinite(z)) return false;  // a NaN among the scores
  for (std::size_t j = 0; j < weights.size(); ++j) weights[j] = buffer_[j] / z;
  return true;
}

template <class T>
void WholeRowMap<T>::softmax(const MapInput& row, std::span<const T> scores, std::span<T> weights) {
  if (streaming_softmax(scores, weights)) return;
  const double total = log_partition(softmax_record(row, scores));
  for (std::size_t j = 0; j < scores.size(); ++j)
    weights[j] = hidden(scores[j]) ? T(0) : static_cast<T>(std::exp(static_cast<double>(scores[j]) - total));
}

template <class T>
bool WholeRowMap<T>::is_not_finite(std::span<const T> scores, std::span<T> weights) {
  const auto spoils = [](T s) { return s != s || s == std::numeric_limits<T>::infinity(); };
  if (std::none_of(scores.begin(), scores.end(), spoils)) return false;
  std::transform(scores.begin(), scores.end(), weights.begin(),
                 [](T s) { return hidden(s) ? T(0) : std::numeric_limits<T>::quiet_NaN(); });
  return true;
}

// The threshold t with sum max(s - t, 0) = 1, by sorting the scores within 1 of the maximum: no other can count.
template <class T>
void WholeRowMap<T>::sparsemax(std::span<const T> scores, std::span<T> weights) {
  if (is_not_finite(scores, weights)) return;
  sorted_.assign(scores.begin(), scores.end());
  const T highest = sorted_.empty() ? T(0) : *std::max_element(sorted_.begin(), sorted_.end());
  std::erase_if(sorted_, [&](T s) { return hidden(s) || !(s >= highest - 1); });
  std::sort(sorted_.begin(), sorted_.end(), std::greater<>());
  double sum = 0, threshold = 0;
  for (std::size_t rank = 1; rank <= sorted_.size(); ++rank) {
    const double score = static_cast<double>(sorted_[rank - 1]) - static_cast<double>(highest);
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

template <class T>
void WholeRowMap<T>::entmax(double alpha, std::span<const T> scores, std::span<T> weights) {
  std::fill(weights.begin(), weights.end(), T(0));
  if (is_not_finite(scores, weights) || std::all_of(scores.begin(), scores.end(), hidden<T>)) return;
  const double highest = *std::max_element(scores.begin(), scores.end());
  const auto raised = [&](T s) { return (alpha - 1) * (static_cast<double>(s) - highest); };
  std::vector<double> candidates;  // others are below any threshold
  for (T s : scores)
    if (raised(s) > -1) candidates.push_back(raised(s));
  const double threshold = entmax_threshold(alpha, candidates);
  double sum = 0;
  for (double x : candidates) sum += entmax_weight(alpha, x - threshold);
  for (std::size_t j = 0; j < scores.size(); ++j)
    weights[j] = static_cast<T>(entmax_weight(alpha, raised(scores[j]) - threshold) / sum);
}

template <class T>
T WholeRowMap<T>::unnormalised(T score) const {
  switch (map_.kind()) {
    case ScoreMap::Kind::sigmoid:
      return 1 / (1 + std::exp(-(score + static_cast<T>(map_.offset()))));
    case ScoreMap::Kind::relu_squared:
      return score < 0 ? T(0) : score * score;
    case ScoreMap::Kind::decay:
      return T(1);
    default:
      return score;
  }
}

template <class T>
T WholeRowMap<T>::derivative(T score) const {
  switch (map_.kind()) {
    case ScoreMap::Kind::sigmoid: {
      const T y = unnormalised(score);
      return y * (1 - y);
    }
    case ScoreMap::Kind::relu_squared:
      return score < 0 ? T(0) : 2 * score;
    case ScoreMap::Kind::decay:
      return T(0);
    default:
      return T(1);
  }
}

template <class T>
T WholeRowMap<T>::decay(const MapInput& row, std::int64_t j) const {
  const bool decays = map_.kind() == ScoreMap::Kind::linear || map_.kind() == ScoreMap::Kind::decay;
  return decays ? static_cast<T>(std::pow(map_.gamma()[row.head], static_cast<double>(row.lag - j))) : T(1);
}

// A common factor cancels under l1 and l2: counting lags from the last visible key keeps powers of gamma from
// underflow.
template <class T>
MapInput WholeRowMap<T>::seen_from_last_key(MapInput row, std::span<const T> scores) const {
  if (map_.normaliser() != Normaliser::l1 && map_.normaliser() != Normaliser::l2) return row;
  for (std::int64_t j = std::ssize(scores) - 1; j >= 0; --j)
    if (!hidden(scores[j])) {
      row.lag = j;
      break;
    }
  return row;
}

template <class T>
double WholeRowMap<T>::normaliser(const MapInput& row, std::span<const T> b) const {
  double sum = 0;
  switch (map_.normaliser()) {
    case Normaliser::none:
      return 1;
    case Normaliser::visible:
      return static_cast<double>(row.visible);
    case Normaliser::l1:
      for (T x : b) sum += std::abs(static_cast<double>(x));
      return sum;
    case Normaliser::l2:
      for (T x : b) sum += static_cast<double>(x) * static_cast<double>(x);
      return std::sqrt(sum);
  }
  return 1;
}

template <class T>
void WholeRowMap<T>::forward(const MapInput& row, std::span<T> scores, std::span<T> weights) {
  switch (map_.kind()) {
    case ScoreMap::Kind::top_k:
      select(scores);
      [[fallthrough]];
    case ScoreMap::Kind::softmax:
    case ScoreMap::Kind::gumbel:
      return softmax(row, scores, weights);
    case ScoreMap::Kind::sparsemax:
      return sparsemax(scores, weights);
    case ScoreMap::Kind::entmax:
      return entmax(map_.alpha()[row.head], scores, weights);
    default:
      break;
  }
  const MapInput origin = seen_from_last_key(row, scores);
  for (std::int64_t j = 0; j < std::ssize(scores); ++j)
    weights[j] = hidden(scores[j]) ? T(0) : decay(origin, j) * unnormalised(scores[j]);
  const double n = normaliser(row, weights);
  for (T& weight : weights) weight = n == 0 ? T(0) : static_cast<T>(weight / n);
}

// dS_j = r_j (dA_j - sum_k r_k dA_k / sum_k r_k), r = a^{2 - alpha} where a is not 0.
template <class T>
void WholeRowMap<T>::sparse_backward(double alpha, std::span<const T> weights, std::span<T> gradient) {
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

// The formula of attention.hpp by l = log a and w = a^{1 - alpha} - 1, as a_j - r_j = a_j (sum_k a_k w_k - w_j) / (1 +
// sum_k a_k w_k): near alpha = 1, where its terms cancel, differences of nearly equal numbers would leave no digits.
template <class T>
double WholeRowMap<T>::alpha_gradient(const MapInput& row, std::span<const T> weights,
                                      std::span<const T> gradient) const {
  const double excess = map_.alpha()[row.head] - 1;
  double total = 0;  // 1, but for the rounding to T
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

template <class T>
void WholeRowMap<T>::backward(const MapInput& row, std::span<const T> scores, std::span<const T> weights,
                              std::span<T> gradient) {
  double inner = 0;  // <dA, a>, what a normaliser feeds back
  for (std::size_t j = 0; j < scores.size(); ++j)
    if (weights[j] != 0) inner += static_cast<double>(gradient[j]) * static_cast<double>(weights[j]);
  if (map_.kind() == ScoreMap::Kind::sparsemax) return sparse_backward(2, weights, gradient);
  if (map_.kind() == ScoreMap::Kind::entmax) return sparse_backward(map_.alpha()[row.head], weights, gradient);
  const MapInput origin = seen_from_last_key(row, scores);
  std::vector<T> b(scores.size());
  for (std::int64_t j = 0; j < std::ssize(scores); ++j)
    b[j] = hidden(scores[j]) ? T(0) : decay(origin, j) * unnormalised(scores[j]);
  const double n = normaliser(row, b);
  for (std::int64_t j = 0; j < std::ssize(scores); ++j) {
    if (hidden(scores[j]) || n == 0) {
      gradient[j] = T(0);
      continue;
    }
    double db = static_cast<double>(gradient[j]);
    if (map_.normaliser() == Normaliser::l1) db -= b[j] > 0 ? inner : (b[j] < 0 ? -inner : 0.0);
    if (map_.normaliser() == Normaliser::l2) db -= inner * static_cast<double>(weights[j]);
    gradient[j] =
        static_cast<T>(db / n * static_cast<double>(decay(origin, j)) * static_cast<double>(derivative(scores[j])));
  }
}

template <class T>
PlainRecord WholeRowMap<T>::plain_record(const MapInput& row, std::span<const T> scores,
                                         std::span<const T> weights) const {
  PlainRecord record;
  record.k = row.visible;
  record.max_score = -std::numeric_limits<double>::infinity();
  const bool linear = map_.kind() == ScoreMap::Kind::linear || map_.kind() == ScoreMap::Kind::decay;
  for (std::int64_t j = 0; j < std::ssize(scores); ++j) {
    if (hidden(scores[j])) continue;
    const double a = static_cast<double>(weights[j]), size = std::abs(a);
    // The score of a linear map is its unnormalised weight, decay included.
    const double score = static_cast<double>(linear ? decay(row, j) * unnormalised(scores[j]) : scores[j]);
    record.sum_absolute += size;
    record.sum_squares += a * a;
    record.max_absolute = size > record.max_absolute ? size : record.max_absolute;
    if (score > record.max_score) record.max_score = score, record.argmax = j;
    if (a > 0) record.entropy -= a * std::log(a);
  }
  if (record.sum_absolute != record.sum_absolute)
    record.entropy = record.max_absolute = record.max_score = record.sum_absolute;
  return record;
}

template class WholeRowMap<float>;
template class WholeRowMap<double>;

}  // namespace isentropic
