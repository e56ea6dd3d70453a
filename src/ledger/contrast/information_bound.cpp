// log N - L as a lower bound on mutual information: when it holds, its ceiling, what it tends to.
#include <algorithm>

#include "instruments/estimate.hpp"
#include "instruments/kernels.hpp"
#include "isentropic/theory/contrast.hpp"
#include "ledger/contrast/gaussian_pairs.hpp"
#include "ledger/contrast/subjects.hpp"

namespace isentropic::ledger::contrast {
namespace {

using Vector = std::vector<double>;

std::string text(double x) {
  std::string out = std::to_string(x);
  while (out.back() == '0') out.pop_back();
  if (out.back() == '.') out.pop_back();
  return out;
}

// The measured table of log N - L with the best critic, N = 2, 4, ..., 4096.
struct BoundRow {
  double rho;
  std::size_t d;
  Vector quoted;
};
const std::vector<BoundRow> kBounds = {
    {0.5, 1, {.067, .103, .131, .138, .143, .141, .143, .143, .147, .138, .145, .141}},
    {0.9, 1, {.339, .551, .688, .758, .792, .810, .817, .831, .835, .817, .837, .823}},
    {0.99, 1, {.571, 1.052, 1.421, 1.657, 1.790, 1.872, 1.907, 1.943, 1.953, 1.941, 1.966, 1.950}},
    {0.9, 4, {.642, 1.241, 1.769, 2.233, 2.570, 2.836, 3.017, 3.117, 3.216, 3.265, 3.320, 3.301}},
    {0.9, 10, {.691, 1.384, 2.070, 2.753, 3.428, 4.089, 4.717, 5.345, 5.882, 6.382, 6.807, 7.170}},
    {0.95, 10, {.693, 1.386, 2.079, 2.771, 3.464, 4.155, 4.840, 5.532, 6.209, 6.877, 7.524, 8.146}}};
// Of the quoted numbers: batches that share their draws in the first rows, five batches in the last column.
constexpr double kQuotedError = 0.03;

// How the N - 1 other candidates of an anchor y come about.
enum class Negatives : std::uint8_t { from_the_marginal, like_positives, away_from_the_anchor };

// log N - L of single anchors with candidates of their own, rho = 0.9, N = 64, best critic.
std::vector<double> single_anchor_bounds(Random& random, Negatives kind, std::int64_t anchors) {
  const double rho = 0.9, rest = std::sqrt(1 - rho * rho);
  const GaussianCritic critic = GaussianCritic::optimal(rho);
  Table scores(static_cast<std::size_t>(anchors), 64);
  for (std::size_t i = 0; i < scores.rows; ++i) {
    const double positive = random.normal(), y = rho * positive + rest * random.normal();
    for (std::size_t j = 0; j < 64; ++j) {
      double x = random.normal();
      if (j == 0)
        x = positive;
      else if (kind == Negatives::like_positives)
        x = rho * y + rest * x;
      else if (kind == Negatives::away_from_the_anchor)
        x -= std::copysign(3, y);
      scores(i, j) = critic.cross * x * y + critic.square * x * x;
    }
  }
  std::vector<double> out;
  const std::vector<Record> records = records_of(scores);
  for (std::size_t i = 0; i < scores.rows; ++i) out.push_back(std::log(64) + scores(i, 0) - log_partition(records[i]));
  return out;
}

Estimate estimate_of(const std::vector<double>& values) {
  Mean mean;
  for (double x : values) mean.add(x);
  return mean.estimate();
}

// X and Y independent, negatives 4 away from where the critic looks: a large value about nothing.
Estimate independent_pair(Check& check, Negatives kind) {
  Table scores(static_cast<std::size_t>(check.effort(2000, 20'000)), 64);
  for (std::size_t i = 0; i < scores.rows; ++i) {
    const double side = check.random().normal() < 0 ? -1 : 1;
    for (std::size_t j = 0; j < 64; ++j) {
      const double shift = j > 0 && kind == Negatives::away_from_the_anchor ? 4 * side : 0;
      scores(i, j) = -2 * side * (check.random().normal() + shift);
    }
  }
  std::vector<double> values;
  const std::vector<Record> records = records_of(scores);
  for (std::size_t i = 0; i < scores.rows; ++i)
    values.push_back(std::log(64) + scores(i, 0) - log_partition(records[i]));
  return estimate_of(values);
}

void lower_bound(Check& check) {
  const double information = gaussian_information(0.9, 1);
  const std::int64_t anchors = check.effort(4000, 20'000);
  const Negatives kind = check.choose(Negatives::from_the_marginal, Negatives::away_from_the_anchor);
  const Estimate chosen = estimate_of(single_anchor_bounds(check.random(), kind, anchors));
  check.at_most("log N - L at rho = 0.9, N = 64, at most I", chosen.mean, information, 5 * chosen.error);
  const Estimate nothing = independent_pair(check, kind);
  check.at_most("log N - L of an independent pair", nothing.mean, 0, 5 * nothing.error);

  for (std::size_t r = 0; r < kBounds.size(); ++r)
    for (std::size_t power = 1; power <= 12; power += check.thorough() ? 1 : 2) {
      if (!check.thorough() && power > 7) break;
      const BoundRow& row = kBounds[r];
      const std::size_t n = std::size_t{1} << power;
      const Estimate bound = gaussian_bound(check.random(), row.rho, row.d, n, GaussianCritic::optimal(row.rho),
                                            check.effort(2048, 16'384));
      const std::string at = "rho = " + text(row.rho) + ", d = " + std::to_string(row.d) + ", N = " + std::to_string(n);
      check.near(at, bound, row.quoted[power - 1], kQuotedError);
      check.at_most(at + ": at most I", bound.mean, gaussian_information(row.rho, static_cast<double>(row.d)),
                    5 * bound.error);
    }

  // Without the expectation, or with negatives that know the anchor, nothing is bounded.
  const std::vector<double> single = single_anchor_bounds(check.random(), Negatives::from_the_marginal, anchors);
  Mean above;
  for (double value : single) above.add(value > information ? 1 : 0);
  check.near("share of single draws above I", above.estimate(), 0.48, 0.006);
  check.near("negatives away from the anchor",
             estimate_of(single_anchor_bounds(check.random(), Negatives::away_from_the_anchor, anchors)), 3.96, 0.02);
  check.near("negatives like positives",
             estimate_of(single_anchor_bounds(check.random(), Negatives::like_positives, anchors)), -0.157, 0.02);
  check.near("independent pair, negatives away from the anchor",
             independent_pair(check, Negatives::away_from_the_anchor), 3.79, 0.02);
}

void ceiling(Check& check) {
  const std::vector<std::pair<std::size_t, double>> quoted = {
      {2, 0.693}, {8, 2.079}, {64, 4.155}, {512, 6.209}, {4096, 8.146}};
  report::PlotCurve measured{"log N - L", {}, {}}, bound{"log N", {}, {}, report::CurveStyle::bound};
  std::int64_t above = 0;
  for (const auto& [n, value] : quoted) {
    if (n > 512 && !check.thorough()) break;
    const double log_n = std::log(static_cast<double>(n));
    Mean mean;
    for (std::int64_t batch = 0; batch < std::max<std::int64_t>(4, check.effort(2048, 16'384) / static_cast<int>(n));
         ++batch) {
      const double here = bound_of(gaussian_batch(check.random(), 0.95, 10, n, GaussianCritic::optimal(0.95)));
      above += here > log_n + 1e-9;
      mean.add(here);
    }
    check.near("rho = 0.95, d = 10, I = 11.64, N = " + std::to_string(n), mean.estimate(), value, kQuotedError);
    measured.x.push_back(static_cast<double>(n)), measured.y.push_back(mean.mean());
    bound.x.push_back(static_cast<double>(n)), bound.y.push_back(log_n);
  }
  check.never("batches above log N", above);
  check.plot({"The bound stays below log N, whatever the information (11.64)",
              "N",
              "nats",
              report::PlotScale::log,
              report::PlotScale::linear,
              {measured, bound}});
}

void tighter_with_candidates(Check& check) {
  const double rho = 0.9, information = gaussian_information(rho, 1);
  const GaussianCritic best = GaussianCritic::optimal(rho), no_norm{best.cross, 0}, weak{0.5, 0}, flipped{-1, 0};
  const std::vector<std::size_t> sizes = {2, 8, 64, 512};
  const std::int64_t anchors = check.effort(8192, 32'768);
  std::vector<report::PlotCurve> curves;
  const auto curve = [&](const std::string& name, const GaussianCritic& critic) {
    std::vector<Estimate> out;
    report::PlotCurve drawn{name, {}, {}};
    for (std::size_t n : sizes) {
      out.push_back(gaussian_bound(check.random(), rho, 1, n, critic, anchors));
      drawn.x.push_back(static_cast<double>(n)), drawn.y.push_back(out.back().mean);
    }
    curves.push_back(std::move(drawn));
    return out;
  };
  const std::vector<Estimate> optimal = curve("best critic", best), plain = curve("without the norm term", no_norm),
                              halved = curve("x y / 2", weak), wrong = curve("-x y", flipped);
  const std::vector<Estimate>& chosen = check.choose(optimal, plain);
  for (std::size_t i = 1; i < sizes.size(); ++i)
    check.at_least("rise from N = " + std::to_string(sizes[i - 1]) + " to " + std::to_string(sizes[i]),
                   chosen[i].mean - chosen[i - 1].mean, 0, 5 * std::hypot(chosen[i].error, chosen[i - 1].error));
  check.near("N = 512, towards I", chosen.back(), information, 0.02);
  check.near("x y / 2, N = 512, towards its own limit", halved.back(), gaussian_info_nce_limit(rho, 0.5, 0), 0.02);
  check.near("-x y, N = 512, towards its own limit", wrong.back(), gaussian_info_nce_limit(rho, -1, 0), 0.04);
  check.near("without the norm term, N = 2", plain.front(), 0.045, kQuotedError);
  check.near("x y / 2, N = 2", halved.front(), 0.136, kQuotedError);
  check.near("-x y, N = 2", wrong.front(), -0.716, kQuotedError);
  if (check.thorough()) {
    check.near("x y / 2, N = 4096", gaussian_bound(check.random(), rho, 1, 4096, weak, 20'480), 0.323, kQuotedError);
    check.near("-x y, N = 4096", gaussian_bound(check.random(), rho, 1, 4096, flipped, 20'480), -1.395, kQuotedError);
    check.near("without the norm term, N = 4096", gaussian_bound(check.random(), rho, 1, 4096, no_norm, 20'480), -3.958,
               4 * kQuotedError);
  }
  curves.push_back({"I", {2, 512}, {information, information}, report::CurveStyle::bound});
  check.plot({"log N - L against N, normal pairs of rho = 0.9", "N", "nats", report::PlotScale::log,
              report::PlotScale::linear, std::move(curves)});
}

}  // namespace

std::vector<Claim> information_bound_claims() {
  return {
      computed("002-4.4.8a", Verdict::holds_if, "I(X;Y) >= log N - L",
               "L is an expectation, and the N - 1 negatives are drawn from the marginal, independently of the anchor",
               lower_bound),
      computed("002-4.4.8b", Verdict::note, "The bound cannot exceed log N, however large the information", "",
               ceiling),
      computed("002-4.4.8c", Verdict::holds_if, "More candidates make the bound tighter",
               "for the best critic, PMI + c(y); a fixed critic f tends to I - E KL(p(x|y) || p_f(x|y)) and may fall",
               tighter_with_candidates),
  };
}

}  // namespace isentropic::ledger::contrast
