// Computes effective ranks from singular values.
#include "lab/effective_rank.hpp"

#include <ATen/ATen.h>

namespace isentropic::lab {

at::Tensor effective_rank(const at::Tensor& matrices) {
  const at::Tensor singular = at::linalg_svdvals(matrices.to(at::kDouble)), sum = singular.sum(-1, true);
  const at::Tensor share = singular / sum.masked_fill(sum.eq(0), 1);
  return at::special_entr(share).sum(-1).exp().masked_fill(sum.squeeze(-1).eq(0), 0);
}

}  // namespace isentropic::lab
