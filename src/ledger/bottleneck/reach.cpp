// How far one layer sees: attention, convolution, recurrence.
#include <algorithm>
#include <cmath>
#include <limits>

#include "experiments/tools/kernels.hpp"
#include "isentropic/information/dependency_paths.hpp"
#include "ledger/bottleneck/subjects.hpp"

namespace isentropic::ledger::bottleneck {
namespace {

constexpr std::size_t kPositions = 65;

// Tokens with a NaN in the middle: it contaminates every position it reaches.
Table spoilt_in_the_middle(Random& random) {
  Table x(kPositions, 4, random.normals(4 * kPositions));
  for (double& v : x.row(kPositions / 2)) v = std::numeric_limits<double>::quiet_NaN();
  return x;
}

double spoilt(const Table& x) {
  double out = 0;
  for (std::size_t i = 0; i < x.rows; ++i) out += std::isnan(x(i, 0));
  return out;
}

Table attention_layer(const Table& x, const Mask& mask) {
  AttentionProblem options;
  options.mask = mask;
  return table_of(attend(x, x, x, options).output);
}

// Each position becomes the mean of those up to `radius` away.
Table convolution_layer(const Table& x, std::size_t radius) {
  Table out(x.rows, x.columns);
  for (std::size_t i = 0; i < x.rows; ++i) {
    const std::size_t first = i - std::min(i, radius), last = std::min(i + radius, x.rows - 1);
    for (std::size_t j = first; j <= last; ++j)
      for (std::size_t c = 0; c < x.columns; ++c) out(i, c) += x(j, c) / static_cast<double>(2 * radius + 1);
  }
  return out;
}

void receptive_fields(Check& check) {
  const Table x = spoilt_in_the_middle(check.random());
  const std::size_t radius = 4;
  const Mask window = Mask::none().window(radius + 1, radius);
  check.near("attention, one layer: positions of 65 that one position reaches",
             spoilt(attention_layer(x, check.choose(Mask::none(), window))), kPositions, 0);
  Table convolved = x, windowed = x;
  for (std::size_t layers = 1; layers <= 4; ++layers) {
    convolved = convolution_layer(convolved, radius), windowed = attention_layer(windowed, window);
    const std::string at = " of radius 4: positions reached in layers: " + std::to_string(layers);
    const auto field = static_cast<double>(2 * radius * layers + 1);
    check.near("convolution" + at, spoilt(convolved), field, 0);
    check.near("attention with a window" + at, spoilt(windowed), field, 0);
  }
}

void path_lengths_of_architectures(Check& check) {
  for (std::size_t n : {2U, 8U, 64U, 256U}) {
    const std::string at = " at n = " + std::to_string(n);
    const auto attention = check.choose(full_attention_graph(n), window_attention_graph(n, 4));
    check.near("attention: longest path" + at, static_cast<double>(summarise_paths(attention).longest), 1, 0);
    const std::vector<std::size_t> from_first = path_lengths(recurrent_graph(n), 0);
    check.near("recurrent: x_1 to h_n" + at, static_cast<double>(from_first.back()), static_cast<double>(n), 0);
    check.near("recurrent: h_1 to h_n" + at, static_cast<double>(path_lengths(recurrent_graph(n), n).back()),
               static_cast<double>(n - 1), 0);
    check.near("window 4: layers to cross" + at,
               static_cast<double>(summarise_paths(window_attention_graph(n, 4)).longest),
               std::ceil(static_cast<double>(n - 1) / 4), 0);
    check.near("causal: share of pairs connected" + at, summarise_paths(causal_attention_graph(n)).reachable_fraction,
               (static_cast<double>(n) + 1) / (2 * static_cast<double>(n)), 1e-12);
  }
}

}  // namespace

std::vector<Claim> reach_claims() {
  return {
      computed(
          "000-10.4.4-txt1", Verdict::holds_if,
          "In attention every position reaches every other directly, in a convolution only its receptive field",
          "without a mask: attention with a window of radius r has the receptive field of a convolution, 2 r L + 1 "
          "after L layers",
          receptive_fields),
      computed("000-10.4.11", Verdict::holds_if,
               "Paths between positions have length 1 in attention, n in a recurrent net",
               "unmasked and with a full window; n counts from input x_1 to state h_n; window w: ceil((n-1)/w) layers",
               path_lengths_of_architectures),
  };
}

}  // namespace isentropic::ledger::bottleneck
