// S of linear attention: against the number of features, and against the spread of scores for features that imitate
// exp.
//
//   features  weights phi(q).phi(k) of Gaussian keys k ~ N(0, I_d), so that the d features are independent. Against d,
//             for the two queries between which all others lie: all features of phi(q) equal, and one alone.
//             With c = deviation/mean of a feature S = 1/sqrt(1 + c^2/d) and 1/sqrt(1 + c^2): more features make a
//             query that uses all of them less sparse, and one that uses one of them no sparser.
//   taylor    weights sum_{k <= p} s^k/k!, s ~ N(0, gamma^2): the exp of the scores cut off after degree p, which is
//             linear attention over C(d + p, p) features, correlated ones. S does not depend on d; what it costs does.
//             Measured with keys of one coordinate, whose p + 1 features are x^k/sqrt(k!).
#pragma once

#include <cstdint>
#include <vector>

#include "base/random.hpp"
#include "experiments/sparsity/points.hpp"
#include "isentropic/score_map.hpp"

namespace isentropic::experiments::sparsity {

enum class QueryShape : std::uint8_t { equal, one_feature };

const char* name(QueryShape query);  // "one_feature"
const char* name(Feature feature);   // "elu_plus_one"
const char* label(Feature feature);  // "elu + 1"

struct FeatureCurve {
  Feature feature = Feature::relu;
  QueryShape query = QueryShape::equal;
  Points measured = {};  // one for each of kFeatureCounts

  double formula(std::int64_t d) const;
};

inline constexpr std::int64_t kFeatureCounts[] = {1, 2, 4, 8, 16, 32, 64, 128};

struct TaylorCurve {
  int degree = 2;
  Points measured = {};  // one for each gamma

  double formula(double gamma) const;
  double floor() const;  // as gamma -> inf
};

std::vector<FeatureCurve> feature_curves(std::int64_t keys, std::int64_t key_sets, Random& random);
std::vector<TaylorCurve> taylor_curves(const std::vector<double>& gammas, std::int64_t keys, std::int64_t key_sets,
                                       Random& random);

}  // namespace isentropic::experiments::sparsity
