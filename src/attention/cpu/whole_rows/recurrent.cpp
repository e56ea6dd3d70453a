// Linear features and decay in O(n): a state carried along the keys instead of a row of weights.
//
//   S_t = gamma S_{t-1} + phi(k_t) v_t^T        [d, d_v]
//   y_t = gamma y_{t-1} + phi(k_t)              [d], for the l1 normaliser phi(q).y
//   M_t = gamma^2 M_{t-1} + phi(k_t) phi(k_t)^T [d, d], for sum a^2 = phi(q)^T M phi(q), when a statistic needs it
//
// A query at position p reads the state after key p (causal) or after the last key. Decay alone is the case
// phi(q) = phi(k) = 1 of width one.
#include <algorithm>
#include <cmath>

#include "attention/cpu/tiles/blocks.hpp"
#include "attention/cpu/whole_rows/whole_rows.hpp"
#include "attention/passes/statistics_writer.hpp"
#include "attention/problem/visibility.hpp"

namespace isentropic {
namespace {

template <class T>
class State {
 public:
  State(std::int64_t d, std::int64_t d_v, bool squares)
      : d_(d), d_v_(d_v), outer_(d * d_v, T(0)), sum_(d, T(0)), squares_(squares ? d * d : 0, 0.0) {}

  void absorb(T gamma, const T* key, const T* value) {
    for (T& x : outer_) x *= gamma;
    for (T& x : sum_) x *= gamma;
    for (double& x : squares_) x *= static_cast<double>(gamma) * static_cast<double>(gamma);
    for (std::int64_t c = 0; c < d_; ++c) {
      if (key[c] == T(0)) continue;  // a weight of 0 ignores its value
      sum_[c] += key[c];
      for (std::int64_t v = 0; v < d_v_; ++v) outer_[c * d_v_ + v] += key[c] * value[v];
      for (std::int64_t e = 0; e < d_ && !squares_.empty(); ++e)
        squares_[c * d_ + e] += static_cast<double>(key[c]) * static_cast<double>(key[e]);
    }
  }

  // Advances by `steps` positions without a key.
  void age(T gamma, std::int64_t steps) {
    const T factor = static_cast<T>(std::pow(static_cast<double>(gamma), static_cast<double>(steps)));
    for (T& x : outer_) x *= factor;
    for (T& x : sum_) x *= factor;
    for (double& x : squares_) x *= static_cast<double>(factor) * static_cast<double>(factor);
  }

  // The factor is applied to the query before the sum: small features make the factor large and the sum small, each
  // possibly out of range in T.
  void read(const T* query, double factor, T* out) const {
    std::fill_n(out, d_v_, T(0));
    for (std::int64_t c = 0; c < d_; ++c) {
      const T weight = static_cast<T>(factor * static_cast<double>(query[c]));
      for (std::int64_t v = 0; v < d_v_; ++v) out[v] += weight * outer_[c * d_v_ + v];
    }
  }
  double total(const T* query) const {
    double sum = 0;
    for (std::int64_t c = 0; c < d_; ++c) sum += static_cast<double>(query[c]) * static_cast<double>(sum_[c]);
    return sum;
  }
  double total_squares(const T* query) const {
    double sum = 0;
    for (std::int64_t c = 0; c < d_ && !squares_.empty(); ++c)
      for (std::int64_t e = 0; e < d_; ++e)
        sum += static_cast<double>(query[c]) * squares_[c * d_ + e] * static_cast<double>(query[e]);
    return sum;
  }

 private:
  std::int64_t d_, d_v_;
  std::vector<T> outer_, sum_;
  std::vector<double> squares_;  // double, because squares of small features would underflow in float
};

// A row of features phi(factor x): the tensor's, or a single 1 for decay alone.
template <class T>
LoadedRows<T> features(const AttentionProblem& problem, const View& view, std::int64_t b, std::int64_t h,
                       std::int64_t i, double factor) {
  LoadedRows<T> block;
  block.load(view, b, h, i, i + 1);
  block.apply(feature_of(problem.map), factor);
  if (problem.map.kind() == ScoreMap::Kind::decay) block.data[0] = T(1);
  return block;
}

template <class T>
void run_head(const AttentionProblem& problem, std::int64_t b, std::int64_t h, StatisticsWriter& writer,
              AttentionResult& result) {
  const Dims dims(problem);
  const Visibility visibility(problem);
  const ScoreMap& map = problem.map;
  const bool decay_only = map.kind() == ScoreMap::Kind::decay;
  const Statistics& asked = writer.asked();
  const bool squares =
      asked.has(Statistic::sparsity) || asked.has(Statistic::participation) || asked.has(Statistic::collision);
  const bool values = result.output.present();
  const T gamma = static_cast<T>(map.gamma()[h]);
  const double of_keys = key_factor(problem, b);
  State<T> state(decay_only ? 1 : dims.d, values ? dims.d_v : 0, squares);
  std::vector<T> out(std::max<std::int64_t>(1, dims.d_v));
  LoadedRows<T> value;
  std::int64_t absorbed = 0, position = 0;  // keys in the state; its current position
  for (std::int64_t i = 0; i < dims.n_q; ++i) {
    const VisibleSpans seen = visibility.spans(b, i);
    const std::int64_t count = seen.band.size();
    for (; absorbed < count; ++absorbed) {
      if (values) value.load(problem.value, b, dims.kv_head(h), absorbed, absorbed + 1);
      const LoadedRows<T> key = features<T>(problem, problem.key, b, dims.kv_head(h), absorbed, of_keys);
      state.absorb(gamma, key.row(0), values ? value.row(0) : nullptr);
      position = absorbed;
    }
    const std::int64_t row = dims.row(b, h, i);
    const std::int64_t here = visibility.place(b, i).position;
    // Ageing cancels in l1-normalised weights, and long ageing would only underflow.
    if (count > 0 && here > position && gamma != T(1) && map.normaliser() != Normaliser::l1) {
      state.age(gamma, here - position);
      position = here;
    }
    const LoadedRows<T> query = features<T>(problem, problem.query, b, h, i, 1);
    const double lambda = decay_only ? 1.0 : result.rows.scale(row);
    double normaliser = 1;
    if (map.normaliser() == Normaliser::visible) normaliser = static_cast<double>(count);
    if (map.normaliser() == Normaliser::l1) normaliser = std::abs(lambda) * state.total(query.row(0));
    const double factor = normaliser == 0 ? 0.0 : lambda / normaliser;
    PlainRecord record;
    record.k = count;
    record.sum_absolute = std::abs(factor) * state.total(query.row(0));
    record.sum_squares = factor * factor * state.total_squares(query.row(0));
    writer.write(row, record);
    if (!values) continue;
    state.read(query.row(0), factor, out.data());
    store(result.output, row * dims.d_v, dims.d_v, out.data());
  }
}

}  // namespace

AttentionResult recurrent_forward(const AttentionProblem& problem, RowState state, OutputUse output) {
  const Dims dims(problem);
  StatisticsWriter writer(problem);
  AttentionResult result = empty_result(problem, std::move(state), output);
  with_compute_type(problem.query.type, [&]<class T>() {
    executor_of(problem).parallel_for(dims.batch * dims.heads, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t task = begin; task < end; ++task)
        run_head<T>(problem, task / dims.heads, task % dims.heads, writer, result);
    });
  });
  result.statistics = writer.take();
  return result;
}

}  // namespace isentropic
