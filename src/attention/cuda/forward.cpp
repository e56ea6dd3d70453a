// Chooses the kernel.
#include "attention/cuda/forward.hpp"

#include "attention/cuda/launch.hpp"

namespace isentropic::cuda {
namespace {

template <ElementType type, int d, MomentSet moments>
cudaError_t with_extras(const Problem& problem, const ForwardOutput& output, cudaStream_t stream) {
  if (problem.soft_cap > 0 || problem.slopes) return launch_forward<type, d, moments, true>(problem, output, stream);
  return launch_forward<type, d, moments, false>(problem, output, stream);
}

template <ElementType type, int d>
cudaError_t with_moments(const Problem& problem, const ForwardOutput& output, cudaStream_t stream) {
  switch (problem.moments) {
    case MomentSet::partition:
      return with_extras<type, d, MomentSet::partition>(problem, output, stream);
    case MomentSet::entropy:
      return with_extras<type, d, MomentSet::entropy>(problem, output, stream);
    case MomentSet::all:
      break;
  }
  return with_extras<type, d, MomentSet::all>(problem, output, stream);
}

template <ElementType type>
cudaError_t with_width(const Problem& problem, const ForwardOutput& output, cudaStream_t stream) {
  return problem.d == 64 ? with_moments<type, 64>(problem, output, stream) : with_moments<type, 128>(problem, output, stream);
}

}  // namespace

bool has_forward(const Problem& problem) { return problem.d == 64 || problem.d == 128; }

cudaError_t forward(const Problem& problem, const ForwardOutput& output, cudaStream_t stream) {
  if (!has_forward(problem)) return cudaErrorInvalidValue;
  return problem.type == ElementType::bfloat16 ? with_width<ElementType::bfloat16>(problem, output, stream)
                                               : with_width<ElementType::float16>(problem, output, stream);
}

}  // namespace isentropic::cuda
