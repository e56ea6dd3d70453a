// Chooses the argmax kernel.
#include "attention/cuda/argmax.hpp"

#include "attention/cuda/tensor_cores.hpp"

namespace isentropic::cuda {

bool has_argmax(const Problem& problem) { return fits_narrow_heads(problem) && !problem.visible.prefix_varies; }

cudaError_t argmax(const Problem& p, std::int64_t* places, cudaStream_t stream) {
  if (!has_argmax(p)) return cudaErrorInvalidValue;
  if (p.type == ElementType::bfloat16)
    return p.d == 64 ? launch_argmax<ElementType::bfloat16, 64>(p, places, stream)
                     : launch_argmax<ElementType::bfloat16, 128>(p, places, stream);
  return p.d == 64 ? launch_argmax<ElementType::float16, 64>(p, places, stream)
                   : launch_argmax<ElementType::float16, 128>(p, places, stream);
}

}  // namespace isentropic::cuda
