// Contrastive losses from C++: which candidate belongs to the query, and whether a sample is data or noise.
//
//   InfoNCE  loss_i = log sum_j e^{q_i . k_j / temperature} - q_i . k_{+i} / temperature
//   NCE      loss_i = softplus(-delta_i) + (ratio / M) sum_j softplus(delta_ij),
//            delta(x) = q . x / temperature - log_z - log(ratio p_noise(x))
//
//   auto found = isentropic::pytorch::info_nce(views, other_views, {.temperature = 0.2, .symmetric = true});
//   found.loss.backward();
//
// Forward and backward never form the matrix of all scores. InfoNCE of two orthogonal pairs of unit vectors at
// temperature 1 is log(1 + e^{-1}) = 0.3133.
#pragma once

#include <ATen/ATen.h>

#include <optional>
#include <variant>

#include "isentropic/export.hpp"
#include "isentropic/pytorch/losses.hpp"

namespace isentropic::pytorch {

// A number, or a learnable one-element tensor.
using Temperature = std::variant<double, at::Tensor>;

struct InfoNceOptions {
  Temperature temperature = 0.07;
  at::Tensor negatives = {};   // [M, d] for all queries or [N, M, d]: the candidates are key i and these
  at::Tensor positives = {};   // int64 [N], the row of each query's positive among the keys
  at::Tensor labels = {};      // [N]: keys of the same class are positives, the loss is their mean; 0 if there are none
  at::Tensor key_labels = {};  // [M]; same as labels if absent
  bool exclude_self = false;   // queries are the keys themselves, and a row does not see its own key
  bool symmetric = false;      // the mean of this loss and the one with query and key exchanged
  bool normalise = true;       // rows are divided by their norms first, so scores are cosines
  Reduction reduction = Reduction::mean;
};

// query [N, d]; key [N, d], key i the positive of query i, or [M, d] with positives or labels.
// bound: I(X;Y) >= log N - loss, with N candidates and ceiling log N; it requires negatives drawn from the marginal,
// independently of the query. Undefined with labels.
ISENTROPIC_API Loss info_nce(const at::Tensor& query, const at::Tensor& key, const InfoNceOptions& options = {});

struct NceOptions {
  at::Tensor key_log_noise;    // [N], log-density of the data under the noise distribution
  at::Tensor noise_log_noise;  // [M] or [N, M], that of the noise
  at::Tensor log_z = {};       // [] or [N], log of the normaliser; 0 if absent
  Temperature temperature = 1.0;
  std::optional<double> noise_ratio = {};  // noise samples per datum; M if absent
  Reduction reduction = Reduction::mean;
};

// query, key [N, d]; noise [M, d] for all queries or [N, M, d]. Consistent for every ratio, not only in the limit.
// entropy: of the data-or-noise decision at the datum. bound: the Jensen-Shannon divergence of data and noise with
// weights 1/(1+ratio) and ratio/(1+ratio) is at least h - loss/(1+ratio), where ceiling h is the entropy of these
// weights.
ISENTROPIC_API Loss nce(const at::Tensor& query, const at::Tensor& key, const at::Tensor& noise,
                        const NceOptions& options);

}  // namespace isentropic::pytorch
