// The two halves of a bottleneck problem as the solvers use them: p(x) and the channel p(y|x), and the decoder that a
// code implies. Values of X that never occur are omitted; `support` lists those that remain.
#pragma once

#include <cstddef>
#include <vector>

#include "isentropic/information/table.hpp"

namespace isentropic::information::bottleneck {

struct Problem {
  std::vector<std::size_t> support;  // rows of the joint that have mass
  std::vector<double> px, py;
  Table channel;                      // p(y|x)
  std::vector<double> channel_log_p;  // sum_y p(y|x) log p(y|x)

  // Error if the joint is not a distribution.
  explicit Problem(const Table& joint);

  std::size_t inputs() const { return px.size(); }
  Table without_unused(const Table& encoder) const;
  // Rows that never occur get the constant code's row: the marginal p(z).
  Table with_unused(const Table& encoder, std::size_t rows) const;
};

// p(z) and p(y|z) of an encoder; a code without mass has p(y|z) = 0.
struct Decoder {
  std::vector<double> pz;
  Table pyz;  // z along the rows

  Decoder(const Problem& problem, const Table& encoder);
};

struct Information {
  double x = 0, y = 0, entropy = 0;  // I(Z;X), I(Z;Y), H(Z)
};
// Takes H(Z|X), which a softmax gives without extra logarithms and which is 0 for functions of x.
Information information_of(const Problem& problem, const Decoder& decoder, double conditional_entropy);

// log p(z) - KL(p(y|x) || p(y|z)) / beta, the logarithm of the next encoder up to its normaliser.
Table log_preferences(const Problem& problem, const Decoder& decoder, double beta);

// The encoder without codes of negligible mass, and with codes merged if their p(y|z) differ by at most `difference`,
// which costs I(Z;Y) about its square.
Table compact(const Problem& problem, const Table& encoder, double difference);

void require_encoder(const Table& encoder, std::size_t rows);

}  // namespace isentropic::information::bottleneck
