// The scale laws: their table, and the functions on its entries.
#include "isentropic/scale.hpp"

#include <algorithm>
#include <cmath>

#include "attention/problem/options.hpp"
#include "attention/problem/scale_formulas.hpp"
#include "isentropic/error.hpp"

namespace isentropic {
namespace {

// A law's formula (scale_formulas.hpp), in the form stored in its entry.
template <LawNumber law>
double formula(const ScaleTerms& terms) {
  LawTerms x = {{}, terms.d, terms.log_n, terms.row.position};
  for (std::size_t i = 0; i < terms.parameters.size(); ++i) x.parameter[i] = terms[i];
  return scale_by_law(law, x);
}

Parameter learnable(const char* name, std::optional<Option> usual = {}) {
  return {.name = name, .type = Parameter::Type::per_head, .usual = std::move(usual), .learnable = true};
}

Parameter length(const char* name, std::int64_t least, std::optional<Option> usual = {}) {
  return {.name = name,
          .type = Parameter::Type::integer,
          .usual = std::move(usual),
          .least = static_cast<double>(least),
          .expected = "at least " + std::to_string(least)};
}

Parameter number(const char* name, std::optional<Option> usual) {
  return {.name = name, .type = Parameter::Type::number, .usual = std::move(usual)};
}

// In the order of LawNumber. Learnable parameters come first; looks_at_n is whether log_n is used.
std::vector<ScaleLaw> make_laws() {
  using enum LawNumber;
  const Parameter factor = {
      .name = "factor", .type = Parameter::Type::number, .least = 1, .expected = "a finite number >= 1"};
  const Parameter target = {
      .name = "target", .type = Parameter::Type::per_head, .least = 0, .expected = "a finite number >= 0, in nats"};
  const Parameter gradient = {
      .name = "gradient", .type = Parameter::Type::choice, .usual = "detached", .choices = {"detached", "implicit"}};
  return {
      {"inverse_sqrt_d", "1 / sqrt d", {}, false, formula<inverse_sqrt_d>},
      {"log_n", "kappa log n / d", {learnable("kappa", 1.0)}, true, formula<log_n>},
      {"log_n_sqrt_d", "kappa log n / sqrt d", {learnable("kappa", 1.0)}, true, formula<log_n_sqrt_d>},
      {"sqrt_log_n", "kappa sqrt(log n / d)", {learnable("kappa", 1.0)}, true, formula<sqrt_log_n>},
      {"frozen", "kappa log n_max / d", {learnable("kappa"), length("n_max", 1)}, false, formula<frozen>},
      {"hybrid", "alpha / sqrt d + beta log n / d", {learnable("alpha"), learnable("beta")}, true, formula<hybrid>},
      {"trained_length", "max(1, log n / log n_train) / sqrt d", {length("n_train", 2)}, true, formula<trained_length>},
      {"info_scale",
       "sqrt((1 - n^(-2/d)) / (1 - n_train^(-2/d))) / sqrt d",
       {length("n_train", 2)},
       true,
       formula<info_scale>},
      {"ssmax", "s log n", {learnable("s")}, true, formula<ssmax>},
      {"yarn", "(0.1 mscale log(factor) + 1)^2 / sqrt d", {factor, number("mscale", 1.0)}, false, formula<yarn>},
      {"llama4",
       "(1 + coefficient log(1 + floor((p + 1) / step))) / sqrt d, p the position",
       {length("step", 1, std::int64_t{8192}), number("coefficient", 0.1)},
       false,
       formula<llama4>},
      {"constant", "value", {learnable("value")}, false, formula<constant>},
      {"per_row",
       "a tensor [batch or 1, heads or 1, n_q]",
       {{.name = "rows", .type = Parameter::Type::tensor}},
       false,
       nullptr},
      {"target_entropy",
       "solved for each row, so that its entropy is the target, in nats",
       {target, gradient},
       true,
       nullptr},
  };
}

const ScaleLaw& law_named(const std::string& name) { return word_named("scale", Scale::laws(), name); }

// Values must be finite, not below the parameter's minimum, and a single number unless the parameter is per head.
void require_numbers(const ScaleLaw& law, const Parameter& parameter, const PerHead& values) {
  const auto name = [&] { return parameter.name + " of the scale " + law.name; };
  if (values.values().empty()) throw Error(name(), "an empty list", "one value, or one for each head");
  if (parameter.type != Parameter::Type::per_head && values.values().size() > 1)
    throw Error(name(), "a list", "one number");
  for (double value : values.values())
    if (!std::isfinite(value) || value < parameter.least) throw Error(name(), value, parameter.expected);
}

}  // namespace

const std::vector<ScaleLaw>& Scale::laws() {
  static const std::vector<ScaleLaw> laws = make_laws();
  return laws;
}

Scale::Scale(const ScaleLaw& law, std::vector<PerHead> parameters) : law_(&law), parameters_(std::move(parameters)) {
  for (std::size_t i = 0; i < parameters_.size(); ++i) require_numbers(law, law.parameters[i], parameters_[i]);
}

Scale Scale::named(const std::string& name, const Options& options) {
  const ScaleLaw& law = law_named(name);
  const std::vector<Option> all = complete_options("scale " + name, law.parameters, options);
  std::vector<PerHead> numbers;
  TargetEntropyGradient gradient = TargetEntropyGradient::detached;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (law.parameters[i].type != Parameter::Type::choice)
      numbers.push_back(as_per_head(all[i]));
    else if (std::get<std::string>(all[i]) == "implicit")
      gradient = TargetEntropyGradient::implicit;
  }
  Scale scale(law, std::move(numbers));
  scale.gradient_ = gradient;
  return scale;
}

Scale Scale::inverse_sqrt_d() {
  static const Scale usual = named("inverse_sqrt_d");  // what every problem starts from
  return usual;
}
Scale Scale::log_n(PerHead kappa) { return Scale(law_named("log_n"), {std::move(kappa)}); }
Scale Scale::log_n_sqrt_d(PerHead kappa) { return Scale(law_named("log_n_sqrt_d"), {std::move(kappa)}); }
Scale Scale::sqrt_log_n(PerHead kappa) { return Scale(law_named("sqrt_log_n"), {std::move(kappa)}); }
Scale Scale::frozen(PerHead kappa, std::int64_t n_max) {
  return Scale(law_named("frozen"), {std::move(kappa), static_cast<double>(n_max)});
}
Scale Scale::hybrid(PerHead alpha, PerHead beta) {
  return Scale(law_named("hybrid"), {std::move(alpha), std::move(beta)});
}
Scale Scale::trained_length(std::int64_t n_train) {
  return Scale(law_named("trained_length"), {static_cast<double>(n_train)});
}
Scale Scale::info_scale(std::int64_t n_train) { return Scale(law_named("info_scale"), {static_cast<double>(n_train)}); }
Scale Scale::ssmax(PerHead s) { return Scale(law_named("ssmax"), {std::move(s)}); }
Scale Scale::yarn(double factor, double mscale) { return Scale(law_named("yarn"), {factor, mscale}); }
Scale Scale::llama4(std::int64_t step, double coefficient) {
  return Scale(law_named("llama4"), {static_cast<double>(step), coefficient});
}
Scale Scale::constant(PerHead lambda) { return Scale(law_named("constant"), {std::move(lambda)}); }

Scale Scale::temperature(PerHead tau) {
  std::vector<double> lambda;
  for (double value : tau.values()) {
    if (!(std::isfinite(value) && value > 0)) throw Error("temperature", value, "a positive number");
    lambda.push_back(1 / value);
  }
  return constant(std::move(lambda));
}

Scale Scale::per_row(View lambda) {
  Scale scale(law_named("per_row"));
  scale.rows_ = std::move(lambda);
  return scale;
}

Scale Scale::target_entropy(PerHead target, TargetEntropyGradient gradient) {
  Scale scale(law_named("target_entropy"), {std::move(target)});
  scale.gradient_ = gradient;
  return scale;
}

const std::string& Scale::name() const { return law_->name; }
bool Scale::is_per_row() const { return name() == "per_row"; }
bool Scale::is_target_entropy() const { return name() == "target_entropy"; }
bool Scale::looks_at_n() const { return law_->looks_at_n; }

double Scale::lambda(const ScaleInput& row) const {
  if (!law_->lambda) throw Error("scale", name(), "a law that is a formula");
  return law_->lambda({parameters_, row, static_cast<double>(row.d), log_of(static_cast<double>(row.visible))});
}

Scale Scale::with_parameter(std::size_t index, PerHead value) const {
  Scale out = *this;
  require_numbers(*law_, law_->parameters.at(index), value);
  out.parameters_.at(index) = std::move(value);
  return out;
}

int Scale::learnable() const {
  return static_cast<int>(std::ranges::count_if(law_->parameters, &Parameter::learnable));
}

// Every learnable law is linear in its parameters: the derivative is the law with that parameter 1, the others 0.
double Scale::derivative(int parameter, const ScaleInput& row) const {
  Scale unit = *this;
  for (int index = 0; index < learnable(); ++index) unit.parameters_[index] = PerHead(index == parameter ? 1.0 : 0.0);
  return unit.lambda(row);
}

Options Scale::options() const {
  Options out;
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    const bool integer = law_->parameters[i].type == Parameter::Type::integer;
    out.emplace_back(law_->parameters[i].name,
                     integer ? Option(static_cast<std::int64_t>(parameters_[i][0])) : as_option(parameters_[i]));
  }
  if (gradient_ == TargetEntropyGradient::implicit) out.emplace_back("gradient", "implicit");
  return out;
}

}  // namespace isentropic
