// Chooses the key-group kernel.
#include "attention/cuda/key_groups.hpp"

#include "attention/cuda/key_groups_launch.hpp"
#include "attention/cuda/tensor_cores.hpp"

namespace isentropic::cuda {
namespace {

template <ElementType type>
cudaError_t key_groups_of_width(const Problem& p, const KeyGroupArrays& groups, cudaStream_t stream) {
  return p.d == 64 ? launch_key_groups<type, 64>(p, groups, stream) : launch_key_groups<type, 128>(p, groups, stream);
}

}  // namespace

bool has_key_groups(const Problem& problem) { return fits_narrow_heads(problem) && !problem.visible.prefix_varies; }

cudaError_t key_groups(const Problem& problem, const KeyGroupArrays& groups, cudaStream_t stream) {
  if (!has_key_groups(problem)) return cudaErrorInvalidValue;
  return problem.type == ElementType::bfloat16 ? key_groups_of_width<ElementType::bfloat16>(problem, groups, stream)
                                               : key_groups_of_width<ElementType::float16>(problem, groups, stream);
}

}  // namespace isentropic::cuda
