// InfoNCE from C++: various kinds of candidates around the operator softmax_loss.
#include <cmath>

#include "isentropic/pytorch/contrastive_losses.hpp"
#include "pytorch/loss_rows.hpp"

namespace isentropic::pytorch {
namespace {

// Rows divided by their norms; a row of zeros stays 0, with a gradient of 0.
at::Tensor rows_over_norms(const at::Tensor& x) {
  const at::Tensor norm = at::linalg_vector_norm(x, 2, -1, true, statistics_type(x));
  return at::where(norm > 0, x / at::where(norm > 0, norm, 1.0), 0.0).to(x.scalar_type());
}

struct ReducedLoss {
  at::Tensor loss, rows, entropy;  // reduced as requested; per row
};

ReducedLoss find_positives(const at::Tensor& query, const at::Tensor& key, const at::Tensor& scale,
                           const at::Tensor& positives, Reduction reduction, bool exclude_self = false) {
  if (reduction == Reduction::none) {
    const auto [losses, log_partition, entropy, records] =
        softmax_loss_forward(query, key, positives, scale, std::nullopt, std::nullopt, exclude_self);
    return {losses, losses, entropy};
  }
  const at::Tensor ones = at::ones({query.size(0)}, query.options().dtype(statistics_type(query)));
  const auto found =
      softmax_loss_total(query, key, positives, scale, std::nullopt, weights_of_rows(ones, reduction), std::nullopt,
                         exclude_self, 1.0, 0.0, 0.0, forms_gradients(query, {query, key, scale}));
  return {std::get<0>(found), std::get<1>(found), std::get<3>(found)};
}

Loss with_bound(const at::Tensor& loss, const at::Tensor& entropy, const at::Tensor& rows, std::int64_t candidates) {
  const at::Tensor ceiling = number_like(std::log(static_cast<double>(std::max<std::int64_t>(candidates, 1))), rows);
  return {loss, entropy, ceiling - reduced_rows(rows.detach(), Reduction::mean), ceiling};
}

Loss both_ways(const at::Tensor& query, const at::Tensor& key, const at::Tensor& scale, Reduction reduction) {
  check_same_shape(query, key);
  const at::Tensor pairs = at::arange(query.size(0), query.options().dtype(at::kLong));
  const ReducedLoss there = find_positives(query, key, scale, pairs, reduction);
  const ReducedLoss back = find_positives(key, query, scale, pairs, reduction);
  return with_bound((there.loss + back.loss) / 2, (there.entropy + back.entropy) / 2, (there.rows + back.rows) / 2,
                    key.size(0));
}

// Log-partition and entropy over the negatives alone. For own negatives, the scores are smaller than the negatives.
std::pair<at::Tensor, at::Tensor> over_negatives(const at::Tensor& query, const at::Tensor& negatives,
                                                 const at::Tensor& scale, bool shared) {
  if (shared) {
    const at::Tensor none = at::full({query.size(0)}, -1, query.options().dtype(at::kLong));
    const auto found = softmax_loss_forward(query, negatives, none, scale, std::nullopt, std::nullopt, false);
    return {std::get<1>(found), std::get<2>(found)};
  }
  const at::ScalarType wide = statistics_type(query);
  const at::Tensor scores = at::matmul(negatives.to(wide), query.to(wide).unsqueeze(2)).squeeze(2) * scale;
  const at::Tensor log_p = at::log_softmax(scores, -1);
  return {at::logsumexp(scores, {-1}), -(log_p.exp() * log_p).sum(-1)};
}

Loss against_negatives(const at::Tensor& query, const at::Tensor& key, const at::Tensor& negatives,
                       const at::Tensor& scale, Reduction reduction) {
  const bool shared = check_candidates("negatives", negatives, query);
  check_same_shape(query, key);
  const at::Tensor positive = pair_scores(query, key, scale);
  const auto [others, entropy_of_others] = over_negatives(query, negatives, scale, shared);
  const at::Tensor losses = softplus_of(others - positive);
  // The chain rule of entropy: first positive or not, then which negative.
  const at::Tensor log_negative = -softplus_of(positive - others);
  const at::Tensor of_negatives =
      at::where(log_negative.isneginf(), 0.0, log_negative.exp() * (log_negative - entropy_of_others));
  const at::Tensor entropy = (-losses).exp() * losses - of_negatives;
  return with_bound(reduced_rows(losses, reduction), entropy, losses, negatives.size(-2) + 1);
}

// For every query, the mean of the keys of its class, [N, d], and their number, [N].
std::pair<at::Tensor, at::Tensor> class_means(const at::Tensor& key, const at::Tensor& labels,
                                              const at::Tensor& key_labels, bool exclude_self) {
  const at::Tensor wide = key.to(statistics_type(key));
  const auto [classes, members, numbers] = at::_unique2(at::cat({labels, key_labels}), true, true);
  const at::Tensor of_query = members.slice(0, 0, labels.size(0)), of_key = members.slice(0, labels.size(0));
  const at::Tensor sums = at::zeros({classes.size(0), key.size(1)}, wide.options()).index_add(0, of_key, wide);
  at::Tensor total = sums.index_select(0, of_query);
  at::Tensor counts = at::bincount(of_key, {}, classes.size(0)).index_select(0, of_query);
  if (exclude_self) total = total - wide, counts = counts - 1;
  return {total / counts.clamp_min(1).unsqueeze(1), counts};
}

Loss by_labels(const at::Tensor& query, const at::Tensor& key, const at::Tensor& scale, const InfoNceOptions& options) {
  const at::Tensor& key_labels = options.key_labels.defined() ? options.key_labels : options.labels;
  TORCH_CHECK_VALUE(options.labels.dim() == 1 && options.labels.size(0) == query.size(0), "labels has shape ",
                    options.labels.sizes(), "; expected [", query.size(0), "]");
  TORCH_CHECK_VALUE(key_labels.dim() == 1 && key_labels.size(0) == key.size(0), "key_labels has shape ",
                    key_labels.sizes(), "; expected [", key.size(0), "]");
  const at::Tensor none = at::full({query.size(0)}, -1, query.options().dtype(at::kLong));
  const auto [loss, log_partition, entropy, records] =
      softmax_loss_forward(query, key, none, scale, std::nullopt, std::nullopt, options.exclude_self);
  const auto [means, counts] = class_means(key, options.labels, key_labels, options.exclude_self);
  const at::Tensor losses = at::where(counts > 0, log_partition - pair_scores(query, means, scale), 0.0);
  if (options.reduction == Reduction::none) return {losses, entropy, {}, {}};
  const at::Tensor weights = weights_of_rows((counts > 0).to(losses.scalar_type()), options.reduction);
  return {(losses * weights).sum(), entropy, {}, {}};
}

at::Tensor checked_positives(const at::Tensor& query, const at::Tensor& key, const InfoNceOptions& options) {
  const at::Tensor own = at::arange(query.size(0), query.options().dtype(at::kLong));
  if (!options.positives.defined()) {
    TORCH_CHECK_VALUE(!options.exclude_self, "exclude_self is given without positives or labels; expected one of them");
    TORCH_CHECK_VALUE(query.size(0) == key.size(0), "key has ", key.size(0), " rows; expected ", query.size(0),
                      ", one positive for each query");
    return own;
  }
  const at::Tensor& positives = options.positives;
  TORCH_CHECK_VALUE(positives.dim() == 1 && positives.size(0) == query.size(0), "positives has shape ",
                    positives.sizes(), "; expected [", query.size(0), "]");
  TORCH_CHECK_TYPE(positives.scalar_type() == at::kLong, "positives has type ", positives.scalar_type(),
                   "; expected int64");
  // Reading a GPU's tensor would synchronise: there the operator rejects what is out of range.
  TORCH_CHECK_VALUE(!options.exclude_self || !positives.is_cpu() || !positives.eq(own).any().item<bool>(),
                    "positives has a row itself; expected another key with exclude_self");
  return at::where(positives < 0, -2, positives);  // -1 would mean none
}

}  // namespace

Loss info_nce(const at::Tensor& given_query, const at::Tensor& given_key, const InfoNceOptions& options) {
  check_pair(given_query, given_key);
  const auto prepared = [&](const at::Tensor& x) { return options.normalise && x.defined() ? rows_over_norms(x) : x; };
  const at::Tensor query = prepared(given_query), key = prepared(given_key), negatives = prepared(options.negatives);
  const at::Tensor scale = inverse_temperature(options.temperature, query);
  const int kinds = int{negatives.defined()} + int{options.positives.defined()} + int{options.labels.defined()};
  TORCH_CHECK_VALUE(kinds <= 1, "negatives, positives or labels are given together; expected one of them");
  TORCH_CHECK_VALUE(!options.key_labels.defined() || options.labels.defined(),
                    "key_labels is given without labels; expected both");
  if (options.symmetric) {
    TORCH_CHECK_VALUE(kinds == 0 && !options.exclude_self,
                      "symmetric is given with other candidates; expected plain pairs");
    return both_ways(query, key, scale, options.reduction);
  }
  if (negatives.defined()) return against_negatives(query, key, negatives, scale, options.reduction);
  if (options.exclude_self) check_same_shape(query, key);
  if (options.labels.defined()) return by_labels(query, key, scale, options);
  const at::Tensor positives = checked_positives(query, key, options);
  const ReducedLoss found = find_positives(query, key, scale, positives, options.reduction, options.exclude_self);
  return with_bound(found.loss, found.entropy, found.rows, key.size(0) - int{options.exclude_self});
}

}  // namespace isentropic::pytorch
