// Score maps applied to a whole row: scores to weights, and weight gradients back to score gradients.
//
// Used for maps that need the whole row at once (top_k, sparsemax, normalisers) and wherever the weights themselves are
// needed. Hidden keys have score -inf and weight 0.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "attention/passes/statistics_writer.hpp"
#include "attention/problem/visibility.hpp"
#include "isentropic/attention.hpp"

namespace isentropic {

// What a map needs to know about the row besides its scores.
struct MapInput {
  std::int64_t head;
  std::int64_t lag;      // p_i - position of key 0, so key j is lag - j positions back
  std::int64_t visible;  // keys the row sees
};

template <class T>
class WholeRowMap {
 public:
  explicit WholeRowMap(const ScoreMap& map) : map_(map) {}

  // weights[j] from scores[j]. For top_k the scores not selected become -inf.
  void forward(const MapInput& row, std::span<T> scores, std::span<T> weights);

  // dS from dA, in place; scores and weights as forward left them. Not for softmax and top_k: gradient_row.hpp.
  void backward(const MapInput& row, std::span<const T> scores, std::span<const T> weights, std::span<T> gradient);

  // <dA, da / dalpha> of an entmax row; the weights as forward left them.
  double alpha_gradient(const MapInput& row, std::span<const T> weights, std::span<const T> gradient) const;

  // Keeps only the scores of these keys.
  static void keep(std::span<const std::int64_t> keys, std::span<T> scores);

  // The record of a softmax row, from `scores` as forward left them.
  SoftmaxRecord<double> softmax_record(const MapInput& row, std::span<const T> scores) const;
  PlainRecord plain_record(const MapInput& row, std::span<const T> scores, std::span<const T> weights) const;

  const std::vector<std::int64_t>& selected() const { return selected_; }  // of the last top_k row, by decreasing score

 private:
  T unnormalised(T score) const;  // f(s)
  T derivative(T score) const;    // f'(s)
  T decay(const MapInput& row, std::int64_t j) const;
  MapInput seen_from_last_key(MapInput row, std::span<const T> scores) const;
  void select(std::span<T> scores);
  void softmax(const MapInput& row, std::span<const T> scores, std::span<T> weights);
  bool streaming_softmax(std::span<const T> scores, std::span<T> weights);
  double normaliser(const MapInput& row, std::span<const T> unnormalised) const;

  const ScoreMap& map_;
  std::vector<std::int64_t> selected_;
  std::vector<T> buffer_;
};

}  // namespace isentropic
