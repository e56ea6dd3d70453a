// Lists shared by the sweeps.
#pragma once

#include <limits>
#include <vector>

#include "support/case.hpp"
#include "support/checks.hpp"
#include "support/parts.hpp"

namespace attention_test {

using isentropic::Align;
using isentropic::attention;
using isentropic::attention_statistics;
using isentropic::attention_weights;
using isentropic::DType;
using support::build;
using support::Case;
using support::expect_forward;
using support::Instance;
using support::Layout;
using support::Part;
using support::Repeat;
using support::Sizes;

// Around every power of two at which a kernel may split.
inline const std::vector<std::int64_t> kLengths = {1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 33, 63, 64, 65};
inline const std::vector<std::int64_t> kWidths = {1, 3, 5, 16, 33};
inline constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Small, uneven in every axis, with grouped heads.
inline const Sizes kSmall{.batch = 2, .heads = 4, .kv_heads = 2, .n_q = 7, .n_k = 9, .d = 5, .d_v = 3};
inline const Sizes kSquare{.batch = 2, .heads = 2, .kv_heads = 1, .n_q = 17, .n_k = 17, .d = 3, .d_v = 5};
inline const Sizes kMoreQueries{.batch = 1, .heads = 2, .kv_heads = 2, .n_q = 19, .n_k = 8, .d = 4, .d_v = 2};
inline const Sizes kOdd{.batch = 1, .heads = 2, .kv_heads = 1, .n_q = 113, .n_k = 203, .d = 16, .d_v = 33};

inline std::vector<Part> joined(std::vector<Part> parts, const std::vector<Part>& more) {
  parts.insert(parts.end(), more.begin(), more.end());
  return parts;
}

inline void check_forward(const Case& description) {
  SCOPED_TRACE(description.describe());
  Instance instance = build(description);
  expect_forward(instance);
}

}  // namespace attention_test
