// Chooses the key-mass kernel.
#include "attention/cuda/key_mass.hpp"

#include "attention/cuda/key_mass_launch.hpp"
#include "attention/cuda/tensor_cores.hpp"

namespace isentropic::cuda {
namespace {

template <ElementType type, int d>
cudaError_t key_mass_with_extras(const KeyMassProblem& in, cudaStream_t stream) {
  const bool extras = in.problem.soft_cap > 0 || in.problem.slopes;
  return extras ? launch_key_mass<type, d, true>(in, stream) : launch_key_mass<type, d, false>(in, stream);
}

template <ElementType type>
cudaError_t key_mass_of_width(const KeyMassProblem& in, cudaStream_t stream) {
  return in.problem.d == 64 ? key_mass_with_extras<type, 64>(in, stream) : key_mass_with_extras<type, 128>(in, stream);
}

}  // namespace

bool has_key_mass(const Problem& problem) { return fits_tensor_cores(problem); }

cudaError_t key_mass(const Problem& problem, const RowArrays& rows, void* key_mass, cudaStream_t stream) {
  if (!has_key_mass(problem)) return cudaErrorInvalidValue;
  KeyMassProblem in{problem, static_cast<int>(problem.heads / problem.kv_heads), static_cast<const float*>(rows.m),
                    static_cast<const float*>(rows.z), static_cast<float*>(key_mass)};
  in.problem.kv_heads = problem.heads;
  return problem.type == ElementType::bfloat16 ? key_mass_of_width<ElementType::bfloat16>(in, stream)
                                               : key_mass_of_width<ElementType::float16>(in, stream);
}

}  // namespace isentropic::cuda
