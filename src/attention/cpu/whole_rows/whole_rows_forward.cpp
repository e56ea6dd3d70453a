// Forward passes over whole rows: every map that does not stream, weights of requested rows, key mass.
#include <functional>

#include "attention/cpu/tiles/dropout.hpp"
#include "attention/cpu/whole_rows/whole_row_scores.hpp"
#include "attention/cpu/whole_rows/whole_rows.hpp"
#include "attention/passes/statistics_writer.hpp"

namespace isentropic {
namespace {

// sum_j a_j v_j for some rows of weights [rows, n_k].
template <class T>
void weigh_values(const ScoreContext& context, const KeyBlocks<T>& keys, std::int64_t b, std::int64_t h,
                  std::int64_t rows, const T* weights, std::vector<T>& out) {
  const Dims& dims = context.dims;
  const std::int64_t stride = padded(dims.d_v);
  out.assign(rows * stride, T(0));
  keys.for_each(b, dims.kv_head(h), {0, dims.n_k}, [&](const KeyBlock<T>& block) {
    add_weighted(weights + block.begin, dims.n_k, rows, block.values, block.rows(), out.data(), stride);
  });
}

void store_selected(Tensor& selected, std::int64_t row, const std::vector<std::int64_t>& chosen) {
  const std::int64_t keys = selected.shape().back();
  std::int64_t* out = selected.values<std::int64_t>().data() + row * keys;
  std::fill_n(out, keys, -1);
  std::copy(chosen.begin(), chosen.end(), out);
}

template <class T>
void forward_rows(const ScoreContext& context, const KeyBlocks<T>& keys, std::int64_t b, std::int64_t h,
                  std::int64_t i0, std::int64_t i1, StatisticsWriter& writer, AttentionResult& result) {
  const Dims& dims = context.dims;
  const ScoreMap& score_map = context.problem.map;
  WholeRowScores<T> rows(context, keys);
  WholeRowMap<T> map(score_map);
  rows.compute(b, h, i0, i1);
  std::vector<T> weights((i1 - i0) * dims.n_k), out;
  for (std::int64_t r = 0; r < i1 - i0; ++r) {
    const std::int64_t row = dims.row(b, h, i0 + r);
    const std::span<T> scores = rows.row(r), row_weights(weights.data() + r * dims.n_k, scores.size());
    map.forward(rows.map_input(r), scores, row_weights);
    if (score_map.kind() == ScoreMap::Kind::top_k) {
      const SoftmaxRecord<double> record = map.softmax_record(rows.map_input(r), scores);
      result.rows.set_record(row, record);
      store_selected(result.selected, row, map.selected());
      writer.write(row, h, record);
    } else {
      writer.write(row, map.plain_record(rows.map_input(r), scores, row_weights));
    }
    apply_dropout(context, b, h, i0 + r, 0, dims.n_k, row_weights.data());
  }
  if (!result.output.present()) return;
  weigh_values(context, keys, b, h, i1 - i0, weights.data(), out);
  for (std::int64_t r = 0; r < i1 - i0; ++r)
    store(result.output, dims.row(b, h, i0 + r) * dims.d_v, dims.d_v, out.data() + r * padded(dims.d_v));
}

// Calls f(b, h, i0, i1) for blocks of kBufferedRows rows.
template <class F>
void for_each_row_block(const ScoreContext& context, F f) {
  const Dims& dims = context.dims;
  const std::int64_t blocks = (dims.n_q + kBufferedRows - 1) / kBufferedRows;
  executor_of(context.problem)
      .parallel_for(dims.batch * dims.heads * blocks, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t task = begin; task < end; ++task) {
          const std::int64_t i0 = task % blocks * kBufferedRows;
          f(task / blocks / dims.heads, task / blocks % dims.heads, i0, std::min(i0 + kBufferedRows, dims.n_q));
        }
      });
}

// Runs of consecutive rows, as index ranges of the list: they share the cost of reading the keys.
std::vector<Span> runs_of_neighbours(const std::vector<std::int64_t>& rows) {
  std::vector<Span> out;
  for (std::int64_t at = 0; at < std::ssize(rows); ++at) {
    if (!out.empty() && out.back().size() < kBufferedRows && rows[at] == rows[at - 1] + 1)
      out.back().end = at + 1;
    else
      out.push_back({at, at + 1});
  }
  return out;
}

// The keys' share of the normaliser when there is a sink.
double key_share(const AttentionProblem& problem, std::int64_t head, const SoftmaxRecord<double>& keys) {
  return std::exp(log_partition(keys) - log_partition(with_sink(problem, head, keys)));
}

}  // namespace

AttentionResult whole_rows_forward(const AttentionProblem& problem, RowState state, OutputUse output) {
  const Dims dims(problem);
  StatisticsWriter writer(problem);
  AttentionResult result = empty_result(problem, std::move(state), output);
  if (problem.map.kind() == ScoreMap::Kind::top_k) {
    result.rows.allocate_records(MomentSet::all);
    result.selected = Tensor(DType::int64, {dims.batch, dims.heads, dims.n_q, std::min(problem.map.keys(), dims.n_k)});
  }
  const ScoreContext context(problem, result.rows.lambda, Factors::compute_type);
  with_compute_type(problem.query.type, [&]<class T>() {
    const KeyBlocks<T> keys(problem, context.planes, {.values = output == OutputUse::compute});
    for_each_row_block(context, [&](std::int64_t b, std::int64_t h, std::int64_t i0, std::int64_t i1) {
      forward_rows<T>(context, keys, b, h, i0, i1, writer, result);
    });
  });
  result.statistics = writer.take();
  return result;
}

Tensor whole_rows_weights(const AttentionProblem& problem, const RowState& state,
                          const std::vector<std::int64_t>& rows) {
  const ScoreContext context(problem, state.lambda, Factors::compute_type);
  const Dims& dims = context.dims;
  const std::vector<Span> runs = runs_of_neighbours(rows);
  const auto count = std::ssize(runs);
  Tensor out(statistics_type(problem), {dims.batch, dims.heads, std::ssize(rows), dims.n_k});
  with_compute_type(problem.query.type, [&]<class T>() {
    const KeyBlocks<T> keys(problem, context.planes, {});
    executor_of(problem).parallel_for(dims.batch * dims.heads * count, [&](std::int64_t begin, std::int64_t end) {
      WholeRowScores<T> scores(context, keys);
      WholeRowMap<T> map(problem.map);
      std::vector<T> weights(dims.n_k);
      for (std::int64_t task = begin; task < end; ++task) {
        const Span run = runs[task % count];
        const std::int64_t head = task / count, h = head % dims.heads, b = head / dims.heads;
        scores.compute(b, h, rows[run.begin], rows[run.begin] + run.size());
        for (std::int64_t r = 0; r < run.size(); ++r) {
          const MapInput row = scores.map_input(r);
          const double share = problem.sink ? key_share(problem, h, map.softmax_record(row, scores.row(r))) : 1;
          map.forward(row, scores.row(r), weights);
          if (problem.sink)
            for (T& weight : weights) weight *= static_cast<T>(share);
          store(out, (head * std::ssize(rows) + run.begin + r) * dims.n_k, dims.n_k, weights.data());
        }
      }
    });
  });
  return out;
}

Tensor whole_rows_key_mass(const AttentionProblem& problem, const AttentionResult& forward) {
  const ScoreContext context(problem, forward.rows.lambda, Factors::compute_type);
  const Dims& dims = context.dims;
  Tensor out(statistics_type(problem), {dims.batch, dims.heads, dims.n_k});
  with_compute_type(problem.query.type, [&]<class T>() {
    const KeyBlocks<T> keys(problem, context.planes, {});
    executor_of(problem).parallel_for(dims.batch * dims.heads, [&](std::int64_t begin, std::int64_t end) {
      WholeRowScores<T> rows(context, keys);
      WholeRowMap<T> map(problem.map);
      std::vector<T> weights(dims.n_k);
      for (std::int64_t task = begin; task < end; ++task) {
        std::vector<double> mass(dims.n_k, 0.0);
        for (std::int64_t i0 = 0; i0 < dims.n_q; i0 += kBufferedRows) {
          const std::int64_t i1 = std::min(i0 + kBufferedRows, dims.n_q);
          rows.compute(task / dims.heads, task % dims.heads, i0, i1);
          for (std::int64_t r = 0; r < i1 - i0; ++r) {
            map.forward(rows.map_input(r), rows.row(r), weights);
            for (std::int64_t j = 0; j < dims.n_k; ++j) mass[j] += static_cast<double>(weights[j]);
          }
        }
        store(out, task * dims.n_k, dims.n_k, mass.data());
      }
    });
  });
  return out;
}

}  // namespace isentropic
