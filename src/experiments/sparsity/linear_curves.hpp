// S of linear attention: against the number of features, and against the spread of scores for features that approximate
// exp.
//
//   features  weights phi(q).phi(k) of Gaussian keys k ~ N(0, I_d), so that the d features are independent. Against d,
//             for the two extreme queries: all features of phi(q) equal, and a single one nonzero.
//             With c = deviation/mean of a feature S = 1/sqrt(1 + c^2/d) and 1/sqrt(1 + c^2): more features make a
//             query that uses all of them less sparse, and leave one that uses a single one unchanged.
//   taylor    weights sum_{k <= p} s^k/k!, s ~ N(0, gamma^2): the series of exp truncated after degree p, which is
//             linear attention over C(d + p, p) correlated features. S does not depend on d; the cost does.
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
  Points measured = {};  // one per count in kFeatureCounts

  double formula(std::int64_t d) const;
};

inline constexpr std::int64_t kFeatureCounts[] = {1, 2, 4, 8, 16, 32, 64, 128};

struct TaylorCurve {
  int degree = 2;
  Points measured = {};  // one per gamma

  double formula(double gamma) const;
  double floor() const;  // as gamma -> inf
};

std::vector<FeatureCurve> feature_curves(std::int64_t keys, std::int64_t key_sets, Random& random);
std::vector<TaylorCurve> taylor_curves(const std::vector<double>& gammas, std::int64_t keys, std::int64_t key_sets,
                                       Random& random);

}  // namespace isentropic::experiments::sparsity
