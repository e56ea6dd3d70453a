// Section 17: eigenvalues, singular values and rank of the weight matrix.
#include <algorithm>
#include <cmath>

#include "experiments/tools/kernels.hpp"
#include "isentropic/information/attention_matrices.hpp"
#include "ledger/attention_entropy/subjects.hpp"

namespace isentropic::ledger::attention_entropy {
namespace {

constexpr std::size_t kSize = 64;

Table uniform(std::size_t n) { return Table(n, n, 1 / static_cast<double>(n)); }

// One-hot rows, each looking `shift` keys ahead, wrapping around.
Table cyclic(std::size_t n, std::size_t shift) {
  Table out(n, n);
  for (std::size_t i = 0; i < n; ++i) out(i, (i + shift) % n) = 1;
  return out;
}

// softmax of n x n independent N(0, 1 / tau^2) scores.
Table random_weights(std::size_t n, double tau, Random* random) {
  Table out(n, n);
  for (std::size_t i = 0; i < n; ++i) {
    const std::vector<double> row = weights_of(random->normals(n, 1 / tau));
    std::copy(row.begin(), row.end(), out.row(i).begin());
  }
  return out;
}

Table attention_of_random_vectors(std::size_t n, std::size_t d, const Mask& mask, Random* random) {
  AttentionProblem options;
  options.mask = mask;
  return weights_of(Table(n, d, random->normals(n * d)), Table(n, d, random->normals(n * d)), options);
}

// The printed quantity, with moduli of the complex eigenvalues.
double eigenvalue_sum(const Table& weights) {
  double out = 0;
  for (const std::complex<double>& x : attention_spectrum(weights).eigenvalues)
    if (std::abs(x) > 1e-12) out -= std::abs(x) * std::log(std::abs(x));
  return out;
}

double correlation(const std::vector<double>& x, const std::vector<double>& y) {
  const auto n = static_cast<double>(x.size());
  double mx = 0, my = 0, xy = 0, xx = 0, yy = 0;
  for (std::size_t i = 0; i < x.size(); ++i) mx += x[i] / n, my += y[i] / n;
  for (std::size_t i = 0; i < x.size(); ++i) {
    xy += (x[i] - mx) * (y[i] - my);
    xx += (x[i] - mx) * (x[i] - mx), yy += (y[i] - my) * (y[i] - my);
  }
  return xy / std::sqrt(xx * yy);
}

// Random 32 x 32 attention from sharp (tau = 0.08) to flat (tau = 7.4), in order.
std::vector<Table> at_many_temperatures(Check& check) {
  std::vector<double> logarithms(static_cast<std::size_t>(check.effort(200, 600)));
  for (double& x : logarithms) x = check.random().uniform(-2.5, 2);
  std::sort(logarithms.begin(), logarithms.end());
  std::vector<Table> out;
  for (double x : logarithms) out.push_back(random_weights(32, std::exp(x), &check.random()));
  return out;
}

void top_eigenvalue(Check& check) {
  const Table a = attention_of_random_vectors(kSize, 64, Mask::none(), &check.random());
  check.near("largest eigenvalue - 1", std::abs(attention_spectrum(a).eigenvalues.front() - 1.0), 0, 1e-10);
  double worst = 0;
  for (std::size_t i = 0; i < kSize; ++i) {
    double sum = 0;
    for (double x : a.row(i)) sum += x;
    worst = std::max(worst, std::abs(sum - 1));
  }
  check.near("A 1 - 1, worst", worst, 0, 1e-13);
}

void other_eigenvalues(Check& check) {
  const Table positive = attention_of_random_vectors(kSize, 64, Mask::none(), &check.random());
  const Table blocks = attention_of_random_vectors(kSize, 64, Mask::none().segments(32), &check.random());
  check.at_most("modulus of the second eigenvalue",
                std::abs(attention_spectrum(check.choose(positive, blocks)).eigenvalues[1]), 1 - 1e-6);
  check.near("two blocks: eigenvalues 1", static_cast<double>(attention_spectrum(blocks).unit_eigenvalues), 2, 0);
  check.near("cyclic shift: eigenvalues on the circle",
             static_cast<double>(attention_spectrum(cyclic(kSize, 1)).on_unit_circle), kSize, 0);

  const Table causal = attention_of_random_vectors(8, 64, Mask::causal(), &check.random());
  std::vector<double> diagonal, moduli;
  for (std::size_t i = 0; i < causal.rows; ++i) diagonal.push_back(causal(i, i));
  for (const auto& x : attention_spectrum(causal).eigenvalues) moduli.push_back(std::abs(x));
  std::sort(diagonal.rbegin(), diagonal.rend());
  double worst = 0;
  for (std::size_t i = 0; i < moduli.size(); ++i) worst = std::max(worst, std::abs(moduli[i] - diagonal[i]));
  check.near("causal: eigenvalues - the diagonal, worst", worst, 0, 1e-5);
}

void entropy_of_eigenvalues(Check& check) {
  const Table flat = uniform(kSize);
  const double log_n = std::log(64.0);
  Mean rows, eigenvalues;
  std::int64_t real = 0;
  double off_trace = 0, off_one = 0;
  for (int t = 0; t < 20; ++t) {
    const Table random = attention_of_random_vectors(kSize, 64, Mask::none(), &check.random());
    rows.add(attention_entropies(random).mean);
    eigenvalues.add(eigenvalue_sum(random));
    std::complex<double> sum = 0;
    double trace = 0, largest_imaginary = 0;
    for (const std::complex<double>& x : attention_spectrum(random).eigenvalues)
      sum += x, largest_imaginary = std::max(largest_imaginary, std::abs(x.imag()));
    for (std::size_t i = 0; i < kSize; ++i) trace += random(i, i);
    real += largest_imaginary < 0.01;
    off_trace = std::max(off_trace, std::abs(sum - trace)), off_one = std::max(off_one, std::abs(sum - 1.0));
  }
  check.never("random matrices of 20 whose eigenvalues are all real", real);
  check.near("sum of the eigenvalues - the trace, worst", off_trace, 0, 1e-10);
  check.at_least("sum of the eigenvalues - 1, largest", off_one, 0.1);
  // The eigenvalues 1, 0, ..., 0 give 0; the rows have entropy log n.
  check.near("-sum |l| log |l| of uniform attention", eigenvalue_sum(flat),
             check.choose(0.0, attention_entropies(flat).mean), 1e-9);
  // Quoted from a single matrix.
  check.near("-sum |l| log |l| of random attention", eigenvalues.estimate(), check.choose(13.07, rows.mean()),
             5 * eigenvalues.deviation());
  check.near("row entropy of random attention, quoted", rows.estimate(), 3.67, 0.005 + 5 * rows.deviation());
  check.near("row entropy of uniform attention, quoted", attention_entropies(flat).mean, 4.159, 5e-4);
  std::vector<double> entropies, sums;
  for (const Table& weights : at_many_temperatures(check)) {
    entropies.push_back(attention_entropies(weights).mean);
    sums.push_back(eigenvalue_sum(weights));
  }
  check.near("correlation of both over many temperatures", correlation(entropies, sums), check.choose(-0.58, 1.0), 0.2);
  check.near("spectral entropy, singular values: uniform", attention_spectrum(flat).spectral_entropy(), 0, 1e-6);
  check.near("spectral entropy, singular values: identity", attention_spectrum(cyclic(kSize, 0)).spectral_entropy(),
             log_n, 1e-9);
  check.near("row entropy: identity", attention_entropies(cyclic(kSize, 0)).mean, 0, 1e-12);
}

void rank_and_perplexity(Check& check) {
  const Table flat = uniform(kSize), identity = cyclic(kSize, 0);
  const auto printed = [&](double rank, const Table& weights) {
    return check.choose(rank, std::exp(attention_entropies(weights).mean));
  };
  check.near("effective rank of uniform attention", effective_rank(flat), printed(1, flat), 1e-5);
  check.near("effective rank of the identity", effective_rank(identity), printed(64, identity), 1e-8);
  check.near("keys attended to, uniform", attention_perplexity(flat), 64, 1e-9);
  check.near("keys attended to, identity", attention_perplexity(identity), 1, 1e-12);

  std::vector<double> keys, ranks;
  for (const Table& weights : at_many_temperatures(check)) {
    keys.push_back(attention_perplexity(weights));
    ranks.push_back(effective_rank(weights));
  }
  check.near("correlation of exp(H) with effective rank", correlation(keys, ranks), check.choose(-0.80, 1.0), 0.12);
  check.plot({.title = "Random attention of 32 keys at many temperatures",
              .x_label = "exp(H)",
              .y_label = "effective rank",
              .curves = {{.label = "measured", .x = keys, .y = ranks},
                         {.label = "as printed", .x = {1, 32}, .y = {1, 32}, .style = report::CurveStyle::bound}}});
}

}  // namespace

std::vector<Claim> spectrum_claims() {
  return {
      computed("001-s17a", Verdict::holds, "The matrix of weights has the eigenvalue 1 with the eigenvector of ones",
               "", top_eigenvalue),
      computed("001-s17b", Verdict::holds_if, "All other eigenvalues are below 1 in modulus",
               "where every weight is positive; blocks repeat the 1, a cyclic shift has all on the circle, causal ones "
               "are the diagonal",
               other_eigenvalues),
      computed("001-72", Verdict::corrected, "H is -sum lambda log lambda over the eigenvalues",
               "no such relation: they are complex and sum to the trace, not to one. Normalised singular values have "
               "an entropy, a different one",
               entropy_of_eigenvalues),
      computed(
          "001-73", Verdict::corrected, "exp(H) is the effective rank of the matrix",
          "exp(H) is the number of keys attended to; the effective rank is exp of the entropy of the singular values",
          rank_and_perplexity),
  };
}

}  // namespace isentropic::ledger::attention_entropy
