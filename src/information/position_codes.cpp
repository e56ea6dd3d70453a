// The information that position codes carry about positions and offsets, from counts of distinct codes.
#include "isentropic/information/position_codes.hpp"

#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "base/checks.hpp"
#include "information/distributions/validate.hpp"
#include "isentropic/information/distribution.hpp"

namespace isentropic::information {
namespace {

std::vector<double> probabilities_of(const Table& codes, std::span<const double> positions) {
  require(codes.rows > 0 && codes.values.size() == codes.rows * codes.columns, "codes", shape_text(codes),
          "one code per position");
  if (positions.empty()) return std::vector<double>(codes.rows, 1 / static_cast<double>(codes.rows));
  require_length("positions", positions.size(), codes.rows, "one for each code");
  require_distribution("positions", positions);
  return {positions.begin(), positions.end()};
}

// The index of every position's code: equal codes get equal indices.
std::vector<std::size_t> numbered(const Table& codes, double resolution) {
  require_non_negative("resolution", resolution);
  std::map<std::vector<double>, std::size_t> known;
  std::vector<std::size_t> out;
  for (std::size_t position = 0; position < codes.rows; ++position) {
    std::vector<double> code(codes.row(position).begin(), codes.row(position).end());
    for (double& x : code) {
      require_finite("codes", x);
      if (resolution > 0) x = std::nearbyint(x / resolution);
    }
    out.push_back(known.try_emplace(std::move(code), known.size()).first->second);
  }
  return out;
}

}  // namespace

double position_information(const Table& codes, std::span<const double> positions, double resolution) {
  const std::vector<double> p = probabilities_of(codes, positions);
  const std::vector<std::size_t> number = numbered(codes, resolution);
  std::vector<double> mass(codes.rows, 0.0);
  for (std::size_t i = 0; i < p.size(); ++i) mass[number[i]] += p[i];
  return entropy(mass);
}

OffsetInformation offset_information(const Table& codes, std::span<const double> positions, double resolution) {
  const std::vector<double> p = probabilities_of(codes, positions);
  const std::vector<std::size_t> number = numbered(codes, resolution);
  const std::size_t n = codes.rows, offsets = 2 * n - 1;
  Table one(n, offsets);                      // first code, offset
  std::map<std::size_t, double> pairs;        // (first code, second code)
  std::map<std::size_t, double> pair_offset;  // (first code, second code, offset)
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < n; ++j) {
      const double mass = p[i] * p[j];
      const std::size_t offset = i + (n - 1) - j, pair = number[i] * n + number[j];
      one(number[i], offset) += mass;
      pairs[pair] += mass;
      pair_offset[pair * offsets + offset] += mass;
    }
  const auto entropy_over = [](const std::map<std::size_t, double>& masses) {
    std::vector<double> values;
    for (const auto& [key, mass] : masses) values.push_back(mass);
    return entropy(values);
  };
  OffsetInformation out;
  out.entropy = entropy(column_marginal(one));
  out.one_code = mutual_information(one);
  out.both_codes = out.entropy + entropy_over(pairs) - entropy_over(pair_offset);
  return out;
}

Table sinusoidal_codes(std::size_t positions, std::size_t d, double base) {
  require(d > 0 && d % 2 == 0, "d", std::to_string(d), "an even number > 0");
  require_positive("base", base);
  Table out(positions, d);
  for (std::size_t i = 0; i < d / 2; ++i) {
    const double frequency = std::pow(base, -2 * static_cast<double>(i) / static_cast<double>(d));
    for (std::size_t position = 0; position < positions; ++position) {
      out(position, 2 * i) = std::sin(static_cast<double>(position) * frequency);
      out(position, 2 * i + 1) = std::cos(static_cast<double>(position) * frequency);
    }
  }
  return out;
}

}  // namespace isentropic::information
