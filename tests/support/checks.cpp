// Compares the library's results with the oracle's.
#include "support/checks.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

namespace support {

using isentropic::AttentionGradients;
using isentropic::AttentionProblem;
using isentropic::AttentionResult;
using isentropic::RowStatistics;
using isentropic::Statistic;
using isentropic::Statistics;
using isentropic::Tensor;

testing::AssertionResult close(const Numbers& actual, const Numbers& expected, double tolerance) {
  if (actual.size() != expected.size()) {
    return testing::AssertionFailure() << actual.size() << " entries, expected " << expected.size();
  }
  double largest = 0;
  for (std::size_t x = 0; x < actual.size(); ++x) {
    const bool same_kind = std::isfinite(expected[x]) ? std::isfinite(actual[x])
                           : std::isnan(expected[x])  ? std::isnan(actual[x])
                                                      : actual[x] == expected[x];
    if (!same_kind) {
      return testing::AssertionFailure() << "entry " << x << " is " << actual[x] << ", expected " << expected[x];
    }
    if (std::isfinite(expected[x])) largest = std::max(largest, std::abs(expected[x]));
  }
  const double allowed = tolerance * (1 + largest);
  for (std::size_t x = 0; x < actual.size(); ++x) {
    if (std::isfinite(expected[x]) && !(std::abs(actual[x] - expected[x]) <= allowed)) {
      return testing::AssertionFailure() << "entry " << x << " of " << actual.size() << " is " << actual[x]
                                         << ", expected " << expected[x] << ", off by "
                                         << std::abs(actual[x] - expected[x]) << " of " << allowed << " allowed";
    }
  }
  return testing::AssertionSuccess();
}

std::vector<std::int64_t> all_rows(std::int64_t count) {
  std::vector<std::int64_t> out(static_cast<std::size_t>(count));
  std::iota(out.begin(), out.end(), 0);
  return out;
}

Statistics every_statistic(const Instance& instance) {
  const reference::KeyGroups& groups = instance.oracle.groups;
  return groups.asked ? Statistics::all().groups(groups.first, groups.recent) : Statistics::all();
}

void expect_statistics(const RowStatistics& statistics, const reference::Forward& expected, double tolerance) {
  if (expected.statistics.empty()) return;  // no rows, nothing to check
#define ISENTROPIC_CHECK(field)                                                                  \
  if (const auto found = expected.statistics.find(#field); found != expected.statistics.end()) { \
    EXPECT_TRUE(statistics.field.present()) << #field;                                           \
    if (statistics.field.present()) {                                                            \
      EXPECT_TRUE(close(statistics.field.to_doubles(), found->second, tolerance)) << #field;     \
    }                                                                                            \
  } else {                                                                                       \
    EXPECT_FALSE(statistics.field.present()) << #field << " does not exist here";                \
  }
  ISENTROPIC_FOR_EACH_STATISTIC(ISENTROPIC_CHECK)
#undef ISENTROPIC_CHECK
}

void expect_result(const AttentionResult& result, const reference::Forward& expected, const Instance& instance,
                   double tolerance) {
  const Sizes& sizes = instance.sizes;
  if (instance.problem.value.present()) {
    EXPECT_EQ(result.output.shape(), (Shape{sizes.batch, sizes.heads, sizes.n_q, sizes.d_v}));
    EXPECT_EQ(result.output.type(), instance.type);
    EXPECT_TRUE(close(result.output.to_doubles(), expected.output, tolerance)) << "output";
  }
  expect_statistics(result.statistics, expected, tolerance);
  Numbers lambda = result.rows.lambda.to_doubles();
  ASSERT_EQ(lambda.size(), expected.lambda.size());
  if (instance.problem.scale.looks_at_n()) {
    const std::span<const std::int64_t> visible = result.rows.visible.values<std::int64_t>();
    EXPECT_EQ(std::vector(visible.begin(), visible.end()), expected.visible);
  }
  for (std::size_t r = 0; r < lambda.size(); ++r) {
    if (expected.visible[r] == 0) lambda[r] = expected.lambda[r];  // without keys, lambda is irrelevant
  }
  if (!instance.problem.scale.is_target_entropy()) {
    EXPECT_TRUE(close(lambda, expected.lambda, tolerance)) << "lambda";
  }
}

void expect_forward(Instance& instance, double tolerance) {
  const auto before = instance.snapshot();
  AttentionProblem problem = instance.problem;
  problem.statistics = every_statistic(instance);
  const reference::Forward expected = reference::forward(instance.oracle);

  const AttentionResult result = attention(problem);
  expect_result(result, expected, instance, tolerance);

  {
    SCOPED_TRACE("statistics alone");
    AttentionProblem without_value = problem;
    without_value.value = View();
    const AttentionResult alone = attention_statistics(without_value);
    EXPECT_FALSE(alone.output.present());
    expect_statistics(alone.statistics, expected, tolerance);
  }
  const bool recurrent = problem.map.form() == isentropic::LinearForm::recurrent;
  const bool hides_weights = instance.oracle.map.straight_through || recurrent;
  if (!hides_weights) {
    const Sizes& sizes = instance.sizes;
    const Tensor weights = attention_weights(problem, all_rows(sizes.n_q));
    EXPECT_EQ(weights.shape(), (Shape{sizes.batch, sizes.heads, sizes.n_q, sizes.n_k}));
    EXPECT_TRUE(close(weights.to_doubles(), expected.weights, tolerance)) << "weights";
    const Tensor mass = attention_key_mass(problem, result);
    EXPECT_EQ(mass.shape(), (Shape{sizes.batch, sizes.heads, sizes.n_k}));
    EXPECT_TRUE(close(mass.to_doubles(), expected.key_mass, tolerance)) << "key mass";
  }
  if (instance.oracle.map.kind == reference::MapKind::top_k) {
    const std::int64_t width = std::min(instance.oracle.map.keys, instance.sizes.n_k);
    ASSERT_TRUE(result.selected.present());
    ASSERT_EQ(result.selected.shape().back(), width);
    const auto selected = result.selected.values<std::int64_t>();
    for (std::size_t r = 0; r < expected.selected.size(); ++r) {
      std::vector<std::int64_t> row;
      for (std::int64_t x = 0; x < width; ++x) {
        const std::int64_t key = selected[r * static_cast<std::size_t>(width) + static_cast<std::size_t>(x)];
        if (key >= 0) row.push_back(key);
      }
      std::sort(row.begin(), row.end());
      EXPECT_EQ(row, expected.selected[r]) << "keys selected in row " << r;
    }
  }
  EXPECT_TRUE(before == instance.snapshot()) << "an input was changed";
}

testing::AssertionResult identical(const Tensor& x, const Tensor& y) {
  if (x.type() != y.type() || x.shape() != y.shape()) return testing::AssertionFailure() << "different type or shape";
  if (!x.present()) return testing::AssertionSuccess();
  const std::size_t bytes = static_cast<std::size_t>(x.size()) * isentropic::size_of(x.type());
  if (bytes == 0 || std::memcmp(x.view().data, y.view().data, bytes) == 0) return testing::AssertionSuccess();
  const Numbers left = x.to_doubles(), right = y.to_doubles();
  for (std::size_t at = 0; at < left.size(); ++at) {
    if (!(left[at] == right[at])) {
      return testing::AssertionFailure() << "entry " << at << ": " << left[at] << " and " << right[at];
    }
  }
  return testing::AssertionFailure() << "zeros of different sign";
}

void expect_identical(const AttentionResult& x, const AttentionResult& y) {
  EXPECT_TRUE(identical(x.output, y.output)) << "output";
#define ISENTROPIC_CHECK(field) EXPECT_TRUE(identical(x.statistics.field, y.statistics.field)) << #field;
  ISENTROPIC_FOR_EACH_STATISTIC(ISENTROPIC_CHECK)
#undef ISENTROPIC_CHECK
  using isentropic::RowState;
  for (Tensor RowState::*field :
       {&RowState::lambda, &RowState::m, &RowState::z, &RowState::u, &RowState::w, &RowState::c, &RowState::k,
        &RowState::a, &RowState::visible, &RowState::iterations}) {
    EXPECT_TRUE(identical(x.rows.*field, y.rows.*field)) << "row state";
  }
  EXPECT_TRUE(identical(x.selected, y.selected)) << "selected";
}

void expect_identical(const AttentionGradients& x, const AttentionGradients& y) {
  EXPECT_TRUE(identical(x.query, y.query)) << "query";
  EXPECT_TRUE(identical(x.key, y.key)) << "key";
  EXPECT_TRUE(identical(x.value, y.value)) << "value";
  EXPECT_TRUE(identical(x.lambda, y.lambda)) << "lambda";
  ASSERT_EQ(x.scale_parameters.size(), y.scale_parameters.size());
  for (std::size_t p = 0; p < x.scale_parameters.size(); ++p) {
    EXPECT_TRUE(identical(x.scale_parameters[p], y.scale_parameters[p])) << "scale parameter " << p;
  }
  EXPECT_TRUE(identical(x.bias, y.bias)) << "bias";
  EXPECT_TRUE(identical(x.sink, y.sink)) << "sink";
}

}  // namespace support
