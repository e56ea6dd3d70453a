// Chooses the kernel.
#include "attention/cuda/forward.hpp"

#include "attention/cuda/launch.hpp"
#include "attention/cuda/tensor_cores.hpp"

namespace isentropic::cuda {
namespace {

// A kernel for the partition alone would save next to nothing of what soft caps, slopes and dropout cost.
template <ElementType type, int d, int d_v>
cudaError_t with_extras(const Problem& problem, const ForwardOutput& output, cudaStream_t stream) {
  if (problem.moments == MomentSet::all)
    return launch_forward<type, d, d_v, MomentSet::all, true>(problem, output, stream);
  return launch_forward<type, d, d_v, MomentSet::entropy, true>(problem, output, stream);
}

template <ElementType type, int d>
cudaError_t with_moments(const Problem& problem, const ForwardOutput& output, cudaStream_t stream) {
  if (problem.soft_cap > 0 || problem.slopes || problem.dropout > 0)
    return with_extras<type, d, d>(problem, output, stream);
  switch (problem.moments) {
    case MomentSet::partition:
      return launch_forward<type, d, d, MomentSet::partition, false>(problem, output, stream);
    case MomentSet::entropy:
      return launch_forward<type, d, d, MomentSet::entropy, false>(problem, output, stream);
    case MomentSet::all:
      break;
  }
  return launch_forward<type, d, d, MomentSet::all, false>(problem, output, stream);
}

template <ElementType type>
cudaError_t with_width(const Problem& problem, const ForwardOutput& output, cudaStream_t stream) {
  if (has_common_width(problem))
    return problem.d == 64 ? with_moments<type, 64>(problem, output, stream)
                           : with_moments<type, 128>(problem, output, stream);
  return problem.d <= 192 && problem.d_v <= 128 ? with_extras<type, 192, 128>(problem, output, stream)
                                                : with_extras<type, 256, 256>(problem, output, stream);
}

}  // namespace

bool has_forward(const Problem& problem) {
  return suits_forward(problem) && fits_forward(problem) && !problem.visible.prefix_varies;
}

cudaError_t forward(const Problem& problem, const ForwardOutput& output, cudaStream_t stream) {
  if (!has_forward(problem)) return cudaErrorInvalidValue;
  return problem.type == ElementType::bfloat16 ? with_width<ElementType::bfloat16>(problem, output, stream)
                                               : with_width<ElementType::float16>(problem, output, stream);
}

}  // namespace isentropic::cuda
