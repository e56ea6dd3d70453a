// The scale lambda of a row: x_j = lambda q.k_j, applied in the kernel's precision after the product.
//
//   inverse_sqrt_d    1 / sqrt d                                      (the usual one)
//   log_n             kappa log n / d
//   log_n_sqrt_d      kappa log n / sqrt d
//   sqrt_log_n        kappa sqrt(log n / d)
//   frozen            kappa log n_max / d                             (log_n stopped at one length)
//   hybrid            alpha / sqrt d + beta log n / d
//   trained_length    max(1, log n / log n_train) / sqrt d
//   info_scale        sqrt((1 - n^(-2/d)) / (1 - n_train^(-2/d))) / sqrt d   (Li et al. 2025)
//   ssmax             s_head log n                                    (no 1 / sqrt d)
//   yarn              (0.1 mscale log(factor) + 1)^2 / sqrt d         (factor >= 1)
//   llama4            (1 + coefficient log(1 + floor((p + 1) / step))) / sqrt d, by position p
//   constant          lambda itself (1 / temperature)
//   per_row           a tensor
//   target_entropy    solved per row so that H = target (entropy_solver.hpp)
//
// n is the number of keys the row can see: i + 1 when causal, the neighbourhood's size when sparse, n_k in
// cross-attention. log 1 = 0, so a row with one key gets lambda = 0, which is harmless. By hand: log_n(1) at
// n = 1024, d = 64 is 0.10830.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "isentropic/export.hpp"
#include "isentropic/tensor.hpp"
#include "isentropic/vocabulary.hpp"

namespace isentropic {

// One value for all heads, or one per head.
class PerHead {
 public:
  PerHead(double value) : values_{value} {}                            // NOLINT: a plain number is the common case
  PerHead(std::vector<double> values) : values_(std::move(values)) {}  // NOLINT
  double operator[](std::int64_t head) const { return values_[values_.size() == 1 ? 0 : head]; }
  const std::vector<double>& values() const { return values_; }

 private:
  std::vector<double> values_;
};

// The inputs a law may depend on.
struct ScaleInput {
  std::int64_t visible;  // n
  std::int64_t d;
  std::int64_t position;  // of the query within its document, from 0
  std::int64_t head;
};

// How gradients treat the lambda of a target entropy: as a constant, or through the equation H = target.
enum class TargetEntropyGradient : std::uint8_t { detached, implicit };

struct ScaleLaw;

class ISENTROPIC_API Scale {
 public:
  static Scale inverse_sqrt_d();
  static Scale log_n(PerHead kappa = 1.0);
  static Scale log_n_sqrt_d(PerHead kappa = 1.0);
  static Scale sqrt_log_n(PerHead kappa = 1.0);
  static Scale frozen(PerHead kappa, std::int64_t n_max);
  static Scale hybrid(PerHead alpha, PerHead beta);
  static Scale trained_length(std::int64_t n_train);
  static Scale info_scale(std::int64_t n_train);
  static Scale ssmax(PerHead s);
  static Scale yarn(double factor, double mscale = 1.0);
  static Scale llama4(std::int64_t step = 8192, double coefficient = 0.1);
  static Scale constant(PerHead lambda);
  static Scale temperature(PerHead tau);  // constant(1 / tau)
  static Scale per_row(View lambda);      // [batch or 1, heads or 1, n_q]
  static Scale target_entropy(PerHead target, TargetEntropyGradient gradient = TargetEntropyGradient::detached);

  // Any law by its name: named("frozen", {{"kappa", 1.0}, {"n_max", std::int64_t{4096}}}). Omitted options take their
  // defaults. An Error lists the known names.
  static Scale named(const std::string& law, const Options& options = {});
  // Every law, in the order above.
  static const std::vector<ScaleLaw>& laws();

  const ScaleLaw& law() const { return *law_; }
  const std::string& name() const;  // "log_n"
  bool is_per_row() const;
  bool is_target_entropy() const;

  const View& rows() const { return rows_; }
  double target(std::int64_t head) const { return parameters_[0][head]; }
  TargetEntropyGradient gradient() const { return gradient_; }

  // Whether the law depends on n, so that visible keys must be counted before it is known.
  bool looks_at_n() const;
  // lambda of a row; not for per_row and target_entropy.
  double lambda(const ScaleInput& row) const;

  // The law's parameters in the order of its table, the learnable ones first.
  const std::vector<PerHead>& parameters() const { return parameters_; }
  Scale with_parameter(std::size_t index, PerHead value) const;
  int learnable() const;
  // d lambda / d parameter.
  double derivative(int parameter, const ScaleInput& row) const;

  // The options to pass to named() to recreate this scale.
  Options options() const;

 private:
  explicit Scale(const ScaleLaw& law, std::vector<PerHead> parameters = {});
  const ScaleLaw* law_;
  std::vector<PerHead> parameters_;
  View rows_;
  TargetEntropyGradient gradient_ = TargetEntropyGradient::detached;
};

// The variables of a law's formula.
struct ScaleTerms {
  const std::vector<PerHead>& parameters;
  const ScaleInput& row;
  double d;
  double log_n;  // 0 for n <= 1

  double operator[](std::size_t index) const { return parameters[index][row.head]; }
};

// A law is fully defined by its entry in the table of scale.cpp and its formula in scale_formulas.hpp.
struct ScaleLaw {
  std::string name;
  std::string formula;
  std::vector<Parameter> parameters;
  bool looks_at_n;
  double (*lambda)(const ScaleTerms& terms);  // null: not a formula
};

}  // namespace isentropic
