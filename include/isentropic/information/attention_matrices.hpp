// What an attention matrix says about itself: row-stochastic weights a(j|q), queries q along the rows, keys j along the
// columns, queries equally likely. Nats.
//
//   H(J|Q)          mean of the rows' entropies                     <= H(J)
//   H(J)            entropy of the mean row
//   perplexity      exp(H(J|Q)): keys that a query attends to       1 ... n
//   effective rank  exp(entropy of sigma_i / sum sigma), sigma the singular values (Roy & Vetterli 2007)   1 ... n
//
// The last two differ: uniform attention over n keys has perplexity n and effective rank 1, the identity has 1 and n.
// Nor is -sum lambda log lambda of the eigenvalues an entropy: they are complex and sum to the trace.
//
// Rows must be non-negative and sum to one within 1e-5, as float32 kernels produce them; they are rescaled to sum to
// one in double. Error otherwise.
#pragma once

#include <complex>
#include <cstddef>
#include <vector>

#include "isentropic/export.hpp"
#include "isentropic/information/table.hpp"

namespace isentropic::information {

struct AttentionEntropies {
  std::vector<double> per_query;
  double mean = 0;      // H(J|Q)
  double marginal = 0;  // H(J)
};
ISENTROPIC_API AttentionEntropies attention_entropies(const Table& weights);
ISENTROPIC_API double attention_perplexity(const Table& weights);

// Eigenvalues need as many queries as keys. The largest is 1, with the all-ones eigenvector. It is the only one of
// modulus 1 when every weight is positive; blocks that do not see each other repeat it, and a cyclic shift has all n on
// the unit circle.
struct AttentionSpectrum {
  std::vector<std::complex<double>> eigenvalues;  // by decreasing modulus
  std::vector<double> singular_values;            // decreasing
  std::size_t unit_eigenvalues = 0;               // those within 1e-8 of 1
  std::size_t on_unit_circle = 0;                 // those of modulus within 1e-8 of 1

  ISENTROPIC_API double spectral_entropy() const;  // of the normalised singular values
};
ISENTROPIC_API AttentionSpectrum attention_spectrum(const Table& weights);
// exp of the spectral entropy; any shape.
ISENTROPIC_API double effective_rank(const Table& weights);

// Of any matrix of finite numbers, not only weights; decreasing, as many as the shorter side. Those below 1e-16 of the
// largest are rounding error.
ISENTROPIC_API std::vector<double> singular_values(const Table& matrix);

}  // namespace isentropic::information
