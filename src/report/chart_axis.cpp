// Axes and label placement: the arithmetic part of a chart.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "report/chart.hpp"

namespace isentropic::report {

double Axis::position(double value) const {
  if (scale == AxisScale::log) return std::log(value / low) / std::log(high / low);
  return (value - low) / (high - low);
}

Axis linear_axis(std::string label, double low, double high, int count) {
  if (!(high > low)) high = low + 1;
  const double rough = (high - low) / std::max(1, count);
  const double power = std::pow(10.0, std::floor(std::log10(rough)));
  const double unit = rough / power;
  const double step = power * (unit < 1.5 ? 1 : unit < 3.5 ? 2 : unit < 7.5 ? 5 : 10);
  constexpr double kSlack = 1e-9;  // a bound that is a multiple up to rounding is kept
  const auto first = static_cast<std::int64_t>(std::floor(low / step + kSlack));
  const auto last = static_cast<std::int64_t>(std::ceil(high / step - kSlack));
  Axis axis{std::move(label), static_cast<double>(first) * step, static_cast<double>(last) * step};
  const int digits = std::max(0, static_cast<int>(-std::floor(std::log10(step) + kSlack)));
  for (std::int64_t i = first; i <= last; ++i) {
    const double value = static_cast<double>(i) * step;
    axis.ticks.push_back({value, fmt::format("{:.{}f}", value, digits)});
  }
  return axis;
}

Axis log2_axis(std::string label, double low, double high) {
  Axis axis{std::move(label), low, high, AxisScale::log};
  const int count = static_cast<int>(std::lround(std::log2(high / low)));
  for (int i = 0; i <= count; ++i) {
    const double value = low * std::exp2(i);
    // The end is always numbered; a number just before it would touch it.
    const bool numbered = i == count || (i % 2 == 0 && count - i >= 2);
    axis.ticks.push_back({value, numbered ? fmt::format("{:.0f}", value) : ""});
  }
  return axis;
}

Axis log10_axis(std::string label, double low, double high) {
  constexpr double kSlack = 1e-9;  // a bound that is a power up to rounding is kept
  const int first = static_cast<int>(std::floor(std::log10(low) + kSlack));
  const int last = std::max(first + 1, static_cast<int>(std::ceil(std::log10(high) - kSlack)));
  Axis axis{std::move(label), std::pow(10.0, first), std::pow(10.0, last), AxisScale::log};
  const bool fine = last - first < 3;
  for (int power = first; power <= last; ++power)
    for (const int times : {1, 2, 5}) {
      if (times > 1 && (!fine || power == last)) continue;
      const double value = times * std::pow(10.0, power);
      axis.ticks.push_back({value, fmt::format("{:g}", value)});
    }
  return axis;
}

std::vector<double> spread(const std::vector<double>& wanted, double gap, double low, double high) {
  std::vector<std::size_t> order(wanted.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return wanted[i]; });

  // Blocks of touching labels: each is placed at the mean of its members' wishes; overlapping blocks are merged.
  struct Block {
    double sum = 0;  // of wanted - offset within the block
    std::size_t count = 0;
    double start = 0;
  };
  std::vector<Block> blocks;
  const auto place = [&](Block& block) {
    const double length = gap * static_cast<double>(block.count - 1);
    block.start = block.sum / static_cast<double>(block.count);
    block.start = std::max(low, std::min(block.start, high - length));
  };
  for (const std::size_t i : order) {
    Block block{wanted[i], 1};
    place(block);
    while (!blocks.empty() &&
           blocks.back().start + gap * static_cast<double>(blocks.back().count) > block.start + 1e-9) {
      const Block& before = blocks.back();
      const double offset = gap * static_cast<double>(before.count);
      block.sum = before.sum + block.sum - offset * static_cast<double>(block.count);
      block.count += before.count;
      blocks.pop_back();
      place(block);
    }
    blocks.push_back(block);
  }
  std::vector<double> out(wanted.size());
  std::size_t at = 0;
  for (const Block& block : blocks)
    for (std::size_t i = 0; i < block.count; ++i) out[order[at++]] = block.start + gap * static_cast<double>(i);
  return out;
}

}  // namespace isentropic::report
