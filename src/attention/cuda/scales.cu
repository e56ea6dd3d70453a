// The scale of every row from a law that is a formula, and the gradients of the law's parameters.
#include "attention/cuda/head_sums.cuh"
#include "attention/cuda/statistics_record.cuh"
#include "attention/cuda/thread_block.cuh"
#include "attention/problem/scale_formulas.hpp"

namespace isentropic::cuda {
namespace {

constexpr int kRowsOfBlock = 128;

template <class R>
__device__ LawTerms terms_of(const Problem& p, const ScaleFormula& law, const RowIndex& at) {
  LawTerms out;
  for (int index = 0; index < LawTerms::kMostParameters; ++index)
    out.parameter[index] = number_at<R>(law.parameters[index], at.h);
  out.d = static_cast<double>(p.d);
  out.log_n = log_of(static_cast<double>(count_at(law.visible, p, at)));
  const std::int32_t* positions = law.positions_in_document;
  out.position = positions ? positions[at.b * p.n_q + at.i] : at.i + p.visible.offset;
  return out;
}

template <class R>
__global__ void row_scales_kernel(const Problem p, const ScaleFormula law, R* lambda) {
  const std::int64_t row = std::int64_t{blockIdx.x} * kRowsOfBlock + threadIdx.x;
  if (row >= p.batch * p.heads * p.n_q) return;
  const LawTerms terms = terms_of<R>(p, law, row_index(p, row));
  lambda[row] = static_cast<R>(scale_by_law(static_cast<LawNumber>(law.law), terms));
}

// One block per (head, parameter).
template <class R>
__global__ void __launch_bounds__(kThreadsOfHeadSum)
    parameter_gradients_kernel(const Problem p, const ScaleFormula law, const R* lambda_gradient, R* gradients) {
  const std::int64_t h = blockIdx.x;
  const int parameter = static_cast<int>(blockIdx.y);
  const double sum = sum_over_rows(p, [&](std::int64_t b, std::int64_t i) {
    const RowIndex at = {(b * p.heads + h) * p.n_q + i, b, h, i};
    const LawTerms terms = terms_of<R>(p, law, at);
    return static_cast<double>(lambda_gradient[at.row]) *
           scale_derivative(static_cast<LawNumber>(law.law), terms, law.learnable, parameter);
  });
  if (threadIdx.x == 0) gradients[parameter * p.heads + h] = static_cast<R>(sum);
}

template <class R>
cudaError_t launch_row_scales(const Problem& problem, const ScaleFormula& law, void* lambda, cudaStream_t stream) {
  const auto blocks = static_cast<unsigned>((problem.rows() + kRowsOfBlock - 1) / kRowsOfBlock);
  return launch_kernel(row_scales_kernel<R>, blocks, kRowsOfBlock, 0, stream, problem, law, static_cast<R*>(lambda));
}

template <class R>
cudaError_t launch_parameter_gradients(const Problem& problem, const ScaleFormula& law, const void* lambda_gradient,
                                       void* gradients, cudaStream_t stream) {
  if (problem.heads == 0 || law.learnable == 0) return cudaSuccess;
  if (problem.rows() == 0)  // the sums are empty
    return cudaMemsetAsync(gradients, 0, static_cast<std::size_t>(law.learnable * problem.heads) * sizeof(R), stream);
  const dim3 blocks(static_cast<unsigned>(problem.heads), static_cast<unsigned>(law.learnable));
  return launch_kernel(parameter_gradients_kernel<R>, blocks, kThreadsOfHeadSum, 0, stream, problem, law,
                       static_cast<const R*>(lambda_gradient), static_cast<R*>(gradients));
}

bool is_formula(const ScaleFormula& law) {
  return law.law >= 0 && law.law < static_cast<int>(LawNumber::per_row) && law.learnable >= 0 &&
         law.learnable <= LawTerms::kMostParameters;
}

}  // namespace

cudaError_t row_scales(const Problem& problem, const ScaleFormula& law, void* lambda, cudaStream_t stream) {
  if (!is_formula(law)) return cudaErrorInvalidValue;
  return problem.type == ElementType::float64 ? launch_row_scales<double>(problem, law, lambda, stream)
                                              : launch_row_scales<float>(problem, law, lambda, stream);
}

cudaError_t scale_parameter_gradients(const Problem& problem, const ScaleFormula& law, const void* lambda_gradient,
                                      void* gradients, cudaStream_t stream) {
  if (!is_formula(law)) return cudaErrorInvalidValue;
  return problem.type == ElementType::float64
             ? launch_parameter_gradients<double>(problem, law, lambda_gradient, gradients, stream)
             : launch_parameter_gradients<float>(problem, law, lambda_gradient, gradients, stream);
}

}  // namespace isentropic::cuda
