// The sweeps of a loss over its scores on an NVIDIA GPU: records, then gradients, split as planned.
#pragma once

#include <ATen/ATen.h>
#include <c10/core/DeviceGuard.h>

#include <cmath>
#include <optional>

#include "losses/cuda/chunk.hpp"
#include "losses/validate.hpp"
#include "pytorch/cuda/loss_plan.hpp"
#include "pytorch/cuda/stream.hpp"
#include "pytorch/errors.hpp"
#include "pytorch/loss_call.hpp"
#include "pytorch/losses.hpp"
#include "pytorch/row_state.hpp"
#include "pytorch/tensors.hpp"

namespace isentropic::pytorch {

inline cuda::ElementType loss_element(const at::Tensor& x) {
  return x.scalar_type() == at::kFloat  ? cuda::ElementType::float32
         : x.scalar_type() == at::kHalf ? cuda::ElementType::float16
                                        : cuda::ElementType::bfloat16;
}

// out = a b, in float32.
inline void multiply(const at::Tensor& a, const at::Tensor& b, at::Tensor out) {
  if (a.scalar_type() == at::kFloat)
    at::mm_out(out, a, b);
  else
    at::mm_out(out, a, b, at::kFloat);
}

// A [rows, columns] view of `memory` with the given row stride.
inline at::Tensor matrix_in(const at::Tensor& memory, std::int64_t rows, std::int64_t columns, std::int64_t stride) {
  return memory.as_strided({rows, columns}, {stride, 1});
}

inline const float* floats_of(const at::Tensor& x) { return x.defined() ? x.const_data_ptr<float>() : nullptr; }

// A loss on the device, with the state its passes share.
class LossSweeps {
 public:
  LossSweeps(const at::Tensor& query, const at::Tensor& key, const at::Tensor& target, const at::Tensor& scale,
             const std::optional<at::Tensor>& bias, std::optional<double> soft_cap, bool exclude_self)
      : guard_(query.device()),
        stream_(current_cuda_stream(query.get_device())),
        query_(query),
        key_(key),
        target_(target.contiguous()),
        scale_(scale.to(query.device(), at::kFloat).reshape({1}).contiguous()),
        rows_(query.size(0)),
        keys_(key.size(0)),
        d_(query.size(1)),
        plan_(rows_, keys_, d_, query.element_size()),
        products_(floats(plan_.chunk_rows * plan_.stride)) {
    with_python_errors(
        [&] { validate_shapes(LossCall(query, key, target, scale, bias, soft_cap, exclude_self).problem); });
    for (const at::Tensor& x : {key, target, bias.value_or(query)})
      TORCH_CHECK_VALUE(x.device() == query.device(), "a tensor is on ", x.device(), "; expected ", query.device(),
                        ", as the query");
    if (bias) {
      hidden_ = bias->le(lowest(bias->scalar_type()));
      bias_ = bias->to(at::kFloat).masked_fill(hidden_, -INFINITY).contiguous();
    }
    problem_.all_keys = keys_;
    problem_.target = target_.const_data_ptr<std::int64_t>();
    problem_.scale = floats_of(scale_);
    problem_.bias = floats_of(bias_);
    problem_.soft_cap = static_cast<float>(soft_cap.value_or(0));
    problem_.exclude_self = exclude_self;
  }

  // Sets the arrays of a forward pass's results, either to be filled or already computed.
  void set_rows(const at::Tensor& loss, const at::Tensor& log_partition, const at::Tensor& entropy,
                const at::Tensor& records) {
    loss_ = loss, log_partition_ = log_partition, entropy_ = entropy, records_ = records;
    const auto data = [](at::Tensor& x) { return x.defined() ? x.mutable_data_ptr<float>() : nullptr; };
    found_ = {data(loss_), data(log_partition_), data(entropy_), records_.mutable_data_ptr<double>()};
  }
  void make_rows() {
    set_rows(floats(rows_), floats(rows_), floats(rows_),
             at::empty({rows_, kRecord}, query_.options().dtype(at::kDouble)));
  }
  LossForward rows() const { return {loss_, log_partition_, entropy_, records_}; }

  void find_records() {
    for (std::int64_t row = 0; row < rows_; row += plan_.chunk_rows)
      require_launched(cuda::loss_records(chunk(row, std::min(row + plan_.chunk_rows, rows_)), found_, stream_));
  }

  // Gradients of all inputs; `finds_records`: computes the records in the same sweep.
  LossBackward gradients(cuda::LossUpstream upstream, const at::Tensor& largest, bool finds_records) {
    upstream.largest = floats_of(largest);
    largest_ = largest, factor_ = scale_ * largest;
    used_ = at::empty({rows_}, query_.options().dtype(at::kBool));
    terms_ = floats(rows_ * static_cast<std::int64_t>(sizeof(cuda::LossTerms) / sizeof(float)));
    kept_ = at::empty({plan_.group_rows * plan_.stride}, query_.options());
    piece_ = floats(plan_.piece * d_);
    d_query_ = at::empty({rows_, d_}, query_.options()), d_key_ = at::empty({keys_, d_}, query_.options());
    scale_rows_ = floats(rows_);
    if (bias_.defined()) d_bias_ = at::zeros({keys_}, query_.options().dtype(at::kFloat));
    if (!plan_.one_group && !plan_.two_sweeps) sums_ = floats(keys_ * d_).view({keys_, d_});
    if (!finds_records) find_terms(0, rows_, upstream);
    for (std::int64_t row = 0; row < rows_; row += plan_.group_rows)
      add_group(row, std::min(row + plan_.group_rows, rows_), upstream, finds_records);
    if (sums_.defined()) store(sums_, d_key_);
    if (plan_.two_sweeps)
      for (std::int64_t key = 0; key < keys_; key += plan_.block_keys)
        sweep_keys(key, std::min(key + plan_.block_keys, keys_));
    return {d_query_, d_key_, scale_rows_.sum(at::kDouble),
            bias_.defined() ? d_bias_.mul_(largest_) : at::empty({0}, query_.options().dtype(at::kFloat))};
  }

 private:
  at::Tensor floats(std::int64_t count) const { return at::empty({count}, query_.options().dtype(at::kFloat)); }

  cuda::LossTerms* terms() const { return reinterpret_cast<cuda::LossTerms*>(terms_.mutable_data_ptr<float>()); }

  // Computes the products of rows [begin, end) with keys [first, last).
  cuda::LossChunk chunk(std::int64_t begin, std::int64_t end, std::int64_t first, std::int64_t last) {
    const std::int64_t stride = LossPlan::aligned(last - first);
    multiply(query_.slice(0, begin, end), key_.slice(0, first, last).t(),
             matrix_in(products_, end - begin, last - first, stride));
    cuda::LossChunk out = problem_;
    out.products = products_.const_data_ptr<float>(), out.stride = stride;
    out.rows = end - begin, out.keys = last - first, out.first_row = begin, out.first_key = first;
    return out;
  }
  cuda::LossChunk chunk(std::int64_t begin, std::int64_t end) { return chunk(begin, end, 0, keys_); }

  void find_terms(std::int64_t begin, std::int64_t end, const cuda::LossUpstream& upstream) {
    require_launched(cuda::loss_terms(problem_, begin, end - begin, found_, upstream, terms(),
                                      used_.mutable_data_ptr<bool>(), stream_));
  }

  // Computes G of a chunk into the kept gradients, from row `at_row` on.
  void find_gradient(const cuda::LossChunk& scores, std::int64_t at_row, float* scale_rows) {
    cuda::LossGradient out;
    out.values = static_cast<char*>(kept_.mutable_data_ptr()) + at_row * scores.stride * kept_.element_size();
    out.type = loss_element(query_), out.stride = scores.stride, out.scale_gradient = scale_rows;
    require_launched(cuda::loss_gradient(scores, terms(), floats_of(largest_), out, stream_));
  }

  void add_group(std::int64_t begin, std::int64_t end, const cuda::LossUpstream& upstream, bool finds_records) {
    for (std::int64_t row = begin; row < end; row += plan_.chunk_rows) {
      const std::int64_t row_end = std::min(row + plan_.chunk_rows, end);
      const cuda::LossChunk scores = chunk(row, row_end);
      if (finds_records) {
        require_launched(cuda::loss_records(scores, found_, stream_));
        find_terms(row, row_end, upstream);
      }
      find_gradient(scores, row - begin, scale_rows_.mutable_data_ptr<float>());
      if (bias_.defined())
        require_launched(cuda::loss_bias_gradient(scores, terms(), d_bias_.mutable_data_ptr<float>(), stream_));
    }
    const at::Tensor gradient = matrix_in(kept_, end - begin, keys_, plan_.stride);
    for (std::int64_t row = begin; row < end; row += plan_.piece) {
      const std::int64_t row_end = std::min(row + plan_.piece, end);
      const at::Tensor piece = matrix_in(piece_, row_end - row, d_, d_);
      multiply_by_seen_keys(gradient.slice(0, row - begin, row_end - begin), piece);
      store(piece, d_query_.slice(0, row, row_end));
    }
    if (plan_.two_sweeps) return;
    const at::Tensor queries = used_rows(begin, end);
    for (std::int64_t key = 0; key < keys_; key += plan_.piece) {
      const std::int64_t key_end = std::min(key + plan_.piece, keys_);
      const at::Tensor weights = gradient.slice(1, key, key_end).t();
      if (plan_.one_group) {
        const at::Tensor piece = matrix_in(piece_, key_end - key, d_, d_);
        multiply(weights, queries, piece);
        store(piece, d_key_.slice(0, key, key_end));
      } else {
        add_product(weights, queries, sums_.slice(0, key, key_end), begin == 0);
      }
    }
  }

  // dK of keys [first, last), from recomputed scores.
  void sweep_keys(std::int64_t first, std::int64_t last) {
    const std::int64_t stride = LossPlan::aligned(last - first);
    const std::int64_t step = std::max<std::int64_t>(1, std::min(products_.numel(), kept_.numel()) / stride);
    const at::Tensor sums = floats((last - first) * d_).view({last - first, d_});
    for (std::int64_t row = 0; row < rows_; row += step) {
      const std::int64_t row_end = std::min(row + step, rows_);
      find_gradient(chunk(row, row_end, first, last), 0, nullptr);
      const at::Tensor gradient = matrix_in(kept_, row_end - row, last - first, stride);
      const at::Tensor queries = used_rows(row, row_end);
      for (std::int64_t key = 0; key < last - first; key += plan_.piece) {
        const std::int64_t key_end = std::min(key + plan_.piece, last - first);
        add_product(gradient.slice(1, key, key_end).t(), queries, sums.slice(0, key, key_end), row == 0);
      }
    }
    store(sums, d_key_.slice(0, first, last));
  }

  // A row without upstream gradient may contain NaN or Inf: even 0 times it must not be added.
  at::Tensor used_rows(std::int64_t begin, std::int64_t end) const {
    return query_.slice(0, begin, end).masked_fill(used_.slice(0, begin, end).logical_not().unsqueeze(1), 0);
  }

  // The same holds for a key that a bias hides.
  void multiply_by_seen_keys(const at::Tensor& gradient, const at::Tensor& out) const {
    if (!bias_.defined()) return multiply(gradient, key_, out);
    const std::int64_t step = 4 * plan_.piece;
    for (std::int64_t key = 0; key < keys_; key += step) {
      const std::int64_t key_end = std::min(key + step, keys_);
      const at::Tensor seen = key_.slice(0, key, key_end).masked_fill(hidden_.slice(0, key, key_end).unsqueeze(1), 0);
      const at::Tensor weights = gradient.slice(1, key, key_end);
      if (key == 0) {
        multiply(weights, seen, out);
      } else {
        const at::Tensor part = at::empty_like(out);
        multiply(weights, seen, part);
        at::Tensor(out).add_(part);
      }
    }
  }

  void add_product(const at::Tensor& a, const at::Tensor& b, at::Tensor sum, bool is_first) const {
    if (is_first) return multiply(a, b, sum);
    const at::Tensor piece = matrix_in(piece_, sum.size(0), d_, d_);
    multiply(a, b, piece);
    sum.add_(piece);
  }

  // out = lambda largest x, in the type of the inputs.
  void store(const at::Tensor& x, const at::Tensor& out) const {
    require_launched(cuda::scale_and_round(floats_of(x), floats_of(factor_), loss_element(out), out.mutable_data_ptr(),
                                           out.numel(), stream_));
  }

  const c10::DeviceGuard guard_;
  const cudaStream_t stream_;
  const at::Tensor query_, key_, target_, scale_;
  const std::int64_t rows_, keys_, d_;
  const LossPlan plan_;
  const at::Tensor products_;
  at::Tensor bias_, hidden_;
  cuda::LossChunk problem_;
  at::Tensor loss_, log_partition_, entropy_, records_;
  cuda::LossRows found_;
  at::Tensor largest_, factor_, used_, terms_, kept_, piece_, sums_;
  at::Tensor d_query_, d_key_, d_bias_, scale_rows_;
};

}  // namespace isentropic::pytorch
