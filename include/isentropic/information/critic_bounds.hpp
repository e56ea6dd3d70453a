// Bounds on mutual information from a critic: an N x N table of scores f(x_j, y_i), anchor y_i along the rows,
// candidate x_j along the columns, with matching pairs on the diagonal. Nats.
//
// Write J for the mean over the diagonal (pairs drawn jointly) and M for the mean over the rest (pairs drawn
// independently). With r = p(x, y) / (p(x) p(y)), whose logarithm is the pointwise mutual information (PMI):
//
//   InfoNCE             log N + J[ f_ii - log sum_j e^{f_ij} ]                     best f: PMI + c(y)     <= log N
//   Donsker-Varadhan    J[f] - log M[e^f]                                          best f: PMI + c
//   MINE                J[f] - log(moving average of M[e^f])                       best f: PMI + c
//   NWJ                 J[f] - M[e^{f - 1}]                                        best f: PMI + 1
//   TUBA                1 + J[f - log a(y)] - M[e^f / a(y)]                        best f: PMI + log a
//   interpolated        TUBA with the baseline alpha * (InfoNCE's mean) + (1 - alpha) * a(y)   <= 1 + log((N-1)/alpha)
//   Jensen-Shannon      NWJ of f + 1, for an f trained by J[-softplus(-f)] - M[softplus(f)]
//   SMILE               J[f] - log M[clip(e^f, e^-tau, e^tau)]                     no bound
//   Barber-Agakov       H(X) + E[log q(x|z)]                                       best q: p(x|z)   discrete: <= H(X)
//
// A bound holds for the expectation over batches whose candidates are drawn from p(x) independently of the anchor,
// never for a single batch; candidates chosen depending on the anchor break all of them. By hand: all scores equal give
// InfoNCE 0; the identity times a large number gives log N.
//
// Sources: Barber & Agakov 2003; Donsker & Varadhan 1983; Nguyen, Wainwright & Jordan 2010; Belghazi et al. 2018
// (MINE); van den Oord et al. 2018 (InfoNCE); Poole et al. 2019 (TUBA, interpolated, Jensen-Shannon); Song & Ermon 2020
// (SMILE).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "isentropic/export.hpp"
#include "isentropic/information/table.hpp"

namespace isentropic::information {

enum class BoundValidity : std::uint8_t {
  lower_bound,               // the expectation over batches never exceeds I(X;Y)
  lower_bound_in_the_limit,  // only for many pairs: the logarithm of a sample mean is too small on average
  estimate                   // may lie on either side, with any number of pairs
};

struct CriticBound {
  double value = 0;
  double ceiling = 0;  // the value never exceeds it, for any critic; +inf if there is none
  BoundValidity validity = BoundValidity::lower_bound;
};

// Scores: square, at least 2 x 2; Error otherwise. A NaN makes the bound NaN.
ISENTROPIC_API CriticBound info_nce_bound(const Table& scores);
ISENTROPIC_API CriticBound donsker_varadhan_bound(const Table& scores);
ISENTROPIC_API CriticBound nwj_bound(const Table& scores);
// log a(y_i), one per row.
ISENTROPIC_API CriticBound tuba_bound(const Table& scores, std::span<const double> log_baseline);
// alpha in [0, 1], N >= 3. InfoNCE's mean leaves one candidate out, so alpha = 1 is InfoNCE over N - 1 candidates;
// alpha = 0 is TUBA.
ISENTROPIC_API CriticBound interpolated_bound(const Table& scores, std::span<const double> log_baseline, double alpha);
// clip > 0; inf: no clipping, which is Donsker-Varadhan.
ISENTROPIC_API CriticBound smile_estimate(const Table& scores, double clip);

// MINE's partition function: an exponential moving average of M[e^f] over batches, kept as a logarithm.
class ISENTROPIC_API MovingPartition {
 public:
  // share in (0, 1]: the weight of the newest batch. The first batch starts the average.
  explicit MovingPartition(double share);
  double log_average() const { return log_average_; }  // -inf before the first batch
  CriticBound update(const Table& scores);             // adds the batch, then evaluates the bound

 private:
  double share_;
  double log_average_;
};

struct JensenShannonBound {
  double divergence = 0;           // lower bound on JS(p(x,y), p(x)p(y)) from the discriminator f; at most log 2
  CriticBound mutual_information;  // NWJ of f + 1
};
ISENTROPIC_API JensenShannonBound jensen_shannon_bound(const Table& scores);

enum class Likelihood : std::uint8_t { probability, density };
// From H(X) and log q(x_i | z_i) on a sample drawn from p(x, z).
ISENTROPIC_API CriticBound barber_agakov_bound(double entropy_of_x, std::span<const double> log_likelihoods,
                                               Likelihood kind = Likelihood::probability);

// The highest InfoNCE of a critic cos(x, y) / temperature: log N - log(1 + (N - 1) e^{-2 / temperature}), which tends
// to 2 / temperature as N grows.
ISENTROPIC_API double cosine_critic_ceiling(std::size_t candidates, double temperature);

}  // namespace isentropic::information
