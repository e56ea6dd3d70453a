// Compares the library's results with the oracle's.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "reference/forward.hpp"
#include "reference/gradients.hpp"
#include "support/case.hpp"

namespace support {

// Every entry within tolerance * (1 + max |expected|). NaN must match NaN, and infinities must be equal.
testing::AssertionResult close(const Numbers& actual, const Numbers& expected, double tolerance);

// Double-precision kernels against double-precision oracles: a few hundred roundings of 1.1e-16, with margin.
constexpr double kTight = 1e-11;

// Statistics::all(), plus those of key groups if the case requests them.
isentropic::Statistics every_statistic(const Instance& instance);

// Forward pass, statistics-only pass, weights, key mass, scales, top-k indices; inputs unchanged.
void expect_forward(Instance& instance, double tolerance = kTight);
// Compares one result with the oracle's: output (if there is a value), statistics, scales.
void expect_result(const isentropic::AttentionResult& result, const reference::Forward& expected,
                   const Instance& instance, double tolerance = kTight);
void expect_statistics(const isentropic::RowStatistics& statistics, const reference::Forward& expected,
                       double tolerance = kTight);

// Random upstream gradients of the output and of the differentiable statistics, where the map has them.
enum class UpstreamParts { output, statistics, both };
struct RandomUpstream {
  RandomUpstream(Instance& instance, UpstreamParts parts);
  isentropic::AttentionUpstream views;
  reference::Upstream oracle;
};

// Compares every gradient of the library with finite differences of the oracle's loss.
void expect_gradients(Instance& instance, UpstreamParts parts, double tolerance = 1e-8);
// The same against the oracle's dense chain rule, for sizes where differences are slow; softmax maps only.
void expect_dense_gradients(Instance& instance, double tolerance = kTight);

// Same type, shape and bytes.
testing::AssertionResult identical(const isentropic::Tensor& x, const isentropic::Tensor& y);
void expect_identical(const isentropic::AttentionResult& x, const isentropic::AttentionResult& y);
void expect_identical(const isentropic::AttentionGradients& x, const isentropic::AttentionGradients& y);

std::vector<std::int64_t> all_rows(std::int64_t count);

}  // namespace support
