// Score maps on a whole row: top-k selection, normalisers, and their gradients.
#include "attention/cpu/whole_rows/whole_row_map.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "attention/cpu/kernels/exp.hpp"
#include "attention/cpu/kernels/products.hpp"
#include "attention/cpu/kernels/softmax_row.hpp"
#include "attention/cpu/whole_rows/sparse_maps.hpp"

namespace isentropic {
namespace {

// Sorting needs comparable numbers: a row with a NaN score becomes NaN entirely.
template <class T>
bool spread_nan(std::span<T> scores) {
  if (std::none_of(scores.begin(), scores.end(), [](T s) { return s != s; })) return false;
  for (T& score : scores)
    if (!hidden(score)) score = std::numeric_limits<T>::quiet_NaN();
  return true;
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
    if (!(scores[j] <= record.m)) record.m = scores[j], record.a = j;  // a NaN is accepted too, and stays
  }
  for (T score : scores) {
    if (hidden(score)) continue;
    const double t = score - record.m, e = std::exp(t);
    record.sums = add(record.sums, {e, t * e, t * t * e, e * e});
  }
  return record;
}

// Uses the kernels of the streaming pass. Returns false, leaving the weights alone, if they would not be finite.
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

// A common factor cancels under l1 and l2, so counting lags from the last visible key keeps powers of gamma from
// underflowing.
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
      return sparsemax<T>(scores, weights);
    case ScoreMap::Kind::entmax:
      return entmax<T>(map_.alpha()[row.head], scores, weights);
    default:
      break;
  }
  const MapInput origin = seen_from_last_key(row, scores);
  for (std::int64_t j = 0; j < std::ssize(scores); ++j)
    weights[j] = hidden(scores[j]) ? T(0) : decay(origin, j) * unnormalised(scores[j]);
  const double n = normaliser(row, weights);
  for (T& weight : weights) weight = n == 0 ? T(0) : static_cast<T>(weight / n);
}

template <class T>
double WholeRowMap<T>::alpha_gradient(const MapInput& row, std::span<const T> weights,
                                      std::span<const T> gradient) const {
  return entmax_alpha_gradient<T>(map_.alpha()[row.head], weights, gradient);
}

template <class T>
void WholeRowMap<T>::backward(const MapInput& row, std::span<const T> scores, std::span<const T> weights,
                              std::span<T> gradient) {
  double inner = 0;  // <dA, a>, for the gradient through the normaliser
  for (std::size_t j = 0; j < scores.size(); ++j)
    if (weights[j] != 0) inner += static_cast<double>(gradient[j]) * static_cast<double>(weights[j]);
  if (map_.kind() == ScoreMap::Kind::sparsemax) return entmax_backward<T>(2, weights, gradient);
  if (map_.kind() == ScoreMap::Kind::entmax) return entmax_backward<T>(map_.alpha()[row.head], weights, gradient);
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
