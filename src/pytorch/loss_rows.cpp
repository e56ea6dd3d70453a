// Checks of the inputs of contrastive losses.
#include "pytorch/loss_rows.hpp"

#include <cmath>

namespace isentropic::pytorch {

at::Tensor inverse_temperature(const Temperature& temperature, const at::Tensor& like) {
  const at::Tensor* learnt = std::get_if<at::Tensor>(&temperature);
  TORCH_CHECK_VALUE(!learnt || learnt->numel() == 1, "temperature has shape ", learnt->sizes(),
                    "; expected one number");
  if (!learnt || learnt->is_cpu()) {
    const double value = learnt ? learnt->item<double>() : std::get<double>(temperature);
    TORCH_CHECK_VALUE(value > 0 && std::isfinite(value) && std::isfinite(1 / value), "temperature is ", value,
                      "; expected a positive number");
  }
  return (1 / (learnt ? *learnt : number_like(std::get<double>(temperature), like))).reshape({});
}

void check_pair(const at::Tensor& query, const at::Tensor& key) {
  for (const auto& [name, x] : {std::pair("query", query), std::pair("key", key)}) {
    TORCH_CHECK_VALUE(x.dim() == 2, name, " has shape ", x.sizes(), "; expected [N, d]");
    TORCH_CHECK_TYPE(x.is_floating_point(), name, " has type ", x.scalar_type(), "; expected a floating type");
  }
  TORCH_CHECK_TYPE(key.scalar_type() == query.scalar_type(), "key has type ", key.scalar_type(), "; expected ",
                   query.scalar_type(), ", as the query");
  TORCH_CHECK_VALUE(query.size(1) == key.size(1) && query.size(1) > 0, "key has shape ", key.sizes(),
                    "; expected rows of ", query.size(1), " numbers, as the query, and at least one");
  TORCH_CHECK_VALUE(key.size(0) > 0 || query.size(0) == 0, "key has shape ", key.sizes(),
                    "; expected at least one key");
}

void check_same_shape(const at::Tensor& query, const at::Tensor& key) {
  TORCH_CHECK_VALUE(query.sizes() == key.sizes(), "key has shape ", key.sizes(), "; expected the query's ",
                    query.sizes());
}

bool check_candidates(const char* name, const at::Tensor& candidates, const at::Tensor& query) {
  TORCH_CHECK_TYPE(candidates.scalar_type() == query.scalar_type(), name, " has type ", candidates.scalar_type(),
                   "; expected ", query.scalar_type(), ", as the query");
  const bool shared = candidates.dim() == 2, own = candidates.dim() == 3 && candidates.size(0) == query.size(0);
  TORCH_CHECK_VALUE((shared || own) && candidates.size(-1) == query.size(1), name, " has shape ", candidates.sizes(),
                    "; expected [M, ", query.size(1), "] or [", query.size(0), ", M, ", query.size(1), "]");
  return shared;
}

}  // namespace isentropic::pytorch
