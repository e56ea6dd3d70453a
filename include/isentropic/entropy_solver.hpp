// The scale that gives a softmax row a target entropy.
//
// For scores s = lambda r the entropy falls with lambda: dH/dlambda = -lambda Var_p(r) <= 0. In the variable
// lambda^2 it is nearly a straight line (Gaussian scores: H = log k - lambda^2 Var(r) / 2), so Newton's step is
//
//   lambda^2 <- lambda^2 (1 + 2 (H - target) / V),      V = Var_p(s) = lambda^2 Var_p(r),
//
// kept inside a bracket that each evaluation shrinks. One evaluation is one statistics-only pass. When scores are so
// small that V underflows, the distance from their mean to the maximum is still known: lambda is then chosen to make
// that distance 1.
//
// Reach: log(ties of the maximum) < target < log k. Outside it the row saturates and reports it:
// above, lambda = 0 (H = log k is the maximum); below, lambda is the largest one tried.
// By hand: r = {0, 1}, target = H(1/4, 3/4) = 0.562335...: lambda = log 3.
//
// Plain C++ and CUDA (host and device) include this header.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>

#include "isentropic/softmax_record.hpp"

namespace isentropic {

enum class TargetEntropyStatus : std::uint8_t {
  solved,        // |H - target| <= tolerance
  above_reach,   // target >= log k: uniform weights, lambda = 0
  below_reach,   // target <= log(ties): H stays above it for every lambda
  not_converged  // iteration limit reached or scores not finite: lambda is then the last one that gave finite scores
};

// The state of one row; the caller evaluates H and V at `lambda` and calls update until `active` is false.
class EntropySolver {
 public:
  static constexpr int kMaxIterations = 40;

  // k visible keys. start > 0 is the first lambda tried; tolerance is absolute, in nats.
  ISENTROPIC_HOST_DEVICE EntropySolver(double target, std::int64_t k, double start, double tolerance)
      : target_(target),
        tolerance_(tolerance),
        lambda_(start),
        half_least_weight_(k > 0 ? 0.5 / static_cast<double>(k) : 0) {
    if (k == 0 || target >= std::log(static_cast<double>(k))) finish(TargetEntropyStatus::above_reach, 0.0);
  }

  ISENTROPIC_HOST_DEVICE bool active() const { return active_; }
  ISENTROPIC_HOST_DEVICE double lambda() const { return lambda_; }
  ISENTROPIC_HOST_DEVICE int iterations() const { return iterations_; }
  ISENTROPIC_HOST_DEVICE TargetEntropyStatus status() const { return status_; }

  // H, V and max - E of the row at lambda(); the last matters only when V underflows or is lost in rounding.
  ISENTROPIC_HOST_DEVICE void update(double entropy, double variance, double mean_gap = 0) {
    ++iterations_;
    const double excess = entropy - target_;
    if (!(std::isfinite(entropy) && std::isfinite(variance)))
      return finish(TargetEntropyStatus::not_converged, low_ > 0 ? low_ : lambda_);
    if (std::abs(excess) <= tolerance_) return finish(TargetEntropyStatus::solved, lambda_);
    const bool vanishes = variance <= kLeastVariance;
    if (excess > 0 && vanishes && mean_gap > 0 && mean_gap < kMostUnderflow && lambda_ / mean_gap < kMostLambda &&
        iterations_ < kMaxIterations) {
      low_ = lambda_;
      lambda_ /= mean_gap;
      return;
    }
    // The maximum has a weight of at least 1 / k, so V is at least gap^2 / (k - 1). A smaller V is a rounding artefact:
    // all keys with significant weight share one score.
    const bool frozen = vanishes || variance < mean_gap * mean_gap * half_least_weight_;
    if (excess > 0 && frozen) return finish(TargetEntropyStatus::below_reach, lambda_);
    if (iterations_ >= kMaxIterations) return finish(TargetEntropyStatus::not_converged, lambda_);
    (excess > 0 ? low_ : high_) = lambda_;
    lambda_ = inside(frozen ? 0.0 : lambda_ * std::sqrt(std::fmax(0.0, 1 + 2 * excess / variance)));
  }

 private:
  // Newton's proposal when it lies inside the bracket; otherwise the middle of the bracket in log lambda, or a step
  // beyond the end that is still open.
  ISENTROPIC_HOST_DEVICE double inside(double proposal) const {
    const bool open_above = !std::isfinite(high_);
    if (proposal > low_ && proposal < high_) return open_above ? std::fmin(proposal, 64 * low_) : proposal;
    if (open_above) return 4 * low_;
    return low_ > 0 ? std::sqrt(low_ * high_) : high_ / 8;
  }

  ISENTROPIC_HOST_DEVICE void finish(TargetEntropyStatus status, double lambda) {
    status_ = status;
    lambda_ = lambda;
    active_ = false;
  }

  static constexpr double kLeastVariance = std::numeric_limits<double>::min();
  static constexpr double kMostUnderflow = 1e-15;  // squares of larger gaps do not underflow, in float32 either
  static constexpr double kMostLambda = std::numeric_limits<float>::max();
  static constexpr double kOpen = std::numeric_limits<double>::infinity();

  double target_, tolerance_, lambda_, half_least_weight_;
  double low_ = 0, high_ = kOpen;
  int iterations_ = 0;
  bool active_ = true;
  TargetEntropyStatus status_ = TargetEntropyStatus::not_converged;
};

}  // namespace isentropic
