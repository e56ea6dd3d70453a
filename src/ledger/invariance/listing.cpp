// Sections 28 and 29: causal rows, and the module printed in the source, run step by step as printed.
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <optional>

#include "experiments/tools/algebra.hpp"
#include "ledger/invariance/drawn.hpp"
#include "ledger/invariance/subjects.hpp"

namespace isentropic::ledger::invariance {
namespace {

void causal_rows(Check& check) {
  const Table x = normal_table(check.random(), 100, 16);
  const AttentionResult result =
      attend(x, x, x, {.query = {}, .key = {}, .mask = Mask::causal(), .scale = Scale::log_n(3.0)});
  double lambda = 0, above = 0;
  for (std::size_t i = 0; i < x.rows; ++i) {
    const double log_i = std::log(static_cast<double>(i + 1));
    lambda = std::max(lambda, std::abs(result.rows.scale(i) - 3 * log_i / 16));
    above = std::max(above, entropy(result.rows.record(i)) - log_i);
  }
  check.near("lambda of row i less kappa log i/d", lambda, 0, 1e-14);
  check.at_most("H less log i", above, 0, 1e-12);
}

// A linear layer, with its biases in the last row. The source's framework initialises it uniformly in +-1/sqrt(inputs).
Table default_layer(Random& random, std::size_t inputs, std::size_t outputs) {
  const double reach = 1 / std::sqrt(static_cast<double>(inputs));
  Table out(inputs + 1, outputs);
  for (double& w : out.values) w = random.uniform(-reach, reach);
  return out;
}

Table applied(const Table& layer, const Table& x) {
  Table with_one(x.rows, x.columns + 1, 1.0);
  for (std::size_t i = 0; i < x.rows; ++i) std::copy(x.row(i).begin(), x.row(i).end(), with_one.row(i).begin());
  return product(with_one, layer);
}

struct Module {
  std::size_t width, heads;
  Table query, key, value, output;

  Module(Random& random, std::size_t width_, std::size_t heads_) : width(width_), heads(heads_) {
    for (Table* layer : {&query, &key, &value, &output}) *layer = default_layer(random, width, width);
  }
};

using Visible = bool (*)(std::size_t query, std::size_t key);
bool everything(std::size_t, std::size_t) { return true; }
bool causal_but_row_3(std::size_t i, std::size_t j) { return j <= i && i != 3; }

struct Printed {
  Table joined;                // the heads side by side, before the last layer
  Table output;                // [n, width]
  std::vector<Table> weights;  // per head, [n, n]
};

// The listing in double precision. It gives keys and values the shape of the queries, so it returns nothing if their
// numbers differ; it uses log n of the queries for all rows; and it masks a key with a score of -1e9.
std::optional<Printed> printed_listing(const Module& m, const Table& q, const Table& k, const Table& v,
                                       Visible visible = everything) {
  if (k.rows != q.rows || v.rows != q.rows) return {};
  const std::size_t n = q.rows, d = m.width / m.heads;
  const double scale = std::log(static_cast<double>(n)) / static_cast<double>(d);
  const Table queries = applied(m.query, q), keys = applied(m.key, k), values = applied(m.value, v);
  Printed out{Table(n, m.width), {}, std::vector<Table>(m.heads, Table(n, n))};
  for (std::size_t h = 0; h < m.heads; ++h)
    for (std::size_t i = 0; i < n; ++i) {
      const auto row = out.weights[h].row(i);
      for (std::size_t j = 0; j < n; ++j)
        row[j] = visible(i, j) ? scale * dot(queries.row(i).subspan(h * d, d), keys.row(j).subspan(h * d, d)) : -1e9;
      const double most = *std::max_element(row.begin(), row.end());
      double sum = 0;
      for (double& w : row) sum += w = std::exp(w - most);
      for (std::size_t j = 0; j < n; ++j) {
        row[j] /= sum;
        for (std::size_t c = h * d; c < (h + 1) * d; ++c) out.joined(i, c) += row[j] * values(j, c);
      }
    }
  out.output = applied(m.output, out.joined);
  return out;
}

// Views [n, heads d] as [1, heads, n, d], without a copy.
View heads_view(const Table& projected, std::size_t heads) {
  const auto n = static_cast<std::int64_t>(projected.rows), width = static_cast<std::int64_t>(projected.columns),
             h = static_cast<std::int64_t>(heads);
  return View(projected.values.data(), {1, h, n, width / h}, {width * n, width / h, width, 1});
}

// The largest differences of the listing's weights and joined heads from attention() under kappa log n/d.
struct Gap {
  double weights = 0, output = 0;
};

Gap gap_to_attention(const Printed& printed, const Module& m, const Table& x, const Mask& mask = {}) {
  const Table q = applied(m.query, x), k = applied(m.key, x), v = applied(m.value, x);
  const AttentionProblem problem{.query = heads_view(q, m.heads),
                                 .key = heads_view(k, m.heads),
                                 .value = heads_view(v, m.heads),
                                 .mask = mask,
                                 .scale = Scale::log_n(),
                                 .executor = &serial_executor()};
  std::vector<std::int64_t> rows;
  for (std::size_t i = 0; i < x.rows; ++i) rows.push_back(static_cast<std::int64_t>(i));
  const std::vector<double> weights = attention_weights(problem, rows).to_doubles(),
                            outputs = attention(problem).output.to_doubles();
  Gap out;
  const std::size_t n = x.rows, d = m.width / m.heads;
  for (std::size_t h = 0; h < m.heads; ++h) {
    out.weights =
        std::max(out.weights, difference(std::span(weights).subspan(h * n * n, n * n), printed.weights[h].values));
    for (std::size_t i = 0; i < n; ++i)
      out.output = std::max(out.output, difference(std::span(outputs).subspan((h * n + i) * d, d),
                                                   printed.joined.row(i).subspan(h * d, d)));
  }
  return out;
}

void listing_on_its_example(Check& check) {
  const Module m(check.random(), 512, 8);
  // The source's own call; or cross attention from one text to another, which the listing's signature allows.
  const std::size_t n = check.choose<std::size_t>(100, 5), n_k = check.choose<std::size_t>(100, 9);
  const Table x = normal_table(check.random(), n, m.width),
              y = check.choose(x, normal_table(check.random(), n_k, m.width));
  const std::optional<Printed> printed = printed_listing(m, x, y, y);
  check.near("calls of 1 that the listing completes", printed.has_value(), 1, 0);
  if (!printed) return;
  check.near("rows of output", static_cast<double>(printed->output.rows), static_cast<double>(n), 0);
  check.near("columns of output", static_cast<double>(printed->output.columns), 512, 0);
  double sum_error = 0;
  for (const Table& weights : printed->weights)
    for (std::size_t i = 0; i < n; ++i) {
      double sum = 0;
      for (const double w : weights.row(i)) sum += w;
      sum_error = std::max(sum_error, std::abs(sum - 1));
    }
  check.near("largest row sum of 8 heads less 1", sum_error, 0, 1e-12);
  const Gap gap = gap_to_attention(*printed, m, x);
  check.near("weights of 8 heads less those of attention()", gap.weights, 0, 1e-12);
  check.near("joined heads less those of attention()", gap.output, 0, 1e-12);
}

double largest(const std::vector<double>& x) {
  double most = 0;
  for (const double v : x) most = std::max(most, std::abs(v));
  return most;
}

// The result of attention() with the same mask.
void fully_masked(Check& check, const char* name, const View& x) {
  std::vector<char> visible(16 * 16, 1);
  for (std::size_t i = 0; i < 16; ++i)
    for (std::size_t j = 0; j < 16; ++j) visible[16 * i + j] = causal_but_row_3(i, j);
  const View mask(visible.data(), DType::boolean, {1, 1, 16, 16}, {256, 256, 16, 1});
  const AttentionResult masked = attention({.query = x,
                                            .key = x,
                                            .value = x,
                                            .mask = Mask::none().dense(mask),
                                            .scale = Scale::log_n(),
                                            .statistics = Statistics::of({Statistic::entropy}),
                                            .executor = &serial_executor()});
  const std::vector<double> output = masked.output.to_doubles();
  check.near(fmt::format("output of a fully masked row, {}", name),
             largest({output.begin() + 3 * 8, output.begin() + 4 * 8}), 0, 0);
  check.near(fmt::format("its visible keys, {}", name), static_cast<double>(masked.rows.record(3).k), 0, 0);
  const bool narrow = masked.rows.lambda.type() == DType::float32;  // lambda is stored in the accumulator type
  double lambda = 0;
  for (std::size_t i = 0; i < 16; ++i) {
    const double law = std::log(static_cast<double>(i + 1)) / 8, expected = narrow ? static_cast<float>(law) : law;
    if (i != 3) lambda = std::max(lambda, std::abs(masked.rows.scale(i) - expected));
  }
  check.near(fmt::format("lambda of causal rows less log i/d, {}", name), lambda, 0, 1e-14);
  std::int64_t bad = 0;
  for (const double v : output) bad += !std::isfinite(v);
  check.never(fmt::format("numbers that are not finite, {}", name), bad);
}

// What happens to causal rows and to a fully masked row.
void listing_with_a_mask(Check& check) {
  const Module m(check.random(), 32, 2);
  const Table x = normal_table(check.random(), 16, m.width, 3);
  const Printed masked = *printed_listing(m, x, x, x, causal_but_row_3);
  check.near("listing: weight of a key in a row that sees none, n = 16", masked.weights[0](3, 9), 1.0 / 16, 1e-12);
  const Printed causal = *printed_listing(m, x, x, x, [](std::size_t i, std::size_t j) { return j <= i; });
  check.at_least("listing: causal weights less those under the log of each row's own keys",
                 gap_to_attention(causal, m, x, Mask::causal()).weights, 0.01);
  check.at_most("listing: -1e9 in half precision", to_float(to_float16(-1e9f)),
                -std::numeric_limits<double>::infinity());
}

void listing_and_beyond(Check& check) {
  listing_on_its_example(check);
  listing_with_a_mask(check);
  const std::vector<double> x = check.random().normals(16 * 8);
  fully_masked(check, "float64", View(x.data(), {1, 1, 16, 8}));
  std::vector<float16> half;
  for (const double v : x) half.push_back(to_float16(static_cast<float>(v)));
  fully_masked(check, "float16", View(half.data(), {1, 1, 16, 8}));
  const Table queries = normal_table(check.random(), 5, 8), keys = normal_table(check.random(), 9, 8);
  const AttentionResult cross = attend(queries, keys, keys, {.query = {}, .key = {}, .scale = Scale::log_n()});
  check.near("attention(): queries of cross attention (5, 9)", static_cast<double>(cross.output.shape()[2]), 5, 0);
  check.near("attention(): its lambda", cross.rows.scale(0), std::log(9.0) / 8, 1e-12);
}

// One head of a module of width 512 with 8 heads.
void default_weights(Check& check) {
  const std::size_t width = 512, d = 64;
  const std::vector<std::pair<std::size_t, double>> quoted = {{16, 2.766}, {64, 4.144}, {256, 5.519}, {1024, 6.890}};
  for (const auto& [n, h] : quoted) {
    if (n > 256 && !check.thorough()) continue;
    const Table x = normal_table(check.random(), n, width);
    Mean entropies;
    for (const Record& r : attend(applied(default_layer(check.random(), width, d), x),
                                  applied(default_layer(check.random(), width, d), x), Table(n, 1, 0.0),
                                  {.query = {}, .key = {}, .scale = Scale::log_n()})
                               .rows.records())
      entropies.add(entropy(r));
    check.near(fmt::format("H at default weights, n = {}", n), entropies.mean(), h, 0.01);
    // A projected coordinate has variance 1/3, a score 64/9 and a logit (log n/64)^2 64/9.
    const double log_n = std::log(static_cast<double>(n));
    check.near(fmt::format("log n less half the variance of the logits, n = {}", n),
               log_n - log_n * log_n / (2 * 64 * 9), h, 0.003);
  }
}

}  // namespace

std::vector<Claim> listing_claims() {
  using enum Verdict;
  return {
      computed("003-s28", note, "Causal attention, left open: which n?", "answered by (51): row i uses log i",
               causal_rows),
      computed("003-s29", holds_if,
               "Code printed with the source: output shaped as the input, weights [batch, heads, n, n]",
               "if queries and keys are equally many and no row is masked; the printed code raises for n_q != n_k, "
               "gives causal rows one scale, lets fully masked rows attend everywhere and overflows in half precision",
               listing_and_beyond),
      computed("003-s29b", note, "The listing's module at its default weights",
               "attends almost uniformly at every n: H = log n - (log n)^2/(2 d 9)", default_weights),
  };
}

}  // namespace isentropic::ledger::invariance
