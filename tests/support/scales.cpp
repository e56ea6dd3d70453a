// Scales and score terms.
#include <limits>

#include "support/parts.hpp"

namespace support {
namespace {

using isentropic::Bias;
using isentropic::Scale;
using reference::Law;

// Values that differ between heads: base, base + step, ...
Numbers by_head(const Instance& x, double base, double step) {
  Numbers out;
  for (std::int64_t h = 0; h < x.sizes.heads; ++h) out.push_back(base + step * static_cast<double>(h));
  return out;
}

Numbers same(const Instance& x, double value) { return by_head(x, value, 0); }

Part one_parameter_law(const char* name, Scale (*make)(isentropic::PerHead), Law law, double base, double step) {
  return {name, [=](Instance& x) {
            const Numbers parameter = by_head(x, base, step);
            x.problem.scale = make(parameter);
            x.oracle.scale = {law, {parameter}, 0, {}};
          }};
}

Part dense_bias_of(const char* name, Repeat repeat, double masked) {
  return {name, [=](Instance& x) {
            const Shape full{x.sizes.batch, x.sizes.heads, x.sizes.n_q, x.sizes.n_k};
            const Shape shape = repeated(full, repeat);
            Numbers values = x.random.normals(count(shape));
            for (double& value : values) {
              const double choice = x.random.uniform();
              if (choice < masked) value = -std::numeric_limits<double>::infinity();
              if (choice > 1 - masked) value = lowest(x.type);
            }
            x.problem.bias = Bias::dense(x.store(&values, shape));
            x.oracle.bias.kind = reference::BiasKind::dense;
            x.oracle.bias.dense = expanded(values, shape, full);
          }};
}

}  // namespace

Part log_n() { return one_parameter_law("log_n", &Scale::log_n, Law::log_n, 1.5, 0.4); }
Part log_n_sqrt_d() { return one_parameter_law("log_n_sqrt_d", &Scale::log_n_sqrt_d, Law::log_n_sqrt_d, 0.5, 0.2); }
Part sqrt_log_n() { return one_parameter_law("sqrt_log_n", &Scale::sqrt_log_n, Law::sqrt_log_n, 0.7, -0.3); }
Part ssmax() { return one_parameter_law("ssmax", &Scale::ssmax, Law::ssmax, 0.3, 0.13); }
Part constant_scale_per_head() {
  return one_parameter_law("constant by head", &Scale::constant, Law::constant, 0.8, -0.5);
}

Part constant_scale(double lambda) {
  return {"constant(" + std::to_string(lambda) + ")", [=](Instance& x) {
            x.problem.scale = Scale::constant(lambda);
            x.oracle.scale = {Law::constant, {same(x, lambda)}, 0, {}};
          }};
}

Part frozen() {
  return {"frozen", [](Instance& x) {
            const Numbers kappa = by_head(x, 0.9, 0.35);
            x.problem.scale = Scale::frozen(kappa, 50);
            x.oracle.scale = {Law::frozen, {kappa}, 50, {}};
          }};
}

Part hybrid() {
  return {"hybrid", [](Instance& x) {
            const Numbers alpha = by_head(x, 0.6, 0.2), beta = by_head(x, 0.8, -0.1);
            x.problem.scale = Scale::hybrid(alpha, beta);
            x.oracle.scale = {Law::hybrid, {alpha, beta}, 0, {}};
          }};
}

Part trained_length(std::int64_t n_train) {
  return {"trained_length(" + std::to_string(n_train) + ")", [=](Instance& x) {
            x.problem.scale = Scale::trained_length(n_train);
            x.oracle.scale = {Law::trained_length, {}, n_train, {}};
          }};
}

Part info_scale() {
  return {"info_scale", [](Instance& x) {
            x.problem.scale = Scale::info_scale(5);
            x.oracle.scale = {Law::info_scale, {}, 5, {}};
          }};
}

Part yarn() {
  return {"yarn", [](Instance& x) {
            x.problem.scale = Scale::yarn(4, 1.3);
            x.oracle.scale = {Law::yarn, {same(x, 4), same(x, 1.3)}, 0, {}};
          }};
}

Part llama4(std::int64_t step) {
  return {"llama4(" + std::to_string(step) + ")", [=](Instance& x) {
            x.problem.scale = Scale::llama4(step, 0.7);
            x.oracle.scale = {Law::llama4, {same(x, 0.7)}, step, {}};
          }};
}

Part per_row_scale(Repeat repeat) {
  return {"per_row", [=](Instance& x) {
            const Shape full{x.sizes.batch, x.sizes.heads, x.sizes.n_q};
            const Shape shape = repeated(full, repeat);
            Numbers rows(count(shape));
            for (double& lambda : rows) lambda = x.random.uniform(-0.5, 1.5);
            x.problem.scale = Scale::per_row(x.store(&rows, shape));
            x.oracle.scale = {Law::per_row, {}, 0, expanded(rows, shape, full)};
          }};
}

Part target_entropy(double target, isentropic::TargetEntropyGradient gradient) {
  return {"target_entropy(" + std::to_string(target) + ")", [=](Instance& x) {
            x.problem.scale = Scale::target_entropy(target, gradient);
            x.oracle.scale = {Law::target_entropy, {same(x, target)}, 0, {}};
          }};
}

std::vector<Part> formula_scales() {
  return {{"inverse_sqrt_d", [](Instance&) {}},
          log_n(),
          log_n_sqrt_d(),
          sqrt_log_n(),
          frozen(),
          hybrid(),
          trained_length(3),
          trained_length(1000),
          info_scale(),
          ssmax(),
          yarn(),
          llama4(2),
          constant_scale(0.7),
          constant_scale(-0.4),
          constant_scale(0),
          constant_scale_per_head(),
          per_row_scale(),
          per_row_scale(Repeat::batch),
          per_row_scale(Repeat::heads)};
}

Part soft_cap(double cap) {
  return {"soft cap " + std::to_string(cap), [=](Instance& x) {
            x.problem.soft_cap = cap;
            x.oracle.soft_cap = cap;
          }};
}

Part dense_bias(Repeat repeat) { return dense_bias_of("dense bias", repeat, 0); }
Part dense_bias_with_masked_keys() { return dense_bias_of("dense bias with masked keys", Repeat::none, 0.15); }

Part alibi() {
  return {"alibi", [](Instance& x) {
            const Numbers slopes = by_head(x, 0.25, 0.3);
            x.problem.bias = Bias::alibi(slopes);
            x.oracle.bias.kind = reference::BiasKind::alibi;
            x.oracle.bias.slopes = slopes;
          }};
}

Part relative(std::int64_t reach, Repeat repeat) {
  return {"relative(" + std::to_string(reach) + ")", [=](Instance& x) {
            const Shape full{x.sizes.heads, 2 * reach + 1};
            const Shape shape{repeat == Repeat::heads ? 1 : x.sizes.heads, 2 * reach + 1};
            Numbers table = x.random.normals(count(shape));
            x.problem.bias = Bias::relative(x.store(&table, shape));
            x.oracle.bias.kind = reference::BiasKind::relative;
            x.oracle.bias.reach = reach;
            x.oracle.bias.table = expanded(table, shape, full);
          }};
}

Part sink() {
  return {"sink", [](Instance& x) {
            const Numbers logits = by_head(x, 0.5, -1.5);
            x.problem.sink = isentropic::PerHead(logits);
            x.oracle.sink = logits;
          }};
}

}  // namespace support
