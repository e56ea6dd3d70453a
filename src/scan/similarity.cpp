// Compares every pair of heads.
#include "scan/similarity.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "scan/in_parallel.hpp"
#include "scan/stretches.hpp"

namespace isentropic::scan {
namespace {

using information::Table;

// In float32, which its weights come in: nearly all the time goes into these logarithms.
float minus_x_log_x(float x) { return x > 0 ? -x * std::log(x) : 0; }

std::vector<double> entropies(const Table& head) {
  std::vector<double> out;
  for (std::size_t row = 0; row < head.rows; ++row) {
    double sum = 0;
    for (const double x : head.row(row)) sum += minus_x_log_x(static_cast<float>(x));
    out.push_back(sum);
  }
  return out;
}

// JS of two distributions is H(their mean) - mean of their entropies.
double similarity(const Table& a, const Table& b, const std::vector<double>& a_entropies,
                  const std::vector<double>& b_entropies) {
  double divergence = 0;
  for (std::size_t row = 0; row < a.rows; ++row) {
    const auto x = a.row(row), y = b.row(row);
    double mixed = 0;
    for (std::size_t j = 0; j < a.columns; ++j) mixed += minus_x_log_x(static_cast<float>((x[j] + y[j]) / 2));
    divergence += mixed - (a_entropies[row] + b_entropies[row]) / 2;
  }
  return std::clamp(1 - divergence / (std::numbers::ln2 * static_cast<double>(a.rows)), 0.0, 1.0);
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
  std::vector<std::vector<double>> all, out(heads.size(), std::vector<double>(heads.size(), 1));
  for (const Table& head : heads) all.push_back(entropies(head));
  in_parallel(executor, heads.size(), [&](std::size_t a) {
    for (std::size_t b = a + 1; b < heads.size(); ++b) out[a][b] = similarity(heads[a], heads[b], all[a], all[b]);
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
