// Chooses the forward kernel.
#include "attention/cuda/forward.hpp"

#include "attention/cuda/key_groups.hpp"
#include "attention/cuda/launch.hpp"
#include "attention/cuda/tensor_cores.hpp"

namespace isentropic::cuda {
namespace {

template <ElementType type, int d>
cudaError_t with_moments(const Problem& problem, const ForwardOutput& output, cudaStream_t stream) {
  using enum MomentSet;
  // Accumulating fewer moments would save next to nothing compared with the cost of these.
  if (has_dense_terms(problem)) return launch_forward<type, d, d, all, ForwardTerms::dense>(problem, output, stream);
  if (has_extras(problem)) return launch_forward<type, d, d, all, ForwardTerms::extras>(problem, output, stream);
  if (output.groups.any()) return launch_forward<type, d, d, all, ForwardTerms::groups>(problem, output, stream);
  switch (problem.moments) {
    case partition:
      return launch_forward<type, d, d, partition, ForwardTerms::none>(problem, output, stream);
    case entropy:
      return launch_forward<type, d, d, entropy, ForwardTerms::none>(problem, output, stream);
    case all:
      break;
  }
  return launch_forward<type, d, d, all, ForwardTerms::none>(problem, output, stream);
}

template <ElementType type, int d, int d_v>
cudaError_t with_wide_heads(const Problem& problem, const ForwardOutput& output, cudaStream_t stream) {
  if (has_dense_terms(problem))
    return launch_forward<type, d, d_v, MomentSet::all, ForwardTerms::dense>(problem, output, stream);
  return launch_forward<type, d, d_v, MomentSet::all, ForwardTerms::extras>(problem, output, stream);
}

template <ElementType type>
cudaError_t with_width(const Problem& problem, const ForwardOutput& output, cudaStream_t stream) {
  if (has_common_width(problem))
    return problem.d == 64 ? with_moments<type, 64>(problem, output, stream)
                           : with_moments<type, 128>(problem, output, stream);
  return problem.d <= 192 && problem.d_v <= 128 ? with_wide_heads<type, 192, 128>(problem, output, stream)
                                                : with_wide_heads<type, 256, 256>(problem, output, stream);
}

}  // namespace

bool has_forward(const Problem& problem) {
  return suits_forward(problem) && fits_forward(problem) && !problem.visible.prefix_varies;
}

bool has_forward_with_groups(const Problem& problem) {
  return has_forward(problem) && has_common_width(problem) && !has_dense_terms(problem) && !has_extras(problem);
}

std::size_t forward_groups_workspace(const Problem& problem) {
  const std::int64_t blocks = problem.batch * problem.heads * ((problem.n_q + kForwardRows - 1) / kForwardRows);
  return static_cast<std::size_t>(blocks) * sizeof(std::int32_t);
}

cudaError_t forward(const Problem& problem, const ForwardOutput& output, cudaStream_t stream) {
  const bool groups = output.groups.any();
  if (!has_forward(problem) || (groups && !has_forward_with_groups(problem))) return cudaErrorInvalidValue;
  const cudaError_t error = problem.type == ElementType::bfloat16
                                ? with_width<ElementType::bfloat16>(problem, output, stream)
                                : with_width<ElementType::float16>(problem, output, stream);
  return error == cudaSuccess && groups ? key_groups(problem, output.groups, stream) : error;
}

}  // namespace isentropic::cuda
