// isentropic::softmax_loss composed of PyTorch's operators, some rows at a time, for devices without kernels here; and
// the choice between the two on NVIDIA GPUs.
#include <torch/library.h>

#include <limits>

#include "losses/validate.hpp"
#include "pytorch/errors.hpp"
#include "pytorch/fallback/chunk_gradients.hpp"
#include "pytorch/loss_call.hpp"
#include "pytorch/losses.hpp"
#include "pytorch/row_state.hpp"
#include "pytorch/tensors.hpp"

namespace isentropic::pytorch {
namespace {

struct Rows {
  at::Tensor loss, log_partition, entropy;
};

// Rows [begin, end) of the loss; differentiable.
Rows rows_of(const at::Tensor& query, const at::Tensor& key, const at::Tensor& target, const at::Tensor& scale,
             const at::Tensor& bias, std::optional<double> soft_cap, bool exclude_self, std::int64_t begin,
             std::int64_t end) {
  at::Tensor s = query.slice(0, begin, end).matmul(key.t()) * scale;
  if (soft_cap) s = *soft_cap * (s / *soft_cap).tanh();
  if (bias.defined()) s = s + bias;
  constexpr double kHidden = -std::numeric_limits<double>::infinity();
  const at::Tensor keys = at::arange(key.size(0), target.options());
  const at::Tensor wanted = target.slice(0, begin, end).unsqueeze(1);
  const at::Tensor score = s.gather(1, wanted.clamp_min(0)).squeeze(1);
  if (exclude_self) s = s.masked_fill(at::arange(begin, end, target.options()).unsqueeze(1).eq(keys), kHidden);
  if (bias.defined()) s = s.masked_fill(bias.le(lowest(bias.scalar_type())), kHidden);
  const at::Tensor total = at::logsumexp(s, {1});
  const at::Tensor log_p = s - total.masked_fill(total.isneginf(), 0).unsqueeze(1);
  const at::Tensor entropy = -(log_p.exp() * log_p.masked_fill(log_p.isneginf(), 0)).sum(1);
  // Excluding the target from the sum avoids cancellation (softmax_loss.hpp).
  const at::Tensor others = at::logsumexp(s.masked_fill(wanted.eq(keys), kHidden), {1});
  const at::Tensor seen = s.gather(1, wanted.clamp_min(0)).squeeze(1).isneginf().logical_not();
  const at::Tensor gap = others - score;
  const at::Tensor loss = at::where(seen, at::logaddexp(gap, at::zeros_like(gap)), gap);
  return {loss.masked_fill(wanted.squeeze(1).lt(0), 0), total, entropy};
}

template <class Work>
void for_each_chunk(const at::Tensor& query, const at::Tensor& key, Work work) {
  const std::int64_t rows = query.size(0),
                     step = std::max<std::int64_t>(1, kScoresOfChunk / std::max<std::int64_t>(1, key.size(0)));
  for (std::int64_t begin = 0; begin < rows; begin += step) work(begin, std::min(begin + step, rows));
}

at::Tensor leaf(const at::Tensor& tensor, at::ScalarType type) { return tensor.detach().to(type); }

// Rejects the same inputs as the CPU's kernels.
void validate(const at::Tensor& query, const at::Tensor& key, const at::Tensor& target, const at::Tensor& scale,
              const std::optional<at::Tensor>& bias, std::optional<double> soft_cap, bool exclude_self) {
  validate_shapes(LossCall(query, key, target, scale, bias, soft_cap, exclude_self).problem);
  const std::int64_t keys = key.size(0);
  if (target.numel() > 0 && target.lt(-1).logical_or(target.ge(keys)).any().item<bool>())
    throw Error(
        "target",
        std::to_string(target.min().item<std::int64_t>()) + " to " + std::to_string(target.max().item<std::int64_t>()),
        "-1 or a key, up to " + std::to_string(keys - 1));
}

// Without rows or keys there is nothing to compute, and PyTorch's reductions reject empty axes.
bool is_empty(const at::Tensor& query, const at::Tensor& key) { return query.numel() == 0 || key.numel() == 0; }

}  // namespace

LossForward chunked_loss_forward(const at::Tensor& query, const at::Tensor& key, const at::Tensor& target,
                                 const at::Tensor& scale, const std::optional<at::Tensor>& bias,
                                 std::optional<double> soft_cap, bool exclude_self) {
  const at::NoGradGuard no_gradient;
  with_python_errors([&] { validate(query, key, target, scale, bias, soft_cap, exclude_self); });
  if (is_empty(query, key))
    return moved_to(
        softmax_loss_forward(query.cpu(), key.cpu(), target.cpu(), scale.cpu(), on_cpu(bias), soft_cap, exclude_self),
        query.device());
  const at::ScalarType type = statistics_type(query);
  const at::Tensor q = leaf(query, type), k = leaf(key, type), l = leaf(scale, type);
  const at::Tensor b = bias ? leaf(*bias, type) : at::Tensor();
  const at::Tensor empty = at::empty({0}, q.options());
  std::vector<at::Tensor> loss = {empty}, log_partition = {empty}, entropy = {empty};
  for_each_chunk(q, k, [&](std::int64_t begin, std::int64_t end) {
    const Rows rows = rows_of(q, k, target, l, b, soft_cap, exclude_self, begin, end);
    loss.push_back(rows.loss);
    log_partition.push_back(rows.log_partition);
    entropy.push_back(rows.entropy);
  });
  // The backward pass recomputes the scores and needs no records.
  return {at::cat(loss), at::cat(log_partition), at::cat(entropy),
          at::zeros({query.size(0), kRecord}, q.options().dtype(at::kDouble))};
}

LossBackward chunked_loss_backward(const at::Tensor& query, const at::Tensor& key, const at::Tensor& target,
                                   const at::Tensor& scale, const std::optional<at::Tensor>& bias,
                                   std::optional<double> soft_cap, bool exclude_self, const at::Tensor&,
                                   const at::Tensor&, const std::optional<at::Tensor>& loss_gradient,
                                   const std::optional<at::Tensor>& log_partition_gradient,
                                   const std::optional<at::Tensor>& entropy_gradient) {
  const at::ScalarType type = statistics_type(query);
  if (is_empty(query, key))
    return {at::zeros_like(query), at::zeros_like(key), at::zeros({}, query.options().dtype(at::kDouble)),
            bias ? at::zeros_like(*bias, type) : at::empty({0}, query.options().dtype(at::kFloat))};
  // A row without upstream gradient must contribute nothing, even if it contains NaN, so its numbers are masked out.
  at::Tensor used = at::zeros({query.size(0)}, query.options().dtype(at::kBool));
  for (const auto* gradient : {&loss_gradient, &log_partition_gradient, &entropy_gradient})
    if (*gradient) used = used.logical_or((*gradient)->ne(0));
  at::Tensor q = leaf(query, type).masked_fill(used.logical_not().unsqueeze(1), 0), k = leaf(key, type),
             l = leaf(scale, type);
  at::Tensor b = bias ? leaf(*bias, type) : at::Tensor();
  ChunkGradients gradients(bias ? std::vector{&q, &k, &l, &b} : std::vector{&q, &k, &l});
  for_each_chunk(query, key, [&](std::int64_t begin, std::int64_t end) {
    const RecordGradients record;
    const Rows rows = rows_of(q, k, target, l, b, soft_cap, exclude_self, begin, end);
    const auto part = [&](const std::optional<at::Tensor>& gradient) {
      return gradient ? gradient->slice(0, begin, end) : at::Tensor();
    };
    gradients.add({{rows.loss, part(loss_gradient)},
                   {rows.log_partition, part(log_partition_gradient)},
                   {rows.entropy, part(entropy_gradient)}});
  });
  return {gradients.of(q).to(query.scalar_type()), gradients.of(k).to(key.scalar_type()),
          gradients.of(l).to(at::kDouble).reshape({}),
          bias ? gradients.of(b) : at::empty({0}, query.options().dtype(at::kFloat))};
}

namespace {

bool has_kernels(const at::Tensor& query, const at::Tensor& key) {
  return cuda_losses() && cuda_losses()->take(query, key);
}

LossForward forward_cuda(const at::Tensor& query, const at::Tensor& key, const at::Tensor& target,
                         const at::Tensor& scale, const std::optional<at::Tensor>& bias, std::optional<double> soft_cap,
                         bool exclude_self) {
  const auto forward = has_kernels(query, key) ? cuda_losses()->forward : chunked_loss_forward;
  return forward(query, key, target, scale, bias, soft_cap, exclude_self);
}

LossBackward backward_cuda(const at::Tensor& query, const at::Tensor& key, const at::Tensor& target,
                           const at::Tensor& scale, const std::optional<at::Tensor>& bias,
                           std::optional<double> soft_cap, bool exclude_self, const at::Tensor& loss,
                           const at::Tensor& records, const std::optional<at::Tensor>& loss_gradient,
                           const std::optional<at::Tensor>& log_partition_gradient,
                           const std::optional<at::Tensor>& entropy_gradient) {
  const auto backward = has_kernels(query, key) ? cuda_losses()->backward : chunked_loss_backward;
  return backward(query, key, target, scale, bias, soft_cap, exclude_self, loss, records, loss_gradient,
                  log_partition_gradient, entropy_gradient);
}

LossTotal total_cuda(const at::Tensor& query, const at::Tensor& key, const at::Tensor& target, const at::Tensor& scale,
                     const std::optional<at::Tensor>& bias, const at::Tensor& weights, std::optional<double> soft_cap,
                     bool exclude_self, double loss_factor, double partition_factor, double square_factor,
                     bool form_gradients) {
  const auto total = has_kernels(query, key) ? cuda_losses()->total : loss_total_by_rows;
  return total(query, key, target, scale, bias, weights, soft_cap, exclude_self, loss_factor, partition_factor,
               square_factor, form_gradients);
}

}  // namespace

TORCH_LIBRARY_IMPL(isentropic, CUDA, library) {
  library.impl("softmax_loss", forward_cuda);
  library.impl("softmax_loss_backward", backward_cuda);
  library.impl("softmax_loss_total", total_cuda);
}

}  // namespace isentropic::pytorch
