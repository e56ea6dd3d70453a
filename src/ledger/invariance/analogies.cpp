// Sections 13 to 15: projections, code lengths, and a small experiment.
#include <fmt/format.h>

#include <queue>

#include "isentropic/information/distribution.hpp"
#include "isentropic/theory/random_scores.hpp"
#include "ledger/invariance/drawn.hpp"
#include "ledger/invariance/subjects.hpp"

namespace isentropic::ledger::invariance {
namespace {

double distance(std::span<const double> x, std::span<const double> y) {
  double squares = 0;
  for (std::size_t i = 0; i < x.size(); ++i) squares += (x[i] - y[i]) * (x[i] - y[i]);
  return std::sqrt(squares);
}

// The smallest and largest ratios of distances in independent draws.
struct Ratios {
  double epsilon, least, most;
};

void project(Check& check, const Ratios& elsewhere) {
  const std::size_t n = 300, d = 2000;
  const double epsilon = elsewhere.epsilon;
  const auto k = static_cast<std::size_t>(8 * std::log(static_cast<double>(n)) / (epsilon * epsilon));
  const Table points = normal_table(check.random(), n, d);
  Table projected(n, k);
  std::vector<double> direction;
  for (std::size_t c = 0; c < k; ++c) {
    direction = check.random().normals(d, 1 / std::sqrt(static_cast<double>(k)));
    for (std::size_t i = 0; i < n; ++i) {
      double sums[4] = {};
      for (std::size_t t = 0; t < d; t += 4)
        for (std::size_t lane = 0; lane < 4; ++lane) sums[lane] += points(i, t + lane) * direction[t + lane];
      projected(i, c) = sums[0] + sums[1] + sums[2] + sums[3];
    }
  }
  std::int64_t outside = 0;
  double least = 1e9, most = 0;
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < i; ++j) {
      const double ratio = distance(projected.row(i), projected.row(j)) / distance(points.row(i), points.row(j));
      least = std::min(least, ratio), most = std::max(most, ratio);
      outside += std::abs(ratio - 1) > epsilon;
    }
  check.never(fmt::format("pairs off by more than {} in {} of {} dimensions", epsilon, k, d), outside);
  // The deviation of one ratio is 1/sqrt(2 k), that of the extremes of 44850 of them about a third of that.
  const double slack = 5 * std::sqrt(2.0) / 3 / std::sqrt(2 * static_cast<double>(k));
  check.near(fmt::format("smallest ratio of distances in {} dimensions", k), least, elsewhere.least, slack);
  check.near(fmt::format("largest ratio of distances in {} dimensions", k), most, elsewhere.most, slack);
}

void random_projection(Check& check) {
  project(check, {0.3, 0.873, 1.131});
  if (check.thorough()) project(check, {0.2, 0.910, 1.089});
}

// The mean length of Huffman's code: the sum of the merged weights.
double huffman_length(std::span<const double> p) {
  std::priority_queue<double, std::vector<double>, std::greater<>> weights(p.begin(), p.end());
  double length = 0;
  while (weights.size() > 1) {
    const double first = weights.top();
    weights.pop();
    const double second = weights.top();
    weights.pop();
    length += first + second;
    weights.push(first + second);
  }
  return length;
}

void code_length(Check& check) {
  std::int64_t outside = 0;
  for (std::int64_t t = 0; t < check.effort(300, 3000); ++t) {
    const std::vector<double> p =
        weights_of(check.random().normals(static_cast<std::size_t>(check.random().integer(2, 60)), 2));
    const double bits = to_bits(information::entropy(p)), length = huffman_length(p);
    outside += !(bits - 1e-9 <= length && length < bits + 1);
  }
  check.never("rows whose mean code length leaves [H, H + 1) bits", outside);
  check.near("mean code length of 10 equal keys", huffman_length(std::vector<double>(10, 0.1)), 3.4, 1e-12);
  check.near("their entropy in bits", to_bits(entropy_of(std::vector<double>(10, 0.0))), 3.322, 5e-4);
}

const std::vector<int> kLogLengths = {6, 8, 10, 12, 14};

// H at each length, for scores N(0, 1) with d = 64 under lambda(n).
std::vector<double> literal_setting(Check& check, const std::function<double(double)>& lambda, const char* name) {
  std::vector<double> out;
  for (const int k : kLogLengths) {
    const double log_n = k * std::log(2.0);
    const RowMeans rows = gaussian_rows(check, std::size_t{1} << k, lambda(log_n), check.effort(200000, 4000000) >> k);
    out.push_back(rows.entropy.mean());
    check.near(fmt::format("H under {}, n = 2^{}", name, k), rows.entropy.estimate(),
               expected_row(ScoreLaw::gaussian(), log_n, lambda(log_n)).entropy, 1e-5);
  }
  return out;
}

std::vector<double> log_lengths() {
  std::vector<double> out;
  for (const int k : kLogLengths) out.push_back(k * std::log(2.0));
  return out;
}

void literal_usual(Check& check) {
  const std::vector<double> x = log_lengths(), h = literal_setting(
                                                   check, [](double) { return 0.125; }, "1/8");
  check.near("log n - H at n = 2^14", x.back() - h.back(), 1.0 / 128, 5e-4);
  check.near("slope dH/dlog n", slope(x, h), 1, 1e-3);
}

void literal_log_n(Check& check) {
  const std::vector<double> x = log_lengths(), h = literal_setting(
                                                   check, [](double l) { return l / 64; }, "log n/64");
  std::vector<double> formula;
  for (const double log_n : x) formula.push_back(log_n - log_n * log_n / (2.0 * 64 * 64));
  check.near("slope dH/dlog n under log n/64", slope(x, h), check.choose(slope(x, formula), 0.0), 0.002);
  struct Quoted {
    int log2_n;
    double law, usual;
  };
  for (const Quoted& q : {Quoted{6, 4.157, 4.151}, {10, 6.926, 6.924}, {14, 9.693, 9.696}, {17, 11.767, 11.776}}) {
    const double log_n = q.log2_n * std::log(2.0);
    check.near(fmt::format("expected H under log n/64, n = 2^{}, quoted", q.log2_n),
               expected_row(ScoreLaw::gaussian(), log_n, log_n / 64).entropy, q.law, 1e-3);
    check.near(fmt::format("expected H under 1/8, n = 2^{}, quoted", q.log2_n),
               expected_row(ScoreLaw::gaussian(), log_n, 0.125).entropy, q.usual, 1e-3);
  }
}

}  // namespace

std::vector<Claim> analogy_claims() {
  using enum Verdict;
  return {
      computed("003-s13", holds,
               "n points keep their distances within 1 +- epsilon in O(log n/epsilon^2) random dimensions",
               "the lemma of Johnson and Lindenstrauss; its link to lambda is an analogy, not a derivation",
               random_projection),
      computed("003-s14", holds, "The entropy is the mean code length of a choice, log2 n bits when all are equal",
               "within one bit, in base 2", code_length),
      computed("003-s15a", holds, "Scores N(0, 1) under 1/sqrt d: H = log n - C", "C = 1/(2 d)", literal_usual),
      computed("003-s15b", corrected, "Scores N(0, 1) under log n/d: H is stable and close to log n",
               "the two exclude each other: H = log n - (log n/d)^2/2 grows as fast as before", literal_log_n),
  };
}

}  // namespace isentropic::ledger::invariance
