// Lower bounds on mutual information from a table of critic scores, computed in log space.
#include "isentropic/information/critic_bounds.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numbers>
#include <string>
#include <vector>

#include "base/checks.hpp"
#include "information/distributions/validate.hpp"
#include "isentropic/softmax_record.hpp"

namespace isentropic::information {
namespace {

using Record = SoftmaxRecord<double>;
constexpr double kInfinity = std::numeric_limits<double>::infinity();

void require_scores(const Table& scores, std::size_t least) {
  if (scores.rows != scores.columns || scores.rows < least)
    throw Error("scores", shape_text(scores), "a square table of at least " + std::to_string(least) + " rows");
}

void require_baseline(const Table& scores, std::span<const double> log_baseline) {
  require_length("log_baseline", log_baseline.size(), scores.rows, "one for each row of scores");
}

double mean(std::span<const double> values) {
  double sum = 0;
  for (double x : values) sum += x;
  return sum / static_cast<double>(values.size());
}

// J[.]: the mean over pairs drawn jointly.
double mean_together(
    const Table& scores, const std::function<double(double)>& f = [](double x) { return x; }) {
  double sum = 0;
  for (std::size_t i = 0; i < scores.rows; ++i) sum += f(scores(i, i));
  return sum / static_cast<double>(scores.rows);
}

template <class Visit>
void for_each_apart(const Table& scores, const Visit& visit) {
  for (std::size_t i = 0; i < scores.rows; ++i)
    for (std::size_t j = 0; j < scores.columns; ++j)
      if (i != j) visit(i, scores(i, j));
}

// log of the mean of e^score over the keys of a record.
double log_mean(const Record& record) { return log_partition(record) - std::log(static_cast<double>(record.k)); }

void take(Record* record, double score) { *record = merge(*record, single_key(score, record->k)); }

// log M[e^{f - shift(row)}].
double log_mean_apart(const Table& scores, const std::function<double(std::size_t, double)>& score) {
  Record all;
  for_each_apart(scores, [&](std::size_t i, double f) { take(&all, score(i, f)); });
  return log_mean(all);
}

double log_mean_apart(const Table& scores) {
  return log_mean_apart(scores, [](std::size_t, double f) { return f; });
}

double softplus(double x) { return std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x))); }

// log(share e^a + (1 - share) e^b).
double log_mixture(double share, double a, double b) {
  if (share == 0) return b;
  if (share == 1) return a;
  return log_partition(merge(single_key(a + std::log(share), 0), single_key(b + std::log1p(-share), 1)));
}

// For every l, the log-mean over the row without candidate l. Merged from both ends, because a dominant candidate
// cannot be subtracted afterwards.
std::vector<double> leave_one_out(std::span<const double> row) {
  std::vector<Record> before(row.size() + 1);
  for (std::size_t l = 0; l < row.size(); ++l) {
    before[l + 1] = before[l];
    take(&before[l + 1], row[l]);
  }
  std::vector<double> out(row.size());
  Record after;
  for (std::size_t l = row.size(); l-- > 0;) {
    out[l] = log_mean(merge(before[l], after));
    take(&after, row[l]);
  }
  return out;
}

}  // namespace

CriticBound info_nce_bound(const Table& scores) {
  require_scores(scores, 2);
  double sum = 0;
  for (std::size_t i = 0; i < scores.rows; ++i) {
    Record row;
    for (double f : scores.row(i)) take(&row, f);
    sum += scores(i, i) - log_mean(row);
  }
  const double n = static_cast<double>(scores.rows);
  return {sum / n, std::log(n), BoundValidity::lower_bound};
}

CriticBound donsker_varadhan_bound(const Table& scores) {
  require_scores(scores, 2);
  return {mean_together(scores) - log_mean_apart(scores), kInfinity, BoundValidity::lower_bound_in_the_limit};
}

CriticBound nwj_bound(const Table& scores) {
  require_scores(scores, 2);
  return {mean_together(scores) - std::exp(log_mean_apart(scores) - 1), kInfinity, BoundValidity::lower_bound};
}

CriticBound tuba_bound(const Table& scores, std::span<const double> log_baseline) {
  require_scores(scores, 2);
  require_baseline(scores, log_baseline);
  const double apart = log_mean_apart(scores, [&](std::size_t i, double f) { return f - log_baseline[i]; });
  return {1 + mean_together(scores) - mean(log_baseline) - std::exp(apart), kInfinity, BoundValidity::lower_bound};
}

CriticBound interpolated_bound(const Table& scores, std::span<const double> log_baseline, double alpha) {
  require_scores(scores, 3);
  require_baseline(scores, log_baseline);
  require(alpha >= 0 && alpha <= 1, "alpha", alpha, "a number in [0, 1]");
  const double n = static_cast<double>(scores.rows);
  double together = 0, apart = 0;
  for (std::size_t i = 0; i < scores.rows; ++i) {
    const std::vector<double> without = leave_one_out(scores.row(i));
    // Drawn jointly: any candidate but the positive may be the one left out.
    for (std::size_t l = 0; l < scores.columns; ++l)
      if (l != i) together += scores(i, i) - log_mixture(alpha, without[l], log_baseline[i]);
    // Drawn independently: the positive is left out, and the mean over candidates of e^f / baseline has a closed form.
    apart += std::exp(without[i] - log_mixture(alpha, without[i], log_baseline[i]));
  }
  const double ceiling = alpha == 1 ? std::log(n - 1) : 1 + std::log(n - 1) - std::log(alpha);
  return {1 + together / (n * (n - 1)) - apart / n, ceiling, BoundValidity::lower_bound};
}

CriticBound smile_estimate(const Table& scores, double clip) {
  require_scores(scores, 2);
  require(clip > 0, "clip", clip, "a number > 0, or inf for no clipping");
  const double apart = log_mean_apart(scores, [&](std::size_t, double f) { return std::clamp(f, -clip, clip); });
  return {mean_together(scores) - apart, kInfinity, BoundValidity::estimate};
}

MovingPartition::MovingPartition(double share) : share_(share), log_average_(-kInfinity) {
  require(share > 0 && share <= 1, "share", share, "a number in (0, 1]");
}

CriticBound MovingPartition::update(const Table& scores) {
  require_scores(scores, 2);
  const double batch = log_mean_apart(scores);
  log_average_ = log_average_ == -kInfinity ? batch : log_mixture(share_, batch, log_average_);
  return {mean_together(scores) - log_average_, kInfinity, BoundValidity::lower_bound_in_the_limit};
}

JensenShannonBound jensen_shannon_bound(const Table& scores) {
  require_scores(scores, 2);
  const double n = static_cast<double>(scores.rows);
  double apart = 0;
  for_each_apart(scores, [&](std::size_t, double f) { apart += softplus(f); });
  const double together = mean_together(scores, [](double f) { return -softplus(-f); });
  JensenShannonBound out;
  out.divergence = std::numbers::ln2 + (together - apart / (n * (n - 1))) / 2;
  out.mutual_information = {1 + mean_together(scores) - std::exp(log_mean_apart(scores)), kInfinity,
                            BoundValidity::lower_bound};
  return out;
}

CriticBound barber_agakov_bound(double entropy_of_x, std::span<const double> log_likelihoods, Likelihood kind) {
  require(!log_likelihoods.empty(), "log_likelihoods", "empty", "at least one");
  if (kind == Likelihood::probability) {
    require_non_negative("entropy_of_x", entropy_of_x);
    for (double x : log_likelihoods)
      if (x > 0) throw Error("a log likelihood", x, "the logarithm of a probability, <= 0");
  }
  const double ceiling = kind == Likelihood::probability ? entropy_of_x : kInfinity;
  return {entropy_of_x + mean(log_likelihoods), ceiling, BoundValidity::lower_bound};
}

double cosine_critic_ceiling(std::size_t candidates, double temperature) {
  require_at_least("candidates", candidates, 1);
  require_positive("temperature", temperature);
  const double n = static_cast<double>(candidates);
  return std::log(n) - std::log1p((n - 1) * std::exp(-2 / temperature));
}

}  // namespace isentropic::information
