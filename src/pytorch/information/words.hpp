// The information library's enumerations as words, in the order of their enumerators, as Python writes and reads them.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "base/list_of.hpp"
#include "base/one_line.hpp"
#include "isentropic/error.hpp"
#include "isentropic/information/bottleneck.hpp"
#include "isentropic/information/critic_bounds.hpp"
#include "isentropic/information/mutual_information.hpp"
#include "isentropic/theory/attack.hpp"
#include "isentropic/theory/noise.hpp"
#include "isentropic/theory/random_energy.hpp"
#include "isentropic/theory/random_scores.hpp"
#include "isentropic/theory/scale_laws.hpp"
#include "isentropic/theory/simplex.hpp"
#include "isentropic/theory/sparsity.hpp"

namespace isentropic::pytorch::bindings {

using Words = std::vector<std::string>;

struct Choices {
  std::string what;
  Words words;
};

// One specialisation per enumeration; those of estimators use the library's names.
template <class Choice>
Choices choices();

template <class Choice>
Choices named_choices(const std::string& what, const std::vector<Choice>& all) {
  Choices out{what, {}};
  for (const Choice choice : all) out.words.push_back(name(choice));
  return out;
}

template <>
inline Choices choices<information::EntropyEstimator>() {
  return named_choices("entropy estimator", information::entropy_estimators());
}
template <>
inline Choices choices<information::InformationEstimator>() {
  return named_choices("estimator", information::information_estimators());
}
template <>
inline Choices choices<information::Scaling>() {
  return {"scaling", {"none", "standardised"}};
}
template <>
inline Choices choices<information::Binning>() {
  return {"binning", {"equal_width", "equal_mass"}};
}
template <>
inline Choices choices<information::BottleneckKind>() {
  return {"kind", {"stochastic", "deterministic"}};
}
template <>
inline Choices choices<information::BoundValidity>() {
  return {"validity", {"lower_bound", "lower_bound_in_the_limit", "estimate"}};
}
template <>
inline Choices choices<information::Likelihood>() {
  return {"kind", {"probability", "density"}};
}
// Without the identity, the last one, whose products have both signs: no function of the table accepts it.
template <>
inline Choices choices<Feature>() {
  return {"feature", {"elu_plus_one", "relu", "exp"}};
}
template <>
inline Choices choices<theory::Budget>() {
  return {"budget", {"infinity", "euclidean", "absolute"}};
}
template <>
inline Choices choices<theory::NoiseFamily>() {
  return {"family", {"gaussian", "uniform", "laplace", "gumbel"}};
}
template <>
inline Choices choices<theory::Phase>() {
  return {"phase", {"spread", "frozen"}};
}
template <>
inline Choices choices<theory::ScoreLaw::Kind>() {
  return {"law", {"gaussian", "cosine", "exponential", "uniform"}};
}
template <>
inline Choices choices<theory::ScoreTail>() {
  return {"tail", {"planted_match", "gaussian", "exponential", "bounded"}};
}
template <>
inline Choices choices<theory::SimplexCoordinates>() {
  return {"coordinates", {"plain", "homogeneous", "free", "logits"}};
}

template <class Choice>
Choice choice_of(const std::string& word) {
  const auto [what, words] = choices<Choice>();
  const auto found = std::ranges::find(words, word);
  if (found == words.end()) throw Error(what, in_quotes(word), list_of(words));
  return static_cast<Choice>(found - words.begin());
}

template <class Choice>
std::string word_of(Choice choice) {
  return choices<Choice>().words[static_cast<std::size_t>(choice)];
}

}  // namespace isentropic::pytorch::bindings
