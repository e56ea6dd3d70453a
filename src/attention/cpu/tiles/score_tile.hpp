// The finished scores of a block of queries against a block of keys:
//
//   x = lambda r;  cap tanh(x / cap);  + bias;  + additive mask;  Gumbel: (s + g) / tau;  unseen keys: -inf.
//
// Every pass, forward or backward, gets its scores here, so that they are bit-identical.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "attention/cpu/kernels/soft_cap.hpp"
#include "attention/cpu/tiles/key_blocks.hpp"
#include "attention/problem/visibility.hpp"
#include "base/counter_random.hpp"

namespace isentropic {

// The types a pass can multiply in.
enum class Factors : std::uint8_t { compute_type, sixteen_bits_too };

// What passes share: the problem, its prepared mask and the scale of every row.
struct ScoreContext {
  const AttentionProblem& problem;
  Dims dims;
  Visibility visibility;
  const Tensor& lambda;  // [batch, heads, n_q]
  int planes;            // of 16-bit factors; 0: factors are in the compute type

  ScoreContext(const AttentionProblem& problem_, const Tensor& lambda_, Factors factors)
      : problem(problem_),
        dims(problem_),
        visibility(problem_),
        lambda(lambda_),
        planes(factors == Factors::sixteen_bits_too && dims.n_q > kFewRows ? narrow_planes(problem) : 0) {}

  // The scale of a row, in the compute type, which is that of lambda.
  template <class T>
  T scale(std::int64_t row) const {
    return lambda.values<T>()[static_cast<std::size_t>(row)];
  }
};

// 16-bit products do not apply lambda; a caller that reads the scores only once can apply it itself and save a pass.
enum class Lambda : std::uint8_t { now, may_wait };

template <class T>
class ScoreTile {
 public:
  explicit ScoreTile(const ScoreContext& context)
      : context_(context),
        only_products_(!context.problem.soft_cap && context.problem.bias.kind() == Bias::Kind::none &&
                       !context.problem.mask.dense_part.present() &&
                       context.problem.map.kind() == ScoreMap::Kind::softmax) {}

  // Rows [i0, i1) of head h.
  void load_queries(std::int64_t b, std::int64_t h, std::int64_t i0, std::int64_t i1) {
    loaded_.load(context_.problem.query, b, h, i0, i1, context_.planes);
    loaded_.apply(feature_of(context_.problem.map));
    use_queries(b, h, loaded_);
  }

  // Rows of head h and possibly of following heads, loaded and owned by the caller.
  void use_queries(std::int64_t b, std::int64_t h, const LoadedRows<T>& block) {
    b_ = b, h_ = h, queries_ = &block;
    select_rows(0, block.rows());
    lambda_.resize(static_cast<std::size_t>(block.rows()));
    for (std::int64_t r = 0; r < block.rows(); ++r)
      lambda_[r] = context_.template scale<T>(context_.dims.row(b, head(r), query(r)));
  }

  // Selects rows [first, first + count) of those, for a single head: row r of the tile is row first + r of the block.
  void select_rows(std::int64_t first, std::int64_t count) {
    first_ = first, count_ = count;
    span_ = {queries().begin + first, queries().begin + first + count};
    if (queries().heads > 1) span_ = {queries().begin, queries().end};
    reach_end_ = context_.visibility.reach(b_, span_.begin, span_.end).end;
  }

  void load_keys(const KeyBlock<T>& block) { keys = block; }

  std::int64_t rows() const { return count_; }

  std::int64_t stride() const { return keys.stride(); }
  T* row(std::int64_t r) { return scores_.data() + r * stride(); }
  // Keys of the block that the row sees.
  std::int64_t visible(std::int64_t r) const { return visible_[r]; }
  // d s / d x of each score, without the factor of the Gumbel temperature; empty without a soft cap.
  const T* cap_derivative(std::int64_t r) const {
    return context_.problem.soft_cap ? cap_derivative_.data() + r * stride() : nullptr;
  }
  // d s / d (cap output): 1, or 1 / tau for Gumbel maps.
  T outer_derivative() const {
    const ScoreMap& map = context_.problem.map;
    return map.kind() == ScoreMap::Kind::gumbel ? T(1 / map.tau()) : T(1);
  }

  // The factor still to be applied to a row's scores: 1 unless compute() was allowed to omit lambda.
  T pending_factor(std::int64_t r) const { return lambda_pending_ ? lambda_[first_ + r] : T(1); }

  // Fills rows x stride() scores; padding is -inf. Nothing is computed if no row sees a key. Keys beyond the last one
  // that a row may see are first cut from the block: along a causal diagonal that is half of it.
  TileVisibility compute(Lambda lambda = Lambda::now, OverlappedWork* overlapped = nullptr) {
    if (reach_end_ <= keys.begin) return TileVisibility::none;
    keys.end = std::min(keys.end, reach_end_);
    const TileVisibility seen = seen_by_rows();
    if (seen == TileVisibility::none) return seen;
    scores_.resize(static_cast<std::size_t>(count_ * stride()));
    visible_.assign(static_cast<std::size_t>(count_), keys.rows());
    if (context_.problem.soft_cap) cap_derivative_.resize(scores_.size());
    lambda_pending_ = lambda == Lambda::may_wait && seen == TileVisibility::all && keys.transposed_keys.narrow &&
                      only_products_ && std::all_of(lambda_.begin(), lambda_.end(), [](T x) { return x > T(0); });
    if (keys.transposed_keys.present())
      multiply_columns(queries(), first_, count_, keys.transposed_keys, keys.rows(), scores_.data(),
                       lambda_pending_ ? nullptr : lambda_.data() + first_, overlapped);
    else
      dots(FewRowsProduct<T>{queries().row(first_), queries().stride(), count_, keys.keys.in_place, keys.rows(),
                             queries().stride(), scores_.data(), stride(), lambda_.data() + first_});
    for (std::int64_t r = 0; r < count_; ++r) finish_row(r, seen);
    return seen;
  }

  const LoadedRows<T>& queries() const { return *queries_; }

  KeyBlock<T> keys;

 private:
  static constexpr T kHidden = -std::numeric_limits<T>::infinity();

  std::int64_t head(std::int64_t r) const { return h_ + (first_ + r) / queries().rows_of_head(); }
  std::int64_t query(std::int64_t r) const { return queries().begin + (first_ + r) % queries().rows_of_head(); }

  TileVisibility seen_by_rows() const {
    const auto seen_by = [&](std::int64_t h) {
      return context_.visibility.tile(b_, h, span_.begin, span_.end, keys.begin, keys.end);
    };
    const TileVisibility seen = seen_by(h_);
    for (std::int64_t member = 1; member < queries().heads; ++member)
      if (seen_by(h_ + member) != seen) return TileVisibility::some;
    return seen;
  }

  void finish_row(std::int64_t r, TileVisibility seen) {
    const AttentionProblem& problem = context_.problem;
    const std::int64_t h = head(r), i = query(r), n = keys.rows();
    T* s = row(r);
    if (problem.map.kind() == ScoreMap::Kind::decay) std::fill_n(s, n, T(0));  // independent of content
    if (problem.soft_cap)
      soft_cap(s, cap_derivative_.data() + r * stride(), stride(), static_cast<T>(*problem.soft_cap));
    add_bias(h, i, s);
    if (problem.map.kind() == ScoreMap::Kind::gumbel) add_gumbel(h, i, s);
    if (seen == TileVisibility::some) visible_[r] = context_.visibility.hide(b_, h, i, keys.begin, keys.end, s);
    for (std::int64_t j = n; j < stride(); ++j) s[j] = kHidden;
  }

  void add_bias(std::int64_t h, std::int64_t i, T* s) const {
    const Bias& bias = context_.problem.bias;
    const View& additive = context_.problem.mask.dense_part;
    if (additive.present() && additive.type != DType::boolean) add_dense(additive, h, i, s);
    if (bias.kind() == Bias::Kind::dense) add_dense(bias.values(), h, i, s);
    if (bias.kind() == Bias::Kind::alibi) {
      const T slope = static_cast<T>(bias.slopes()[h]);
      for_each_lag(i, [&](std::int64_t j, std::int64_t lag) { s[j] -= slope * static_cast<T>(std::abs(lag)); });
    }
    if (bias.kind() == Bias::Kind::relative) {
      const View& table = bias.values();
      const std::int64_t reach = table.shape[1] / 2;
      with_element_type(table.type, [&]<class E>() {
        const E* middle = static_cast<const E*>(table.data) + broadcast_offset(table, h, 0) + reach;
        for_each_lag(i, [&](std::int64_t j, std::int64_t lag) {
          s[j] += from_element<T>(middle[std::clamp(lag, -reach, reach)]);
        });
      });
    }
  }

  void add_dense(const View& view, std::int64_t h, std::int64_t i, T* s) const {
    with_element_type(view.type, [&]<class E>() {
      const E* values = static_cast<const E*>(view.data) + broadcast_offset(view, b_, h, i, keys.begin);
      if (view.shape[3] == 1) {  // one value for the whole row
        const T value = from_element<T>(*values);
        for (std::int64_t j = 0; j < keys.rows(); ++j) s[j] += value;
        return;
      }
      for (std::int64_t j = 0; j < keys.rows(); ++j) s[j] += from_element<T>(values[j]);
    });
  }

  void add_gumbel(std::int64_t h, std::int64_t i, T* s) const {
    const ScoreMap& map = context_.problem.map;
    CounterRandom random(RandomStream::gumbel, map.seed(), b_, h, context_.visibility.queries()[i]);
    const std::int64_t first = context_.visibility.keys()[keys.begin];
    for (std::int64_t j = 0; j < keys.rows(); ++j) {
      const double noise = random.gumbel(first + j);
      s[j] = (s[j] + static_cast<T>(noise)) / static_cast<T>(map.tau());
    }
  }

  // Calls f(j - keys.begin, p_i - position of key j) for each key.
  template <class F>
  void for_each_lag(std::int64_t i, F f) const {
    const std::int64_t first = context_.visibility.place(b_, i).position - context_.visibility.keys()[keys.begin];
    for (std::int64_t j = 0; j < keys.rows(); ++j) f(j, first - j);
  }

  const ScoreContext& context_;
  const bool only_products_;  // scores are lambda r and nothing else
  bool lambda_pending_ = false;
  std::int64_t b_ = 0, h_ = 0, first_ = 0, count_ = 0, reach_end_ = 0;
  Span span_;  // of the selected rows' queries
  LoadedRows<T> loaded_;
  const LoadedRows<T>* queries_ = nullptr;
  Buffer<T> lambda_, scores_, cap_derivative_;
  std::vector<std::int64_t> visible_;
};

}  // namespace isentropic
