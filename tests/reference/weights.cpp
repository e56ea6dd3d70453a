// Weights of each map by its definition.
#include "reference/weights.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "reference/mask.hpp"

namespace reference {
namespace {

std::vector<Index> indices_of(const std::vector<char>& flags) {
  std::vector<Index> out;
  for (std::size_t j = 0; j < flags.size(); ++j) {
    if (flags[j]) out.push_back(static_cast<Index>(j));
  }
  return out;
}

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

// b = f(s) for maps that are not a softmax.
double unnormalised(const Problem& problem, Index b, Index h, Index i, Index j, double score) {
  const ScoreMap& map = problem.map;
  const auto decayed = [&] { return std::pow(map.gamma[h], static_cast<double>(distance(problem, b, i, j))); };
  switch (map.kind) {
    case MapKind::sigmoid:
      return sigmoid(score + map.offset);
    case MapKind::relu_squared:
      return score > 0 ? score * score : 0.0;
    case MapKind::linear:
      return decayed() * score;
    case MapKind::decay:
      return decayed();
    default:
      return score;
  }
}

double normaliser(Normaliser kind, const Numbers& b, Index visible) {
  double l1 = 0, l2 = 0;
  for (double x : b) {
    l1 += std::abs(x);
    l2 += x * x;
  }
  switch (kind) {
    case Normaliser::none:
      return 1;
    case Normaliser::visible:
      return static_cast<double>(visible);
    case Normaliser::l1:
      return l1;
    case Normaliser::l2:
      return std::sqrt(l2);
  }
  return 1;
}

}  // namespace

std::vector<Index> largest(const Numbers& score, const std::vector<char>& seen, Index k) {
  std::vector<Index> order = indices_of(seen);
  std::stable_sort(order.begin(), order.end(), [&](Index x, Index y) { return score[x] > score[y]; });
  if (static_cast<Index>(order.size()) > k) order.resize(k);
  std::sort(order.begin(), order.end());
  return order;
}

Index argmax(const Numbers& score, const std::vector<char>& seen) {
  Index best = -1;
  for (Index j : indices_of(seen)) {
    if (best < 0 || score[j] > score[best]) best = j;
  }
  return best;
}

double log_sum_exp(const Numbers& score, const std::vector<char>& flags) {
  const Index top = argmax(score, flags);
  if (top < 0) return -std::numeric_limits<double>::infinity();
  double z = 0;
  for (Index j : indices_of(flags)) z += std::exp(score[j] - score[top]);
  return score[top] + std::log(z);
}

Numbers softmax(const Numbers& score, const std::vector<char>& flags) {
  const double total = log_sum_exp(score, flags);
  Numbers out(score.size(), 0);
  for (Index j : indices_of(flags)) out[j] = std::exp(score[j] - total);
  return out;
}

// Finds the threshold by bisection: the sum of weights decreases with it.
Numbers entmax(double alpha, const Numbers& score, const std::vector<char>& seen) {
  Numbers out(score.size(), 0);
  const Index top = argmax(score, seen);
  if (top < 0) return out;
  const double highest = (alpha - 1) * score[top];
  const auto weight = [&](Index j, double threshold) {
    return std::pow(std::max((alpha - 1) * score[j] - threshold, 0.0), 1 / (alpha - 1));
  };
  double low = highest - 1, high = highest;
  for (int step = 0; step < 200; ++step) {
    const double middle = low + (high - low) / 2;
    double sum = 0;
    for (Index j : indices_of(seen)) sum += weight(j, middle);
    (sum > 1 ? low : high) = middle;
  }
  for (Index j : indices_of(seen)) out[j] = weight(j, high);
  return out;
}

Numbers sparsemax(const Numbers& score, const std::vector<char>& seen) {
  Numbers sorted;
  for (Index j : indices_of(seen)) sorted.push_back(score[j]);
  std::sort(sorted.begin(), sorted.end(), std::greater<>());
  // The support is the longest prefix of the sorted scores with 1 + k s_(k) > s_(1) + ... + s_(k).
  double threshold = 0, sum = 0;
  for (std::size_t k = 1; k <= sorted.size(); ++k) {
    sum += sorted[k - 1];
    if (1 + static_cast<double>(k) * sorted[k - 1] > sum) threshold = (sum - 1) / static_cast<double>(k);
  }
  Numbers out(score.size(), 0);
  for (Index j : indices_of(seen)) out[j] = std::max(score[j] - threshold, 0.0);
  return out;
}

WeightRow weight_row(const Problem& problem, Index b, Index h, Index i, const ScoreRow& scores) {
  const ScoreMap& map = problem.map;
  WeightRow row;
  row.score = scores.score;
  row.chosen = scores.seen;
  if (map.kind == MapKind::top_k) {
    row.chosen.assign(problem.n_k, 0);
    for (Index j : largest(scores.score, scores.seen, map.keys)) row.chosen[j] = 1;
  }
  if (is_softmax(map)) {
    row.weight = softmax(row.score, row.chosen);
    if (!problem.sink.empty()) {
      const double keys = log_sum_exp(row.score, row.chosen);
      for (double& a : row.weight) a /= 1 + std::exp(problem.sink[h] - keys);
    }
  } else if (map.kind == MapKind::sparsemax) {
    row.weight = sparsemax(row.score, row.chosen);
  } else if (map.kind == MapKind::entmax) {
    row.weight = entmax(map.alpha[h], row.score, row.chosen);
  } else {
    row.weight.assign(problem.n_k, 0);
    for (Index j : indices_of(row.chosen)) row.weight[j] = unnormalised(problem, b, h, i, j, scores.score[j]);
    if (map.kind == MapKind::linear || map.kind == MapKind::decay) row.score = row.weight;
    const double n = normaliser(map.normaliser, row.weight, scores.visible);
    for (double& a : row.weight) a = n == 0 ? 0 : a / n;
  }
  row.used = row.weight;
  if (map.straight_through && scores.visible > 0) {
    row.used.assign(problem.n_k, 0);
    row.used[argmax(row.score, row.chosen)] = 1;
  }
  return row;
}

bool is_softmax(const ScoreMap& map) {
  return map.kind == MapKind::softmax || map.kind == MapKind::top_k || map.kind == MapKind::gumbel;
}

bool is_distribution(const ScoreMap& map) {
  if (is_softmax(map) || map.kind == MapKind::sparsemax || map.kind == MapKind::entmax) return true;
  if (map.normaliser != Normaliser::l1 || map.kind == MapKind::identity) return false;
  return map.kind != MapKind::linear || map.feature != Feature::identity;
}

}  // namespace reference
