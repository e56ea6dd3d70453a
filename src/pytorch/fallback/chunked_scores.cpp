// Masks, bias and scale of a chunk of rows as tensor operations.
#include "pytorch/fallback/chunked_scores.hpp"

#include <algorithm>
#include <limits>

#include "attention/problem/dims.hpp"
#include "attention/problem/visibility.hpp"
#include "pytorch/fallback/chunk_gradients.hpp"
#include "pytorch/tensors.hpp"

namespace isentropic::pytorch {
namespace {

at::Tensor rows_of(const at::Tensor& tensor, std::int64_t axis, std::int64_t begin, std::int64_t end) {
  return tensor.size(axis) == 1 ? tensor : tensor.slice(axis, begin, end);
}

// -inf and the type's lowest value mean masked.
at::Tensor not_masked(const at::Tensor& added) { return added.gt(lowest(added.scalar_type())); }

}  // namespace

ChunkedScores::ChunkedScores(const BoundProblem& bound, at::Device device)
    : bound_(bound), integers_(at::TensorOptions().dtype(at::kLong).device(device)) {
  const Dims dims(bound.problem);
  const Visibility visibility(bound.problem);
  const at::Tensor places = at::empty({3, dims.batch, 1, dims.n_q, 1}, at::kLong);
  auto* out = places.mutable_data_ptr<std::int64_t>();
  const std::int64_t count = dims.batch * dims.n_q;
  for (std::int64_t row = 0; row < count; ++row) {
    const QueryPlace place = visibility.place(row / dims.n_q, row % dims.n_q);
    out[row] = place.position;
    out[count + row] = place.document.begin;
    out[2 * count + row] = place.document.end;
  }
  const at::Tensor moved = places.to(integers_.device());
  position_ = moved[0], document_begin_ = moved[1], document_end_ = moved[2];
  keys_ = at::arange(dims.n_k, integers_);
}

std::int64_t ChunkedScores::rows_at_a_time() const {
  const Dims dims(bound_.problem);
  return std::max<std::int64_t>(1, kScoresOfChunk / std::max<std::int64_t>(1, dims.batch * dims.heads * dims.n_k));
}

at::Tensor ChunkedScores::distance(std::int64_t begin, std::int64_t end) const {
  return position_.slice(2, begin, end) - keys_;
}

at::Tensor ChunkedScores::visible(std::int64_t begin, std::int64_t end) const {
  const Mask& mask = bound_.problem.mask;
  const at::Tensor lag = distance(begin, end), first = document_begin_.slice(2, begin, end);
  at::Tensor band = at::ones_like(lag, at::kBool);
  if (mask.is_causal) band = band & lag.ge(0);
  if (mask.window_part) band = band & lag.lt(mask.window_part->left) & lag.ge(-mask.window_part->right);
  if (mask.prefix_keys > 0) band = band | (keys_ - first).lt(mask.prefix_keys);
  at::Tensor seen = band & keys_.ge(first) & keys_.lt(document_end_.slice(2, begin, end));
  if (mask.excludes_self) seen = seen & lag.ne(0);
  if (mask.strided_part)
    seen = seen & (lag.abs().lt(mask.strided_part->local) | lag.remainder(mask.strided_part->stride).eq(0));
  if (const at::Tensor* layout = bound_.find("layout")) {
    const auto index = [&](std::int64_t from, std::int64_t to, std::int64_t block) {
      return at::arange(from, to, integers_).div(block, "floor");
    };
    const Mask::BlockSparse& part = *mask.block_sparse_part;
    seen =
        seen &
        layout->index_select(2, index(begin, end, part.block_q)).index_select(3, index(0, keys_.size(0), part.block_k));
  }
  if (const at::Tensor* dense = bound_.find("mask")) {
    const at::Tensor rows = rows_of(*dense, 2, begin, end);
    seen = seen & (rows.scalar_type() == at::kBool ? rows : not_masked(rows));
  }
  if (bound_.problem.bias.kind() == Bias::Kind::dense)
    seen = seen & not_masked(rows_of(*bound_.find("bias"), 2, begin, end));
  return seen;
}

at::Tensor ChunkedScores::bias(const at::Tensor& values, std::int64_t begin, std::int64_t end) const {
  switch (bound_.problem.bias.kind()) {
    case Bias::Kind::dense:
      return rows_of(values, 2, begin, end);
    case Bias::Kind::alibi:
      return -values.reshape({-1, 1, 1}) * distance(begin, end).abs();
    case Bias::Kind::relative: {
      const std::int64_t reach = values.size(1) / 2;
      const at::Tensor place = distance(begin, end).clamp(-reach, reach) + reach;  // [batch, 1, rows, n_k]
      return values.index_select(1, place.flatten())
          .reshape({values.size(0), place.size(0), place.size(2), -1})
          .transpose(0, 1);
    }
    case Bias::Kind::none:
      break;
  }
  return at::zeros({1}, values.options());
}

at::Tensor ChunkedScores::scores(const Leaves& leaves, const NotFinite& inputs, std::int64_t begin,
                                 std::int64_t end) const {
  const Dims dims(bound_.problem);
  const at::Tensor hidden = visible(begin, end).logical_not();
  // Query heads that share keys become rows of one product, so that the keys need not be repeated.
  const auto product = [&](const at::Tensor& query, const at::Tensor& key) {
    return query.slice(2, begin, end)
        .reshape({dims.batch, dims.kv_heads, dims.group() * (end - begin), dims.d})
        .matmul(key.transpose(-1, -2))
        .reshape({dims.batch, dims.heads, end - begin, dims.n_k});
  };
  at::Tensor s = product(leaves.query, leaves.key);
  // The scores as they are, with the gradient of the finite parts: 0 times a hidden NaN or Inf would be NaN.
  if (inputs.query.defined()) s = (s + (product(inputs.query, inputs.key) - s).detach()).masked_fill(hidden, 0);
  s = s * leaves.lambda.slice(2, begin, end).unsqueeze(-1);
  if (const auto cap = bound_.problem.soft_cap) s = *cap * (s / *cap).tanh();
  if (leaves.bias.defined()) s = s + bias(leaves.bias, begin, end);
  if (const at::Tensor* added = bound_.find("mask"); added && added->scalar_type() != at::kBool)
    s = s + rows_of(*added, 2, begin, end).to(s.scalar_type());
  return s.masked_fill(hidden, -std::numeric_limits<double>::infinity());
}

}  // namespace isentropic::pytorch
