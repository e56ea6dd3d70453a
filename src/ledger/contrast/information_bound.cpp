// log N - L as a lower bound on mutual information: when it holds, its ceiling, and its limit.
#include <algorithm>
#include <bit>

#include "experiments/tools/estimate.hpp"
#include "experiments/tools/kernels.hpp"
#include "isentropic/theory/contrast.hpp"
#include "ledger/contrast/gaussian_pairs.hpp"
#include "ledger/contrast/subjects.hpp"

namespace isentropic::ledger::contrast {
namespace {

using Vector = std::vector<double>;

// The quoted table of log N - L with the best critic, N = 2, 4, ..., 4096.
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
// Error of the quoted numbers: batches share their draws in the first rows, and the last column has only five batches.
constexpr double kQuotedError = 0.03;

const BoundRow& row_of(double rho, std::size_t d) {
  return *std::find_if(kBounds.begin(), kBounds.end(),
                       [&](const BoundRow& row) { return row.rho == rho && row.d == d; });
}

std::size_t column_of(std::size_t n) { return static_cast<std::size_t>(std::bit_width(n)) - 2; }

// How the N - 1 other candidates of an anchor y are drawn.
enum class Negatives : std::uint8_t { from_the_marginal, like_positives, away_from_the_anchor };

// log N - L of single anchors, each with its own candidates, rho = 0.9, N = 64, best critic.
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

// X and Y independent, negatives 4 away from where the critic looks: a large value without any information.
Estimate independent_pair(Check& check, Negatives kind) {
  Table scores(static_cast<std::size_t>(check.effort(10'000, 20'000)), 64);
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
  return mean_over(values).estimate();
}

// Every cell: matches the quoted value, is at most I, and never exceeds log N.
void table_of_bounds(Check& check) {
  std::int64_t above = 0;
  for (const BoundRow& row : kBounds)
    for (std::size_t n = 2; n <= 4096; n *= 2) {
      if (n > 512 && !check.thorough()) break;
      const GaussianBound found = gaussian_bound(check.random(), row.rho, row.d, n, GaussianCritic::optimal(row.rho),
                                                 check.effort(16'384, 32'768));
      const std::string at =
          "rho = " + short_text(row.rho) + ", d = " + std::to_string(row.d) + ", N = " + std::to_string(n);
      check.near(at, found.estimate, row.quoted[column_of(n)], kQuotedError);
      check.at_most(at + ": at most I", found.estimate.mean, gaussian_information(row.rho, static_cast<double>(row.d)),
                    5 * found.estimate.error);
      above += found.largest_batch > std::log(static_cast<double>(n)) + 1e-9;
    }
  check.never("batches above log N", above);
}

void lower_bound(Check& check) {
  const double information = gaussian_information(0.9, 1);
  const std::int64_t anchors = check.effort(20'000, 50'000);
  const Negatives kind = check.choose(Negatives::from_the_marginal, Negatives::away_from_the_anchor);
  const Estimate chosen = mean_over(single_anchor_bounds(check.random(), kind, anchors)).estimate();
  check.at_most("log N - L at rho = 0.9, N = 64, at most I", chosen.mean, information, 5 * chosen.error);
  const Estimate nothing = independent_pair(check, kind);
  check.at_most("log N - L of an independent pair", nothing.mean, 0, 5 * nothing.error);
  if (check.choose(false, true)) return;  // the rest does not depend on the condition

  // Without the expectation, or with negatives that depend on the anchor, nothing is bounded.
  const std::vector<double> single = single_anchor_bounds(check.random(), Negatives::from_the_marginal, anchors);
  Mean above;
  for (double value : single) above.add(value > information ? 1 : 0);
  check.near("share of single draws above I", above.estimate(), 0.48, 0.006);
  check.near("negatives away from the anchor",
             mean_over(single_anchor_bounds(check.random(), Negatives::away_from_the_anchor, anchors)).estimate(), 3.96,
             0.02);
  check.near("negatives like positives",
             mean_over(single_anchor_bounds(check.random(), Negatives::like_positives, anchors)).estimate(), -0.157,
             0.02);
  check.near("independent pair, negatives away from the anchor",
             independent_pair(check, Negatives::away_from_the_anchor), 3.79, 0.02);
  table_of_bounds(check);
}

void ceiling(Check& check) {
  const BoundRow& row = row_of(0.95, 10);
  const double information = gaussian_information(row.rho, 10);
  check.near("I at rho = 0.95, d = 10", information, 11.64, 5e-3);
  report::PlotCurve measured{"log N - L", {}, {}}, bound{"log N", {}, {}, report::CurveStyle::bound},
      truth{"I", {2, 4096}, {information, information}, report::CurveStyle::bound};
  std::int64_t above = 0;
  for (std::size_t n : {2, 8, 64, 512, 4096}) {
    const double log_n = std::log(static_cast<double>(n));
    const GaussianBound found = gaussian_bound(check.random(), row.rho, row.d, n, GaussianCritic::optimal(row.rho),
                                               check.effort(16'384, 32'768));
    above += found.largest_batch > log_n + 1e-9;
    check.near("log N - L, N = " + std::to_string(n), found.estimate, row.quoted[column_of(n)], kQuotedError);
    check.between("log N less that, N = " + std::to_string(n), log_n - found.estimate.mean, 0, 0.18);
    measured.x.push_back(static_cast<double>(n)), measured.y.push_back(found.estimate.mean);
    bound.x.push_back(static_cast<double>(n)), bound.y.push_back(log_n);
  }
  check.never("batches above log N", above);
  check.plot({"The bound stays below log N, whatever the information (11.64)",
              "N",
              "nats",
              report::PlotScale::log,
              report::PlotScale::linear,
              {measured, bound, truth}});
}

// log N - L at rho = 0.9, d = 1 for several N.
struct CriticCurve {
  std::vector<Estimate> bounds;
  report::PlotCurve drawn;
};
const std::vector<std::size_t> kSizes = {2, 8, 64, 512, 4096};

// Batches of a heavy-tailed critic vary a lot, so it needs more of them.
CriticCurve critic_curve(Check& check, const std::string& name, const GaussianCritic& critic,
                         std::int64_t batches = 4) {
  CriticCurve out{{}, {name, {}, {}}};
  for (std::size_t n : kSizes) {
    const std::int64_t anchors = std::max<std::int64_t>(16'384, batches * static_cast<std::int64_t>(n));
    out.bounds.push_back(
        gaussian_bound(check.random(), 0.9, 1, n, critic, check.effort(anchors, 4 * anchors)).estimate);
    out.drawn.x.push_back(static_cast<double>(n)), out.drawn.y.push_back(out.bounds.back().mean);
  }
  return out;
}

// How many candidates it takes to reach 95% of I: about 10 e^I.
void share_of_the_information(Check& check) {
  struct Quoted {
    double rho;
    std::size_t d, n;
    double share, multiple;
  };
  for (const auto& [rho, d, n, share, multiple] :
       {Quoted{0.9, 1, 32, 0.95, 14}, {0.99, 1, 64, 0.96, 9}, {0.9, 4, 256, 0.94, 9}, {0.9, 4, 512, 0.97, 18}}) {
    const double information = gaussian_information(rho, static_cast<double>(d));
    const Estimate bound =
        gaussian_bound(check.random(), rho, d, n, GaussianCritic::optimal(rho), check.effort(32'768, 131'072)).estimate;
    const std::string at = " at I = " + short_text(std::round(100 * information) / 100) + ", N = " + std::to_string(n);
    check.near("share of I" + at, Estimate{bound.mean / information, bound.error / information}, share,
               kQuotedError / information + 0.005);
    check.near("N e^-I" + at, static_cast<double>(n) * std::exp(-information), multiple, 0.51);
  }
}

void tighter_with_candidates(Check& check) {
  const double rho = 0.9, information = gaussian_information(rho, 1);
  const GaussianCritic best = GaussianCritic::optimal(rho);
  const std::int64_t batches = 12;
  const auto without_norm = [&] { return critic_curve(check, "without the norm term", {best.cross, 0}, batches); };
  const bool sound = check.choose(true, false);
  const CriticCurve chosen = sound ? critic_curve(check, "best critic", best) : without_norm();
  for (std::size_t i = 1; i < kSizes.size(); ++i)
    check.at_least("rise from N = " + std::to_string(kSizes[i - 1]) + " to " + std::to_string(kSizes[i]),
                   chosen.bounds[i].mean - chosen.bounds[i - 1].mean, 0,
                   5 * std::hypot(chosen.bounds[i].error, chosen.bounds[i - 1].error));
  check.near("N = 4096, towards I", chosen.bounds.back(), information, 0.002);
  if (!sound) return;  // the rest does not depend on the condition

  check.near("best critic, N = 4096, towards its own limit", chosen.bounds.back(),
             gaussian_info_nce_limit(rho, best.cross, best.square), 0.002);
  for (std::size_t i = 0; i < kSizes.size(); ++i)
    check.near("best critic, N = " + std::to_string(kSizes[i]), chosen.bounds[i],
               row_of(rho, 1).quoted[column_of(kSizes[i])], kQuotedError);
  const CriticCurve plain = without_norm(), halved = critic_curve(check, "x y / 2", {0.5, 0}),
                    wrong = critic_curve(check, "-x y", {-1, 0});
  check.near("x y / 2, N = 2", halved.bounds.front(), 0.136, kQuotedError);
  check.near("x y / 2, N = 4096", halved.bounds.back(), 0.323, kQuotedError);
  check.near("x y / 2, N = 4096, towards its own limit", halved.bounds.back(), gaussian_info_nce_limit(rho, 0.5, 0),
             0.002);
  check.near("-x y, N = 2", wrong.bounds.front(), -0.716, kQuotedError);
  check.near("-x y, N = 4096", wrong.bounds.back(), -1.395, kQuotedError);
  check.near("-x y, N = 4096, towards its own limit", wrong.bounds.back(), gaussian_info_nce_limit(rho, -1, 0), 0.01);
  check.near("without the norm term, N = 2", plain.bounds.front(), 0.045, kQuotedError);
  check.as_quoted("without the norm term, N = 4096, quoted from 5 batches", plain.bounds.back(), -3.958,
                  plain.bounds.back().error * std::sqrt(check.effort(batches, 4 * batches) / 5.0));
  share_of_the_information(check);
  check.plot({"log N - L against N, normal pairs of rho = 0.9",
              "N",
              "nats",
              report::PlotScale::log,
              report::PlotScale::linear,
              {chosen.drawn,
               plain.drawn,
               halved.drawn,
               wrong.drawn,
               {"I", {2, 4096}, {information, information}, report::CurveStyle::bound}}});
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
