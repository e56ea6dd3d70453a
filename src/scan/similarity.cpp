// Compares every pair of heads.
#include "scan/similarity.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <numbers>
#include <span>

#include "scan/in_parallel.hpp"
#include "scan/stretches.hpp"

namespace isentropic::scan {
namespace {

using information::Table;

// The logarithm of a positive float32 (for 0, a finite number), to 3e-7: log(2^e m) = e log 2 + 2 artanh(y) with y = (m
// - 1) / (m + 1) for m in [sqrt(1/2), sqrt 2). Comparisons spend nearly all their time here, and unlike the library's
// logarithm this one is vectorised by the compiler.
float fast_log(float x) {
  constexpr std::int32_t kRootOfHalf = 0x3f3504f3;  // the bits of sqrt(1/2)
  const auto bits = std::bit_cast<std::int32_t>(x);
  const std::int32_t e = (bits - kRootOfHalf) >> 23;
  const float m = std::bit_cast<float>(bits - (e << 23)), s = (m - 1) / (m + 1), s2 = s * s;
  const float series = 1 + s2 * (1 / 3.0f + s2 * (1 / 5.0f + s2 * (1 / 7.0f + s2 * (1 / 9.0f))));
  return static_cast<float>(e) * std::numbers::ln2_v<float> + 2 * s * series;
}

// -sum_j p_j log p_j for p = (x + y) / 2.
double entropy_of_mean(std::span<const float> x, std::span<const float> y) {
  constexpr std::size_t kLanes = 8;
  float sums[kLanes] = {};
  std::size_t j = 0;
  for (; j + kLanes <= x.size(); j += kLanes)
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      const float p = (x[j + lane] + y[j + lane]) / 2;
      sums[lane] -= p * fast_log(p);
    }
  double out = 0;
  for (; j < x.size(); ++j) out -= (x[j] + y[j]) / 2 * fast_log((x[j] + y[j]) / 2);
  for (const float sum : sums) out += sum;
  return out;
}

// The rows of a head and their entropies.
struct HeadRows {
  explicit HeadRows(const Table& table) : columns(table.columns) {
    for (std::size_t row = 0; row < table.rows; ++row) {
      weights.insert(weights.end(), table.row(row).begin(), table.row(row).end());
      entropies.push_back(entropy_of_mean(this->row(row), this->row(row)));
    }
  }
  std::span<const float> row(std::size_t row) const { return std::span(weights).subspan(row * columns, columns); }

  std::size_t columns;
  std::vector<float> weights = {};
  std::vector<double> entropies = {};
};

// JS of two distributions is H(their mean) - mean of their entropies.
double similarity(const HeadRows& a, const HeadRows& b) {
  double divergence = 0;
  for (std::size_t row = 0; row < a.entropies.size(); ++row)
    divergence += entropy_of_mean(a.row(row), b.row(row)) - (a.entropies[row] + b.entropies[row]) / 2;
  return std::clamp(1 - divergence / (std::numbers::ln2 * static_cast<double>(a.entropies.size())), 0.0, 1.0);
}

}  // namespace

Pooling pooling_for(std::size_t heads) {
  constexpr double kLogarithms = 5e8;  // a few seconds
  const double pairs = std::max(1.0, static_cast<double>(heads) * static_cast<double>(heads) / 2);
  Pooling out;
  while (out.columns > 64 && pairs * static_cast<double>(out.rows * out.columns) > kLogarithms) {
    out.columns /= 2;
    if (out.rows > 8 && pairs * static_cast<double>(out.rows * out.columns) > kLogarithms) out.rows /= 2;
  }
  return out;
}

Table pooled(const Table& table, const Pooling& pooling) {
  Table out(std::min(pooling.rows, table.rows), std::min(pooling.columns, table.columns));
  for (std::size_t row = 0; row < out.rows; ++row)
    std::ranges::copy(stretch_sums(table.row(row), pooling.columns), out.row(row).begin());
  return out;
}

std::vector<std::vector<double>> similarity_matrix(const std::vector<Table>& heads, Executor& executor) {
  const std::vector<HeadRows> all(heads.begin(), heads.end());
  std::vector<std::vector<double>> out(heads.size(), std::vector<double>(heads.size(), 1));
  in_parallel(executor, heads.size(), [&](std::size_t a) {
    for (std::size_t b = a + 1; b < heads.size(); ++b) out[a][b] = similarity(all[a], all[b]);
  });
  for (std::size_t a = 0; a < heads.size(); ++a)
    for (std::size_t b = 0; b < a; ++b) out[a][b] = out[b][a];
  return out;
}

std::vector<std::size_t> nearest(const std::vector<std::vector<double>>& similarities) {
  std::vector<std::size_t> out(similarities.size());
  for (std::size_t a = 0; a < out.size(); ++a) {
    double highest = -1;
    for (std::size_t b = 0; b < out.size(); ++b)
      if (b != a && similarities[a][b] > highest) highest = similarities[a][b], out[a] = b;
  }
  return out;
}

}  // namespace isentropic::scan
