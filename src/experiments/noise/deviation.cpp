// Simulates noisy rows in batches and summarises how far the output moves.
#include "experiments/noise/deviation.hpp"

#include <algorithm>

#include "experiments/tools/estimate.hpp"
#include "experiments/tools/kernels.hpp"

namespace isentropic::experiments::noise {
namespace {

using theory::NoiseFamily;

using information::Table;

constexpr std::size_t kBatchScores = 1 << 16;  // scores per kernel call

// The error is half the distance between the order statistics one standard deviation of the rank to either side.
Estimate median_of(std::vector<double> x) {
  std::sort(x.begin(), x.end());
  const std::size_t middle = x.size() / 2;
  const auto side = static_cast<std::size_t>(std::ceil(std::sqrt(static_cast<double>(x.size())) / 2));
  const double low = x[middle - std::min(middle, side)], high = x[std::min(x.size() - 1, middle + side)];
  return {x[middle], (high - low) / 2};
}

// Noise for every key; groups consist of neighbouring keys.
void fill_noise(const Disturbance& disturbance, Random& random, std::span<double> noise) {
  for (std::size_t i = 0; i < noise.size(); ++i)
    noise[i] = i % disturbance.group == 0 ? draw(disturbance.law, random) : noise[i - 1];
}

}  // namespace

Row alternating_row(std::size_t n) {
  Row row{std::vector<double>(n), {}};
  for (std::size_t i = 0; i < n; ++i) row.scores[i] = static_cast<double>(i % 2);
  row.values = row.scores;
  return row;
}

Row flat_row(std::size_t n, std::size_t block) {
  Row row{std::vector<double>(n, 0.0), std::vector<double>(n)};
  for (std::size_t i = 0; i < n; ++i) row.values[i] = i / block % 2 == 0 ? 1 : -1;
  return row;
}

double draw(const theory::NoiseLaw& law, Random& random) {
  switch (law.family()) {
    case NoiseFamily::gaussian:
      return law.parameter() * random.normal();
    case NoiseFamily::uniform:
      return random.uniform(-law.parameter(), law.parameter());
    case NoiseFamily::laplace:
      return random.laplace(law.parameter());
    case NoiseFamily::gumbel:
      break;
  }
  return random.gumbel() / law.parameter();
}

Deviation deviation(const Row& row, const Disturbance& disturbance, std::int64_t draws, Random& random) {
  const std::size_t n = row.size();
  const Table values = row.value_table();
  const double output = output_of(row.scores, values).front();
  const double moment = disturbance.law.exponential_moment();
  const bool corrects = std::isfinite(disturbance.law.variance_ratio());
  std::vector<double> first_order = weights_of(row.scores);  // a_i (v_i - o) / E Z
  for (std::size_t i = 0; i < n; ++i)
    first_order[i] = corrects ? first_order[i] * (row.values[i] - output) / moment : 0;

  Mean bias, square;
  std::vector<double> sizes;
  const std::int64_t batch = std::max<std::int64_t>(1, static_cast<std::int64_t>(kBatchScores / n));
  for (std::int64_t done = 0; done < draws; done += batch) {
    Table scores(static_cast<std::size_t>(std::min(batch, draws - done)), n);
    std::vector<double> linear(scores.rows, 0);
    for (std::size_t r = 0; r < scores.rows; ++r) {
      fill_noise(disturbance, random, scores.row(r));
      for (std::size_t i = 0; i < n; ++i) {
        if (first_order[i] != 0) linear[r] += first_order[i] * std::exp(scores(r, i));
        scores(r, i) += row.scores[i] + disturbance.lean * row.values[i];
      }
    }
    const Table outputs = outputs_of(scores, values);
    for (std::size_t r = 0; r < scores.rows; ++r) {
      const double x = outputs(r, 0) - output;
      bias.add(x - linear[r]);
      square.add(x * x);
      sizes.push_back(std::abs(x));
    }
  }
  return {bias.estimate(), square.estimate(), median_of(std::move(sizes))};
}

Estimate power_estimate(const std::vector<std::size_t>& lengths, const std::vector<Estimate>& y) {
  return tools::power(std::vector<double>(lengths.begin(), lengths.end()), y);
}

Decay decay(const std::vector<std::size_t>& lengths, const theory::NoiseLaw& law, std::int64_t draws, Random& random) {
  Decay out;
  for (const std::size_t n : lengths) out.medians.push_back(deviation(flat_row(n), {law}, draws, random).median);
  out.power = power_estimate(lengths, out.medians);
  return out;
}

}  // namespace isentropic::experiments::noise
