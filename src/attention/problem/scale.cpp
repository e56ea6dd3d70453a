#include "isentropic/scale.hpp"

#include <algorithm>
#include <cmath>

#include "isentropic/error.hpp"

namespace isentropic {
namespace {

void require_finite(const std::string& argument, const PerHead& values) {
  if (values.values().empty()) throw Error(argument, "an empty list", "one value, or one for each head");
  for (double value : values.values())
    if (!std::isfinite(value)) throw Error(argument, value, "a finite number");
}

void require_length(const std::string& argument, std::int64_t value, std::int64_t least) {
  if (value < least) throw Error(argument, std::to_string(value), "at least " + std::to_string(least));
}

double log_of(std::int64_t n) { return n > 1 ? std::log(static_cast<double>(n)) : 0.0; }

}  // namespace

Scale Scale::inverse_sqrt_d() { return Scale(Law::inverse_sqrt_d); }

Scale Scale::log_n(PerHead kappa) {
  require_finite("kappa", kappa);
  return Scale(Law::log_n, {std::move(kappa)});
}

Scale Scale::log_n_sqrt_d(PerHead kappa) {
  require_finite("kappa", kappa);
  return Scale(Law::log_n_sqrt_d, {std::move(kappa)});
}

Scale Scale::sqrt_log_n(PerHead kappa) {
  require_finite("kappa", kappa);
  return Scale(Law::sqrt_log_n, {std::move(kappa)});
}

Scale Scale::frozen(PerHead kappa, std::int64_t n_max) {
  require_finite("kappa", kappa);
  require_length("n_max", n_max, 1);
  Scale scale(Law::frozen, {std::move(kappa)});
  scale.length_ = n_max;
  return scale;
}

Scale Scale::hybrid(PerHead alpha, PerHead beta) {
  require_finite("alpha", alpha);
  require_finite("beta", beta);
  return Scale(Law::hybrid, {std::move(alpha), std::move(beta)});
}

Scale Scale::trained_length(std::int64_t n_train) {
  require_length("n_train", n_train, 2);
  Scale scale(Law::trained_length);
  scale.length_ = n_train;
  return scale;
}

Scale Scale::ssmax(PerHead s) {
  require_finite("s", s);
  return Scale(Law::ssmax, {std::move(s)});
}

Scale Scale::yarn(double factor, double mscale) {
  require_finite("mscale", mscale);
  if (!(std::isfinite(factor) && factor >= 1)) throw Error("factor", factor, "a finite number >= 1");
  return Scale(Law::yarn, {factor, mscale});
}

Scale Scale::llama4(std::int64_t step, double coefficient) {
  require_length("step", step, 1);
  require_finite("coefficient", coefficient);
  Scale scale(Law::llama4, {coefficient});
  scale.length_ = step;
  return scale;
}

Scale Scale::constant(PerHead lambda) {
  require_finite("lambda", lambda);
  return Scale(Law::constant, {std::move(lambda)});
}

Scale Scale::temperature(PerHead tau) {
  require_finite("temperature", tau);
  std::vector<double> lambda;
  for (double value : tau.values()) {
    if (!(value > 0)) throw Error("temperature", value, "a positive number");
    lambda.push_back(1 / value);
  }
  return Scale(Law::constant, {PerHead(std::move(lambda))});
}

Scale Scale::per_row(View lambda) {
  Scale scale(Law::per_row);
  scale.rows_ = std::move(lambda);
  return scale;
}

Scale Scale::target_entropy(PerHead target, TargetEntropyGradient gradient) {
  require_finite("target entropy", target);
  for (double value : target.values())
    if (value < 0) throw Error("target entropy", value, "a number >= 0, in nats");
  Scale scale(Law::target_entropy, {std::move(target)});
  scale.gradient_ = gradient;
  return scale;
}

bool Scale::looks_at_n() const {
  switch (law_) {
    case Law::log_n:
    case Law::log_n_sqrt_d:
    case Law::sqrt_log_n:
    case Law::hybrid:
    case Law::trained_length:
    case Law::ssmax:
    case Law::target_entropy:
      return true;
    default:
      return false;
  }
}

double Scale::lambda(const ScaleInput& row) const {
  const auto parameter = [&](int index) { return parameters_[index][row.head]; };
  const double d = static_cast<double>(row.d), log_n = log_of(row.visible);
  switch (law_) {
    case Law::inverse_sqrt_d:
      return 1 / std::sqrt(d);
    case Law::log_n:
      return parameter(0) * log_n / d;
    case Law::log_n_sqrt_d:
      return parameter(0) * log_n / std::sqrt(d);
    case Law::sqrt_log_n:
      return parameter(0) * std::sqrt(log_n / d);
    case Law::frozen:
      return parameter(0) * log_of(length_) / d;
    case Law::hybrid:
      return parameter(0) / std::sqrt(d) + parameter(1) * log_n / d;
    case Law::trained_length:
      return std::max(1.0, log_n / log_of(length_)) / std::sqrt(d);
    case Law::ssmax:
      return parameter(0) * log_n;
    case Law::yarn: {
      const double mscale = 0.1 * parameter(1) * std::log(parameter(0)) + 1;
      return mscale * mscale / std::sqrt(d);
    }
    case Law::llama4: {
      // A query may lie before the first key (aligned to the end, more queries than keys): no step yet.
      const double steps = static_cast<double>(std::max<std::int64_t>(0, row.position + 1) / length_);
      return (1 + parameter(0) * std::log1p(steps)) / std::sqrt(d);
    }
    case Law::constant:
      return parameter(0);
    case Law::per_row:
    case Law::target_entropy:
      break;
  }
  throw Error("scale", name(), "a law that is a formula");
}

int Scale::learnable() const {
  switch (law_) {
    case Law::log_n:
    case Law::log_n_sqrt_d:
    case Law::sqrt_log_n:
    case Law::frozen:
    case Law::ssmax:
    case Law::constant:
      return 1;
    case Law::hybrid:
      return 2;
    default:
      return 0;
  }
}

// Every learnable law is linear in its parameters: the derivative is the law with that parameter 1, the others 0.
double Scale::derivative(int parameter, const ScaleInput& row) const {
  Scale unit = *this;
  for (int index = 0; index < learnable(); ++index) unit.parameters_[index] = PerHead(index == parameter ? 1.0 : 0.0);
  return unit.lambda(row);
}

std::string Scale::name() const {
  switch (law_) {
    case Law::inverse_sqrt_d:
      return "inverse_sqrt_d";
    case Law::log_n:
      return "log_n";
    case Law::log_n_sqrt_d:
      return "log_n_sqrt_d";
    case Law::sqrt_log_n:
      return "sqrt_log_n";
    case Law::frozen:
      return "frozen";
    case Law::hybrid:
      return "hybrid";
    case Law::trained_length:
      return "trained_length";
    case Law::ssmax:
      return "ssmax";
    case Law::yarn:
      return "yarn";
    case Law::llama4:
      return "llama4";
    case Law::constant:
      return "constant";
    case Law::per_row:
      return "per_row";
    case Law::target_entropy:
      return "target_entropy";
  }
  return "unknown";
}

}  // namespace isentropic
