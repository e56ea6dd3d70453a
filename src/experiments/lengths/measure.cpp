// Streams keys through partial attention calls, so that memory does not grow with the length.
#include "experiments/lengths/measure.hpp"

#include <algorithm>
#include <cmath>

#include "isentropic/attention.hpp"

namespace isentropic::experiments::lengths {
namespace {

using Record = SoftmaxRecord<double>;

constexpr std::int64_t kKeysAtOnce = std::int64_t{1} << 17;

class Mean {
 public:
  void add(double x) {
    ++count_;
    const double step = x - mean_;
    mean_ += step / static_cast<double>(count_);
    squares_ += step * (x - mean_);
  }
  Estimate estimate() const {
    const double n = static_cast<double>(count_);
    return {mean_, count_ > 1 ? std::sqrt(squares_ / (n * (n - 1))) : 0.0};
  }

 private:
  std::int64_t count_ = 0;
  double mean_ = 0, squares_ = 0;
};

struct Means {
  Mean lambda, entropy, needle, needle_entropy;
  Measurement measurement() const {
    return {lambda.estimate(), entropy.estimate(), needle.estimate(), needle_entropy.estimate()};
  }
};

double dot(const float* x, const float* y, std::int64_t d) {
  double sum = 0;
  for (std::int64_t i = 0; i < d; ++i) sum += static_cast<double>(x[i]) * y[i];
  return sum;
}

// The key at position 0 as a record: either the set's own key 0, or the needle.
Record first_key(const Contexts& contexts, std::int64_t set, std::int64_t i, const float* key, double lambda) {
  const ContextShape& shape = contexts.shape;
  const double score = lambda * dot(contexts.query(set, i), key, shape.d) + shape.positions.bias(shape.n - 1);
  return single_key(score, 0);
}

// Records of keys 1 ... n - 1. lambda: [sets or 1, scales, queries]; result: [sets, scales, queries].
class Pass {
 public:
  Pass(const Contexts& contexts, Statistics statistics, Executor& executor)
      : contexts_(contexts), statistics_(statistics), executor_(executor) {
    const ContextShape& shape = contexts.shape;
    const PositionCode& positions = shape.positions;
    if (positions.kind == Positions::alibi) bias_ = Bias::alibi(positions.strength);
    if (positions.kind == Positions::relative) {
      for (std::int64_t t = 1 - shape.n; t < shape.n; ++t)
        table_.push_back(static_cast<float>(positions.bias(std::abs(t))));
      bias_ = Bias::relative(View(table_.data(), {1, 2 * shape.n - 1}));
    }
  }

  std::vector<Record> operator()(const std::vector<double>& lambda, std::int64_t lambda_sets,
                                 std::int64_t scales) const {
    const ContextShape& shape = contexts_.shape;
    // Repeats the queries once per scale, as rows of one head: rows with the same keys share the cost of reading them.
    // But a bias depends on positions, and every query is at the last one, so then each has its own head.
    const std::int64_t rows = scales * shape.queries;
    const bool own_heads = shape.positions.is_bias();
    const std::int64_t heads = own_heads ? rows : 1, n_q = own_heads ? 1 : rows;
    std::vector<float> queries;
    for (std::int64_t set = 0; set < shape.sets; ++set)
      for (std::int64_t scale = 0; scale < scales; ++scale)
        queries.insert(queries.end(), contexts_.query(set, 0), contexts_.query(set, 0) + shape.queries * shape.d);
    const View keys(contexts_.keys.data(), {shape.sets, 1, shape.n, shape.d});
    return attention_statistics({.query = View(queries.data(), {shape.sets, heads, n_q, shape.d}),
                                 .key = keys.slice(2, 1, shape.n),
                                 .mask = own_heads ? Mask::causal(Align::end) : Mask::none(),
                                 .scale = Scale::per_row(View(lambda.data(), {lambda_sets, heads, n_q})),
                                 .bias = bias_,
                                 .statistics = statistics_,
                                 .shard = {.key_runs = {Run{1}}, .total_keys = shape.n},
                                 .executor = &executor_})
        .rows.records();
  }

 private:
  const Contexts& contexts_;
  Statistics statistics_;
  Executor& executor_;
  std::vector<float> table_;
  Bias bias_;
};

// Adds the statistics of a row with the needle.
void add_needle(const Contexts& contexts, std::int64_t set, std::int64_t i, const Record& others, double lambda,
                Means& means) {
  const Record needle = first_key(contexts, set, i, contexts.needle(set, i), lambda);
  const Record row = merge(others, needle);
  means.needle.add(std::exp(needle.m - log_partition(row)));
  means.needle_entropy.add(entropy(row));
}

// Calls work(contexts) for a few sets at a time, limiting the memory for keys and rows.
template <class Work>
void for_each_batch(const ContextShape& shape, std::int64_t scales, std::uint64_t seed, Executor& executor,
                    const Work& work) {
  constexpr std::int64_t kRows = std::int64_t{1} << 15;
  const std::int64_t step =
      std::clamp<std::int64_t>(kRows / (scales * shape.queries), 1, std::max<std::int64_t>(1, kKeysAtOnce / shape.n));
  for (std::int64_t first = 0; first < shape.sets; first += step) {
    ContextShape part = shape;
    part.sets = std::min(step, shape.sets - first);
    work(draw_contexts(part, seed, first, executor));
  }
}

}  // namespace

std::int64_t key_floats(const ContextShape& shape) {
  return std::max(shape.n, std::min(kKeysAtOnce, shape.sets * shape.n)) * shape.d;
}

std::vector<Measurement> measure(const ContextShape& shape, const std::vector<double>& lambdas, std::uint64_t seed,
                                 Executor& executor) {
  const std::int64_t scales = static_cast<std::int64_t>(lambdas.size());
  std::vector<double> rows;
  for (const double lambda : lambdas) rows.insert(rows.end(), shape.queries, lambda);
  std::vector<Means> means(scales);
  for_each_batch(shape, scales, seed, executor, [&](const Contexts& contexts) {
    const std::vector<Record> records = Pass(contexts, Statistics::of({Statistic::entropy}), executor)(rows, 1, scales);
    for (std::int64_t set = 0, at = 0; set < contexts.shape.sets; ++set)
      for (std::int64_t scale = 0; scale < scales; ++scale)
        for (std::int64_t i = 0; i < shape.queries; ++i, ++at) {
          const double lambda = lambdas[scale];
          means[scale].lambda.add(lambda);
          means[scale].entropy.add(
              entropy(merge(records[at], first_key(contexts, set, i, contexts.key(set, 0), lambda))));
          add_needle(contexts, set, i, records[at], lambda, means[scale]);
        }
  });
  std::vector<Measurement> out;
  for (const Means& m : means) out.push_back(m.measurement());
  return out;
}

Measurement measure_target(const ContextShape& shape, double target, std::uint64_t seed, Executor& executor) {
  constexpr double kTolerance = 1e-4;
  Means means;
  for_each_batch(shape, 1, seed, executor, [&](const Contexts& contexts) {
    const ContextShape& part = contexts.shape;
    const std::int64_t rows = part.sets * part.queries;
    const AttentionResult solved =
        attention_statistics({.query = View(contexts.queries.data(), {part.sets, 1, part.queries, part.d}),
                              .key = View(contexts.keys.data(), {part.sets, 1, part.n, part.d}),
                              .scale = Scale::target_entropy(target),
                              .statistics = Statistics::of({Statistic::entropy}),
                              .executor = &executor});
    for (std::int64_t at = 0; at < rows; ++at) {
      means.lambda.add(solved.rows.scale(at));
      means.entropy.add(entropy(solved.rows.record(at)));
    }
    // With the needle: the library's solver, with one pass over the shared keys per step.
    const Pass pass(contexts, Statistics::of({Statistic::entropy, Statistic::score_variance}), executor);
    std::vector<EntropySolver> solvers;
    for (std::int64_t at = 0; at < rows; ++at) solvers.emplace_back(target, part.n, solved.rows.scale(at), kTolerance);
    const auto lambdas = [&] {
      std::vector<double> out;
      for (const EntropySolver& solver : solvers) out.push_back(solver.lambda());
      return out;
    };
    while (std::ranges::any_of(solvers, &EntropySolver::active)) {
      const std::vector<Record> records = pass(lambdas(), part.sets, 1);
      for (std::int64_t at = 0; at < rows; ++at) {
        if (!solvers[at].active()) continue;
        const std::int64_t set = at / part.queries, i = at % part.queries;
        const Record row =
            merge(records[at], first_key(contexts, set, i, contexts.needle(set, i), solvers[at].lambda()));
        solvers[at].update(entropy(row), score_variance(row));
      }
    }
    const std::vector<Record> records = pass(lambdas(), part.sets, 1);
    for (std::int64_t at = 0; at < rows; ++at)
      add_needle(contexts, at / part.queries, at % part.queries, records[at], solvers[at].lambda(), means);
  });
  return means.measurement();
}

}  // namespace isentropic::experiments::lengths
