// Score maps, key groups and random choices.
#include <cmath>
#include <numeric>

#include "support/parts.hpp"

namespace support {
namespace {

using isentropic::Feature;
using isentropic::LinearForm;
using isentropic::Normaliser;
using isentropic::ScoreMap;

reference::Normaliser reference_of(Normaliser normaliser) {
  switch (normaliser) {
    case Normaliser::none:
      return reference::Normaliser::none;
    case Normaliser::visible:
      return reference::Normaliser::visible;
    case Normaliser::l1:
      return reference::Normaliser::l1;
    case Normaliser::l2:
      return reference::Normaliser::l2;
  }
  return reference::Normaliser::none;
}

std::string name_of(Normaliser normaliser) {
  switch (normaliser) {
    case Normaliser::none:
      return "none";
    case Normaliser::visible:
      return "visible";
    case Normaliser::l1:
      return "l1";
    case Normaliser::l2:
      return "l2";
  }
  return "";
}

reference::Feature reference_of(Feature feature) {
  switch (feature) {
    case Feature::elu_plus_one:
      return reference::Feature::elu_plus_one;
    case Feature::relu:
      return reference::Feature::relu;
    case Feature::exp:
      return reference::Feature::exp;
    case Feature::identity:
      return reference::Feature::identity;
  }
  return reference::Feature::identity;
}

std::string name_of(Feature feature) {
  switch (feature) {
    case Feature::elu_plus_one:
      return "elu + 1";
    case Feature::relu:
      return "relu";
    case Feature::exp:
      return "exp";
    case Feature::identity:
      return "identity";
  }
  return "";
}

Numbers gammas_by_head(const Instance& x, double gamma) {
  Numbers out;
  for (std::int64_t h = 0; h < x.sizes.heads; ++h) out.push_back(gamma < 1 ? gamma - 0.2 * static_cast<double>(h) : 1);
  return out;
}

}  // namespace

Part softmax() {
  return {"softmax", [](Instance&) {}};
}

Part top_k(std::int64_t keys) {
  return {"top_k(" + std::to_string(keys) + ")", [=](Instance& x) {
            x.problem.map = ScoreMap::top_k(keys);
            x.oracle.map.kind = reference::MapKind::top_k;
            x.oracle.map.keys = keys;
          }};
}

Part hard() {
  return {"hard", [](Instance& x) {
            x.problem.map = ScoreMap::hard();
            x.oracle.map.kind = reference::MapKind::top_k;
            x.oracle.map.keys = 1;
          }};
}

Part gumbel(double tau, isentropic::GumbelSample sample) {
  const bool straight_through = sample == isentropic::GumbelSample::straight_through;
  return {std::string("gumbel(") + std::to_string(tau) + (straight_through ? ", straight-through)" : ")"),
          [=](Instance& x) {
            const std::uint64_t seed = 0x9d2c5680u;
            x.problem.map = ScoreMap::gumbel(tau, seed, sample);
            x.oracle.map.kind = reference::MapKind::gumbel;
            x.oracle.map.tau = tau;
            x.oracle.map.straight_through = straight_through;
            x.oracle.map.noise = observed_gumbel_noise(x.sizes, seed);
          }};
}

Part sparsemax() {
  return {"sparsemax", [](Instance& x) {
            x.problem.map = ScoreMap::sparsemax();
            x.oracle.map.kind = reference::MapKind::sparsemax;
          }};
}

Part entmax(double alpha) {
  return {"entmax of " + std::to_string(alpha), [=](Instance& x) {
            reference::Numbers alphas;
            for (std::int64_t head = 0; head < x.sizes.heads; ++head)
              alphas.push_back(alpha + 0.125 * static_cast<double>(head));
            x.problem.map = ScoreMap::entmax(isentropic::PerHead(alphas));
            x.oracle.map.kind = reference::MapKind::entmax;
            x.oracle.map.alpha = alphas;
          }};
}

Part sigmoid(double offset, Normaliser normaliser) {
  return {"sigmoid over " + name_of(normaliser), [=](Instance& x) {
            x.problem.map = ScoreMap::sigmoid(offset, normaliser);
            x.oracle.map.kind = reference::MapKind::sigmoid;
            x.oracle.map.offset = offset;
            x.oracle.map.normaliser = reference_of(normaliser);
          }};
}

Part relu_squared(Normaliser normaliser) {
  return {"relu_squared over " + name_of(normaliser), [=](Instance& x) {
            x.problem.map = ScoreMap::relu_squared(normaliser);
            x.oracle.map.kind = reference::MapKind::relu_squared;
            x.oracle.map.normaliser = reference_of(normaliser);
          }};
}

Part identity(Normaliser normaliser) {
  return {"identity over " + name_of(normaliser), [=](Instance& x) {
            x.problem.map = ScoreMap::identity(normaliser);
            x.oracle.map.kind = reference::MapKind::identity;
            x.oracle.map.normaliser = reference_of(normaliser);
          }};
}

Part linear(Feature feature, Normaliser normaliser, double gamma, LinearForm form) {
  return {"linear " + name_of(feature) + " over " + name_of(normaliser) + ", gamma " + std::to_string(gamma) +
              (form == LinearForm::recurrent ? ", recurrent" : ""),
          [=](Instance& x) {
            const Numbers gammas = gammas_by_head(x, gamma);
            x.problem.map = ScoreMap::linear(feature, normaliser, gammas, form);
            x.oracle.map.kind = reference::MapKind::linear;
            x.oracle.map.feature = reference_of(feature);
            x.oracle.map.normaliser = reference_of(normaliser);
            x.oracle.map.gamma = gammas;
          }};
}

Part sharpened(double sharpen, Normaliser normaliser, double gamma, LinearForm form) {
  const Part plain = linear(Feature::exp, normaliser, gamma, form);
  return {plain.name + ", sharpened by " + std::to_string(sharpen), [=](Instance& x) {
            plain.apply(x);
            x.problem.map = ScoreMap::linear(Feature::exp, normaliser, x.problem.map.gamma(), form, sharpen);
            x.oracle.map.sharpen = sharpen;
          }};
}

Part decay(double gamma, Normaliser normaliser, LinearForm form) {
  return {"decay over " + name_of(normaliser) + ", gamma " + std::to_string(gamma) +
              (form == LinearForm::recurrent ? ", recurrent" : ""),
          [=](Instance& x) {
            const Numbers gammas = gammas_by_head(x, gamma);
            x.problem.map = ScoreMap::decay(gammas, normaliser, form);
            x.oracle.map.kind = reference::MapKind::decay;
            x.oracle.map.normaliser = reference_of(normaliser);
            x.oracle.map.gamma = gammas;
          }};
}

std::vector<Part> score_maps() {
  return {softmax(),
          top_k(1),
          top_k(3),
          top_k(1000),
          hard(),
          gumbel(0.7),
          gumbel(1.5, isentropic::GumbelSample::straight_through),
          sparsemax(),
          entmax(1.25),
          entmax(2.5),
          sigmoid(-1, Normaliser::none),
          sigmoid(0.5, Normaliser::visible),
          sigmoid(0, Normaliser::l1),
          sigmoid(0, Normaliser::l2),
          relu_squared(Normaliser::none),
          relu_squared(Normaliser::visible),
          relu_squared(Normaliser::l1),
          relu_squared(Normaliser::l2),
          identity(Normaliser::none),
          identity(Normaliser::visible),
          identity(Normaliser::l1),
          identity(Normaliser::l2)};
}

std::vector<Part> linear_maps() {
  return {linear(Feature::elu_plus_one, Normaliser::l1),
          linear(Feature::elu_plus_one, Normaliser::l2),
          linear(Feature::relu, Normaliser::l1),
          linear(Feature::relu, Normaliser::none),
          linear(Feature::exp, Normaliser::l1),
          linear(Feature::exp, Normaliser::visible),
          linear(Feature::identity, Normaliser::none),
          linear(Feature::identity, Normaliser::l1),
          linear(Feature::identity, Normaliser::l2),
          sharpened(0.7, Normaliser::l1),
          sharpened(0.4, Normaliser::l2),
          decay(1, Normaliser::l1)};
}

std::vector<Part> decaying_maps() {
  return {linear(Feature::elu_plus_one, Normaliser::l1, 0.9),
          linear(Feature::identity, Normaliser::none, 0.8),
          linear(Feature::exp, Normaliser::l2, 0.95),
          sharpened(0.6, Normaliser::l1, 0.9),
          decay(0.9, Normaliser::l1),
          decay(0.7, Normaliser::none),
          decay(0.8, Normaliser::l2),
          decay(0.8, Normaliser::visible)};
}

std::vector<Part> recurrent_maps() {
  return {linear(Feature::elu_plus_one, Normaliser::l1, 1, LinearForm::recurrent),
          linear(Feature::relu, Normaliser::l1, 1, LinearForm::recurrent),
          linear(Feature::exp, Normaliser::visible, 1, LinearForm::recurrent),
          linear(Feature::identity, Normaliser::none, 1, LinearForm::recurrent),
          linear(Feature::identity, Normaliser::visible, 1, LinearForm::recurrent),
          sharpened(0.7, Normaliser::l1, 1, LinearForm::recurrent),
          decay(1, Normaliser::l1, LinearForm::recurrent)};
}

std::vector<Part> recurrent_decaying_maps() {
  return {linear(Feature::elu_plus_one, Normaliser::l1, 0.9, LinearForm::recurrent),
          linear(Feature::identity, Normaliser::none, 0.7, LinearForm::recurrent),
          linear(Feature::relu, Normaliser::visible, 0.8, LinearForm::recurrent),
          sharpened(0.5, Normaliser::l1, 0.9, LinearForm::recurrent),
          decay(0.9, Normaliser::l1, LinearForm::recurrent),
          decay(0.7, Normaliser::none, LinearForm::recurrent),
          decay(0.95, Normaliser::visible, LinearForm::recurrent)};
}

Part groups(std::int64_t first, std::int64_t recent) {
  return {"groups(" + std::to_string(first) + ", " + std::to_string(recent) + ")", [=](Instance& x) {
            x.oracle.groups = {true, first, recent};
          }};
}

Part dropout(double probability, std::uint64_t seed) {
  return {"dropout(" + std::to_string(probability) + ")", [=](Instance& x) {
            x.problem.dropout = isentropic::Dropout{probability, seed};
            x.oracle.dropout = probability;
            x.oracle.keep = observed_dropout_choices(x.sizes, *x.problem.dropout);
          }};
}

Numbers observed_gumbel_noise(const Sizes& sizes, std::uint64_t seed) {
  const Numbers zeros(static_cast<std::size_t>(sizes.batch * sizes.heads * std::max(sizes.n_q, sizes.n_k)));
  const View query(zeros.data(), {sizes.batch, sizes.heads, sizes.n_q, 1});
  const View key(zeros.data(), {sizes.batch, 1, sizes.n_k, 1});
  const isentropic::AttentionProblem problem{
      .query = query,
      .key = key,
      .value = key,
      .map = ScoreMap::gumbel(1, seed),
      .statistics = isentropic::Statistics::of({isentropic::Statistic::log_partition}),
      .executor = &isentropic::serial_executor()};
  std::vector<std::int64_t> rows(static_cast<std::size_t>(sizes.n_q));
  std::iota(rows.begin(), rows.end(), 0);
  Numbers noise = attention_weights(problem, rows).to_doubles();
  const Numbers partition = attention_statistics(problem).statistics.log_partition.to_doubles();
  for (std::size_t x = 0; x < noise.size(); ++x) {
    noise[x] = std::log(noise[x]) + partition[x / static_cast<std::size_t>(sizes.n_k)];
  }
  return noise;
}

std::vector<char> observed_dropout_choices(const Sizes& sizes, const isentropic::Dropout& dropout) {
  const Numbers zeros(static_cast<std::size_t>(sizes.batch * sizes.heads * std::max(sizes.n_q, sizes.n_k)));
  Numbers unit;
  for (std::int64_t b = 0; b < sizes.batch; ++b) {
    for (std::int64_t i = 0; i < sizes.n_k; ++i) {
      for (std::int64_t j = 0; j < sizes.n_k; ++j) unit.push_back(i == j ? 1 : 0);
    }
  }
  const isentropic::AttentionProblem problem{.query = View(zeros.data(), {sizes.batch, sizes.heads, sizes.n_q, 1}),
                                             .key = View(zeros.data(), {sizes.batch, 1, sizes.n_k, 1}),
                                             .value = View(unit.data(), {sizes.batch, 1, sizes.n_k, sizes.n_k}),
                                             .dropout = dropout,
                                             .executor = &isentropic::serial_executor()};
  std::vector<char> keep;
  for (double output : attention(problem).output.to_doubles()) keep.push_back(output != 0);
  return keep;
}

}  // namespace support
