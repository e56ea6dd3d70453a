#include "isentropic/score_map.hpp"

#include <cmath>

#include "isentropic/error.hpp"
#include "isentropic/score_terms.hpp"

namespace isentropic {
namespace {

void require_decay(const PerHead& gamma) {
  for (double value : gamma.values())
    if (!(value > 0 && value <= 1)) throw Error("gamma", value, "a decay in (0, 1]");
}

}  // namespace

ScoreMap ScoreMap::top_k(std::int64_t keys) {
  if (keys < 1) throw Error("top-k", std::to_string(keys), "at least 1");
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

ScoreMap ScoreMap::linear(Feature feature, Normaliser normaliser, PerHead gamma, LinearForm form) {
  require_decay(gamma);
  ScoreMap map(Kind::linear);
  map.feature_ = feature;
  map.normaliser_ = normaliser;
  map.gamma_ = std::move(gamma);
  map.form_ = form;
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

std::string ScoreMap::name() const {
  switch (kind_) {
    case Kind::softmax:
      return "softmax";
    case Kind::top_k:
      return "top_k";
    case Kind::gumbel:
      return "gumbel";
    case Kind::sparsemax:
      return "sparsemax";
    case Kind::sigmoid:
      return "sigmoid";
    case Kind::relu_squared:
      return "relu_squared";
    case Kind::identity:
      return "identity";
    case Kind::linear:
      return "linear";
    case Kind::decay:
      return "decay";
  }
  return "unknown";
}

bool ScoreMap::is_distribution() const {
  if (is_softmax() || kind_ == Kind::sparsemax) return true;
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
