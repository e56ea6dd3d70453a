// Draws Gaussian keys and measures linear attention over their features.
#include "experiments/sparsity/linear_curves.hpp"

#include <cmath>

#include "isentropic/theory/sparsity.hpp"

namespace isentropic::experiments::sparsity {
namespace {

using information::Table;

constexpr Feature kFeatures[] = {Feature::relu, Feature::elu_plus_one, Feature::exp};
constexpr int kDegrees[] = {2, 4, 8};

// A query of d coordinates whose features are all equal, or all negligible except the first: e^-60, and 0 for relu.
std::vector<double> query_of(QueryShape shape, std::int64_t d) {
  std::vector<double> out(static_cast<std::size_t>(d), shape == QueryShape::equal ? 1 : -60);
  out[0] = 1;
  return out;
}

// x^k/sqrt(k!) for k = 0 ... degree: the product of two such rows is the sum of (x y)^k/k!.
void fill_taylor(double x, int degree, double* row) {
  row[0] = 1;
  for (int k = 1; k <= degree; ++k) row[k] = row[k - 1] * x / std::sqrt(static_cast<double>(k));
}

Table taylor_keys(const std::vector<double>& coordinates, int degree) {
  Table out(coordinates.size(), static_cast<std::size_t>(degree) + 1);
  for (std::size_t j = 0; j < out.rows; ++j) fill_taylor(coordinates[j], degree, &out(j, 0));
  return out;
}

}  // namespace

const char* name(QueryShape query) { return query == QueryShape::equal ? "equal" : "one_feature"; }

const char* name(Feature feature) {
  switch (feature) {
    case Feature::relu:
      return "relu";
    case Feature::elu_plus_one:
      return "elu_plus_one";
    case Feature::exp:
      return "exp";
    case Feature::identity:
      break;
  }
  return "identity";
}

const char* label(Feature feature) { return feature == Feature::elu_plus_one ? "elu + 1" : name(feature); }

double FeatureCurve::formula(std::int64_t d) const {
  const theory::FeatureMoments moments = theory::gaussian_feature_moments(feature);
  const std::int64_t used = query == QueryShape::equal ? d : 1;
  const std::vector<double> features(static_cast<std::size_t>(used), 1.0);
  return theory::sparsity_of_independent_features(features, moments.mean, moments.deviation);
}

double TaylorCurve::formula(double gamma) const { return theory::sparsity_of_taylor(degree, gamma); }
double TaylorCurve::floor() const { return theory::taylor_sparsity_floor(degree); }

std::vector<FeatureCurve> feature_curves(std::int64_t keys, std::int64_t key_sets, Random& random) {
  std::vector<FeatureCurve> out;
  for (const Feature feature : kFeatures)
    for (const QueryShape query : {QueryShape::equal, QueryShape::one_feature}) out.push_back({feature, query});
  for (const std::int64_t d : kFeatureCounts) {
    std::vector<std::vector<Concentration>> found(out.size());
    for (std::int64_t set = 0; set < key_sets; ++set) {
      const auto n = static_cast<std::size_t>(keys), width = static_cast<std::size_t>(d);
      const Table drawn(n, width, random.normals(n * width));
      for (std::size_t c = 0; c < out.size(); ++c)
        found[c].push_back(
            measure(query_of(out[c].query, d), drawn, ScoreMap::linear(out[c].feature, Normaliser::none)));
    }
    for (std::size_t c = 0; c < out.size(); ++c) out[c].measured.add(found[c]);
  }
  return out;
}

std::vector<TaylorCurve> taylor_curves(const std::vector<double>& gammas, std::int64_t keys, std::int64_t key_sets,
                                       Random& random) {
  std::vector<TaylorCurve> out;
  for (const int degree : kDegrees) {
    TaylorCurve curve{degree};
    std::vector<Table> sets;
    for (std::int64_t set = 0; set < key_sets; ++set)
      sets.push_back(taylor_keys(random.normals(static_cast<std::size_t>(keys)), degree));
    std::vector<double> query(static_cast<std::size_t>(degree) + 1);
    for (const double gamma : gammas) {
      fill_taylor(gamma, degree, query.data());
      std::vector<Concentration> found;
      for (const Table& drawn : sets)
        found.push_back(measure(query, drawn, ScoreMap::linear(Feature::identity, Normaliser::none)));
      curve.measured.add(found);
    }
    out.push_back(curve);
  }
  return out;
}

}  // namespace isentropic::experiments::sparsity
