// The library's softmax loss on tables of doubles, with the small amount of linear algebra around it.
#pragma once

#include <cmath>
#include <span>
#include <vector>

#include "experiments/tools/algebra.hpp"
#include "isentropic/information/table.hpp"
#include "isentropic/softmax_loss.hpp"

namespace isentropic::ledger::contrast {

// ---- InfoNCE ----

struct Contrast {
  information::Table query, key;     // [N, d], [M, d]
  std::vector<std::int64_t> target;  // [N]
  double temperature = 1;
  std::vector<double> bias = {};  // [M] or empty
};

enum class Self : std::uint8_t { seen, excluded };  // whether a row sees the key at its own index

// log sum_j e^{s_ij} - s_{i, target}, per row.
std::vector<double> losses_of(const Contrast& contrast, Self self = Self::seen);
// The same with the float32 kernels: many candidates at low cost.
std::vector<double> single_precision_losses_of(const Contrast& contrast);
double mean_loss(const Contrast& contrast);

struct LossGradients {
  information::Table query, key;
};
// Of sum_i w_i loss_i; without weights, of the plain sum.
LossGradients gradients_of(const Contrast& contrast, std::span<const double> weights = {});

// log N + mean of (target score - log-partition): the loss as a bound on information, over the given keys.
double bound_of(const Contrast& contrast);

// A single anchor whose positive is key 0.
inline Contrast one_anchor(std::span<const double> query, const information::Table& keys, double temperature) {
  return {information::Table(1, query.size(), {query.begin(), query.end()}), keys, {0}, temperature};
}

// Classification: one row per class, so that weighting the rows by target probabilities gives the cross-entropy.
Contrast classes(const std::vector<double>& logits);
double cross_entropy(std::span<const double> target, const std::vector<double>& logits);

// ---- Attention ----

// dL/ds of one row of attention over the values [n, d_v], given dL/do as `upstream`.
std::vector<double> attention_score_gradient(const std::vector<double>& scores, const information::Table& values,
                                             const std::vector<double>& upstream);

// ---- Vectors ----

using experiments::tools::dot;

inline double norm(std::span<const double> x) { return std::sqrt(dot(x, x)); }
inline double cosine(std::span<const double> x, std::span<const double> y) { return dot(x, y) / (norm(x) * norm(y)); }
// max_i |x_i - y_i|
double largest_gap(std::span<const double> x, std::span<const double> y);
// |x - y| / max(|y|, floor): finite differences cannot resolve gradients below the floor.
double relative_gap(std::span<const double> x, std::span<const double> y, double floor = 1e-2);
// factor x
std::vector<double> times(double factor, std::span<const double> x);
// Scales every row to length 1.
void normalise_rows(information::Table* table);
std::vector<double> softmax_by_hand(std::span<const double> scores);

// Central differences of loss(point), per coordinate.
template <class Loss>
std::vector<double> numeric_gradient(std::vector<double> point, Loss&& loss, double step = 1e-6) {
  std::vector<double> out;
  for (double& x : point) {
    const double at = x;
    x = at + step;
    const double above = loss(point);
    x = at - step;
    out.push_back((above - loss(point)) / (2 * step));
    x = at;
  }
  return out;
}

}  // namespace isentropic::ledger::contrast
