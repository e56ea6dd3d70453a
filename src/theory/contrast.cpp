// NCE and InfoNCE: losses, gradients and limits, written so that nothing cancels near a perfect model.
#include "isentropic/theory/contrast.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "base/checks.hpp"
#include "isentropic/information/distribution.hpp"

namespace isentropic::theory {
namespace {

using information::Table;

constexpr const char* kAsData = "as the data";

void require_laws(std::span<const double> data, std::span<const double> model, std::span<const double> noise) {
  require_distribution("data", data);
  require_distribution("noise", noise);
  require_length("model", model.size(), data.size(), kAsData);
  require_length("noise", noise.size(), data.size(), kAsData);
  for (double p : model) require_positive("model", p);
  for (double n : noise) require_positive("noise", n);
}

// 1 - the posterior of a datum, without a subtraction.
double noise_posterior(double model, double noise, double k) { return k * noise / (model + k * noise); }

std::vector<double> softmax(std::span<const double> scores, double temperature) {
  const double largest = *std::max_element(scores.begin(), scores.end());
  std::vector<double> out;
  double sum = 0;
  for (double s : scores) sum += out.emplace_back(std::exp((s - largest) / temperature));
  for (double& p : out) p /= sum;
  return out;
}

void require_positive_key(std::size_t positive, std::size_t keys, double temperature) {
  require_below("positive", positive, keys);
  require_positive("temperature", temperature);
}

// dL/ds_j = P_j - [j = +].
std::vector<double> score_gradient(std::span<const double> scores, std::size_t positive, double temperature) {
  std::vector<double> out = softmax(scores, temperature);
  // -(1 - P_+) as the sum of the others: near 1 the difference would have no digits left.
  double others = 0;
  for (std::size_t j = 0; j < out.size(); ++j)
    if (j != positive) others += out[j];
  out[positive] = -others;
  return out;
}

}  // namespace

double nce_posterior(double model, double noise, double noise_per_datum) {
  require_positive("model", model);
  require_positive("noise_per_datum", noise_per_datum);
  return model / (model + noise_per_datum * noise);
}

double nce_loss(std::span<const double> data, std::span<const double> model, std::span<const double> noise,
                double noise_per_datum) {
  require_laws(data, model, noise);
  require_positive("noise_per_datum", noise_per_datum);
  double loss = 0;
  for (std::size_t x = 0; x < data.size(); ++x) {
    const double weighted = noise_per_datum * noise[x];
    loss += data[x] * std::log1p(weighted / model[x]) + weighted * std::log1p(model[x] / weighted);
  }
  return loss;
}

std::vector<double> nce_gradient(std::span<const double> data, std::span<const double> model,
                                 std::span<const double> noise, double noise_per_datum) {
  require_laws(data, model, noise);
  require_positive("noise_per_datum", noise_per_datum);
  std::vector<double> out;
  for (std::size_t x = 0; x < data.size(); ++x)
    out.push_back(-noise_posterior(model[x], noise[x], noise_per_datum) * (data[x] - model[x]));
  return out;
}

NceExpansion nce_expansion(std::span<const double> data, std::span<const double> model, std::span<const double> noise) {
  require_laws(data, model, noise);
  require_distribution("model", model);
  NceExpansion out{1 + information::kl_divergence(data, model) - information::kl_divergence(data, noise), 0};
  for (std::size_t x = 0; x < data.size(); ++x) out.first_order += (data[x] - model[x] / 2) * model[x] / noise[x];
  return out;
}

double nce_variance(std::span<const double> data, std::span<const double> score, std::span<const double> noise,
                    double noise_per_datum) {
  require_laws(data, data, noise);
  require_length("score", score.size(), data.size(), kAsData);
  require(noise_per_datum > 0, "noise_per_datum", noise_per_datum, "a number > 0, or inf");
  double a = 0, b = 0;
  for (std::size_t x = 0; x < data.size(); ++x) {
    const double w = std::isinf(noise_per_datum) ? 1 : noise_posterior(data[x], noise[x], noise_per_datum);
    a += data[x] * w * score[x] * score[x];
    b += data[x] * w * score[x];
  }
  return (a - (1 + 1 / noise_per_datum) * b * b) / (a * a);
}

ContrastGradients contrast_gradients(std::span<const double> query, const Table& keys, std::size_t positive,
                                     double temperature) {
  require_positive_key(positive, keys.rows, temperature);
  require_length("query", query.size(), keys.columns, "as the keys");
  std::vector<double> scores(keys.rows, 0);
  for (std::size_t j = 0; j < keys.rows; ++j)
    for (std::size_t c = 0; c < keys.columns; ++c) scores[j] += query[c] * keys(j, c);
  const std::vector<double> gradient = score_gradient(scores, positive, temperature);
  ContrastGradients out{std::vector<double>(query.size(), 0), Table(keys.rows, keys.columns)};
  for (std::size_t j = 0; j < keys.rows; ++j)
    for (std::size_t c = 0; c < keys.columns; ++c) {
      out.query[c] += gradient[j] * keys(j, c) / temperature;
      out.key(j, c) = gradient[j] * query[c] / temperature;
    }
  return out;
}

double contrast_gradient_norm(std::span<const double> cosines, std::size_t positive, double temperature) {
  require_positive_key(positive, cosines.size(), temperature);
  const std::vector<double> gradient = score_gradient(cosines, positive, temperature);
  double along = 0, across = 0;
  for (std::size_t j = 0; j < cosines.size(); ++j) {
    along += gradient[j] * cosines[j];
    across += gradient[j] * gradient[j] * (1 - cosines[j] * cosines[j]);
  }
  return std::sqrt(along * along + across) / temperature;
}

double info_nce_limit(const Table& joint, const Table& critic) {
  require_distribution("joint", joint.values);
  if (critic.rows != joint.rows || critic.columns != joint.columns)
    throw Error("critic", std::to_string(critic.rows) + " x " + std::to_string(critic.columns),
                std::to_string(joint.rows) + " x " + std::to_string(joint.columns) + ", as the joint");
  const std::vector<double> anchors = information::row_marginal(joint),
                            candidates = information::column_marginal(joint);
  double limit = 0;
  for (std::size_t y = 0; y < joint.rows; ++y) {
    const auto row = critic.row(y);
    const double largest = *std::max_element(row.begin(), row.end());
    double mean = 0;
    for (std::size_t x = 0; x < joint.columns; ++x) {
      if (joint(y, x) > 0) limit += joint(y, x) * row[x];
      mean += candidates[x] * std::exp(row[x] - largest);
    }
    limit -= anchors[y] * (largest + std::log(mean));
  }
  return limit;
}

double gaussian_info_nce_limit(double rho, double cross, double square) {
  require(rho > -1 && rho < 1, "rho", rho, "a correlation in (-1, 1)");
  // E[f] = cross rho + square; E_{p(x)} e^f = sqrt(v) e^{v cross^2 y^2 / 2} with v = 1 / (1 - 2 square), E y^2 = 1.
  const double inverse = 1 - 2 * square;
  if (inverse <= 0) return -std::numeric_limits<double>::infinity();
  return cross * rho + square + std::log(inverse) / 2 - cross * cross / (2 * inverse);
}

std::vector<double> high_temperature_softmax(std::span<const double> scores, double temperature, int order) {
  require_positive("temperature", temperature);
  require(order == 1 || order == 2, "order", std::to_string(order), "1 or 2");
  const double n = static_cast<double>(scores.size());
  double mean = 0, variance = 0;
  for (double s : scores) mean += s / n;
  for (double s : scores) variance += (s - mean) * (s - mean) / n;
  std::vector<double> out;
  for (double s : scores) {
    const double c = (s - mean) / temperature;
    const double second = (c * c - variance / (temperature * temperature)) / 2;
    out.push_back((1 + c + (order == 2 ? second : 0)) / n);
  }
  return out;
}

}  // namespace isentropic::theory
