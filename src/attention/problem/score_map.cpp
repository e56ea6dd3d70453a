// The score maps: their written form, and the functions on them.
#include "isentropic/score_map.hpp"

#include <algorithm>
#include <cmath>

#include "attention/problem/options.hpp"
#include "base/checks.hpp"
#include "base/one_line.hpp"
#include "isentropic/score_terms.hpp"

namespace isentropic {
namespace {

const std::vector<std::string>& normaliser_names() {
  static const std::vector<std::string> names = {"none", "visible", "l1", "l2"};
  return names;
}
const std::vector<std::string>& feature_names() {
  static const std::vector<std::string> names = {"elu_plus_one", "relu", "exp", "identity"};
  return names;
}

// The enumerator with that name; names are listed in the order of the enumeration.
template <class Enum>
Enum chosen(const std::vector<std::string>& names, const Option& option) {
  return static_cast<Enum>(std::ranges::find(names, std::get<std::string>(option)) - names.begin());
}

template <class Enum>
Option written(const std::vector<std::string>& names, Enum value) {
  return names[static_cast<std::size_t>(value)];
}

Parameter number(const char* name, double usual) {
  return {.name = name, .type = Parameter::Type::number, .usual = usual};
}
Parameter flag(const char* name) { return {.name = name, .type = Parameter::Type::boolean, .usual = false}; }
Parameter choice(const char* name, const char* usual, const std::vector<std::string>& choices) {
  return {.name = name, .type = Parameter::Type::choice, .usual = usual, .choices = choices};
}
Parameter decay_of(std::optional<Option> usual) {
  return {.name = "gamma", .type = Parameter::Type::per_head, .usual = std::move(usual)};
}

// In the order of ScoreMap::Kind, followed by aliases.
std::vector<ScoreMapWords> make_maps() {
  const auto normaliser = [](const char* usual) { return choice("normaliser", usual, normaliser_names()); };
  const Parameter keys = {.name = "keys", .type = Parameter::Type::integer};
  const Parameter feature = choice("feature", "elu_plus_one", feature_names());
  return {
      {"softmax", "e^{s - L}", {}},
      {"top_k", "softmax over the k largest scores", {keys}},
      {"gumbel",
       "softmax((s + Gumbel noise) / tau); straight_through: one key, relaxed gradients",
       {number("tau", 1.0), flag("straight_through")}},
      {"sparsemax", "max(s - t, 0), summing to one", {}},
      {"entmax",
       "max((alpha - 1) s - t, 0)^{1 / (alpha - 1)}, summing to one",
       {{.name = "alpha", .type = Parameter::Type::per_head, .usual = 1.5, .learnable = true}}},
      {"sigmoid", "1 / (1 + e^{-(s + offset)})", {number("offset", 0.0), normaliser("none")}},
      {"relu_squared", "max(s, 0)^2 / visible keys (GAU)", {normaliser("visible")}},
      {"identity", "s / visible keys", {normaliser("visible")}},
      {"linear",
       "gamma^{i - j} phi(q).phi(k), normalised; sharpen c, of exp features: keys times c sqrt(2 log n)",
       {feature, normaliser("l1"), decay_of(1.0), flag("recurrent"), number("sharpen", 0.0)}},
      {"decay", "gamma^{i - j}, whatever the content", {decay_of({}), normaliser("l1"), flag("recurrent")}},
      {"hard", "1 at the largest score", {}},
  };
}

void require_decay(const PerHead& gamma) {
  for (double value : gamma.values())
    if (!(value > 0 && value <= 1)) throw Error("gamma", value, "a decay in (0, 1]");
}

}  // namespace

ScoreMap ScoreMap::top_k(std::int64_t keys) {
  require_at_least("top-k", keys, 1);
  ScoreMap map(Kind::top_k);
  map.keys_ = keys;
  return map;
}

ScoreMap ScoreMap::gumbel(double tau, std::uint64_t seed, GumbelSample sample) {
  if (!(std::isfinite(tau) && tau > 0)) throw Error("Gumbel temperature", tau, "a positive number");
  ScoreMap map(Kind::gumbel);
  map.number_ = tau;
  map.seed_ = seed;
  map.sample_ = sample;
  return map;
}

ScoreMap ScoreMap::entmax(PerHead alpha) {
  for (double value : alpha.values())
    if (!(std::isfinite(value) && value > 1))
      throw Error("alpha", value, "a number above 1, where it would be softmax");
  ScoreMap map(Kind::entmax);
  map.alpha_ = std::move(alpha);
  return map;
}

ScoreMap ScoreMap::sigmoid(double offset, Normaliser normaliser) {
  if (!std::isfinite(offset)) throw Error("sigmoid offset", offset, "a finite number");
  ScoreMap map(Kind::sigmoid);
  map.number_ = offset;
  map.normaliser_ = normaliser;
  return map;
}

ScoreMap ScoreMap::relu_squared(Normaliser normaliser) {
  ScoreMap map(Kind::relu_squared);
  map.normaliser_ = normaliser;
  return map;
}

ScoreMap ScoreMap::identity(Normaliser normaliser) {
  ScoreMap map(Kind::identity);
  map.normaliser_ = normaliser;
  return map;
}

ScoreMap ScoreMap::linear(Feature feature, Normaliser normaliser, PerHead gamma, LinearForm form, double sharpen) {
  require_decay(gamma);
  if (!(std::isfinite(sharpen) && sharpen >= 0)) throw Error("sharpen", sharpen, "a number >= 0");
  if (sharpen > 0 && feature != Feature::exp)
    throw Error(
        "sharpen", sharpen,
        "0, for the feature is " + feature_names()[static_cast<std::size_t>(feature)] + " and exp alone is sharpened");
  ScoreMap map(Kind::linear);
  map.feature_ = feature;
  map.normaliser_ = normaliser;
  map.gamma_ = std::move(gamma);
  map.form_ = form;
  map.sharpen_ = sharpen;
  return map;
}

ScoreMap ScoreMap::decay(PerHead gamma, Normaliser normaliser, LinearForm form) {
  require_decay(gamma);
  ScoreMap map(Kind::decay);
  map.normaliser_ = normaliser;
  map.gamma_ = std::move(gamma);
  map.form_ = form;
  return map;
}

const std::vector<ScoreMapWords>& ScoreMap::maps() {
  static const std::vector<ScoreMapWords> maps = make_maps();
  return maps;
}

ScoreMap ScoreMap::named(const std::string& name, const Options& options) {
  const ScoreMapWords& words = word_named("map", maps(), name);
  const std::vector<Option> all = complete_options("map " + name, words.parameters, options);
  const auto value = [&](const char* parameter) -> const Option& {
    return all[std::ranges::find(words.parameters, parameter, &Parameter::name) - words.parameters.begin()];
  };
  const auto normaliser = [&] { return chosen<Normaliser>(normaliser_names(), value("normaliser")); };
  const auto form = [&] { return std::get<bool>(value("recurrent")) ? LinearForm::recurrent : LinearForm::quadratic; };
  if (name == "hard") return hard();
  switch (static_cast<Kind>(&words - maps().data())) {
    case Kind::softmax:
      return softmax();
    case Kind::top_k:
      return top_k(std::get<std::int64_t>(value("keys")));
    case Kind::gumbel:
      return gumbel(as_number(value("tau")), 0,
                    std::get<bool>(value("straight_through")) ? GumbelSample::straight_through : GumbelSample::relaxed);
    case Kind::sparsemax:
      return sparsemax();
    case Kind::entmax:
      return entmax(as_per_head(value("alpha")));
    case Kind::sigmoid:
      return sigmoid(as_number(value("offset")), normaliser());
    case Kind::relu_squared:
      return relu_squared(normaliser());
    case Kind::identity:
      return identity(normaliser());
    case Kind::linear:
      return linear(chosen<Feature>(feature_names(), value("feature")), normaliser(), as_per_head(value("gamma")),
                    form(), as_number(value("sharpen")));
    case Kind::decay:
      return decay(as_per_head(value("gamma")), normaliser(), form());
  }
  throw Error("map", in_quotes(name), "a map that can be made by name");
}

ScoreMap ScoreMap::with_seed(std::uint64_t seed) const {
  ScoreMap map = *this;
  map.seed_ = seed;
  return map;
}

ScoreMap ScoreMap::with_alpha(PerHead alpha) const { return entmax(std::move(alpha)); }

double ScoreMap::key_factor(std::int64_t n) const {
  return sharpen_ == 0 ? 1.0 : sharpen_ * std::sqrt(2 * std::log(static_cast<double>(std::max<std::int64_t>(n, 1))));
}

const Parameter* ScoreMap::learnable() const {
  const std::vector<Parameter>& parameters = maps()[static_cast<std::size_t>(kind_)].parameters;
  const auto found = std::ranges::find_if(parameters, &Parameter::learnable);
  return found == parameters.end() ? nullptr : &*found;
}

const std::string& ScoreMap::name() const { return maps()[static_cast<std::size_t>(kind_)].name; }

Options ScoreMap::options() const {
  Options out;
  for (const Parameter& parameter : maps()[static_cast<std::size_t>(kind_)].parameters) {
    const auto value = [&]() -> Option {
      if (parameter.name == "keys") return keys_;
      if (parameter.name == "straight_through") return sample_ == GumbelSample::straight_through;
      if (parameter.name == "normaliser") return written(normaliser_names(), normaliser_);
      if (parameter.name == "feature") return written(feature_names(), feature_);
      if (parameter.name == "gamma") return as_option(gamma_);
      if (parameter.name == "alpha") return as_option(alpha_);
      if (parameter.name == "recurrent") return form_ == LinearForm::recurrent;
      if (parameter.name == "sharpen") return sharpen_;
      return number_;  // tau, offset
    };
    out.emplace_back(parameter.name, value());
  }
  return out;
}

bool ScoreMap::is_distribution() const {
  if (is_softmax() || kind_ == Kind::sparsemax || kind_ == Kind::entmax) return true;
  const bool non_negative = kind_ == Kind::sigmoid || kind_ == Kind::relu_squared || kind_ == Kind::decay ||
                            (kind_ == Kind::linear && feature_ != Feature::identity);
  return non_negative && normaliser_ == Normaliser::l1;
}

Bias Bias::dense(View values) {
  Bias bias;
  bias.kind_ = Kind::dense;
  bias.values_ = std::move(values);
  return bias;
}

Bias Bias::alibi(PerHead slopes) {
  for (double slope : slopes.values())
    if (!std::isfinite(slope)) throw Error("ALiBi slope", slope, "a finite number");
  Bias bias;
  bias.kind_ = Kind::alibi;
  bias.slopes_ = std::move(slopes);
  return bias;
}

Bias Bias::relative(View table) {
  Bias bias;
  bias.kind_ = Kind::relative;
  bias.values_ = std::move(table);
  return bias;
}

}  // namespace isentropic
