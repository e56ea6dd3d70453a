// Wraps tables of doubles as attention problems, so that checks exercise the real kernels.
#include "experiments/tools/kernels.hpp"

#include <numeric>

namespace isentropic::experiments::tools {
namespace {

using information::Table;

const double kOne = 1;

std::int64_t size(std::size_t n) { return static_cast<std::int64_t>(n); }

// One head per row of scores, each with one query of one coordinate.
AttentionProblem rows_problem(std::span<const double> scores, std::size_t rows, double lambda) {
  const std::int64_t n = size(scores.size() / rows);
  return {.query = View(&kOne, {1, size(rows), 1, 1}, {0, 0, 0, 1}),
          .key = View(scores.data(), {1, size(rows), n, 1}),
          .scale = Scale::constant(lambda),
          .executor = &serial_executor()};
}

}  // namespace

View view_of(const Table& table) { return View(table.values.data(), {1, 1, size(table.rows), size(table.columns)}); }

std::vector<double> weights_of(std::span<const double> scores, double lambda, const ScoreMap& map) {
  AttentionProblem problem = rows_problem(scores, 1, lambda);
  problem.map = map;
  return attention_weights(problem, {0}).to_doubles();
}

std::vector<Record> records_of(const Table& scores, double lambda) {
  AttentionProblem problem = rows_problem(scores.values, scores.rows, lambda);
  problem.statistics = Statistics::all();
  return attention_statistics(problem).rows.records();
}

Record record_of(std::span<const double> scores, double lambda) {
  AttentionProblem problem = rows_problem(scores, 1, lambda);
  problem.statistics = Statistics::all();
  return attention_statistics(problem).rows.record(0);
}

Table outputs_of(const Table& scores, const Table& values) {
  AttentionProblem problem = rows_problem(scores.values, scores.rows, 1);
  problem.value = View(values.values.data(), {1, size(scores.rows), size(values.rows), size(values.columns)},
                       {0, 0, size(values.columns), 1});
  return {scores.rows, values.columns, attention(problem).output.to_doubles()};
}

std::vector<double> output_of(std::span<const double> scores, const Table& values) {
  return outputs_of(Table(1, scores.size(), {scores.begin(), scores.end()}), values).values;
}

AttentionResult attend(const Table& query, const Table& key, const Table& value, AttentionProblem options) {
  options.query = view_of(query);
  options.key = view_of(key);
  options.value = view_of(value);
  options.statistics = Statistics::all();
  options.executor = &serial_executor();
  return attention(options);
}

Table weights_of(const Table& query, const Table& key, AttentionProblem options) {
  options.query = view_of(query);
  options.key = view_of(key);
  options.executor = &serial_executor();
  std::vector<std::int64_t> rows(query.rows);
  std::iota(rows.begin(), rows.end(), std::int64_t{0});
  return {query.rows, key.rows, attention_weights(options, rows).to_doubles()};
}

Table table_of(const Tensor& tensor) {
  const Shape& shape = tensor.shape();
  const auto columns = static_cast<std::size_t>(shape.back());
  return {static_cast<std::size_t>(tensor.size()) / columns, columns, tensor.to_doubles()};
}

}  // namespace isentropic::experiments::tools
